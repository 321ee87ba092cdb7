/* SPDX-License-Identifier: MIT
 *
 * The life of a client with one lock: asking -> holding -> released or lost; or asking -> given up, perhaps owing a
 * release.
 *
 * Evidence first: `granted` is stamped after the reply was read, `release` before the request leaves. So the interval
 * between them is certainly inside what the client believed. An unknown outcome is asked from the server (resolve)
 * while there is time; what stays unknown is neither a failure nor a success.
 *
 * Backoff, unless the protocol or its option says how long (poll_ms), is full jitter: uniform in [0, cap), the cap doubling from 1 to
 * 16 ms. Spreading over the whole interval is what keeps clients that were refused together from coming back together
 * (M. Brooker, "Exponential backoff and jitter").
 */
#include "holder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "hook.h"

enum { CLEAN_UP_MS = 500, RENEW_MS = 500 };

/* ---- a hold: its events, its lease, and what is owed when its end is unknown ---- */

static void record_as(struct lb_holder *h, uint32_t client, uint32_t key, enum lb_event_kind kind) {
  lb_memory_record(h->memory, h->log,
                   (struct lb_event){.kind = (uint16_t)kind, .client = client, .key = key, .fact = LB_NO_NAME});
}

static void record_of(struct lb_holder *h, uint32_t key, enum lb_event_kind kind, struct lb_event event) {
  event.kind = (uint16_t)kind;
  event.client = h->client;
  event.key = key;
  event.fact = LB_NO_NAME;
  lb_memory_record(h->memory, h->log, event);
}

void lb_holder_record(struct lb_holder *h, enum lb_event_kind kind, struct lb_event event) {
  record_of(h, h->key, kind, event);
}

void lb_holder_key_name(const char *prefix, uint32_t key, char name[LB_KEY_NAME_MAX]) {
  snprintf(name, LB_KEY_NAME_MAX, "%s-%u", prefix, key);
}

struct lb_lock lb_holder_lock(const struct lb_holder *h, uint32_t key, char name[LB_KEY_NAME_MAX]) {
  lb_holder_key_name(h->prefix, key, name);
  return (struct lb_lock){.key = name, .ttl_ms = h->ttl_ms, .shared = h->shared, .permits = h->permits};
}

static void owe(struct lb_holder *h) {
  if (h->debt_count == LB_DEBTS_MAX) { /* the oldest is the most likely to have expired */
    for (size_t i = 1; i < h->debt_count; i++) h->debt[i - 1] = h->debt[i];
    h->debt_count--;
  }
  h->debt[h->debt_count++] = (struct lb_debt){.key = h->key, .ttl_ms = h->ttl_ms, .grant = h->grant};
}

static lb_ns renew_in(const struct lb_holder *h, lb_ns now, lb_ns pause) {
  if (!h->renew || !h->protocol->extend) return LB_NEVER;
  lb_ns due = now + pause;
  bool ends = h->renewed_for && due > h->grant.asked_at && due - h->grant.asked_at >= h->renewed_for;
  if (ends) due = LB_NEVER;
  return h->guard == LB_GUARD_DEADLINE ? lb_earlier(due, h->grant.valid_until) : due;
}

static lb_ns when_to_renew(struct lb_holder *h) {
  lb_ns now = lb_now(h->env), left = h->grant.valid_until > now ? h->grant.valid_until - now : 0;
  return renew_in(h, now, lb_earlier(lb_holder_ttl_over(h, 3), left / 2));
}

static void record_lease(struct lb_holder *h, enum lb_event_kind kind, struct lb_event event) {
  if (h->grant.valid_until != LB_NEVER) {
    event.flags |= LB_EVF_UNTIL;
    event.until = h->to_truth ? h->to_truth(h->env, h->grant.valid_until) : h->grant.valid_until;
  }
  atomic_store(&lb_holder_state(h)->until, event.flags & LB_EVF_UNTIL ? event.until : LB_NEVER);
  lb_holder_record(h, kind, event);
}

static void end_hold(struct lb_holder *h, enum lb_event_kind how) {
  h->holding = false;
  h->ended = (struct lb_debt){.key = h->key, .grant = h->grant};
  atomic_store(&lb_holder_state(h)->holds, h->kept_count > 0);
  lb_holder_record(h, how, (struct lb_event){0});
}

/* ---- several holds: it is busy with one, the others are kept aside ---- */

