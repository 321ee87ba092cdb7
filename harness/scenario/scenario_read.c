/* SPDX-License-Identifier: MIT
 *
 * From the text of a scenario file to its keys: which sections and keys there are, and which of them have to be there.
 *
 * `like = NAME`: each key that the file does not have is then taken from the other one, a list as a whole, with the
 * line of `like`.
 */
#include "reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/need.h"
#include "base/process.h"
#include "base/text.h"
#include "expect.h"

#define SECTION_BYTES 80 /* longer than any section of ours */

/* In the order of a file. */
static const struct {
  const char *name;
  bool mandatory;
} sections[] = {
    {"scenario", true},  {"workload", true}, {"servers", false}, {"timeline", false},
    {"campaign", false}, {"proof", false},   {LB_EXPECT, true}, /* also with guards behind it */
};
#define SECTION_COUNT (sizeof sections / sizeof *sections)

struct reading {
  struct lb_ini ini;
  struct lb_scenario *scenario;
  int *key_lines;
  int section_lines[SECTION_COUNT];      /* 0 = not seen */
  int expect_lines[1 << LB_GUARD_COUNT]; /* the same of [expect ...], by its set of guards */
  const char *section;                   /* now; NULL = none yet */
  unsigned guards;                       /* of a section of expectations */
  const struct lb_scenario_key *above;   /* the key an indented line goes on with */
};

/* ---- sections -------------------------------------------------------------------------------- */

/* What is near is asked of the first word: the others are guards. */
static int refuse_section(struct reading *r, const char *name) {
  char word[SECTION_BYTES];
  const char *known[SECTION_COUNT];
  for (size_t i = 0; i < SECTION_COUNT; i++) known[i] = sections[i].name;
  snprintf(word, sizeof word, "%.*s", (int)strcspn(name, LB_BLANKS), name);
  const char *near = lb_text_suggest(word, known, SECTION_COUNT);
  return lb_ini_refuse(
      &r->ini, -EINVAL,
      "unknown section [%s]%s%s%s expected [scenario], [workload], [servers], [timeline], [campaign], [proof], "
      "[expect] or [expect GUARD ...]",
      name, near ? ", did you mean [" : "", near ? near : "", near ? "]?" : ":");
}

/* Its place in the table; a section of expectations says which guards it is for. */
static int find_section(struct reading *r, const char *name, size_t *ret) {
  struct lb_error why;
  int expects = lb_expect_guards(name, &r->guards, &why);
  if (expects == -EINVAL) return lb_ini_refuse(&r->ini, -EINVAL, "%s", why.text);
  for (size_t i = 0; i < SECTION_COUNT; i++) {
    if (strcmp(sections[i].name, expects == 0 ? LB_EXPECT : name) != 0) continue;
    *ret = i;
    return 0;
  }
  return refuse_section(r, name);
}

