/* SPDX-License-Identifier: MIT
 *
 * The servers number the nodes of a folder; the rest of a name is ours.
 */
#include "zk_name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int zk_name_queue(struct lb_env *env, const char *root, const char *key, char dir[ZK_PATH_MAX]) {
  size_t room = ZK_PATH_MAX - sizeof "/0123456789abcdef0123456789abcdef" ZK_READ_MARK "-2147483648";
  return (size_t)snprintf(dir, ZK_PATH_MAX, "%s/%s", root, key) < room
             ? 0
             : lb_fail(env, -ENAMETOOLONG, "a key of %zu characters does not fit into a node's name", strlen(key));
}

void zk_name_guid(struct lb_env *env, struct zk_session *zk, char guid[ZK_GUID_SIZE]) {
  uint64_t random;
  lb_random(env, &random, sizeof random);
  snprintf(guid, ZK_GUID_SIZE, "%016" PRIx64 "%016" PRIx64, (uint64_t)zk_id(zk), random);
}

bool zk_name_is_alive(struct zk_session *zk, const char *guid) {
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

bool zk_name_place(const struct zk_call *children, const char *own, const char **ret_ahead) {
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
