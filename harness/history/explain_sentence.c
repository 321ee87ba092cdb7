/* SPDX-License-Identifier: MIT
 *
 * The end of a story: what happened, in a sentence or two. First the double hold that the story is
 * about, or that nothing went wrong; then the damage at the resource; then what else the history
 * has, if that was not all; and that it was cut short, if it was.
 */
#include "explain_parts.h"
#include "say.h"

static void put_count(const struct lb_teller *t, const char **separator, uint64_t count, const char *one,
                      const char *many) {
  if (count == 0) return;
  fprintf(t->out, "%s%llu %s", *separator, (unsigned long long)count, count == 1 ? one : many);
  *separator = ", ";
}

/* "client-1 and client-2 held lock-1 at the same time for 80.1 ms, from +120.0 ms to +200.1 ms." */
static void put_episode(const struct lb_teller *t, const struct lb_episode *e) {
  for (size_t i = 0; i < e->client_count; i++) {
    fputs(i == 0 ? "" : i + 1 < e->client_count ? ", " : " and ", t->out);
    lb_say_text(t->h->clients.name[e->clients[i]], t->out);
  }
  fputs(" held ", t->out);
  lb_say_text(t->h->keys.name[e->key], t->out);
  fputs(" at the same time for ", t->out);
  lb_explain_length(e->end_t - e->begin_t, t->out);
  fputs(", from ", t->out);
  lb_explain_time(t, e->begin_t);
  fputs(" to ", t->out);
  lb_explain_time(t, e->end_t);
  fputs(e->end_event == t->h->count ? ", when the history ends" : "", t->out);
  uint64_t permits = lb_history_permits(t->h, e->key);
  if (permits > 1) fprintf(t->out, "; at most %llu may", (unsigned long long)permits);
  fputs(".\n", t->out);
}

/* The first grant of the episode that was read in an older state than that of the other holder; LB_NO_EVENT = none. */
static size_t older_grant(const struct lb_teller *t, const struct lb_episode *e) {
  for (size_t i = e->begin_event; i < t->h->count && i <= e->end_event; i++) {
    if (!(t->wrong[i].flags & LB_WRONG_DOUBLE) || t->h->events[i].kind != LB_EV_GRANTED) continue;
    size_t own = lb_explain_seen(t->h, i), its = lb_explain_seen(t->h, t->wrong[i].other);
    if (own != LB_NO_EVENT && its != LB_NO_EVENT && t->h->events[own].value < t->h->events[its].value) return i;
  }
  return LB_NO_EVENT;
}

/* Where places in a queue are numbered by what made them, and a place was the first although the other client, who came
 * later, had been granted in a later state: there that place was gone. Who was asking had not given it
 * up, so the service had taken it away: with the client's session. */
static void put_order(const struct lb_teller *t, const struct lb_episode *e) {
  size_t grant = older_grant(t, e);
  if (grant == LB_NO_EVENT) return;
  const struct lb_event *own = &t->h->events[grant], *other = &t->h->events[t->wrong[grant].other];
  unsigned long long read = t->h->events[lb_explain_seen(t->h, grant)].value;
  unsigned long long its = t->h->events[lb_explain_seen(t->h, t->wrong[grant].other)].value;
  if (!(own->flags & other->flags & LB_EVF_FENCE) || own->fence >= other->fence || own->fence > read || read >> 32 == 0) return;
  const char *waiter = lb_explain_client(t, grant), *holder = lb_explain_client(t, t->wrong[grant].other);
  fprintf(t->out, "In the order of the service: 0x%llx made the node of ", (unsigned long long)own->fence), lb_say_text(waiter, t->out);
  fprintf(t->out, ", 0x%llx that of ", (unsigned long long)other->fence), lb_say_text(holder, t->out);
  fputs("; ", t->out), lb_say_text(waiter, t->out);
  fprintf(t->out, " was granted by a list as of 0x%llx, in which its node is the first, after ", read), lb_say_text(holder, t->out);
  fprintf(t->out, " had been granted by one as of 0x%llx, in which that node is gone, and ", its), lb_say_text(waiter, t->out);
  fprintf(t->out, " had not deleted it: the closeSession of its session came after 0x%llx, and with 0x%llx at the latest.\n", read, its);
}

/* What the claim rests on, too: a history with few hand-offs is safe for little. Readers and permits may
 * have held together. */
static void put_safe(const struct lb_teller *t) {
  const char *separator = "",
             *held = t->c->depth > 1 ? "more clients hold the same lock than may" : "two clients hold the same lock";
  fprintf(t->out, "At no time did %s, and no update was lost: ", held);
  put_count(t, &separator, t->c->grants, "grant", "grants");
  put_count(t, &separator, t->c->handoffs, "hand-off", "hand-offs");
  put_count(t, &separator, t->c->unknown_acquires, "unknown outcome", "unknown outcomes");
  fputs(*separator ? ".\n" : "nothing was granted.\n", t->out);
}

/* What the resource took, and what it refused. */
static void put_damage(const struct lb_teller *t) {
  const struct lb_check *c = t->c;
  const char *separator = "At the resource: ";
  bool refused = false;
  for (size_t i = 0; i < t->h->count; i++)
    refused |= (t->wrong[i].flags & LB_WRONG_FENCED_OFF) && (t->h->events[i].flags & LB_EVF_REFUSED);
  put_count(t, &separator, (uint64_t)c->lost_updates, "update was lost", "updates were lost");
  put_count(t, &separator, c->stale_writes, "write of an overtaken holder was accepted",
            "writes of overtaken holders were accepted");
  if (refused && t->about->claims) put_count(t, &separator, c->fenced_off, "write was refused", "writes were refused");
  else if (refused) put_count(t, &separator, c->fenced_off, "write was fenced off", "writes were fenced off");
  if (*separator != 'A') fputs(".\n", t->out);
  else if (c->double_holds && lb_explain_shortened(t->h) == LB_NO_EVENT) fputs("The resource was not damaged.\n", t->out);
}

/* The lock kept its promise, and the program was wrong all the same. */
static void put_early(const struct lb_teller *t) {
  if (lb_check_read_early(t->c))
    fputs("No two held the lock at once: what was written had been read before the lock was asked for.\n", t->out);
}

/* What is said of a history, is said of what was kept of it. */
static void put_kept(const struct lb_teller *t) {
  size_t shortened = lb_explain_shortened(t->h);
  if (shortened == LB_NO_EVENT) return;
  const struct lb_fact *f = lb_event_fact(t->h, &t->h->events[shortened]);
  fprintf(t->out, "All this is of the first %llu of %llu events: more were not kept, so the whole trial had more.\n",
          (unsigned long long)f->kept, (unsigned long long)f->total);
}

void lb_explain_sentence(const struct lb_teller *t) {
  const struct lb_check *c = t->c;
  const char *separator = "In this history: ";
  if (t->cut.episode) put_episode(t, t->cut.episode), put_order(t, t->cut.episode);
  else if (!lb_check_violated(c, true) && !lb_check_damaged(c, true)) put_safe(t);
  put_damage(t);
  put_early(t);
  if (c->double_holds > 1 || !t->cut.episode) put_count(t, &separator, c->double_holds, "double hold", "double holds");
  if (!t->cut.episode || c->double_holds > 1)
    put_count(t, &separator, c->dirty_accesses, "dirty access", "dirty accesses");
  put_count(t, &separator, c->token_regressions, "fence that did not grow", "fences that did not grow");
  if (*separator == ',') fputs(".\n", t->out);
  put_kept(t);
  lb_explain_stuck(t);
}
