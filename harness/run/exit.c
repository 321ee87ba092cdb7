/* SPDX-License-Identifier: MIT
 *
 * How a run ends: its exit code, and the line that says it in words. What is against an expectation
 * goes before what is undecided, that before what is missing.
 */
#include "exit.h"

#include <stdio.h>

#include "tally.h"

const char *lb_exit_meaning(long long code) {
  switch (code) {
    case LB_EXIT_OK: return "every verdict is as expected";
    case LB_EXIT_FAILURE: return "the harness itself failed";
    case LB_EXIT_USAGE: return "usage or bad input";
    case LB_EXIT_UNEXPECTED: return "a verdict differs from the expectation, or there is a violation where none is stated";
    case LB_EXIT_UNDECIDED: return "something stayed undecided";
    case LB_EXIT_MISSING: return "a needed server or permission is missing";
    case LB_EXIT_STOPPED: return "stopped before its end; what is decided is kept";
    default: return "unknown";
  }
}

/* Counts cells, not trials. Nothing is missing because of a cell that means nothing. */
enum lb_exit lb_exit_of_run(const struct lb_tally *tally, char *line, size_t size) {
  int unexpected = 0, violated = 0, safe = 0, stuck = 0, mixed = 0, undecided = 0, skipped = 0, na = 0;
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    const struct lb_cell_sum *cell = &tally->cells[i];
    violated += cell->verdict == LB_VIOLATED;
    safe += cell->verdict == LB_SAFE;
    stuck += cell->verdict == LB_STUCK;
    undecided += cell->verdict == LB_UNDECIDED;
    skipped += cell->verdict == LB_SKIPPED;
    mixed += cell->verdict == LB_MIXED;
    na += cell->verdict == LB_NA;
    unexpected += lb_cell_as_expected(cell) == 0;
  }
  enum lb_exit code = unexpected ? LB_EXIT_UNEXPECTED : undecided ? LB_EXIT_UNDECIDED : skipped ? LB_EXIT_MISSING : LB_EXIT_OK;
  static const char *const word[] = {"as expected", "", "", "NOT as expected", "undecided", "incomplete"};
  int n = snprintf(line, size, "%s: %zu cell%s: %d safe, %d violated", word[code], tally->plan->cell_count,
                   tally->plan->cell_count == 1 ? "" : "s", safe, violated);
  /* What is 0 is not mentioned, but for safe and violated: a reader looks for both. */
  const struct {
    int count;
    const char *what;
  } more[] = {{stuck, "stuck"}, {mixed, "mixed"}, {undecided, "undecided"}, {skipped, "skipped"}, {na, "n/a"}, {unexpected, "against expectation"}};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++)
    if (more[i].count && n > 0 && (size_t)n < size)
      n += snprintf(line + n, size - (size_t)n, ", %d %s", more[i].count, more[i].what);
  return code;
}

enum lb_exit lb_exit_of_stopped(const struct lb_tally *tally, char *line, size_t size) {
  char known[300];
  enum lb_exit code = lb_exit_of_run(tally, known, sizeof known);
  bool whole = tally->done == tally->plan->job_count;
  if (whole) snprintf(line, size, "%s", known);
  else snprintf(line, size, "partial, %zu of %zu trials: %s", tally->done, tally->plan->job_count, known);
  return whole ? code : LB_EXIT_STOPPED;
}
