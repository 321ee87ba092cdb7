/* SPDX-License-Identifier: MIT
 *
 * Which cells a run has: scenario x system x guard. There are three ways to ask. A suite has all of
 * them (plan.c). Else, without names: the systems that a scenario's [expect] names exactly, and if
 * it has an attack the group `standard`, or its own `systems`, for which rules say what to expect. With
 * names (`-b`, `-g`) the user decides.
 *
 * Names are also given loosely: a protocol without a topology, `*` in a scenario. What that stands
 * for is decided here and nowhere else. The same cell may be meant several times; it is made
 * once.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "base/error.h"
#include "fit.h"
#include "system.h"
#include "peers.h"
#include "plan.h"
#include "own/own.h"
#include "settings.h"

/* The guard `fence` switches on the option of that name, where a protocol draws its numbers only on
 * demand. */
static void choose_fence(struct lb_cell *cell) {
  for (size_t i = 0; cell->guard == LB_GUARD_FENCE && cell->protocol->options && cell->protocol->options[i].name; i++)
    if (strcmp(cell->protocol->options[i].name, "fence") == 0) cell->options[i].b = true;
}

/* Those of the scenario, then those of the user: the last one counts. NULL = no memory. */
static union lb_value *options_of(const struct lb_cell *cell, const struct lb_plan_request *request) {
  const struct lb_scenario *s = cell->scenario;
  const char **all = calloc(s->option_count + request->setting_count + 1, sizeof *all);
  if (!all) return NULL;
  for (size_t i = 0; i < s->option_count; i++) all[i] = s->options[i];
  for (size_t i = 0; i < request->setting_count; i++) all[s->option_count + i] = request->settings[i];
  union lb_value *values = lb_settings_options(cell->protocol, all, s->option_count + request->setting_count);
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

/* The number of the reason of the next cell, the same as that of an earlier one with the same words, into cell->note. 0
 * or -ENOMEM. */
static int number_reason(struct lb_plan *plan, struct lb_cell *cell) {
  for (int i = 0; i < plan->note_count; i++)
    if (strcmp(plan->cells[plan->noted[i]].skip, cell->skip) == 0) return cell->note = i + 1, 0;
  size_t *grown = realloc(plan->noted, ((size_t)plan->note_count + 1) * sizeof *grown);
  if (!grown) return -ENOMEM;
  plan->noted = grown;
  grown[plan->note_count++] = plan->cell_count;
  cell->note = plan->note_count;
  return 0;
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

/* One cell, unless it is there already. Its expectation is the scenario's own, else the user's, else what the rules
 * say. */
int lb_plan_add_cell(struct lb_plan *plan, const struct lb_plan_request *request, const struct lb_scenario *scenario,
                     const char *system, enum lb_guard guard, struct lb_error *err) {
  struct lb_system named;
  int r = lb_system_parse(system, &named, err);
  if (r < 0) return r;
  struct lb_cell cell = {.scenario = scenario, .protocol = named.protocol, .topology = named.topology, .guard = guard};
  snprintf(cell.system, sizeof cell.system, "%s", named.name);
  cell.brought = lb_protocol_is_plugin(cell.protocol) || cell.protocol->traits & LB_TRAIT_FOREIGN;
  cell.own = cell.topology->own || (cell.brought && !lb_is_peer(cell.protocol));
  if (is_there(plan, &cell)) return 0;
  cell.expect = stated_of(&cell);
  if (!cell.expect) cell.expect = own_expect(plan, guard);
  r = check_variant(&cell, err);
  if (r < 0) return r;
  cell.options = options_of(&cell, request);
  if (!cell.options) return -ENOMEM;
  lb_settings_vary(cell.protocol, scenario->varied, cell.options);
  choose_fence(&cell);
  if (predict(&cell) < 0) return free(cell.options), -ENOMEM;
  leave_out(&cell, request);
  if ((cell.means_nothing && number_reason(plan, &cell) < 0) || !has_room(plan)) {
    free(cell.options);
    free(cell.derived);
    return -ENOMEM;
  }
  plan->cells[plan->cell_count++] = cell;
  return 0;
}

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
static bool states(const struct lb_plan_request *request, const struct lb_scenario *scenario, enum lb_guard guard) {
  for (size_t i = 0; i < scenario->expect_count; i++) {
    const struct lb_expect *expect = &scenario->expect[i];
    if (expect->guard == guard && (!lb_expect_is_foreign(expect) || is_asked_of(expect, request->systems))) return true;
  }
  return false;
}

bool lb_plan_is_elsewhere(const struct lb_expect *expect) {
  const char *at = strchr(expect->system, '@');
  for (int i = 0; at && i < LB_OWN_COUNT; i++)
    if (strcmp(lb_own_kind((enum lb_own_what)i)->topology, at + 1) == 0) return !lb_topology_find(at + 1);
  return false;
}

static void drop_last(struct lb_plan *plan) {
  struct lb_cell *cell = &plan->cells[--plan->cell_count];
  free(cell->options);
  free(cell->derived);
}

/* Cells of one scenario under one guard. */
struct adding {
  struct lb_plan *plan;
  const struct lb_plan_request *request;
  const struct lb_scenario *scenario;
  enum lb_guard guard;
  struct lb_error *err;
};

static int add(const struct adding *a, const char *system) {
  return lb_plan_add_cell(a->plan, a->request, a->scenario, system, a->guard, a->err);
}

/* A name that is wrong is the scenario's mistake, so the message names its file. */
static int add_of_file(const struct adding *a, const char *system, const char *place) {
  int r = add(a, system);
  return r == -EINVAL ? lb_error_prefix(a->err, "%s: %s: ", a->scenario->path, place) : r;
}

/* Of a group those that it is asked of, or (`only_meaning`) those of them for which it means something. How many it
 * means something for, or negative. */
static int add_group(const struct adding *a, const char *group, bool only_meaning) {
  int r = 0, found = 0;
  char *list = strdup(lb_group(group) ? lb_group(group) : ""), *rest = list;
  if (!list) return -ENOMEM;
  for (char *name; r == 0 && (name = strsep(&rest, ","));) {
    size_t before = a->plan->cell_count;
    if (!*name || !lb_scenario_asks(a->scenario, name)) continue;
    r = add(a, name);
    if (r < 0 || a->plan->cell_count == before) continue;
    if (!a->plan->cells[before].means_nothing) found++;
    else if (only_meaning) drop_last(a->plan);
  }
  free(list);
  return r < 0 ? r : found;
}

/* Those of ours that the scenario's `systems` names in full: a group need not have them. */
static int add_named_in_file(const struct adding *a) {
  int r = 0;
  char *list = strdup(a->scenario->systems ? a->scenario->systems : ""), *rest = list;
  if (!list) return -ENOMEM;
  for (char *name; r == 0 && (name = strsep(&rest, ", \t\n"));)
    if (*name && !strpbrk(name, "*:")) r = add_of_file(a, name, "systems");
  free(list);
  return r;
}

/* Nobody has named a system: those of the scenario, or the usual ones, or where it means nothing on these all for which
 * it means something. */
static int add_usual(const struct adding *a) {
  if (!a->scenario->attack) return 0;
  int r = add_group(a, "standard", false);
  if (r < 0 || (r > 0 && !a->scenario->systems)) return r < 0 ? r : 0;
  r = add_group(a, "all", !a->scenario->systems);
  return r < 0 ? r : add_named_in_file(a);
}

/* The systems that the scenario names in any of its sections, as far as the section of this guard
 * says something of them (`section`, which is that of another guard where this one has none). */
static int add_stated(const struct adding *a, enum lb_guard section) {
  int r = 0;
  for (size_t i = 0; r == 0 && i < a->scenario->expect_count; i++) {
    const struct lb_expect *expect = &a->scenario->expect[i];
    if (lb_expect_adds(expect) && !lb_plan_is_elsewhere(expect) &&
        lb_scenario_expect(a->scenario, expect->system, section))
      r = add_of_file(a, expect->system, "[expect]");
  }
  return r;
}

/* Every topology of the protocol on which the scenario means something. How many, or negative. */
static int add_meaningful(const struct adding *a, const struct lb_protocol *protocol) {
  int r = 0, found = 0;
  for (const char *const *name = protocol->topologies; r == 0 && *name; name++) {
    const struct lb_topology *topology = lb_topology_find(*name);
    char system[96];
    if (topology && !lb_scenario_means_something(a->scenario, topology)) continue;
    snprintf(system, sizeof system, "%s@%s", protocol->name, *name);
    r = add(a, system);
    found++;
  }
  return r < 0 ? r : found;
}

/* Of a protocol alone: its systems in a group. How many, or negative. */
static int add_of_group(const struct adding *a, const char *protocol) {
  int r = 0, found = 0;
  char *list = lb_group_of_protocol(protocol), *rest = list;
  if (!list) return -ENOMEM;
  for (char *name; r == 0 && a->scenario->attack && (name = strsep(&rest, ","));)
    if (*name) r = add(a, name), found++;
  free(list);
  return r < 0 ? r : found;
}

/* Of a protocol alone: those that the scenario names exactly. How many, or negative. */
static int add_exact(const struct adding *a, const char *protocol) {
  size_t length = strlen(protocol);
  int r = 0, found = 0;
  for (size_t i = 0; r == 0 && i < a->scenario->expect_count; i++) {
    const struct lb_expect *expect = &a->scenario->expect[i];
    if (strncmp(expect->system, protocol, length) == 0 && expect->system[length] == '@' && lb_expect_is_exact(expect) &&
        !lb_plan_is_elsewhere(expect))
      r = add(a, expect->system), found++;
  }
  return r < 0 ? r : found;
}

/* A protocol alone means every system of it that the scenario speaks of, or that a group has. If there is none (a
 * plugin): those on which it means something, or else the default topology, whose cell then says
 * why it cannot. */
static int add_named(const struct adding *a, const char *name) {
  const struct lb_protocol *protocol = lb_protocol_find(name);
  int r = protocol ? add_of_group(a, name) : 0;
  if (r == 0 && !strchr(name, '@')) r = add_exact(a, name);
  if (r == 0 && protocol) r = add_meaningful(a, protocol);
  if (r == 0) r = add(a, name);
  return r < 0 ? r : 0;
}

static int add_list(const struct adding *a) {
  int r = 0;
  char *list = strdup(a->request->systems), *rest = list;
  if (!list) return -ENOMEM;
  for (char *name; r == 0 && (name = strsep(&rest, ","));) r = add_named(a, name);
  free(list);
  return r;
}

/* Without -g: `none`, and each that the scenario states something for. With it, or a list: those alone. */
static bool wants_guard(const struct lb_plan_request *request, const struct lb_scenario *scenario,
                        enum lb_guard guard) {
  if (request->only_guards) return request->only_guards >> guard & 1;
  if (request->guards) return request->guards >> guard & 1;
  return guard == LB_GUARD_NONE || states(request, scenario, guard);
}

/* A guard that was asked for and has no section of its own is run on the systems that are stated
 * without a guard. */
int lb_plan_add_cells(struct lb_plan *plan, const struct lb_plan_request *request, const struct lb_scenario *scenario,
                      struct lb_error *err) {
  int r = 0;
  for (int g = 0; g < LB_GUARD_COUNT && r == 0; g++) {
    enum lb_guard guard = (enum lb_guard)g;
    if (!wants_guard(request, scenario, guard)) continue;
    struct adding adding = {plan, request, scenario, guard, err};
    if (request->systems) r = add_list(&adding);
    else r = add_stated(&adding, states(request, scenario, guard) ? guard : LB_GUARD_NONE);
    if (r == 0 && !request->systems) r = add_usual(&adding);
  }
  return r;
}
