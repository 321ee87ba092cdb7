/* SPDX-License-Identifier: MIT
 *
 * A batch is an ordinary run, so a timeline of a hunt is judged as every other trial is, and its file replays what was
 * played. The folder of the run is scratch: what is kept of a hunt is its journal, and the files of the sets it found.
 */
#include "batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/rng.h"
#include "base/refuse.h"
#include "run/plan.h"

enum { PATH = 3200, STREAM_BATCH = 31 };

int lb_hunt_write_file(const struct lb_hunt_space *space, size_t timeline, enum lb_guard guard,
                       const struct lb_hunt_settings *settings, const char *expected, const char *path) {
  FILE *file = fopen(path, "we");
  if (!file) return -errno;
  int r = lb_hunt_write(&space->timeline[timeline], &space->system, guard, settings, expected, file);
  return fclose(file) != 0 && r == 0 ? -EIO : r;
}

/* ---- the files --------------------------------------------------------------------------------------------------- */

struct files {
  char **path;
  size_t count;
};

static void free_files(struct files *files) {
  for (size_t i = 0; i < files->count; i++) free(files->path[i]);
  free(files->path);
}

struct timed { /* a timeline of a batch */
  size_t timeline, batch, place;
  int64_t takes_ms;
};

static int write_files(const struct lb_hunt_batches *g, const struct timed timed[], size_t count, struct files *ret) {
  char folder[PATH], path[PATH + 60];
  struct lb_hunt_settings settings = g->change ? *g->change : (struct lb_hunt_settings){0};
  settings.no_client_3 |= g->space->switches.no_client_3;
  *ret = (struct files){.path = calloc(count + 1, sizeof *ret->path)};
  snprintf(folder, sizeof folder, "%s/scratch/hunt", g->dir->partial);
  int r = ret->path ? lb_make_dirs(folder) : -ENOMEM;
  for (size_t i = 0; i < count && r == 0; i++) {
    snprintf(path, sizeof path, "%s/t%06zu-%zu.ini", folder, timed[i].timeline, timed[i].batch);
    r = lb_hunt_write_file(g->space, timed[i].timeline, LB_GUARD_NONE, &settings, "race", path);
    if (r == 0 && !(ret->path[ret->count++] = strdup(path))) r = -ENOMEM;
  }
  return r;
}

/* ---- the outcomes ------------------------------------------------------------------------------------------------ */

struct seen { /* of a cell: what came of it in this batch */
  unsigned decided, undecided;
};
struct ear { /* what the runner asks and tells */
  struct lb_hunt_batches *batches;
  const struct lb_hunt_batch *batch; /* all that are played together */
  const struct lb_plan *plan;
  struct seen *seen_of; /* by cell */
  size_t done, count;   /* trials: for the live line */
};

/* "t000012-3" is timeline 12 of batch 3. */
static size_t timeline_of(const struct lb_scenario *scenario) { return strtoul(scenario->name + 1, NULL, 10); }
static const struct lb_hunt_batch *batch_of(const struct ear *ear, const struct lb_scenario *scenario) {
  return &ear->batch[strtoul(strchr(scenario->name, '-') + 1, NULL, 10)];
}
static struct lb_hunt_journal *journal_of(const struct ear *ear, const struct lb_hunt_batch *batch) {
  return batch->journal ? batch->journal : ear->batches->journal;
}
/* The plan has every guard and number of trials that one of the batches wants. */
static bool is_asked(const struct lb_hunt_batch *batch, enum lb_guard guard) { return batch->guards >> guard & 1; }

static void tell(const struct ear *ear) {
  if (ear->batches->tick) ear->batches->tick(ear->batches->display, ear->done, ear->count);
}

static void finished(void *to, const struct lb_tally *tally, const struct lb_job_result *result) {
  struct ear *ear = to;
  const struct lb_cell *cell = &tally->plan->cells[result->job->cell];
  struct seen *seen_of = &ear->seen_of[result->job->cell];
  const struct lb_hunt_batch *batch = batch_of(ear, cell->scenario);
  enum lb_hunt_outcome outcome = lb_hunt_outcome_of(&result->outcome);
  lb_hunt_journal_add(journal_of(ear, batch), timeline_of(cell->scenario), cell->guard, outcome, result->outcome.why);
  if (ear->batches->trial)
    ear->batches->trial(ear->batches->display, timeline_of(cell->scenario), cell->guard, &result->outcome);
  seen_of->decided += outcome != LB_HUNT_UNDECIDED;
  seen_of->undecided += outcome == LB_HUNT_UNDECIDED;
  ear->done += outcome != LB_HUNT_UNDECIDED || seen_of->undecided > (unsigned)batch->again;
  tell(ear);
}

static void tick(void *to, const struct lb_tally *tally, const struct lb_job *const *running, const uint64_t *grants,
                 size_t count) {
  (void)tally, (void)running, (void)grants, (void)count;
  tell(to);
}

/* Until as many are decided as are wanted. One that would not be done in time is not begun: how long it takes is known
 * to about a half. */
static enum lb_wanted wanted(void *to, const struct lb_job *job, size_t running) {
  const struct ear *ear = to;
  struct lb_hunt_batches *g = ear->batches;
  const struct seen *seen_of = &ear->seen_of[job->cell];
  const struct lb_hunt_batch *batch = batch_of(ear, job->plan.scenario);
  if (!is_asked(batch, job->plan.guard) || job->plan.trial > batch->repeats + batch->again) return LB_WANTED_NO_MORE;
  if (seen_of->decided >= (unsigned)batch->repeats) return LB_WANTED_NO_MORE;
  if (seen_of->decided + running >= (unsigned)batch->repeats) return LB_WANTED_LATER;
  size_t timeline = timeline_of(job->plan.scenario);
  if (seen_of->undecided > 1 && lb_hunt_is_hopeless(journal_of(ear, batch), timeline, job->plan.guard))
    return LB_WANTED_NO_MORE;
  if (!g->left_s) return LB_WANTED_NOW;
  double takes_s = 1.5e-3 * (double)lb_hunt_takes_ms(&g->space->system, &g->space->timeline[timeline]);
  bool late = g->left_s(g->clock) < takes_s;
  g->late |= late;
  return late ? LB_WANTED_NO_MORE : LB_WANTED_NOW;
}

