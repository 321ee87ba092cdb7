/* SPDX-License-Identifier: MIT
 *
 * counter_json.h - counters as members of JSON objects: of a cell, and of `check --json`.
 */
#ifndef LB_COUNTER_JSON_H
#define LB_COUNTER_JSON_H

#include <jansson.h>

#include "counter.h"

/* Sets the counters of these groups that are shown in this place, null where one does not apply
 * (`met` as of lb_counter_applies(); counters NULL = none applies). */
void lb_counters_json(json_t *object, const struct lb_counters *counters, const enum lb_counter_group *groups, size_t count,
                      enum lb_counter_place place, unsigned met);

#endif
