/* SPDX-License-Identifier: MIT
 *
 * The alphabet of the hunt: one row says what is done to whom, in which slots, with which undo, and what
 * a system has to have for it. What is sound or bold to leave out stands in prune.c, not here.
 *
 * What operators do on purpose is no letter (orders, records deleted by hand, sessions ended, backups): what each does
 * to a lock is known before it is asked, and has a scenario. Slots that move are one more such order.
 */
#include "alphabet.h"

#include <stdio.h>
#include <string.h>

#include "network/sandbox.h"
#include "rests.h"

/* What a system has to have. */
enum {
  HAS_SERVERS = 1 << 0,  /* of ours */
  HAS_SEVERAL = 1 << 1,  /* at least two */
  HAS_WATCHERS = 1 << 2, /* who see a server that its replicas do not */
  HAS_NETWORK = 1 << 3,
  SETS_SERVERS = 1 << 4,
  SETS_CLIENTS = 1 << 5,
  HAS_SERVER = 1 << 6, /* to be cut off from, ours or not */
};
#define SLOT(s) (1u << LB_HUNT_##s)
#define UNDO(u) (1u << LB_HUNT_##u)
#define TARGET(t) (1u << LB_HUNT_##t)
#define REGIME(r) (1u << LB_HUNT_##r)
#define ANY_REGIME (REGIME(LONG) | REGIME(SHORT) | REGIME(DRIFT))

