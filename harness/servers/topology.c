/* SPDX-License-Identifier: MIT
 *
 * The one list of topologies, and what is the same for all of them.
 */
#include "topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "skew.h"
#include "topology_util.h"

#define FAILOVER_POLL_MS 10

const struct lb_topology *const lb_topologies[] = {
    &lb_topology_none, &lb_topology_redis, &lb_topology_redis_x3, &lb_topology_redis_x5, &lb_topology_sentinel,
    &lb_topology_zk,   &lb_topology_zk_x3, &lb_topology_pg,       &lb_topology_pg_async, &lb_topology_pg_sync,
    NULL,
};
const size_t lb_topology_count = sizeof lb_topologies / sizeof *lb_topologies - 1;

const struct lb_topology *lb_topology_find(const char *name) {
  for (size_t i = 0; i < lb_topology_count; i++)
    if (strcmp(lb_topologies[i]->name, name) == 0) return lb_topologies[i];
  return NULL;
}

const char *lb_topology_missing(const struct lb_topology *topology) {
  for (const char *const *need = topology->needs; need && *need; need++) {
    char *path = lb_need_path(*need);
    if (!path) return *need;
    free(path);
  }
  return NULL;
}

void lb_cluster_target(struct lb_cluster *cluster, struct lb_target *ret) {
  for (size_t i = 0; i < cluster->server_count; i++) {
    const struct lb_server *server = &cluster->server[i];
    cluster->endpoint[i] =
        (struct lb_endpoint){.service = server->service, .host = server->host->address, .port = server->port};
  }
  *ret = (struct lb_target){
      .topology = cluster->topology->name,
      .endpoints = cluster->endpoint,
      .count = cluster->server_count,
      .sentinel_master = cluster->topology->sentinel_master,
  };
}

void lb_cluster_stop(struct lb_cluster *cluster) {
  for (size_t i = 0; i < cluster->server_count; i++) {
    lb_proc_kill(&cluster->server[i].proc);
    lb_skew_unmap(cluster->server[i].skew);
    cluster->server[i].skew = NULL;
  }
  if (cluster->topology && cluster->topology->clean) cluster->topology->clean(cluster);
  free(cluster->state);
  cluster->state = NULL;
}

/* ---- clocks --------------------------------------------------------------------------------------------------- */

int lb_cluster_skew(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  char path[300];
  int r = lb_server_bring_shim(cluster, server);
  if (r < 0) return r;
  lb_server_page_path(server, path, sizeof path);
  lb_skew_unmap(server->skew);
  server->skew = lb_skew_create(path);
  return server->skew ? 0 : lb_cluster_fail(cluster, -errno, "%s: cannot make its clocks in %s: %m", server->name, path);
}

int lb_cluster_wall_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  const struct lb_topology *topology = cluster->topology;
  if (!topology->wall_ms)
    return lb_fail(cluster->env, -EOPNOTSUPP, "topology %s has no servers that could be asked for their time", topology->name);
  return topology->wall_ms(cluster, index, deadline, ret_ms);
}

int lb_cluster_mono_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  const struct lb_topology *topology = cluster->topology;
  if (!topology->mono_ms)
    return lb_fail(cluster->env, -EOPNOTSUPP, "%s has no command that tells its monotonic clock", cluster->server[index].service);
  return topology->mono_ms(cluster, index, deadline, ret_ms);
}

/* ---- restart -------------------------------------------------------------------------------------------------- */

static int await_answer(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct lb_server *server = &cluster->server[index];
  struct lb_env *env = cluster->env;
  while (cluster->topology->answers(cluster, index, lb_ask_until(env, deadline)) != 0) {
    if (!lb_proc_alive(&server->proc))
      return lb_cluster_fail(cluster, -EIO, "%s ended after its restart", server->name);
    if (lb_now(env) >= deadline)
      return lb_cluster_fail(cluster, -ETIMEDOUT, "%s does not answer after its restart: %s", server->name, env->err);
    lb_sleep_until(env, lb_now(env) + FAILOVER_POLL_MS * LB_NS_PER_MS);
  }
  return 0;
}

int lb_cluster_restart_many(struct lb_cluster *cluster, const size_t index[], size_t count, lb_ns deadline) {
  int r = 0;
  for (size_t i = 0; i < count; i++) lb_proc_kill(&cluster->server[index[i]].proc);
  for (size_t i = 0; i < count && r == 0; i++) r = cluster->topology->launch(cluster, index[i]);
  for (size_t i = 0; i < count && r == 0; i++) r = await_answer(cluster, index[i], deadline);
  return r;
}

int lb_cluster_restart(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return lb_cluster_restart_many(cluster, &index, 1, deadline);
}

/* ---- failover ------------------------------------------------------------------------------------------------- */

/* Independent servers fail over by being many: it is done when a majority of all serves without the old one. */
static bool majority_without(struct lb_cluster *cluster, int old, lb_ns deadline) {
  size_t answering = 0;
  for (size_t i = 0; i < cluster->data_count; i++)
    if ((int)i != old && cluster->topology->answers(cluster, i, lb_ask_until(cluster->env, deadline)) == 0) answering++;
  return answering > cluster->data_count / 2;
}

static bool taken_over(struct lb_cluster *cluster, int old, lb_ns deadline) {
  if (cluster->topology->independent) return majority_without(cluster, old, deadline);
  int now = cluster->topology->primary(cluster, deadline);
  return now >= 0 && now != old;
}

int lb_cluster_failover(struct lb_cluster *cluster, int old, lb_ns deadline) {
  struct lb_env *env = cluster->env;
  if (!cluster->topology->primary)
    return lb_cluster_fail(cluster, -ENOTSUP, "topology %s has no server that could take over",
                           cluster->topology->name);
  if (taken_over(cluster, old, deadline)) return 0;
  if (cluster->topology->promote) {
    int r;
    /* On a busy machine a standby may be slow to answer its first question. */
    while ((r = cluster->topology->promote(cluster, old, deadline)) == -ENOENT && lb_now(env) < deadline)
      lb_sleep_until(env, lb_now(env) + FAILOVER_POLL_MS * LB_NS_PER_MS);
    if (r < 0) return r;
  }
  while (!taken_over(cluster, old, deadline)) {
    if (lb_now(env) >= deadline) return LB_TIMEOUT;
    lb_sleep_until(env, lb_now(env) + FAILOVER_POLL_MS * LB_NS_PER_MS);
  }
  return 0;
}
