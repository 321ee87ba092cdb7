/* SPDX-License-Identifier: MIT
 *
 * `lockbench check FILE`: judges a history again, ours or another tool's, without servers. It says
 * nothing but what the checker and the rules of evidence say; a trial of a run is judged by the
 * same two (trial/judge.c), with what else the trial knows.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "history/check.h"
#include "history/check_json.h"
#include "cli.h"

/* More would push the verdict off the screen; --json has all of them. */
enum { EPISODES_SHOWN = 10 };

static int print_json(const struct lb_history *history, const struct lb_check *check, bool past_lease) {
  json_t *o = lb_check_json(history, check, past_lease);
  int r = o ? json_dumpf(o, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) : -1;
  json_decref(o);
  putchar('\n');
  return r;
}

static int print_text(const struct lb_history *history, const struct lb_check *check, bool past_lease) {
  lb_check_print(history, check, past_lease, EPISODES_SHOWN, stdout);
  if (lb_check_violated(check, true) && !lb_check_violated(check, past_lease))
    puts("\nWhere leases run out on purpose, --past-lease counts what begins after their end.");
  return 0;
}

/* No expectation is known here: a violation is the finding that a script looks for, and has the
 * code of an unexpected verdict. */
static int exit_code(enum lb_ruled verdict) {
  return verdict == LB_RULED_SAFE ? LB_EXIT_OK : verdict == LB_RULED_VIOLATED ? LB_EXIT_UNEXPECTED : LB_EXIT_UNDECIDED;
}

/* An export is no judgement, so it ends with 0 whatever the history holds. */
static int output(const struct lb_history *history, const struct lb_check *check, const struct lb_args *args) {
  int r;
  if (args->export) r = lb_history_write_json(history, stdout);
  else if (args->json) r = print_json(history, check, args->past_lease);
  else r = print_text(history, check, args->past_lease);
  if (r < 0 && !ferror(stdout)) return lb_complain(LB_EXIT_FAILURE, "cannot write the JSON: %s", strerror(ENOMEM));
  return args->export ? LB_EXIT_OK : exit_code(lb_check_rule(check, args->past_lease).verdict);
}

/* Contradicting options are refused before the file is read: standard input can be read once
 * only. */
int lb_cli_check(const struct lb_args *args) {
  struct lb_history history;
  struct lb_check check;
  if (args->word_count != 1)
    return lb_complain(LB_EXIT_USAGE, "check: expected one history file, or - for standard input");
  if (args->export && strcmp(args->export, "json") != 0)
    return lb_complain(LB_EXIT_USAGE, "--export %s: expected json", args->export);
  if (args->export && (args->json || args->past_lease))
    return lb_complain(LB_EXIT_USAGE, "check: expected --export or %s, got both", args->json ? "--json" : "--past-lease");
  int r = lb_load_history(args->words[0], &history);
  if (r) return r;
  r = lb_check_history(&history, &check);
  if (r < 0) {
    lb_history_clear(&history);
    return lb_complain(LB_EXIT_FAILURE, "%s", strerror(-r));
  }
  int code = output(&history, &check, args);
  lb_check_clear(&check);
  lb_history_clear(&history);
  return code;
}
