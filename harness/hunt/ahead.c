/* SPDX-License-Identifier: MIT
 *
 * A timeline is bounded by what its faults wait for (lb_hunt_write_takes_ms()). Servers are started for the first ones, and
 * serve the next ones.
 */
#include "ahead.h"

#include "write.h"

/* FOLLOW: sets are confirmed, simplified and asked about under guards, mostly beside what is looked at: at the end that
 * took a fifth of the time. One trial in START_EVERY needs servers of its own. */
#define FOLLOW 0.2
#define TRIAL_CPU_S 0.1
enum { START_EVERY = 4 };

static bool is_run(const struct lb_hunt_timeline *t) { return t->pruned == LB_HUNT_RUN; }

size_t lb_hunt_ahead_known(const struct lb_hunt_journal *journal, size_t *ret_all) {
  size_t known = 0;
  *ret_all = 0;
  for (size_t i = 0; i < journal->space->count; i++) {
    if (!is_run(&journal->space->timeline[i])) continue;
    ++*ret_all;
    known += lb_hunt_count_decided(lb_hunt_journal_seen(journal, i)) > 0;
  }
  return known;
}

/* Seconds for all timelines that no trial has decided yet. */
static double ahead_look_s(const struct lb_hunt_journal *journal, const struct lb_room *room) {
  const struct lb_hunt_space *space = journal->space;
  struct lb_share sum = {0};
  double start_s = (double)space->system.start_ms / 1e3 / START_EVERY;
  for (size_t i = 0; i < space->count; i++) {
    const struct lb_hunt_timeline *t = &space->timeline[i];
    if (!is_run(t) || lb_hunt_count_decided(lb_hunt_journal_seen(journal, i)) > 0) continue;
    struct lb_effort effort = {.start_s = start_s,
                               .start_cpu_s = start_s,
                               .start_ms = (int)(start_s * 1e3),
                               .rest_s = (double)lb_hunt_write_takes_ms(&space->system, t) / 1e3,
                               .rest_cpu_s = TRIAL_CPU_S};
    lb_estimate_add(&sum, lb_estimate_share(&effort, room));
  }
  return lb_estimate_of(sum);
}

void lb_hunt_ahead_begin(const struct lb_hunt_journal *journal, const struct lb_room *room, struct lb_hunt_ahead *ret) {
  double look_s = ahead_look_s(journal, room);
  *ret = (struct lb_hunt_ahead){.room = *room, .look_s = look_s, .follow_s = FOLLOW * look_s};
}

/* Until all is looked at, by what that took so far; then what follows runs down. */
double lb_hunt_ahead_left_s(struct lb_hunt_ahead *ahead, const struct lb_hunt_journal *journal, double elapsed_s,
                            double budget_s) {
  double whole_s = ahead->look_s + ahead->follow_s, look_s = ahead_look_s(journal, &ahead->room);
  if (!ahead->looked) ahead->looked = look_s <= 0, ahead->looked_s = elapsed_s;
  double follow_s = ahead->follow_s - (elapsed_s - ahead->looked_s);
  double left_s =
      lb_estimate_corrected(look_s + (follow_s > 0 ? follow_s : 0), ahead->look_s - look_s, ahead->looked_s, whole_s);
  if (budget_s > 0 && budget_s - elapsed_s < left_s) left_s = budget_s - elapsed_s;
  return left_s > 0 ? left_s : 0;
}