static const struct row {
  enum lb_hunt_kind kind;
  unsigned targets, slots, undos;
  unsigned regimes;
  unsigned needs;
} rows[] = {
    {LB_HUNT_RESTART, TARGET(P), SLOT(ASKING) | SLOT(HOLDING) | SLOT(DONE) | SLOT(WOKEN), UNDO(STAYS), ANY_REGIME,
     HAS_SERVERS},
    {LB_HUNT_RESTART, TARGET(F) | TARGET(ONE) | TARGET(ALL) | TARGET(MOST),
     SLOT(ASKING) | SLOT(HOLDING) | SLOT(DONE) | SLOT(WOKEN), UNDO(STAYS), ANY_REGIME, HAS_SERVERS | HAS_SEVERAL},
    {LB_HUNT_KILL, TARGET(P) | TARGET(F) | TARGET(ONE), SLOT(BEFORE) | SLOT(ASKING) | SLOT(HOLDING),
     UNDO(AFTER) | UNDO(GONE), ANY_REGIME, HAS_SERVERS | HAS_SEVERAL},
    {LB_HUNT_KILL, TARGET(P) | TARGET(F) | TARGET(ONE), SLOT(WOKEN), UNDO(GONE), ANY_REGIME, HAS_SERVERS | HAS_SEVERAL},
    {LB_HUNT_PAUSE, TARGET(P), SLOT(ASKING) | SLOT(HOLDING), UNDO(MID), ANY_REGIME, HAS_SERVERS},
    {LB_HUNT_PAUSE, TARGET(F) | TARGET(ONE), SLOT(ASKING) | SLOT(HOLDING), UNDO(MID), ANY_REGIME,
     HAS_SERVERS | HAS_SEVERAL},
    {LB_HUNT_PAUSE, TARGET(P) | TARGET(F) | TARGET(ONE), SLOT(WOKEN), UNDO(MID), ANY_REGIME, HAS_SERVERS | HAS_SEVERAL},
    {LB_HUNT_PAUSE, TARGET(P) | TARGET(F) | TARGET(ONE), SLOT(BEFORE) | SLOT(ASKING) | SLOT(HOLDING), UNDO(AFTER),
     ANY_REGIME, HAS_SERVERS | HAS_SEVERAL},
    {LB_HUNT_ISOLATE, TARGET(P) | TARGET(F) | TARGET(ONE), SLOT(BEFORE) | SLOT(ASKING) | SLOT(HOLDING),
     UNDO(MID) | UNDO(AFTER) | UNDO(GONE), ANY_REGIME, HAS_SERVERS | HAS_SEVERAL | HAS_NETWORK},
    {LB_HUNT_ISOLATE, TARGET(P) | TARGET(F) | TARGET(ONE), SLOT(WOKEN), UNDO(MID) | UNDO(GONE), ANY_REGIME,
     HAS_SERVERS | HAS_SEVERAL | HAS_NETWORK},
    {LB_HUNT_PART, TARGET(P), SLOT(BEFORE) | SLOT(ASKING) | SLOT(HOLDING), UNDO(AFTER) | UNDO(GONE), ANY_REGIME,
     HAS_SERVERS | HAS_SEVERAL | HAS_NETWORK | HAS_WATCHERS},
    {LB_HUNT_AHEAD, TARGET(P), SLOT(HOLDING), UNDO(STAYS), ANY_REGIME, HAS_SERVERS | SETS_SERVERS},
    {LB_HUNT_AHEAD, TARGET(ALL) | TARGET(MOST), SLOT(HOLDING), UNDO(STAYS), ANY_REGIME,
     HAS_SERVERS | HAS_SEVERAL | SETS_SERVERS},
    {LB_HUNT_BACK, TARGET(P), SLOT(HOLDING), UNDO(STAYS), ANY_REGIME, HAS_SERVERS | SETS_SERVERS},
    {LB_HUNT_BACK, TARGET(ALL) | TARGET(MOST), SLOT(HOLDING), UNDO(STAYS), ANY_REGIME,
     HAS_SERVERS | HAS_SEVERAL | SETS_SERVERS},
    {LB_HUNT_FAST, TARGET(P), SLOT(BEFORE), UNDO(STAYS), REGIME(DRIFT), HAS_SERVERS | SETS_SERVERS},
    {LB_HUNT_FAST, TARGET(ALL) | TARGET(MOST), SLOT(BEFORE), UNDO(STAYS), REGIME(DRIFT),
     HAS_SERVERS | HAS_SEVERAL | SETS_SERVERS},
    {LB_HUNT_SLOW, TARGET(P), SLOT(BEFORE), UNDO(STAYS), REGIME(DRIFT), HAS_SERVERS | SETS_SERVERS},
    {LB_HUNT_SLOW, TARGET(ALL) | TARGET(MOST), SLOT(BEFORE), UNDO(STAYS), REGIME(DRIFT),
     HAS_SERVERS | HAS_SEVERAL | SETS_SERVERS},
    {LB_HUNT_CUT, TARGET(C1), SLOT(BEFORE) | SLOT(HOLDING), UNDO(GONE), ANY_REGIME,
     HAS_SERVERS | HAS_SEVERAL | HAS_NETWORK},
    {LB_HUNT_CUT_ONE, TARGET(C1), SLOT(BEFORE) | SLOT(HOLDING), UNDO(GONE), ANY_REGIME,
     HAS_SERVERS | HAS_SEVERAL | HAS_NETWORK},
    {LB_HUNT_CUT_OFF, TARGET(C1), SLOT(ASKING) | SLOT(HOLDING) | SLOT(DONE), UNDO(STAYS), REGIME(SHORT),
     HAS_SERVER | HAS_NETWORK},
    {LB_HUNT_CUT_OFF, TARGET(C2), SLOT(HOLDING), UNDO(STAYS), REGIME(SHORT), HAS_SERVER | HAS_NETWORK},
    {LB_HUNT_PAUSE, TARGET(C1), SLOT(ASKING) | SLOT(HOLDING) | SLOT(CHECKED) | SLOT(DONE), UNDO(STAYS), REGIME(SHORT),
     0},
    {LB_HUNT_PAUSE, TARGET(C2), SLOT(HOLDING) | SLOT(WOKEN), UNDO(STAYS), REGIME(SHORT), 0},
    {LB_HUNT_KILL, TARGET(C1), SLOT(ASKING) | SLOT(HOLDING) | SLOT(DONE), UNDO(STAYS), ANY_REGIME, 0},
    {LB_HUNT_KILL, TARGET(C2), SLOT(HOLDING) | SLOT(WOKEN), UNDO(STAYS), ANY_REGIME, 0},
    {LB_HUNT_AHEAD, TARGET(C1), SLOT(BEFORE) | SLOT(HOLDING), UNDO(STAYS), ANY_REGIME, SETS_CLIENTS},
    {LB_HUNT_AHEAD, TARGET(C2), SLOT(BEFORE), UNDO(STAYS), ANY_REGIME, SETS_CLIENTS},
    {LB_HUNT_BACK, TARGET(C1), SLOT(BEFORE) | SLOT(HOLDING), UNDO(STAYS), ANY_REGIME, SETS_CLIENTS},
    {LB_HUNT_BACK, TARGET(C2), SLOT(BEFORE), UNDO(STAYS), ANY_REGIME, SETS_CLIENTS},
    {LB_HUNT_FAST, TARGET(C1), SLOT(BEFORE), UNDO(STAYS), REGIME(DRIFT), SETS_CLIENTS},
    {LB_HUNT_SLOW, TARGET(C1), SLOT(BEFORE), UNDO(STAYS), REGIME(DRIFT), SETS_CLIENTS},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

static unsigned has(const struct lb_hunt_system *s) {
  bool ours = s->count > 0 && !s->own;
  return (ours ? HAS_SERVERS : 0) | (s->count > 1 ? HAS_SEVERAL : 0) | (s->watched ? HAS_WATCHERS : 0) |
         (s->network ? HAS_NETWORK : 0) | (s->sets_servers ? SETS_SERVERS : 0) | (s->sets_clients ? SETS_CLIENTS : 0) |
         (s->count > 0 ? HAS_SERVER : 0);
}

/* Whether its slot comes in the program of this system. */
static bool comes(const struct lb_hunt_system *s, struct lb_hunt_fault f) {
  if (f.slot == LB_HUNT_ASKING) return s->inside != NULL;
  return f.slot != LB_HUNT_CHECKED || s->gated;
}

/* A lease of two seconds ends before another server has taken over: what drifts then shows nothing. */
static bool outlasts(enum lb_hunt_regime regime, struct lb_hunt_fault f) {
  bool late = f.undo == LB_HUNT_AFTER || (f.undo == LB_HUNT_GONE && f.slot != LB_HUNT_BEFORE);
  return regime == LB_HUNT_DRIFT && late && !lb_hunt_fault_is_of_client(f);
}

/* Servers that know each other may choose any of them: there no role is one of the others. */
static bool exists(const struct lb_hunt_system *s, enum lb_hunt_target target) {
  enum { WITH_SEVERAL_OTHERS = 5, WITH_MAJORITY = 3 };
  if (target == LB_HUNT_ONE) return s->servers == LB_HUNT_INDEPENDENT && s->count >= WITH_SEVERAL_OTHERS;
  return target != LB_HUNT_MOST || s->count >= WITH_MAJORITY;
}

static size_t add_undos(const struct lb_hunt_system *s, enum lb_hunt_regime regime, const struct row *row,
                        struct lb_hunt_fault f, struct lb_hunt_fault *ret) {
  size_t count = 0;
  for (unsigned u = 0; u < LB_HUNT_UNDO_COUNT; u++) {
    f.undo = (enum lb_hunt_undo)u;
    if (row->undos & (1u << u) && comes(s, f) && !outlasts(regime, f)) ret[count++] = f;
  }
  return count;
}

size_t lb_hunt_alphabet(const struct lb_hunt_system *s, enum lb_hunt_regime regime, unsigned without,
                        struct lb_hunt_fault ret[LB_HUNT_LETTERS_MAX]) {
  size_t count = 0;
  for (unsigned slot = 0; slot < LB_HUNT_SLOT_COUNT; slot++)
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++) {
      bool fits = row->regimes & (1u << regime) && (row->needs & ~has(s)) == 0 && !(without & (1u << row->kind));
      if (!fits || !(row->slots & (1u << slot))) continue;
      for (unsigned t = 0; t < LB_HUNT_TARGET_COUNT; t++)
        if (row->targets & (1u << t) && exists(s, (enum lb_hunt_target)t) &&
            (row->kind != LB_HUNT_CUT_ONE || exists(s, LB_HUNT_ONE)))
          count += add_undos(
              s, regime, row,
              (struct lb_hunt_fault){row->kind, (enum lb_hunt_target)t, (enum lb_hunt_slot)slot, LB_HUNT_STAYS},
              ret + count);
    }
  return count;
}

