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
#include "plan.h"
#include "scenario/expect.h"
#include "system.h"
#include "backends/registry.h"
#include "base/error.h"
#include "base/need.h"
#include "own/own.h"

/* ---- a list of systems, of one scenario or of all ------------------------------------------------------------ */

struct systems {     /* each once; the texts are owned */
  const char *words; /* as the user gave them, without names of groups; NULL = the usual ones */
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
    const struct lb_topology *topology = list->product ? NULL : lb_topology_find(*name);
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
  if (protocol && (list->product || has_attack(list))) found = add_grouped(list, name);
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
  if (!list->words) {
    add_all_stated(list);
    return;
  }
  char *copy = lb_need_text(list->words), *rest = copy;
  for (char *name; (name = strsep(&rest, ","));) add_named(list, name);
  free(copy);
}

/* ---- guards -------------------------------------------------------------------------------------------------- */

/* Whether a line speaks of the protocol of one of these systems, "a@x,b". */
static bool is_asked_of(const struct lb_expect *expect, const char *systems) {
  char pattern[LB_SYSTEM_MAX], name[LB_SYSTEM_MAX];
  snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(expect->system, "@"), expect->system);
  for (const char *at = systems; at && *at; at += strcspn(at, ","), at += *at == ',') {
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "@,"), at);
    if (fnmatch(pattern, name, 0) == 0) return true;
  }
  return false;
}

/* True if the scenario has an [expect] section for this guard with anything in it but foreign locks that this run has
 * not. */
static bool states(const struct lb_scenario *scenario, enum lb_guard guard, const char *systems) {
  for (size_t i = 0; i < scenario->expect_count; i++) {
    const struct lb_expect *expect = &scenario->expect[i];
    if (expect->guard == guard && (!is_foreign(expect) || is_asked_of(expect, systems))) return true;
  }
  return false;
}

/* Those of -g alone; else those of the suite; else `none`, and each that the scenario states something for. A bit
 * each. */
static unsigned guards_of(const struct lb_plan_asking *asking, const struct lb_scenario *scenario, size_t asked) {
  unsigned all = (1u << LB_GUARD_COUNT) - 1, own = asking->own_guards ? asking->own_guards[asked] : 0;
  if (asking->only_guards) return asking->only_guards;
  if (own) all &= own;
  if (asking->guards) return all & asking->guards;
  for (int g = LB_GUARD_NONE + 1; g < LB_GUARD_COUNT && !asking->product; g++)
    if (!states(scenario, (enum lb_guard)g, asking->systems)) all &= ~(1u << g);
  return all;
}

/* ---- no system was named: cells of one scenario under one guard ------------------------------------------------ */

struct usual {
  struct lb_plan *plan;
  const struct lb_scenario *scenario;
  struct lb_wanted wanted;
  struct lb_error *err;
};

static int add(struct usual *u, const char *system) {
  u->wanted.system = system;
  return lb_plan_add_cell(u->plan, &u->wanted, u->err);
}

/* A name that is wrong is the scenario's mistake, so the message names its file. */
static int add_of_file(struct usual *u, const char *system, const char *place) {
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
static int add_group(struct usual *u, const char *group, bool only_meaning) {
  struct lb_plan *plan = u->plan;
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
static int add_named_in_file(struct usual *u) {
  int r = 0;
  char *list = lb_need_text(u->scenario->systems ? u->scenario->systems : ""), *rest = list;
  for (char *name; r == 0 && (name = strsep(&rest, ", \t\n"));)
    if (*name && !strpbrk(name, "*:")) r = add_of_file(u, name, "systems");
  free(list);
  return r;
}

/* The systems that the scenario names in any of its sections, as far as the section of this guard says something of
 * them. A guard that was asked for and has no section of its own is run on those that are stated without a guard. */
static int add_stated_cells(struct usual *u) {
  enum lb_guard section = states(u->scenario, u->wanted.guard, NULL) ? u->wanted.guard : LB_GUARD_NONE;
  int r = 0;
  for (size_t i = 0; r == 0 && i < u->scenario->expect_count; i++) {
    const struct lb_expect *expect = &u->scenario->expect[i];
    if (adds(expect) && !is_elsewhere(expect) && lb_scenario_expect(u->scenario, expect->system, section))
      r = add_of_file(u, expect->system, "[expect]");
  }
  return r;
}

/* Those of the scenario and the usual ones, or where it means nothing on these all for which it means something. */
static int add_usual(struct usual *u) {
  int r = add_stated_cells(u);
  if (r < 0 || !u->scenario->attack) return r;
  r = add_group(u, "standard", false);
  if (r < 0 || (r > 0 && !u->scenario->systems)) return r < 0 ? r : 0;
  r = add_group(u, "all", !u->scenario->systems);
  return r < 0 ? r : add_named_in_file(u);
}

/* ---- all cells ------------------------------------------------------------------------------------------------- */

static int add_listed(struct lb_plan *plan, const struct systems *list, struct lb_wanted wanted, struct lb_error *err) {
  int r = 0;
  for (size_t i = 0; r == 0 && i < list->count; i++) {
    wanted.system = list->name[i];
    r = lb_plan_add_cell(plan, &wanted, err);
  }
  return r;
}

/* `list` NULL: no system was named. */
static int add_cells_of(struct lb_plan *plan, const struct systems *list, struct lb_wanted wanted, unsigned guards,
                        struct lb_error *err) {
  int r = 0;
  for (int g = 0; r == 0 && g < LB_GUARD_COUNT; g++) {
    if (!(guards >> g & 1)) continue;
    wanted.guard = (enum lb_guard)g;
    r = list ? add_listed(plan, list, wanted, err) : add_usual(&(struct usual){plan, wanted.scenario, wanted, err});
  }
  return r;
}

int lb_plan_add_cells(struct lb_plan *plan, const struct lb_plan_asking *asking, struct lb_error *err) {
  struct systems all = {asking->systems, asking->product, plan->scenarios, plan->scenario_count};
  int r = 0;
  if (asking->product) find_systems(&all);
  for (size_t i = 0; r == 0 && i < plan->scenario_count; i++) {
    const struct lb_scenario *scenario = &plan->scenarios[i];
    struct systems own = {asking->systems, asking->product, scenario, 1};
    struct lb_wanted wanted = {scenario, .product = asking->product, .guard_named = asking->only_guards != 0};
    if (!asking->product && asking->systems) find_systems(&own);
    r = add_cells_of(plan,
                     asking->product   ? &all
                     : asking->systems ? &own
                                       : NULL,
                     wanted, guards_of(asking, scenario, plan->variants[i].asked), err);
    clear(&own);
  }
  clear(&all);
  return r;
}
