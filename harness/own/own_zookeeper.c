/* SPDX-License-Identifier: MIT
 *
 * The user's own ZooKeeper. A first connection says more than the library does of one that cannot be had; a session
 * that asks for little says what is the least that the server grants; and a node says whether it may be made.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/zookeeper/zk.h"
#include "base/text.h"
#include "own.h"
#include "servers/zk_word.h"

/* A library that asks for less than SHORT_MS has no patience to connect; no scenario asks for less. */
enum { SESSION_MS = 5000, STEP_MS = 3000, SHORT_MS = 400 };

/* ---- the word "srvr": a server that may not tell still answers ---- */

static int ask_version(struct lb_env *env, const struct lb_endpoint *at, lb_ns deadline, struct lb_own_found *ret) {
  char said[4096] = "", version[48] = "of a version that it does not tell";
  int r = lb_zk_word_ask(env, at, "srvr", deadline, &(struct lb_text){said, sizeof said, 0});
  const char *line = r >= 0 ? strstr(said, "ookeeper version: ") : NULL;
  if (line) sscanf(line, "ookeeper version: %31[^-, \n]", version);
  snprintf(ret->version, sizeof ret->version, "zookeeper %s", version);
  return r < 0 ? r : 0;
}

/* ---- a session ---------------------------------------------------------------------------------- */

static int in_session(struct lb_env *env, const struct lb_target *target, int64_t timeout_ms, lb_ns deadline,
                      struct zk_session **ret) {
  int r = zk_open(env, target->endpoints, target->count, timeout_ms, false, ret);
  if (r == 0) r = zk_connect(*ret, deadline);
  return r == LB_TIMEOUT
             ? lb_fail(env, -ETIMEDOUT, "no ZooKeeper session in time: it answers, but has no quorum, or expects TLS")
             : r;
}

static int ask_least_ttl(struct lb_env *env, const struct lb_target *target, lb_ns deadline, struct lb_own_found *ret) {
  struct zk_session *session = NULL;
  int r = in_session(env, target, SHORT_MS, deadline, &session);
  if (r == 0) ret->least_ttl_ms = (int64_t)(zk_timeout_ns(session) / LB_NS_PER_MS);
  zk_close(session);
  return r;
}

/* A node of the session, so it goes with it whatever happens. */
static int try_node(struct lb_env *env, const struct lb_target *target, lb_ns deadline) {
  struct zk_session *session = NULL;
  char path[64];
  uint32_t random;
  lb_random(env, &random, sizeof random);
  snprintf(path, sizeof path, "/" LB_OWN_PREFIX "%08x", random);
  int r = in_session(env, target, SESSION_MS, deadline, &session);
  if (r == 0) {
    int rc = zk_run(session, zk_create(session, path, "", ZOO_EPHEMERAL), deadline);
    if (rc == ZNOAUTH || rc == ZAUTHFAILED || rc == ZSESSIONCLOSEDREQUIRESASLAUTH)
      r = lb_fail(env, -EACCES, "zookeeper %s:%u does not let us make a node in /: %s", target->endpoints[0].host,
                  (unsigned)target->endpoints[0].port, zerror(rc));
    else if (rc != ZOK) r = zk_fail(session, "make a node", rc == ZK_NO_REPLY ? ZOPERATIONTIMEOUT : rc);
    else zk_run(session, zk_delete(session, path), deadline);
  }
  zk_close(session);
  return r;
}

static int ask_ensemble(struct lb_env *env, const struct lb_own *own, lb_ns deadline, struct lb_own_found *ret) {
  struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  int r = 0;
  lb_own_target(own, endpoint, &target);
  for (size_t i = 0; i < target.count && r == 0; i++) {
    r = ask_version(env, &endpoint[i], lb_now(env) + STEP_MS * LB_NS_PER_MS, ret);
    if (r == 0) r = lb_own_note(env, own, ret, endpoint[i].host, endpoint[i].port);
  }
  ret->data_count = ret->count;
  if (r == 0) r = ask_least_ttl(env, &target, deadline, ret);
  return r == 0 ? try_node(env, &target, deadline) : r;
}

/* ---- cleaning ----------------------------------------------------------------------------------- */

static bool is_ours(const char *name) {
  size_t length = strlen(LB_OWN_PREFIX);
  return strncmp(name, LB_OWN_PREFIX, length) == 0 && lb_own_names_run(name + length) && !name[length + 8];
}

static int remove_all(struct lb_env *env, struct zk_session *session, lb_ns deadline) {
  char path[64];
  struct zk_call *children = zk_children(session, "/");
  int r = 0, rc = zk_wait(session, children, deadline);
  const char *name = rc == ZOK ? children->names : NULL;
  for (size_t i = 0; rc == ZOK && r == 0 && i < children->count; i++, name += strlen(name) + 1) {
    if (!is_ours(name)) continue;
    snprintf(path, sizeof path, "/%s", name);
    r = zk_remove_tree(session, path, deadline);
  }
  zk_drop(children);
  if (rc == ZK_NO_REPLY || r > 0) return lb_fail(env, -ETIMEDOUT, "zookeeper did not answer in time");
  return rc == ZOK ? r : zk_fail(session, "list the children of /", rc);
}

static int clean(struct lb_env *env, const struct lb_own *own, lb_ns deadline) {
  struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  struct zk_session *session = NULL;
  lb_own_target(own, endpoint, &target);
  int r = in_session(env, &target, SESSION_MS, deadline, &session);
  if (r == 0) r = remove_all(env, session, deadline);
  zk_close(session);
  return r;
}

const struct lb_own_kind lb_own_kind_zookeeper = {"--zookeeper",
                                                  "own-zookeeper",
                                                  "HOST:PORT[,HOST:PORT...]",
                                                  LB_LOGIN_ZOOKEEPER,
                                                  2181,
                                                  "zk",
                                                  "zk-x3",
                                                  true,
                                                  ask_ensemble,
                                                  clean};
