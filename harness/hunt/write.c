/* SPDX-License-Identifier: MIT
 *
 * A timeline as a scenario file that says what it is, how to play it again, and all that is played.
 *
 * The program is the same for every lock: client 1 goes step by step, clients 2 and 3 do whole sections by themselves.
 * Faults stand in its slots.
 *
 * Client 3 opens its session behind the faults and the failover that they cause; client 2 has had its connection all
 * along. If the primary was stopped before client 1 asked, the request waits there until it goes on, and client 1 holds
 * only then.
 */
#include "write.h"

#include <errno.h>
#include <string.h>

#include "scenario/expect.h"

#define LINE(p, ...) (fprintf((p)->file, "step = " __VA_ARGS__), fputc('\n', (p)->file))

/* ---- How long the parts of the program may take. The hunt goes by events; these are the bounds for what
 * may never happen, and the length of what has to end before another server takes over. ---- */

/* By how the servers stand to each other. */
static const struct {
  int64_t write_ms;    /* what a waiter needs to get a lock that is free, and to write */
  int64_t failover_ms; /* until another server has taken over; 0 = none can */
} servers[] = {
    [LB_HUNT_NO_SERVERS] = {200, 0},     [LB_HUNT_SINGLE] = {300, 0},       [LB_HUNT_INDEPENDENT] = {300, 0},
    [LB_HUNT_REPLICATED] = {1200, 5000}, [LB_HUNT_ENSEMBLE] = {1500, 5000},
};
static const struct {
  int64_t ttl_ms;
  bool renew;
} regimes[LB_HUNT_REGIME_COUNT] = {
    [LB_HUNT_LONG] = {10000, false}, [LB_HUNT_SHORT] = {1000, true}, [LB_HUNT_DRIFT] = {2000, false}};
/* If servers do not watch each other, there is no failover. A fault then lasts long enough to be felt; where leases are
 * short, it lasts longer than one of them. */
enum { UNSEEN_MS = 500, TICKS = 8, DETECTORS = 4 };

/* Between the end of a session and the moment at which the others notice, if there is one; else half of what they bear.
 * (Sessions end at ticks, of which the detector is some.) */
static int64_t mid_of(const struct lb_hunt_system *s, enum lb_hunt_regime regime, int64_t ttl_ms) {
  int64_t ended = ttl_ms + s->detector_ms / TICKS;
  if (s->detector_ms == 0) return regime == LB_HUNT_SHORT ? ttl_ms * 3 / 2 : UNSEEN_MS;
  return s->session && ended < s->detector_ms ? (ended + s->detector_ms) / 2 : s->detector_ms / 2;
}

struct lb_hunt_times lb_hunt_times_of(const struct lb_hunt_system *s, enum lb_hunt_regime regime,
                                      const struct lb_hunt_settings *settings) {
  static const struct lb_hunt_settings none = {0};
  struct lb_hunt_times t = {.ttl_ms = regimes[regime].ttl_ms, .renew = regimes[regime].renew};
  if (!settings) settings = &none;
  if (t.ttl_ms < s->least_ttl_ms) t.ttl_ms = s->least_ttl_ms;
  if (settings->no_renewal) t.renew = false;
  int64_t free_ms = servers[s->servers].write_ms;
  t.write_ms = free_ms;
  if (regime == LB_HUNT_SHORT) t.write_ms += t.ttl_ms * 3 / 2; /* a lease without renewal ends first */
  if (regime == LB_HUNT_DRIFT) t.write_ms = t.ttl_ms * 4 / 5;
  t.failover_ms = servers[s->servers].failover_ms + DETECTORS * s->detector_ms;
  t.mid_ms = mid_of(s, regime, t.ttl_ms);
  t.pause_ms = t.ttl_ms * 3 / 2 + t.write_ms;
  t.acquire_ms = t.failover_ms + 4000;
  t.section_ms = t.failover_ms + 2 * (t.write_ms + t.mid_ms) + 3000;
  return t;
}

/* ---- how long it takes ------------------------------------------------------------------------------------------- */

/* The lease of a client that was cut off has to end before another client is granted the lock. The lease of a dead
 * client may never end: then all clients with sections wait until they time out. */
