/* SPDX-License-Identifier: MIT
 *
 * Which systems a scenario is asked on, and under which guards. There are three ways to ask. A suite has every scenario
 * on every system under every guard, so that its tables have no hole: its systems are one list for all scenarios,
 * without names the group `standard` and what any of them names exactly. Else, with names (`-b`, `-g`), the user
 * decides. Without: the systems that a scenario's [expect] names exactly, and if it has an attack the group `standard`,
 * or its own `systems`, for which rules say what to expect.
 *
 * Names are also given loosely: a protocol without a topology, `*` in a scenario. What that stands for is decided here
 * and nowhere else. The same cell may be meant several times; it is made once.
 */
#include <errno.h>
#include <fnmatch.h>
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
#include "own/own.h"
#include "theory/facts_cell.h"

/* ---- one cell, scenario x system x guard: what it is, which options its protocol has, what is expected of it, what
 * the rules say, and why it is left out -------------------------------------------------------------------------- */

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

/* What means nothing for what the cell is, and not for what its steps need. A scenario that states something of it gets
 * it, and so does a user who asks for that one guard. */
static const char *means_nothing(const struct lb_cell *cell, const struct lb_plan_request *request) {
  const struct lb_scenario *s = cell->scenario;
  if (cell->guard != LB_GUARD_NONE && !request->only_guards && (!cell->expect || cell->derived) &&
      (s->kind == LB_KIND_LOAD || s->control))
    return "nothing overtakes a client here, so no guard has anything to stop";
  if (request->product && cell->guard == LB_GUARD_NONE && !lb_scenario_asks_under(s, cell->guard))
    return "it is asked under a guard, without which its client works on past its lease";
  if (request->product && !request->only_guards && !lb_scenario_asks_under(s, cell->guard))
    return "it is asked without such a guard, which has nothing to stop here";
  if (request->product && !cell->own && !lb_scenario_asks(s, cell->system))
    return "it is asked of a choice of locks (`systems` in its file)";
  bool named = (cell->expect && !cell->derived && lb_expect_is_exact(cell->expect)) ||
               (s->control && s->kind != LB_KIND_CAMPAIGN);
  if (request->product && cell->protocol->traits & LB_TRAIT_UNSAFE && !(cell->protocol->traits & LB_TRAIT_FLOOR) &&
      !named)
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
  char like[96];
  if (!cell->topology->own) return lb_scenario_expect(cell->scenario, cell->system, cell->guard);
  snprintf(like, sizeof like, "%s@%s", cell->protocol->name, cell->topology->stands_for);
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
static int fill(const struct lb_plan_making *m, struct lb_cell *cell, struct lb_error *err) {
  cell->expect = stated_of(cell);
  if (!cell->expect) cell->expect = own_expect(m->plan, cell->guard);
  int r = check_variant(m->plan, cell, err);
  if (r < 0) return r;
  cell->options = options_of(m->plan, cell);
  choose_fence(cell);
  predict(cell);
  leave_out(cell, m->request);
  return 0;
}

/* Adds one cell, unless it is there already. */
static int add_cell(const struct lb_plan_making *m, const struct lb_scenario *scenario, const char *system,
                    enum lb_guard guard, struct lb_error *err) {
  struct lb_system named;
  int r = lb_system_parse(system, &named, err);
  if (r < 0) return r;
  struct lb_cell cell = {.scenario = scenario, .protocol = named.protocol, .topology = named.topology, .guard = guard};
  snprintf(cell.system, sizeof cell.system, "%s", named.name);
  cell.brought = lb_protocol_is_plugin(cell.protocol) || cell.protocol->traits & LB_TRAIT_FOREIGN;
  cell.own = cell.topology->own || (cell.brought && !lb_peers_has(cell.protocol));
  if (is_there(m->plan, &cell)) return 0;
  cell.asked = variant_of(m->plan, &cell)->asked;
  r = fill(m, &cell, err);
  LB_APPEND(m->plan->cells, m->plan->cell_count) = cell; /* released with the plan, whole or not */
  return r;
}

/* ---- a list of systems, of one scenario or of all ------------------------------------------------------------ */

struct systems { /* each once; the texts are owned */
  const struct lb_plan_making *m;
  const struct lb_scenario *scenarios; /* that are asked on them */
  size_t scenario_count;
  char **name;
  size_t count;
};

static void clear(struct systems *list) {
  for (size_t i = 0; i < list->count; i++) free(list->name[i]);
  free(list->name);
}

/* "PROTOCOL@TOPOLOGY", in two parts. */
static void add_name(struct systems *list, const char *protocol, const char *topology) {
  char *name = NULL;
  if (asprintf(&name, "%s%s%s", protocol, *topology ? "@" : "", topology) < 0) lb_need(NULL);
  for (size_t i = 0; i < list->count; i++) {
    if (strcmp(list->name[i], name) != 0) continue;
    free(name);
    return;
  }
  LB_APPEND(list->name, list->count) = name;
}

/* Whether a line is for servers of the user's own that this run has not: it then says nothing. */
static bool is_elsewhere(const struct lb_expect *expect) {
  const char *at = strchr(expect->system, '@');
  for (int i = 0; at && i < LB_OWN_COUNT; i++)
    if (strcmp(lb_own_kinds[i]->topology, at + 1) == 0) return !lb_topology_find(at + 1);
  return false;
}

/* True if it is of a foreign lock: KIND:NAME@TOPOLOGY. */
static bool is_foreign(const struct lb_expect *expect) { return strchr(expect->system, ':') != NULL; }

/* True if a run that names no system runs this one. A foreign lock (KIND:NAME@TOPOLOGY) has to be named, as it has to
 * be installed. */
static bool adds(const struct lb_expect *expect) { return lb_expect_is_exact(expect) && !is_foreign(expect); }

/* What the scenarios name exactly: of one protocol, or of all (NULL). How many. */
static int add_stated(struct systems *list, const char *protocol) {
  int found = 0;
  size_t length = protocol ? strlen(protocol) : 0;
  for (size_t s = 0; s < list->scenario_count; s++) {
    const struct lb_scenario *scenario = &list->scenarios[s];
    for (size_t i = 0; i < scenario->expect_count; i++) {
      const char *name = scenario->expect[i].system;
      if (protocol ? !lb_expect_is_exact(&scenario->expect[i]) : !adds(&scenario->expect[i])) continue;
      if (is_elsewhere(&scenario->expect[i])) continue;
      if (protocol && (strncmp(name, protocol, length) != 0 || name[length] != '@')) continue;
      add_name(list, name, "");
      found++;
    }
  }
  return found;
}

/* Those of a group's systems that are of the protocol. How many. */
static int add_those_of(struct systems *list, const char *group, const char *protocol) {
  int found = 0;
  size_t length = strlen(protocol);
  char *copy = lb_need_text(lb_system_group(group) ? lb_system_group(group) : ""), *rest = copy;
  for (char *name; (name = strsep(&rest, ","));)
    if (strncmp(name, protocol, length) == 0 && name[length] == '@') add_name(list, name, ""), found++;
  free(copy);
  return found;
}

/* The same of the first of the groups that has any. */
static int add_grouped(struct systems *list, const char *protocol) {
  static const char *const groups[] = {"standard", "all", "libraries"};
  int r = 0;
  for (size_t i = 0; r == 0 && i < sizeof groups / sizeof *groups; i++) r = add_those_of(list, groups[i], protocol);
  return r;
}

/* Whether rules say what to expect. */
static bool has_attack(const struct systems *list) {
  for (size_t i = 0; i < list->scenario_count; i++)
    if (list->scenarios[i].attack) return true;
  return false;
}

/* Each topology on which the scenario means something; a suite has all. How many. */
static int add_topologies(struct systems *list, const struct lb_protocol *protocol) {
  int found = 0;
  for (const char *const *name = protocol->topologies; *name; name++) {
    const struct lb_topology *topology = list->m->request->product ? NULL : lb_topology_find(*name);
    if (topology && !lb_fit_means_something(list->scenarios, topology)) continue;
    add_name(list, protocol->name, *name), found++;
  }
  return found;
}

/* A protocol alone means its systems in a group, else those that the scenario names, else (a plugin) its topologies.
 * Without any it means the default topology, whose cell then says why it cannot run. A word that is no protocol stays
 * as it is, and is refused when its cell is made. */
static void add_named(struct systems *list, const char *name) {
  int found = 0;
  const struct lb_protocol *protocol = lb_protocol_find(name);
  if (protocol && (list->m->request->product || has_attack(list))) found = add_grouped(list, name);
  if (protocol && found == 0) found = add_stated(list, name);
  if (protocol && found == 0) found = add_topologies(list, protocol);
  if (found == 0) add_name(list, name, "");
}

/* Protocol after protocol as the registry has them, so that those of one server stand together in the tables. At the
 * end what is of no protocol: it is refused when its cell is made. */
static void add_all_stated(struct systems *list) {
  const struct lb_protocol *protocol;
  for (size_t i = 0; (protocol = lb_protocol_at(i)); i++) {
    if (protocol->traits & LB_TRAIT_FOREIGN) continue;
    if (has_attack(list)) add_those_of(list, "standard", protocol->name);
    add_stated(list, protocol->name);
  }
  add_stated(list, NULL);
}

static void find_systems(struct systems *list) {
  if (!list->m->systems) {
    add_all_stated(list);
    return;
  }
  char *copy = lb_need_text(list->m->systems), *rest = copy;
  for (char *name; (name = strsep(&rest, ","));) add_named(list, name);
  free(copy);
}

/* ---- guards -------------------------------------------------------------------------------------------------- */

/* Whether a line speaks of the protocol of one of these systems, "a@x,b". */
static bool is_asked_of(const struct lb_expect *expect, const char *systems) {
  char pattern[96], name[96];
  snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(expect->system, "@"), expect->system);
  for (const char *at = systems; at && *at; at += strcspn(at, ","), at += *at == ',') {
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "@,"), at);
    if (fnmatch(pattern, name, 0) == 0) return true;
  }
  return false;
}

