/* SPDX-License-Identifier: MIT
 *
 * What trials say together: rates of a cell and its intervals, then the sum over its trials and its verdict.
 */
#include "tally.h"
#include "base/need.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t lb_tally_violations_of(const struct lb_outcome *x) {
  return x->stale_writes == 0 && x->verdict == LB_VIOLATED ? 1 : x->stale_writes;
}

static bool is_decided(const struct lb_job_result *result) {
  return result->done && result->outcome.verdict != LB_UNDECIDED;
}

/* ---- rates ----------------------------------------------------------------------------------- */

enum part { OVERLAPPED, WITHIN_LEASE, DAMAGED, BY_HOUR, BY_HANDOFF, LOST, PARTS };

/* What one trial adds to each rate. */
static void add_trial(const struct lb_outcome *x, struct lb_cell_rate *sum, struct lb_part part[PARTS]) {
  double violations = (double)lb_tally_violations_of(x), hours = x->measured_s / 3600;
  sum->faults += x->faults_tested;
  for (size_t k = 0; k < LB_FAULT_KINDS_MAX; k++) sum->faults_of[k] += x->faults_of[k];
  sum->hours += hours;
  sum->handoffs += x->useful_handoffs;
  sum->violations += lb_tally_violations_of(x);
  sum->grants += x->grants;
  part[OVERLAPPED] = (struct lb_part){(double)x->faults_overlapped, (double)x->faults_tested};
  part[WITHIN_LEASE] = (struct lb_part){(double)x->faults_within_lease, (double)x->faults_tested};
  part[DAMAGED] = (struct lb_part){(double)x->faults_damaged, (double)x->faults_tested};
  part[BY_HOUR] = (struct lb_part){violations, hours};
  part[BY_HANDOFF] = (struct lb_part){violations, (double)x->useful_handoffs};
  part[LOST] = (struct lb_part){(double)x->lost_updates, (double)x->grants};
}

static struct lb_part *parts(size_t count) { return lb_need(calloc(count + 1, sizeof(struct lb_part))); }

/* A lock with five servers has five that can fail. Only what fails within the lease is multiplied: after it, a holder
 * was stopped or cut off, and there are no more holders where there are more servers. */
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
  return a->keys == b->keys && a->skew == b->skew && a->hold == b->hold && a->think == b->think &&
         a->hold_ms == b->hold_ms && a->think_ms == b->think_ms && a->ttl_ms == b->ttl_ms && a->wait_ms == b->wait_ms &&
         a->request_ms == b->request_ms && a->renew == b->renew && a->driver == b->driver && a->readers == b->readers &&
         a->permits == b->permits && a->arrivals == b->arrivals && a->rate_per_s == b->rate_per_s &&
         a->client_count_count == b->client_count_count &&
         memcmp(a->client_counts, b->client_counts, a->client_count_count * sizeof *a->client_counts) == 0;
}

/* The control's cell for cell `c`, under this guard; the count of cells = there is none. */
static size_t control_of(const struct lb_plan *plan, const struct lb_cell *c, enum lb_guard guard) {
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *x = &plan->cells[i];
    if (x->scenario->control && x->scenario->kind == LB_KIND_CAMPAIGN && x->guard == guard &&
        strcmp(x->system, c->system) == 0 && is_same_load(x->scenario, c->scenario))
      return i;
  }
  return plan->cell_count;
}

/* False: of its violations there is no rate per hour whose interval says how far to believe it. Only several trials
 * show how they differ. */
static bool has_rate(const struct lb_tally *tally, size_t cell, struct lb_cell_rate *ret) {
  const struct lb_cell_sum *sum = &tally->cells[cell];
  lb_cell_rate(tally, cell, ret);
  return ret->hours > 0 && !ret->stands_still && sum->trials - sum->undecided >= LB_LEAST_TRIALS;
}

int lb_tally_above_control(const struct lb_tally *tally, size_t cell) {
  const struct lb_plan *plan = tally->plan;
  const struct lb_cell *c = &plan->cells[cell];
  struct lb_cell_rate x, calm;
  if (c->scenario->control) return -1;
  size_t control = control_of(plan, c, c->guard);
  if (control == plan->cell_count) control = control_of(plan, c, LB_GUARD_NONE);
  if (control == plan->cell_count || !has_rate(tally, cell, &x) || !has_rate(tally, control, &calm) ||
      x.violations == 0)
    return -1;
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
    ret->violations += lb_tally_violations_of(x);
  }
}

