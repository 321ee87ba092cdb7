/* SPDX-License-Identifier: MIT
 *
 * The figures of a run as numbers: what a lock costs, how long a dead holder's lock
 * stays taken. Campaigns are in display_campaigns.c.
 *
 * Percentiles are not averaged: a line has the median of its trials. A part without a number has no heading.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bootstrap.h"
#include "base/grid.h"
#include "display.h"
#include "display_parts.h"

/* ---- speed ----------------------------------------------------------------------------------- */

/* Sorts the values. 0 if there are none. */
static double median(double *values, size_t count) { return count ? lb_median(values, count) : 0; }

/* The repeats of one measured cell with one number of clients: they become one line. */
struct line {
  const struct lb_job_result **trial; /* room for all jobs of the run */
  double *values;                     /* the same, for a median */
  size_t count;
};

/* The median of one counter over the repeats. A repeat in which the counter does not apply counts
 * as 0; a line of such repeats gets a dash for its latencies. */
static double median_of(const struct line *line, const char *name) {
  const struct lb_counter *row = lb_counter_named(name);
  for (size_t i = 0; i < line->count; i++) {
    const struct lb_counters *counters = &line->trial[i]->outcome.counters;
    line->values[i] = lb_counter_applies(row, counters, LB_IF_MEASURED) ? lb_counter_value(row, counters) : 0;
  }
  return median(line->values, line->count);
}

/* Of one that is there whether anything was measured or not; 0 = it was not seen. */
static double median_if_seen(const struct line *line, const char *name) {
  const struct lb_counter *row = lb_counter_named(name);
  const struct lb_counters *counters = &line->trial[0]->outcome.counters;
  return lb_counter_applies(row, counters, LB_IF_MEASURED | LB_IF_SEEN) && lb_counter_value(row, counters) > 0 ? median_of(line, name) : 0;
}

/* A quantile with fewer samples beyond it is that of a few accidents. */
enum { TAIL_SAMPLES = 10 };

/* "12/3456", or "12/-" where there are too few samples for the second; "-" where nothing was
 * recorded. */
static void quantiles(const struct line *line, const char *p50, const char *p99, double samples, char *ret, size_t size) {
  double middle = median_of(line, p50), tail = median_of(line, p99);
  int n = snprintf(ret, size, middle < 10 ? "%.1f" : "%.0f", middle);
  if (middle <= 0) snprintf(ret, size, "-");
  else if (samples / 100 < TAIL_SAMPLES) snprintf(ret + n, size - (size_t)n, "/-");
  else snprintf(ret + n, size - (size_t)n, tail < 10 ? "/%.1f" : "/%.0f", tail);
}

/* About how many a repeat has seen: enough to tell many from few. */
static double samples_of(const struct line *line, const char *rate) {
  return median_of(line, rate) * median_of(line, "measured_s");
}

/* How often a lock changed hands comes first: to take one again that nobody else had meanwhile is
 * cheap, and how often it happens is beside it. */
static void add_line(const struct line *line, struct lb_grid *grid) {
  const struct lb_trial_plan *p = &line->trial[0]->job->plan;
  char wait[48], handoff[48], release[48], commits[24] = "-", requests[24] = "-", behind[64] = "";
  const char *mark = median_of(line, "unsettled") > 0 ? "!" : "";
  double pipe = median_if_seen(line, "pipe_us");
  double grants = samples_of(line, "grants_per_s"), per_handoff = median_of(line, "commits_per_handoff"),
         asked = median_of(line, "requests_per_handoff");
  quantiles(line, "wait_p50_us", "wait_p99_us", grants, wait, sizeof wait);
  quantiles(line, "handoff_p50_us", "handoff_p99_us", samples_of(line, "handoffs_per_s"), handoff, sizeof handoff);
  quantiles(line, "release_p50_us", "release_p99_us", grants, release, sizeof release);
  if (per_handoff > 0) snprintf(commits, sizeof commits, "%.2f", per_handoff);
  if (asked > 0) snprintf(requests, sizeof requests, "%.1f", asked);
  if (pipe > 0) snprintf(behind, sizeof behind, "%sof each call %.0f us in the pipe", *mark ? " " : "", pipe);
  lb_grid_add(grid, "%s", p->scenario->name);
  lb_grid_add(grid, "%s", p->system);
  lb_grid_add(grid, "%d", p->clients);
  lb_grid_add(grid, "%.0f", median_of(line, "handoffs_per_s"));
  lb_grid_add(grid, "%.1f%%", 100 * median_of(line, "regranted"));
  lb_grid_add(grid, "%.0f", median_of(line, "grants_per_s"));
  lb_grid_add(grid, "%.3f", median_of(line, "jain"));
  lb_grid_add(grid, "%s", wait);
  lb_grid_add(grid, "%s", handoff);
  lb_grid_add(grid, "%s", release);
  lb_grid_add(grid, "%s", commits);
  lb_grid_add(grid, "%s", requests);
  lb_grid_add(grid, "%.1f", median_of(line, "warmup_ms") / 1e3);
  lb_grid_add(grid, "%s%s", mark, behind);
}

/* Jobs stand in the order of cells, clients, trials, so those of one line are neighbours. */
static bool same_line(const struct lb_job *a, const struct lb_job *b) {
  return a->cell == b->cell && a->plan.clients == b->plan.clients;
}

