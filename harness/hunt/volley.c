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

static int write_files(const struct lb_hunt_gun *g, const size_t timeline[], size_t count, struct files *ret) {
  char folder[PATH], path[PATH + 40];
  struct lb_hunt_settings settings = g->change ? *g->change : (struct lb_hunt_settings){0};
  settings.no_client_3 |= g->space->switches.no_client_3;
  *ret = (struct files){.path = calloc(count + 1, sizeof *ret->path)};
  snprintf(folder, sizeof folder, "%s/scratch/hunt", g->dir->partial);
  int r = ret->path ? lb_make_dirs(folder) : -ENOMEM;
  for (size_t i = 0; i < count && r == 0; i++) {
    snprintf(path, sizeof path, "%s/t%06zu.ini", folder, timeline[i]);
    r = lb_hunt_write_file(g->space, timeline[i], LB_GUARD_NONE, &settings, "any", path);
    if (r == 0 && !(ret->path[ret->count++] = strdup(path))) r = -ENOMEM;
  }
  return r;
}

/* ---- the outcomes ---------------------------------------------------------------------------------------------------- */

struct shot { /* of a cell: what came of it in this volley */
  unsigned decided, undecided;
};
struct ear { /* what the runner asks and tells */
  struct lb_hunt_gun *gun;
  const struct lb_hunt_volley *volley;
  const struct lb_plan *plan;
  struct shot *shot;  /* by cell */
  size_t done, count; /* trials: for the live line */
};

/* "t000012" is timeline 12. */
static size_t timeline_of(const struct lb_scenario *scenario) { return strtoul(scenario->name + 1, NULL, 10); }

static void tell(const struct ear *ear) {
  if (ear->gun->tick) ear->gun->tick(ear->gun->display, ear->done, ear->count);
}

static void finished(void *to, const struct lb_tally *tally, const struct lb_job_result *result) {
  struct ear *ear = to;
  const struct lb_cell *cell = &tally->plan->cells[result->job->cell];
  struct shot *shot = &ear->shot[result->job->cell];
  enum lb_hunt_came came = lb_hunt_came_of(&result->outcome);
  lb_hunt_book_add(ear->gun->book, timeline_of(cell->scenario), cell->guard, came, result->outcome.why);
  shot->decided += came != LB_HUNT_UNDECIDED;
  shot->undecided += came == LB_HUNT_UNDECIDED;
  ear->done += came != LB_HUNT_UNDECIDED || shot->undecided > (unsigned)ear->volley->again;
  tell(ear);
}

static void tick(void *to, const struct lb_tally *tally, const struct lb_job *const *running, const uint64_t *grants, size_t count) {
  (void)tally, (void)running, (void)grants, (void)count;
  tell(to);
}

/* Until as many are decided as are wanted. One that would not be done in time is not begun: how long it takes is known to about a half. */
static enum lb_wanted wanted(void *to, const struct lb_job *job, size_t running) {
  const struct ear *ear = to;
  struct lb_hunt_gun *g = ear->gun;
  const struct shot *shot = &ear->shot[job->cell];
  if (shot->decided >= (unsigned)ear->volley->repeats) return LB_WANTED_NO_MORE;
  if (shot->decided + running >= (unsigned)ear->volley->repeats) return LB_WANTED_LATER;
  size_t timeline = timeline_of(job->plan.scenario);
  if (shot->undecided > 1 && lb_hunt_is_hopeless(g->book, timeline, job->plan.guard)) return LB_WANTED_NO_MORE;
  if (!g->left_s) return LB_WANTED_NOW;
  double takes_s = 1.5e-3 * (double)lb_hunt_takes_ms(&g->space->system, &g->space->timeline[timeline]);
  bool late = g->left_s(g->clock) < takes_s;
  g->late |= late;
  return late ? LB_WANTED_NO_MORE : LB_WANTED_NOW;
}

