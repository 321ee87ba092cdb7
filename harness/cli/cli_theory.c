/* SPDX-License-Identifier: MIT
 *
 * `lockbench theory`: how much of the whole table follows from rules, what the exceptions are, and the rules and facts
 * themselves.
 */
#include "cli_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "base/process.h"
#include "base/json.h"
#include "base/need.h"
#include "base/text.h"
#include "plan/fit.h"
#include "plan/system.h"
#include "plan/settings.h"
#include "scenario/scenario_load.h"
#include "theory/facts.h"
#include "theory/facts_cell.h"

/* ---- facts and rules ------------------------------------------------------------------------------------- */

/* ---- facts ----------------------------------------------------------------------------------- */

static const char *owner_of(enum lb_term_of of) {
  static const char *const owners[] = {[LB_TERM_OF_LOCK] = "lock",
                                       [LB_TERM_OF_SERVERS] = "servers",
                                       [LB_TERM_OF_SCENARIO] = "scenario",
                                       [LB_TERM_OF_GUARD] = "guard"};
  return owners[of];
}

/* In the words of a user who has to write one. */
static const char *place_of(const char *owner) {
  if (strcmp(owner, "lock") == 0)
    return "of a lock: its table in backends/, `facts` in peers/peers.ini, the greeting of an adapter";
  if (strcmp(owner, "servers") == 0) return "of servers: their row in harness/servers/topology.c";
  return strcmp(owner, "scenario") == 0 ? "of a cell: what its scenario and options say"
                                        : "of a guard: the cell, and the rule that was applied";
}

/* The vocabulary: [{fact, of, values, meaning}]. */
static json_t *terms_json(void) {
  json_t *terms = json_array();
  const struct lb_term *term;
  for (size_t i = 0; (term = lb_term_at(i)); i++) {
    json_t *values = json_array();
    for (const char *at = term->values; *at; at += strcspn(at, "|"), at += *at == '|')
      json_array_append_new(values, json_stringn(at, strcspn(at, "|")));
    json_array_append_new(terms, json_pack("{s:s, s:s, s:o, s:s}", "fact", term->name, "of", owner_of(term->of),
                                           "values", values, "meaning", term->help));
  }
  return terms;
}

/* "  NAME=VALUE|VALUE", the default first, and what it means behind it. */
static void print_terms(const json_t *terms) {
  size_t i, v;
  const json_t *term, *value;
  const char *owner = "";
  json_array_foreach(terms, i, term) {
    if (strcmp(owner, lb_text_of(term, "of")) != 0) {
      printf("%s%s\n", i ? "\n" : "the first value of a fact is its default\n\n", place_of(lb_text_of(term, "of")));
      owner = lb_text_of(term, "of");
    }
    printf("  %s=", lb_text_of(term, "fact"));
    json_array_foreach(json_object_get(term, "values"), v, value)
      printf("%s%s", v ? "|" : "", json_string_value(value));
    printf("\n      ");
    lb_table_wrap(lb_text_of(term, "meaning"), 6, 6);
  }
}

static json_t *facts_json(const struct lb_facts *facts) {
  json_t *ret = json_object();
  const struct lb_term *term;
  char value[80];
  for (size_t i = 0; (term = lb_term_at(i)); i++) {
    if (term->of == LB_TERM_OF_GUARD) continue;
    json_object_set_new(ret, term->name, json_string(lb_facts_get(facts, term->name, value, sizeof value)));
  }
  return ret;
}

json_t *lb_cli_theory_system(const struct lb_system *system) {
  struct lb_facts facts;
  union lb_value *options = lb_settings_options(system->protocol, NULL, 0);
  lb_facts_of(system->protocol, options, system->topology, NULL, &facts);
  free(options);
  return json_pack("{s:s, s:o}", "system", system->name, "facts", facts_json(&facts));
}

