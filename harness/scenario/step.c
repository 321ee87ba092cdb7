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
#include "base/suggest.h"

#define WORDS_MAX 12   /* the longest form has 7, with roles of two words */
#define TEXT_BYTES 256 /* a line of a file is shorter */
#define NODE_MAX 99    /* whether a topology has that node is known when it runs */
#define DURATION_MAX_MS INT64_C(3600000)
#define EXPECTED_MAX (2 * sizeof lb_step_forms / sizeof *lb_step_forms)
#define RATE_MIN 0.5
#define RATE_MAX 2.0
#define ANY "any" /* number 0, drawn from the seed */

const struct lb_step_form lb_step_forms[] = {
    {LB_STEP_CUT, "cut A [from] B", "drops all packets between two roles, both ways"},
    {LB_STEP_HEAL, "heal", "undoes all cuts"},
    {LB_STEP_KILL, "kill A", "kills the processes of a role (SIGKILL)"},
    {LB_STEP_PAUSE, "pause A", "stops the processes of a role (SIGSTOP)"},
    {LB_STEP_RESUME, "resume A", "lets paused processes go on (SIGCONT)"},
    {LB_STEP_RESTART, "restart A",
     "kills servers that still run, starts them on what they left behind and waits until they answer"},
    {LB_STEP_CLOCK_JUMP, "clock A [wall|monotonic] OFFSET",
     "makes one clock of a role jump by OFFSET; the wall clock if none is named. A jump of the monotonic clock is proved by asking "
     "ZooKeeper and clients; Redis and PostgreSQL cannot be asked, so there the step is undecided"},
    {LB_STEP_CLOCK_RATE, "clock A rate R", "lets both clocks of a role run R times as fast from now on"},
    {LB_STEP_ACQUIRE, "client N acquire within T",
     "tries until it is granted or T has passed; every outcome is recorded"},
    {LB_STEP_BEGIN_ACQUIRE, "client N begin acquire within T",
     "the same, but the next steps are done meanwhile; the next step of this client waits for its outcome"},
    {LB_STEP_RELEASE, "client N release within T", "releases, if it holds"},
    {LB_STEP_READ, "client N read", "reads the resource, if it believes it holds"},
    {LB_STEP_WRITE, "client N write", "writes what it read plus one, if it believes it holds"},
    {LB_STEP_STOP_AT, "stop client N at POINT",
     "the client stops itself (SIGSTOP) when it next passes that point of its program"},
    {LB_STEP_CRASH_AT, "crash client N at POINT",
     "the client kills itself (SIGKILL) when it next passes that point of its program"},
    {LB_STEP_AWAIT_FAILOVER, "await failover within T",
     "waits until another server decides, promoting one where that is an operator's job; not in time = stuck"},
    {LB_STEP_AWAIT_HOLDS, "await client N holds within T", "waits until it was granted the lock; not in time = stuck"},
    {LB_STEP_AWAIT_WRITTEN, "await client N has written within T",
     "waits until it wrote the resource after its grant; not in time = stuck"},
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
    {"clients", LB_ROLE_CLIENTS, TAIL_NONE},   {"holder", LB_ROLE_HOLDER, TAIL_NONE},
    {"waiters", LB_ROLE_WAITERS, TAIL_NONE},
};
#define ROLE_COUNT (sizeof roles / sizeof *roles)
#define ROLES_TEXT                                                                                                     \
  "primary, current primary, replicas, node N, majority, minority, all, client N, clients, holder or waiters"

/* What would have fitted at the furthest word that any form came to. */
struct miss {
  size_t at;
  const char *words[EXPECTED_MAX]; /* parts of forms, each up to a blank, '|' or ']' */
  size_t word_count;
  const struct lb_step_form *forms[EXPECTED_MAX]; /* those that came so far */
  size_t form_count;
  char why[LB_SCENARIO_ERR]; /* of a value (role, number, duration) that stood there and was wrong; "" = none */
};

/* The words of a step while it is matched against one form. */
struct cursor {
  char **words;
  size_t count, at;
  const struct lb_step_form *form;
  struct miss *miss;
};

void lb_role_format(struct lb_role role, char *buf, size_t size) {
  for (size_t i = 0; i < ROLE_COUNT; i++) {
    if (roles[i].kind != role.kind) continue;
    if (roles[i].tail == TAIL_PRIMARY) snprintf(buf, size, "current primary");
    else if (roles[i].tail == TAIL_NONE) snprintf(buf, size, "%s", roles[i].word);
    else if (role.number == 0) snprintf(buf, size, "%s " ANY, roles[i].word);
    else snprintf(buf, size, "%s %d", roles[i].word, role.number);
    return;
  }
  snprintf(buf, size, "nothing");
}

