/* SPDX-License-Identifier: MIT
 *
 * The scenarios of a plan. Settings are applied to copies. Where a setting has several
 * values it is multiplied: a variant is a copy, with a name that says what is varied, and so everything that comes after
 * knows nothing of it. What is varied by several settings has a variant for each combination. What the keys say together
 * is checked once, when all are set.
 *
 * The order is: what a suite sets, what the command line sets, what is varied. A setting of one value that comes after a
 * list of the same key takes the list away.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/need.h"
#include "plan.h"
#include "scenario/scenario_load.h"

enum { VARIANTS_MAX = 64 };

/* ---- lists of values ------------------------------------------------------------------------- */

/* If a key is set again, the last setting counts. */
static void forget(struct lb_variant *lists, const char *key) {
  size_t kept = 0;
  for (size_t i = 0; i < lists->count; i++)
    if (strcmp(lists->by[i]->key, key) != 0) lists->by[kept++] = lists->by[i];
  lists->count = kept;
}

static int take_list(struct lb_variant *lists, const struct lb_change *s, struct lb_error *err) {
  forget(lists, s->key);
  if (s->count == 1) return 0;
  if (lists->count == LB_VARIED_MAX)
    return lb_refuse(err, "-s %s=%s: at most %d keys are varied", s->key, s->value[0], LB_VARIED_MAX);
  lists->by[lists->count++] = s;
  return 0;
}

/* ---- one scenario ---------------------------------------------------------------------------- */

/* The room of scenarios knows no protocol, so what a file says of their options is checked here. A refusal begins with
 * "-s ", which the user has not typed here. */
static int take_options(struct lb_asked *asked, struct lb_error *err) {
  struct lb_error why;
  const struct lb_scenario *s = &asked->scenario;
  int r = lb_settings_parse(&asked->options, (const char *const *)s->options, s->option_count, &why);
  return r < 0 ? lb_refuse(err, "%s: option = %s", s->path, why.text + strlen("-s ")) : 0;
}

/* Nor does it know the rules. Where none were read (tests), any attack will do. */
static int check_attack(const struct lb_scenario *scenario, struct lb_error *err) {
  const char *near;
  if (!scenario->attack || !lb_rule_at(0) || lb_theory_has_attack(scenario->attack, &near)) return 0;
  return lb_refuse(err, "%s: attack = %s: there are no rules for it%s%s%s", scenario->path, scenario->attack,
                   near ? ", did you mean '" : "", near ? near : "", near ? "'?" : ", see scenarios/theory/rules.ini");
}

/* What a suite changes in this scenario alone, "key=value key=value". */
static int take_own(struct lb_asked *asked, const char *settings, struct lb_error *err) {
  int r = 0;
  asked->words = lb_need_text(settings ? settings : "");
  for (char *rest = asked->words, *word; r == 0 && (word = strsep(&rest, " "));) {
    const char *one = word;
    if (*word && !strchr(word, '=')) r = lb_refuse(err, "%s: '%s': expected key=value", asked->scenario.name, word);
    else if (*word) r = lb_settings_parse(&asked->own, &one, 1, err);
  }
  return r;
}

/* A key that a scenario does not have (a timeline has no duration) is for others: -ENOTSUP. Of several values the first
 * one says whether it has it. */
static int put(struct lb_scenario *scenario, const struct lb_change *s, size_t which, struct lb_error *err) {
  if (s->protocol) return 0; /* options are set where cells are made */
  int r = lb_scenario_put(scenario, s->key, s->value[which], err);
  return r < 0 ? lb_error_prefix(err, "-s: ") : 0;
}

/* "hold_ms = 3, keys = 2". */
static char *add_told(char *set, const struct lb_change *s) {
  char *told = lb_need_printed("%s%s%s = %s", set ? set : "", set ? ", " : "", s->key, s->value[0]);
  return free(set), told;
}

static int take(struct lb_asked *asked, struct lb_variant *lists, const struct lb_change *s, struct lb_error *err) {
  int r = put(&asked->scenario, s, 0, err);
  if (r < 0) return r;
  if (!s->protocol && s->count == 1) asked->set = add_told(asked->set, s);
  return take_list(lists, s, err);
}

/* Whether some scenario took a setting of the user, and what the last one that did not said. */
struct taken {
  bool by_any;
  struct lb_error why;
};

static int take_all(struct lb_asked *asked, const struct lb_settings *users, struct taken taken[],
                    struct lb_variant *lists, struct lb_error *err) {
  int r = 0;
  for (size_t i = 0; r == 0 && i < asked->own.count; i++) r = take(asked, lists, &asked->own.of[i], err);
  if (r < 0) return r == -ENOTSUP ? -EINVAL : r; /* a suite names the scenario itself */
  for (size_t i = 0; i < users->count; i++) {
    r = take(asked, lists, &users->of[i], err);
    if (r == -ENOTSUP) taken[i].why = *err;
    else if (r < 0) return r;
    else taken[i].by_any = true;
  }
  return 0;
}

