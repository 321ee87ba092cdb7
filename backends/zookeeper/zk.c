/* SPDX-License-Identifier: MIT
 *
 * First a link: one handle of libzookeeper_mt, and what its threads leave for the session's thread. Then the session:
 * one link after the other, requests, waiting, and the deletions that must not be forgotten.
 *
 * The library's threads and ours share what stands in struct zk_link under its mutex, held
 * for a few instructions only; after a change that somebody may wait for, the eventfd is written.
 *
 * Who frees what: a call belongs to the link's list. It is freed when it is both answered and dropped, or with its
 * link, after zookeeper_close has joined the library's threads (closing may swallow completions, so waiting for each
 * would leak).
 */
#include "zk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/address.h"

/* NEW until the first connection, then UP and DOWN in turns, at last EXPIRED for good. */
enum zk_link_state { ZK_LINK_NEW, ZK_LINK_UP, ZK_LINK_DOWN, ZK_LINK_EXPIRED };

/* The library's threads know a link only, never the session: a link can be left behind to die by itself. */
struct zk_link {
  zhandle_t *handle;
  void (*on_up)(struct zk_link *link);
  int event;            /* eventfd: something below has changed */
  pthread_mutex_t lock; /* guards everything below */
  enum zk_link_state state;
  uint64_t losses; /* how often it went from UP to DOWN */
  int64_t id;
  int timeout_ms;
  struct sockaddr_storage server; /* while UP: where the connection leads to */
  uint64_t awaited;               /* name of the watch that counts; others are late */
  uint64_t awaited_losses;        /* when it was set */
  bool fired, changed;            /* changed: it told that the node was written to, and not that it has gone */
  struct zk_call *calls;          /* all not yet freed */
  char (*doomed)[ZK_PATH_MAX];    /* nodes to delete, or begins of their names */
  size_t doomed_count;
  bool closed;   /* zookeeper_close has returned */
  bool orphaned; /* the session has gone: the closing thread frees the link */
};

struct zk_link_wish {
  const char *servers; /* "127.0.0.1:2181,::1:2181" */
  const char *login;   /* "user:password" for the scheme digest, NULL = none */
  int timeout_ms;
  bool read_only;
  void (*on_up)(
      struct zk_link *link); /* whenever it is connected, in the library's thread, perhaps before `handle` is set */
};

/* It has gone. Any thread. */
static void zk_link_spare(struct zk_link *link, const char *prefix);

/* ---- calls --------------------------------------------------------------------------------------------- */

static void call_free(struct zk_call *call) {
  free(call->names);
  free(call);
}

/* With the lock held. */
static void call_unlink(struct zk_call *call) {
  struct zk_call **at = &call->link->calls;
  while (*at != call) at = &(*at)->next;
  *at = call->next;
}

static void signal_change(struct zk_link *link) {
  uint64_t one = 1;
  ssize_t written = write(link->event, &one, sizeof one); /* fails only when full, and so readable anyway */
  (void)written;
}

/* A request not yet sent. NULL: no memory. */
static struct zk_call *zk_call_new(struct zk_link *link) {
  struct zk_call *call = calloc(1, sizeof *call);
  if (!call) return NULL;
  pthread_mutex_lock(&link->lock);
  *call = (struct zk_call){.link = link, .next = link->calls};
  link->calls = call;
  pthread_mutex_unlock(&link->lock);
  return call;
}

/* The answer has been copied into the call; no thread has looked at it yet. */
static void call_finish(struct zk_call *call, int rc) {
  struct zk_link *link = call->link;
  pthread_mutex_lock(&link->lock);
  call->rc = rc;
  call->done = true;
  bool dropped = call->dropped;
  if (dropped) call_unlink(call);
  else signal_change(link);
  pthread_mutex_unlock(&link->lock);
  if (dropped) call_free(call);
}

/* Takes the result of the library's asynchronous function: if it refused at once, no completion will come. */
static struct zk_call *zk_call_sent(struct zk_call *call, int rc) {
  if (rc != ZOK) call_finish(call, rc);
  return call;
}

void zk_drop(struct zk_call *call) {
  if (!call) return;
  struct zk_link *link = call->link;
  pthread_mutex_lock(&link->lock);
  bool done = call->done;
  if (done) call_unlink(call);
  else call->dropped = true;
  pthread_mutex_unlock(&link->lock);
  if (done) call_free(call);
}

/* ---- completions: the library's thread ------------------------------------------------------------------ */

/* `data` comes back as the const pointer the library was given; the call behind it is ours to write. */
static struct zk_call *call_of(const void *data) { return (struct zk_call *)(uintptr_t)data; }

/* Completions and the node watcher, called by the library's completion thread. `data` is a zk_call. */
static void zk_on_void(int rc, const void *data) { call_finish(call_of(data), rc); }

