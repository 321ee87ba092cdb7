/* SPDX-License-Identifier: MIT
 *
 * `lockbench check FILE`: judges a history again, ours or another tool's, without servers.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "cli.h"

enum { EPISODES_SHOWN = 10 };

static int print_json(const struct lb_check *c) {
  json_t *o = json_pack("{s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "double_holds", (json_int_t)c->double_holds,
                        "double_hold_ms", (double)c->double_hold_ns / 1e6, "depth", (json_int_t)c->depth,
                        "dirty_accesses", (json_int_t)c->dirty_accesses, "lost_updates", (json_int_t)c->lost_updates,
                        "stale_writes", (json_int_t)c->stale_writes, "fenced_off", (json_int_t)c->fenced_off, "token_regressions", (json_int_t)c->token_regressions,
                        "grants", (json_int_t)c->grants, "handoffs", (json_int_t)c->handoffs);
  const struct {
    const char *name;
    int64_t ns;
  } times[] = {{"unavailable_ms", c->unavailable_ns}, {"orphan_ms", c->orphan_ns}, {"blind_ms", c->blind_ns}};
  for (size_t i = 0; i < sizeof times / sizeof *times; i++)
    json_object_set_new(o, times[i].name, times[i].ns < 0 ? json_null() : json_real((double)times[i].ns / 1e6));
  int r = json_dumpf(o, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
  json_decref(o);
  putchar('\n');
  return r;
}

static int output(const struct lb_history *history, const struct lb_check *check, const struct lb_args *args) {
  int r = 0;
  if (args->export) r = lb_history_write_json(history, stdout);
  else if (args->json) r = print_json(check);
  else lb_check_print(history, check, EPISODES_SHOWN, stdout);
  if (r < 0 || fflush(stdout) != 0)
    return lb_complain(LB_EXIT_FAILURE, "cannot write to standard output: %s", strerror(errno));
  if (args->export) return LB_EXIT_OK;
  if (lb_check_violated(check)) return LB_EXIT_UNEXPECTED;
  return check->handoffs > 0 ? LB_EXIT_OK : LB_EXIT_UNDECIDED; /* nothing put the lock to the test */
}

int lb_cli_check(int argc, char **argv) {
  struct lb_args args;
  struct lb_history history;
  struct lb_check check;
  char err[600];
  int r = lb_args_parse(argc, argv, &args);
  if (r) return r;
  if (args.word_count != 1) return lb_complain(LB_EXIT_USAGE, "check: expected one history file");
  if (args.export && strcmp(args.export, "json") != 0)
    return lb_complain(LB_EXIT_USAGE, "--export %s: expected json", args.export);
  r = lb_history_load(args.words[0], &history, err, sizeof err);
  if (r < 0) return lb_complain(LB_EXIT_USAGE, "%s", err);
  r = lb_check_history(&history, &check);
  if (r < 0) {
    lb_history_clear(&history);
    return lb_complain(LB_EXIT_FAILURE, "%s", strerror(-r));
  }
  int code = output(&history, &check, &args);
  lb_check_clear(&check);
  lb_history_clear(&history);
  return code;
}
