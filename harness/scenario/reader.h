/* SPDX-License-Identifier: MIT
 *
 * reader.h - what the readers of scenarios and suites share: keys and their values; words of steps. Private to the room.
 *
 * Every function that can refuse writes one line without its place ("ttl_ms = -5: expected ...") and returns -EINVAL;
 * the caller that knows the place (a line of a file, `-s`) puts it in front.
 */
#ifndef LB_READER_H
#define LB_READER_H

#include "base/error.h"
#include "base/ini.h"
#include "scenario.h"

/* ---- keys, values, words ------------------------------------------------------------------------ */

#define LB_SCENARIO_ERR 1024 /* room for one message without its place */
#define LB_EXPECT "expect"   /* first word of a section of expectations; its guards follow */

/* scenario_keys.c: the key of a section (in `expect` every name is one), or NULL with err saying what was meant. */
const struct lb_scenario_key *lb_scenario_key_find(const char *section, const char *name, struct lb_error *err);
/* As for `-s`: among the settable keys. */
const struct lb_scenario_key *lb_scenario_key_find_set(const char *name, struct lb_error *err);
/* Parses a value into the key's field (not that of LB_KEY_VERDICT); `line` goes
 * into a step. 0 or -EINVAL with err. The field is unchanged on error. */
int lb_scenario_key_set(const struct lb_scenario_key *key, struct lb_scenario *scenario, const char *name,
                        const char *value, int line, struct lb_error *err);

/* scenario_read.c: a file that another one names by a path, not by a name; and that path, from the folder of the
 * other one, malloc'd. */
bool lb_scenario_is_path(const char *name);
char *lb_scenario_beside(const char *file, const char *name);

/* Fills the scenario from text: keys, those of what it is like, then defaults. key_lines[i] = line of
 * lb_scenario_keys[i], 0 = not given. data[size] must be NUL. err comes with its place. */
int lb_scenario_read(const char *path, const char *data, size_t size, struct lb_scenario *scenario, int *key_lines,
                     struct lb_error *err);

/* scenario_files.c: "scenarios/failover/failover.ini" -> "failover", malloc'd. */
char *lb_scenario_name_of(const char *path);
/* scenario_check.c: what single keys cannot know. 0, or -EINVAL with err and the line it is about
 * (0 = the whole file). */
int lb_scenario_check(const struct lb_scenario *scenario, int *ret_line, struct lb_error *err);

#endif
