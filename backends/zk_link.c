/* SPDX-License-Identifier: MIT
 *
 * What runs between the library's threads and ours. Everything shared stands in struct zk_link under its mutex, held
 * for a few instructions only; after a change that somebody may wait for, the eventfd is written.
 *
 * Who frees what: a call belongs to the link's list. It is freed when it is both answered and dropped, or with its
 * link, after zookeeper_close has joined the library's threads (closing may swallow completions, so waiting for each
 * would leak).
 */
#include "zk_link.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

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

struct zk_call *zk_call_new(struct zk_link *link) {
  struct zk_call *call = calloc(1, sizeof *call);
  if (!call) return NULL;
  pthread_mutex_lock(&link->lock);
  *call = (struct zk_call){.link = link, .next = link->calls};
  link->calls = call;
  pthread_mutex_unlock(&link->lock);
  return call;
}

/* The answer has been copied into the call; nobody else has looked at it yet. */
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

struct zk_call *zk_call_sent(struct zk_call *call, int rc) {
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

void zk_on_void(int rc, const void *data) { call_finish(call_of(data), rc); }

void zk_on_stat(int rc, const struct Stat *stat, const void *data) {
  struct zk_call *call = call_of(data);
  if (stat) call->stat = *stat;
  call_finish(call, rc);
}

void zk_on_create(int rc, const char *path, const struct Stat *stat, const void *data) {
  struct zk_call *call = call_of(data);
  if (stat) call->stat = *stat;
  if (path) strncpy(call->path, path, sizeof call->path - 1);
  call_finish(call, rc);
}

void zk_on_string(int rc, const char *value, const void *data) {
  (void)value;
  call_finish(call_of(data), rc);
}

void zk_on_strings(int rc, const struct String_vector *strings, const void *data) {
  struct zk_call *call = call_of(data);
  size_t size = 1;
  for (int i = 0; strings && i < strings->count; i++) size += strlen(strings->data[i]) + 1;
  char *at = call->names = calloc(1, size);
  if (!at) rc = ZSYSTEMERROR;
  for (int i = 0; at && strings && i < strings->count; i++, call->count++) at = stpcpy(at, strings->data[i]) + 1;
  call_finish(call, rc);
}

void zk_on_children(int rc, const struct String_vector *strings, const struct Stat *stat, const void *data) {
  struct zk_call *call = call_of(data);
  if (stat) call->stat = *stat;
  zk_on_strings(rc, strings, data);
}

void zk_on_data(int rc, const char *value, int length, const struct Stat *stat, const void *data) {
  struct zk_call *call = call_of(data);
  if (rc == ZOK && !(call->names = strndup(value ? value : "", length > 0 ? (size_t)length : 0))) rc = ZSYSTEMERROR;
  zk_on_stat(rc, stat, data);
}

/* A watch is known by a number, not by a pointer: it may fire long after whoever set it has gone. Session events
 * reach every watcher without using it up, and say nothing about the node. */
void zk_on_node(zhandle_t *handle, int type, int state, const char *path, void *name) {
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

enum zk_link_state zk_link_state(struct zk_link *link) {
  pthread_mutex_lock(&link->lock);
  enum zk_link_state state = link->state;
  pthread_mutex_unlock(&link->lock);
  return state;
}

int zk_link_sleep(struct lb_env *env, struct zk_link *link, lb_ns deadline) {
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

int zk_link_open(struct lb_env *env, const struct zk_link_wish *wish, struct zk_link **ret) {
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

void zk_link_close(struct lb_env *env, struct zk_link *link, lb_ns patience) {
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
 * A deletion is forgotten when a server has said that the node has gone, whoever had asked, and with its session at the
 * latest. Until then its node may stand in the queue, even as the first: zk_is_doomed() says so.
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

/* Of a copy of the list, because both threads take entries out of it. The library's thread may come here before
 * link->handle is set, but the list is empty until the session's thread has the link. */
void zk_link_delete_doomed(struct zk_link *link) {
  pthread_mutex_lock(&link->lock);
  size_t count = link->doomed_count;
  char(*copy)[ZK_PATH_MAX] = count ? malloc(count * sizeof *copy) : NULL;
  if (copy) memcpy(copy, link->doomed, count * sizeof *copy);
  pthread_mutex_unlock(&link->lock);
  for (size_t i = 0; copy && i < count; i++) send_one(link, copy[i]);
  free(copy);
}

bool zk_link_doomed(struct zk_link *link, char ret_prefix[ZK_PATH_MAX]) {
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

bool zk_link_is_doomed(struct zk_link *link, const char *prefix) {
  pthread_mutex_lock(&link->lock);
  bool found = index_of(link, prefix) < link->doomed_count;
  pthread_mutex_unlock(&link->lock);
  return found;
}

void zk_link_doom(struct zk_link *link, const char *prefix) {
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

void zk_link_spare(struct zk_link *link, const char *prefix) {
  pthread_mutex_lock(&link->lock);
  size_t i = index_of(link, prefix);
  if (i < link->doomed_count) {
    link->doomed_count--;
    memmove(link->doomed[i], link->doomed[i + 1], (link->doomed_count - i) * sizeof *link->doomed);
  }
  pthread_mutex_unlock(&link->lock);
}
