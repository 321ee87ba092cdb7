/* SPDX-License-Identifier: MIT
 *
 * A workload: all clients work in a closed loop; what is granted between the two marks of its window is measured.
 *
 * The clients run the loop by themselves (client/program.c) and are told two things, to begin and to stop. The
 * controller only sets the marks, so that nothing it does stands between a client and its lock.
 */
#include "workload.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/rng.h"
#include "fault_line.h"
#include "network/line.h"
#include "servers/family.h"
#include "trial.h"
#include "gauge.h"

/* A count of fewer things doubles by chance. Thirds of less than half a second say nothing: a single garbage collection
 * takes a tenth of that. */
enum { TICKS_MIN = 12, WITHIN_PERCENT = 3, COUNT_MIN = 100 };
enum { LOOK_MS = 500, REST_MS = 3000, REST_PERCENT = 10 }; /* of the compilers */
enum { TICK_US = 500, SLOW_TICK_US = 5000, STOP_GRACE_MS = 3000, COUNT_MS = 1000 };

static bool has_settled(const struct lb_settle *s) {
  size_t third = s->ticks / 3, now = s->ticks;
  if (now < TICKS_MIN) return false;
  uint64_t last = s->count[now] - s->count[now - third], before = s->count[now - third] - s->count[now - 2 * third];
  uint64_t difference = last > before ? last - before : before - last;
  return before >= COUNT_MIN && 100 * difference <= WITHIN_PERCENT * before;
}

bool lb_settle_add(struct lb_settle *s, uint64_t count) {
  if (s->ticks < LB_SETTLE_TICKS_MAX) s->count[++s->ticks] = count;
  return has_settled(s);
}

/* ---- servers that compile what they do often (lb_family.compiling) ----
 *
 * While they do, a rate is that of servers which share the processor with their own compilers, however steady it
 * looks. So the compilers are looked at, and not the rate alone. They begin anew when a load of another shape comes:
 * servers that many locks had heated compiled for half a minute more when sixteen clients stood in the queue of one,
 * and handed it over 257 times a second before that and 704 times after it. So every load is looked at, and not the
 * heating alone. */

struct compilers { /* all zero = no look yet */
  lb_ns since;     /* from then on they have used little */
  lb_ns spent;     /* what they had used by then */
};

/* The compilers are at rest when those of all servers together have used less than a tenth of a processor for three
 * seconds. These begin anew as soon as that much has been used. To be called every LOOK_MS or more often. True also of
 * servers that compile nothing; false of those that cannot be looked at. */
static bool compilers_at_rest(struct compilers *c, struct lb_cluster *cluster) {
  const lb_ns rest = REST_MS * LB_NS_PER_MS, most = rest / 100 * REST_PERCENT;
  lb_ns now = lb_clock_ns(), spent;
  int r = lb_cluster_compiling(cluster, &spent);
  if (r == -EOPNOTSUPP) return true;
  if (r < 0) return *c = (struct compilers){0}, false;
  if (c->since && spent <= c->spent + most) return now - c->since >= rest;
  *c = (struct compilers){.since = now, .spent = spent};
  return false;
}

/* ---- the window ---- */

static void show_live(struct lb_stage *s) {
  if (s->live) atomic_store(&s->live->grants, atomic_load(&s->memory->grants));
}

/* A lock in memory is so fast that its log, not the time, is the limit. Beside servers each look takes time from them
 * and from their clients. */
void lb_workload_continue(struct lb_stage *s, lb_ns end, const _Atomic bool *enough) {
  lb_ns now, tick_us = s->cluster.data_count ? SLOW_TICK_US : TICK_US;
  while ((now = lb_clock_ns()) < end && !atomic_load(enough)) {
    lb_ns tick = now + tick_us * (LB_NS_PER_MS / 1000);
    lb_clock_sleep_until(tick < end ? tick : end);
    show_live(s);
  }
}

static lb_ns in_s(double seconds) { return lb_clock_ns() + (lb_ns)(seconds * 1e9); }

/* A client that did not answer in time is silent; one that cannot answer any more has died. The reasons differ. */
static int silent(struct lb_stage *s, struct lb_client *client, int result) {
  char what[80];
  snprintf(what, sizeof what, "%s was told to stop", client->name);
  return result == LB_TIMEOUT ? lb_stage_silent(s, client, what, result) : lb_stage_died(s, client);
}

/* ---- what the servers were asked, and have written ------------------------------------------------ */

