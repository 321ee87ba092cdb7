/* SPDX-License-Identifier: MIT
 *
 * check_json.h - a judgement as JSON: what `check --json` prints (its members are in
 * results/SCHEMA.md).
 */
#ifndef LB_CHECK_JSON_H
#define LB_CHECK_JSON_H

#include <jansson.h>

#include "check.h"

/* `excuse` as of lb_check_rule(). An object, released with json_decref(); NULL = no memory. */
json_t *lb_check_json(const struct lb_history *history, const struct lb_check *check, bool past_lease);

#endif
