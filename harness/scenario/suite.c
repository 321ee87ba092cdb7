/* SPDX-License-Identifier: MIT
 *
 * From the text of a suite file to scenarios. Each section but [suite] names one; its keys are those that -s sets. A
 * setting is applied at once, so that a refusal names the line of the suite.
 */
#include "suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/need.h"
#include "base/text.h"
#include "expect.h"
#include "reader.h"
#include "scenario_load.h"

#define ABOUT "suite" /* the section of the suite itself */

/* Where the reader is: the suite so far, and the section it is in. */
struct reading {
  struct lb_ini ini;
  char **known, **known_paths; /* the scenarios in the folder */
  size_t known_count;
  struct lb_suite *suite;
  bool about;                        /* now in [suite] */
  int about_line;                    /* where it began; 0 = not yet */
  int *section_lines, *trials_lines; /* of each scenario of the suite; 0 = its section has no trials */
  int *key_lines;                    /* of lb_scenario_keys in this section, 0 = not seen */
  int trials;                        /* [suite] trials, 0 = not given */
};

/* ---- scenarios ------------------------------------------------------------------------------- */

/* A name of the folder comes first; what looks like a path is one otherwise. The file is not looked
 * for here: loading it does that. */
static int find_scenario(struct reading *r, const char *name, char **ret) {
  const char *known = NULL;
  for (size_t i = 0; i < r->known_count && !known; i++)
    if (strcmp(r->known[i], name) == 0) known = r->known_paths[i];
  if (known || lb_scenario_is_path(name)) {
    return *ret = known ? lb_need_text(known) : lb_scenario_beside(r->ini.path, name), 0;
  }
  const char *near = lb_text_suggest(name, (const char *const *)r->known, r->known_count);
  if (lb_text_suggest(name, (const char *const[]){ABOUT}, 1)) near = ABOUT;
  return lb_ini_refuse(
      &r->ini, -EINVAL, "section [%s] names no scenario%s%s%s", name, near ? ", did you mean [" : "", near ? near : "",
      near ? "]?" : ": expected [suite], or for each scenario a section with its name or path, such as [control]");
}

static struct lb_scenario *scenario_now(struct reading *r) { return &r->suite->scenarios[r->suite->count - 1]; }

/* By the scenario's name, not its path, because the name is what results are filed under. */
static int add_scenario(struct reading *r, char *path) {
  struct lb_error why;
  struct lb_suite *s = r->suite;
  size_t varied = s->count, guards = s->count, lines = s->count, trials = s->count;
  LB_APPEND(s->varied, varied) = lb_need_text("");
  LB_APPEND(s->own_guards, guards) = 0;
  LB_APPEND(r->section_lines, lines) = r->ini.line;
  LB_APPEND(r->trials_lines, trials) = 0;
  struct lb_scenario *scenario = &LB_APPEND(s->scenarios, s->count);
  if (lb_scenario_load(path, scenario, &why) < 0) return lb_ini_refuse(&r->ini, -EINVAL, "%s", why.text);
  for (size_t i = 0; i + 1 < s->count; i++)
    if (strcmp(s->scenarios[i].name, scenario->name) == 0)
      return lb_ini_refuse_twice(&r->ini, r->section_lines[i], "scenario '%s'", scenario->name);
  return 0;
}

static int begin_section(struct reading *r, const char *name) {
  char *path = NULL;
  memset(r->key_lines, 0, lb_scenario_key_count * sizeof *r->key_lines);
  r->about = strcmp(name, ABOUT) == 0;
  if (r->about && r->about_line) return lb_ini_refuse_twice(&r->ini, r->about_line, "section [" ABOUT "]");
  if (r->about) return r->about_line = r->ini.line, 0;
  int result = find_scenario(r, name, &path);
  if (result == 0) result = add_scenario(r, path);
  free(path);
  return result;
}

/* ---- keys -------------------------------------------------------------------------- */

