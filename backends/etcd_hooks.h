/* SPDX-License-Identifier: MIT
 *
 * etcd_hooks.h - what the locks of etcd share as hooks, on top of etcd_session.h: ETCD_HOOKS. A protocol puts struct etcd_session first into
 * its struct lb_session, and writes the rest: to try, to release, to wait, to resolve, and to say whether it holds.
 */
#ifndef LB_ETCD_HOOKS_H
#define LB_ETCD_HOOKS_H

#include "etcd_session.h"

extern const char *const etcd_topologies[];

#define ETCD_HOOKS                                                                                                     \
  .topologies = etcd_topologies, .session_size = sizeof(struct lb_session), .open = etcd_hook_open,                    \
  .close = etcd_hook_close, .extend = etcd_hook_extend, .inspect = etcd_hook_inspect, .break_lock = etcd_hook_break, .teardown = etcd_hook_teardown,  \
  .doubt = etcd_hook_doubt, .server = etcd_hook_server, .session_id = etcd_hook_session_id

int etcd_hook_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline);
void etcd_hook_close(struct lb_session *s);
/* Keeps up the lease of a hold whose key is there. */
int etcd_hook_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
/* Whether that member has a key of the lock, as far as it knows by itself. */
int etcd_hook_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);
/* Deletes the key of the lock that was made first, by that member. */
int etcd_hook_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);
int etcd_hook_teardown(struct lb_session *s, lb_ns deadline);
/* Goes by lost connections, see doubt.h. */
int etcd_hook_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant);
/* The member that has answered last. */
int etcd_hook_server(struct lb_session *s);
/* The lease of this attempt or hold. */
uint64_t etcd_hook_session_id(struct lb_session *s, const struct lb_grant *grant);

#endif