bool lb_role_is_one_server(struct lb_role role) {
  return role.kind == LB_ROLE_PRIMARY || role.kind == LB_ROLE_CURRENT_PRIMARY ||
         (role.kind == LB_ROLE_NODE && role.number != 0);
}

bool lb_role_is_client(struct lb_role role) {
  return role.kind == LB_ROLE_CLIENT || role.kind == LB_ROLE_CLIENTS || role.kind == LB_ROLE_HOLDER ||
         role.kind == LB_ROLE_WAITERS;
}

bool lb_role_is_any(struct lb_role role) {
  return (role.kind == LB_ROLE_NODE || role.kind == LB_ROLE_CLIENT) && role.number == 0;
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

/* ---- what did not fit --------------------------------------------------------------------------------- */

static const char *peek(const struct cursor *c) { return c->at < c->count ? c->words[c->at] : NULL; }

static size_t part_length(const char *part) { return strcspn(part, " |]"); }

static bool same_part(const char *a, const char *b) {
  size_t len = part_length(a);
  return len == part_length(b) && strncmp(a, b, len) == 0;
}

/* False if another form came further than this one. */
static bool reach(struct cursor *c) {
  struct miss *m = c->miss;
  if (c->at < m->at) return false;
  if (c->at > m->at) *m = (struct miss){.at = c->at};
  if (m->form_count == 0 || m->forms[m->form_count - 1] != c->form) m->forms[m->form_count++] = c->form;
  return true;
}

/* A word of the form does not stand here. */
static int miss_word(struct cursor *c, const char *part) {
  struct miss *m = c->miss;
  if (!reach(c)) return -EINVAL;
  for (size_t i = 0; i < m->word_count; i++)
    if (same_part(m->words[i], part)) return -EINVAL;
  m->words[m->word_count++] = part;
  return -EINVAL;
}

/* A value of the form stands here and is wrong. */
static int miss_value(struct cursor *c, const char *why) {
  if (reach(c) && c->miss->why[0] == '\0') snprintf(c->miss->why, sizeof c->miss->why, "%s", why);
  return -EINVAL;
}

/* ---- the parts of a form ------------------------------------------------------------------------------ */

static int take_word(struct cursor *c, const char *part) {
  size_t len = part_length(part);
  const char *word = peek(c);
  if (!word || strlen(word) != len || strncmp(word, part, len) != 0) return miss_word(c, part);
  c->at++;
  return 0;
}

/* "[wall|monotonic]": one of them, or none. The number of the one that stood there, from 1; 0 = none. */
static int take_optional(struct cursor *c, const char *part) {
  int number = 1;
  for (part++; take_word(c, part) < 0; number++) {
    part += part_length(part);
    if (*part++ == ']') return 0;
  }
  return number;
}

static int take_duration(struct cursor *c, const char *part, int64_t *ret_ms) {
  char why[LB_SCENARIO_ERR];
  const char *word = peek(c);
  int64_t ms = word ? duration_ms(word) : -1;
  if (!word) return miss_word(c, part);
  if (ms < 1 || ms > DURATION_MAX_MS) {
    lb_refuse(why, sizeof why, "'%s': expected a duration from 1ms to 60m, like 250ms, 2s, 1.5s or 1m", word);
    return miss_value(c, why);
  }
  *ret_ms = ms;
  c->at++;
  return 0;
}

static int take_offset(struct cursor *c, const char *part, int64_t *ret_ms) {
  char why[LB_SCENARIO_ERR];
  const char *word = peek(c);
  bool sign = word && (*word == '+' || *word == '-');
  int64_t ms = sign ? duration_ms(word + 1) : -1;
  if (!word) return miss_word(c, part);
  if (ms < 1 || ms > DURATION_MAX_MS) {
    lb_refuse(why, sizeof why, "'%s': expected a sign and a duration from 1ms to 60m, like +31s, -5s or +250ms", word);
    return miss_value(c, why);
  }
  *ret_ms = *word == '-' ? -ms : ms;
  c->at++;
  return 0;
}

/* "1.02": strtod alone would take "0x1", "1e0" and "nan". */
static int take_rate(struct cursor *c, const char *part, double *ret) {
  char why[LB_SCENARIO_ERR];
  const char *word = peek(c);
  if (!word) return miss_word(c, part);
  double rate = strspn(word, "0123456789.") == strlen(word) && isdigit((unsigned char)*word) ? strtod(word, NULL) : 0;
  const char *point = strchr(word, '.');
  if (rate < RATE_MIN || rate > RATE_MAX || (point && (point[1] == '\0' || strchr(point + 1, '.')))) {
    lb_refuse(why, sizeof why, "'%s': expected a rate from %g to %g, like 1.02", word, RATE_MIN, RATE_MAX);
    return miss_value(c, why);
  }
  *ret = rate;
  c->at++;
  return 0;
}

static int take_point(struct cursor *c, const char *part, char *ret, size_t size) {
  char why[LB_SCENARIO_ERR];
  const char *word = peek(c);
  if (!word) return miss_word(c, part);
  if (strlen(word) >= size || word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0') {
    lb_refuse(why, sizeof why, "'%s': expected the name of a point: at most %zu small letters, digits and '-'", word,
              size - 1);
    return miss_value(c, why);
  }
  snprintf(ret, size, "%s", word);
  c->at++;
  return 0;
}

static int take_client(struct cursor *c, struct lb_role *ret) {
  char why[LB_SCENARIO_ERR];
  int number = 0;
  if (parse_number("client", peek(c), LB_CLIENTS_MAX, &number, why, sizeof why) < 0) return miss_value(c, why);
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
  int r = 0, max = 0;
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
    case TAIL_NODE:
    case TAIL_CLIENT:
      max = roles[i].tail == TAIL_NODE ? NODE_MAX : LB_CLIENTS_MAX;
      if (!tail || strcmp(tail, ANY) != 0) r = parse_number(roles[i].word, tail, max, &ret->number, err, err_size);
      break;
  }
  return r < 0 ? r : 2;
}

