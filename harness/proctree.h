/* SPDX-License-Identifier: MIT
 *
 * proctree.h - who descends from a process and whether it runs, as /proc tells it.
 */
#ifndef LB_PROCTREE_H
#define LB_PROCTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Fills `ret` with the living descendants of `root` (not root itself), parents before children; how many, at most `max`. 0 when
 * /proc cannot be read. */
size_t lb_proctree(pid_t root, pid_t *ret, size_t max);
/* True when no thread of this process runs: all are stopped, or it has ended. */
bool lb_proctree_is_still(pid_t pid);

#endif
