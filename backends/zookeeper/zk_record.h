/* SPDX-License-Identifier: MIT
 *
 * zk_record.h - the nodes of a lock as one server has them: asked for, and removed.
 */
#ifndef LB_ZK_RECORD_H
#define LB_ZK_RECORD_H

#include "backends/record.h"
#include "zk_run.h"

/* For the hook inspect: whether one server shows this node, over a session of its own, because only a server that takes
 * one shows its tree. Without a quorum it takes none, unless it runs with readonlymode.enabled. *ret_children (may be
 * NULL): how many nodes are below it, if it is there. 1, 0, -errno. */
int zk_record_inspect(const struct zk_run *run, size_t endpoint, const char *path, lb_ns deadline, int *ret_children);
/* For the hook break_lock: deletes that node, or with `queue` the first of those below it, over a session of its own to
 * one server. 1, 0, -errno. */
int zk_record_break(const struct zk_run *run, size_t endpoint, const char *path, bool queue, lb_ns deadline);

/* For a foreign lock, whose record is the folder of a queue. */
extern const struct lb_record_hooks zk_record_hooks;

#endif
