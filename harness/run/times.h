/* SPDX-License-Identifier: MIT
 *
 * times.h - how long trials took, as it was measured: scenarios/times.csv, which scenarios/times.py makes out of run folders (results/SCHEMA.md).
 */
#ifndef LB_TIMES_H
#define LB_TIMES_H

#include "trial/trial_plan.h"

struct lb_times_row { /* medians over trials of a scenario on a system with so many clients */
  char scenario[100], system[100];
  int clients;
  double asked_s;         /* of a load or a campaign: how long it was told to take; 0 = a timeline */
  double start_s, rest_s; /* until servers and clients were there, and from then on */
};
struct lb_times {
  struct lb_times_row *row; /* owned */
  size_t count;
};

/* 0 (release with lb_times_clear()); -EINVAL or other -errno with one line in err, and then *ret is empty: lb_times_find() guesses. */
int lb_times_read(const char *path, struct lb_times *ret, char *err, size_t err_size);
void lb_times_clear(struct lb_times *times);

struct lb_took {
  double start_s, rest_s;
};
/* How long this trial takes: as it took, else as its scenario took on the same topology, or on any; else as timelines of that topology take. */
struct lb_took lb_times_find(const struct lb_times *times, const struct lb_trial_plan *plan);

#endif
