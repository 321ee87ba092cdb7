/* SPDX-License-Identifier: MIT
 *
 * The life of a client with one lock: asking -> holding -> released or lost; or asking -> given up,
 * perhaps owing a release.
 *
 * Evidence first: `granted` is stamped after the reply was read and `release` before the request
 * leaves, so that the interval between them is certainly inside what the client believed. An
 * unknown outcome is asked from the server (resolve) while there is time; what stays unknown is
 * neither a failure nor a success.
 *
 * A guard stands before every access of the resource. One that says no ends the hold: `lost` is
 * recorded, and what the service may still keep is released later, like an attempt of unknown
 * outcome.
 *
 * Backoff is full jitter: uniform in [0, cap), the cap doubling from 1 to 16 ms. Spreading over the
 * whole interval is what keeps clients that were refused together from coming back together (M.
 * Brooker, "Exponential backoff and jitter").
 */
#include "holder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "hooks.h"

enum { BACKOFF_FIRST_MS = 1, BACKOFF_LAST_MS = 16, CLEAN_UP_MS = 500, RENEW_MS = 500, RECHECK_MS = 1000 };

const char *const lb_holder_points[] = {"before-check", "after-check", "after-write", NULL};

static void record_of(struct lb_holder *h, uint32_t key, enum lb_event_kind kind, struct lb_event event) {
  event.kind = (uint16_t)kind;
  event.client = h->client;
  event.key = key;
  event.fact = LB_NO_NAME;
  lb_memory_record(h->memory, h->log, event);
}

static void record(struct lb_holder *h, enum lb_event_kind kind, struct lb_event event) {
  record_of(h, h->key, kind, event);
}

struct lb_lock lb_holder_lock(const struct lb_holder *h, uint32_t key, char name[LB_KEY_NAME_MAX]) {
  snprintf(name, LB_KEY_NAME_MAX, "%s-%u", h->prefix, key);
  return (struct lb_lock){.key = name, .ttl_ms = h->ttl_ms};
}

static lb_ns earlier(lb_ns a, lb_ns b) { return a < b ? a : b; }

static struct lb_client_state *state_of(struct lb_holder *h) { return &h->memory->state[h->client]; }

/* A part of the ttl. */
static lb_ns ttl_over(const struct lb_holder *h, lb_ns parts) { return (lb_ns)h->ttl_ms * LB_NS_PER_MS / parts; }

static void owe(struct lb_holder *h) {
  if (h->debt_count == LB_DEBTS_MAX) { /* the oldest is the most likely to have expired */
    for (size_t i = 1; i < h->debt_count; i++) h->debt[i - 1] = h->debt[i];
    h->debt_count--;
  }
  h->debt[h->debt_count++] = (struct lb_debt){.key = h->key, .grant = h->grant};
}

/* What is paid is recorded: from then on nobody has to think that this client might hold the key. */
static void pay_debts(struct lb_holder *h, lb_ns deadline) {
  char name[LB_KEY_NAME_MAX];
  size_t kept = 0;
  for (size_t i = 0; i < h->debt_count; i++) {
    struct lb_lock lock = lb_holder_lock(h, h->debt[i].key, name);
    int r = lb_hook_release(h, &lock, &h->debt[i].grant, deadline);
    if (r == LB_OK || r == LB_LOST) record_of(h, h->debt[i].key, LB_EV_RELEASED, (struct lb_event){0});
    else h->debt[kept++] = h->debt[i];
  }
  h->debt_count = kept;
}

/* By the protocol's own wait, if it has one and it works; otherwise by backoff. Whether there was a
 * wake-up or the time was over does not matter: the next try says. */
static void pause_before_retry(struct lb_holder *h, const struct lb_lock *lock, unsigned tries, lb_ns deadline) {
  if (h->protocol->wait) {
    int r = lb_hook_wait(h, lock, &h->grant, deadline);
    if (r == LB_OK || r == LB_TIMEOUT) return;
  }
  lb_ns cap = (lb_ns)BACKOFF_FIRST_MS << (tries < 4 ? tries : 4);
  if (cap > BACKOFF_LAST_MS) cap = BACKOFF_LAST_MS;
  lb_sleep_until(h->env, earlier(deadline, lb_now(h->env) + lb_rng_below(&h->rng, cap * LB_NS_PER_MS)));
}

