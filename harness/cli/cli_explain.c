/* SPDX-License-Identifier: MIT
 *
 * `lockbench explain RUN CELL`: the story of a trial, from the files of a run alone. `lockbench
 * explain FILE`: that of a history.
 *
 * The two differ in what stands above the story. A cell brings its verdict, scenario and
 * expectation out of run.json. A file has nothing but its events, so it is judged here as `check`
 * would. The story itself is history/explain.c's.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "history/check.h"
#include "cli.h"
#include "history/explain.h"
#include "scenario/scenario.h"
#include "show/explain_again.h"
#include "show/explain_run.h"
#include "show/left_out.h"

/* What stands above the story of a file. What its scenario counts is not in it, and may decide what the events leave open. */
static void print_file(const char *name, const struct lb_history *history, const struct lb_check *check,
                       bool past_lease) {
  lb_check_print_verdict(check, past_lease, stdout);
  lb_say("  %s: %zu event%s", strcmp(name, "-") == 0 ? "standard input" : name, history->count,
         history->count == 1 ? "" : "s");
  if (lb_check_rule(check, past_lease).verdict == LB_RULED_UNDECIDED)
    puts(
        "  what its scenario counts (past_lease, min_handoffs, premises) is not in a file: explain RUN CELL has the verdict of"
        " the trial, --past-lease counts leases that were over");
}

/* What the run knows of the trial beside its history. */
static struct lb_explain_about about(const struct lb_told *told) {
  struct lb_explain_about about = {0};
  if (!told) return about;
  const char *guard = json_string_value(json_object_get(told->cell, "guard"));
  const json_t *ttl_ms = json_object_get(json_object_get(told->scenario, "workload"), "ttl_ms");
  int64_t ttl = json_integer_value(ttl_ms);
  about.claims = guard && strcmp(guard, lb_guard_name(LB_GUARD_CLAIM)) == 0;
  bool timeline = json_array_size(json_object_get(told->scenario, "steps")) > 0;
  about.delayed = strcmp(told->trial.verdict, lb_verdict_name(LB_DELAYED)) == 0;
  about.stuck = about.delayed || strcmp(told->trial.verdict, lb_verdict_name(LB_STUCK)) == 0;
  if (timeline && ttl > 0 && ttl < INT64_MAX / 1000000) about.ttl_ns = (uint64_t)ttl * 1000000;
  return about;
}

/* `told` is the trial that the history belongs to; NULL = it was given as a file. */
static int print_story(const struct lb_told *told, const struct lb_args *args, const struct lb_history *history) {
  struct lb_check check;
  int r = lb_check_history(history, &check);
  if (r == 0) {
    if (told) lb_told_print(told, stdout);
    else print_file(args->words[0], history, &check, args->past_lease);
    putchar('\n');
    struct lb_explain_about known = about(told);
    r = lb_explain(history, &check, &known, stdout);
    lb_check_clear(&check);
  }
  return r < 0 && !ferror(stdout) ? lb_complain(LB_EXIT_FAILURE, "%s", strerror(-r)) : LB_EXIT_OK;
}

static int print_history(const struct lb_told *told, const struct lb_args *args, const struct lb_history *history) {
  if (!args->json) return print_story(told, args, history);
  int r = lb_history_write_json(history, stdout);
  return r < 0 && !ferror(stdout) ? lb_complain(LB_EXIT_FAILURE, "%s", strerror(-r)) : LB_EXIT_OK;
}

static int without_history(const struct lb_told *told, bool json) {
  static const char why[] =
      "no history was kept: of a workload, only those of trials that were not safe are (faults/ has what became of the faults of a campaign)";
  if (json) return lb_complain(LB_EXIT_USAGE, "%s", told->found ? why : "this cell was skipped, so it has no history");
  lb_told_print(told, stdout);
  if (told->found) printf("\n%s\n", why);
  return LB_EXIT_OK;
}

/* Large runs are published without some of their histories, with a list that says why. True if this
 * one is missing for such a reason (or the list is broken), which has been said, with the command
 * that makes one like it; *ret is the exit code. */
static bool is_left_out(const struct lb_told *told, int *ret) {
  char why[600], again[600];
  int r = told->trial.readable ? 0 : lb_left_out(told->trial.history, why, sizeof why);
  if (r == 0) return false;
  lb_told_again(told, again, sizeof again);
  *ret = r < 0 ? lb_complain(LB_EXIT_USAGE, "%s", why)
               : lb_complain(LB_EXIT_USAGE, "%s was left out on purpose: %s; to make one like it: %s",
                             told->trial.history, why, again);
  return true;
}

static int explain_trial(const struct lb_told *told, const struct lb_args *args) {
  struct lb_history history;
  int code;
  if (!told->found || !*told->trial.history) return without_history(told, args->json);
  if (is_left_out(told, &code)) return code;
  int r = lb_load_history(told->trial.history, &history);
  if (r) return r;
  r = print_history(told, args, &history);
  lb_history_clear(&history);
  return r;
}

/* The cell has been judged with its scenario, which knows whether leases run out on purpose: a
 * --past-lease could only contradict it. */
static int explain_cell(const struct lb_args *args) {
  struct lb_told told;
  char err[1000];
  if (args->past_lease)
    return lb_complain(LB_EXIT_USAGE, "--past-lease: only with a history file, a cell has its verdict");
  int r = lb_told_find(args->words[0], args->words + 1, args->word_count - 1, args->trial, &told, err, sizeof err);
  if (r < 0) return lb_complain(r == -ENOMEM ? LB_EXIT_FAILURE : LB_EXIT_USAGE, "%s", err);
  r = explain_trial(&told, args);
  lb_told_clear(&told);
  return r;
}

static int explain_file(const struct lb_args *args) {
  struct lb_history history;
  if (args->trial) return lb_complain(LB_EXIT_USAGE, "--trial %d: only with a results folder and a cell", args->trial);
  int r = lb_load_history(args->words[0], &history);
  if (r) return r;
  r = print_history(NULL, args, &history);
  lb_history_clear(&history);
  return r;
}

int lb_cli_explain(const struct lb_args *args) {
  if (args->word_count == 0)
    return lb_complain(LB_EXIT_USAGE,
                       "explain: expected a results folder and a cell, as in failover.SYSTEM, or a history file");
  return args->word_count == 1 && !lb_is_run_folder(args->words[0]) ? explain_file(args) : explain_cell(args);
}
