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
/* Reads some; to be given back with lb_scenario_clear_all(). On error there are none. */
int lb_scenario_load_all(const char *const *paths, size_t count, struct lb_scenario **ret, struct lb_error *err);
void lb_scenario_clear_all(struct lb_scenario *scenarios, size_t count);
/* As lb_scenario_load() from memory; `path` stands for the file in messages. For tests and fuzzing. */
int lb_scenario_parse(const char *path, const char *data, size_t size, struct lb_scenario *ret, struct lb_error *err);
/* Gives one of the settable keys (LB_KEY_SET) a value. 0; -EINVAL for an unknown key or a bad value; -ENOTSUP: a scenario of
 * this kind has no such key. After an error the scenario is as it was. What the keys say together is checked by
 * lb_scenario_settle(), once all are there: 0 or -EINVAL. */
int lb_scenario_put(struct lb_scenario *scenario, const char *key, const char *value, struct lb_error *err);
int lb_scenario_settle(struct lb_scenario *scenario, struct lb_error *err);
/* Both for one key. */
int lb_scenario_set(struct lb_scenario *scenario, const char *key, const char *value, struct lb_error *err);

#endif