static void put_aside(struct lb_holder *h) {
  if (!h->holding) return;
  h->kept[h->kept_count++] =
      (struct lb_hold){h->key, h->ttl_ms, h->grant, h->value_read, h->claim, h->claimed, h->renew_at};
  h->holding = false;
}

static void take(struct lb_holder *h, size_t i) {
  const struct lb_hold hold = h->kept[i];
  h->kept_count--;
  memmove(&h->kept[i], &h->kept[i + 1], (h->kept_count - i) * sizeof hold);
  h->key = hold.key, h->ttl_ms = hold.ttl_ms, h->grant = hold.grant, h->value_read = hold.value_read;
  h->claim = hold.claim, h->claimed = hold.claimed, h->renew_at = hold.renew_at;
  h->holding = true;
}

static bool take_back(struct lb_holder *h, uint32_t key) {
  size_t i = h->kept_count;
  while (i > 0 && h->kept[i - 1].key != key) i--;
  if (i > 0) take(h, i - 1);
  return i > 0;
}

/* A lock that was granted more than once is lost with all of its grants. */
int lb_holder_give_up_hold(struct lb_holder *h) {
  end_hold(h, LB_EV_LOST);
  do owe(h);
  while (take_back(h, h->key));
  h->holding = false;
  atomic_store(&lb_holder_state(h)->holds, h->kept_count > 0);
  return LB_LOST;
}

static void take_oldest(struct lb_holder *h) {
  put_aside(h);
  take(h, 0);
}

void lb_holder_turn_to(struct lb_holder *h, uint32_t key) {
  if (h->key == key && (h->holding || h->kept_count == 0)) return;
  put_aside(h);
  if (!take_back(h, key)) h->key = key;
}

bool lb_holder_holds(const struct lb_holder *h) { return h->holding || h->kept_count > 0; }

lb_ns lb_holder_due(const struct lb_holder *h) {
  lb_ns due = h->holding ? h->renew_at : LB_NEVER;
  for (size_t i = 0; i < h->kept_count; i++) due = lb_earlier(due, h->kept[i].renew_at);
  return due;
}

/* ---- renewals ---- */

/* The guard `deadline` says no between two accesses. */
static int stop_at_end(struct lb_holder *h) {
  lb_holder_record(h, LB_EV_CHECK,
                   (struct lb_event){.check = LB_CHECK_LEASE_OVER, .due = lb_clock_ns(), .flags = LB_EVF_CHECK});
  return lb_holder_give_up_hold(h);
}

/* An answer that comes after the end of the lease is of no use to a client that goes by that end. */
static lb_ns renewal_deadline(struct lb_holder *h) {
  lb_ns deadline = lb_now(h->env) + lb_earlier(lb_holder_ttl_over(h, 3), RENEW_MS * LB_NS_PER_MS);
  return h->guard == LB_GUARD_DEADLINE ? lb_earlier(deadline, h->grant.valid_until) : deadline;
}

static int renew_one(struct lb_holder *h) {
  char name[LB_KEY_NAME_MAX];
  if (!h->holding || lb_now(h->env) < h->renew_at) return LB_OK;
  if (h->guard == LB_GUARD_DEADLINE && lb_holder_is_over(h)) return stop_at_end(h);
  struct lb_lock lock = lb_holder_lock(h, h->key, name);
  int r = lb_hook_call(h, LB_HOOK_EXTEND, &lock, &h->grant, renewal_deadline(h));
  if (r == LB_OK) record_lease(h, LB_EV_RENEWED, (struct lb_event){0});
  else
    lb_holder_record(h, LB_EV_NOT_RENEWED,
                     (struct lb_event){.check = (uint8_t)lb_hook_answer(r), .flags = LB_EVF_CHECK});
  if (r == LB_LOST) return lb_holder_give_up_hold(h);
  h->renew_at = r == LB_OK ? when_to_renew(h) : renew_in(h, lb_now(h->env), lb_holder_ttl_over(h, 10));
  return r;
}

/* Each hold in turn becomes the one that it is busy with, which it is with the first one again in the end. */
int lb_holder_renew(struct lb_holder *h) {
  uint32_t key = h->key;
  int r = renew_one(h);
  if (h->kept_count == 0) return r;
  for (size_t left = h->kept_count; left > 0 && h->kept_count > 0; left--) take_oldest(h), renew_one(h);
  lb_holder_turn_to(h, key);
  return r;
}