static int take_role(struct cursor *c, struct lb_role *ret) {
  char why[LB_SCENARIO_ERR];
  int taken = lb_role_parse(c->words + c->at, c->count - c->at, ret, why, sizeof why);
  if (taken < 0) return miss_value(c, why);
  c->at += (size_t)taken;
  return 0;
}

/* One word of a form against the step's words. */
static int take(struct cursor *c, const char *part, struct lb_step *step) {
  if (same_part(part, "A")) return take_role(c, &step->a);
  if (same_part(part, "B")) return take_role(c, &step->b);
  if (same_part(part, "N")) return take_client(c, &step->a);
  if (same_part(part, "T")) return take_duration(c, part, &step->within_ms);
  if (same_part(part, "R")) return take_rate(c, part, &step->rate);
  if (same_part(part, "OFFSET")) return take_offset(c, part, &step->offset_ms);
  if (same_part(part, "POINT")) return take_point(c, part, step->point, sizeof step->point);
  if (*part != '[') return take_word(c, part);
  int number = take_optional(c, part);
  step->monotonic = step->verb == LB_STEP_CLOCK_JUMP && number == 2;
  return 0;
}

static int match(struct cursor *c, struct lb_step *step) {
  char why[LB_SCENARIO_ERR];
  step->verb = c->form->verb;
  for (const char *part = c->form->form; *part; part += strcspn(part, " "), part += strspn(part, " ")) {
    int r = take(c, part, step);
    if (r < 0) return r;
  }
  if (!peek(c)) return 0;
  lb_refuse(why, sizeof why, "found '%s' after its end: expected %s", peek(c), c->form->form);
  return miss_value(c, why);
}

/* ---- refusing a step ---------------------------------------------------------------------------------- */

/* "'a', 'b' or 'c'" of the expected words; the quote may be "". */
static void list_words(const struct miss *m, const char *quote, char *buf, size_t size) {
  buf[0] = '\0';
  for (size_t i = 0, at = 0; i < m->word_count && at < size; i++)
    at += (size_t)snprintf(buf + at, size - at, "%s%s%.*s%s", i == 0 ? "" : i + 1 == m->word_count ? " or " : ", ",
                           quote, (int)part_length(m->words[i]), m->words[i], quote);
}

static void list_forms(const struct miss *m, char *buf, size_t size) {
  buf[0] = '\0';
  for (size_t i = 0, at = 0; i < m->form_count && at < size; i++)
    at += (size_t)snprintf(buf + at, size - at, "%s%s", i == 0 ? "" : i + 1 == m->form_count ? " or " : ", ",
                           m->forms[i]->form);
}

/* The expected word nearest to what stands there, in buf; NULL if none is near. */
static const char *nearest(const struct miss *m, const char *word, char *buf, size_t size) {
  char copies[EXPECTED_MAX][16];
  const char *known[EXPECTED_MAX];
  for (size_t i = 0; i < m->word_count; i++) {
    snprintf(copies[i], sizeof copies[i], "%.*s", (int)part_length(m->words[i]), m->words[i]);
    known[i] = copies[i];
  }
  const char *near = lb_suggest(word, known, m->word_count);
  if (near) snprintf(buf, size, "%s", near);
  return near ? buf : NULL;
}

