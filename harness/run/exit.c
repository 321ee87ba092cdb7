/* SPDX-License-Identifier: MIT
 *
 * The exit code of a run and its first line; of the user's own lock, its verdict.
 */
#include "exit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "about.h"
#include "judging.h"

/* ---- A lock is judged without a guard: under one, a verdict is about the resource. One that was only run
 * under guards is judged under the first of them, and the sentence names it. ---- */

/* What has to be looked at comes first. A cell that was not run has LB_VERDICT_NONE if the run was cut short. */
static const enum lb_verdict order[] = {LB_VIOLATED,     LB_MIXED,   LB_STUCK, LB_DELAYED, LB_UNDECIDED,
                                        LB_VERDICT_NONE, LB_SKIPPED, LB_SAFE,  LB_NA};
enum { ORDER = sizeof order / sizeof *order, NAMES_SHOWN = 4 };

static bool same_system(const struct lb_cell *a, const struct lb_cell *b) { return strcmp(a->system, b->system) == 0; }

/* The first cell of the system of this one, and the guard that its lock is judged under. */
static size_t first_of_system(const struct lb_plan *plan, size_t index, enum lb_guard *ret_guard) {
  size_t first = 0;
  while (!same_system(&plan->cells[first], &plan->cells[index])) first++;
  *ret_guard = plan->cells[first].guard;
  for (size_t i = first; i < plan->cell_count; i++)
    if (same_system(&plan->cells[i], &plan->cells[index]) && plan->cells[i].guard == LB_GUARD_NONE)
      *ret_guard = LB_GUARD_NONE;
  return first;
}

static bool judges(const struct lb_plan *plan, size_t index) {
  enum lb_guard guard;
  if (!plan->cells[index].own && !plan->judging) return false;
  first_of_system(plan, index, &guard);
  return plan->cells[index].guard == guard;
}

enum lb_verdict lb_exit_lock_verdict(const struct lb_tally *tally) {
  size_t best = ORDER;
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    if (!judges(tally->plan, i)) continue;
    const struct lb_cell_sum *cell = &tally->cells[i];
    enum lb_verdict verdict = cell->violated > 0                 ? LB_VIOLATED
                              : cell->verdict == LB_VERDICT_NONE ? LB_UNDECIDED
                                                                 : cell->verdict;
    for (size_t k = 0; k < best; k++)
      if (order[k] == verdict) best = k;
  }
  return best < ORDER ? order[best] : LB_VERDICT_NONE;
}

/* ---- the sentence ---------------------------------------------------------------------------- */

static bool one_system(const struct lb_plan *plan) {
  for (size_t i = 1; i < plan->cell_count; i++)
    if (strcmp(plan->cells[i].system, plan->cells[0].system) != 0) return false;
  return plan->cell_count > 0;
}

/* A system of the user's own is called by its protocol, unless another one of the user's has the same protocol. */
static void add_name(struct lb_text *text, const struct lb_plan *plan, size_t index, enum lb_guard guard) {
  const struct lb_cell *cell = &plan->cells[index];
  int length = (int)(cell->own ? strcspn(cell->system, "@") : strlen(cell->system));
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].own && plan->cells[i].protocol == cell->protocol && !same_system(&plan->cells[i], cell))
      length = (int)strlen(cell->system);
  lb_text_add(text, "%s%.*s", text->length ? ". " : "", length, cell->system);
  if (guard != LB_GUARD_NONE) lb_text_add(text, " under guard %s", lb_guard_name(guard));
}

static bool counts(const struct lb_plan *plan, size_t index, const struct lb_cell *first, enum lb_guard guard) {
  return plan->cells[index].guard == guard && same_system(&plan->cells[index], first);
}

/* " (failover, pause-holder)": in which scenarios it came to this. */
static void add_scenarios(struct lb_text *text, const struct lb_tally *tally, const struct lb_cell *first,
                          enum lb_guard guard, enum lb_verdict verdict, size_t count) {
  size_t named = 0;
  for (size_t i = 0; i < tally->plan->cell_count && named < NAMES_SHOWN; i++)
    if (counts(tally->plan, i, first, guard) && tally->cells[i].verdict == verdict)
      lb_text_add(text, "%s%s", named++ ? ", " : " (", tally->plan->cells[i].scenario->name);
  if (count > named) lb_text_add(text, " and %zu more", count - named);
  lb_text_add(text, ")");
}

static const char *word(enum lb_verdict verdict) {
  return verdict == LB_VERDICT_NONE ? "not run" : lb_verdict_name(verdict);
}

static void add_lock(struct lb_text *text, const struct lb_tally *tally, size_t index, enum lb_guard guard) {
  const struct lb_plan *plan = tally->plan;
  const struct lb_cell *first = &plan->cells[index];
  size_t all = 0, count[LB_ANY] = {0};
  bool first_part = true;
  for (size_t i = 0; i < plan->cell_count; i++)
    if (counts(plan, i, first, guard)) count[tally->cells[i].verdict]++, all++;
  add_name(text, plan, index, guard);
  for (size_t k = 0; k < ORDER; k++) {
    size_t n = count[order[k]];
    if (n == 0) continue;
    lb_text_add(text, "%s%s in ", first_part ? ": " : "; ", word(order[k]));
    if (all == 1) lb_text_add(text, "%s", first->scenario->name);
    else if (n == all) lb_text_add(text, all == 2 ? "both scenarios" : "all %zu scenarios", all);
    else if (first_part) lb_text_add(text, "%zu of %zu scenarios", n, all);
    else lb_text_add(text, "%zu", n);
    if (n < all && order[k] != LB_SAFE && order[k] != LB_NA) add_scenarios(text, tally, first, guard, order[k], n);
    first_part = false;
  }
}

