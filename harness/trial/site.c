/* SPDX-License-Identifier: MIT
 *
 * The place of a trial: hosts, clocks, servers. Whatever cannot be set up is a doubt of the trial that asked for it.
 */
#include "site.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/error.h"
#include "client/holder.h"
#include "network/cut.h"
#include "network/line.h"
#include "network/net.h"
#include "network/relay.h"
#include "network/standin.h"
#include "servers/disk.h"
#include "servers/power.h"
#include "servers/room.h"
#include "network/sandbox.h"
#include "workload.h"

enum { START_S = 60, WELL_MS = 4000 }; /* WELL_MS: who was cut off asks the others again after a second or two */

/* The servers' data goes to the disk or into memory, as the topology and the scenario say; memory can only be mounted
 * in a sandbox, where the mount ends with the trial. */
static int prepare_folder(struct lb_stage *s, const char *scratch) {
  const struct lb_trial_plan *plan = s->plan;
  int r = lb_files_make_dirs(scratch);
  if (r == 0 && !lb_topology_on_disk(plan->topology, plan->scenario->memory_storage) && lb_proc_sandboxed)
    r = lb_sandbox_mount_memory(scratch);
  return r < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "cannot prepare %s: %s", scratch, strerror(-r)) : 0;
}

/* ---- servers that are not ours ---- */

static struct lb_standin standins[LB_RELAY_DOORS_MAX];

/* Where links are to be cut, hosts of the trial stand in for them. */
static bool stands_in(const struct lb_stage *s) { return s->plan->topology->own && s->site.has.network; }

static int leave_network(struct lb_stage *s, size_t servers, const char *scratch, struct lb_error *err) {
  static struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  char path[4100];
  if (servers > LB_RELAY_DOORS_MAX) return lb_error(err, -E2BIG, "at most %d servers", LB_RELAY_DOORS_MAX);
  s->plan->topology->family->target(s->plan->topology->own, endpoint, &target);
  for (size_t i = 0; i < servers; i++)
    standins[i] = (struct lb_standin){.name = endpoint[i].host, .port = endpoint[i].port};
  snprintf(path, sizeof path, "%s/hosts", scratch);
  int relay = lb_standin_leave(standins, servers, path, err);
  if (relay < 0) return relay;
  s->site.relay = relay;
  return 0;
}

/* A host, three ports and a folder for server i. The address stays when the server is restarted, and so does what it
 * left in the folder. */
static int place_server(struct lb_stage *s, size_t i, const char *scratch) {
  struct lb_server *server = &s->cluster.server[i];
  server->host = &s->net.host[i];
  server->port = lb_net_port(&s->net);
  server->extra_port[0] = lb_net_port(&s->net);
  server->extra_port[1] = lb_net_port(&s->net);
  if (stands_in(s)) server->port = standins[i].port, server->host = lb_standin_host(&s->net, standins, i);
  if (server->host == &s->net.host[i]) snprintf(server->host->name, sizeof server->host->name, "%s", server->name);
  int n = snprintf(server->dir, sizeof server->dir, "%s/%s", scratch, server->name);
  int m = s->site.logs[0]
              ? snprintf(server->log, sizeof server->log, "%s/%s.log", s->site.logs, server->name)
              : snprintf(server->log, sizeof server->log, "%s/logs/%s/%s.log", s->run_dir, s->plan->name, server->name);
  if (n >= (int)sizeof server->dir || m >= (int)sizeof server->log)
    return lb_stage_doubt(s, LB_UNDECIDED, "the path of the results folder is too long for the servers' files");
  int r = lb_files_make_dirs(server->dir);
  return r < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "cannot make %s: %s", server->dir, strerror(-r)) : 0;
}