/* True if the scenario has an [expect] section for this guard with anything in it but foreign locks that this run has
 * not. */
static bool states(const struct lb_plan_making *m, const struct lb_scenario *scenario, enum lb_guard guard) {
  for (size_t i = 0; i < scenario->expect_count; i++) {
    const struct lb_expect *expect = &scenario->expect[i];
    if (expect->guard == guard && (!is_foreign(expect) || is_asked_of(expect, m->systems))) return true;
  }
  return false;
}

/* Variants of a scenario have the guards of their file. */
static unsigned own_guards(const struct lb_plan_making *m, const struct lb_scenario *scenario) {
  const unsigned *own = m->request->own_guards;
  return own ? own[m->plan->variants[scenario - m->plan->scenarios].asked] : 0;
}

/* Those of -g alone; else those of the suite; else `none`, and each that the scenario states something for. */
static bool wants_guard(const struct lb_plan_making *m, const struct lb_scenario *scenario, enum lb_guard guard) {
  const struct lb_plan_request *request = m->request;
  if (request->only_guards) return request->only_guards >> guard & 1;
  unsigned own = own_guards(m, scenario);
  if (own && !(own >> guard & 1)) return false;
  if (request->guards) return request->guards >> guard & 1;
  return request->product || guard == LB_GUARD_NONE || states(m, scenario, guard);
}

