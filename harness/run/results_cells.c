/* SPDX-License-Identifier: MIT
 *
 * A cell as JSON: the same object in run.json and in `--json`. What does not apply is null, never
 * 0.
 */
#include "results.h"

#include "rate.h"
#include "base/interval.h"
#include "client/holder.h"
#include "history/counter_json.h"

static json_t *text_or_null(const char *text) { return text && *text ? json_string(text) : json_null(); }

/* For a safe cell: with no violation in n trials the rate is below this, at 95 % confidence. */
static json_t *upper95(const struct lb_cell_sum *sum) {
  return sum->verdict == LB_SAFE ? json_real(lb_upper95_zero((uint64_t)sum->safe)) : json_null();
}

/* Null also where nothing is stated, although the exit code then takes safe for granted: the file
 * says what the scenario said. */
static json_t *as_expected(const struct lb_cell_sum *sum) {
  int x = sum->cell->expect ? lb_cell_as_expected(sum) : -1;
  return x < 0 ? json_null() : json_boolean(x);
}

/* Three members: the rate, and the ends of its interval. Null where nothing is known. */
static void set_rate(json_t *o, const char *name, const struct lb_rate *rate, bool known) {
  char low[64], high[64];
  snprintf(low, sizeof low, "%s_low", name);
  snprintf(high, sizeof high, "%s_high", name);
  json_object_set_new(o, name, known ? json_real(rate->value) : json_null());
  json_object_set_new(o, low, known ? json_real(rate->low) : json_null());
  json_object_set_new(o, high, known ? json_real(rate->high) : json_null());
}

static json_t *whole_or_null(uint64_t number, bool known) { return known ? json_integer((json_int_t)number) : json_null(); }

/* As the scenario writes them, those that were never proved included. */
static json_t *kinds_json(const struct lb_scenario *scenario, const struct lb_cell_rate *x) {
  json_t *o = json_object();
  for (size_t i = 0; i < scenario->fault_count && i < LB_FAULT_KINDS_MAX; i++)
    json_object_set_new(o, scenario->faults[i].text, json_integer(x->faults_of[i]));
  return o;
}

/* Null unless it was a campaign that decided something. */
static void set_rates(json_t *o, const struct lb_tally *tally, size_t index, bool campaign) {
  struct lb_cell_rate x = {0};
  if (campaign) lb_cell_rate(tally, index, &x);
  json_object_set_new(o, "decided_faults", whole_or_null(x.faults, campaign));
  set_rate(o, "overlapped_per_fault", &x.overlapped_per_fault, x.faults > 0);
  set_rate(o, "within_lease_per_fault", &x.within_lease_per_fault, x.faults > 0);
  set_rate(o, "damaged_per_fault", &x.damaged_per_fault, x.faults > 0);
  json_object_set_new(o, "data_servers", whole_or_null(x.servers, campaign));
  set_rate(o, "within_lease_per_server_hour", &x.within_lease_per_server_hour, x.faults > 0 && x.servers > 0);
  json_object_set_new(o, "decided_hours", campaign ? json_real(x.hours) : json_null());
  json_object_set_new(o, "decided_handoffs", whole_or_null(x.handoffs, campaign));
  json_object_set_new(o, "violations", whole_or_null(x.violations, campaign));
  set_rate(o, "violations_per_hour", &x.violations_per_hour, x.hours > 0 && !x.stands_still);
  set_rate(o, "violations_per_1000", &x.violations_per_1000, x.handoffs > 0 && !x.stands_still);
  json_object_set_new(o, "decided_grants", whole_or_null(x.grants, campaign));
  set_rate(o, "lost_per_1000", &x.lost_per_1000, x.grants > 0);
  int above = campaign ? lb_cell_above_control(tally, index) : -1;
  json_object_set_new(o, "above_control", above < 0 ? json_null() : json_boolean(above));
  json_object_set_new(o, "faults_of", campaign ? kinds_json(tally->plan->cells[index].scenario, &x) : json_null());
}

static bool states_premises(const struct lb_scenario *scenario) {
  for (size_t i = 0; i < scenario->premise_count; i++)
    if (!scenario->premises[i].of_safe) return true;
  return false;
}

