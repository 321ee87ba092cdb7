/* SPDX-License-Identifier: MIT
 *
 * Scenarios beside sets. A step is turned into what the alphabet of the hunt calls it: the primary that is cut off from its replicas is silenced as the
 * one that is cut off from all servers; who is killed and started again was restarted.
 */
#include "compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEEDS_MAX = 24 };

struct deed { /* what is done to whom */
  enum lb_hunt_kind kind;
  enum lb_hunt_target target;
};
struct deeds {
  struct deed deed[DEEDS_MAX];
  size_t count;
  bool foreign; /* a fault that the hunt does not know */
};

static const char *const names[LB_HUNT_RELATION_COUNT] = {"explained", "unexplained", "agrees", "contradicted", "not comparable"};
const char *lb_hunt_relation_name(enum lb_hunt_relation relation) { return names[relation]; }

/* ---- a scenario in the words of the hunt ----------------------------------------------------------------------------- */

static enum lb_hunt_target target_of(struct lb_role role) {
  switch (role.kind) {
    case LB_ROLE_PRIMARY:
    case LB_ROLE_CURRENT_PRIMARY:
    case LB_ROLE_SERVER_OF: return LB_HUNT_P;
    case LB_ROLE_NODE: return role.number == 1 ? LB_HUNT_P : LB_HUNT_F;
    case LB_ROLE_ALL:
    case LB_ROLE_MAJORITY: return LB_HUNT_ALL;
    case LB_ROLE_CLIENT: return role.number == 1 ? LB_HUNT_C1 : LB_HUNT_C2;
    case LB_ROLE_CLIENTS:
    case LB_ROLE_HOLDER: return LB_HUNT_C1;
    case LB_ROLE_WAITERS: return LB_HUNT_C2;
    default: return LB_HUNT_F;
  }
}

static bool has(const struct deeds *d, enum lb_hunt_kind kind, enum lb_hunt_target target) {
  for (size_t i = 0; i < d->count; i++)
    if (d->deed[i].kind == kind && d->deed[i].target == target) return true;
  return false;
}

static void add(struct deeds *d, enum lb_hunt_kind kind, enum lb_hunt_target target) {
  if (!has(d, kind, target) && d->count < DEEDS_MAX) d->deed[d->count++] = (struct deed){kind, target};
}

/* Of a client and servers it is a cut of the client; of servers, the one that is named first. */
static void add_cut(struct deeds *d, const struct lb_step *step) {
  bool a = lb_role_is_client(step->a), b = lb_role_is_client(step->b);
  struct lb_role client = a ? step->a : step->b, server = a ? step->b : step->a;
  if (!a && !b) add(d, LB_HUNT_ISOLATE, target_of(step->a));
  else add(d, server.kind == LB_ROLE_ALL || server.kind == LB_ROLE_PRIMARY ? LB_HUNT_CUT_OFF : LB_HUNT_CUT, target_of(client));
}

static void add_step(struct deeds *d, const struct lb_step *step) {
  if (lb_step_row(step)->class != LB_STEP_FAULT) return;
  switch (step->verb) {
    case LB_STEP_CUT: add_cut(d, step); return;
    case LB_STEP_KILL:
    case LB_STEP_CRASH_AT: add(d, LB_HUNT_KILL, target_of(step->a)); return;
    case LB_STEP_PAUSE:
    case LB_STEP_STOP_AT: add(d, LB_HUNT_PAUSE, target_of(step->a)); return;
    case LB_STEP_RESTART: add(d, LB_HUNT_RESTART, target_of(step->a)); return;
    case LB_STEP_CLOCK_JUMP: add(d, step->offset_ms > 0 ? LB_HUNT_AHEAD : LB_HUNT_BACK, target_of(step->a)); return;
    case LB_STEP_CLOCK_RATE: add(d, step->rate > 1 ? LB_HUNT_FAST : LB_HUNT_SLOW, target_of(step->a)); return;
    default: d->foreign = true;
  }
}

static struct deeds deeds_of(const struct lb_scenario *scenario) {
  struct deeds d = {0};
  for (size_t i = 0; i < scenario->step_count; i++) add_step(&d, &scenario->steps[i]);
  return d;
}

/* ---- a set beside a scenario ----------------------------------------------------------------------------------------- */