/* A section stands once; those of expectations once for each set of guards. */
static int begin_section(struct reading *r, const char *name) {
  size_t i = 0;
  if (find_section(r, name, &i) < 0) return -EINVAL;
  bool expects = strcmp(sections[i].name, LB_EXPECT) == 0;
  int *line = expects ? &r->expect_lines[r->guards] : &r->section_lines[i];
  if (*line) return lb_ini_refuse_twice(&r->ini, *line, "section [%s]", name);
  *line = r->section_lines[i] = r->ini.line;
  r->section = sections[i].name;
  return 0;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* "title = ..." indented by mistake would otherwise vanish in the text above it. */
static bool looks_like_key(const char *text) {
  size_t len = strcspn(text, "=: \t");
  size_t next = len + strspn(text + len, LB_BLANKS);
  if (*text == '[') return true;
  if (text[next] != '=' && text[next] != ':') return false;
  for (size_t i = 0; i < lb_scenario_key_count; i++)
    if (strlen(lb_scenario_keys[i].name) == len && strncmp(lb_scenario_keys[i].name, text, len) == 0) return true;
  return false;
}

/* One more line of a text, joined with a blank. */
static int go_on(struct reading *r, const char *text) {
  char **field = (char **)((char *)r->scenario + r->above->offset);
  if (!(r->above->flags & LB_KEY_LINES) || looks_like_key(text))
    return lb_ini_refuse(
        &r->ini, -EINVAL,
        "an indented line: it would go on with '%s'; expected keys and sections at the begin of a line",
        r->above->name);
  char *joined = lb_need_printed("%s %s", *field, text);
  free(*field);
  *field = joined;
  return 0;
}

/* A key may stand once, unless its row says otherwise: of two, one would silently lose. */
static int take_key(struct reading *r, const char *name, const char *value) {
  struct lb_error why;
  const struct lb_scenario_key *key = lb_scenario_key_find(r->section, name, &why);
  if (!key) return lb_ini_refuse(&r->ini, -EINVAL, "%s", why.text);
  int *line = &r->key_lines[key - lb_scenario_keys];
  if (*line && !(key->flags & LB_KEY_REPEATED)) return lb_ini_refuse_twice(&r->ini, *line, "%s", name);
  *line = r->ini.line;
  r->above = key;
  int result = key->type == LB_KEY_VERDICT ? lb_expect_add(r->scenario, r->guards, name, value, &why)
                                           : lb_scenario_key_set(key, r->scenario, name, value, r->ini.line, &why);
  return result < 0 ? lb_ini_refuse(&r->ini, result, "%s", why.text) : 0;
}

static int take_line(struct reading *r) {
  if (r->ini.kind == LB_INI_SECTION) return begin_section(r, r->ini.section);
  if (r->ini.kind == LB_INI_MORE) return go_on(r, r->ini.value);
  if (!r->section) return lb_ini_refuse(&r->ini, -EINVAL, "a key before any section: expected a [section] before it");
  return take_key(r, r->ini.key, r->ini.value);
}

/* ---- the whole file -------------------------------------------------------------------------- */

/* It stands in the file, or a key of it was taken from another one. */
static bool has_section(const struct reading *r, const char *name) {
  for (size_t i = 0; i < SECTION_COUNT; i++)
    if (strcmp(sections[i].name, name) == 0 && r->section_lines[i]) return true;
  for (size_t i = 0; i < lb_scenario_key_count; i++)
    if (strcmp(lb_scenario_keys[i].section, name) == 0 && r->key_lines[i]) return true;
  return false;
}

/* Keys are only missed in sections that are there: `step` is mandatory, but not without a [timeline]. */
static int check_complete(struct reading *r) {
  for (size_t i = 0; i < SECTION_COUNT; i++) {
    if (!sections[i].mandatory || has_section(r, sections[i].name)) continue;
    bool of_rules = strcmp(sections[i].name, LB_EXPECT) == 0 && r->scenario->attack;
    if (of_rules) continue;
    return lb_refuse(r->ini.err, "%s: section [%s] is missing", r->ini.path, sections[i].name);
  }
  for (size_t i = 0; i < lb_scenario_key_count; i++) {
    const struct lb_scenario_key *key = &lb_scenario_keys[i];
    if (!(key->flags & LB_KEY_MANDATORY) || r->key_lines[i] || !has_section(r, key->section)) continue;
    return lb_refuse(r->ini.err, "%s: [%s] %s is missing: expected %s = %s", r->ini.path, key->section, key->name,
                     key->name, lb_scenario_type_name(key->type));
  }
  return 0;
}

/* A default is set as if it stood in the file. Line 0 in key_lines still tells that it did not. */
static int set_defaults(struct reading *r) {
  struct lb_error why;
  for (size_t i = 0; i < lb_scenario_key_count; i++) {
    const struct lb_scenario_key *key = &lb_scenario_keys[i];
    if (r->key_lines[i] || !key->def) continue;
    int result = lb_scenario_key_set(key, r->scenario, key->name, key->def, 0, &why);
    if (result < 0) return lb_ini_refuse(&r->ini, result, "%s", why.text);
  }
  return 0;
}

static int read_keys(struct reading *r, const char *path, const char *data, size_t size, struct lb_error *err) {
  lb_ini_begin(&r->ini, path, data, size, err);
  while (lb_ini_next(&r->ini) && take_line(r) == 0) continue;
  return lb_ini_end(&r->ini);
}

/* ---- which file ------------------------------------------------------------------------------ */

bool lb_scenario_is_path(const char *name) {
  size_t length = strlen(name);
  return strchr(name, '/') || (length > 4 && strcmp(name + length - 4, ".ini") == 0);
}

char *lb_scenario_beside(const char *file, const char *name) {
  const char *slash = strrchr(file, '/');
  if (name[0] == '/' || !slash) return lb_need_text(name);
  return lb_need_printed("%.*s%s", (int)(slash - file) + 1, file, name);
}

/* By its name in the tree, as `lockbench run NAME` finds it. */
static int find_named(const char *name, char **ret, struct lb_error *why) {
  char folder[4096], **names = NULL, **paths = NULL;
  size_t count = 0;
  snprintf(folder, sizeof folder, "%s/" LB_SCENARIOS, lb_process_root());
  int r = lb_scenario_list(folder, &names, &paths, &count);
  if (r < 0) return lb_refuse(why, "cannot read %s: %s", folder, strerror(-r));
  for (size_t i = 0; i < count && !*ret; i++)
    if (strcmp(names[i], name) == 0) *ret = lb_need_text(paths[i]);
  const char *near = lb_text_suggest(name, (const char *const *)names, count);
  if (!*ret)
    r = lb_refuse(why, "unknown scenario%s%s%s",
                  near ? ", did you mean '" : ": expected one of `list scenarios`, or a path to an .ini file",
                  near ? near : "", near ? "'?" : "");
  for (size_t i = 0; i < count; i++) free(names[i]), free(paths[i]);
  free(names);
  free(paths);
  return r;
}

static int find_base(const char *file, const char *name, char **ret, struct lb_error *why) {
  *ret = NULL;
  if (!lb_scenario_is_path(name)) return find_named(name, ret, why);
  return *ret = lb_scenario_beside(file, name), 0;
}

/* One level: who reads a file has to open one other, not a chain of them. */
static int read_base(const char *file, const char *name, struct lb_scenario *ret, int *lines, struct lb_error *why) {
  char *path, *data = NULL;
  size_t size = 0;
  int r = find_base(file, name, &path, why);
  if (r == 0) r = lb_ini_load(path, &data, &size, why);
  if (r == 0) r = read_keys(&(struct reading){.scenario = ret, .key_lines = lines}, path, data, size, why);
  if (r == 0 && ret->like)
    r = lb_refuse(why, "that one is like %s itself: expected a scenario without `like`", ret->like);
  free(data);
  free(path);
  return r;
}

/* ---- what is taken --------------------------------------------------------------------------- */

static void take_text(char **to, char **from) {
  *to = *from;
  *from = NULL;
}

static void take_steps(struct lb_step **to, size_t *to_count, struct lb_step **from, size_t *from_count, int line) {
  *to = *from;
  *to_count = *from_count;
  *from = NULL;
  *from_count = 0;
  for (size_t i = 0; i < *to_count; i++) (*to)[i].line = line;
}

/* `premise`, `safe` and `test` share a list, and one of them may stand in the file. */
static void take_premises(struct lb_scenario *to, struct lb_scenario *from, enum lb_premise_use use, int line) {
  for (size_t i = 0; i < from->premise_count; i++) {
    struct lb_premise *premise = &from->premises[i];
    if (premise->use != use) continue;
    struct lb_premise *taken = &LB_APPEND(to->premises, to->premise_count);
    *taken = *premise;
    taken->line = line;
    premise->text = NULL;
  }
}

static void take_fact(struct lb_scenario *to, struct lb_scenario *from) {
  take_text(&to->proof_violated, &from->proof_violated);
  to->proof_role = from->proof_role;
  to->proof_present = from->proof_present;
}

static void take_options(struct lb_scenario *to, struct lb_scenario *from) {
  to->options = from->options;
  to->option_count = from->option_count;
  from->options = NULL;
  from->option_count = 0;
}

static void take_over(const struct lb_scenario_key *key, struct lb_scenario *to, struct lb_scenario *from, int line) {
  void *field = (char *)to + key->offset, *base = (char *)from + key->offset;
  bool fault = key->offset == offsetof(struct lb_scenario, faults);
  switch (key->type) {
    case LB_KEY_TEXT: take_text(field, base); break;
    case LB_KEY_WHOLE:
    case LB_KEY_WORD:
    case LB_KEY_WHOLE_OR_OWN: *(int *)field = *(int *)base; break;
    case LB_KEY_NAME: memcpy(field, base, LB_NAME_MAX); break;
    case LB_KEY_MS: *(int64_t *)field = *(int64_t *)base; break;
    case LB_KEY_REAL: *(double *)field = *(double *)base; break;
    case LB_KEY_YES_NO:
    case LB_KEY_STORAGE: *(bool *)field = *(bool *)base; break;
    case LB_KEY_WHOLE_LIST:
      memcpy(to->client_counts, from->client_counts, sizeof to->client_counts);
      to->client_count_count = from->client_count_count;
      break;
    case LB_KEY_OPTION: take_options(to, from); break;
    case LB_KEY_STEP:
      if (fault) take_steps(&to->faults, &to->fault_count, &from->faults, &from->fault_count, line);
      else take_steps(&to->steps, &to->step_count, &from->steps, &from->step_count, line);
      break;
    case LB_KEY_FACT: take_fact(to, from); break;
    case LB_KEY_PREMISE: take_premises(to, from, lb_premise_use_of(key->name), line); break;
    case LB_KEY_VERDICT: break;
  }
}

static int take_base(const char *file, struct lb_scenario *scenario, int *key_lines, int line, struct lb_error *err) {
  struct lb_scenario base = {0};
  int *lines = lb_need(calloc(lb_scenario_key_count, sizeof *lines));
  int r = read_base(file, scenario->like, &base, lines, err);
  for (size_t i = 0; i < lb_scenario_key_count && r == 0; i++) {
    const struct lb_scenario_key *key = &lb_scenario_keys[i];
    if ((key->flags & LB_KEY_OWN) || key_lines[i] || !lines[i]) continue;
    take_over(key, scenario, &base, line);
    key_lines[i] = line;
  }
  lb_scenario_clear(&base);
  free(lines);
  if (r == 0) return 0;
  return lb_error_prefix(err, "%s:%d: like = %s: ", file, line, scenario->like), -EINVAL;
}

int lb_scenario_read(const char *path, const char *data, size_t size, struct lb_scenario *scenario, int *key_lines,
                     struct lb_error *err) {
  struct reading r = {.scenario = scenario, .key_lines = key_lines};
  int result = read_keys(&r, path, data, size, err);
  for (size_t i = 0; i < lb_scenario_key_count && result == 0 && scenario->like; i++)
    if (lb_scenario_keys[i].offset == offsetof(struct lb_scenario, like))
      result = take_base(path, scenario, key_lines, key_lines[i], err);
  if (result == 0) result = check_complete(&r);
  return result < 0 ? result : set_defaults(&r);
}
