/* SPDX-License-Identifier: MIT
 *
 * timeline_client.h - the steps of a timeline that a client does itself, and the answers that it owes.
 * All that return an int: 0, or -ECANCELED after lb_stage_doubt().
 */
#ifndef LB_TIMELINE_CLIENT_H
#define LB_TIMELINE_CLIENT_H

#include "stage.h"

enum { LB_GRACE_MS = 3000 }; /* so much later than the deadline of a command an answer may come */

/* That time, on the clock of lb_clock_ns(). */
lb_ns lb_timeline_in_ms(int64_t ms);
/* A sleep between two looks at what others do, by who has waited since then: 0.5 ms, and a twentieth of the wait where that is more, up to 5 ms. */
void lb_timeline_doze(lb_ns since);

/* The client that a step names. */
struct lb_client *lb_timeline_client(struct lb_stage *stage, const struct lb_step *step);
/* Gives the client of the step a command. Its answer is awaited here, unless the step only begins, or
 * the client stops or dies at its armed point. */
int lb_timeline_tell(struct lb_stage *stage, const struct lb_step *step, enum lb_client_verb verb);
/* The client sends a write that does not arrive yet (fault_late.c). */
int lb_timeline_write_late(struct lb_stage *stage, const struct lb_step *step);
/* The steps that arm a point, and those that open a new session: in the same life, and in a new one. */
int lb_timeline_arm(struct lb_stage *stage, const struct lb_step *step);
int lb_timeline_reopen(struct lb_stage *stage, const struct lb_step *step);
int lb_timeline_start(struct lb_stage *stage, const struct lb_step *step);

/* timeline_gate.c: a client is to stand still at a point for as long as a few steps take, and goes on. A gate that took over a quarter of the ttl is a
 * doubt; one that the client has not come to is open from now on. */
int lb_timeline_gate(struct lb_stage *stage, const struct lb_step *step);
int lb_timeline_pass(struct lb_stage *stage, const struct lb_step *step);

/* The answer that the client owes, until its deadline; nothing where it owes none. */
int lb_timeline_collect(struct lb_stage *stage, struct lb_client *client);
/* The same of a client that stood still in the middle of a command and goes on now. */
int lb_timeline_finish(struct lb_stage *stage, struct lb_client *client);

/* Records the points at which clients have arrived since, in a command that had only begun. */
int lb_timeline_look_at_points(struct lb_stage *stage);
/* The same at the end, when a point that nobody passed is a fault that did not fire. */
int lb_timeline_all_fired(struct lb_stage *stage);

#endif
