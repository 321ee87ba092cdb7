/* SPDX-License-Identifier: MIT
 *
 * A fact is held against each of a few forms, word by word; what fits none is refused at the word that the best of them
 * came to.
 */
#include "premise.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/need.h"
#include "base/text.h"

enum { WORDS_MAX = 12, TEXT_BYTES = 256 };

/* N is the number of a client, A a role of one server. */
static const struct {
  const char *form;
  enum lb_premise_kind kind;
  bool is;
} forms[] = {
    {"key absent on A", LB_PREMISE_KEY, false},
    {"key present on A", LB_PREMISE_KEY, true},
    {"client N asked and was granted", LB_PREMISE_GRANTED, true},
    {"client N asked and was not granted", LB_PREMISE_GRANTED, false},
    {"client N asked and was refused", LB_PREMISE_REFUSED, true},
    {"client N holds", LB_PREMISE_HOLDS, true},
    {"client N does not hold", LB_PREMISE_HOLDS, false},
    {"server of client N is not A", LB_PREMISE_SERVER, false},
    {"server of client N is A", LB_PREMISE_SERVER, true},
    {"A lost no writes", LB_PREMISE_UNSYNCED, false},
    {"A lost writes", LB_PREMISE_UNSYNCED, true},
    {"A did not leave", LB_PREMISE_LEFT, false},
    {"A left", LB_PREMISE_LEFT, true},
};
enum { FORM_COUNT = sizeof forms / sizeof *forms };
#define FORMS_TEXT                                                                                                     \
  "key absent|present on A, client N holds, client N does not hold, client N asked and was granted|not granted|refused, server of client N is A, server of client N is not A, A lost writes, A lost no writes, A left or A did not leave"

struct try { /* one form against the words */
  char **words;
  size_t count, at;    /* at: how many of them fitted */
  char expected[16];   /* the word that did not; "" = it was a value */
  struct lb_error why; /* what is wrong with a value */
};

static int take_server(struct try *t, struct lb_role *ret) {
  char name[32];
  int taken = lb_role_parse(t->words + t->at, t->count - t->at, ret, &t->why);
  if (taken < 0) return taken;
  lb_role_format(*ret, name, sizeof name);
  if (!lb_role_is_one_server(*ret)) return lb_refuse(&t->why, "'%s' is not one server", name);
  t->at += (size_t)taken;
  return 0;
}

static int take_client(struct try *t, int *ret) {
  const char *word = t->at < t->count ? t->words[t->at] : NULL;
  int r = lb_role_number_parse("client", word, LB_CLIENTS_MAX, ret, &t->why);
  if (r == 0) t->at++;
  return r;
}

static int take_word(struct try *t, const char *part, size_t length) {
  const char *word = t->at < t->count ? t->words[t->at] : "";
  if (strlen(word) == length && strncmp(word, part, length) == 0) return t->at++, 0;
  snprintf(t->expected, sizeof t->expected, "%.*s", (int)length, part);
  return -EINVAL;
}

/* 0 if all words fit. */
static int match(struct try *t, const char *form, struct lb_premise *ret) {
  int r = 0;
  for (const char *part = form; *part && r == 0; part += strspn(part, " ")) {
    size_t length = strcspn(part, " ");
    if (*part == 'A') r = take_server(t, &ret->server);
    else if (*part == 'N') r = take_client(t, &ret->client);
    else r = take_word(t, part, length);
    part += length;
  }
  if (r == 0 && t->at < t->count) r = lb_refuse(&t->why, "found '%s' after its end", t->words[t->at]);
  return r;
}

/* The forms that came furthest say what would have fitted there. */
static int refuse(const struct try *tries, size_t furthest, struct lb_error *err) {
  const char *known[FORM_COUNT];
  size_t count = 0;
  const struct try *any = NULL;
  for (size_t i = 0; i < FORM_COUNT; i++) {
    if (tries[i].at != furthest) continue;
    if (tries[i].why.text[0]) return lb_refuse(err, "%s: expected " FORMS_TEXT, tries[i].why.text);
    known[count++] = tries[i].expected;
    any = &tries[i];
  }
  if (any->at == any->count) return lb_refuse(err, "it ends early: expected " FORMS_TEXT);
  const char *near = lb_text_suggest(any->words[any->at], known, count);
  if (near) return lb_refuse(err, "found '%s', did you mean '%s'? expected " FORMS_TEXT, any->words[any->at], near);
  return lb_refuse(err, "found '%s': expected " FORMS_TEXT, any->words[any->at]);
}