/* Asks the server about an unknown attempt until it knows or the time is over. */
static int resolve(struct lb_holder *h, const struct lb_lock *lock, lb_ns deadline) {
  for (unsigned tries = 0; h->protocol->resolve; tries++) {
    int r = lb_hook_resolve(h, lock, &h->grant, deadline);
    if (r == LB_OK || r == LB_BUSY || h->breached) return r;
    if (lb_now(h->env) >= deadline) break;
    lb_sleep_until(h->env, earlier(deadline, lb_now(h->env) + (1 + lb_rng_below(&h->rng, 10)) * LB_NS_PER_MS));
  }
  return LB_UNKNOWN;
}

int lb_holder_server(struct lb_holder *h) {
  int server = lb_hook_server(h);
  atomic_store(&state_of(h)->server, server < 0 ? 0 : server + 1);
  return server;
}

/* Beside an outcome: its value is the index of the server until the controller puts the name in its
 * place (judge.c). */
static void record_server(struct lb_holder *h, int server) {
  if (h->names_server && server >= 0) record(h, LB_EV_SERVER, (struct lb_event){.value = (uint64_t)server});
}

/* As bits, until the controller puts the names there. */
static void record_voters(struct lb_holder *h) {
  uint64_t voters = lb_hook_voters(h);
  if (voters) record(h, LB_EV_VOTED, (struct lb_event){.value = voters});
}

/* A connection that brought no answer may have been dropped for that: then who was asked is whom the
 * session talked to when the latest try began. Of who certainly does not hold it counts only who is
 * there now: without a server the request may never have left.
 *
 * Leaves a queue, or makes sure that nothing of a refused attempt remains. */
static int give_up(struct lb_holder *h, const struct lb_lock *lock, int latest) {
  bool remains = latest == LB_UNKNOWN;
  int now = h->names_server ? lb_holder_server(h) : -ENOENT; /* before the queue is left */
  if (latest == LB_BUSY && (h->protocol->traits & LB_TRAIT_QUEUES)) {
    int r = lb_hook_release(h, lock, &h->grant, lb_now(h->env) + CLEAN_UP_MS * LB_NS_PER_MS);
    remains = r != LB_OK && r != LB_LOST;
  }
  if (remains) owe(h);
  memcpy(h->env->err, h->error, sizeof h->error);
  record(h, remains ? LB_EV_UNKNOWN : h->refused ? LB_EV_BUSY : LB_EV_TIMEOUT,
         (struct lb_event){.flags = remains && h->refused ? LB_EVF_REFUSED : 0});
  record_server(h, remains && now < 0 ? h->asked : now);
  return remains ? LB_UNKNOWN : h->refused ? LB_BUSY : LB_TIMEOUT;
}

static lb_ns when_to_renew(struct lb_holder *h) {
  return h->renew && h->protocol->extend ? lb_now(h->env) + ttl_over(h, 3) : LB_NEVER;
}

/* Records what gives a lease, with its end as the client now knows it. */
static void record_lease(struct lb_holder *h, enum lb_event_kind kind, struct lb_event event) {
  if (h->grant.valid_until != LB_NEVER) {
    event.flags |= LB_EVF_UNTIL;
    event.until = h->to_truth ? h->to_truth(h->env, h->grant.valid_until) : h->grant.valid_until;
  }
  atomic_store(&state_of(h)->until, event.flags & LB_EVF_UNTIL ? event.until : LB_NEVER);
  record(h, kind, event);
}

