/* SPDX-License-Identifier: MIT
 *
 * `lockbench explain RUN CELL`: the story of a trial, from the files of a run alone.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "cli.h"
#include "explain.h"
#include "explain_run.h"

static int written(void) {
  return fflush(stdout) == 0 ? LB_EXIT_OK
                             : lb_complain(LB_EXIT_FAILURE, "cannot write to standard output: %s", strerror(errno));
}

static int print_story(const struct lb_told *told, const struct lb_history *history) {
  struct lb_check check;
  int r = lb_check_history(history, &check);
  if (r == 0) {
    lb_told_print(told, stdout);
    putchar('\n');
    r = lb_explain(history, &check, stdout);
    lb_check_clear(&check);
  }
  return r < 0 ? lb_complain(LB_EXIT_FAILURE, "%s", strerror(-r)) : written();
}

static int without_history(const struct lb_told *told, bool json) {
  static const char why[] = "no history was kept: of a workload, only those of trials that were not safe are";
  if (json) return lb_complain(LB_EXIT_USAGE, "%s", told->found ? why : "this cell was skipped, so it has no history");
  lb_told_print(told, stdout);
  if (told->found) printf("\n%s\n", why);
  return written();
}

static int explain(const struct lb_told *told, bool json) {
  struct lb_history history;
  char err[600];
  if (!told->found || !*told->trial.history) return without_history(told, json);
  int r = lb_history_load(told->trial.history, &history, err, sizeof err);
  if (r < 0) return lb_complain(LB_EXIT_USAGE, "%s", err);
  int code;
  if (!json) code = print_story(told, &history);
  else if (lb_history_write_json(&history, stdout) == 0) code = LB_EXIT_OK;
  else code = lb_complain(LB_EXIT_FAILURE, "cannot write to standard output: %s", strerror(errno));
  lb_history_clear(&history);
  return code;
}

int lb_cli_explain(int argc, char **argv) {
  struct lb_args args;
  struct lb_told told;
  char err[1000];
  int r = lb_args_parse(argc, argv, &args);
  if (r) return r;
  if (args.word_count < 2)
    return lb_complain(LB_EXIT_USAGE, "explain: expected a results folder and a cell, as in failover.SYSTEM");
  r = lb_told_find(args.words[0], args.words + 1, args.word_count - 1, args.trial, &told, err, sizeof err);
  if (r < 0) return lb_complain(r == -ENOMEM ? LB_EXIT_FAILURE : LB_EXIT_USAGE, "%s", err);
  int code = explain(&told, args.json);
  lb_told_clear(&told);
  return code;
}
