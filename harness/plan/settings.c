/* SPDX-License-Identifier: MIT
 *
 * `-s`: options of protocols are checked against their tables, workload keys against the scenarios.
 * A '.' before the '=' tells them apart, for no key of a scenario has one.
 *
 * All are checked before a plan is made, so what comes later cannot fail.
 */
#include "settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "base/process.h"
#include "base/error.h"
#include "base/need.h"
#include "base/text.h"
#include "scenario/scenario.h"
#include "servers/origin.h"

enum { NAME_MAX_LENGTH = 64, WORDS_MAX = 512 };

struct setting { /* "protocol.option=value", taken apart */
  char protocol[NAME_MAX_LENGTH], option[NAME_MAX_LENGTH];
  const char *value;
};

/* True if it speaks of a protocol's option (a '.' before the '='), which is then taken apart. Names
 * that are too long are cut, and are unknown then. */
static bool split(const char *text, struct setting *ret) {
  const char *equals = strchr(text, '='), *dot = strchr(text, '.');
  if (!equals || !dot || dot > equals) return false;
  snprintf(ret->protocol, sizeof ret->protocol, "%.*s", (int)(dot - text), text);
  snprintf(ret->option, sizeof ret->option, "%.*s", (int)(equals - dot - 1), dot + 1);
  ret->value = equals + 1;
  return true;
}

bool lb_settings_protocol(const char *setting, char *ret, size_t size) {
  struct setting s;
  if (!split(setting, &s)) return false;
  snprintf(ret, size, "%s", s.protocol);
  return true;
}

/* The whole text has to be a number within the option's bounds; both ends belong to them. */
static bool parse_number(const struct lb_option *option, const char *text, union lb_value *ret) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !isfinite(value) || value < option->min || value > option->max) return false;
  if (option->type == LB_OPT_INT && value != floor(value)) return false;
  if (option->type == LB_OPT_INT) ret->i = (int64_t)value;
  else ret->f = value;
  return true;
}

/* One line without control characters. Its bounds are a number of bytes. */
static bool parse_text(const struct lb_option *option, const char *text, union lb_value *ret) {
  double length = (double)strlen(text);
  for (const char *c = text; *c; c++)
    if ((unsigned char)*c < 0x20 || *c == 0x7f) return false;
  ret->text = text;
  return length >= option->min && length <= option->max;
}

/* The value is the index of the word. */
static bool parse_choice(const struct lb_option *option, const char *text, union lb_value *ret) {
  for (ret->i = 0; option->words[ret->i]; ret->i++)
    if (strcmp(option->words[ret->i], text) == 0) return true;
  return false;
}

/* True if the text is a value of this option, in *ret. A text is not copied: settings live as long
 * as the run. */
static bool parse_value(const struct lb_option *option, const char *text, union lb_value *ret) {
  switch (option->type) {
    case LB_OPT_BOOL: ret->b = strcmp(text, "yes") == 0; return ret->b || strcmp(text, "no") == 0;
    case LB_OPT_TEXT: return parse_text(option, text, ret);
    case LB_OPT_CHOICE: return parse_choice(option, text, ret);
    case LB_OPT_INT:
    case LB_OPT_REAL: return parse_number(option, text, ret);
  }
  return false;
}

static union lb_value default_value(const struct lb_option *option) {
  switch (option->type) {
    case LB_OPT_BOOL: return (union lb_value){.b = option->def != 0};
    case LB_OPT_TEXT: return (union lb_value){.text = option->text};
    case LB_OPT_REAL: return (union lb_value){.f = option->def};
    case LB_OPT_INT:
    case LB_OPT_CHOICE: break;
  }
  return (union lb_value){.i = (int64_t)option->def};
}

/* "one, two, three", as far as there is room. */
static void list_words(const char *const *words, char *buf, size_t size) {
  size_t used = 0;
  for (buf[0] = '\0'; *words && used < size; words++)
    used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "", *words);
}

