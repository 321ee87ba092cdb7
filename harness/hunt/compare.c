/* SPDX-License-Identifier: MIT
 *
 * Scenarios beside sets: which sets are in a scenario, and where it and the hunt differ, why.
 */
#include "compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/fit.h"
#include "plan/settings.h"
#include "plan/system.h"
#include "scenario/scenario_load.h"
#include "theory/theory.h"
#include "base/need.h"

static const char *const names[LB_HUNT_RELATION_COUNT] = {"explained", "unexplained", "agrees", "contradicted",
                                                          "not comparable"};
const char *lb_hunt_relation_name(enum lb_hunt_relation relation) { return names[relation]; }

/* ---- a set beside a scenario ------------------------------------------------------------------------------------- */

/* Until after a takeover or for good is the same to a client that asks in between. A client that is cut off is healed
 * whenever. */
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
  return (lb_hunt_fault_equal(of_set, there) || lb_hunt_is_fewer(of_set, there)) && same_slot(s, of_set, deed) &&
         same_undo(of_set, deed);
}

/* All faults of the timeline are among those of the scenario, in their order. What breaks only where leases are short
 * needs one that is renewed or ends. */
static bool is_in(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t, const struct lb_hunt_deeds *d) {
  size_t found = 0;
  for (size_t i = 0; i < d->count && found < t->fault_count; i++) found += does(s, t->fault[found], d->deed[i]);
  return found == t->fault_count && (t->regime != LB_HUNT_SHORT || d->renews || d->ends);
}

/* How little it says: a minimal set that loses exclusion most, then one that does damage or repeats numbers, one that
 * broke in some trials only least. */
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

/* True if this timeline does a fault of the scenario to fewer hosts. It has as many faults, and is in the scenario. */
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
    const struct lb_hunt_count *count = lb_hunt_seen(&h->journal, i);
    if (lb_hunt_decided(count) > 0 && lb_hunt_violated(count) == 0) return LB_HUNT_WHY_SAFE;
  }
  return LB_HUNT_WHY_UNRUN;
}

/* ---- a scenario -------------------------------------------------------------------------------------------------- */

/* An option of this lock that the hunt was not played with. */
static bool sets_another(const struct lb_hunt *h, const struct lb_scenario *scenario, const char *const settings[],
                         size_t setting_count) {
  size_t name = strcspn(h->space.system.name, "@");
  for (size_t i = 0; i < scenario->option_count; i++) {
    const char *option = scenario->options[i];
    bool own = strncmp(option, h->space.system.name, name) == 0 && option[name] == '.', known = false;
    for (size_t j = 0; j < setting_count; j++) known |= strcmp(settings[j], option) == 0;
    if (own && !known) return true;
  }
  return false;
}

static struct lb_hunt_told tell(const struct lb_hunt *h, const struct lb_hunt_deeds *d, const char *name,
                                enum lb_verdict expected) {
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
    told.why =
        d->count > h->space.timeline[h->sets.set[set].timeline].fault_count ? LB_HUNT_WHY_MORE : LB_HUNT_WHY_SAME;
  }
  return told;
}

static void mark_written(const struct lb_hunt *h, const struct lb_hunt_deeds *d, bool *written) {
  for (size_t i = 0; i < h->sets.count; i++) {
    const struct lb_hunt_set *set = &h->sets.set[i];
    bool there = is_in(&h->space.system, &h->space.timeline[set->timeline], d) ||
                 is_in(&h->space.system, &h->space.timeline[set->simplest.timeline], d);
    if (!there) continue;
    for (size_t j = 0; j < h->sets.count; j++) written[j] |= i == j || lb_hunt_alike(&h->space, set, &h->sets.set[j]);
  }
}

