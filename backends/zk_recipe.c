/* SPDX-License-Identifier: MIT
 *
 * The steps of the recipe, and the hooks around them.
 */
#include "zk_recipe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "zk_name.h"

/* Beside enum lb_result: the session, the connection or the folder changed under a request; connect and look at the situation anew. */
#define AGAIN 100

const char *const zk_recipe_points[] = {"after-create", "before-release", NULL};

/* ---- names --------------------------------------------------------------------------------------------- */

static int dir_of(struct lb_session *s, const char *key, char dir[ZK_PATH_MAX]) {
  return zk_name_queue(s->run.env, s->run.root, key, dir);
}

static void name_attempt(struct lb_session *s, const char *dir, struct lb_grant *grant) {
  char guid[ZK_GUID_SIZE];
  zk_guid(s->run.env, s->run.zk, guid);
  grant->token_len =
      (size_t)snprintf(grant->token, sizeof grant->token, "%s/%.32s" ZK_LOCK_MARK, dir, s->kind->by_client ? s->run.client : guid);
}

static bool has_node(const struct lb_grant *grant) { return grant->token_len && grant->token[grant->token_len - 1] != '-'; }

static void take_node(struct lb_grant *grant, const char *path) {
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%s", path);
}

static void forget(struct lb_grant *grant) { *grant = (struct lb_grant){.asked_at = grant->asked_at}; }

/* The situation after a result that is neither success nor a missing node. */
static int after(struct lb_session *s, const char *what, int rc) {
  if (rc == ZK_NO_REPLY) return LB_UNKNOWN;
  return zk_is_unknown(rc) || zk_is_expiry(rc) ? AGAIN : zk_fail(s->run.zk, what, rc);
}

/* ---- steps: LB_OK, AGAIN, LB_UNKNOWN, -errno --------------------------------------------------------------- */

static int make_dir(struct lb_session *s, const char *dir, lb_ns deadline) {
  int rc = zk_make_path(s->run.zk, dir, deadline);
  return rc == ZOK ? AGAIN : after(s, "create the lock's folder", rc);
}

/* Step 1: a node at the end of the queue. */
static int join(struct lb_session *s, const char *dir, struct lb_grant *grant, lb_ns deadline) {
  struct zk_call *create = zk_create(s->run.zk, grant->token, s->run.client, s->kind->ephemeral ? ZOO_EPHEMERAL_SEQUENTIAL : ZOO_PERSISTENT_SEQUENTIAL);
  int rc = zk_wait(s->run.zk, create, deadline);
  int result = rc == ZOK ? LB_OK : rc == ZNONODE ? make_dir(s, dir, deadline) : after(s, "create the lock's node", rc);
  if (rc == ZOK) take_node(grant, create->path);
  zk_drop(create);
  if (rc == ZOK) lb_point(s->run.env, zk_recipe_points[0]);
  return result;
}

/* A node of this name, if one is there: it was made by a create that was not answered, or, called after the client, by whatever session
 * of it. ZNONODE, or as above. */
static int find(struct lb_session *s, struct lb_grant *grant, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  int rc = zk_find(s->run.zk, grant->token, deadline, path);
  if (rc == ZOK) take_node(grant, path);
  return rc == ZOK ? LB_OK : rc == ZNONODE ? ZNONODE : after(s, "look for the lock's node", rc);
}

static int enter(struct lb_session *s, const char *dir, struct lb_grant *grant, lb_ns deadline) {
  bool is_new = !grant->token_len;
  if (is_new) name_attempt(s, dir, grant);
  int result = is_new && !s->kind->by_client ? ZNONODE : find(s, grant, deadline);
  return result == ZNONODE ? join(s, dir, grant, deadline) : result;
}

/* Steps 2 and 3: the list, without a watch. Also LB_BUSY. */
static int look(struct lb_session *s, const char *dir, struct lb_grant *grant, lb_ns deadline) {
  const char *ahead = NULL;
  struct zk_call *children = zk_children(s->run.zk, dir);
  int rc = zk_wait(s->run.zk, children, deadline), result = AGAIN;
  bool there = rc == ZOK && zk_find_place(children, strrchr(grant->token, '/') + 1, &ahead);
  s->ahead[0] = '\0';
  if (ahead) snprintf(s->ahead, sizeof s->ahead, "%s/%s", dir, ahead);
  if (there) result = ahead ? LB_BUSY : LB_OK;
  else if (rc == ZOK || rc == ZNONODE) forget(grant);
  else result = after(s, "list the lock's nodes", rc);
  zk_drop(children);
  return result;
}

