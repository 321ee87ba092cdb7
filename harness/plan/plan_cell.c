/* SPDX-License-Identifier: MIT
 *
 * One cell, scenario x system x guard: what it is, which options its protocol has, what is expected of it, what the
 * rules say, and why it is left out.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit.h"
#include "peers.h"
#include "plan.h"
#include "scenario/expect.h"
#include "settings.h"
#include "system.h"
#include "backends/registry.h"
#include "base/error.h"
#include "base/need.h"
#include "theory/facts_cell.h"

/* The guard `fence` switches on the option of that name, where a protocol draws its numbers only on
 * demand. */
static void choose_fence(struct lb_cell *cell) {
  const struct lb_option *fence = cell->guard == LB_GUARD_FENCE ? lb_option_find(cell->protocol, "fence") : NULL;
  if (fence) cell->options[fence - cell->protocol->options].b = true;
}

static const struct lb_variant *variant_of(const struct lb_plan *plan, const struct lb_cell *cell) {
  return &plan->variants[cell->scenario - plan->scenarios];
}

/* Those of the scenario, then those of the user, then what it is varied by: the last one counts. */
static union lb_value *options_of(const struct lb_plan *plan, const struct lb_cell *cell) {
  const struct lb_variant *variant = variant_of(plan, cell);
  union lb_value *values = lb_settings_defaults(cell->protocol);
  lb_settings_put(&plan->asked[cell->asked].options, cell->protocol, values);
  lb_settings_put(&plan->settings, cell->protocol, values);
  for (size_t i = 0; i < variant->count; i++)
    lb_settings_put_one(variant->by[i], variant->which[i], cell->protocol, values);
  return values;
}

/* What the user expects of this guard where the scenario states nothing, NULL = nothing. */
static const struct lb_expect *own_expect(const struct lb_plan *plan, enum lb_guard guard) {
  for (size_t i = 0; i < plan->own_expect_count; i++)
    if (plan->own_expect[i].guard == guard) return &plan->own_expect[i];
  return NULL;
}

/* A scenario's file knows no origins: what it says of a system holds for each version of its servers. */
static void name_without_origin(const struct lb_cell *cell, char ret[LB_SYSTEM_MAX]) {
  const struct lb_topology *t = cell->topology;
  snprintf(ret, LB_SYSTEM_MAX, "%s@%s", cell->protocol->name, t->base ? t->base : t->name);
}

/* And what it says of a system, for servers of the user's own that are like it. */
static void name_like(const struct lb_cell *cell, char ret[LB_SYSTEM_MAX]) {
  const struct lb_topology *t = cell->topology;
  if (t->own) snprintf(ret, LB_SYSTEM_MAX, "%s@%s", cell->protocol->name, t->stands_for);
  else name_without_origin(cell, ret);
}

/* What means nothing for what the cell is, and not for what its steps need. A scenario that names the guard gets it,
 * and so does a user who asks for that one guard. */
