/* SPDX-License-Identifier: MIT
 *
 * An attempt's node in a queue: made, found again, placed. What becomes of one that is there: zk_leave.c.
 */
#include "zk_queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names --------------------------------------------------------------------------------------------- */

int zk_queue_dir(struct zk_queue *q, const char *key, char dir[ZK_PATH_MAX]) {
  return zk_name_queue(q->run.env, q->run.root, key, dir);
}

static void name_attempt(struct zk_queue *q, const char *dir, struct lb_grant *grant) {
  char guid[ZK_GUID_SIZE];
  zk_guid(q->run.env, q->run.zk, guid);
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%s/%s" ZK_LOCK_MARK, dir, guid);
}

void zk_queue_forget(struct lb_grant *grant) { *grant = (struct lb_grant){.asked_at = grant->asked_at}; }

/* Without a number the name is only what a node would be called, if there is one. */
bool zk_queue_has_node(const struct lb_grant *grant) {
  return grant->token_len && grant->token[grant->token_len - 1] != '-';
}

bool zk_queue_is_alive(const struct zk_queue *q, const struct lb_grant *grant) {
  return zk_guid_is_alive(q->run.zk, strrchr(grant->token, '/') + 1);
}

/* ---- the session --------------------------------------------------------------------------------------- */

int zk_queue_open(struct zk_queue *q, const struct lb_config *config, lb_ns deadline) {
  *q = (struct zk_queue){0};
  int result = zk_run_open(&q->run, config, deadline);
  q->life = (struct zk_life){.env = q->run.env, .zk = q->run.zk};
  return result;
}

int zk_queue_connect(struct zk_queue *q, struct lb_grant *grant, lb_ns deadline) {
  int result = zk_connect(q->run.zk, deadline);
  if (!result && grant->token_len && (!zk_queue_is_alive(q, grant) || zk_is_doomed(q->run.zk, grant->token))) zk_queue_forget(grant);
  return result;
}

/* ---- steps --------------------------------------------------------------------------------------------- */

/* The situation after a result that is neither success nor a missing node. */
static int after(struct zk_queue *q, struct lb_grant *grant, const char *what, int rc) {
  if (rc == ZK_NO_REPLY) return LB_UNKNOWN;
  if (zk_is_unknown(rc) || zk_is_expiry(rc)) return ZK_AGAIN;
  if (zk_queue_has_node(grant)) zk_doom(q->run.zk, grant->token);
  zk_queue_forget(grant);
  return zk_fail(q->run.zk, what, rc);
}

/* czxid 0: not known yet. */
static void note_place(struct zk_queue *q, const struct lb_grant *grant, uint64_t czxid) {
  memcpy(q->place.own, grant->token, sizeof q->place.own);
  q->place.ahead[0] = '\0';
  q->place.czxid = czxid;
}

static void take_node(struct zk_queue *q, struct lb_grant *grant, const char *path, uint64_t czxid) {
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%s", path);
  note_place(q, grant, czxid);
}

/* LB_OK: first in the queue. LB_BUSY: the node before the own one is noted. ZK_AGAIN: the own node has gone. */
static int judge(struct zk_queue *q, const char *dir, struct lb_grant *grant, const struct zk_call *children) {
  const char *ahead;
  q->seen = (uint64_t)children->stat.pzxid;
  if (!zk_find_place(children, strrchr(grant->token, '/') + 1, &ahead)) {
    zk_queue_forget(grant);
    return ZK_AGAIN;
  }
  if (strcmp(q->place.own, grant->token) != 0) note_place(q, grant, 0);
  q->place.ahead[0] = '\0';
  if (ahead) snprintf(q->place.ahead, sizeof q->place.ahead, "%s/%s", dir, ahead);
  return ahead ? LB_BUSY : LB_OK;
}