/* ---- fewer hosts ------------------------------------------------------------------------------------- */

bool lb_hunt_fault_is_fewer(struct lb_hunt_fault less, struct lb_hunt_fault more) {
  bool cut = less.kind == LB_HUNT_CUT_ONE && more.kind == LB_HUNT_CUT;
  if (less.slot != more.slot || less.undo != more.undo || (less.kind != more.kind && !cut)) return false;
  if (cut) return less.target == more.target;
  switch (more.target) {
    case LB_HUNT_ALL:
      return less.target == LB_HUNT_MOST || less.target == LB_HUNT_P || less.target == LB_HUNT_F ||
             less.target == LB_HUNT_ONE;
    case LB_HUNT_MOST: return less.target == LB_HUNT_P;
    case LB_HUNT_F: return less.target == LB_HUNT_ONE;
    default: return false;
  }
}

size_t lb_hunt_fault_fewer(const struct lb_hunt_system *s, struct lb_hunt_fault fault,
                           struct lb_hunt_fault ret[LB_HUNT_FEWER_MAX]) {
  struct lb_hunt_fault less = fault;
  size_t count = 0;
  if (fault.kind == LB_HUNT_CUT && exists(s, LB_HUNT_ONE)) less.kind = LB_HUNT_CUT_ONE, ret[count++] = less;
  for (int t = 0; t < LB_HUNT_TARGET_COUNT && fault.kind != LB_HUNT_CUT; t++) {
    less.target = (enum lb_hunt_target)t;
    if (exists(s, less.target) && lb_hunt_fault_is_fewer(less, fault)) ret[count++] = less;
  }
  return count;
}

