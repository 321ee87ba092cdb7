/* SPDX-License-Identifier: MIT
 *
 * The controller of a trial: sets the stage, lets workload.c, timeline.c or campaign.c play on it, ends the clients,
 * judges what the history says, and clears everything away. Whatever happens on the way, the servers are stopped and
 * the outcome is filled in.
 *
 * A series of trials is played on one site, one after the other (site.h). Its servers take longer to become warm than a
 * trial takes to measure, or longer to start than a timeline takes. Nothing else is shared.
 *
 * A failure on the stage is no error of this code: it is a doubt (lb_stage_doubt()), and the trial comes out undecided
 * with that reason. Only what keeps the results from being written is an error.
 */
#include "trial.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "campaign.h"
#include "base/clock.h"
#include "crew.h"
#include "base/process.h"
#include "base/files.h"
#include "client/heartbeat.h"
#include "workload.h"
#include "judge.h"
#include "site.h"
#include "timeline.h"
#include "keep.h"

/* ---- a stage ---------------------------------------------------------------------------------------------------- */

/* For another trial: all that the one before knew is forgotten, but for the site. */
static void set_stage(struct lb_stage *s, const struct lb_trial_plan *plan, bool heats) {
  static struct lb_stage fresh; /* too large for a stack */
  fresh = (struct lb_stage){.plan = plan,
                            .run_dir = s->run_dir,
                            .live = s->live,
                            .site = s->site,
                            .net = s->net,
                            .cluster = s->cluster,
                            .heats = heats,
                            .client_count = (size_t)plan->clients,
                            .primary = -1,
                            .commits = -1,
                            .requests = -1,
                            .verdict = LB_VERDICT_NONE};
  *s = fresh;
  lb_env_init(&s->env, plan->seed);
}

static int log_folder(const struct lb_stage *s, char *path, size_t size) {
  return snprintf(path, size, "%s/logs/%s", s->run_dir, s->plan->name) < (int)size ? 0 : -ENAMETOOLONG;
}

static int make_log_folder(struct lb_stage *s) {
  char path[4000];
  int r = log_folder(s, path, sizeof path);
  if (r == 0) r = lb_files_make_dirs(path);
  return r < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "cannot make the folder of its logs: %s", strerror(-r)) : 0;
}

static int remove_one_empty(const char *path, const struct stat *st, int type, struct FTW *walk) {
  (void)walk;
  if (type == FTW_F && st->st_size == 0) unlink(path);
  if (type == FTW_DP) rmdir(path); /* refused while anything is in it */
  return 0;
}

/* Removes the empty files in a folder, and the folder if nothing is left. */
static void remove_empty(const char *path) { nftw(path, remove_one_empty, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT); }

static void clear_logs(const struct lb_stage *s, bool keep) {
  char path[4000];
  if (log_folder(s, path, sizeof path) < 0) return;
  if (keep) remove_empty(path); /* without servers, and if clients print nothing, there is nothing to keep */
  else lb_files_remove_tree(path);
}

static void clear_stage(struct lb_stage *s) {
  for (size_t i = 0; i < s->client_count; i++) lb_skew_unmap(s->client[i].skew);
  lb_history_clear(&s->history);
  lb_crew_dismiss(s);
}

/* ---- one trial -------------------------------------------------------------------------------------------------- */

static void keep_load(const struct lb_stage *s, struct lb_outcome *out) {
  out->warmup_ns = s->warmup_ns;
  out->heated_ns = s->site.heated_ns;
  out->unsettled = s->unsettled || (s->heats && !s->site.warm);
  out->commits = s->commits;
  out->requests = s->requests;
}

static void play_scenario(struct lb_stage *s, struct lb_outcome *out) {
  lb_stage_permits(s, s->plan->scenario->permits);
  switch (s->plan->scenario->kind) {
    case LB_KIND_TIMELINE: lb_timeline_play(s); break;
    case LB_KIND_CAMPAIGN: lb_campaign_play(s, out); break;
    case LB_KIND_LOAD: lb_workload_play(s); break;
  }
  keep_load(s, out);
}

