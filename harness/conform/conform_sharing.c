/* SPDX-License-Identifier: MIT
 *
 * Locks that let in several: readers beside each other, and as many as there are permits. What an exclusive hold is
 * worth the other statements ask, and such a lock answers them like any other: as a writer, with one permit.
 */
#include "conform_calls.h"
#include "conform_process.h"

#include <inttypes.h>

enum { PERMITS = 3, CLIENTS = 16, TURNS = 3, TURN_MS = 1, CROWD_MS = 20000, SHORT_TTL_MS = 400 };

static int try_as(struct lb_conform *c, int i, bool reader, const char *key, struct lb_grant *g) {
  c->as_reader = reader;
  return lb_conform_try(c, i, key, g);
}

static int acquire_as(struct lb_conform *c, int i, bool reader, const char *key, struct lb_grant *g) {
  c->as_reader = reader;
  return lb_conform_acquire(c, i, key, g, 2000);
}

/* By a session that goes away again. */
static void refused(struct lb_conform *c, int i, bool reader, const char *key) {
  struct lb_grant g = LB_GRANT_INIT;
  WANT(LB_BUSY, try_as(c, i, reader, key, &g));
  lb_conform_leave(c, i, key, &g);
}

/* ---- readers ------------------------------------------------------------------------------------ */

static void readers_hold_together(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, try_as(c, 0, true, key, &a));
  WANT(LB_OK, try_as(c, 1, true, key, &b));
  if (c->protocol->holds) WANT(LB_OK, lb_conform_holds(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  if (c->protocol->holds) WANT(LB_OK, lb_conform_holds(c, 1, key, &b));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* The first release is where a lock that does not count its readers would let the writer in. */
static void a_writer_waits_for_all_readers(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, w = LB_GRANT_INIT;
  WANT(LB_OK, try_as(c, 0, true, key, &a));
  WANT(LB_OK, try_as(c, 1, true, key, &b));
  refused(c, 2, false, key);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  refused(c, 2, false, key);
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
  WANT(LB_OK, acquire_as(c, 2, false, key, &w));
  WANT(LB_OK, lb_conform_release(c, 2, key, &w));
}

static void readers_wait_for_the_writer(struct lb_conform *c) {
  KEY;
  struct lb_grant w = LB_GRANT_INIT, a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, try_as(c, 0, false, key, &w));
  refused(c, 1, true, key);
  WANT(LB_OK, lb_conform_release(c, 0, key, &w));
  WANT(LB_OK, acquire_as(c, 1, true, key, &a));
  WANT(LB_OK, acquire_as(c, 2, true, key, &b));
  WANT(LB_OK, lb_conform_release(c, 1, key, &a));
  WANT(LB_OK, lb_conform_release(c, 2, key, &b));
}

/* A lock that only counts its readers would count one down for each of the two releases. */
static void a_reader_releases_its_own_hold(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, try_as(c, 0, true, key, &a));
  WANT(LB_OK, try_as(c, 1, true, key, &b));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_LOST, lb_conform_release(c, 0, key, &a));
  refused(c, 2, false, key);
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* Other readers keep the record, and with it perhaps what a reader had whose lease is over. */
static void each_reader_has_its_own_lease(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, w = LB_GRANT_INIT;
  c->as_reader = true;
  WANT(LB_OK, lb_conform_try(c, 1, key, &b));
  WANT(LB_OK, try_for(c, 0, key, SHORT_TTL_MS, &a));
  lb_clock_sleep_until(lb_clock_ns() + (SHORT_TTL_MS + 50) * LB_NS_PER_MS);
  WANT(LB_LOST, lb_conform_holds(c, 0, key, &a));
  WANT(LB_LOST, lb_conform_extend(c, 0, key, TTL_MS, &a));
  WANT(LB_OK, lb_conform_holds(c, 1, key, &b));
  refused(c, 2, false, key);
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
  WANT(LB_OK, acquire_as(c, 2, false, key, &w));
  WANT(LB_OK, lb_conform_release(c, 2, key, &w));
}

/* ---- permits -------------------------------------------------------------------------------------- */

