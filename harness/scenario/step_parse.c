/* SPDX-License-Identifier: MIT
 *
 * A step from its text. It is matched word by word against the forms of the table (step.c). A refusal uses the words of
 * the forms that came furthest. All forms are tried, and none is preferred: there is no second place that knows how
 * steps begin.
 *
 * Values are taken from one word each. A duration that is no whole number of milliseconds is refused, not rounded: the
 * step is quoted as it was written, and has to be what was done.
 */
#include "reader.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/need.h"
#include "base/text.h"

/* ---- values -------------------------------------------------------------------------------- */

/* A value from its word, into the field of the step that it is for. 0, or -EINVAL with why. */
typedef int value_parser(const char *word, struct lb_step *ret, struct lb_error *why);

#define DELAY "delay"
#define DURATION_MAX_MS INT64_C(3600000)
#define RATE_MIN 0.5
#define RATE_MAX 2.0
#define LOSS_MIN 0.1
#define LOSS_MAX 50.0
#define AFTER_MAX 1000
#define ORDER_MS 600000 /* a person has so long for an order */

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

/* "delay", "delay+300ms": how long the delay is, only the scenario knows. */
static int delay_parse(const char *word, struct lb_step *ret, struct lb_error *why) {
  const char *rest = word + strlen(DELAY);
  int64_t beyond = *rest == '+' ? duration_ms(rest + 1) : 0;
  if ((*rest && *rest != '+') || (*rest && beyond < 1) || beyond > DURATION_MAX_MS)
    return lb_refuse(why, "'%s': expected delay, or delay and a duration, like delay+300ms", word);
  ret->delayed = true;
  ret->beyond_ms = beyond;
  return 0;
}

/* Into the field that it is for. */
static int length_parse(const char *word, int64_t *ret, struct lb_error *why) {
  int64_t ms = duration_ms(word);
  if (ms < 1 || ms > DURATION_MAX_MS)
    return lb_refuse(why, "'%s': expected a duration from 1ms to 60m, like 250ms, 2s, 1.5s or 1m", word);
  return *ret = ms, 0;
}

static int ttl_parse(const char *word, struct lb_step *ret, struct lb_error *why) {
  return length_parse(word, &ret->ttl_ms, why);
}
static int hold_parse(const char *word, struct lb_step *ret, struct lb_error *why) {
  return length_parse(word, &ret->hold_ms, why);
}
static int rest_parse(const char *word, struct lb_step *ret, struct lb_error *why) {
  return length_parse(word, &ret->rest_ms, why);
}

static int time_parse(const char *word, struct lb_step *ret, struct lb_error *why) {
  if (strncmp(word, DELAY, strlen(DELAY)) == 0) return delay_parse(word, ret, why);
  return length_parse(word, &ret->within_ms, why);
}

static int jitter_parse(const char *word, struct lb_step *ret, struct lb_error *why) {
  int64_t ms = duration_ms(word);
  if (ms < 1 || ms > DURATION_MAX_MS)
    return lb_refuse(why, "'%s': expected a jitter, a duration from 1ms to the delay, like 5ms", word);
  ret->jitter_ms = ms;
  return 0;
}

/* "1%", "0.5%": a share that says so. Less could not be proved in reasonable time, and with more there is hardly a
 * link. */
static int loss_parse(const char *word, struct lb_step *ret, struct lb_error *why) {
  size_t digits = strspn(word, "0123456789.");
  const char *point = memchr(word, '.', digits);
  bool good = digits > 0 && digits < 8 && strcmp(word + digits, "%") == 0 && isdigit((unsigned char)*word);
  if (good && point)
    good = isdigit((unsigned char)point[1]) && !memchr(point + 1, '.', digits - (size_t)(point - word) - 1);
  double percent = good ? strtod(word, NULL) : 0;
  if (percent < LOSS_MIN || percent > LOSS_MAX)
    return lb_refuse(why, "'%s': expected a loss from %g%% to %g%%, like 1%%", word, LOSS_MIN, LOSS_MAX);
  ret->loss = percent / 100;
  return 0;
}

