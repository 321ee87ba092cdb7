/* SPDX-License-Identifier: MIT
 *
 * Whether a trial without damage says anything of its guard.
 *
 * The question is who kept the resource whole. Only the stop of a client that another one had
 * overtaken did: what the others would have written, had they gone on, was theirs to write. Where no
 * such client was stopped, the guard kept nothing: either the lock did, or it was chance, and only who
 * knows whether two clients held at once can tell which (judge.c).
 *
 * Where the resource checks, a stop is a refusal, and it always has an answer. Where clients check
 * themselves, a stop counts if the check was answered (by the client's own clock, by its library, by a server). A
 * stop because nobody answered is an accident, as of a socket that leads to a dead server: the same
 * client would have written, had it connected again. Unless it was cut off, so that no answer could
 * be had at all, or stood still while it asked, so that its time was over before it could read one:
 * then to stop is just what the guard is for.
 */
#include "evidence.h"

#include <stdlib.h>
#include <string.h>

struct guarded {
  const struct lb_history *h;
  const char *const *servers;
  size_t count, needed; /* of servers, and from how many of them a client has to be cut off */
};

/* ---- cut off ------------------------------------------------------------------------------------------------------- */

static const char *text_of(const struct lb_history *h, uint32_t text) { return text < h->texts.count ? h->texts.name[text] : ""; }

/* What a cut was called is in the fact of the fault itself: a `heal` names it by the same two roles. */
static const struct lb_fact *fault_of(const struct lb_history *h, uint32_t step, size_t before) {
  for (size_t i = before; i-- > 0;) {
    const struct lb_fact *f = lb_event_fact(h, &h->events[i]);
    if (h->events[i].kind == LB_EV_FAULT && f->step == step) return f;
  }
  return &lb_no_fact;
}

/* Whether the fault of this event, done at event `cut`, was taken back by event `at`: it is the end
 * of the same step, or a heal of all cuts, or of those with its roles. A heal of one cut too many
 * only costs an excuse. */
static bool is_taken_back(const struct lb_history *h, size_t cut, size_t at) {
  uint32_t step = lb_event_fact(h, &h->events[cut])->step;
  const struct lb_fact *named = fault_of(h, step, at);
  for (size_t i = cut + 1; i < at; i++) {
    const struct lb_fact *f = lb_event_fact(h, &h->events[i]);
    if (h->events[i].kind == LB_EV_OVER && f->step == step) return true;
    if (h->events[i].kind != LB_EV_FAULT || strcmp(text_of(h, f->verb), "heal") != 0) continue;
    if (f->role == LB_NO_NAME || (f->role == named->role && f->from == named->from)) return true;
  }
  return false;
}

static bool is_proved(const struct lb_history *h, size_t cut) {
  uint32_t step = lb_event_fact(h, &h->events[cut])->step;
  for (size_t i = cut; i < h->count; i++)
    if (h->events[i].kind == LB_EV_PROVED && lb_event_fact(h, &h->events[i])->step == step) return true;
  return false;
}

/* The servers that a cut has between itself and the client, as a text; LB_NO_NAME = none. */
static uint32_t other_side(const struct lb_history *h, const struct lb_event *e, const char *client) {
  const struct lb_fact *f = lb_event_fact(h, e);
  if (e->kind != LB_EV_TOUCHED || strcmp(text_of(h, f->verb), "cut") != 0) return LB_NO_NAME;
  if (lb_history_lists(h, f->host, client)) return f->from;
  return lb_history_lists(h, f->from, client) ? f->host : LB_NO_NAME;
}

/* Whether proved cuts of the scenario keep the client of event `at` from so many servers then that
 * none could have answered for the lock. */
static bool is_cut_off(const struct guarded *g, size_t at) {
  const char *client = g->h->clients.name[g->h->events[at].client];
  size_t from = 0;
  for (size_t s = 0; s < g->count; s++)
    for (size_t i = 0; i < at; i++) {
      if (!lb_history_lists(g->h, other_side(g->h, &g->h->events[i], client), g->servers[s])) continue;
      if (!is_proved(g->h, i) || is_taken_back(g->h, i, at)) continue;
      from++;
      break;
    }
  return g->needed > 0 && from >= g->needed;
}

