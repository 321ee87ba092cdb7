/* SPDX-License-Identifier: MIT
 *
 * stall.h - a disk that does not answer: the kernel keeps the calls with which a program syncs its files, until they are
 * let go. It asks a keeper of ours about each (seccomp_unotify(2)), so programs that call the kernel directly are hit,
 * too, as those written in Go.
 */
#ifndef LB_STALL_H
#define LB_STALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One server's disk, through all its restarts: shared with its keeper. */
struct lb_stall {
  _Atomic uint32_t stalled;  /* 1: who syncs from now on waits */
  _Atomic uint64_t kept;     /* calls that have waited since it stalled */
  _Atomic uint64_t waiting;  /* of them still do */
  _Atomic uint64_t since_ns; /* when the first of them began to wait (lb_clock_ns()) */
  const void *owner;         /* ours alone: the step that has stalled it */
};

/* NULL with errno. It is never freed, and ends with the trial. */
struct lb_stall *lb_stall_make(void);
/* Whether this kernel can do it. */
bool lb_stall_possible(void);
/* In the child, just before it becomes the program: its syncs are asked about from now on, over a connection that
 * travels through the socket `to`. 0 or -errno. */
int lb_stall_enter(int to);
/* Makes a keeper that reads that connection from the socket `from` and serves it until the last of the program's
 * processes has ended. It dies with its parent. 0 or -errno. */
int lb_stall_keep(struct lb_stall *stall, int from);

#endif