/* ---- asking, and letting go ---- */

/* A debt that is paid is recorded: the checker then knows that this client does not hold the key. */
static void pay_debts(struct lb_holder *h, lb_ns deadline) {
  char name[LB_KEY_NAME_MAX];
  size_t kept = 0;
  for (size_t i = 0; i < h->debt_count; i++) {
    struct lb_lock lock = lb_holder_lock(h, h->debt[i].key, name);
    lock.ttl_ms = h->debt[i].ttl_ms;
    int r = lb_hook_call(h, LB_HOOK_RELEASE, &lock, &h->debt[i].grant, deadline);
    if (r == LB_OK || r == LB_LOST) record_of(h, h->debt[i].key, LB_EV_RELEASED, (struct lb_event){0});
    else h->debt[kept++] = h->debt[i];
  }
  h->debt_count = kept;
}

/* A refused client may be in its own way: an abandoned attempt of it can be granted later. So it releases its debts
 * again between two tries, from `due` on. Returns when they are due next. Not at every try: a release that the service
 * does not take costs time in which the client could ask. */
static lb_ns pay_again(struct lb_holder *h, lb_ns due, lb_ns deadline) {
  if (!h->debt_count || lb_now(h->env) < due) return due;
  pay_debts(h, lb_earlier(deadline, lb_now(h->env) + CLEAN_UP_MS * LB_NS_PER_MS));
  return lb_now(h->env) + CLEAN_UP_MS * LB_NS_PER_MS;
}

/* What it holds besides is kept up while it asks, as by a watchdog. */
static void keep_up(struct lb_holder *h) {
  const uint32_t key = h->key;
  const int64_t ttl_ms = h->ttl_ms;
  const struct lb_grant grant = h->grant;
  if (lb_holder_due(h) > lb_now(h->env)) return;
  lb_holder_renew(h);
  put_aside(h);
  h->key = key, h->ttl_ms = ttl_ms, h->grant = grant;
}

/* By the protocol's own wait, if it has one and it works; otherwise by backoff. Whether there was a wake-up or the time
 * was over does not matter: the next try says. */
static void pause_before_retry(struct lb_holder *h, const struct lb_lock *lock, unsigned tries, lb_ns deadline) {
  deadline = lb_earlier(deadline, lb_holder_due(h));
  if (h->protocol->wait && !h->polls) {
    int r = lb_hook_call(h, LB_HOOK_WAIT, lock, &h->grant, deadline);
    atomic_store(&lb_holder_state(h)->woken, r == LB_OK);
    if (r == LB_OK || r == LB_TIMEOUT) return;
  }
  if (h->poll_ms) {
    lb_sleep_until(h->env, lb_earlier(deadline, lb_now(h->env) + (lb_ns)h->poll_ms * LB_NS_PER_MS));
    return;
  }
  lb_ns cap = (lb_ns)LB_POLL_FIRST_MS << (tries < 4 ? tries : 4);
  if (cap > LB_POLL_LAST_MS) cap = LB_POLL_LAST_MS;
  lb_sleep_until(h->env, lb_earlier(deadline, lb_now(h->env) + lb_rng_below(&h->rng, cap * LB_NS_PER_MS)));
}

/* Until when the answer to a request that leaves now is waited for. */
static lb_ns patience(const struct lb_holder *h, lb_ns deadline) {
  deadline = lb_earlier(deadline, lb_holder_due(h)); /* what it holds besides is renewed in time */
  if (!h->request_ms || h->waits_inside || h->protocol->traits & LB_TRAIT_QUEUES) return deadline;
  return lb_earlier(deadline, lb_now(h->env) + (lb_ns)h->request_ms * LB_NS_PER_MS);
}

/* Asks the server about an unknown attempt until it knows or the time is over. */
static int resolve(struct lb_holder *h, const struct lb_lock *lock, lb_ns deadline) {
  while (h->protocol->resolve) {
    keep_up(h);
    int r = lb_hook_call(h, LB_HOOK_RESOLVE, lock, &h->grant, patience(h, deadline));
    if (r == LB_OK || r == LB_BUSY || h->breached) return r;
    if (lb_now(h->env) >= deadline) break;
    lb_sleep_until(h->env, lb_earlier(deadline, lb_now(h->env) + (1 + lb_rng_below(&h->rng, 10)) * LB_NS_PER_MS));
  }
  return LB_UNKNOWN;
}

