/* SPDX-License-Identifier: MIT
 *
 * crew_open.h - the sessions of a crew: a few at a time, and with patience where the machine is slow. Private to crew.c; how long it may take at most is for the runner.
 */
#ifndef LB_CREW_OPEN_H
#define LB_CREW_OPEN_H

#include "stage.h"

/* Opens the sessions of these clients, but of those that a step tells to. All of them are there when it returns: 0, or -1 with err. A session that is late is waited for as long as
 * the machine was the one that held it up. */
int lb_crew_open(struct lb_stage *stage, struct lb_client *clients, size_t count, char *err, size_t err_size);
/* The protocol's setup, by the observer. 0, or -1 with err. */
int lb_crew_set_up(struct lb_stage *stage, char *err, size_t err_size);
/* One session until `deadline`, whatever the machine does: a step says so. 0, or -1 with err. */
int lb_crew_open_by(struct lb_stage *stage, struct lb_client *client, lb_ns deadline, char *err, size_t err_size);
/* The longest that the sessions of a trial can take, on the slowest machine. */
lb_ns lb_crew_open_most(const struct lb_trial_plan *plan);

#endif
