/* SPDX-License-Identifier: MIT
 *
 * The scenarios of a plan: loaded, set, and multiplied where a setting has several values. A variant
 * is a scenario like any other, loaded from the same file, with a name that says what is varied; so
 * everything that comes after knows nothing of it. What is varied by several settings has a variant
 * for each combination.
 *
 * The order is: what a suite sets, what the command line sets, what is varied. What a scenario says of
 * options comes before all of these (plan_systems.c). A setting of one value that comes after a list of
 * the same key takes the list away.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan.h"
#include "scenario/scenario_load.h"
#include "settings.h"

enum { LISTS_MAX = 4, VALUES_MAX = 16, VARIANTS_MAX = 64 };

struct list { /* "hold_ms=0,1,10", taken apart */
  char key[100], text[100];
  const char *value[VALUES_MAX]; /* into text */
  size_t count;
};

struct lists {
  struct list of[LISTS_MAX];
  size_t count;
};

/* ---- lists of values ------------------------------------------------------------------------- */

static bool is_option(const char *key) { return strchr(key, '.'); }

/* The value without the blanks around it. */
static char *trim(char *value) {
  value += strspn(value, " ");
  size_t length = strlen(value);
  while (length > 0 && value[length - 1] == ' ') value[--length] = '\0';
  return value;
}

/* Values of options are checked here, those of keys when they are set. They stand in names of files. */
static int check_value(const struct list *list, const char *value, struct lb_error *err) {
  char setting[220];
  const char *one = setting;
  for (size_t i = 0; i < list->count; i++)
    if (strcmp(list->value[i], value) == 0) return lb_refuse(err, "-s %s: %s stands there twice", list->key, value);
  if (!*value || strpbrk(value, " /~")) return lb_refuse(err, "-s %s: '%s' is no value", list->key, value);
  if (list->count == VALUES_MAX) return lb_refuse(err, "-s %s: expected at most %d values", list->key, VALUES_MAX);
  snprintf(setting, sizeof setting, "%s=%s", list->key, value);
  return is_option(list->key) ? lb_settings_check(&one, 1, err) : 0;
}

static int take_apart(const char *setting, struct list *ret, struct lb_error *err) {
  const char *equals = strchr(setting, '=');
  *ret = (struct list){0};
  if ((size_t)(equals - setting) >= sizeof ret->key || strlen(equals + 1) >= sizeof ret->text)
    return lb_refuse(err, "-s %.40s...: the list is too long", setting);
  snprintf(ret->key, sizeof ret->key, "%.*s", (int)(equals - setting), setting);
  snprintf(ret->text, sizeof ret->text, "%s", equals + 1);
  for (char *rest = ret->text, *word; (word = strsep(&rest, ","));) {
    word = trim(word);
    int r = check_value(ret, word, err);
    if (r < 0) return r;
    ret->value[ret->count++] = word;
  }
  return 0;
}

/* If a key is set again, the last setting counts, as for one value. */
static void forget(struct lists *lists, const char *setting) {
  size_t kept = 0;
  for (size_t i = 0; i < lists->count; i++) {
    size_t length = strlen(lists->of[i].key);
    if (strncmp(lists->of[i].key, setting, length) == 0 && setting[length] == '=') continue;
    lists->of[kept++] = lists->of[i];
  }
  lists->count = kept;
}

static int take(struct lists *lists, const char *setting, struct lb_error *err) {
  forget(lists, setting);
  if (!lb_settings_is_list(setting)) return 0;
  if (lists->count == LISTS_MAX) return lb_refuse(err, "-s %s: at most %d keys are varied", setting, LISTS_MAX);
  return take_apart(setting, &lists->of[lists->count++], err);
}

/* ---- one scenario ---------------------------------------------------------------------------- */

/* What a suite changes in this scenario alone, "key=value key=value". `lists` NULL: sets the single
 * values; else takes the lists. */
static int take_own(struct lb_scenario *scenario, const char *settings, struct lists *lists, struct lb_error *err) {
  int r = 0;
  char *list = strdup(settings), *rest = list;
  if (!list) return -ENOMEM;
  for (char *word; r == 0 && (word = strsep(&rest, " "));) {
    char *value = strchr(word, '=');
    if (*word && !value) r = lb_refuse(err, "%s: '%s': expected key=value", scenario->name, word);
    else if (lists && value) r = take(lists, word, err);
    else if (value && !lb_settings_is_list(word)) *value = '\0', r = lb_scenario_set(scenario, word, value + 1, err);
  }
  free(list);
  return r == -ENOTSUP ? -EINVAL : r; /* a suite names the scenario itself */
}

