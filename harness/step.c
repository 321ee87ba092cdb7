/* SPDX-License-Identifier: MIT
 *
 * The grammar of a timeline's steps. A step is matched word by word against its form, so the table below is the parser's
 * rule, the user's help and the list in scenarios/README.md at once.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_parts.h"
#include "suggest.h"

#define WORDS_MAX 12   /* the longest form has 7, with roles of two words */
#define TEXT_BYTES 256 /* a line of a file is shorter */
#define NODE_MAX 99    /* whether a topology has that node is known when it runs */
#define DURATION_MAX_MS INT64_C(3600000)

const struct lb_step_form lb_step_forms[] = {
    {LB_STEP_CUT, "cut A [from] B", "drops all packets between two roles, both ways"},
    {LB_STEP_HEAL, "heal", "undoes all cuts"},
    {LB_STEP_KILL, "kill A", "kills the processes of a role (SIGKILL)"},
    {LB_STEP_PAUSE, "pause A", "stops the processes of a role (SIGSTOP)"},
    {LB_STEP_RESUME, "resume A", "lets paused processes go on (SIGCONT)"},
    {LB_STEP_ACQUIRE, "client N acquire within T",
     "tries until it is granted or T has passed; every outcome is recorded"},
    {LB_STEP_RELEASE, "client N release within T", "releases, if it holds"},
    {LB_STEP_READ, "client N read", "reads the resource, if it believes it holds"},
    {LB_STEP_WRITE, "client N write", "writes what it read plus one, if it believes it holds"},
    {LB_STEP_AWAIT_FAILOVER, "await failover within T",
     "waits until another server decides, promoting one where that is an operator's job; not in time = stuck"},
    {LB_STEP_WAIT, "wait T", "waits"},
    {LB_STEP_OBSERVE_KEY, "observe key on A",
     "records the fact \"key present on A\" or \"key absent on A\"; A is one server"},
};
const size_t lb_step_form_count = sizeof lb_step_forms / sizeof *lb_step_forms;

/* What follows the first word of a role. */
enum tail { TAIL_NONE, TAIL_NODE, TAIL_CLIENT, TAIL_PRIMARY };
static const struct {
  const char *word;
  enum lb_role_kind kind;
  enum tail tail;
} roles[] = {
    {"primary", LB_ROLE_PRIMARY, TAIL_NONE},   {"current", LB_ROLE_CURRENT_PRIMARY, TAIL_PRIMARY},
    {"replicas", LB_ROLE_REPLICAS, TAIL_NONE}, {"node", LB_ROLE_NODE, TAIL_NODE},
    {"majority", LB_ROLE_MAJORITY, TAIL_NONE}, {"minority", LB_ROLE_MINORITY, TAIL_NONE},
    {"all", LB_ROLE_ALL, TAIL_NONE},           {"client", LB_ROLE_CLIENT, TAIL_CLIENT},
    {"clients", LB_ROLE_CLIENTS, TAIL_NONE},
};
#define ROLE_COUNT (sizeof roles / sizeof *roles)
#define ROLES_TEXT "primary, current primary, replicas, node N, majority, minority, all, client N or clients"

/* The words of a step while it is matched. */
struct cursor {
  char **words;
  size_t count, at;
  const char *form;
  char *err;
  size_t err_size;
};

void lb_role_format(struct lb_role role, char *buf, size_t size) {
  for (size_t i = 0; i < ROLE_COUNT; i++) {
    if (roles[i].kind != role.kind) continue;
    if (roles[i].tail == TAIL_PRIMARY) snprintf(buf, size, "current primary");
    else if (roles[i].tail == TAIL_NONE) snprintf(buf, size, "%s", roles[i].word);
    else snprintf(buf, size, "%s %d", roles[i].word, role.number);
    return;
  }
  snprintf(buf, size, "nothing");
}

bool lb_role_is_one_server(struct lb_role role) {
  return role.kind == LB_ROLE_PRIMARY || role.kind == LB_ROLE_CURRENT_PRIMARY || role.kind == LB_ROLE_NODE;
}

size_t lb_split_words(char *text, char **words, size_t max) {
  size_t count = 0;
  char *rest = NULL;
  for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
    if (count == max) return max + 1;
    words[count++] = word;
  }
  return count;
}

/* ---- numbers ------------------------------------------------------------------------------------------ */

static int parse_number(const char *kind, const char *word, int max, int *ret, char *err, size_t err_size) {
  size_t digits = strspn(word ? word : "", "0123456789");
  long value = word && digits > 0 && digits < 6 && word[digits] == '\0' ? strtol(word, NULL, 10) : 0;
  if (value < 1 || value > max)
    return lb_refuse(err, err_size, "'%s %s': expected %s and its number from 1 to %d", kind, word ? word : "", kind,
                     max);
  *ret = (int)value;
  return 0;
}

