/* SPDX-License-Identifier: MIT
 *
 * How a run ends: its exit code, and the line that says it in words. What is against an expectation
 * goes before what is undecided, that before what is missing.
 */
#include "exit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lock_verdict.h"
#include "run_info.h"

const char *lb_exit_meaning(long long code) {
  switch (code) {
    case LB_EXIT_OK: return "every verdict is as expected";
    case LB_EXIT_FAILURE: return "the harness itself failed";
    case LB_EXIT_USAGE: return "usage or bad input";
    case LB_EXIT_UNEXPECTED: return "a verdict differs from the expectation (with --strict: from the prediction), or there is a violation where none is stated";
    case LB_EXIT_UNDECIDED: return "something stayed undecided";
    case LB_EXIT_MISSING: return "a needed server or permission is missing, or nothing was asked";
    case LB_EXIT_STOPPED: return "stopped before its end; what is decided is kept";
    default: return "unknown";
  }
}

static bool one_system(const struct lb_plan *plan) {
  for (size_t i = 1; i < plan->cell_count; i++)
    if (strcmp(plan->cells[i].system, plan->cells[0].system) != 0) return false;
  return plan->cell_count > 0;
}

/* A run without a trial is no success: whoever named the wrong lock would take it for one. */
static enum lb_exit nothing_asked(const struct lb_plan *plan, int na, int skipped, char *line, size_t size) {
  char where[120] = "there";
  int n = snprintf(line, size, "nothing was asked: ");
  if (one_system(plan)) snprintf(where, sizeof where, "on %s", plan->cells[0].system);
  if (na) n += snprintf(line + n, size - (size_t)n, "%d cell%s nothing %s%s", na, na == 1 ? " means" : "s mean", where, skipped ? ", " : "");
  if (skipped) snprintf(line + n, size - (size_t)n, "%d cell%s skipped", skipped, skipped == 1 ? "" : "s");
  return LB_EXIT_MISSING;
}

enum { COUNTS_ROOM = 250 }; /* kept for the second sentence, however many locks the first one names */

/* Counts cells, not trials. Nothing is missing because of a cell that means nothing. */
enum lb_exit lb_exit_of_run(const struct lb_tally *tally, char *line, size_t size) {
  int unexpected = 0, unpredicted = 0, violated = 0, safe = 0, stuck = 0, delayed = 0, mixed = 0, undecided = 0, skipped = 0, na = 0, not_run = 0, open = 0;
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    const struct lb_cell_sum *cell = &tally->cells[i];
    violated += cell->verdict == LB_VIOLATED;
    safe += cell->verdict == LB_SAFE;
    stuck += cell->verdict == LB_STUCK;
    delayed += cell->verdict == LB_DELAYED;
    undecided += cell->verdict == LB_UNDECIDED;
    skipped += cell->verdict == LB_SKIPPED;
    mixed += cell->verdict == LB_MIXED;
    na += cell->verdict == LB_NA;
    not_run += cell->verdict == LB_VERDICT_NONE;
    unexpected += lb_cell_as_expected(cell) == 0;
    unpredicted += lb_cell_as_predicted(cell) == 0;
    open += lb_cell_is_open(cell);
  }
  if ((size_t)(na + skipped) == tally->plan->cell_count) return nothing_asked(tally->plan, na, skipped, line, size);
  enum lb_exit code = unexpected || (tally->plan->strict && unpredicted) ? LB_EXIT_UNEXPECTED : open ? LB_EXIT_UNDECIDED : skipped ? LB_EXIT_MISSING : LB_EXIT_OK;
  static const char *const word[] = {"as expected", "", "", "NOT as expected", "undecided", "incomplete"};
  int n = (int)lb_lock_verdict_line(tally, line, size > 2 * COUNTS_ROOM ? size - COUNTS_ROOM : size / 2);
  if (n) n += snprintf(line + n, size - (size_t)n, ". ");
  n += snprintf(line + n, size - (size_t)n, "%c%s: %zu cell%s: %d safe, %d violated", n ? toupper(word[code][0]) : word[code][0], word[code] + 1,
                tally->plan->cell_count, tally->plan->cell_count == 1 ? "" : "s", safe, violated);
  /* What is 0 is not mentioned, but for safe and violated: a reader looks for both. */
  const struct {
    int count;
    const char *what;
  } more[] = {{stuck, "stuck"}, {delayed, "delayed"}, {mixed, "mixed"}, {undecided, "undecided"}, {skipped, "skipped"}, {na, "n/a"}, {not_run, "not run"}, {unexpected, "against expectation"}, {unpredicted, "not as predicted"}};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++)
    if (more[i].count && n > 0 && (size_t)n < size)
      n += snprintf(line + n, size - (size_t)n, ", %d %s", more[i].count, more[i].what);
  return code;
}

enum lb_exit lb_exit_of_stopped(const struct lb_tally *tally, char *line, size_t size) {
  char known[sizeof ((struct lb_run_info *)0)->verdict];
  enum lb_exit code = lb_exit_of_run(tally, known, sizeof known);
  bool whole = tally->done == tally->plan->job_count;
  if (whole) snprintf(line, size, "%s", known);
  else snprintf(line, size, "partial, %zu of %zu trials: %s", tally->done, tally->plan->job_count, known);
  return whole ? code : LB_EXIT_STOPPED;
}
