/* SPDX-License-Identifier: MIT
 *
 * One cell of a plan, scenario x system x guard: what it is, which options its protocol has, what is expected of it,
 * what the rules say, and why it is left out.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "base/error.h"
#include "fit.h"
#include "peers.h"
#include "plan.h"
#include "settings.h"
#include "system.h"

/* The guard `fence` switches on the option of that name, where a protocol draws its numbers only on
 * demand. */
static void choose_fence(struct lb_cell *cell) {
  const struct lb_option *fence = cell->guard == LB_GUARD_FENCE ? lb_option_find(cell->protocol, "fence") : NULL;
  if (fence) cell->options[fence - cell->protocol->options].b = true;
}

/* Those of the scenario, then those of the user: the last one counts. NULL = no memory. */
static union lb_value *options_of(const struct lb_plan_making *m, const struct lb_cell *cell) {
  const struct lb_scenario *s = cell->scenario;
  const char **all = calloc(s->option_count + m->setting_count + 1, sizeof *all);
  if (!all) return NULL;
  for (size_t i = 0; i < s->option_count; i++) all[i] = s->options[i];
  for (size_t i = 0; i < m->setting_count; i++) all[s->option_count + i] = m->settings[i];
  union lb_value *values = lb_settings_options(cell->protocol, all, s->option_count + m->setting_count);
  free(all);
  return values;
}

/* What the user expects of this guard where the scenario states nothing, NULL = nothing. */
static const struct lb_expect *own_expect(const struct lb_plan *plan, enum lb_guard guard) {
  for (size_t i = 0; i < plan->own_expect_count; i++)
    if (plan->own_expect[i].guard == guard) return &plan->own_expect[i];
  return NULL;
}

/* What means nothing for what the cell is, and not for what its steps need. Who states something of
 * it, or asks for that one guard, gets it. */
static const char *means_nothing(const struct lb_cell *cell, const struct lb_plan_request *request) {
  const struct lb_scenario *s = cell->scenario;
  if (cell->guard != LB_GUARD_NONE && !request->only_guards && (!cell->expect || cell->derived) &&
      (s->kind == LB_KIND_LOAD || s->control))
    return "nothing overtakes a client here, so no guard has anything to stop";
  if (request->product && !request->only_guards && !lb_scenario_asks_under(s, cell->guard))
    return "it is asked without such a guard, which has nothing to stop here";
  if (request->product && !cell->own && !lb_scenario_asks(s, cell->system))
    return "it is asked of a choice of locks (`systems` in its file)";
  bool named = (cell->expect && !cell->derived && lb_expect_is_exact(cell->expect)) ||
               (s->control && s->kind != LB_KIND_CAMPAIGN);
  if (request->product && cell->protocol->traits & LB_TRAIT_UNSAFE && !named)
    return "known to be unsafe: it runs only where the harness has to catch it";
  return NULL;
}

/* Facts say that the question means nothing, or the file of the scenario does. A lock of the user's own is not put to
 * such a question even if he expects something of all its cells. */
static const char *has_no_meaning(const struct lb_cell *cell) {
  if (cell->expect && cell->expect->verdict == LB_NA)
    return *cell->expect->reason ? cell->expect->reason : "the scenario says so";
  return cell->own && cell->predicted && cell->prediction.verdict == LB_NA ? cell->prediction.reason : NULL;
}

/* A scenario may know better than the machine why a cell means nothing, so its reason comes
 * first. */
static void leave_out(struct lb_cell *cell, const struct lb_plan_request *request) {
  const char *why = has_no_meaning(cell);
  if (!why) why = means_nothing(cell, request);
  if (why) snprintf(cell->skip, sizeof cell->skip, "%s", why);
  enum lb_verdict fit =
      why ? LB_NA : lb_fit(cell->scenario, cell->protocol, cell->topology, cell->guard, cell->skip, sizeof cell->skip);
  cell->means_nothing = fit == LB_NA;
}

/* A variant by an option would be the same cell again on a system of another protocol. */
static int check_variant(const struct lb_cell *cell, struct lb_error *err) {
  const char *varied = cell->scenario->varied;
  size_t length = strlen(cell->protocol->name);
  for (const char *at = varied; at && *at; at += strcspn(at, " "), at += *at == ' ') {
    const char *dot = memchr(at, '.', strcspn(at, "="));
    if (!dot || (strncmp(at, cell->protocol->name, length) == 0 && at[length] == '.')) continue;
    return lb_refuse(err, "-s %.*s: a run that varies an option is of its protocol alone (-b %.*s), this one has %s",
                     (int)strcspn(at, " "), at, (int)(dot - at), at, cell->system);
  }
  return 0;
}

