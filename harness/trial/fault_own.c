/* SPDX-License-Identifier: MIT
 *
 * Faults of servers that are not ours, and of the links between these: orders to the guardian of their owner's mandate,
 * which does and proves them (own/guardian.h). Links of clients end at hosts that stand in for such servers, and are
 * those of any trial.
 */
#include <stdio.h>

#include "base/clock.h"
#include "fault.h"

static int order(struct lb_doing *d, const struct lb_mandate_order *what) {
  const struct lb_topology *topology = d->s->plan->topology;
  struct lb_error why;
  if (what->count == 0 || topology->mandate->carry_out(topology, what, &why) == 0) return 0;
  return lb_doing_fail(d, "%s: %s", d->step->text, why.text);
}

static int order_each(struct lb_doing *d, enum lb_mandate_verb verb) {
  struct lb_mandate_order what = {.verb = verb, .offset_ms = d->step->offset_ms};
  for (size_t i = 0; i < d->a->server_count; i++) what.server[what.count++] = (uint8_t)lb_doing_index(d, i);
  return order(d, &what);
}

static int kill_servers(struct lb_doing *d) { return order_each(d, LB_MAY_KILL); }
static int shut_down(struct lb_doing *d) { return order_each(d, LB_MAY_STOP); }
static int restart(struct lb_doing *d) { return order_each(d, LB_MAY_RESTART); }
static int pause_servers(struct lb_doing *d) { return order_each(d, LB_MAY_PAUSE); }
static int resume(struct lb_doing *d) { return order_each(d, LB_MAY_RESUME); }

/* ---- clocks and who decides -------------------------------------------------------------------------------------- */

static int jump(struct lb_doing *d) {
  if (order_each(d, LB_MAY_CLOCK) < 0) return -1;
  for (size_t i = 0; i < d->a->server_count; i++)
    lb_stage_clock(d->s, d->step, d->a->server[i]->name, LB_CLOCK_WALL, d->step->offset_ms, 0);
  return 0;
}

static int jump_back(struct lb_doing *d) {
  struct lb_step back = *d->step;
  struct lb_doing then = *d;
  back.offset_ms = -back.offset_ms;
  then.step = &back;
  return order_each(&then, LB_MAY_CLOCK);
}

static int depose(struct lb_doing *d) {
  if (order_each(d, LB_MAY_DEPOSE) < 0) return -1;
  int now = lb_cluster_primary(&d->s->cluster, lb_in_ms(1000));
  if (now >= 0) lb_stage_failover(d->s, &d->s->cluster.server[now]);
  return 0;
}

/* ---- links between servers --------------------------------------------------------------------------------------- */

static struct held { /* cuts that last, in the order in which they were made */
  const struct lb_step *step;
  struct lb_mandate_order links;
} cuts[16];
static size_t cut_count;

static bool has_link(const struct lb_mandate_order *links, uint8_t a, uint8_t b) {
  for (size_t i = 0; i < links->count; i++)
    if ((links->server[i] == a && links->other[i] == b) || (links->server[i] == b && links->other[i] == a)) return true;
  return false;
}

static bool find_links(const struct lb_doing *d, struct lb_mandate_order *ret) {
  const struct lb_server *first = d->s->cluster.server;
  *ret = (struct lb_mandate_order){.verb = LB_MAY_CUT};
  for (size_t i = 0; i < d->a->server_count; i++)
    for (size_t k = 0; k < d->b->server_count; k++) {
      uint8_t a = (uint8_t)(d->a->server[i] - first), b = (uint8_t)(d->b->server[k] - first);
      if (a == b || has_link(ret, a, b)) continue;
      if (ret->count == LB_MANDATE_MOST) return false;
      ret->server[ret->count] = a, ret->other[ret->count++] = b;
    }
  return true;
}

static void record(struct lb_doing *d, const struct lb_mandate_order *links) {
  char side[2][LB_NAMES_BYTES] = {"", ""};
  const uint8_t *ends[2] = {links->server, links->other};
  for (int s = 0; s < 2; s++)
    for (size_t i = 0, at = 0; i < links->count; i++) {
      bool named = false;
      for (size_t k = 0; k < i; k++) named |= ends[s][k] == ends[s][i];
      if (!named)
        at += (size_t)snprintf(side[s] + at, sizeof side[s] - at, "%s%s", at ? ", " : "",
                               d->s->cluster.server[ends[s][i]].name);
    }
  lb_stage_touched(d->s, d->step, side[0], side[1]);
}

static int cut(struct lb_doing *d) {
  struct held *held = &cuts[cut_count];
  if (cut_count == sizeof cuts / sizeof *cuts || !find_links(d, &held->links))
    return lb_doing_fail(d, "%s: too many links are cut", d->step->text);
  held->step = d->step;
  if (held->links.count > 0) {
    cut_count++; /* also a cut that is not proved is healed */
    record(d, &held->links);
    if (order(d, &held->links) < 0) return -1;
  }
  if (d->a->client_count + d->b->client_count == 0) return held->links.count > 0 ? 0 : 1;
  return lb_faults_of_cuts[d->step->verb].act(d);
}

static bool has_clients(const struct lb_doing *d) { return d->a->client_count + d->b->client_count > 0; }
static int prove_cut(struct lb_doing *d) { return has_clients(d) ? lb_faults_of_cuts[d->step->verb].prove(d) : 0; }

static int heal(struct lb_doing *d, size_t i) {
  struct lb_mandate_order links = cuts[i].links;
  links.verb = LB_MAY_HEAL;
  for (cut_count--; i < cut_count; i++) cuts[i] = cuts[i + 1];
  return order(d, &links);
}

static int heal_cut(struct lb_doing *d) {
  int r = 0;
  for (size_t i = cut_count; i-- > 0;)
    if (cuts[i].step == d->step && heal(d, i) < 0) r = -1;
  return lb_faults_of_cuts[d->step->verb].undo(d) < 0 ? -1 : r;
}

static int heal_all(struct lb_doing *d) {
  int r = 0;
  while (cut_count > 0)
    if (heal(d, cut_count - 1) < 0) r = -1;
  return lb_faults_of_heals[d->step->verb].act(d) < 0 ? -1 : r;
}

static int heal_named(struct lb_doing *d) {
  for (size_t i = cut_count; i-- > 0;)
    if (lb_step_undoes(d->step, cuts[i].step)) return heal(d, i);
  return lb_faults_of_heals[d->step->verb].act(d);
}

const struct lb_fault lb_faults_of_own[LB_VERB_COUNT] = {
    [LB_STEP_KILL] = {kill_servers, .undo = restart},
    [LB_STEP_SHUT_DOWN] = {shut_down, .undo = restart},
    [LB_STEP_RESTART] = {restart},
    [LB_STEP_PAUSE] = {pause_servers, .undo = resume},
    [LB_STEP_RESUME] = {resume},
    [LB_STEP_CUT] = {cut, prove_cut, heal_cut},
    [LB_STEP_HEAL] = {heal_all},
    [LB_STEP_HEAL_ONE] = {heal_named},
    [LB_STEP_CLOCK_JUMP] = {jump, .undo = jump_back},
    [LB_STEP_DEPOSE] = {depose},
};
