/* SPDX-License-Identifier: MIT
 *
 * `lockbench theory facts` and `theory rules`: the vocabulary, the facts of a system, and the rules as they were read.
 */
#include <stdlib.h>
#include <string.h>

#include "cli_table.h"
#include "cli_theory.h"
#include "run/settings.h"

/* ---- facts ----------------------------------------------------------------------------------- */

static const char *owner_of(enum lb_term_of of) {
  static const char *const owners[] = {[LB_TERM_OF_LOCK] = "lock", [LB_TERM_OF_SERVERS] = "servers", [LB_TERM_OF_SCENARIO] = "scenario", [LB_TERM_OF_GUARD] = "guard"};
  return owners[of];
}

/* In the words of who has to write one. */
static const char *place_of(const char *owner) {
  if (strcmp(owner, "lock") == 0) return "of a lock: its table in backends/, `facts` in peers/peers.ini, the greeting of an adapter";
  if (strcmp(owner, "servers") == 0) return "of servers: their row in harness/servers/topology.c";
  return strcmp(owner, "scenario") == 0 ? "of a cell: what its scenario and options say" : "of a guard: the cell, and the rule that was applied";
}

json_t *lb_theory_terms(void) {
  json_t *terms = json_array();
  const struct lb_term *term;
  for (size_t i = 0; (term = lb_term_at(i)); i++) {
    json_t *values = json_array();
    for (const char *at = term->values; *at; at += strcspn(at, "|"), at += *at == '|') json_array_append_new(values, json_stringn(at, strcspn(at, "|")));
    json_array_append_new(terms, json_pack("{s:s, s:s, s:o, s:s}", "fact", term->name, "of", owner_of(term->of), "values", values, "meaning", term->help));
  }
  return terms;
}

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

/* "  NAME=VALUE|VALUE", the default first, and what it means behind it. */
void lb_theory_print_terms(const json_t *terms) {
  size_t i, v;
  const json_t *term, *value;
  const char *owner = "";
  json_array_foreach(terms, i, term) {
    if (strcmp(owner, text_of(term, "of")) != 0) {
      printf("%s%s\n", i ? "\n" : "the first value of a fact is its default\n\n", place_of(text_of(term, "of")));
      owner = text_of(term, "of");
    }
    printf("  %s=", text_of(term, "fact"));
    json_array_foreach(json_object_get(term, "values"), v, value) printf("%s%s", v ? "|" : "", json_string_value(value));
    printf("\n      ");
    lb_table_wrap(text_of(term, "meaning"), 6, 6);
  }
}

json_t *lb_theory_facts(const struct lb_facts *facts, bool scenario) {
  json_t *ret = json_object();
  const struct lb_term *term;
  char value[80];
  for (size_t i = 0; (term = lb_term_at(i)); i++) {
    if (term->of == LB_TERM_OF_GUARD || (term->of == LB_TERM_OF_SCENARIO && !scenario)) continue;
    json_object_set_new(ret, term->name, json_string(lb_facts_get(facts, term->name, value, sizeof value)));
  }
  return ret;
}

json_t *lb_theory_system(const struct lb_system *system) {
  struct lb_facts facts;
  union lb_value *options = lb_settings_options(system->protocol, NULL, 0);
  lb_facts_of(system->protocol, options, system->topology, NULL, &facts);
  free(options);
  return json_pack("{s:s, s:o}", "system", system->name, "facts", lb_theory_facts(&facts, true));
}

void lb_theory_print_system(const json_t *system) {
  const struct lb_term *term;
  const char *owner = "";
  size_t at = 0;
  printf("%s\n", text_of(system, "system"));
  for (size_t i = 0; (term = lb_term_at(i)); i++) {
    const char *value = text_of(json_object_get(system, "facts"), term->name);
    size_t length = strlen(term->name) + strlen(value) + 2;
    if (!*value) continue;
    if (strcmp(owner, owner_of(term->of)) != 0 || at + length > LB_TABLE_COLUMNS) {
      printf("%s%-10s", *owner ? "\n" : "", strcmp(owner, owner_of(term->of)) != 0 ? owner_of(term->of) : "");
      at = 10;
    }
    owner = owner_of(term->of);
    at += (size_t)printf(" %s=%s", term->name, value);
  }
  putchar('\n');
}

/* ---- rules ----------------------------------------------------------------------------------- */

json_t *lb_theory_attacks(const char *attack) {
  json_t *attacks = json_array(), *rules = NULL;
  const struct lb_rule *rule;
  const char *last = "";
  for (size_t i = 0; (rule = lb_rule_at(i)); i++) {
    if (attack && strcmp(attack, rule->attack) != 0) continue;
    if (strcmp(last, rule->attack) != 0) {
      rules = json_array();
      json_array_append_new(attacks, json_pack("{s:s, s:s?, s:o}", "attack", rule->attack, "what", lb_attack_what(rule->attack), "rules", rules));
      last = rule->attack;
    }
    json_array_append_new(rules, json_pack("{s:i, s:s, s:s, s:s}", "line", rule->line, "text", rule->text, "verdict", lb_verdict_name(rule->verdict), "reason", rule->reason));
  }
  return attacks;
}

void lb_theory_print_attacks(const json_t *attacks) {
  size_t i, r;
  const json_t *attack, *rule;
  json_array_foreach(attacks, i, attack) {
    printf("%s%s: ", i ? "\n" : "", text_of(attack, "attack"));
    lb_table_wrap(text_of(attack, "what"), strlen(text_of(attack, "attack")) + 2, 2);
    json_array_foreach(json_object_get(attack, "rules"), r, rule) {
      fputs("  ", stdout);
      lb_table_wrap(text_of(rule, "text"), 2, 6);
    }
  }
}
