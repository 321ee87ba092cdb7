/* SPDX-License-Identifier: MIT
 *
 * Which systems a scenario is asked on, and under which guards. A suite has every scenario on every system under every
 * guard, so that its tables have no hole: its systems are one list for all scenarios. Else each scenario has a list of
 * its own. Where neither -b nor a suite names systems, the scenario does, or it takes the group `standard`.
 *
 * Names are also given loosely: a protocol without a topology, `*` in a scenario. What that stands for is decided here
 * and nowhere else. The same cell may be meant several times; it is made once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit.h"
#include "peers.h"
#include "plan.h"
#include "scenario/expect.h"
#include "system.h"
#include "backends/registry.h"
#include "base/error.h"
#include "base/need.h"
#include "own/own.h"

/* ---- a list of systems, of one scenario or of all ------------------------------------------------------------ */

struct systems {     /* each once; the texts are owned */
  const char *words; /* as the user gave them, without `peers`; NULL = the usual ones */
  bool product;
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
  char *name = lb_need_printed("%s%s%s", protocol, *topology ? "@" : "", topology);
  for (size_t i = 0; i < list->count; i++) {
    if (strcmp(list->name[i], name) != 0) continue;
    free(name);
    return;
  }
  LB_APPEND(list->name, list->count) = name;
}

static bool is_of(const char *system, const char *protocol) {
  size_t length = strlen(protocol);
  return strncmp(system, protocol, length) == 0 && system[length] == '@';
}

/* KIND:NAME@TOPOLOGY. */
static bool is_foreign(const char *system) { return system[strcspn(system, ":@")] == ':'; }

/* Those of a group's systems that are of the protocol (NULL = of any) and that the scenario asks (NULL = any). How
 * many. */
static int add_group(struct systems *list, const char *group, const char *protocol,
                     const struct lb_scenario *scenario) {
  int found = 0;
  char *copy = lb_need_text(lb_system_group(group) ? lb_system_group(group) : ""), *rest = copy;
  for (char *name; (name = strsep(&rest, ","));)
    if (*name && (!protocol || is_of(name, protocol)) && (!scenario || lb_scenario_asks(scenario, name)))
      add_name(list, name, ""), found++;
  free(copy);
  return found;
}

/* The same of the first of the groups that has any. */
static int add_grouped(struct systems *list, const char *protocol) {
  static const char *const groups[] = {"standard", "all", "libraries"};
  int r = 0;
  for (size_t i = 0; r == 0 && i < sizeof groups / sizeof *groups; i++) r = add_group(list, groups[i], protocol, NULL);
  return r;
}

/* Those that the `systems` of the scenario name in full, of the protocol, or (NULL) of any of ours: a foreign lock has
 * to be installed, so the user has to name it. A group need not have them. How many. */
static int add_of_file(struct systems *list, const struct lb_scenario *scenario, const char *protocol) {
  int found = 0;
  char *copy = lb_need_text(scenario->systems ? scenario->systems : ""), *rest = copy;
  for (char *name; (name = strsep(&rest, ", \t\n"));) {
    if (!*name || strchr(name, '*') || (protocol ? !is_of(name, protocol) : is_foreign(name))) continue;
    add_name(list, name, ""), found++;
  }
  free(copy);
  return found;
}

/* Each topology on which the scenario means something; a suite has all. How many. */
static int add_topologies(struct systems *list, const struct lb_protocol *protocol) {
  int found = 0;
  for (const char *const *name = protocol->topologies; *name; name++) {
    const struct lb_topology *topology = list->product ? NULL : lb_topology_find(*name);
    if (topology && !lb_fit_means_something(list->scenarios, topology)) continue;
    add_name(list, protocol->name, *name), found++;
  }
  return found;
}

/* A group means its systems. A protocol alone means its systems that the scenario names, else those in a group, else (a plugin) its topologies.
 * Without any it means the default topology, whose cell then says why it cannot run. A word that is no protocol stays
 * as it is, and is refused when its cell is made. */
static void add_named(struct systems *list, const char *name) {
  int found = add_group(list, name, NULL, NULL);
  const struct lb_protocol *protocol = found ? NULL : lb_protocol_find(name);
  if (protocol && !list->product) found = add_of_file(list, list->scenarios, name);
  if (protocol && found == 0) found = add_grouped(list, name);
  if (protocol && found == 0) found = add_topologies(list, protocol);
  if (found == 0) add_name(list, name, "");
}

static void add_usual(struct systems *list, const struct lb_scenario *scenario) {
  add_of_file(list, scenario, NULL);
  add_group(list, "standard", NULL, scenario);
  if (scenario->systems) add_group(list, "all", NULL, scenario);
}

static void find_systems(struct systems *list) {
  char *copy = lb_need_text(list->words ? list->words : ""), *rest = copy;
  for (char *name; list->words && (name = strsep(&rest, ","));) add_named(list, name);
  for (size_t i = 0; i < list->scenario_count && !list->words; i++) add_usual(list, &list->scenarios[i]);
  free(copy);
}

/* ---- names in a file ------------------------------------------------------------------------------------------- */

