/* SPDX-License-Identifier: MIT
 *
 * The session's side of zk_util.h: one link after the other, requests, waiting, and the deletions that must not be
 * forgotten.
 */
#include "zk_util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "zk_link.h"

#define CLOSE_PATIENCE (300 * LB_NS_PER_MS)
/* A handle that has never been connected has nothing to lose: do not let it wait for a silent server longer than
 * this. */
#define FIRST_PATIENCE (2 * LB_NS_PER_S)

#define NAMES_MS 500 /* for the addresses of servers that are given by name, each time a session is begun */

struct zk_session {
  struct lb_env *env;
  const struct lb_endpoint *endpoints;
  size_t count, first; /* first: where the next link begins */
  int timeout_ms;
  bool read_only;
  char (*address)[LB_ADDRESS_MAX]; /* of each endpoint, when it was looked up last; "" = it had none */
  struct zk_link *link;
  lb_ns link_started;
};

/* ---- opening and closing ------------------------------------------------------------------------------- */

/* The list of addresses as the library wants it, beginning with s->first. It takes what stands behind the last colon
 * for the port, and an IPv6 address in brackets for a name. A name that has no address now is left out: the next link
 * asks again. 0, -errno: there is none. */
static int list_servers(struct zk_session *s, char *list, size_t size) {
  lb_ns deadline = lb_now(s->env) + NAMES_MS * LB_NS_PER_MS;
  size_t length = 0;
  int rc = 0;
  for (size_t i = 0; i < s->count && length < size; i++) {
    size_t index = (s->first + i) % s->count;
    const struct lb_endpoint *at = &s->endpoints[index];
    char *address = s->address[index];
    int found = lb_address(s->env, at->host, deadline, address);
    if (found) rc = found, address[0] = '\0';
    else length += (size_t)snprintf(list + length, size - length, "%s%s:%u", length ? "," : "", address, at->port);
  }
  if (length >= size) return lb_fail(s->env, -ENAMETOOLONG, "the list of ZooKeeper servers is too long");
  return length ? 0 : rc;
}

static int start_link(struct zk_session *s) {
  char list[1024] = "", login[300];
  const struct lb_endpoint *first = &s->endpoints[0];
  int rc = list_servers(s, list, sizeof list);
  if (rc) return rc;
  s->first = (s->first + 1) % s->count;
  s->link_started = lb_now(s->env);
  if (first->password) snprintf(login, sizeof login, "%s:%s", first->user, first->password);
  struct zk_link_wish wish = {
      .servers = list,
      .login = first->password ? login : NULL,
      .timeout_ms = s->timeout_ms,
      .read_only = s->read_only,
      .on_up = zk_link_delete_doomed,
  };
  return zk_link_open(s->env, &wish, &s->link);
}

/* One session has one login, and this library speaks in the clear. */
static int check_endpoints(struct lb_env *env, const struct lb_endpoint *endpoints, size_t count) {
  if (!count) return lb_fail(env, -EINVAL, "no ZooKeeper server is given");
  for (size_t i = 0; i < count; i++) {
    const struct lb_endpoint *at = &endpoints[i];
    if (at->tls)
      return lb_fail(env, -EPROTONOSUPPORT, "zookeeper %s:%u asks for TLS, which libzookeeper_mt here does not have",
                     at->host, at->port);
    if (at->password && !at->user)
      return lb_fail(env, -EINVAL, "zookeeper %s:%u has a password without a user, which digest does not know",
                     at->host, at->port);
  }
  return 0;
}

