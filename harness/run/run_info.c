/* SPDX-License-Identifier: MIT
 *
 * Where a run takes place, and on what: the load of the machine, whether hosts can have namespaces,
 * which version of a server runs. It is asked before the run, because a trial changes the load, and
 * because a server that is replaced meanwhile would be taken for the one that ran.
 */
#include "run_info.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "about.h"
#include "base/clock.h"

/* Several cells share a topology. Only one that has answered is in the list. */
static bool is_asked(const struct lb_run_info *info, const char *topology) {
  for (size_t i = 0; i < info->version_count; i++)
    if (strcmp(info->versions[i].topology, topology) == 0) return true;
  return false;
}

/* One that says nothing is asked again for the next cell: there may be few of those. */
static int ask_versions(struct lb_run_info *info, const struct lb_plan *plan) {
  info->versions = calloc(plan->cell_count + 1, sizeof *info->versions);
  if (!info->versions) return -ENOMEM;
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_topology *t = plan->cells[i].topology;
    struct lb_version *next = &info->versions[info->version_count];
    if (plan->cells[i].skip[0] || is_asked(info, t->name)) continue;
    next->topology = t->name;
    if (lb_topology_version(t, next->text, sizeof next->text) == 0 && next->text[0]) info->version_count++;
  }
  return 0;
}

/* What the machine does not say stays empty; that is no reason not to run. */
int lb_run_info_ask(struct lb_run_info *info, const struct lb_plan *plan, const char *run_dir) {
  struct tm tm = lb_clock_utc();
  strftime(info->started_utc, sizeof info->started_utc, "%Y-%m-%dT%H:%M:%SZ", &tm);
  lb_machine_read(&info->before, run_dir);
  lb_about_namespaces(info->namespaces, sizeof info->namespaces);
  return ask_versions(info, plan);
}

void lb_run_info_clear(struct lb_run_info *info) {
  free(info->versions);
  info->versions = NULL;
  info->version_count = 0;
}
