/* SPDX-License-Identifier: MIT
 *
 * heartbeat.h - how long the machine made us wait: a process that wants to run every 10 ms and
 * records by how much it was late, and how long each client waited for a processor. What such a
 * stall could explain is not evidence, and a test during one is none.
 */
#ifndef LB_HEARTBEAT_H
#define LB_HEARTBEAT_H

#include <sys/types.h>

#include "memory.h"

/* Forks it; it writes memory->max_stall_ns and memory->stalled_ns until stopped. -1 when it could not start. */
pid_t lb_heartbeat_start(struct lb_memory *memory);
void lb_heartbeat_stop(pid_t pid);

#endif