/* The hold lasts until the node goes, which the client takes for as long as it likes. */
static int granted(struct lb_session *s, struct lb_grant *grant, lb_ns deadline) {
  struct zk_call *node = zk_exists(s->run.zk, grant->token);
  int rc = zk_wait(s->run.zk, node, deadline);
  if (rc == ZOK) grant->fence = (uint64_t)node->stat.czxid;
  if (rc == ZOK) grant->valid_until = LB_NEVER;
  zk_drop(node);
  if (rc == ZNONODE) forget(grant);
  return rc == ZOK ? LB_OK : rc == ZNONODE ? AGAIN : after(s, "read the lock's node", rc);
}

/* ---- hooks ----------------------------------------------------------------------------------------------- */

int zk_recipe_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int result = dir_of(s, lock->key, dir);
  if (result) return result;
  do {
    result = zk_connect(s->run.zk, deadline);
    if (result) return grant->token_len ? LB_UNKNOWN : result;
    if (!grant->asked_at) grant->asked_at = lb_now(s->run.env);
    result = has_node(grant) ? LB_OK : enter(s, dir, grant, deadline);
    if (result == LB_OK) result = look(s, dir, grant, deadline);
    if (result == LB_OK) result = granted(s, grant, deadline);
  } while (result == AGAIN);
  return result;
}

/* A place that is not the first is given up: the answer has to be final. */
int zk_recipe_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  if (!grant->token_len) return LB_BUSY;
  int result = zk_recipe_try(s, lock, grant, deadline);
  if (result != LB_BUSY) return result == LB_TIMEOUT ? LB_UNKNOWN : result;
  result = zk_recipe_release(s, lock, grant, deadline);
  if (result == LB_OK) forget(grant);
  return result == LB_OK ? LB_BUSY : result;
}

/* Steps 4 and 5. */
int zk_recipe_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock, (void)grant;
  int result = zk_connect(s->run.zk, deadline);
  return result || !s->ahead[0] ? result : zk_await_change(s->run.zk, s->ahead, deadline);
}

/* Its own node, by the whole path: numbers are given once. LB_OK, LB_LOST: it is not there; AGAIN, LB_UNKNOWN, -errno. */
static int leave(struct lb_session *s, struct lb_grant *grant, lb_ns deadline) {
  int result = has_node(grant) ? LB_OK : find(s, grant, deadline);
  if (result != LB_OK) return result == ZNONODE ? LB_LOST : result;
  int rc = zk_run(s->run.zk, zk_delete(s->run.zk, grant->token), deadline);
  return rc == ZOK ? LB_OK : rc == ZNONODE ? LB_LOST : after(s, "delete the lock's node", rc);
}

int zk_recipe_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock;
  bool must_exist = grant->valid_until != 0;
  int result = LB_OK;
  lb_point(s->run.env, zk_recipe_points[1]);
  if (!grant->token_len) return LB_OK;
  do {
    if (result == AGAIN) must_exist = false; /* its absence may be our own work */
    result = zk_connect(s->run.zk, deadline);
    if (!result) result = leave(s, grant, deadline);
  } while (result == AGAIN);
  if (result == LB_LOST) return must_exist ? LB_LOST : LB_OK;
  if (result != LB_TIMEOUT && result != LB_UNKNOWN) return result;
  grant->valid_until = 0;
  return LB_UNKNOWN;
}

/* Whether the node is there; whose it is, is not asked. */
int zk_recipe_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  (void)lock;
  int result, rc;
  do {
    result = zk_connect(s->run.zk, deadline);
    if (result) return result == LB_TIMEOUT ? LB_UNKNOWN : result;
    if (!has_node(grant) || !grant->valid_until) return LB_LOST;
    struct zk_call *sync = zk_sync(s->run.zk, grant->token), *node = zk_exists(s->run.zk, grant->token);
    rc = zk_wait(s->run.zk, sync, deadline);
    if (rc == ZOK) rc = zk_wait(s->run.zk, node, deadline);
    zk_drop(sync);
    zk_drop(node);
    result = rc == ZOK ? LB_OK : rc == ZNONODE ? LB_LOST : after(s, "ask for the lock's node", rc);
  } while (result == AGAIN);
  return result;
}

int zk_recipe_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  *s = (struct lb_session){.kind = config->protocol->data};
  return zk_run_open(&s->run, config, deadline);
}

int zk_recipe_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int children = 0, result = dir_of(s, lock->key, dir);
  if (!result) result = zk_inspect(s->run.env, s->run.target, endpoint, s->run.ttl_ms, dir, deadline, &children);
  return result < 0 ? result : children > 0;
}

int zk_recipe_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int result = dir_of(s, lock->key, dir);
  return result ? result : zk_break(s->run.env, s->run.target, endpoint, s->run.ttl_ms, dir, true, deadline);
}
