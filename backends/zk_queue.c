/* SPDX-License-Identifier: MIT
 *
 * An attempt's node in a queue: made, found again, placed, asked for, deleted for sure.
 */
#include "zk_queue.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCK_MARK "-lock-" /* stands between the guid and the number in the name of a node */

/* ---- names --------------------------------------------------------------------------------------------- */

int zk_queue_dir(struct zk_queue *q, const char *key, char dir[ZK_PATH_MAX]) {
  size_t room = ZK_PATH_MAX - sizeof "/0123456789abcdef0123456789abcdef" LOCK_MARK "-2147483648";
  return (size_t)snprintf(dir, ZK_PATH_MAX, "%s/%s", q->root, key) < room
             ? 0
             : lb_fail(q->env, -ENAMETOOLONG, "a key of %zu characters does not fit into a node's name", strlen(key));
}

static void name_attempt(struct zk_queue *q, const char *dir, struct lb_grant *grant) {
  uint64_t random;
  lb_random(q->env, &random, sizeof random);
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%s/%016" PRIx64 "%016" PRIx64 LOCK_MARK, dir,
                                      (uint64_t)zk_id(q->zk), random);
}

void zk_queue_forget(struct lb_grant *grant) { *grant = (struct lb_grant){.asked_at = grant->asked_at}; }

/* Without a number the name is only what a node would be called, if there is one. */
bool zk_queue_has_node(const struct lb_grant *grant) {
  return grant->token_len && grant->token[grant->token_len - 1] != '-';
}

/* False: the attempt died with an earlier session. */
static bool is_alive(const struct zk_queue *q, const struct lb_grant *grant) {
  char id[17];
  snprintf(id, sizeof id, "%016" PRIx64, (uint64_t)zk_id(q->zk));
  return !zk_expired(q->zk) && strncmp(strrchr(grant->token, '/') + 1, id, sizeof id - 1) == 0;
}

/* ---- the order of nodes --------------------------------------------------------------------------------- */

static bool number_of(const char *name, int32_t *ret_number) {
  const char *mark = NULL;
  for (const char *at = name; (at = strstr(at, LOCK_MARK)); at++) mark = at;
  if (mark) *ret_number = (int32_t)strtol(mark + strlen(LOCK_MARK), NULL, 10);
  return mark;
}

/* By their distance, because numbers turn negative after 2147483647. Right as long as fewer than 2^31 nodes lie
 * between two that exist at the same time. */
static bool is_before(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b) < 0; }

/* Where the node `own` (its last part) stands. False: it is not there. *ret_ahead: the one just before it, NULL = it is
 * the first. */
static bool find_place(const struct zk_call *children, const char *own, const char **ret_ahead) {
  const char *child = children->names;
  int32_t own_number = 0, ahead_number = 0, number;
  bool found = false;
  number_of(own, &own_number);
  *ret_ahead = NULL;
  for (size_t i = 0; i < children->count; i++, child += strlen(child) + 1) {
    if (strcmp(child, own) == 0) found = true;
    if (!number_of(child, &number) || !is_before(number, own_number)) continue;
    if (*ret_ahead && !is_before(ahead_number, number)) continue;
    *ret_ahead = child;
    ahead_number = number;
  }
  return found;
}

/* ---- the session --------------------------------------------------------------------------------------- */

int zk_queue_open(struct zk_queue *q, const struct lb_config *config, lb_ns deadline) {
  *q = (struct zk_queue){.env = config->env,
                         .target = config->target,
                         .client = config->client,
                         .ttl_ms = config->ttl_ms};
  snprintf(q->root, sizeof q->root, "/%s", config->prefix);
  int result = zk_open(q->env, q->target->endpoints, q->target->count, q->ttl_ms, false, &q->zk);
  if (!result) result = zk_connect(q->zk, deadline);
  return result == LB_TIMEOUT ? lb_fail(q->env, -ETIMEDOUT, "no ZooKeeper session in time") : result;
}

