/* SPDX-License-Identifier: MIT
 *
 * zk_life.h - until when a session of ZooKeeper lives for sure, as far as its client can know, and the writes that keep
 * up that knowledge. For the recipes that believe a read: what a read shows may be old, so it is worth something only
 * while the reader's own session lives.
 * What an answered write says of that: zk_alive.h.
 */
#ifndef LB_ZK_LIFE_H
#define LB_ZK_LIFE_H

#include "backends/doubt.h"
#include "zk.h"
#include "zk_alive.h"

/* ---- the writes, to a node that no client watches ---------------------------------------------------------------- */

struct zk_life { /* one client's side; zeroed but for the first two */
  struct lb_env *env;
  struct zk_session *zk;
  struct zk_alive alive;
};

/* What is known of the session there is now. Valid until the next write. */
const struct zk_alive *zk_life_known(struct zk_life *life);
/* Known to live for so long that a grant is worth having: a third of the best case. */
bool zk_life_is_known(struct zk_life *life);
/* And for longer than `least`. */
bool zk_life_lasts(struct zk_life *life, lb_ns least);

/* A write is any request that changes something: mark it, send it, await it. The library's result, or ZK_NO_REPLY. */
struct zk_mark zk_life_mark(struct zk_life *life);
int zk_life_await(struct zk_life *life, struct zk_call *write, struct zk_mark mark, lb_ns deadline);
/* A write to `path` that says nothing else. */
int zk_life_touch(struct zk_life *life, const char *path, lb_ns deadline);
/* By such writes, if it is not known yet: one, or two of which the first makes the second good. More only where answers
 * take so long that nothing is left of them. ZOK, or what a write came to. */
int zk_life_make_sure(struct zk_life *life, const char *path, lb_ns deadline);

/* The hook doubt, for a recipe that calls lb_confirm() with `confirmed`. is_alive: the grant is of the session that
 * there is now. LB_OK; LB_UNKNOWN: the connection is lost, or was since the grant was confirmed; LB_LOST: its session
 * is over. */
int zk_life_doubt(struct zk_life *life, const struct lb_confirmed *confirmed, const struct lb_grant *grant,
                  bool is_alive);

#endif