static int64_t of_fault(const struct lb_hunt_times *t, const struct lb_hunt_system *s, struct lb_hunt_fault f) {
  int64_t ms = f.undo == LB_HUNT_MID ? t->mid_ms : f.undo == LB_HUNT_AFTER ? DETECTORS * s->detector_ms + UNSEEN_MS : 0;
  if (f.kind == LB_HUNT_RESTART || f.kind == LB_HUNT_KILL) ms += UNSEEN_MS;
  if (!lb_hunt_fault_is_of_client(f)) return ms;
  return ms +
         (f.kind == LB_HUNT_KILL ? t->ttl_ms + t->section_ms
          : f.kind == LB_HUNT_PAUSE || f.kind == LB_HUNT_CUT || f.kind == LB_HUNT_CUT_ONE || f.kind == LB_HUNT_CUT_OFF
              ? t->write_ms
              : 0);
}

int64_t lb_hunt_write_takes_ms(const struct lb_hunt_system *s, const struct lb_hunt_timeline *timeline) {
  struct lb_hunt_times t = lb_hunt_times_of(s, timeline->regime, NULL);
  int64_t ms = t.write_ms;
  for (size_t i = 0; i < timeline->fault_count; i++) ms += of_fault(&t, s, timeline->fault[i]);
  return ms;
}

/* Faults as steps: how each kind is written, and how it is taken back. */

enum { GATE_SHARE = 4 };

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

static bool has_slot(const struct lb_hunt_timeline *t, enum lb_hunt_slot slot) {
  for (size_t i = 0; i < t->fault_count; i++)
    if (t->fault[i].slot == slot) return true;
  return false;
}

/* A fault of this kind, target and slot. */
static bool does(const struct lb_hunt_timeline *t, enum lb_hunt_kind kind, enum lb_hunt_target target,
                 enum lb_hunt_slot slot) {
  for (size_t i = 0; i < t->fault_count; i++)
    if (t->fault[i].kind == kind && t->fault[i].target == target && t->fault[i].slot == slot) return true;
  return false;
}

/* Where a start takes longer than a client may be held up (a quarter of a lease); not beside another fault of servers,
 * as their order may matter. Also not behind one that may keep client 1 from coming so far. */
static bool starts_later(const struct lb_hunt_program *p, struct lb_hunt_fault fault) {
  const struct lb_hunt_timeline *t = p->timeline;
  bool gated = !does(t, LB_HUNT_PAUSE, LB_HUNT_C1, LB_HUNT_ASKING), alone = !has_slot(t, LB_HUNT_BEFORE);
  for (size_t i = 0; i < t->fault_count; i++) {
    struct lb_hunt_fault f = t->fault[i];
    if (f.slot == LB_HUNT_ASKING && !lb_hunt_fault_is_of_client(f) && !lb_hunt_fault_equal(f, fault)) alone = false;
  }
  bool long_enough = p->system->start_ms * GATE_SHARE > p->times.ttl_ms;
  return fault.kind == LB_HUNT_RESTART && fault.slot == LB_HUNT_ASKING && gated && alone && long_enough;
}

/* A restart inside client 1's acquire, where a start takes longer than a client may be held up: the server is killed
 * while client 1 is held up at the gate, and started again when it has gone on. Whether there is one; `write`: the step
 * that starts it again. */
static bool start_later(struct lb_hunt_program *p, bool write) {
  bool some = false;
  for (size_t i = 0; i < p->timeline->fault_count; i++) {
    struct lb_hunt_fault f = p->timeline->fault[i];
    if (!starts_later(p, f)) continue;
    if (write) LINE(p, "restart %s", role_of(p, f.target));
    some = true;
  }
  return some;
}

/* A client of an ensemble goes to another server when it is cut off from one: so it is left with one that neither leads
 * nor is F. */
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
  if (f.kind == LB_HUNT_KILL && lb_hunt_fault_is_of_client(f)) p->dead[f.target == LB_HUNT_C1 ? 1 : 2] = true;
}