/* The engine, which starts trials side by side, reads it (run/engine.h). */
static void tell_started(const struct lb_stage *s, bool started) {
  if (s->live) atomic_store(&s->live->started, started);
}

/* Without it a machine that stood still would pass for a lock that is at fault. */
static int start_heartbeat(struct lb_stage *s) {
  s->heartbeat = lb_heartbeat_start(s->memory);
  if (s->heartbeat > 0) return 0;
  return lb_stage_doubt(s, LB_UNDECIDED, "no process can look for stalls of the machine: %s", strerror(errno));
}

static void stop_heartbeat(struct lb_stage *s) {
  if (s->heartbeat > 0 && !lb_heartbeat_stop(s->heartbeat))
    lb_stage_doubt(s, LB_UNDECIDED, "the process that looks for stalls of the machine died by itself");
}

/* The heartbeat runs from before the servers start until the play is over, so that it sees every stall that a client
 * could have had. */
static void play_on_site(struct lb_stage *s, const struct lb_site_needs *needs, struct lb_outcome *out) {
  lb_ns begin = lb_clock_ns();
  tell_started(s, s->site.is_open);
  out->fresh = !s->site.is_open;
  if (start_heartbeat(s) == 0 && make_log_folder(s) == 0 && (s->site.is_open || lb_site_open(s, needs) == 0) &&
      lb_site_enter(s) == 0) {
    out->start_ns = lb_clock_ns() - begin;
    if (lb_crew_start(s) == 0) {
      tell_started(s, true);
      play_scenario(s, out);
      lb_crew_count_heads(s);
    }
  }
  atomic_store(&s->memory->phase, LB_PHASE_STOP);
  stop_heartbeat(s);
}

/* Logs are kept of every trial that somebody will want to understand, or of all if the user says so. */
static bool as_expected(const struct lb_trial_plan *plan, enum lb_verdict verdict) {
  if (plan->expect && (plan->expect->verdict == LB_ANY || plan->expect->verdict == LB_MIXED))
    return verdict != LB_UNDECIDED;
  return verdict == (plan->expect ? plan->expect->verdict : LB_SAFE);
}

/* Takes the fastest client's round trip: the others also waited for a processor. */
static void note_pipe(const struct lb_stage *s, struct lb_outcome *ret) {
  for (size_t i = 0; i < s->client_count; i++) {
    int64_t took = (int64_t)atomic_load(&s->memory->state[i].round_trip);
    if (took > 0 && (ret->pipe_ns < 0 || took < ret->pipe_ns)) ret->pipe_ns = took;
  }
}

/* Whether the servers are there for the next trial, too, as far as that can be said before it is asked of them. */
static bool goes_on(const struct lb_stage *s, const struct lb_trial_plan *plan, const struct lb_trial_plan *then) {
  if (!then || then->fresh) return false;
  return lb_workload_heat_shared(plan, then) || (lb_site_together(plan, then) && lb_site_fits(&s->site, then));
}

/* A trial may have stayed undecided for its servers. They serve one more if they are well (lb_site_go_on()), but not
 * after two such trials. */
static bool is_doubtful(const struct lb_stage *s, const struct lb_outcome *outcome) {
  bool was_there = outcome->start_ns > 0;
  return !was_there || s->heats || s->site.doubted;
}

/* The logs of servers that serve several timelines belong to none of them. */
static int make_shared_logs(struct lb_stage *s) {
  char path[4000];
  if (log_folder(s, path, sizeof path) < 0 ||
      snprintf(s->site.logs, sizeof s->site.logs, "%s.servers", path) >= (int)sizeof s->site.logs)
    return -ENAMETOOLONG;
  return lb_files_make_dirs(s->site.logs);
}

