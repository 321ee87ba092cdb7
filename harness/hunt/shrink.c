/* SPDX-License-Identifier: MIT
 *
 * Each question is one plan of one timeline, played by the engine (run/engine.h). The budget is looked at before a
 * question; what is known by then is kept.
 */
#include "shrink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/error.h"
#include "base/need.h"
#include "base/rng.h"
#include "run/engine.h"
#include "plan/plan.h"
#include "plan/system.h"

enum { PATH = 3400, STREAM_SHRINK = 32, LEAST_MS = 50, FINAL = 4 };

struct shrinker {
  const struct lb_shrink_order *o;
  struct lb_directed *d;
  struct lb_shrunk *s;
  const char *what;
  size_t item; /* whose gap is cut down */
  int needed;  /* trials that have to break */
  int broke;   /* of the latest question */
  struct {
    int broke;
    enum lb_directed_way way;
  } start;           /* of what broke most often so far */
  lb_ns begin, end;  /* of the budget; end 0 = none */
  size_t violations; /* trials so far */
  struct {
    size_t count;
    double each_s;
  } ahead; /* timelines, and how long one was thought to take */
  struct lb_error *err;
};

static size_t count_of(const bool keep[], size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) kept += keep[i];
  return kept;
}

static long long waits(const struct lb_directed *d, const bool keep[]) {
  bool before[LB_DIRECTED_ITEMS_MAX];
  long long ms = 0;
  lb_directed_waits(d, keep, before);
  for (size_t i = 0; i < d->item_count; i++) ms += before[i] ? d->item[i].gap_ms : 0;
  return ms;
}

/* ---- one question -------------------------------------------------------------------------------------- */

static int write_file(const struct shrinker *k, const bool keep[], const char *path) {
  FILE *file = fopen(path, "we");
  if (!file) return -errno;
  int r = lb_directed_write(k->d, keep, k->o->of, NULL, "race", file);
  return fclose(file) != 0 && r == 0 ? -EIO : r;
}

/* ---- how long it takes --------------------------------------------------------------------------------- */

/* Most violations start with the latest fault alone: nothing at all and that fault, each in two ways, a wait or two
 * that is made shorter, and the last one. */
static size_t count_ahead(const struct lb_directed *d) {
  enum { WAYS = 2, WAITS = 1, LAST = 1 };
  return WAYS + (d->fault_count > 0 ? WAYS : 0) + WAITS + LAST;
}

/* The seconds of so many timelines that are ahead; the last one has FINAL times the trials. */
static double seconds_ahead(const struct shrinker *k, size_t count) {
  return (double)(count > 0 ? count + FINAL - 1 : 0) * k->ahead.each_s;
}

/* The trials of a timeline run side by side. Each waits at most as long as everything up to its end took, and for the
 * clients that are asked. */
static double seconds_of(const struct shrinker *k) {
  enum { OWN_MS = 1500, WAITS_MOST_MS = 10000 };
  struct lb_system system;
  struct lb_error err;
  if (lb_system_parse(k->o->of->system, &system, &err) < 0) return 0;
  int start_ms = system.topology->start_ms;
  long long ms = k->o->of->ttl_ms < WAITS_MOST_MS ? k->o->of->ttl_ms : WAITS_MOST_MS;
  struct lb_effort effort = {.start_s = start_ms / 1e3,
                             .start_cpu_s = start_ms / 1e3,
                             .start_ms = start_ms,
                             .rest_s = (double)(ms + OWN_MS) / 1e3};
  struct lb_share sum = {0}, each = lb_estimate_share(&effort, &k->o->room);
  for (int i = 0; i < k->o->trials; i++) lb_estimate_add(&sum, each);
  return lb_estimate_of(sum);
}

static void estimate(struct shrinker *k) {
  k->ahead.count = count_ahead(k->d);
  k->ahead.each_s = seconds_of(k);
  double s = seconds_ahead(k, k->ahead.count), budget_s = k->o->budget_s;
  if (k->o->begin) k->o->begin(k->o->display, k->ahead.count, budget_s > 0 && budget_s < s ? budget_s : s);
}

static void tell(const struct shrinker *k, const bool keep[], int trials, bool ended) {
  if (!k->o->tick) return;
  double elapsed_s = (double)(lb_clock_ns() - k->begin) / 1e9, budget_s = k->o->budget_s, asked = (double)k->s->asked;
  size_t all = k->ahead.count > k->s->asked ? k->ahead.count : k->s->asked + !(ended && strcmp(k->what, "again") == 0);
  double left_s = lb_estimate_corrected(seconds_ahead(k, all - k->s->asked), asked * k->ahead.each_s, elapsed_s,
                                        seconds_ahead(k, all));
  if (budget_s > 0 && budget_s - elapsed_s < left_s) left_s = budget_s > elapsed_s ? budget_s - elapsed_s : 0;
  struct lb_shrink_live live = {.what = k->what,
                                .asked = k->s->asked,
                                .all = all,
                                .violations = k->violations,
                                .elapsed_s = elapsed_s,
                                .left_s = left_s,
                                .ended = ended,
                                .broke = k->broke,
                                .trials = trials,
                                .faults = count_of(keep, k->d->fault_count),
                                .ms = waits(k->d, keep)};
  k->o->tick(k->o->display, &live);
}

