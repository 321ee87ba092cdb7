/* SPDX-License-Identifier: MIT
 *
 * Writes, and what they say of the session.
 */
#include "zk_life.h"

#include <errno.h>

const struct zk_alive *zk_life_known(struct zk_life *life) {
  zk_alive_meet(&life->alive, zk_id(life->zk), zk_begun(life->zk), zk_timeout_ns(life->zk));
  return &life->alive;
}

bool zk_life_lasts(struct zk_life *life, lb_ns least) { return zk_life_known(life)->until > lb_now(life->env) + least; }

bool zk_life_is_known(struct zk_life *life) { return zk_life_lasts(life, zk_life_known(life)->span / 3); }

struct zk_mark zk_life_mark(struct zk_life *life) {
  return zk_alive_mark(zk_life_known(life), lb_now(life->env));
}

int zk_life_await(struct zk_life *life, struct zk_call *write, struct zk_mark mark, lb_ns deadline) {
  int rc = zk_wait(life->zk, write, deadline);
  if (rc == ZOK) zk_alive_answered(&life->alive, mark, lb_now(life->env));
  if (rc == ZK_NO_REPLY) zk_alive_given_up(&life->alive, mark, lb_now(life->env));
  return rc;
}

int zk_life_touch(struct zk_life *life, const char *path, lb_ns deadline) {
  struct zk_mark mark = zk_life_mark(life);
  struct zk_call *write = zk_set(life->zk, path, "");
  int rc = zk_life_await(life, write, mark, deadline);
  zk_drop(write);
  return rc;
}

int zk_life_make_sure(struct zk_life *life, const char *path, lb_ns deadline) {
  int rc = ZOK;
  for (int writes = 0; rc == ZOK && !zk_life_is_known(life) && (writes < 2 || !zk_life_lasts(life, 0)); writes++)
    rc = zk_life_touch(life, path, deadline);
  return rc;
}

int zk_life_doubt(struct zk_life *life, const struct lb_confirmed *confirmed, const struct lb_grant *grant,
                  bool is_alive) {
  bool connected;
  if (!is_alive) return lb_fail(life->env, -ENOTCONN, "the ZooKeeper session of this grant is over"), LB_LOST;
  uint64_t losses = zk_losses(life->zk, &connected);
  if (connected && lb_still_confirmed(confirmed, grant, losses)) return LB_OK;
  return lb_fail(life->env, -ENOTCONN, "ZooKeeper: disconnected%s",
                 connected ? " since the grant, and connected again" : ""),
         LB_UNKNOWN;
}
