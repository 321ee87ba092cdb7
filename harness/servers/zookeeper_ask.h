/* SPDX-License-Identifier: MIT
 *
 * zookeeper_ask.h - one ZooKeeper server, asked by itself. Private to family_zookeeper.c.
 */
#ifndef LB_ZOOKEEPER_ASK_H
#define LB_ZOOKEEPER_ASK_H

#include "cluster.h"

/* What it is now ("leader", "follower", "standalone") and its epoch, which each election raises:
 * the upper half of the zxid. 0 or -errno with env->err. */
int lb_zookeeper_mode(struct lb_cluster *cluster, size_t index, lb_ns deadline, char mode[16], unsigned *ret_epoch);
/* lb_family.left: it neither leads nor follows. */
int lb_zookeeper_left(struct lb_cluster *cluster, size_t index, lb_ns deadline);
/* lb_family.need_room: sessions are opened, which it writes down, until it has ended. */
int lb_zookeeper_need_room(struct lb_cluster *cluster, size_t index, lb_ns deadline);
/* lb_family.has_session: one that it counts down, or of which it has a node. */
int lb_zookeeper_has_session(struct lb_cluster *cluster, size_t index, uint64_t id, lb_ns deadline);
/* lb_family.wall_ms: read off its log. */
int lb_zookeeper_wall_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms);
/* lb_family.mono_ms: its uptime (ServerStats.getUptime), which it counts on its monotonic clock
 * from when it last began to serve. */
int lb_zookeeper_mono_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms);
/* lb_family.requests: packets of clients, pings and words like the one that is asked by included. */
int lb_zookeeper_requests(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret);
/* lb_family.commits: the number of its latest transaction in the present epoch. */
int lb_zookeeper_commits(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret);

#endif
