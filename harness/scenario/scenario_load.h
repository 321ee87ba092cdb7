/* SPDX-License-Identifier: MIT
 *
 * scenario_load.h - from a file to a scenario, and what a setting changes in one.
 */
#ifndef LB_SCENARIO_LOAD_H
#define LB_SCENARIO_LOAD_H

#include "scenario.h"

/* Reads a file. 0; -EINVAL with one line in err for bad content; other -errno with err. On error
 * *ret is empty. */
int lb_scenario_load(const char *path, struct lb_scenario *ret, struct lb_error *err);
/* The same from memory; `path` stands for the file in messages. For tests and fuzzing. */
int lb_scenario_parse(const char *path, const char *data, size_t size, struct lb_scenario *ret, struct lb_error *err);
/* Sets one key as `-s key=value` does (those with LB_KEY_SET); same messages, with "-s" as the place. 0; -EINVAL for an
 * unknown key or a value that does not fit; -ENOTSUP: a scenario of this kind has no such key. */
int lb_scenario_set(struct lb_scenario *scenario, const char *key, const char *value, struct lb_error *err);
/* Sets one of the settable keys; returns as lb_scenario_set() does. */
int lb_scenario_change(struct lb_scenario *scenario, const char *key, const char *value, struct lb_error *err);

#endif