/* Whether it is on servers of the user's own that this run has not: a line for it then says nothing. */
static bool is_elsewhere(const char *system) {
  const char *at = strchr(system, '@');
  for (int i = 0; at && i < LB_OWN_COUNT; i++)
    if (strcmp(lb_own_kinds[i]->topology, at + 1) == 0) return !lb_topology_find(at + 1);
  return false;
}

/* A wrong name would ask or expect something of nothing. Where the user names systems the file may speak of a plug-in
 * that is not loaded now. */
static int check_names(const struct lb_scenario *scenario, struct lb_error *err) {
  struct systems asked = {0};
  struct lb_system system;
  int r = 0;
  add_of_file(&asked, scenario, NULL);
  for (size_t i = 0; r == 0 && i < asked.count; i++) r = lb_system_parse(asked.name[i], &system, err);
  clear(&asked);
  if (r < 0) return lb_error_prefix(err, "%s: systems: ", scenario->path);
  for (size_t i = 0; r == 0 && i < scenario->expect_count; i++) {
    const char *name = scenario->expect[i].system;
    if (lb_expect_is_exact(&scenario->expect[i]) && !is_foreign(name) && !is_elsewhere(name))
      r = lb_system_parse(name, &system, err);
  }
  return r < 0 ? lb_error_prefix(err, "%s: [expect]: ", scenario->path) : 0;
}

/* ---- all cells ------------------------------------------------------------------------------------------------- */

/* Those of -g alone; else those of the suite; else those that the scenario names, or `none`. A bit each. */
static unsigned guards_of(const struct lb_plan_request *request, const struct lb_scenario *scenario, size_t asked) {
  unsigned all = (1u << LB_GUARD_COUNT) - 1, own = request->own_guards ? request->own_guards[asked] : 0, named = 0;
  if (request->only_guards) return request->only_guards;
  if (own) all &= own;
  if (request->guards || request->product) return request->guards ? all & request->guards : all;
  for (int g = 0; g < LB_GUARD_COUNT; g++)
    if (scenario->guards && lb_scenario_asks_under(scenario, (enum lb_guard)g)) named |= 1u << g;
  return named ? named : 1u << LB_GUARD_NONE;
}

static void drop_last(struct lb_plan *plan) {
  struct lb_cell *cell = &plan->cells[--plan->cell_count];
  free(cell->options);
  free(cell->derived);
}

/* How many of them mean something, or negative. With `only_meaning` the others are not kept. */
static int add_listed(struct lb_plan *plan, const struct systems *list, struct lb_wanted wanted, bool only_meaning,
                      struct lb_error *err) {
  int r = 0, found = 0;
  for (size_t i = 0; r == 0 && i < list->count; i++) {
    size_t before = plan->cell_count;
    wanted.system = list->name[i];
    r = lb_plan_add_cell(plan, &wanted, err);
    if (r < 0 || plan->cell_count == before) continue;
    if (!plan->cells[before].means_nothing) found++;
    else if (only_meaning) drop_last(plan);
  }
  return r < 0 ? r : found;
}

/* Where it means nothing on the usual systems, all are added for which it means something. */
static int add_under(struct lb_plan *plan, const struct systems *list, const struct lb_wanted *wanted,
                     struct lb_error *err) {
  int r = add_listed(plan, list, *wanted, false, err);
  if (r != 0 || list->words || list->product || wanted->scenario->systems) return r;
  struct systems others = {0};
  add_group(&others, "all", NULL, NULL);
  r = add_listed(plan, &others, *wanted, true, err);
  clear(&others);
  return r;
}

static int add_cells_of(struct lb_plan *plan, const struct systems *list, struct lb_wanted wanted, unsigned guards,
                        struct lb_error *err) {
  int r = list->words ? 0 : check_names(wanted.scenario, err);
  for (int g = 0; r >= 0 && g < LB_GUARD_COUNT; g++) {
    wanted.guard = (enum lb_guard)g;
    if (guards >> g & 1) r = add_under(plan, list, &wanted, err);
  }
  return r;
}

static int add_cells(struct lb_plan *plan, const struct lb_plan_request *request, const char *words,
                     struct lb_error *err) {
  struct systems all = {words, request->product, plan->scenarios, plan->scenario_count};
  int r = 0;
  if (request->product) find_systems(&all);
  for (size_t i = 0; r >= 0 && i < plan->scenario_count; i++) {
    const struct lb_scenario *scenario = &plan->scenarios[i];
    struct systems own = {words, request->product, scenario, 1};
    struct lb_wanted wanted = {scenario, .product = request->product, .guard_named = request->only_guards != 0};
    if (!request->product) find_systems(&own);
    r = add_cells_of(plan, request->product ? &all : &own, wanted,
                     guards_of(request, scenario, plan->variants[i].asked), err);
    clear(&own);
  }
  clear(&all);
  return r < 0 ? r : 0;
}

int lb_plan_add_cells(struct lb_plan *plan, const struct lb_plan_request *request, struct lb_error *err) {
  char *words = request->systems ? lb_need(lb_peers_expand(request->systems, !request->installed)) : NULL;
  int r = request->installed && words && !*words ? lb_error(err, -ENXIO, "none of them is installed")
                                                 : add_cells(plan, request, words, err);
  free(words);
  return r;
}
