/* SPDX-License-Identifier: MIT
 *
 * crew.h - the clients of a trial: started on their hosts, sessions opened, started again after a campaign killed one.
 */
#ifndef LB_CREW_H
#define LB_CREW_H

#include "base/error.h"
#include "stage.h"

/* Makes the clients of the trial, which have no life yet, stage->client_plan, and the memory that they share. */
void lb_crew_gather(struct lb_stage *stage);
/* Starts the observer (which runs the protocol's setup) and all clients, and opens their sessions. 0, or -ECANCELED
 * after lb_stage_doubt(). */
int lb_crew_start(struct lb_stage *stage);
/* Starts a client that is dead again, and opens its session. 0, or -1 with err. */
int lb_crew_revive(struct lb_stage *stage, struct lb_client *client, lb_ns deadline, struct lb_error *err);
/* The same, and sends it back to work. */
int lb_crew_restart(struct lb_stage *stage, struct lb_client *client, struct lb_error *err);
/* Stops one that is about to be ended. If it goes on, the trial is undecided: what it does until its end stands behind
 * that in the history, or its lock is another's before. */
void lb_crew_hold_still(struct lb_stage *stage, struct lb_client *client);
/* SIGKILL to all clients; from then on no process writes into the memory. */
void lb_crew_end(struct lb_stage *stage);
/* Forgets the clients and unmaps the memory, after lb_crew_end(). */
void lb_crew_dismiss(struct lb_stage *stage);
/* What no step ended must still be there at the end: a trial whose client or server died by itself shows something
 * else. */
void lb_crew_count_heads(struct lb_stage *stage);

/* The longest that the sessions of a trial can take, on the slowest machine. */
lb_ns lb_crew_open_most(const struct lb_trial_plan *plan);

#endif
