/* SPDX-License-Identifier: MIT
 *
 * scenario_parts.h - what the files of the scenario reader share; nobody else includes it.
 *
 * Every function that can refuse writes one line without its place ("ttl_ms = -5: expected ...")
 * and returns -EINVAL; whoever knows the place (a line of a file, `-s`) puts it in front.
 */
#ifndef LB_SCENARIO_PARTS_H
#define LB_SCENARIO_PARTS_H

#include "base/refuse.h"
#include "scenario.h"

#define LB_SCENARIO_ERR 1024 /* room for one message without its place */
#define LB_EXPECT "expect" /* first word of a section of expectations; its guards follow */

/* scenario_keys.c: the key of a section (in `expect` every name is one), or NULL with err saying
 * what was meant. */
const struct lb_scenario_key *lb_scenario_key_find(const char *section, const char *name, char *err, size_t err_size);
/* As for `-s`: among the settable keys. */
const struct lb_scenario_key *lb_scenario_key_find_set(const char *name, char *err, size_t err_size);
/* scenario_values.c: parses a value into the key's field (not that of LB_KEY_VERDICT); `line` goes
 * into a step. 0, -EINVAL with err, -ENOMEM. The field is unchanged on error. */
int lb_scenario_key_set(const struct lb_scenario_key *key, struct lb_scenario *scenario, const char *name,
                        const char *value, int line, char *err, size_t err_size);

/* expect.c: the guards of a section "expect" or "expect GUARD ...", one bit each, "expect" alone is
 * that of `none`. 0, -ENOENT for another section, -EINVAL with err for what is no guard. */
int lb_expect_guards(const char *section, unsigned *ret, char *err, size_t err_size);
/* A line under these guards: "SYSTEM, SYSTEM" and "verdict: reason". 0, -EINVAL with err, -ENOMEM
 * with err. What was added before an error stays. */
int lb_expect_add(struct lb_scenario *scenario, unsigned guards, const char *names, const char *value, char *err,
                  size_t err_size);

/* step_list.c: one more step or fault, `name` is its key; and what stands behind `step =`, "[N times:]
 * STEP, STEP". 0, -EINVAL with err, -ENOMEM. What was added before an error stays. */
int lb_scenario_add_step(const char *name, const char *text, int line, struct lb_step **list, size_t *count, char *err, size_t err_size);
int lb_scenario_add_steps(const char *value, int line, struct lb_scenario *scenario, char *err, size_t err_size);

/* like.c: a file that another one names by a path, not by a name; and that path, from the folder of the
 * other one, malloc'd, NULL = no memory. */
bool lb_scenario_is_path(const char *name);
char *lb_scenario_beside(const char *file, const char *name);
/* Takes what the scenario does not have from that which it is like, and gives it the line of `like`. 0, -EINVAL with err and
 * its place, -ENOMEM. */
int lb_scenario_take_base(const char *file, struct lb_scenario *scenario, int *key_lines, int line, char *err, size_t err_size);

/* scenario_read.c: the keys of a text, and nothing else. */
int lb_scenario_read_keys(const char *path, const char *data, size_t size, struct lb_scenario *scenario, int *key_lines,
                          char *err, size_t err_size);
/* Fills the scenario from text: keys, those of what it is like, then defaults. key_lines[i] = line of
 * lb_scenario_keys[i], 0 = not given. data[size] must be NUL. err comes with its place. */
int lb_scenario_read(const char *path, const char *data, size_t size, struct lb_scenario *scenario, int *key_lines,
                     char *err, size_t err_size);

/* scenario.c: "scenarios/failover/failover.ini" -> "failover", malloc'd; NULL = no memory. */
char *lb_scenario_name_of(const char *path);
/* Sets one of the settable keys; returns as lb_scenario_set() does. */
int lb_scenario_change(struct lb_scenario *scenario, const char *key, const char *value, char *err, size_t err_size);

/* scenario_check.c: what single keys cannot know. 0, or -EINVAL with err and the line it is about
 * (0 = the whole file). */
int lb_scenario_check(const struct lb_scenario *scenario, int *ret_line, char *err, size_t err_size);

/* role.c: a role from words[0..count): number of words taken, or -EINVAL with err. */
int lb_role_parse(char *const *words, size_t count, struct lb_role *ret, char *err, size_t err_size);
/* The number of a node or client, from 1 to max; `kind` is the word before it, `word` may be NULL.
 * 0, or -EINVAL with err. */
int lb_number_parse(const char *kind, const char *word, int max, int *ret, char *err, size_t err_size);
/* True for roles that name exactly one server, and not one that is drawn. `current primary` may be
 * another one each time. */
bool lb_role_is_one_server(struct lb_role role);
/* True for `node any` and `client any`. */
bool lb_role_is_any(struct lb_role role);

/* step_values.c: a value from its word, into the field of the step that it is for. 0, or -EINVAL
 * with why. */
typedef int lb_value_parser(const char *word, struct lb_step *ret, char *why, size_t why_size);
lb_value_parser lb_time_parse, lb_offset_parse, lb_rate_parse, lb_point_parse, lb_jitter_parse, lb_loss_parse, lb_after_parse, lb_policy_parse, lb_lock_parse;

/* step_parse.c: cuts text into its words, in place; their number, or max + 1 if there are more. */
size_t lb_split_words(char *text, char **words, size_t max);

#endif