/* What cannot be played is no trial, and must not look like one that was safe. One of several guards that means nothing
 * there was not asked. */
static void enter_skipped(const struct ear *ear) {
  for (size_t i = 0; i < ear->plan->cell_count; i++) {
    const struct lb_cell *cell = &ear->plan->cells[i];
    const struct lb_hunt_batch *batch = batch_of(ear, cell->scenario);
    struct lb_hunt_journal *journal = journal_of(ear, batch);
    if (cell->skip[0] && is_asked(batch, cell->guard) && !(cell->guard != journal->guard && cell->means_nothing))
      lb_hunt_journal_add(journal, timeline_of(cell->scenario), cell->guard, LB_HUNT_UNDECIDED, cell->skip);
  }
}

/* ---- a batch ----------------------------------------------------------------------------------------------------- */

static size_t count_wanted(const struct ear *ear) {
  size_t count = 0;
  for (size_t i = 0; i < ear->plan->cell_count; i++) {
    const struct lb_cell *cell = &ear->plan->cells[i];
    const struct lb_hunt_batch *batch = batch_of(ear, cell->scenario);
    if (!cell->skip[0] && is_asked(batch, cell->guard)) count += (size_t)batch->repeats;
  }
  return count;
}

static int play(struct ear *ear, char *err, size_t err_size) {
  struct lb_tally tally;
  struct lb_progress progress = {.finished = finished, .tick = tick, .wanted = wanted, .display = ear};
  enter_skipped(ear);
  if ((ear->count = count_wanted(ear)) == 0) return 0;
  int r = (ear->seen_of = calloc(ear->plan->cell_count, sizeof *ear->seen_of)) ? lb_tally_begin(ear->plan, &tally)
                                                                               : -ENOMEM;
  if (r < 0) return free(ear->seen_of), lb_refuse(err, err_size, "out of memory"), r;
  r = lb_runner_run(&tally, ear->batches->dir, ear->batch->jobs, &progress, err, err_size);
  lb_tally_clear(&tally);
  free(ear->seen_of);
  return r;
}

static int play_all_of(struct lb_hunt_batches *g, const struct lb_hunt_batch v[], size_t batch_count,
                       const struct timed timed[], size_t count, char *err, size_t err_size) {
  struct files files;
  struct lb_plan plan;
  int r = write_files(g, timed, count, &files);
  if (r < 0) return free_files(&files), lb_refuse(err, err_size, "cannot write the timelines: %s", strerror(-r)), r;
  struct lb_plan_request request = {.scenario_paths = (const char *const *)files.path,
                                    .scenario_count = files.count,
                                    .systems = g->space->system.name,
                                    .settings = g->settings,
                                    .setting_count = g->setting_count,
                                    .reuse = !g->fresh,
                                    .in_order = true,
                                    .seed = lb_rng_fork(g->seed, STREAM_BATCH, g->played++).state};
  for (size_t i = 0; i < batch_count; i++) {
    request.guards |= v[i].guards;
    if (v[i].repeats + v[i].again > request.trials) request.trials = v[i].repeats + v[i].again;
  }
  r = lb_plan_make(&request, &plan, err, err_size);
  struct ear ear = {.batches = g, .batch = v, .plan = &plan};
  for (size_t i = 0; i < plan.job_count && r == 0; i++)
    plan.jobs[i].plan.fresh = batch_of(&ear, plan.jobs[i].plan.scenario)->fresh;
  if (r == 0) r = play(&ear, err, err_size), lb_plan_clear(&plan);
  free_files(&files);
  return r;
}

static int by_time(const void *left, const void *right) {
  const struct timed *a = left, *b = right;
  if (a->takes_ms != b->takes_ms) return a->takes_ms > b->takes_ms ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

/* The longest first; of those that take as long, as they come. */
static size_t sort(const struct lb_hunt_batches *g, const struct lb_hunt_batch v[], size_t batch_count,
                   struct timed ret[]) {
  size_t count = 0;
  for (size_t n = 0; n < batch_count; n++)
    for (size_t i = 0; i < v[n].count; i++, count++)
      ret[count] =
          (struct timed){v[n].timeline[i], n, count,
                         v->as_given ? 0 : lb_hunt_takes_ms(&g->space->system, &g->space->timeline[v[n].timeline[i]])};
  qsort(ret, count, sizeof *ret, by_time);
  return count;
}

int lb_hunt_play_batches(struct lb_hunt_batches *batches, const struct lb_hunt_batch batch[], size_t count, char *err,
                         size_t err_size) {
  size_t room = 0;
  for (size_t i = 0; i < count; i++) room += batch[i].count;
  if (room == 0) return 0;
  struct timed *timed = malloc(room * sizeof *timed);
  if (!timed) return lb_refuse(err, err_size, "out of memory"), -ENOMEM;
  int r = play_all_of(batches, batch, count, timed, sort(batches, batch, count, timed), err, err_size);
  free(timed);
  return r;
}

int lb_hunt_play_batch(struct lb_hunt_batches *batches, const struct lb_hunt_batch *batch, char *err, size_t err_size) {
  return lb_hunt_play_batches(batches, batch, 1, err, err_size);
}
