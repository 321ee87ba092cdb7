/* SPDX-License-Identifier: MIT
 *
 * Which jobs of a plan a shard plays.
 */
#include "shard.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/need.h"
#include "base/hash.h"

int lb_shard_parse(const char *text, struct lb_shard *ret, struct lb_error *err) {
  int end = 0;
  if (sscanf(text, "%4d/%4d%n", &ret->index, &ret->of, &end) == 2 && !text[end] && ret->index >= 1 &&
      ret->index <= ret->of)
    return 0;
  return lb_refuse(err, "--shard %s: expected I/N, as in 2/16, with I from 1 to N and N at most %d", text,
                   LB_SHARDS_MOST);
}

/* ---- engines ----------------------------------------------------------------------------------------------------- */

/* Their variables. The first row that says of several processes is taken. */
static const struct engine {
  const char *index, *first, *of, *job; /* first: what the index begins with; NULL = 0 */
} engines[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_JOB_ID"},
    {"OMPI_COMM_WORLD_RANK", NULL, "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"},
    {"SLURM_PROCID", NULL, "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID"},
    {"PMI_RANK", NULL, "PMI_SIZE", "PMI_JOBID"},
};

/* -1 = it says no such number. */
static int number(const char *name) {
  const char *text = name ? getenv(name) : NULL;
  char *end;
  if (!text || !*text) return -1;
  long n = strtol(text, &end, 10);
  return *end || n < 0 || n > INT32_MAX ? -1 : (int)n;
}

void lb_shard_of_engine(struct lb_shard *ret, uint64_t *ret_job) {
  *ret = (struct lb_shard){0};
  *ret_job = 0;
  for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
    const struct engine *e = &engines[i];
    int index = number(e->index), first = e->first ? number(e->first) : 0, of = number(e->of);
    if (index < 0 || first < 0 || index - first >= of || index < first || of < 2 || of > LB_SHARDS_MOST) continue;
    *ret = (struct lb_shard){index - first + 1, of};
    const char *job = getenv(e->job);
    if (job && *job) *ret_job = lb_hash(LB_HASH_BEGIN, job, strlen(job));
    return;
  }
}

/* ---- the part of a shard ----------------------------------------------------------------------------------------- */

struct unit { /* what may not be taken apart */
  const void *bond;
  double s;
  int shard; /* from 0 */
};

/* What a job shares with those that it stays together with; NULL = with none. */
static const void *bond_of(const struct lb_plan *plan, const struct lb_job *job) {
  if (!lb_job_measures(job)) return job->plan.pool;
  for (size_t i = 0; i < plan->scenario_count; i++)
    if (strcmp(plan->scenarios[i].base, job->plan.scenario->base) == 0) return plan->scenarios[i].base;
  return job->plan.scenario->base;
}

/* The longest first, else as they stand: the pointers are into one array. */
static int longer_first(const void *a, const void *b) {
  const struct unit *x = *(struct unit *const *)a, *y = *(struct unit *const *)b;
  if (x->s != y->s) return x->s < y->s ? 1 : -1;
  return x > y ? 1 : -1;
}

/* The units of a plan, and of each job its own. How many. */
static size_t find_units(const struct lb_plan *plan, const struct lb_took took[], struct unit *ret,
                         struct unit **unit_of) {
  size_t count = 0;
  for (size_t i = 0; i < plan->job_count; i++) {
    const struct lb_job *job = &plan->jobs[i];
    const void *bond = bond_of(plan, job);
    size_t u = bond ? 0 : count;
    while (u < count && ret[u].bond != bond) u++;
    if (u == count) ret[count++] = (struct unit){.bond = bond};
    ret[u].s += took[i].start_s + took[i].rest_s;
    unit_of[i] = &ret[u];
  }
  return count;
}

static void deal(struct unit **longest, size_t count, int shards, double *busy) {
  qsort(longest, count, sizeof(struct unit *), longer_first);
  for (size_t u = 0; u < count; u++) {
    int least = 0;
    for (int k = 1; k < shards; k++)
      if (busy[k] < busy[least]) least = k;
    busy[least] += longest[u]->s;
    longest[u]->shard = least;
  }
}

void lb_shard_take(struct lb_tally *tally, struct lb_shard shard, const struct lb_times *times) {
  const struct lb_plan *plan = tally->plan;
  size_t n = plan->job_count + 1;
  struct unit *units = lb_need(calloc(n, sizeof *units)), **unit_of = lb_need(calloc(n, sizeof *unit_of)),
              **longest = lb_need(calloc(n, sizeof *longest));
  double *busy = lb_need(calloc((size_t)shard.of, sizeof *busy));
  struct lb_took *took = lb_need(calloc(n, sizeof *took));
  lb_times_find_all(times, plan, took);
  size_t count = find_units(plan, took, units, unit_of);
  for (size_t u = 0; u < count; u++) longest[u] = &units[u];
  deal(longest, count, shard.of, busy);
  tally->wanted = 0;
  for (size_t i = 0; i < plan->job_count; i++) {
    tally->jobs[i].elsewhere = unit_of[i]->shard != shard.index - 1;
    tally->wanted += !tally->jobs[i].elsewhere;
  }
  free(units), free(unit_of), free(longest), free(busy), free(took);
}
