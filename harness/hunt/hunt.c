/* SPDX-License-Identifier: MIT
 *
 * A hunt from its order to its result: the search (search.c), and what follows it.
 */
#include "hunt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/need.h"
#include "history/history_load.h"
#include "replay.h"
#include "rests.h"
#include "sample.h"
#include "search.h"

/* What follows the search: a sample of what was not run because of a set that it found, guards under the sets, and
 * simpler forms of them. */

enum { GUARD_TRIALS = LB_HUNTING_GUARD_TRIALS, OTHER_GUARDS = LB_HUNTING_OTHER_GUARDS };

/* ---- what a minimal set says of others --------------------------------------------------------------------------- */

/* Runs a sample of the timelines of the order that were not run because there is a minimal set in them. */
static int audit_held(struct lb_hunting *g, const size_t order[], size_t count) {
  size_t sample[LB_HUNTING_SAMPLE_MAX] = {0}, some = lb_hunt_sample_held(g, order, count, sample);
  g->live.what = "auditing";
  struct lb_hunt_batch batch = {.timeline = sample, .count = some, .guards = 1u << g->order->guard, .repeats = 1};
  int r = lb_hunting_is_over(g, 1) ? 0 : lb_hunting_play_decided(g, &batch);
  for (size_t i = 0; i < some; i++) {
    g->h->audited += lb_hunting_knows(g, sample[i]);
    g->h->audit_new +=
        lb_hunting_knows(g, sample[i]) && !lb_hunt_count_broke(lb_hunt_journal_seen(&g->h->journal, sample[i]));
  }
  return r;
}

static void count_stopped(struct lb_hunting *g, enum lb_guard guard, const size_t set[], size_t count) {
  for (size_t i = 0; i < count; i++) {
    const struct lb_hunt_count *outcome = &g->h->journal.count[set[i]][guard];
    if (lb_hunt_count_decided(outcome) == 0) continue;
    g->h->asked_of[guard]++;
    g->h->stopped_by[guard] += lb_hunt_count_violated(outcome) == 0;
  }
}

/* A hunt under a guard is about that one. */
static int ask_guards(struct lb_hunting *g) {
  if (g->order->guard != LB_GUARD_NONE) return 0;
  size_t *set = lb_need(malloc((g->h->sets.count + 1) * sizeof *set)), count = 0;
  int r = 0;
  for (size_t i = 0; i < g->h->sets.count; i++)
    if (g->h->sets.set[i].standing == LB_HUNT_MINIMAL && g->h->sets.set[i].class == LB_HUNT_LEASE)
      set[count++] = g->h->sets.set[i].timeline;
  g->live.what = "guards";
  struct lb_hunt_batch batch = {.timeline = set, .count = count, .guards = OTHER_GUARDS, .repeats = GUARD_TRIALS};
  if (!lb_hunting_is_over(g, 1)) r = lb_hunting_play_decided(g, &batch);
  for (int guard = LB_GUARD_NONE + 1; guard < LB_GUARD_COUNT; guard++)
    count_stopped(g, (enum lb_guard)guard, set, count);
  free(set);
  return r;
}

/* Plays a twentieth of the timelines that did not break under each other guard, once. */
static int audit_guards(struct lb_hunting *g, const size_t order[], size_t count) {
  size_t sample[LB_HUNTING_SAMPLE_MAX], some = lb_hunt_sample_safe(g, order, count, sample);
  g->live.what = "auditing guards";
  struct lb_hunt_batch batch = {.timeline = sample, .count = some, .guards = OTHER_GUARDS, .repeats = 1};
  return lb_hunting_is_over(g, 1) ? 0 : lb_hunting_play_decided(g, &batch);
}

/* ---- simpler forms ----------------------------------------------------------------------------------------------- */

static bool budget_is_over(void *clock) {
  const struct lb_hunting *g = clock;
  return lb_hunting_is_over(g, g->share);
}
static bool is_over_now(void *clock) { return (void)clock, true; }

/* Replays may use what simpler forms have left. */
#define SIMPLIFY_UNTIL 0.85

static struct lb_hunt_lab lab_of(struct lb_hunting *g, const char *of, bool plays) {
  return (struct lb_hunt_lab){.batches = &g->batches,
                              .folder = g->order->folder,
                              .of = of,
                              .is_over = plays ? budget_is_over : is_over_now,
                              .clock = g,
                              .hasty = g->order->budget_s == 0,
                              .err = g->err};
}

/* 0, or -errno if something could not be written. */
static int lab_close(struct lb_hunt_lab *lab) {
  int r = 0;
  for (unsigned i = 0; i < LB_HUNT_WITHOUT_COUNT; i++)
    if (lab->journal[i].file && lb_hunt_journal_close(&lab->journal[i]) < 0) r = -EIO;
  return r;
}

static int close_lab(struct lb_hunting *g, struct lb_hunt_lab *lab, int r) {
  int closed = lab_close(lab);
  if (r == -EINTR) g->h->end = LB_HUNT_INTERRUPTED;
  return r < 0 ? r : closed < 0 ? lb_error(g->err, closed, "cannot write %s", g->order->folder) : 0;
}

