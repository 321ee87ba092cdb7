/* SPDX-License-Identifier: MIT
 *
 * `lockbench suite`: the scenarios that a file of scenarios/suites puts together, with charts and a
 * page. It is `run` with settings that differ from scenario to scenario; -s of the command line
 * comes after them and wins.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/called.h"
#include "cli.h"
#include "run/groups.h"
#include "run/plan.h"
#include "scenario/suite.h"
#include "show/live.h"

/* 0 = it cannot be said. */
static double seconds_of_suite(const struct lb_suite *suite) {
  char err[600];
  struct lb_plan plan;
  char *systems = suite->systems ? lb_systems_expand(suite->systems, true) : NULL;
  struct lb_plan_request request = {.scenario_paths = (const char *const *)suite->scenarios,
                                    .own_settings = (const char *const *)suite->settings,
                                    .own_guards = suite->own_guards,
                                    .scenario_count = suite->count,
                                    .systems = systems,
                                    .product = true,
                                    .guards = suite->guards,
                                    .guard_trials = suite->guard_trials};
  double s = 0;
  if (lb_plan_make(&request, &plan, err, sizeof err) == 0) {
    s = lb_seconds_of(&plan, (struct lb_jobs){lb_default_jobs(), lb_default_jobs()});
    lb_plan_clear(&plan);
  }
  free(systems);
  return s;
}

void lb_longer_suite(const char *name, char *ret, size_t size) {
  static const char *const next[][2] = {{"quick", "guards"}, {"guards", "truth"}, {"truth", "full"}};
  char path[4096], folder[4096], err[1200], about[40];
  struct lb_suite suite;
  *ret = '\0';
  for (size_t i = 0; i < sizeof next / sizeof *next; i++) {
    if (strcmp(name, next[i][0]) != 0) continue;
    snprintf(path, sizeof path, "%s/" LB_SUITES "/%s.ini", lb_root(), next[i][1]);
    snprintf(folder, sizeof folder, "%s/" LB_SCENARIOS, lb_root());
    if (lb_suite_load(path, folder, &suite, err, sizeof err) < 0) return;
    lb_live_about(seconds_of_suite(&suite), about, sizeof about);
    snprintf(ret, size, "Longer: %s suite %s (%s, %s here)", lb_called(), suite.name, suite.title, about);
    lb_suite_clear(&suite);
  }
}

int lb_cli_suite(const struct lb_args *args) {
  struct lb_suite suite;
  char folder[4096], err[1200];
  if (args->resume) return lb_resume(args);
  if (args->word_count != 1) return lb_complain(LB_EXIT_USAGE, "suite: expected one suite, see `%s list suites`", lb_called());
  char *path = lb_find_suite(args->words[0]);
  if (!path) return LB_EXIT_USAGE;
  snprintf(folder, sizeof folder, "%s/" LB_SCENARIOS, lb_root());
  int r = lb_suite_load(path, folder, &suite, err, sizeof err);
  free(path);
  if (r < 0) return lb_complain(LB_EXIT_USAGE, "%s", err);
  struct lb_order order = {.args = args,
                           .label = suite.name,
                           .paths = (const char *const *)suite.scenarios,
                           .own_settings = (const char *const *)suite.settings,
                           .path_count = suite.count,
                           .suite = &suite,
                           .draw = true};
  int code = lb_carry_out(&order);
  lb_suite_clear(&suite);
  return code;
}
