/* SPDX-License-Identifier: MIT
 *
 * The program of the hunt, the same for every lock: three clients, of whom the first goes step by step and
 * the others do whole sections by themselves. Faults stand in its slots.
 *
 * Client 3 opens its session behind the faults and behind the takeover that they cause, so that it sees what is there by
 * then; client 2 has had its connection all along. A primary that was stopped before client 1 asked is a
 * case of its own: the request waits there until the primary goes on, and client 1 holds only then.
 */
#include "program.h"

#define LINE(p, ...) (fprintf((p)->file, "step = " __VA_ARGS__), fputc('\n', (p)->file))
#define MS(ms) ((long long)(ms))
enum { PROLOGUE_MS = 10000, RELEASE_MS = 2000, UNSEEN_MS = 600, SENT_MS = 50, FREE_MS = 4000 };

static void comment(struct lb_hunt_program *p, const char *text) { fprintf(p->file, "# %s\n", text); }

/* Whoever can still write: a dead client is not waited for, nor one that has written before. */
static void let_write(struct lb_hunt_program *p, int64_t ms) {
  if (p->client_3 && !p->dead[2] && !p->spent_2) LINE(p, "let client 2 or 3 write within %lldms", MS(ms));
  else if (p->client_3) LINE(p, "let client 3 write within %lldms", MS(ms));
  else if (!p->dead[2]) LINE(p, "let client 2 write within %lldms", MS(ms));
}

/* They go on trying while a client stands still, but not until the lease of one that died is over: whether the lock can be had then is asked at the end. */
static int64_t section_ms(const struct lb_hunt_program *p) {
  bool stands = false;
  for (size_t i = 0; i < p->timeline->fault_count; i++) stands |= p->timeline->fault[i].kind == LB_HUNT_PAUSE && lb_hunt_of_client(p->timeline->fault[i]);
  return p->times.section_ms + (stands ? p->times.pause_ms : 0);
}

static void begin_2(struct lb_hunt_program *p) { LINE(p, "client 2 begin section within %lldms", MS(section_ms(p))); }
static void open_3(struct lb_hunt_program *p) {
  if (p->client_3) LINE(p, "client 3 open and begin section within %lldms", MS(section_ms(p)));
}
static bool stops(const struct lb_hunt_program *p, enum lb_hunt_target client, enum lb_hunt_slot slot) {
  return lb_hunt_does(p->timeline, LB_HUNT_PAUSE, client, slot);
}

/* Its request waits at a primary that stands still. */
static bool is_late(const struct lb_hunt_program *p) {
  return p->system->servers == LB_HUNT_REPLICATED && lb_hunt_does(p->timeline, LB_HUNT_PAUSE, LB_HUNT_P, LB_HUNT_BEFORE);
}

/* Then client 2 goes to the new primary while the old one stands still, and asks there when client 1 has been granted: else both would go wherever the
 * library takes them, and client 3 that opens its session later finds the old one again. */
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

/* Of a primary that is dead nobody can be granted anything, so another one takes over first. */
static void before(struct lb_hunt_program *p) {
  if (!lb_hunt_has(p->timeline, LB_HUNT_BEFORE)) return;
  comment(p, "before");
  lb_hunt_do(p, LB_HUNT_BEFORE);
  lb_hunt_take_back_mid(p, LB_HUNT_BEFORE);
  bool dead = p->times.failover_ms > 0 && lb_hunt_does(p->timeline, LB_HUNT_KILL, LB_HUNT_P, LB_HUNT_BEFORE);
  if (dead) LINE(p, "let failover within %lldms", MS(p->times.failover_ms));
}

/* ---- acquire ----------------------------------------------------------------------------------------- */

static void let_hold(struct lb_hunt_program *p) {
  if (!p->dead[1]) LINE(p, "let client 1 hold within %lldms", MS(is_late(p) ? p->times.write_ms + 1000 : p->times.acquire_ms));
}