/* The cells of a scenario are added one after the other. */
static bool is_there(const struct lb_plan *plan, const struct lb_cell *cell) {
  for (size_t i = plan->cell_count; i-- > 0 && plan->cells[i].scenario == cell->scenario;)
    if (plan->cells[i].guard == cell->guard && strcmp(plan->cells[i].system, cell->system) == 0) return true;
  return false;
}

/* For one more. The room doubles whenever the number of cells is a power of two, so nobody has to keep it. */
static bool has_room(struct lb_plan *plan) {
  if (plan->cell_count & (plan->cell_count - 1)) return true;
  struct lb_cell *grown = realloc(plan->cells, (plan->cell_count ? 2 * plan->cell_count : 1) * sizeof *grown);
  if (grown) plan->cells = grown;
  return grown;
}

/* What a scenario says of servers of the user's own goes before what it says of those that are like them. */
static const struct lb_expect *stated_of(const struct lb_cell *cell) {
  char like[96];
  if (!cell->topology->own) return lb_scenario_expect(cell->scenario, cell->system, cell->guard);
  snprintf(like, sizeof like, "%s@%s", cell->protocol->name, cell->topology->stands_for);
  return lb_scenario_expect_like(cell->scenario, cell->system, like, cell->guard);
}

/* What the rules say, as an expectation. The user's own lock is held to nothing but what he says himself: of it we know
 * what it declares (lb_cell_as_predicted()). A lock of ours on his servers is held to what the rules say of servers
 * like them. */
static int predict(struct lb_cell *cell) {
  struct lb_facts facts;
  lb_facts_of(cell->protocol, cell->options, cell->topology, cell->scenario, &facts);
  cell->predicted = lb_theory_predict(cell->scenario->attack, &facts, cell->guard, &cell->prediction);
  if (!cell->predicted || cell->expect || (cell->brought && !lb_is_peer(cell->protocol))) return 0;
  /* Where the file says that the rule is wrong without a guard, and is asked under no other, the rule is not to be
   * trusted under others. */
  bool beyond = !lb_scenario_asks_under(cell->scenario, cell->guard);
  if (beyond && lb_scenario_expect(cell->scenario, cell->system, LB_GUARD_NONE)) return 0;
  cell->derived = malloc(sizeof *cell->derived);
  if (!cell->derived) return -ENOMEM;
  *cell->derived =
      (struct lb_expect){cell->guard, (char *)"*", cell->prediction.verdict, (char *)cell->prediction.reason};
  cell->expect = cell->derived;
  return 0;
}

/* Its expectation is the scenario's own, else the user's, else what the rules say. */
static int fill(const struct lb_plan_making *m, struct lb_cell *cell, struct lb_error *err) {
  cell->expect = stated_of(cell);
  if (!cell->expect) cell->expect = own_expect(m->plan, cell->guard);
  int r = check_variant(cell, err);
  if (r < 0) return r;
  cell->options = options_of(m, cell);
  if (!cell->options) return -ENOMEM;
  lb_settings_vary(cell->protocol, cell->scenario->varied, cell->options);
  choose_fence(cell);
  r = predict(cell);
  if (r < 0) return r;
  leave_out(cell, m->request);
  return 0;
}

int lb_plan_add_cell(const struct lb_plan_making *m, const struct lb_scenario *scenario, const char *system,
                     enum lb_guard guard, struct lb_error *err) {
  struct lb_system named;
  int r = lb_system_parse(system, &named, err);
  if (r < 0) return r;
  struct lb_cell cell = {.scenario = scenario, .protocol = named.protocol, .topology = named.topology, .guard = guard};
  snprintf(cell.system, sizeof cell.system, "%s", named.name);
  cell.brought = lb_protocol_is_plugin(cell.protocol) || cell.protocol->traits & LB_TRAIT_FOREIGN;
  cell.own = cell.topology->own || (cell.brought && !lb_is_peer(cell.protocol));
  if (is_there(m->plan, &cell)) return 0;
  if (!has_room(m->plan)) return -ENOMEM;
  r = fill(m, &cell, err);
  m->plan->cells[m->plan->cell_count++] = cell; /* released with the plan, whole or not */
  return r;
}
