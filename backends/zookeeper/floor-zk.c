/* SPDX-License-Identifier: MIT
 *
 * floor-zk - what the two writes of a queue in ZooKeeper cost alone: no lock, but the floor under zk-sequential's speed.
 *
 * Promises    Nothing: each client has a folder of its own, whatever it is asked for, so no client is ever refused.
 * Breaks it   Any second client. It is measured only where no two clients meet (scenario spread).
 * Source      A loop over libzookeeper_mt: create an ephemeral sequential node, then delete it.
 *
 * It does what zk-sequential cannot do without, and nothing else: no list of the queue, no session after the first, no
 * look whether that one lives. The library's thread hands the answer over by an eventfd, as for every lock here.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "zk_run.h"

/* What the library's threads write is read after the eventfd has said so. */
struct lb_session {
  struct lb_env *env;
  const struct lb_config *config;
  zhandle_t *zk; /* from the first try on */
  int event;
  int rc;
  _Atomic bool connected;
  char folder[ZK_PATH_MAX], prefix[ZK_PATH_MAX + 8], node[ZK_PATH_MAX + 32];
  struct zk_run run; /* for setup and teardown alone */
};

static void answer(struct lb_session *s, int rc) {
  uint64_t one = 1;
  s->rc = rc;
  if (write(s->event, &one, sizeof one) < 0) abort(); /* one answer at a time: it cannot be full */
}

static void on_session(zhandle_t *zk, int type, int state, const char *path, void *context) {
  struct lb_session *s = context;
  (void)zk, (void)path;
  if (type != ZOO_SESSION_EVENT || state != ZOO_CONNECTED_STATE) return;
  if (!atomic_exchange(&s->connected, true)) answer(s, ZOK);
}

static void on_created(int rc, const char *path, const void *data) {
  struct lb_session *s = (struct lb_session *)(uintptr_t)data;
  if (path) snprintf(s->node, sizeof s->node, "%s", path);
  answer(s, rc);
}

static void on_deleted(int rc, const void *data) { answer((struct lb_session *)(uintptr_t)data, rc); }

/* The answer to what was sent with `sent`. */
static int await(struct lb_session *s, const char *what, int sent, lb_ns deadline) {
  uint64_t count;
  if (sent != ZOK) return lb_fail(s->env, -EIO, "zookeeper: cannot %s: %s", what, zerror(sent));
  if (lb_wait_fd(s->env, s->event, POLLIN, deadline) <= 0 || read(s->event, &count, sizeof count) < 0)
    return lb_fail(s->env, -ETIMEDOUT, "zookeeper: sent, no answer: %s", what), LB_UNKNOWN;
  if (s->rc == ZOK || s->rc == ZNODEEXISTS) return 0;
  return lb_fail(s->env, s->rc == ZNONODE ? -ENOENT : -EPROTO, "zookeeper: cannot %s: %s", what, zerror(s->rc));
}

static int begin(struct lb_session *s, lb_ns deadline) {
  char list[1024];
  size_t length = 0;
  unsigned char random;
  const struct lb_target *target = s->config->target;
  lb_random(s->env, &random, sizeof random); /* where each client begins, as for every lock here */
  for (size_t i = 0; i < target->count && length < sizeof list; i++) {
    const struct lb_endpoint *at = &target->endpoints[(random + i) % target->count];
    if (at->tls || at->password)
      return lb_fail(s->env, -EPROTONOSUPPORT, "zookeeper %s: a floor knows neither passwords nor TLS", at->host);
    length += (size_t)snprintf(list + length, sizeof list - length, "%s%s:%u", i ? "," : "", at->host, at->port);
  }
  zoo_set_debug_level((ZooLogLevel)0);
  zoo_deterministic_conn_order(1);
  s->zk = zookeeper_init(list, on_session, (int)s->config->ttl_ms, NULL, s, ZOO_NO_LOG_CLIENTENV);
  if (!s->zk) return lb_fail(s->env, -EINVAL, "cannot start a ZooKeeper session with %s", list);
  zoo_set_servers_resolution_delay(s->zk, -1);
  int rc = await(s, "connect", ZOK, deadline);
  if (rc) return rc < 0 ? rc : -ETIMEDOUT;
  rc = await(s, "create a folder",
             zoo_acreate(s->zk, s->folder, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_CONTAINER, on_created, s), deadline);
  return rc > 0 ? -ETIMEDOUT : rc;
}

static int floor_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline;
  *s = (struct lb_session){.env = config->env, .config = config};
  s->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (s->event < 0) return lb_fail(s->env, -errno, "no eventfd: %m");
  snprintf(s->folder, sizeof s->folder, "/%s/%s", config->prefix, config->client);
  snprintf(s->prefix, sizeof s->prefix, "%s/lock-", s->folder);
  return 0;
}

static void floor_close(struct lb_session *s) {
  if (s->zk) zookeeper_close(s->zk);
  if (s->run.zk) zk_run_close(&s->run);
  if (s->event > 0) close(s->event);
}

static int floor_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock;
  int begun = s->zk ? 0 : begin(s, deadline);
  if (begun) return begun;
  grant->asked_at = lb_now(s->env);
  int sent = zoo_acreate(s->zk, s->prefix, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL | ZOO_SEQUENCE, on_created, s);
  int rc = await(s, "create a node", sent, deadline);
  if (rc) return rc;
  grant->token[0] = 'f';
  grant->token_len = 1;
  grant->valid_until = LB_NEVER;
  return LB_OK;
}

static int floor_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock, (void)grant;
  return await(s, "delete the node", zoo_adelete(s->zk, s->node, -1, on_deleted, s), deadline);
}

static int floor_setup(struct lb_session *s, lb_ns deadline) {
  int rc = s->run.zk ? 0 : zk_run_open(&s->run, s->config, deadline);
  return rc ? rc : zk_run_setup(&s->run, deadline);
}

static int floor_teardown(struct lb_session *s, lb_ns deadline) {
  int rc = s->run.zk ? 0 : zk_run_open(&s->run, s->config, deadline);
  return rc ? rc : zk_remove_tree(s->run.zk, s->run.root, deadline);
}

const struct lb_protocol lb_floor_zk = {
    .abi = LB_ABI,
    .name = "floor-zk",
    .summary = "no lock: create and delete of an ephemeral sequential node that nobody else looks at",
    .topologies = (const char *const[]){"zk-x3", "zk", NULL},
    .traits = LB_TRAIT_NO_EXPIRY | LB_TRAIT_UNSAFE | LB_TRAIT_FLOOR | LB_TRAIT_OWN_THREADS,
    .unsafe_why = "never refuses",
    .session_size = sizeof(struct lb_session),
    .open = floor_open,
    .close = floor_close,
    .try_acquire = floor_try_acquire,
    .release = floor_release,
    .setup = floor_setup,
    .teardown = floor_teardown,
};