/* The servers keep theirs, each client of a trial has a true one. */
static int give_clocks(struct lb_stage *s) {
  if (!lb_scenario_needs(s->plan->scenario, LB_NEED_CLOCKS)) return 0;
  for (size_t i = 0; i < s->client_count; i++) {
    struct lb_client *client = &s->client[i];
    if (s->plan->protocol && (s->plan->protocol->traits & LB_TRAIT_FOREIGN))
      snprintf(client->skew_file, sizeof client->skew_file, "%s/%s.page", s->site.scratch, client->name);
    if (client->skew_file[0]) unlink(client->skew_file); /* of a trial before */
    if (!(client->skew = lb_skew_create(client->skew_file[0] ? client->skew_file : NULL)))
      return lb_stage_doubt(s, LB_UNDECIDED, "no clock for client %zu: %s", i + 1, strerror(errno));
  }
  return 0;
}

static int for_each_server(struct lb_stage *s, int (*make)(struct lb_cluster *cluster, size_t index),
                           const char *lacks) {
  for (size_t i = 0; i < s->cluster.server_count; i++)
    if (make(&s->cluster, i) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", lacks, s->cluster.err.text);
  return 0;
}

/* Before they start: a disk of their own where one is to be full, a page for a clock that may be set; and what they
 * write is watched where their power is to go. */
static int prepare_servers(struct lb_stage *s) {
  int r = 0;
  if (lb_scenario_needs(s->plan->scenario, LB_NEED_ROOM))
    r = for_each_server(s, lb_room_make, "no disk that could be full");
  if (r == 0 && s->site.has.clocks) r = for_each_server(s, lb_server_skew, "no clocks");
  if (r == 0 && lb_scenario_needs(s->plan->scenario, LB_NEED_SYNCS))
    r = for_each_server(s, lb_power_watch, "what is written cannot be seen");
  if (r == 0 && lb_scenario_needs(s->plan->scenario, LB_NEED_STALL))
    r = for_each_server(s, lb_disk_may_stall, "no disk that may stall");
  return r;
}

/* The longest time by which a step makes packets late; 0 = none does. */
static int64_t latest_ms(const struct lb_scenario *scenario) {
  int64_t latest = 0;
  for (size_t i = 0; i < scenario->step_count; i++) {
    const struct lb_step *step = &scenario->steps[i];
    if (step->verb == LB_STEP_SLOW && step->within_ms + step->jitter_ms > latest)
      latest = step->within_ms + step->jitter_ms;
  }
  return latest;
}

static bool loses_packets(const struct lb_scenario *scenario) {
  for (size_t i = 0; i < scenario->step_count; i++)
    if (scenario->steps[i].loss > 0) return true;
  return false;
}

struct lb_site_needs lb_site_needs(const struct lb_trial_plan *plan) {
  return (struct lb_site_needs){
      .clients = plan->scenario->driver == LB_BY_COROUTINE ? 1 : (size_t)plan->clients,
      .network = lb_scenario_needs(plan->scenario, LB_NEED_NETWORK),
      .clocks = lb_scenario_needs(plan->scenario, LB_NEED_CLOCKS),
      .late_ms = latest_ms(plan->scenario),
      .lossy = loses_packets(plan->scenario),
  };
}

/* Hosts with links of their own only where a step does something to links, for they need a sandbox. */
static int build_network(struct lb_stage *s, const char *scratch) {
  const struct lb_site_needs *has = &s->site.has;
  const struct lb_topology *topology = s->plan->topology;
  struct lb_error err;
  char patience[60] = "";
  size_t servers = topology->data_count + topology->other_count;
  int r = stands_in(s) ? leave_network(s, servers, scratch, &err) : 0;
  if (r == 0) r = lb_net_up(&s->net, has->network, servers + has->clients, &err);
  if (r == 0 && has->late_ms > 0) r = lb_net_be_patient(&s->net, has->late_ms, has->lossy, &err);
  if (r == 0 && has->shared) r = lb_net_no_notes(&s->net, &err);
  if (has->late_ms > 0) lb_net_patience(has->late_ms, has->lossy, patience, sizeof patience);
  if (r == 0 && stands_in(s)) r = lb_standin_place(&s->net, s->site.relay, standins, servers, patience, &err);
  return r < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "no network for the trial: %s", err.text) : 0;
}

