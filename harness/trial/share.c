/* SPDX-License-Identifier: MIT
 *
 * What is asked between two timelines is asked once: the state after the first is the state before the second.
 *
 * What a connection between servers remembers of a cut is waited for, not mended. A server that is dead or stands still at the end is
 * not started again here: fresh servers cost little more than that, and are sure to be good.
 */
#include "share.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/refuse.h"
#include "servers/cut.h"
#include "servers/line.h"
#include "servers/net.h"
#include "site.h"

enum { WELL_MS = 4000 }; /* who was cut off asks the others again after a second or two */

/* ---- before -------------------------------------------------------------------------------------------------------- */

static bool may_share(const struct lb_trial_plan *plan) {
  return plan->scenario->kind == LB_KIND_TIMELINE && !plan->topology->own && plan->topology->family && plan->topology->family->healthy;
}

static bool on_disk(const struct lb_trial_plan *plan) { return lb_topology_on_disk(plan->topology, plan->scenario->memory_storage); }

/* Hosts that are patient are no hosts for a timeline in which nothing is late: they would send again a second later. */
static bool as_patient(const struct lb_site_needs *a, const struct lb_site_needs *b) { return a->late_ms == b->late_ms && a->lossy == b->lossy; }

bool lb_share_together(const struct lb_trial_plan *a, const struct lb_trial_plan *b) {
  struct lb_site_needs of_a = lb_site_needs(a), of_b = lb_site_needs(b);
  return may_share(a) && may_share(b) && a->topology == b->topology && on_disk(a) == on_disk(b) && as_patient(&of_a, &of_b);
}

static struct lb_site_needs both(struct lb_site_needs a, struct lb_site_needs b) {
  a.clients = a.clients > b.clients ? a.clients : b.clients;
  a.shared = true;
  a.network |= b.network;
  a.clocks |= b.clocks;
  return a;
}

struct lb_site_needs lb_share_needs(const struct lb_trial_plan *const plan[], size_t count) {
  struct lb_site_needs needs = lb_site_needs(plan[0]);
  for (size_t i = 1; i < count && lb_share_together(plan[0], plan[i]); i++) needs = both(needs, lb_site_needs(plan[i]));
  return needs;
}

bool lb_share_fits(const struct lb_site *site, const struct lb_trial_plan *plan) {
  struct lb_site_needs needs = lb_site_needs(plan);
  const struct lb_site_needs *has = &site->has;
  return needs.clients <= has->clients && needs.network <= has->network && needs.clocks <= has->clocks && as_patient(&needs, has);
}

/* ---- between two trials ---------------------------------------------------------------------------------------- */

static bool leaves_nothing(const struct lb_scenario *scenario, char *err, size_t err_size) {
  for (size_t i = 0; i < scenario->step_count; i++)
    if (lb_step_outlives(&scenario->steps[i])) return lb_refuse(err, err_size, "%s: that outlives its undo", scenario->steps[i].text), false;
  return true;
}

/* Only where a fault of links was made since the last time is there anything to look for. */
static bool links_are_whole(struct lb_stage *s, char *err, size_t err_size) {
  int made = s->net.cuts_made + s->net.lines_made;
  if (made == s->site.rules_gone) return true;
  while (s->net.lines)
    if (lb_line_end(&s->net, s->net.lines, err, err_size) < 0) return false;
  if (lb_cut_heal_all(&s->net, err, err_size) < 0 || lb_net_no_rules(&s->net, err, err_size) < 0) return false;
  s->site.rules_gone = made;
  return true;
}

bool lb_share_go_on(struct lb_stage *s, char *err, size_t err_size) {
  if (!leaves_nothing(s->plan->scenario, err, err_size) || !links_are_whole(s, err, err_size)) return false;
  if (lb_cluster_await_health(&s->cluster, lb_clock_ns() + WELL_MS * LB_NS_PER_MS) == 0) return true;
  lb_refuse(err, err_size, "%s", s->cluster.err);
  return false;
}
