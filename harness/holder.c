/* SPDX-License-Identifier: MIT
 *
 * The life of a client with one lock: asking -> holding -> released or lost; or asking -> given up, perhaps owing a release.
 *
 * Evidence first: `granted` is stamped after the reply was read and `release` before the request leaves, so that the interval
 * between them is certainly inside what the client believed. An unknown outcome is asked from the server (resolve) while
 * there is time; what stays unknown is neither a failure nor a success.
 *
 * Backoff is full jitter: uniform in [0, cap), the cap doubling from 1 to 16 ms. Spreading over the whole interval is what
 * keeps clients that were refused together from coming back together (M. Brooker, "Exponential backoff and jitter").
 */
#include "holder.h"

#include <stdio.h>

enum { BACKOFF_FIRST_MS = 1, BACKOFF_LAST_MS = 16, CLEAN_UP_MS = 500 };

static void record(struct lb_holder *h, enum lb_event_kind kind, struct lb_event event) {
  event.kind = (uint16_t)kind;
  event.client = (uint32_t)h->index;
  event.key = h->key;
  event.what = LB_NO_NAME;
  lb_arena_record(h->arena, h->index, event);
}

void lb_holder_key_name(const struct lb_holder *h, uint32_t key, char name[LB_KEY_NAME_MAX]) {
  snprintf(name, LB_KEY_NAME_MAX, "%s-%u", h->prefix, key);
}

static lb_ns earlier(lb_ns a, lb_ns b) { return a < b ? a : b; }

static void owe(struct lb_holder *h) {
  if (h->debt_count == LB_DEBTS_MAX) { /* the oldest is the most likely to have expired */
    for (size_t i = 1; i < h->debt_count; i++) h->debt[i - 1] = h->debt[i];
    h->debt_count--;
  }
  h->debt[h->debt_count++] = (struct lb_debt){.key = h->key, .grant = h->grant};
}

static void settle_debts(struct lb_holder *h, lb_ns deadline) {
  char name[LB_KEY_NAME_MAX];
  size_t kept = 0;
  for (size_t i = 0; i < h->debt_count; i++) {
    lb_holder_key_name(h, h->debt[i].key, name);
    int r = h->protocol->release(h->session, name, &h->debt[i].grant, deadline);
    if (r != LB_OK && r != LB_LOST) h->debt[kept++] = h->debt[i];
  }
  h->debt_count = kept;
}

static void pause_before_retry(struct lb_holder *h, const char *name, unsigned tries, lb_ns deadline) {
  if (h->protocol->wait) {
    int r = h->protocol->wait(h->session, name, &h->grant, deadline);
    if (r == LB_OK || r == LB_TIMEOUT) return;
  }
  lb_ns cap = (lb_ns)BACKOFF_FIRST_MS << (tries < 4 ? tries : 4);
  if (cap > BACKOFF_LAST_MS) cap = BACKOFF_LAST_MS;
  lb_sleep_until(h->env, earlier(deadline, lb_now(h->env) + lb_rng_below(&h->rng, cap * LB_NS_PER_MS)));
}

/* Asks the server about an unknown attempt until it knows or the time is over. */
static int resolve(struct lb_holder *h, const char *name, lb_ns deadline) {
  for (unsigned tries = 0; h->protocol->resolve; tries++) {
    int r = h->protocol->resolve(h->session, name, &h->grant, deadline);
    if (r == LB_OK || r == LB_BUSY) return r;
    if (lb_now(h->env) >= deadline) break;
    lb_sleep_until(h->env, earlier(deadline, lb_now(h->env) + (1 + lb_rng_below(&h->rng, 10)) * LB_NS_PER_MS));
  }
  return LB_UNKNOWN;
}

/* Leaves a queue, or makes sure that nothing of a refused attempt remains. */
static int give_up(struct lb_holder *h, const char *name, int latest) {
  bool remains = latest == LB_UNKNOWN;
  if (latest == LB_BUSY && (h->protocol->traits & LB_TRAIT_QUEUES)) {
    int r = h->protocol->release(h->session, name, &h->grant, lb_now(h->env) + CLEAN_UP_MS * LB_NS_PER_MS);
    remains = r != LB_OK && r != LB_LOST;
  }
  if (remains) owe(h);
  record(h, remains ? LB_EV_UNKNOWN : LB_EV_TIMEOUT, (struct lb_event){0});
  return remains ? LB_UNKNOWN : LB_TIMEOUT;
}