/* A key that this scenario does not have (a timeline has no duration) makes no variants of it. */
static int drop_foreign(struct lb_scenario *scenario, struct lists *lists, struct lb_error *err) {
  size_t kept = 0;
  for (size_t i = 0; i < lists->count; i++) {
    int r = is_option(lists->of[i].key) ? 0 : lb_scenario_set(scenario, lists->of[i].key, lists->of[i].value[0], err);
    if (r < 0 && r != -ENOTSUP) return r;
    if (r == 0) lists->of[kept++] = lists->of[i];
  }
  lists->count = kept;
  return 0;
}

/* The room of scenarios knows no protocol, so what a file says of their options is checked here. A refusal begins with
 * "-s ", which the user has not typed here. */
static int check_options(const struct lb_scenario *scenario, struct lb_error *err) {
  struct lb_error why;
  int r = lb_settings_check((const char *const *)scenario->options, scenario->option_count, &why);
  return r < 0 ? lb_refuse(err, "%s: option = %s", scenario->path, why.text + strlen("-s ")) : 0;
}

/* Nor does it know the rules. Where none were read (tests), any attack will do. */
static int check_attack(const struct lb_scenario *scenario, struct lb_error *err) {
  const char *near;
  if (!scenario->attack || !lb_rule_at(0) || lb_theory_has_attack(scenario->attack, &near)) return 0;
  return lb_refuse(err, "%s: attack = %s: there are no rules for it%s%s%s", scenario->path, scenario->attack,
                   near ? ", did you mean '" : "", near ? near : "", near ? "'?" : ", see scenarios/theory/rules.ini");
}

/* The lists of a scenario, found by trying them on a copy that is thrown away. */
static int find_lists(const struct lb_plan_request *request, size_t index, struct lists *ret, struct lb_error *err) {
  struct lb_scenario scratch;
  *ret = (struct lists){0};
  const char *own = request->own_settings ? request->own_settings[index] : NULL;
  int r = lb_scenario_load(request->scenario_paths[index], &scratch, err);
  if (r < 0) return r;
  r = check_options(&scratch, err);
  if (r == 0) r = check_attack(&scratch, err);
  if (r == 0 && own) r = take_own(&scratch, own, ret, err);
  for (size_t i = 0; r == 0 && i < request->setting_count; i++) r = take(ret, request->settings[i], err);
  if (r == 0) r = drop_foreign(&scratch, ret, err);
  lb_scenario_clear(&scratch);
  return r;
}

#define NAME_BYTES_MAX 80 /* of a variant: beside it a file name has a system, a guard and numbers */

/* In the name an option stands without its protocol, which every system of such a run has. */
static int vary_scenario(struct lb_scenario *scenario, const char *key, const char *value, struct lb_error *err) {
  const char *dot = strchr(key, '.');
  char *name = NULL, *varied = NULL;
  bool named = asprintf(&name, "%s~%s=%s", scenario->name, dot ? dot + 1 : key, value) >= 0;
  bool told = asprintf(&varied, "%s%s%s=%s", scenario->varied ? scenario->varied : "", scenario->varied ? " " : "", key,
                       value) >= 0;
  int r = !named || !told ? -ENOMEM : 0;
  if (r == 0 && strlen(name) > NAME_BYTES_MAX)
    r = lb_refuse(err, "-s: the variant '%s' has a name of more than %d bytes", name, NAME_BYTES_MAX);
  if (r < 0) {
    if (named) free(name);
    if (told) free(varied);
    return r;
  }
  free(scenario->name);
  free(scenario->varied);
  scenario->name = name;
  scenario->varied = varied;
  return 0;
}

/* Variant number `which` of all combinations; the last list changes fastest. */
static int load_variant(const struct lb_plan_request *request, size_t index, const struct lists *lists, size_t which,
                        struct lb_scenario *ret, struct lb_error *err) {
  size_t below[LISTS_MAX], period = 1;
  for (size_t i = lists->count; i-- > 0; period *= lists->of[i].count) below[i] = period;
  int r = lb_scenario_load(request->scenario_paths[index], ret, err);
  if (r < 0) return r;
  if (request->own_settings && request->own_settings[index]) r = take_own(ret, request->own_settings[index], NULL, err);
  for (size_t i = 0; r == 0 && i < lists->count; i++) {
    const struct list *list = &lists->of[i];
    r = vary_scenario(ret, list->key, list->value[which / below[i] % list->count], err);
  }
  if (r < 0) lb_scenario_clear(ret);
  return r;
}

