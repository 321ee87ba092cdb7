/* SPDX-License-Identifier: MIT
 *
 * Which timelines need not be run. Two kinds of reason are kept apart. The sound ones: such a timeline means nothing,
 * or comes out as another one that is run. (A sample of them is run all the same, and has to agree.) The bounds: the
 * hunt does without some that cost most and teach least, nearly all from two faults on, and says so. What is never a
 * reason: that a fault is harmless alone.
 */
#include "space.h"

#include <string.h>

/* ---- sound, of a single fault ------------------------------------------------------------------------ */

static bool is_wall(struct lb_hunt_fault f) { return f.kind == LB_HUNT_AHEAD || f.kind == LB_HUNT_BACK; }
static bool is_clock(struct lb_hunt_fault f) { return is_wall(f) || lb_hunt_fault_drifts(f); }

/* Client 1 that is killed or cut off behind the last reply holds, as at H. One that is stopped there does not: it has
 * yet to look whether its grant came in time. Nor does one whose server stands still there for longer than a short lease
 * lasts: what it finds then depends on how far it came. */
static bool is_as_at_h(const struct lb_hunt_system *s, enum lb_hunt_regime regime, struct lb_hunt_fault f) {
  bool told = lb_hunt_fault_is_of_client(f) && f.kind == LB_HUNT_PAUSE;
  bool ended = regime == LB_HUNT_SHORT && s->detector_ms == 0 && f.kind == LB_HUNT_PAUSE && f.undo == LB_HUNT_MID;
  return f.slot == LB_HUNT_ASKING && s->decided_inside && !told && !ended;
}

/* If there are two servers, each is cut off from the other, unless others watch them. An operator who takes a primary
 * for lost does not do so with a replica, so this fault must be healed before the operator acts. */
static bool is_one_link(const struct lb_hunt_system *s, struct lb_hunt_fault f) {
  return s->count == 2 && !s->watched && f.target == LB_HUNT_F && f.undo == LB_HUNT_MID;
}

static enum lb_hunt_pruned of_fault(const struct lb_hunt_system *s, enum lb_hunt_regime regime,
                                    struct lb_hunt_fault f) {
  bool links = f.kind == LB_HUNT_ISOLATE || f.kind == LB_HUNT_PART;
  if (lb_hunt_fault_is_of_client(f) && is_wall(f) && !s->client_wall) return LB_HUNT_CLIENT_WALL;
  if (links && s->servers == LB_HUNT_INDEPENDENT) return LB_HUNT_NO_LINKS;
  if (links && is_one_link(s, f)) return LB_HUNT_SYMMETRIC;
  if (f.slot == LB_HUNT_WOKEN && !s->queues) return LB_HUNT_NO_QUEUE;
  return is_as_at_h(s, regime, f) ? LB_HUNT_SAME_AS_H : LB_HUNT_RUN;
}

/* ---- sound, of two ----------------------------------------------------------------------------------- */

enum {
  HOST_P = 1 << 0,
  HOST_F = 1 << 1,
  HOST_OTHERS = 1 << 2,
  SERVERS = HOST_P | HOST_F | HOST_OTHERS,
  HOST_C1 = 1 << 3,
  HOST_C2 = 1 << 4
};
static unsigned targeted(struct lb_hunt_fault f) {
  static const unsigned hosts[LB_HUNT_TARGET_COUNT] = {[LB_HUNT_P] = HOST_P,
                                                       [LB_HUNT_F] = HOST_F,
                                                       [LB_HUNT_ALL] = SERVERS,
                                                       [LB_HUNT_C1] = HOST_C1,
                                                       [LB_HUNT_C2] = HOST_C2,
                                                       [LB_HUNT_ONE] = HOST_F,
                                                       [LB_HUNT_MOST] = HOST_P | HOST_OTHERS};
  return hosts[f.target];
}
/* With those at the other ends of its links. A lock that is lost before its holder dies was held by two, and one that
 * is lost afterwards was not: so the death of a client touches all. */
static unsigned touched(struct lb_hunt_fault f) {
  if (f.kind == LB_HUNT_KILL && lb_hunt_fault_is_of_client(f)) return ~0U;
  bool links = f.kind == LB_HUNT_ISOLATE || f.kind == LB_HUNT_PART || f.kind == LB_HUNT_CUT ||
               f.kind == LB_HUNT_CUT_ONE || f.kind == LB_HUNT_CUT_OFF;
  return targeted(f) | (links ? (unsigned)SERVERS : 0);
}