static bool does(const struct deeds *d, const struct lb_hunt_fault *fault) {
  enum lb_hunt_kind kind = fault->kind == LB_HUNT_PART ? LB_HUNT_ISOLATE : fault->kind;
  if (has(d, kind, fault->target)) return true;
  if (kind == LB_HUNT_CUT_OFF) return has(d, LB_HUNT_CUT, fault->target);
  return fault->target == LB_HUNT_P && has(d, kind, LB_HUNT_ALL);
}

/* All faults of the set are among those of the scenario. */
static bool covers(const struct deeds *d, const struct lb_hunt_timeline *t) {
  for (size_t i = 0; i < t->fault_count; i++)
    if (!does(d, &t->fault[i])) return false;
  return true;
}

/* The first minimal set that has only faults of the scenario; -1 = none. `late`: those after the lease, too. */
static ptrdiff_t find_set(const struct lb_hunt *h, const struct deeds *d, bool late) {
  for (size_t i = 0; i < h->sets.count; i++) {
    const struct lb_hunt_set *s = &h->sets.set[i];
    if (s->standing == LB_HUNT_MINIMAL && (late || s->class == LB_HUNT_LEASE) && covers(d, &h->space.timeline[s->timeline])) return (ptrdiff_t)i;
  }
  return -1;
}

static struct lb_hunt_told tell(const struct lb_hunt *h, const struct lb_scenario *scenario, enum lb_verdict expected) {
  struct deeds d = deeds_of(scenario);
  ptrdiff_t set = find_set(h, &d, expected == LB_VIOLATED);
  struct lb_hunt_told told = {.relation = LB_HUNT_FOREIGN, .set = set >= 0 ? (size_t)set : 0};
  snprintf(told.name, sizeof told.name, "%s", scenario->name);
  if (expected == LB_VIOLATED && set >= 0) told.relation = LB_HUNT_EXPLAINED;
  else if (d.foreign || d.count == 0) told.relation = LB_HUNT_FOREIGN;
  else if (expected == LB_VIOLATED) told.relation = LB_HUNT_UNEXPLAINED;
  else told.relation = set >= 0 ? LB_HUNT_CONTRADICTED : LB_HUNT_AGREES;
  return told;
}

static void mark_written(const struct lb_hunt *h, const struct lb_scenario *scenario, bool *written) {
  struct deeds d = deeds_of(scenario);
  for (size_t i = 0; i < h->sets.count; i++) written[i] |= covers(&d, &h->space.timeline[h->sets.set[i].timeline]);
}

/* ---- all scenarios --------------------------------------------------------------------------------------------------- */

static int add_scenario(const struct lb_hunt *h, const struct lb_scenario *scenario, struct lb_hunt_comparison *ret) {
  const struct lb_expect *expect = lb_scenario_expect(scenario, h->space.system.name, h->book.guard);
  if (scenario->kind != LB_KIND_TIMELINE || !expect || (expect->verdict != LB_SAFE && expect->verdict != LB_VIOLATED)) return 0;
  struct lb_hunt_told *grown = realloc(ret->scenario, (ret->count + 1) * sizeof *grown);
  if (!grown) return -ENOMEM;
  ret->scenario = grown;
  grown[ret->count++] = tell(h, scenario, expect->verdict);
  if (expect->verdict == LB_VIOLATED) mark_written(h, scenario, ret->written);
  return 0;
}

int lb_hunt_compare(const struct lb_hunt *h, const char *folder, struct lb_hunt_comparison *ret, char *err, size_t err_size) {
  char **scenario_names = NULL, **paths = NULL;
  size_t count = 0;
  *ret = (struct lb_hunt_comparison){.written = calloc(h->sets.count + 1, sizeof *ret->written)};
  int r = ret->written ? lb_scenario_list(folder, &scenario_names, &paths, &count) : -ENOMEM;
  if (r < 0) snprintf(err, err_size, "cannot read %s: %s", folder, strerror(-r));
  for (size_t i = 0; i < count; i++) {
    struct lb_scenario scenario;
    if (r == 0) r = lb_scenario_load(paths[i], &scenario, err, err_size);
    if (r == 0) r = add_scenario(h, &scenario, ret), lb_scenario_clear(&scenario);
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