/* ---- The sum over the trials of a cell, and its verdict. Identity: trials = safe + violated + stuck +
 * delayed + undecided.
 *
 * A timeline asks the same question in each of its trials, so its answer is one only if all decided trials give it: n
 * of n violated is `violated`, n of n stuck is `stuck`. If they differ the cell is `mixed`, also where some are stuck
 * and the rest delayed: a race decided, which is a surprise unless the scenario names it. A load or a campaign looks
 * for something rare, so there one violation is enough for `violated`, without any one stuck trial for `stuck`, then
 * one for `delayed`.
 *
 * Undecided trials are no evidence, so the decided ones judge the cell, and it says how many they are.
 * A slow machine may cost trials, but a reason that leaves them undecided may also go with the outcome:
 * the trial in which the lock would have failed is the one that could not be proved. So a claim about
 * the trials of a cell needs more than half of them decided: had every undecided one gone the other
 * way, most would still agree with it. That is the one of one trial, two of three, 11 of 21.
 *  - `safe` is such a claim. With fewer decided trials the cell is undecided.
 *  - What was seen to go wrong counts whatever is undecided beside it: `violated`, `stuck` and `delayed` need one
 *    trial. But that a timeline goes wrong each time, as its scenario expects, is such a claim, too: with
 *    fewer decided trials it is not known whether the cell is as expected.
 * The counters of undecided trials are in the sums all the same. ---- */

/* As many trials that agree leave less than 10 % to the other outcome (95 % confidence), which is no
 * race any more. */
#define AGREED_TRIALS 30

int lb_cell_sum_decided(const struct lb_cell_sum *sum) { return sum->trials - sum->undecided; }

static bool most_decided(const struct lb_cell_sum *sum) { return lb_cell_sum_decided(sum) > sum->undecided; }

static enum lb_verdict verdict_of(const struct lb_cell_sum *sum, bool directed) {
  int kinds = (sum->safe > 0) + (sum->violated > 0) + (sum->stuck > 0) + (sum->delayed > 0);
  if (directed && kinds > 1) return LB_MIXED;
  if (sum->violated) return LB_VIOLATED;
  if (sum->stuck) return LB_STUCK;
  if (sum->delayed) return LB_DELAYED;
  return most_decided(sum) ? LB_SAFE : LB_UNDECIDED;
}

void lb_cell_sum_add(struct lb_cell_sum *cell, const struct lb_outcome *x) {
  if (cell->trials++ == 0) cell->sum = lb_counters_none();
  lb_counters_add(&cell->sum, &x->counters);
  cell->safe += x->verdict == LB_SAFE;
  cell->violated += x->verdict == LB_VIOLATED;
  cell->stuck += x->verdict == LB_STUCK;
  cell->delayed += x->verdict == LB_DELAYED;
  cell->undecided += x->verdict == LB_UNDECIDED;
  cell->premises_observed += x->premises_observed;
  assert(cell->trials == cell->safe + cell->violated + cell->stuck + cell->delayed + cell->undecided);
  cell->verdict = verdict_of(cell, cell->cell->scenario->kind == LB_KIND_TIMELINE);
}

static bool is_timeline(const struct lb_cell_sum *sum) {
  return sum->cell->scenario && sum->cell->scenario->kind == LB_KIND_TIMELINE;
}

/* `race` is met by every decided verdict. So is `mixed` by few trials: a race may fall the same way
 * in all of them. However many, that it always fell well is a note and no failure: lb_cell_sum_is_better(). */
static bool fits(const struct lb_cell_sum *sum, enum lb_verdict wanted) {
  if (wanted == LB_ANY) return true;
  if (wanted == LB_MIXED && (lb_cell_sum_decided(sum) < AGREED_TRIALS || sum->verdict == LB_SAFE)) return true;
  return sum->verdict == wanted;
}

static bool says_nothing(const struct lb_cell_sum *sum) {
  return sum->verdict == LB_UNDECIDED || sum->verdict == LB_SKIPPED || sum->verdict == LB_VERDICT_NONE;
}

static int held_against(const struct lb_cell_sum *sum, enum lb_verdict wanted) {
  if (!fits(sum, wanted)) return 0;
  return is_timeline(sum) && !most_decided(sum) ? -1 : 1;
}