/* Whether what an earlier fault did still holds when a later one is done. */
static bool lasts(struct lb_hunt_fault earlier, struct lb_hunt_fault later) {
  if (earlier.slot == later.slot || earlier.undo == LB_HUNT_GONE) return true;
  if (earlier.kind == LB_HUNT_KILL && lb_hunt_fault_is_of_client(earlier)) return true;
  return earlier.undo == LB_HUNT_AFTER && later.slot < LB_HUNT_CHECKED;
}

/* Whether all hosts of the later fault are among those of the earlier one. */
static bool covers(struct lb_hunt_fault earlier, struct lb_hunt_fault later) {
  if (earlier.target == LB_HUNT_ONE) return later.target == LB_HUNT_ONE;
  return !(targeted(later) & ~targeted(earlier));
}

/* A dead host cannot be hit. It can be started again, and cut off when it is back. A second stop of a host has to end at
 * the same time as the first. */
static bool is_dead(struct lb_hunt_fault earlier, struct lb_hunt_fault later) {
  if (!covers(earlier, later) || !lasts(earlier, later)) return false;
  bool stops = later.kind == LB_HUNT_PAUSE;
  if (earlier.kind == LB_HUNT_KILL) return stops || later.kind == LB_HUNT_KILL || lb_hunt_fault_is_of_client(later);
  return earlier.kind == LB_HUNT_PAUSE && stops && earlier.undo == later.undo;
}

/* The servers at the other end of a cut: 0 = others are there, too, or it is none. */
static unsigned other_end(const struct lb_hunt_system *s, struct lb_hunt_fault f) {
  unsigned others = (s->count == 2 ? HOST_P | HOST_F : SERVERS) & ~targeted(f);
  switch (f.kind) {
    case LB_HUNT_ISOLATE: return s->watched ? 0 : others;
    case LB_HUNT_PART: return others;
    case LB_HUNT_CUT: return HOST_F | (s->servers == LB_HUNT_ENSEMBLE ? HOST_P : 0);
    case LB_HUNT_CUT_ONE: return HOST_F;
    default: return 0;
  }
}

/* A cut is proved by what went through before it, so somebody has to live at its other end; at both, where it is healed
 * before the dead one comes back. A client that is cut from some servers has a link to each of them. */
static bool is_cut_from_dead(const struct lb_hunt_system *s, struct lb_hunt_fault earlier, struct lb_hunt_fault later) {
  unsigned end = other_end(s, later);
  if (earlier.kind != LB_HUNT_KILL || end == 0 || !lasts(earlier, later)) return false;
  if (later.kind == LB_HUNT_CUT) return end & targeted(earlier);
  return !(end & ~targeted(earlier)) || (is_one_link(s, later) && covers(earlier, later));
}

/* No server is there that could show its clock, which it has when it comes back. (That of a client is set before.) */
static bool is_still_clock(struct lb_hunt_fault earlier, struct lb_hunt_fault later) {
  bool away = earlier.kind == LB_HUNT_KILL || earlier.kind == LB_HUNT_PAUSE;
  return away && is_clock(later) && !lb_hunt_fault_is_of_client(later) && covers(earlier, later) &&
         lasts(earlier, later);
}

static bool never_comes(struct lb_hunt_fault earlier, struct lb_hunt_fault later) {
  bool died = earlier.kind == LB_HUNT_KILL && earlier.target == LB_HUNT_C1;
  return died && (later.target == LB_HUNT_C1 || (later.slot > earlier.slot && later.slot >= LB_HUNT_CHECKED));
}

static int compare(struct lb_hunt_fault a, struct lb_hunt_fault b) {
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.target != b.target) return a.target < b.target ? -1 : 1;
  return a.undo < b.undo ? -1 : a.undo > b.undo;
}

/* What is over before H is not done beside what is done at H: of hosts that both touch the one is free again when the
 * other comes. */
static bool is_over_before_h(const struct lb_hunt_timeline *t, size_t at) {
  for (size_t i = 0; i < t->fault_count && t->fault[at].undo == LB_HUNT_MID; i++)
    if (t->fault[i].slot == LB_HUNT_HOLDING && touched(t->fault[i]) & touched(t->fault[at])) return true;
  return false;
}

/* At A client 1 goes straight on to hold: it is not stopped there until another one has written, nor dead before a lock
 * that a restart has lost is granted to two. */
static bool goes_on(const struct lb_hunt_timeline *t) {
  bool lost = false;
  for (size_t i = 0; i < t->fault_count && t->fault[i].slot <= LB_HUNT_ASKING; i++) {
    struct lb_hunt_fault f = t->fault[i];
    if (f.slot != LB_HUNT_ASKING) continue;
    lost |= f.kind == LB_HUNT_RESTART;
    if (f.target == LB_HUNT_C1 && (f.kind == LB_HUNT_PAUSE || (f.kind == LB_HUNT_KILL && lost))) return false;
  }
  return true;
}