static int add_variants(const struct lb_plan_making *m, size_t index, struct lb_error *err) {
  struct lb_plan *plan = m->plan;
  const struct lb_plan_request *request = m->request;
  struct lists lists;
  size_t variants = 1;
  int r = find_lists(request, index, &lists, err);
  if (r < 0) return r;
  for (size_t i = 0; i < lists.count; i++) variants *= lists.of[i].count;
  if (variants > VARIANTS_MAX)
    return lb_refuse(err, "-s: %zu variants of %s, expected at most %d", variants, request->scenario_paths[index],
                     VARIANTS_MAX);
  struct lb_scenario *grown = realloc(plan->scenarios, (plan->scenario_count + variants) * sizeof *grown);
  if (!grown) return -ENOMEM;
  plan->scenarios = grown;
  for (size_t i = 0; r == 0 && i < variants; i++) {
    r = load_variant(request, index, &lists, i, &grown[plan->scenario_count], err);
    if (r == 0) plan->scenario_count++;
  }
  return r;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Cells, and the files of their trials, are named after their scenario: two of one name would
 * overwrite each other. */
static int check_names(const struct lb_plan *plan, struct lb_error *err) {
  const struct lb_scenario *s = plan->scenarios;
  for (size_t i = 0; i < plan->scenario_count; i++)
    for (size_t k = 0; k < i; k++)
      if (strcmp(s[i].name, s[k].name) == 0)
        return lb_refuse(err, "scenario '%s' is named twice (%s and %s): expected each once", s[i].base, s[k].path,
                         s[i].path);
  return 0;
}

static bool is_varied(const struct lb_plan *plan, const char *key) {
  size_t length = strlen(key);
  for (size_t i = 0; i < plan->scenario_count; i++)
    for (const char *at = plan->scenarios[i].varied; at && *at; at += strcspn(at, " "), at += *at == ' ')
      if (strncmp(at, key, length) == 0 && at[length] == '=') return true;
  return false;
}

/* A list that no scenario takes would change nothing, and the user would not learn it. */
static int check_lists(const struct lb_plan *plan, const struct lb_plan_request *request, struct lb_error *err) {
  struct lists lists = {0};
  int r = 0;
  for (size_t i = 0; r == 0 && i < request->setting_count; i++) r = take(&lists, request->settings[i], err);
  for (size_t i = 0; r == 0 && i < lists.count; i++)
    if (!is_varied(plan, lists.of[i].key))
      r = lb_refuse(err, "-s %s: no scenario of this run has such a key", lists.of[i].key);
  return r;
}

/* The keys that tell this variant from the others; its options are set where cells are made. */
static int set_varied(struct lb_scenario *scenario, struct lb_error *err) {
  int r = 0;
  char *list = strdup(scenario->varied), *rest = list;
  if (!list) return -ENOMEM;
  for (char *word; r == 0 && (word = strsep(&rest, " "));) {
    char *value = strchr(word, '=');
    *value++ = '\0';
    if (!is_option(word)) r = lb_scenario_set(scenario, word, value, err);
  }
  free(list);
  return r;
}

/* `-s` and a suite set them one after the other, so this is asked when all are set. */
static int check_arrivals(const struct lb_scenario *scenario, struct lb_error *err) {
  bool open = scenario->arrivals != LB_ARRIVE_CLOSED;
  if (open && scenario->rate_per_s <= 0)
    return lb_refuse(err, "%s: an open loop has a rate: expected rate_per_s", scenario->name);
  if (!open && scenario->rate_per_s > 0)
    return lb_refuse(err, "%s: a closed loop has no rate: expected arrivals=constant or poisson", scenario->name);
  if (open && scenario->think_ms > 0)
    return lb_refuse(err, "%s: nobody thinks in an open loop: expected no think_ms", scenario->name);
  if (scenario->skew > 0 && scenario->keys < 2)
    return lb_refuse(err, "%s: one lock is not chosen: expected keys=2 or more beside skew", scenario->name);
  return 0;
}

/* The array does not move any more once all are loaded: cells, jobs and expectations point into it. */
int lb_plan_add_scenarios(const struct lb_plan_making *m, struct lb_error *err) {
  struct lb_plan *plan = m->plan;
  int r = 0;
  for (size_t i = 0; r == 0 && i < m->request->scenario_count; i++) r = add_variants(m, i, err);
  if (r == 0) r = check_names(plan, err);
  if (r == 0) r = check_lists(plan, m->request, err);
  if (r == 0) r = lb_settings_apply(plan->scenarios, plan->scenario_count, m->settings, m->setting_count, err);
  for (size_t i = 0; r == 0 && i < plan->scenario_count; i++)
    if (plan->scenarios[i].varied) r = set_varied(&plan->scenarios[i], err);
  for (size_t i = 0; r == 0 && i < plan->scenario_count; i++) r = check_arrivals(&plan->scenarios[i], err);
  return r;
}
