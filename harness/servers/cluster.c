/* SPDX-License-Identifier: MIT
 *
 * What is the same for all running topologies: laying one out, restarting servers, waiting for a failover. And servers
 * for callers that only call a protocol.
 */
#include "cluster.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/files.h"
#include "power.h"
#include "server.h"
#include "network/sandbox.h"
#include "preload/skew.h"

static const struct lb_family *family_of(const struct lb_cluster *cluster) { return cluster->topology->family; }

void lb_cluster_init(struct lb_cluster *ret, const struct lb_topology *topology, struct lb_env *env) {
  *ret = (struct lb_cluster){.topology = topology,
                             .env = env,
                             .server_count = topology->data_count + topology->other_count,
                             .data_count = topology->data_count};
  for (size_t i = 0; i < ret->server_count; i++) {
    struct lb_server *server = &ret->server[i];
    server->data = i < ret->data_count;
    server->service = server->data ? topology->family->service : topology->family->other_service;
    snprintf(server->name, sizeof server->name, "%s-%zu", server->service,
             server->data ? i + 1 : i + 1 - ret->data_count);
  }
}

int lb_cluster_start(struct lb_cluster *cluster, lb_ns deadline) {
  return family_of(cluster)->start ? family_of(cluster)->start(cluster, deadline) : 0;
}

/* ---- health -----------------------------------------------------------------------------------
 *
 * A connection that lost packets waits longer and longer before it sends them again, up to two minutes, also when the
 * cut is over. Each is read from /proc/PID/net/tcp of a server: the kernel shows there those of its host, with the
 * number of times that each has sent the same again without an answer. */

/* States and timers of /proc/net/tcp. */
enum { ESTABLISHED = 1, SYN_SENT = 2, SYN_RECV = 3, CLOSE_WAIT = 8 };
enum { TIMER_AGAIN = 1, TIMER_WINDOW = 4 };

static bool is_server(const struct lb_cluster *cluster, unsigned address) {
  for (size_t i = 0; i < cluster->server_count; i++)
    if (inet_addr(cluster->server[i].host->address) == address) return true;
  return false;
}

/* "  1: 0100600A:1F90 0200600A:9C40 01 00000000:00000000 01:00000014 00000003 ...": addresses, state, queues, timer,
 * how often it was sent again. */
static bool is_restless(const struct lb_cluster *cluster, const char *line) {
  unsigned to, state, timer, again;
  if (sscanf(line, " %*u: %*8x:%*x %8x:%*x %x %*x:%*x %x:%*x %x", &to, &state, &timer, &again) != 4 ||
      !is_server(cluster, to))
    return false;
  if (state == SYN_SENT || state == SYN_RECV) return true;
  return (state == ESTABLISHED || state == CLOSE_WAIT) && again > 0 && (timer == TIMER_AGAIN || timer == TIMER_WINDOW);
}

/* Whether no connection of this server to another one (or the beginning of one) waits to send again. Servers on one
 * loopback lose nothing. */
static bool is_at_rest(const struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  char path[64], line[300];
  bool restless = false;
  if (server->host->netns < 0) return true;
  snprintf(path, sizeof path, "/proc/%d/net/tcp", (int)server->proc.pid);
  FILE *in = fopen(path, "re");
  if (!in) return false;
  while (!restless && fgets(line, sizeof line, in)) restless = is_restless(cluster, line);
  fclose(in);
  return !restless;
}

/* Between servers at rest, too: what was cut or late a moment ago would be slow for a while. Looked at behind their
 * answers, which may still have come late. */
static const char *restless(struct lb_cluster *cluster) {
  for (size_t i = 0; i < cluster->server_count; i++)
    if (!is_at_rest(cluster, i)) return cluster->server[i].name;
  return NULL;
}

static int well(struct lb_cluster *cluster, lb_ns deadline) {
  int r = family_of(cluster)->healthy(cluster, deadline);
  const char *who = r == 0 ? restless(cluster) : NULL; /* the kernel walks all its connections to say so */
  return who ? lb_fail(cluster->env, -EAGAIN, "%s still sends again to another server what was lost", who) : r;
}

int lb_cluster_await_health(struct lb_cluster *cluster, lb_ns deadline) {
  if (!family_of(cluster)->healthy)
    return lb_error(&cluster->err, -EOPNOTSUPP, "topology %s cannot be asked whether it is well",
                    cluster->topology->name);
  for (size_t i = 0; i < cluster->server_count; i++)
    if (cluster->server[i].proc.pid <= 0) return lb_error(&cluster->err, -ESRCH, "%s is dead", cluster->server[i].name);
  return lb_cluster_await(cluster, deadline, well, "all servers are well");
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
  if (family_of(cluster)->answers(cluster, index, lb_ask_until(cluster->env, deadline)) == 0) return true;
  return alone && family_of(cluster)->runs &&
         family_of(cluster)->runs(cluster, index, lb_ask_until(cluster->env, deadline)) == 0;
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
    if ((int)i != old && family_of(cluster)->answers(cluster, i, lb_ask_until(cluster->env, deadline)) == 0)
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
  if (family_of(cluster)->promote && cluster->data_count > 1) {
    int r;
    /* On a busy machine a standby may be slow to answer its first question. */
    while ((r = family_of(cluster)->promote(cluster, old, deadline)) == -ENOENT && lb_now(env) < deadline)
      lb_cluster_doze(cluster);
    if (r < 0) return r;
  }
  while (!taken_over(cluster, old, deadline)) {
    if (lb_now(env) >= deadline) return LB_TIMEOUT;
    lb_cluster_doze(cluster);
  }
  return 0;
}

/* ---- servers for callers of a protocol ----------------------------------------------------- */

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
  lb_make_dirs(s->dir);
  if (stand->watch_disk) lb_disk_watch(&stand->cluster, i);
}

/* A mount needs the sandbox's own mount namespace. */
static int prepare_folder(struct lb_stand *stand, struct lb_error *err) {
  snprintf(stand->scratch, sizeof stand->scratch, "%s/servers", stand->folder);
  snprintf(stand->cache, sizeof stand->cache, "%s/cache", stand->folder);
  int r = lb_make_dirs(stand->scratch);
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
  lb_remove_tree(stand->scratch);
}
