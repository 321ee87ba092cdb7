/* SPDX-License-Identifier: MIT
 *
 * What is the same for all running topologies: laying one out, restarting servers, waiting for a failover.
 */
#include "cluster.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "disk.h"

static const struct lb_family *family_of(const struct lb_cluster *cluster) { return cluster->topology->family; }

void lb_cluster_init(struct lb_cluster *ret, const struct lb_topology *topology, struct lb_env *env) {
  *ret = (struct lb_cluster){.topology = topology,
                             .env = env,
                             .server_count = topology->data_count + topology->other_count,
                             .data_count = topology->data_count};
  for (size_t i = 0; i < ret->server_count; i++) {
    struct lb_server *server = &ret->server[i];
    server->data = i < ret->data_count;
    server->origin = topology->origin;
    server->service = server->data ? topology->family->service : topology->family->other_service;
    snprintf(server->name, sizeof server->name, "%s-%zu", server->service,
             server->data ? i + 1 : i + 1 - ret->data_count);
  }
}

int lb_cluster_start(struct lb_cluster *cluster, lb_ns deadline) {
  return family_of(cluster)->start ? family_of(cluster)->start(cluster, deadline) : 0;
}

int lb_cluster_launch_all(struct lb_cluster *cluster) {
  int r = 0;
  for (size_t i = 0; i < cluster->server_count && r == 0; i++) r = cluster->topology->family->launch(cluster, i);
  return r;
}

int lb_cluster_primary(struct lb_cluster *cluster, lb_ns deadline) {
  return family_of(cluster)->primary ? family_of(cluster)->primary(cluster, deadline) : -ENOENT;
}

/* Those whose acknowledgement a client could wait for: masters that do not know each other have
 * none, and where the keys are split each part has its own. */
static size_t replicas(const struct lb_cluster *cluster) {
  size_t shards = cluster->topology->shards > 0 ? cluster->topology->shards : 1;
  return family_of(cluster)->independent || cluster->data_count == 0 ? 0 : cluster->data_count / shards - 1;
}

void lb_cluster_target(struct lb_cluster *cluster, struct lb_target *ret) {
  if (family_of(cluster)->target) return family_of(cluster)->target(cluster->topology->own, cluster->endpoint, ret);
  for (size_t i = 0; i < cluster->server_count; i++) {
    const struct lb_server *server = &cluster->server[i];
    /* A server behind another one is there for the harness to inspect it, under a name that no client looks for. */
    const char *service = !family_of(cluster)->fronted ? server->service
                          : server->data               ? "behind"
                                                       : family_of(cluster)->service;
    cluster->endpoint[i] =
        (struct lb_endpoint){.service = service, .host = server->host->address, .port = server->port};
  }
  *ret = (struct lb_target){
      .topology = cluster->topology->name,
      .endpoints = cluster->endpoint,
      .count = cluster->server_count,
      .sentinel_master = family_of(cluster)->sentinel_master,
      .replicas = replicas(cluster),
      .shards = cluster->topology->shards,
  };
}

const struct lb_endpoint *lb_cluster_endpoint(struct lb_cluster *cluster, size_t index, struct lb_target *ret) {
  lb_cluster_target(cluster, ret);
  return &cluster->endpoint[index];
}

void lb_cluster_stop(struct lb_cluster *cluster) {
  for (size_t i = 0; i < cluster->server_count; i++) {
    lb_proc_kill(&cluster->server[i].proc);
    lb_skew_unmap(cluster->server[i].skew);
    lb_disk_forget(&cluster->server[i]);
    cluster->server[i].skew = NULL;
  }
  if (cluster->topology && family_of(cluster)->clean) family_of(cluster)->clean(cluster);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

int lb_cluster_wall_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  if (!family_of(cluster)->wall_ms)
    return lb_fail(cluster->env, -EOPNOTSUPP, "topology %s has no servers that could be asked for their time",
                   cluster->topology->name);
  return family_of(cluster)->wall_ms(cluster, index, deadline, ret_ms);
}

int lb_cluster_mono_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  if (!family_of(cluster)->mono_ms)
    return lb_fail(cluster->env, -EOPNOTSUPP, "%s has no command that tells its monotonic clock",
                   cluster->server[index].service);
  return family_of(cluster)->mono_ms(cluster, index, deadline, ret_ms);
}

int lb_cluster_left(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  if (!family_of(cluster)->left)
    return lb_fail(cluster->env, -EOPNOTSUPP, "no server of topology %s says that it has left the others",
                   cluster->topology->name);
  return family_of(cluster)->left(cluster, index, deadline);
}

/* ---- what was asked and written --------------------------------------------------------------- */

/* A hook that counts on one server. */
typedef int counts(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret);

static int add(struct lb_cluster *cluster, counts *count, size_t index, lb_ns deadline, uint64_t *sum) {
  uint64_t counted;
  int r = count(cluster, index, deadline, &counted);
  if (r == 0) *sum += counted;
  return r;
}

/* On all data servers, or on the one that decides. */
static int add_up(struct lb_cluster *cluster, counts *count, bool on_all, lb_ns deadline, uint64_t *ret) {
  int r = 0;
  *ret = 0;
  if (!on_all) {
    int primary = lb_cluster_primary(cluster, deadline);
    return primary < 0 ? primary : add(cluster, count, (size_t)primary, deadline, ret);
  }
  for (size_t i = 0; i < cluster->data_count && r == 0; i++) r = add(cluster, count, i, deadline, ret);
  return r;
}

