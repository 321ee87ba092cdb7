/* SPDX-License-Identifier: MIT
 *
 * The figures of a run: rates of campaigns, what a lock costs, how long a dead holder's lock stays taken. A
 * figure is the median of the repeats, not their mean.
 */
#include "display.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/need.h"
#include "base/text.h"
#include "campaign_text.h"
#include "run/tally.h"

#define COLUMN(what, per) {what, per},
static const struct {
  const char *what, *per; /* two lines of a head; `per` "" = one */
} campaign_columns[] = {LB_CAMPAIGN_COLUMN_LIST(COLUMN)};
enum { CAMPAIGN_COLUMNS = sizeof campaign_columns / sizeof *campaign_columns };

/* ---- the table of campaigns ----------------------------------------------------------------------- */

static bool is_campaign(const struct lb_tally *tally, size_t i, const struct lb_scenario *scenario) {
  const struct lb_cell *cell = &tally->plan->cells[i];
  return cell->scenario == scenario && scenario->kind == LB_KIND_CAMPAIGN && tally->cells[i].trials > 0;
}

/* The first line has the scenario in place of its column. Numbers are at the right of their columns. */
static const char columns[] = "lllrrrrrrr";

static void add_head(const char *scenario, struct lb_grid *grid) {
  for (size_t i = 1; i < CAMPAIGN_COLUMNS; i++)
    lb_grid_add(grid, "%s", i == 1 ? scenario : *campaign_columns[i].per ? campaign_columns[i].what : "");
  for (size_t i = 1; i < CAMPAIGN_COLUMNS; i++)
    lb_grid_add(grid, "%s", *campaign_columns[i].per ? campaign_columns[i].per : campaign_columns[i].what);
}

static void add_row(const struct lb_tally *tally, size_t index, struct lb_grid *grid) {
  const struct lb_cell_sum *sum = &tally->cells[index];
  const struct lb_cell *cell = sum->cell;
  struct lb_cell_rate x;
  char text[5][80], verdict[64], measured[40];
  int trials = sum->trials - sum->undecided;
  lb_cell_rate(tally, index, &x);
  lb_campaign_text_seconds(x.hours, measured, sizeof measured);
  if (x.stands_still) x.hours = 0, x.handoffs = 0; /* shown as exposed to nothing */
  lb_display_cell_text(sum, LB_DISPLAY_SHORT, verdict, sizeof verdict);
  lb_campaign_text_share(&x.overlapped_per_fault, x.faults > 0, text[0], sizeof text[0]);
  lb_campaign_text_share(&x.within_lease_per_fault, x.faults > 0, text[1], sizeof text[1]);
  lb_campaign_text_share(&x.damaged_per_fault, x.faults > 0, text[2], sizeof text[2]);
  lb_campaign_text_rate(&(struct lb_campaign_rate){LB_PER_HOUR, x.violations_per_hour, x.violations, x.hours, trials},
                        text[3], sizeof text[3]);
  lb_campaign_text_rate(
      &(struct lb_campaign_rate){LB_PER_1000, x.violations_per_1000, x.violations, (double)x.handoffs, trials}, text[4],
      sizeof text[4]);
  lb_grid_add(grid, "%s", cell->system);
  lb_grid_add(grid, "%s", lb_guard_name(cell->guard));
  lb_grid_add(grid, "%s", verdict);
  lb_grid_add(grid, "%llu", (unsigned long long)x.faults);
  lb_grid_add(grid, "%s", measured);
  for (size_t i = 0; i < 5; i++) lb_grid_add(grid, "%s", text[i]);
}

static void note(const struct lb_tally *tally, size_t index, struct lb_campaign_notes *notes) {
  const struct lb_cell *cell = &tally->plan->cells[index];
  const struct lb_scenario *s = cell->scenario;
  struct lb_cell_rate x;
  if (s->control) return;
  lb_cell_rate(tally, index, &x);
  for (size_t k = 0; k < s->fault_count && k < LB_FAULT_KINDS_MAX; k++)
    lb_campaign_notes_kind(notes, s->faults[k].text, x.faults_of[k]);
  if (x.violations)
    lb_campaign_notes_control(notes, cell->system, lb_guard_name(cell->guard), lb_tally_above_control(tally, index));
}

static bool print_scenario(const struct lb_tally *tally, const struct lb_scenario *scenario, FILE *out) {
  struct lb_campaign_notes notes = {0};
  char text[1400];
  struct lb_grid grid;
  lb_grid_begin(&grid, columns);
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    if (!is_campaign(tally, i, scenario)) continue;
    if (grid.count == 0) add_head(scenario->name, &grid);
    add_row(tally, i, &grid);
    note(tally, i, &notes);
  }
  if (grid.count == 0) return false;
  putc('\n', out);
  lb_grid_end(&grid, out);
  lb_campaign_text_kinds(&notes, text, sizeof text);
  if (*text) lb_display_wrap(text, 2, 2, out);
  lb_campaign_text_control(&notes, text, sizeof text);
  if (*text) lb_display_wrap(text, 2, 2, out);
  return true;
}

