/* SPDX-License-Identifier: MIT
 *
 * The controller of one trial: sets the stage, lets workload.c, timeline.c or campaign.c play on
 * it, ends the clients, judges what the history says, and clears everything away. Whatever happens
 * on the way, the servers are stopped and the outcome is filled in.
 *
 * A failure on the stage is no error of this code: it is a doubt (lb_stage_doubt()), and the trial
 * comes out undecided with that reason. Only what keeps the results from being written is an error.
 */
#include "trial.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "campaign.h"
#include "base/clock.h"
#include "crew.h"
#include "base/environ.h"
#include "base/files.h"
#include "client/heartbeat.h"
#include "judge.h"
#include "keep.h"
#include "servers/sandbox.h"
#include "servers/patience.h"
#include "stage.h"
#include "timeline.h"
#include "workload.h"

enum { START_S = 60 };

/* ---- setting the stage ------------------------------------------------------------------------------------------ */

/* The servers' data goes to the disk or into memory, as the topology and the scenario say; memory
 * can only be mounted in a sandbox, where the mount ends with the trial. */
static int prepare_folders(struct lb_stage *s, const char *scratch) {
  const struct lb_trial_plan *plan = s->plan;
  char logs[4000];
  int r = lb_make_dirs(scratch);
  if (r == 0 && !lb_topology_on_disk(plan->topology, plan->scenario->memory_storage) && lb_proc_sandboxed) r = lb_sandbox_mount_memory(scratch);
  if (r < 0) return lb_stage_doubt(s, LB_UNDECIDED, "cannot prepare %s: %s", scratch, strerror(-r));
  snprintf(logs, sizeof logs, "%s/logs/%s", s->run_dir, plan->name);
  if ((r = lb_make_dirs(logs)) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "cannot make %s: %s", logs, strerror(-r));
  return 0;
}

/* A host, three ports and a folder for server i. The address stays when the server is restarted,
 * and so does what it left in the folder. */
static int place_server(struct lb_stage *s, size_t i, const char *scratch) {
  struct lb_server *server = &s->cluster.server[i];
  server->host = &s->net.host[i];
  server->port = lb_net_port(&s->net);
  server->extra_port[0] = lb_net_port(&s->net);
  server->extra_port[1] = lb_net_port(&s->net);
  snprintf(server->host->name, sizeof server->host->name, "%s", server->name);
  int n = snprintf(server->dir, sizeof server->dir, "%s/%s", scratch, server->name);
  int m = snprintf(server->log, sizeof server->log, "%s/logs/%s/%s.log", s->run_dir, s->plan->name, server->name);
  if (n >= (int)sizeof server->dir || m >= (int)sizeof server->log)
    return lb_stage_doubt(s, LB_UNDECIDED, "the path of the results folder is too long for the servers' files");
  int r = lb_make_dirs(server->dir);
  return r < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "cannot make %s: %s", server->dir, strerror(-r)) : 0;
}

static void place_client(struct lb_client *client, struct lb_host *host) {
  client->host = host;
  snprintf(host->name, sizeof host->name, "%s", client->name);
}

/* A page per host whose clock may be set. */
static int prepare_clocks(struct lb_stage *s) {
  if (!lb_scenario_needs(s->plan->scenario, LB_NEED_CLOCKS)) return 0;
  for (size_t i = 0; i < s->cluster.server_count; i++)
    if (lb_cluster_skew(&s->cluster, i) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "no clocks: %s", s->cluster.err);
  for (size_t i = 0; i < s->client_count; i++)
    if (!(s->client[i].skew = lb_skew_create(NULL)))
      return lb_stage_doubt(s, LB_UNDECIDED, "no clock for client %zu: %s", i + 1, strerror(errno));
  return 0;
}

/* The longest time by which a step makes packets late; 0 = none does. */
static int64_t latest_ms(const struct lb_scenario *scenario) {
  int64_t latest = 0;
  for (size_t i = 0; i < scenario->step_count; i++) {
    const struct lb_step *step = &scenario->steps[i];
    if (step->verb == LB_STEP_SLOW && step->within_ms > latest) latest = step->within_ms;
  }
  return latest;
}

/* Hosts with links of their own only where a step does something to links, for they need a sandbox. */
static int build_network(struct lb_stage *s, size_t hosts) {
  const struct lb_scenario *scenario = s->plan->scenario;
  int64_t late_ms = latest_ms(scenario);
  char err[200];
  int r = lb_net_up(&s->net, lb_scenario_needs(scenario, LB_NEED_NETWORK), hosts, err, sizeof err);
  if (r == 0 && late_ms > 0) r = lb_net_be_patient(&s->net, late_ms, err, sizeof err);
  return r < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "no network for the trial: %s", err) : 0;
}

/* Network, clocks, servers, and then what clients are told of them. The clients' hosts stand behind
 * those of the servers. */
