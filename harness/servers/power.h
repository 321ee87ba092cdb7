/* SPDX-License-Identifier: MIT
 *
 * power.h - a server that loses its power: when its processes are dead, what it had not synced is taken out of its files.
 *
 * A preload library keeps a journal of what it writes (journal.h). The disk is the harshest that still keeps its promise: of what was
 * written and not synced nothing is left, and what was synced is all there. That a file exists, its name, and that it was cut shorter,
 * count as on the disk at once. What the C library writes for itself (stdio) is not seen, and stays.
 */
#ifndef LB_POWER_H
#define LB_POWER_H

#include <stdint.h>

#include "cluster.h"

struct lb_power_loss {
  uint64_t written; /* bytes that it has written since it was started, to files that are still there */
  uint64_t lost;    /* of these, bytes that it had not synced */
};

/* Makes the journal of one server, which its processes keep from its next start on: server->journal. Call it when its folder exists. 0 or
 * -errno with cluster->err (-ENOENT: there is no preload library). */
int lb_power_watch(struct lb_cluster *cluster, size_t index);
/* Of a server whose processes are dead: takes out what it had not synced, and looks whether that is gone and whether the last that it had
 * synced to each file is there. The journal begins anew. 0, or -errno with cluster->err (-ENODATA: nobody has kept a journal; -EIO: it is
 * not as it should be). */
int lb_power_cut(struct lb_cluster *cluster, size_t index, struct lb_power_loss *ret);
/* 1 = a server has synced all that it has written so far, so lb_power_cut() would take nothing; 0 = not all. It may run: nothing is changed, and what it
 * keeps in its memory is not written. -errno with cluster->err: as lb_power_cut(), or its files cannot be listed just now. */
int lb_power_is_synced(struct lb_cluster *cluster, size_t index);

#endif
