/* SPDX-License-Identifier: MIT
 *
 * The cells of a suite: every scenario on every system under every guard, so that its tables have no
 * hole. What cannot be asked is there, too, with the reason why not (fit.h).
 *
 * The systems are one list for all scenarios. Without names it is the group `standard` and what any of the scenarios names
 * exactly, protocol after protocol as the registry has them, so that those of one server stand together in the tables.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "groups.h"
#include "plan_parts.h"

struct systems { /* each once; the texts are owned */
  char **name;
  size_t count;
};

/* "PROTOCOL@TOPOLOGY", in two parts. */
static int add_system(struct systems *list, const char *protocol, const char *topology) {
  char *name = NULL;
  if (asprintf(&name, "%s%s%s", protocol, *topology ? "@" : "", topology) < 0) return -ENOMEM;
  for (size_t i = 0; i < list->count; i++) {
    if (strcmp(list->name[i], name) != 0) continue;
    free(name);
    return 0;
  }
  char **grown = realloc(list->name, (list->count + 1) * sizeof *grown);
  if (!grown) {
    free(name);
    return -ENOMEM;
  }
  list->name = grown;
  list->name[list->count++] = name;
  return 0;
}

/* What the scenarios name exactly: of one protocol, or of all (NULL). */
static int add_stated(struct systems *list, const struct lb_plan *plan, const char *protocol) {
  size_t length = protocol ? strlen(protocol) : 0;
  for (size_t s = 0; s < plan->scenario_count; s++) {
    const struct lb_scenario *scenario = &plan->scenarios[s];
    for (size_t i = 0; i < scenario->expect_count; i++) {
      const char *name = scenario->expect[i].system;
      if (protocol ? !lb_expect_is_exact(&scenario->expect[i]) : !lb_expect_adds(&scenario->expect[i])) continue;
      if (lb_plan_is_elsewhere(&scenario->expect[i])) continue;
      if (protocol && (strncmp(name, protocol, length) != 0 || name[length] != '@')) continue;
      if (add_system(list, name, "") < 0) return -ENOMEM;
    }
  }
  return 0;
}

/* Those of a group's systems that are of the protocol; `systems` is freed. */
static int add_those_of(struct systems *list, char *systems, const char *protocol) {
  int r = 0;
  size_t length = strlen(protocol);
  char *rest = systems;
  if (!systems) return -ENOMEM;
  for (char *name; r == 0 && (name = strsep(&rest, ","));)
    if (strncmp(name, protocol, length) == 0 && name[length] == '@') r = add_system(list, name, "");
  free(systems);
  return r;
}

static int add_of_group(struct systems *list, const char *protocol) { return add_those_of(list, lb_group_of_protocol(protocol), protocol); }

/* A scenario without an attack is of the systems that it states. */
static int add_standard(struct systems *list, const struct lb_plan *plan, const char *protocol) {
  const char *standard = NULL;
  for (size_t i = 0; i < plan->scenario_count && !standard; i++)
    if (plan->scenarios[i].attack) standard = lb_group("standard");
  return add_those_of(list, strdup(standard ? standard : ""), protocol);
}

/* A protocol alone: those of a group, or else those of its systems that some scenario names, or else (a plugin) all of its
 * topologies. A word that is no protocol stays as it is, and is refused when its cell is made. */
static int add_named(struct systems *list, const struct lb_plan *plan, const char *name) {
  size_t before = list->count;
  const struct lb_protocol *protocol = lb_protocol_find(name);
  if (!protocol) return add_system(list, name, "");
  int r = add_of_group(list, name);
  if (r == 0 && list->count == before) r = add_stated(list, plan, name);
  bool stated = list->count > before;
  for (const char *const *t = protocol->topologies; r == 0 && !stated && *t; t++) r = add_system(list, name, *t);
  return r;
}

/* At the end what is of no protocol: it is refused when its cell is made. */
static int add_all_stated(struct systems *list, const struct lb_plan *plan) {
  const struct lb_protocol *protocol;
  for (size_t i = 0; (protocol = lb_protocol_at(i)); i++)
    if (!(protocol->traits & LB_TRAIT_FOREIGN) && (add_standard(list, plan, protocol->name) < 0 || add_stated(list, plan, protocol->name) < 0)) return -ENOMEM;
  return add_stated(list, plan, NULL);
}

static int find_systems(struct systems *list, const struct lb_plan *plan, const char *names) {
  int r = 0;
  if (!names) return add_all_stated(list, plan);
  char *copy = strdup(names), *rest = copy;
  if (!copy) return -ENOMEM;
  for (char *name; r == 0 && (name = strsep(&rest, ","));) r = add_named(list, plan, name);
  free(copy);
  return r;
}

/* Variants of a scenario have the guards of their file. */
static unsigned own_guards(const struct lb_plan_request *request, const struct lb_scenario *scenario) {
  for (size_t i = 0; request->own_guards && i < request->scenario_count; i++)
    if (strcmp(request->scenario_paths[i], scenario->path) == 0) return request->own_guards[i];
  return 0;
}

static bool wants_guard(const struct lb_plan_request *request, const struct lb_scenario *scenario, enum lb_guard guard) {
  unsigned own = own_guards(request, scenario);
  if (request->only_guards) return request->only_guards >> guard & 1;
  if (own && !(own >> guard & 1)) return false;
  return !request->guards || request->guards & 1u << guard;
}

int lb_plan_add_product(struct lb_plan *plan, const struct lb_plan_request *request, char *err, size_t err_size) {
  struct systems list = {0};
  int r = find_systems(&list, plan, request->systems);
  for (size_t s = 0; r == 0 && s < plan->scenario_count; s++)
    for (int g = 0; r == 0 && g < LB_GUARD_COUNT; g++)
      for (size_t i = 0; r == 0 && wants_guard(request, &plan->scenarios[s], (enum lb_guard)g) && i < list.count; i++)
        r = lb_plan_add_cell(plan, request, &plan->scenarios[s], list.name[i], (enum lb_guard)g, err, err_size);
  for (size_t i = 0; i < list.count; i++) free(list.name[i]);
  free(list.name);
  return r;
}