void zk_queue_close(struct zk_queue *q) {
  zk_close(q->zk);
  q->zk = NULL;
}

int zk_queue_teardown(struct zk_queue *q, lb_ns deadline) { return zk_remove_tree(q->zk, q->root, deadline); }

int zk_queue_setup(struct zk_queue *q, lb_ns deadline) {
  int result = zk_connect(q->zk, deadline);
  int rc = result ? ZK_NO_REPLY : zk_make_path(q->zk, q->root, deadline);
  if (result < 0 || rc == ZOK) return result;
  if (rc == ZK_NO_REPLY) return lb_fail(q->env, -ETIMEDOUT, "cannot create %s in time", q->root);
  return zk_fail(q->zk, "create the folder of all locks", rc);
}

int zk_queue_connect(struct zk_queue *q, struct lb_grant *grant, lb_ns deadline) {
  int result = zk_connect(q->zk, deadline);
  if (!result && grant->token_len && (!is_alive(q, grant) || zk_is_doomed(q->zk, grant->token))) zk_queue_forget(grant);
  return result;
}

/* ---- writes, and what they say of the session ----------------------------------------------------------- */

const struct zk_alive *zk_queue_alive(struct zk_queue *q) {
  zk_alive_meet(&q->alive, zk_id(q->zk), zk_begun(q->zk), zk_timeout_ns(q->zk));
  return &q->alive;
}

/* A write is `call`, sent after `mark` was taken. Its result. */
static int await_write(struct zk_queue *q, struct zk_call *call, struct zk_mark mark, lb_ns deadline) {
  int rc = zk_wait(q->zk, call, deadline);
  if (rc == ZOK) zk_alive_answered(&q->alive, mark, lb_now(q->env));
  if (rc == ZK_NO_REPLY) zk_alive_given_up(&q->alive, mark, lb_now(q->env));
  return rc;
}

static struct zk_mark mark_write(struct zk_queue *q) { return zk_alive_mark(zk_queue_alive(q), lb_now(q->env)); }

/* ---- steps --------------------------------------------------------------------------------------------- */

