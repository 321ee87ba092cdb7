/* SPDX-License-Identifier: MIT
 *
 * Faults as steps: how each kind is written, and how it is taken back.
 */
#include "program.h"

enum { GATE_SHARE = 4 };
#define LINE(p, ...) (fprintf((p)->file, "step = " __VA_ARGS__), fputc('\n', (p)->file))

/* The primary of servers that do not know each other is the first, so the last one is outside its majority. */
static const char *last_of(const struct lb_hunt_system *s) {
  static const char *const nodes[] = {[5] = "node 5", [6] = "node 6", [7] = "node 7", [8] = "node 8", [9] = "node 9"};
  return s->count < sizeof nodes / sizeof *nodes ? nodes[s->count] : s->others;
}

static const char *role_of(const struct lb_hunt_program *p, enum lb_hunt_target target) {
  switch (target) {
    case LB_HUNT_P: return "primary";
    case LB_HUNT_F: return p->system->others;
    case LB_HUNT_ALL: return "all";
    case LB_HUNT_MOST: return "majority";
    case LB_HUNT_ONE: return last_of(p->system);
    case LB_HUNT_C1: return "client 1";
    default: return "client 2";
  }
}

bool lb_hunt_has(const struct lb_hunt_timeline *t, enum lb_hunt_slot slot) {
  for (size_t i = 0; i < t->fault_count; i++)
    if (t->fault[i].slot == slot) return true;
  return false;
}

bool lb_hunt_does(const struct lb_hunt_timeline *t, enum lb_hunt_kind kind, enum lb_hunt_target target, enum lb_hunt_slot slot) {
  for (size_t i = 0; i < t->fault_count; i++)
    if (t->fault[i].kind == kind && t->fault[i].target == target && t->fault[i].slot == slot) return true;
  return false;
}

/* Where a start takes longer than anybody may be held up (a quarter of a lease); not beside another fault of servers, to which it may matter in which order they happen, nor behind one that may keep client 1 from coming so far. */
static bool starts_later(const struct lb_hunt_program *p, struct lb_hunt_fault fault) {
  const struct lb_hunt_timeline *t = p->timeline;
  bool gated = !lb_hunt_does(t, LB_HUNT_PAUSE, LB_HUNT_C1, LB_HUNT_ASKING), alone = !lb_hunt_has(t, LB_HUNT_BEFORE);
  for (size_t i = 0; i < t->fault_count; i++) {
    struct lb_hunt_fault f = t->fault[i];
    if (f.slot == LB_HUNT_ASKING && !lb_hunt_of_client(f) && !lb_hunt_fault_equal(f, fault)) alone = false;
  }
  bool long_enough = p->system->start_ms * GATE_SHARE > p->times.ttl_ms;
  return fault.kind == LB_HUNT_RESTART && fault.slot == LB_HUNT_ASKING && gated && alone && long_enough;
}

bool lb_hunt_start_later(struct lb_hunt_program *p, bool write) {
  bool some = false;
  for (size_t i = 0; i < p->timeline->fault_count; i++) {
    struct lb_hunt_fault f = p->timeline->fault[i];
    if (!starts_later(p, f)) continue;
    if (write) LINE(p, "restart %s", role_of(p, f.target));
    some = true;
  }
  return some;
}

/* A client of an ensemble goes to another server when it is cut off from one: so it is left with one that neither leads nor is F. */
static void cut(struct lb_hunt_program *p, const char *who) {
  if (p->system->servers == LB_HUNT_ENSEMBLE) LINE(p, "cut %s from primary", who);
  LINE(p, "cut %s from %s", who, p->system->others);
}

