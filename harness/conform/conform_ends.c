/* SPDX-License-Identifier: MIT
 *
 * Ends that nobody prepared: of a client, anywhere in what it does, and of all servers, which are then
 * started again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "conform_statement.h"

/* ---- clients that die ------------------------------------------------------------------------ */

enum { BRIEF_MS = 400, BRIEF_SESSION_MS = 1000, DEAD_WAITER = 0, DEAD_HOLDER = 1, DEAD_AT_A_POINT = 2 };

static char wanted[LB_CONFORM_PROCESSES][48]; /* a key for each of them */

static void die(struct lb_conform *c) { (void)c, _exit(0); }

/* Number 0 is refused and dies in its wait, number 1 holds, the others die at a point; who does not come by
 * that point ends well. */
static void live_briefly(struct lb_conform *c, int number) {
  struct lb_grant g = LB_GRANT_INIT;
  c->config[0].ttl_ms = has(c, LB_TRAIT_SESSION) ? BRIEF_SESSION_MS : BRIEF_MS;
  if (number >= DEAD_AT_A_POINT) lb_conform_at_point(c, c->protocol->points[number - DEAD_AT_A_POINT], die);
  int r = lb_conform_try_for(c, 0, wanted[number], BRIEF_MS, &g, in_ms(LB_CONFORM_CALL_MS));
  if (number < DEAD_AT_A_POINT) {
    WANT(number == DEAD_WAITER ? LB_BUSY : LB_OK, r);
    die(c);
  }
  WANT(LB_OK, r);
  WANT(LB_OK, lb_conform_release(c, 0, wanted[number], &g));
}

/* Holds what the first of them is refused, until that one is dead. */
static void hold_against(struct lb_conform *c, int number) {
  struct lb_grant g = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try_for(c, 0, wanted[number], CUT_TTL_MS, &g, in_ms(2000)));
  atomic_store(&c->shared->inside, 1);
  for (lb_ns end = in_ms(CUT_TTL_MS); atomic_load(&c->shared->inside) == 1 && lb_clock_ns() < end;) lb_clock_sleep_until(in_ms(2));
  WANT(LB_OK, lb_conform_release(c, 0, wanted[number], &g));
}

static int points_of(const struct lb_protocol *p) {
  int count = 0;
  while (p->points && p->points[count] && count < LB_CONFORM_PROCESSES - 1 - DEAD_AT_A_POINT) count++;
  return count;
}

/* All of them at once: one lease or session, and all are over. */
void lb_statement_dead_clients_hold_nothing(struct lb_conform *c) {
  int count = DEAD_AT_A_POINT + points_of(c->protocol);
  for (int i = 0; i < count; i++) snprintf(wanted[i], sizeof wanted[i], "%s", lb_conform_key(c));
  lb_conform_start(c, "holder", DEAD_WAITER, hold_against);
  for (lb_ns end = in_ms(LB_CONFORM_CALL_MS); !atomic_load(&c->shared->inside) && lb_clock_ns() < end;) lb_clock_sleep_until(in_ms(2));
  struct lb_conform others = *c;
  others.process_count = 0;
  for (int i = 0; i < count; i++) lb_conform_start(&others, "mortal", i, live_briefly);
  lb_conform_join(&others, 2 * LB_CONFORM_CALL_MS);
  atomic_store(&c->shared->inside, 2);
  lb_conform_join(c, LB_CONFORM_CALL_MS);
  int64_t ms = SLACK_MS + (has(c, LB_TRAIT_SESSION) ? 2 * BRIEF_SESSION_MS : BRIEF_MS);
  for (int i = 0; i < count; i++) {
    struct lb_grant g = LB_GRANT_INIT;
    WANT(LB_OK, lb_conform_queue_up(c, 0, wanted[i], &g, ms));
    WANT(LB_OK, lb_conform_release(c, 0, wanted[i], &g));
  }
}

/* ---- servers that start again ---------------------------------------------------------------- */

enum { RESTART_MS = 25000, BACK_MS = 10000, RESTART_TTL_MS = 60000 };

static void restart_servers(struct lb_conform *c) {
  lb_ns end = in_ms(RESTART_MS);
  atomic_store(&c->shared->servers, LB_CONFORM_SHALL_RESTART);
  while (atomic_load(&c->shared->servers) == LB_CONFORM_SHALL_RESTART && lb_clock_ns() < end) lb_clock_sleep_until(in_ms(2));
  if (atomic_load(&c->shared->servers) != LB_CONFORM_SERVE) lb_conform_break(c, "the servers did not start again");
}

