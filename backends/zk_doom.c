/* SPDX-License-Identifier: MIT
 *
 * Deletions that must not be forgotten. A node whose deletion was not answered would block its queue for as long as the
 * library's heartbeats keep the session, and the client may have nothing to ask for a long time. So the library's own thread
 * sends the deletion again whenever the session is connected again, as Curator's guaranteed delete does. It is sent and not
 * waited for. zk_connect() tries what is left once more, before anything new is asked.
 *
 * A deletion is forgotten when a server has said that the node has gone, whoever had asked, and with its session at the latest.
 * Until then its node may stand in the queue, even as the first: zk_is_doomed() says so.
 *
 * A node whose create was not answered is known by the begin of its name only, so it is looked for first, after a sync.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zk_link.h"

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

/* The children of the folder that call->path, the begin of a name, stands in, after a sync: what is not there will never be. */
static void on_children(int rc, const struct String_vector *strings, const void *data) {
  struct zk_call *call = (struct zk_call *)(uintptr_t)data;
  const char *name = strrchr(call->path, '/') + 1;
  char path[ZK_PATH_MAX];
  bool found = false;
  for (int i = 0; rc == ZOK && strings && i < strings->count; i++) {
    if (strncmp(strings->data[i], name, strlen(name)) != 0) continue;
    found = true;
    if (snprintf(path, sizeof path, "%.*s%s", (int)(name - call->path), call->path, strings->data[i]) < (int)sizeof path)
      send_delete(call->link, call->path, path);
  }
  if (rc == ZNONODE || (rc == ZOK && !found)) zk_link_spare(call->link, call->path);
  zk_on_void(rc, data);
}

static void folder_of(const char *prefix, char ret_dir[ZK_PATH_MAX]) {
  snprintf(ret_dir, ZK_PATH_MAX, "%.*s", (int)(strrchr(prefix, '/') - prefix), prefix);
}

static void on_synced(int rc, const char *value, const void *data) {
  struct zk_call *sync = (struct zk_call *)(uintptr_t)data, *children = rc == ZOK ? call_for(sync->link, sync->path) : NULL;
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

/* Of a copy of the list, because both threads take entries out of it. The library's thread may come here before link->handle
 * is set, but the list is empty until the session's thread has the link. */
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
