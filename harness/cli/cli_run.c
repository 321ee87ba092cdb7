/* SPDX-License-Identifier: MIT
 *
 * `lockbench run`, and what it has in common with `lockbench suite`: plan, run, write, say what
 * came of it. The first line of the summary is the verdict.
 *
 * Nothing is printed on stdout before the folder of results is whole: who reads JSON gets all or
 * nothing, and the path that is printed last exists. Progress goes to stderr.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/called.h"
#include "cli.h"
#include "base/clock.h"
#include "show/display.h"
#include "show/report.h"
#include "run/peers.h"
#include "run/results.h"
#include "scenario/suite.h"

/* The order is that of interest: verdict, truth table, figures, remarks, and last what is needed to
 * replay it. */
static void print_summary(const struct lb_tally *tally, const char *verdict, const char *dir) {
  printf("%s\n\n", verdict);
  lb_print_truth_table(tally, stdout);
  putchar('\n');
  lb_print_figures(tally, stdout);
  lb_print_remarks(tally, stdout);
  printf("\nseed %llu, results in %s\n", (unsigned long long)tally->plan->seed, dir);
  fflush(stdout);
}

static int print_json(const struct lb_tally *tally) {
  json_t *cells = lb_results_cells(tally);
  int r = cells ? json_dumpf(cells, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : -1;
  putchar('\n');
  json_decref(cells);
  return r < 0 || fflush(stdout) != 0 ? lb_complain(LB_EXIT_FAILURE, "cannot write the JSON: %s", strerror(errno)) : 0;
}

static bool has_variants(const struct lb_plan *plan) {
  for (size_t i = 0; i < plan->scenario_count; i++)
    if (plan->scenarios[i].varied) return true;
  return false;
}

/* What the user asked to see of a run whose folder is whole. */
static int show(const struct lb_tally *tally, const struct lb_run_info *info, const struct lb_rundir *dir, const struct lb_order *order) {
  if (order->args->json) {
    int code = print_json(tally);
    return code ? code : info->exit_code;
  }
  print_summary(tally, info->verdict, dir->final);
  if (order->draw) lb_draw_report(dir->final);
  else printf("draw it: %s report %s\n", lb_called(), dir->final);
  if (has_variants(tally->plan)) printf("compare its variants: %s compare %s\n", lb_called(), dir->final);
  return info->exit_code;
}

/* Runs the trials, decides, writes. 0, or -errno with err. The order matters: the load of the
 * machine is read again as soon as the trials are over, the exit code is part of run.json, and the
 * folder gets its name last, when everything is in it. */
static int run_and_write(struct lb_tally *tally, struct lb_run_info *info, struct lb_rundir *dir, const struct lb_order *order,
                         char *err, size_t err_size) {
  struct lb_machine after;
  struct lb_display display = {.out = stderr, .terminal = isatty(2), .quiet = order->args->json && !isatty(2)};
  struct lb_progress progress = lb_display_progress(&display);
  uint64_t begin = lb_clock_ns();
  int r = lb_runner_run(tally, dir, (struct lb_jobs){info->jobs, info->jobs}, &progress, err, err_size);
  lb_display_end(&display);
  if (r < 0) return r;
  info->seconds = (double)(lb_clock_ns() - begin) / 1e9;
  lb_machine_read(&after, dir->partial);
  info->load_after = after.load;
  info->exit_code = lb_exit_of_run(tally, info->verdict, sizeof info->verdict);
  r = lb_results_write(tally, info, dir->partial, err, err_size);
  return r < 0 ? r : lb_rundir_commit(dir, err, err_size);
}

/* From a plan to results and an exit code. The folder comes first, because a trial writes into it.
 * An interrupted run (130, as a shell says of SIGINT) leaves nothing: the folder was not
 * committed. */
static int execute(const struct lb_plan *plan, const struct lb_order *order) {
  struct lb_rundir dir;
  struct lb_tally tally = {0};
  struct lb_run_info info = {.argv = order->args->argv, .argc = order->args->argc};
  char err[600] = "out of memory";
  int r = lb_rundir_open(&dir, lb_results_folder(), order->label, order->args->out, err, sizeof err);
  if (r < 0) return lb_complain(r == -EEXIST && order->args->out ? LB_EXIT_USAGE : LB_EXIT_FAILURE, "%s", err);
  info.id = dir.id;
  info.jobs = order->args->jobs ? order->args->jobs : lb_default_jobs();
  r = lb_run_info_ask(&info, plan, dir.partial);
  if (r == 0) r = lb_tally_begin(plan, &tally);
  if (r == 0) r = run_and_write(&tally, &info, &dir, order, err, sizeof err);
  const char *left = lb_own_at(0) ? "; what it had on your servers goes with `clean`" : "";
  int code = r == 0 ? show(&tally, &info, &dir, order) : lb_complain(r == -EINTR ? 130 : LB_EXIT_FAILURE, "%s%s", err, left);
  lb_tally_clear(&tally);
  lb_run_info_clear(&info);
  lb_rundir_close(&dir);
  return code;
}

/* Without -b, a plugin runs alone: who brings a lock wants to see that one. Else those of the suite;
 * NULL = those that the scenarios name. */
static const char *systems_of(const struct lb_order *order) {
  const struct lb_args *args = order->args;
  if (args->systems) return args->systems;
  if (args->plugins[0]) return args->plugins;
  return order->suite ? order->suite->systems : NULL;
}

/* What --expect says, one for a guard. 0, or -1 after a complaint. */
static int read_expects(const struct lb_args *args, struct lb_expect ret[LB_GUARD_COUNT]) {
  enum lb_guard guard = args->guard ? (enum lb_guard)lb_guard_find(args->guard) : LB_GUARD_NONE;
  for (size_t i = 0; i < args->expect_count; i++) {
    if (lb_args_expect(args->expects[i], guard, &ret[i]) < 0) return -1;
    for (size_t j = 0; j < i; j++)
      if (ret[j].guard == ret[i].guard)
        return lb_complain(-1, "--expect %s: given twice for guard %s", args->expects[i], lb_guard_name(ret[i].guard));
  }
  return 0;
}

/* What is wrong with scenarios, systems and settings is found by the plan, before a folder is made
 * or a server is started. */
int lb_carry_out(const struct lb_order *order) {
  char err[600];
  struct lb_plan plan;
  struct lb_expect expects[LB_GUARD_COUNT];
  if (read_expects(order->args, expects) < 0) return LB_EXIT_USAGE;
  int code = lb_own_begin(order->args);
  if (code) return code;
  char *own = lb_own_at(0) ? lb_own_systems(order->args->systems || order->args->plugins[0] ? systems_of(order) : NULL) : NULL;
  const char *named = own ? own : systems_of(order);
  char *systems = named ? lb_peers_expand(named) : NULL;
  free(own);
  if (systems && !*systems) return free(systems), lb_complain(LB_EXIT_MISSING, "no peer is installed, see `./bench peers`");
  struct lb_plan_request request = {.scenario_paths = order->paths,
                                    .own_settings = order->own_settings,
                                    .scenario_count = order->path_count,
                                    .systems = systems,
                                    .product = order->suite != NULL,
                                    .guards = order->suite ? order->suite->guards : 0,
                                    .guard_trials = order->suite ? order->suite->guard_trials : 0,
                                    .expect = expects,
                                    .expect_count = order->args->expect_count,
                                    .guard = order->args->guard,
                                    .trials = order->args->trials,
                                    .settings = order->args->settings,
                                    .setting_count = order->args->setting_count,
                                    .keep_logs = order->args->keep_logs,
                                    .reuse = order->args->reuse,
                                    .seed = order->args->has_seed ? order->args->seed : lb_random_seed()};
  if (lb_plan_make(&request, &plan, err, sizeof err) < 0) code = lb_complain(LB_EXIT_USAGE, "%s", err);
  else code = execute(&plan, order), lb_plan_clear(&plan);
  free(systems);
  return code;
}

/* Of a file: its name without folder and ending. */
static void label_of(const char *word, char *buf, size_t size) {
  const char *slash = strrchr(word, '/');
  snprintf(buf, size, "%s", slash ? slash + 1 : word);
  size_t length = strlen(buf);
  if (length > 4 && strcmp(buf + length - 4, ".ini") == 0) buf[length - 4] = '\0';
}

int lb_cli_run(const struct lb_args *args) {
  char *paths[LB_ARGS_MAX], label[100];
  size_t count = 0, wanted = (size_t)args->word_count;
  if (wanted == 0) return lb_complain(LB_EXIT_USAGE, "run: expected a scenario, see `%s list scenarios`", lb_called());
  if (args->against && lb_names_own(args)) return lb_complain(LB_EXIT_USAGE, "--against: two builds are compared on servers that they start, not on your own");
  if (args->against) return lb_run_against(args);
  while (count < wanted && (paths[count] = lb_find_scenario(args->words[count]))) count++;
  label_of(args->words[0], label, sizeof label);
  struct lb_order order = {.args = args, .label = label, .paths = (const char *const *)paths, .path_count = count};
  int code = count == wanted ? lb_carry_out(&order) : LB_EXIT_USAGE;
  for (size_t i = 0; i < count; i++) free(paths[i]);
  return code;
}