/* ---- what can be said of one letter ------------------------------------------------------------------ */

bool lb_hunt_fault_equal(struct lb_hunt_fault a, struct lb_hunt_fault b) {
  return a.kind == b.kind && a.target == b.target && a.slot == b.slot && a.undo == b.undo;
}
bool lb_hunt_fault_is_of_client(struct lb_hunt_fault f) { return f.target == LB_HUNT_C1 || f.target == LB_HUNT_C2; }
bool lb_hunt_fault_drifts(struct lb_hunt_fault f) { return f.kind == LB_HUNT_FAST || f.kind == LB_HUNT_SLOW; }

/* The words of the hunt: those that ids are made of, and the sentences that a scenario file tells about
 * its faults. */

const struct lb_hunt_kind_row lb_hunt_kinds[LB_HUNT_KIND_COUNT] = {
    [LB_HUNT_RESTART] = {"restart", "killed and started again at once", false},
    [LB_HUNT_KILL] = {"kill", "killed", false},
    [LB_HUNT_PAUSE] = {"pause", "stopped", false},
    [LB_HUNT_ISOLATE] = {"isolate", "cut off from all other servers", false},
    [LB_HUNT_PART] = {"part", "cut off from its replicas, but not from who watches it", false},
    [LB_HUNT_CUT] = {"cut", "cut off from some of the servers", false},
    [LB_HUNT_CUT_OFF] = {"cutoff", "cut off from all servers", false},
    [LB_HUNT_AHEAD] = {"ahead", "given a wall clock that jumps an hour ahead", false},
    [LB_HUNT_BACK] = {"behind", "given a wall clock that jumps an hour back", false},
    [LB_HUNT_FAST] = {"fast", "given clocks that run twice as fast", true},
    [LB_HUNT_CUT_ONE] = {"cutone", "cut off from one of the servers", false},
    [LB_HUNT_SLOW] = {"slow", "given clocks that run half as fast", true},
};
static const struct {
  const char *name, *said;
} targets[LB_HUNT_TARGET_COUNT] = {
    [LB_HUNT_P] = {"P", "the primary is"},
    [LB_HUNT_F] = {"f", "who is outside the primary's majority is"},
    [LB_HUNT_ALL] = {"all", "all servers are"},
    [LB_HUNT_C1] = {"c1", "client 1 is"},
    [LB_HUNT_C2] = {"c2", "client 2 is"},
    [LB_HUNT_ONE] = {"one", "one of those outside the primary's majority is"},
    [LB_HUNT_MOST] = {"most", "a majority of the servers are"},
};
static const struct {
  const char *name, *said;
} slots[LB_HUNT_SLOT_COUNT] = {
    [LB_HUNT_BEFORE] = {"B", "before client 1 asks for the lock"},
    [LB_HUNT_ASKING] = {"A", "while client 1 is inside its acquire"},
    [LB_HUNT_HOLDING] = {"H", "while client 1 holds"},
    [LB_HUNT_CHECKED] = {"X", "between the check of client 1 and its write"},
    [LB_HUNT_DONE] = {"R", "between the write of client 1 and its release"},
    [LB_HUNT_WOKEN] = {"W", "when client 1 has released, and the waiter that is woken stands still"},
};
static const struct {
  const char *name, *said;
} undos[LB_HUNT_UNDO_COUNT] = {
    [LB_HUNT_STAYS] = {"", ""},
    [LB_HUNT_MID] = {"mid", ", until shortly before another server would take over"},
    [LB_HUNT_AFTER] = {"back", ", until another server has had the time to take over"},
    [LB_HUNT_GONE] = {"gone", ", until all is over"},
};
const char *const lb_hunt_regimes[LB_HUNT_REGIME_COUNT] = {
    [LB_HUNT_LONG] = "long", [LB_HUNT_SHORT] = "short", [LB_HUNT_DRIFT] = "drift"};