/* The verdict that the scenario expects there. LB_NA if the question means nothing, or nothing is expected. */
static enum lb_verdict expected_of(const struct lb_hunt *h, const struct lb_scenario *scenario) {
  struct lb_error why;
  struct lb_system system;
  if (lb_system_parse(h->space.system.name, &system, &why) < 0 || !lb_scenario_asks(scenario, system.name))
    return LB_NA;
  if (lb_fit(scenario, system.protocol, system.topology, h->journal.guard, why.text, sizeof why.text) == LB_NA)
    return LB_NA;
  union lb_value *options =
      lb_settings_options(system.protocol, (const char *const *)scenario->options, scenario->option_count);
  enum lb_verdict verdict =
      options ? lb_theory_expects(scenario, system.protocol, options, system.topology, h->journal.guard) : LB_NA;
  free(options);
  return verdict;
}

static void add_scenario(const struct lb_hunt *h, const struct lb_scenario *scenario, const char *const settings[],
                         size_t setting_count, struct lb_hunt_comparison *ret) {
  enum lb_verdict expected = scenario->kind == LB_KIND_TIMELINE ? expected_of(h, scenario) : LB_NA;
  if (expected != LB_SAFE && expected != LB_VIOLATED) return;
  struct lb_hunt_deeds d = lb_hunt_deeds_of(scenario, &h->space.system);
  if (sets_another(h, scenario, settings, setting_count)) d.foreign = LB_HUNT_WHY_OPTION, d.form = "";
  LB_APPEND(ret->scenario, ret->count) = tell(h, &d, scenario->name, expected);
  if (expected == LB_VIOLATED && d.foreign != LB_HUNT_WHY_OPTION) mark_written(h, &d, ret->written);
}

int lb_hunt_compare(const struct lb_hunt *h, const char *const settings[], size_t setting_count, const char *folder,
                    struct lb_hunt_comparison *ret, struct lb_error *err) {
  char **scenario_names = NULL, **paths = NULL;
  size_t count = 0;
  *ret = (struct lb_hunt_comparison){.written = lb_need(calloc(h->sets.count + 1, sizeof *ret->written))};
  int r = lb_scenario_list(folder, &scenario_names, &paths, &count);
  if (r < 0) lb_error(err, r, "cannot read %s: %s", folder, strerror(-r));
  for (size_t i = 0; i < count; i++) {
    struct lb_scenario scenario;
    if (r == 0) r = lb_scenario_load(paths[i], &scenario, err);
    if (r == 0) add_scenario(h, &scenario, settings, setting_count, ret), lb_scenario_clear(&scenario);
    free(scenario_names[i]);
    free(paths[i]);
  }
  free(scenario_names);
  free(paths);
  if (r < 0) lb_hunt_comparison_clear(ret);
  return r;
}

void lb_hunt_comparison_clear(struct lb_hunt_comparison *comparison) {
  free(comparison->scenario);
  free(comparison->written);
  *comparison = (struct lb_hunt_comparison){0};
}

/* Steps as faults of the hunt. The program of a scenario is looked for in its steps: where client 1 asks, is granted,
 * writes and releases; a fault between two of these is one of that slot. */

static const char *const texts[LB_HUNT_WHY_COUNT] = {
    [LB_HUNT_NO_WHY] = "",
    [LB_HUNT_WHY_VERB] = "a fault that the hunt does not know",
    [LB_HUNT_WHY_PART] = "done to hosts that the hunt does not tell apart",
    [LB_HUNT_WHY_LONGER] = "a server comes back when every lease is over, in the hunt before that",
    [LB_HUNT_WHY_START] = "a dead client starts again, which the hunt does not do",
    [LB_HUNT_WHY_OPTION] = "it sets an option of the lock that the hunt did not set",
    [LB_HUNT_WHY_ENDS] = "a lease that nobody renews ends while its holder works, which the hunt never lets happen",
    [LB_HUNT_WHY_UNRUN] = "the hunt has not run such a timeline: too many faults, a bound, or no time",
    [LB_HUNT_WHY_SAFE] = "the same timeline was safe in the hunt",
    [LB_HUNT_WHY_MORE] = "the scenario does more, and what it does more may hide it",
    [LB_HUNT_WHY_SAME] = "the hunt has the same timeline",
};
const char *lb_hunt_why_text(enum lb_hunt_why why) { return texts[why]; }