static const char *means_nothing(const struct lb_cell *cell, const struct lb_wanted *wanted) {
  const struct lb_scenario *s = cell->scenario;
  char like[LB_SYSTEM_MAX];
  name_without_origin(cell, like);
  bool guard_asked = wanted->guard_named || (s->guards && lb_scenario_asks_under(s, cell->guard));
  if (cell->guard != LB_GUARD_NONE && !guard_asked && (s->kind == LB_KIND_LOAD || s->control))
    return "nothing overtakes a client here, so no guard has anything to stop";
  if (wanted->product && cell->guard == LB_GUARD_NONE && !lb_scenario_asks_under(s, cell->guard))
    return "it is asked under a guard, without which its client works on past its lease";
  if (wanted->product && !wanted->guard_named && !lb_scenario_asks_under(s, cell->guard))
    return "it is asked without such a guard, which has nothing to stop here";
  if (wanted->product && !cell->own && !lb_scenario_asks(s, like))
    return "it is asked of a choice of locks (`systems` in its file)";
  bool catches = s->control && s->kind != LB_KIND_CAMPAIGN;
  if (wanted->product && cell->protocol->traits & LB_TRAIT_UNSAFE && !(cell->protocol->traits & LB_TRAIT_FLOOR) &&
      !catches)
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
static void leave_out(struct lb_cell *cell, const struct lb_wanted *wanted) {
  const char *why = has_no_meaning(cell);
  if (!why) why = means_nothing(cell, wanted);
  if (why) snprintf(cell->skip, sizeof cell->skip, "%s", why);
  enum lb_verdict fit = why ? LB_NA : lb_fit(cell, cell->skip, sizeof cell->skip);
  cell->means_nothing = fit == LB_NA;
}

/* A variant by an option would be the same cell again on a system of another protocol. */
static int check_variant(const struct lb_plan *plan, const struct lb_cell *cell, struct lb_error *err) {
  const struct lb_variant *variant = variant_of(plan, cell);
  for (size_t i = 0; i < variant->count; i++) {
    const struct lb_change *s = variant->by[i];
    if (s->protocol && s->protocol != cell->protocol)
      return lb_refuse(err, "-s %s=%s: a run that varies an option is of its protocol alone (-b %s), this one has %s",
                       s->key, s->value[variant->which[i]], s->protocol->name, cell->system);
  }
  return 0;
}

/* The cells of a scenario are added one after the other. */
static bool is_there(const struct lb_plan *plan, const struct lb_cell *cell) {
  for (size_t i = plan->cell_count; i-- > 0 && plan->cells[i].scenario == cell->scenario;)
    if (plan->cells[i].guard == cell->guard && strcmp(plan->cells[i].system, cell->system) == 0) return true;
  return false;
}

/* What a scenario says of servers of the user's own goes before what it says of those that are like them. */
static const struct lb_expect *stated_of(const struct lb_cell *cell) {
  char like[LB_SYSTEM_MAX];
  name_like(cell, like);
  return lb_scenario_expect_like(cell->scenario, cell->system, like, cell->guard);
}

/* What the rules say, as an expectation. The user's own lock is held to nothing but what he says himself: of it we know
 * what it declares (lb_cell_sum_as_predicted()). A lock of ours on his servers is held to what the rules say of servers
 * like them. */
static void predict(struct lb_cell *cell) {
  struct lb_facts facts;
  if (cell->protocol->traits & LB_TRAIT_FLOOR) return; /* nothing is said of what is no lock */
  lb_facts_of(cell->protocol, cell->options, cell->topology, cell->scenario, &facts);
  cell->predicted = lb_theory_predict(cell->scenario->attack, &facts, cell->guard, &cell->prediction);
  lb_facts_without_flaws(&facts);
  lb_theory_predict(cell->scenario->attack, &facts, cell->guard, &cell->of_kind);
  if (!cell->predicted || cell->expect || (cell->brought && !lb_peers_has(cell->protocol))) return;
  /* A file may say that the rule is wrong without a guard, and ask nothing under guards. Then the rule is not trusted
   * under guards either. */
  bool beyond = !lb_scenario_asks_under(cell->scenario, cell->guard);
  if (beyond && lb_scenario_expect(cell->scenario, cell->system, LB_GUARD_NONE)) return;
  cell->derived = lb_need(malloc(sizeof *cell->derived));
  *cell->derived =
      (struct lb_expect){cell->guard, (char *)"*", cell->prediction.verdict, (char *)cell->prediction.reason};
  cell->expect = cell->derived;
}

/* Its expectation is the scenario's own, else the user's, else what the rules say. */
static int fill(const struct lb_plan *plan, struct lb_cell *cell, const struct lb_wanted *wanted,
                struct lb_error *err) {
  cell->expect = stated_of(cell);
  if (!cell->expect) cell->expect = own_expect(plan, cell->guard);
  int r = check_variant(plan, cell, err);
  if (r < 0) return r;
  cell->options = options_of(plan, cell);
  choose_fence(cell);
  predict(cell);
  leave_out(cell, wanted);
  return 0;
}

int lb_plan_add_cell(struct lb_plan *plan, const struct lb_wanted *wanted, struct lb_error *err) {
  struct lb_system named;
  int r = lb_system_parse(wanted->system, &named, err);
  if (r < 0) return r;
  struct lb_cell cell = {
      .scenario = wanted->scenario, .protocol = named.protocol, .topology = named.topology, .guard = wanted->guard};
  snprintf(cell.system, sizeof cell.system, "%s", named.name);
  cell.brought = lb_protocol_is_plugin(cell.protocol) || cell.protocol->traits & LB_TRAIT_FOREIGN;
  cell.own = cell.topology->own || (cell.brought && !lb_peers_has(cell.protocol));
  if (is_there(plan, &cell)) return 0;
  cell.asked = variant_of(plan, &cell)->asked;
  r = fill(plan, &cell, wanted, err);
  LB_APPEND(plan->cells, plan->cell_count) = cell; /* released with the plan, whole or not */
  return r;
}
