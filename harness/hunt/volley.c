/* SPDX-License-Identifier: MIT
 *
 * A volley is an ordinary run, so a timeline of a hunt is judged as every other trial is, and its file replays what was played. The folder of the run
 * is scratch: what is kept of a hunt is its book, and the files of the sets it found.
 */
#include "volley.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/rng.h"
#include "base/refuse.h"
#include "run/plan.h"

enum { PATH = 3200, STREAM_VOLLEY = 31 };

int lb_hunt_write_file(const struct lb_hunt_space *space, size_t timeline, enum lb_guard guard, const struct lb_hunt_settings *settings,
                       const char *expected, const char *path) {
  FILE *file = fopen(path, "we");
  if (!file) return -errno;
  int r = lb_hunt_write(&space->timeline[timeline], &space->system, guard, settings, expected, file);
  return fclose(file) != 0 && r == 0 ? -EIO : r;
}

/* ---- the files ------------------------------------------------------------------------------------------------------- */

struct files {
  char **path;
  size_t count;
};

static void free_files(struct files *files) {
  for (size_t i = 0; i < files->count; i++) free(files->path[i]);
  free(files->path);
}

static int write_files(const struct lb_hunt_gun *g, const size_t timeline[], size_t count, enum lb_guard guard, struct files *ret) {
  char folder[PATH], path[PATH + 40];
  struct lb_hunt_settings settings = g->change ? *g->change : (struct lb_hunt_settings){0};
  settings.no_client_3 |= g->space->switches.no_client_3;
  *ret = (struct files){.path = calloc(count + 1, sizeof *ret->path)};
  snprintf(folder, sizeof folder, "%s/scratch/hunt", g->dir->partial);
  int r = ret->path ? lb_make_dirs(folder) : -ENOMEM;
  for (size_t i = 0; i < count && r == 0; i++) {
    snprintf(path, sizeof path, "%s/t%06zu.ini", folder, timeline[i]);
    r = lb_hunt_write_file(g->space, timeline[i], guard, &settings, "any", path);
    if (r == 0 && !(ret->path[ret->count++] = strdup(path))) r = -ENOMEM;
  }
  return r;
}

/* ---- the outcomes ---------------------------------------------------------------------------------------------------- */

struct ear { /* what the runner tells */
  struct lb_hunt_gun *gun;
  enum lb_guard guard;
};

/* "t000012" is timeline 12. */
static size_t timeline_of(const struct lb_scenario *scenario) { return strtoul(scenario->name + 1, NULL, 10); }

static void finished(void *to, const struct lb_tally *tally, const struct lb_job_result *result) {
  struct ear *ear = to;
  const struct lb_cell *cell = &tally->plan->cells[result->job->cell];
  lb_hunt_book_add(ear->gun->book, timeline_of(cell->scenario), ear->guard, lb_hunt_came_of(&result->outcome), result->outcome.why);
  if (ear->gun->tick) ear->gun->tick(ear->gun->display, tally->done, tally->plan->job_count);
}

static void tick(void *to, const struct lb_tally *tally, const struct lb_job *const *running, const uint64_t *grants, size_t count) {
  struct ear *ear = to;
  (void)running, (void)grants, (void)count;
  if (ear->gun->tick) ear->gun->tick(ear->gun->display, tally->done, tally->plan->job_count);
}

/* What cannot be played is no trial, and must not look like one that was safe. One of several guards that means nothing there was not asked. */
static void enter_skipped(struct lb_hunt_gun *g, const struct lb_plan *plan, enum lb_guard guard) {
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].skip[0] && !(guard != g->book->guard && plan->cells[i].means_nothing))
      lb_hunt_book_add(g->book, timeline_of(plan->cells[i].scenario), guard, LB_HUNT_UNDECIDED, plan->cells[i].skip);
}

/* ---- a volley -------------------------------------------------------------------------------------------------------- */

static int play(struct lb_hunt_gun *g, const struct lb_plan *plan, enum lb_guard guard, int jobs, char *err, size_t err_size) {
  struct lb_tally tally;
  struct ear ear = {g, guard};
  struct lb_progress progress = {.finished = finished, .tick = tick, .display = &ear};
  enter_skipped(g, plan, guard);
  if (plan->job_count == 0) return 0;
  int r = lb_tally_begin(plan, &tally);
  if (r < 0) return lb_refuse(err, err_size, "out of memory"), r;
  r = lb_runner_run(&tally, g->dir, jobs, &progress, err, err_size);
  lb_tally_clear(&tally);
  return r;
}

int lb_hunt_fire(struct lb_hunt_gun *g, const size_t timeline[], size_t count, enum lb_guard guard, int repeats, int jobs, char *err, size_t err_size) {
  struct files files;
  struct lb_plan plan;
  if (count == 0) return 0;
  int r = write_files(g, timeline, count, guard, &files);
  if (r < 0) return free_files(&files), lb_refuse(err, err_size, "cannot write the timelines: %s", strerror(-r)), r;
  struct lb_plan_request request = {.scenario_paths = (const char *const *)files.path,
                                    .scenario_count = files.count,
                                    .systems = g->space->system.name,
                                    .guard = lb_guard_name(guard),
                                    .trials = repeats,
                                    .settings = g->settings,
                                    .setting_count = g->setting_count,
                                    .reuse = !g->fresh,
                                    .seed = lb_rng_fork(g->seed, STREAM_VOLLEY, g->fired++).state};
  r = lb_plan_make(&request, &plan, err, err_size);
  if (r == 0) r = play(g, &plan, guard, jobs, err, err_size), lb_plan_clear(&plan);
  free_files(&files);
  return r;
}