void lb_hunt_fault_format(struct lb_hunt_fault f, char *buf, size_t size) {
  const char *undo = undos[f.undo].name;
  snprintf(buf, size, "%s-%s@%s%s%s", lb_hunt_kinds[f.kind].name, targets[f.target].name, slots[f.slot].name,
           *undo ? "-" : "", undo);
}

void lb_hunt_fault_say(struct lb_hunt_fault f, char *buf, size_t size) {
  bool client_stops = f.kind == LB_HUNT_PAUSE && lb_hunt_fault_is_of_client(f);
  snprintf(buf, size, "%s %s %s%s", targets[f.target].said, lb_hunt_kinds[f.kind].said, slots[f.slot].said,
           client_stops ? ", until another one has written" : undos[f.undo].said);
}

/* What the hunt has to know of a system, told from the tables of protocols and topologies. A protocol or
 * topology that is added there is hunted without a line here. */

static enum lb_hunt_servers servers_of(const struct lb_topology *t) {
  if (t->data_count == 0) return LB_HUNT_NO_SERVERS;
  if (t->data_count == 1) return LB_HUNT_SINGLE;
  if (t->family->independent) return LB_HUNT_INDEPENDENT;
  return t->family->majority ? LB_HUNT_ENSEMBLE : LB_HUNT_REPLICATED;
}

/* The majority of two servers are both, so the other server is not in the minority. */
static const char *others_of(const struct lb_topology *t) {
  if (t->data_count < 2) return NULL;
  return t->data_count == 2 ? "replicas" : "minority";
}

/* The point in the middle of an acquire. A protocol without one gets the first point that comes after something: the
 * reply is there, and was not read. */
static const char *inside_of(const struct lb_protocol *p) {
  static const char after[] = "after-";
  if (p->midway) return p->midway;
  for (const char *const *point = p->points; point && *point; point++)
    if (strncmp(*point, after, sizeof after - 1) == 0) return *point;
  return NULL;
}

void lb_hunt_system_of(const struct lb_protocol *p, const struct lb_topology *t, struct lb_hunt_system *ret) {
  const struct lb_family *family = t->family;
  bool foreign = p->traits & LB_TRAIT_FOREIGN, own = t->own != NULL;
  *ret = (struct lb_hunt_system){
      .servers = servers_of(t),
      .count = t->data_count,
      .watched = t->other_count > 0,
      .own = own,
      .network = !own && t->data_count > 0 && lb_isolation_probe()->kind != LB_ISOLATION_NONE,
      .others = others_of(t),
      .inside = foreign ? NULL : inside_of(p),
      .decided_inside = !p->midway,
      .gated = !foreign,
      .queues = p->traits & LB_TRAIT_QUEUES,
      .sets_servers = !own && family->wall_ms,
      .sets_clients = !(p->traits & LB_TRAIT_TRUE_CLOCK),
      .session = p->traits & LB_TRAIT_SESSION,
      .client_wall = p->traits & LB_TRAIT_CLIENT_CLOCK,
      .detector_ms = t->detector_ms,
      .start_ms = t->start_ms,
      .rests = lb_hunt_rests_of(p, t),
      .least_ttl_ms = family->least_ttl_ms ? family->least_ttl_ms(t, false) : 0,
  };
  snprintf(ret->name, sizeof ret->name, "%s@%s", p->name, t->name);
}