/* Errors and silence are true answers while a server is coming back. */
void lb_statement_get_back(struct lb_conform *c, int i, const char *key, struct lb_grant *grant) {
  lb_ns end = in_ms(BACK_MS);
  int r;
  while ((r = lb_conform_try_for(c, i, key, RESTART_TTL_MS, grant, in_ms(1000))) != LB_OK && lb_clock_ns() < end) {
    if (r == LB_UNKNOWN || (r == LB_BUSY && has(c, LB_TRAIT_QUEUES))) lb_conform_release(c, i, key, grant);
    *grant = LB_GRANT_INIT;
    lb_clock_sleep_until(in_ms(20));
  }
  c->within_ms = BACK_MS;
  WANT(LB_OK, r);
}

static uint64_t largest_fence(struct lb_conform *c, const char *key) {
  uint64_t fence = 0;
  for (int i = 0; i < 3; i++) {
    struct lb_grant g = LB_GRANT_INIT;
    WANT(LB_OK, lb_conform_acquire(c, i, key, &g, 2000));
    fence = g.fence;
    WANT(LB_OK, lb_conform_release(c, i, key, &g));
  }
  return fence;
}

/* What a record on a disk says holds after a restart, too. What a server process has in its memory may
 * be gone, and is then gone for everybody. */
static void hold_is_what_it_is_said_to_be(struct lb_conform *c, const char *key, struct lb_grant *grant, bool kept) {
  struct lb_grant b = LB_GRANT_INIT;
  lb_ns end = in_ms(BACK_MS);
  int r;
  while ((r = lb_conform_holds(c, 0, key, grant)) != LB_OK && r != LB_LOST && lb_clock_ns() < end) lb_clock_sleep_until(in_ms(20));
  c->within_ms = BACK_MS;
  if (kept || r != LB_LOST) WANT(LB_OK, r);
  if (r == LB_OK) {
    do r = lb_conform_try(c, 1, key, &b);
    while (r != LB_BUSY && r != LB_OK && lb_clock_ns() < end);
    WANT(LB_BUSY, r);
    lb_conform_leave(c, 1, key, &b);
    WANT(LB_OK, lb_conform_release(c, 0, key, grant));
  } else if (has_owner(c)) {
    lb_statement_get_back(c, 1, key, &b);
    WANT(LB_OK, lb_conform_release(c, 1, key, &b));
  }
}

/* Whether what was acknowledged outlives the process that did so. Where a row of the table has lines of
 * its own on servers that write as they are asked to, these may be about just that. */
static bool keeps(const struct lb_topology *t) {
  return t->keeps == LB_KEEPS_ON_DISK || (t->keeps == LB_KEEPS_AS_ASKED && !t->settings);
}

/* One restart for all that is asked of it, because some servers take their time. */
void lb_statement_goes_on_after_a_restart(struct lb_conform *c) {
  const char *held = lb_conform_key(c), *numbered = lb_conform_key(c), *other = lb_conform_key(c);
  struct lb_grant a = LB_GRANT_INIT, g = LB_GRANT_INIT, d = LB_GRANT_INIT;
  bool kept = keeps(c->topology), fenced = lb_conform_has(c) & LB_NEEDS_FENCE;
  uint64_t fence = largest_fence(c, numbered);
  WANT(LB_OK, lb_conform_try_for(c, 0, held, RESTART_TTL_MS, &a, in_ms(2000)));
  restart_servers(c);
  lb_statement_get_back(c, 0, other, &d);
  WANT(LB_OK, lb_conform_release(c, 0, other, &d));
  if (c->protocol->holds) hold_is_what_it_is_said_to_be(c, held, &a, kept && !has(c, LB_TRAIT_SESSION));
  lb_statement_get_back(c, 2, numbered, &g);
  lb_conform_check(c, !fenced || !kept || g.fence > fence, "expected a fence above %" PRIu64 " after the restart, got %" PRIu64, fence, g.fence);
  WANT(LB_OK, lb_conform_release(c, 2, numbered, &g));
  if (!kept) lb_conform_note(c, "no hold%s asked for, as its servers need not keep any", fenced ? " or number" : "");
}