static void print_system(const json_t *system) {
  const struct lb_term *term;
  const char *owner = "";
  size_t at = 0;
  printf("%s\n", lb_text_of(system, "system"));
  for (size_t i = 0; (term = lb_term_at(i)); i++) {
    const char *value = lb_text_of(json_object_get(system, "facts"), term->name);
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

/* [{attack, what, rules: [{line, text, verdict, reason}]}]; `attack` NULL = all. */
static json_t *attacks_json(const char *attack) {
  json_t *attacks = json_array(), *rules = NULL;
  const struct lb_rule *rule;
  const char *last = "";
  for (size_t i = 0; (rule = lb_rule_at(i)); i++) {
    if (attack && strcmp(attack, rule->attack) != 0) continue;
    if (strcmp(last, rule->attack) != 0) {
      rules = json_array();
      json_array_append_new(attacks, json_pack("{s:s, s:s?, s:o}", "attack", rule->attack, "what",
                                               lb_theory_attack_what(rule->attack), "rules", rules));
      last = rule->attack;
    }
    json_array_append_new(rules, json_pack("{s:i, s:s, s:s, s:s}", "line", rule->line, "text", rule->text, "verdict",
                                           lb_verdict_name(rule->verdict), "reason", rule->reason));
  }
  return attacks;
}

static void print_attacks(const json_t *attacks) {
  size_t i, r;
  const json_t *attack, *rule;
  json_array_foreach(attacks, i, attack) {
    printf("%s%s: ", i ? "\n" : "", lb_text_of(attack, "attack"));
    lb_table_wrap(lb_text_of(attack, "what"), strlen(lb_text_of(attack, "attack")) + 2, 2);
    json_array_foreach(json_object_get(attack, "rules"), r, rule) {
      fputs("  ", stdout);
      lb_table_wrap(lb_text_of(rule, "text"), 2, 6);
    }
  }
}

/* ---- coverage and exceptions ----------------------------------------------------------------- */

struct coverage { /* of the whole table */
  size_t scenarios, systems;
  size_t decided, by_rules; /* cells with a verdict other than n/a; the others of them are exceptions */
  size_t na, na_by_rules, na_by_exceptions;
  size_t lines, expect_lines; /* of the files of scenarios */
  json_t *exceptions;
  json_t *measured; /* lb_cli_measured(); NULL = no run is named */
};

/* The lines of a file, and those of its sections [expect ...] that say something. */
static int count_lines(struct coverage *c, const char *path) {
  char line[1024];
  bool expects = false;
  FILE *in = fopen(path, "re");
  if (!in) return lb_complain(LB_EXIT_FAILURE, "cannot read %s", path);
  while (fgets(line, sizeof line, in)) {
    c->lines++;
    if (line[0] == '[') expects = strncmp(line, "[expect", 7) == 0;
    else if (expects && line[0] != '#' && line[0] != ';' && strchr(line, '=')) c->expect_lines++;
  }
  fclose(in);
  return 0;
}

static void add_once(json_t *list, const char *text) {
  size_t i;
  const json_t *old;
  json_array_foreach(list, i, old)
    if (strcmp(json_string_value(old), text) == 0) return;
  json_array_append_new(list, json_string(text));
}

/* What is stated with the same verdict and reason is one exception, whatever the systems and guards. */
static json_t *exception_of(struct coverage *c, const struct lb_scenario *s, const struct lb_expect *e) {
  const char *reason = e->reason ? e->reason : "";
  for (size_t i = json_array_size(c->exceptions); i-- > 0;) {
    json_t *old = json_array_get(c->exceptions, i);
    if (strcmp(json_string_value(json_object_get(old, "scenario")), s->name) != 0) break;
    if (strcmp(json_string_value(json_object_get(old, "stated")), lb_verdict_name(e->verdict)) == 0 &&
        strcmp(json_string_value(json_object_get(old, "reason")), reason) == 0)
      return old;
  }
  json_t *ret =
      json_pack("{s:s, s:s?, s:[], s:[], s:[], s:s, s:s, s:i}", "scenario", s->name, "attack", s->attack, "systems",
                "guards", "predicted", "stated", lb_verdict_name(e->verdict), "reason", reason, "cells", 0);
  json_array_append_new(c->exceptions, ret);
  return ret;
}

static void add_line(struct coverage *c, const struct lb_plan *plan, const struct lb_expect *e) {
  json_t *exception = exception_of(c, &plan->scenarios[0], e);
  json_int_t cells = json_integer_value(json_object_get(exception, "cells"));
  add_once(json_object_get(exception, "systems"), e->system);
  add_once(json_object_get(exception, "guards"), lb_guard_name(e->guard));
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    struct lb_told told = lb_table_told(cell);
    if (cell->expect != e || !told.source || strcmp(told.source, "exception") != 0) continue;
    add_once(json_object_get(exception, "predicted"),
             cell->predicted ? lb_verdict_name(cell->prediction.verdict) : "nothing");
    cells++;
  }
  json_object_set_new(exception, "cells", json_integer(cells));
}

static void count_cell(struct coverage *c, const struct lb_cell *cell) {
  struct lb_told told = lb_table_told(cell);
  bool exception = told.source && strcmp(told.source, "exception") == 0;
  if (told.verdict == LB_NA) c->na++, c->na_by_rules += told.rule != NULL, c->na_by_exceptions += exception;
  else if (told.verdict != LB_VERDICT_NONE) c->decided++, c->by_rules += told.rule != NULL;
}

static int count_plan(void *data, struct lb_plan *plan) {
  struct coverage *c = data;
  const struct lb_scenario *s = &plan->scenarios[0];
  size_t systems = 0;
  c->scenarios++;
  for (size_t i = 0; i < plan->cell_count; i++) {
    count_cell(c, &plan->cells[i]);
    systems += plan->cells[i].guard == plan->cells[0].guard;
  }
  if (systems > c->systems) c->systems = systems;
  for (size_t i = 0; i < s->expect_count; i++) add_line(c, plan, &s->expect[i]);
  return count_lines(c, s->path);
}

static json_t *coverage_json(const struct coverage *c) {
  return json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:O?}", "scenarios",
                   (json_int_t)c->scenarios, "systems", (json_int_t)c->systems, "decided", (json_int_t)c->decided,
                   "by_rules", (json_int_t)c->by_rules, "by_exceptions", (json_int_t)(c->decided - c->by_rules),
                   "share_by_rules", c->decided ? (double)c->by_rules / (double)c->decided : 0, "na", (json_int_t)c->na,
                   "na_by_rules", (json_int_t)c->na_by_rules, "na_by_exceptions", (json_int_t)c->na_by_exceptions,
                   "na_by_fit", (json_int_t)(c->na - c->na_by_rules - c->na_by_exceptions), "expect_lines",
                   (json_int_t)c->expect_lines, "scenario_lines", (json_int_t)c->lines, "measured", c->measured);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void join(const json_t *list, char *ret, size_t size) {
  size_t i, at = 0;
  const json_t *word;
  *ret = '\0';
  json_array_foreach(list, i, word)
    if (at < size) at += (size_t)snprintf(ret + at, size - at, "%s%s", i ? ", " : "", json_string_value(word));
}