int lb_holder_server(struct lb_holder *h) {
  int server = lb_hook_server(h);
  atomic_store(&lb_holder_state(h)->server, server < 0 ? 0 : server + 1);
  return server;
}

/* Beside an outcome: its value is the index of the server until the controller puts the name in its place (judge.c). */
static void record_server(struct lb_holder *h, int server) {
  if (h->names_server && server >= 0) lb_holder_record(h, LB_EV_SERVER, (struct lb_event){.value = (uint64_t)server});
}

/* As bits, until the controller puts the names there. */
static void record_voters(struct lb_holder *h, uint64_t voters) {
  if (voters) lb_holder_record(h, LB_EV_VOTED, (struct lb_event){.value = voters});
}

static void record_seen(struct lb_holder *h) {
  uint64_t seen = lb_hook_number(h, LB_HOOK_SEEN);
  if (seen) lb_holder_record(h, LB_EV_SEEN, (struct lb_event){.value = seen, .flags = LB_EVF_VALUE});
}

/* After a failed try: a server that is still there has answered, with an error. */
static void note_who_failed(struct lb_holder *h) {
  int server = h->names_server ? lb_holder_server(h) : -ENOENT;
  if (server >= 0) h->failed_at = server;
}

/* A connection that brought no answer may have been dropped for that: then the server that was asked is the one of the
 * session when the latest try began. If the client certainly does not hold, only a server counts that is there now, or
 * that answered with an error. Without a server the request may never have left.
 *
 * Leaves a queue, or makes sure that nothing of a refused attempt remains. */
static int give_up(struct lb_holder *h, const struct lb_lock *lock, int latest) {
  bool remains = latest == LB_UNKNOWN;
  int now = h->names_server ? lb_holder_server(h) : -ENOENT; /* before the queue is left */
  if (latest == LB_BUSY && (h->protocol->traits & LB_TRAIT_QUEUES)) {
    int r = lb_hook_call(h, LB_HOOK_RELEASE, lock, &h->grant, lb_now(h->env) + CLEAN_UP_MS * LB_NS_PER_MS);
    remains = r != LB_OK && r != LB_LOST;
  }
  if (remains) owe(h);
  memcpy(h->env->err, h->error, sizeof h->error);
  lb_holder_record(h,
                   remains      ? LB_EV_UNKNOWN
                   : h->refused ? LB_EV_BUSY
                                : LB_EV_TIMEOUT,
                   (struct lb_event){.flags = remains && h->refused ? LB_EVF_REFUSED : 0});
  record_server(h, now >= 0 ? now : remains ? h->asked : h->failed_at);
  if (!remains) record_voters(h, h->voted);
  return remains ? LB_UNKNOWN : h->refused ? LB_BUSY : LB_TIMEOUT;
}

static int granted(struct lb_holder *h) {
  struct lb_event event = {.fence = h->grant.fence, .flags = h->shared ? LB_EVF_SHARED : 0};
  if (h->grant.fence) event.flags |= LB_EVF_FENCE;
  record_lease(h, LB_EV_GRANTED, event);
  h->holding = true;
  if (h->names_server)
    record_server(h, lb_holder_server(h)), record_voters(h, lb_hook_number(h, LB_HOOK_VOTERS)), record_seen(h);
  /* A client that has not looked at the lease of its grant is in no hurry to renew it. */
  bool looked = !lb_holder_is_over(h);
  h->renew_at = looked ? when_to_renew(h) : renew_in(h, lb_now(h->env), lb_holder_ttl_over(h, 3));
  atomic_store(&lb_holder_state(h)->writes, 0);
  atomic_store(&lb_holder_state(h)->holds, true);
  h->claim = atomic_fetch_add_explicit(&h->memory->grants, 1, memory_order_relaxed) + 1;
  h->claimed = false;
  return LB_OK;
}

/* A reply can come so late that the lease is over when it is read: such a grant is no hold, unless the client's library
 * never looks. */
static int let_go(struct lb_holder *h, const struct lb_lock *lock) {
  int r = lb_hook_call(h, LB_HOOK_RELEASE, lock, &h->grant, lb_now(h->env) + CLEAN_UP_MS * LB_NS_PER_MS);
  if (r != LB_OK && r != LB_LOST) owe(h);
  h->grant = LB_GRANT_INIT;
  return LB_TIMEOUT;
}

