/* SPDX-License-Identifier: MIT
 *
 * A node in a queue that is there, or may be: asked for, doubted, deleted for sure.
 */
#include <stdio.h>
#include <string.h>

#include "zk_queue.h"

/* ZK_AGAIN: the connection was lost meanwhile. */
static int ask(struct zk_queue *q, const struct lb_grant *grant, bool by_write, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(grant->token, '/') - grant->token), grant->token);
  struct zk_mark mark = zk_life_mark(&q->life);
  struct zk_call *before = by_write ? zk_set(q->run.zk, dir, "") : zk_sync(q->run.zk, grant->token);
  struct zk_call *call = zk_exists(q->run.zk, grant->token);
  int result, rc = by_write ? zk_life_await(&q->life, before, mark, deadline) : zk_wait(q->run.zk, before, deadline);
  if (rc == ZOK) rc = zk_wait(q->run.zk, call, deadline);
  if (rc == ZOK) result = call->stat.ephemeralOwner == zk_id(q->run.zk) ? LB_OK : LB_LOST;
  else if (rc == ZNONODE || zk_is_expiry(rc)) result = LB_LOST;
  else if (rc == ZK_NO_REPLY) result = LB_UNKNOWN;
  else result = zk_is_unknown(rc) ? ZK_AGAIN : zk_fail(q->run.zk, "ask for the lock's node", rc);
  zk_drop(before);
  zk_drop(call);
  return result;
}

int zk_queue_confirm(struct zk_queue *q, const struct lb_grant *grant, bool by_write, lb_ns deadline, lb_ns *ret_sent) {
  int result = ZK_AGAIN;
  while (result == ZK_AGAIN && zk_queue_is_alive(q, grant)) {
    result = zk_connect(q->run.zk, deadline);
    if (result) return result == LB_TIMEOUT ? LB_UNKNOWN : result;
    bool connected;
    q->losses = zk_losses(q->run.zk, &connected);
    *ret_sent = lb_now(q->run.env);
    result = zk_queue_is_alive(q, grant) ? ask(q, grant, by_write, deadline) : LB_LOST;
  }
  return result == ZK_AGAIN ? LB_LOST : result;
}

int zk_queue_doubt(struct zk_queue *q, const struct lb_grant *grant) {
  return zk_life_doubt(&q->life, &q->confirmed, grant, zk_queue_has_node(grant) && zk_queue_is_alive(q, grant));
}

/* Once: ZOK, ZNONODE or any other result. */
static int delete_own(struct zk_queue *q, struct lb_grant *grant, bool pass_on, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  memcpy(path, grant->token, sizeof path);
  int rc = zk_queue_has_node(grant) ? ZOK : zk_find(q->run.zk, grant->token, deadline, path);
  if (rc != ZOK) return rc;
  struct zk_mark mark = zk_life_mark(&q->life);
  struct zk_call *delete = pass_on ? zk_write_and_delete(q->run.zk, path) : zk_delete(q->run.zk, path);
  rc = zk_life_await(&q->life, delete, mark, deadline);
  zk_drop(delete);
  return rc;
}

int zk_queue_leave(struct zk_queue *q, struct lb_grant *grant, bool pass_on, lb_ns deadline) {
  bool must_exist = grant->valid_until != 0;
  if (!grant->token_len) return LB_OK;
  while (zk_queue_is_alive(q, grant)) {
    int result = zk_connect(q->run.zk, deadline);
    int rc = result ? ZK_NO_REPLY : zk_queue_is_alive(q, grant) ? delete_own(q, grant, pass_on, deadline) : ZSESSIONEXPIRED;
    if (rc == ZOK) return LB_OK;
    if (rc == ZNONODE || zk_is_expiry(rc)) break;
    if (!zk_is_unknown(rc)) return zk_fail(q->run.zk, "delete the lock's node", rc);
    if (rc == ZK_NO_REPLY) {
      zk_doom(q->run.zk, grant->token);
      grant->valid_until = 0;
      return result < 0 ? result : LB_UNKNOWN;
    }
    must_exist = false;
  }
  return must_exist ? LB_LOST : LB_OK;
}