int zk_open(struct lb_env *env, const struct lb_endpoint *endpoints, size_t count, int64_t timeout_ms, bool read_only,
            struct zk_session **ret) {
  int result = check_endpoints(env, endpoints, count);
  if (result) return result;
  struct zk_session *s = calloc(1, sizeof *s);
  if (!s) return lb_fail(env, -ENOMEM, "no memory for a ZooKeeper session");
  uint8_t random;
  lb_random(env, &random, sizeof random);
  *s = (struct zk_session){.env = env, .endpoints = endpoints, .count = count, .read_only = read_only};
  s->first = random % count;
  s->timeout_ms = timeout_ms < 1 ? 1 : timeout_ms > INT_MAX ? INT_MAX : (int)timeout_ms;
  s->address = calloc(count, sizeof *s->address);
  result = s->address ? start_link(s) : lb_fail(env, -ENOMEM, "no memory for a ZooKeeper session");
  if (result) zk_close(s);
  else *ret = s;
  return result;
}

void zk_close(struct zk_session *s) {
  if (!s) return;
  if (s->link) zk_link_close(s->env, s->link, CLOSE_PATIENCE);
  free(s->address);
  free(s);
}

/* ---- the server it is connected to ---------------------------------------------------------------------- */

static bool is_at(const struct sockaddr_storage *server, const char *address, uint16_t port) {
  const struct sockaddr_in *v4 = (const struct sockaddr_in *)server;
  const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)server;
  struct in6_addr wanted;
  if (server->ss_family == AF_INET)
    return inet_pton(AF_INET, address, &wanted) == 1 && memcmp(&wanted, &v4->sin_addr, sizeof v4->sin_addr) == 0 &&
           ntohs(v4->sin_port) == port;
  if (server->ss_family != AF_INET6) return false;
  return inet_pton(AF_INET6, address, &wanted) == 1 && memcmp(&wanted, &v6->sin6_addr, sizeof wanted) == 0 &&
         ntohs(v6->sin6_port) == port;
}

int zk_server(struct zk_session *s) {
  struct sockaddr_storage server = {0};
  if (!s->link) return -ENOENT;
  pthread_mutex_lock(&s->link->lock);
  if (s->link->state == ZK_LINK_UP) server = s->link->server;
  pthread_mutex_unlock(&s->link->lock);
  for (size_t i = 0; i < s->count; i++)
    if (is_at(&server, s->address[i], s->endpoints[i].port)) return (int)i;
  return -ENOENT;
}

int64_t zk_id(struct zk_session *s) {
  if (!s->link) return 0;
  pthread_mutex_lock(&s->link->lock);
  int64_t id = s->link->id;
  pthread_mutex_unlock(&s->link->lock);
  return id;
}

bool zk_expired(struct zk_session *s) { return !s->link || zk_link_state(s->link) == ZK_LINK_EXPIRED; }

uint64_t zk_losses(struct zk_session *s, bool *ret_connected) {
  *ret_connected = false;
  if (!s->link) return 0;
  pthread_mutex_lock(&s->link->lock);
  uint64_t losses = s->link->losses;
  *ret_connected = s->link->state == ZK_LINK_UP;
  pthread_mutex_unlock(&s->link->lock);
  return losses;
}

lb_ns zk_begun(struct zk_session *s) { return s->link ? s->link_started : 0; }

lb_ns zk_timeout_ns(struct zk_session *s) {
  int timeout_ms = s->timeout_ms;
  if (s->link) {
    pthread_mutex_lock(&s->link->lock);
    if (s->link->timeout_ms > 0) timeout_ms = s->link->timeout_ms;
    pthread_mutex_unlock(&s->link->lock);
  }
  return (lb_ns)timeout_ms * LB_NS_PER_MS;
}

/* A new session in place of one that has expired, or of one that never came about. */
static int replace_link(struct zk_session *s) {
  if (s->link) zk_link_close(s->env, s->link, CLOSE_PATIENCE);
  s->link = NULL;
  return start_link(s);
}

/* ---- requests ------------------------------------------------------------------------------------------ */

struct zk_call *zk_create(struct zk_session *s, const char *path, const char *data, int mode) {
  struct zk_call *call = zk_call_new(s->link);
  return call ? zk_call_sent(call, zoo_acreate2(s->link->handle, path, data, (int)strlen(data), &ZOO_OPEN_ACL_UNSAFE,
                                                mode, zk_on_create, call))
              : NULL;
}

