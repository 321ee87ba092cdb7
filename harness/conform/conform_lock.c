/* SPDX-License-Identifier: MIT
 *
 * Whether it is a lock, and whose: its table, one holder at a time, which client may release, what an old grant is
 * still worth, and numbers that grow. What a trait admits is checked as well, or it would say too much. Where a
 * statement waits for a grant it tries for a while (lb_conform_acquire()): the contract does not say that a release is
 * seen everywhere at once.
 */
#include "conform_calls.h"
#include "conform_process.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "backends/registry.h"
#include "base/text.h"

/* ---- the table of a protocol ------------------------------------------------------------------ */

static const struct lb_conform_statement *find_statement(const char *text) {
  const struct lb_conform_statement *s;
  for (size_t i = 0; (s = lb_conform_statement_at(false, i)) && strcmp(s->text, text) != 0;) i++;
  return s;
}

static const char *nearest_statement(const char *text) {
  const char *texts[200];
  const struct lb_conform_statement *s;
  size_t count = 0;
  while (count < 200 && (s = lb_conform_statement_at(false, count))) texts[count++] = s->text;
  return lb_text_suggest(text, texts, count);
}

/* A flaw in a statement that is never tried would never be seen. It is no fault of the table if the statement needs
 * what this topology lacks. */
static void check_flaws(struct lb_conform *c) {
  for (const struct lb_flaw *f = c->protocol->flaws; f && f->statement; f++) {
    const struct lb_conform_statement *s = find_statement(f->statement);
    const char *near = s ? NULL : nearest_statement(f->statement);
    lb_conform_check(c, s, "it declares a flaw in '%s', which is no statement%s%s%s", f->statement,
                     near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    bool there = lb_protocol_flaw(c->protocol, c->options, f->statement) != NULL;
    lb_conform_check(c, !there || !(s->needs & ~lb_conform_has(c) & ~(unsigned)LB_NEEDS_OF_TOPOLOGY),
                     "it declares a flaw in '%s', which its traits, hooks or options keep from being asked",
                     f->statement);
  }
}

/* Its name has to lead back to it: two protocols of one name would hide each other. */
static void well_formed(struct lb_conform *c) {
  struct lb_error err;
  int r = lb_protocol_check(c->protocol, &err);
  lb_conform_check(c, r == 0, "%s", r == 0 ? "" : err.text);
  lb_conform_check(c, lb_protocol_find(c->protocol->name) == c->protocol,
                   "expected to find %s by its name, found another protocol", c->protocol->name);
  lb_conform_check(
      c, !(lb_conform_has(c) & LB_NEEDS_FENCE) || lb_protocol_can_fence(c->protocol),
      "expected an option or a trait that says that grants are numbered, or the guard would be refused to it");
  check_flaws(c);
}

/* setup() is called where there is one: a protocol without it has to work at once. */
static void opens_and_sets_up(struct lb_conform *c) {
  KEY;
  struct lb_grant g = LB_GRANT_INIT;
  if (c->protocol->setup) WANT(LB_OK, lb_conform_setup(c, 0));
  WANT(LB_OK, lb_conform_try(c, 0, key, &g)); /* many connect only now */
  WANT(LB_OK, lb_conform_release(c, 0, key, &g));
}

/* ---- exclusion --------------------------------------------------------------------------------- */

/* Several rounds, because a lock that is granted once may still not come back. */
static void granted_and_released(struct lb_conform *c) {
  KEY;
  for (int round = 0; round < 3; round++) {
    struct lb_grant g = LB_GRANT_INIT;
    WANT(LB_OK, lb_conform_try(c, 0, key, &g));
    lb_conform_check(c, g.token_len != 0,
                     "expected a token in the grant, got token_len = 0: it cannot be told from a new attempt");
    WANT(LB_OK, lb_conform_release(c, 0, key, &g));
  }
}

/* A refused client leaves the queue before the holder releases. Otherwise it would be granted meanwhile. */
static void refused_while_held(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  lb_conform_leave(c, 1, key, &b);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* By another session: the same one might be served from what it remembers. */
static void granted_after_release(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 2000));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

static void keys_are_apart(struct lb_conform *c) {
  const char *first = lb_conform_key(c), *second = lb_conform_key(c);
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, first, &a));
  WANT(LB_OK, lb_conform_try(c, 1, second, &b));
  WANT(LB_OK, lb_conform_release(c, 0, first, &a));
  WANT(LB_OK, lb_conform_release(c, 1, second, &b));
}

/* Far less than the deadline that a try has here, and longer than a busy machine needs. */
enum { AT_ONCE_MS = 1000 };

