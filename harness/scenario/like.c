/* SPDX-License-Identifier: MIT
 *
 * `like = NAME`: what a scenario takes from another one, its base.
 *
 * The file's own keys are read first. Then each key that it does not have is taken from the base, a list as a whole. So a
 * scenario looks to everybody else as if all of it stood in its own file. What is taken has the line of `like`: there a reader
 * has to look when it does not fit.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "base/suggest.h"
#include "lines.h"
#include "scenario_parts.h"

/* ---- which file ------------------------------------------------------------------------------ */

bool lb_scenario_is_path(const char *name) {
  size_t length = strlen(name);
  return strchr(name, '/') || (length > 4 && strcmp(name + length - 4, ".ini") == 0);
}

char *lb_scenario_beside(const char *file, const char *name) {
  const char *slash = strrchr(file, '/');
  char *path = NULL;
  if (name[0] == '/' || !slash) return strdup(name);
  return asprintf(&path, "%.*s%s", (int)(slash - file) + 1, file, name) < 0 ? NULL : path;
}

/* By its name in the tree, as `lockbench run NAME` finds it. */
static int find_named(const char *name, char **ret, char *why, size_t why_size) {
  char folder[4096], **names = NULL, **paths = NULL;
  size_t count = 0;
  snprintf(folder, sizeof folder, "%s/" LB_SCENARIOS, lb_root());
  int r = lb_scenario_list(folder, &names, &paths, &count);
  if (r < 0) return lb_refuse(why, why_size, "cannot read %s: %s", folder, strerror(-r));
  for (size_t i = 0; i < count && !*ret && r == 0; i++)
    if (strcmp(names[i], name) == 0 && !(*ret = strdup(paths[i]))) r = -ENOMEM;
  const char *near = lb_suggest(name, (const char *const *)names, count);
  if (!*ret && r == 0)
    r = lb_refuse(why, why_size, "unknown scenario%s%s%s",
                  near ? ", did you mean '" : ": expected one of `list scenarios`, or a path to an .ini file",
                  near ? near : "", near ? "'?" : "");
  for (size_t i = 0; i < count; i++) free(names[i]), free(paths[i]);
  free(names);
  free(paths);
  return r;
}

static int find_base(const char *file, const char *name, char **ret, char *why, size_t why_size) {
  *ret = NULL;
  if (!lb_scenario_is_path(name)) return find_named(name, ret, why, why_size);
  *ret = lb_scenario_beside(file, name);
  return *ret ? 0 : -ENOMEM;
}

/* One level: who reads a file has to open one other, not a chain of them. */
static int read_base(const char *file, const char *name, struct lb_scenario *ret, int *lines, char *why,
                     size_t why_size) {
  char *path, *data = NULL;
  size_t size = 0;
  int r = find_base(file, name, &path, why, why_size);
  if (r == 0) r = lb_lines_load(path, &data, &size, why, why_size);
  if (r == 0) r = lb_scenario_read_keys(path, data, size, ret, lines, why, why_size);
  if (r == 0 && ret->like)
    r = lb_refuse(why, why_size, "that one is like %s itself: expected a scenario without `like`", ret->like);
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

/* `premise` and `safe` share a list, and one of them may stand in the file. */
static int take_premises(struct lb_scenario *to, struct lb_scenario *from, bool of_safe, int line) {
  struct lb_premise *grown = realloc(to->premises, (to->premise_count + from->premise_count + 1) * sizeof *grown);
  if (!grown) return -ENOMEM;
  to->premises = grown;
  for (size_t i = 0; i < from->premise_count; i++) {
    struct lb_premise *premise = &from->premises[i];
    if (premise->of_safe != of_safe) continue;
    grown[to->premise_count] = *premise;
    grown[to->premise_count++].line = line;
    premise->text = NULL;
  }
  return 0;
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

static int take_key(const struct lb_scenario_key *key, struct lb_scenario *to, struct lb_scenario *from, int line) {
  void *field = (char *)to + key->offset, *base = (char *)from + key->offset;
  bool fault = key->offset == offsetof(struct lb_scenario, faults);
  switch (key->type) {
    case LB_KEY_TEXT: take_text(field, base); break;
    case LB_KEY_WHOLE:
    case LB_KEY_WHOLE_OR_OWN: *(int *)field = *(int *)base; break;
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
    case LB_KEY_PREMISE: return take_premises(to, from, strcmp(key->name, "safe") == 0, line);
    case LB_KEY_VERDICT: break;
  }
  return 0;
}

int lb_scenario_take_base(const char *file, struct lb_scenario *scenario, int *key_lines, int line, char *err,
                          size_t err_size) {
  char why[LB_SCENARIO_ERR] = "";
  struct lb_scenario base = {0};
  int *lines = calloc(lb_scenario_key_count, sizeof *lines);
  int r = lines ? read_base(file, scenario->like, &base, lines, why, sizeof why) : -ENOMEM;
  for (size_t i = 0; i < lb_scenario_key_count && r == 0; i++) {
    const struct lb_scenario_key *key = &lb_scenario_keys[i];
    if ((key->flags & LB_KEY_OWN) || key_lines[i] || !lines[i]) continue;
    r = take_key(key, scenario, &base, line);
    key_lines[i] = line;
  }
  lb_scenario_clear(&base);
  free(lines);
  if (r == 0 || r == -ENOMEM) return r;
  return lb_refuse(err, err_size, "%s:%d: like = %s: %s", file, line, scenario->like, why);
}
