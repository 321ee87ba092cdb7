/* SPDX-License-Identifier: MIT
 *
 * The watchdog of a hold: asked for a renewal when one is due, it says whether the client still believes that it holds.
 */
#include "base/clock.h"
#include "holder_parts.h"
#include "hooks.h"

enum { RENEW_MS = 500 };

/* The guard `deadline` says no between two accesses. */
static int stop_at_end(struct lb_holder *h) {
  lb_holder_record(h, LB_EV_CHECK, (struct lb_event){.check = LB_CHECK_LEASE_OVER, .due = lb_clock_ns(), .flags = LB_EVF_CHECK});
  return lb_holder_give_up_hold(h);
}

/* An answer that comes after the end of the lease is of no use to who goes by that end. */
static lb_ns renewal_deadline(struct lb_holder *h) {
  lb_ns deadline = lb_now(h->env) + lb_earlier(lb_holder_ttl_over(h, 3), RENEW_MS * LB_NS_PER_MS);
  return h->guard == LB_GUARD_DEADLINE ? lb_earlier(deadline, h->grant.valid_until) : deadline;
}

static int renew_one(struct lb_holder *h) {
  char name[LB_KEY_NAME_MAX];
  if (!h->holding || lb_now(h->env) < h->renew_at) return LB_OK;
  if (h->guard == LB_GUARD_DEADLINE && lb_holder_is_over(h)) return stop_at_end(h);
  struct lb_lock lock = lb_holder_lock(h, h->key, name);
  int r = lb_hook_extend(h, &lock, &h->grant, renewal_deadline(h));
  if (r == LB_OK) lb_holder_record_lease(h, LB_EV_RENEWED, (struct lb_event){0});
  else lb_holder_record(h, LB_EV_NOT_RENEWED, (struct lb_event){.check = (uint8_t)lb_holder_answer(r), .flags = LB_EVF_CHECK});
  if (r == LB_LOST) return lb_holder_give_up_hold(h);
  h->renew_at = r == LB_OK ? lb_holder_when_to_renew(h) : lb_holder_renew_in(h, lb_now(h->env), lb_holder_ttl_over(h, 10));
  return r;
}

/* Each hold in turn becomes the one that it is busy with, which it is with the first one again in the end. */
int lb_holder_renew(struct lb_holder *h) {
  uint32_t key = h->key;
  int r = renew_one(h);
  if (h->kept_count == 0) return r;
  for (size_t left = h->kept_count; left > 0 && h->kept_count > 0; left--) lb_holder_take_oldest(h), renew_one(h);
  lb_holder_turn_to(h, key);
  return r;
}
