/* SPDX-License-Identifier: MIT
 *
 * power.h - a loss of power: when the processes of a server are dead, what it had not synced is removed from its files.
 *
 * A preload library keeps a journal of writes (preload/disk_page.h). This is the harshest disk that keeps its promise:
 * nothing is left of what was not synced, and all of what was. Names, existence and truncation of files count as on the
 * disk at once. What the C library writes for itself (stdio) is not seen, and stays.
 */
#ifndef LB_POWER_H
#define LB_POWER_H

#include <stddef.h>
#include <stdint.h>

struct lb_cluster;

struct lb_power_loss {
  uint64_t written; /* bytes that it has written since it was started, to files that are still there */
  uint64_t lost;    /* of these, bytes that it had not synced */
};

/* Makes the journal that a server keeps from its next start on: server->journal. Its folder must exist. 0 or -errno
 * with cluster->err (-ENOENT: no preload library). */
int lb_power_watch(struct lb_cluster *cluster, size_t index);
/* Removes what a server had not synced; its processes are dead. Proves it: that is gone, and the last that was synced
 * to each file is there. A new journal begins. 0, or -errno with cluster->err (-ENODATA: there is no journal; -EIO: the
 * files are not as they should be). */
int lb_power_cut(struct lb_cluster *cluster, size_t index, struct lb_power_loss *ret);
/* 1 = a server has synced all that it has written, so lb_power_cut() would remove nothing; 0 = not all. It may run:
 * nothing is changed. -errno with cluster->err: as lb_power_cut(), or its files cannot be listed now. */
int lb_power_is_synced(struct lb_cluster *cluster, size_t index);

#endif
