/* SPDX-License-Identifier: MIT
 *
 * A session of the run and its folder; names of attempts and which node comes before which; what one server shows.
 */
#include "zk_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int zk_run_open(struct zk_run *run, const struct lb_config *config, lb_ns deadline) {
  const struct lb_target *target = config->target;
  *run = (struct zk_run){.env = config->env, .target = target, .client = config->client, .ttl_ms = config->ttl_ms};
  snprintf(run->root, sizeof run->root, "/%s", config->prefix);
  int result = zk_open(config->env, target->endpoints, target->count, config->ttl_ms, false, &run->zk);
  if (!result) result = zk_connect(run->zk, deadline);
  return result == LB_TIMEOUT ? lb_fail(config->env, -ETIMEDOUT, "no ZooKeeper session in time") : result;
}

void zk_run_close(struct zk_run *run) {
  zk_close(run->zk);
  run->zk = NULL;
}

int zk_run_setup(struct zk_run *run, lb_ns deadline) {
  int result = zk_connect(run->zk, deadline);
  int rc = result ? ZK_NO_REPLY : zk_make_path(run->zk, run->root, deadline);
  if (result < 0 || rc == ZOK) return result;
  if (rc == ZK_NO_REPLY) return lb_fail(run->env, -ETIMEDOUT, "cannot create %s in time", run->root);
  return zk_fail(run->zk, "create the folder of all locks", rc);
}

/* ---- hooks ------------------------------------------------------------------------------------------------- */

const char *const zk_run_topologies[] = {"zk-x3", "zk", NULL};

static struct zk_run *run_of(struct lb_session *s) { return (struct zk_run *)s; }

void zk_run_hook_close(struct lb_session *s) { zk_run_close(run_of(s)); }

int zk_run_hook_setup(struct lb_session *s, lb_ns deadline) { return zk_run_setup(run_of(s), deadline); }

int zk_run_hook_teardown(struct lb_session *s, lb_ns deadline) {
  return zk_remove_tree(run_of(s)->zk, run_of(s)->root, deadline);
}

int zk_run_hook_server(struct lb_session *s) { return zk_server(run_of(s)->zk); }

uint64_t zk_run_hook_session_id(struct lb_session *s, const struct lb_grant *grant) {
  (void)grant;
  return (uint64_t)zk_id(run_of(s)->zk);
}

/* ---- names ------------------------------------------------------------------------------------------------- */

int zk_name_queue(struct lb_env *env, const char *root, const char *key, char dir[ZK_PATH_MAX]) {
  size_t room = ZK_PATH_MAX - sizeof "/0123456789abcdef0123456789abcdef" ZK_READ_MARK "-2147483648";
  return (size_t)snprintf(dir, ZK_PATH_MAX, "%s/%s", root, key) < room
             ? 0
             : lb_fail(env, -ENAMETOOLONG, "a key of %zu characters does not fit into a node's name", strlen(key));
}

void zk_guid(struct lb_env *env, struct zk_session *zk, char guid[ZK_GUID_SIZE]) {
  uint64_t random;
  lb_random(env, &random, sizeof random);
  snprintf(guid, ZK_GUID_SIZE, "%016" PRIx64 "%016" PRIx64, (uint64_t)zk_id(zk), random);
}

bool zk_guid_is_alive(struct zk_session *zk, const char *guid) {
  char id[17];
  snprintf(id, sizeof id, "%016" PRIx64, (uint64_t)zk_id(zk));
  return !zk_expired(zk) && strncmp(guid, id, sizeof id - 1) == 0;
}

static bool number_of(const char *name, int32_t *ret_number) {
  const char *mark = NULL;
  for (const char *at = name; (at = strstr(at, ZK_LOCK_MARK)); at++) mark = at;
  if (mark) *ret_number = (int32_t)strtol(mark + strlen(ZK_LOCK_MARK), NULL, 10);
  return mark;
}

/* By their distance, because numbers turn negative after 2147483647. Right as long as fewer than 2^31 nodes lie
 * between two that exist at the same time. */
static bool is_before(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b) < 0; }

static bool reads(const char *name) { return strstr(name, ZK_READ_MARK); }

bool zk_find_place(const struct zk_call *children, const char *own, const char **ret_ahead) {
  const char *child = children->names;
  int32_t own_number = 0, ahead_number = 0, number;
  bool found = false;
  number_of(own, &own_number);
  *ret_ahead = NULL;
  for (size_t i = 0; i < children->count; i++, child += strlen(child) + 1) {
    if (strcmp(child, own) == 0) found = true;
    if (!number_of(child, &number) || !is_before(number, own_number)) continue;
    if (*ret_ahead && !is_before(ahead_number, number)) continue;
    if (reads(own) && reads(child)) continue;
    *ret_ahead = child;
    ahead_number = number;
  }
  return found;
}

/* ---- for the hooks inspect and break_lock: over a session of its own ----------------------------------------- */

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

int zk_inspect(const struct zk_run *run, size_t endpoint, const char *path, lb_ns deadline, int *ret_children) {
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

int zk_break(const struct zk_run *run, size_t endpoint, const char *path, bool queue, lb_ns deadline) {
  struct zk_session *zk = NULL;
  int result = open_at(run, endpoint, true, deadline, &zk);
  if (!result) result = queue ? delete_head(zk, path, deadline) : delete_node(zk, path, deadline);
  return close_at(run->env, endpoint, zk, result);
}
