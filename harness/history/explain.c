/* SPDX-License-Identifier: MIT
 *
 * A story: its lines, and below them what happened in a sentence or two. A column per client shows who believes that it
 * holds the lock: two bars side by side are what must not be, unless both are of readers, or permits allow so many.
 * Which events become lines: explain_cut.c; what is wrong about them: explain_wrong.c. Moments count from the first
 * event, lengths from nothing.
 */
#include "explain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "evidence.h"
#include "explain_parts.h"
#include "say.h"
#include "stats.h"

static double since_start(const struct lb_teller *t, uint64_t ns) {
  return ((double)ns - (double)t->h->events[0].t) / 1e6;
}

static void put_time(const struct lb_teller *t, uint64_t ns) {
  fprintf(t->out, "%+.*f ms", t->decimals, since_start(t, ns));
}

void lb_explain_length(uint64_t ns, FILE *out) {
  fprintf(out, "%.*f ms", ns >= 10000000 ? 1 : ns >= 10000 ? 3 : 6, (double)ns / 1e6);
}

static void put_padded(const char *text, int width, FILE *out) {
  lb_say_text(text, out);
  for (int i = (int)strlen(text); i < width; i++) putc(' ', out);
}

/* As fine as the story needs: a double hold of microseconds between times of a tenth of a
 * millisecond would have no length. */
static int decimals_for(const struct lb_teller *t) {
  uint64_t length = t->h->events[t->h->count - 1].t - t->h->events[0].t;
  if (t->cut.episode) length = t->cut.episode->end_t - t->cut.episode->begin_t;
  return length >= 5000000 ? 1 : length >= 5000 ? 3 : 6;
}

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

/* The number at the end of a client's name, "" = it has none of one or two digits. */
static const char *number_of(const char *name) {
  size_t length = strlen(name), digits = length;
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') digits--;
  return length - digits == 1 || length - digits == 2 ? name + digits : "";
}

/* That number, or its first letter. */
static void put_lane_name(const struct lb_teller *t, const char *name) {
  const char *number = number_of(name);
  if (*number) fprintf(t->out, "%*s", t->lane_width, number);
  else fprintf(t->out, "%*s", t->lane_width - 1, ""), lb_say_text((char[]){*name, '\0'}, t->out);
}

/* A blank between two of them: "1 16" is not 116. */
static int lane_width_for(const struct lb_teller *t) {
  for (size_t i = 0; i < t->cut.lanes; i++)
    if (strlen(number_of(t->h->clients.name[t->cut.lane[i]])) > 1) return 3;
  return 2;
}

static bool has_readers(const struct lb_history *h) {
  for (size_t i = 0; i < h->count; i++)
    if (h->events[i].kind == LB_EV_GRANTED && h->events[i].flags & LB_EVF_SHARED) return true;
  return false;
}

static void put_lane_names(const struct lb_teller *t) {
  if (t->cut.lanes == 0) return;
  fprintf(t->out, "  %14s ", "");
  for (size_t i = 0; i < t->cut.lanes; i++) put_lane_name(t, t->h->clients.name[t->cut.lane[i]]);
  fputs("   a bar: this client believes that it holds ", t->out);
  lb_say_text(t->h->keys.name[t->cut.key], t->out);
  fputs(has_readers(t->h) ? " (dotted: as a reader)\n" : "\n", t->out);
}

static void put_lanes(const struct lb_teller *t) {
  for (size_t i = 0; i < t->cut.lanes; i++)
    fprintf(t->out, "%*s", t->lane_width, !t->depth[i] ? "" : t->alone[i] ? "|" : ":");
}