/* What the heads say in short. */
static void print_legend(bool unsettled, FILE *out) {
  static const char *const legend[] = {
      "Medians over the repeats. c: clients. hand-offs/s: grants to another client than before; grants/s: all. again: the share of grants to the client that had the lock "
      "just before. Jain: fairness, 1 = all clients got as much.",
      "wait, hand-off, release: p50/p99 in us: from asking to being granted; from the release to the grant of a client that was waiting; from the release to its "
      "confirmation. A p99 of fewer than 10 samples beyond it is left out.",
      "writes, requests: of the servers, for each hand-off. warm s: seconds of load before the measured window.",
  };
  for (size_t i = 0; i < sizeof legend / sizeof *legend; i++) lb_display_wrap(legend[i], 0, 2, out);
  if (unsettled) lb_display_wrap("!: in at least half of the repeats the rate was still changing when the measured window began", 0, 2, out);
}

/* Begins a line at the first job of its kind, and takes in its neighbours. Trials that died or
 * granted nothing are left out: their speed is not 0, it is unknown. */
static void print_speed(const struct lb_tally *tally, struct line line, FILE *out) {
  static const char *const head[] = {"", "us: p50/p99", "c", "hand-offs/s", "again", "grants/s", "Jain", "wait", "hand-off", "release", "writes", "requests", "warm s", ""};
  bool unsettled = false;
  struct lb_grid grid;
  lb_grid_begin(&grid, "llrrrrrrrrrrrl");
  for (size_t i = 0; i < tally->plan->job_count; i++) {
    const struct lb_job *jobs = tally->plan->jobs, *job = &jobs[i];
    line.count = 0;
    if (job->plan.scenario->kind != LB_KIND_LOAD || (i > 0 && same_line(job, &jobs[i - 1]))) continue;
    for (size_t j = i; j < tally->plan->job_count && same_line(job, &jobs[j]); j++)
      if (tally->jobs[j].done && tally->jobs[j].outcome.grants > 0)
        line.trial[line.count++] = &tally->jobs[j];
    if (line.count == 0) continue;
    for (size_t k = 0; grid.count < sizeof head / sizeof *head; k++) lb_grid_add(&grid, "%s", head[k]);
    unsettled |= median_of(&line, "unsettled") > 0;
    add_line(&line, &grid);
  }
  bool any = grid.count > 0;
  lb_grid_end(&grid, out);
  if (any) print_legend(unsettled, out);
}

/* ---- a dead holder --------------------------------------------------------------------------- */

/* Times of the cell's trials in which a holder died and its lock was had again, in ms; their
 * number. In a stuck trial it never was, and the time only says how long somebody waited. */
static size_t orphan_times(const struct lb_tally *tally, size_t cell, double *ret, int *ret_never) {
  size_t count = 0;
  *ret_never = 0;
  for (size_t i = 0; i < tally->plan->job_count; i++) {
    const struct lb_job_result *trial = &tally->jobs[i];
    if (trial->job->cell != cell || !trial->done || trial->outcome.orphan_ns < 0) continue;
    if (trial->outcome.verdict == LB_STUCK) ++*ret_never;
    else ret[count++] = (double)trial->outcome.orphan_ns / 1e6;
  }
  return count;
}

/* Both kinds of outcome in one line: how long it took where the lock came back, and in how many
 * trials it never did. The ttl stands beside them as the time that a lease would take. */
static void add_orphan(const struct lb_cell *cell, double *ms, size_t count, int never, struct lb_grid *grid) {
  char of[100] = "";
  double middle = median(ms, count); /* sorts */
  if (count) snprintf(of, sizeof of, "of %zu%s", count, never ? ", " : "");
  if (never) snprintf(of + strlen(of), sizeof of - strlen(of), "never in %d of %zu", never, count + (size_t)never);
  lb_grid_add(grid, "%s", cell->scenario->name);
  lb_grid_add(grid, "%s", cell->system);
  lb_grid_add(grid, "%s", lb_guard_name(cell->guard));
  count ? lb_grid_add(grid, "%.0f", middle) : lb_grid_add(grid, "-");
  count ? lb_grid_add(grid, "%.0f", ms[count - 1]) : lb_grid_add(grid, "-");
  lb_grid_add(grid, "%s trials, ttl %lld ms", of, (long long)cell->scenario->ttl_ms);
}

/* Any cell may be here, a timeline or a campaign: what counts is that a holder died in it. */
static void print_orphans(const struct lb_tally *tally, double *ms, FILE *out) {
  static const char *const head[] = {"", "", "", "median", "longest", ""};
  struct lb_grid grid;
  lb_grid_begin(&grid, "lllrrl");
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    int never;
    size_t count = orphan_times(tally, i, ms, &never);
    if (count == 0 && never == 0) continue;
    for (size_t k = 0; grid.count < sizeof head / sizeof *head; k++) lb_grid_add(&grid, "%s", head[k]);
    add_orphan(&tally->plan->cells[i], ms, count, never, &grid);
  }
  if (grid.count) fputs("a holder died: ms until the next grant\n", out);
  lb_grid_end(&grid, out);
}

void lb_print_figures(const struct lb_tally *tally, FILE *out) {
  size_t most = tally->plan->job_count + 1;
  struct line line = {.trial = calloc(most, sizeof *line.trial),
                      .values = calloc(most, sizeof *line.values)};
  if (line.trial && line.values) {
    print_speed(tally, line, out);
    print_orphans(tally, line.values, out);
  } else {
    fputs("no figures: out of memory\n", out);
  }
  free(line.trial);
  free(line.values);
}