static int granted(struct lb_holder *h) {
  struct lb_event event = {.fence = h->grant.fence};
  if (h->grant.fence) event.flags |= LB_EVF_FENCE;
  record_lease(h, LB_EV_GRANTED, event);
  if (h->names_server) record_server(h, lb_holder_server(h)), record_voters(h);
  h->holding = true;
  h->renew_at = when_to_renew(h);
  atomic_store(&state_of(h)->writes, 0);
  atomic_store(&state_of(h)->holds, true);
  h->claim = atomic_fetch_add_explicit(&h->memory->grants, 1, memory_order_relaxed) + 1;
  h->claimed = false;
  return LB_OK;
}

/* The hold is over: `how` is LB_EV_RELEASE or LB_EV_LOST. */
static void end_hold(struct lb_holder *h, enum lb_event_kind how) {
  h->holding = false;
  atomic_store(&state_of(h)->holds, false);
  record(h, how, (struct lb_event){0});
}

/* It does not touch the resource any more, but nobody knows what the service still keeps of it. */
static int give_up_hold(struct lb_holder *h) {
  end_hold(h, LB_EV_LOST);
  owe(h);
  return LB_LOST;
}

/* A reply can come so late that the lease is over when it is read: such a grant is no hold. */
static bool is_over(struct lb_holder *h) { return lb_now(h->env) >= h->grant.valid_until; }

static int let_go(struct lb_holder *h, const struct lb_lock *lock) {
  int r = lb_hook_release(h, lock, &h->grant, lb_now(h->env) + CLEAN_UP_MS * LB_NS_PER_MS);
  if (r != LB_OK && r != LB_LOST) owe(h);
  h->grant = LB_GRANT_INIT;
  return LB_TIMEOUT;
}

/* One round is a try, what can be learned of an unknown try, and a pause. The grant is kept from
 * try to try only where it stands for something at the service: a place in a queue, or an attempt
 * of unknown outcome. A breach of the contract ends the rounds, for whatever the protocol says
 * afterwards is worth nothing. */
static int ask_until_granted(struct lb_holder *h, const struct lb_lock *lock, lb_ns deadline) {
  for (unsigned tries = 0;; tries++) {
    h->asked = h->names_server ? lb_holder_server(h) : -ENOENT;
    int r = lb_hook_try_acquire(h, lock, &h->grant, deadline);
    h->refused |= r == LB_BUSY;
    if (r == LB_UNKNOWN) {
      r = resolve(h, lock, deadline);
      if (r == LB_BUSY) h->grant = LB_GRANT_INIT; /* that attempt is over; the next one is new */
    } else if (r == LB_TIMEOUT || r < 0 || (r == LB_BUSY && !(h->protocol->traits & LB_TRAIT_QUEUES))) {
      h->grant = LB_GRANT_INIT;
    }
    if (r == LB_OK && !is_over(h)) return granted(h);
    if (r == LB_OK) r = let_go(h, lock);
    if (h->breached) return give_up(h, lock, LB_TIMEOUT);
    if (r != LB_UNKNOWN && lb_now(h->env) < deadline) pause_before_retry(h, lock, tries, deadline);
    if (h->breached) return give_up(h, lock, LB_TIMEOUT);
    if (r == LB_UNKNOWN || lb_now(h->env) >= deadline) return give_up(h, lock, r);
  }
}

int lb_holder_acquire(struct lb_holder *h, uint32_t key, lb_ns deadline) {
  char name[LB_KEY_NAME_MAX];
  if (h->holding) return lb_fail(h->env, -EALREADY, "it holds a lock already");
  if (h->debt_count) pay_debts(h, earlier(deadline, lb_now(h->env) + CLEAN_UP_MS * LB_NS_PER_MS));
  h->key = key;
  h->grant = LB_GRANT_INIT;
  h->refused = false;
  h->error[0] = h->env->err[0] = '\0';
  struct lb_lock lock = lb_holder_lock(h, key, name);
  record(h, LB_EV_ACQUIRE, (struct lb_event){0});
  atomic_store(&state_of(h)->asks, true);
  int r = ask_until_granted(h, &lock, deadline);
  atomic_store(&state_of(h)->asks, false);
  return r;
}

