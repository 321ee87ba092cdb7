/* SPDX-License-Identifier: MIT
 *
 * program.h - the program of the hunt as the steps of a scenario, with the faults of one timeline in
 * their slots. Only write.c includes it.
 */
#ifndef LB_HUNT_PROGRAM_H
#define LB_HUNT_PROGRAM_H

#include "write.h"

struct lb_hunt_program {
  const struct lb_hunt_timeline *timeline;
  const struct lb_hunt_system *system;
  struct lb_hunt_times times;
  bool client_3;
  FILE *file;
  bool dead[4]; /* by number of the client */
  bool spent_2; /* client 2 may have done its section by now: only another one shows anything */
};
/* All lines "step = ...". */
void lb_hunt_program_write(struct lb_hunt_program *program);

/* faults.c: what a slot has in it. */
bool lb_hunt_has(const struct lb_hunt_timeline *t, enum lb_hunt_slot slot);
/* A restart inside client 1's acquire, where a start takes longer than anybody may be held up: the server is killed while client 1 is held up at the gate, and started
 * again when it has gone on. Whether there is one; `write`: the step that starts it again. */
bool lb_hunt_start_later(struct lb_hunt_program *program, bool write);
/* A fault of this kind, target and slot. */
bool lb_hunt_does(const struct lb_hunt_timeline *t, enum lb_hunt_kind kind, enum lb_hunt_target target, enum lb_hunt_slot slot);
/* Does all of a slot but clients that are stopped, and takes back what is undone before a takeover. */
void lb_hunt_do(struct lb_hunt_program *p, enum lb_hunt_slot slot);
void lb_hunt_take_back_mid(struct lb_hunt_program *p, enum lb_hunt_slot slot);
/* Takes back all with this undo. */
void lb_hunt_take_back(struct lb_hunt_program *p, enum lb_hunt_undo undo);
/* Heals what clients are cut off from. */
void lb_hunt_heal(struct lb_hunt_program *p);

#endif