static void act(struct lb_hunt_program *p, struct lb_hunt_fault f) {
  const char *who = role_of(p, f.target);
  switch (f.kind) {
    case LB_HUNT_RESTART: LINE(p, "%s %s", starts_later(p, f) ? "kill" : "restart", who); break;
    case LB_HUNT_KILL: LINE(p, "kill %s", who); break;
    case LB_HUNT_PAUSE: LINE(p, "pause %s", who); break;
    case LB_HUNT_ISOLATE: LINE(p, "cut %s from all", who); break; /* its link to itself is none */
    case LB_HUNT_PART: LINE(p, "cut %s from replicas", who); break;
    case LB_HUNT_CUT: cut(p, who); break;
    case LB_HUNT_CUT_ONE: LINE(p, "cut %s from %s", who, last_of(p->system)); break;
    case LB_HUNT_CUT_OFF: LINE(p, "cut %s from all", who); break;
    case LB_HUNT_AHEAD: LINE(p, "clock %s wall +60m", who); break;
    case LB_HUNT_BACK: LINE(p, "clock %s wall -60m", who); break;
    case LB_HUNT_FAST: LINE(p, "clock %s rate 2", who); break;
    case LB_HUNT_SLOW: LINE(p, "clock %s rate 0.5", who); break;
    case LB_HUNT_KIND_COUNT: break;
  }
  if (f.kind == LB_HUNT_KILL && lb_hunt_of_client(f)) p->dead[f.target == LB_HUNT_C1 ? 1 : 2] = true;
}

/* Who was killed or started again later does not stand still any more. */
static bool is_over(const struct lb_hunt_program *p, size_t i) {
  const struct lb_hunt_fault *f = p->timeline->fault;
  for (size_t j = i + 1; j < p->timeline->fault_count; j++) {
    bool ends = f[j].kind == LB_HUNT_RESTART || f[j].kind == LB_HUNT_KILL;
    if (f[i].kind == LB_HUNT_PAUSE && ends && (f[j].target == f[i].target || f[j].target == LB_HUNT_ALL || (f[j].target == LB_HUNT_F && f[i].target == LB_HUNT_ONE) || (f[j].target == LB_HUNT_MOST && f[i].target == LB_HUNT_P))) return true;
  }
  return false;
}

static void take_back(struct lb_hunt_program *p, size_t i) {
  struct lb_hunt_fault f = p->timeline->fault[i];
  const char *who = role_of(p, f.target);
  if (is_over(p, i)) return;
  switch (f.kind) {
    case LB_HUNT_KILL: LINE(p, "restart %s", who); break;
    case LB_HUNT_PAUSE: LINE(p, "resume %s", who); break;
    case LB_HUNT_ISOLATE: LINE(p, "heal %s from all", who); break;
    case LB_HUNT_PART: LINE(p, "heal %s from replicas", who); break;
    default: break; /* cuts of clients are healed together, and clocks stay */
  }
}

void lb_hunt_do(struct lb_hunt_program *p, enum lb_hunt_slot slot) {
  for (size_t i = 0; i < p->timeline->fault_count; i++) {
    struct lb_hunt_fault f = p->timeline->fault[i];
    if (f.slot == slot && !(f.kind == LB_HUNT_PAUSE && lb_hunt_of_client(f))) act(p, f);
  }
}

void lb_hunt_take_back_mid(struct lb_hunt_program *p, enum lb_hunt_slot slot) {
  bool waited = false;
  for (size_t i = 0; i < p->timeline->fault_count; i++) {
    struct lb_hunt_fault f = p->timeline->fault[i];
    if (f.slot != slot || f.undo != LB_HUNT_MID) continue;
    if (!waited) LINE(p, "wait %lldms", (long long)p->times.mid_ms);
    waited = true;
    take_back(p, i);
  }
}

void lb_hunt_take_back(struct lb_hunt_program *p, enum lb_hunt_undo undo) {
  for (size_t i = 0; i < p->timeline->fault_count; i++)
    if (p->timeline->fault[i].undo == undo && !lb_hunt_of_client(p->timeline->fault[i])) take_back(p, i);
}

void lb_hunt_heal(struct lb_hunt_program *p) {
  for (size_t i = 0; i < p->timeline->fault_count; i++) {
    enum lb_hunt_kind kind = p->timeline->fault[i].kind;
    if (kind == LB_HUNT_CUT || kind == LB_HUNT_CUT_ONE || kind == LB_HUNT_CUT_OFF) {
      LINE(p, "heal");
      return;
    }
  }
}
