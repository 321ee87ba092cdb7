/* SPDX-License-Identifier: MIT
 *
 * Deletions that must not be forgotten. A node whose deletion was not answered would block its queue for as long as the
 * library's heartbeats keep the session, and the client may have nothing to ask for a long time. So the library's own thread
 * sends the deletion again whenever the session is connected again, as Curator's guaranteed delete does. It is sent and not
 * waited for: zk_connect() waits for what is left, before anything new is asked.
 *
 * A node whose create was not answered is known by the begin of its name only, so it is looked for first, after a sync.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zk_link.h"

static void send_delete(zhandle_t *handle, struct zk_link *link, const char *path) {
  struct zk_call *call = zk_call_new(link);
  if (call) zk_drop(zk_call_sent(call, zoo_adelete(handle, path, -1, zk_on_void, call)));
}

/* The children of the folder that call->path, the begin of a name, stands in. */
static void on_children(int rc, const struct String_vector *strings, const void *data) {
  struct zk_call *call = (struct zk_call *)(uintptr_t)data;
  const char *name = strrchr(call->path, '/') + 1;
  char path[ZK_PATH_MAX];
  for (int i = 0; rc == ZOK && strings && i < strings->count; i++) {
    if (strncmp(strings->data[i], name, strlen(name)) != 0) continue;
    if (snprintf(path, sizeof path, "%.*s%s", (int)(name - call->path), call->path, strings->data[i]) < (int)sizeof path)
      send_delete(call->link->handle, call->link, path);
  }
  zk_on_void(rc, data);
}

static void find_and_delete(zhandle_t *handle, struct zk_link *link, const char *prefix) {
  char dir[ZK_PATH_MAX];
  snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(prefix, '/') - prefix), prefix);
  struct zk_call *sync = zk_call_new(link), *children = zk_call_new(link);
  if (sync) zk_call_sent(sync, zoo_async(handle, dir, zk_on_string, sync));
  if (children) {
    snprintf(children->path, sizeof children->path, "%s", prefix);
    zk_call_sent(children, zoo_aget_children(handle, dir, 0, on_children, children));
  }
  zk_drop(sync);
  zk_drop(children);
}

static bool copy_doomed(struct zk_link *link, size_t index, char ret_prefix[ZK_PATH_MAX]) {
  pthread_mutex_lock(&link->lock);
  bool found = index < link->doomed_count;
  if (found) memcpy(ret_prefix, link->doomed[index], ZK_PATH_MAX);
  pthread_mutex_unlock(&link->lock);
  return found;
}

void zk_link_delete_doomed(struct zk_link *link, zhandle_t *handle) {
  char prefix[ZK_PATH_MAX];
  for (size_t i = 0; copy_doomed(link, i, prefix); i++) {
    if (prefix[strlen(prefix) - 1] == '-') find_and_delete(handle, link, prefix);
    else send_delete(handle, link, prefix);
  }
}

bool zk_link_doomed(struct zk_link *link, char ret_prefix[ZK_PATH_MAX]) { return copy_doomed(link, 0, ret_prefix); }

/* With the lock held: where it stands, or the count. */
static size_t index_of(const struct zk_link *link, const char *prefix) {
  size_t i = 0;
  while (i < link->doomed_count && strcmp(link->doomed[i], prefix) != 0) i++;
  return i;
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
  if (connected) zk_link_delete_doomed(link, link->handle);
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