/* A client that wakes up behind its deadline has not asked shortly before it. */
static void note_late(struct lb_holder *h, lb_ns deadline) {
  lb_ns now = lb_now(h->env), late_ns = now > deadline ? now - deadline : 0;
  if (late_ns > atomic_load(&lb_holder_state(h)->late_ns)) atomic_store(&lb_holder_state(h)->late_ns, late_ns);
}

/* One round is a try, what can be learned of an unknown try, and a pause. The grant is kept from try to try only where
 * it stands for something at the service: a place in a queue, or an attempt of unknown outcome. If a library waits
 * inside its call, the first try of a timeline does not wait. So it is known when the lock is refused: the others do,
 * also after a time-out, as some libraries cannot tell the two apart. A breach of the contract ends the rounds, for
 * whatever the protocol says afterwards is worth nothing. */
static int ask_until_granted(struct lb_holder *h, struct lb_lock *lock, lb_ns deadline) {
  lb_ns due = 0;
  lock->patient = !h->names_server;
  for (unsigned tries = 0;; tries++) {
    keep_up(h);
    h->asked = h->names_server ? lb_holder_server(h) : -ENOENT;
    bool looked = h->waits_inside && !lock->patient;
    int r = lb_hook_call(h, LB_HOOK_TRY_ACQUIRE, lock, &h->grant, patience(h, deadline));
    h->refused |= r == LB_BUSY;
    bool waits = r == LB_BUSY || (looked && r == LB_TIMEOUT);
    lock->patient |= waits;
    if (waits) atomic_store(&lb_holder_state(h)->woken, false), atomic_store(&lb_holder_state(h)->waits, true);
    if (r == LB_OK || r == LB_BUSY) atomic_store(&lb_holder_state(h)->session, lb_hook_number(h, LB_HOOK_SESSION_ID));
    if (r < 0) note_who_failed(h);
    if (h->names_server && (r < 0 || r == LB_TIMEOUT)) h->voted |= lb_hook_number(h, LB_HOOK_VOTERS);
    if (r == LB_UNKNOWN) {
      r = resolve(h, lock, deadline);
      if (r == LB_BUSY) h->grant = LB_GRANT_INIT; /* that attempt is over; the next one is new */
    } else if (r == LB_TIMEOUT || r < 0 || (r == LB_BUSY && !(h->protocol->traits & LB_TRAIT_QUEUES))) {
      h->grant = LB_GRANT_INIT;
    }
    if (r == LB_OK && (h->believes_late || !lb_holder_is_over(h))) return granted(h);
    if (r == LB_OK) r = let_go(h, lock);
    if (h->breached) return give_up(h, lock, LB_TIMEOUT);
    if (r == LB_BUSY) due = pay_again(h, due, deadline);
    if (r == LB_BUSY) lb_point(h->env, "before-wait");
    if (r != LB_UNKNOWN && !(looked && waits) && lb_now(h->env) < deadline)
      pause_before_retry(h, lock, tries, deadline);
    if (h->breached) return give_up(h, lock, LB_TIMEOUT);
    if (r == LB_UNKNOWN || lb_now(h->env) >= deadline) {
      note_late(h, deadline);
      return give_up(h, lock, r);
    }
  }
}

int lb_holder_acquire(struct lb_holder *h, uint32_t key, lb_ns deadline) {
  char name[LB_KEY_NAME_MAX];
  if (h->holding && h->kept_count + 1 == LB_HOLDS_MAX)
    return lb_fail(h->env, -EMFILE, "it holds %d locks already", LB_HOLDS_MAX);
  put_aside(h);
  if (h->next_ttl_ms) h->ttl_ms = h->next_ttl_ms;
  if (h->debt_count) pay_debts(h, lb_earlier(deadline, lb_now(h->env) + CLEAN_UP_MS * LB_NS_PER_MS));
  h->key = key;
  h->grant = LB_GRANT_INIT;
  h->refused = false;
  h->failed_at = -ENOENT;
  h->voted = 0;
  h->error[0] = h->env->err[0] = '\0';
  struct lb_lock lock = lb_holder_lock(h, key, name);
  unsigned flags = (h->shared ? LB_EVF_SHARED : 0u) | (h->due ? LB_EVF_DUE : 0u);
  lb_holder_record(h, LB_EV_ACQUIRE, (struct lb_event){.flags = (uint16_t)flags, .due = h->due});
  atomic_store(&lb_holder_state(h)->granted, false);
  atomic_store(&lb_holder_state(h)->gave_up, false);
  atomic_store(&lb_holder_state(h)->asks, true);
  int r = ask_until_granted(h, &lock, deadline);
  atomic_store(&lb_holder_state(h)->woken, false);
  atomic_store(&lb_holder_state(h)->waits, false);
  atomic_store(&lb_holder_state(h)->asks, false);
  atomic_store(r == LB_OK ? &lb_holder_state(h)->granted : &lb_holder_state(h)->gave_up, true);
  if (r != LB_OK) take_back(h, key);
  return r;
}