/* The same as a sentence without its full stop: "mylock: violated in 2 of 3 scenarios (failover, pause-holder); safe in
 * 1". It is about the user's own locks, or the one lock that was asked about; "" = the run has no such lock. Returns
 * the length. */
static size_t lock_verdict_line(const struct lb_tally *tally, char *line, size_t size) {
  struct lb_text text = {line, size, 0};
  bool one = one_system(tally->plan);
  line[0] = '\0';
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    enum lb_guard guard;
    if ((tally->plan->cells[i].own || one) && first_of_system(tally->plan, i, &guard) == i)
      add_lock(&text, tally, i, guard);
  }
  return text.length;
}

/* A run without a trial is no success: a user who named the wrong lock would take it for one. */
static enum lb_exit nothing_asked(const struct lb_plan *plan, int na, int skipped, char *line, size_t size) {
  char where[120] = "there";
  int n = snprintf(line, size, "nothing was asked: ");
  if (one_system(plan)) snprintf(where, sizeof where, "on %s", plan->cells[0].system);
  if (na)
    n += snprintf(line + n, size - (size_t)n, "%d cell%s nothing %s%s", na, na == 1 ? " means" : "s mean", where,
                  skipped ? ", " : "");
  if (skipped) snprintf(line + n, size - (size_t)n, "%d cell%s skipped", skipped, skipped == 1 ? "" : "s");
  return LB_EXIT_MISSING;
}

enum { COUNTS_ROOM = 250 }; /* kept for the second sentence, however many locks the first one names */

/* Counts cells, not trials. Nothing is missing because of a cell that means nothing. */
enum lb_exit lb_exit_of_run(const struct lb_tally *tally, char *line, size_t size) {
  int unexpected = 0, unpredicted = 0, violated = 0, safe = 0, stuck = 0, delayed = 0, mixed = 0, undecided = 0,
      skipped = 0, na = 0, not_run = 0, open = 0;
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
    unexpected += lb_cell_sum_as_expected(cell) == 0;
    unpredicted += lb_cell_sum_as_predicted(cell) == 0;
    open += lb_cell_sum_is_open(cell);
  }
  if ((size_t)(na + skipped) == tally->plan->cell_count) return nothing_asked(tally->plan, na, skipped, line, size);
  enum lb_exit code = unexpected || (tally->plan->strict && unpredicted) ? LB_EXIT_UNEXPECTED
                      : open                                             ? LB_EXIT_UNDECIDED
                      : skipped                                          ? LB_EXIT_MISSING
                                                                         : LB_EXIT_OK;
  static const char *const word[] = {"as expected", "", "", "NOT as expected", "undecided", "incomplete"};
  int n = (int)lock_verdict_line(tally, line, size > 2 * COUNTS_ROOM ? size - COUNTS_ROOM : size / 2);
  if (n) n += snprintf(line + n, size - (size_t)n, ". ");
  n += snprintf(line + n, size - (size_t)n, "%c%s: %zu cell%s: %d safe, %d violated",
                n ? toupper(word[code][0]) : word[code][0], word[code] + 1, tally->plan->cell_count,
                tally->plan->cell_count == 1 ? "" : "s", safe, violated);
  /* What is 0 is not mentioned, but for safe and violated: a reader looks for both. */
  const struct {
    int count;
    const char *what;
  } more[] = {{stuck, "stuck"},
              {delayed, "delayed"},
              {mixed, "mixed"},
              {undecided, "undecided"},
              {skipped, "skipped"},
              {na, "n/a"},
              {not_run, "not run"},
              {unexpected, "against expectation"},
              {unpredicted, "not as predicted"}};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++)
    if (more[i].count && n > 0 && (size_t)n < size)
      n += snprintf(line + n, size - (size_t)n, ", %d %s", more[i].count, more[i].what);
  return code;
}

enum lb_exit lb_exit_of_stopped(const struct lb_tally *tally, bool on_time, char *line, size_t size) {
  char known[sizeof((struct lb_run_info *)0)->verdict];
  enum lb_exit code =
      tally->plan->judging ? lb_judging_exit(tally, known, sizeof known) : lb_exit_of_run(tally, known, sizeof known);
  bool whole = tally->done == tally->plan->job_count, shard = !whole && tally->done == tally->wanted;
  if (whole) snprintf(line, size, "%s", known);
  else
    snprintf(line, size, "%s, %zu of %zu trials: %s", shard ? "a shard" : "partial", tally->done,
             tally->plan->job_count, known);
  return whole || on_time ? code : shard ? LB_EXIT_OK : LB_EXIT_STOPPED;
}
