/* SPDX-License-Identifier: MIT
 *
 * rests.h - what a grant rests on: a word of bits, in struct lb_hunt_system.
 */
#ifndef LB_HUNT_RESTS_H
#define LB_HUNT_RESTS_H

#include "alphabet.h"
#include "history/history.h"

enum {
  LB_HUNT_ON_GRANTER = 1 << 0,      /* the record at the server that granted it: the primary */
  LB_HUNT_ON_VOTERS = 1 << 1,       /* a majority that has it */
  LB_HUNT_ON_COPIES = 1 << 2,       /* copies at the others, and the links on which they come */
  LB_HUNT_ON_SESSION = 1 << 3,      /* the holder: its session, or its renewals */
  LB_HUNT_ON_SERVER_CLOCK = 1 << 4, /* the clock by which it ends */
  LB_HUNT_ON_CLIENT_CLOCK = 1 << 5, /* the clock by which its holder counts */
  LB_HUNT_ON_WALL = 1 << 6,         /* it ends by a wall clock */
};
/* By the facts of the lock and its servers. */
unsigned lb_hunt_rests_of(const struct lb_protocol *protocol, const struct lb_topology *topology);
/* The same, corrected by a trial without a fault: who granted when client 1 held, and who said yes. `said`: one line
 * about it; 200 bytes are enough. */
unsigned lb_hunt_rests_see(const struct lb_hunt_system *system, const struct lb_history *history, char *said,
                           size_t size);
/* "the primary, a majority, the session of its holder". 200 bytes are enough. */
void lb_hunt_rests_say(unsigned on, char *buf, size_t size);

#endif