struct zk_call *zk_delete(struct zk_session *s, const char *path) {
  struct zk_call *call = zk_call_new(s->link);
  return call ? zk_call_sent(call, zoo_adelete(s->link->handle, path, -1, zk_on_void, call)) : NULL;
}

struct zk_call *zk_write_and_delete(struct zk_session *s, const char *path) {
  struct zk_call *call = zk_call_new(s->link);
  if (!call) return NULL;
  zoo_op_t both[2];
  zoo_set_op_init(&both[0], path, "", 0, -1, NULL);
  zoo_delete_op_init(&both[1], path, -1);
  return zk_call_sent(call, zoo_amulti(s->link->handle, 2, both, call->results, zk_on_void, call));
}

struct zk_call *zk_set(struct zk_session *s, const char *path, const char *data) {
  struct zk_call *call = zk_call_new(s->link);
  return call ? zk_call_sent(call, zoo_aset(s->link->handle, path, data, (int)strlen(data), -1, zk_on_stat, call))
              : NULL;
}

struct zk_call *zk_exists(struct zk_session *s, const char *path) {
  struct zk_call *call = zk_call_new(s->link);
  return call ? zk_call_sent(call, zoo_aexists(s->link->handle, path, 0, zk_on_stat, call)) : NULL;
}

struct zk_call *zk_get(struct zk_session *s, const char *path) {
  struct zk_call *call = zk_call_new(s->link);
  return call ? zk_call_sent(call, zoo_aget(s->link->handle, path, 0, zk_on_data, call)) : NULL;
}

struct zk_call *zk_children(struct zk_session *s, const char *path) {
  struct zk_call *call = zk_call_new(s->link);
  return call ? zk_call_sent(call, zoo_aget_children2(s->link->handle, path, 0, zk_on_children, call)) : NULL;
}

struct zk_call *zk_sync(struct zk_session *s, const char *path) {
  struct zk_call *call = zk_call_new(s->link);
  return call ? zk_call_sent(call, zoo_async(s->link->handle, path, zk_on_string, call)) : NULL;
}

/* The name of a watch is a hash of its path (FNV-1a): watching the same node twice leaves one watch in the library. */
static uintptr_t watch_name(const char *path) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (; *path; path++) hash = (hash ^ (uint8_t)*path) * UINT64_C(0x100000001b3);
  return (uintptr_t)hash;
}

/* The watch that counts from now on. Its name. */
static void *await_name(struct zk_session *s, const char *path) {
  uintptr_t name = watch_name(path);
  pthread_mutex_lock(&s->link->lock);
  s->link->awaited = name;
  s->link->awaited_losses = s->link->losses;
  s->link->fired = s->link->changed = false;
  pthread_mutex_unlock(&s->link->lock);
  return (void *)name;
}

struct zk_call *zk_watch(struct zk_session *s, const char *path) {
  struct zk_call *call = zk_call_new(s->link);
  return call ? zk_call_sent(call, zoo_awget(s->link->handle, path, zk_on_node, await_name(s, path), zk_on_data, call))
              : NULL;
}

struct zk_call *zk_watch_exists(struct zk_session *s, const char *path) {
  struct zk_call *call = zk_call_new(s->link);
  return call ? zk_call_sent(call,
                             zoo_awexists(s->link->handle, path, zk_on_node, await_name(s, path), zk_on_stat, call))
              : NULL;
}

/* ---- waiting ------------------------------------------------------------------------------------------- */

int zk_wait(struct zk_session *s, struct zk_call *call, lb_ns deadline) {
  if (!call) return ZSYSTEMERROR;
  for (int woken = 1;; woken = zk_link_sleep(s->env, call->link, deadline)) {
    pthread_mutex_lock(&call->link->lock);
    bool done = call->done;
    pthread_mutex_unlock(&call->link->lock);
    if (done) return call->rc;
    if (woken <= 0) return ZK_NO_REPLY;
  }
}