/* ---- no system was named: cells of one scenario under one guard ------------------------------------------------ */

struct usual {
  const struct lb_plan_making *m;
  const struct lb_scenario *scenario;
  enum lb_guard guard;
  struct lb_error *err;
};

static int add(const struct usual *u, const char *system) {
  return add_cell(u->m, u->scenario, system, u->guard, u->err);
}

/* A name that is wrong is the scenario's mistake, so the message names its file. */
static int add_of_file(const struct usual *u, const char *system, const char *place) {
  int r = add(u, system);
  return r == -EINVAL ? lb_error_prefix(u->err, "%s: %s: ", u->scenario->path, place) : r;
}

static void drop_last(struct lb_plan *plan) {
  struct lb_cell *cell = &plan->cells[--plan->cell_count];
  free(cell->options);
  free(cell->derived);
}

/* Adds the systems of a group that the scenario is asked of, or (`only_meaning`) those of them for which it means
 * something. How many it means something for, or negative. */
static int add_group(const struct usual *u, const char *group, bool only_meaning) {
  struct lb_plan *plan = u->m->plan;
  int r = 0, found = 0;
  char *list = lb_need_text(lb_system_group(group) ? lb_system_group(group) : ""), *rest = list;
  for (char *name; r == 0 && (name = strsep(&rest, ","));) {
    size_t before = plan->cell_count;
    if (!*name || !lb_scenario_asks(u->scenario, name)) continue;
    r = add(u, name);
    if (r < 0 || plan->cell_count == before) continue;
    if (!plan->cells[before].means_nothing) found++;
    else if (only_meaning) drop_last(plan);
  }
  free(list);
  return r < 0 ? r : found;
}

