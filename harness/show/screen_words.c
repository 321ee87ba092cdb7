/* SPDX-License-Identifier: MIT
 *
 * Three sentences on a run. They are about locks that have servers: a mutex and the liar are controls of the harness.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "screen_parts.h"

enum { NAMES_SHOWN = 4 };

static bool is_lock(const struct lb_cell *cell) { return cell->own || (cell->topology && cell->topology->data_count > 0); }

static bool is_decided(const struct lb_cell_sum *cell) { return lb_cell_decided(cell) > 0; }

struct count {
  int asked, lost, stood; /* scenarios that were decided; of these lost; of these stuck or late */
  bool failover;          /* one was lost in a failover */
};

static bool has_failover(const struct lb_scenario *scenario) {
  for (size_t i = 0; i < scenario->step_count; i++)
    if (strstr(scenario->steps[i].text, "await failover")) return true;
  return false;
}

/* Nothing is asked of what is no lock. */
static struct count count_of(const struct lb_screen_grid *grid, size_t system) {
  struct count count = {0};
  for (size_t s = 0; s < grid->tally->plan->scenario_count; s++) {
    const struct lb_cell_sum *cell = lb_screen_cell(grid, s, system);
    if (!cell || !is_lock(cell->cell) || !is_decided(cell)) continue;
    count.asked++;
    count.lost += lb_screen_lost(cell);
    count.stood += cell->verdict == LB_STUCK || cell->verdict == LB_DELAYED;
    count.failover |= lb_screen_lost(cell) && has_failover(cell->cell->scenario);
  }
  return count;
}

/* ---- the sentences --------------------------------------------------------------------------- */

static void add_failovers(const struct lb_screen_grid *grid, struct lb_text *text) {
  size_t named = 0, all = 0;
  for (size_t i = 0; i < grid->systems_count; i++) {
    if (!count_of(grid, i).failover || all++ >= NAMES_SHOWN) continue;
    lb_text_add(text, "%s%s", named++ ? ", " : " A failover lost a held lock on ", grid->systems[i]);
  }
  if (all > named) lb_text_add(text, " and %zu more", all - named);
  if (named) lb_text_add(text, ".");
}

static void say_lost(const struct lb_screen_grid *grid, struct lb_text *text) {
  size_t locks = 0, lost = 0, named = 0;
  for (size_t i = 0; i < grid->systems_count; i++) {
    struct count count = count_of(grid, i);
    locks += count.asked > 0;
    lost += count.lost > 0;
  }
  if (!locks) return;
  if (!lost) return lb_text_add(text, "None of %zu lock%s lost exclusion.", locks, locks == 1 ? "" : "s");
  lb_text_add(text, "%zu of %zu locks lost exclusion in some scenarios: ", lost, locks);
  for (size_t i = 0; i < grid->systems_count && named < NAMES_SHOWN; i++) {
    struct count count = count_of(grid, i);
    if (count.lost) lb_text_add(text, "%s%s in %d of %d", named++ ? ", " : "", grid->systems[i], count.lost, count.asked);
  }
  if (lost > named) lb_text_add(text, " and %zu more", lost - named);
  lb_text_add(text, ".");
  add_failovers(grid, text);
}

static void say_kept(const struct lb_screen_grid *grid, struct lb_text *text) {
  size_t named = 0, kept = 0;
  for (size_t i = 0; i < grid->systems_count; i++) {
    struct count count = count_of(grid, i);
    if (!count.asked || count.lost || kept++ >= NAMES_SHOWN) continue;
    lb_text_add(text, "%s%s in %d scenario%s", named++ ? ", " : "Exclusion was kept by ", grid->systems[i], count.asked, count.asked == 1 ? "" : "s");
    if (count.stood) lb_text_add(text, " (stuck or late in %d)", count.stood);
  }
  if (kept > named) lb_text_add(text, " and %zu more", kept - named);
  lb_text_add(text, kept ? ". That is no proof: " : "What is `ok` is no proof: ");
  lb_text_add(text, "few trials of each fault were run, and other timings were not tried.");
}

struct guarded {
  int lost, kept; /* cells that lost exclusion without the guard; of these the data was right with it */
  const struct lb_cell_sum *damaged; /* one of which it was not */
};

static struct guarded guarded_by(const struct lb_screen_grid *grid, enum lb_guard guard) {
  struct guarded g = {0};
  for (size_t s = 0; s < grid->tally->plan->scenario_count; s++) {
    for (size_t i = 0; i < grid->systems_count; i++) {
      const struct lb_cell_sum *bare = lb_screen_at(grid, s, i, LB_GUARD_NONE), *cell = lb_screen_at(grid, s, i, guard);
      if (!bare || !cell || !is_lock(cell->cell) || !bare->violated || !is_decided(cell)) continue;
      g.lost++;
      if (!cell->violated) g.kept++;
      else if (!g.damaged) g.damaged = cell;
    }
  }
  return g;
}

static void say_guards(const struct lb_screen_grid *grid, struct lb_text *text) {
  const struct lb_cell_sum *damaged = NULL;
  for (int guard = LB_GUARD_NONE + 1; guard < LB_GUARD_COUNT; guard++) {
    struct guarded g = guarded_by(grid, (enum lb_guard)guard);
    if (!g.lost) continue;
    lb_text_add(text, "%s%s in %d of %d", text->length ? ", " : "Where exclusion was lost, the data stayed right with ", lb_guard_name((enum lb_guard)guard), g.kept, g.lost);
    if (guard == LB_GUARD_FENCE) damaged = g.damaged;
  }
  if (text->length) lb_text_add(text, ".");
  if (!damaged) return;
  lb_text_add(text, " The fence failed in %s on %s", damaged->cell->scenario->name, damaged->cell->system);
  lb_text_add(text, damaged->sum.token_regressions > 0 ? ": the later holder's number was not larger." : ".");
}

bool lb_screen_sentence(const struct lb_screen_grid *grid, size_t index, char *ret, size_t size) {
  static void (*const say[])(const struct lb_screen_grid *, struct lb_text *) = {say_lost, say_kept, say_guards};
  struct lb_text text = {ret, size, 0};
  ret[0] = '\0';
  if (index >= sizeof say / sizeof *say) return false;
  say[index](grid, &text);
  return true;
}

const struct lb_cell *lb_screen_most_telling(const struct lb_tally *tally) {
  const struct lb_cell *best = NULL;
  int most = 0;
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    const struct lb_cell_sum *cell = &tally->cells[i];
    int worth = cell->trials == 0                          ? 0
                : lb_cell_as_expected(cell) == 0           ? 4
                : !cell->violated || !is_lock(cell->cell) ? 0
                : has_failover(cell->cell->scenario)       ? 3
                                                           : 2;
    if (worth > most) most = worth, best = cell->cell;
  }
  return best;
}
