/* SPDX-License-Identifier: MIT
 *
 * What rules say of cells before anything has run: `list expectations`, as lines or as JSON, and `predict` and `which`,
 * which plots/predict.py tells from that JSON. A new cell costs nothing: no server is started.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "base/need.h"
#include "cli.h"
#include "plan/fit.h"
#include "plan/plan.h"
#include "plan/settings.h"
#include "plan/system.h"
#include "theory/facts.h"
#include "theory/facts_cell.h"
#include "theory/theory.h"

/* ---- what is said of a cell ------------------------------------------------------------------------------ */

/* Texts are static or borrowed. LB_NA: the question means nothing there, and `source` says who says so. */
struct told {
  enum lb_verdict verdict; /* LB_VERDICT_NONE: there is no prediction */
  const char *reason;
  const char *source;         /* the attack of a rule, "guards", "exception", "fit"; NULL = none */
  const struct lb_rule *rule; /* NULL = none, or it is not the source */
};

/* It is left out because lockbench leaves servers of the user's own alone, and not because nothing could happen
 * there. */
static bool is_spared(const struct lb_cell *cell) {
  char why[300];
  const struct lb_topology *like =
      cell->topology->own && cell->topology->stands_for ? lb_topology_find(cell->topology->stands_for) : NULL;
  struct lb_cell there = *cell;
  there.topology = like;
  return like && lb_fit(&there, why, sizeof why) != LB_NA;
}

/* The [expect] line that says it, not the one that came from rules. */
static const struct lb_expect *exception_of(const struct lb_cell *cell) { return cell->derived ? NULL : cell->expect; }

static struct told told_of(const struct lb_cell *cell) {
  const struct lb_expect *e = exception_of(cell);
  struct told told = {.verdict = LB_VERDICT_NONE, .reason = ""};
  if (e) told = (struct told){e->verdict, e->reason ? e->reason : "", "exception", NULL};
  else if (cell->predicted)
    told = (struct told){cell->prediction.verdict, cell->prediction.reason, cell->prediction.rule->attack,
                         cell->prediction.rule};
  if (cell->means_nothing && told.verdict != LB_NA && !is_spared(cell))
    told = (struct told){LB_NA, cell->skip, "fit", NULL};
  return told;
}

/* ---- does the lock get over it, and which one fact would have to be another one ---------------------------- */

/* A rule of such a fact says n/a because there is nothing to take over, or to come back with: the fault is then no less
 * a loss. */
static bool lacks(const struct lb_rule *rule) {
  static const char *const facts[][2] = {
      {"takeover", "nobody"}, {"members", "0|1|2"}, {"killed", "nothing"}, {"power", "nothing"}};
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
    if (lb_rule_asks(rule, facts[i][0], facts[i][1])) return true;
  return false;
}

static bool gets_over(enum lb_verdict verdict, const struct lb_rule *rule) {
  return verdict == LB_SAFE || (verdict == LB_NA && rule && !lacks(rule));
}

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
  struct lb_cell bare = *cell;
  bare.guard = LB_GUARD_NONE;
  return lb_fit(cell, why, sizeof why) == LB_NA && lb_fit(&bare, why, sizeof why) != LB_NA;
}

/* True if no server can become primary in a failover, or the server to lose does not exist. Such a fault cannot happen,
 * which is not the same as a fault without effect. */
static bool lacks_servers(const struct lb_cell *cell) {
  size_t servers = cell->topology->data_count;
  for (size_t i = 0; i < cell->scenario->step_count; i++) {
    const struct lb_step *step = &cell->scenario->steps[i];
    if (servers < 2 && (lb_step_needs(step, LB_NEED_FAILOVER) || lb_step_needs(step, LB_NEED_ORDERLY))) return true;
    if (step->a.kind == LB_ROLE_NODE && (size_t)step->a.number > servers) return true;
  }
  return false;
}

/* Safe, or by its facts the attack takes nothing from it. Too few servers for the attack is no such fact. Where n/a says
 * that the guard is not put to the test there, the rules behind that one decide; where a step cannot be done to this
 * lock, the rules decide alone. A guard that the lock has not got saves nothing. */
static bool survives(const struct lb_cell *cell) {
  struct told told = told_of(cell);
  if (cell->protocol->traits & LB_TRAIT_UNSAFE) return false; /* it is played only where that shows */
  if (told.verdict == LB_NA && lacks_servers(cell)) return false;
  if (told.source && strcmp(told.source, "fit") == 0)
    return !lacks_guard(cell) && (!cell->predicted || gets_over(cell->prediction.verdict, cell->prediction.rule));
  if (told.verdict == LB_NA && told.rule && told.rule->of_guard) return survives_without(cell, told.rule);
  return gets_over(told.verdict, told.rule);
}