static int granted(struct lb_holder *h) {
  struct lb_event event = {.fence = h->grant.fence, .until = h->grant.valid_until};
  if (h->grant.fence) event.flags |= LB_EVF_FENCE;
  if (h->grant.valid_until != LB_NEVER) event.flags |= LB_EVF_UNTIL;
  else event.until = 0;
  record(h, LB_EV_GRANTED, event);
  h->holding = true;
  atomic_fetch_add_explicit(&h->arena->grants, 1, memory_order_relaxed);
  return LB_OK;
}

/* A reply can come so late that the lease is over when it is read: such a grant is no hold. */
static bool is_over(struct lb_holder *h) { return lb_now(h->env) >= h->grant.valid_until; }

static int let_go(struct lb_holder *h, const char *name) {
  int r = h->protocol->release(h->session, name, &h->grant, lb_now(h->env) + CLEAN_UP_MS * LB_NS_PER_MS);
  if (r != LB_OK && r != LB_LOST) owe(h);
  h->grant = LB_GRANT_INIT;
  return LB_BUSY;
}

int lb_holder_acquire(struct lb_holder *h, uint32_t key, lb_ns deadline) {
  char name[LB_KEY_NAME_MAX];
  if (h->debt_count) settle_debts(h, earlier(deadline, lb_now(h->env) + CLEAN_UP_MS * LB_NS_PER_MS));
  h->key = key;
  h->grant = LB_GRANT_INIT;
  h->env->err[0] = '\0';
  lb_holder_key_name(h, key, name);
  record(h, LB_EV_ACQUIRE, (struct lb_event){0});
  for (unsigned tries = 0;; tries++) {
    int r = h->protocol->try_acquire(h->session, name, h->ttl_ms, &h->grant, deadline);
    if (r == LB_UNKNOWN) {
      r = resolve(h, name, deadline);
      if (r == LB_BUSY) h->grant = LB_GRANT_INIT; /* that attempt is over; the next one is new */
    } else if (r == LB_TIMEOUT || r < 0 || (r == LB_BUSY && !(h->protocol->traits & LB_TRAIT_QUEUES))) {
      h->grant = LB_GRANT_INIT;
    }
    if (r == LB_OK && !is_over(h)) return granted(h);
    if (r == LB_OK) r = let_go(h, name);
    if (r != LB_UNKNOWN && lb_now(h->env) < deadline) pause_before_retry(h, name, tries, deadline);
    if (r == LB_UNKNOWN || lb_now(h->env) >= deadline) return give_up(h, name, r);
  }
}

int lb_holder_release(struct lb_holder *h, lb_ns deadline) {
  char name[LB_KEY_NAME_MAX];
  if (!h->holding) return settle_debts(h, deadline), LB_BUSY;
  lb_holder_key_name(h, h->key, name);
  h->holding = false;
  record(h, LB_EV_RELEASE, (struct lb_event){0});
  for (;;) {
    int r = h->protocol->release(h->session, name, &h->grant, deadline);
    if (r == LB_OK || r == LB_LOST) {
      record(h, r == LB_OK ? LB_EV_RELEASED : LB_EV_LOST, (struct lb_event){0});
      return r;
    }
    if (lb_now(h->env) >= deadline) break;
    lb_sleep_until(h->env, earlier(deadline, lb_now(h->env) + lb_rng_below(&h->rng, 10 * LB_NS_PER_MS)));
  }
  owe(h);
  return LB_UNKNOWN;
}

/* An access shows its fence to the resource, which remembers the largest it has seen. */
static struct lb_event access_event(struct lb_holder *h, uint64_t value) {
  struct lb_event event = {.value = value, .fence = h->grant.fence, .flags = LB_EVF_VALUE};
  if (event.fence) event.flags |= LB_EVF_FENCE;
  _Atomic uint64_t *seen = &h->arena->resource[h->key].fence_seen;
  uint64_t largest = atomic_load(seen);
  while (event.fence > largest && !atomic_compare_exchange_weak(seen, &largest, event.fence)) {
  }
  return event;
}

int lb_holder_read(struct lb_holder *h) {
  if (!h->holding) return LB_BUSY;
  h->value_read = atomic_load_explicit(&h->arena->resource[h->key].value, memory_order_relaxed);
  record(h, LB_EV_READ, access_event(h, h->value_read));
  return LB_OK;
}

int lb_holder_write(struct lb_holder *h) {
  if (!h->holding) return LB_BUSY;
  atomic_store_explicit(&h->arena->resource[h->key].value, h->value_read + 1, memory_order_relaxed);
  record(h, LB_EV_WRITE, access_event(h, h->value_read + 1));
  return LB_OK;
}
