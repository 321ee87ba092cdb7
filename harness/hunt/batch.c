/* SPDX-License-Identifier: MIT
 *
 * A batch is a source of jobs for the engine (run/engine.h). Its jobs are those of a plan. So a timeline of a hunt is
 * judged as every other trial, and its file replays it. The folder of the run is scratch: what is kept of a hunt is its
 * journal, and the files of the sets it found.
 */
#include "batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/need.h"
#include "base/rng.h"
#include "base/error.h"
#include "run/engine.h"
#include "plan/plan.h"

enum { PATH = 3200, STREAM_BATCH = 31 };

int lb_hunt_batch_write_file(const struct lb_hunt_space *space, size_t timeline, enum lb_guard guard,
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

struct cell {               /* what came of one in this batch */
  const struct lb_job *job; /* its first one; the others stand behind it */
  unsigned begun, running, decided, undecided;
  bool given_up; /* it would be late */
};

struct play { /* all batches that are played together */
  struct lb_hunt_batches *batches;
  const struct lb_hunt_batch *batch;
  size_t batch_count;
  struct timed *timed; /* in the order in which they are played */
  size_t timed_count;
  struct lb_plan plan;
  struct cell *cell;
  struct lb_source source;
  size_t done, count; /* trials: for the live line */
};

static int write_files(const struct play *p, struct files *ret) {
  const struct lb_hunt_batches *g = p->batches;
  char folder[PATH], path[PATH + 60];
  *ret = (struct files){.path = lb_need(calloc(p->timed_count + 1, sizeof *ret->path))};
  snprintf(folder, sizeof folder, "%s/scratch/hunt", g->dir->partial);
  int r = lb_files_make_dirs(folder);
  for (size_t i = 0; i < p->timed_count && r == 0; i++) {
    const struct lb_hunt_batch *batch = &p->batch[p->timed[i].batch];
    struct lb_hunt_settings settings = batch->change ? *batch->change : (struct lb_hunt_settings){0};
    settings.no_client_3 |= g->space->switches.no_client_3;
    snprintf(path, sizeof path, "%s/t%06zu-%zu.ini", folder, p->timed[i].timeline, p->timed[i].batch);
    r = lb_hunt_batch_write_file(g->space, p->timed[i].timeline, LB_GUARD_NONE, &settings, "race", path);
    if (r == 0) ret->path[ret->count++] = lb_need_text(path);
  }
  return r;
}

/* What a cell of the plan was written for. */
static const struct timed *timed_of(const struct play *p, size_t cell) { return &p->timed[p->plan.cells[cell].asked]; }
static const struct lb_hunt_batch *batch_of(const struct play *p, size_t cell) {
  return &p->batch[timed_of(p, cell)->batch];
}
static struct lb_hunt_journal *journal_of(const struct play *p, const struct lb_hunt_batch *batch) {
  return batch->journal ? batch->journal : p->batches->journal;
}
/* The plan has every guard and number of trials that one of the batches wants. */
static bool is_asked(const struct lb_hunt_batch *batch, enum lb_guard guard) { return batch->guards >> guard & 1; }

/* ---- which job is next ------------------------------------------------------------------------------------------- */

/* Until as many trials are decided as were ordered; those that run may be the ones. */
static enum lb_next next_of(const struct play *p, const struct cell *cell) {
  if (!cell->job || cell->given_up) return LB_NEXT_NONE;
  const struct lb_hunt_batch *batch = batch_of(p, cell->job->cell);
  unsigned repeats = (unsigned)batch->repeats;
  if (cell->begun >= repeats + (unsigned)batch->again || cell->decided >= repeats) return LB_NEXT_NONE;
  if (cell->decided + cell->running >= repeats) return LB_NEXT_LATER;
  bool hopeless =
      cell->undecided > 1 &&
      lb_hunt_journal_is_hopeless(journal_of(p, batch), timed_of(p, cell->job->cell)->timeline, cell->job->plan.guard);
  return hopeless ? LB_NEXT_NONE : LB_NEXT_NOW;
}

/* All first trials come before all second ones, else in the order of the cells. */
static enum lb_next find(struct play *p, const struct lb_pool *pool, struct cell **ret) {
  enum lb_next best = LB_NEXT_NONE;
  p->source.left = 0;
  for (size_t i = 0; i < p->plan.cell_count; i++) {
    struct cell *cell = &p->cell[i];
    enum lb_next next = next_of(p, cell);
    p->source.left += next != LB_NEXT_NONE;
    if (next == LB_NEXT_NONE || (pool && cell->job->plan.pool != pool)) continue;
    if (next == LB_NEXT_NOW && (best != LB_NEXT_NOW || cell->begun < (*ret)->begun)) *ret = cell;
    if (next < best) best = next;
  }
  return best;
}

/* It would not be done in time. How long it takes is known to about a half. */
static bool is_late(const struct play *p, const struct cell *cell) {
  const struct lb_hunt_batches *g = p->batches;
  if (!g->left_s) return false;
  const struct lb_hunt_timeline *t = &g->space->timeline[timed_of(p, cell->job->cell)->timeline];
  return g->left_s(g->clock) < 1.5e-3 * (double)lb_hunt_write_takes_ms(&g->space->system, t);
}

static enum lb_next next(void *of, const struct lb_pool *pool, const struct lb_job **ret) {
  struct play *p = of;
  struct cell *cell = NULL;
  enum lb_next what;
  while ((what = find(p, pool, &cell)) == LB_NEXT_NOW && is_late(p, cell)) cell->given_up = p->batches->late = true;
  if (what != LB_NEXT_NOW) return what;
  *ret = cell->job + cell->begun;
  return LB_NEXT_NOW;
}

static void begun(void *of, const struct lb_job *job) {
  struct play *p = of;
  p->cell[job->cell].begun++;
  p->cell[job->cell].running++;
}

/* ---- the outcomes ------------------------------------------------------------------------------------------------ */

static void tell(const struct play *p) {
  if (p->batches->tick) p->batches->tick(p->batches->display, p->done, p->count);
}

static int ended(void *of, const struct lb_job *job, const struct lb_outcome *result) {
  struct play *p = of;
  struct cell *cell = &p->cell[job->cell];
  const struct lb_hunt_batch *batch = batch_of(p, job->cell);
  enum lb_hunt_outcome outcome = lb_hunt_outcome_of(result);
  size_t timeline = timed_of(p, job->cell)->timeline;
  lb_hunt_journal_add(journal_of(p, batch), timeline, job->plan.guard, outcome, result->why);
  if (p->batches->trial) p->batches->trial(p->batches->display, timeline, job->plan.guard, result);
  if (p->batches->history && result->history_kept) {
    char path[PATH];
    snprintf(path, sizeof path, "%s/histories/%s.hist", p->batches->dir->partial, job->plan.name);
    p->batches->history(p->batches->display, path);
  }
  cell->running--;
  cell->decided += outcome != LB_HUNT_UNDECIDED;
  cell->undecided += outcome == LB_HUNT_UNDECIDED;
  p->done += outcome != LB_HUNT_UNDECIDED || cell->undecided > (unsigned)batch->again;
  tell(p);
  return 0;
}

static void tick(void *of, const struct lb_job *const running[], size_t count) {
  (void)running, (void)count;
  tell(of);
}

/* ---- a batch ----------------------------------------------------------------------------------------------------- */

/* What cannot be played is no trial, and must not look like one that was safe. One of several guards that means nothing
 * there was not asked. */
static void enter_skipped(const struct play *p, size_t at) {
  const struct lb_cell *cell = &p->plan.cells[at];
  struct lb_hunt_journal *journal = journal_of(p, batch_of(p, at));
  if (cell->guard == journal->guard || !cell->means_nothing)
    lb_hunt_journal_add(journal, timed_of(p, at)->timeline, cell->guard, LB_HUNT_UNDECIDED, cell->skip);
}

/* The cells that were asked for; those that can be played have their first job. */
static void take_cells(struct play *p) {
  for (size_t i = 0; i < p->plan.cell_count; i++) {
    const struct lb_cell *cell = &p->plan.cells[i];
    const struct lb_hunt_batch *batch = batch_of(p, i);
    if (is_asked(batch, cell->guard) && cell->skip[0]) enter_skipped(p, i);
    if (is_asked(batch, cell->guard) && !cell->skip[0]) p->count += (size_t)batch->repeats;
  }
  for (size_t i = 0; i < p->plan.job_count; i++) {
    struct lb_job *job = &p->plan.jobs[i];
    const struct lb_hunt_batch *batch = batch_of(p, job->cell);
    job->plan.fresh = batch->fresh;
    if (job->plan.trial == 1 && is_asked(batch, job->plan.guard)) p->cell[job->cell].job = job;
  }
}

static int play_plan(struct play *p, struct lb_error *err) {
  p->cell = lb_need(calloc(p->plan.cell_count + 1, sizeof *p->cell));
  take_cells(p);
  p->source = (struct lb_source){.of = p, .next = next, .begun = begun, .ended = ended, .tick = tick};
  struct lb_jobs jobs = p->batch->alone ? LB_JOBS_ALONE : p->batches->jobs;
  int r = p->count > 0 ? lb_engine_run(&p->source, p->batches->dir, jobs, err) : 0;
  free(p->cell);
  return r;
}

static int play_all_of(struct play *p, struct lb_error *err) {
  struct lb_hunt_batches *g = p->batches;
  struct files files;
  int r = write_files(p, &files);
  if (r < 0) return free_files(&files), lb_error(err, r, "cannot write the timelines: %s", strerror(-r));
  struct lb_plan_request request = {.systems = g->space->system.name,
                                    .settings = g->settings,
                                    .setting_count = g->setting_count,
                                    .reuse = !g->fresh,
                                    .seed = lb_rng_fork(g->seed, STREAM_BATCH, g->played++).state};
  for (size_t i = 0; i < p->batch_count; i++) {
    const struct lb_hunt_batch *batch = &p->batch[i];
    request.guards |= batch->guards;
    if (batch->repeats + batch->again > request.trials) request.trials = batch->repeats + batch->again;
  }
  r = lb_plan_load((const char *const *)files.path, files.count, &request, &p->plan, err);
  if (r == 0) r = play_plan(p, err), lb_plan_clear(&p->plan);
  free_files(&files);
  return r;
}

static int by_time(const void *left, const void *right) {
  const struct timed *a = left, *b = right;
  if (a->takes_ms != b->takes_ms) return a->takes_ms > b->takes_ms ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

/* The longest first; of those that take as long, as they come. */
static void sort(struct play *p) {
  const struct lb_hunt_space *space = p->batches->space;
  size_t count = 0;
  for (size_t n = 0; n < p->batch_count; n++)
    for (size_t i = 0; i < p->batch[n].count; i++, count++) {
      size_t t = p->batch[n].timeline[i];
      p->timed[count] = (struct timed){
          t, n, count, p->batch[n].as_given ? 0 : lb_hunt_write_takes_ms(&space->system, &space->timeline[t])};
    }
  qsort(p->timed, count, sizeof *p->timed, by_time);
}

int lb_hunt_batches_play(struct lb_hunt_batches *batches, const struct lb_hunt_batch batch[], size_t count,
                         struct lb_error *err) {
  struct play p = {.batches = batches, .batch = batch, .batch_count = count};
  for (size_t i = 0; i < count; i++) p.timed_count += batch[i].count;
  if (p.timed_count == 0) return 0;
  p.timed = lb_need(malloc(p.timed_count * sizeof *p.timed));
  sort(&p);
  int r = play_all_of(&p, err);
  free(p.timed);
  return r;
}
