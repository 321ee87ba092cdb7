/* SPDX-License-Identifier: MIT
 *
 * For the hooks inspect and break_lock: what one server shows, and its removal by hand, over a session of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "zk_util.h"

static int look(struct zk_session *zk, const char *path, lb_ns deadline, int *ret_children) {
  struct zk_call *node = zk_exists(zk, path);
  int rc = zk_wait(zk, node, deadline);
  if (rc == ZOK && ret_children) *ret_children = node->stat.numChildren;
  zk_drop(node);
  if (rc == ZOK || rc == ZNONODE) return rc == ZOK;
  return rc == ZK_NO_REPLY ? -ETIMEDOUT : zk_fail(zk, "look at the lock's node", rc);
}

/* Opens one to that server alone; without `writes` also to one that has lost its quorum. */
static int open_at(struct lb_env *env, const struct lb_target *target, size_t endpoint, int64_t ttl_ms, bool writes,
                   lb_ns deadline, struct zk_session **ret) {
  if (endpoint >= target->count) return lb_fail(env, -EINVAL, "there is no server %zu", endpoint + 1);
  int result = zk_open(env, &target->endpoints[endpoint], 1, ttl_ms, !writes, ret);
  if (!result) result = zk_connect(*ret, deadline);
  return result == LB_TIMEOUT ? -ETIMEDOUT : result;
}

/* Ends the session; what was found is passed on. */
static int close_at(struct lb_env *env, size_t endpoint, struct zk_session *zk, int result) {
  zk_close(zk);
  return result == -ETIMEDOUT ? lb_fail(env, -ETIMEDOUT, "no answer from server %zu in time", endpoint + 1) : result;
}

int zk_inspect(struct lb_env *env, const struct lb_target *target, size_t endpoint, int64_t ttl_ms, const char *path,
               lb_ns deadline, int *ret_children) {
  struct zk_session *zk = NULL;
  int result = open_at(env, target, endpoint, ttl_ms, false, deadline, &zk);
  if (!result) result = look(zk, path, deadline, ret_children);
  return close_at(env, endpoint, zk, result);
}

/* ---- by hand ------------------------------------------------------------------------------------------- */

static int delete_node(struct zk_session *zk, const char *path, lb_ns deadline) {
  int rc = zk_run(zk, zk_delete(zk, path), deadline);
  if (rc == ZOK || rc == ZNONODE) return rc == ZOK;
  return rc == ZK_NO_REPLY ? -ETIMEDOUT : zk_fail(zk, "delete the lock's node", rc);
}

/* What the servers number children with: ten digits at the end of the name. */
static const char *number_of(const char *name) {
  enum { DIGITS = 10 };
  size_t length = strlen(name);
  return length < DIGITS ? name : name + length - DIGITS;
}

static const char *head_of(const struct zk_call *children) {
  const char *head = NULL, *name = children->names;
  for (size_t i = 0; i < children->count; i++, name += strlen(name) + 1)
    if (!head || strcmp(number_of(name), number_of(head)) < 0) head = name;
  return head;
}

/* A server that repeats its leader's list late is made to catch up first. */
static int delete_head(struct zk_session *zk, const char *dir, lb_ns deadline) {
  char path[2 * ZK_PATH_MAX];
  struct zk_call *sync = zk_sync(zk, dir), *children = zk_children(zk, dir);
  int rc = zk_wait(zk, sync, deadline);
  if (rc == ZOK || rc == ZNONODE) rc = zk_wait(zk, children, deadline);
  const char *head = rc == ZOK ? head_of(children) : NULL;
  if (head) snprintf(path, sizeof path, "%s/%s", dir, head);
  zk_drop(sync);
  zk_drop(children);
  if (head) return delete_node(zk, path, deadline);
  if (rc == ZOK || rc == ZNONODE) return 0;
  return rc == ZK_NO_REPLY ? -ETIMEDOUT : zk_fail(zk, "list the lock's queue", rc);
}

int zk_break(struct lb_env *env, const struct lb_target *target, size_t endpoint, int64_t ttl_ms, const char *path,
             bool queue, lb_ns deadline) {
  struct zk_session *zk = NULL;
  int result = open_at(env, target, endpoint, ttl_ms, true, deadline, &zk);
  if (!result) result = queue ? delete_head(zk, path, deadline) : delete_node(zk, path, deadline);
  return close_at(env, endpoint, zk, result);
}