/* The situation after a result that is neither success nor a missing node. */
static int after(struct zk_queue *q, struct lb_grant *grant, const char *what, int rc) {
  if (rc == ZK_NO_REPLY) return LB_UNKNOWN;
  if (zk_is_unknown(rc) || zk_is_expiry(rc)) return ZK_AGAIN;
  if (zk_queue_has_node(grant)) zk_doom(q->zk, grant->token);
  zk_queue_forget(grant);
  return zk_fail(q->zk, what, rc);
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
  if (!find_place(children, strrchr(grant->token, '/') + 1, &ahead)) {
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
  struct zk_mark mark = mark_write(q);
  struct zk_call *create = zk_create(q->zk, grant->token, q->client, ZOO_EPHEMERAL_SEQUENTIAL);
  struct zk_call *children = zk_children(q->zk, dir);
  int result, rc = await_write(q, create, mark, deadline);
  if (rc == ZNONODE) {
    zk_queue_forget(grant);
    rc = zk_make_path(q->zk, dir, deadline);
    result = rc == ZOK ? ZK_AGAIN : rc == ZK_NO_REPLY ? LB_TIMEOUT : after(q, grant, "create the lock's folder", rc);
  } else if (rc != ZOK) {
    result = after(q, grant, "create the lock's node", rc);
  } else {
    take_node(q, grant, create->path, (uint64_t)create->stat.czxid);
    if (made) lb_point(q->env, made);
    rc = zk_wait(q->zk, children, deadline);
    result = rc == ZOK ? judge(q, dir, grant, children) : after(q, grant, "list the lock's nodes", rc);
  }
  zk_drop(create);
  zk_drop(children);
  return result;
}

int zk_queue_find(struct zk_queue *q, struct lb_grant *grant, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  int rc = zk_find(q->zk, grant->token, deadline, path);
  if (rc != ZOK && rc != ZNONODE) return after(q, grant, "look for the lock's node", rc);
  if (rc == ZOK) take_node(q, grant, path, 0);
  else zk_queue_forget(grant);
  return ZK_AGAIN;
}

/* By the one that was ahead. */
static bool was_passed_on(struct zk_queue *q, const struct lb_grant *grant) {
  const char *ahead = zk_queue_ahead(q, grant);
  return ahead && zk_was_written(q->zk, ahead);
}

int zk_queue_look(struct zk_queue *q, const char *dir, struct lb_grant *grant, bool by_write, lb_ns deadline) {
  if (!by_write && !q->lists && was_passed_on(q, grant)) return q->seen = 0, LB_OK;
  struct zk_mark mark = mark_write(q);
  struct zk_call *write = by_write ? zk_set(q->zk, dir, "") : NULL;
  struct zk_call *children = zk_children(q->zk, dir);
  int result, rc = by_write ? await_write(q, write, mark, deadline) : ZOK;
  if (rc == ZOK) rc = zk_wait(q->zk, children, deadline);
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

int zk_queue_touch(struct zk_queue *q, const char *dir, struct lb_grant *grant, lb_ns deadline) {
  struct zk_mark mark = mark_write(q);
  struct zk_call *write = zk_set(q->zk, dir, "");
  int rc = await_write(q, write, mark, deadline);
  zk_drop(write);
  if (rc != ZNONODE) return rc == ZOK ? LB_OK : after(q, grant, "write to the lock's folder", rc);
  zk_queue_forget(grant);
  return ZK_AGAIN;
}

const char *zk_queue_ahead(const struct zk_queue *q, const struct lb_grant *grant) {
  bool known = grant->token_len && strcmp(grant->token, q->place.own) == 0 && q->place.ahead[0];
  return known && is_alive(q, grant) ? q->place.ahead : NULL;
}

int zk_queue_number(struct zk_queue *q, struct lb_grant *grant, lb_ns deadline, uint64_t *ret_czxid) {
  if (!q->place.czxid) {
    struct zk_call *exists = zk_exists(q->zk, grant->token);
    int rc = zk_wait(q->zk, exists, deadline);
    if (rc == ZOK) q->place.czxid = (uint64_t)exists->stat.czxid;
    zk_drop(exists);
    if (rc == ZNONODE) return ZK_AGAIN;
    if (rc != ZOK) return after(q, grant, "read the lock's node", rc);
  }
  *ret_czxid = q->place.czxid;
  return LB_OK;
}

/* ---- a node that is there, or may be ----------------------------------------------------------------------- */

/* ZK_AGAIN: the connection was lost meanwhile. */
static int ask(struct zk_queue *q, const struct lb_grant *grant, bool by_write, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(grant->token, '/') - grant->token), grant->token);
  struct zk_mark mark = mark_write(q);
  struct zk_call *before = by_write ? zk_set(q->zk, dir, "") : zk_sync(q->zk, grant->token);
  struct zk_call *call = zk_exists(q->zk, grant->token);
  int result, rc = by_write ? await_write(q, before, mark, deadline) : zk_wait(q->zk, before, deadline);
  if (rc == ZOK) rc = zk_wait(q->zk, call, deadline);
  if (rc == ZOK) result = call->stat.ephemeralOwner == zk_id(q->zk) ? LB_OK : LB_LOST;
  else if (rc == ZNONODE || zk_is_expiry(rc)) result = LB_LOST;
  else if (rc == ZK_NO_REPLY) result = LB_UNKNOWN;
  else result = zk_is_unknown(rc) ? ZK_AGAIN : zk_fail(q->zk, "ask for the lock's node", rc);
  zk_drop(before);
  zk_drop(call);
  return result;
}

