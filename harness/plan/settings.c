/* SPDX-License-Identifier: MIT
 *
 * `-s`: options of protocols are checked against their tables, workload keys against the scenarios.
 * A '.' before the '=' tells them apart, for no key of a scenario has one.
 *
 * All are checked before a plan is made. What comes later (lb_settings_options()) relies on that
 * and cannot fail but for memory.
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
#include "base/text.h"
#include "scenario/scenario_load.h"

enum { NAME_MAX_LENGTH = 64, WORDS_MAX = 64 };

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

bool lb_settings_is_list(const char *setting) {
  struct setting s;
  char key[NAME_MAX_LENGTH];
  const char *equals = strchr(setting, '=');
  if (!equals || !strchr(equals, ',')) return false;
  if (split(setting, &s)) {
    const struct lb_protocol *protocol = lb_protocol_find(s.protocol);
    const struct lb_option *option = protocol ? lb_option_find(protocol, s.option) : NULL;
    return option && option->type != LB_OPT_TEXT;
  }
  snprintf(key, sizeof key, "%.*s", (int)(equals - setting), setting);
  return lb_scenario_varies(key);
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

/* From the left to the right: protocol, option, value. The first that is wrong is told, with the
 * nearest word that would be right. */
static int check_option(const struct setting *s, struct lb_error *err) {
  const struct lb_protocol *protocol = lb_protocol_find(s->protocol);
  const char *words[WORDS_MAX];
  size_t count = 0;
  if (!protocol) {
    for (const struct lb_protocol *p; count < WORDS_MAX && (p = lb_protocol_at(count)); count++) words[count] = p->name;
    const char *near = lb_text_suggest(s->protocol, words, count);
    return lb_refuse(err, "-s %s.%s: unknown protocol '%s'%s%s%s", s->protocol, s->option, s->protocol,
                     near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
  }
  const struct lb_option *option = lb_option_find(protocol, s->option);
  union lb_value value;
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
  return parse_value(option, s->value, &value) ? 0 : refuse_value(s, option, err);
}

int lb_settings_check(const char *const *settings, size_t count, struct lb_error *err) {
  struct setting s;
  for (size_t i = 0; i < count; i++) {
    int r = 0;
    if (!strchr(settings[i], '=')) {
      r = lb_refuse(err, "-s %s: expected key=value or protocol.option=value", settings[i]);
    } else if (split(settings[i], &s)) {
      r = check_option(&s, err);
    }
    if (r < 0) return r;
  }
  return 0;
}

/* Sets a key in every scenario that has it; at least one must. A value that one of them refuses is refused. Passed
 * over, it would leave that scenario as it was, and the user would not learn it. */
static int apply(struct lb_scenario *scenarios, size_t scenario_count, const char *key, const char *value,
                 struct lb_error *err) {
  bool taken = false;
  for (size_t i = 0; i < scenario_count; i++) {
    int r = lb_scenario_set(&scenarios[i], key, value, err);
    if (r < 0 && r != -ENOTSUP) return r;
    taken |= r == 0;
  }
  return taken ? 0 : -EINVAL;
}

int lb_settings_apply(struct lb_scenario *scenarios, size_t scenario_count, const char *const *settings, size_t count,
                      struct lb_error *err) {
  struct setting s;
  char key[NAME_MAX_LENGTH];
  for (size_t i = 0; i < count; i++) {
    const char *equals = strchr(settings[i], '=');
    if (split(settings[i], &s)) continue;
    snprintf(key, sizeof key, "%.*s", (int)(equals - settings[i]), settings[i]);
    int r = apply(scenarios, scenario_count, key, equals + 1, err);
    if (r < 0) return r;
  }
  return 0;
}

/* In the order of the protocol's table. If a setting is given twice, the last one counts. */
union lb_value *lb_settings_options(const struct lb_protocol *protocol, const char *const *settings, size_t count) {
  size_t n = 0;
  while (lb_option_at(protocol, n)) n++;
  union lb_value *values = calloc(n + 1, sizeof *values);
  for (size_t i = 0; values && i < n; i++) values[i] = default_value(lb_option_at(protocol, i));
  struct setting s;
  for (size_t i = 0; values && i < count; i++) {
    const struct lb_option *o;
    if (split(settings[i], &s) && strcmp(s.protocol, protocol->name) == 0 && (o = lb_option_find(protocol, s.option)))
      parse_value(o, s.value, &values[lb_option_index(protocol, o)]);
  }
  return values;
}

void lb_settings_vary(const struct lb_protocol *protocol, const char *varied, union lb_value *values) {
  struct setting s;
  char word[3 * NAME_MAX_LENGTH];
  for (const char *at = varied; at && *at; at += strcspn(at, " "), at += *at == ' ') {
    snprintf(word, sizeof word, "%.*s", (int)strcspn(at, " "), at);
    const struct lb_option *o;
    if (split(word, &s) && strcmp(s.protocol, protocol->name) == 0 && (o = lb_option_find(protocol, s.option)))
      parse_value(o, s.value, &values[lb_option_index(protocol, o)]);
  }
}
