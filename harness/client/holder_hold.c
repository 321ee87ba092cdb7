/* SPDX-License-Identifier: MIT
 *
 * A hold: its events, its lease, when that is renewed, its end, and what a client owes the service when it cannot say how it ended.
 * A client may have several: one it is busy with, the others are kept aside.
 */
#include <stdio.h>
#include <string.h>

#include "holder_parts.h"

void lb_holder_record_of(struct lb_holder *h, uint32_t key, enum lb_event_kind kind, struct lb_event event) {
  event.kind = (uint16_t)kind;
  event.client = h->client;
  event.key = key;
  event.fact = LB_NO_NAME;
  lb_memory_record(h->memory, h->log, event);
}

void lb_holder_record(struct lb_holder *h, enum lb_event_kind kind, struct lb_event event) {
  lb_holder_record_of(h, h->key, kind, event);
}

void lb_holder_key_name(const char *prefix, uint32_t key, char name[LB_KEY_NAME_MAX]) {
  snprintf(name, LB_KEY_NAME_MAX, "%s-%u", prefix, key);
}

struct lb_lock lb_holder_lock(const struct lb_holder *h, uint32_t key, char name[LB_KEY_NAME_MAX]) {
  lb_holder_key_name(h->prefix, key, name);
  return (struct lb_lock){.key = name, .ttl_ms = h->ttl_ms, .shared = h->shared, .permits = h->permits};
}

void lb_holder_owe(struct lb_holder *h) {
  if (h->debt_count == LB_DEBTS_MAX) { /* the oldest is the most likely to have expired */
    for (size_t i = 1; i < h->debt_count; i++) h->debt[i - 1] = h->debt[i];
    h->debt_count--;
  }
  h->debt[h->debt_count++] = (struct lb_debt){.key = h->key, .grant = h->grant};
}

lb_ns lb_holder_renew_in(const struct lb_holder *h, lb_ns now, lb_ns pause) {
  if (!h->renew || !h->protocol->extend) return LB_NEVER;
  lb_ns due = now + pause;
  bool ends = h->renewed_for && due > h->grant.asked_at && due - h->grant.asked_at >= h->renewed_for;
  if (ends) due = LB_NEVER;
  return h->guard == LB_GUARD_DEADLINE ? lb_earlier(due, h->grant.valid_until) : due;
}

lb_ns lb_holder_when_to_renew(struct lb_holder *h) {
  lb_ns now = lb_now(h->env), left = h->grant.valid_until > now ? h->grant.valid_until - now : 0;
  return lb_holder_renew_in(h, now, lb_earlier(lb_holder_ttl_over(h, 3), left / 2));
}

void lb_holder_record_lease(struct lb_holder *h, enum lb_event_kind kind, struct lb_event event) {
  if (h->grant.valid_until != LB_NEVER) {
    event.flags |= LB_EVF_UNTIL;
    event.until = h->to_truth ? h->to_truth(h->env, h->grant.valid_until) : h->grant.valid_until;
  }
  atomic_store(&lb_holder_state(h)->until, event.flags & LB_EVF_UNTIL ? event.until : LB_NEVER);
  lb_holder_record(h, kind, event);
}

void lb_holder_end_hold(struct lb_holder *h, enum lb_event_kind how) {
  h->holding = false;
  atomic_store(&lb_holder_state(h)->holds, h->kept_count > 0);
  lb_holder_record(h, how, (struct lb_event){0});
}

/* A lock that was granted more than once is lost with all of its grants. */
int lb_holder_give_up_hold(struct lb_holder *h) {
  lb_holder_end_hold(h, LB_EV_LOST);
  do lb_holder_owe(h);
  while (lb_holder_take_back(h, h->key));
  h->holding = false;
  atomic_store(&lb_holder_state(h)->holds, h->kept_count > 0);
  return LB_LOST;
}

/* ---- several holds ----------------------------------------------------------------------------------------------- */

void lb_holder_put_aside(struct lb_holder *h) {
  if (!h->holding) return;
  h->kept[h->kept_count++] = (struct lb_hold){h->key, h->grant, h->value_read, h->claim, h->claimed, h->renew_at};
  h->holding = false;
}

static void take(struct lb_holder *h, size_t i) {
  const struct lb_hold hold = h->kept[i];
  h->kept_count--;
  memmove(&h->kept[i], &h->kept[i + 1], (h->kept_count - i) * sizeof hold);
  h->key = hold.key, h->grant = hold.grant, h->value_read = hold.value_read;
  h->claim = hold.claim, h->claimed = hold.claimed, h->renew_at = hold.renew_at;
  h->holding = true;
}

bool lb_holder_take_back(struct lb_holder *h, uint32_t key) {
  size_t i = h->kept_count;
  while (i > 0 && h->kept[i - 1].key != key) i--;
  if (i > 0) take(h, i - 1);
  return i > 0;
}

void lb_holder_take_oldest(struct lb_holder *h) {
  lb_holder_put_aside(h);
  take(h, 0);
}

void lb_holder_turn_to(struct lb_holder *h, uint32_t key) {
  if (h->key == key && (h->holding || h->kept_count == 0)) return;
  lb_holder_put_aside(h);
  if (!lb_holder_take_back(h, key)) h->key = key;
}

bool lb_holder_holds(const struct lb_holder *h) { return h->holding || h->kept_count > 0; }

lb_ns lb_holder_due(const struct lb_holder *h) {
  lb_ns due = h->holding ? h->renew_at : LB_NEVER;
  for (size_t i = 0; i < h->kept_count; i++) due = lb_earlier(due, h->kept[i].renew_at);
  return due;
}