/* Every event moves the bars, also one that gets no line. */
static void move_lanes(struct lb_teller *t, const struct lb_event *e) {
  if (e->key != t->cut.key && e->kind != LB_EV_CRASH) return;
  for (size_t i = 0; i < t->cut.lanes; i++) {
    if (t->cut.lane[i] != e->client) continue;
    if (e->kind == LB_EV_GRANTED && t->depth[i]++ == 0) t->alone[i] = false;
    if (e->kind == LB_EV_GRANTED) t->alone[i] |= !(e->flags & LB_EVF_SHARED);
    if (e->kind == LB_EV_RELEASE && t->depth[i] > 0) t->depth[i]--;
    if (e->kind == LB_EV_LOST || e->kind == LB_EV_CRASH) t->depth[i] = 0;
  }
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Above 32 bits a fence is best read in two halves: ZooKeeper's is a czxid, whose upper half is the
 * epoch, the number of the leader that granted. What is larger still is some other number: a time,
 * say. */
static void put_fence(const struct lb_teller *t, uint64_t fence) {
  if (fence >> 32 == 0 || fence >> 40 > 0) fprintf(t->out, "fence %llu", (unsigned long long)fence);
  else fprintf(t->out, "fence czxid 0x%llx, epoch %llu", (unsigned long long)fence, (unsigned long long)(fence >> 32));
}

/* What the event itself carries, as far as it carries anything. */
static void put_facts(const struct lb_teller *t, size_t i) {
  const struct lb_event *e = &t->h->events[i];
  const char *separator = "  ";
  if (e->flags & LB_EVF_SHARED) fprintf(t->out, "%sshared", separator), separator = ", ";
  if (e->flags & LB_EVF_VALUE)
    fprintf(t->out, "%svalue %llu", separator, (unsigned long long)e->value), separator = ", ";
  if (e->flags & LB_EVF_FENCE) fputs(separator, t->out), put_fence(t, e->fence), separator = ", ";
  if (e->flags & LB_EVF_UNTIL) {
    fprintf(t->out, "%slease until ", separator);
    put_time(t, e->until);
  }
  if (e->flags & LB_EVF_DUE && e->kind != LB_EV_CHECK) {
    fprintf(t->out, "%sdue at ", separator);
    put_time(t, e->due);
  }
  if (e->flags & LB_EVF_EARLY) fprintf(t->out, "%sbefore it asked for the lock", separator), separator = ", ";
  if (e->flags & LB_EVF_REFUSED) fprintf(t->out, "%srefused", separator);
  if (e->flags & LB_EVF_CHECK) fprintf(t->out, "%s%s", separator, lb_check_say(e->check));
  if (e->flags & LB_EVF_DUE && e->check == LB_CHECK_NO_ANSWER) fputs(", asked at ", t->out), put_time(t, e->due);
}

/* "read at 0x10000000e": the number of the state, which is a zxid where it has two halves. */
static void put_seen(const struct lb_teller *t, size_t grant) {
  size_t seen = lb_explain_seen(t->h, grant);
  if (seen == LB_NO_EVENT) return;
  unsigned long long state = t->h->events[seen].value;
  fprintf(t->out, state >> 32 ? ", read at 0x%llx" : ", read at %llu", state);
}

/* "client-1 from redis-4, redis-5". */
static void put_touched(const struct lb_teller *t, size_t fault) {
  size_t touched = lb_explain_touched(t->h, fault);
  if (touched == LB_NO_EVENT) return;
  const struct lb_fact *f = lb_event_fact(t->h, &t->h->events[touched]);
  fputs(": ", t->out);
  if (f->host == LB_NO_NAME) lb_event_say(t->h, &t->h->events[touched], t->out);
  else lb_say_text(t->h->texts.name[f->host], t->out);
  if (f->from != LB_NO_NAME) fputs(lb_touched_say(t->h, f), t->out), lb_say_text(t->h->texts.name[f->from], t->out);
}

/* "by" whom it was granted, or "at" whom it was asked for in vain. */
static void put_server(const struct lb_teller *t, size_t outcome) {
  size_t server = lb_explain_server(t->h, outcome);
  const struct lb_fact *f = server == LB_NO_EVENT ? &lb_no_fact : lb_event_fact(t->h, &t->h->events[server]);
  if (f->host == LB_NO_NAME) return;
  fputs(t->h->events[outcome].kind == LB_EV_GRANTED ? "  by " : "  at ", t->out);
  lb_say_text(t->h->texts.name[f->host], t->out);
}

static bool is_outcome(const struct lb_event *e) {
  return e->kind == LB_EV_GRANTED || e->kind == LB_EV_BUSY || e->kind == LB_EV_UNKNOWN || e->kind == LB_EV_TIMEOUT;
}

static void put_proof(const struct lb_teller *t, size_t fault) {
  size_t proof = lb_explain_proof(t->h, fault);
  if (proof == LB_NO_EVENT) return;
  fputs("  (proved, ", t->out);
  lb_explain_length(t->h->events[proof].t - t->h->events[fault].t, t->out);
  fputs(" later)", t->out);
}

/* Time, bars, who, what, and what is wrong about it. An event with nothing behind it is not padded:
 * no line ends in spaces. */
static void put_line(const struct lb_teller *t, size_t i) {
  const struct lb_event *e = &t->h->events[i];
  bool of_client = !lb_event_is_fact(e);
  fprintf(t->out, "  +%10.*f ms ", t->decimals, since_start(t, e->t));
  put_lanes(t);
  fputs("  ", t->out);
  put_padded(of_client ? lb_explain_client(t, i) : e->kind == LB_EV_FAULT ? "FAULT" : "seen", t->name_width, t->out);
  fputs("  ", t->out);
  bool alone = !e->flags && !t->wrong[i].flags && !(is_outcome(e) && lb_explain_server(t->h, i) != LB_NO_EVENT);
  if (of_client) put_padded(lb_event_kind_name(e->kind), alone ? 0 : 8, t->out);
  else lb_event_say(t->h, e, t->out);
  if (is_outcome(e)) put_server(t, i);
  put_facts(t, i);
  if (e->kind == LB_EV_FAULT) put_touched(t, i), put_proof(t, i);
  if (e->kind == LB_EV_GRANTED) put_seen(t, i);
  lb_explain_wrong(t, i);
  putc('\n', t->out);
}

static void put_left_out(const struct lb_teller *t, size_t count, size_t renewals) {
  const char *what = renewals == count ? "renewal" : "event";
  if (count) fprintf(t->out, "  %14s ... %zu %s%s ...\n", "", count, what, count == 1 ? "" : "s");
}

/* Lines, and between them how many events were left out. A fact that only repeats what another
 * event says is not counted. */
static void put_story(struct lb_teller *t) {
  size_t left_out = 0, renewals = 0;
  put_lane_names(t);
  for (size_t i = 0; i < t->h->count; i++) {
    move_lanes(t, &t->h->events[i]);
    if (t->cut.shown[i]) {
      put_left_out(t, left_out, renewals);
      left_out = renewals = 0;
      put_line(t, i);
    } else if (!lb_explain_repeats(t->h, &t->h->events[i])) {
      left_out++;
      renewals += t->h->events[i].kind == LB_EV_RENEWED;
    }
  }
  put_left_out(t, left_out, renewals);
}

/* ---- stuck or delayed: since when ---------------------------------------------------------------------------------
 *
 * Either the last who asked gave up, though nobody had a right to the lock any more (lb_evidence_in_vain()). Or a lock
 * stood still: it was asked for and granted to nobody. In a timeline that is the time at its end, for a step has waited
 * in vain then; in a campaign the longest such time (stats.c). */

struct still {
  bool any;
  uint32_t key;
  uint64_t since, until;
  size_t grant; /* the latest one before, LB_NO_EVENT = none */
};

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
    if (e->client == w->h->events[crash].client && e->key == w->now.key && !lb_event_is_fact(e))
      return e->kind == LB_EV_ACQUIRE;
  }
  return false;
}