/* Those of ours that the scenario's `systems` names in full: a group need not have them. */
static int add_named_in_file(const struct usual *u) {
  int r = 0;
  char *list = lb_need_text(u->scenario->systems ? u->scenario->systems : ""), *rest = list;
  for (char *name; r == 0 && (name = strsep(&rest, ", \t\n"));)
    if (*name && !strpbrk(name, "*:")) r = add_of_file(u, name, "systems");
  free(list);
  return r;
}

/* The systems that the scenario names in any of its sections, as far as the section of this guard says something of
 * them. A guard that was asked for and has no section of its own is run on those that are stated without a guard. */
static int add_stated_cells(const struct usual *u) {
  enum lb_guard section = states(u->m, u->scenario, u->guard) ? u->guard : LB_GUARD_NONE;
  int r = 0;
  for (size_t i = 0; r == 0 && i < u->scenario->expect_count; i++) {
    const struct lb_expect *expect = &u->scenario->expect[i];
    if (adds(expect) && !is_elsewhere(expect) && lb_scenario_expect(u->scenario, expect->system, section))
      r = add_of_file(u, expect->system, "[expect]");
  }
  return r;
}

/* Those of the scenario and the usual ones, or where it means nothing on these all for which it means something. */
static int add_usual(const struct usual *u) {
  int r = add_stated_cells(u);
  if (r < 0 || !u->scenario->attack) return r;
  r = add_group(u, "standard", false);
  if (r < 0 || (r > 0 && !u->scenario->systems)) return r < 0 ? r : 0;
  r = add_group(u, "all", !u->scenario->systems);
  return r < 0 ? r : add_named_in_file(u);
}

/* ---- all cells ------------------------------------------------------------------------------------------------- */

static int add_listed(const struct systems *list, const struct lb_scenario *scenario, enum lb_guard guard,
                      struct lb_error *err) {
  int r = 0;
  for (size_t i = 0; r == 0 && i < list->count; i++) r = add_cell(list->m, scenario, list->name[i], guard, err);
  return r;
}

/* `list` NULL: no system was named. */
static int add_cells_of(const struct lb_plan_making *m, const struct lb_scenario *scenario, const struct systems *list,
                        struct lb_error *err) {
  int r = 0;
  for (int g = 0; r == 0 && g < LB_GUARD_COUNT; g++) {
    enum lb_guard guard = (enum lb_guard)g;
    if (!wants_guard(m, scenario, guard)) continue;
    r = list ? add_listed(list, scenario, guard, err) : add_usual(&(struct usual){m, scenario, guard, err});
  }
  return r;
}

int lb_plan_add_cells(const struct lb_plan_making *m, struct lb_error *err) {
  const struct lb_plan *plan = m->plan;
  bool all = m->request->product;
  struct systems list = {.m = m, .scenarios = plan->scenarios, .scenario_count = plan->scenario_count};
  int r = 0;
  if (all) find_systems(&list);
  for (size_t i = 0; r == 0 && i < plan->scenario_count; i++) {
    struct systems own = {.m = m, .scenarios = &plan->scenarios[i], .scenario_count = 1};
    if (!all && m->systems) find_systems(&own);
    r = add_cells_of(m, &plan->scenarios[i], all ? &list : m->systems ? &own : NULL, err);
    clear(&own);
  }
  clear(&list);
  return r;
}