static int simplify(struct lb_hunting *g, const char *of, bool plays) {
  struct lb_hunt_lab lab = lab_of(g, of, plays);
  struct lb_hunt_player player = lb_hunt_lab_player(&lab);
  g->live.what = "simplifying";
  g->share = SIMPLIFY_UNTIL;
  int r = lb_hunt_simplify(&g->h->space, &g->h->sets, &player);
  g->share = 1;
  return close_lab(g, &lab, r);
}

/* How many sets it refuted. `rest`: what is played beside them. */
static int replay(struct lb_hunting *g, const char *of, bool plays, const struct lb_hunt_batch *rest, size_t rests) {
  struct lb_hunt_lab lab = lab_of(g, of, plays);
  lab.replays = true;
  lab.beside = rest;
  lab.beside_count = rests;
  struct lb_hunt_player player = lb_hunt_lab_player(&lab);
  g->live.what = "replaying";
  int refuted = lb_hunt_replay(&g->h->journal, &g->h->sets, &player), r = close_lab(g, &lab, refuted);
  return r < 0 ? r : refuted;
}

/* What was simplified or replayed before costs nothing: it is in the journals. Behind a search its order says what else
 * there is to play; where time does not run out, that is played beside the replays. NULL = nothing else. */
static int settle(struct lb_hunting *g, bool plays, const size_t *order, size_t count) {
  char of[300];
  struct lb_hunt_rest rest = {0};
  size_t rests = 0;
  lb_hunting_describe(g->order, of, sizeof of);
  int r = simplify(g, of, plays);
  if (r == 0 && order && g->order->budget_s == 0) rests = lb_hunt_search_rest(g, order, count, &rest);
  if (r == 0) r = replay(g, of, plays, rest.batch, rests);
  lb_hunt_search_forget(&rest);
  return r;
}

/* ---- a hunt ------------------------------------------------------------------------------------------------------ */

/* Not what a bound leaves out and was run as a part of a set. */
static void count_ran(struct lb_hunt *h) {
  for (size_t i = 0; i < h->space.count; i++)
    h->ran[h->space.timeline[i].fault_count] +=
        h->space.timeline[i].pruned == LB_HUNT_RUN && lb_hunt_count_decided(lb_hunt_journal_seen(&h->journal, i)) > 0;
}

/* The history of a trial without a fault: what did the grant rest on? */
static void history(void *to, const char *path) {
  struct lb_hunting *g = to;
  struct lb_history history;
  struct lb_error err;
  char said[200];
  if (g->h->journal.seen || lb_history_load(path, NULL, &history, &err) < 0) return;
  unsigned rests = lb_hunt_rests_see(&g->h->space.system, &history, said, sizeof said);
  lb_history_clear(&history);
  lb_hunt_journal_note(&g->h->journal, rests, said);
}

/* The first trial of a hunt, unless an earlier part of it has played that. */
static int see_lineage(struct lb_hunting *g) {
  size_t first = 0; /* L0 */
  struct lb_hunt_batch batch = {
      .timeline = &first, .count = 1, .guards = 1u << g->order->guard, .repeats = 1, .again = LB_HUNTING_AGAIN};
  if (g->h->space.switches.no_lineage) return 0;
  g->batches.history = history;
  int r = g->h->journal.seen ? 0 : lb_hunting_play(g, &batch, 1);
  g->batches.history = NULL;
  if (g->h->journal.seen) g->h->space.system.rests = g->h->journal.rests;
  return r;
}

static int hunt_all(struct lb_hunting *g) {
  size_t *order, count;
  int r = see_lineage(g);
  if (r < 0) return r;
  g->first = g->h->first = lb_hunt_search_order(&g->h->space, g->order->seed, &order, &count);
  do {
    r = lb_hunt_search(g, order, count);
    if (g->order->shard.of > 0) return free(order), r;
    if (r == 0) r = settle(g, true, order, count);
  } while (r > 0); /* a set was refuted: what contains it is to be looked at now */
  if (r == 0) r = audit_held(g, order, count);
  if (r == 0) r = ask_guards(g);
  if (r == 0) r = audit_guards(g, order, count);
  free(order);
  return r;
}

/* One timeline by its id, as often as it takes to be sure, whether the space would run it or not. */
static int hunt_one(struct lb_hunting *g) {
  struct lb_hunt_timeline timeline;
  int r = lb_hunt_timeline_of_id(g->order->only, &timeline, g->err);
  if (r < 0) return r;
  ptrdiff_t at = lb_hunt_space_find(&g->h->space, &timeline);
  if (at < 0)
    return lb_refuse(g->err, "--only %s: %s has no such timeline of at most %d faults", g->order->only,
                     g->order->system, g->order->faults_max);
  size_t one = (size_t)at;
  g->live.faults = timeline.fault_count;
  struct lb_hunt_batch batch = {.timeline = &one, .count = 1, .guards = 1u << g->order->guard, .repeats = LB_HUNT_SURE};
  r = lb_hunting_play(g, &batch, 1);
  if (r < 0) return r;
  lb_hunting_find_sets(g);
  r = settle(g, true, NULL, 0);
  return r < 0 ? r : 0;
}