/* Order matters. All clients have ended before anything is judged, so no process writes into the memory any more. The
 * servers stop after that, as nothing asks them any more. Those of a series go on, unless something is wrong with them.
 * The logs are kept or removed last, when the verdict is known. */
static int run_trial(struct lb_stage *s, const struct lb_trial_plan *plan, bool heats, struct lb_outcome *ret) {
  static struct lb_judgement judgement;
  lb_ns begin = lb_clock_ns();
  *ret = (struct lb_outcome){.counters = lb_counters_none()};
  set_stage(s, plan, heats);
  /* Heated servers are shared, too, but built for the load that heats them. */
  bool shared = plan->pool && !heats;
  struct lb_site_needs needs = shared ? plan->pool->needs : lb_site_needs(plan);
  lb_crew_gather(s);
  int r = !s->site.is_open && shared ? make_shared_logs(s) : 0;
  if (r < 0) return r;
  play_on_site(s, &needs, ret);
  ret->stall_ns = atomic_load(&s->memory->max_stall_ns);
  note_pipe(s, ret);
  lb_crew_end(s); /* before anything is judged */
  r = lb_judge(s, &judgement, ret);
  if (r == 0) r = lb_keep(s, &judgement, ret);
  if (r < 0) lb_judge_unwritten(ret, r);
  ret->trial_ns = lb_clock_ns() - begin;
  bool keep = r < 0 || plan->keep_logs || !as_expected(plan, ret->verdict);
  s->site.keep_logs |= keep;
  if (r < 0 || !plan->pool || (ret->verdict == LB_UNDECIDED && is_doubtful(s, ret))) lb_site_close(s);
  s->site.doubted = ret->verdict == LB_UNDECIDED;
  clear_logs(s, keep);
  lb_judgement_clear(&judgement);
  clear_stage(s);
  return r;
}

/* ---- a series --------------------------------------------------------------------------------------------------- */

/* If it fails, the site is closed: each trial then opens its own, and says what is wrong. */
static void heat(struct lb_stage *s, const struct lb_trial_plan *heating, const struct lb_trial_plan *plan) {
  size_t clients = plan->pool ? plan->pool->needs.clients : lb_site_needs(plan).clients;
  set_stage(s, heating, true);
  lb_crew_gather(s);
  struct lb_site_needs needs = lb_site_needs(heating);
  if (clients > needs.clients) needs.clients = clients;
  bool open = make_log_folder(s) == 0 && lb_site_open(s, &needs) == 0 && lb_site_enter(s) == 0;
  if (open) log_folder(s, s->site.logs, sizeof s->site.logs);
  s->site.keep_logs = !open || lb_crew_start(s) < 0 || lb_workload_heat_play(s) < 0;
  if (s->site.keep_logs) lb_site_close(s);
  atomic_store(&s->memory->phase, LB_PHASE_STOP);
  lb_crew_end(s);
  clear_stage(s);
}

int lb_trial_run(const struct lb_trial_plan *plan, const char *run_dir, struct lb_live *live, lb_trial_next *next,
                 lb_trial_told *tell, void *to) {
  static struct lb_stage stage; /* one series per process */
  static struct lb_scenario heats;
  static struct lb_trial_plan heating;
  struct lb_outcome outcome;
  struct lb_error err;
  int r = 0;
  lb_process_forget_environ();
  stage = (struct lb_stage){.run_dir = run_dir, .live = live};
  for (const struct lb_trial_plan *then; plan && r == 0; plan = then) {
    bool heated = lb_workload_heat_plan(plan, &heats, &heating);
    if (heated && !stage.site.is_open) heat(&stage, &heating, plan);
    r = run_trial(&stage, plan, heated, &outcome);
    tell(to, r, &outcome);
    if (stage.site.is_open && !stage.heats && !lb_site_go_on(&stage, &err)) lb_site_close(&stage);
    then = plan->pool && r == 0 ? next(to) : NULL;
    if (stage.site.is_open && !goes_on(&stage, plan, then)) lb_site_close(&stage);
  }
  return r;
}