/* "SCENARIO: SYSTEMS under GUARDS: predicted violated, stated n/a" and, if asked for, why. */
static void print_exceptions(const json_t *exceptions, bool reasons) {
  size_t i;
  const json_t *e;
  json_array_foreach(exceptions, i, e) {
    char systems[1200], guards[80], predicted[80], line[2000];
    join(json_object_get(e, "systems"), systems, sizeof systems);
    join(json_object_get(e, "guards"), guards, sizeof guards);
    join(json_object_get(e, "predicted"), predicted, sizeof predicted);
    bool plain = strcmp(guards, "none") == 0, all = json_array_size(json_object_get(e, "guards")) == LB_GUARD_COUNT;
    snprintf(line, sizeof line, "%s: %s%s%s: %s -> %s", lb_text_of(e, "scenario"), systems,
             plain ? ""
             : all ? " under all"
                   : " under ",
             plain || all ? "" : guards, *predicted ? predicted : "(no cell of the table)", lb_text_of(e, "stated"));
    fputs("  ", stdout);
    lb_table_wrap(line, 2, 4);
    if (!reasons) continue;
    fputs("      ", stdout);
    lb_table_wrap(lb_text_of(e, "reason"), 6, 6);
  }
}

static long long number_of(const json_t *o, const char *name) {
  return (long long)json_integer_value(json_object_get(o, name));
}

