/* SPDX-License-Identifier: MIT
 *
 * Written for the common subset of readers: testsuites, testsuite, testcase, failure, error, skipped.
 */
#include "junit.h"

#include <errno.h>
#include <stdio.h>

#include "base/process.h"
#include "base/files.h"
#include "base/text.h"
#include "judging.h"

enum end { PASSED, KNOWN, FAILED, OPEN, AWAY, SKIPPED, ENDS };

/* `judge` tries guards only to name one that helps: a lock that breaks under one is no worse for it. */
static bool is_left_out(const struct lb_cell_sum *cell, bool safety) {
  return safety && cell->cell->guard != LB_GUARD_NONE;
}

/* How `judge` counts a cell. */
static enum end judged(const struct lb_baseline *baseline, const struct lb_cell_sum *cell) {
  enum lb_versus versus = baseline ? lb_baseline_versus(baseline, cell) : LB_VERSUS_WORSE;
  if (cell->trials == 0) return baseline && versus == LB_VERSUS_AWAY ? AWAY : SKIPPED;
  if (cell->violated || cell->stuck) return versus == LB_VERSUS_WORSE ? FAILED : KNOWN;
  if (cell->verdict == LB_SAFE || cell->delayed) return PASSED;
  return baseline && versus != LB_VERSUS_OPEN ? SKIPPED : OPEN;
}

/* With `safety` it is that of `judge`. */
static enum end end_of(const struct lb_tally *tally, const struct lb_cell_sum *cell, bool safety) {
  if (safety) return judged(tally->plan->judging->baseline, cell);
  if (cell->trials == 0) return SKIPPED;
  if (tally->plan->strict && lb_cell_sum_as_predicted(cell) == 0) return FAILED;
  int expected = lb_cell_sum_as_expected(cell);
  return expected < 0 ? OPEN : expected ? PASSED : FAILED;
}

/* XML has no form for most control characters, so they are spelt out before the rest is escaped. */
static void put_text(const char *text, FILE *out) {
  char shown[2000];
  lb_text_printable(text, shown, sizeof shown);
  for (const char *c = shown; *c; c++) {
    if (*c == '&') fputs("&amp;", out);
    else if (*c == '<') fputs("&lt;", out);
    else if (*c == '>') fputs("&gt;", out);
    else if (*c == '"') fputs("&quot;", out);
    else putc(*c, out);
  }
}

/* Those of its trials, one after the other; many were played side by side. */
static double seconds_of(const struct lb_tally *tally, size_t cell) {
  double ns = 0;
  for (size_t i = 0; i < tally->plan->job_count; i++)
    if (tally->jobs[i].done && tally->jobs[i].job->cell == cell) ns += (double)tally->jobs[i].outcome.trial_ns;
  return ns / 1e9;
}

static const char *wanted(const struct lb_tally *tally, const struct lb_cell_sum *cell, bool safety) {
  if (safety) return "safe";
  if (lb_cell_sum_as_expected(cell) != 0 && tally->plan->strict && lb_cell_sum_as_predicted(cell) == 0)
    return lb_verdict_name(cell->cell->prediction.verdict);
  return cell->cell->expect ? lb_verdict_name(cell->cell->expect->verdict) : "safe";
}

static void put_failure(const struct lb_tally *tally, const struct lb_cell_sum *cell, bool safety, const char *dir,
                        FILE *out) {
  const struct lb_cell *c = cell->cell;
  const char *verdict = lb_verdict_name(cell->verdict), *why = cell->why;
  fprintf(out, "   <failure type=\"%s\" message=\"%s, expected %s (violated %d, stuck %d, of %d decided)\">", verdict,
          verdict, wanted(tally, cell, safety), cell->violated, cell->stuck, lb_cell_sum_decided(cell));
  if (*why) put_text(why, out), fputs("\n", out);
  put_text(lb_process_called(), out);
  fputs(" explain ", out);
  put_text(lb_process_from_here(dir), out);
  fprintf(out, " %s.%s.%s</failure>\n", c->scenario->name, c->system, lb_guard_name(c->guard));
}

static void put_known(const char *verdict, const char *why, FILE *out) {
  fprintf(out, "   " LB_JUNIT_KNOWN "%s%s", verdict, *why ? ": " : "");
  put_text(why, out);
  fputs("</system-out>\n", out);
}

static void put_reason(const char *tag, const char *kind, const char *why, FILE *out) {
  fprintf(out, "   <%s message=\"%s", tag, kind);
  put_text(why, out);
  fputs("\"/>\n", out);
}

