/* SPDX-License-Identifier: MIT
 *
 * proctree.h - a child process together with its group and everything it started. Private to
 * proc.c.
 */
#ifndef LB_PROCTREE_H
#define LB_PROCTREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Sends a signal to all of it; after SIGSTOP also waits until no thread of it runs. 0 or -errno
 * (-ETIMEDOUT: not all of it stopped within a second). */
int lb_proctree_signal(pid_t root, int sig);
/* SIGKILL to all of it, waits until all of it has ended. The root's status, as of waitpid(2). */
int lb_proctree_kill(pid_t root);
/* Waits for the root alone, which has ended or will, and ends what is left of its group. Its
 * status. */
int lb_proctree_reap(pid_t root);
/* Waits for the process behind a pidfd: true once it has ended, false when lb_clock_ns() reached
 * `deadline`. */
bool lb_proctree_await_end(int pidfd, uint64_t deadline);

#endif
