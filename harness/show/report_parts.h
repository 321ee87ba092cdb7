/* SPDX-License-Identifier: MIT
 *
 * report_parts.h - what the parts of the report share. Private to report*.c.
 *
 * Parts that take a `run` may rely on what lb_report_load() has checked.
 */
#ifndef LB_REPORT_PARTS_H
#define LB_REPORT_PARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Reads run.json and checks the shape of all that the report needs. 0 (release with json_decref),
 * -EINVAL or other -errno, with err. */
int lb_report_load(const char *run_dir, json_t **ret_run, char *err, size_t err_size);

/* Text of a member, NULL if there is none or it is no text. */
const char *lb_report_string(const json_t *object, const char *key);
/* Writes a member as text: a string as it is, other values as JSON, null and none as `absent`.
 * Escaped. */
void lb_report_value(FILE *out, const json_t *object, const char *key, const char *absent);

/* The path by which the commands on the page name `file` of the folder ("" = the folder itself),
 * into ret. Who calls the tool by a path, as in ./bench, stands in its checkout:
 * "results/NAME/file", or an absolute path where the folder lies elsewhere. Who calls it by its
 * name alone is meant to stand in the folder: "file", ".". */
void lb_report_place(const char *run_dir, const char *file, char *ret, size_t size);

/* The truth table, the lists of what to look at, and all cells in numbers (report_table.c). */
void lb_report_cells(FILE *out, const json_t *run);

/* All cells in numbers (report_numbers.c); `cells` is the list of run.json. */
void lb_report_numbers(FILE *out, const json_t *cells);

/* Rates and violated trials out of trials.csv (report_trials.c). */
struct lb_report_trials;
int lb_report_trials_load(const char *run_dir, struct lb_report_trials **ret, char *err, size_t err_size);
void lb_report_trials_free(struct lb_report_trials *trials);
void lb_report_speed(FILE *out, const struct lb_report_trials *trials);
void lb_report_violations(FILE *out, const struct lb_report_trials *trials, const char *run_dir);

#endif
