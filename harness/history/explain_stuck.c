/* SPDX-License-Identifier: MIT
 *
 * The last sentence of a stuck or delayed story: since when the lock could not be had, and whether it could be later.
 *
 * Either the last who asked gave up, though nobody had a right to the lock any more (evidence.c
 * decides that). Or a lock stood still: it was asked for and granted to nobody. In a timeline that
 * is the time at its end, for a step has waited in vain then; in a campaign the longest such time
 * (stats.c).
 */
#include <stdlib.h>

#include "evidence.h"

#include "explain_parts.h"
#include "say.h"
#include "stats.h"

struct still {
  bool any;
  uint32_t key;
  uint64_t since, until;
  bool goes_on; /* it was still asked for when the history ends */
  size_t grant; /* the latest one before, LB_NO_EVENT = none */
};

/* ---- at the end of a timeline ---------------------------------------------------------------------------------------- */

struct walk { /* over the events of a key */
  const struct lb_history *h;
  struct still now;
  size_t asking;
  uint64_t asked_until;
};

/* Whether the client that died at this event was in the middle of asking for the key. */
static bool died_asking(const struct walk *w, size_t crash) {
  for (size_t i = crash; i-- > 0;) {
    const struct lb_event *e = &w->h->events[i];
    if (e->client == w->h->events[crash].client && e->key == w->now.key && !lb_event_is_fact(e)) return e->kind == LB_EV_ACQUIRE;
  }
  return false;
}

static void look_at(struct walk *w, size_t i) {
  const struct lb_event *e = &w->h->events[i];
  switch (e->kind) {
    case LB_EV_ACQUIRE:
      if (!w->now.any) w->now.since = e->t;
      w->now.any = true;
      w->asking++;
      break;
    case LB_EV_GRANTED:
      w->asking -= w->asking > 0;
      w->now.any = w->asking > 0;
      w->now.since = e->t;
      w->now.grant = i;
      break;
    case LB_EV_CRASH:
      if (!died_asking(w, i)) break;
      /* fall through */
    case LB_EV_BUSY:
    case LB_EV_TIMEOUT:
    case LB_EV_UNKNOWN:
      w->asking -= w->asking > 0;
      w->asked_until = e->t;
      break;
    default: break;
  }
}

/* `count`: of the events that count. */
static struct still at_the_end(const struct lb_history *h, size_t count, uint32_t key) {
  struct walk w = {.h = h, .now = {.key = key, .grant = LB_NO_EVENT}};
  for (size_t i = 0; i < count; i++)
    if (h->events[i].key == key || h->events[i].kind == LB_EV_CRASH) look_at(&w, i);
  w.now.goes_on = w.asking > 0;
  w.now.until = w.asking > 0 ? h->events[count - 1].t : w.asked_until;
  return w.now;
}

static struct still longest_at_the_end(const struct lb_history *h, size_t count) {
  struct still still = {0};
  for (uint32_t key = 0; key < h->keys.count; key++) {
    struct still other = at_the_end(h, count, key);
    if (other.any && (!still.any || other.until - other.since > still.until - still.since)) still = other;
  }
  return still;
}

/* ---- in a campaign --------------------------------------------------------------------------------------------------- */

/* The time that its verdict went by. */
static struct still longest_of_all(const struct lb_history *h) {
  struct lb_stats stats;
  struct still still = {.grant = LB_NO_EVENT};
  if (lb_stats_history(h, &stats) < 0) abort(); /* as in history.c: half an answer would be a wrong one */
  still.any = stats.no_grant_ns >= 0;
  still.key = stats.no_grant.key, still.since = stats.no_grant.since, still.until = stats.no_grant.until;
  lb_stats_clear(&stats);
  for (size_t i = 0; still.any && i < h->count && h->events[i].t <= still.since; i++)
    if (h->events[i].kind == LB_EV_GRANTED && h->events[i].key == still.key) still.grant = i;
  return still;
}

/* ---- the sentence ---------------------------------------------------------------------------------------------------- */