int lb_holder_release(struct lb_holder *h, lb_ns deadline) {
  char name[LB_KEY_NAME_MAX];
  if (!h->holding) return pay_debts(h, deadline), LB_BUSY;
  struct lb_lock lock = lb_holder_lock(h, h->key, name);
  end_hold(h, LB_EV_RELEASE);
  for (;;) {
    int r = lb_hook_release(h, &lock, &h->grant, deadline);
    if (r == LB_OK || r == LB_LOST) {
      record(h, r == LB_OK ? LB_EV_RELEASED : LB_EV_LOST, (struct lb_event){0});
      return r;
    }
    if (h->breached || lb_now(h->env) >= deadline) break;
    lb_sleep_until(h->env, earlier(deadline, lb_now(h->env) + lb_rng_below(&h->rng, 10 * LB_NS_PER_MS)));
  }
  owe(h);
  return LB_UNKNOWN;
}

/* ---- guards ------------------------------------------------------------------------------------------------------- */

/* Who could not even be reached gave no answer. Any other failure is an error. */
static bool is_out_of_reach(int error) {
  static const int codes[] = {ECONNREFUSED, ECONNRESET, ECONNABORTED, EPIPE,     ENOTCONN, ETIMEDOUT,
                              EHOSTUNREACH, ENETUNREACH, EHOSTDOWN,   ENETDOWN};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (error == -codes[i]) return true;
  return false;
}

/* Asks the service; only a clear yes within a short time counts. */
static enum lb_check_result ask_service(struct lb_holder *h) {
  char name[LB_KEY_NAME_MAX];
  if (!h->protocol->holds) return LB_CHECK_ERROR;
  struct lb_lock lock = lb_holder_lock(h, h->key, name);
  lb_ns bound = earlier(ttl_over(h, 2), RECHECK_MS * LB_NS_PER_MS);
  int r = lb_hook_holds(h, &lock, &h->grant, lb_now(h->env) + bound);
  switch (r) {
    case LB_OK: return LB_CHECK_PASSED;
    case LB_LOST: return LB_CHECK_TOLD_NO;
    case LB_UNCONFIRMED: return LB_CHECK_NO_MAJORITY;
    case LB_UNKNOWN: return LB_CHECK_NO_ANSWER;
    default: return is_out_of_reach(r) ? LB_CHECK_NO_ANSWER : LB_CHECK_ERROR;
  }
}

/* Asks nobody: what was said of the session already. */
static enum lb_check_result look_for_signals(struct lb_holder *h) {
  char name[LB_KEY_NAME_MAX];
  if (!h->protocol->doubt) return LB_CHECK_ERROR;
  struct lb_lock lock = lb_holder_lock(h, h->key, name);
  int r = lb_hook_doubt(h, &lock, &h->grant);
  return r == LB_OK ? LB_CHECK_PASSED : r == LB_LOST ? LB_CHECK_SESSION_OVER : r < 0 ? LB_CHECK_ERROR : LB_CHECK_IN_DOUBT;
}

/* 0 = this guard leaves it to the resource, or to nobody. */
static enum lb_check_result guard_says(struct lb_holder *h) {
  switch (h->guard) {
    case LB_GUARD_NONE:
    case LB_GUARD_CLAIM:
    case LB_GUARD_FENCE: return 0;
    case LB_GUARD_DEADLINE: return is_over(h) ? LB_CHECK_LEASE_OVER : LB_CHECK_PASSED;
    case LB_GUARD_SIGNAL: return look_for_signals(h);
    case LB_GUARD_RECHECK: return ask_service(h);
  }
  return LB_CHECK_ERROR;
}