/* Each for itself, or for its part of the keys. */
static bool several_decide(const struct lb_cluster *cluster) {
  return family_of(cluster)->independent || cluster->topology->shards > 0;
}

int lb_cluster_commits(struct lb_cluster *cluster, lb_ns deadline, uint64_t *ret) {
  if (!family_of(cluster)->commits)
    return lb_fail(cluster->env, -EOPNOTSUPP, "topology %s has no servers that count their writes",
                   cluster->topology->name);
  return add_up(cluster, family_of(cluster)->commits, several_decide(cluster), deadline, ret);
}

int lb_cluster_requests(struct lb_cluster *cluster, lb_ns deadline, uint64_t *ret) {
  if (!family_of(cluster)->requests)
    return lb_fail(cluster->env, -EOPNOTSUPP, "topology %s has no servers that count requests",
                   cluster->topology->name);
  return add_up(cluster, family_of(cluster)->requests, several_decide(cluster) || family_of(cluster)->all_serve,
                deadline, ret);
}

int lb_cluster_compiling(struct lb_cluster *cluster, lb_ns *ret) {
  *ret = 0;
  if (!family_of(cluster)->compiling) return -EOPNOTSUPP;
  for (size_t i = 0; i < cluster->data_count; i++) {
    lb_ns spent;
    int r = family_of(cluster)->compiling(cluster, i, &spent);
    if (r < 0) return r;
    *ret += spent;
  }
  return 0;
}

/* ---- restart --------------------------------------------------------------------------------- */

/* It serves, or `alone` it runs: that is all that can be asked of it. */
static bool is_there(struct lb_cluster *cluster, size_t index, bool alone, lb_ns deadline) {
  if (family_of(cluster)->answers(cluster, index, lb_cluster_ask_until(cluster, deadline)) == 0) return true;
  return alone && family_of(cluster)->runs &&
         family_of(cluster)->runs(cluster, index, lb_cluster_ask_until(cluster, deadline)) == 0;
}

/* A server that ends at once is told apart from a slow one: no waiting mends that. */
static int await_answer(struct lb_cluster *cluster, size_t index, bool alone, lb_ns deadline) {
  struct lb_server *server = &cluster->server[index];
  struct lb_env *env = cluster->env;
  while (!is_there(cluster, index, alone, deadline)) {
    if (lb_server_check_alive(cluster, server) < 0) return -EIO;
    if (lb_now(env) >= deadline)
      return lb_error(&cluster->err, -ETIMEDOUT, "%s does not answer after its restart: %s", server->name, env->err);
    lb_cluster_doze(cluster);
  }
  return 0;
}

/* Passes, not one restart after the other: all are dead before the first starts, so none can answer with the help of
 * one that is about to be killed. All have started before the first is asked. */
int lb_cluster_begin_restart(struct lb_cluster *cluster, const size_t index[], size_t count) {
  int r = 0;
  for (size_t i = 0; i < count; i++) lb_proc_kill(&cluster->server[index[i]].proc);
  for (size_t i = 0; i < count && r == 0; i++) r = family_of(cluster)->launch(cluster, index[i]);
  return r;
}

int lb_cluster_await_answers(struct lb_cluster *cluster, const size_t index[], size_t count, lb_ns deadline) {
  int r = 0;
  for (size_t i = 0; i < count && r == 0; i++) r = await_answer(cluster, index[i], false, deadline);
  return r;
}

int lb_cluster_await_alone(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return await_answer(cluster, index, true, deadline);
}

int lb_cluster_restart_many(struct lb_cluster *cluster, const size_t index[], size_t count, lb_ns deadline) {
  int r = lb_cluster_begin_restart(cluster, index, count);
  return r == 0 ? lb_cluster_await_answers(cluster, index, count, deadline) : r;
}

/* ---- failover -------------------------------------------------------------------------------- */

/* Independent servers fail over by being many: it is done when a majority of all serves without the
 * old one. */
static bool majority_without(struct lb_cluster *cluster, int old, lb_ns deadline) {
  size_t answering = 0;
  for (size_t i = 0; i < cluster->data_count; i++)
    if ((int)i != old && family_of(cluster)->answers(cluster, i, lb_cluster_ask_until(cluster, deadline)) == 0)
      answering++;
  return answering > cluster->data_count / 2;
}

static bool taken_over(struct lb_cluster *cluster, int old, lb_ns deadline) {
  if (family_of(cluster)->independent) return majority_without(cluster, old, deadline);
  int now = family_of(cluster)->primary(cluster, deadline);
  return now >= 0 && now != old;
}

/* Whether it has happened is asked first: a system that fails over by itself may have done so
 * before the step came, and a promotion then would be a second one. */
int lb_cluster_failover(struct lb_cluster *cluster, int old, lb_ns deadline) {
  struct lb_env *env = cluster->env;
  if (!family_of(cluster)->primary)
    return lb_error(&cluster->err, -ENOTSUP, "topology %s has no server that could take over", cluster->topology->name);
  if (taken_over(cluster, old, deadline)) return 0;
  if (family_of(cluster)->orders.promote && cluster->data_count > 1) {
    int r;
    /* On a busy machine a standby may be slow to answer its first question. */
    while ((r = family_of(cluster)->orders.promote(cluster, old, deadline)) == -ENOENT && lb_now(env) < deadline)
      lb_cluster_doze(cluster);
    if (r < 0) return r;
  }
  while (!taken_over(cluster, old, deadline)) {
    if (lb_now(env) >= deadline) return LB_TIMEOUT;
    lb_cluster_doze(cluster);
  }
  return 0;
}