static void name_key(struct lb_stage *s) {
  static char key[LB_KEY_NAME_MAX];
  lb_holder_key_name(s->key_prefix, 0, key); /* that of a timeline, and the first of a load */
  s->cluster.key = key;
}

/* The clients' hosts stand behind those of the servers. */
static int open_at(struct lb_stage *s, const char *scratch) {
  const struct lb_trial_plan *plan = s->plan;
  static char cache[4000];
  int r = prepare_folder(s, scratch);
  if (r == 0) r = build_network(s, scratch);
  if (r < 0) return r;
  snprintf(cache, sizeof cache, "%s/scratch/cache", s->run_dir);
  lb_cluster_init(&s->cluster, plan->topology, &s->env.base);
  s->cluster.cache_dir = cache;
  name_key(s);
  s->cluster.ttl_ms = plan->scenario->ttl_ms;
  s->cluster.measured = plan->scenario->kind == LB_KIND_LOAD;
  s->cluster.durable = lb_topology_on_disk(plan->topology, plan->scenario->memory_storage);
  for (size_t i = 0; i < s->cluster.server_count; i++)
    if ((r = place_server(s, i, scratch)) < 0) return r;
  if ((r = prepare_servers(s)) < 0) return r;
  s->cluster.slow = s->live ? &s->live->slow : NULL; /* afterwards a fault may be why a server is silent */
  r = lb_cluster_start(&s->cluster, lb_clock_ns() + START_S * LB_NS_PER_S);
  s->cluster.slow = NULL;
  if (r != 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s did not start: %s", plan->topology->name, s->cluster.err.text);
  return 0;
}

int lb_site_open(struct lb_stage *s, const struct lb_site_needs *needs) {
  s->site.is_open = true;
  s->site.has = *needs;
  if (snprintf(s->site.scratch, sizeof s->site.scratch, "%s/scratch/%s", s->run_dir, s->plan->name) >=
      (int)sizeof s->site.scratch)
    return lb_stage_doubt(s, LB_UNDECIDED, "the path of the results folder is too long for the servers' files");
  return open_at(s, s->site.scratch);
}

int lb_site_enter(struct lb_stage *s) {
  name_key(s);
  lb_cluster_target(&s->cluster, &s->target);
  s->target.shared = s->memory->shared;
  s->target.shared_size = s->memory->shared_size;
  for (size_t i = 0; i < s->client_count; i++) {
    struct lb_host *host = &s->net.host[s->cluster.server_count + i % s->site.has.clients];
    s->client[i].host = host;
    snprintf(host->name, sizeof host->name, "%s", s->client[i].name);
  }
  return give_clocks(s);
}

void lb_site_close(struct lb_stage *s) {
  if (!s->site.is_open) return;
  lb_cluster_stop(&s->cluster);
  lb_cut_forget_all(&s->net);
  lb_line_forget_all(&s->net);
  lb_rules_forget_all(&s->net);
  lb_net_down(&s->net);
  if (s->site.relay > 0) close(s->site.relay);
  lb_files_remove_tree(s->site.scratch);
  if (s->site.logs[0] && !s->site.keep_logs) lb_files_remove_tree(s->site.logs);
  s->site = (struct lb_site){0};
}

/* ---- may the next timeline have the same servers? ----
 *
 * What is asked between two timelines is asked once: the state after the first is the state before the second. What a
 * connection between servers remembers of a cut is waited for, not mended. A server that is dead or stands still at the
 * end is not started again here: fresh servers cost little more than that, and are sure to be good. */

/* A disk that can fill up or stall, or that shows what is synced, is made for a trial that needs one. */
static bool may_share(const struct lb_trial_plan *plan) {
  bool own_disk = lb_scenario_needs(plan->scenario, LB_NEED_ROOM) || lb_scenario_needs(plan->scenario, LB_NEED_SYNCS) ||
                  lb_scenario_needs(plan->scenario, LB_NEED_STALL);
  return plan->scenario->kind == LB_KIND_TIMELINE && !own_disk && !plan->topology->own && plan->topology->family &&
         plan->topology->family->healthy;
}

static bool on_disk(const struct lb_trial_plan *plan) {
  return lb_topology_on_disk(plan->topology, plan->scenario->memory_storage);
}

/* Hosts that are patient are no hosts for a timeline in which nothing is late: they would send again a second later. */
static bool as_patient(const struct lb_site_needs *a, const struct lb_site_needs *b) {
  return a->late_ms == b->late_ms && a->lossy == b->lossy;
}

bool lb_site_together(const struct lb_trial_plan *a, const struct lb_trial_plan *b) {
  struct lb_site_needs of_a = lb_site_needs(a), of_b = lb_site_needs(b);
  return may_share(a) && may_share(b) && a->topology == b->topology && on_disk(a) == on_disk(b) &&
         as_patient(&of_a, &of_b);
}

static struct lb_site_needs both(struct lb_site_needs a, struct lb_site_needs b) {
  a.clients = a.clients > b.clients ? a.clients : b.clients;
  a.shared = true;
  a.network |= b.network;
  a.clocks |= b.clocks;
  return a;
}

struct lb_pool *lb_site_pool_join(struct lb_pool pools[], size_t *count, const struct lb_trial_plan *plan) {
  for (size_t i = 0; i < *count; i++) {
    struct lb_pool *pool = &pools[i];
    if (!lb_site_together(pool->first, plan) && !lb_workload_heat_shared(pool->first, plan)) continue;
    pool->needs = both(pool->needs, lb_site_needs(plan));
    pool->jobs++;
    return pool;
  }
  if (!may_share(plan) && !lb_workload_heat_needed(plan)) return NULL;
  struct lb_site_needs needs = lb_site_needs(plan);
  pools[*count] = (struct lb_pool){plan, both(needs, needs), 1};
  return &pools[(*count)++];
}

bool lb_site_fits(const struct lb_site *site, const struct lb_trial_plan *plan) {
  struct lb_site_needs needs = lb_site_needs(plan);
  const struct lb_site_needs *has = &site->has;
  return needs.clients <= has->clients && needs.network <= has->network && needs.clocks <= has->clocks &&
         as_patient(&needs, has);
}

/* ---- between two trials ---------------------------------------------------------------------------------------- */

static bool leaves_nothing(const struct lb_scenario *scenario, struct lb_error *err) {
  for (size_t i = 0; i < scenario->step_count; i++)
    if (lb_step_outlives(&scenario->steps[i]))
      return lb_refuse(err, "%s: that outlives its undo", scenario->steps[i].text), false;
  return true;
}

/* Only where a fault of links was made since the last time is there anything to look for. */
static bool links_are_whole(struct lb_stage *s, struct lb_error *err) {
  int made = s->net.cuts_made + s->net.lines_made;
  if (made == s->site.rules_gone) return true;
  while (s->net.lines)
    if (lb_line_end(&s->net, s->net.lines, err) < 0) return false;
  if (lb_cut_heal_all(&s->net, err) < 0 || lb_net_no_rules(&s->net, err) < 0) return false;
  s->site.rules_gone = made;
  return true;
}

bool lb_site_go_on(struct lb_stage *s, struct lb_error *err) {
  if (!leaves_nothing(s->plan->scenario, err) || !links_are_whole(s, err)) return false;
  if (lb_cluster_await_health(&s->cluster, lb_in_ms(WELL_MS)) == 0) return true;
  lb_refuse(err, "%s", s->cluster.err.text);
  return false;
}