/* Without an expectation a lock counts as safe, so a violation is then against expectation. */
int lb_cell_sum_as_expected(const struct lb_cell_sum *sum) {
  const struct lb_expect *expect = sum->cell->expect;
  if (sum->verdict == LB_NA) return expect && expect->verdict == LB_NA ? 1 : -1;
  if (says_nothing(sum)) return -1;
  return expect ? held_against(sum, expect->verdict) : sum->verdict == LB_SAFE;
}

/* What the user or the file of the scenario expects goes before what the rules say. */
int lb_cell_sum_as_predicted(const struct lb_cell_sum *sum) {
  const struct lb_cell *cell = sum->cell;
  bool asked = cell->brought && cell->predicted && !cell->expect;
  return asked && sum->verdict != LB_NA && !says_nothing(sum) ? held_against(sum, cell->prediction.verdict) : -1;
}

bool lb_cell_sum_is_better(const struct lb_cell_sum *sum) {
  const struct lb_expect *expect = sum->cell->expect;
  return sum->verdict == LB_SAFE && expect && (expect->verdict == LB_MIXED || expect->verdict == LB_ANY);
}

bool lb_cell_sum_is_open(const struct lb_cell_sum *sum) { return sum->trials > 0 && lb_cell_sum_as_expected(sum) < 0; }

/* Jobs are in the order of the plan, not in that in which they ended. The jobs of a cell are neighbours, in the order
 * of the cells. */
static size_t first_job(const struct lb_tally *tally, size_t cell) {
  size_t low = 0, high = tally->plan->job_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (tally->jobs[middle].job->cell < cell) low = middle + 1;
    else high = middle;
  }
  return low;
}

const char *lb_tally_why(const struct lb_tally *tally, size_t cell, enum lb_verdict verdict) {
  for (size_t i = first_job(tally, cell); i < tally->plan->job_count && tally->jobs[i].job->cell == cell; i++) {
    const struct lb_job_result *x = &tally->jobs[i];
    if (x->done && x->outcome.verdict == verdict && x->outcome.why[0]) return x->outcome.why;
  }
  return "";
}

static enum lb_verdict to_tell(const struct lb_cell_sum *sum) {
  if (sum->verdict != LB_MIXED) return sum->verdict;
  return sum->stuck ? LB_STUCK : LB_DELAYED;
}

/* The reason of the verdict that is shown; of a mixed cell that of its stuck or else delayed trials, if there are
 * any, for a violation has none. Where there are both it says how many of each. */
static void keep_why(struct lb_tally *tally, size_t cell) {
  struct lb_cell_sum *sum = &tally->cells[cell];
  char both[60] = "";
  if (sum->verdict == LB_MIXED && sum->stuck && sum->delayed)
    snprintf(both, sizeof both, "%d stuck, %d delayed; ", sum->stuck, sum->delayed);
  snprintf(sum->why, sizeof sum->why, "%s%s", both, lb_tally_why(tally, cell, to_tell(sum)));
}

/* One more than needed of each, so that an empty plan is not taken for a lack of memory. */
void lb_tally_begin(const struct lb_plan *plan, struct lb_tally *ret) {
  *ret = (struct lb_tally){.plan = plan,
                           .cells = lb_need(calloc(plan->cell_count + 1, sizeof *ret->cells)),
                           .jobs = lb_need(calloc(plan->job_count + 1, sizeof *ret->jobs))};
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    ret->cells[i] = (struct lb_cell_sum){.cell = cell,
                                         .verdict = !cell->skip[0]        ? LB_VERDICT_NONE
                                                    : cell->means_nothing ? LB_NA
                                                                          : LB_SKIPPED};
  }
  for (size_t i = 0; i < plan->job_count; i++) ret->jobs[i].job = &plan->jobs[i];
  ret->wanted = plan->job_count;
}

void lb_tally_add(struct lb_tally *tally, struct lb_job_result *result, const struct lb_outcome *outcome) {
  result->outcome = *outcome;
  result->done = true;
  result->machine = tally->machine;
  tally->done++;
  lb_cell_sum_add(&tally->cells[result->job->cell], outcome);
  keep_why(tally, result->job->cell);
}

void lb_tally_clear(struct lb_tally *tally) {
  free(tally->cells);
  free(tally->jobs);
  *tally = (struct lb_tally){0};
}
