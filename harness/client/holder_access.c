/* SPDX-License-Identifier: MIT
 *
 * What a holder does with the resource, and the guard before it.
 *
 * A guard stands before every access. One that says no ends the hold: `lost` is recorded, and what the service may
 * still keep is released later, like an attempt of unknown outcome.
 */
#include <errno.h>

#include "base/clock.h"
#include "holder.h"
#include "hook.h"

enum { RECHECK_MS = 1000 };

const char *const lb_holder_points[] = {"before-wait", "before-check",   "after-check",
                                        "after-write", "before-release", NULL};

/* ---- guards ------------------------------------------------------------------------------------------------------ */

/* Asks the service; only a clear yes within a short time counts. */
static enum lb_check_result ask_service(struct lb_holder *h) {
  char name[LB_KEY_NAME_MAX];
  if (!h->protocol->holds) return LB_CHECK_ERROR;
  struct lb_lock lock = lb_holder_lock(h, h->key, name);
  lb_ns bound = lb_earlier(lb_holder_ttl_over(h, 2), RECHECK_MS * LB_NS_PER_MS);
  return lb_hook_answer(lb_hook_call(h, LB_HOOK_HOLDS, &lock, &h->grant, lb_now(h->env) + bound));
}

/* Sends nothing: it looks at what the session has been told already. */
static enum lb_check_result look_for_signals(struct lb_holder *h) {
  char name[LB_KEY_NAME_MAX];
  if (!h->protocol->doubt) return LB_CHECK_ERROR;
  struct lb_lock lock = lb_holder_lock(h, h->key, name);
  int r = lb_hook_call(h, LB_HOOK_DOUBT, &lock, &h->grant, 0);
  return r == LB_OK     ? LB_CHECK_PASSED
         : r == LB_LOST ? LB_CHECK_SESSION_OVER
         : r < 0        ? LB_CHECK_ERROR
                        : LB_CHECK_IN_DOUBT;
}

/* 0 = this guard leaves the check to the resource, or there is none. */
static enum lb_check_result guard_says(struct lb_holder *h) {
  switch (h->guard) {
    case LB_GUARD_NONE:
    case LB_GUARD_CLAIM:
    case LB_GUARD_FENCE: return 0;
    case LB_GUARD_DEADLINE: return lb_holder_is_over(h) ? LB_CHECK_LEASE_OVER : LB_CHECK_PASSED;
    case LB_GUARD_SIGNAL: return look_for_signals(h);
    case LB_GUARD_RECHECK: return ask_service(h);
  }
  return LB_CHECK_ERROR;
}

/* Between the check and the access, "after-check", lies what no check by the client can close. A client that hangs at a
 * point may learn there that a renewal was denied. */
static int check(struct lb_holder *h) {
  if (!h->holding) return LB_BUSY;
  lb_point(h->env, "before-check");
  if (!h->holding) return LB_LOST;
  lb_ns begun = lb_clock_ns();
  enum lb_check_result result = guard_says(h);
  struct lb_event checked = {.check = (uint8_t)result, .due = begun, .flags = LB_EVF_CHECK};
  if (h->guard == LB_GUARD_RECHECK) checked.flags |= LB_EVF_DUE;
  if (result) lb_holder_record(h, LB_EV_CHECK, checked);
  if (result && result != LB_CHECK_PASSED) return lb_holder_give_up_hold(h);
  lb_point(h->env, "after-check");
  return h->holding ? LB_OK : LB_LOST;
}

/* ---- the resource ------------------------------------------------------------------------------------------------ */

/*
 * The record of an access, right after it. A client can be stopped or killed between the two, in
 * some ten nanoseconds; a trial that hits them shows
 *  - stopped: the access at the time of the wake-up. If another client was granted the lock
 *    meanwhile, a clean access counts as dirty. A write may also count as stale and as a lost
 *    update. Such a trial let a holder's lease run out while it believed that it held, so it
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
  lb_holder_record(h, kind, event);
  return accepted ? LB_OK : lb_holder_give_up_hold(h);
}

/* The first access of a hold claims the resource from any earlier holder, so it is always accepted. */
static bool read_resource(struct lb_holder *h) {
  struct lb_resource *resource = &h->memory->resource[h->key];
  if (h->guard != LB_GUARD_CLAIM)
    return lb_resource_read(resource, h->guard == LB_GUARD_FENCE, h->grant.fence, &h->value_read);
  if (h->claimed) return lb_resource_read_claimed(resource, h->claim, &h->value_read);
  lb_resource_claim(resource, h->claim, &h->value_read);
  return h->claimed = true;
}

int lb_holder_read_early(struct lb_holder *h, uint32_t key) {
  lb_holder_turn_to(h, key);
  lb_resource_read(&h->memory->resource[key], false, 0, &h->value_read);
  lb_holder_record(h, LB_EV_READ, (struct lb_event){.value = h->value_read, .flags = LB_EVF_VALUE | LB_EVF_EARLY});
  return LB_OK;
}

static struct lb_letter next_write(struct lb_holder *h) {
  struct lb_letter letter = {.guard = h->guard,
                             .key = h->key,
                             .value = h->value_read + 1,
                             .fence = h->grant.fence,
                             .claim = h->claim,
                             .claims = h->guard == LB_GUARD_CLAIM && !h->claimed};
  h->claimed |= letter.claims;
  return letter;
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
  struct lb_letter letter = next_write(h);
  r = note_access(h, LB_EV_WRITE, lb_letter_arrive(&letter, h->memory->resource), letter.value);
  if (r != LB_OK) return r;
  atomic_fetch_add(&lb_holder_state(h)->writes, 1);
  lb_point(h->env, "after-write");
  return LB_OK;
}

/* The client is not told whether its late write was accepted. */
int lb_holder_write_late(struct lb_holder *h) {
  struct lb_client_state *state = lb_holder_state(h);
  if (atomic_load(&state->on_its_way)) return lb_fail(h->env, -EBUSY, "an earlier write of it is still on its way");
  int r = check(h);
  if (r != LB_OK) return r;
  state->letter = next_write(h);
  atomic_store(&state->on_its_way, true);
  lb_point(h->env, "after-write");
  return LB_OK;
}