/* Milliseconds of "250ms", "1.5s", "1m", exactly; -1 if it is none. */
static int64_t duration_ms(const char *word) {
  static const struct {
    const char *unit;
    int64_t ms;
  } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}};
  size_t whole = strspn(word, "0123456789");
  const char *unit = word + whole;
  size_t fraction = *unit == '.' ? strspn(unit + 1, "0123456789") : 0;
  if (*unit == '.') unit += fraction + 1;
  if (whole < 1 || whole > 7 || fraction > 3 || (unit > word + whole && fraction == 0)) return -1;
  int64_t thousandths = strtoll(word, NULL, 10) * 1000;
  for (size_t i = 0, weight = 100; i < fraction; i++, weight /= 10)
    thousandths += (int64_t)weight * (word[whole + 1 + i] - '0');
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (strcmp(unit, units[i].unit) != 0) continue;
    int64_t product = thousandths * units[i].ms;
    return product % 1000 == 0 ? product / 1000 : -1;
  }
  return -1;
}

/* ---- the parts of a form ------------------------------------------------------------------------------ */

static const char *peek(const struct cursor *c) { return c->at < c->count ? c->words[c->at] : NULL; }

static int unexpected(const struct cursor *c, const char *expected) {
  const char *word = peek(c);
  const char *near = word ? lb_suggest(word, &expected, 1) : NULL;
  if (!word) return lb_refuse(c->err, c->err_size, "it ends where '%s' was expected: %s", expected, c->form);
  if (!near) return lb_refuse(c->err, c->err_size, "found '%s', expected '%s': %s", word, expected, c->form);
  return lb_refuse(c->err, c->err_size, "found '%s', did you mean '%s'? expected %s", word, near, c->form);
}

static int take_word(struct cursor *c, const char *expected) {
  if (!peek(c) || strcmp(peek(c), expected) != 0) return unexpected(c, expected);
  c->at++;
  return 0;
}

static int take_duration(struct cursor *c, int64_t *ret_ms) {
  const char *word = peek(c);
  int64_t ms = word ? duration_ms(word) : -1;
  if (!word) return unexpected(c, "T");
  if (ms < 1 || ms > DURATION_MAX_MS)
    return lb_refuse(c->err, c->err_size, "'%s': expected a duration from 1ms to 60m, like 250ms, 2s, 1.5s or 1m",
                     word);
  *ret_ms = ms;
  c->at++;
  return 0;
}

static int take_client(struct cursor *c, struct lb_role *ret) {
  int number = 0;
  int r = parse_number("client", peek(c), LB_CLIENTS_MAX, &number, c->err, c->err_size);
  if (r < 0) return r;
  *ret = (struct lb_role){LB_ROLE_CLIENT, number};
  c->at++;
  return 0;
}

static int refuse_role(const char *word, char *err, size_t err_size) {
  const char *known[ROLE_COUNT];
  for (size_t i = 0; i < ROLE_COUNT; i++) known[i] = roles[i].word;
  const char *near = lb_suggest(word, known, ROLE_COUNT);
  if (near) return lb_refuse(err, err_size, "'%s' is not a role, did you mean '%s'? expected " ROLES_TEXT, word, near);
  return lb_refuse(err, err_size, "'%s' is not a role: expected " ROLES_TEXT, word);
}

int lb_role_parse(char *const *words, size_t count, struct lb_role *ret, char *err, size_t err_size) {
  size_t i = 0;
  int r = 0;
  if (count == 0) return lb_refuse(err, err_size, "it ends where a role was expected: " ROLES_TEXT);
  while (i < ROLE_COUNT && strcmp(words[0], roles[i].word) != 0) i++;
  if (i == ROLE_COUNT) return refuse_role(words[0], err, err_size);
  const char *tail = count > 1 ? words[1] : NULL;
  *ret = (struct lb_role){.kind = roles[i].kind};
  switch (roles[i].tail) {
    case TAIL_NONE: return 1;
    case TAIL_PRIMARY:
      if (!tail || strcmp(tail, "primary") != 0)
        return lb_refuse(err, err_size, "'current %s': expected 'current primary'", tail ? tail : "");
      return 2;
    case TAIL_NODE: r = parse_number("node", tail, NODE_MAX, &ret->number, err, err_size); break;
    case TAIL_CLIENT: r = parse_number("client", tail, LB_CLIENTS_MAX, &ret->number, err, err_size); break;
  }
  return r < 0 ? r : 2;
}

static int take_role(struct cursor *c, struct lb_role *ret) {
  int taken = lb_role_parse(c->words + c->at, c->count - c->at, ret, c->err, c->err_size);
  if (taken < 0) return taken;
  c->at += (size_t)taken;
  return 0;
}

/* One word of a form against the step's words. */
static int take(struct cursor *c, const char *part, size_t len, struct lb_step *step) {
  char word[16];
  snprintf(word, sizeof word, "%.*s", (int)len, part);
  if (strcmp(word, "A") == 0) return take_role(c, &step->a);
  if (strcmp(word, "B") == 0) return take_role(c, &step->b);
  if (strcmp(word, "N") == 0) return take_client(c, &step->a);
  if (strcmp(word, "T") == 0) return take_duration(c, &step->within_ms);
  if (word[0] != '[') return take_word(c, word);
  word[strlen(word) - 1] = '\0';
  if (peek(c) && strcmp(peek(c), word + 1) == 0) c->at++;
  return 0;
}

