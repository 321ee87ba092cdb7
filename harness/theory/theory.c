/* SPDX-License-Identifier: MIT
 *
 * The one function that applies rules. It has no case for any attack, lock or guard.
 */
#include "theory.h"

#include <stdio.h>
#include <string.h>

#include "rules.h"

static const struct lb_rule *left_out;

void lb_theory_without(const struct lb_rule *rule) { left_out = rule; }

static bool holds(const struct lb_rule *rule, const struct lb_facts *facts) {
  for (size_t i = rule->first; i < rule->first + rule->count; i++) {
    const struct lb_condition *c = lb_rule_condition(i);
    if (!(facts->value[c->fact] & c->bits) != c->negated) return false;
  }
  return true;
}

bool lb_rule_asks(const struct lb_rule *rule, const char *fact, const char *values) {
  char err[200];
  size_t index;
  unsigned bits;
  if (lb_facts_parse(fact, values, &index, &bits, err, sizeof err) < 0) return false;
  for (size_t i = rule->first; i < rule->first + rule->count; i++) {
    const struct lb_condition *c = lb_rule_condition(i);
    if (c->fact == index && !c->negated && !(c->bits & ~bits)) return true;
  }
  return false;
}

static const struct lb_rule *first_of(const char *attack, const struct lb_facts *facts) {
  const struct lb_rule *rule;
  for (size_t i = 0; (rule = lb_rule_at(i)); i++)
    if (rule != left_out && strcmp(rule->attack, attack) == 0 && holds(rule, facts)) return rule;
  return NULL;
}

/* What is not violated without a guard is not made so by one. Of what is, the guard decides by what could tell the holder. */
bool lb_theory_predict(const char *attack, const struct lb_facts *facts, enum lb_guard guard, struct lb_prediction *ret) {
  struct lb_facts cell = *facts;
  lb_facts_set(&cell, "guard", lb_guard_name(guard));
  const struct lb_rule *rule = attack ? first_of(attack, &cell) : NULL;
  if (rule && rule->verdict == LB_VIOLATED && guard != LB_GUARD_NONE && !rule->of_guard) {
    cell.value[lb_rule_shows()] = rule->shows;
    rule = first_of("guards", &cell);
  }
  if (rule) *ret = (struct lb_prediction){rule->verdict, rule->reason, rule};
  return rule;
}

enum lb_verdict lb_theory_expects(const struct lb_scenario *scenario, const struct lb_protocol *protocol, const union lb_value *options,
                                  const struct lb_topology *topology, enum lb_guard guard) {
  char system[96];
  struct lb_facts facts;
  struct lb_prediction prediction;
  snprintf(system, sizeof system, "%s@%s", protocol->name, topology->name);
  const struct lb_expect *line = lb_scenario_expect(scenario, system, guard);
  if (line) return line->verdict;
  lb_facts_of(protocol, options, topology, scenario, &facts);
  return lb_theory_predict(scenario->attack, &facts, guard, &prediction) ? prediction.verdict : LB_VERDICT_NONE;
}