static void zk_on_stat(int rc, const struct Stat *stat, const void *data) {
  struct zk_call *call = call_of(data);
  if (stat) call->stat = *stat;
  call_finish(call, rc);
}

static void zk_on_create(int rc, const char *path, const struct Stat *stat, const void *data) {
  struct zk_call *call = call_of(data);
  if (stat) call->stat = *stat;
  if (path) strncpy(call->path, path, sizeof call->path - 1);
  call_finish(call, rc);
}

static void zk_on_string(int rc, const char *value, const void *data) {
  (void)value;
  call_finish(call_of(data), rc);
}

static void zk_on_strings(int rc, const struct String_vector *strings, const void *data) {
  struct zk_call *call = call_of(data);
  size_t size = 1;
  for (int i = 0; strings && i < strings->count; i++) size += strlen(strings->data[i]) + 1;
  char *at = call->names = calloc(1, size);
  if (!at) rc = ZSYSTEMERROR;
  for (int i = 0; at && strings && i < strings->count; i++, call->count++) at = stpcpy(at, strings->data[i]) + 1;
  call_finish(call, rc);
}

static void zk_on_children(int rc, const struct String_vector *strings, const struct Stat *stat, const void *data) {
  struct zk_call *call = call_of(data);
  if (stat) call->stat = *stat;
  zk_on_strings(rc, strings, data);
}

static void zk_on_data(int rc, const char *value, int length, const struct Stat *stat, const void *data) {
  struct zk_call *call = call_of(data);
  if (rc == ZOK && !(call->names = strndup(value ? value : "", length > 0 ? (size_t)length : 0))) rc = ZSYSTEMERROR;
  zk_on_stat(rc, stat, data);
}

/* A watch is known by a number, not by a pointer: it may fire long after the session that set it has gone. Session
 * events reach every watcher without using it up, and say nothing about the node. */
static void zk_on_node(zhandle_t *handle, int type, int state, const char *path, void *name) {
  (void)state, (void)path;
  struct zk_link *link = (struct zk_link *)(uintptr_t)zoo_get_context(handle);
  if (type == ZOO_SESSION_EVENT) return;
  pthread_mutex_lock(&link->lock);
  if ((uintptr_t)name == link->awaited) {
    link->fired = true;
    link->changed = type == ZOO_CHANGED_EVENT;
    signal_change(link);
  }
  pthread_mutex_unlock(&link->lock);
}

/* Where the handle is connected to: all zero if that cannot be said, as with a server that only reads. */
static struct sockaddr_storage server_of(zhandle_t *handle) {
  struct sockaddr_storage server = {0}, none = {0};
  socklen_t size = sizeof server;
  return zookeeper_get_connected_host(handle, (struct sockaddr *)&server, &size) ? server : none;
}

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *context) {
  (void)path;
  struct zk_link *link = context;
  if (type != ZOO_SESSION_EVENT) return;
  pthread_mutex_lock(&link->lock);
  if (state == ZOO_CONNECTED_STATE || state == ZOO_READONLY_STATE) {
    link->state = ZK_LINK_UP;
    link->id = zoo_client_id(handle)->client_id;
    link->timeout_ms = zoo_recv_timeout(handle);
    link->server = server_of(handle);
  } else if (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE) {
    link->state = ZK_LINK_EXPIRED;
  } else if (link->state == ZK_LINK_UP) {
    link->state = ZK_LINK_DOWN;
    link->losses++;
  }
  bool connected = link->state == ZK_LINK_UP;
  signal_change(link);
  pthread_mutex_unlock(&link->lock);
  if (connected) link->on_up(link);
}

/* ---- handles ------------------------------------------------------------------------------------------- */

static enum zk_link_state zk_link_state(struct zk_link *link) {
  pthread_mutex_lock(&link->lock);
  enum zk_link_state state = link->state;
  pthread_mutex_unlock(&link->lock);
  return state;
}

/* Sleeps until something may have changed. > 0, 0 = the deadline passed, -errno. */
static int zk_link_sleep(struct lb_env *env, struct zk_link *link, lb_ns deadline) {
  uint64_t count;
  int revents = lb_wait_fd(env, link->event, POLLIN, deadline);
  if (revents > 0 && read(link->event, &count, sizeof count) < 0 && errno != EAGAIN)
    return lb_fail(env, -errno, "cannot read the eventfd of a ZooKeeper session: %m");
  return revents;
}

static void link_free(struct zk_link *link) {
  for (struct zk_call *call = link->calls, *next; call; call = next) {
    next = call->next;
    call_free(call);
  }
  if (link->event >= 0) close(link->event);
  pthread_mutex_destroy(&link->lock);
  free(link->doomed);
  free(link);
}