/* What ended the hold of this grant by then; LB_NO_EVENT = nothing did. */
static size_t end_of(const struct lb_history *h, size_t grant, uint64_t until) {
  for (size_t i = grant + 1; i < h->count && h->events[i].t <= until; i++) {
    const struct lb_event *e = &h->events[i];
    bool ends = e->kind == LB_EV_CRASH || ((e->kind == LB_EV_RELEASE || e->kind == LB_EV_LOST) && e->key == h->events[grant].key);
    if (ends && e->client == h->events[grant].client) return i;
  }
  return LB_NO_EVENT;
}

/* Earlier releases did not note when a wait was over: then the end of the history is not the end of the wait. */
static bool ends_with_a_wait(const struct lb_history *h) {
  for (size_t i = h->count; i-- > 0;)
    if (h->events[i].kind == LB_EV_NOT_MET) return true;
  return false;
}

static void put_since(const struct lb_teller *t, uint64_t since) {
  fputs(t->about->delayed ? "Delayed since " : "Stuck since ", t->out);
  lb_explain_time(t, since);
}

/* "Then client-2 was granted it, at +9206.5 ms." Of a campaign the grants go on, and stand above. */
static void put_granted(const struct lb_teller *t, const struct lb_closing *closing) {
  if (closing->end != LB_CLOSING_GRANTED) return;
  fputs("Then ", t->out);
  lb_say_text(t->h->clients.name[closing->client], t->out);
  fputs(" was granted it, at ", t->out);
  lb_explain_time(t, closing->at);
  fputs(".\n", t->out);
}

/* "Stuck since +206.5 ms: lock-1 was asked for and granted to nobody for 2997.6 ms; client-1 had died with it." What ends
 * a hold, begins the time in which the lock should have been had. */
static void put_still(const struct lb_teller *t, struct still still) {
  size_t end = still.grant == LB_NO_EVENT ? LB_NO_EVENT : end_of(t->h, still.grant, still.until);
  const struct lb_event *ended = end == LB_NO_EVENT ? NULL : &t->h->events[end];
  uint64_t since = ended ? lb_later(still.since, ended->t) : still.since;
  put_since(t, since);
  fputs(": ", t->out);
  lb_say_text(t->h->keys.name[still.key], t->out);
  fputs(" was asked for and granted to nobody", t->out);
  if (!still.goes_on || ends_with_a_wait(t->h)) fputs(" for ", t->out), lb_explain_length(still.until - since, t->out);
  if (still.grant != LB_NO_EVENT) {
    fputs("; ", t->out);
    lb_say_text(t->h->clients.name[t->h->events[still.grant].client], t->out);
    fputs(!ended ? " still had it" : ended->kind == LB_EV_CRASH ? " had died with it" : ", which had it last, had let go of it", t->out);
  }
  fputs(".\n", t->out);
}

/* "Stuck since +9500.2 ms: from then on nobody had a right to lock-1, and client-2 asked for it in vain." */
static void put_in_vain(const struct lb_teller *t, const struct lb_in_vain *last) {
  put_since(t, last->free_since);
  fputs(": from then on nobody had a right to ", t->out);
  lb_say_text(t->h->keys.name[last->key], t->out);
  fputs(", and ", t->out);
  lb_say_text(t->h->clients.name[last->client], t->out);
  fputs(" asked for it in vain, to the end of its ", t->out);
  lb_explain_length(last->asked_ns, t->out);
  fputs(".\n", t->out);
}

/* Of a history that was cut short nobody knows whether the time that counts is in what was kept. */
void lb_explain_stuck(const struct lb_teller *t) {
  struct lb_in_vain last;
  struct lb_closing closing = {.end = LB_CLOSING_NONE};
  bool timeline = t->about->ttl_ns > 0;
  if (!t->about->stuck || lb_explain_shortened(t->h) != LB_NO_EVENT) return;
  if (timeline) lb_evidence_closing(t->h, t->about->ttl_ns, &closing);
  if (timeline && lb_evidence_in_vain(t->h, t->about->ttl_ns, &last)) put_in_vain(t, &last);
  else {
    size_t count = closing.end == LB_CLOSING_GRANTED ? lb_evidence_closing_begins(t->h) : t->h->count;
    struct still still = timeline ? longest_at_the_end(t->h, count) : longest_of_all(t->h);
    if (!still.any) return;
    put_still(t, still);
  }
  put_granted(t, &closing);
}