/* A host that was killed or started again later is not stopped any more. */
static bool is_over(const struct lb_hunt_program *p, size_t i) {
  const struct lb_hunt_fault *f = p->timeline->fault;
  for (size_t j = i + 1; j < p->timeline->fault_count; j++) {
    bool ends = f[j].kind == LB_HUNT_RESTART || f[j].kind == LB_HUNT_KILL;
    if (f[i].kind == LB_HUNT_PAUSE && ends &&
        (f[j].target == f[i].target || f[j].target == LB_HUNT_ALL ||
         (f[j].target == LB_HUNT_F && f[i].target == LB_HUNT_ONE) ||
         (f[j].target == LB_HUNT_MOST && f[i].target == LB_HUNT_P)))
      return true;
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

static void do_slot(struct lb_hunt_program *p, enum lb_hunt_slot slot) {
  for (size_t i = 0; i < p->timeline->fault_count; i++) {
    struct lb_hunt_fault f = p->timeline->fault[i];
    if (f.slot == slot && !(f.kind == LB_HUNT_PAUSE && lb_hunt_fault_is_of_client(f))) act(p, f);
  }
}

/* Does all of a slot but clients that are stopped, and takes back what is undone before a takeover. */
static void take_back_mid(struct lb_hunt_program *p, enum lb_hunt_slot slot) {
  bool waited = false;
  for (size_t i = 0; i < p->timeline->fault_count; i++) {
    struct lb_hunt_fault f = p->timeline->fault[i];
    if (f.slot != slot || f.undo != LB_HUNT_MID) continue;
    bool links = f.kind == LB_HUNT_ISOLATE || f.kind == LB_HUNT_PART;
    bool none = links && p->system->servers == LB_HUNT_INDEPENDENT; /* who never talk do not miss each other */
    if (!waited && !none) LINE(p, "wait %lldms", (long long)p->times.mid_ms);
    waited |= !none;
    take_back(p, i);
  }
}

/* Takes back all with this undo. */
static void take_back_all(struct lb_hunt_program *p, enum lb_hunt_undo undo) {
  for (size_t i = 0; i < p->timeline->fault_count; i++)
    if (p->timeline->fault[i].undo == undo && !lb_hunt_fault_is_of_client(p->timeline->fault[i])) take_back(p, i);
}

/* Heals what clients are cut off from. */
static void heal(struct lb_hunt_program *p) {
  for (size_t i = 0; i < p->timeline->fault_count; i++) {
    enum lb_hunt_kind kind = p->timeline->fault[i].kind;
    if (kind == LB_HUNT_CUT || kind == LB_HUNT_CUT_ONE || kind == LB_HUNT_CUT_OFF) {
      LINE(p, "heal");
      return;
    }
  }
}

#define MS(ms) ((long long)(ms))
enum { PROLOGUE_MS = 10000, RELEASE_MS = 2000, LOOK_MS = 600, SENT_MS = 50, FREE_MS = 4000 };

static void comment(struct lb_hunt_program *p, const char *text) { fprintf(p->file, "# %s\n", text); }

/* Waits for a client that can still write: not for a dead one, nor for one that has written before. */
static void let_write(struct lb_hunt_program *p, int64_t ms) {
  if (p->client_3 && !p->dead[2] && !p->spent_2) LINE(p, "let client 2 or 3 write within %lldms", MS(ms));
  else if (p->client_3) LINE(p, "let client 3 write within %lldms", MS(ms));
  else if (!p->dead[2]) LINE(p, "let client 2 write within %lldms", MS(ms));
}

/* They go on trying while a client stands still, but not until the lease of one that died is over: whether the lock can
 * be had then is asked at the end. */
static int64_t section_ms(const struct lb_hunt_program *p) {
  bool stands = false;
  for (size_t i = 0; i < p->timeline->fault_count; i++)
    stands |= p->timeline->fault[i].kind == LB_HUNT_PAUSE && lb_hunt_fault_is_of_client(p->timeline->fault[i]);
  return p->times.section_ms + (stands ? p->times.pause_ms : 0);
}

static void begin_2(struct lb_hunt_program *p) { LINE(p, "client 2 begin section within %lldms", MS(section_ms(p))); }
static void open_3(struct lb_hunt_program *p) {
  if (p->client_3) LINE(p, "client 3 open and begin section within %lldms", MS(section_ms(p)));
}
static bool stops(const struct lb_hunt_program *p, enum lb_hunt_target client, enum lb_hunt_slot slot) {
  return does(p->timeline, LB_HUNT_PAUSE, client, slot);
}

/* Its request waits at a primary that stands still. */
static bool is_late(const struct lb_hunt_program *p) {
  return p->system->servers == LB_HUNT_REPLICATED && does(p->timeline, LB_HUNT_PAUSE, LB_HUNT_P, LB_HUNT_BEFORE);
}

/* Then client 2 goes to the new primary while the old one stands still, and asks there when client 1 has been granted:
 * else both would go wherever the library takes them, and client 3 that opens its session later finds the old one
 * again. */
static bool moves_2(const struct lb_hunt_program *p) {
  for (size_t i = 0; i < p->timeline->fault_count; i++)
    if (p->timeline->fault[i].target == LB_HUNT_C2 && p->timeline->fault[i].slot == LB_HUNT_HOLDING) return false;
  return is_late(p) && !stops(p, LB_HUNT_C1, LB_HUNT_HOLDING) && !stops(p, LB_HUNT_C1, LB_HUNT_ASKING);
}

static void move_2(struct lb_hunt_program *p) {
  LINE(p, "client 2 reopen within %dms", PROLOGUE_MS);
  LINE(p, "client 2 acquire within %lldms", MS(p->times.write_ms + 1000));
  LINE(p, "client 2 release within %dms", RELEASE_MS);
}

/* ---- before ------------------------------------------------------------------------------------------ */

static void prologue(struct lb_hunt_program *p) {
  comment(p, "connections are made, and a first number is drawn");
  for (int n = 1; n <= 2; n++) {
    LINE(p, "client %d acquire within %dms", n, PROLOGUE_MS);
    LINE(p, "client %d release within %dms", n, RELEASE_MS);
  }
}

/* A dead primary grants nothing, so the failover comes first. */
static void before(struct lb_hunt_program *p) {
  if (!has_slot(p->timeline, LB_HUNT_BEFORE)) return;
  comment(p, "before");
  do_slot(p, LB_HUNT_BEFORE);
  take_back_mid(p, LB_HUNT_BEFORE);
  bool dead = p->times.failover_ms > 0 && does(p->timeline, LB_HUNT_KILL, LB_HUNT_P, LB_HUNT_BEFORE);
  if (dead) LINE(p, "let failover within %lldms", MS(p->times.failover_ms));
}

/* ---- acquire ----------------------------------------------------------------------------------------- */

static void let_hold(struct lb_hunt_program *p) {
  if (!p->dead[1])
    LINE(p, "let client 1 hold within %lldms", MS(is_late(p) ? p->times.write_ms + 1000 : p->times.acquire_ms));
}

static void acquire(struct lb_hunt_program *p) {
  bool any = has_slot(p->timeline, LB_HUNT_ASKING), stop = stops(p, LB_HUNT_C1, LB_HUNT_ASKING),
       later = start_later(p, false);
  comment(p, any ? "client 1 asks, and stands still inside its acquire" : "client 1 asks");
  if (any) LINE(p, "%s client 1 at %s", stop ? "stop" : "gate", p->system->inside);
  LINE(p, "client 1 %sacquire within %lldms", is_late(p) || later ? "begin " : "", MS(p->times.acquire_ms));
  if (later) LINE(p, "await client 1 is stopped within %lldms", MS(p->times.acquire_ms));
  do_slot(p, LB_HUNT_ASKING);
  if (any && !stop && !p->dead[1]) LINE(p, "pass client 1");
  start_later(p, true);
  take_back_mid(p, LB_HUNT_ASKING);
  if (!stop && is_late(p) && !p->dead[1])
    LINE(p, "let client 1 hold within %dms", SENT_MS); /* it cannot yet: its request leaves */
  else if (!stop && any) let_hold(p);
  if (!moves_2(p)) begin_2(p);
  if (stop && !p->dead[1]) {
    LINE(p, "let client 2 write within %lldms", MS(p->times.pause_ms));
    LINE(p, "resume client 1");
    p->spent_2 = true;
    let_hold(p);
  }
  if (!is_late(p) && !p->dead[1]) LINE(p, "client 1 read");
}

/* ---- holding ----------------------------------------------------------------------------------------- */

/* True if it causes a failover, where there can be one: the primary is gone or reaches no server for long enough. */
static bool takes_over(struct lb_hunt_fault f, const struct lb_hunt_system *s) {
  bool can = s->servers == LB_HUNT_REPLICATED || s->servers == LB_HUNT_ENSEMBLE;
  bool away = f.kind == LB_HUNT_KILL || f.kind == LB_HUNT_PAUSE || f.kind == LB_HUNT_ISOLATE;
  return can && away && f.target == LB_HUNT_P && f.undo != LB_HUNT_MID;
}

/* What waits for a takeover: with it, or as long as two of those who look would need, where none comes. One that was
 * killed before client 1 asked has been replaced already. */
static void take_over(struct lb_hunt_program *p) {
  const struct lb_hunt_timeline *t = p->timeline;
  bool comes = false, waits = false;
  for (size_t i = 0; i < t->fault_count; i++) {
    bool before = t->fault[i].kind == LB_HUNT_KILL && t->fault[i].slot == LB_HUNT_BEFORE;
    comes |= takes_over(t->fault[i], p->system) && !before && t->fault[i].slot < LB_HUNT_CHECKED;
    waits |= t->fault[i].undo == LB_HUNT_AFTER;
  }
  if (comes) LINE(p, "let failover within %lldms", MS(p->times.failover_ms));
  else if (waits) LINE(p, "wait %lldms", MS(p->system->detector_ms > 0 ? 2 * p->system->detector_ms : LOOK_MS));
}

/* A stopped client cannot show its clock. */
static bool sets_clock_of(const struct lb_hunt_program *p, enum lb_hunt_target client) {
  return does(p->timeline, LB_HUNT_AHEAD, client, LB_HUNT_HOLDING) ||
         does(p->timeline, LB_HUNT_BACK, client, LB_HUNT_HOLDING);
}

static void hold(struct lb_hunt_program *p) {
  bool stop_1 = stops(p, LB_HUNT_C1, LB_HUNT_HOLDING), stop_2 = stops(p, LB_HUNT_C2, LB_HUNT_HOLDING);
  bool clock_first = (stop_1 && sets_clock_of(p, LB_HUNT_C1)) || (stop_2 && sets_clock_of(p, LB_HUNT_C2));
  comment(p, "client 1 holds");
  if (clock_first) do_slot(p, LB_HUNT_HOLDING);
  if (stop_1 && !p->dead[1]) LINE(p, "pause client 1");
  if (stop_2) LINE(p, "pause client 2");
  if (!clock_first) do_slot(p, LB_HUNT_HOLDING);
  take_back_mid(p, LB_HUNT_HOLDING);
  take_over(p);
  if (!is_late(p) || stop_1) open_3(p);
  if (moves_2(p)) move_2(p);
  take_back_all(p, LB_HUNT_AFTER);
  if (is_late(p) && !stop_1) {
    let_hold(p);
    if (!p->dead[1]) LINE(p, "client 1 read");
    if (moves_2(p)) begin_2(p);
    open_3(p);
  }
  let_write(p, stop_1 || stop_2 ? p->times.pause_ms : p->times.write_ms);
  if (stop_1 && !p->dead[1]) LINE(p, "resume client 1");
  if (stop_2 && !p->dead[2]) LINE(p, "resume client 2");
  if (is_late(p) && stop_1 && !p->dead[1]) {
    let_hold(p);
    LINE(p, "client 1 read");
  }
}

/* ---- write and release ------------------------------------------------------------------------------- */

static void write_1(struct lb_hunt_program *p) {
  bool stop = stops(p, LB_HUNT_C1, LB_HUNT_CHECKED);
  if (stop) LINE(p, "stop client 1 at after-check");
  LINE(p, "client 1 write");
  if (stop) let_write(p, p->times.pause_ms);
  if (stop) LINE(p, "resume client 1");
}

static void done(struct lb_hunt_program *p) {
  bool stop = stops(p, LB_HUNT_C1, LB_HUNT_DONE);
  if (stop) LINE(p, "pause client 1");
  do_slot(p, LB_HUNT_DONE);
  if (stop && !p->dead[1]) {
    let_write(p, p->times.pause_ms);
    LINE(p, "resume client 1");
  }
}

/* A waiter that stands still while it is woken has not looked yet when the faults are done. */
static void release(struct lb_hunt_program *p) {
  bool woken = has_slot(p->timeline, LB_HUNT_WOKEN) && !p->dead[2], stop = stops(p, LB_HUNT_C2, LB_HUNT_WOKEN);
  if (woken) LINE(p, "pause client 2");
  LINE(p, "client 1 release within %dms", RELEASE_MS);
  do_slot(p, LB_HUNT_WOKEN);
  if (stop && !p->dead[2] && p->client_3) LINE(p, "let client 3 write within %lldms", MS(p->times.pause_ms));
  else if (stop && !p->dead[2]) LINE(p, "wait %lldms", MS(p->times.ttl_ms * 3 / 2));
  if (woken && !p->dead[2]) LINE(p, "resume client 2");
  take_back_mid(p, LB_HUNT_WOKEN);
}

static void epilogue(struct lb_hunt_program *p) {
  bool dead = p->dead[1] || p->dead[2]; /* its lease ends first, if it does */
  int64_t patience = dead ? p->times.failover_ms + p->times.ttl_ms + FREE_MS : PROLOGUE_MS;
  comment(p, "all is healed, and each client must be able to get the lock");
  take_back_all(p, LB_HUNT_GONE);
  heal(p);
  for (int n = 1; n <= (p->client_3 ? 3 : 2); n++) {
    if (p->dead[n]) continue;
    LINE(p, "client %d acquire within %lldms", n, MS(patience));
    LINE(p, "client %d release within %dms", n, RELEASE_MS);
    if (dead)
      patience = FREE_MS + p->times.failover_ms; /* the next one: where the first one could not, it cannot either */
  }
}

/* All lines "step = ...". */
static void program_write(struct lb_hunt_program *p) {
  prologue(p);
  before(p);
  acquire(p);
  hold(p);
  comment(p, "client 1 writes and releases");
  if (!p->dead[1]) write_1(p);
  if (!p->dead[1]) done(p);
  if (!p->dead[1]) release(p);
  let_write(p, p->times.write_ms);
  epilogue(p);
}

static void head(const struct lb_hunt_program *p, enum lb_guard guard, const struct lb_hunt_settings *settings,
                 const char *id) {
  const struct lb_hunt_timeline *t = p->timeline;
  char hosts[60];
  fprintf(p->file, "# %s of a hunt on %s.\n", id, p->system->name);
  for (size_t i = 0; i < t->fault_count; i++) {
    char said[160];
    lb_hunt_fault_say(t->fault[i], said, sizeof said);
    fprintf(p->file, "# %s%s%s\n", i == 0 ? "In it " : "and ", said, i + 1 == t->fault_count ? "." : ",");
  }
  lb_hunt_hosts_say(p->system, t, hosts, sizeof hosts);
  if (*hosts) fprintf(p->file, "# %s.\n", hosts);
  if (lb_hunt_timeline_has_unreal(t))
    fprintf(p->file, "# No machine has such a clock: it shows what the lock rests on.\n");
  if (t->fault_count == 0) fprintf(p->file, "# In it nothing is done to anybody.\n");
  if (!p->client_3) fprintf(p->file, "# Without client 3: nobody opens a session behind the faults.\n");
  fprintf(p->file, "# Leases: %lld ms, %s.\n", (long long)p->times.ttl_ms,
          p->times.renew ? "renewed while a client holds" : "not renewed");
  for (const char *line = settings->note, *next; line; line = next) {
    next = strchr(line, '\n');
    fprintf(p->file, "# %.*s\n", next ? (int)(next++ - line) : (int)strlen(line), line);
  }
  fprintf(p->file, "#\n# To play it again: lockbench run FILE -b %s -g %s -n 20\n\n", p->system->name,
          lb_guard_name(guard));
}

static void question(const struct lb_hunt_program *p, enum lb_guard guard, const char *id) {
  fprintf(p->file, "[scenario]\ntitle = %s\n", id);
  fprintf(p->file, "question = Does %s keep exclusion in the timeline %s of the hunt?\n", p->system->name, id);
  fprintf(p->file, "refuted = It comes out otherwise than when it was hunted.\ntrials = 5\nmin_handoffs = 0\n");
  fprintf(p->file, "systems = %s\nguards = %s\n\n", p->system->name, lb_guard_name(guard));
}

static void workload(const struct lb_hunt_program *p) {
  fprintf(p->file, "[workload]\nclients = %d\nttl_ms = %lld\nrenew = %s\n", p->client_3 ? 3 : 2,
          (long long)p->times.ttl_ms, p->times.renew ? "yes" : "no");
}

int lb_hunt_write(const struct lb_hunt_timeline *timeline, const struct lb_hunt_system *system, enum lb_guard guard,
                  const struct lb_hunt_settings *settings, const char *expected, FILE *file) {
  static const struct lb_hunt_settings none = {0};
  char id[LB_HUNT_ID_MAX];
  if (!settings) settings = &none;
  struct lb_hunt_program p = {.timeline = timeline,
                              .system = system,
                              .times = lb_hunt_times_of(system, timeline->regime, settings),
                              .client_3 = !settings->no_client_3,
                              .file = file};
  lb_hunt_timeline_id(timeline, id);
  head(&p, guard, settings, id);
  question(&p, guard, id);
  workload(&p);
  fprintf(file, "\n[timeline]\n");
  program_write(&p);
  fprintf(file, "\n[proof]\npast_lease = yes\n\n");
  if (guard == LB_GUARD_NONE) fprintf(file, "[expect]\n");
  else fprintf(file, "[expect %s]\n", lb_guard_name(guard));
  fprintf(file, "%.*s = %s: as it was hunted\n", (int)lb_expect_name_length(system->name), system->name, expected);
  return fflush(file) != 0 || ferror(file) ? -EIO : 0;
}