/* The library's threads must not take signals that are meant for the program. */
static zhandle_t *start_handle(const struct zk_link_wish *wish, struct zk_link *link) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  zhandle_t *handle = zookeeper_init(wish->servers, on_session, wish->timeout_ms, NULL, link,
                                     ZOO_NO_LOG_CLIENTENV | (wish->read_only ? ZOO_READONLY : 0));
  int saved = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = saved;
  return handle;
}

/* Starts a handle. The wish need not outlive the call. 0 or -errno. */
static int zk_link_open(struct lb_env *env, const struct zk_link_wish *wish, struct zk_link **ret) {
  struct zk_link *link = calloc(1, sizeof *link);
  if (!link) return lb_fail(env, -ENOMEM, "no memory for a ZooKeeper session");
  pthread_mutex_init(&link->lock, NULL);
  link->on_up = wish->on_up;
  link->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  zoo_set_debug_level((ZooLogLevel)0); /* no messages at all: what fails reaches the caller as a result */
  zoo_deterministic_conn_order(1);     /* the caller shuffles, with the random stream of the trial */
  if (link->event >= 0) link->handle = start_handle(wish, link);
  if (!link->handle) {
    int result = lb_fail(env, errno ? -errno : -EINVAL, "cannot start a ZooKeeper session with %s: %m", wish->servers);
    link_free(link);
    return result;
  }
  /* Kept by the handle, and said again on every connection. */
  if (wish->login) zoo_add_auth(link->handle, "digest", wish->login, (int)strlen(wish->login), NULL, NULL);
  zoo_set_servers_resolution_delay(link->handle, -1); /* addresses are numeric: do not parse them for every packet */
  *ret = link;
  return 0;
}

static void *hang_up(void *arg) {
  struct zk_link *link = arg;
  zookeeper_close(link->handle);
  pthread_mutex_lock(&link->lock);
  link->closed = true;
  bool orphaned = link->orphaned;
  signal_change(link);
  pthread_mutex_unlock(&link->lock);
  if (orphaned) link_free(link);
  return NULL;
}

/* False if the deadline passed first; the closing thread owns the link from then on. */
static bool await_hang_up(struct lb_env *env, struct zk_link *link, lb_ns deadline) {
  for (int woken = 1;; woken = zk_link_sleep(env, link, deadline)) {
    pthread_mutex_lock(&link->lock);
    bool closed = link->closed;
    if (!closed && woken <= 0) link->orphaned = true;
    pthread_mutex_unlock(&link->lock);
    if (closed || woken <= 0) return closed;
  }
}

/* Closes it within about `patience`, or leaves that to a detached thread. Calls still held become invalid. */
static void zk_link_close(struct lb_env *env, struct zk_link *link, lb_ns patience) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, hang_up, link) != 0) {
    zookeeper_close(link->handle);
    link_free(link);
  } else if (await_hang_up(env, link, lb_now(env) + patience)) {
    pthread_join(thread, NULL);
    link_free(link);
  } else {
    pthread_detach(thread);
  }
}

/* ---- doomed nodes --------------------------------------------------------------------------------------------
 *
 * Deletions that must not be forgotten. A node whose deletion was not answered would block its queue for as long as the
 * library's heartbeats keep the session, and the client may have nothing to ask for a long time. So the library's own
 * thread sends the deletion again whenever the session is connected again, as Curator's guaranteed delete does. It is
 * sent and not waited for. zk_connect() tries what is left once more, before anything new is asked.
 *
 * A deletion is forgotten when a server has said that the node has gone, whichever request that was, and with its
 * session at the latest. Until then its node may stand in the queue, even as the first: zk_is_doomed() says so.
 *
 * A node whose create was not answered is known by the begin of its name only, so it is looked for first, after a
 * sync. */

/* Answers of what is sent here: call->path is the entry of the list that is done with when they are good. */
static struct zk_call *call_for(struct zk_link *link, const char *prefix) {
  struct zk_call *call = zk_call_new(link);
  if (call) snprintf(call->path, sizeof call->path, "%s", prefix);
  return call;
}

static void on_deleted(int rc, const void *data) {
  struct zk_call *call = (struct zk_call *)(uintptr_t)data;
  if (rc == ZOK || rc == ZNONODE) zk_link_spare(call->link, call->path);
  zk_on_void(rc, data);
}

static void send_delete(struct zk_link *link, const char *prefix, const char *path) {
  struct zk_call *call = call_for(link, prefix);
  if (call) zk_drop(zk_call_sent(call, zoo_adelete(link->handle, path, -1, on_deleted, call)));
}

/* The children of the folder that call->path, the begin of a name, stands in, after a sync: what is not there will
 * never be. */
