/* SPDX-License-Identifier: MIT
 *
 * Options from one table. No abbreviations: "--see" is a mistake with a suggestion, not another way to write --seed.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../backends/registry.h"
#include "called.h"
#include "cli.h"
#include "scenario.h"
#include "suggest.h"
#include "version.h"

enum kind {
  TEXT_SYSTEMS,
  TEXT_GUARD,
  TEXT_OUT,
  TEXT_EXPORT,
  SETTING,
  COUNT_TRIALS,
  COUNT_JOBS,
  COUNT_TRIAL,
  SEED,
  JSON,
  PLUGIN,
  EXPECT
};

static const struct arg {
  const char *name, *alias;
  enum kind kind;
  unsigned takes;
  bool value;
} table[] = {
    {"-b", "--systems", TEXT_SYSTEMS, LB_ARG_RUN, true},
    {"-g", "--guard", TEXT_GUARD, LB_ARG_RUN, true},
    {"-o", "--out", TEXT_OUT, LB_ARG_RUN, true},
    {"-s", "--set", SETTING, LB_ARG_RUN, true},
    {"-n", "--trials", COUNT_TRIALS, LB_ARG_RUN, true},
    {"-j", "--jobs", COUNT_JOBS, LB_ARG_RUN, true},
    {"--expect", NULL, EXPECT, LB_ARG_RUN, true},
    {"--seed", NULL, SEED, LB_ARG_RUN, true},
    {"--json", NULL, JSON, LB_ARG_JSON, false},
    {"--plugin", NULL, PLUGIN, LB_ARG_PLUGIN, true},
    {"--trial", NULL, COUNT_TRIAL, LB_ARG_TRIAL, true},
    {"--export", NULL, TEXT_EXPORT, LB_ARG_EXPORT, true},
};
enum { TABLE_COUNT = sizeof table / sizeof *table };

int lb_complain(int code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("lockbench: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  return code;
}

const char *lb_root(void) {
  const char *root = getenv("LOCKBENCH_ROOT");
  return root && *root ? root : LB_SOURCE_ROOT;
}

static bool whole_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret) {
  char *end;
  errno = 0;
  if (*text < '0' || *text > '9') return false;
  unsigned long long value = strtoull(text, &end, 10);
  *ret = value;
  return errno == 0 && *end == '\0' && value >= min && value <= max;
}

static int set_number(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *ret) {
  if (whole_number(text, min, max, ret)) return 0;
  return lb_complain(LB_EXIT_USAGE, "%s %s: expected a whole number from %llu to %llu", name, text,
                     (unsigned long long)min, (unsigned long long)max);
}

static int set_plugin(const char *path, struct lb_args *args) {
  char err[600];
  const struct lb_protocol *protocol = lb_protocol_load(path, err, sizeof err);
  if (!protocol) return lb_complain(LB_EXIT_USAGE, "--plugin %s", err);
  size_t length = strlen(args->plugins);
  snprintf(args->plugins + length, sizeof args->plugins - length, "%s%s", length ? "," : "", protocol->name);
  return 0;
}

static int set_expect(const char *text, struct lb_args *args) {
  static const enum lb_verdict verdicts[] = {LB_SAFE, LB_VIOLATED, LB_STUCK};
  enum { COUNT = sizeof verdicts / sizeof *verdicts };
  const char *names[COUNT];
  for (int i = 0; i < COUNT; i++) {
    names[i] = lb_verdict_name(verdicts[i]);
    if (strcmp(names[i], text) == 0) return args->expect = verdicts[i], 0;
  }
  const char *near = lb_suggest(text, names, COUNT);
  return lb_complain(LB_EXIT_USAGE, "--expect %s: expected safe, violated or stuck%s%s%s", text, near ? "; did you mean '" : "",
                     near ? near : "", near ? "'?" : "");
}

static int set_guard(const char *text, struct lb_args *args) {
  const char *names[LB_GUARD_COUNT];
  args->guard = text;
  if (lb_guard_find(text) >= 0) return 0;
  for (int i = 0; i < LB_GUARD_COUNT; i++) names[i] = lb_guard_name((enum lb_guard)i);
  const char *near = lb_suggest(text, names, LB_GUARD_COUNT);
  return lb_complain(LB_EXIT_USAGE, "-g %s: unknown guard%s%s%s, expected none, deadline, recheck or fence", text,
                     near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int set(const struct arg *arg, const char *value, struct lb_args *args) {
  uint64_t number = 0;
  int r = 0;
  switch (arg->kind) {
    case TEXT_SYSTEMS: args->systems = value; return 0;
    case TEXT_GUARD: return set_guard(value, args);
    case TEXT_OUT: args->out = value; return 0;
    case TEXT_EXPORT: args->export = value; return 0;
    case JSON: args->json = true; return 0;
    case PLUGIN: return set_plugin(value, args);
    case EXPECT: return set_expect(value, args);
    case COUNT_TRIALS:
      r = set_number("-n", value, 1, 100000, &number);
      args->trials = (int)number;
      return r;
    case COUNT_TRIAL:
      r = set_number("--trial", value, 1, 100000, &number);
      args->trial = (int)number;
      return r;
    case COUNT_JOBS:
      r = set_number("-j", value, 1, 64, &number);
      args->jobs = (int)number;
      return r;
    case SEED: args->has_seed = true; return set_number("--seed", value, 0, INT64_MAX, &args->seed);
    case SETTING:
      if (args->setting_count == LB_ARGS_MAX) return lb_complain(LB_EXIT_USAGE, "-s: at most %d times", LB_ARGS_MAX);
      args->settings[args->setting_count++] = value;
      return 0;
  }
  return LB_EXIT_USAGE;
}

static const struct arg *find(const char *text, unsigned takes) {
  for (size_t i = 0; i < TABLE_COUNT; i++)
    if ((table[i].takes & takes) &&
        (strcmp(text, table[i].name) == 0 || (table[i].alias && strcmp(text, table[i].alias) == 0)))
      return &table[i];
  return NULL;
}

static int unknown_option(const char *text, unsigned takes) {
  const char *words[2 * TABLE_COUNT];
  size_t count = 0;
  for (size_t i = 0; i < TABLE_COUNT; i++) {
    if (!(table[i].takes & takes)) continue;
    words[count++] = table[i].name;
    if (table[i].alias) words[count++] = table[i].alias;
  }
  const char *near = lb_suggest(text, words, count);
  if (near) return lb_complain(LB_EXIT_USAGE, "unknown option '%s', did you mean '%s'?", text, near);
  return lb_complain(LB_EXIT_USAGE, "unknown option '%s', see `%s help`", text, lb_called());
}

int lb_args_parse(int argc, char **argv, unsigned takes, struct lb_args *ret) {
  *ret = (struct lb_args){.expect = LB_VERDICT_NONE};
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] != '-' || argv[i][1] == '\0') {
      if (ret->word_count == LB_ARGS_MAX) return lb_complain(LB_EXIT_USAGE, "too many arguments");
      ret->words[ret->word_count++] = argv[i];
      continue;
    }
    char name[64];
    const char *equals = strncmp(argv[i], "--", 2) == 0 ? strchr(argv[i], '=') : NULL;
    snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - argv[i] : (long)strlen(argv[i])), argv[i]);
    const struct arg *arg = find(name, takes);
    if (!arg) return unknown_option(name, takes);
    if (!arg->value && equals) return lb_complain(LB_EXIT_USAGE, "%s takes no value", name);
    if (arg->value && !equals && i + 1 == argc) return lb_complain(LB_EXIT_USAGE, "%s: expected a value", name);
    int r = set(arg, equals ? equals + 1 : arg->value ? argv[++i] : NULL, ret);
    if (r) return r;
  }
  return 0;
}

char *lb_find_scenario(const char *name) {
  char folder[4096], **names = NULL, **paths = NULL, *found = NULL;
  size_t count = 0, length = strlen(name);
  if (strchr(name, '/') || (length > 4 && strcmp(name + length - 4, ".ini") == 0)) return strdup(name);
  snprintf(folder, sizeof folder, "%s/scenarios", lb_root());
  int r = lb_scenario_list(folder, &names, &paths, &count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) found = strdup(paths[i]);
  const char *near = count ? lb_suggest(name, (const char *const *)names, count) : NULL;
  if (r < 0) lb_complain(0, "cannot read %s: %s", folder, strerror(-r));
  else if (!found && near) lb_complain(0, "unknown scenario '%s', did you mean '%s'?", name, near);
  else if (!found)
    lb_complain(0, "unknown scenario '%s', expected one of `%s list scenarios` or a path to an .ini file", name,
                lb_called());
  for (size_t i = 0; i < count; i++) free(names[i]), free(paths[i]);
  free(names);
  free(paths);
  return found;
}