/* What the rates above are compared with: the same harness without faults. A violation or a long
 * stall here says that the rates are not those of the locks alone. */
static void print_control(const struct lb_tally *tally, FILE *out) {
  struct lb_control control;
  lb_tally_control(tally, &control);
  if (control.trials == 0) return;
  char text[300], undecided[80] = "";
  if (control.undecided)
    snprintf(undecided, sizeof undecided, ", %d of %d trials undecided", control.undecided, control.trials);
  snprintf(text, sizeof text,
           "no-fault control: %llu hand-offs, %llu violations%s; longest stall of the harness %.1f ms",
           (unsigned long long)control.handoffs, (unsigned long long)control.violations, undecided,
           (double)control.stall_ns / 1e6);
  putc('\n', out);
  lb_display_wrap(text, 0, 2, out);
}

void lb_display_rates(const struct lb_tally *tally, FILE *out) {
  bool any = false;
  for (size_t i = 0; i < tally->plan->scenario_count; i++)
    if (print_scenario(tally, &tally->plan->scenarios[i], out)) any = true;
  if (any) putc('\n', out);
  if (any) lb_display_wrap(LB_CAMPAIGN_CAPTION, 2, 2, out);
  print_control(tally, out);
}

/* ---- speed ----------------------------------------------------------------------------------- */

/* Sorts the values. 0 if there are none. */
static double median(double *values, size_t count) { return count ? lb_interval_median(values, count) : 0; }

/* The repeats of one measured cell with one number of clients: they become one line. */
struct line {
  const struct lb_job_result **trial; /* room for all jobs of the run */
  double *values;                     /* the same, for a median */
  size_t count;
};

/* The median of one counter over the repeats in which it applies; 0 = it does in none. */
static double median_of(const struct line *line, const char *name) {
  const struct lb_counter *row = lb_counter_named(name);
  size_t count = 0;
  for (size_t i = 0; i < line->count; i++) {
    const struct lb_counters *counters = &line->trial[i]->outcome.counters;
    if (lb_counter_applies(row, counters, LB_IF_MEASURED)) line->values[count++] = lb_counter_value(row, counters);
  }
  return median(line->values, count);
}

/* A counter that exists whether anything was measured or not; 0 = it was not seen. */
static double median_if_seen(const struct line *line, const char *name) {
  const struct lb_counter *row = lb_counter_named(name);
  const struct lb_counters *counters = &line->trial[0]->outcome.counters;
  return lb_counter_applies(row, counters, LB_IF_MEASURED | LB_IF_SEEN) && lb_counter_value(row, counters) > 0
             ? median_of(line, name)
             : 0;
}

/* "12/3456", or "12/-" where there are too few samples for the second (check/stats.c); "-" where nothing was
 * recorded. */
static void quantiles(const struct line *line, const char *p50, const char *p99, char *ret, size_t size) {
  double middle = median_of(line, p50), tail = median_of(line, p99);
  int n = snprintf(ret, size, middle < 10 ? "%.1f" : "%.0f", middle);
  if (middle <= 0) snprintf(ret, size, "-");
  else if (tail <= 0) snprintf(ret + n, size - (size_t)n, "/-");
  else snprintf(ret + n, size - (size_t)n, tail < 10 ? "/%.1f" : "/%.0f", tail);
}

/* The trial of the floor on the same servers in the same round, or NULL. */
static const struct lb_job_result *floor_of(const struct lb_tally *tally, const struct lb_trial_plan *p) {
  for (size_t i = 0; i < tally->plan->job_count; i++) {
    const struct lb_trial_plan *f = &tally->jobs[i].job->plan;
    if (f->protocol->traits & LB_TRAIT_FLOOR && f->scenario == p->scenario && f->topology == p->topology &&
        f->clients == p->clients && f->trial == p->trial && tally->jobs[i].done &&
        tally->jobs[i].outcome.grants_per_s > 0 && !tally->jobs[i].outcome.speed_void)
      return &tally->jobs[i];
  }
  return NULL;
}

/* "0.97 of the floor (0.93 to 1.01)": grants/s beside those of the bare commands, round by round. "" = nothing to say. */
static void beside_floor(const struct lb_tally *tally, const struct line *line, char *ret, size_t size) {
  size_t count = 0;
  *ret = '\0';
  if (line->trial[0]->job->plan.protocol->traits & LB_TRAIT_FLOOR) return;
  for (size_t i = 0; i < line->count; i++) {
    const struct lb_job_result *bare = floor_of(tally, &line->trial[i]->job->plan);
    if (bare) line->values[count++] = line->trial[i]->outcome.grants_per_s / bare->outcome.grants_per_s;
  }
  if (count == 0) return;
  double middle = lb_interval_median(line->values, count); /* sorts */
  int n = snprintf(ret, size, "%.2f of the floor", middle);
  if (count > 1) snprintf(ret + n, size - (size_t)n, " (%.2f to %.2f)", line->values[0], line->values[count - 1]);
}

