/* SPDX-License-Identifier: MIT
 *
 * Format 1 had no fields for facts: each was a `note` with a sentence. Here, and nowhere else,
 * those sentences are read. What is one of them becomes the fact that the run of today would
 * record; any other note stays a note, which decides nothing. The wordings are those of the
 * releases that wrote format 1 and never change.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "history_form.h"

struct translator {
  struct lb_history *h;
  const char *text;    /* the sentence that is read, and what it becomes: */
  struct lb_fact fact;
  uint32_t client;
  uint32_t *step; /* by text: number of the latest fault with this text; 0 = none */
  size_t step_count;
  uint32_t faults;
};

/* What stands behind `prefix`; NULL if it does not stand there. */
static const char *after(const char *text, const char *prefix) {
  size_t n = strlen(prefix);
  return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

static uint32_t add(struct translator *t, const char *text, size_t length) {
  char *copy = strndup(text, length);
  if (!copy) abort(); /* as in history.c: nobody could go on with half a history */
  uint32_t index = lb_names_add(&t->h->texts, copy);
  free(copy);
  return index;
}

static uint32_t add_all(struct translator *t, const char *text) { return add(t, text, strlen(text)); }

/* "redis-1": all of `text`, or all of it before `end`. */
static bool read_host(struct translator *t, const char *text, const char *end) {
  size_t length = strcspn(text, " ");
  if (length == 0 || strcmp(text + length, end) != 0) return false;
  t->fact.host = add(t, text, length);
  return true;
}

/* ---- faults, and what is tied to them ----------------------------------------------------------------------------- */

/* Numbers the fault, and says what was done to whom as far as the words of its step are plain. */
static void read_fault(struct translator *t, struct lb_fact *f) {
  static const char *const verbs[] = {"cut", "heal", "kill", "pause", "resume", "restart", "clock", "stop", "crash"};
  const char *text = t->h->texts.name[f->what], *rest = strchr(text, ' '), *from = strstr(text, " from ");
  size_t length = rest ? (size_t)(rest - text) : strlen(text);
  f->step = ++t->faults;
  if (f->what < t->step_count) t->step[f->what] = f->step;
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
    if (strlen(verbs[i]) != length || strncmp(text, verbs[i], length) != 0) continue;
    f->verb = add(t, text, length);
    if (i == 0 && from && from > rest + 1 && from[6]) f->role = add(t, rest + 1, (size_t)(from - rest) - 1), f->from = add_all(t, from + 6);
    if (i > 1 && i < 6 && rest && rest[1]) f->role = add_all(t, rest + 1);
    return;
  }
}

/* The fact gets the number of the latest fault with these words. 0 = there was none: the sentence
 * stands alone. */
static enum lb_event_kind tie(struct translator *t, const char *step, size_t length, enum lb_event_kind kind) {
  t->fact.what = add(t, step, length);
  if (t->fact.what < t->step_count) t->fact.step = t->step[t->fact.what];
  return kind;
}

/* "kill primary: it is gone" */
static enum lb_event_kind tie_why(struct translator *t, const char *text, enum lb_event_kind kind) {
  const char *colon = strstr(text, ": ");
  if (!colon) return LB_EV_NOTE;
  t->fact.why = add_all(t, colon + 2);
  return tie(t, text, (size_t)(colon - text), kind);
}

/* The four sentences that speak of a fault. Like every reader below: fills in t->fact and t->client
 * and says what the note is, LB_EV_NOTE = none of its sentences, whatever it has filled in. */
static enum lb_event_kind read_fault_note(struct translator *t) {
  const char *rest;
  if ((rest = after(t->text, "proved: "))) return tie(t, rest, strlen(rest), LB_EV_PROVED);
  if ((rest = after(t->text, "over: "))) return tie(t, rest, strlen(rest), LB_EV_OVER);
  if ((rest = after(t->text, "not proved: "))) return tie_why(t, rest, LB_EV_NOT_PROVED);
  if (!(rest = after(t->text, "not done: "))) return LB_EV_NOTE;
  enum lb_event_kind kind = tie_why(t, rest, LB_EV_NOT_DONE);
  t->fact.step = 0; /* an earlier fault with this text was another one */
  return kind;
}

