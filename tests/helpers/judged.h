/* SPDX-License-Identifier: MIT
 *
 * judged.h - a trial to be played by hand: a load of a protocol with leases, in a folder of its own. It is judged, and
 * its files are kept, in the order of trial.c.
 */
#ifndef LB_TEST_JUDGED_H
#define LB_TEST_JUDGED_H

#include "base/files.h"
#include "scratch.h"
#include "trial/judge.h"
#include "trial/keep.h"

struct world {
  char dir[100];
  struct lb_protocol protocol;
  struct lb_scenario scenario;
  struct lb_step step;
  struct lb_trial_plan plan;
  struct lb_stage stage;
  struct lb_outcome out;
};

/* NULL: no room for it. */
static inline struct world *world_of(int clients, int trial, int64_t ttl_ms) {
  struct world *w = calloc(1, sizeof *w);
  char path[200];
  if (!w || !scratch_folder(w->dir, sizeof w->dir, "judge")) return NULL;
  for (int parts = 0; parts < 2; parts++) {
    snprintf(path, sizeof path, "%s/%s", w->dir, parts ? "parts" : "histories");
    if (lb_files_make_dirs(path) < 0) return NULL;
  }
  w->protocol = (struct lb_protocol){.name = "p", .traits = LB_TRAIT_LEASED};
  w->scenario =
      (struct lb_scenario){.name = (char *)"s", .ttl_ms = ttl_ms, .keys = 1, .min_handoffs = 1, .steps = &w->step};
  w->plan = (struct lb_trial_plan){.scenario = &w->scenario,
                                   .protocol = &w->protocol,
                                   .system = "p@none",
                                   .guard = LB_GUARD_NONE,
                                   .clients = clients,
                                   .trial = trial};
  snprintf(w->plan.name, sizeof w->plan.name, "s.p@none.none.c%d.t%d", clients, trial);
  w->stage = (struct lb_stage){.plan = &w->plan,
                               .run_dir = w->dir,
                               .client_count = (size_t)clients,
                               .verdict = LB_VERDICT_NONE,
                               .memory = lb_memory_map((size_t)clients, (size_t)clients, 1)};
  w->out = (struct lb_outcome){.verdict = LB_VERDICT_NONE, .requests = -1, .commits = -1};
  return w->stage.memory ? w : NULL;
}

static inline void world_end(struct world *w) {
  lb_history_clear(&w->stage.history);
  lb_memory_unmap(w->stage.memory);
  lb_files_remove_tree(w->dir);
  free(w);
}

/* 0, or -errno with a verdict that says so. */
static inline int judge_and_keep(struct lb_stage *stage, struct lb_outcome *out) {
  struct lb_judgement judgement;
  int r = lb_judge(stage, &judgement, out);
  if (r == 0) r = lb_keep(stage, &judgement, out);
  if (r < 0) lb_judge_unwritten(out, r);
  lb_judgement_clear(&judgement);
  return r;
}

#endif
