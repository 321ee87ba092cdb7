/* SPDX-License-Identifier: MIT
 *
 * fault.h - what a step does to hosts, and the proof that it did: a cut by a connection that worked
 * before and does not any more, a delay by a packet that is late, a kill by the exit status, a pause by the state of the process, a
 * clock by asking the server for its time.
 *
 * A fault records itself in the history before it acts, and the proof after it.
 */
#ifndef LB_FAULT_H
#define LB_FAULT_H

#include "cast.h"

/* True for a verb that this does: a fault of hosts, or its cure. */
bool lb_fault_knows(enum lb_verb verb);
/* True if lb_fault_undo() has something to do for it. */
bool lb_fault_has_undo(enum lb_verb verb);
/* Does the step (cut, slow, hold, heal, kill, pause, resume, restart, clock ...) to the cast: a = who,
 * b = the other side of a link. 0 = done and proved, or it is lb_fault_settle() or lb_fault_prove_kept() that proves it (or, of one that is armed, lb_fault_all_met()); 1 = a cut of nobody: nothing was done and nothing proved;
 * -1 = not, with err saying why. */
int lb_fault_do(struct lb_stage *stage, const struct lb_step *step, const struct lb_cast *a, const struct lb_cast *b,
                char *err, size_t err_size);
/* Proves the faults whose effect takes its time to be seen (a packet that is to come late), as far as
 * it is known by now; with `wait` all of them, and waits for it. 0, or -1 with err: one of them is
 * not so. */
int lb_fault_settle(struct lb_stage *stage, bool wait, char *err, size_t err_size);
/* Proves the fault that was done while a client stood at a gate and whose proof would have kept it there for longer, once nobody does (with `now` in
 * any case). 0, also if there is none, or -1 with err. */
int lb_fault_prove_kept(struct lb_stage *stage, bool now, char *err, size_t err_size);
/* At the end of a timeline: 0 if every fault that was armed for a message and still holds has met it;
 * or -1 with err. */
int lb_fault_all_met(struct lb_stage *stage, char *err, size_t err_size);
/* Records of every fault of links that still holds whether nobody used it. */
void lb_fault_note_unused(struct lb_stage *stage);
/* Takes it back: what was paused goes on, what was killed starts again (clients, too), links are
 * whole, clocks true. 0, or -1 with err. */
int lb_fault_undo(struct lb_stage *stage, const struct lb_step *step, const struct lb_cast *a, char *err,
                  size_t err_size);
/* Kills a client, or finds that it has killed itself, and records its crash. False: it died of
 * something else. */
bool lb_fault_bury(struct lb_stage *stage, struct lb_client *client);

#endif
