/* SPDX-License-Identifier: MIT */
#include "stand.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/files.h"
#include "disk.h"
#include "network/sandbox.h"

enum { START_S = 60 };

/* A host, a folder and a log of its own, and three ports. Which of them it uses is up to its
 * family. */
static void place_server(struct lb_stand *stand, size_t i) {
  struct lb_server *s = &stand->cluster.server[i];
  s->host = &stand->net.host[i];
  s->port = lb_net_port(&stand->net);
  s->extra_port[0] = lb_net_port(&stand->net);
  s->extra_port[1] = lb_net_port(&stand->net);
  snprintf(s->dir, sizeof s->dir, "%s/%s", stand->scratch, s->name);
  snprintf(s->log, sizeof s->log, "%s/%s.log", stand->scratch, s->name);
  lb_files_make_dirs(s->dir);
  if (stand->watch_disk) lb_disk_watch(&stand->cluster, i);
}

/* A mount needs the sandbox's own mount namespace. */
static int prepare_folder(struct lb_stand *stand, struct lb_error *err) {
  snprintf(stand->scratch, sizeof stand->scratch, "%s/servers", stand->folder);
  snprintf(stand->cache, sizeof stand->cache, "%s/cache", stand->folder);
  int r = lb_files_make_dirs(stand->scratch);
  if (r == 0 && !stand->on_disk && lb_proc_sandboxed) r = lb_sandbox_mount_memory(stand->scratch);
  if (r < 0) lb_error(err, r, "cannot prepare %s: %s", stand->scratch, strerror(-r));
  return r;
}

int lb_stand_up(struct lb_stand *stand, const struct lb_topology *t, struct lb_env *env, struct lb_error *err) {
  size_t servers = t->data_count + t->other_count;
  int r = prepare_folder(stand, err);
  if (r == 0) r = lb_net_up(&stand->net, false, servers ? servers : 1, err);
  if (r < 0) return r;
  lb_cluster_init(&stand->cluster, t, env);
  stand->cluster.durable = stand->on_disk;
  stand->cluster.measured = stand->measured;
  stand->cluster.ttl_ms = stand->ttl_ms;
  stand->cluster.cache_dir = stand->cache;
  for (size_t i = 0; i < servers; i++) place_server(stand, i);
  if ((r = lb_cluster_start(&stand->cluster, lb_clock_ns() + START_S * LB_NS_PER_S)) != 0) {
    lb_refuse(err, "%s did not start: %s", t->name, stand->cluster.err.text);
    return r < 0 ? r : -ETIMEDOUT;
  }
  lb_cluster_target(&stand->cluster, &stand->target);
  return 0;
}

void lb_stand_down(struct lb_stand *stand) {
  lb_cluster_stop(&stand->cluster);
  lb_net_down(&stand->net);
  lb_files_remove_tree(stand->scratch);
}