static void spell(const struct lb_premise *p, char *buf, size_t size) {
  char server[32];
  lb_role_format(p->server, server, sizeof server);
  switch (p->kind) {
    case LB_PREMISE_KEY: snprintf(buf, size, "key %s on %s", p->is ? "present" : "absent", server); break;
    case LB_PREMISE_HOLDS: snprintf(buf, size, "client %d %s", p->client, p->is ? "holds" : "does not hold"); break;
    case LB_PREMISE_GRANTED:
      snprintf(buf, size, "client %d asked and was %sgranted", p->client, p->is ? "" : "not ");
      break;
    case LB_PREMISE_REFUSED: snprintf(buf, size, "client %d asked and was refused", p->client); break;
    case LB_PREMISE_SERVER:
      snprintf(buf, size, "server of client %d is %s%s", p->client, p->is ? "" : "not ", server);
      break;
    case LB_PREMISE_UNSYNCED: snprintf(buf, size, "%s lost %swrites", server, p->is ? "" : "no "); break;
    case LB_PREMISE_LEFT: snprintf(buf, size, "%s %s", server, p->is ? "left" : "did not leave"); break;
  }
}

static int finish(struct lb_premise *premise, struct lb_premise *ret) {
  char text[TEXT_BYTES];
  spell(premise, text, sizeof text);
  *ret = *premise;
  ret->text = lb_need_text(text);
  return 0;
}

int lb_premise_parse(const char *text, struct lb_premise *ret, struct lb_error *err) {
  char copy[TEXT_BYTES];
  char *words[WORDS_MAX];
  struct try tries[FORM_COUNT];
  size_t furthest = 0;
  if (strlen(text) >= sizeof copy) return lb_refuse(err, "a fact of more than %zu bytes", sizeof copy - 1);
  strcpy(copy, text);
  size_t count = lb_text_split_words(copy, words, WORDS_MAX);
  if (count > WORDS_MAX) return lb_refuse(err, "a fact of more than %d words", WORDS_MAX);
  for (size_t i = 0; i < FORM_COUNT; i++) {
    struct lb_premise premise = {.kind = forms[i].kind, .is = forms[i].is, .use = ret->use, .line = ret->line};
    tries[i] = (struct try){.words = words, .count = count};
    if (match(&tries[i], forms[i].form, &premise) == 0) return finish(&premise, ret);
    if (tries[i].at > furthest) furthest = tries[i].at;
  }
  return refuse(tries, furthest, err);
}

static const char *const uses[] = {
    [LB_PREMISE_OF_ALL] = "premise", [LB_PREMISE_OF_SAFE] = "safe", [LB_PREMISE_OF_TEST] = "test"};

const char *lb_premise_use_name(enum lb_premise_use use) { return uses[use]; }

enum lb_premise_use lb_premise_use_of(const char *key) {
  enum lb_premise_use use = LB_PREMISE_OF_TEST;
  while (use > LB_PREMISE_OF_ALL && strcmp(uses[use], key) != 0) use--;
  return use;
}

/* ---- what looks at it ------------------------------------------------------------------------ */

bool lb_premise_same_subject(const struct lb_premise *a, const struct lb_premise *b) {
  return a->kind == b->kind && a->use == b->use && a->client == b->client && lb_role_equal(a->server, b->server);
}

static bool asks(const struct lb_step *step, int client) {
  return (step->verb == LB_STEP_ACQUIRE || step->verb == LB_STEP_BEGIN_ACQUIRE) && step->a.number == client;
}

bool lb_premise_observed_by(const struct lb_premise *p, const struct lb_step *step) {
  switch (p->kind) {
    case LB_PREMISE_KEY: return step->verb == LB_STEP_OBSERVE_KEY && lb_role_equal(step->a, p->server);
    case LB_PREMISE_HOLDS: return step->verb == LB_STEP_OBSERVE_CLIENT && step->a.number == p->client;
    case LB_PREMISE_GRANTED:
    case LB_PREMISE_REFUSED: return asks(step, p->client);
    case LB_PREMISE_SERVER: return step->verb == LB_STEP_OBSERVE_SERVER && step->a.number == p->client;
    case LB_PREMISE_UNSYNCED: return step->verb == LB_STEP_POWER_OFF && lb_role_equal(step->a, p->server);
    case LB_PREMISE_LEFT: return step->verb == LB_STEP_OBSERVE_LEAVES && lb_role_equal(step->a, p->server);
  }
  return false;
}