/* Hand-offs come first: a client that takes a lock again without another holder in between pays less. How often that
 * happens stands beside it. */
static void add_line(const struct lb_tally *tally, const struct line *line, struct lb_grid *grid) {
  const struct lb_trial_plan *p = &line->trial[0]->job->plan;
  char wait[48], handoff[48], release[48], commits[24] = "-", requests[24] = "-", behind[64] = "", beside[64];
  const char *mark = median_of(line, "unsettled") > 0 ? "!" : "";
  double pipe = median_if_seen(line, "pipe_us");
  double per_handoff = median_of(line, "commits_per_handoff"), asked = median_of(line, "requests_per_handoff");
  quantiles(line, "wait_p50_us", "wait_p99_us", wait, sizeof wait);
  quantiles(line, "handoff_p50_us", "handoff_p99_us", handoff, sizeof handoff);
  quantiles(line, "release_p50_us", "release_p99_us", release, sizeof release);
  if (per_handoff > 0) snprintf(commits, sizeof commits, "%.2f", per_handoff);
  if (asked > 0) snprintf(requests, sizeof requests, "%.1f", asked);
  if (pipe > 0) snprintf(behind, sizeof behind, "%sof each call %.0f us in the pipe", *mark ? " " : "", pipe);
  beside_floor(tally, line, beside, sizeof beside);
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
  lb_grid_add(grid, "%s%s%s%s%s", mark, behind, *beside && (*mark || *behind) ? " " : "", beside,
              median_of(line, "saturated") > 0 ? " saturated" : "");
}

/* Jobs stand in the order of cells, clients, trials, so those of one line are neighbours. */
static bool same_line(const struct lb_job *a, const struct lb_job *b) {
  return a->cell == b->cell && a->plan.clients == b->plan.clients;
}

/* What the heads say in short. */
static void print_legend(bool unsettled, bool floors, FILE *out) {
  static const char *const legend[] = {
      "Medians over the repeats. c: clients. hand-offs/s: grants to another client than before; grants/s: all. again: the share of grants to the client that had the lock "
      "just before. Jain: fairness, 1 = all clients got as much.",
      "wait, hand-off, release: p50/p99 in us: from asking to being granted; from the holder's first release while a client waited to its grant; from the release to its "
      "confirmation. A p99 of fewer than 10 samples beyond it is left out.",
      "writes, requests: of the servers, for each hand-off. warm s: seconds of load before the measured window.",
      "of the floor: grants/s divided by those of the bare commands on the same servers in the same round; the median, the least and the greatest.",
  };
  for (size_t i = 0; i < sizeof legend / sizeof *legend - !floors; i++) lb_display_wrap(legend[i], 0, 2, out);
  if (unsettled)
    lb_display_wrap("!: in at least half of the repeats the rate was still changing when the measured window began", 0,
                    2, out);
}

/* Begins a line at the first job of its kind, and takes in its neighbours. Trials that died or
 * granted nothing, or failed a self-check, are left out: their speed is not 0, it is unknown. */
static void print_speed(const struct lb_tally *tally, struct line line, FILE *out) {
  static const char *const head[] = {"",     "us: p50/p99", "c",       "hand-offs/s", "again",    "grants/s", "Jain",
                                     "wait", "hand-off",    "release", "writes",      "requests", "warm s",   ""};
  bool unsettled = false, floors = false;
  struct lb_grid grid;
  lb_grid_begin(&grid, "llrrrrrrrrrrrl");
  for (size_t i = 0; i < tally->plan->job_count; i++) {
    const struct lb_job *jobs = tally->plan->jobs, *job = &jobs[i];
    line.count = 0;
    if (job->plan.scenario->kind != LB_KIND_LOAD || (i > 0 && same_line(job, &jobs[i - 1]))) continue;
    for (size_t j = i; j < tally->plan->job_count && same_line(job, &jobs[j]); j++)
      if (tally->jobs[j].done && tally->jobs[j].outcome.grants > 0 && !tally->jobs[j].outcome.speed_void)
        line.trial[line.count++] = &tally->jobs[j];
    if (line.count == 0) continue;
    for (size_t k = 0; grid.count < sizeof head / sizeof *head; k++) lb_grid_add(&grid, "%s", head[k]);
    unsettled |= median_of(&line, "unsettled") > 0;
    floors |= job->plan.protocol->traits & LB_TRAIT_FLOOR;
    add_line(tally, &line, &grid);
  }
  bool any = grid.count > 0;
  lb_grid_end(&grid, out);
  if (any) print_legend(unsettled, floors, out);
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

void lb_display_figures(const struct lb_tally *tally, FILE *out) {
  size_t most = tally->plan->job_count + 1;
  struct line line = {.trial = lb_need(calloc(most, sizeof *line.trial)),
                      .values = lb_need(calloc(most, sizeof *line.values))};
  print_speed(tally, line, out);
  print_orphans(tally, line.values, out);
  free(line.trial);
  free(line.values);
}