static void try_value(const struct lb_cell *cell, const struct lb_term *term, const char *now, const char *value,
                      json_t *safe, json_t *nothing) {
  struct lb_facts facts;
  struct lb_prediction p;
  lb_facts_if(cell->protocol, cell->options, cell->topology, cell->scenario, &(struct lb_assumed){term->name, value},
              &facts);
  if (!lb_theory_predict(cell->scenario->attack, &facts, cell->guard, &p) || !gets_over(p.verdict, p.rule)) return;
  json_array_append_new(p.verdict == LB_SAFE ? safe : nothing,
                        json_pack("{s:s, s:s, s:s, s:s, s:s}", "fact", term->name, "now", now, "value", value,
                                  "verdict", lb_verdict_name(p.verdict), "reason", p.reason));
}

static void try_fact(const struct lb_cell *cell, const struct lb_term *term, const struct lb_facts *facts, json_t *safe,
                     json_t *nothing) {
  char now[80], value[80];
  lb_facts_get(facts, term->name, now, sizeof now);
  for (const char *at = term->values; *at; at += strcspn(at, "|"), at += *at == '|') {
    snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "|"), at);
    if (strcmp(value, now) != 0) try_value(cell, term, now, value, safe, nothing);
  }
}

/* The single facts of the lock or its servers with which it would survive: those that make it safe or, if there are none,
 * those that make it n/a. Empty where not a rule says what becomes of the cell. */
static json_t *changes_of(const struct lb_cell *cell) {
  json_t *safe = json_array(), *nothing = json_array();
  struct told told = told_of(cell);
  struct lb_facts facts;
  const struct lb_term *term;
  lb_facts_of(cell->protocol, cell->options, cell->topology, cell->scenario, &facts);
  for (size_t i = 0; told.rule && (term = lb_term_at(i)); i++)
    if (term->of == LB_TERM_OF_LOCK || term->of == LB_TERM_OF_SERVERS) try_fact(cell, term, &facts, safe, nothing);
  json_t *ret = json_array_size(safe) ? safe : nothing;
  json_decref(ret == safe ? nothing : safe);
  return ret;
}

/* A lock that declares a flaw, that excludes no one, or that has the facts of a lock known to be broken. */
static bool is_flawed(const struct lb_cell *cell) {
  static const char *const flaws[][2] = {{"release", "looked"}, {"release", "timed"}, {"release", "blind"},
                                         {"end", "set-later"},  {"heeds", "no"},      {"looks", "no"}};
  const struct lb_protocol *p = cell->protocol;
  struct lb_facts facts;
  bool ret = p->traits & LB_TRAIT_UNSAFE;
  for (const struct lb_flaw *f = p->flaws; f && f->statement; f++)
    ret |= lb_protocol_flaw(p, cell->options, f->statement) != NULL;
  lb_facts_of(p, cell->options, cell->topology, NULL, &facts);
  for (size_t i = 0; i < sizeof flaws / sizeof *flaws; i++) ret |= lb_facts_is(&facts, flaws[i][0], flaws[i][1]);
  return ret;
}

/* ---- as JSON (results/SCHEMA.md) ----------------------------------------------------------------------------- */

static json_t *facts_json(const struct lb_cell *cell) {
  json_t *ret = json_object();
  struct lb_facts facts;
  const struct lb_term *term;
  char value[80];
  lb_facts_of(cell->protocol, cell->options, cell->topology, NULL, &facts);
  for (size_t i = 0; (term = lb_term_at(i)); i++)
    if (term->of != LB_TERM_OF_GUARD)
      json_object_set_new(ret, term->name, json_string(lb_facts_get(&facts, term->name, value, sizeof value)));
  return ret;
}

/* The vocabulary, as `list facts` has it. */
static json_t *terms_json(void) {
  json_t *terms = json_array();
  const struct lb_term *term;
  for (size_t i = 0; (term = lb_term_at(i)); i++)
    json_array_append_new(
        terms, json_pack("{s:s, s:s, s:s}", "fact", term->name, "values", term->values, "meaning", term->help));
  return terms;
}

static json_t *rules_json(void) {
  json_t *rules = json_array();
  const struct lb_rule *rule;
  for (size_t i = 0; (rule = lb_rule_at(i)); i++)
    json_array_append_new(rules,
                          json_pack("{s:i, s:s, s:s?, s:s, s:s, s:s}", "line", rule->line, "attack", rule->attack,
                                    "what", lb_theory_attack_what(rule->attack), "text", rule->text, "verdict",
                                    lb_verdict_name(rule->verdict), "reason", rule->reason));
  return rules;
}

struct listing {
  bool json, changes; /* changes: of cells that are not survived */
  json_t *systems;
  bool begun;
};