static int start_servers(struct lb_stage *s, const char *scratch) {
  const struct lb_trial_plan *plan = s->plan;
  static char cache[4000];
  size_t servers = plan->topology->data_count + plan->topology->other_count;
  int r = build_network(s, servers + s->client_count);
  if (r < 0) return r;
  snprintf(cache, sizeof cache, "%s/scratch/cache", s->run_dir);
  lb_cluster_init(&s->cluster, plan->topology, &s->env.base);
  s->cluster.cache_dir = cache;
  s->cluster.ttl_ms = plan->scenario->ttl_ms;
  s->cluster.measured = plan->scenario->kind == LB_KIND_LOAD;
  s->cluster.durable = lb_topology_on_disk(plan->topology, plan->scenario->memory_storage);
  for (size_t i = 0; i < servers; i++)
    if ((r = place_server(s, i, scratch)) < 0) return r;
  if ((r = prepare_clocks(s)) < 0) return r;
  if ((r = lb_cluster_start(&s->cluster, lb_clock_ns() + START_S * LB_NS_PER_S)) != 0)
    return lb_stage_doubt(s, LB_UNDECIDED, "%s did not start: %s", plan->topology->name, s->cluster.err);
  lb_cluster_target(&s->cluster, &s->target);
  s->target.shared = s->memory->shared;
  s->target.shared_size = s->memory->shared_size;
  for (size_t i = 0; i < s->client_count; i++) place_client(&s->client[i], &s->net.host[servers + i]);
  return 0;
}

static void keep_load(const struct lb_stage *s, struct lb_outcome *out) {
  out->warmup_ns = s->warmup_ns;
  out->unsettled = s->unsettled;
  out->commits = s->commits;
}

static void play_scenario(struct lb_stage *s, struct lb_outcome *out) {
  switch (s->plan->scenario->kind) {
    case LB_KIND_TIMELINE: lb_timeline_play(s); break;
    case LB_KIND_CAMPAIGN: lb_campaign_play(s, out); break;
    case LB_KIND_LOAD: lb_workload_play(s); break;
  }
  keep_load(s, out);
}

/* The heartbeat runs from before the servers start until nobody plays any more, so that it sees
 * every stall that a client could have had. */
static void play(struct lb_stage *s, const char *scratch, struct lb_outcome *out) {
  lb_ns begin = lb_clock_ns();
  s->heartbeat = lb_heartbeat_start(s->memory);
  if (prepare_folders(s, scratch) == 0 && start_servers(s, scratch) == 0) {
    out->start_ns = lb_clock_ns() - begin;
    if (lb_crew_start(s) == 0) {
      play_scenario(s, out);
      lb_crew_count_heads(s);
    }
  }
  atomic_store(&s->memory->phase, LB_PHASE_STOP);
  lb_heartbeat_stop(s->heartbeat);
}

static void clear(struct lb_stage *s, const char *scratch) {
  lb_cluster_stop(&s->cluster);
  for (size_t i = 0; i < s->client_count; i++) lb_skew_unmap(s->client[i].skew);
  lb_net_down(&s->net);
  lb_remove_tree(scratch);
}

/* Logs are kept of every trial that somebody will want to understand, or of all if the user says so. */
static bool as_expected(const struct lb_trial_plan *plan, enum lb_verdict verdict) {
  if (plan->expect && (plan->expect->verdict == LB_ANY || plan->expect->verdict == LB_MIXED)) return verdict != LB_UNDECIDED;
  return verdict == (plan->expect ? plan->expect->verdict : LB_SAFE);
}

/* Order matters. All clients have ended before anything is judged, so nobody writes into the memory
 * any more. The servers stop after that, for nothing asks them any more. The logs go last, when the
 * verdict is known. */
int lb_trial_run(const struct lb_trial_plan *plan, const char *run_dir, struct lb_live *live, struct lb_outcome *ret) {
  static struct lb_stage stage; /* one trial per process */
  static struct lb_judgement judgement;
  char scratch[4000];
  lb_ns begin = lb_clock_ns();
  lb_environ_forget();
  *ret = (struct lb_outcome){.counters = lb_counters_none()};
  stage = (struct lb_stage){.plan = plan,
                            .run_dir = run_dir,
                            .live = live,
                            .client_count = (size_t)plan->clients,
                            .primary = -1,
                            .commits = -1,
                            .verdict = LB_VERDICT_NONE};
  lb_env_init(&stage.env, plan->seed);
  if (snprintf(scratch, sizeof scratch, "%s/scratch/%s", run_dir, plan->name) >= (int)sizeof scratch)
    return -ENAMETOOLONG;
  int r = lb_crew_gather(&stage);
  if (r < 0) return r;
  play(&stage, scratch, ret);
  ret->stall_ns = atomic_load(&stage.memory->max_stall_ns);
  lb_crew_end(&stage); /* before anything is judged */
  r = lb_judge(&stage, &judgement, ret);
  if (r == 0) r = lb_keep(&stage, &judgement, ret);
  if (r < 0) lb_judge_unwritten(ret, r);
  ret->trial_ns = lb_clock_ns() - begin;
  clear(&stage, scratch);
  snprintf(scratch, sizeof scratch, "%s/logs/%s", run_dir, plan->name);
  if (r == 0 && !plan->keep_logs && as_expected(plan, ret->verdict)) lb_remove_tree(scratch);
  else lb_remove_empty(scratch); /* without servers, and if clients print nothing, there is nothing to keep */
  lb_judgement_clear(&judgement);
  lb_history_clear(&stage.history);
  lb_crew_dismiss(&stage);
  return r;
}