static int after_parse(const char *word, struct lb_step *ret, struct lb_error *why) {
  size_t digits = strspn(word, "0123456789");
  int number = digits > 0 && digits < 5 && word[digits] == '\0' ? atoi(word) : 0;
  if (number < 1 || number > AFTER_MAX)
    return lb_refuse(why, "'%s': expected a number of messages from 1 to %d", word, AFTER_MAX);
  ret->after = number;
  return 0;
}

/* The sign is mandatory: "clock A 5s" would leave open whether it is set to 5 s or set forward. */
static int offset_parse(const char *word, struct lb_step *ret, struct lb_error *why) {
  bool sign = *word == '+' || *word == '-';
  int64_t ms = sign ? duration_ms(word + 1) : -1;
  if (ms < 1 || ms > DURATION_MAX_MS)
    return lb_refuse(why, "'%s': expected a sign and a duration from 1ms to 60m, like +31s, -5s or +250ms", word);
  ret->offset_ms = *word == '-' ? -ms : ms;
  return 0;
}

/* "1.02": strtod alone would take "0x1", "1e0" and "nan". */
static int rate_parse(const char *word, struct lb_step *ret, struct lb_error *why) {
  double rate = strspn(word, "0123456789.") == strlen(word) && isdigit((unsigned char)*word) ? strtod(word, NULL) : 0;
  const char *point = strchr(word, '.');
  if (rate < RATE_MIN || rate > RATE_MAX || (point && (point[1] == '\0' || strchr(point + 1, '.'))))
    return lb_refuse(why, "'%s': expected a rate from %g to %g, like 1.02", word, RATE_MIN, RATE_MAX);
  ret->rate = rate;
  return 0;
}

static int lock_parse(const char *word, struct lb_step *ret, struct lb_error *why) {
  int number = 0, r = lb_role_number_parse("lock", word, LB_LOCKS_MAX, &number, why);
  if (r == 0) ret->lock = number - 1;
  return r;
}

/* What a Redis may do when its memory is full. */
static const char *const policies[] = {"noeviction",   "volatile-ttl",    "volatile-lru",
                                       "volatile-lfu", "volatile-random", "allkeys-lru",
                                       "allkeys-lfu",  "allkeys-random",  NULL};

static int policy_parse(const char *word, struct lb_step *ret, struct lb_error *why) {
  size_t count = 0;
  for (; policies[count]; count++)
    if (strcmp(policies[count], word) == 0) return ret->policy = policies[count], 0;
  const char *near = lb_text_suggest(word, policies, count);
  if (near) return lb_refuse(why, "unknown policy '%s', did you mean '%s'?", word, near);
  return lb_refuse(
      why,
      "unknown policy '%s': expected noeviction, volatile-ttl, -lru, -lfu or -random, allkeys-lru, -lfu or -random",
      word);
}