/* Between the check and the access, "after-check", lies what no check by the client can close. */
static int check(struct lb_holder *h) {
  if (!h->holding) return LB_BUSY;
  lb_point(h->env, "before-check");
  lb_ns begun = lb_clock_ns();
  enum lb_check_result result = guard_says(h);
  struct lb_event checked = {.check = (uint8_t)result, .due = begun, .flags = LB_EVF_CHECK};
  if (h->guard == LB_GUARD_RECHECK) checked.flags |= LB_EVF_DUE;
  if (result) record(h, LB_EV_CHECK, checked);
  if (result && result != LB_CHECK_PASSED) return give_up_hold(h);
  lb_point(h->env, "after-check");
  return LB_OK;
}

/*
 * The record of an access, right after it. A client can be stopped or killed between the two, in
 * some ten nanoseconds; a trial that hits them shows
 *  - stopped: the access at the time of the wake-up. If somebody else was granted the lock
 *    meanwhile, an access that was clean counts as dirty, and a write perhaps as stale and as a
 *    lost update. Such a trial let a holder's lease run out while it believed that it held, so it
 *    errs towards "violated", and only there.
 *  - killed: a write that the log does not know. The value grew by one more than the log says,
 *    which can hide one lost update.
 * Stamping before the access instead would date a late write back to when it was still harmless,
 * and hide the violation itself.
 */
static int note_access(struct lb_holder *h, enum lb_event_kind kind, bool accepted, uint64_t value) {
  struct lb_event event = {.value = value, .fence = h->grant.fence, .flags = LB_EVF_VALUE};
  if (event.fence) event.flags |= LB_EVF_FENCE;
  if (!accepted) event.flags |= LB_EVF_REFUSED;
  record(h, kind, event);
  return accepted ? LB_OK : give_up_hold(h);
}

/* The first access of a hold claims the resource, whoever had it: so it is always accepted. */
static bool read_resource(struct lb_holder *h) {
  struct lb_resource *resource = &h->memory->resource[h->key];
  if (h->guard != LB_GUARD_CLAIM) return lb_resource_read(resource, h->guard == LB_GUARD_FENCE, h->grant.fence, &h->value_read);
  if (h->claimed) return lb_resource_read_claimed(resource, h->claim, &h->value_read);
  lb_resource_claim(resource, h->claim, &h->value_read);
  return h->claimed = true;
}

static bool write_resource(struct lb_holder *h) {
  struct lb_resource *resource = &h->memory->resource[h->key];
  uint64_t before;
  if (h->guard != LB_GUARD_CLAIM) return lb_resource_write(resource, h->guard == LB_GUARD_FENCE, h->grant.fence, h->value_read + 1);
  if (!h->claimed) lb_resource_claim(resource, h->claim, &before);
  h->claimed = true;
  return lb_resource_write_claimed(resource, h->claim, h->value_read + 1);
}

int lb_holder_read(struct lb_holder *h) {
  int r = check(h);
  if (r != LB_OK) return r;
  bool accepted = read_resource(h);
  return note_access(h, LB_EV_READ, accepted, h->value_read);
}

int lb_holder_write(struct lb_holder *h) {
  int r = check(h);
  if (r != LB_OK) return r;
  bool accepted = write_resource(h);
  r = note_access(h, LB_EV_WRITE, accepted, h->value_read + 1);
  if (r != LB_OK) return r;
  atomic_fetch_add(&state_of(h)->writes, 1);
  lb_point(h->env, "after-write");
  return LB_OK;
}

int lb_holder_renew(struct lb_holder *h) {
  char name[LB_KEY_NAME_MAX];
  if (!h->holding || lb_now(h->env) < h->renew_at) return LB_OK;
  struct lb_lock lock = lb_holder_lock(h, h->key, name);
  lb_ns bound = earlier(ttl_over(h, 3), RENEW_MS * LB_NS_PER_MS);
  int r = lb_hook_extend(h, &lock, &h->grant, lb_now(h->env) + bound);
  if (r == LB_LOST) return give_up_hold(h);
  if (r == LB_OK) record_lease(h, LB_EV_RENEWED, (struct lb_event){0});
  h->renew_at = r == LB_OK ? when_to_renew(h) : lb_now(h->env) + ttl_over(h, 10);
  return r;
}