typedef int counts(struct lb_cluster *cluster, lb_ns deadline, uint64_t *ret);

/* -1: they do not say. Only a load is counted: faults change which server decides, and what each has counted. */
static int64_t read_count(struct lb_stage *s, counts *count) {
  uint64_t counted;
  if (s->plan->scenario->kind != LB_KIND_LOAD || s->cluster.data_count == 0) return -1;
  return count(&s->cluster, lb_in_ms(COUNT_MS), &counted) == 0 ? (int64_t)counted : -1;
}

static int64_t ask_since(struct lb_stage *s, counts *count, int64_t before) {
  int64_t now = before < 0 ? -1 : read_count(s, count);
  s->counted_back |= now >= 0 && now < before;
  return now >= before && now >= 0 ? now - before : -1;
}

/* Records what the line itself added, while it still holds. It ends with the site. */
static void distance_note(struct lb_stage *s) {
  uint64_t lost = 0;
  for (const struct lb_line *line = s->net.lines; line; line = line->older) {
    const struct lb_hist *own = &line->shared->own;
    for (size_t i = 0; i < line->way_count; i++) lost += atomic_load(&line->seen[i].lost);
    lb_stage_note(
        s,
        "round trip %g ms: the line itself added %.3f ms to each of %llu packets, %.3f ms to one of 100, and lost %llu",
        s->plan->scenario->round_trip_ms, (double)lb_hist_quantile(own, 0.5) / 1e6, (unsigned long long)own->count,
        (double)lb_hist_quantile(own, 0.99) / 1e6, (unsigned long long)lost);
  }
}

/* The clients still work while the servers are asked: those that leave a queue because they are told to stop write,
 * too, and are not part of what was measured. */
int lb_workload_end(struct lb_stage *s) {
  lb_stage_phase(s, LB_PHASE_END);
  lb_gauge_end(s);
  if (s->plan->scenario->apart) distance_note(s);
  s->requests = ask_since(s, lb_cluster_requests, s->requests_before);
  s->commits = ask_since(s, lb_cluster_commits, s->commits_before);
  lb_gauge_memory(s); /* it takes a while, in which the servers would count on */
  atomic_store(&s->memory->phase, LB_PHASE_STOP);
  /* A client may be in the middle of an acquire and then of a release, each bounded by wait_ms. */
  lb_ns deadline = lb_clock_ns() + 2 * s->client_plan.work.wait_ns + STOP_GRACE_MS * LB_NS_PER_MS;
  struct lb_reply reply;
  for (size_t i = 0; i < s->client_count; i++) {
    int r = lb_client_await(&s->client[i], deadline, &reply);
    if (r != 0) return silent(s, &s->client[i], r);
  }
  return 0;
}

/* Under a guard a load is asked for its verdict. Its speed is that of the lock without a guard. */
static bool has_to_settle(const struct lb_stage *s) {
  return s->plan->scenario->settle_s > 0 && s->plan->guard == LB_GUARD_NONE;
}

/* What servers do for the first time they compile first. False: they still did after settle_s. */
static bool wait_for_compilers(struct lb_stage *s, const _Atomic bool *enough) {
  struct compilers compilers = {0};
  lb_ns most = in_s(s->plan->scenario->settle_s);
  bool rest;
  while (!(rest = compilers_at_rest(&compilers, &s->cluster)) && lb_clock_ns() < most && !atomic_load(enough))
    lb_workload_continue(s, lb_in_ms(LOOK_MS), enough);
  return rest;
}

/* Until `least` and until the rate has settled, which takes settle_s at most. What was done before is not looked at. */
static bool wait_for_rate(struct lb_stage *s, lb_ns least, const _Atomic bool *enough) {
  static struct lb_settle settle;
  lb_ns begin = lb_clock_ns(), most = (least > begin ? least : begin) + (lb_ns)(s->plan->scenario->settle_s * 1e9);
  uint64_t before = atomic_load(&s->memory->grants);
  bool settled = false;
  settle = (struct lb_settle){0};
  for (lb_ns now = begin; now < most && (now < least || !settled) && !atomic_load(enough); now = lb_clock_ns()) {
    lb_ns tick = begin + (settle.ticks + 1) * LB_SETTLE_TICK_MS * LB_NS_PER_MS;
    lb_workload_continue(s, tick < most ? tick : most, enough);
    settled = lb_settle_add(&settle, atomic_load(&s->memory->grants) - before);
  }
  return settled;
}

