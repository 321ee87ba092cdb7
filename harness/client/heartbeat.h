/* SPDX-License-Identifier: MIT
 *
 * heartbeat.h - tells when this machine stood still.
 */
#ifndef LB_HEARTBEAT_H
#define LB_HEARTBEAT_H

#include <stdbool.h>
#include <sys/types.h>

#include "memory.h"

/* A process that wants to run every 10 ms. It records how late it was, and how long each client waited for a processor,
 * in memory->max_stall_ns and stalled_ns. What such a stall could explain is not evidence. -1 with errno when it could
 * not start. */
pid_t lb_heartbeat_start(struct lb_memory *memory);
/* True if it has run until now. Else stalls went unseen. */
bool lb_heartbeat_stop(pid_t pid);

#endif