/* The text without its blanks, behind what stands in *list already, after `between`. */
static void append_word(char **list, const char *between, const char *text) {
  char *word = lb_need_text(text);
  size_t len = 0;
  for (const char *at = text; *at; at++)
    if (!strchr(LB_BLANKS, *at)) word[len++] = *at;
  word[len] = '\0';
  char *more = lb_need_printed("%s%s%s", *list ? *list : "", *list && **list ? between : "", word);
  free(word);
  free(*list);
  *list = more;
}

/* "none, fence": read as the guards of an [expect] section are. */
static int take_guards(struct reading *r, const char *value, unsigned *ret) {
  struct lb_error why;
  char *section = lb_need_printed("%s %s", LB_EXPECT, value);
  for (char *at = section; *at; at++)
    if (*at == ',') *at = ' ';
  int result = lb_expect_guards(section, ret, &why);
  free(section);
  return result < 0
             ? lb_ini_refuse(&r->ini, -EINVAL, "%s", strchr(why.text, ':') ? strchr(why.text, ':') + 2 : why.text)
             : 0;
}

/* A number of trials as a scenario has it: tried on a scenario that is thrown away. */
static int take_trials(struct reading *r, int *field, const char *value) {
  struct lb_error why;
  struct lb_scenario scratch = {0};
  const struct lb_scenario_key *key = lb_scenario_key_find_set("trials", &why);
  int result = key ? lb_scenario_key_set(key, &scratch, "trials", value, 0, &why) : -EINVAL;
  *field = scratch.trials;
  return result < 0 ? lb_ini_refuse(&r->ini, result, "%s", why.text) : 0;
}

/* A key of [suite]. */
static int take_about(struct reading *r, const char *name, const char *value) {
  static const char *const known[] = {"title", "question", "systems", "guards", "trials", "guard_trials"};
  struct lb_suite *s = r->suite;
  char **field = strcmp(name, known[0]) == 0 ? &s->title : strcmp(name, known[1]) == 0 ? &s->question : NULL;
  if (!*value) return lb_ini_refuse(&r->ini, -EINVAL, "%s = : expected text", name);
  /* May stand several times: systems are many, and a line is short. */
  if (strcmp(name, "systems") == 0) return append_word(&s->systems, ",", value), 0;
  if (strcmp(name, "guards") == 0) return take_guards(r, value, &s->guards);
  if (strcmp(name, "trials") == 0) return take_trials(r, &r->trials, value);
  if (strcmp(name, "guard_trials") == 0) return take_trials(r, &s->guard_trials, value);
  if (field && *field) return lb_ini_refuse(&r->ini, -EINVAL, "%s stands twice in [" ABOUT "]", name);
  if (field) return *field = lb_need_text(value), 0;
  const char *near = lb_text_suggest(name, known, sizeof known / sizeof *known);
  return lb_ini_refuse(&r->ini, -EINVAL, "[" ABOUT "] has no key '%s'%s%s%s", name, near ? ", did you mean '" : "",
                       near ? near : "",
                       near ? "'?" : ": expected title, question, systems, guards, trials or guard_trials");
}

/* Each of several values, "0, 1, 10", is tried: the plan makes a variant of each. They are kept as one word of
 * "key=value,value key=...", so without blanks. */
static int vary(struct reading *r, const char *name, const char *value, struct lb_error *why) {
  int result = 0;
  for (const char *rest = value; result == 0 && rest;) {
    struct lb_scenario tried = *scenario_now(r); /* settable keys own no memory */
    size_t length;
    const char *at = lb_text_part(&rest, ',', &length);
    char *word = lb_need(strndup(at, length));
    result = lb_scenario_set(&tried, name, word, why);
    free(word);
  }
  char *word = lb_need_printed("%s=%s", name, value);
  append_word(&r->suite->varied[r->suite->count - 1], " ", word);
  free(word);
  return result;
}

