/* SPDX-License-Identifier: MIT
 *
 * Statements about who gets the lock of an adapter, and when.
 */
#include "adapter_parts.h"
#include "conform_statement.h"

enum { WAIT_MS = 1200, RELEASE_AFTER_MS = 300, GIVE_UP_MS = 1000, NEXT_MS = 4000, CLIENTS = 8, TURNS = 2, TURN_MS = 2, CROWD_MS = 20000 };

static long long ms_between(lb_ns from, lb_ns to) { return to > from ? (long long)((to - from) / LB_NS_PER_MS) : 0; }

/* Without what the machine has taken from it. */
static long long own_ms(const struct adapter_reply *r) { return ms_between(r->sent + r->held_up, r->came); }

void adapter_grants_and_releases(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, &r, "of a free lock");
  adapter_release(c, 0, key, "");
}

/* Both have connected before. */
void adapter_refuses_at_once(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  adapter_open(c, 1);
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, &r, "of a free lock");
  adapter_ask(c, 1, ADAPTER_HOLD_MS / 2, &r, "acquire key=%s ttl_ms=%d wait_ms=0", key, ADAPTER_HOLD_MS);
  adapter_want(c, 1, &r, "busy", "while the first client holds");
  lb_conform_check(c, own_ms(&r) <= ADAPTER_LATE_MS, "expected busy at once, as wait_ms=0, read it after %lld ms (second client)", ms_between(r.sent, r.came));
  adapter_release(c, 0, key, "");
}

/* Some libraries count tries, not time: half of the time is enough. */
void adapter_waits_for_so_long(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  adapter_open(c, 1);
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, &r, "of a free lock");
  adapter_ask(c, 1, ADAPTER_HOLD_MS - 1000, &r, "acquire key=%s ttl_ms=%d wait_ms=%d", key, ADAPTER_HOLD_MS, WAIT_MS);
  long long took = ms_between(r.sent, r.came);
  adapter_want(c, 1, &r, "busy timeout", "while the first client holds");
  lb_conform_check(c, took >= WAIT_MS / 2, "expected it to wait for about wait_ms=%d, read '%.100s' after %lld ms (second client)", WAIT_MS, r.line, took);
  lb_conform_check(c, own_ms(&r) <= WAIT_MS + ADAPTER_LATE_MS, "expected an answer within wait_ms=%d and a second, read '%.100s' after %lld ms (second client)", WAIT_MS, r.line, took);
  adapter_release(c, 0, key, "");
}

void adapter_grants_after_the_release(struct lb_conform *c) {
  KEY;
  struct adapter_reply r, released;
  adapter_open(c, 1);
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, &r, "of a free lock");
  adapter_put(c, 1, "acquire key=%s ttl_ms=%d wait_ms=%d", key, ADAPTER_HOLD_MS, ADAPTER_HOLD_MS / 2);
  adapter_expect_silence(c, 1, RELEASE_AFTER_MS, "no answer to acquire before the first client has released");
  adapter_ask(c, 0, ADAPTER_CALL_MS, &released, "release key=%s", key);
  adapter_want(c, 0, &released, "ok", "while the second client waits");
  adapter_take(c, 1, ADAPTER_HOLD_MS, &r);
  adapter_want(c, 1, &r, "granted", "as the first client has released while it waited");
  adapter_release(c, 1, key, "");
}

/* The third client asks only then: it would stand behind the place of the second one, if that was left. */
void adapter_who_gave_up(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  for (int i = 1; i < 3; i++) adapter_open(c, i);
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, &r, "of a free lock");
  adapter_ask(c, 1, GIVE_UP_MS + ADAPTER_CALL_MS, &r, "acquire key=%s ttl_ms=%d wait_ms=%d", key, ADAPTER_HOLD_MS, GIVE_UP_MS);
  adapter_want(c, 1, &r, "busy timeout", "while the first client holds");
  adapter_release(c, 0, key, "");
  adapter_acquire(c, 2, key, ADAPTER_HOLD_MS, NEXT_MS, &r, "as the first client has released, and the second one had given up before");
  adapter_release(c, 2, key, "");
}

void adapter_takes_turns(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  for (int turn = 0; turn < 4; turn++) {
    adapter_acquire(c, turn % 2, key, ADAPTER_HOLD_MS, ADAPTER_CALL_MS, &r, "of a lock that was released");
    adapter_release(c, turn % 2, key, "");
  }
  adapter_acquire(c, 1, key, ADAPTER_HOLD_MS, ADAPTER_CALL_MS, &r, "of a lock that this client has just released");
  adapter_release(c, 1, key, "");
}

void adapter_keys_are_apart(struct lb_conform *c) {
  const char *key = lb_conform_key(c), *other = lb_conform_key(c);
  struct adapter_reply r;
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, &r, "of a free lock");
  adapter_acquire(c, 1, other, ADAPTER_HOLD_MS, 0, &r, "of another key than the first client's");
  adapter_release(c, 0, key, "");
  adapter_refused(c, 0, other, "though the second client holds this key");
  adapter_release(c, 1, other, "");
}

/* Whatever it answers: it had nothing. */
void adapter_frees_nobody_elses(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, &r, "of a free lock");
  adapter_refused(c, 1, key, "while the first client holds");
  adapter_ask(c, 1, ADAPTER_CALL_MS, &r, "release key=%s", key);
  adapter_want(c, 1, &r, "ok lost error", "");
  adapter_refused(c, 2, key, "after a release by the second client, which held nothing");
  adapter_release(c, 0, key, "");
}

void adapter_releases_twice(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, &r, "of a free lock");
  adapter_release(c, 0, key, "");
  adapter_acquire(c, 1, key, ADAPTER_HOLD_MS, ADAPTER_CALL_MS, &r, "of a lock that was released");
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "release key=%s", key);
  adapter_want(c, 0, &r, "lost ok error", "");
  adapter_refused(c, 2, key, "after a second release by the first client, while the second one holds");
  adapter_release(c, 1, key, "");
}

/* ---- many ----------------------------------------------------------------------------------------------------------- */

static const char *crowded;

static void take_turns(struct lb_conform *c, int number) {
  struct adapter_reply r;
  for (int turn = 0; turn < TURNS; turn++) {
    adapter_acquire(c, 0, crowded, 2 * ADAPTER_HOLD_MS, CROWD_MS / 2, &r, "of a lock that all release soon");
    uint64_t others = atomic_fetch_add(&c->shared->inside, 1);
    lb_conform_check(c, others == 0, "expected nobody else inside, client %d found %d", number + 1, (int)others);
    lb_clock_sleep_until(in_ms(TURN_MS));
    atomic_fetch_sub(&c->shared->inside, 1);
    adapter_release(c, 0, crowded, "");
  }
}

void adapter_one_of_eight(struct lb_conform *c) {
  crowded = lb_conform_key(c);
  for (int i = 0; i < CLIENTS; i++) lb_conform_start(c, "crowd", i, take_turns);
  lb_conform_join(c, CROWD_MS);
}
