/* SPDX-License-Identifier: MIT
 *
 * `lockbench run`, and what it has in common with `lockbench suite`: plan, run, write, say what came of it. The first
 * line of the summary is the verdict.
 *
 * Nothing is printed on stdout before the folder of results has its name: who reads JSON gets all or nothing, and the
 * path that is printed last exists. Progress goes to stderr. A run that is stopped keeps what is decided
 * (run/journal.h), and --resume plays the rest.
 */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "plan/system.h"
#include "run/journal.h"
#include "run/junit.h"
#include "plan/plan.h"
#include "run/results.h"
#include "run/shard.h"
#include "scenario/scenario.h"
#include "scenario/scenario_load.h"
#include "scenario/suite.h"
#include "show/display.h"
#include "show/live.h"
#include "show/screen.h"

/* The order is that of interest: verdict, truth table, figures, remarks, and last what is needed to replay it. */
static void print_summary(const struct lb_tally *tally, const char *verdict, const char *dir) {
  printf("%s\n", verdict);
  lb_display_unpredicted(tally, stdout);
  putchar('\n');
  lb_display_truth_table(tally, stdout);
  putchar('\n');
  lb_display_figures(tally, stdout);
  lb_display_remarks(tally, stdout);
  puts("");
  lb_cli_say("seed %llu, results in %s", (unsigned long long)tally->plan->seed, dir);
  lb_screen_see_one(tally, dir, stdout);
  fflush(stdout);
}

/* Where servers of several versions were asked: which name stands for which. */
static void say_versions(const struct lb_plan *plan, const struct lb_run_info *info) {
  bool several = false;
  for (size_t i = 0; i < plan->cell_count; i++) several |= plan->cells[i].topology->origin != NULL;
  for (size_t i = 0; several && i < info->version_count; i++)
    lb_cli_say("%s is %s", info->versions[i].topology, info->versions[i].text);
}