int zk_run(struct zk_session *s, struct zk_call *call, lb_ns deadline) {
  int rc = zk_wait(s, call, deadline);
  zk_drop(call);
  return rc;
}

int zk_wait_event(struct zk_session *s, lb_ns deadline) {
  for (int woken = 1;; woken = zk_link_sleep(s->env, s->link, deadline)) {
    pthread_mutex_lock(&s->link->lock);
    bool over = s->link->fired || s->link->state == ZK_LINK_EXPIRED;
    pthread_mutex_unlock(&s->link->lock);
    if (over) return LB_OK;
    if (woken <= 0) return woken ? woken : LB_TIMEOUT;
  }
}

bool zk_was_written(struct zk_session *s, const char *path) {
  if (!s->link) return false;
  pthread_mutex_lock(&s->link->lock);
  bool written = s->link->fired && s->link->changed && s->link->awaited == watch_name(path) &&
                 s->link->losses == s->link->awaited_losses;
  pthread_mutex_unlock(&s->link->lock);
  return written;
}

int zk_await_watch(struct zk_session *s, struct zk_call *watch, lb_ns deadline) {
  int rc = zk_run(s, watch, deadline);
  if (rc == ZOK) return LB_OK;
  if (rc == ZK_NO_REPLY) return LB_TIMEOUT;
  return rc == ZNONODE || zk_is_unknown(rc) || zk_is_expiry(rc) ? LB_BUSY : zk_fail(s, "watch", rc);
}

int zk_await_change(struct zk_session *s, const char *path, lb_ns deadline) {
  int result = zk_await_watch(s, zk_watch(s, path), deadline);
  if (result != LB_OK) return result == LB_BUSY ? LB_OK : result;
  lb_ns bound = lb_now(s->env) + zk_timeout_ns(s);
  result = zk_wait_event(s, bound < deadline ? bound : deadline);
  return result == LB_TIMEOUT && bound < deadline ? LB_OK : result;
}

/* Deletes what zk_doom() has asked for, as far as that has not been done meanwhile. Stops at the first result that is
 * not definite. */
static void delete_doomed(struct zk_session *s, lb_ns deadline) {
  char prefix[ZK_PATH_MAX], path[ZK_PATH_MAX];
  while (zk_link_doomed(s->link, prefix)) {
    int rc = zk_find(s, prefix, deadline, path);
    if (rc == ZOK) rc = zk_run(s, zk_delete(s, path), deadline);
    if (rc != ZOK && rc != ZNONODE) return;
    zk_link_spare(s->link, prefix);
  }
}

int zk_connect(struct zk_session *s, lb_ns deadline) {
  for (;;) {
    enum zk_link_state state = s->link ? zk_link_state(s->link) : ZK_LINK_EXPIRED;
    lb_ns now = lb_now(s->env), retry = LB_NEVER;
    if (now >= deadline) return LB_TIMEOUT;
    if (state == ZK_LINK_UP) break;
    if (state == ZK_LINK_NEW) retry = s->link_started + FIRST_PATIENCE;
    if (state == ZK_LINK_EXPIRED || now >= retry) {
      int result = replace_link(s);
      if (result) return result;
    } else {
      int woken = zk_link_sleep(s->env, s->link, retry < deadline ? retry : deadline);
      if (woken < 0) return woken;
    }
  }
  delete_doomed(s, deadline);
  return 0;
}

/* ---- results ------------------------------------------------------------------------------------------- */

bool zk_is_unknown(int rc) {
  return rc == ZK_NO_REPLY || rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT || rc == ZCLOSING || rc == ZSESSIONMOVED;
}

bool zk_is_expiry(int rc) { return rc == ZSESSIONEXPIRED || rc == ZINVALIDSTATE; }