/* Asks until it is answered, for a hold that has ended. LB_OK, LB_LOST; LB_UNKNOWN: there was no answer by the deadline. */
static int let_go_of(struct lb_holder *h, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  for (;;) {
    int r = lb_hook_call(h, LB_HOOK_RELEASE, lock, grant, deadline);
    if (r == LB_OK || r == LB_LOST) return r;
    if (h->breached || lb_now(h->env) >= deadline) return LB_UNKNOWN;
    lb_sleep_until(h->env, lb_earlier(deadline, lb_now(h->env) + lb_rng_below(&h->rng, 10 * LB_NS_PER_MS)));
  }
}

int lb_holder_release(struct lb_holder *h, lb_ns deadline) {
  char name[LB_KEY_NAME_MAX];
  if (!h->holding) return pay_debts(h, deadline), LB_BUSY;
  struct lb_lock lock = lb_holder_lock(h, h->key, name);
  end_hold(h, LB_EV_RELEASE);
  lb_point(h->env, "before-release");
  int r = let_go_of(h, &lock, &h->grant, deadline);
  if (r == LB_UNKNOWN) owe(h);
  else lb_holder_record(h, r == LB_OK ? LB_EV_RELEASED : LB_EV_LOST, (struct lb_event){0});
  take_back(h, h->key);
  return r;
}

int lb_holder_work(struct lb_holder *h, lb_ns deadline) {
  char name[LB_KEY_NAME_MAX];
  if (!h->holding) return LB_BUSY;
  struct lb_lock lock = lb_holder_lock(h, h->key, name);
  int r = lb_hook_call(h, LB_HOOK_WORK, &lock, &h->grant, deadline);
  if (r != LB_OK) lb_holder_record(h, LB_EV_WORK_FAILED, (struct lb_event){0});
  return r;
}

/* ---- a release of what it does not hold ---- */

int lb_holder_hand_over(struct lb_holder *h) {
  struct lb_client_state *state = lb_holder_state(h);
  if (!h->holding) return LB_BUSY;
  state->handed = h->grant;
  state->handed_key = h->key;
  h->holding = false;
  atomic_store(&state->holds, h->kept_count > 0);
  take_back(h, h->key);
  return LB_OK;
}

int lb_holder_release_of(struct lb_holder *h, uint32_t owner, lb_ns deadline) {
  char name[LB_KEY_NAME_MAX];
  const struct lb_client_state *from = &h->memory->state[owner];
  struct lb_grant grant = from->handed;
  struct lb_lock lock = lb_holder_lock(h, from->handed_key, name);
  h->ended = (struct lb_debt){.key = from->handed_key, .grant = grant};
  record_as(h, owner, from->handed_key, LB_EV_RELEASE);
  int r = let_go_of(h, &lock, &grant, deadline);
  if (r != LB_UNKNOWN) record_as(h, owner, from->handed_key, r == LB_OK ? LB_EV_RELEASED : LB_EV_LOST);
  return r;
}

int lb_holder_release_anyway(struct lb_holder *h, uint32_t key, lb_ns deadline) {
  char name[LB_KEY_NAME_MAX];
  struct lb_lock lock = lb_holder_lock(h, key, name);
  struct lb_grant grant = h->ended.grant;
  if (grant.asked_at == 0 || h->ended.key != key)
    return lb_fail(h->env, -ENOENT, "it has released nothing that it could release again");
  return let_go_of(h, &lock, &grant, deadline);
}

int lb_holder_end_renewals(struct lb_holder *h) {
  if (lb_holder_due(h) == LB_NEVER) return LB_BUSY;
  h->renew = false;
  h->renew_at = LB_NEVER;
  for (size_t i = 0; i < h->kept_count; i++) h->kept[i].renew_at = LB_NEVER;
  return LB_OK;
}
