/* SPDX-License-Identifier: MIT
 *
 * Steps as faults of the hunt. The program of a scenario is looked for in its steps: where client 1 asks, is granted, writes and releases; a fault between two
 * of these is one of that slot.
 */
#include "deeds.h"

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

/* ---- the program of a scenario ----------------------------------------------------------------------------------------- */

struct program { /* indices of steps of client 1; the number of steps = it never comes */
  size_t asks, granted, writes, releases;
};

static bool is_of_1(const struct lb_step *s, enum lb_verb verb) { return s->verb == verb && s->a.kind == LB_ROLE_CLIENT && s->a.number == 1; }

static size_t find(const struct lb_scenario *s, enum lb_verb verb, size_t from) {
  while (from < s->step_count && !is_of_1(&s->steps[from], verb)) from++;
  return from;
}

/* Who asks beside the next steps has been granted when it is waited for, or does something. */
static size_t find_granted(const struct lb_scenario *s, size_t asks) {
  if (asks == s->step_count || s->steps[asks].verb == LB_STEP_ACQUIRE) return asks;
  for (size_t i = asks + 1; i < s->step_count; i++)
    if (is_of_1(&s->steps[i], LB_STEP_AWAIT_HOLDS) || is_of_1(&s->steps[i], LB_STEP_READ) || is_of_1(&s->steps[i], LB_STEP_WRITE)) return i;
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

/* How long the steps between two of them may take: what waits for another server to take over is not counted, as it is over when it has. */
static int64_t lasts_ms(const struct lb_scenario *s, size_t from, size_t to) {
  int64_t sum = 0;
  for (size_t i = from + 1; i < to && i < s->step_count; i++) {
    enum lb_verb verb = s->steps[i].verb;
    if (verb == LB_STEP_WAIT || verb == LB_STEP_ACQUIRE || verb == LB_STEP_AWAIT_HOLDS) sum += s->steps[i].within_ms;
  }
  return sum;
}

/* ---- hosts ------------------------------------------------------------------------------------------------------------ */

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

/* ---- faults ----------------------------------------------------------------------------------------------------------- */

static void know_not(struct lb_hunt_deeds *d, enum lb_hunt_why why, const struct lb_step *step) {
  if (d->foreign) return;
  d->foreign = why;
  d->form = why == LB_HUNT_WHY_VERB ? lb_step_row(step)->form : "";
}

/* The kind of a cut. A client's is of some servers or all; a server's of all others, or of the replicas only. False if no letter says so. */
static bool cut_of(const struct lb_hunt_system *s, const struct lb_step *step, int *ret_target, enum lb_hunt_kind *ret) {
  bool a = lb_role_is_client(step->a), client = a || lb_role_is_client(step->b);
  int from = target_of(s, a ? step->b : step->a), other = target_of(s, a ? step->a : step->b);
  if (from == LB_HUNT_MOST) from = LB_HUNT_ALL; /* the others alone decide nothing */
  if (other == LB_HUNT_MOST) other = LB_HUNT_ALL;
  if (client) {
    *ret_target = from == NOBODY ? NOBODY : other;
    *ret = from == LB_HUNT_ALL || (from == LB_HUNT_P && s->count < 2) ? LB_HUNT_CUT_OFF : from == LB_HUNT_ONE ? LB_HUNT_CUT_ONE : LB_HUNT_CUT;
    return *ret == LB_HUNT_CUT_OFF || other == LB_HUNT_C1;
  }
  *ret_target = s->count < 2 || from == NOBODY || other == NOBODY ? NOBODY : from;
  *ret = step->b.kind == LB_ROLE_REPLICAS && s->watched ? LB_HUNT_PART : LB_HUNT_ISOLATE;
  return s->count < 3 || step->b.kind == LB_ROLE_REPLICAS || other == LB_HUNT_ALL;
}

/* Those that have no undo of their own in the hunt stay. */
static enum lb_hunt_undo undo_of(const struct lb_scenario *s, const struct program *p, size_t at, enum lb_hunt_why *ret_why) {
  bool took_over = false;
  size_t i = at + 1;
  for (; i < s->step_count && !lb_step_undoes(&s->steps[i], &s->steps[at]); i++) took_over |= s->steps[i].verb == LB_STEP_AWAIT_FAILOVER;
  bool holding = i < p->writes, longer = lasts_ms(s, at, i) >= s->ttl_ms;
  if (i < s->step_count && longer && !took_over && at >= p->granted) *ret_why = LB_HUNT_WHY_LONGER;
  if (i == s->step_count || !holding) return LB_HUNT_GONE;
  return took_over ? LB_HUNT_AFTER : LB_HUNT_MID;
}

static bool kind_of(const struct lb_hunt_system *s, const struct lb_step *step, int *ret_target, enum lb_hunt_kind *ret) {
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

static void add_fault(struct lb_hunt_deeds *d, const struct lb_scenario *s, const struct lb_hunt_system *system, const struct program *p, size_t at) {
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
  if (step->verb == LB_STEP_STOP_AT || step->verb == LB_STEP_CRASH_AT) f.slot = at < p->asks ? LB_HUNT_ASKING : LB_HUNT_CHECKED;
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
