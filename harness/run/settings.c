/* SPDX-License-Identifier: MIT
 *
 * `-s`: options of protocols are checked against their tables, workload keys against the scenarios.
 */
#include "settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "base/called.h"
#include "base/refuse.h"
#include "base/suggest.h"

enum { NAME_MAX_LENGTH = 64, WORDS_MAX = 64 };

struct setting { /* "protocol.option=value", taken apart */
  char protocol[NAME_MAX_LENGTH], option[NAME_MAX_LENGTH];
  const char *value;
};

/* True if it speaks of a protocol's option (a '.' before the '='). */
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

static const struct lb_option *find_option(const struct lb_protocol *protocol, const char *name) {
  for (const struct lb_option *o = protocol->options; o && o->name; o++)
    if (strcmp(o->name, name) == 0) return o;
  return NULL;
}

static bool parse_value(const struct lb_option *option, const char *text, union lb_value *ret) {
  if (option->type == LB_OPT_BOOL) {
    ret->b = strcmp(text, "yes") == 0;
    return ret->b || strcmp(text, "no") == 0;
  }
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !isfinite(value) || value < option->min || value > option->max) return false;
  if (option->type == LB_OPT_INT && value != floor(value)) return false;
  if (option->type == LB_OPT_INT) ret->i = (int64_t)value;
  else ret->f = value;
  return true;
}

static int check_option(const struct setting *s, char *err, size_t err_size) {
  const struct lb_protocol *protocol = lb_protocol_find(s->protocol);
  const char *words[WORDS_MAX];
  size_t count = 0;
  if (!protocol) {
    for (const struct lb_protocol *p; count < WORDS_MAX && (p = lb_protocol_at(count)); count++) words[count] = p->name;
    const char *near = lb_suggest(s->protocol, words, count);
    return lb_refuse(err, err_size, "-s %s.%s: unknown protocol '%s'%s%s%s", s->protocol, s->option, s->protocol,
                     near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
  }
  const struct lb_option *option = find_option(protocol, s->option);
  union lb_value value;
  if (!option) {
    for (const struct lb_option *o = protocol->options; count < WORDS_MAX && o && o->name; o++)
      words[count++] = o->name;
    const char *near = lb_suggest(s->option, words, count);
    char advice[300] = "";
    if (near) snprintf(advice, sizeof advice, ", did you mean '%s'?", near);
    else if (count) snprintf(advice, sizeof advice, ", see `%s show %s`", lb_called(), s->protocol);
    return lb_refuse(err, err_size, "-s %s.%s: %s has no option '%s'%s", s->protocol, s->option, s->protocol, s->option,
                     advice);
  }
  if (parse_value(option, s->value, &value)) return 0;
  if (option->type == LB_OPT_BOOL)
    return lb_refuse(err, err_size, "-s %s.%s=%s: expected yes or no", s->protocol, s->option, s->value);
  return lb_refuse(err, err_size, "-s %s.%s=%s: expected a %snumber from %g to %g", s->protocol, s->option, s->value,
                   option->type == LB_OPT_INT ? "whole " : "", option->min, option->max);
}

int lb_settings_check(const char *const *settings, size_t count, char *err, size_t err_size) {
  struct setting s;
  for (size_t i = 0; i < count; i++) {
    int r = 0;
    if (!strchr(settings[i], '=')) {
      r = lb_refuse(err, err_size, "-s %s: expected key=value or protocol.option=value", settings[i]);
    } else if (split(settings[i], &s)) {
      r = check_option(&s, err, err_size);
    }
    if (r < 0) return r;
  }
  return 0;
}

/* True if one of the scenarios takes it. The last refusal is what the user reads, and a scenario that has no such key can
 * only say that, whatever the value. */
static bool apply(struct lb_scenario *scenarios, size_t scenario_count, const char *key, const char *value, char *err,
                  size_t err_size) {
  static const enum lb_scenario_kind turns[] = {LB_KIND_TIMELINE, LB_KIND_LOAD, LB_KIND_CAMPAIGN}; /* who takes more keys is asked later */
  bool taken = false;
  for (size_t turn = 0; turn < sizeof turns / sizeof *turns; turn++)
    for (size_t i = 0; i < scenario_count; i++)
      if (scenarios[i].kind == turns[turn]) taken |= lb_scenario_set(&scenarios[i], key, value, err, err_size) == 0;
  return taken;
}

int lb_settings_apply(struct lb_scenario *scenarios, size_t scenario_count, const char *const *settings, size_t count,
                      char *err, size_t err_size) {
  struct setting s;
  char key[NAME_MAX_LENGTH];
  for (size_t i = 0; i < count; i++) {
    const char *equals = strchr(settings[i], '=');
    if (split(settings[i], &s)) continue;
    snprintf(key, sizeof key, "%.*s", (int)(equals - settings[i]), settings[i]);
    if (!apply(scenarios, scenario_count, key, equals + 1, err, err_size)) return -EINVAL;
  }
  return 0;
}

union lb_value *lb_settings_options(const struct lb_protocol *protocol, const char *const *settings, size_t count) {
  size_t n = 0;
  while (protocol->options && protocol->options[n].name) n++;
  union lb_value *values = calloc(n + 1, sizeof *values);
  for (size_t i = 0; values && i < n; i++) {
    const struct lb_option *o = &protocol->options[i];
    if (o->type == LB_OPT_BOOL) values[i].b = o->def != 0;
    else if (o->type == LB_OPT_INT) values[i].i = (int64_t)o->def;
    else values[i].f = o->def;
  }
  struct setting s;
  for (size_t i = 0; values && i < count; i++) {
    const struct lb_option *o;
    if (split(settings[i], &s) && strcmp(s.protocol, protocol->name) == 0 && (o = find_option(protocol, s.option)))
      parse_value(o, s.value, &values[o - protocol->options]);
  }
  return values;
}
