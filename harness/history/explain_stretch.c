/* SPDX-License-Identifier: MIT
 *
 * Where the story is: the event that shows best what went wrong, the double hold around it, and the
 * stretch of the history from the grant that was overrun to the moment when everyone knew.
 */
#include "explain_cut.h"

/* ---- what it is about --------------------------------------------------------------------------------------------- */

/* The first event that is wrong in one of these ways. */
static size_t first_with(const struct lb_cutter *x, unsigned flags) {
  for (size_t i = 0; i < x->h->count; i++)
    if (x->wrong[i].flags & flags) return i;
  return LB_NO_EVENT;
}

static bool names(const struct lb_episode *e, uint32_t client) {
  for (size_t i = 0; i < e->client_count; i++)
    if (e->clients[i] == client) return true;
  return false;
}

/* The double hold around the focus, or else the latest one of its client before: an overtaken
 * holder may write when the one that overtook it has already let go. */
static const struct lb_episode *find_episode(const struct lb_cutter *x) {
  const struct lb_episode *found = NULL;
  const struct lb_event *focus = &x->h->events[x->cut->focus];
  for (size_t i = 0; i < x->c->episode_count; i++) {
    const struct lb_episode *e = &x->c->episodes[i];
    if (e->key == focus->key && e->begin_event <= x->cut->focus && names(e, focus->client)) found = e;
  }
  return found;
}

/* Damage tells more than a double hold that did none. A write that the resource refused did nothing
 * wrong in the end. */
void lb_cutter_find_focus(struct lb_cutter *x) {
  static const unsigned order[] = {LB_WRONG_DAMAGE, LB_WRONG_DOUBLE, LB_WRONG_FENCE, LB_WRONG_DIRTY,
                                   LB_WRONG_FENCED_OFF};
  struct lb_cut *cut = x->cut;
  cut->focus = LB_NO_EVENT;
  cut->key = LB_NO_NAME;
  for (size_t i = 0; i < sizeof order / sizeof *order && cut->focus == LB_NO_EVENT; i++)
    cut->focus = first_with(x, order[i]);
  if (cut->focus != LB_NO_EVENT) cut->key = x->h->events[cut->focus].key;
  for (size_t i = 0; i < x->h->count && cut->key == LB_NO_NAME; i++) cut->key = x->h->events[i].key;
  if (cut->focus != LB_NO_EVENT) cut->episode = find_episode(x);
}

/* ---- the stretch -------------------------------------------------------------------------------------------------- */

bool lb_cutter_is_of(const struct lb_cutter *x, size_t i, uint32_t client, enum lb_event_kind kind) {
  const struct lb_event *e = &x->h->events[i];
  return e->kind == kind && e->client == client && (e->key == x->cut->key || e->key == LB_NO_NAME);
}

/* The latest event of that kind before event `from`; `from` if there is none. */
static size_t back_to(const struct lb_cutter *x, size_t from, uint32_t client, enum lb_event_kind kind) {
  for (size_t i = from; i-- > 0;)
    if (lb_cutter_is_of(x, i, client, kind)) return i;
  return from;
}

/* To where the client that was granted the key at event `grant` asked for it. */
static void reach_back(struct lb_cutter *x, size_t grant) {
  if (grant == LB_NO_EVENT || x->h->events[grant].kind != LB_EV_GRANTED) return;
  if (x->needed_count + 2 > sizeof x->needed / sizeof *x->needed) return;
  size_t asked = back_to(x, grant, x->h->events[grant].client, LB_EV_ACQUIRE);
  x->needed[x->needed_count++] = grant;
  x->needed[x->needed_count++] = asked;
  if (asked < x->from) x->from = asked;
}

/* The latest renewal of the hold that `client` has before event `before`: the lease that was
 * overrun. */
static void reach_renewal(struct lb_cutter *x, uint32_t client, size_t before) {
  static const enum lb_event_kind others[] = {LB_EV_GRANTED, LB_EV_RELEASE, LB_EV_LOST, LB_EV_CRASH};
  size_t renewal = back_to(x, before, client, LB_EV_RENEWED);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    size_t other = back_to(x, before, client, others[i]);
    if (other < before && other > renewal) return; /* it was another hold's */
  }
  if (renewal < before && x->needed_count < sizeof x->needed / sizeof *x->needed)
    x->needed[x->needed_count++] = renewal;
}

/* The grant of the hold that the client has, or had last, before event `before`; LB_NO_EVENT = it
 * never held. */
static size_t own_grant(const struct lb_cutter *x, uint32_t client, size_t before) {
  size_t grant = back_to(x, before, client, LB_EV_GRANTED);
  return grant < before ? grant : LB_NO_EVENT;
}

/* What comes after the end of the double hold is the answer that tells a client that it had lost
 * the lock. */
static void reach_ahead(struct lb_cutter *x, uint32_t client, size_t after) {
  for (size_t i = after + 1; i < x->h->count && !lb_cutter_is_of(x, i, client, LB_EV_ACQUIRE); i++)
    if (lb_cutter_is_of(x, i, client, LB_EV_LOST) || lb_cutter_is_of(x, i, client, LB_EV_RELEASED)) {
      if (i > x->to) x->to = i;
      return;
    }
}

/* Back to where each of the two asked for the lock, and to the grant and write that were overrun;
 * ahead to where the double hold is over and both know. A short history begins at its begin: there
 * is room. */
void lb_cutter_find_stretch(struct lb_cutter *x) {
  const struct lb_episode *episode = x->cut->episode;
  size_t last = x->h->count - 1;
  x->from = 0;
  x->to = last;
  if (x->cut->focus == LB_NO_EVENT) return;
  const struct lb_wrong_event *wrong = &x->wrong[x->cut->focus];
  x->from = x->to = x->cut->focus;
  reach_back(x, own_grant(x, x->h->events[x->cut->focus].client, x->cut->focus + 1));
  reach_back(x, wrong->other);
  reach_back(x, wrong->second);
  if (wrong->second != LB_NO_EVENT && x->h->events[wrong->second].kind == LB_EV_WRITE)
    reach_back(x, own_grant(x, x->h->events[wrong->second].client, wrong->second));
  if (episode) {
    size_t end = episode->end_event < last ? episode->end_event : last;
    if (end > x->to) x->to = end;
    reach_back(x, own_grant(x, episode->clients[0], episode->begin_event + 1));
    for (size_t i = 0; i < episode->client_count; i++) reach_ahead(x, episode->clients[i], end);
    for (size_t i = 0; i < episode->client_count && i < LB_CUT_LANES; i++)
      reach_renewal(x, episode->clients[i], episode->begin_event);
  } else {
    reach_ahead(x, x->h->events[x->cut->focus].client, x->cut->focus);
  }
  if (x->h->count <= LB_CUT_SHORT) x->from = 0;
}