static int prepare(const struct lb_hunt_order *order, struct lb_hunt *h, struct lb_error *err) {
  struct lb_hunt_system system;
  char path[4000], of[300];
  lb_hunt_system_of(order->protocol, order->topology, &system);
  int r = lb_hunt_space_make(&system, order->faults_max, &order->switches, &h->space);
  if (r < 0) return lb_error(err, r, "no space of timelines: %s", strerror(-r));
  snprintf(path, sizeof path, "%s/trials.csv", order->folder);
  lb_hunting_describe(order, of, sizeof of);
  r = lb_hunt_journal_open(&h->journal, &h->space, path, of, err);
  if (r < 0) lb_hunt_space_clear(&h->space);
  h->journal.guard = order->guard;
  return r;
}

/* At most once a second, as all that is left is played for it. */
static void estimate(struct lb_hunting *g) {
  lb_ns now = lb_clock_ns();
  if (g->estimated && now - g->estimated < LB_NS_PER_S) return;
  g->estimated = now;
  g->live.left_s = lb_hunt_ahead_left_s(&g->ahead, &g->h->journal, g->live.elapsed_s, g->order->budget_s);
}

static void tick(void *to, size_t done, size_t count) {
  struct lb_hunting *g = to;
  g->live.done = done;
  g->live.count = count;
  g->live.undecided = g->h->journal.undecided;
  g->live.elapsed_s = lb_hunting_spent(g);
  if (g->order->only) {
    g->live.known = done, g->live.all = count;
  } else {
    g->live.known = lb_hunt_ahead_known(&g->h->journal, &g->live.all);
    estimate(g);
  }
  if (g->order->tick) g->order->tick(g->order->display, &g->live);
}

static void trial(void *to, size_t timeline, enum lb_guard guard, const struct lb_outcome *outcome) {
  const struct lb_hunting *g = to;
  char id[LB_HUNT_ID_MAX];
  if (!g->order->trial) return;
  lb_hunt_timeline_id(&g->h->space.timeline[timeline], id);
  struct lb_hunt_trial ended = {id, guard, lb_hunt_outcome_of(outcome), outcome->why, (double)outcome->trial_ns / 1e9};
  g->order->trial(g->order->display, &ended);
}

static void begin(struct lb_hunting *g) {
  size_t all, known = lb_hunt_ahead_known(&g->h->journal, &all);
  lb_hunt_ahead_begin(&g->h->journal, &g->order->room, &g->ahead);
  double s = g->ahead.look_s + g->ahead.follow_s, budget_s = g->order->budget_s;
  if (g->order->shard.of > 0) s = g->ahead.look_s / g->order->shard.of;
  if (g->order->begin) g->order->begin(g->order->display, all - known, budget_s > 0 && budget_s < s ? budget_s : s);
}

static double left_s(void *clock) {
  const struct lb_hunting *g = clock;
  return g->order->budget_s * g->share - lb_hunting_spent(g);
}

/* After an interruption: the sets as far as they are known. */
static int close_off(struct lb_hunting *g) {
  int r;
  do {
    lb_hunting_find_sets(g);
    r = settle(g, false, NULL, 0);
  } while (r > 0);
  return r;
}

int lb_hunt_run(const struct lb_hunt_order *order, struct lb_hunt *ret, struct lb_error *err) {
  *ret = (struct lb_hunt){0};
  int r = prepare(order, ret, err);
  if (r < 0) return r;
  struct lb_hunting g = {.order = order,
                         .h = ret,
                         .begin = lb_clock_ns(),
                         .share = 1,
                         .err = err,
                         .live = {.what = "looking", .left_s = -1}};
  g.batches = (struct lb_hunt_batches){.space = &ret->space,
                                       .journal = &ret->journal,
                                       .dir = order->dir,
                                       .jobs = order->jobs,
                                       .settings = order->settings,
                                       .setting_count = order->setting_count,
                                       .seed = order->seed,
                                       .tick = tick,
                                       .trial = trial,
                                       .display = &g,
                                       .left_s = order->budget_s > 0 ? left_s : NULL,
                                       .clock = &g,
                                       .played = (unsigned)ret->journal.trials};
  if (!order->only) begin(&g);
  r = order->only ? hunt_one(&g) : hunt_all(&g);
  if (r == -EINTR) r = close_off(&g);
  count_ran(ret);
  ret->seconds = lb_hunting_spent(&g);
  if (r < 0) lb_hunt_clear(ret);
  return r;
}

static void audit_clear(struct lb_hunt_audit *a) {
  if (a->journal.file) lb_hunt_journal_close(&a->journal);
  free(a->drawn);
  *a = (struct lb_hunt_audit){0};
}

void lb_hunt_clear(struct lb_hunt *hunt) {
  if (hunt->journal.file) lb_hunt_journal_close(&hunt->journal);
  audit_clear(&hunt->audit);
  lb_hunt_sets_clear(&hunt->sets);
  lb_hunt_space_clear(&hunt->space);
}