static json_t *cell_json(const struct lb_cell *cell, bool changes) {
  struct told told = told_of(cell);
  const struct lb_expect *e = exception_of(cell);
  bool lasts = survives(cell);
  json_t *o =
      json_pack("{s:s, s:s, s:s, s:s, s:s?, s:o, s:b}", "system", cell->system, "guard", lb_guard_name(cell->guard),
                "verdict", lb_verdict_name(told.verdict), "reason", told.reason, "source", told.source, "rule",
                told.rule ? json_integer(told.rule->line) : json_null(), "survives", lasts);
  if (changes && !lasts) json_object_set_new(o, "survives_if", changes_of(cell));
  if (e)
    json_object_set_new(o, "predicted",
                        json_string(cell->predicted ? lb_verdict_name(cell->prediction.verdict) : "nothing"));
  if (e) json_object_set_new(o, "stated", json_integer(e - cell->scenario->expect));
  return o;
}

static json_t *stated_json(const struct lb_scenario *s) {
  json_t *ret = json_array();
  for (size_t i = 0; i < s->expect_count; i++)
    json_array_append_new(ret,
                          json_pack("{s:s, s:s, s:s, s:s}", "system", s->expect[i].system, "guard",
                                    lb_guard_name(s->expect[i].guard), "verdict", lb_verdict_name(s->expect[i].verdict),
                                    "reason", s->expect[i].reason ? s->expect[i].reason : ""));
  return ret;
}

/* Takes the value. */
static void put(json_t *value, FILE *out) {
  json_dumpf(value, out, JSON_COMPACT | JSON_ENCODE_ANY);
  json_decref(value);
}

/* A cell per line: the whole table is large. */
static void put_scenario(struct listing *l, const struct lb_plan *plan, FILE *out) {
  const struct lb_scenario *s = &plan->scenarios[0];
  fprintf(out, "%s{\"scenario\":\"%s\",\"attack\":", l->begun ? ",\n" : "", s->name);
  l->begun = true;
  put(s->attack ? json_string(s->attack) : json_null(), out);
  fputs(",\"stated\":", out);
  put(stated_json(s), out);
  fputs(",\"cells\":[", out);
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    if (!json_object_get(l->systems, cell->system))
      json_object_set_new(l->systems, cell->system,
                          json_pack("{s:b, s:o}", "flawed", is_flawed(cell), "facts", facts_json(cell)));
    fputs(i ? ",\n" : "\n", out);
    put(cell_json(cell, l->changes), out);
  }
  fputs("]}", out);
}

static void print_lines(const struct lb_plan *plan, FILE *out) {
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    struct told told = told_of(cell);
    if (told.verdict != LB_VERDICT_NONE)
      fprintf(out, "%-26s %-34s %-9s %-9s %-22s %s\n", cell->scenario->name, cell->system, lb_guard_name(cell->guard),
              lb_verdict_name(told.verdict), told.source, told.reason);
  }
}

/* ---- the table, every scenario on some systems ------------------------------------------------------------ */

#define SYSTEMS "all,libraries,museum" /* where none is named */

/* JSON has every guard, also where it has nothing to stop; lines have those that a suite would play. */
static int list_scenario(struct listing *l, const char *path, const char *systems, FILE *out) {
  struct lb_error err;
  struct lb_plan plan;
  struct lb_plan_request request = {
      .systems = systems ? systems : SYSTEMS, .product = true, .only_guards = l->json ? (1u << LB_GUARD_COUNT) - 1 : 0};
  if (lb_plan_load(&path, 1, &request, &plan, &err) < 0) return lb_complain(LB_EXIT_USAGE, "%s", err.text);
  if (l->json) put_scenario(l, &plan, out);
  else print_lines(&plan, out);
  lb_plan_clear(&plan);
  return 0;
}

static int list_all(struct listing *l, const char *systems, FILE *out) {
  char path[4096], **names, **paths;
  size_t count;
  snprintf(path, sizeof path, "%s/" LB_SCENARIOS, lb_process_root());
  int r = lb_scenario_list(path, &names, &paths, &count);
  if (r < 0) return lb_complain(LB_EXIT_FAILURE, "cannot read %s: %s", path, strerror(-r));
  for (size_t i = 0; i < count; i++) {
    if (r == 0) r = list_scenario(l, paths[i], systems, out);
    free(names[i]);
    free(paths[i]);
  }
  free(names);
  free(paths);
  return r;
}

/* Lists these scenarios, or all where none is named. An exit code. */
static int list(const char *systems, const char *const scenarios[], int count, bool json, FILE *out) {
  struct listing l = {.json = json, .changes = count > 0, .systems = json_object()};
  int r = 0;
  if (json) fputs("{\"facts\":", out), put(terms_json(), out);
  if (json) fputs(",\n\"rules\":", out), put(rules_json(), out), fputs(",\n\"scenarios\":[", out);
  for (int i = 0; i < count && r == 0; i++) {
    char *path = lb_cli_find_scenario(scenarios[i]);
    r = path ? list_scenario(&l, path, systems, out) : LB_EXIT_USAGE;
    free(path);
  }
  if (count == 0) r = list_all(&l, systems, out);
  if (json) fputs("],\n\"systems\":", out), put(json_incref(l.systems), out), fputs("}\n", out);
  json_decref(l.systems);
  return r;
}