/* A try has a deadline, but it is not there to be waited for. */
static void refused_at_once(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b)); /* is connected from now on */
  lb_ns begin = lb_clock_ns();
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  uint64_t ms = (lb_clock_ns() - begin) / LB_NS_PER_MS;
  lb_conform_check(c, ms < AT_ONCE_MS, "expected BUSY at once, got it after %" PRIu64 " ms (second session)", ms);
  lb_conform_leave(c, 1, key, &b);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* ---- ownership ------------------------------------------------------------------------------- */

/* LOST and not OK: a client has to learn that it was not the holder any more. */
static void released_twice(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_LOST, lb_conform_release(c, 0, key, &a));
}

/* The classic mistake of a lock without a token: a late release removes the next holder's lock. A
 * third session sees whether it did. */
static void stale_release(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, d = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 2000));
  WANT(LB_LOST, lb_conform_release(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 2, key, &d));
  lb_conform_leave(c, 2, key, &d);
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* Its attempt has a token, too, as a rule: of a lock that was never its own. */
static void released_by_who_was_refused(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, d = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  lb_conform_release(c, 1, key, &b); /* nothing of it remains: OK, or there was nothing: LOST */
  WANT(LB_BUSY, lb_conform_try(c, 2, key, &d));
  lb_conform_leave(c, 2, key, &d);
  if (c->protocol->holds) WANT(LB_OK, lb_conform_holds(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* A client that got no answer asks again with the same grant. It must not be shut out by itself. */
static void asked_again(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* It asked once, for all that it knows, and releases once. */
static void asked_again_is_one_hold(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, key, CUT_TTL_MS, &a));
  WANT(LB_OK, try_for(c, 0, key, CUT_TTL_MS, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, SLACK_MS));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* The same session holds again: what it had before is not what it has now. */
static void old_grant_after_another_holder(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, again = LB_GRANT_INIT, d = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  struct lb_grant stale = a;
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 2000));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
  WANT(LB_OK, lb_conform_acquire(c, 0, key, &again, 2000));
  if (c->protocol->holds) WANT(LB_LOST, lb_conform_holds(c, 0, key, &stale));
  WANT(LB_LOST, lb_conform_release(c, 0, key, &stale));
  if (c->protocol->holds) WANT(LB_OK, lb_conform_holds(c, 0, key, &again));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &d));
  lb_conform_leave(c, 1, key, &d);
  WANT(LB_OK, lb_conform_release(c, 0, key, &again));
}

/* ---- a session that holds and asks again ----------------------------------------------------- */

/* Another attempt is another client's, for all that the lock knows. */
static void refused_while_it_holds_itself(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 0, key, &b));
  lb_conform_leave(c, 0, key, &b);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

static void refused(struct lb_conform *c, const char *key) {
  struct lb_grant g = LB_GRANT_INIT;
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &g));
  lb_conform_leave(c, 1, key, &g);
}

/* Three deep, and out of it in another order. */
static void granted_again_to_its_holder(struct lb_conform *c) {
  KEY;
  struct lb_grant g[3] = {0}, b = LB_GRANT_INIT;
  static const int order[] = {1, 0, 2};
  for (int i = 0; i < 3; i++) WANT(LB_OK, lb_conform_try(c, 0, key, &g[i]));
  for (int i = 0; i < 3; i++) {
    refused(c, key);
    if (c->protocol->holds) WANT(LB_OK, lb_conform_holds(c, 0, key, &g[order[i]]));
    WANT(LB_OK, lb_conform_release(c, 0, key, &g[order[i]]));
  }
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 2000));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* ---- a lock without an owner ----------------------------------------------------------------- */

/* The release of one who holds nothing removes the record of another. Neither of the two learns
 * more than whether there was one. */
static void anybody_releases(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, d = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  struct lb_grant stale = a;
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 2000));
  WANT(LB_OK, lb_conform_release(c, 0, key, &stale));
  WANT(LB_LOST, lb_conform_release(c, 1, key, &b));
  WANT(LB_OK, lb_conform_acquire(c, 2, key, &d, 2000));
  WANT(LB_OK, lb_conform_release(c, 2, key, &d));
}

/* `holds` cannot say who. To one that held before it says OK, although another one does now. */
static void somebody_holds(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  struct lb_grant stale = a;
  WANT(LB_OK, lb_conform_holds(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_LOST, lb_conform_holds(c, 0, key, &stale));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 2000));
  WANT(LB_OK, lb_conform_holds(c, 0, key, &stale));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* ---- many clients ------------------------------------------------------------------------------ */

enum { CLIENTS = 16, TURNS = 3, TURN_MS = 1, CROWD_MS = 20000 };

static const char *crowded; /* the key that they want */