static void put_cell(const struct lb_tally *tally, size_t index, bool safety, const char *dir, FILE *out) {
  const struct lb_cell_sum *cell = &tally->cells[index];
  const struct lb_cell *c = cell->cell;
  enum end end = end_of(tally, cell, safety);
  bool noted = end == PASSED && !safety && lb_cell_sum_is_better(cell);
  fputs("  <testcase classname=\"", out);
  put_text(c->scenario->name, out);
  fputs("\" name=\"", out);
  put_text(c->system, out);
  fprintf(out, " %s\" time=\"%.3f\"%s\n", lb_guard_name(c->guard), seconds_of(tally, index),
          end == PASSED && !noted ? "/>" : ">");
  if (noted)
    fprintf(out, "   <system-out>better than expected: safe, where a race decides (expected %s)</system-out>\n",
            lb_verdict_name(c->expect->verdict));
  if (end == FAILED) put_failure(tally, cell, safety, dir, out);
  if (end == KNOWN) put_known(lb_verdict_name(cell->violated ? LB_VIOLATED : LB_STUCK), cell->why, out);
  if (end == OPEN) put_reason("error type=\"undecided\"", "", cell->why, out);
  if (end == AWAY) put_reason("error type=\"skipped\"", "", c->skip, out);
  if (end == SKIPPED && cell->trials > 0) put_reason("skipped", "undecided: ", cell->why, out);
  else if (end == SKIPPED && !c->skip[0]) put_reason("skipped", "", "the run was stopped before it was played", out);
  else if (end == SKIPPED) put_reason("skipped", c->means_nothing ? "n/a: " : "skipped: ", c->skip, out);
  if (end != PASSED || noted) fputs("  </testcase>\n", out);
}

/* A statement of the contract is a testcase, too. */
static enum end end_of_statement(const struct lb_judging *j, int i) {
  if (j->statement[i].holds) return PASSED;
  return j->baseline && lb_baseline_failed(j->baseline, j->check, j->statement[i].text) ? KNOWN : FAILED;
}

static void put_statements(const struct lb_judging *j, FILE *out) {
  for (int i = 0; i < j->statements && i < LB_STATEMENTS_MAX; i++) {
    enum end end = end_of_statement(j, i);
    fprintf(out, "  <testcase classname=\"%s\" name=\"", j->check);
    put_text(j->statement[i].text, out);
    fprintf(out, "\" time=\"0\"%s\n", end == PASSED ? "/>" : ">");
    if (end == KNOWN) put_known(lb_verdict_name(LB_VIOLATED), "does not hold", out);
    if (end == FAILED)
      fprintf(out, "   <failure type=\"violated\" message=\"does not hold\">%s %s</failure>\n", lb_process_called(),
              j->check);
    if (end != PASSED) fputs("  </testcase>\n", out);
  }
}

/* What has an answer in the baseline and is not asked any more. How many; out may be NULL. */
static size_t put_gone(const struct lb_plan *plan, FILE *out) {
  const struct lb_baseline *baseline = plan->judging ? plan->judging->baseline : NULL;
  const char *question, *system;
  size_t count = 0;
  for (size_t at = 0; baseline && (question = lb_baseline_gone(baseline, plan, &at, &system)); count++) {
    if (!out) continue;
    fputs("  <testcase classname=\"", out);
    put_text(question, out);
    fputs("\" name=\"", out);
    put_text(system, out);
    fputs(" none\" time=\"0\">\n   <error type=\"gone\" message=\"not asked here, but answered in ", out);
    put_text(lb_baseline_path(baseline), out);
    fputs("\"/>\n  </testcase>\n", out);
  }
  return count;
}

int lb_junit_write(const struct lb_tally *tally, const char *dir, const char *path) {
  const struct lb_judging *judging = tally->plan->judging;
  bool safety = judging;
  size_t count[ENDS] = {0}, told = 0, cells = tally->plan->cell_count;
  double seconds = 0;
  FILE *out = fopen(path, "we");
  if (!out) return -errno;
  for (size_t i = 0; i < cells; i++) {
    if (is_left_out(&tally->cells[i], safety)) continue;
    told++;
    count[end_of(tally, &tally->cells[i], safety)]++;
    seconds += seconds_of(tally, i);
  }
  fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
  for (int i = 0; judging && i < judging->statements && i < LB_STATEMENTS_MAX; i++)
    told++, count[end_of_statement(judging, i)]++;
  size_t gone = put_gone(tally->plan, NULL);
  fprintf(out, " <testsuite name=\"%s\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"",
          safety ? LB_JUNIT_OF_JUDGE : "lockbench", told + gone, count[FAILED], count[OPEN] + count[AWAY] + gone,
          count[SKIPPED]);
  fprintf(out, " time=\"%.3f\">\n", seconds);
  for (size_t i = 0; i < cells; i++)
    if (!is_left_out(&tally->cells[i], safety)) put_cell(tally, i, safety, dir, out);
  if (judging) put_statements(judging, out);
  put_gone(tally->plan, out);
  fputs(" </testsuite>\n</testsuites>\n", out);
  return lb_files_close_written(out);
}