/* Whether the client of this check was paused while it asked. A pause before the question explains nothing. */
static bool stood_still(const struct guarded *g, size_t at) {
  const struct lb_event *check = &g->h->events[at];
  if (!(check->flags & LB_EVF_DUE)) return false;
  for (size_t i = at; i-- > 0 && g->h->events[i].t >= check->due;) {
    const struct lb_event *e = &g->h->events[i];
    const struct lb_fact *f = lb_event_fact(g->h, e);
    if (e->kind != LB_EV_TOUCHED || strcmp(text_of(g->h, f->verb), "pause") != 0) continue;
    if (lb_history_lists(g->h, f->host, g->h->clients.name[check->client]) && is_proved(g->h, i)) return true;
  }
  return false;
}

/* ---- who kept the resource whole ------------------------------------------------------------------------------------ */

static bool is_answered(const struct lb_event *check) {
  return check->check != LB_CHECK_NO_ANSWER && check->check != LB_CHECK_ERROR;
}

/* True if a stop of an overtaken client counts. Else *ret_stop is the first that nobody answered, or
 * NULL if none was stopped. The numbers are those of all checks. */
static bool sweep(const struct guarded *g, uint32_t *last, size_t *ret_checks, size_t *ret_answered,
                  const struct lb_event **ret_stop) {
  bool counts = false;
  *ret_stop = NULL;
  for (size_t i = 0; i < g->h->count; i++) {
    const struct lb_event *e = &g->h->events[i];
    if (e->kind == LB_EV_GRANTED) last[e->key] = e->client;
    if (e->kind != LB_EV_CHECK) continue;
    bool overtaken = last[e->key] != e->client && last[e->key] != LB_NO_NAME;
    (*ret_checks)++;
    *ret_answered += is_answered(e);
    if (e->check == LB_CHECK_PASSED || !overtaken || counts) continue;
    counts = is_answered(e) || is_cut_off(g, i) || stood_still(g, i);
    if (!counts && !*ret_stop) *ret_stop = e;
  }
  if (counts) *ret_stop = NULL;
  return counts;
}

enum lb_guard_evidence lb_evidence_guard(const struct lb_history *h, const char *const *servers, size_t count, size_t needed,
                                         uint32_t *ret_client) {
  struct guarded g = {.h = h, .servers = servers, .count = count, .needed = needed};
  uint32_t *last = malloc((h->keys.count + 1) * sizeof *last);
  const struct lb_event *stop;
  size_t checks = 0, answered = 0;
  if (!last) abort(); /* as in history.c: half an answer would be a wrong one */
  for (size_t i = 0; i < h->keys.count; i++) last[i] = LB_NO_NAME;
  bool counts = sweep(&g, last, &checks, &answered, &stop);
  free(last);
  *ret_client = stop ? stop->client : LB_NO_NAME;
  if (checks == 0) return LB_GUARD_NOT_ASKED;
  if (answered == 0) return LB_GUARD_NOT_ANSWERED;
  if (counts) return LB_GUARD_WORKED;
  return stop ? LB_GUARD_STOPPED_UNANSWERED : LB_GUARD_STOPPED_NOBODY;
}

/* ---- where the resource checks ----------------------------------------------------------------------------------------- */

static bool is_access(const struct lb_event *e) { return e->kind == LB_EV_READ || e->kind == LB_EV_WRITE; }

/* Whether another client had used the resource before this refusal: since the client's own grant, or
 * at any time under a larger number. Who was granted by an old state holds late, and its number was
 * overtaken before it did. */
static bool is_overtaken_at(const struct lb_history *h, size_t refusal) {
  const struct lb_event *refused = &h->events[refusal];
  bool since_grant = true;
  for (size_t i = refusal; i-- > 0;) {
    const struct lb_event *e = &h->events[i];
    if (e->key != refused->key) continue;
    if (e->client == refused->client) since_grant &= e->kind != LB_EV_GRANTED;
    else if (is_access(e) && !(e->flags & LB_EVF_REFUSED) && (since_grant || e->fence > refused->fence)) return true;
  }
  return false;
}

bool lb_evidence_refused(const struct lb_history *h) {
  for (size_t i = 0; i < h->count; i++)
    if (is_access(&h->events[i]) && h->events[i].flags & LB_EVF_REFUSED && is_overtaken_at(h, i)) return true;
  return false;
}
