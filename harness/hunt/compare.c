/* SPDX-License-Identifier: MIT
 *
 * Scenarios beside sets: which sets are in a scenario, and where it and the hunt differ, why.
 */
#include "compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run/fit.h"
#include "run/settings.h"
#include "run/system.h"
#include "theory/theory.h"

static const char *const names[LB_HUNT_RELATION_COUNT] = {"explained", "unexplained", "agrees", "contradicted", "not comparable"};
const char *lb_hunt_relation_name(enum lb_hunt_relation relation) { return names[relation]; }

/* ---- a set beside a scenario ----------------------------------------------------------------------------------------- */

/* Until after a takeover or for good is the same to who asks in between. A client that is cut off is healed whenever. */
static bool same_undo(struct lb_hunt_fault of_set, struct lb_hunt_fault deed) {
  if (of_set.undo == LB_HUNT_STAYS || lb_hunt_of_client(of_set)) return true;
  return (of_set.undo == LB_HUNT_MID) == (deed.undo == LB_HUNT_MID);
}

static bool same_slot(const struct lb_hunt_system *s, struct lb_hunt_fault of_set, struct lb_hunt_fault deed) {
  if (of_set.slot == deed.slot) return true;
  struct lb_hunt_timeline at_a = {.fault_count = 1, .fault = {deed}}, other;
  at_a.pruned = lb_hunt_prune(s, &at_a);
  return at_a.pruned == LB_HUNT_SAME_AS_H && lb_hunt_stand_in(s, &at_a, &other) && other.fault[0].slot == of_set.slot;
}

static bool does(const struct lb_hunt_system *s, struct lb_hunt_fault of_set, struct lb_hunt_fault deed) {
  struct lb_hunt_fault there = deed; /* as the set does it, to see whether it does it to fewer hosts */
  there.slot = of_set.slot, there.undo = of_set.undo;
  return (lb_hunt_fault_equal(of_set, there) || lb_hunt_is_fewer(of_set, there)) && same_slot(s, of_set, deed) && same_undo(of_set, deed);
}

/* All faults of the timeline are among those of the scenario, in their order. What breaks only where leases are short needs one that is renewed or ends. */
static bool is_in(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t, const struct lb_hunt_deeds *d) {
  size_t found = 0;
  for (size_t i = 0; i < d->count && found < t->fault_count; i++) found += does(s, t->fault[found], d->deed[i]);
  return found == t->fault_count && (t->regime != LB_HUNT_SHORT || d->renews || d->ends);
}

/* How little it says: a minimal set that loses exclusion most, then one that does damage or repeats numbers, one that broke in some trials only least. */
static int rank(const struct lb_hunt_set *set) {
  enum { STANDINGS = LB_HUNT_SOMETIMES + 1, SOME = 2 * STANDINGS };
  if (set->broke < set->decided) return SOME;
  return (int)set->standing + (set->class > LB_HUNT_EXPIRED ? STANDINGS : 0);
}

/* The best set in it, which broke every time; `some`: or, where there is none, in some trials. -1 = there is none. */
static ptrdiff_t find_set(const struct lb_hunt *h, const struct lb_hunt_deeds *d, bool some) {
  ptrdiff_t best = -1;
  for (size_t i = 0; i < h->sets.count; i++) {
    const struct lb_hunt_set *set = &h->sets.set[i];
    bool better = best < 0 ? some || set->broke == set->decided : rank(set) < rank(&h->sets.set[best]);
    if (better && is_in(&h->space.system, &h->space.timeline[set->timeline], d)) best = (ptrdiff_t)i;
  }
  return best;
}

/* Of a timeline that is in the scenario and has as many faults: it does one of them to fewer hosts. */
static bool hits_fewer(const struct lb_hunt_timeline *t, const struct lb_hunt_deeds *d) {
  for (size_t i = 0; i < t->fault_count; i++) {
    struct lb_hunt_fault there = d->deed[i];
    there.slot = t->fault[i].slot, there.undo = t->fault[i].undo;
    if (lb_hunt_is_fewer(t->fault[i], there)) return true;
  }
  return false;
}

/* The very timeline of the scenario: has the hunt run it, and was it safe every time? */
static enum lb_hunt_why look_it_up(const struct lb_hunt *h, const struct lb_hunt_deeds *d) {
  for (size_t i = 0; i < h->space.count; i++) {
    const struct lb_hunt_timeline *t = &h->space.timeline[i];
    if (t->fault_count != d->count || !is_in(&h->space.system, t, d) || hits_fewer(t, d)) continue;
    const struct lb_hunt_count *count = lb_hunt_seen(&h->book, i);
    if (lb_hunt_decided(count) > 0 && lb_hunt_violated(count) == 0) return LB_HUNT_WHY_SAFE;
  }
  return LB_HUNT_WHY_UNRUN;
}

/* ---- a scenario ------------------------------------------------------------------------------------------------------ */

/* An option of this lock that the hunt was not played with. */
static bool sets_another(const struct lb_hunt *h, const struct lb_scenario *scenario, const char *const settings[], size_t setting_count) {
  size_t name = strcspn(h->space.system.name, "@");
  for (size_t i = 0; i < scenario->option_count; i++) {
    const char *option = scenario->options[i];
    bool own = strncmp(option, h->space.system.name, name) == 0 && option[name] == '.', known = false;
    for (size_t j = 0; j < setting_count; j++) known |= strcmp(settings[j], option) == 0;
    if (own && !known) return true;
  }
  return false;
}

