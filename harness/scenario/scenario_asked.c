/* SPDX-License-Identifier: MIT
 *
 * Whether a client asks for the lock while a fault lasts. Many servers only look at a lock when a client asks. A fault
 * without a question then leaves every lock as it is, and says nothing of it.
 */
#include "scenario_asked.h"

static bool is_back(const struct lb_step *step, const struct lb_step *jump) {
  return step->verb == LB_STEP_CLOCK_JUMP && jump->verb == LB_STEP_CLOCK_JUMP && step->monotonic == jump->monotonic &&
         step->offset_ms == -jump->offset_ms && lb_role_equal(step->a, jump->a);
}

static bool restarts(const struct lb_step *step) {
  return step->verb == LB_STEP_RESTART || step->verb == LB_STEP_UPGRADE;
}

static bool takes_time(const struct lb_step *step) {
  enum lb_step_class class = lb_step_row(step)->class;
  return class == LB_STEP_PAUSES || class == LB_STEP_CONDITION;
}

/* The step behind the fault. Servers that are started again at once were never away: what they have lost lasts. */
static size_t end_of(const struct lb_scenario *scenario, size_t fault) {
  const struct lb_step *steps = scenario->steps;
  bool took_time = false;
  for (size_t i = fault + 1; i < scenario->step_count; i++) {
    bool cured = lb_step_undoes(&steps[i], &steps[fault]);
    if (is_back(&steps[i], &steps[fault]) || (cured && (took_time || !restarts(&steps[i])))) return i;
    took_time |= takes_time(&steps[i]);
  }
  return scenario->step_count;
}

static bool same_client(const struct lb_step *a, const struct lb_step *b) {
  return a->a.kind == LB_ROLE_CLIENT && lb_role_equal(a->a, b->a);
}

/* What a client began goes on until its next step, which waits for the outcome. */
static bool still_asks(const struct lb_scenario *scenario, size_t began, size_t at) {
  const struct lb_step *steps = scenario->steps;
  for (size_t i = began + 1; i < at; i++)
    if (lb_step_row(&steps[i])->class == LB_STEP_COMMAND && same_client(&steps[i], &steps[began])) return false;
  return true;
}

static bool is_asked(const struct lb_scenario *scenario, size_t fault) {
  size_t end = end_of(scenario, fault);
  for (size_t i = 0; i < end; i++) {
    const struct lb_step_row *row = lb_step_row(&scenario->steps[i]);
    if (row->asks && (i > fault || (row->beside && still_asks(scenario, i, fault)))) return true;
  }
  return false;
}

/* A jump that takes another one back is none. */
static bool concerns(const struct lb_scenario *scenario, size_t at) {
  const struct lb_step *step = &scenario->steps[at];
  for (size_t i = 0; i < at; i++)
    if (is_back(step, &scenario->steps[i])) return false;
  bool clock = step->verb == LB_STEP_CLOCK_JUMP || step->verb == LB_STEP_CLOCK_RATE;
  return clock || (lb_step_row(step)->class == LB_STEP_FAULT && lb_step_hits_server(step));
}

const struct lb_step *lb_scenario_unasked(const struct lb_scenario *scenario) {
  for (size_t i = 0; i < scenario->step_count; i++)
    if (concerns(scenario, i) && !is_asked(scenario, i)) return &scenario->steps[i];
  return NULL;
}

/* A restart says the same of a server that a step before has killed: what it lost lasts. */
static bool restarts_or_moves_clock(const struct lb_step *step) {
  return step->verb == LB_STEP_CLOCK_JUMP || step->verb == LB_STEP_CLOCK_RATE || restarts(step);
}

size_t lb_scenario_next_asked(const struct lb_scenario *scenario, size_t from, size_t *ret_end) {
  while (from < scenario->step_count &&
         !(restarts_or_moves_clock(&scenario->steps[from]) && concerns(scenario, from) && is_asked(scenario, from)))
    from++;
  if (from < scenario->step_count) *ret_end = end_of(scenario, from);
  return from;
}
