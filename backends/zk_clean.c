/* SPDX-License-Identifier: MIT
 *
 * For the hook teardown: removes a node with all that is below it, of whatever session.
 */
#include "zk_util.h"

#include <stdio.h>
#include <string.h>

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