/* For warmup_s, and then until the compilers rest and the rate has settled. A log that is an eighth full ends it in any
 * case: its clients have worked enough to be warm. */
static void warm_up(struct lb_stage *s) {
  const _Atomic bool *enough = &s->memory->log_warm;
  lb_ns begin = lb_clock_ns(), least = begin + (lb_ns)(s->plan->scenario->warmup_s * 1e9);
  bool settled = true;
  if (has_to_settle(s)) {
    settled = wait_for_compilers(s, enough);
    settled &= wait_for_rate(s, least, enough);
  } else {
    lb_workload_continue(s, least, enough);
  }
  s->unsettled = !settled && !atomic_load(enough);
  s->warmup_ns = lb_clock_ns() - begin;
}

int lb_workload_begin(struct lb_stage *s) {
  int r = lb_fault_make_distance(s);
  if (r < 0) return r;
  for (size_t i = 0; i < s->client_count; i++) {
    r = lb_client_send(&s->client[i], (struct lb_command){.verb = LB_DO_WORK});
    if (r < 0) return lb_stage_died(s, &s->client[i]);
  }
  warm_up(s);
  s->commits_before = read_count(s, lb_cluster_commits);
  s->requests_before = read_count(s, lb_cluster_requests);
  lb_gauge_begin(s);
  lb_stage_phase(s, LB_PHASE_MEASURE);
  return 0;
}

int lb_workload_play(struct lb_stage *s) {
  int r = lb_workload_begin(s);
  if (r < 0) return r;
  lb_workload_continue(s, in_s(s->plan->scenario->duration_s), &s->memory->log_full);
  return lb_workload_end(s);
}

/* ---- heating ----
 *
 * The load is many locks, each of which a few clients contend for: what a hot lock makes a server do, what a free one
 * does, and as much of it as the clients can ask for. */

/* Three JVMs on two processors took 50 s. At the end they compile what is rarely done, a method now and then. */
enum { CLIENTS = 16, KEYS = 8, WAIT_MS = 5000, MOST_S = 120, STREAM_HEAT = 13 };

bool lb_workload_heat_needed(const struct lb_trial_plan *plan) {
  return plan->scenario->kind == LB_KIND_LOAD && plan->scenario->settle_s > 0 && plan->guard == LB_GUARD_NONE &&
         !plan->scenario->apart && plan->topology->family && plan->topology->family->compiling;
}

bool lb_workload_heat_shared(const struct lb_trial_plan *a, const struct lb_trial_plan *b) {
  return lb_workload_heat_needed(a) && lb_workload_heat_needed(b) && a->topology == b->topology &&
         a->trial == b->trial && a->scenario->ttl_ms == b->scenario->ttl_ms &&
         a->scenario->memory_storage == b->scenario->memory_storage;
}

lb_ns lb_workload_heat_most(void) { return MOST_S * LB_NS_PER_S; }

bool lb_workload_heat_plan(const struct lb_trial_plan *plan, struct lb_scenario *scenario, struct lb_trial_plan *ret) {
  if (!lb_workload_heat_needed(plan)) return false;
  *scenario = *plan->scenario;
  scenario->keys = KEYS;
  scenario->hold_ms = scenario->think_ms = scenario->rate_per_s = scenario->skew = 0;
  scenario->arrivals = LB_ARRIVE_CLOSED;
  scenario->wait_ms = WAIT_MS;
  *ret = *plan;
  ret->scenario = scenario;
  ret->clients = CLIENTS;
  ret->seed = lb_rng_fork(plan->seed, STREAM_HEAT, 0).state;
  snprintf(ret->name, sizeof ret->name, "heat.%s.t%d", plan->system, plan->trial);
  return true;
}

int lb_workload_heat_play(struct lb_stage *s) {
  lb_ns begin = lb_clock_ns(), most = begin + lb_workload_heat_most();
  struct compilers compilers = {0};
  for (size_t i = 0; i < s->client_count; i++)
    if (lb_client_send(&s->client[i], (struct lb_command){.verb = LB_DO_WORK}) < 0)
      return lb_stage_died(s, &s->client[i]);
  s->commits_before = s->requests_before = -1;
  while (!(s->site.warm = compilers_at_rest(&compilers, &s->cluster)) && lb_clock_ns() < most &&
         !atomic_load(&s->memory->log_full))
    lb_workload_continue(s, lb_in_ms(LOOK_MS), &s->memory->log_full);
  s->site.heated_ns = lb_clock_ns() - begin;
  return lb_workload_end(s);
}