static void follow(struct walk *w, size_t i) {
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
    if (h->events[i].key == key || h->events[i].kind == LB_EV_CRASH) follow(&w, i);
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

/* What ended the hold of this grant by then; LB_NO_EVENT = nothing did. */
static size_t end_of(const struct lb_history *h, size_t grant, uint64_t until) {
  for (size_t i = grant + 1; i < h->count && h->events[i].t <= until; i++) {
    const struct lb_event *e = &h->events[i];
    bool ends = e->kind == LB_EV_CRASH ||
                ((e->kind == LB_EV_RELEASE || e->kind == LB_EV_LOST) && e->key == h->events[grant].key);
    if (ends && e->client == h->events[grant].client) return i;
  }
  return LB_NO_EVENT;
}

static void put_since(const struct lb_teller *t, uint64_t since) {
  fputs(t->about->delayed ? "Delayed since " : "Stuck since ", t->out);
  put_time(t, since);
}

/* "Then client-2 was granted it, at +9206.5 ms." Of a campaign the grants go on, and stand above. */
static void put_granted(const struct lb_teller *t, const struct lb_closing *closing) {
  if (closing->end != LB_CLOSING_GRANTED) return;
  fputs("Then ", t->out);
  lb_say_text(t->h->clients.name[closing->client], t->out);
  fputs(" was granted it, at ", t->out);
  put_time(t, closing->at);
  fputs(".\n", t->out);
}

/* "Stuck since +206.5 ms: lock-1 was asked for and granted to nobody for 2997.6 ms; client-1 had died with it." What
 * ends a hold, begins the time in which the lock should have been had. */
static void put_still(const struct lb_teller *t, struct still still) {
  size_t end = still.grant == LB_NO_EVENT ? LB_NO_EVENT : end_of(t->h, still.grant, still.until);
  const struct lb_event *ended = end == LB_NO_EVENT ? NULL : &t->h->events[end];
  uint64_t since = ended ? lb_later(still.since, ended->t) : still.since;
  put_since(t, since);
  fputs(": ", t->out);
  lb_say_text(t->h->keys.name[still.key], t->out);
  fputs(" was asked for and granted to nobody", t->out);
  fputs(" for ", t->out), lb_explain_length(still.until - since, t->out);
  if (still.grant != LB_NO_EVENT) {
    fputs("; ", t->out);
    lb_say_text(t->h->clients.name[t->h->events[still.grant].client], t->out);
    fputs(!ended                       ? " still had it"
          : ended->kind == LB_EV_CRASH ? " had died with it"
                                       : ", which had it last, had let go of it",
          t->out);
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
  fputs(" asked for it and was not granted, to the end of its ", t->out);
  lb_explain_length(last->asked_ns, t->out);
  fputs(".\n", t->out);
}

/* Of a history that was cut short nobody knows whether the time that counts is in what was kept. */
static void put_stuck(const struct lb_teller *t) {
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

/* ---- the sentences ------------------------------------------------------------------------------------------------
 *
 * First the double hold that the story is about, or that nothing went wrong; then the damage at the resource; then what
 * else the history has, if that was not all; and that it was cut short, if it was. */

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
  put_time(t, e->begin_t);
  fputs(" to ", t->out);
  put_time(t, e->end_t);
  fputs(e->end_event == t->h->count ? ", when the history ends" : "", t->out);
  uint64_t permits = lb_history_permits(t->h, e->key);
  if (permits > 1) fprintf(t->out, "; at most %llu may", (unsigned long long)permits);
  fputs(".\n", t->out);
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
  else if (c->double_holds && lb_explain_shortened(t->h) == LB_NO_EVENT)
    fputs("The resource was not damaged.\n", t->out);
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

static void put_sentence(const struct lb_teller *t) {
  const struct lb_check *c = t->c;
  const char *separator = "In this history: ";
  if (t->cut.episode) put_episode(t, t->cut.episode);
  else if (!lb_check_violated(c, true) && !lb_check_damaged(c, true)) put_safe(t);
  put_damage(t);
  put_early(t);
  if (c->double_holds > 1 || !t->cut.episode) put_count(t, &separator, c->double_holds, "double hold", "double holds");
  if (!t->cut.episode || c->double_holds > 1)
    put_count(t, &separator, c->dirty_accesses, "dirty access", "dirty accesses");
  put_count(t, &separator, c->token_regressions, "fence that did not grow", "fences that did not grow");
  if (*separator == ',') fputs(".\n", t->out);
  put_kept(t);
  put_stuck(t);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void tell(struct lb_teller *t) {
  if (t->h->count == 0) {
    fputs("  nothing happened\n", t->out);
    return;
  }
  t->decimals = decimals_for(t);
  t->lane_width = lane_width_for(t);
  t->name_width = (int)strlen("FAULT");
  for (size_t i = 0; i < t->cut.lanes; i++) {
    int width = (int)strlen(t->h->clients.name[t->cut.lane[i]]);
    if (width > t->name_width) t->name_width = width;
  }
  put_story(t);
  putc('\n', t->out);
  put_sentence(t);
}

int lb_explain(const struct lb_history *history, const struct lb_check *check, const struct lb_explain_about *about,
               FILE *out) {
  struct lb_wrong_event *wrong = malloc((history->count + 1) * sizeof *wrong);
  struct lb_teller t = {.h = history, .c = check, .about = about, .wrong = wrong, .out = out};
  int r = wrong ? lb_explain_marks(history, wrong) : -ENOMEM;
  if (r == 0) r = lb_explain_cut(history, check, wrong, &t.cut);
  if (r == 0) {
    tell(&t);
    free(t.cut.shown);
  }
  free(wrong);
  return r;
}