/* Before client 1 holds no client is granted the lock between two faults. Later client 2 may be, so each order is run; but
 * a client that is stopped is stopped before anything else of its slot. */
static bool may_change_places(struct lb_hunt_fault a, struct lb_hunt_fault b) {
  bool stops = (lb_hunt_fault_is_of_client(a) && a.kind == LB_HUNT_PAUSE) ||
               (lb_hunt_fault_is_of_client(b) && b.kind == LB_HUNT_PAUSE);
  return a.slot == b.slot && (a.slot < LB_HUNT_HOLDING || stops) && !(touched(a) & touched(b));
}

/* Of all orders that differ by neighbours without a common host, the one that is first by the alphabet is run: in it no
 * fault stands behind a larger one that it could be moved in front of. */
bool lb_hunt_prune_is_moved(const struct lb_hunt_timeline *t, size_t *ret_from, size_t *ret_to) {
  for (size_t j = 1; j < t->fault_count; j++)
    for (size_t i = j; i > 0 && may_change_places(t->fault[i - 1], t->fault[j]); i--)
      if (compare(t->fault[j], t->fault[i - 1]) < 0) return *ret_from = j, *ret_to = i - 1, true;
  return false;
}

static enum lb_hunt_pruned of_pairs(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t) {
  size_t from, to;
  for (size_t j = 1; j < t->fault_count; j++)
    for (size_t i = 0; i < j; i++) {
      if (never_comes(t->fault[i], t->fault[j])) return LB_HUNT_CLIENT_1_DEAD;
      if (is_dead(t->fault[i], t->fault[j]) || is_cut_from_dead(s, t->fault[i], t->fault[j])) return LB_HUNT_DEAD_HOST;
    }
  return lb_hunt_prune_is_moved(t, &from, &to) ? LB_HUNT_ORDER : LB_HUNT_RUN;
}

/* ---- bounds ------------------------------------------------------------------------------------------ */

/* Slow servers keep leases longer, and a fast client gives them up sooner; where clients stamp leases by their wall
 * clock, a holder that is ahead takes a longer one, and a client that is behind waits longer. */
static bool is_harmless(struct lb_hunt_fault f) {
  if (!lb_hunt_fault_is_of_client(f)) return f.kind == LB_HUNT_BACK || f.kind == LB_HUNT_SLOW;
  if (f.target == LB_HUNT_C2) return f.kind == LB_HUNT_BACK;
  return f.kind == LB_HUNT_AHEAD || f.kind == LB_HUNT_FAST;
}

/* True if it is there only as a part of another fault. */
static bool is_part(struct lb_hunt_fault f) {
  return f.kind == LB_HUNT_CUT_ONE || f.target == LB_HUNT_ONE || f.target == LB_HUNT_MOST;
}

/* A primary that dies while client 1 holds, and stays dead: the plainest failover there is. One that comes back may be
 * asked by a client that does not know the new one yet, which is another matter. */
static bool is_failover(const struct lb_hunt_system *s, struct lb_hunt_fault f) {
  return s->servers == LB_HUNT_REPLICATED && f.kind == LB_HUNT_KILL && f.target == LB_HUNT_P &&
         f.slot == LB_HUNT_HOLDING;
}

static enum lb_hunt_pruned bound_of(const struct lb_hunt_system *s, struct lb_hunt_fault f) {
  if (is_part(f)) return LB_HUNT_FEWER_HOSTS;
  if (is_harmless(f)) return LB_HUNT_HARMLESS_CLOCK;
  if (f.kind == LB_HUNT_KILL && f.target == LB_HUNT_C1 && f.slot > LB_HUNT_ASKING) return LB_HUNT_HOLDER_KILLED;
  if (f.kind == LB_HUNT_RESTART && f.slot == LB_HUNT_DONE) return LB_HUNT_LATE_RESTART;
  bool late = f.undo == LB_HUNT_GONE && f.slot != LB_HUNT_BEFORE && !is_failover(s, f);
  return late ? LB_HUNT_LATE_FOR_GOOD : LB_HUNT_RUN;
}

/* A cut from the replicas is a part of one from all servers. */
static bool is_again(struct lb_hunt_fault a, struct lb_hunt_fault b) {
  bool links =
      (a.kind == LB_HUNT_ISOLATE || a.kind == LB_HUNT_PART) && (b.kind == LB_HUNT_ISOLATE || b.kind == LB_HUNT_PART);
  return a.target == b.target && (a.kind == b.kind || links);
}

