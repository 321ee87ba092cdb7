/* SPDX-License-Identifier: MIT
 *
 * Over a session of its own, so that one server answers.
 */
#include "zk_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int look(struct zk_session *zk, const char *path, lb_ns deadline, int *ret_children) {
  struct zk_call *node = zk_exists(zk, path);
  int rc = zk_wait(zk, node, deadline);
  if (rc == ZOK && ret_children) *ret_children = node->stat.numChildren;
  zk_drop(node);
  if (rc == ZOK || rc == ZNONODE) return rc == ZOK;
  return rc == ZK_NO_REPLY ? -ETIMEDOUT : zk_fail(zk, "look at the lock's node", rc);
}

/* Opens one to that server alone; without `writes` also to one that has lost its quorum. */
static int open_at(const struct zk_run *run, size_t endpoint, bool writes, lb_ns deadline, struct zk_session **ret) {
  const struct lb_target *target = run->target;
  if (endpoint >= target->count) return lb_fail(run->env, -EINVAL, "there is no server %zu", endpoint + 1);
  int result = zk_open(run->env, &target->endpoints[endpoint], 1, run->ttl_ms, !writes, ret);
  if (!result) result = zk_connect(*ret, deadline);
  return result == LB_TIMEOUT ? -ETIMEDOUT : result;
}

/* Ends the session; what was found is passed on. */
static int close_at(struct lb_env *env, size_t endpoint, struct zk_session *zk, int result) {
  zk_close(zk);
  return result == -ETIMEDOUT ? lb_fail(env, -ETIMEDOUT, "no answer from server %zu in time", endpoint + 1) : result;
}

int zk_record_inspect(const struct zk_run *run, size_t endpoint, const char *path, lb_ns deadline, int *ret_children) {
  struct zk_session *zk = NULL;
  int result = open_at(run, endpoint, false, deadline, &zk);
  if (!result) result = look(zk, path, deadline, ret_children);
  return close_at(run->env, endpoint, zk, result);
}

static int delete_node(struct zk_session *zk, const char *path, lb_ns deadline) {
  int rc = zk_run(zk, zk_delete(zk, path), deadline);
  if (rc == ZOK || rc == ZNONODE) return rc == ZOK;
  return rc == ZK_NO_REPLY ? -ETIMEDOUT : zk_fail(zk, "delete the lock's node", rc);
}

/* What the servers number children with: ten digits at the end of the name. */
static const char *digits_of(const char *name) {
  enum { DIGITS = 10 };
  size_t length = strlen(name);
  return length < DIGITS ? name : name + length - DIGITS;
}

static const char *head_of(const struct zk_call *children) {
  const char *head = NULL, *name = children->names;
  for (size_t i = 0; i < children->count; i++, name += strlen(name) + 1)
    if (!head || strcmp(digits_of(name), digits_of(head)) < 0) head = name;
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

int zk_record_break(const struct zk_run *run, size_t endpoint, const char *path, bool queue, lb_ns deadline) {
  struct zk_session *zk = NULL;
  int result = open_at(run, endpoint, true, deadline, &zk);
  if (!result) result = queue ? delete_head(zk, path, deadline) : delete_node(zk, path, deadline);
  return close_at(run->env, endpoint, zk, result);
}

/* ---- of a foreign lock --------------------------------------------------------------------------------------- */

static struct zk_run run_of(const struct lb_record_at *at) {
  return (struct zk_run){.env = at->env, .target = at->config->target, .ttl_ms = at->config->ttl_ms};
}

static int inspect(const struct lb_record_at *at, const char *record) {
  const struct zk_run run = run_of(at);
  int children = 0, r = zk_record_inspect(&run, at->endpoint, record, at->deadline, &children);
  return r > 0 ? children > 0 : r;
}

/* A plain node would have no children to delete. */
static int remove_head(const struct lb_record_at *at, const char *record) {
  const struct zk_run run = run_of(at);
  return zk_record_break(&run, at->endpoint, record, true, at->deadline);
}

/* Below the folder of the record, what is called after the run. */
static int clean(const struct lb_record_at *at, const char *pattern, const char *record) {
  const struct lb_config *config = at->config;
  char folder[LB_RECORD_MAX], path[LB_RECORD_MAX * 2];
  struct zk_session *zk = NULL;
  snprintf(folder, sizeof folder, "%.*s", (int)(strstr(pattern, "/{key}") ? strstr(pattern, "/{key}") - pattern : 0),
           pattern);
  (void)record;
  if (!*folder) return 0;
  int r = zk_open(at->env, config->target->endpoints, config->target->count, config->ttl_ms, false, &zk);
  if (!r) r = zk_connect(zk, at->deadline);
  struct zk_call *children = r ? NULL : zk_children(zk, folder);
  int rc = children ? zk_wait(zk, children, at->deadline) : ZK_NO_REPLY;
  const char *name = rc == ZOK ? children->names : NULL;
  for (size_t i = 0; rc == ZOK && !r && i < children->count; i++, name += strlen(name) + 1) {
    if (!strstr(name, config->prefix)) continue;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    r = zk_remove_tree(zk, path, at->deadline);
  }
  zk_drop(children);
  zk_close(zk);
  return r ? r : rc == ZOK || rc == ZNONODE ? LB_OK : LB_UNKNOWN;
}

const struct lb_record_hooks zk_record_hooks = {
    .service = "zookeeper", .inspect = inspect, .remove = remove_head, .clean = clean};
