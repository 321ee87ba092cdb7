/* SPDX-License-Identifier: MIT
 *
 * Roles: how a step names hosts ("current primary", "node 2", "holder"). A role is kept as written and resolved when
 * its step is played, because only then is it known which server is primary or which client holds. So what is checked
 * here is form, not whether a topology has such a node.
 *
 * Premises: the facts that a step observes. A fact is held against each of a few forms, word by word; what fits none is
 * refused at the word that the best of them came to.
 */
#include "base/need.h"
#include "reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NODE_MAX 99 /* whether a topology has that node is known when it runs */
#define ANY "any"   /* number 0, drawn from the seed */

/* What follows the first word of a role: nothing, a number or `any` of nodes or of clients, the
 * word "primary", a number from 2 or nothing, or "of client" and a number. */
enum tail { TAIL_NONE, TAIL_NODE, TAIL_CLIENT, TAIL_PRIMARY, TAIL_LATER, TAIL_OF_CLIENT };
static const struct {
  const char *word;
  enum lb_role_kind kind;
  enum tail tail;
} roles[] = {
    {"primary", LB_ROLE_PRIMARY, TAIL_LATER},      {"current", LB_ROLE_CURRENT_PRIMARY, TAIL_PRIMARY},
    {"replicas", LB_ROLE_REPLICAS, TAIL_NONE},     {"node", LB_ROLE_NODE, TAIL_NODE},
    {"majority", LB_ROLE_MAJORITY, TAIL_NONE},     {"partners", LB_ROLE_PARTNERS, TAIL_NONE},
    {"minority", LB_ROLE_MINORITY, TAIL_NONE},     {"all", LB_ROLE_ALL, TAIL_NONE},
    {"client", LB_ROLE_CLIENT, TAIL_CLIENT},       {"clients", LB_ROLE_CLIENTS, TAIL_NONE},
    {"holder", LB_ROLE_HOLDER, TAIL_NONE},         {"waiters", LB_ROLE_WAITERS, TAIL_NONE},
    {"server", LB_ROLE_SERVER_OF, TAIL_OF_CLIENT}, {"proxy", LB_ROLE_PROXY, TAIL_NONE},
};
#define ROLE_COUNT (sizeof roles / sizeof *roles)
#define ROLES_TEXT                                                                                                               \
  "primary, primary N, current primary, replicas, node N, majority, partners, minority, proxy, all, client N, clients, holder, " \
  "waiters or server of client N"

/* The words that lb_role_parse() takes, in the one spelling that messages, facts and charts use. */
void lb_role_format(struct lb_role role, char *buf, size_t size) {
  for (size_t i = 0; i < ROLE_COUNT; i++) {
    if (roles[i].kind != role.kind) continue;
    if (roles[i].tail == TAIL_PRIMARY) snprintf(buf, size, "current primary");
    else if (roles[i].tail == TAIL_OF_CLIENT) snprintf(buf, size, "server of client %d", role.number);
    else if (roles[i].tail == TAIL_NONE || (roles[i].tail == TAIL_LATER && role.number == 0))
      snprintf(buf, size, "%s", roles[i].word);
    else if (role.number == 0) snprintf(buf, size, "%s " ANY, roles[i].word);
    else snprintf(buf, size, "%s %d", roles[i].word, role.number);
    return;
  }
  snprintf(buf, size, "nothing");
}

bool lb_role_is_relative(struct lb_role role) {
  return role.kind == LB_ROLE_PRIMARY || role.kind == LB_ROLE_REPLICAS || role.kind == LB_ROLE_MAJORITY ||
         role.kind == LB_ROLE_PARTNERS || role.kind == LB_ROLE_MINORITY;
}

bool lb_role_is_one_server(struct lb_role role) {
  return role.kind == LB_ROLE_PRIMARY || role.kind == LB_ROLE_CURRENT_PRIMARY || role.kind == LB_ROLE_SERVER_OF ||
         role.kind == LB_ROLE_PROXY || (role.kind == LB_ROLE_NODE && role.number != 0);
}

bool lb_role_is_client(struct lb_role role) {
  return role.kind == LB_ROLE_CLIENT || role.kind == LB_ROLE_CLIENTS || role.kind == LB_ROLE_HOLDER ||
         role.kind == LB_ROLE_WAITERS;
}

bool lb_role_is_any(struct lb_role role) {
  return (role.kind == LB_ROLE_NODE || role.kind == LB_ROLE_CLIENT) && role.number == 0;
}