int lb_cli_list_expectations(const struct lb_args *args) {
  const char *systems = args->word_count > 1 ? args->words[1] : args->plugins[0] ? args->plugins : NULL;
  int named = args->word_count > 2 ? args->word_count - 2 : 0;
  return list(systems, &args->words[2], named, args->json, stdout);
}

/* ---- predict --------------------------------------------------------------------------------------------- */

/* The lock that is named, else the one that --plugin or --exec brought; on servers of the user's own where they are
 * named. */
static int find_system(const struct lb_args *args, const char *word, struct lb_system *ret) {
  struct lb_error err;
  if (!word && args->plugins[0]) word = args->plugins;
  char *own = lb_own_at(0) ? lb_cli_own_systems(word) : NULL;
  if (own) word = own;
  int r = word ? lb_system_parse(word, ret, &err) : -1;
  if (!word)
    r = lb_complain(LB_EXIT_USAGE, "predict: expected PROTOCOL[@TOPOLOGY], see `%s list protocols`",
                    lb_process_called());
  else if (r < 0) r = lb_complain(LB_EXIT_USAGE, "predict: %s", err.text);
  else r = lb_cli_check_locks(args, ret, 1);
  free(own);
  return r;
}

static int take_words(const struct lb_args *args, struct lb_system *ret, const char **ret_dir) {
  bool brought = args->plugins[0] || lb_own_at(0);
  int words = args->word_count;
  *ret_dir = NULL;
  if (words > 2)
    return lb_complain(LB_EXIT_USAGE, "predict: expected one lock and one results folder, found '%s', too",
                       args->words[2]);
  if (words == 2 || (words == 1 && brought && lb_cli_is_run_folder(args->words[0]))) *ret_dir = args->words[--words];
  if (*ret_dir && !lb_cli_is_run_folder(*ret_dir))
    return lb_complain(LB_EXIT_USAGE, "predict: %s: expected a results folder, which has a run.json", *ret_dir);
  return find_system(args, words ? args->words[0] : NULL, ret);
}

static int predict_command(const struct lb_args *args) {
  struct lb_system system;
  const char *words[] = {"predict", args->json ? "--json" : "--text", NULL, NULL};
  int r = lb_cli_own_begin(args);
  if (r == 0) r = take_words(args, &system, &words[3]);
  if (r) return r;
  words[2] = system.name;
  FILE *table = tmpfile();
  if (!table) return lb_complain(LB_EXIT_FAILURE, "predict: cannot make a temporary file");
  r = list(system.name, NULL, 0, true, table);
  if (r == 0) r = lb_cli_run_script("predict.py", words, words[3] ? 4 : 3, table, NULL);
  fclose(table);
  return r;
}

const struct lb_cli_command lb_command_predict = {
    "predict",
    predict_command,
    LB_ARG_JSON | LB_ARG_PLUGIN | LB_ARG_OWN,
    "[SYSTEM] [DIR]",
    "says what each fault should do to a lock, before anything has run",
    "SYSTEM is PROTOCOL[@TOPOLOGY]; optional with --plugin, --exec and servers of your own.\n"
    "DIR is a results folder: its verdicts are shown beside, with ! where they differ.\n"};

/* ---- which ----------------------------------------------------------------------------------------------- */

static int which_command(const struct lb_args *args) {
  enum lb_guard guard = LB_GUARD_NONE;
  while (args->guards && !(args->guards >> guard & 1)) guard++;
  if (args->word_count) return lb_complain(LB_EXIT_USAGE, "which: expected only options, found '%s'", args->words[0]);
  if (!args->survive)
    return lb_complain(LB_EXIT_USAGE,
                       "which: expected --survive, as in `%s which --on redis,zk --survive failover,pause-holder`",
                       lb_process_called());
  return lb_cli_run_script("predict.py",
                           (const char *[]){"which", args->json ? "--json" : "--text", lb_guard_name(guard),
                                            args->survive, args->on ? args->on : ""},
                           5, NULL, NULL);
}

const struct lb_cli_command lb_command_which = {
    "which",
    which_command,
    LB_ARG_WHICH | LB_ARG_JSON,
    "",
    "names the locks that are predicted to survive some faults, or what would have to change",
    "The answer comes from rules (scenarios/theory/rules.ini), with the cells that show it and the cost in a reference run.\n"
    "If no lock is left, it names the faults that break the best one, and the guard or the single fact that would stop each.\n"};