/* ---- one question, played ------------------------------------------------------------------------------- */

struct question { /* a source of jobs: the trials of one timeline */
  struct shrinker *k;
  const bool *keep;
  const struct lb_plan *plan;
  struct lb_source source;
  size_t begun;
};

static enum lb_next next(void *of, const struct lb_pool *pool, const struct lb_job **ret) {
  struct question *q = of;
  (void)pool; /* each has servers of its own */
  if (q->begun == q->plan->job_count) return LB_NEXT_NONE;
  *ret = &q->plan->jobs[q->plan->order[q->begun]];
  return LB_NEXT_NOW;
}

static void begun(void *of, const struct lb_job *job) {
  struct question *q = of;
  (void)job;
  q->begun++, q->source.left--;
}

/* Whether it broke, and why it was undecided. */
static int ended(void *of, const struct lb_job *job, const struct lb_outcome *outcome) {
  struct question *q = of;
  (void)job;
  q->k->broke += outcome->verdict == LB_VIOLATED;
  if (outcome->verdict == LB_UNDECIDED) memcpy(q->k->s->why, outcome->why, sizeof q->k->s->why);
  return 0;
}

static void tick(void *of, const struct lb_job *const running[], size_t count) {
  const struct question *q = of;
  (void)running, (void)count;
  tell(q->k, q->keep, (int)q->plan->job_count, false);
}

static int play_plan(struct shrinker *k, const struct lb_plan *plan, const bool keep[]) {
  struct question q = {.k = k, .keep = keep, .plan = plan};
  q.source =
      (struct lb_source){.of = &q, .left = plan->job_count, .next = next, .begun = begun, .ended = ended, .tick = tick};
  if (plan->cells[0].skip[0]) return lb_refuse(k->err, "the timeline cannot be played: %s", plan->cells[0].skip);
  k->broke = 0;
  int r = lb_engine_run(&q.source, k->o->dir, k->o->jobs, k->err);
  if (r == 0) k->violations += (size_t)k->broke;
  return r;
}

static int play_all_of(struct shrinker *k, const bool keep[], int trials) {
  char folder[PATH], path[PATH + 40];
  struct lb_plan plan;
  snprintf(folder, sizeof folder, "%s/scratch/hunt", k->o->dir->partial);
  snprintf(path, sizeof path, "%s/s%06zu.ini", folder, k->s->asked);
  int r = lb_files_make_dirs(folder);
  if (r == 0) r = write_file(k, keep, path);
  if (r < 0) return lb_error(k->err, r, "cannot write %s: %s", path, strerror(-r));
  const char *paths[] = {path};
  struct lb_plan_request request = {.systems = k->o->of->system,
                                    .only_guards = 1u << k->o->of->guard,
                                    .trials = trials,
                                    .seed = lb_rng_fork(k->o->seed, STREAM_SHRINK, k->s->asked++).state};
  r = lb_plan_load(paths, 1, &request, &plan, k->err);
  if (r < 0) return r;
  r = play_plan(k, &plan, keep);
  lb_plan_clear(&plan);
  if (r == 0) tell(k, keep, trials, true);
  return r;
}

/* ---- faults, then times -------------------------------------------------------------------------------- */

static int breaks(struct shrinker *k, const bool keep[]) {
  if (k->end && lb_clock_ns() > k->end) return -ETIME;
  int r = play_all_of(k, keep, k->o->trials);
  return r < 0 ? r : k->broke >= k->needed;
}

static int without(void *of, const bool keep[]) { return breaks(of, keep); }

static int with_gap(void *of, long long value) {
  struct shrinker *k = of;
  long long was = k->d->item[k->item].gap_ms;
  k->d->item[k->item].gap_ms = value;
  int r = breaks(k, k->s->keep);
  k->d->item[k->item].gap_ms = was;
  return r;
}

static int cut_faults(struct shrinker *k) {
  k->what = "faults";
  return count_of(k->s->keep, k->d->fault_count) > 1 ? lb_shrink_ddmin(k->s->keep, k->d->fault_count, without, k) : 0;
}

/* From the front. */
static int cut_times(struct shrinker *k) {
  bool before[LB_DIRECTED_ITEMS_MAX];
  int r = 0;
  k->what = "times";
  lb_directed_waits(k->d, k->s->keep, before);
  for (size_t i = 0; i < k->d->item_count && r == 0; i++) {
    k->item = i;
    if (before[i]) r = lb_shrink_halve(&k->d->item[i].gap_ms, LEAST_MS, with_gap, k);
  }
  return r;
}

/* ---- where it starts ----------------------------------------------------------------------------------- */

/* These faults, in each way to play the two clients, until it breaks every time; the best so far stays in k->s and
 * k->start. */