int zk_queue_confirm(struct zk_queue *q, const struct lb_grant *grant, bool by_write, lb_ns deadline, lb_ns *ret_sent) {
  int result = ZK_AGAIN;
  while (result == ZK_AGAIN && is_alive(q, grant)) {
    result = zk_connect(q->zk, deadline);
    if (result) return result == LB_TIMEOUT ? LB_UNKNOWN : result;
    bool connected;
    q->losses = zk_losses(q->zk, &connected);
    *ret_sent = lb_now(q->env);
    result = is_alive(q, grant) ? ask(q, grant, by_write, deadline) : LB_LOST;
  }
  return result == ZK_AGAIN ? LB_LOST : result;
}

int zk_queue_doubt(struct zk_queue *q, const struct lb_grant *grant) {
  bool connected;
  if (!zk_queue_has_node(grant) || !is_alive(q, grant)) return lb_fail(q->env, -ENOTCONN, "the ZooKeeper session of this grant is over"), LB_LOST;
  uint64_t losses = zk_losses(q->zk, &connected);
  if (connected && lb_still_confirmed(&q->confirmed, grant, losses)) return LB_OK;
  return lb_fail(q->env, -ENOTCONN, "ZooKeeper: disconnected%s", connected ? " since the grant, and connected again" : ""), LB_UNKNOWN;
}

/* Once: ZOK, ZNONODE or any other result. */
static int delete_own(struct zk_queue *q, struct lb_grant *grant, bool pass_on, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  memcpy(path, grant->token, sizeof path);
  int rc = zk_queue_has_node(grant) ? ZOK : zk_find(q->zk, grant->token, deadline, path);
  if (rc != ZOK) return rc;
  struct zk_mark mark = mark_write(q);
  struct zk_call *delete = pass_on ? zk_write_and_delete(q->zk, path) : zk_delete(q->zk, path);
  rc = await_write(q, delete, mark, deadline);
  zk_drop(delete);
  return rc;
}

int zk_queue_leave(struct zk_queue *q, struct lb_grant *grant, bool pass_on, lb_ns deadline) {
  bool must_exist = grant->valid_until != 0;
  if (!grant->token_len) return LB_OK;
  while (is_alive(q, grant)) {
    int result = zk_connect(q->zk, deadline);
    int rc = result ? ZK_NO_REPLY : is_alive(q, grant) ? delete_own(q, grant, pass_on, deadline) : ZSESSIONEXPIRED;
    if (rc == ZOK) return LB_OK;
    if (rc == ZNONODE || zk_is_expiry(rc)) break;
    if (!zk_is_unknown(rc)) return zk_fail(q->zk, "delete the lock's node", rc);
    if (rc == ZK_NO_REPLY) {
      zk_doom(q->zk, grant->token);
      grant->valid_until = 0;
      return result < 0 ? result : LB_UNKNOWN;
    }
    must_exist = false;
  }
  return must_exist ? LB_LOST : LB_OK;
}

int zk_queue_inspect(struct zk_queue *q, const char *key, size_t endpoint, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  struct zk_session *zk = NULL;
  if (endpoint >= q->target->count) return lb_fail(q->env, -EINVAL, "there is no server %zu", endpoint + 1);
  int result = zk_queue_dir(q, key, dir);
  if (!result) result = zk_open(q->env, &q->target->endpoints[endpoint], 1, q->ttl_ms, true, &zk);
  if (!result) result = zk_connect(zk, deadline);
  if (!result) {
    struct zk_call *children = zk_children(zk, dir);
    int rc = zk_wait(zk, children, deadline);
    if (rc == ZOK || rc == ZNONODE) result = rc == ZOK && children->count > 0;
    else result = rc == ZK_NO_REPLY ? LB_TIMEOUT : zk_fail(zk, "list the lock's nodes", rc);
    zk_drop(children);
  }
  zk_close(zk);
  return result == LB_TIMEOUT ? lb_fail(q->env, -ETIMEDOUT, "no answer from server %zu in time", endpoint + 1) : result;
}