/* ---- a whole step ------------------------------------------------------------------------------------- */

/* The word that tells forms apart: the third of "client N acquire ...", else the first. */
static size_t verb_index(const char *first) { return strcmp(first, "client") == 0 ? 2 : 0; }

static bool form_of_client(const struct lb_step_form *form) { return strncmp(form->form, "client ", 7) == 0; }

static void form_verb(const struct lb_step_form *form, char buf[16]) {
  const char *verb = form->form;
  if (form_of_client(form)) verb += strlen("client N ");
  snprintf(buf, 16, "%.*s", (int)strcspn(verb, " "), verb);
}

static int refuse_verb(const char *word, bool of_client, char *err, size_t err_size) {
  char verbs[sizeof lb_step_forms / sizeof *lb_step_forms][16];
  const char *known[sizeof lb_step_forms / sizeof *lb_step_forms];
  size_t count = 0;
  for (size_t i = 0; i < lb_step_form_count; i++) {
    if (of_client && !form_of_client(&lb_step_forms[i])) continue;
    form_verb(&lb_step_forms[i], verbs[count]);
    known[count] = verbs[count];
    count++;
  }
  const char *expected = of_client ? "client N and acquire, release, read or write"
                                   : "cut, heal, kill, pause, resume, client N ..., await, wait or observe";
  const char *near = lb_suggest(word, known, count);
  if (near) return lb_refuse(err, err_size, "unknown verb '%s', did you mean '%s'? expected %s", word, near, expected);
  return lb_refuse(err, err_size, "unknown verb '%s': expected %s", word, expected);
}

static int find_form(char *const *words, size_t count, const struct lb_step_form **ret, char *err, size_t err_size) {
  char verb[16];
  const char *misspelt =
      strcmp(words[0], "client") != 0 && count > 1 ? lb_suggest(words[0], &(const char *){"client"}, 1) : NULL;
  size_t at = verb_index(words[0]);
  if (at >= count)
    return lb_refuse(err, err_size, "it ends early: expected client N and acquire, release, read or write");
  for (size_t i = 0; i < lb_step_form_count; i++) {
    form_verb(&lb_step_forms[i], verb);
    if (strcmp(verb, words[at]) != 0 || (at > 0 && !form_of_client(&lb_step_forms[i]))) continue;
    *ret = &lb_step_forms[i];
    return 0;
  }
  if (misspelt) return lb_refuse(err, err_size, "unknown word '%s', did you mean 'client'?", words[0]);
  return refuse_verb(words[at], at > 0, err, err_size);
}

static bool is_client(struct lb_role role) { return role.kind == LB_ROLE_CLIENT || role.kind == LB_ROLE_CLIENTS; }

/* What the form allows but nobody can mean. */
static int check_roles(const struct lb_step *step, char *err, size_t err_size) {
  char name[32];
  lb_role_format(step->a, name, sizeof name);
  if (step->verb == LB_STEP_OBSERVE_KEY && !lb_role_is_one_server(step->a))
    return lb_refuse(err, err_size, "'%s' is not one server: expected primary, current primary or node N", name);
  if (step->verb != LB_STEP_CUT) return 0;
  if (is_client(step->a) && is_client(step->b))
    return lb_refuse(err, err_size, "clients do not talk to each other: expected a server on one side");
  if (step->a.kind == step->b.kind && step->a.number == step->b.number && lb_role_is_one_server(step->a))
    return lb_refuse(err, err_size, "'%s' cannot be cut from itself", name);
  return 0;
}

static int match(struct cursor *c, const struct lb_step_form *form, struct lb_step *step) {
  c->form = form->form;
  step->verb = form->verb;
  for (const char *part = form->form; *part; part += strspn(part, " ")) {
    size_t len = strcspn(part, " ");
    int r = take(c, part, len, step);
    if (r < 0) return r;
    part += len;
  }
  if (peek(c)) return lb_refuse(c->err, c->err_size, "found '%s' after its end: expected %s", peek(c), form->form);
  return check_roles(step, c->err, c->err_size);
}

int lb_step_parse(const char *text, struct lb_step *ret, char *err, size_t err_size) {
  char copy[TEXT_BYTES];
  char *words[WORDS_MAX];
  const struct lb_step_form *form = NULL;
  struct lb_step step = {.line = ret->line};
  if (strlen(text) >= sizeof copy) return lb_refuse(err, err_size, "a step of more than %zu bytes", sizeof copy - 1);
  strcpy(copy, text);
  struct cursor c = {.words = words, .count = lb_split_words(copy, words, WORDS_MAX), .err = err, .err_size = err_size};
  if (c.count == 0) return lb_refuse(err, err_size, "an empty step: expected for example 'kill primary'");
  if (c.count > WORDS_MAX) return lb_refuse(err, err_size, "a step of more than %d words", WORDS_MAX);
  int r = find_form(words, c.count, &form, err, err_size);
  if (r == 0) r = match(&c, form, &step);
  if (r < 0) return r;
  step.text = strdup(text);
  if (!step.text) return -ENOMEM;
  *ret = step;
  return 0;
}