/* A key of a scenario's section. What -s would refuse is refused here, with the line of the suite. */
static int take_setting(struct reading *r, const char *name, const char *value) {
  struct lb_error why;
  if (strcmp(name, "guards") == 0) return take_guards(r, value, &r->suite->own_guards[r->suite->count - 1]);
  const struct lb_scenario_key *key = lb_scenario_key_find_set(name, &why);
  if (!key) return lb_ini_refuse(&r->ini, -EINVAL, "%s", why.text);
  int *line = &r->key_lines[key - lb_scenario_keys];
  if (*line) return lb_ini_refuse_twice(&r->ini, *line, "%s", name);
  *line = r->ini.line;
  if (strcmp(name, "trials") == 0) r->trials_lines[r->suite->count - 1] = r->ini.line;
  int result = lb_scenario_varies(name) && strchr(value, ',') ? vary(r, name, value, &why)
                                                              : lb_scenario_set(scenario_now(r), name, value, &why);
  return result < 0 ? lb_ini_refuse(&r->ini, -EINVAL, "%s", why.text) : 0;
}

static int take_line(struct reading *r) {
  if (r->ini.indented) return lb_ini_refuse_indented(&r->ini);
  if (r->ini.kind == LB_INI_SECTION) return begin_section(r, r->ini.section);
  if (r->about) return take_about(r, r->ini.key, r->ini.value);
  if (r->suite->count > 0) return take_setting(r, r->ini.key, r->ini.value);
  return lb_ini_refuse(&r->ini, -EINVAL, "a key before any section: expected [" ABOUT "] first");
}

/* ---- the whole file -------------------------------------------------------------------------- */

/* These refusals have no line: what is missing stands nowhere. */
static int check_complete(struct reading *r) {
  const char *missing = !r->about_line         ? "section [" ABOUT "] is missing"
                        : !r->suite->title     ? "[" ABOUT "] title is missing: expected title = text"
                        : !r->suite->question  ? "[" ABOUT "] question is missing: expected question = text"
                        : r->suite->count == 0 ? "no scenario: expected for example [control]"
                                               : NULL;
  if (!missing) return 0;
  return lb_refuse(r->ini.err, "%s: %s", r->ini.path, missing);
}

/* [suite] trials is that of each scenario whose section says nothing else. */
static void spread_trials(struct reading *r) {
  for (size_t i = 0; r->trials && i < r->suite->count; i++)
    if (!r->trials_lines[i]) r->suite->scenarios[i].trials = r->trials;
}

static void forget(struct reading *r) {
  for (size_t i = 0; i < r->known_count; i++) free(r->known[i]), free(r->known_paths[i]);
  free(r->known);
  free(r->known_paths);
  free(r->section_lines);
  free(r->trials_lines);
  free(r->key_lines);
}

int lb_suite_parse(const char *path, const char *data, size_t size, const char *folder, struct lb_suite *ret,
                   struct lb_error *err) {
  struct reading r = {.suite = ret};
  *ret = (struct lb_suite){.name = lb_scenario_name_of(path), .path = lb_need_text(path)};
  r.key_lines = lb_need(calloc(lb_scenario_key_count, sizeof *r.key_lines));
  lb_ini_begin(&r.ini, path, data, size, err);
  int result = lb_scenario_list(folder, &r.known, &r.known_paths, &r.known_count);
  if (result < 0) lb_error(err, result, "%s: cannot read its scenarios in %s: %s", path, folder, strerror(-result));
  while (result == 0 && lb_ini_next(&r.ini)) result = take_line(&r);
  int read = lb_ini_end(&r.ini);
  if (result == 0) result = read;
  if (result == 0) result = check_complete(&r);
  if (result == 0) spread_trials(&r);
  forget(&r);
  if (result < 0) lb_suite_clear(ret);
  return result;
}

int lb_suite_load(const char *path, const char *folder, struct lb_suite *ret, struct lb_error *err) {
  char *data;
  size_t size;
  *ret = (struct lb_suite){0};
  int r = lb_ini_load(path, &data, &size, err);
  if (r < 0) return r;
  r = lb_suite_parse(path, data, size, folder, ret, err);
  free(data);
  return r;
}

void lb_suite_clear(struct lb_suite *suite) {
  for (size_t i = 0; i < suite->count; i++) free(suite->varied[i]);
  lb_scenario_clear_all(suite->scenarios, suite->count);
  free(suite->varied);
  free(suite->own_guards);
  free(suite->name);
  free(suite->path);
  free(suite->title);
  free(suite->question);
  free(suite->systems);
  *suite = (struct lb_suite){0};
}