static struct lb_hunt_told tell(const struct lb_hunt *h, const struct lb_hunt_deeds *d, const char *name, enum lb_verdict expected) {
  struct lb_hunt_told told = {.relation = LB_HUNT_AGREES, .expected = expected, .form = ""};
  ptrdiff_t set = find_set(h, d, expected == LB_VIOLATED);
  bool option = d->foreign == LB_HUNT_WHY_OPTION;
  snprintf(told.name, sizeof told.name, "%s", name);
  if (set >= 0) told.set = (size_t)set;
  if (expected == LB_VIOLATED && set >= 0 && !option) {
    told.relation = LB_HUNT_EXPLAINED;
  } else if (d->foreign) {
    told.relation = LB_HUNT_FOREIGN, told.why = d->foreign, told.form = d->form;
  } else if (expected == LB_VIOLATED) {
    told.relation = LB_HUNT_UNEXPLAINED, told.why = d->ends ? LB_HUNT_WHY_ENDS : look_it_up(h, d);
  } else if (set >= 0) {
    told.relation = LB_HUNT_CONTRADICTED;
    told.why = d->count > h->space.timeline[h->sets.set[set].timeline].fault_count ? LB_HUNT_WHY_MORE : LB_HUNT_WHY_SAME;
  }
  return told;
}

static void mark_written(const struct lb_hunt *h, const struct lb_hunt_deeds *d, bool *written) {
  for (size_t i = 0; i < h->sets.count; i++) {
    const struct lb_hunt_set *set = &h->sets.set[i];
    bool there = is_in(&h->space.system, &h->space.timeline[set->timeline], d) || is_in(&h->space.system, &h->space.timeline[set->simplest.timeline], d);
    if (!there) continue;
    for (size_t j = 0; j < h->sets.count; j++) written[j] |= i == j || lb_hunt_alike(&h->space, set, &h->sets.set[j]);
  }
}

/* What comes out there; of a cell that means nothing, or that nobody expects anything of, LB_NA. */
static enum lb_verdict expected_of(const struct lb_hunt *h, const struct lb_scenario *scenario) {
  char why[300];
  struct lb_system system;
  if (lb_system_parse(h->space.system.name, &system, why, sizeof why) < 0 || !lb_scenario_asks(scenario, system.name)) return LB_NA;
  if (lb_fit(scenario, system.protocol, system.topology, h->book.guard, why, sizeof why) == LB_NA) return LB_NA;
  union lb_value *options = lb_settings_options(system.protocol, (const char *const *)scenario->options, scenario->option_count);
  enum lb_verdict verdict = options ? lb_theory_expects(scenario, system.protocol, options, system.topology, h->book.guard) : LB_NA;
  free(options);
  return verdict;
}

static int add_scenario(const struct lb_hunt *h, const struct lb_scenario *scenario, const char *const settings[], size_t setting_count,
                        struct lb_hunt_comparison *ret) {
  enum lb_verdict expected = scenario->kind == LB_KIND_TIMELINE ? expected_of(h, scenario) : LB_NA;
  if (expected != LB_SAFE && expected != LB_VIOLATED) return 0;
  struct lb_hunt_told *grown = realloc(ret->scenario, (ret->count + 1) * sizeof *grown);
  if (!grown) return -ENOMEM;
  ret->scenario = grown;
  struct lb_hunt_deeds d = lb_hunt_deeds_of(scenario, &h->space.system);
  if (sets_another(h, scenario, settings, setting_count)) d.foreign = LB_HUNT_WHY_OPTION, d.form = "";
  grown[ret->count++] = tell(h, &d, scenario->name, expected);
  if (expected == LB_VIOLATED && d.foreign != LB_HUNT_WHY_OPTION) mark_written(h, &d, ret->written);
  return 0;
}

int lb_hunt_compare(const struct lb_hunt *h, const char *const settings[], size_t setting_count, const char *folder, struct lb_hunt_comparison *ret,
                    char *err, size_t err_size) {
  char **scenario_names = NULL, **paths = NULL;
  size_t count = 0;
  *ret = (struct lb_hunt_comparison){.written = calloc(h->sets.count + 1, sizeof *ret->written)};
  int r = ret->written ? lb_scenario_list(folder, &scenario_names, &paths, &count) : -ENOMEM;
  if (r < 0) snprintf(err, err_size, "cannot read %s: %s", folder, strerror(-r));
  for (size_t i = 0; i < count; i++) {
    struct lb_scenario scenario;
    if (r == 0) r = lb_scenario_load(paths[i], &scenario, err, err_size);
    if (r == 0) r = add_scenario(h, &scenario, settings, setting_count, ret), lb_scenario_clear(&scenario);
    free(scenario_names[i]);
    free(paths[i]);
  }
  free(scenario_names);
  free(paths);
  if (r < 0) lb_hunt_comparison_clear(ret);
  return r < 0 ? r : 0;
}

void lb_hunt_comparison_clear(struct lb_hunt_comparison *comparison) {
  free(comparison->scenario);
  free(comparison->written);
  *comparison = (struct lb_hunt_comparison){0};
}
