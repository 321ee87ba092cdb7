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
/* True if that member is this text. Only of members that lb_report_load() has found to be texts. */
bool lb_report_is(const json_t *object, const char *key, const char *text);
/* Writes a member as text: a string as it is, other values as JSON, null and none as `absent`.
 * Escaped. */
void lb_report_value(FILE *out, const json_t *object, const char *key, const char *absent);

/* The path by which the commands on the page name `file` of the folder ("" = the folder itself),
 * into ret. Who calls the tool by a path, as in ./bench, stands in its checkout:
 * "results/NAME/file", or an absolute path where the folder lies elsewhere. Who calls it by its
 * name alone is meant to stand in the folder: "file", ".". */
void lb_report_place(const char *run_dir, const char *file, char *ret, size_t size);

/* True if the run folder has a file or folder of that relative name which may be read. */
bool lb_report_has_file(const char *run_dir, const char *name);

/* The content of the style element (report_style.c). */
extern const char lb_report_style[];

/* The truth table, what each guard changes, and all else that cells say (report_table.c). */
void lb_report_cells(FILE *out, const json_t *run);

/* A cell of a table, verdict and counts (report_cell.c). NULL = was not run: an empty one.
 * `with_damage`: also what happened at the resource. */
void lb_report_cell(FILE *out, const json_t *cell, bool with_damage);
/* Why cells mean nothing: the reasons behind the small numbers of both tables (report_cell.c). */
void lb_report_notes(FILE *out, const json_t *cells);
/* Two lists with reasons: cells that are not as expected, and those that are undecided or were
 * skipped. */
void lb_report_lists(FILE *out, const json_t *cells);

/* Faults drawn at random, a line per cell; nothing if the run has no campaign (report_campaigns.c). */
void lb_report_campaigns(FILE *out, const json_t *cells);
/* What the trials without faults saw, as one sentence; nothing if there were none. */
void lb_report_control(FILE *out, const json_t *run);

/* All cells in numbers (report_numbers.c); `cells` is the list of run.json. */
void lb_report_numbers(FILE *out, const json_t *cells);

/* The question of every scenario and how it was put (report_about.c). */
void lb_report_asked(FILE *out, const json_t *run);
/* Machine and versions, the command that runs it again, and the files of the folder. */
void lb_report_about(FILE *out, const char *run_dir, const json_t *run);

/* trials.csv in memory (report_trials.c). Release with lb_report_trials_free(), which takes NULL.
 * 0, -EINVAL or other -errno, with err. */
struct lb_report_trials;
int lb_report_trials_load(const char *run_dir, struct lb_report_trials **ret, char *err, size_t err_size);
void lb_report_trials_free(struct lb_report_trials *trials);
/* Rates of all measured cells, or that there are none. */
void lb_report_speed(FILE *out, const json_t *run, const struct lb_report_trials *trials);
/* What a reader has to know of the windows in which rates were measured (report_settled.c): how many
 * trials began theirs before the rate had settled, and which loads did not ask for that. Nothing
 * where all had settled, or nothing was measured. */
void lb_report_settled(FILE *out, const json_t *run, size_t unsettled);
/* Violated trials cell by cell, each with its history; or that there are none. */
void lb_report_violations(FILE *out, const struct lb_report_trials *trials, const char *run_dir);

#endif