static int try_faults(struct shrinker *k, const bool keep[]) {
  for (enum lb_directed_way way = LB_DIRECTED_BY_SERVER + 1; way-- > 0;) {
    if (!lb_directed_may(k->d, keep, way)) continue;
    if (k->end && lb_clock_ns() > k->end) return -ETIME;
    k->d->way = way;
    int r = play_all_of(k, keep, k->o->trials);
    if (r < 0) return r;
    if (k->broke > k->start.broke)
      k->start.broke = k->broke, k->start.way = way, memcpy(k->s->keep, keep, sizeof k->s->keep);
    if (k->broke == k->o->trials) return 1;
  }
  return 0;
}

/* The violation usually belongs to the fault before it. Faults that the campaign needed long for (a cut that took
 * seconds to install) can keep the whole from breaking. So first nothing at all, then each fault alone from the last
 * on, then the last two and more, up to the whole. 1 = some broke. */
static int find_start(struct shrinker *k) {
  size_t count = k->d->fault_count;
  bool keep[LB_DIRECTED_FAULTS_MAX] = {0};
  k->what = "start";
  int r = try_faults(k, keep);
  for (size_t i = count; i-- > 0 && r == 0;) {
    memset(keep, 0, sizeof keep), keep[i] = true;
    r = try_faults(k, keep);
  }
  memset(keep, 0, sizeof keep);
  for (size_t i = count; i-- > 0 && r == 0;) {
    keep[i] = true;
    if (i + 1 < count) r = try_faults(k, keep);
  }
  if (r < 0 && !(r == -ETIME && k->start.broke > 0)) return r;
  k->d->way = k->start.way;
  k->needed = k->start.broke == k->o->trials ? k->o->trials : (k->start.broke + 1) / 2;
  return k->start.broke > 0;
}

int lb_shrink(const struct lb_shrink_order *order, struct lb_directed *directed, struct lb_shrunk *ret,
              struct lb_error *err) {
  *ret = (struct lb_shrunk){.end = LB_SHRINK_NEVER};
  struct shrinker k = {.o = order, .d = directed, .s = ret, .begin = lb_clock_ns(), .err = err};
  if (order->budget_s > 0) k.end = k.begin + (lb_ns)(order->budget_s * 1e9);
  estimate(&k);
  int r = find_start(&k);
  if (r == -ETIME) ret->end = LB_SHRINK_NEVER_IN_TIME, r = 0;
  if (r <= 0) return r;
  ret->end = LB_SHRINK_WHOLE;
  r = cut_faults(&k);
  if (r == 0) r = cut_times(&k);
  if (r == -ETIME) ret->end = LB_SHRINK_OUT_OF_BUDGET, r = 0;
  ret->faults = count_of(ret->keep, directed->fault_count);
  if (r == -EINTR) return ret->end = LB_SHRINK_INTERRUPTED, ret->broke = k.needed, ret->trials = order->trials, 0;
  if (r < 0) return r;
  k.what = "again";
  ret->trials = FINAL * order->trials;
  r = play_all_of(&k, ret->keep, ret->trials);
  ret->broke = k.broke;
  if (r == 0 && ret->broke == 0) ret->end = LB_SHRINK_NEVER;
  return r;
}

/* ---- Delta debugging of a list: parts are left out, large ones first. When no part of a size can go, parts become
 * half as large; at size one the list is minimal. ---- */

/* `without` = keep without those from `from` to `to` of the kept ones. */
static void leave_out(const bool keep[], size_t count, size_t from, size_t to, bool without[]) {
  size_t at = 0;
  for (size_t i = 0; i < count; i++) {
    without[i] = keep[i] && (at < from || at >= to);
    at += keep[i];
  }
}

/* Leaves out each part of this size that can go, from the front: what came first is least likely to matter. */
static int pass(bool keep[], size_t count, size_t size, lb_shrink_ddmin_test test, void *of, bool without[]) {
  int left_out = 0;
  for (size_t from = 0, kept = count_of(keep, count); from < kept;) {
    size_t to = from + size < kept ? from + size : kept;
    if (to - from == kept) break; /* nothing would be left */
    leave_out(keep, count, from, to, without);
    int r = test(of, without);
    if (r < 0) return r;
    if (r > 0) memcpy(keep, without, count * sizeof *keep), kept -= to - from, left_out = 1;
    else from = to;
  }
  return left_out;
}

int lb_shrink_ddmin(bool keep[], size_t count, lb_shrink_ddmin_test test, void *of) {
  bool *without = lb_need(calloc(count + 1, sizeof *without));
  int r = 0;
  for (size_t size = (count_of(keep, count) + 1) / 2; size > 0 && r >= 0;) {
    r = pass(keep, count, size, test, of, without);
    if (size == 1 && r <= 0) break; /* once more at size one, until nothing goes any more */
    size = size > 1 ? size / 2 : 1;
  }
  free(without);
  return r < 0 ? r : 0;
}

int lb_shrink_halve(long long *value, long long least, int (*test)(void *of, long long value), void *of) {
  if (*value <= 0) return 0;
  int r = test(of, 0);
  if (r > 0) *value = 0;
  while (r == 0 && *value / 2 >= least) {
    r = test(of, *value / 2);
    if (r <= 0) break;
    *value /= 2, r = 0;
  }
  return r < 0 ? r : 0;
}