static void acquire(struct lb_hunt_program *p) {
  bool any = lb_hunt_has(p->timeline, LB_HUNT_ASKING), stop = stops(p, LB_HUNT_C1, LB_HUNT_ASKING), later = lb_hunt_start_later(p, false);
  comment(p, any ? "client 1 asks, and stands still inside its acquire" : "client 1 asks");
  if (any) LINE(p, "%s client 1 at %s", stop ? "stop" : "gate", p->system->inside);
  LINE(p, "client 1 %sacquire within %lldms", is_late(p) || later ? "begin " : "", MS(p->times.acquire_ms));
  if (later) LINE(p, "await client 1 is stopped within %lldms", MS(p->times.acquire_ms));
  lb_hunt_do(p, LB_HUNT_ASKING);
  if (any && !stop && !p->dead[1]) LINE(p, "pass client 1");
  lb_hunt_start_later(p, true);
  lb_hunt_take_back_mid(p, LB_HUNT_ASKING);
  if (!stop && is_late(p) && !p->dead[1]) LINE(p, "let client 1 hold within %dms", SENT_MS); /* it cannot yet: its request leaves */
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

/* What waits for a takeover: with it, or as long as two of those who look would need, where none comes. One that was killed before client 1 asked
 * has been replaced already. */
static void take_over(struct lb_hunt_program *p) {
  const struct lb_hunt_timeline *t = p->timeline;
  bool comes = false, waits = false;
  for (size_t i = 0; i < t->fault_count; i++) {
    bool before = t->fault[i].kind == LB_HUNT_KILL && t->fault[i].slot == LB_HUNT_BEFORE;
    comes |= lb_hunt_takes_over(t->fault[i], p->system) && !before && t->fault[i].slot < LB_HUNT_CHECKED;
    waits |= t->fault[i].undo == LB_HUNT_AFTER;
  }
  if (comes) LINE(p, "let failover within %lldms", MS(p->times.failover_ms));
  else if (waits) LINE(p, "wait %lldms", MS(p->system->detector_ms > 0 ? 2 * p->system->detector_ms : UNSEEN_MS));
}

/* Who stands still cannot say what time it has. */
static bool sets_clock_of(const struct lb_hunt_program *p, enum lb_hunt_target client) {
  return lb_hunt_does(p->timeline, LB_HUNT_AHEAD, client, LB_HUNT_HOLDING) || lb_hunt_does(p->timeline, LB_HUNT_BACK, client, LB_HUNT_HOLDING);
}

static void hold(struct lb_hunt_program *p) {
  bool stop_1 = stops(p, LB_HUNT_C1, LB_HUNT_HOLDING), stop_2 = stops(p, LB_HUNT_C2, LB_HUNT_HOLDING);
  bool clock_first = (stop_1 && sets_clock_of(p, LB_HUNT_C1)) || (stop_2 && sets_clock_of(p, LB_HUNT_C2));
  comment(p, "client 1 holds");
  if (clock_first) lb_hunt_do(p, LB_HUNT_HOLDING);
  if (stop_1 && !p->dead[1]) LINE(p, "pause client 1");
  if (stop_2) LINE(p, "pause client 2");
  if (!clock_first) lb_hunt_do(p, LB_HUNT_HOLDING);
  lb_hunt_take_back_mid(p, LB_HUNT_HOLDING);
  take_over(p);
  if (!is_late(p) || stop_1) open_3(p);
  if (moves_2(p)) move_2(p);
  lb_hunt_take_back(p, LB_HUNT_AFTER);
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
  lb_hunt_do(p, LB_HUNT_DONE);
  if (stop && !p->dead[1]) {
    let_write(p, p->times.pause_ms);
    LINE(p, "resume client 1");
  }
}

/* A waiter that stands still while it is woken has not looked yet when the faults are done. */
static void release(struct lb_hunt_program *p) {
  bool woken = lb_hunt_has(p->timeline, LB_HUNT_WOKEN) && !p->dead[2], stop = stops(p, LB_HUNT_C2, LB_HUNT_WOKEN);
  if (woken) LINE(p, "pause client 2");
  LINE(p, "client 1 release within %dms", RELEASE_MS);
  lb_hunt_do(p, LB_HUNT_WOKEN);
  if (stop && !p->dead[2] && p->client_3) LINE(p, "let client 3 write within %lldms", MS(p->times.pause_ms));
  else if (stop && !p->dead[2]) LINE(p, "wait %lldms", MS(p->times.ttl_ms * 3 / 2));
  if (woken && !p->dead[2]) LINE(p, "resume client 2");
  lb_hunt_take_back_mid(p, LB_HUNT_WOKEN);
}

static void epilogue(struct lb_hunt_program *p) {
  bool dead = p->dead[1] || p->dead[2]; /* its lease ends first, if it does */
  int64_t patience = dead ? p->times.failover_ms + p->times.ttl_ms + FREE_MS : PROLOGUE_MS;
  comment(p, "all is healed, and each client must be able to get the lock");
  lb_hunt_take_back(p, LB_HUNT_GONE);
  lb_hunt_heal(p);
  for (int n = 1; n <= (p->client_3 ? 3 : 2); n++) {
    if (p->dead[n]) continue;
    LINE(p, "client %d acquire within %lldms", n, MS(patience));
    LINE(p, "client %d release within %dms", n, RELEASE_MS);
    if (dead) patience = FREE_MS + p->times.failover_ms; /* the next one: where the first one could not, it cannot either */
  }
}

void lb_hunt_program_write(struct lb_hunt_program *p) {
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
