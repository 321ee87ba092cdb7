/* SPDX-License-Identifier: MIT
 *
 * The lines of a story. A column per client shows who believes that it holds the lock: two bars
 * side by side are what must not be, unless both are of readers, or permits allow so many. Which events become lines is decided in explain_cut.c, what is
 * wrong about them in explain_marks.c and said in explain_wrong.c; the sentences at the end are in
 * explain_sentence.c.
 */
#include "explain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "explain_parts.h"
#include "say.h"

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

/* ---- lanes -------------------------------------------------------------------------------------------------------- */

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

/* ---- lines -------------------------------------------------------------------------------------------------------- */

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
  if (e->flags & LB_EVF_FENCE)
    fputs(separator, t->out), put_fence(t, e->fence), separator = ", ";
  if (e->flags & LB_EVF_UNTIL) {
    fprintf(t->out, "%slease until ", separator);
    lb_explain_time(t, e->until);
  }
  if (e->flags & LB_EVF_DUE && e->kind != LB_EV_CHECK) {
    fprintf(t->out, "%sdue at ", separator);
    lb_explain_time(t, e->due);
  }
  if (e->flags & LB_EVF_EARLY) fprintf(t->out, "%sbefore it asked for the lock", separator), separator = ", ";
  if (e->flags & LB_EVF_REFUSED) fprintf(t->out, "%srefused", separator);
  if (e->flags & LB_EVF_CHECK) fprintf(t->out, "%s%s", separator, lb_check_say(e->check));
  if (e->flags & LB_EVF_DUE && e->check == LB_CHECK_NO_ANSWER) fputs(", asked at ", t->out), lb_explain_time(t, e->due);
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
  fprintf(t->out, "  +%10.*f ms ", t->decimals, lb_explain_since_start(t, e->t));
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

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

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
  lb_explain_sentence(t);
}

int lb_explain(const struct lb_history *history, const struct lb_check *check, const struct lb_explain_about *about, FILE *out) {
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