/* ---- clients ------------------------------------------------------------------------------------------------------ */

static uint32_t find_client(const struct translator *t, const char *name, size_t length) {
  for (uint32_t i = 0; i < t->h->clients.count; i++)
    if (strlen(t->h->clients.name[i]) == length && strncmp(t->h->clients.name[i], name, length) == 0) return i;
  return LB_NO_NAME;
}

/* "client 2 read: not holding": who is left out where the history knows no client-2. */
static enum lb_event_kind read_reply(struct translator *t) {
  static const char *const answers[] = {
      "done", "granted", "refused in time", "no answer from the service in time", "not holding", "not in time", "lost", "unknown"};
  const char *number = after(t->text, "client "), *colon = strstr(t->text, ": ");
  size_t digits = number ? strspn(number, "0123456789") : 0;
  char name[32];
  if (digits == 0 || digits > 9 || number[digits] != ' ' || !colon) return LB_EV_NOTE;
  t->fact.what = add(t, t->text, (size_t)(colon - t->text));
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
    if (strcmp(colon + 2, answers[i]) == 0) t->fact.answer = (uint8_t)(LB_ANSWER_DONE + i);
  if (t->fact.answer == 0) t->fact.answer = LB_ANSWER_FAILED, t->fact.why = add_all(t, colon + 2);
  t->client = find_client(t, name, (size_t)snprintf(name, sizeof name, "client-%.*s", (int)digits, number));
  return LB_EV_REPLY;
}

static enum lb_event_kind read_met(struct translator *t) {
  static const char end[] = ": it does";
  size_t length = strlen(t->text), n = sizeof end - 1;
  if (!after(t->text, "await ") || length < n || strcmp(t->text + length - n, end) != 0) return LB_EV_NOTE;
  t->fact.what = add(t, t->text, length - n);
  return LB_EV_MET;
}

static enum lb_event_kind read_error(struct translator *t) {
  const char *rest = after(t->text, "last error of "), *colon = rest ? strstr(rest, ": ") : NULL;
  if (!colon) return LB_EV_NOTE;
  t->client = find_client(t, rest, (size_t)(colon - rest));
  if (t->client == LB_NO_NAME && !after(rest, "the observer: ")) return LB_EV_NOTE;
  t->fact.why = add_all(t, colon + 2);
  return LB_EV_ERROR;
}

/* ---- servers ------------------------------------------------------------------------------------------------------ */

/* "key present at redis-1", "key absent on primary": at one host, or all in all on the hosts of a
 * role. */
static enum lb_event_kind read_observed(struct translator *t) {
  const char *rest = after(t->text, "key absent "), *role;
  if (!rest) rest = after(t->text, "key present "), t->fact.present = 1;
  if (!rest) return LB_EV_NOTE;
  if (after(rest, "at ")) return read_host(t, rest + 3, "") ? LB_EV_OBSERVED : LB_EV_NOTE;
  if (!(role = after(rest, "on ")) || !*role) return LB_EV_NOTE;
  t->fact.role = add_all(t, role);
  return LB_EV_OBSERVED;
}

static enum lb_event_kind read_role(struct translator *t) {
  const char *rest;
  if ((rest = after(t->text, "failover: "))) return read_host(t, rest, " decides") ? LB_EV_FAILOVER : LB_EV_NOTE;
  if (!(rest = after(t->text, "primary is ")) || !read_host(t, rest, "")) return LB_EV_NOTE;
  t->fact.role = add_all(t, "primary");
  return LB_EV_ROLE;
}

/* "+1.250" s, in ms. */
static bool read_seconds(const char *text, const char *end, int64_t *ret_ms) {
  char *point, *rest;
  if (*text != '+' && *text != '-') return false;
  errno = 0;
  int64_t whole = strtoll(text, &point, 10);
  if (errno || point == text || *point != '.' || whole > INT32_MAX || whole < -INT32_MAX || strspn(point + 1, "0123456789") != 3) return false;
  int64_t thousandths = strtoll(point + 1, &rest, 10);
  *ret_ms = whole * 1000 + (*text == '-' ? -thousandths : thousandths);
  return strcmp(rest, end) == 0;
}

