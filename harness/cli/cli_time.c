/* SPDX-License-Identifier: MIT
 *
 * How long a command will take here, said before it starts.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/machine.h"
#include "cli.h"
#include "show/live.h"

/* What is less is over before the line is read. */
enum { FEW_TRIALS = 5, FEW_S = 10 };

static struct lb_room idle(struct lb_jobs jobs) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return (struct lb_room){.cores = cores < 1 ? 1 : (int)cores, .jobs = jobs};
}

struct lb_room lb_room_now(struct lb_jobs jobs) {
  struct lb_room room = idle(jobs);
  room.others = lb_machine_others();
  return room;
}

static bool is_over_soon(const struct lb_tally *tally, const struct lb_estimate *e) {
  return tally->plan->job_count - tally->done <= FEW_TRIALS && e->whole_s <= FEW_S;
}

/* Without the table it is a guess, which is corrected while the run goes on. What is over soon anyway does not wait to know what others want of the machine. */
static int estimate(const struct lb_tally *tally, struct lb_jobs jobs, struct lb_estimate *ret) {
  char path[4000], err[300];
  struct lb_times times;
  struct lb_room room = idle(jobs);
  snprintf(path, sizeof path, "%s/" LB_SCENARIOS "/times.csv", lb_root());
  lb_times_read(path, &times, err, sizeof err);
  int r = lb_estimate_begin(tally, &times, &room, ret);
  if (r == 0 && !is_over_soon(tally, ret)) {
    room = lb_room_now(jobs);
    lb_estimate_end(ret);
    r = lb_estimate_begin(tally, &times, &room, ret);
  }
  lb_times_clear(&times);
  return r;
}

int lb_announce(const struct lb_tally *tally, struct lb_jobs jobs, struct lb_estimate *ret) {
  char about[40];
  int r = estimate(tally, jobs, ret);
  if (r < 0 || is_over_soon(tally, ret)) return r;
  size_t left = tally->plan->job_count - tally->done;
  lb_live_about(ret->whole_s, about, sizeof about);
  fprintf(stderr, "%zu trial%s, %s here\n", left, left == 1 ? "" : "s", about);
  return 0;
}

double lb_seconds_of(const struct lb_plan *plan, struct lb_jobs jobs) {
  struct lb_tally tally;
  struct lb_estimate e = {0};
  if (lb_tally_begin(plan, &tally) < 0) return 0;
  estimate(&tally, jobs, &e);
  lb_tally_clear(&tally);
  double s = e.whole_s;
  lb_estimate_end(&e);
  return s;
}
