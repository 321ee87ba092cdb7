/* SPDX-License-Identifier: MIT
 *
 * `lockbench suite`: the scenarios that a file of scenarios/suites puts together, with charts and a
 * page. It is `run` with settings that differ from scenario to scenario; -s of the command line
 * comes after them and wins.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/called.h"
#include "cli.h"
#include "scenario/suite.h"

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