bool lb_role_equal(struct lb_role a, struct lb_role b) { return a.kind == b.kind && a.number == b.number; }

/* A number of more than five digits is beyond every `max`. */
int lb_role_number_parse(const char *kind, const char *word, int max, int *ret, struct lb_error *err) {
  size_t digits = strspn(word ? word : "", "0123456789");
  long value = word && digits > 0 && digits < 6 && word[digits] == '\0' ? strtol(word, NULL, 10) : 0;
  if (value < 1 || value > max)
    return lb_refuse(err, "'%s %s': expected %s and its number from 1 to %d", kind, word ? word : "", kind, max);
  *ret = (int)value;
  return 0;
}

static int refuse_role(const char *word, struct lb_error *err) {
  const char *known[ROLE_COUNT];
  for (size_t i = 0; i < ROLE_COUNT; i++) known[i] = roles[i].word;
  const char *near = lb_text_suggest(word, known, ROLE_COUNT);
  if (near) return lb_refuse(err, "'%s' is not a role, did you mean '%s'? expected " ROLES_TEXT, word, near);
  return lb_refuse(err, "'%s' is not a role: expected " ROLES_TEXT, word);
}

/* "of client N", behind "server". The number of words of the role, or -EINVAL with err. */
static int parse_of_client(char *const *words, size_t count, struct lb_role *ret, struct lb_error *err) {
  bool of = count > 2 && strcmp(words[1], "of") == 0 && strcmp(words[2], "client") == 0;
  if (!of) return lb_refuse(err, "'server' alone is not a role: expected server of client N");
  int r = lb_role_number_parse("server of client", count > 3 ? words[3] : NULL, LB_CLIENTS_MAX, &ret->number, err);
  return r < 0 ? r : 4;
}

/* "2", behind "primary"; what is no whole number belongs to the step ("700ms"). */
static int parse_later(const char *tail, struct lb_role *ret, struct lb_error *err) {
  if (!tail || !*tail || tail[strspn(tail, "0123456789")] != '\0') return 1;
  if (strcmp(tail, "1") == 0)
    return lb_refuse(err, "'primary 1': the first one is called primary; primary 2 is the server that replaced it");
  int r = lb_role_number_parse("primary", tail, LB_PRIMARIES_MAX, &ret->number, err);
  return r < 0 ? r : 2;
}

/* Takes as many words as the role has and leaves the rest. What follows a role ("to B", "within T") is known to the
 * form of the step only. */
int lb_role_parse(char *const *words, size_t count, struct lb_role *ret, struct lb_error *err) {
  size_t i = 0;
  int r = 0, max = 0;
  if (count == 0) return lb_refuse(err, "it ends where a role was expected: " ROLES_TEXT);
  while (i < ROLE_COUNT && strcmp(words[0], roles[i].word) != 0) i++;
  if (i == ROLE_COUNT) return refuse_role(words[0], err);
  const char *tail = count > 1 ? words[1] : NULL;
  *ret = (struct lb_role){.kind = roles[i].kind};
  switch (roles[i].tail) {
    case TAIL_NONE: return 1;
    case TAIL_PRIMARY:
      if (!tail || strcmp(tail, "primary") != 0)
        return lb_refuse(err, "'current %s': expected 'current primary'", tail ? tail : "");
      return 2;
    case TAIL_LATER: return parse_later(tail, ret, err);
    case TAIL_OF_CLIENT: return parse_of_client(words, count, ret, err);
    case TAIL_NODE:
    case TAIL_CLIENT:
      max = roles[i].tail == TAIL_NODE ? NODE_MAX : LB_CLIENTS_MAX;
      if (!tail || strcmp(tail, ANY) != 0) r = lb_role_number_parse(roles[i].word, tail, max, &ret->number, err);
      break;
  }
  return r < 0 ? r : 2;
}

/* ---- premises ------------------------------------------------------------------------------ */

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
    struct lb_premise premise = {.kind = forms[i].kind, .is = forms[i].is, .of_safe = ret->of_safe, .line = ret->line};
    tries[i] = (struct try){.words = words, .count = count};
    if (match(&tries[i], forms[i].form, &premise) == 0) return finish(&premise, ret);
    if (tries[i].at > furthest) furthest = tries[i].at;
  }
  return refuse(tries, furthest, err);
}

/* ---- what looks at it ------------------------------------------------------------------------ */

bool lb_premise_same_subject(const struct lb_premise *a, const struct lb_premise *b) {
  return a->kind == b->kind && a->of_safe == b->of_safe && a->client == b->client &&
         lb_role_equal(a->server, b->server);
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