static int print_json(const struct lb_tally *tally) {
  json_t *cells = lb_results_cells(tally);
  int r = cells ? json_dumpf(cells, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : -1;
  putchar('\n');
  json_decref(cells);
  return r < 0 && !ferror(stdout) ? lb_complain(LB_EXIT_FAILURE, "cannot write the JSON: %s", strerror(ENOMEM)) : 0;
}

static bool has_variants(const struct lb_plan *plan) {
  for (size_t i = 0; i < plan->scenario_count; i++)
    if (plan->scenarios[i].varied) return true;
  return false;
}

/* A few cells are told in full, and so are all with -v; else there is one screen, and the report has the rest. */
enum { FEW_CELLS = 12 };

static bool is_screen(const struct lb_tally *tally, const struct lb_order *order) {
  return !order->args->verbose && (order->suite || tally->plan->cell_count > FEW_CELLS);
}

/* 0 = it cannot be said. */
static double seconds_of_suite(const struct lb_suite *suite) {
  struct lb_error err;
  struct lb_plan plan;
  struct lb_plan_request request = {.scenarios = suite->scenarios,
                                    .own_settings = (const char *const *)suite->varied,
                                    .own_guards = suite->own_guards,
                                    .scenario_count = suite->count,
                                    .systems = suite->systems,
                                    .product = true,
                                    .guards = suite->guards,
                                    .guard_trials = suite->guard_trials};
  if (lb_plan_make(&request, &plan, &err) < 0) return 0;
  double s = lb_cli_seconds_of(&plan, lb_cli_run_jobs(&(struct lb_args){0}));
  lb_plan_clear(&plan);
  return s;
}

/* A line that names the suite to run after this one, and how long it takes here; "" = none is longer. */
static void longer_suite(const char *name, char *ret, size_t size) {
  static const char *const next[][2] = {{"quick", "guards"}, {"guards", "truth"}, {"truth", "full"}};
  struct lb_error err;
  char path[4096], folder[4096], about[40];
  struct lb_suite suite;
  *ret = '\0';
  for (size_t i = 0; i < sizeof next / sizeof *next; i++) {
    if (strcmp(name, next[i][0]) != 0) continue;
    snprintf(path, sizeof path, "%s/" LB_SUITES "/%s.ini", lb_process_root(), next[i][1]);
    snprintf(folder, sizeof folder, "%s/" LB_SCENARIOS, lb_process_root());
    if (lb_suite_load(path, folder, &suite, &err) < 0) return;
    lb_live_about(seconds_of_suite(&suite), about, sizeof about);
    snprintf(ret, size, "Longer: %s suite %s (%s, %s here)", lb_process_called(), suite.name, suite.title, about);
    lb_suite_clear(&suite);
  }
}

static void print_screen(const struct lb_tally *tally, const char *verdict, const char *dir,
                         const struct lb_order *order) {
  char longer[300] = "";
  if (order->suite) longer_suite(order->suite->name, longer, sizeof longer);
  lb_screen_print(&(struct lb_screen){tally, verdict, dir, longer, has_variants(tally->plan) ? 2 : 1}, stdout);
  fflush(stdout);
}

/* What the user asked to see of a run whose folder has its name. A stopped run is not drawn: the user who stopped it
 * does not want to wait. */
static int show(const struct lb_tally *tally, const struct lb_run_info *info, const struct lb_rundir *dir,
                const struct lb_order *order) {
  if (order->args->json) {
    int code = print_json(tally);
    return code ? code : info->exit_code;
  }
  if (order->tell) {
    order->tell(order->data, tally, info, dir->final);
    if (order->draw && tally->done == tally->plan->job_count) lb_cli_draw_report(dir->final, true);
    return info->exit_code;
  }
  bool screen = is_screen(tally, order);
  if (screen) print_screen(tally, info->verdict, dir->final, order);
  else print_summary(tally, info->verdict, dir->final);
  say_versions(tally->plan, info);
  if (order->draw && tally->done == tally->plan->job_count) lb_cli_draw_report(dir->final, screen);
  else if (info->shards) lb_cli_say("When all %d shards are there: %s merge DIR...", info->shards, lb_process_called());
  else lb_cli_say("Draw it: %s report %s", lb_process_called(), dir->final);
  if (has_variants(tally->plan)) lb_cli_say("compare its variants: %s compare %s", lb_process_called(), dir->final);
  return info->exit_code;
}

struct session { /* a run from the first trial to its folder */
  const struct lb_order *order;
  struct lb_tally tally;
  struct lb_run_info info;
  struct lb_rundir dir;
  struct lb_journal journal;
  struct lb_part_of of;     /* what the guardian is told */
  struct lb_progress shown; /* that of the display */
  struct lb_error err;
};

/* An outcome is kept before it is shown. One that could not be kept is in the results all the same, unless the tool
 * dies. */
static void keep_and_show(void *data, const struct lb_tally *tally, const struct lb_job_result *result) {
  struct session *s = data;
  lb_journal_add(&s->journal, tally, result);
  s->shown.finished(s->shown.display, tally, result);
}

static void show_tick(void *data, const struct lb_tally *tally, const struct lb_job *const running[], size_t count) {
  const struct session *s = data;
  s->shown.tick(s->shown.display, tally, running, count);
}

static void show_slow(void *data, const char *line) {
  const struct session *s = data;
  s->shown.slow(s->shown.display, line);
}

static bool show_by_hand(void *data, const char *order, lb_ns deadline) {
  const struct session *s = data;
  return s->shown.by_hand(s->shown.display, order, deadline);
}

/* The first step of a job that a person does; NULL = none. */
static const struct lb_step *order_in(const struct lb_plan *plan) {
  for (size_t i = 0; i < plan->job_count; i++) {
    const struct lb_scenario *scenario = plan->jobs[i].plan.scenario;
    for (size_t k = 0; k < scenario->step_count; k++)
      if (lb_step_by_hand(&scenario->steps[k])) return &scenario->steps[k];
  }
  return NULL;
}

static int run_trials(struct session *s) {
  struct lb_estimate estimate;
  bool by_person = order_in(s->tally.plan) && !s->order->args->hook;
  bool alone = by_person || s->order->args->operator_file;
  struct lb_jobs jobs = alone ? (struct lb_jobs){1, 1} : lb_cli_run_jobs(s->order->args);
  struct lb_display display = {.live = {stderr, .terminal = lb_live_terminal(stderr)},
                               .verbose = s->order->args->verbose,
                               .estimate = &estimate};
  struct lb_progress progress = {
      .finished = keep_and_show, .tick = show_tick, .slow = show_slow, .by_hand = show_by_hand, .display = s};
  lb_cli_announce(&s->tally, jobs, &estimate);
  s->shown = lb_display_progress(&display);
  int r = lb_runner_run(&s->tally, &s->dir, jobs, (struct lb_sitting){s->order->args->budget_s, s->order->args->again},
                        &progress, &s->err);
  lb_display_end(&display);
  lb_estimate_end(&estimate);
  return r;
}

/* Decides, and writes what there is. The order matters: the load of the machine is read again as soon as the trials are
 * over, the exit code is part of run.json, and the folder gets its name last. Everything is in it then. 0, -ENOENT
 * (nothing was decided), or another -errno. */
static int write_results(struct session *s, int stopped) {
  struct lb_machine after;
  s->info.seconds = lb_journal_seconds(&s->journal);
  lb_machine_read(&after, s->dir.partial);
  s->info.load_after = after.load;
  s->info.exit_code = lb_exit_of_stopped(&s->tally, stopped == -ETIME, s->info.verdict, sizeof s->info.verdict);
  if (s->info.exit_code == LB_EXIT_STOPPED && stopped != -EINTR && stopped != -ENOSPC)
    s->info.exit_code = LB_EXIT_FAILURE;
  struct lb_error err;
  int r = lb_journal_keep_part(&s->tally, &s->info, &s->dir, &err);
  if (r == -ENOENT && stopped == -ENOSPC) s->info.exit_code = LB_EXIT_FAILURE; /* there is nothing to go on with */
  if (r < 0 && r != -ENOENT) lb_error(&s->err, r, "%s", err.text);
  return r;
}

/* Why it stopped, and how to go on. On stderr: stdout has the table of what is known. */
static int tell_stopped(const struct session *s, int kept) {
  const char *left = lb_own_at(0) ? "; what it had on your servers goes with `clean`" : "";
  int code = s->info.exit_code;
  if (kept == -ENOENT)
    return lb_complain(code, "%s before the first trial had ended: nothing was kept%s", s->err.text, left);
  lb_complain(code, "%s: %zu of %zu trials are kept, continue with: %s %s --resume %s%s", s->err.text, s->tally.done,
              s->tally.plan->job_count, lb_process_called(), s->order->args->argv[0], s->dir.final, left);
  return code;
}

/* What a CI server shows of a run that was stopped is what is known of it. 0, or an exit code after one line on
 * stderr. */
static int write_junit(const struct session *s) {
  const char *path = s->order->args->junit;
  int r = path ? lb_junit_write(&s->tally, s->dir.final, path) : 0;
  return r < 0 ? lb_complain(LB_EXIT_FAILURE, "--junit %s: cannot write it: %s", path, strerror(-r)) : 0;
}

/* Before anything is done. What stands in it stays, and a file that was not there is not there after. 0, or an exit code
 * after one line on stderr. */
static int try_junit(const struct lb_args *args) {
  bool there = args->junit && access(args->junit, F_OK) == 0;
  FILE *out = args->junit ? fopen(args->junit, "ae") : NULL;
  if (args->junit && !out)
    return lb_complain(LB_EXIT_USAGE, "--junit %s: expected a file that can be written: %s", args->junit,
                       strerror(errno));
  if (out) fclose(out);
  if (out && !there) unlink(args->junit);
  return 0;
}

/* Before the first trial: the file of an earlier run goes, and a tool that is killed leaves an empty one. */
static void empty_junit(const struct lb_args *args) {
  FILE *out = args->junit ? fopen(args->junit, "we") : NULL;
  if (out) fclose(out);
}

/* 0, or -EINTR if some of the shards are missing. */
static int look_for_gaps(struct session *s) {
  size_t left = s->tally.wanted - s->tally.done;
  return left ? lb_error(&s->err, -EINTR, "%zu trials are in none of these folders", left) : 0;
}

static int run_session(struct session *s) {
  int stopped = s->order->args->merged ? look_for_gaps(s) : run_trials(s), kept = write_results(s, stopped);
  int unwritten = kept == 0 ? write_junit(s) : 0;
  if (stopped == 0 && kept == 0) {
    int code = show(&s->tally, &s->info, &s->dir, s->order);
    return unwritten ? unwritten : code;
  }
  if (stopped == 0) return lb_complain(LB_EXIT_FAILURE, "%s", s->err.text);
  if (kept == 0) show(&s->tally, &s->info, &s->dir, s->order);
  return tell_stopped(s, kept);
}

/* A new folder, or that of a stopped run. -o names the folder of all shards. */
static int open_folder(struct session *s) {
  const struct lb_args *args = s->order->args;
  char part[40] = "", label[200], out[PATH_MAX];
  if (args->resumed) return lb_rundir_reopen(&s->dir, args->resumed, &s->err);
  if (s->info.shards) snprintf(part, sizeof part, "shard-%d-of-%d", s->info.shard, s->info.shards);
  snprintf(label, sizeof label, "%s%s%s", s->order->label, *part ? "-" : "", part);
  snprintf(out, sizeof out, "%s%s%s", args->out ? args->out : "", *part ? "/" : "", part);
  return lb_rundir_open(&s->dir, lb_cli_results_folder(), label, args->out ? out : NULL, &s->err);
}

/* What the shards of a run have, as one. */
static int take_shards(struct session *s) {
  int r = 0;
  for (const char *const *from = s->order->args->merged; r == 0 && *from; from++)
    r = lb_journal_take(&s->journal, s->dir.partial, *from, &s->tally, &s->info, &s->err);
  return r == 0 ? lb_journal_add_all(&s->journal, s->dir.partial, &s->tally, &s->info, &s->err) : r;
}

/* Leaves the tally what this shard has to play. */
static void take_part(struct session *s) {
  struct lb_times times;
  lb_cli_read_times(&times);
  lb_shard_take(&s->tally, (struct lb_shard){s->info.shard, s->info.shards}, &times);
  lb_times_clear(&times);
}

/* A library may differ from the one that its findings were made with. That is no mistake, but worth a line. */
static void say_libraries(const struct lb_run_info *info) {
  for (size_t i = 0; i < info->library_count; i++) {
    const struct lb_library *l = &info->libraries[i];
    if (l->stated[0] && strcmp(l->version, l->stated) != 0)
      fprintf(stderr, "lockbench: %s is %s here; its facts were found with %s\n", l->name, l->version, l->stated);
  }
}

/* The guardian is told last: from then on a tool that is killed leaves the results of what it has decided. */
static int prepare(struct session *s, const struct lb_plan *plan) {
  const struct lb_args *args = s->order->args;
  s->info.id = s->dir.id;
  s->info.jobs = lb_cli_run_jobs(args).always;
  lb_run_info_ask(&s->info, plan, s->dir.partial);
  lb_tally_begin(plan, &s->tally);
  say_libraries(&s->info);
  if (s->info.shards) take_part(s);
  int r = args->resumed ? lb_journal_resume(&s->journal, s->dir.partial, &s->tally, &s->info, &s->err)
                        : lb_journal_begin(&s->journal, s->dir.partial, plan, &s->info, &s->err);
  if (r == 0 && args->merged) r = take_shards(s);
  if (r < 0) return r;
  lb_rundir_forget_results(&s->dir);
  s->of = (struct lb_part_of){plan, &s->info, &s->dir};
  r = lb_rundir_set_rescue(&s->dir, lb_journal_rescue_part, &s->of);
  return r < 0 ? lb_error(&s->err, r, "cannot start a process: %s", strerror(-r)) : 0;
}

/* From a plan to results and an exit code. The folder comes first, because a trial writes into it. */
static int execute(const struct lb_plan *plan, const struct lb_order *order, struct lb_shard shard) {
  struct session s = {.order = order,
                      .info = {.argv = order->args->argv,
                               .argc = order->args->argc,
                               .sittings = 1,
                               .shard = shard.index,
                               .shards = shard.of},
                      .journal = {.fd = -1}};
  int r = try_junit(order->args);
  if (r) return r;
  r = open_folder(&s);
  if (r < 0)
    return lb_complain(lb_cli_exit_of_place(r, order->args->resumed ? order->args->resumed : order->args->out), "%s",
                       s.err.text);
  r = prepare(&s, plan);
  if (r == 0) empty_junit(order->args);
  int code = r == 0 ? run_session(&s) : lb_complain(r == -EINVAL ? LB_EXIT_USAGE : LB_EXIT_FAILURE, "%s", s.err.text);
  lb_journal_close(&s.journal);
  lb_rundir_close(&s.dir);
  lb_tally_clear(&s.tally);
  lb_run_info_clear(&s.info);
  return code;
}

/* Two builds take turns, with one trial of each cell in a turn, as the plan has it. */
static int take_turns(const struct lb_plan *plan, const struct lb_args *args) {
  return lb_cli_against(args, lb_cli_seconds_of(plan, lb_cli_run_jobs(args)));
}

/* Without -b, a plugin runs alone: who brings a lock wants to see that one. Else those of the suite;
 * NULL = those that the scenarios name. */
static const char *systems_of(const struct lb_order *order) {
  const struct lb_args *args = order->args;
  if (args->systems) return args->systems;
  if (args->plugins[0]) return args->plugins;
  return order->suite ? order->suite->systems : NULL;
}

/* A lock that was brought and is not in -b would be left out in silence. 0, or an exit code after one line on stderr. */
static int check_brought(const struct lb_args *args) {
  char name[200];
  for (const char *at = args->systems ? args->plugins : ""; *at; at += strcspn(at, ","), at += *at == ',') {
    int length = (int)strcspn(at, ",");
    bool named = false;
    snprintf(name, sizeof name, "%.*s", length, at);
    for (const char *s = args->systems; *s; s += strcspn(s, ","), s += *s == ',')
      named |= strncmp(s, name, strlen(name)) == 0 && strchr("@,", s[strlen(name)]);
    if (!named)
      return lb_complain(LB_EXIT_USAGE, "-b %s: does not name %s, which was brought; did you mean '-b %s,%s'?",
                         args->systems, name, args->systems, name);
  }
  return 0;
}

/* Adds one, unless there is one for its guard. 0, or -1 after a complaint. */
static int add_expect(const char *text, enum lb_guard guard, struct lb_expect ret[LB_GUARD_COUNT], size_t *count) {
  struct lb_expect expect;
  if (lb_args_expect(text, guard, &expect) < 0) return -1;
  for (size_t i = 0; i < *count; i++)
    if (ret[i].guard == expect.guard)
      return lb_complain(-1, "--expect %s: given twice for guard %s", text, lb_guard_name(expect.guard));
  ret[(*count)++] = expect;
  return 0;
}

/* What --expect says, one for a guard; a verdict alone is for every guard of -g. 0, or -1 after a complaint. */
static int read_expects(const struct lb_args *args, struct lb_expect ret[LB_GUARD_COUNT], size_t *count) {
  int r = 0;
  *count = 0;
  for (size_t i = 0; r == 0 && i < args->expect_count; i++) {
    bool names_guard = strchr(args->expects[i], '=');
    unsigned guards = args->guards && !names_guard ? args->guards : 1u << LB_GUARD_NONE;
    for (int guard = 0; r == 0 && guard < LB_GUARD_COUNT; guard++)
      if (guards >> guard & 1) r = add_expect(args->expects[i], (enum lb_guard)guard, ret, count);
  }
  return r;
}

/* Which shard this is, and the seed that all of them have in common. A judge is not shared out. 0, or an exit code after
 * one line on stderr. */
static int find_shard(const struct lb_order *order, struct lb_shard *ret, uint64_t *ret_seed) {
  const struct lb_args *args = order->args;
  struct lb_error err;
  uint64_t job = 0;
  *ret = (struct lb_shard){0};
  if (args->shard && *args->shard && lb_shard_parse(args->shard, ret, &err) < 0)
    return lb_complain(LB_EXIT_USAGE, "%s", err.text);
  if (!args->shard && !order->tell && !args->against) lb_shard_of_engine(ret, &job);
  if (ret->of && args->against)
    return lb_complain(LB_EXIT_USAGE, "--shard: two builds that are compared take turns on one machine");
  if (ret->of && !args->has_seed && !job)
    return lb_complain(LB_EXIT_USAGE, "shard %d of %d: expected --seed, the same for all of them", ret->index, ret->of);
  *ret_seed = args->has_seed ? args->seed : job ? job % 1000000 : lb_cli_random_seed();
  if (ret->of && !args->shard) lb_complain(0, "plays shard %d of %d, as the environment says", ret->index, ret->of);
  return 0;
}

/* An order to an operator needs somebody who does it, and --hook an order. */
static int check_orders(const struct lb_plan *plan, const char *hook) {
  const struct lb_step *order = order_in(plan);
  if (hook && !order) return lb_complain(LB_EXIT_USAGE, "--hook %s: no step here is an `operator \"...\"`", hook);
  if (!order || hook || isatty(STDIN_FILENO)) return 0;
  return lb_complain(LB_EXIT_USAGE, "step = %s: nobody can press Enter here: expected a terminal, or --hook CMD",
                     order->text);
}

/* What is wrong with scenarios, systems and settings is found by the plan, before a folder is made
 * or a server is started. */
int lb_cli_carry_out(const struct lb_order *order) {
  struct lb_error err;
  struct lb_plan plan;
  struct lb_expect expects[LB_GUARD_COUNT];
  size_t expect_count;
  if (check_brought(order->args) || read_expects(order->args, expects, &expect_count) < 0) return LB_EXIT_USAGE;
  struct lb_shard shard;
  uint64_t seed = 0;
  int code = find_shard(order, &shard, &seed);
  if (code == 0 && !lb_own_at(0)) code = lb_cli_own_begin(order->args); /* a judge has, before it chose systems */
  if (code) return code;
  bool asked = order->args->systems || order->args->plugins[0];
  char *own = lb_own_at(0) ? lb_cli_own_systems(asked ? systems_of(order) : NULL) : NULL;
  struct lb_plan_request request = {.scenarios = order->scenarios,
                                    .own_settings = order->own_settings,
                                    .scenario_count = order->scenario_count,
                                    .systems = own ? own : systems_of(order),
                                    .installed = true,
                                    .product = order->suite != NULL,
                                    .guards = order->suite ? order->suite->guards : 0,
                                    .own_guards = order->suite ? order->suite->own_guards : NULL,
                                    .guard_trials = order->suite ? order->suite->guard_trials : 0,
                                    .expect = expects,
                                    .expect_count = expect_count,
                                    .only_guards = order->args->guards,
                                    .trials = order->args->against ? 1 : order->args->trials,
                                    .settings = order->args->settings,
                                    .setting_count = order->args->setting_count,
                                    .hook = order->args->hook,
                                    .keep_logs = order->args->keep_logs,
                                    .strict = order->args->strict,
                                    .judging = order->judging,
                                    .reuse = order->args->reuse,
                                    .seed = seed};
  int r = lb_plan_make(&request, &plan, &err);
  if (r == -ENXIO) code = LB_EXIT_MISSING; /* which libraries are missing has been said */
  else if (r < 0) code = lb_complain(LB_EXIT_USAGE, "%s", err.text);
  else {
    if (lb_own_at(0) && !asked)
      lb_complain(0, "runs %s, the lock to use on these servers; -b all runs the others, too", own);
    code = check_orders(&plan, order->args->hook);
    if (code == 0 && order->begin) code = order->begin(order->data, &plan);
    bool runs = !order->args->list;
    if (code == 0) code = lb_cli_operator_consent(order->args, &plan);
    if (code == 0 && runs) code = lb_cli_operator_begin(order->args, &plan);
    if (code == 0 && runs)
      code = lb_cli_operator_end(order->args->against ? take_turns(&plan, order->args) : execute(&plan, order, shard));
    lb_plan_clear(&plan);
  }
  free(own);
  return code;
}

/* A file is labelled by its name without folder and ending. */
static void label_of(const char *word, char *buf, size_t size) {
  const char *slash = strrchr(word, '/');
  snprintf(buf, size, "%s", slash ? slash + 1 : word);
  size_t length = strlen(buf);
  if (length > 4 && strcmp(buf + length - 4, ".ini") == 0) buf[length - 4] = '\0';
}

static int run_files(const struct lb_args *args, const char *label, const char *const *paths, size_t count) {
  struct lb_scenario *scenarios;
  struct lb_error err;
  if (lb_scenario_load_all(paths, count, &scenarios, &err) < 0) return lb_complain(LB_EXIT_USAGE, "%s", err.text);
  int code = lb_cli_carry_out(
      &(struct lb_order){.args = args, .label = label, .scenarios = scenarios, .scenario_count = count});
  lb_scenario_clear_all(scenarios, count);
  return code;
}

static int run_command(const struct lb_args *args) {
  char *paths[LB_ARGS_MAX], label[100];
  size_t count = 0, wanted = (size_t)args->word_count;
  if (args->resume) return lb_cli_resume(args);
  if (wanted == 0)
    return lb_complain(LB_EXIT_USAGE, "run: expected a scenario, see `%s list scenarios`", lb_process_called());
  if (args->against && lb_cli_names_own(args))
    return lb_complain(LB_EXIT_USAGE, "--against: two builds are compared on servers that they start, not on your own");
  if (args->against && args->junit)
    return lb_complain(LB_EXIT_USAGE, "--junit: two builds that are compared have no expectations");
  while (count < wanted && (paths[count] = lb_cli_find_scenario(args->words[count]))) count++;
  label_of(args->words[0], label, sizeof label);
  int code = count == wanted ? run_files(args, label, (const char *const *)paths, count) : LB_EXIT_USAGE;
  for (size_t i = 0; i < count; i++) free(paths[i]);
  return code;
}

const struct lb_cli_command lb_command_run = {"run",
                                              run_command,
                                              LB_ARG_RUN | LB_ARG_JSON | LB_ARG_AGAINST | LB_ARG_OWN | LB_ARG_CONSENT,
                                              "SCENARIO...",
                                              "runs scenarios (names or .ini files) and prints verdicts",
                                              NULL};

/* ---- suite: settings differ from scenario to scenario; -s comes after them and wins ---------------------- */

static int suite_command(const struct lb_args *args) {
  struct lb_suite suite;
  struct lb_error err;
  char folder[4096];
  if (args->resume) return lb_cli_resume(args);
  if (args->word_count != 1)
    return lb_complain(LB_EXIT_USAGE, "suite: expected one suite, see `%s list suites`", lb_process_called());
  char *path = lb_cli_find_suite(args->words[0]);
  if (!path) return LB_EXIT_USAGE;
  snprintf(folder, sizeof folder, "%s/" LB_SCENARIOS, lb_process_root());
  int r = lb_suite_load(path, folder, &suite, &err);
  free(path);
  if (r < 0) return lb_complain(LB_EXIT_USAGE, "%s", err.text);
  struct lb_order order = {.args = args,
                           .label = suite.name,
                           .scenarios = suite.scenarios,
                           .own_settings = (const char *const *)suite.varied,
                           .scenario_count = suite.count,
                           .suite = &suite,
                           .draw = true};
  int code = lb_cli_carry_out(&order);
  lb_suite_clear(&suite);
  return code;
}

const struct lb_cli_command lb_command_suite = {
    "suite",
    suite_command,
    LB_ARG_RUN | LB_ARG_JSON | LB_ARG_OWN | LB_ARG_CONSENT,
    "SUITE",
    "runs the scenarios of a suite, draws charts and a report",
    "SUITE is one of `list suites`, or an .ini file of your own: docs/scenarios.md describes its form.\n"};