/* Inside, a client must be alone, and no earlier one may have had this number or a larger one. */
static void be_inside(struct lb_conform *c, int number, const struct lb_grant *g) {
  struct lb_conform_shared *shared = c->shared;
  uint64_t others = atomic_fetch_add(&shared->inside, 1), latest = atomic_load(&shared->latest);
  lb_conform_check(c, others == 0, "expected nobody else inside, client %d found %" PRIu64, number + 1, others);
  lb_conform_check(c, !(lb_conform_has(c) & LB_NEEDS_FENCE) || g->fence > latest,
                   "expected a fence above %" PRIu64 ", client %d got %" PRIu64, latest, number + 1, g->fence);
  atomic_store(&shared->latest, g->fence);
  lb_clock_sleep_until(in_ms(TURN_MS));
  atomic_fetch_sub(&shared->inside, 1);
}

static void take_turns(struct lb_conform *c, int number) {
  for (int turn = 0; turn < TURNS; turn++) {
    struct lb_grant g = LB_GRANT_INIT;
    WANT(LB_OK, lb_conform_queue_up(c, 0, crowded, &g, CROWD_MS));
    be_inside(c, number, &g);
    WANT(LB_OK, lb_conform_release(c, 0, crowded, &g));
  }
}

/* All clients come back for several turns, so that refused ones meet granted ones. */
static void one_of_sixteen(struct lb_conform *c) {
  crowded = lb_conform_key(c);
  for (int i = 0; i < CLIENTS; i++) lb_conform_start(c, "crowd", i, take_turns);
  lb_conform_join(c, CROWD_MS);
}

/* ---- fencing tokens: a new grant of a key has a larger one, for any client ---------------------- */

/* In turns, because a session that counts for itself would pass alone. Gaps are allowed. */
static void fences_grow(struct lb_conform *c) {
  KEY;
  uint64_t latest = 0;
  for (int i = 0; i < 6; i++) {
    struct lb_grant g = LB_GRANT_INIT;
    int who = i % LB_CONFORM_SESSIONS;
    WANT(LB_OK, lb_conform_acquire(c, who, key, &g, 2000));
    lb_conform_check(c, g.fence > latest, "expected a fence above %" PRIu64 " in grant %d, got %" PRIu64, latest, i + 1,
                     g.fence);
    latest = g.fence;
    WANT(LB_OK, lb_conform_release(c, who, key, &g));
  }
}

/* 0 says "no number". Anything else would be taken for one by the guard. */
static void no_fence(struct lb_conform *c) {
  KEY;
  struct lb_grant g = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &g));
  lb_conform_check(c, g.fence == 0, "expected fence = 0 from a lock that numbers no grants, got %" PRIu64, g.fence);
  WANT(LB_OK, lb_conform_release(c, 0, key, &g));
}

const struct lb_conform_statement lb_conform_of_lock[] = {
    {"the table is well formed", 0, well_formed},
    {"a session opens, sets up and works", 0, opens_and_sets_up, .sets_up = true},
    {"a free lock is granted and released", 0, granted_and_released},
    {"a held lock is refused to another session", LB_NEEDS_SAFE, refused_while_held},
    {"who is refused is told at once", LB_NEEDS_SAFE, refused_at_once},
    {"a released lock is granted to another session", 0, granted_after_release},
    {"two keys do not exclude each other", 0, keys_are_apart},
    {"releasing twice says lost", LB_NEEDS_MEMORY | LB_NEEDS_OWNER, released_twice},
    {"a stale release leaves the next holder alone", LB_NEEDS_SAFE | LB_NEEDS_OWNER, stale_release},
    {"who was refused releases nobody else's lock", LB_NEEDS_SAFE | LB_NEEDS_OWNER, released_by_who_was_refused},
    {"asking again in the same attempt is granted again", LB_NEEDS_SAFE | LB_NEEDS_OWNER, asked_again},
    {"an attempt that was repeated is one hold", LB_NEEDS_SAFE | LB_NEEDS_OWNER, asked_again_is_one_hold},
    {"an old grant is lost although its session holds again", LB_NEEDS_SAFE | LB_NEEDS_OWNER,
     old_grant_after_another_holder},
    {"a session that holds is refused like anybody else", LB_NEEDS_SAFE | LB_NEEDS_NO_DEPTH,
     refused_while_it_holds_itself},
    {"a holder is granted again, and others after as many releases", LB_NEEDS_SAFE | LB_NEEDS_DEPTH,
     granted_again_to_its_holder},
    {"of sixteen clients one holds, and each gets its turn", LB_NEEDS_SAFE, one_of_sixteen},
    {"a release removes whatever record is there", LB_NEEDS_SAFE | LB_NEEDS_ANYBODY, anybody_releases},
    {"holds says whether anybody holds", LB_NEEDS_SAFE | LB_NEEDS_ANYBODY | LB_NEEDS_HOLDS, somebody_holds},
    {"fences grow", LB_NEEDS_FENCE, fences_grow},
    {"a grant without fence says so", LB_NEEDS_NO_FENCE, no_fence},
    {NULL, 0, NULL},
};