/* ---- its variants ---------------------------------------------------------------------------- */

#define NAME_BYTES_MAX 80 /* of a variant: beside it a file name has a system, a guard and numbers */

/* In the name an option stands without its protocol, which every system of such a run has. */
static int vary(struct lb_scenario *scenario, const struct lb_change *s, size_t which, struct lb_error *err) {
  const char *dot = strchr(s->key, '.'), *value = s->value[which], *varied = scenario->varied;
  char *name = lb_need_printed("%s~%s=%s", scenario->name, dot ? dot + 1 : s->key, value);
  char *told = lb_need_printed("%s%s%s=%s", varied ? varied : "", varied ? " " : "", s->key, value);
  free(scenario->name);
  free(scenario->varied);
  scenario->name = name;
  scenario->varied = told;
  if (strlen(name) > NAME_BYTES_MAX)
    return lb_refuse(err, "-s: the variant '%s' has a name of more than %d bytes", name, NAME_BYTES_MAX);
  return put(scenario, s, which, err);
}

/* Variant number `which` of all combinations; the last list changes fastest. */
static void choose(struct lb_variant *variant, size_t which) {
  for (size_t i = variant->count; i-- > 0; which /= variant->by[i]->count)
    variant->which[i] = which % variant->by[i]->count;
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

/* What the keys say together, with all that was set in front of what is wrong. */
static int check(struct lb_scenario *scenario, const struct lb_asked *asked, struct lb_error *err) {
  int r = lb_scenario_settle(scenario, err);
  if (r < 0) return lb_error_prefix(err, "-s: %s%s", asked->set ? asked->set : "", asked->set ? ": " : "");
  return check_arrivals(scenario, err);
}

static int add_variant(struct lb_plan *plan, const struct lb_variant *variant, struct lb_error *err) {
  const struct lb_asked *asked = &plan->asked[variant->asked];
  size_t scenarios = plan->scenario_count;
  LB_APPEND(plan->variants, scenarios) = *variant;
  struct lb_scenario *scenario = &LB_APPEND(plan->scenarios, plan->scenario_count);
  int r = 0;
  lb_scenario_copy(&asked->scenario, scenario);
  for (size_t i = 0; r == 0 && i < variant->count; i++) r = vary(scenario, variant->by[i], variant->which[i], err);
  return r == 0 ? check(scenario, asked, err) : r;
}

static int add_variants(struct lb_plan *plan, struct lb_variant *lists, struct lb_error *err) {
  size_t variants = 1;
  int r = 0;
  for (size_t i = 0; i < lists->count; i++) variants *= lists->by[i]->count;
  if (variants > VARIANTS_MAX)
    return lb_refuse(err, "-s: %zu variants of %s, expected at most %d", variants,
                     plan->asked[lists->asked].scenario.path, VARIANTS_MAX);
  for (size_t i = 0; r == 0 && i < variants; i++) {
    choose(lists, i);
    r = add_variant(plan, lists, err);
  }
  return r;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int add_asked(struct lb_plan *plan, size_t at, const char *own, struct taken taken[], struct lb_error *err) {
  struct lb_asked *asked = &plan->asked[at];
  struct lb_variant lists = {.asked = at};
  int r = take_options(asked, err);
  if (r == 0) r = check_attack(&asked->scenario, err);
  if (r == 0) r = take_own(asked, own, err);
  if (r == 0) r = take_all(asked, &plan->settings, taken, &lists, err);
  return r == 0 ? add_variants(plan, &lists, err) : r;
}

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

/* One that no scenario takes would change nothing, and the user would not learn it. */
static int check_taken(const struct lb_settings *settings, const struct taken taken[], struct lb_error *err) {
  for (size_t i = 0; i < settings->count; i++) {
    if (taken[i].by_any) continue;
    if (settings->of[i].count > 1)
      return lb_refuse(err, "-s %s: no scenario of this run has such a key", settings->of[i].key);
    *err = taken[i].why;
    return -EINVAL;
  }
  return 0;
}

/* The arrays do not move any more once all are there: cells, jobs and expectations point into them. */
int lb_plan_add_scenarios(struct lb_plan *plan, const struct lb_plan_request *request, struct lb_error *err) {
  struct taken *taken = lb_need(calloc(plan->settings.count + 1, sizeof *taken));
  int r = 0;
  plan->asked_count = request->scenario_count;
  plan->asked = lb_need(calloc(plan->asked_count + 1, sizeof *plan->asked));
  for (size_t i = 0; r == 0 && i < plan->asked_count; i++) {
    lb_scenario_copy(&request->scenarios[i], &plan->asked[i].scenario);
    r = add_asked(plan, i, request->own_settings ? request->own_settings[i] : NULL, taken, err);
  }
  if (r == 0) r = check_names(plan, err);
  if (r == 0) r = check_taken(&plan->settings, taken, err);
  free(taken);
  return r;
}
