/* SPDX-License-Identifier: MIT */
#include "display.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "stats.h"

/* ---- while it runs ---------------------------------------------------------------------------------------------- */

static void finished(void *data, const struct lb_plan *plan, const struct lb_job *job, size_t done) {
  const struct lb_display *d = data;
  if (d->quiet) return;
  if (d->terminal) fputs("\r\033[K", d->out);
  fprintf(d->out, "[%zu/%zu] %s: %s", done, plan->job_count, job->plan.name, lb_verdict_name(job->outcome.verdict));
  if (job->plan.scenario->step_count == 0 && job->outcome.grants > 0)
    fprintf(d->out, ", %.0f grants/s", job->outcome.grants_per_s);
  if (job->outcome.double_holds > 0)
    fprintf(d->out, ", %llu double holds, %.1f ms", (unsigned long long)job->outcome.double_holds,
            (double)job->outcome.double_hold_ns / 1e6);
  if (job->outcome.why[0]) fprintf(d->out, " (%s)", job->outcome.why);
  fprintf(d->out, ", %.1f s\n", (double)job->outcome.trial_ns / 1e9);
  fflush(d->out);
}

static void tick(void *data, const struct lb_plan *plan, const struct lb_job *const *running, const uint64_t *grants,
                 size_t count, size_t done) {
  const struct lb_display *d = data;
  if (d->quiet || !d->terminal || count == 0) return;
  uint64_t sum = 0;
  for (size_t i = 0; i < count; i++) sum += grants[i];
  fprintf(d->out, "\r\033[K[%zu/%zu] %zu running: %s%s", done, plan->job_count, count, running[0]->plan.name,
          count > 1 ? " ..." : "");
  if (sum) fprintf(d->out, ", %llu grants", (unsigned long long)sum);
  fflush(d->out);
}

struct lb_progress lb_display_progress(struct lb_display *display) {
  return (struct lb_progress){.finished = finished, .tick = tick, .display = display};
}

void lb_display_end(struct lb_display *d) {
  if (!d->quiet && d->terminal) fputs("\r\033[K", d->out);
}

/* ---- afterwards --------------------------------------------------------------------------------------------------- */

int lb_summary_line(const struct lb_plan *plan, char *buf, size_t size) {
  int unexpected = 0, violated = 0, safe = 0, stuck = 0, undecided = 0, skipped = 0;
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    violated += cell->verdict == LB_VIOLATED;
    safe += cell->verdict == LB_SAFE;
    stuck += cell->verdict == LB_STUCK;
    undecided += cell->verdict == LB_UNDECIDED;
    skipped += cell->verdict == LB_SKIPPED;
    unexpected += lb_cell_as_expected(cell) == 0;
  }
  int code = unexpected ? LB_EXIT_UNEXPECTED : undecided ? LB_EXIT_UNDECIDED : skipped ? LB_EXIT_MISSING : LB_EXIT_OK;
  static const char *const word[] = {"as expected", "", "", "NOT as expected", "undecided", "incomplete"};
  int n = snprintf(buf, size, "%s: %zu cells: %d safe, %d violated", word[code], plan->cell_count, safe, violated);
  const struct {
    int count;
    const char *what;
  } more[] = {{stuck, "stuck"}, {undecided, "undecided"}, {skipped, "skipped"}, {unexpected, "against expectation"}};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++)
    if (more[i].count && n > 0 && (size_t)n < size)
      n += snprintf(buf + n, size - (size_t)n, ", %d %s", more[i].count, more[i].what);
  return code;
}

static void cell_text(const struct lb_cell *cell, char *buf, size_t size) {
  const char *mark = lb_cell_as_expected(cell) == 0 ? " !" : "";
  if (cell->verdict == LB_VIOLATED) snprintf(buf, size, "VIOLATED %d/%d%s", cell->violated, cell->trials, mark);
  else if (cell->verdict == LB_STUCK) snprintf(buf, size, "stuck %d/%d%s", cell->stuck, cell->trials, mark);
  else if (cell->verdict == LB_UNDECIDED) snprintf(buf, size, "undecided %d/%d", cell->undecided, cell->trials);
  else if (cell->verdict == LB_SAFE) snprintf(buf, size, "safe 0/%d%s", cell->trials, mark);
  else snprintf(buf, size, "%s", lb_verdict_name(cell->verdict));
}

static const struct lb_cell *cell_at(const struct lb_plan *plan, const struct lb_scenario *scenario,
                                     const char *system) {
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].scenario == scenario && strcmp(plan->cells[i].system, system) == 0) return &plan->cells[i];
  return NULL;
}

static bool first_of_system(const struct lb_plan *plan, size_t index) {
  for (size_t i = 0; i < index; i++)
    if (strcmp(plan->cells[i].system, plan->cells[index].system) == 0) return false;
  return true;
}

