/* SPDX-License-Identifier: MIT
 *
 * explain_run.h - the trial of a cell that is worth telling. The story
 * itself is told by story/explain.h.
 */
#ifndef LB_EXPLAIN_RUN_H
#define LB_EXPLAIN_RUN_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include "base/error.h"
#include "explain_cell.h"

/* A line of trials.csv, as text: it is shown and compared, never computed with. */
struct lb_told_trial {
  char clients[24], trial[24], seed[32], verdict[16], why[500];
  /* The path, with the folder before it. Empty = none was kept. */
  char history[PATH_MAX];
  bool is_there; /* a published run has few of its histories (plots/publish.py) */
};

struct lb_story {
  /* Owns what the next two point into. */
  json_t *run;
  const json_t *cell, *scenario; /* of the run; the latter NULL = the run does not describe it */
  size_t trials;                 /* with as many clients as the chosen one */
  bool found;                    /* whether the cell has any trial */
  struct lb_told_trial trial;
};

/* Reads `dir`/run.json and trials.csv, finds the cell that `words` name (as lb_explain_cell_named() says),
 * and chooses: its first violated trial with a history, or the first one with a history if none was
 * violated; `number` > 0: among those with that number. 0 (release with lb_story_clear()), or -errno
 * with one line in err: -EINVAL or -ENOENT when it is the input's fault. */
int lb_story_find(const char *dir, const char *const *words, int count, int number, struct lb_story *ret,
                  struct lb_error *err);
void lb_story_clear(struct lb_story *told);
/* The same of every cell that has a trial, in the order of trials.csv: calls `tell` with it (without `trials`) until
 * that returns other than 0. Returns that, or 0, or -errno as above. */
int lb_story_each(const char *dir, int (*tell)(const struct lb_story *told, void *arg), void *arg,
                  struct lb_error *err);

/* What stands above the story: the verdict in the first line, the scenario, the trial, and what was
 * expected and why. */
void lb_story_print(const struct lb_story *told, FILE *out);

/* The command that makes trials like the chosen one, with the same seed, into ret. It can be pasted
 * into a shell, whatever the run's files say. */
void lb_story_again(const struct lb_story *told, char *ret, size_t size);

#endif