/* The word that says what a step does: the first, or the third of "client N acquire ...". */
static int refuse_verb(const struct miss *m, const char *word, char *err, size_t err_size) {
  char list[LB_SCENARIO_ERR / 2], near[16];
  const char *of = m->at > 0 ? "client N and " : "";
  list_words(m, "", list, sizeof list);
  if (!word) return lb_refuse(err, err_size, "it ends early: expected %s%s", of, list);
  if (nearest(m, word, near, sizeof near))
    return lb_refuse(err, err_size, "unknown verb '%s', did you mean '%s'? expected %s%s", word, near, of, list);
  return lb_refuse(err, err_size, "unknown verb '%s': expected %s%s", word, of, list);
}

/* "acquire within 5s", "begin acquire within 5s": it says what is done, but not who does it. */
static const struct lb_step_form *form_without_client(const char *word) {
  static const char client[] = "client N ";
  for (size_t i = 0; i < lb_step_form_count; i++) {
    const char *form = lb_step_forms[i].form;
    if (strncmp(form, client, sizeof client - 1) == 0 && same_part(form + sizeof client - 1, word))
      return &lb_step_forms[i];
  }
  return NULL;
}

static int refuse_step(const struct miss *m, char *const *words, size_t count, char *err, size_t err_size) {
  char list[LB_SCENARIO_ERR / 2], forms[LB_SCENARIO_ERR / 2], near[16];
  const char *word = m->at < count ? words[m->at] : NULL;
  const struct lb_step_form *whose = m->at == 0 ? form_without_client(word) : NULL;
  if (whose) return lb_refuse(err, err_size, "found '%s', expected 'client': %s", word, whose->form);
  if (m->at == 0 || (m->at == 2 && strcmp(words[0], "client") == 0)) return refuse_verb(m, word, err, err_size);
  list_words(m, "'", list, sizeof list);
  list_forms(m, forms, sizeof forms);
  if (word && nearest(m, word, near, sizeof near))
    return lb_refuse(err, err_size, "found '%s', did you mean '%s'? expected %s", word, near, forms);
  if (m->why[0] && m->form_count > 1 && m->word_count > 0)
    return lb_refuse(err, err_size, "%s: %s", m->why, forms);
  if (m->why[0]) return lb_refuse(err, err_size, "%s", m->why);
  if (!word) return lb_refuse(err, err_size, "it ends where %s was expected: %s", list, forms);
  return lb_refuse(err, err_size, "found '%s', expected %s: %s", word, list, forms);
}

/* What the form allows but nobody can mean. */
static int check_roles(const struct lb_step *step, char *err, size_t err_size) {
  char name[32];
  bool same = step->a.kind == step->b.kind && step->a.number == step->b.number;
  lb_role_format(step->a, name, sizeof name);
  if (step->verb == LB_STEP_OBSERVE_KEY && !lb_role_is_one_server(step->a))
    return lb_refuse(err, err_size, "'%s' is not one server: expected primary, current primary or node N", name);
  if (step->verb == LB_STEP_RESTART && lb_role_is_client(step->a))
    return lb_refuse(err, err_size, "'%s' cannot be restarted: expected servers", name);
  if (step->verb != LB_STEP_CUT) return 0;
  if (lb_role_is_client(step->a) && lb_role_is_client(step->b))
    return lb_refuse(err, err_size, "clients do not talk to each other: expected a server on one side");
  if (same && (lb_role_is_one_server(step->a) || lb_role_is_any(step->a)))
    return lb_refuse(err, err_size, "'%s' cannot be cut from itself", name);
  return 0;
}

/* The first form that fits all words; of those that do not, the refusal speaks of the ones that came furthest. */
static int match_any(char **words, size_t count, struct lb_step *ret, char *err, size_t err_size) {
  struct miss miss = {0};
  for (size_t i = 0; i < lb_step_form_count; i++) {
    struct cursor c = {.words = words, .count = count, .form = &lb_step_forms[i], .miss = &miss};
    struct lb_step step = {.line = ret->line};
    if (match(&c, &step) < 0) continue;
    *ret = step;
    return check_roles(ret, err, err_size);
  }
  return refuse_step(&miss, words, count, err, err_size);
}

int lb_step_parse(const char *text, struct lb_step *ret, char *err, size_t err_size) {
  char copy[TEXT_BYTES];
  char *words[WORDS_MAX];
  struct lb_step step = {.line = ret->line};
  if (strlen(text) >= sizeof copy) return lb_refuse(err, err_size, "a step of more than %zu bytes", sizeof copy - 1);
  strcpy(copy, text);
  size_t count = lb_split_words(copy, words, WORDS_MAX);
  if (count == 0) return lb_refuse(err, err_size, "an empty step: expected for example 'kill primary'");
  if (count > WORDS_MAX) return lb_refuse(err, err_size, "a step of more than %d words", WORDS_MAX);
  int r = match_any(words, count, &step, err, err_size);
  if (r < 0) return r;
  step.text = strdup(text);
  if (!step.text) return -ENOMEM;
  *ret = step;
  return 0;
}
