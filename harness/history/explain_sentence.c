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
  fputs(e->end_event == t->h->count ? ", when the history ends.\n" : ".\n", t->out);
}

/* What the claim rests on, too: a history with few hand-offs is safe for little. */
static void put_safe(const struct lb_teller *t) {
  const char *separator = "";
  fputs("At no time did two clients hold the same lock, and no update was lost: ", t->out);
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
  if (t->cut.episode) put_episode(t, t->cut.episode);
  else if (!lb_check_violated(c, true) && !lb_check_damaged(c, true)) put_safe(t);
  put_damage(t);
  if (c->double_holds > 1 || !t->cut.episode) put_count(t, &separator, c->double_holds, "double hold", "double holds");
  if (!t->cut.episode || c->double_holds > 1)
    put_count(t, &separator, c->dirty_accesses, "dirty access", "dirty accesses");
  put_count(t, &separator, c->token_regressions, "fence that did not grow", "fences that did not grow");
  if (*separator == ',') fputs(".\n", t->out);
  put_kept(t);
  lb_explain_stuck(t);
}
