/* SPDX-License-Identifier: MIT
 *
 * --operator: what may be done to servers of the user's own. Nothing is, before the commands were shown and allowed.
 */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "client/env.h"
#include "own/guardian.h"
#include "plan/fit.h"
#include "run/exit.h"

static struct lb_own_operator rules;
static struct lb_process_env env;
enum { PATIENCE_S = 60, PAUSE_MS = 500 };

/* ---- the file ---------------------------------------------------------------------------------------------------- */

int lb_cli_operator_read(const struct lb_args *args) {
  struct lb_error err;
  if (!args->operator_file)
    return args->yes ? lb_complain(LB_EXIT_USAGE, "--yes: expected --operator FILE beside it") : 0;
  return lb_own_operator_read(args->operator_file, &rules, &err) < 0 ? lb_complain(LB_EXIT_USAGE, "%s", err.text) : 0;
}

int lb_cli_operator_reserve(const struct lb_args *args) {
  struct lb_error err;
  if (!args->operator_file || args->list || args->where) return 0;
  return lb_guardian_reserve(&rules, &err) < 0 ? lb_complain(LB_EXIT_FAILURE, "%s", err.text) : 0;
}

int lb_cli_operator_meet(const struct lb_args *args) {
  struct lb_error err;
  if (!args->operator_file) return 0;
  if (lb_own_operator_check(&rules, &err) < 0) return lb_complain(LB_EXIT_USAGE, "%s", err.text);
  lb_guardian_empower(&rules);
  return 0;
}

/* ---- consent ----------------------------------------------------------------------------------------------------- */

static unsigned orders_in(const struct lb_plan *plan) {
  unsigned orders = 0;
  for (size_t i = 0; i < plan->cell_count; i++)
    if (!plan->cells[i].skip[0]) orders |= lb_fit_orders(plan->cells[i].scenario, plan->cells[i].topology);
  return orders;
}

static void print_command(FILE *out, enum lb_mandate_verb verb, size_t ward, size_t other, int64_t offset_ms) {
  fprintf(out, "  %s\n", lb_own_operator_command(&rules, verb, ward, other, offset_ms));
}

/* A link is cut from either end, and a clock is set forward and back. */
static void print_order(FILE *out, enum lb_mandate_verb verb, size_t ward, const struct lb_fit_offsets *offsets) {
  bool links = verb == LB_MAY_CUT || verb == LB_MAY_HEAL, clock = verb == LB_MAY_CLOCK;
  for (size_t k = 0; k < rules.count && links; k++)
    if (k != ward) print_command(out, verb, ward, k, 0);
  for (size_t k = 0; k < offsets->count && clock; k++) {
    print_command(out, verb, ward, ward, offsets->ms[k]);
    print_command(out, verb, ward, ward, -offsets->ms[k]);
  }
  if (!links && !clock) print_command(out, verb, ward, ward, 0);
}

static void print_orders(FILE *out, unsigned orders, const struct lb_plan *plan) {
  struct lb_fit_offsets offsets = {0};
  for (size_t i = 0; i < plan->cell_count; i++)
    if (!plan->cells[i].skip[0]) lb_fit_add_offsets(plan->cells[i].scenario, plan->cells[i].topology, &offsets);
  for (unsigned v = 0; v < LB_MAY_COUNT; v++)
    for (size_t i = 0; i < rules.count && orders >> v & 1; i++) print_order(out, (enum lb_mandate_verb)v, i, &offsets);
  free(offsets.ms);
}

static bool is_allowed(void) {
  char answer[20] = "";
  fprintf(stderr, "May these be done to your servers? [y/N] ");
  return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* A fault would be theirs, too. */
static int check_others(void) {
  struct lb_error err;
  if (rules.others) return 0;
  lb_env_init(&env, lb_cli_random_seed());
  int r = lb_guardian_others(&env.base, &err);
  if (r > 0) fprintf(stderr, "These do not tell whether others use them: %s\n", err.text);
  return r < 0 ? lb_complain(LB_EXIT_FAILURE, "%s", err.text) : 0;
}

int lb_cli_operator_consent(const struct lb_args *args, const struct lb_plan *plan) {
  unsigned orders = orders_in(plan);
  if (!args->operator_file || (!orders && !args->list)) return 0;
  fprintf(args->list ? stdout : stderr,
          "%s some of these commands, at most %zu server%s at a time, undone after about %lld s:\n",
          args->list ? "A run may give" : "This run gives", rules.at_once, rules.at_once == 1 ? "" : "s",
          (long long)rules.undo_after_ms / 1000);
  print_orders(args->list ? stdout : stderr, orders, plan);
  if (args->list) return 0;
  int r = check_others();
  if (r != 0 || args->yes) return r;
  if (!isatty(STDIN_FILENO))
    return lb_complain(LB_EXIT_USAGE,
                       "--operator %s: nobody can allow these commands here: expected a terminal, or --yes",
                       args->operator_file);
  return is_allowed() ? 0 : lb_complain(LB_EXIT_USAGE, "--operator %s: not allowed", args->operator_file);
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

int lb_cli_operator_begin(const struct lb_args *args, const struct lb_plan *plan) {
  struct lb_error err;
  if (!args->operator_file || !orders_in(plan)) return 0;
  lb_env_init(&env, lb_cli_random_seed());
  return lb_guardian_start(&env.base, &err) < 0 ? lb_complain(LB_EXIT_FAILURE, "%s", err.text) : 0;
}

int lb_cli_operator_end(int code) {
  struct lb_error err;
  if (lb_guardian_end(&err) == 0) return code;
  return err.text[0] ? lb_complain(LB_EXIT_FAILURE, "%s", err.text) : LB_EXIT_FAILURE;
}

/* ---- lockbench clean --------------------------------------------------------------------------------------------- */

/* A server that was left dead cannot say who it is, so the commands come before the questions. */
int lb_cli_operator_clean(const struct lb_args *args) {
  struct lb_error err;
  int left = args->operator_file ? lb_guardian_clean(&rules, &err) : 0;
  if (left < 0) return lb_complain(-LB_EXIT_FAILURE, "%s", err.text);
  lb_env_init(&env, lb_cli_random_seed());
  struct lb_own *own;
  lb_ns until = lb_clock_ns() + PATIENCE_S * LB_NS_PER_S;
  for (size_t i = 0; left > 0 && (own = lb_own_at(i)); i++)
    while (lb_own_ask(own, &env.base, &err) < 0 && lb_clock_ns() < until)
      lb_clock_sleep_until(lb_clock_ns() + PAUSE_MS * LB_NS_PER_MS);
  return left;
}

int lb_cli_operator_cleaned(int left) {
  struct lb_error err;
  if (left == 0) return 0;
  if (lb_guardian_clean_end(&env.base, &err) < 0) return lb_complain(LB_EXIT_FAILURE, "%s", err.text);
  printf("undone: %d fault%s of an earlier run\n", left, left == 1 ? "" : "s");
  return 0;
}