static void on_children(int rc, const struct String_vector *strings, const void *data) {
  struct zk_call *call = (struct zk_call *)(uintptr_t)data;
  const char *name = strrchr(call->path, '/') + 1;
  char path[ZK_PATH_MAX];
  bool found = false;
  for (int i = 0; rc == ZOK && strings && i < strings->count; i++) {
    if (strncmp(strings->data[i], name, strlen(name)) != 0) continue;
    found = true;
    if (snprintf(path, sizeof path, "%.*s%s", (int)(name - call->path), call->path, strings->data[i]) <
        (int)sizeof path)
      send_delete(call->link, call->path, path);
  }
  if (rc == ZNONODE || (rc == ZOK && !found)) zk_link_spare(call->link, call->path);
  zk_on_void(rc, data);
}

static void folder_of(const char *prefix, char ret_dir[ZK_PATH_MAX]) {
  snprintf(ret_dir, ZK_PATH_MAX, "%.*s", (int)(strrchr(prefix, '/') - prefix), prefix);
}

static void on_synced(int rc, const char *value, const void *data) {
  struct zk_call *sync = (struct zk_call *)(uintptr_t)data,
                 *children = rc == ZOK ? call_for(sync->link, sync->path) : NULL;
  char dir[ZK_PATH_MAX];
  if (children) {
    folder_of(children->path, dir);
    zk_drop(zk_call_sent(children, zoo_aget_children(children->link->handle, dir, 0, on_children, children)));
  }
  zk_on_string(rc, value, data);
}

static void find_and_delete(struct zk_link *link, const char *prefix) {
  struct zk_call *sync = call_for(link, prefix);
  char dir[ZK_PATH_MAX];
  folder_of(prefix, dir);
  if (sync) zk_drop(zk_call_sent(sync, zoo_async(link->handle, dir, on_synced, sync)));
}

static void send_one(struct zk_link *link, const char *prefix) {
  if (prefix[strlen(prefix) - 1] == '-') find_and_delete(link, prefix);
  else send_delete(link, prefix, prefix);
}

/* Sends all of these deletions, and waits for none. Any thread. It works on a copy of the list, because both threads
 * take entries out of it. The library's thread may come here before link->handle is set, but the list is empty until
 * the session's thread has the link. */
static void zk_link_delete_doomed(struct zk_link *link) {
  pthread_mutex_lock(&link->lock);
  size_t count = link->doomed_count;
  char(*copy)[ZK_PATH_MAX] = count ? malloc(count * sizeof *copy) : NULL;
  if (copy) memcpy(copy, link->doomed, count * sizeof *copy);
  pthread_mutex_unlock(&link->lock);
  for (size_t i = 0; copy && i < count; i++) send_one(link, copy[i]);
  free(copy);
}

/* One of those; false: there is none. */
static bool zk_link_doomed(struct zk_link *link, char ret_prefix[ZK_PATH_MAX]) {
  pthread_mutex_lock(&link->lock);
  bool found = link->doomed_count > 0;
  if (found) memcpy(ret_prefix, link->doomed[0], ZK_PATH_MAX);
  pthread_mutex_unlock(&link->lock);
  return found;
}

/* With the lock held: where it stands, or the count. */
static size_t index_of(const struct zk_link *link, const char *prefix) {
  size_t i = 0;
  while (i < link->doomed_count && strcmp(link->doomed[i], prefix) != 0) i++;
  return i;
}

static bool zk_link_is_doomed(struct zk_link *link, const char *prefix) {
  pthread_mutex_lock(&link->lock);
  bool found = index_of(link, prefix) < link->doomed_count;
  pthread_mutex_unlock(&link->lock);
  return found;
}

/* Remembers a node to delete, by its path or, if that ends with '-', by the begin of it; and sends the deletion now if
 * there is a connection, and again after each reconnect. */
static void zk_link_doom(struct zk_link *link, const char *prefix) {
  pthread_mutex_lock(&link->lock);
  bool known = index_of(link, prefix) < link->doomed_count, connected = link->state == ZK_LINK_UP;
  char(*grown)[ZK_PATH_MAX] = known ? NULL : realloc(link->doomed, (link->doomed_count + 1) * sizeof *grown);
  if (grown) { /* else the node stays until the session ends */
    link->doomed = grown;
    snprintf(link->doomed[link->doomed_count++], ZK_PATH_MAX, "%s", prefix);
  }
  pthread_mutex_unlock(&link->lock);
  if (connected) send_one(link, prefix);
}

static void zk_link_spare(struct zk_link *link, const char *prefix) {
  pthread_mutex_lock(&link->lock);
  size_t i = index_of(link, prefix);
  if (i < link->doomed_count) {
    link->doomed_count--;
    memmove(link->doomed[i], link->doomed[i + 1], (link->doomed_count - i) * sizeof *link->doomed);
  }
  pthread_mutex_unlock(&link->lock);
}

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
