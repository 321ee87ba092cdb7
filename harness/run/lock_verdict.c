/* SPDX-License-Identifier: MIT
 *
 * A lock is judged without a guard: under one, a verdict is about the resource. One that was only run
 * under guards is judged under the first of them, and the sentence names it.
 */
#include "lock_verdict.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* What has to be looked at comes first. A cell that was not run has LB_VERDICT_NONE if the run was cut short. */
static const enum lb_verdict order[] = {LB_VIOLATED, LB_MIXED, LB_STUCK, LB_DELAYED, LB_UNDECIDED, LB_VERDICT_NONE, LB_SKIPPED, LB_SAFE, LB_NA};
enum { ORDER = sizeof order / sizeof *order, NAMES_SHOWN = 4 };

static bool same_system(const struct lb_cell *a, const struct lb_cell *b) { return strcmp(a->system, b->system) == 0; }

/* The first cell of the system of this one, and the guard that its lock is judged under. */
static size_t first_of_system(const struct lb_plan *plan, size_t index, enum lb_guard *ret_guard) {
  size_t first = 0;
  while (!same_system(&plan->cells[first], &plan->cells[index])) first++;
  *ret_guard = plan->cells[first].guard;
  for (size_t i = first; i < plan->cell_count; i++)
    if (same_system(&plan->cells[i], &plan->cells[index]) && plan->cells[i].guard == LB_GUARD_NONE) *ret_guard = LB_GUARD_NONE;
  return first;
}

static bool judges(const struct lb_plan *plan, size_t index) {
  enum lb_guard guard;
  if (!plan->cells[index].own) return false;
  first_of_system(plan, index, &guard);
  return plan->cells[index].guard == guard;
}

enum lb_verdict lb_lock_verdict(const struct lb_tally *tally) {
  size_t best = ORDER;
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    if (!judges(tally->plan, i)) continue;
    const struct lb_cell_sum *cell = &tally->cells[i];
    enum lb_verdict verdict = cell->violated > 0 ? LB_VIOLATED : cell->verdict == LB_VERDICT_NONE ? LB_UNDECIDED : cell->verdict;
    for (size_t k = 0; k < best; k++)
      if (order[k] == verdict) best = k;
  }
  return best < ORDER ? order[best] : LB_VERDICT_NONE;
}

/* ---- the sentence ---------------------------------------------------------------------------- */

/* The protocol, unless another system of the user's has the same one. */
static void add_name(struct lb_text *text, const struct lb_plan *plan, size_t index, enum lb_guard guard) {
  const struct lb_cell *cell = &plan->cells[index];
  int length = (int)strcspn(cell->system, "@");
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].own && plan->cells[i].protocol == cell->protocol && !same_system(&plan->cells[i], cell)) length = (int)strlen(cell->system);
  lb_text_add(text, "%s%.*s", text->length ? ". " : "", length, cell->system);
  if (guard != LB_GUARD_NONE) lb_text_add(text, " under guard %s", lb_guard_name(guard));
}

static bool counts(const struct lb_plan *plan, size_t index, const struct lb_cell *first, enum lb_guard guard) {
  return plan->cells[index].guard == guard && same_system(&plan->cells[index], first);
}

/* " (failover, pause-holder)": in which scenarios it came to this. */
static void add_scenarios(struct lb_text *text, const struct lb_tally *tally, const struct lb_cell *first, enum lb_guard guard, enum lb_verdict verdict, size_t count) {
  size_t named = 0;
  for (size_t i = 0; i < tally->plan->cell_count && named < NAMES_SHOWN; i++)
    if (counts(tally->plan, i, first, guard) && tally->cells[i].verdict == verdict)
      lb_text_add(text, "%s%s", named++ ? ", " : " (", tally->plan->cells[i].scenario->name);
  if (count > named) lb_text_add(text, " and %zu more", count - named);
  lb_text_add(text, ")");
}

static const char *word(enum lb_verdict verdict) { return verdict == LB_VERDICT_NONE ? "not run" : lb_verdict_name(verdict); }

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

size_t lb_lock_verdict_line(const struct lb_tally *tally, char *line, size_t size) {
  struct lb_text text = {line, size, 0};
  line[0] = '\0';
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    enum lb_guard guard;
    if (tally->plan->cells[i].own && first_of_system(tally->plan, i, &guard) == i) add_lock(&text, tally, i, guard);
  }
  return text.length;
}