/* What cannot be played is no trial, and must not look like one that was safe. One of several guards that means nothing there was not asked. */
static void enter_skipped(struct lb_hunt_gun *g, const struct lb_plan *plan) {
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    if (cell->skip[0] && !(cell->guard != g->book->guard && cell->means_nothing))
      lb_hunt_book_add(g->book, timeline_of(cell->scenario), cell->guard, LB_HUNT_UNDECIDED, cell->skip);
  }
}

/* ---- a volley -------------------------------------------------------------------------------------------------------- */

static int play(struct ear *ear, char *err, size_t err_size) {
  struct lb_tally tally;
  struct lb_progress progress = {.finished = finished, .tick = tick, .wanted = wanted, .display = ear};
  enter_skipped(ear->gun, ear->plan);
  if (ear->plan->job_count == 0) return 0;
  ear->count = ear->plan->job_count / (size_t)(ear->volley->repeats + ear->volley->again) * (size_t)ear->volley->repeats;
  int r = (ear->shot = calloc(ear->plan->cell_count, sizeof *ear->shot)) ? lb_tally_begin(ear->plan, &tally) : -ENOMEM;
  if (r < 0) return free(ear->shot), lb_refuse(err, err_size, "out of memory"), r;
  r = lb_runner_run(&tally, ear->gun->dir, ear->volley->jobs, &progress, err, err_size);
  lb_tally_clear(&tally);
  free(ear->shot);
  return r;
}

static int fire(struct lb_hunt_gun *g, const struct lb_hunt_volley *v, const size_t timeline[], char *err, size_t err_size) {
  struct files files;
  struct lb_plan plan;
  int r = write_files(g, timeline, v->count, &files);
  if (r < 0) return free_files(&files), lb_refuse(err, err_size, "cannot write the timelines: %s", strerror(-r)), r;
  struct lb_plan_request request = {.scenario_paths = (const char *const *)files.path,
                                    .scenario_count = files.count,
                                    .systems = g->space->system.name,
                                    .guards = v->guards,
                                    .trials = v->repeats + v->again,
                                    .settings = g->settings,
                                    .setting_count = g->setting_count,
                                    .reuse = !g->fresh,
                                    .in_order = true,
                                    .seed = lb_rng_fork(g->seed, STREAM_VOLLEY, g->fired++).state};
  r = lb_plan_make(&request, &plan, err, err_size);
  if (r == 0) r = play(&(struct ear){.gun = g, .volley = v, .plan = &plan}, err, err_size), lb_plan_clear(&plan);
  free_files(&files);
  return r;
}

struct timed {
  size_t timeline, place;
  int64_t takes_ms;
};

static int by_time(const void *left, const void *right) {
  const struct timed *a = left, *b = right;
  if (a->takes_ms != b->takes_ms) return a->takes_ms > b->takes_ms ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

/* The longest first; of those that take as long, as they come. */
static int sort(const struct lb_hunt_gun *g, const struct lb_hunt_volley *v, size_t ret[]) {
  struct timed *timed = malloc((v->count + 1) * sizeof *timed);
  if (!timed) return -ENOMEM;
  for (size_t i = 0; i < v->count; i++)
    timed[i] = (struct timed){v->timeline[i], i, v->as_given ? 0 : lb_hunt_takes_ms(&g->space->system, &g->space->timeline[v->timeline[i]])};
  qsort(timed, v->count, sizeof *timed, by_time);
  for (size_t i = 0; i < v->count; i++) ret[i] = timed[i].timeline;
  free(timed);
  return 0;
}

int lb_hunt_fire(struct lb_hunt_gun *gun, const struct lb_hunt_volley *volley, char *err, size_t err_size) {
  if (volley->count == 0) return 0;
  size_t *timeline = malloc(volley->count * sizeof *timeline);
  int r = timeline ? sort(gun, volley, timeline) : -ENOMEM;
  if (r == 0) r = fire(gun, volley, timeline, err, err_size);
  else lb_refuse(err, err_size, "out of memory");
  free(timeline);
  return r;
}