int zk_queue_join(struct zk_queue *q, const char *dir, struct lb_grant *grant, const char *made, lb_ns deadline) {
  name_attempt(q, dir, grant);
  struct zk_mark mark = zk_life_mark(&q->life);
  struct zk_call *create = zk_create(q->run.zk, grant->token, q->run.client, ZOO_EPHEMERAL_SEQUENTIAL);
  struct zk_call *children = zk_children(q->run.zk, dir);
  int result, rc = zk_life_await(&q->life, create, mark, deadline);
  if (rc == ZNONODE) {
    zk_queue_forget(grant);
    rc = zk_make_path(q->run.zk, dir, deadline);
    result = rc == ZOK ? ZK_AGAIN : rc == ZK_NO_REPLY ? LB_TIMEOUT : after(q, grant, "create the lock's folder", rc);
  } else if (rc != ZOK) {
    result = after(q, grant, "create the lock's node", rc);
  } else {
    take_node(q, grant, create->path, (uint64_t)create->stat.czxid);
    if (made) lb_point(q->run.env, made);
    rc = zk_wait(q->run.zk, children, deadline);
    result = rc == ZOK ? judge(q, dir, grant, children) : after(q, grant, "list the lock's nodes", rc);
  }
  zk_drop(create);
  zk_drop(children);
  return result;
}

int zk_queue_find(struct zk_queue *q, struct lb_grant *grant, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  int rc = zk_find(q->run.zk, grant->token, deadline, path);
  if (rc != ZOK && rc != ZNONODE) return after(q, grant, "look for the lock's node", rc);
  if (rc == ZOK) take_node(q, grant, path, 0);
  else zk_queue_forget(grant);
  return ZK_AGAIN;
}

/* By the one that was ahead. */
static bool was_passed_on(struct zk_queue *q, const struct lb_grant *grant) {
  const char *ahead = zk_queue_ahead(q, grant);
  return ahead && zk_was_written(q->run.zk, ahead);
}

int zk_queue_look(struct zk_queue *q, const char *dir, struct lb_grant *grant, bool by_write, lb_ns deadline) {
  if (!by_write && !q->recipe && was_passed_on(q, grant)) return q->seen = 0, LB_OK;
  struct zk_mark mark = zk_life_mark(&q->life);
  struct zk_call *write = by_write ? zk_set(q->run.zk, dir, "") : NULL;
  struct zk_call *children = zk_children(q->run.zk, dir);
  int result, rc = by_write ? zk_life_await(&q->life, write, mark, deadline) : ZOK;
  if (rc == ZOK) rc = zk_wait(q->run.zk, children, deadline);
  if (rc == ZOK) {
    result = judge(q, dir, grant, children);
  } else if (rc == ZNONODE) {
    zk_queue_forget(grant);
    result = ZK_AGAIN;
  } else {
    result = after(q, grant, "list the lock's nodes", rc);
  }
  zk_drop(write);
  zk_drop(children);
  return result;
}

int zk_queue_make_sure(struct zk_queue *q, const char *dir, struct lb_grant *grant, lb_ns deadline) {
  int rc = zk_life_make_sure(&q->life, dir, deadline);
  if (rc != ZNONODE) return rc == ZOK ? LB_OK : after(q, grant, "write to the lock's folder", rc);
  zk_queue_forget(grant);
  return ZK_AGAIN;
}

const char *zk_queue_ahead(const struct zk_queue *q, const struct lb_grant *grant) {
  bool known = grant->token_len && strcmp(grant->token, q->place.own) == 0 && q->place.ahead[0];
  return known && zk_queue_is_alive(q, grant) ? q->place.ahead : NULL;
}

int zk_queue_number(struct zk_queue *q, struct lb_grant *grant, lb_ns deadline, uint64_t *ret_czxid) {
  if (!q->place.czxid) {
    struct zk_call *exists = zk_exists(q->run.zk, grant->token);
    int rc = zk_wait(q->run.zk, exists, deadline);
    if (rc == ZOK) q->place.czxid = (uint64_t)exists->stat.czxid;
    zk_drop(exists);
    if (rc == ZNONODE) return ZK_AGAIN;
    if (rc != ZOK) return after(q, grant, "read the lock's node", rc);
  }
  *ret_czxid = q->place.czxid;
  return LB_OK;
}

int zk_queue_inspect(struct zk_queue *q, const char *key, size_t endpoint, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int children = 0, result = zk_queue_dir(q, key, dir);
  if (!result) result = zk_inspect(q->run.env, q->run.target, endpoint, q->run.ttl_ms, dir, deadline, &children);
  return result < 0 ? result : children > 0;
}

int zk_queue_break(struct zk_queue *q, const char *key, size_t endpoint, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int result = zk_queue_dir(q, key, dir);
  return result ? result : zk_break(q->run.env, q->run.target, endpoint, q->run.ttl_ms, dir, true, deadline);
}
