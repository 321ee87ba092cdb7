/* SPDX-License-Identifier: MIT
 *
 * Facts of a scenario that follow from its steps: whom a client reached, who had heard of its grant, how far a clock
 * jumped, and whether anybody asked. A rule that needs such a fact holds for every scenario of its attack, also for one
 * that is written later.
 */
#include "steps.h"
#include "facts.h"
#include "scenario/scenario_asked.h"

static bool is_ask(const struct lb_step *step) { return lb_step_row(step)->asks; }

static bool is_server(struct lb_role role) { return role.kind != LB_ROLE_NONE && !lb_role_is_client(role); }

static bool is_cut(const struct lb_step *step) { return step->verb == LB_STEP_CUT || step->verb == LB_STEP_CUT_TO; }

static bool is_slow(const struct lb_step *step) { return step->verb == LB_STEP_SLOW; }

static bool between_servers(const struct lb_step *step) { return is_server(step->a) && is_server(step->b); }

static bool takes_server(const struct lb_step *step) {
  return lb_step_hits_server(step) && !is_slow(step) && (!is_cut(step) || between_servers(step));
}

/* ---- whom a client reached --------------------------------------------------------------------------------------- */

static int count_of(struct lb_role role, int members) {
  int majority = members / 2 + 1;
  switch (role.kind) {
    case LB_ROLE_ALL: return members;
    case LB_ROLE_MAJORITY: return majority;
    case LB_ROLE_PARTNERS: return majority - 1;
    case LB_ROLE_MINORITY: return members - majority;
    case LB_ROLE_REPLICAS: return members - 1;
    case LB_ROLE_WITNESS: return 0; /* it holds no locks */
    default: return is_server(role) ? 1 : 0;
  }
}

/* How many servers this step takes from the client that asks next: by a cut, because they are dead, or because its
 * request is still on its way to them so long after. */
static int taken_by(const struct lb_step *step, struct lb_role client, int64_t waited_ms, int members) {
  bool dead = step->verb == LB_STEP_KILL || step->verb == LB_STEP_POWER_OFF || step->verb == LB_STEP_SHUT_DOWN;
  if (dead) return count_of(step->a, members);
  bool late = is_slow(step) && step->within_ms > waited_ms && !is_server(step->a);
  if (!is_cut(step) && !late) return 0;
  if (lb_role_equal(step->a, client) || step->a.kind == LB_ROLE_CLIENTS) return count_of(step->b, members);
  if (lb_role_equal(step->b, client) || step->b.kind == LB_ROLE_CLIENTS) return count_of(step->a, members);
  return 0;
}

/* How long a request has to arrive, before the next fault of a server. */
static int64_t waited_after(const struct lb_scenario *scenario, size_t ask) {
  int64_t waited_ms = 0;
  for (size_t i = ask + 1; i < scenario->step_count && !takes_server(&scenario->steps[i]); i++)
    if (scenario->steps[i].verb == LB_STEP_WAIT) waited_ms += scenario->steps[i].within_ms;
  return waited_ms;
}

static int taken_before(const struct lb_scenario *scenario, size_t ask, int members) {
  const struct lb_step *steps = scenario->steps;
  int64_t waited_ms = waited_after(scenario, ask);
  int taken = 0;
  for (size_t i = 0; i < ask; i++) {
    bool undone = false;
    for (size_t k = i + 1; k < ask && !undone; k++) undone = lb_step_undoes(&steps[k], &steps[i]);
    if (!undone) taken += taken_by(&steps[i], steps[ask].a, waited_ms, members);
  }
  return taken;
}

static bool reaches_all(const struct lb_scenario *scenario, int members) {
  int spare = members - (members / 2 + 1);
  for (size_t i = 0; spare > 0 && i < scenario->step_count; i++)
    if (is_ask(&scenario->steps[i]) && taken_before(scenario, i, members) >= spare) return false;
  return true;
}

/* ---- who had heard of the grant ---------------------------------------------------------------------------------- */

/* Whether the other servers hear of the last request before a fault that takes a server or its links. A dying server's
 * packets still arrive, even late; a cut drops them. */
static const char *heard_of(const struct lb_scenario *scenario) {
  const char *heard = "yes";
  bool asked = false, cut = false, caught_up = false;
  int64_t late_ms = 0, waited_ms = 0;
  for (size_t i = 0; i < scenario->step_count; i++) {
    const struct lb_step *step = &scenario->steps[i];
    if (is_ask(step)) asked = true, caught_up = false, waited_ms = 0;
    if (step->verb == LB_STEP_WAIT) waited_ms += step->within_ms;
    if (step->verb == LB_STEP_AWAIT_CAUGHT_UP) caught_up = true;
    if (step->verb == LB_STEP_HEAL) cut = false, late_ms = 0;
    if (is_slow(step) && between_servers(step) && step->within_ms > late_ms) late_ms = step->within_ms;
    if (asked && takes_server(step)) {
      bool late = late_ms > waited_ms;
      heard = caught_up ? "yes" : cut || (late && is_cut(step)) ? "no" : late || waited_ms == 0 ? "perhaps" : "yes";
      asked = false;
    }
    if (is_cut(step) && between_servers(step)) cut = true;
  }
  return heard;
}

/* ---- how far a clock jumps --------------------------------------------------------------------------------------- */

/* A lease that is renewed has at least two thirds of its time left. */
static const char *jump_of(const struct lb_scenario *scenario) {
  int64_t waited_ms = 0, ttl_ms = scenario->ttl_ms;
  const char *jump = "lease";
  for (size_t i = 0; i < scenario->step_count; i++) {
    const struct lb_step *step = &scenario->steps[i];
    if (is_ask(step)) waited_ms = 0;
    if (step->verb == LB_STEP_WAIT) waited_ms += step->within_ms;
    if (step->verb != LB_STEP_CLOCK_JUMP || step->monotonic || !is_server(step->a) || step->offset_ms <= 0) continue;
    if (step->offset_ms >= ttl_ms * 2 / 3) return "lease";
    jump = step->offset_ms >= ttl_ms - waited_ms ? "rest" : "less";
  }
  return jump;
}

void lb_steps_facts(const struct lb_scenario *scenario, const struct lb_topology *topology, struct lb_facts *ret) {
  lb_facts_set(ret, "reached", reaches_all(scenario, topology->data_count) ? "all" : "majority");
  lb_facts_set(ret, "heard", heard_of(scenario));
  lb_facts_set(ret, "jump", jump_of(scenario));
  lb_facts_set(ret, "asked", lb_scenario_unasked(scenario) ? "afterwards" : "meanwhile");
}
