/* SPDX-License-Identifier: MIT
 *
 * Prints every node of a ZooKeeper with what stands in it, for a diff of before and after; or makes a node. What
 * belongs to the server itself (/zookeeper) is left out.
 * Usage: zk-tree HOST PORT [PATH TEXT]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/zookeeper/zk.h"
#include "client/env.h"

enum { DEADLINE_S = 10 };

static struct lb_process_env env;
static struct zk_session *session;

static lb_ns in_time(void) { return lb_now(&env.base) + DEADLINE_S * LB_NS_PER_S; }

static int fail(const char *path, int rc) {
  fprintf(stderr, "zk-tree: %s: %s\n", path, zerror(rc));
  exit(1);
}

static void walk(const char *path) {
  struct zk_call *data = zk_get(session, path), *children = zk_children(session, path);
  int rc = zk_wait(session, data, in_time());
  if (rc == ZOK) rc = zk_wait(session, children, in_time());
  if (rc != ZOK) fail(path, rc);
  printf("%s = %s\n", path, data->names);
  const char *name = children->names;
  for (size_t i = 0; i < children->count; i++, name += strlen(name) + 1) {
    char child[300];
    snprintf(child, sizeof child, "%s/%s", path[1] ? path : "", name);
    if (strcmp(child, "/zookeeper") != 0) walk(child);
  }
  zk_drop(data);
  zk_drop(children);
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 5) return fprintf(stderr, "usage: zk-tree HOST PORT [PATH TEXT]\n"), 2;
  struct lb_endpoint at = {.service = "zookeeper", .host = argv[1], .port = (uint16_t)atoi(argv[2])};
  lb_env_init(&env, 7);
  if (zk_open(&env.base, &at, 1, 5000, false, &session) != 0 || zk_connect(session, in_time()) != 0)
    return fprintf(stderr, "zk-tree: %s\n", env.base.err[0] ? env.base.err : "no session in time"), 1;
  if (argc == 5) {
    int rc = zk_run(session, zk_create(session, argv[3], argv[4], 0), in_time());
    if (rc != ZOK) fail(argv[3], rc);
  } else {
    walk("/");
  }
  zk_close(session);
  return 0;
}