/* ---- the program of a scenario ----------------------------------------------------------------------------------- */

struct program { /* indices of steps of client 1; the number of steps = it never comes */
  size_t asks, granted, writes, releases;
};

static bool is_of_1(const struct lb_step *s, enum lb_verb verb) {
  return s->verb == verb && s->a.kind == LB_ROLE_CLIENT && s->a.number == 1;
}

static size_t find(const struct lb_scenario *s, enum lb_verb verb, size_t from) {
  while (from < s->step_count && !is_of_1(&s->steps[from], verb)) from++;
  return from;
}

/* The step by which a client has its grant: it is waited for, or uses the resource. Its request may run beside the
 * steps in between. */
static size_t find_granted(const struct lb_scenario *s, size_t asks) {
  if (asks == s->step_count || s->steps[asks].verb == LB_STEP_ACQUIRE) return asks;
  for (size_t i = asks + 1; i < s->step_count; i++)
    if (is_of_1(&s->steps[i], LB_STEP_AWAIT_HOLDS) || is_of_1(&s->steps[i], LB_STEP_READ) ||
        is_of_1(&s->steps[i], LB_STEP_WRITE))
      return i;
  return s->step_count;
}

static struct program find_program(const struct lb_scenario *s) {
  struct program p = {.asks = s->step_count, .writes = find(s, LB_STEP_WRITE, 0)};
  size_t late = find(s, LB_STEP_WRITE_LATE, 0);
  if (late < p.writes) p.writes = late;
  for (size_t i = 0; i < p.writes; i++)
    if (is_of_1(&s->steps[i], LB_STEP_ACQUIRE) || is_of_1(&s->steps[i], LB_STEP_BEGIN_ACQUIRE)) p.asks = i;
  p.granted = find_granted(s, p.asks);
  p.releases = find(s, LB_STEP_RELEASE, p.writes);
  return p;
}

static enum lb_hunt_slot slot_of(const struct program *p, size_t step) {
  if (step < p->asks) return LB_HUNT_BEFORE;
  if (step < p->granted) return LB_HUNT_ASKING;
  if (step < p->writes) return LB_HUNT_HOLDING;
  return step < p->releases ? LB_HUNT_DONE : LB_HUNT_WOKEN;
}

/* How long the steps between two of them may take: what waits for another server to take over is not counted, as it is
 * over when it has. */
static int64_t lasts_ms(const struct lb_scenario *s, size_t from, size_t to) {
  int64_t sum = 0;
  for (size_t i = from + 1; i < to && i < s->step_count; i++) {
    enum lb_verb verb = s->steps[i].verb;
    if (verb == LB_STEP_WAIT || verb == LB_STEP_ACQUIRE || verb == LB_STEP_AWAIT_HOLDS) sum += s->steps[i].within_ms;
  }
  return sum;
}

/* ---- hosts ------------------------------------------------------------------------------------------------------- */

enum { NOBODY = -1, OTHERS = -2 }; /* no host has this role; hosts that no target of the hunt is */

static int node_target(const struct lb_hunt_system *s, int number) {
  if (number == 1) return LB_HUNT_P;
  if (s->servers == LB_HUNT_INDEPENDENT && s->count > 3 && number > (int)s->count / 2 + 1) return LB_HUNT_ONE;
  return s->others && number == (int)s->count && s->count <= 3 ? LB_HUNT_F : OTHERS;
}

