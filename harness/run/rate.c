/* SPDX-License-Identifier: MIT
 *
 * How often a lock failed those who relied on it, over decided trials. Rates come from sums over
 * the trials of a cell: a mean of rates would give a short trial as much weight as a long one.
 */
#include "rate.h"

#include <stdlib.h>
#include <string.h>

uint64_t lb_outcome_violations(const struct lb_outcome *x) {
  return x->stale_writes == 0 && x->verdict == LB_VIOLATED ? 1 : x->stale_writes;
}

static bool is_decided(const struct lb_job_result *result) { return result->done && result->outcome.verdict != LB_UNDECIDED; }

/* ---- rates ----------------------------------------------------------------------------------- */

enum part { OVERLAPPED, WITHIN_LEASE, DAMAGED, BY_HOUR, BY_HANDOFF, LOST, PARTS };

/* What one trial adds to each rate. */
static void add_trial(const struct lb_outcome *x, struct lb_cell_rate *sum, struct lb_part part[PARTS]) {
  double violations = (double)lb_outcome_violations(x), hours = x->measured_s / 3600;
  sum->faults += x->faults_tested;
  sum->overlapped += x->faults_overlapped;
  sum->within_lease += x->faults_within_lease;
  sum->damaged += x->faults_damaged;
  for (size_t k = 0; k < LB_FAULT_KINDS_MAX; k++) sum->faults_of[k] += x->faults_of[k];
  sum->hours += hours;
  sum->handoffs += x->useful_handoffs;
  sum->violations += lb_outcome_violations(x);
  sum->grants += x->grants;
  part[OVERLAPPED] = (struct lb_part){(double)x->faults_overlapped, (double)x->faults_tested};
  part[WITHIN_LEASE] = (struct lb_part){(double)x->faults_within_lease, (double)x->faults_tested};
  part[DAMAGED] = (struct lb_part){(double)x->faults_damaged, (double)x->faults_tested};
  part[BY_HOUR] = (struct lb_part){violations, hours};
  part[BY_HANDOFF] = (struct lb_part){violations, (double)x->useful_handoffs};
  part[LOST] = (struct lb_part){(double)x->lost_updates, (double)x->grants};
}

static struct lb_part *parts(size_t count) {
  struct lb_part *array = calloc(count + 1, sizeof *array);
  if (!array) abort();
  return array;
}

/* A lock with five servers has five that can fail. Only what fails within the lease is multiplied: after it, a holder was stopped or cut off, and
 * there are no more holders where there are more servers. */
static struct lb_rate times(struct lb_rate x, size_t servers) {
  double n = (double)servers;
  return (struct lb_rate){x.value * n, x.low * n, x.high * n};
}

void lb_cell_rate(const struct lb_tally *tally, size_t cell, struct lb_cell_rate *ret) {
  struct lb_part *of[PARTS];
  size_t count = 0;
  *ret = (struct lb_cell_rate){0};
  for (size_t k = 0; k < PARTS; k++) of[k] = parts(tally->plan->job_count);
  for (size_t i = 0; i < tally->plan->job_count; i++) {
    const struct lb_job_result *result = &tally->jobs[i];
    struct lb_part part[PARTS];
    if (result->job->cell != cell || !is_decided(result)) continue;
    add_trial(&result->outcome, ret, part);
    for (size_t k = 0; k < PARTS; k++) of[k][count] = part[k];
    count++;
  }
  ret->stands_still = tally->cells[cell].verdict == LB_STUCK || tally->cells[cell].verdict == LB_DELAYED;
  if (ret->faults) ret->overlapped_per_fault = lb_rate_share(of[OVERLAPPED], count);
  if (ret->faults) ret->within_lease_per_fault = lb_rate_share(of[WITHIN_LEASE], count);
  if (ret->faults) ret->damaged_per_fault = lb_rate_share(of[DAMAGED], count);
  const struct lb_topology *topology = tally->cells[cell].cell->topology;
  ret->servers = topology ? topology->data_count : 0;
  if (ret->faults && ret->servers) ret->within_lease_per_server_hour = times(ret->within_lease_per_fault, ret->servers);
  if (ret->grants) ret->lost_per_1000 = lb_rate_per(of[LOST], count, 1000);
  if (ret->hours > 0 && !ret->stands_still) ret->violations_per_hour = lb_rate_per(of[BY_HOUR], count, 1);
  if (ret->handoffs && !ret->stands_still) ret->violations_per_1000 = lb_rate_per(of[BY_HANDOFF], count, 1000);
  for (size_t k = 0; k < PARTS; k++) free(of[k]);
}

/* ---- the control ----------------------------------------------------------------------------- */

/* What clients do, however long they do it. */
static bool is_same_load(const struct lb_scenario *a, const struct lb_scenario *b) {
  return a->keys == b->keys && a->hold_ms == b->hold_ms && a->think_ms == b->think_ms && a->ttl_ms == b->ttl_ms &&
         a->wait_ms == b->wait_ms && a->request_ms == b->request_ms && a->renew == b->renew && a->client_count_count == b->client_count_count &&
         memcmp(a->client_counts, b->client_counts, a->client_count_count * sizeof *a->client_counts) == 0;
}

/* The control's cell for cell `c`, under this guard; the count of cells = there is none. */
static size_t control_of(const struct lb_plan *plan, const struct lb_cell *c, enum lb_guard guard) {
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *x = &plan->cells[i];
    if (x->scenario->control && x->scenario->kind == LB_KIND_CAMPAIGN && x->guard == guard && strcmp(x->system, c->system) == 0 &&
        is_same_load(x->scenario, c->scenario))
      return i;
  }
  return plan->cell_count;
}

/* False: of its violations there is no rate per hour whose interval says how far to believe it. Only several trials show
 * how they differ. */
static bool has_rate(const struct lb_tally *tally, size_t cell, struct lb_cell_rate *ret) {
  const struct lb_cell_sum *sum = &tally->cells[cell];
  lb_cell_rate(tally, cell, ret);
  return ret->hours > 0 && !ret->stands_still && sum->trials - sum->undecided >= LB_LEAST_TRIALS;
}

int lb_cell_above_control(const struct lb_tally *tally, size_t cell) {
  const struct lb_plan *plan = tally->plan;
  const struct lb_cell *c = &plan->cells[cell];
  struct lb_cell_rate x, calm;
  if (c->scenario->control) return -1;
  size_t control = control_of(plan, c, c->guard);
  if (control == plan->cell_count) control = control_of(plan, c, LB_GUARD_NONE);
  if (control == plan->cell_count || !has_rate(tally, cell, &x) || !has_rate(tally, control, &calm) || x.violations == 0) return -1;
  return x.violations_per_hour.low > calm.violations_per_hour.high;
}

/* An undecided trial adds its stall, though not its hand-offs: that the harness stalled is just
 * what may have made it undecided. */
void lb_tally_control(const struct lb_tally *tally, struct lb_control *ret) {
  *ret = (struct lb_control){0};
  for (size_t i = 0; i < tally->plan->job_count; i++) {
    const struct lb_job_result *result = &tally->jobs[i];
    const struct lb_outcome *x = &result->outcome;
    bool honest = !(result->job->plan.protocol->traits & LB_TRAIT_UNSAFE);
    if (!result->done || !honest || !result->job->plan.scenario->control) continue;
    ret->trials++;
    if (x->stall_ns > ret->stall_ns) ret->stall_ns = x->stall_ns;
    if (!is_decided(result)) {
      ret->undecided++;
      continue;
    }
    ret->handoffs += x->handoffs;
    ret->violations += lb_outcome_violations(x);
  }
}