static void print_measured(const json_t *m) {
  double share = 100 * json_real_value(json_object_get(m, "share_by_rules"));
  printf("measured:   %lld of these cells are decided by the runs\n", number_of(m, "cells"));
  printf("  by rules  %lld (%.1f %%), %lld more where a rule says race\n", number_of(m, "by_rules"), share,
         number_of(m, "race"));
  printf("  stated    %lld\n", number_of(m, "stated"));
  printf("  rules     %lld were tried, %zu of them on one protocol alone (%lld cells)\n", number_of(m, "rules"),
         json_array_size(json_object_get(m, "rules_of_one_protocol")), number_of(m, "cells_of_one_protocol"));
}

static void print_coverage(const struct coverage *c, size_t attacks, size_t rules) {
  const struct lb_term *term;
  size_t facts = 0;
  while ((term = lb_term_at(facts))) facts++;
  printf("rules:      %zu in %zu sections, over %zu facts\n", rules, attacks, facts);
  printf("table:      %zu scenarios on %zu systems: %zu decided cells\n", c->scenarios, c->systems, c->decided);
  printf("  by rules  %zu (%.1f %%)\n", c->by_rules, c->decided ? 100.0 * (double)c->by_rules / (double)c->decided : 0);
  printf("  stated    %zu\n", c->decided - c->by_rules);
  printf("n/a:        %zu cells: %zu by rules, %zu by exceptions, %zu by step, guard or system\n", c->na,
         c->na_by_rules, c->na_by_exceptions, c->na - c->na_by_rules - c->na_by_exceptions);
  if (c->measured) print_measured(c->measured);
  printf("files:      %zu [expect] lines in %zu lines of scenarios\n", c->expect_lines, c->lines);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int print_json(json_t *json) {
  int r = json ? json_dumpf(json, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : -1;
  putchar('\n');
  json_decref(json);
  return r < 0 && !ferror(stdout) ? lb_complain(LB_EXIT_FAILURE, "out of memory") : LB_EXIT_OK;
}

/* As JSON or as text. Takes the value. */
static int tell(json_t *json, bool as_json, void (*print)(const json_t *json)) {
  if (as_json) return print_json(json);
  print(json);
  json_decref(json);
  return LB_EXIT_OK;
}

static int tell_facts(const struct lb_args *args) {
  struct lb_system system;
  struct lb_error err;
  const char *name = args->word_count > 1 ? args->words[1] : args->plugins[0] ? args->plugins : NULL;
  if (!name) return tell(terms_json(), args->json, print_terms);
  if (lb_system_parse(name, &system, &err) < 0) return lb_complain(LB_EXIT_USAGE, "theory facts: %s", err.text);
  return tell(lb_cli_theory_system(&system), args->json, print_system);
}

/* The attack that a scenario plays, malloc'd; NULL = there is no such scenario, or it has none. */
static char *attack_of_scenario(const char *name) {
  struct lb_scenario s;
  struct lb_error err;
  char *path = lb_cli_look_for_scenario(name, &err), *ret = NULL;
  if (path && lb_scenario_load(path, &s, &err) == 0) {
    ret = s.attack ? lb_need_text(s.attack) : NULL;
    lb_scenario_clear(&s);
  }
  free(path);
  return ret;
}

static int tell_rules(const struct lb_args *args) {
  const char *word = args->word_count > 1 ? args->words[1] : NULL, *near;
  bool known = !word || strcmp(word, "guards") == 0 || lb_theory_has_attack(word, &near);
  char *attack = known ? NULL : attack_of_scenario(word);
  if (!known && !attack)
    return lb_complain(LB_EXIT_USAGE, "theory rules: unknown attack '%s'%s%s%s", word,
                       near ? ", did you mean '" : ", see `theory rules`", near ? near : "", near ? "'?" : "");
  int r = tell(attacks_json(attack ? attack : word), args->json, print_attacks);
  free(attack);
  return r;
}

static size_t count_rules(void) {
  size_t count = 0;
  while (lb_rule_at(count)) count++;
  return count;
}

static void print_theory(const struct coverage *c) {
  json_t *attacks = attacks_json(NULL);
  print_coverage(c, json_array_size(attacks), count_rules());
  printf("\nexceptions, as the rules predict -> as the file of the scenario states:\n");
  print_exceptions(c->exceptions, false);
  printf("\nmore: %s theory facts [SYSTEM] | rules [ATTACK] | exceptions\nevery cell: %s list expectations\n",
         lb_process_called(), lb_process_called());
  json_decref(attacks);
}

static int tell_table(const struct lb_args *args, bool exceptions) {
  struct coverage c = {.exceptions = json_array()};
  int r = args->word_count && !exceptions ? lb_cli_measured(args, &c.measured) : 0;
  if (r == 0) r = lb_table_walk(&(struct lb_table){.systems = LB_TABLE_SYSTEMS, .visit = count_plan, .data = &c});
  if (r == 0 && args->json && exceptions) r = print_json(json_incref(c.exceptions));
  else if (r == 0 && args->json)
    r = print_json(json_pack("{s:o, s:o, s:o, s:O}", "coverage", coverage_json(&c), "facts", terms_json(), "attacks",
                             attacks_json(NULL), "exceptions", c.exceptions));
  else if (r == 0 && exceptions) print_exceptions(c.exceptions, true);
  else if (r == 0) print_theory(&c);
  json_decref(c.exceptions);
  json_decref(c.measured);
  return r;
}

static int tell_runs(const struct lb_args *args) {
  for (int i = 0; i < args->word_count; i++)
    if (!lb_cli_is_run_folder(args->words[i]))
      return lb_complain(LB_EXIT_USAGE, "theory: %s: expected a results folder, which has a run.json", args->words[i]);
  return tell_table(args, false);
}

static int theory_command(const struct lb_args *args) {
  static const char *const parts[] = {"facts", "rules", "exceptions"};
  const char *part = args->word_count ? args->words[0] : "";
  int most = *part && strcmp(part, "exceptions") != 0 ? 2 : 1;
  const char *near = lb_text_suggest(part, parts, 3);
  if (*part && lb_cli_is_run_folder(part)) return tell_runs(args);
  if (args->word_count > most)
    return lb_complain(LB_EXIT_USAGE, "theory: expected nothing more, found '%s'", args->words[most]);
  if (strcmp(part, "facts") == 0) return tell_facts(args);
  if (strcmp(part, "rules") == 0) return tell_rules(args);
  if (!*part || strcmp(part, "exceptions") == 0) return tell_table(args, *part);
  return lb_complain(LB_EXIT_USAGE, "theory %s: expected facts, rules, exceptions or a results folder%s%s%s", part,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

const struct lb_cli_command lb_command_theory = {
    "theory",
    theory_command,
    LB_ARG_JSON | LB_ARG_PLUGIN,
    "[DIR...|facts [SYSTEM]|rules [ATTACK]|exceptions]",
    "says what predictions rest on: facts, rules, exceptions, and how many cells they cover",
    "DIR is a results folder: how many of its cells follow from rules. ATTACK is a section of scenarios/theory/rules.ini, or a scenario that plays it.\n"};