static enum lb_hunt_pruned bounds(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t) {
  for (size_t i = 0; i < t->fault_count; i++) {
    enum lb_hunt_pruned why = bound_of(s, t->fault[i]);
    if (why != LB_HUNT_RUN) return why;
    for (size_t j = 0; j < i; j++)
      if (is_still_clock(t->fault[j], t->fault[i])) return LB_HUNT_STILL_CLOCK;
      else if (is_again(t->fault[j], t->fault[i])) return LB_HUNT_TWICE;
  }
  return LB_HUNT_RUN;
}

enum lb_hunt_pruned lb_hunt_prune(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t) {
  enum lb_hunt_pruned why = LB_HUNT_RUN;
  bool drifts = t->regime != LB_HUNT_DRIFT || t->fault_count == 0;
  for (size_t i = 0; i < t->fault_count && why == LB_HUNT_RUN; i++) {
    why = of_fault(s, t->regime, t->fault[i]);
    if (why == LB_HUNT_SAME_AS_H && (is_over_before_h(t, i) || !goes_on(t))) why = LB_HUNT_RUN;
    drifts |= lb_hunt_fault_drifts(t->fault[i]);
  }
  if (why != LB_HUNT_RUN && of_pairs(s, t) == LB_HUNT_DEAD_HOST) why = LB_HUNT_DEAD_HOST; /* nothing stands for it */
  if (why == LB_HUNT_RUN && !drifts) why = LB_HUNT_NO_DRIFT;
  if (why == LB_HUNT_RUN) why = of_pairs(s, t);
  return why == LB_HUNT_RUN && t->fault_count > 1 ? bounds(s, t) : why;
}

/* ---- in words ---------------------------------------------------------------------------------------- */

static const struct {
  bool sound;
  const char *text;
} reasons[LB_HUNT_PRUNED_COUNT] = {
    [LB_HUNT_RUN] = {false, ""},
    [LB_HUNT_CLIENT_WALL] = {true, "this lock does not know the wall clocks of clients"},
    [LB_HUNT_SAME_AS_H] = {true, "behind the last reply of an acquire: as while client 1 holds"},
    [LB_HUNT_NO_LINKS] = {true, "these servers never talk to each other"},
    [LB_HUNT_SYMMETRIC] = {true, "the same as with the primary: there is one link, and no failover"},
    [LB_HUNT_DEAD_HOST] = {true, "this host is dead or stands still by then, so it cannot be done"},
    [LB_HUNT_CLIENT_1_DEAD] = {true, "client 1 is dead by then"},
    [LB_HUNT_ORDER] = {true,
                       "another order of faults that touch no common host is run, and nobody is granted between them"},
    [LB_HUNT_NO_QUEUE] = {false, "bound: nothing behind a release, where nobody queues"},
    [LB_HUNT_NO_DRIFT] = {true, "no clock drifts: as in `long`"},
    [LB_HUNT_FEWER_HOSTS] = {false,
                             "bound: fewer hosts than all or a minority, beside other faults; run where those broke"},
    [LB_HUNT_HARMLESS_CLOCK] = {false, "bound: no clock that only makes leases longer, beside other faults"},
    [LB_HUNT_HOLDER_KILLED] = {false, "bound: no holder that is killed, beside other faults"},
    [LB_HUNT_LATE_RESTART] = {false, "bound: no restart behind the last write, beside other faults"},
    [LB_HUNT_LATE_FOR_GOOD] =
        {false, "bound: nothing that begins after B and lasts until the end, but the death of a replicated "
                "primary at H, beside other faults"},
    [LB_HUNT_STILL_CLOCK] = {false, "bound: no clock of servers that are dead or stand still by then"},
    [LB_HUNT_TWICE] = {false, "bound: nothing is done to one host twice"},
};
bool lb_hunt_prune_is_sound(enum lb_hunt_pruned why) { return reasons[why].sound; }
const char *lb_hunt_prune_text(enum lb_hunt_pruned why) { return reasons[why].text; }

/* Finds the timeline that stands for a soundly pruned one. Each reason claims that both come out alike, so the claim
 * can be tested. */

static void drop(struct lb_hunt_timeline *t, size_t at) {
  memmove(t->fault + at, t->fault + at + 1, (t->fault_count - at - 1) * sizeof *t->fault);
  t->fault_count--;
}

