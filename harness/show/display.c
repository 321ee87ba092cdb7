/* SPDX-License-Identifier: MIT
 *
 * What a person sees while a run goes on, and after it the first line and the remarks. The tables are in display_table.c and
 * display_figures.c.
 */
#include "display.h"

#include "run/exit.h"

/* ---- while it runs ---------------------------------------------------------------------------------------------- */

static void finished(void *data, const struct lb_plan *plan, const struct lb_job *job, size_t done) {
  const struct lb_display *d = data;
  if (d->quiet) return;
  if (d->terminal) fputs("\r\033[K", d->out);
  fprintf(d->out, "[%zu/%zu] %s: %s", done, plan->job_count, job->plan.name, lb_verdict_name(job->outcome.verdict));
  if (job->plan.scenario->kind == LB_KIND_LOAD && job->outcome.grants > 0)
    fprintf(d->out, ", %.0f grants/s", job->outcome.grants_per_s);
  if (job->outcome.double_holds > 0)
    fprintf(d->out, ", %llu double holds, %.1f ms", (unsigned long long)job->outcome.double_holds,
            (double)job->outcome.double_hold_ns / 1e6);
  if (job->outcome.lost_updates > 0) fprintf(d->out, ", %lld lost updates", (long long)job->outcome.lost_updates);
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
  int unexpected = 0, violated = 0, safe = 0, stuck = 0, undecided = 0, skipped = 0, missing = 0;
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    violated += cell->verdict == LB_VIOLATED;
    safe += cell->verdict == LB_SAFE;
    stuck += cell->verdict == LB_STUCK;
    undecided += cell->verdict == LB_UNDECIDED;
    skipped += cell->verdict == LB_SKIPPED;
    missing += cell->verdict == LB_SKIPPED && lb_cell_as_expected(cell) < 0;
    unexpected += lb_cell_as_expected(cell) == 0;
  }
  int code = unexpected ? LB_EXIT_UNEXPECTED : undecided ? LB_EXIT_UNDECIDED : missing ? LB_EXIT_MISSING : LB_EXIT_OK;
  static const char *const word[] = {"as expected", "", "", "NOT as expected", "undecided", "incomplete"};
  int n = snprintf(buf, size, "%s: %zu cell%s: %d safe, %d violated", word[code], plan->cell_count,
                   plan->cell_count == 1 ? "" : "s", safe, violated);
  const struct {
    int count;
    const char *what;
  } more[] = {{stuck, "stuck"}, {undecided, "undecided"}, {skipped, "skipped"}, {unexpected, "against expectation"}};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++)
    if (more[i].count && n > 0 && (size_t)n < size)
      n += snprintf(buf + n, size - (size_t)n, ", %d %s", more[i].count, more[i].what);
  return code;
}

/* "SCENARIO SYSTEM", and the guard where there is one. */
static void print_name(const char *mark, const struct lb_cell *cell, FILE *out) {
  fprintf(out, "%s %s %s", mark, cell->scenario->name, cell->system);
  if (cell->guard != LB_GUARD_NONE) fprintf(out, " (guard %s)", lb_guard_name(cell->guard));
  fputs(": ", out);
}

static void print_unexpected(const struct lb_cell *cell, FILE *out) {
  const struct lb_expect *expect = cell->expect;
  print_name("!", cell, out);
  fprintf(out, "%s, expected %s", lb_verdict_name(cell->verdict),
          expect ? lb_verdict_name(expect->verdict) : "no violation (nothing is stated)");
  if (expect && expect->reason && *expect->reason) fprintf(out, ": %s", expect->reason);
  if (cell->why[0]) fprintf(out, "; seen: %s", cell->why);
  putc('\n', out);
}

void lb_print_remarks(const struct lb_plan *plan, FILE *out) {
  for (size_t i = 0; i < plan->cell_count; i++) /* what matters first */
    if (lb_cell_as_expected(&plan->cells[i]) == 0) print_unexpected(&plan->cells[i], out);
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    if (cell->verdict == LB_SKIPPED && lb_cell_as_expected(cell) < 0) {
      print_name(" ", cell, out);
      fprintf(out, "skipped: %s\n", cell->skip);
    } else if (cell->undecided) {
      print_name(" ", cell, out);
      fprintf(out, "%d of %d trials undecided: %s\n", cell->undecided, cell->trials, cell->why);
    }
  }
}