static int refuse_choice(const struct setting *s, const struct lb_option *option, struct lb_error *err) {
  char words[300];
  size_t count = 0;
  while (option->words[count]) count++;
  const char *near = lb_text_suggest(s->value, option->words, count);
  list_words(option->words, words, sizeof words);
  return lb_refuse(err, "-s %s.%s=%s: expected one of %s%s%s%s", s->protocol, s->option, s->value, words,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Says what was expected, from the option's own row. */
static int refuse_value(const struct setting *s, const struct lb_option *option, struct lb_error *err) {
  switch (option->type) {
    case LB_OPT_BOOL: return lb_refuse(err, "-s %s.%s=%s: expected yes or no", s->protocol, s->option, s->value);
    case LB_OPT_CHOICE: return refuse_choice(s, option, err);
    case LB_OPT_TEXT:
      return lb_refuse(err, "-s %s.%s=%s: expected one line of %g to %g bytes", s->protocol, s->option, s->value,
                       option->min, option->max);
    case LB_OPT_INT:
    case LB_OPT_REAL: break;
  }
  return lb_refuse(err, "-s %s.%s=%s: expected a %snumber from %g to %g", s->protocol, s->option, s->value,
                   option->type == LB_OPT_INT ? "whole " : "", option->min, option->max);
}

/* Protocol, then option: the first that is wrong is told, with the nearest word that would be right. */
static int find_option(const struct setting *s, const struct lb_protocol *protocol, const struct lb_option **ret,
                       struct lb_error *err) {
  const char *words[WORDS_MAX];
  size_t count = 0;
  if (!protocol) {
    for (const struct lb_protocol *p; count < WORDS_MAX && (p = lb_protocol_at(count)); count++) words[count] = p->name;
    const char *near = lb_text_suggest(s->protocol, words, count);
    return lb_refuse(err, "-s %s.%s: unknown protocol '%s'%s%s%s", s->protocol, s->option, s->protocol,
                     near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
  }
  const struct lb_option *option = lb_option_find(protocol, s->option);
  if (!option) {
    for (const struct lb_option *o; count < WORDS_MAX && (o = lb_option_at(protocol, count)); count++)
      words[count] = o->name;
    const char *near = lb_text_suggest(s->option, words, count);
    char advice[300] = "";
    if (strcmp(s->option, "poll_ms") == 0) snprintf(advice, sizeof advice, ": it does not poll");
    else if (near) snprintf(advice, sizeof advice, ", did you mean '%s'?", near);
    else if (count) snprintf(advice, sizeof advice, ", see `%s show %s`", lb_process_called(), s->protocol);
    return lb_refuse(err, "-s %s.%s: %s has no option '%s'%s", s->protocol, s->option, s->protocol, s->option, advice);
  }
  *ret = option;
  return 0;
}

/* ---- a word ---- */

/* The value without the blanks around it. */
static char *trim(char *value) {
  value += strspn(value, " ");
  size_t length = strlen(value);
  while (length > 0 && value[length - 1] == ' ') value[--length] = '\0';
  return value;
}

/* One of several. They stand in names of files. */
static int check_one(const struct lb_change *s, const char *value, struct lb_error *err) {
  for (size_t i = 0; i < s->count; i++)
    if (strcmp(s->value[i], value) == 0) return lb_refuse(err, "-s %s: %s stands there twice", s->key, value);
  if (!*value || strpbrk(value, " /~")) return lb_refuse(err, "-s %s: '%s' is no value", s->key, value);
  if (s->count == LB_SETTING_VALUES_MAX)
    return lb_refuse(err, "-s %s: expected at most %d values", s->key, LB_SETTING_VALUES_MAX);
  return 0;
}

/* A machine may lack the origin that a scenario file names, which skips the cell. One that the user names is there, or
 * misspelt. */
static int check_origin(const char *key, const char *value, struct lb_error *err) {
  if (!lb_scenario_names_origin(key) || lb_origin_find(value, err)) return 0;
  return lb_error_prefix(err, "-s %s=%s: ", key, value);
}

/* `option` NULL: of a key, whose value the scenario checks. */
static int add_value(struct lb_change *s, struct setting *word, const struct lb_option *option, const char *value,
                     struct lb_error *err) {
  union lb_value parsed = {0};
  size_t count = s->count;
  word->value = value;
  if (option && !parse_value(option, value, &parsed)) return refuse_value(word, option, err);
  if (!option && check_origin(s->key, value, err) < 0) return -EINVAL;
  LB_APPEND(s->parsed, count) = parsed;
  LB_APPEND(s->value, s->count) = value;
  return 0;
}

static int add_values(struct lb_change *s, struct setting *word, const struct lb_option *option, const char *text,
                      struct lb_error *err) {
  int r = 0;
  bool varies = option ? option->type != LB_OPT_TEXT : lb_scenario_varies(s->key);
  if (!varies || !strchr(text, ',')) return add_value(s, word, option, text, err);
  s->list = lb_need_text(text);
  for (char *rest = s->list, *value; r == 0 && (value = strsep(&rest, ","));) {
    value = trim(value);
    r = check_one(s, value, err);
    if (r == 0) r = add_value(s, word, option, value, err);
  }
  return r;
}

/* `known` is found by its name before those of the registry; may be NULL. */
static int add_word(struct lb_settings *settings, const char *text, const struct lb_protocol *known,
                    struct lb_error *err) {
  struct setting word;
  const struct lb_option *option = NULL;
  const char *equals = strchr(text, '=');
  if (!equals) return lb_refuse(err, "-s %s: expected key=value or protocol.option=value", text);
  struct lb_change *s = &LB_APPEND(settings->of, settings->count);
  *s = (struct lb_change){.key = lb_need(strndup(text, (size_t)(equals - text)))};
  if (split(text, &word)) {
    s->protocol = known && strcmp(known->name, word.protocol) == 0 ? known : lb_protocol_find(word.protocol);
    int r = find_option(&word, s->protocol, &option, err);
    if (r < 0) return r;
    s->option = lb_option_index(s->protocol, option);
  }
  return add_values(s, &word, option, equals + 1, err);
}

int lb_settings_parse(struct lb_settings *settings, const char *const *words, size_t count, struct lb_error *err) {
  int r = 0;
  for (size_t i = 0; r == 0 && i < count; i++) r = add_word(settings, words[i], NULL, err);
  return r;
}

void lb_settings_clear(struct lb_settings *settings) {
  for (size_t i = 0; i < settings->count; i++) {
    free(settings->of[i].key);
    free(settings->of[i].value);
    free(settings->of[i].parsed);
    free(settings->of[i].list);
  }
  free(settings->of);
  *settings = (struct lb_settings){0};
}

/* ---- values of options ---- */

/* In the order of the protocol's table. */
union lb_value *lb_settings_defaults(const struct lb_protocol *protocol) {
  size_t n = 0;
  while (lb_option_at(protocol, n)) n++;
  union lb_value *values = lb_need(calloc(n + 1, sizeof *values));
  for (size_t i = 0; i < n; i++) values[i] = default_value(lb_option_at(protocol, i));
  return values;
}

void lb_settings_put_one(const struct lb_change *setting, size_t which, const struct lb_protocol *protocol,
                         union lb_value *values) {
  if (setting->protocol == protocol) values[setting->option] = setting->parsed[which];
}

/* If an option is set twice, the last one counts. */
void lb_settings_put(const struct lb_settings *settings, const struct lb_protocol *protocol, union lb_value *values) {
  for (size_t i = 0; i < settings->count; i++)
    if (settings->of[i].count == 1) lb_settings_put_one(&settings->of[i], 0, protocol, values);
}

int lb_settings_check(const char *const *words, size_t count, struct lb_error *err) {
  struct lb_settings settings = {0};
  int r = lb_settings_parse(&settings, words, count, err);
  lb_settings_clear(&settings);
  return r;
}

union lb_value *lb_settings_options(const struct lb_protocol *protocol, const char *const *words, size_t count) {
  struct lb_settings settings = {0};
  struct setting word;
  struct lb_error err;
  union lb_value *values = lb_settings_defaults(protocol);
  for (size_t i = 0; i < count; i++)
    if (split(words[i], &word) && strcmp(word.protocol, protocol->name) == 0)
      add_word(&settings, words[i], protocol, &err);
  lb_settings_put(&settings, protocol, values);
  lb_settings_clear(&settings);
  return values;
}
