/* SPDX-License-Identifier: MIT
 *
 * What stands behind a line of a story, after "<--": what was wrong about the event, and whose
 * right it hurt. What it is was found by explain_marks.c.
 */
#include "explain_parts.h"
#include "say.h"

/* The lease of the hold that began with event `grant`, as it stood at event `at`: from its latest
 * grant or renewal. */
static void put_lease(const struct lb_teller *t, size_t grant, size_t at) {
  const struct lb_event *e = &t->h->events[grant];
  uint64_t now = t->h->events[at].t;
  for (size_t i = grant + 1; i < at; i++) {
    const struct lb_event *later = &t->h->events[i];
    bool leases = later->kind == LB_EV_GRANTED || later->kind == LB_EV_RENEWED;
    if (leases && later->client == e->client && later->key == e->key) e = later;
  }
  if (!(e->flags & LB_EVF_UNTIL)) return;
  fputs(e->until > now ? ", lease not over for " : ", lease over since ", t->out);
  lb_explain_length(e->until > now ? e->until - now : now - e->until, t->out);
}

/* A state that is older than the one in which the other client was granted shows nothing of that. */
static void put_older(const struct lb_teller *t, size_t other, size_t i) {
  size_t its = lb_explain_seen(t->h, other), own = lb_explain_seen(t->h, i);
  if (its == LB_NO_EVENT || own == LB_NO_EVENT || t->h->events[own].value >= t->h->events[its].value) return;
  fputs(", and it had read an older state than that one", t->out);
}

/* "<-- granted while client-1 holds, lease over since 120.0 ms" */
static void put_wrong_grant(const struct lb_teller *t, size_t i) {
  const struct lb_wrong_event *w = &t->wrong[i];
  if (w->flags & LB_WRONG_DOUBLE) {
    fputs("  <-- granted while ", t->out);
    lb_say_text(lb_explain_client(t, w->other), t->out);
    uint64_t permits = lb_history_permits(t->h, t->h->events[i].key);
    fputs(t->h->events[w->other].flags & LB_EVF_SHARED ? " holds (shared)" : " holds", t->out);
    if (permits > 1) fprintf(t->out, ", and so do others: at most %llu may", (unsigned long long)permits);
    put_lease(t, w->other, i);
    put_older(t, w->other, i);
  }
  if (w->flags & LB_WRONG_FENCE)
    fprintf(t->out, "%s the fence does not grow: %llu came before", w->flags & LB_WRONG_DOUBLE ? ";" : "  <--",
            (unsigned long long)t->h->events[w->second].fence);
}

/* A write that carried too small a fence: refused, or, where the resource did not check, accepted
 * all the same; then it is said that the guard would have refused it. Under the guard `claim` no
 * refusal was for the fence. */
static void put_fenced_off(const struct lb_teller *t, size_t i) {
  bool refused = t->h->events[i].flags & LB_EVF_REFUSED;
  if (refused && t->about->claims) return;
  if (refused)
    fprintf(t->out, "  <-- fenced off: the resource has seen %llu",
            (unsigned long long)t->h->events[t->wrong[i].fence_seen].fence);
  else fputs(" (the guard fence would refuse it)", t->out);
}

/* Under the guard `claim`: whoever used the resource last has its token there. */
static void put_claimed(const struct lb_teller *t, size_t i) {
  const struct lb_event *e = &t->h->events[i];
  if (!t->about->claims || !(e->flags & LB_EVF_REFUSED)) return;
  fputs("  <-- refused: the token of ", t->out);
  for (size_t j = i; j-- > 0;) {
    const struct lb_event *other = &t->h->events[j];
    bool used =
        (other->kind == LB_EV_READ || other->kind == LB_EV_WRITE) && !(other->flags & (LB_EVF_REFUSED | LB_EVF_EARLY));
    if (!used || other->key != e->key || other->client == e->client) continue;
    lb_say_text(lb_explain_client(t, j), t->out);
    break;
  }
  fputs(" stands there", t->out);
}

/* One reason for the access, the worst; then whose update it overwrote; then what the fence was
 * worth. A fence is not spoken of where nothing went wrong and nothing was refused. */
static void put_wrong_access(const struct lb_teller *t, size_t i) {
  const struct lb_wrong_event *w = &t->wrong[i];
  const struct lb_event *e = &t->h->events[i];
  bool told = true;
  if (w->flags & LB_WRONG_STALE) {
    fputs("  <-- accepted although ", t->out);
    lb_say_text(lb_explain_client(t, w->other), t->out);
    fputs(" was granted it since", t->out);
  } else if (w->flags & LB_WRONG_DIRTY && w->other != LB_NO_EVENT) {
    fprintf(t->out, "  <-- %s while ", e->kind == LB_EV_READ ? "reads" : "writes");
    lb_say_text(lb_explain_client(t, w->other), t->out);
    fputs(" holds, too", t->out);
  } else if (w->flags & LB_WRONG_DIRTY) {
    fprintf(t->out, "  <-- %s without holding it", e->kind == LB_EV_READ ? "reads" : "writes");
  } else {
    told = false;
  }
  if (w->flags & LB_WRONG_LOST) {
    bool own = t->h->events[w->second].client == e->client;
    fprintf(t->out, "%s value %llu %s: ", told ? ";" : "  <--", (unsigned long long)e->value,
            t->h->events[w->second].value == e->value ? "again" : "after a larger one");
    lb_say_text(own ? "its own" : lb_explain_client(t, w->second), t->out);
    fputs(own ? " update is lost" : "'s update is lost", t->out);
  }
  if (w->flags & LB_WRONG_FENCED_OFF && (told || e->flags & LB_EVF_REFUSED)) put_fenced_off(t, i);
  put_claimed(t, i);
}

/* Not wrong, but what a reader wants to know about the end of a hold: since when the client was
 * mistaken. */
static void put_blindness(const struct lb_teller *t, size_t i) {
  const struct lb_event *e = &t->h->events[i];
  for (size_t j = i; j-- > 0;) {
    const struct lb_event *own = &t->h->events[j];
    if (own->client != e->client || own->key != e->key || own->kind != LB_EV_GRANTED) continue;
    for (size_t k = j + 1; k < i; k++) {
      const struct lb_event *other = &t->h->events[k];
      if (other->kind != LB_EV_GRANTED || other->key != e->key || other->client == e->client) continue;
      fputs("      it knows ", t->out); /* in the column of what others carry */
      lb_explain_length(e->t - other->t, t->out);
      fputs(" after ", t->out);
      lb_say_text(lb_explain_client(t, k), t->out);
      fputs(" was granted", t->out);
      return;
    }
    return;
  }
}

void lb_explain_wrong(const struct lb_teller *t, size_t i) {
  unsigned kind = t->h->events[i].kind;
  if (kind == LB_EV_GRANTED) put_wrong_grant(t, i);
  if (kind == LB_EV_READ || kind == LB_EV_WRITE) put_wrong_access(t, i);
  if (kind == LB_EV_LOST) put_blindness(t, i);
}