static void as_many_hold_as_there_are_permits(struct lb_conform *c) {
  KEY;
  struct lb_grant g[PERMITS] = {0}, next = LB_GRANT_INIT;
  c->permits = PERMITS;
  for (int i = 0; i < PERMITS; i++) WANT(LB_OK, lb_conform_try(c, i, key, &g[i]));
  refused(c, PERMITS, false, key);
  WANT(LB_OK, lb_conform_release(c, 1, key, &g[1]));
  WANT(LB_OK, lb_conform_acquire(c, PERMITS, key, &next, 2000));
  refused(c, 1, false, key);
  if (c->protocol->holds) WANT(LB_OK, lb_conform_holds(c, 0, key, &g[0]));
  for (int i = 0; i < PERMITS; i += 2) WANT(LB_OK, lb_conform_release(c, i, key, &g[i]));
  WANT(LB_OK, lb_conform_release(c, PERMITS, key, &next));
}

/* ---- many clients ----------------------------------------------------------------------------------- */

static const char *crowded; /* the key that they want */

/* `weight` of the client itself; those who are inside may weigh `most` together. */
static void be_inside(struct lb_conform *c, int number, uint64_t weight, uint64_t most) {
  uint64_t others = atomic_fetch_add(&c->shared->inside, weight);
  lb_conform_check(c, others + weight <= most, "expected at most %" PRIu64 " inside, client %d is one of %" PRIu64,
                   most, number + 1, others + weight);
  lb_clock_sleep_until(in_ms(TURN_MS));
  atomic_fetch_sub(&c->shared->inside, weight);
}

static void take_turns(struct lb_conform *c, int number, uint64_t weight, uint64_t most) {
  for (int turn = 0; turn < TURNS; turn++) {
    struct lb_grant g = LB_GRANT_INIT;
    WANT(LB_OK, lb_conform_queue_up(c, 0, crowded, &g, CROWD_MS));
    be_inside(c, number, weight, most);
    WANT(LB_OK, lb_conform_release(c, 0, crowded, &g));
  }
}

static void take_a_permit(struct lb_conform *c, int number) {
  c->permits = PERMITS;
  take_turns(c, number, 1, PERMITS);
}

/* Every fourth writes, and weighs as much as all. */
static void read_or_write(struct lb_conform *c, int number) {
  c->as_reader = number % 4 != 0;
  take_turns(c, number, c->as_reader ? 1 : CLIENTS, CLIENTS);
}

static void crowd(struct lb_conform *c, void (*act)(struct lb_conform *c, int number)) {
  crowded = lb_conform_key(c);
  for (int i = 0; i < CLIENTS; i++) lb_conform_start(c, "crowd", i, act);
  lb_conform_join(c, CROWD_MS);
}

static void three_of_sixteen(struct lb_conform *c) { crowd(c, take_a_permit); }

static void four_writers_of_sixteen(struct lb_conform *c) { crowd(c, read_or_write); }

const struct lb_conform_statement lb_conform_of_sharing[] = {
    {"readers hold together", LB_NEEDS_SAFE | LB_NEEDS_SHARED, readers_hold_together},
    {"a writer waits for all readers", LB_NEEDS_SAFE | LB_NEEDS_SHARED, a_writer_waits_for_all_readers},
    {"readers wait for the writer", LB_NEEDS_SAFE | LB_NEEDS_SHARED, readers_wait_for_the_writer},
    {"a reader releases its own hold", LB_NEEDS_SAFE | LB_NEEDS_SHARED | LB_NEEDS_OWNER,
     a_reader_releases_its_own_hold},
    {"each reader has its own lease", LB_NEEDS_SAFE | LB_NEEDS_SHARED | LB_NEEDS_LEASE | LB_NEEDS_HOLDS,
     each_reader_has_its_own_lease},
    {"of sixteen clients four write, and each alone", LB_NEEDS_SAFE | LB_NEEDS_SHARED, four_writers_of_sixteen},
    {"as many hold as there are permits", LB_NEEDS_SAFE | LB_NEEDS_PERMITS, as_many_hold_as_there_are_permits},
    {"of sixteen clients three hold, and each gets its turn", LB_NEEDS_SAFE | LB_NEEDS_PERMITS, three_of_sixteen},
    {NULL, 0, NULL},
};
