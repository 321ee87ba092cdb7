/* SPDX-License-Identifier: MIT
 *
 * Rounds become one run: the trials of a cell stand side by side in the order of the rounds, so that
 * the first of one side and the first of the other are those of the same minutes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare_run.h"

enum { ROUNDS_MAX = 10000 };

static bool is_there(const char *dir, int round) {
  char path[PATH_MAX];
  return snprintf(path, sizeof path, "%s/%d/run.json", dir, round) < (int)sizeof path && access(path, F_OK) == 0;
}

/* Loads each; *trials = of how many trials. */
static int load_each(const char *dir, struct lb_run *ret, size_t *trials, char *err, size_t err_size) {
  char path[PATH_MAX];
  int count = 0, r = 0;
  *trials = 0;
  while (count < ROUNDS_MAX && is_there(dir, count + 1)) count++;
  if (!(ret->round = calloc((size_t)count, sizeof *ret->round))) return snprintf(err, err_size, "%.400s: out of memory", dir), -ENOMEM;
  for (int i = 0; r == 0 && i < count; i++) {
    snprintf(path, sizeof path, "%s/%d", dir, i + 1);
    r = lb_run_load(path, &ret->round[i], err, err_size);
    ret->rounds += r == 0;
    *trials += ret->round[i].count;
  }
  return r;
}

static bool same_group(const struct lb_run_trial *x, const struct lb_run_trial *y) {
  return strcmp(x->scenario, y->scenario) == 0 && strcmp(x->system, y->system) == 0 && strcmp(x->guard, y->guard) == 0 &&
         strcmp(x->clients, y->clients) == 0;
}

static void add_group_of(struct lb_run *ret, const struct lb_run *round, const struct lb_run_trial *like) {
  for (size_t i = 0; i < round->count; i++)
    if (same_group(&round->trial[i], like)) ret->trial[ret->count++] = round->trial[i];
}

static bool has_group(const struct lb_run *run, const struct lb_run_trial *like) {
  for (size_t i = 0; i < run->count; i++)
    if (same_group(&run->trial[i], like)) return true;
  return false;
}

static int load_rounds(const char *dir, struct lb_run *ret, char *err, size_t err_size) {
  size_t trials;
  *ret = (struct lb_run){0};
  int r = load_each(dir, ret, &trials, err, err_size);
  if (r == 0 && !(ret->trial = calloc(trials + 1, sizeof *ret->trial))) r = (snprintf(err, err_size, "%.400s: out of memory", dir), -ENOMEM);
  for (size_t i = 0; r == 0 && i < ret->rounds; i++)
    for (size_t t = 0; t < ret->round[i].count; t++)
      if (!has_group(ret, &ret->round[i].trial[t]))
        for (size_t k = i; k < ret->rounds; k++) add_group_of(ret, &ret->round[k], &ret->round[i].trial[t]);
  if (r == 0) ret->json = json_incref(ret->round[0].json);
  else lb_run_clear(ret);
  return r;
}

int lb_run_load_side(const char *dir, struct lb_run *ret, char *err, size_t err_size) {
  return is_there(dir, 1) ? load_rounds(dir, ret, err, err_size) : lb_run_load(dir, ret, err, err_size);
}