/* Form only: which points a client has is known to the protocol that it runs. */
static int point_parse(const char *word, struct lb_step *ret, struct lb_error *why) {
  size_t size = sizeof ret->point;
  if (strlen(word) >= size || word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0')
    return lb_refuse(why, "'%s': expected the name of a point: at most %zu small letters, digits and '-'", word,
                     size - 1);
  snprintf(ret->point, size, "%s", word);
  return 0;
}

/* ---- a step -------------------------------------------------------------------------------- */

#define WORDS_MAX 16   /* the longest form has 15, with roles of four words */
#define TEXT_BYTES 256 /* a line of a file is shorter */
#define EXPECTED_MAX (2 * LB_VERB_COUNT)

/* What would have fitted at the furthest word that any form came to. */
struct miss {
  size_t at;
  const char *words[EXPECTED_MAX]; /* parts of forms, each up to a blank, '|' or ']' */
  size_t word_count;
  const struct lb_step_row *forms[EXPECTED_MAX]; /* those that came so far */
  size_t form_count;
  struct lb_error why; /* of a value (role, number, duration) that stood there and was wrong; "" = none */
};

/* The words of a step while it is matched against one form. */
struct cursor {
  char **words;
  size_t count, at;
  const struct lb_step_row *form;
  struct miss *miss;
};

/* ---- what did not fit ------------------------------------------------------------------------ */

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
static int miss_value(struct cursor *c, const struct lb_error *why) {
  if (reach(c) && !c->miss->why.text[0]) c->miss->why = *why;
  return -EINVAL;
}

/* ---- the parts of a form --------------------------------------------------------------------- */

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

/* At the end of the step the value is missed like a word: "expected T" stands beside the words that
 * would have fitted. */
static int take_value(struct cursor *c, const char *part, value_parser *parse, struct lb_step *step) {
  struct lb_error why;
  const char *word = peek(c);
  if (!word) return miss_word(c, part);
  if (parse(word, step, &why) < 0) return miss_value(c, &why);
  c->at++;
  return 0;
}

/* "N" in a form stands behind the word "client", "M" behind "client N or": so only the number is left to read. */
static int take_client(struct cursor *c, struct lb_role *ret) {
  struct lb_error why;
  int number = 0;
  if (lb_role_number_parse("client", peek(c), LB_CLIENTS_MAX, &number, &why) < 0) return miss_value(c, &why);
  *ret = (struct lb_role){LB_ROLE_CLIENT, number};
  c->at++;
  return 0;
}

static int take_role(struct cursor *c, struct lb_role *ret) {
  struct lb_error why;
  int taken = lb_role_parse(c->words + c->at, c->count - c->at, ret, &why);
  if (taken < 0) return miss_value(c, &why);
  c->at += (size_t)taken;
  return 0;
}

/* A text in quotes, which is the rest of the step: it is kept as it is written. */
static int take_order(struct cursor *c, struct lb_step *step) {
  const char *first = peek(c), *last = c->words[c->count - 1];
  struct lb_error why;
  if (!first) return miss_word(c, "ORDER");
  size_t end = strlen(last);
  if (*first != '"' || last[end - 1] != '"' || (first == last && end < 3)) {
    lb_refuse(&why, "found '%s', expected a text in quotes, like operator \"fail over the primary\"", first);
    return miss_value(c, &why);
  }
  c->at = c->count;
  step->within_ms = ORDER_MS;
  return 0;
}

/* One word of a form against the step's words. */
static int take(struct cursor *c, const char *part, struct lb_step *step) {
  if (same_part(part, "A")) return take_role(c, &step->a);
  if (same_part(part, "B")) return take_role(c, &step->b);
  if (same_part(part, "N")) return take_client(c, &step->a);
  if (same_part(part, "M")) return take_client(c, &step->b);
  if (same_part(part, "T")) return take_value(c, part, time_parse, step);
  if (same_part(part, "R")) return take_value(c, part, rate_parse, step);
  if (same_part(part, "OFFSET")) return take_value(c, part, offset_parse, step);
  if (same_part(part, "POINT")) return take_value(c, part, point_parse, step);
  if (same_part(part, "ORDER")) return take_order(c, step);
  if (same_part(part, "POLICY")) return take_value(c, part, policy_parse, step);
  if (same_part(part, "J")) return take_value(c, part, jitter_parse, step);
  if (same_part(part, "P")) return take_value(c, part, loss_parse, step);
  if (same_part(part, "L")) return take_value(c, part, lock_parse, step);
  if (same_part(part, "K")) return take_value(c, part, after_parse, step);
  if (same_part(part, "D")) return take_value(c, part, ttl_parse, step);
  if (same_part(part, "H")) return take_value(c, part, hold_parse, step);
  if (same_part(part, "I")) return take_value(c, part, rest_parse, step);
  if (*part != '[') return take_word(c, part);
  int number = take_optional(c, part);
  step->monotonic = step->verb == LB_STEP_CLOCK_JUMP && number == 2;
  if (same_part(part, "[shared]")) step->shared = number == 1;
  return 0;
}

/* "[loss P]": a word and a value, together or not at all. */
static bool begins_group(const char *part) { return *part == '[' && part[strcspn(part, " ]")] == ' '; }

/* Where the rest of the form begins: at the value, if the word stood there; else behind the group. */
static const char *enter_group(struct cursor *c, const char *part) {
  return take_word(c, part + 1) == 0 ? part + strcspn(part, " ") : part + strcspn(part, "]") + 1;
}

/* All words of the step against one form. 0, or -EINVAL with the miss noted: how far it came, and
 * what it expected there. */
static int match(struct cursor *c, struct lb_step *step) {
  struct lb_error why;
  step->verb = (enum lb_verb)(c->form - lb_step_rows);
  for (const char *part = c->form->form; *part; part += strspn(part, " ")) {
    bool group = begins_group(part);
    int r = group ? 0 : take(c, part, step);
    if (r < 0) return r;
    part = group ? enter_group(c, part) : part + strcspn(part, " ");
  }
  if (!peek(c)) return 0;
  lb_refuse(&why, "found '%s' after its end: expected %s", peek(c), c->form->form);
  return miss_value(c, &why);
}

/* ---- refusing a step ------------------------------------------------------------------------- */

/* "'a', 'b' or 'c'" of the expected words; the quote may be "". */
static void list_words(const struct miss *m, const char *quote, char *buf, size_t size) {
  buf[0] = '\0';
  for (size_t i = 0, at = 0; i < m->word_count && at < size; i++)
    at += (size_t)snprintf(buf + at, size - at, "%s%s%.*s%s",
                           i == 0                   ? ""
                           : i + 1 == m->word_count ? " or "
                                                    : ", ",
                           quote, (int)part_length(m->words[i]), m->words[i], quote);
}

static void list_forms(const struct miss *m, char *buf, size_t size) {
  buf[0] = '\0';
  for (size_t i = 0, at = 0; i < m->form_count && at < size; i++)
    at += (size_t)snprintf(buf + at, size - at, "%s%s",
                           i == 0                   ? ""
                           : i + 1 == m->form_count ? " or "
                                                    : ", ",
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
  const char *near = lb_text_suggest(word, known, m->word_count);
  if (near) snprintf(buf, size, "%s", near);
  return near ? buf : NULL;
}

/* The word that says what a step does: the first, or the third of "client N acquire ...". */
static int refuse_verb(const struct miss *m, const char *word, struct lb_error *err) {
  char list[LB_SCENARIO_ERR / 2], near[16];
  const char *of = m->at > 0 ? "client N and " : "";
  list_words(m, "", list, sizeof list);
  if (!word) return lb_refuse(err, "it ends early: expected %s%s", of, list);
  if (nearest(m, word, near, sizeof near))
    return lb_refuse(err, "unknown verb '%s', did you mean '%s'? expected %s%s", word, near, of, list);
  return lb_refuse(err, "unknown verb '%s': expected %s%s", word, of, list);
}

/* "acquire within 5s", "begin acquire within 5s": it says what is done, but not who does it. */
static const struct lb_step_row *form_without_client(const char *word) {
  static const char client[] = "client N ";
  for (enum lb_verb verb = LB_STEP_NONE + 1; verb < LB_VERB_COUNT; verb++) {
    const char *form = lb_step_rows[verb].form;
    if (strncmp(form, client, sizeof client - 1) == 0 && same_part(form + sizeof client - 1, word))
      return &lb_step_rows[verb];
  }
  return NULL;
}

/* From the most telling to the least: a client is missing in front, the verb is unknown, a word is
 * misspelt, a value is wrong, or something else was expected. */
static int refuse_step(const struct miss *m, char *const *words, size_t count, struct lb_error *err) {
  char list[LB_SCENARIO_ERR / 2], forms[LB_SCENARIO_ERR * 3 / 4], near[16];
  const char *word = m->at < count ? words[m->at] : NULL;
  const struct lb_step_row *whose = m->at == 0 ? form_without_client(word) : NULL;
  if (whose) return lb_refuse(err, "found '%s', expected 'client': %s", word, whose->form);
  if (m->at == 0 || (m->at == 2 && strcmp(words[0], "client") == 0)) return refuse_verb(m, word, err);
  list_words(m, "'", list, sizeof list);
  list_forms(m, forms, sizeof forms);
  if (word && nearest(m, word, near, sizeof near))
    return lb_refuse(err, "found '%s', did you mean '%s'? expected %s", word, near, forms);
  if (m->why.text[0] && m->form_count > 1 && m->word_count > 0) return lb_refuse(err, "%s: %s", m->why.text, forms);
  if (m->why.text[0]) return lb_refuse(err, "%s", m->why.text);
  if (!word) return lb_refuse(err, "it ends where %s was expected: %s", list, forms);
  return lb_refuse(err, "found '%s', expected %s: %s", word, list, forms);
}

/* Refuses what the form allows but makes no sense, as far as the step alone shows it. scenario_check.c looks at the
 * steps together. */
static int check_alone(const struct lb_step *step, struct lb_error *err) {
  char name[32];
  lb_role_format(step->a, name, sizeof name);
  if (step->jitter_ms > step->within_ms && !step->delayed)
    return lb_refuse(err, "it cannot be early: expected a jitter of at most the delay, like 20ms jitter 5ms");
  if (lb_step_needs(step, LB_NEED_ONE_SERVER) && !lb_role_is_one_server(step->a))
    return lb_refuse(
        err, "'%s' is not one server: expected primary, current primary, node N, proxy or server of client N", name);
  if (lb_step_needs(step, LB_NEED_SERVERS) && lb_role_is_client(step->a))
    return lb_refuse(err, "'%s' is no server: expected servers", name);
  if (lb_step_needs(step, LB_NEED_CANCEL | LB_NEED_ENDING) && step->b.kind != LB_ROLE_CLIENT) {
    lb_role_format(step->b, name, sizeof name);
    return lb_refuse(err, "'%s' is not one client: expected client N", name);
  }
  if (step->b.kind == LB_ROLE_NONE) return 0;
  if (step->verb == LB_STEP_REOPEN) {
    lb_role_format(step->b, name, sizeof name);
    return lb_role_is_one_server(step->b) ? 0
                                          : lb_refuse(err, "'%s' is not one server: expected for example node 2", name);
  }
  if (lb_step_form_has(lb_step_row(step), "M"))
    return lb_role_equal(step->a, step->b) ? lb_refuse(err, "client %d twice: expected two clients", step->a.number)
                                           : 0;
  if (lb_role_is_client(step->a) && lb_role_is_client(step->b) && !lb_step_row(step)->among_clients)
    return lb_refuse(err, "only a cut parts clients: expected a server on one side");
  if (lb_role_equal(step->a, step->b) &&
      (lb_role_is_one_server(step->a) || lb_role_is_any(step->a) || step->a.kind == LB_ROLE_CLIENT))
    return lb_refuse(err, "'%s' has no link to itself", name);
  return 0;
}

/* `replicas` of a step that names primary 2 are the others beside that one. */
static void relate(struct lb_step *step) {
  int number = lb_step_later_primary(step);
  if (lb_role_is_relative(step->a) && step->a.kind != LB_ROLE_PRIMARY) step->a.number = number;
  if (lb_role_is_relative(step->b) && step->b.kind != LB_ROLE_PRIMARY) step->b.number = number;
}

/* The first form that fits all words; of those that do not, the refusal speaks of the ones that came furthest. */
static int match_any(char **words, size_t count, struct lb_step *ret, struct lb_error *err) {
  struct miss miss = {0};
  for (enum lb_verb verb = LB_STEP_NONE + 1; verb < LB_VERB_COUNT; verb++) {
    struct cursor c = {.words = words, .count = count, .form = &lb_step_rows[verb], .miss = &miss};
    struct lb_step step = {.line = ret->line};
    if (match(&c, &step) < 0) continue;
    relate(&step);
    *ret = step;
    return check_alone(ret, err);
  }
  return refuse_step(&miss, words, count, err);
}

/* The words are cut out of a copy; the step keeps the text as it was written, for messages and results. */
int lb_step_parse(const char *text, struct lb_step *ret, struct lb_error *err) {
  char copy[TEXT_BYTES];
  char *words[WORDS_MAX];
  struct lb_step step = {.line = ret->line};
  if (strlen(text) >= sizeof copy) return lb_refuse(err, "a step of more than %zu bytes", sizeof copy - 1);
  strcpy(copy, text);
  size_t count = lb_text_split_words(copy, words, WORDS_MAX);
  if (count == 0) return lb_refuse(err, "an empty step: expected for example 'kill primary'");
  if (count > WORDS_MAX) return lb_refuse(err, "a step of more than %d words", WORDS_MAX);
  int r = match_any(words, count, &step, err);
  if (r < 0) return r;
  step.text = lb_need_text(text);
  *ret = step;
  return 0;
}