static json_t *value_json(const struct lb_option *option, const union lb_value *value) {
  switch (option->type) {
    case LB_OPT_INT: return json_integer((json_int_t)value->i);
    case LB_OPT_REAL: return json_real(value->f);
    case LB_OPT_BOOL: return json_boolean(value->b);
    case LB_OPT_TEXT: return json_string(value->text ? value->text : "");
    case LB_OPT_CHOICE: return json_string(option->words[value->i]);
  }
  return json_null();
}

/* All options of the protocol, with the values that the cell was run with. */
static json_t *options_json(const struct lb_cell *cell) {
  json_t *o = json_object();
  const struct lb_option *options = cell->protocol->options;
  for (size_t i = 0; options && cell->options && options[i].name; i++)
    json_object_set_new(o, options[i].name, value_json(&options[i], &cell->options[i]));
  return o;
}

/* Polling is the harness's, told is the protocol's. */
static void set_waiting(json_t *o, const struct lb_cell *cell) {
  bool told = lb_wakes(cell->protocol, cell->options);
  json_object_set_new(o, "waits", json_string(told ? "told" : "polls"));
  json_object_set_new(o, "poll_first_ms", told ? json_null() : json_integer(LB_POLL_FIRST_MS));
  json_object_set_new(o, "poll_last_ms", told ? json_null() : json_integer(LB_POLL_LAST_MS));
}

static json_t *cell_json(const struct lb_tally *tally, size_t index) {
  static const enum lb_counter_group groups[] = {LB_COUNT_EXCLUSION, LB_COUNT_GUARD, LB_COUNT_LIVENESS, LB_COUNT_PROGRESS, LB_COUNT_GIVEN_UP,
                                                 LB_COUNT_SPEED,     LB_COUNT_TRIAL,    LB_COUNT_FAULTS};
  const struct lb_cell *cell = &tally->plan->cells[index];
  const struct lb_cell_sum *all = &tally->cells[index];
  bool ran = all->trials > 0, campaign = ran && cell->scenario->kind == LB_KIND_CAMPAIGN;
  json_t *o = json_object();
  json_object_set_new(o, "scenario", json_string(cell->scenario->name));
  json_object_set_new(o, "system", json_string(cell->system));
  json_object_set_new(o, "guard", json_string(lb_guard_name(cell->guard)));
  json_object_set_new(o, "options", options_json(cell));
  set_waiting(o, cell);
  json_object_set_new(o, "seed", json_integer((json_int_t)tally->plan->seed));
  json_object_set_new(o, "trials", json_integer(all->trials));
  json_object_set_new(o, "verdict", json_string(lb_verdict_name(all->verdict)));
  json_object_set_new(o, "expected", cell->expect ? json_string(lb_verdict_name(cell->expect->verdict)) : json_null());
  json_object_set_new(o, "as_expected", as_expected(all));
  json_object_set_new(o, "reason", text_or_null(cell->expect ? cell->expect->reason : NULL));
  json_object_set_new(o, "predicted", cell->predicted ? json_string(lb_verdict_name(cell->prediction.verdict)) : json_null());
  json_object_set_new(o, "rule", cell->predicted ? json_string(cell->prediction.rule->attack) : json_null());
  json_object_set_new(o, "why", text_or_null(cell->skip[0] ? cell->skip : all->why));
  json_object_set_new(o, "note", cell->note ? json_integer(cell->note) : json_null());
  json_object_set_new(o, "violated", json_integer(all->violated));
  json_object_set_new(o, "undecided", json_integer(all->undecided));
  json_object_set_new(o, "decided", json_integer(lb_cell_decided(all)));
  json_object_set_new(o, "stuck", json_integer(all->stuck));
  json_object_set_new(o, "delayed", json_integer(all->delayed));
  json_object_set_new(o, "premises_observed", whole_or_null((uint64_t)all->premises_observed, ran && states_premises(cell->scenario)));
  json_object_set_new(o, "upper95", upper95(all));
  lb_counters_json(o, ran ? &all->sum : NULL, groups, sizeof groups / sizeof *groups, LB_IN_CELLS, campaign ? LB_IF_CAMPAIGN : 0);
  set_rates(o, tally, index, campaign);
  return o;
}

json_t *lb_results_cells(const struct lb_tally *tally) {
  json_t *array = json_array();
  for (size_t i = 0; i < tally->plan->cell_count; i++) json_array_append_new(array, cell_json(tally, i));
  return array;
}