static void put(struct lb_hunt_timeline *t, size_t at, struct lb_hunt_fault f) {
  memmove(t->fault + at + 1, t->fault + at, (t->fault_count - at) * sizeof *t->fault);
  t->fault[at] = f;
  t->fault_count++;
}

/* Pruned for this reason alone, in whatever regime, and beside each fault that comes later: one that is over before H
 * is not as at H beside some of those. */
static bool is_it(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t, size_t at,
                  enum lb_hunt_pruned why) {
  struct lb_hunt_timeline one = {
      .regime = t->regime == LB_HUNT_SHORT ? LB_HUNT_SHORT : LB_HUNT_LONG, .fault_count = 1, .fault = {t->fault[at]}};
  bool is = lb_hunt_prune(s, &one) == why;
  for (size_t i = at + 1; i < t->fault_count && is && why == LB_HUNT_SAME_AS_H; i++) {
    one.fault_count = 2;
    one.fault[1] = t->fault[i];
    is = t->fault[i].slot != LB_HUNT_HOLDING || lb_hunt_prune(s, &one) == why;
  }
  return is;
}

/* The first such fault. */
static size_t find_fault(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t, enum lb_hunt_pruned why) {
  size_t i = 0;
  while (i < t->fault_count && !is_it(s, t, i, why)) i++;
  return i;
}

/* The later one of the first two faults that are pruned for this reason as a pair. */
static size_t find_later(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t, enum lb_hunt_pruned why) {
  for (size_t j = 1; j < t->fault_count; j++)
    for (size_t i = 0; i < j; i++) {
      struct lb_hunt_timeline two = {.fault_count = 2, .fault = {t->fault[i], t->fault[j]}};
      if (lb_hunt_prune(s, &two) == why) return j;
    }
  return t->fault_count;
}

/* All that are as at H, in their order, behind the others that are done at A. */
static void move_to_h(const struct lb_hunt_system *s, struct lb_hunt_timeline *t) {
  bool moves[LB_HUNT_FAULTS_MAX];
  for (size_t i = 0; i < t->fault_count; i++) moves[i] = is_it(s, t, i, LB_HUNT_SAME_AS_H);
  for (size_t i = t->fault_count; i-- > 0;) {
    struct lb_hunt_fault f = t->fault[i];
    size_t at = i;
    if (!moves[i]) continue;
    drop(t, i);
    while (at < t->fault_count && t->fault[at].slot == LB_HUNT_ASKING) at++;
    f.slot = LB_HUNT_HOLDING;
    put(t, at, f);
  }
}

static void put_in_order(struct lb_hunt_timeline *t) {
  size_t from, to;
  if (!lb_hunt_prune_is_moved(t, &from, &to)) return;
  struct lb_hunt_fault f = t->fault[from];
  drop(t, from);
  put(t, to, f);
}

/* One claim. False if no reason makes one. */
static bool follow(const struct lb_hunt_system *s, struct lb_hunt_timeline *t) {
  size_t alone = find_fault(s, t, t->pruned), later = find_later(s, t, t->pruned);
  if (alone == t->fault_count && later == t->fault_count && t->pruned != LB_HUNT_ORDER && t->pruned != LB_HUNT_NO_DRIFT)
    return false;
  switch (t->pruned) {
    case LB_HUNT_CLIENT_WALL:
    case LB_HUNT_NO_LINKS: drop(t, alone); break;
    case LB_HUNT_SYMMETRIC: t->fault[alone].target = LB_HUNT_P; break;
    case LB_HUNT_SAME_AS_H: move_to_h(s, t); break;
    case LB_HUNT_CLIENT_1_DEAD: drop(t, later); break;
    case LB_HUNT_ORDER: put_in_order(t); break;
    case LB_HUNT_NO_DRIFT: t->regime = LB_HUNT_LONG; break;
    default: return false;
  }
  t->pruned = lb_hunt_prune(s, t);
  return true;
}

static bool has_twice(const struct lb_hunt_timeline *t) {
  for (size_t j = 1; j < t->fault_count; j++)
    for (size_t i = 0; i < j; i++)
      if (lb_hunt_fault_equal(t->fault[i], t->fault[j])) return true;
  return false;
}

/* Each claim takes a fault away, or brings it nearer to where it belongs: they end. */
bool lb_hunt_prune_stand_in(const struct lb_hunt_system *s, const struct lb_hunt_timeline *timeline,
                            struct lb_hunt_timeline *ret) {
  if (!lb_hunt_prune_is_sound(timeline->pruned)) return false;
  *ret = *timeline;
  while (lb_hunt_prune_is_sound(ret->pruned))
    if (!follow(s, ret) || has_twice(ret)) return false;
  return true;
}