void lb_print_truth_table(const struct lb_plan *plan, FILE *out) {
  char text[64];
  fprintf(out, "%-24s", "");
  for (size_t s = 0; s < plan->scenario_count; s++) fprintf(out, "  %-16s", plan->scenarios[s].name);
  putc('\n', out);
  for (size_t i = 0; i < plan->cell_count; i++) {
    if (!first_of_system(plan, i)) continue;
    fprintf(out, "%-24s", plan->cells[i].system);
    for (size_t s = 0; s < plan->scenario_count; s++) {
      const struct lb_cell *cell = cell_at(plan, &plan->scenarios[s], plan->cells[i].system);
      if (cell) cell_text(cell, text, sizeof text);
      else snprintf(text, sizeof text, "-");
      fprintf(out, s + 1 < plan->scenario_count ? "  %-16s" : "  %s", text);
    }
    putc('\n', out);
  }
}

void lb_print_remarks(const struct lb_plan *plan, FILE *out) {
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    if (lb_cell_as_expected(cell) == 0)
      fprintf(out, "! %s %s: %s, expected %s%s%s\n", cell->scenario->name, cell->system, lb_verdict_name(cell->verdict),
              cell->expect ? lb_verdict_name(cell->expect->verdict) : "no violation (nothing is stated)",
              cell->why[0] ? ": " : "", cell->why);
    else if (cell->verdict == LB_SKIPPED)
      fprintf(out, "  %s %s: skipped: %s\n", cell->scenario->name, cell->system, cell->skip);
    else if (cell->undecided)
      fprintf(out, "  %s %s: %d of %d trials undecided: %s\n", cell->scenario->name, cell->system, cell->undecided,
              cell->trials, cell->why);
  }
}

/* ---- figures -------------------------------------------------------------------------------------------------------- */

static int compare_double(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, compare_double);
  return count == 0 ? 0 : count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* The same figure of all trials of a line: offset of a uint64_t (ns) or a double in struct lb_outcome. */
struct line {
  const struct lb_job *job[256];
  size_t count;
};

static double median_us(const struct line *line, size_t offset) {
  double values[256];
  for (size_t i = 0; i < line->count; i++) {
    uint64_t ns;
    memcpy(&ns, (const char *)&line->job[i]->outcome + offset, sizeof ns);
    values[i] = (double)ns / 1e3;
  }
  return median(values, line->count);
}

static double median_real(const struct line *line, size_t offset) {
  double values[256];
  for (size_t i = 0; i < line->count; i++)
    memcpy(&values[i], (const char *)&line->job[i]->outcome + offset, sizeof values[i]);
  return median(values, line->count);
}

static void print_line(const struct line *line, FILE *out) {
  static const size_t column[] = {offsetof(struct lb_outcome, wait_ns), offsetof(struct lb_outcome, hold_ns),
                                  offsetof(struct lb_outcome, handoff_ns)};
  const struct lb_trial_plan *p = &line->job[0]->plan;
  fprintf(out, "%-11s %-24s %3d %10.0f %5.3f", p->scenario->name, p->system, p->clients,
          median_real(line, offsetof(struct lb_outcome, grants_per_s)),
          median_real(line, offsetof(struct lb_outcome, jain)));
  for (size_t c = 0; c < 3; c++) {
    char text[64];
    bool any = median_us(line, column[c] + 2 * sizeof(uint64_t)) > 0;
    int n = 0;
    for (size_t q = 0; q < LB_QUANTILES; q++) {
      double us = median_us(line, column[c] + q * sizeof(uint64_t));
      n += snprintf(text + n, sizeof text - (size_t)n, us < 10 ? "%s%.1f" : "%s%.0f", q ? "/" : "", us);
    }
    fprintf(out, " %20s", any ? text : "-");
  }
  putc('\n', out);
}

static bool same_line(const struct lb_job *a, const struct lb_job *b) {
  return a->cell == b->cell && a->plan.clients == b->plan.clients;
}

void lb_print_figures(const struct lb_plan *plan, FILE *out) {
  bool header = false;
  for (size_t i = 0; i < plan->job_count; i++) {
    const struct lb_job *job = &plan->jobs[i];
    struct line line = {.count = 0};
    if (job->plan.scenario->step_count > 0 || (i > 0 && same_line(job, &plan->jobs[i - 1]))) continue;
    for (size_t j = i; j < plan->job_count && same_line(job, &plan->jobs[j]); j++)
      if (plan->jobs[j].done && plan->jobs[j].outcome.grants > 0 && line.count < 256)
        line.job[line.count++] = &plan->jobs[j];
    if (line.count == 0) continue;
    if (!header)
      fprintf(out, "%-11s %-24s %3s %10s %5s %20s %20s %20s\n", "", "us: p50/p99/p99.9", "c", "grants/s", "Jain",
              "wait", "hold", "hand-off");
    header = true;
    print_line(&line, out);
  }
}