int zk_fail(struct zk_session *s, const char *what, int rc) {
  int error = rc == ZNOAUTH || rc == ZAUTHFAILED ? EACCES
              : rc == ZNOTREADONLY               ? EROFS
              : rc == ZSYSTEMERROR               ? ENOMEM
                                                 : EPROTO;
  return lb_fail(s->env, -error, "ZooKeeper: cannot %s: %s", what, zerror(rc));
}

/* ---- small journeys ------------------------------------------------------------------------------------ */

int zk_make_path(struct zk_session *s, const char *path, lb_ns deadline) {
  char part[ZK_PATH_MAX];
  int rc = ZOK;
  for (const char *end = path; *end && (rc == ZOK || rc == ZNODEEXISTS);) {
    end = strchrnul(end + 1, '/');
    snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
    rc = zk_run(s, zk_create(s, part, "", ZOO_CONTAINER), deadline);
  }
  return rc == ZNODEEXISTS ? ZOK : rc;
}

int zk_find(struct zk_session *s, const char *prefix, lb_ns deadline, char ret_path[ZK_PATH_MAX]) {
  const char *name = strrchr(prefix, '/') + 1;
  char dir[ZK_PATH_MAX];
  snprintf(dir, sizeof dir, "%.*s", (int)(name - 1 - prefix), prefix);
  struct zk_call *sync = zk_sync(s, dir), *children = zk_children(s, dir);
  int rc = zk_wait(s, sync, deadline);
  if (rc == ZOK) rc = zk_wait(s, children, deadline);
  if (rc == ZOK) {
    rc = ZNONODE;
    const char *child = children->names;
    for (size_t i = 0; i < children->count && rc == ZNONODE; i++, child += strlen(child) + 1)
      if (strncmp(child, name, strlen(name)) == 0)
        rc = snprintf(ret_path, ZK_PATH_MAX, "%s/%s", dir, child) < ZK_PATH_MAX ? ZOK : ZBADARGUMENTS;
  }
  zk_drop(sync);
  zk_drop(children);
  return rc;
}

void zk_doom(struct zk_session *s, const char *prefix) {
  if (s->link) zk_link_doom(s->link, prefix);
}

bool zk_is_doomed(struct zk_session *s, const char *prefix) { return s->link && zk_link_is_doomed(s->link, prefix); }

/* ---- for the hook teardown ------------------------------------------------------------------------------ */

static int remove_children(struct zk_session *s, const char *path, lb_ns deadline);

/* A node that is gone already is as good. */
static int remove_node(struct zk_session *s, const char *path, lb_ns deadline) {
  int rc = zk_run(s, zk_delete(s, path), deadline);
  if (rc == ZNOTEMPTY) rc = remove_children(s, path, deadline);
  else return rc == ZNONODE ? ZOK : rc;
  return rc == ZOK ? remove_node(s, path, deadline) : rc;
}

static int remove_children(struct zk_session *s, const char *path, lb_ns deadline) {
  char child[ZK_PATH_MAX];
  struct zk_call *children = zk_children(s, path);
  int rc = zk_wait(s, children, deadline);
  const char *name = rc == ZOK ? children->names : NULL;
  for (size_t i = 0; rc == ZOK && i < children->count; i++, name += strlen(name) + 1) {
    if (snprintf(child, sizeof child, "%s/%s", path, name) >= (int)sizeof child) rc = ZBADARGUMENTS;
    else rc = remove_node(s, child, deadline);
  }
  zk_drop(children);
  return rc == ZNONODE ? ZOK : rc;
}

int zk_remove_tree(struct zk_session *s, const char *path, lb_ns deadline) {
  for (;;) {
    int result = zk_connect(s, deadline);
    if (result) return result;
    int rc = remove_node(s, path, deadline);
    if (rc == ZOK) return LB_OK;
    if (rc == ZK_NO_REPLY) return LB_UNKNOWN;
    if (!zk_is_unknown(rc) && !zk_is_expiry(rc)) return zk_fail(s, "remove what the run has left", rc);
  }
}