static int target_of(const struct lb_hunt_system *s, struct lb_role role) {
  bool one = s->count < 2;
  if (lb_role_is_relative(role) && role.number) return OTHERS; /* who took over */
  switch (role.kind) {
    case LB_ROLE_PRIMARY:
    case LB_ROLE_CURRENT_PRIMARY: return LB_HUNT_P;
    case LB_ROLE_SERVER_OF: return role.number == 1 || one ? LB_HUNT_P : OTHERS;
    case LB_ROLE_NODE: return node_target(s, role.number);
    case LB_ROLE_REPLICAS: return one ? NOBODY : s->count == 2 ? LB_HUNT_F : OTHERS;
    case LB_ROLE_PARTNERS: return one ? NOBODY : OTHERS;
    case LB_ROLE_MINORITY: return s->count < 3 ? NOBODY : LB_HUNT_F;
    case LB_ROLE_MAJORITY: return one ? LB_HUNT_P : s->count < 3 ? LB_HUNT_ALL : LB_HUNT_MOST;
    case LB_ROLE_ALL: return one ? LB_HUNT_P : LB_HUNT_ALL;
    case LB_ROLE_HOLDER: return LB_HUNT_C1;
    case LB_ROLE_WAITERS: return LB_HUNT_C2;
    case LB_ROLE_CLIENT: return role.number == 1 ? LB_HUNT_C1 : role.number == 2 ? LB_HUNT_C2 : OTHERS;
    default: return OTHERS;
  }
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static void know_not(struct lb_hunt_deeds *d, enum lb_hunt_why why, const struct lb_step *step) {
  if (d->foreign) return;
  d->foreign = why;
  d->form = why == LB_HUNT_WHY_VERB ? lb_step_row(step)->form : "";
}

/* The kind of a cut. A client's is of some servers or all; a server's of all others, or of the replicas only. False if
 * no letter says so. */
static bool cut_of(const struct lb_hunt_system *s, const struct lb_step *step, int *ret_target,
                   enum lb_hunt_kind *ret) {
  bool a = lb_role_is_client(step->a), client = a || lb_role_is_client(step->b);
  int from = target_of(s, a ? step->b : step->a), other = target_of(s, a ? step->a : step->b);
  if (from == LB_HUNT_MOST) from = LB_HUNT_ALL; /* the others alone decide nothing */
  if (other == LB_HUNT_MOST) other = LB_HUNT_ALL;
  if (client) {
    *ret_target = from == NOBODY ? NOBODY : other;
    *ret = from == LB_HUNT_ALL || (from == LB_HUNT_P && s->count < 2) ? LB_HUNT_CUT_OFF
           : from == LB_HUNT_ONE                                      ? LB_HUNT_CUT_ONE
                                                                      : LB_HUNT_CUT;
    return *ret == LB_HUNT_CUT_OFF || other == LB_HUNT_C1;
  }
  *ret_target = s->count < 2 || from == NOBODY || other == NOBODY ? NOBODY : from;
  *ret = step->b.kind == LB_ROLE_REPLICAS && s->watched ? LB_HUNT_PART : LB_HUNT_ISOLATE;
  return s->count < 3 || step->b.kind == LB_ROLE_REPLICAS || other == LB_HUNT_ALL;
}

/* Those that have no undo of their own in the hunt stay. */
static enum lb_hunt_undo undo_of(const struct lb_scenario *s, const struct program *p, size_t at,
                                 enum lb_hunt_why *ret_why) {
  bool took_over = false;
  size_t i = at + 1;
  for (; i < s->step_count && !lb_step_undoes(&s->steps[i], &s->steps[at]); i++)
    took_over |= s->steps[i].verb == LB_STEP_AWAIT_FAILOVER;
  bool holding = i < p->writes, longer = lasts_ms(s, at, i) >= s->ttl_ms;
  if (i < s->step_count && longer && !took_over && at >= p->granted) *ret_why = LB_HUNT_WHY_LONGER;
  if (i == s->step_count || !holding) return LB_HUNT_GONE;
  return took_over ? LB_HUNT_AFTER : LB_HUNT_MID;
}

static bool kind_of(const struct lb_hunt_system *s, const struct lb_step *step, int *ret_target,
                    enum lb_hunt_kind *ret) {
  *ret_target = target_of(s, step->a);
  switch (step->verb) {
    case LB_STEP_CUT: return cut_of(s, step, ret_target, ret);
    case LB_STEP_KILL:
    case LB_STEP_CRASH_AT: return *ret = LB_HUNT_KILL, true;
    case LB_STEP_PAUSE:
    case LB_STEP_STOP_AT: return *ret = LB_HUNT_PAUSE, true;
    case LB_STEP_RESTART: return *ret = LB_HUNT_RESTART, true;
    case LB_STEP_CLOCK_JUMP: return *ret = step->offset_ms > 0 ? LB_HUNT_AHEAD : LB_HUNT_BACK, !step->monotonic;
    case LB_STEP_CLOCK_RATE: return *ret = step->rate > 1 ? LB_HUNT_FAST : LB_HUNT_SLOW, true;
    default: return false;
  }
}

/* A restart of a server that was killed, shut down or powered off takes that back. */
static bool takes_back(const struct lb_scenario *s, size_t at) {
  for (size_t i = at; i-- > 0;) {
    if (s->steps[i].verb == LB_STEP_RESTART && lb_role_equal(s->steps[i].a, s->steps[at].a)) return false;
    if (s->steps[at].verb == LB_STEP_RESTART && lb_step_undoes(&s->steps[at], &s->steps[i])) return true;
  }
  return false;
}

static void add_fault(struct lb_hunt_deeds *d, const struct lb_scenario *s, const struct lb_hunt_system *system,
                      const struct program *p, size_t at) {
  const struct lb_step *step = &s->steps[at];
  enum lb_hunt_kind kind = LB_HUNT_KIND_COUNT;
  int target;
  bool known = kind_of(system, step, &target, &kind);
  if (target == NOBODY || takes_back(s, at)) return;
  if (!known) {
    know_not(d, step->verb == LB_STEP_CUT ? LB_HUNT_WHY_PART : LB_HUNT_WHY_VERB, step);
    return;
  }
  if (target == OTHERS || d->count == LB_HUNT_DEEDS_MAX) {
    know_not(d, LB_HUNT_WHY_PART, step);
    return;
  }
  struct lb_hunt_fault f = {.kind = kind, .target = (enum lb_hunt_target)target, .slot = slot_of(p, at)};
  enum lb_hunt_why why = LB_HUNT_NO_WHY;
  bool own = kind == LB_HUNT_KILL || kind == LB_HUNT_PAUSE || kind == LB_HUNT_ISOLATE || kind == LB_HUNT_PART;
  if (step->verb == LB_STEP_STOP_AT || step->verb == LB_STEP_CRASH_AT)
    f.slot = at < p->asks ? LB_HUNT_ASKING : LB_HUNT_CHECKED;
  if (own && !lb_hunt_of_client(f)) f.undo = undo_of(s, p, at, &why);
  if (why) know_not(d, why, step);
  d->deed[d->count++] = f;
}

struct lb_hunt_deeds lb_hunt_deeds_of(const struct lb_scenario *s, const struct lb_hunt_system *system) {
  struct lb_hunt_deeds d = {.renews = s->renew, .form = ""};
  struct program p = find_program(s);
  bool dead = false;
  for (size_t i = 0; i < s->step_count; i++) {
    const struct lb_step *step = &s->steps[i];
    if (step->verb == LB_STEP_START) know_not(&d, LB_HUNT_WHY_START, step);
    if (lb_step_row(step)->class == LB_STEP_FAULT && !dead) add_fault(&d, s, system, &p, i);
    dead |= i >= p.asks && (is_of_1(step, LB_STEP_KILL) || is_of_1(step, LB_STEP_CRASH_AT));
  }
  d.ends = !s->renew && lasts_ms(s, p.granted, p.releases) >= s->ttl_ms;
  return d;
}

/* ---- What a hunt says of the scenarios that people have written: for people, and as scenarios.csv. ---- */

/* Those that are told in one breath: the same relation, for the same reason. */
static bool same_breath(const struct lb_hunt_told *a, const struct lb_hunt_told *b) {
  return a->relation == b->relation && a->why == b->why && strcmp(a->form, b->form) == 0;
}

static bool has_set(const struct lb_hunt_told *t) {
  return t->relation == LB_HUNT_EXPLAINED || t->relation == LB_HUNT_CONTRADICTED;
}

static void tell_why(const struct lb_hunt_told *t, FILE *out) {
  fputs(lb_hunt_why_text(t->why), out);
  if (*t->form) fprintf(out, ": %s", t->form);
}

/* " (02)", of one that is not known to be minimal how often it broke, and of one without a double hold what it did. */
static void tell_set(const struct lb_hunt *h, size_t index, FILE *out) {
  const struct lb_hunt_set *set = &h->sets.set[index];
  fprintf(out, " (%02zu", index + 1);
  if (set->standing != LB_HUNT_MINIMAL) fprintf(out, ", %u of %u", set->broke, set->decided);
  if (set->class > LB_HUNT_EXPIRED) fprintf(out, ", %s", lb_hunt_class_text(set->class));
  fputc(')', out);
}

static void tell_breath(const struct lb_hunt *h, const struct lb_hunt_comparison *c, size_t first, FILE *out) {
  for (size_t i = 0; i < first; i++)
    if (same_breath(&c->scenario[i], &c->scenario[first])) return;
  const struct lb_hunt_told *t = &c->scenario[first];
  fprintf(out, "  %s", lb_hunt_relation_name(t->relation));
  if (t->why) fputs(" (", out), tell_why(t, out), fputc(')', out);
  for (size_t i = first, count = 0; i < c->count; i++) {
    if (!same_breath(&c->scenario[i], t)) continue;
    fprintf(out, "%s%s", count++ ? ", " : ": ", c->scenario[i].name);
    if (has_set(t)) tell_set(h, c->scenario[i].set, out);
  }
  fputc('\n', out);
}

void lb_hunt_tell_scenarios(const struct lb_hunt *h, const struct lb_hunt_comparison *c, FILE *out) {
  char id[LB_HUNT_ID_MAX];
  size_t count = 0;
  if (c->count) fputs("Scenarios that state something for it (NN = hunt/NN.ini):\n", out);
  for (int relation = 0; relation < LB_HUNT_RELATION_COUNT; relation++)
    for (size_t i = 0; i < c->count; i++)
      if (c->scenario[i].relation == (enum lb_hunt_relation)relation) tell_breath(h, c, i, out);
  for (size_t i = 0; i < h->sets.count; i++) {
    if (c->written[i] || h->sets.set[i].standing != LB_HUNT_MINIMAL || !lb_hunt_is_first(&h->sets, &h->space, i))
      continue;
    lb_hunt_id(&h->space.timeline[h->sets.set[i].timeline], id);
    fprintf(out, "%s%s", count++ ? ", " : "  missing, no scenario has: ", id);
  }
  if (count) fputc('\n', out);
}

int lb_hunt_keep_scenarios(const struct lb_hunt *h, const struct lb_hunt_comparison *c, const char *folder) {
  char path[4200], id[LB_HUNT_ID_MAX];
  snprintf(path, sizeof path, "%s/scenarios.csv", folder);
  FILE *out = fopen(path, "we");
  if (!out) return -errno;
  fputs("scenario,expected,says,set,class,why\n", out);
  for (size_t i = 0; i < c->count; i++) {
    const struct lb_hunt_told *t = &c->scenario[i];
    *id = '\0';
    if (has_set(t)) lb_hunt_id(&h->space.timeline[h->sets.set[t->set].timeline], id);
    fprintf(out, "%s,%s,%s,%s,%s,\"", t->name, t->expected == LB_SAFE ? "safe" : "violated",
            lb_hunt_relation_name(t->relation), id, has_set(t) ? lb_hunt_outcome_name(h->sets.set[t->set].class) : "");
    tell_why(t, out);
    fputs("\"\n", out);
  }
  bool failed = ferror(out);
  return fclose(out) != 0 || failed ? -EIO : 0;
}
