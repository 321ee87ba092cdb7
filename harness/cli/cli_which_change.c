/* SPDX-License-Identifier: MIT
 *
 * Which one fact would have to be another one, so that a lock survives a fault.
 */
#include <string.h>

#include "cli_table.h"
#include "cli_which.h"
#include "run/fit.h"

/* A rule of such a fact says n/a because there is nothing to take over, or to come back with: the fault is then no less a loss. */
static bool lacks(const struct lb_rule *rule) {
  static const char *const facts[][2] = {{"takeover", "nobody"}, {"members", "0|1|2"}, {"killed", "nothing"}, {"power", "nothing"}};
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
    if (lb_rule_asks(rule, facts[i][0], facts[i][1])) return true;
  return false;
}

static bool gets_over(enum lb_verdict verdict, const struct lb_rule *rule) { return verdict == LB_SAFE || (verdict == LB_NA && rule && !lacks(rule)); }

/* What the rules say if this one were not there. */
static bool survives_without(const struct lb_cell *cell, const struct lb_rule *rule) {
  struct lb_facts facts;
  struct lb_prediction p;
  lb_facts_of(cell->protocol, cell->options, cell->topology, cell->scenario, &facts);
  lb_theory_without(rule);
  bool known = lb_theory_predict(cell->scenario->attack, &facts, cell->guard, &p);
  lb_theory_without(NULL);
  return known && gets_over(p.verdict, p.rule);
}

/* The lock has not got what the guard asks for, wherever it is put. */
static bool lacks_guard(const struct lb_cell *cell) {
  char why[300];
  return lb_fit(cell->scenario, cell->protocol, cell->topology, cell->guard, why, sizeof why) == LB_NA &&
         lb_fit(cell->scenario, cell->protocol, cell->topology, LB_GUARD_NONE, why, sizeof why) != LB_NA;
}

/* Nobody can take over, or there is no such server to lose: not a fault that takes nothing. */
static bool lacks_servers(const struct lb_cell *cell) {
  size_t servers = cell->topology->data_count;
  for (size_t i = 0; i < cell->scenario->step_count; i++) {
    const struct lb_step *step = &cell->scenario->steps[i];
    if (servers < 2 && (lb_step_needs(step, LB_NEED_FAILOVER) || lb_step_needs(step, LB_NEED_ORDERLY))) return true;
    if (step->a.kind == LB_ROLE_NODE && (size_t)step->a.number > servers) return true;
  }
  return false;
}

bool lb_which_survives(const struct lb_cell *cell) {
  struct lb_told told = lb_table_told(cell);
  if (told.verdict == LB_NA && lacks_servers(cell)) return false;
  if (told.source && strcmp(told.source, "fit") == 0) return !lacks_guard(cell) && (!cell->predicted || gets_over(cell->prediction.verdict, cell->prediction.rule));
  if (told.verdict == LB_NA && told.rule && told.rule->of_guard) return survives_without(cell, told.rule);
  return gets_over(told.verdict, told.rule);
}

static void try_value(const struct lb_cell *cell, const struct lb_term *term, const char *now, const char *value, json_t *safe, json_t *nothing) {
  struct lb_facts facts;
  struct lb_prediction p;
  lb_facts_if(cell->protocol, cell->options, cell->topology, cell->scenario, term->name, value, &facts);
  if (!lb_theory_predict(cell->scenario->attack, &facts, cell->guard, &p) || !gets_over(p.verdict, p.rule)) return;
  json_array_append_new(p.verdict == LB_SAFE ? safe : nothing, json_pack("{s:s, s:s, s:s, s:s, s:s}", "fact", term->name, "now", now, "value", value, "verdict",
                                                                          lb_verdict_name(p.verdict), "reason", p.reason));
}

static void try_fact(const struct lb_cell *cell, const struct lb_term *term, const struct lb_facts *facts, json_t *safe, json_t *nothing) {
  char now[80], value[80];
  lb_facts_get(facts, term->name, now, sizeof now);
  for (const char *at = term->values; *at; at += strcspn(at, "|"), at += *at == '|') {
    snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "|"), at);
    if (strcmp(value, now) != 0) try_value(cell, term, now, value, safe, nothing);
  }
}

json_t *lb_which_changes(const struct lb_cell *cell) {
  json_t *safe = json_array(), *nothing = json_array();
  struct lb_told told = lb_table_told(cell);
  struct lb_facts facts;
  const struct lb_term *term;
  lb_facts_of(cell->protocol, cell->options, cell->topology, cell->scenario, &facts);
  for (size_t i = 0; told.rule && (term = lb_term_at(i)); i++)
    if (term->of == LB_TERM_OF_LOCK || term->of == LB_TERM_OF_SERVERS) try_fact(cell, term, &facts, safe, nothing);
  json_t *ret = json_array_size(safe) ? safe : nothing;
  json_decref(ret == safe ? nothing : safe);
  return ret;
}