/* "client-1 gained +40 ms in 400 ms" behind the name. */
static bool read_gain(const char *text, struct lb_fact *f) {
  char *rest;
  errno = 0;
  f->ms = strtoll(text, &rest, 10);
  const char *in = after(rest, " ms in ");
  if (errno || rest == text || !in || *in < '1' || *in > '9') return false;
  f->in_ms = (uint64_t)strtoll(in, &rest, 10);
  return errno == 0 && strcmp(rest, " ms") == 0;
}

/* "redis-1 says it is +1.250 s off", "... says its monotonic clock jumped by +1.250 s", "... gained
 * +40 ms in 400 ms" */
static enum lb_event_kind read_clock(struct translator *t) {
  size_t length = strcspn(t->text, " ");
  const char *rest = t->text + length, *value;
  struct lb_fact *f = &t->fact;
  bool known = false;
  if ((value = after(rest, " says it is "))) f->clock = LB_CLOCK_WALL, known = read_seconds(value, " s off", &f->ms);
  else if ((value = after(rest, " says its monotonic clock jumped by ")))
    f->clock = LB_CLOCK_MONOTONIC, known = read_seconds(value, " s", &f->ms);
  else if ((value = after(rest, " gained "))) f->clock = LB_CLOCK_RATE, known = read_gain(value, f);
  if (!known || length == 0) return LB_EV_NOTE;
  f->host = add(t, t->text, length);
  return LB_EV_CLOCK;
}

/* ---- the rest ----------------------------------------------------------------------------------------------------- */

static enum lb_event_kind read_phase(struct translator *t) {
  if (strcmp(t->text, "phase measure") == 0) t->fact.phase = LB_PHASE_MEASURE;
  if (strcmp(t->text, "phase end") == 0) t->fact.phase = LB_PHASE_END;
  return t->fact.phase ? LB_EV_PHASE : LB_EV_NOTE;
}

/* A number at `text`, which ends before `end`; what stands behind that, or NULL. */
static const char *read_count(const char *text, const char *end, uint64_t *ret) {
  char *rest;
  if (!text || *text < '0' || *text > '9') return NULL;
  errno = 0;
  *ret = (uint64_t)strtoll(text, &rest, 10);
  return errno ? NULL : after(rest, end);
}

static enum lb_event_kind read_shortened(struct translator *t) {
  const char *rest = read_count(after(t->text, "the first "), " of ", &t->fact.kept);
  rest = read_count(rest, " events are kept", &t->fact.total);
  return rest && !*rest ? LB_EV_SHORTENED : LB_EV_NOTE;
}

/* The readers know different sentences, so their order does not matter. A note that none of them
 * knows stays as it is. */
static void read_note(struct translator *t, struct lb_event *e, struct lb_fact *note) {
  enum lb_event_kind (*const readers[])(struct translator *) = {read_fault_note, read_phase,    read_reply, read_met,  read_error,
                                                                read_observed,   read_role,     read_clock, read_shortened};
  t->text = t->h->texts.name[note->what];
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
    t->fact = lb_no_fact;
    t->client = LB_NO_NAME;
    enum lb_event_kind kind = readers[i](t);
    if (kind == LB_EV_NOTE) continue;
    e->kind = (uint16_t)kind;
    e->client = t->client;
    *note = t->fact;
    return;
  }
}

void lb_history_translate_1(struct lb_history *h) {
  struct translator t = {.h = h, .step = calloc(h->texts.count + 1, sizeof *t.step), .step_count = h->texts.count};
  if (!t.step) abort();
  for (size_t i = 0; i < h->count; i++) {
    struct lb_event *e = &h->events[i];
    if (e->kind == LB_EV_FAULT) read_fault(&t, &h->facts[e->fact]);
    if (e->kind == LB_EV_NOTE) read_note(&t, e, &h->facts[e->fact]);
  }
  free(t.step);
}
