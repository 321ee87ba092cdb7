/* SPDX-License-Identifier: MIT
 *
 * `lockbench list scenarios --for TOPOLOGY`: which scenarios can be asked there, of any of our locks, and what servers or
 * locks lack for the others. A plan says so, and nothing is started. Servers of the user's own need not be named for it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "base/need.h"
#include "base/process.h"
#include "base/text.h"
#include "cli.h"
#include "plan/plan.h"
#include "plan/system.h"

/* The lock that runs there unless another one is asked for comes first: its reason is told. */
static char *systems_of(const struct lb_topology *t) {
  const struct lb_protocol *first = lb_protocol_to_use(t->own ? t->stands_for : t->name), *p;
  char *list = first ? lb_need_printed("%s@%s", first->name, t->name) : NULL;
  for (size_t i = 0; (p = lb_protocol_at(i)); i++) {
    if (p == first || strchr(p->name, ':') || p->traits & (LB_TRAIT_FLOOR | LB_TRAIT_UNSAFE) ||
        !lb_topology_serves(t, p->topologies))
      continue;
    char *longer = lb_need_printed("%s%s%s@%s", list ? list : "", list ? "," : "", p->name, t->name);
    free(list);
    list = longer;
  }
  return list;
}

/* `where` is a topology, perhaps "own-sentinel", or a system. malloc'd; NULL after a complaint. */
static char *find_systems(const char *where) {
  const struct lb_topology *t;
  struct lb_system system;
  struct lb_error err;
  const char *at = strchr(where, '@'), *name = at ? at + 1 : where;
  if (!lb_topology_find(name)) lb_own_suppose(name);
  int r = at ? lb_system_parse(where, &system, &err) : lb_system_topology(where, &t, &err);
  if (r < 0) return lb_complain(0, "list --for: %s", err.text), NULL;
  char *list = at ? lb_need_text(where) : systems_of(t);
  if (!list) lb_complain(0, "list --for %s: no lock of ours runs there", where);
  return list;
}

static const struct lb_cell *first_asked(const struct lb_plan *plan) {
  for (size_t i = 0; i < plan->cell_count; i++)
    if (!plan->cells[i].means_nothing) return &plan->cells[i];
  return NULL;
}

/* Why it is not asked of the lock that comes first, under a guard that it is asked under. */
static const char *why_not(const struct lb_plan *plan) {
  for (size_t i = 0; i < plan->cell_count; i++)
    if (lb_scenario_asks_under(plan->cells[i].scenario, plan->cells[i].guard)) return plan->cells[i].skip;
  return plan->cells[0].skip;
}

/* 1 = it can be asked, 0 = not, or an exit code after a complaint, negative. */
static int tell(const char *name, int width, const char *path, const char *systems, FILE *others) {
  struct lb_plan plan;
  struct lb_error err;
  struct lb_plan_request request = {.systems = systems, .product = true, .trials = 1};
  if (lb_plan_load(&path, 1, &request, &plan, &err) < 0) return -lb_complain(LB_EXIT_USAGE, "%s", err.text);
  const struct lb_cell *asked = first_asked(&plan);
  if (asked)
    printf("%-*s  %s%s%s\n", width, name, asked->system, asked->skip[0] ? ": skipped here: " : "", asked->skip);
  else fprintf(others, "%-*s  no: %s\n", width, name, why_not(&plan));
  lb_plan_clear(&plan);
  return asked != NULL;
}

static int tell_all(const char *where, const char *systems, FILE *others) {
  char folder[4096], **names, **paths;
  size_t count;
  int width = 0, asked = 0, r = 0;
  snprintf(folder, sizeof folder, "%s/" LB_SCENARIOS, lb_process_root());
  if ((r = lb_scenario_list(folder, &names, &paths, &count)) < 0)
    return lb_complain(LB_EXIT_FAILURE, "cannot read %s: %s", folder, strerror(-r));
  for (size_t i = 0; i < count; i++)
    if ((int)strlen(names[i]) > width) width = (int)strlen(names[i]);
  for (size_t i = 0; i < count; i++) {
    if (r >= 0) r = tell(names[i], width, paths[i], systems, others);
    asked += r > 0;
    free(names[i]);
    free(paths[i]);
  }
  free(names);
  free(paths);
  fprintf(others, "%d of %zu can be asked of %s\n", asked, count, where);
  return r < 0 ? -r : 0;
}

int lb_cli_list_for(const struct lb_args *args) {
  char *others = NULL, *systems;
  size_t size;
  int r = lb_cli_own_begin(args);
  if (r) return r;
  if (!(systems = find_systems(args->where))) return LB_EXIT_USAGE;
  FILE *out = lb_need(open_memstream(&others, &size));
  r = tell_all(args->where, systems, out);
  lb_need(fclose(out) == 0 ? others : NULL);
  if (r == 0) fputs(others, stdout);
  free(others);
  free(systems);
  return r;
}
