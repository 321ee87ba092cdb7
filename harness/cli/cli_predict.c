/* SPDX-License-Identifier: MIT
 *
 * What rules say of cells before anything has run. `lockbench predict`: what each scenario should do to one lock;
 * beside it stands what a run has measured, if one is named. `lockbench list expectations`: every expected cell of the
 * whole table. And for `which`: whether a lock gets over a fault, which single fact would help, and what it cost in a
 * reference run.
 */
#include "cli_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "base/process.h"
#include "base/csv.h"
#include "base/interval.h"
#include "base/json.h"
#include "base/need.h"
#include "plan/fit.h"
#include "show/explain_cell.h"
#include "show/explain_run.h"
#include "theory/facts.h"
#include "theory/facts_cell.h"

struct predict { /* one system */
  const struct lb_args *args;
  struct lb_system system;
  const char *dir; /* of the run; NULL = none */
  json_t *run;     /* its run.json */
  json_t *cells;   /* all that is predicted, for --json */
  json_t
      *rows; /* of each scenario that means something: {scenario, verdict, reason, guards, measured, differs: [text]} */
  size_t nothing, measured,
      differ; /* scenarios that mean nothing; cells that were measured and decided; those of them that differ */
};

/* ---- what was measured ----------------------------------------------------------------------- */

static const json_t *measured_of(const struct predict *p, const struct lb_cell *cell) {
  size_t i;
  const json_t *m;
  json_array_foreach(json_object_get(p->run, "cells"), i, m) {
    if (strcmp(lb_text_of(m, "scenario"), cell->scenario->name) == 0 &&
        strcmp(lb_text_of(m, "system"), cell->system) == 0 &&
        strcmp(lb_text_of(m, "guard"), lb_guard_name(cell->guard)) == 0)
      return m;
  }
  return NULL;
}

static bool is_decided(const char *verdict) {
  static const char *const words[] = {"safe", "violated", "stuck", "delayed", "mixed"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i], verdict) == 0) return true;
  return false;
}

/* Any outcome of a race is as predicted. A cell without a prediction, or one that means nothing, cannot differ. */
static bool differs(enum lb_verdict predicted, const char *measured) {
  bool says = predicted != LB_ANY && predicted != LB_NA && predicted != LB_VERDICT_NONE;
  return says && is_decided(measured) && strcmp(lb_verdict_name(predicted), measured) != 0;
}

/* "violated 3/3": of the trials so many came out so. */
static void say_measured(const json_t *m, char *ret, size_t size) {
  const char *verdict = lb_text_of(m, "verdict");
  const json_t *count =
      json_object_get(m, strcmp(verdict, "safe") == 0 || strcmp(verdict, "mixed") == 0 ? "violated" : verdict);
  *ret = '\0';
  if (m && json_is_integer(count))
    snprintf(ret, size, "%s %lld/%lld", verdict, (long long)json_integer_value(count),
             (long long)json_integer_value(json_object_get(m, "trials")));
  else if (m) snprintf(ret, size, "%s", verdict);
}

/* ---- a scenario ------------------------------------------------------------------------------ */

static void add_cell(struct predict *p, const struct lb_cell *cell, const struct lb_told *told, const json_t *m) {
  json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s?, s:o, s:o}", "scenario", cell->scenario->name, "guard",
                        lb_guard_name(cell->guard), "verdict", lb_verdict_name(told->verdict), "reason", told->reason,
                        "source", told->source, "rule", told->rule ? json_integer(told->rule->line) : json_null(),
                        "measured", m ? json_string(lb_text_of(m, "verdict")) : json_null());
  bool known = m && is_decided(lb_text_of(m, "verdict")) && told->verdict != LB_NA && told->verdict != LB_VERDICT_NONE;
  json_object_set_new(o, "as_predicted",
                      known ? json_boolean(!differs(told->verdict, lb_text_of(m, "verdict"))) : json_null());
  json_array_append_new(p->cells, o);
  p->measured += known;
  p->differ += known && differs(told->verdict, lb_text_of(m, "verdict"));
}

/* "safe under signal, claim; race under fence": the guards under which it comes out otherwise. */
static void say_guards(const enum lb_verdict verdict[LB_GUARD_COUNT], char *ret, size_t size) {
  size_t at = 0;
  *ret = '\0';
  for (enum lb_verdict v = LB_SAFE; v <= LB_ANY; v++) {
    const char *between = NULL;
    if (v == verdict[LB_GUARD_NONE] || v == LB_NA || v == LB_VERDICT_NONE) continue;
    for (int g = 1; g < LB_GUARD_COUNT && at < size; g++) {
      if (verdict[g] != v) continue;
      if (!between) at += (size_t)snprintf(ret + at, size - at, "%s%s under ", at ? "; " : "", lb_verdict_name(v));
      at += (size_t)snprintf(ret + at, size - at, "%s%s", between ? between : "", lb_guard_name((enum lb_guard)g));
      between = ", ";
    }
  }
}

static int visit(void *data, struct lb_plan *plan) {
  struct predict *p = data;
  enum lb_verdict verdict[LB_GUARD_COUNT];
  const char *reason = "";
  char guards[300], measured[80] = "", line[200];
  json_t *different = json_array();
  for (int g = 0; g < LB_GUARD_COUNT; g++) verdict[g] = LB_VERDICT_NONE;
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    struct lb_told told = lb_table_told(cell);
    const json_t *m = measured_of(p, cell);
    add_cell(p, cell, &told, m);
    verdict[cell->guard] = told.verdict;
    say_measured(m, line, sizeof line);
    if (cell->guard == LB_GUARD_NONE) reason = told.reason, snprintf(measured, sizeof measured, "%s", line);
    if (!m || !differs(told.verdict, lb_text_of(m, "verdict"))) continue;
    json_array_append_new(different, json_sprintf("%s%s: predicted %s, measured %s: %s",
                                                  cell->guard ? "under " : "without a guard",
                                                  cell->guard ? lb_guard_name(cell->guard) : "",
                                                  lb_verdict_name(told.verdict), line, told.reason));
  }
  say_guards(verdict, guards, sizeof guards);
  bool nothing = verdict[LB_GUARD_NONE] == LB_NA || verdict[LB_GUARD_NONE] == LB_VERDICT_NONE;
  p->nothing += nothing && !json_array_size(different);
  if (nothing && !json_array_size(different)) return json_decref(different), 0;
  json_array_append_new(p->rows, json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "scenario", plan->scenarios[0].name,
                                           "verdict", lb_verdict_name(verdict[LB_GUARD_NONE]), "reason", reason,
                                           "guards", guards, "measured", measured, "differs", different));
  return 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

static bool are_alike(const json_t *a, const json_t *b) {
  static const char *const keys[] = {"reason", "guards", "measured"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp(lb_text_of(a, keys[i]), lb_text_of(b, keys[i])) != 0) return false;
  return !json_array_size(json_object_get(a, "differs")) && !json_array_size(json_object_get(b, "differs"));
}

/* "  SCENARIO, SCENARIO: reason": the rows of this verdict from `first` on that say the same. */
static void print_row(json_t *rows, size_t first, const char *verdict) {
  json_t *row = json_array_get(rows, first), *other;
  size_t i, size;
  char *text = NULL;
  const json_t *line;
  bool differ = json_array_size(json_object_get(row, "differs"));
  FILE *out = lb_need(open_memstream(&text, &size));
  fprintf(out, "%s", lb_text_of(row, "scenario"));
  for (i = first + 1; i < json_array_size(rows); i++) {
    other = json_array_get(rows, i);
    if (strcmp(lb_text_of(other, "verdict"), verdict) != 0 || !are_alike(row, other)) continue;
    fprintf(out, ", %s", lb_text_of(other, "scenario"));
    json_object_set_new(other, "told", json_true());
  }
  if (*lb_text_of(row, "measured")) fprintf(out, " (measured: %s)", lb_text_of(row, "measured"));
  fprintf(out, ": %s", lb_text_of(row, "reason"));
  fclose(out);
  printf("%s ", differ ? "!" : " ");
  lb_table_wrap(text, 2, 4);
  free(text);
  if (*lb_text_of(row, "guards")) fputs("      ", stdout), lb_table_wrap(lb_text_of(row, "guards"), 6, 6);
  json_array_foreach(json_object_get(row, "differs"), i, line)
    fputs("    ! ", stdout), lb_table_wrap(json_string_value(line), 6, 6);
}

static void print_verdict(json_t *rows, const char *verdict) {
  size_t i, count = 0;
  json_t *row;
  json_array_foreach(rows, i, row) count += strcmp(lb_text_of(row, "verdict"), verdict) == 0;
  if (count) printf("\n%s in %zu:\n", verdict, count);
  json_array_foreach(rows, i, row)
    if (strcmp(lb_text_of(row, "verdict"), verdict) == 0 && !json_object_get(row, "told")) print_row(rows, i, verdict);
}

/* What is lost comes first. */
static void print_text(const struct predict *p) {
  static const enum lb_verdict order[] = {LB_VIOLATED, LB_STUCK, LB_DELAYED, LB_ANY, LB_SAFE, LB_NA, LB_VERDICT_NONE};
  bool brought =
      p->args->plugins[0] || p->system.topology->own; /* another command would not know it by its name alone */
  printf("%s: predicted from its facts", p->system.name);
  if (brought) putchar('\n');
  else printf(" (%s theory facts %s)\n", lb_process_called(), p->system.name);
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) print_verdict(p->rows, lb_verdict_name(order[i]));
  printf("\nn/a in %zu more scenarios: --json has the reasons\n", p->nothing);
  if (p->run)
    lb_cli_say("measured in %s: %zu cells, %zu as predicted, %zu not", p->dir, p->measured, p->measured - p->differ,
               p->differ);
}

static int print_json(const struct predict *p) {
  json_t *facts = lb_cli_theory_system(&p->system);
  json_t *o = json_pack("{s:s, s:s?, s:O, s:O, s:I, s:I}", "system", p->system.name, "run", p->dir, "facts",
                        json_object_get(facts, "facts"), "cells", p->cells, "measured", (json_int_t)p->measured,
                        "not_as_predicted", (json_int_t)p->differ);
  int r = o ? json_dumpf(o, stdout, JSON_INDENT(1)) : -1;
  putchar('\n');
  json_decref(o);
  json_decref(facts);
  return r < 0 && !ferror(stdout) ? lb_complain(LB_EXIT_FAILURE, "out of memory") : LB_EXIT_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int load_run(struct predict *p) {
  char path[4096];
  json_error_t why;
  snprintf(path, sizeof path, "%s/run.json", p->dir);
  p->run = json_load_file(path, 0, &why);
  if (!p->run) return lb_complain(LB_EXIT_USAGE, "predict: %s:%d: %s", path, why.line, why.text);
  lb_explain_fill_cells(p->run);
  return json_is_array(json_object_get(p->run, "cells"))
             ? 0
             : lb_complain(LB_EXIT_USAGE, "predict: %s: 'cells' is missing, expected a list", path);
}

/* The lock that is named, else the one that --plugin or --exec brought; on servers of the user's own where they are
 * named. */
static int find_system(struct predict *p, const char *word) {
  struct lb_error err;
  if (!word && p->args->plugins[0]) word = p->args->plugins;
  char *own = lb_own_at(0) ? lb_cli_own_systems(word) : NULL;
  if (own) word = own;
  int r = word ? lb_system_parse(word, &p->system, &err) : -1;
  if (!word)
    r = lb_complain(LB_EXIT_USAGE, "predict: expected PROTOCOL[@TOPOLOGY], see `%s list protocols`",
                    lb_process_called());
  else if (r < 0) r = lb_complain(LB_EXIT_USAGE, "predict: %s", err.text);
  else r = lb_cli_check_locks(p->args, &p->system, 1);
  free(own);
  return r;
}

static int take_words(struct predict *p) {
  const struct lb_args *args = p->args;
  bool brought = args->plugins[0] || lb_own_at(0);
  int words = args->word_count;
  if (words > 2)
    return lb_complain(LB_EXIT_USAGE, "predict: expected one lock and one results folder, found '%s', too",
                       args->words[2]);
  if (words == 2 || (words == 1 && brought && lb_cli_is_run_folder(args->words[0]))) p->dir = args->words[--words];
  if (p->dir && !lb_cli_is_run_folder(p->dir))
    return lb_complain(LB_EXIT_USAGE, "predict: %s: expected a results folder, which has a run.json", p->dir);
  int r = find_system(p, words ? args->words[0] : NULL);
  return r == 0 && p->dir ? load_run(p) : r;
}

static int predict_command(const struct lb_args *args) {
  struct predict p = {.args = args, .cells = json_array(), .rows = json_array()};
  int r = lb_cli_own_begin(args);
  if (r == 0) r = take_words(&p);
  if (r == 0)
    r = lb_table_walk(
        &(struct lb_table){.systems = p.system.name, .guards = (1u << LB_GUARD_COUNT) - 1, .visit = visit, .data = &p});
  if (r == 0 && args->json) r = print_json(&p);
  else if (r == 0) print_text(&p);
  json_decref(p.run);
  json_decref(p.cells);
  json_decref(p.rows);
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

/* ---- list expectations ----------------------------------------------------------------------------------- */

static int tell(void *data, struct lb_plan *plan) {
  (void)data;
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    struct lb_told told = lb_table_told(cell);
    if (told.verdict == LB_VERDICT_NONE) continue;
    printf("%-26s %-34s %-9s %-9s %-22s %s\n", cell->scenario->name, cell->system, lb_guard_name(cell->guard),
           lb_verdict_name(told.verdict), told.source, told.reason);
  }
  return 0;
}

int lb_cli_list_expectations(const char *named) {
  return lb_table_walk(&(struct lb_table){.systems = named ? named : LB_TABLE_SYSTEMS, .visit = tell});
}

/* ---- which: does it get over it, and which one fact would have to be another one ------------------------- */

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
  return lb_fit(cell->scenario, cell->protocol, cell->topology, cell->guard, why, sizeof why) == LB_NA &&
         lb_fit(cell->scenario, cell->protocol, cell->topology, LB_GUARD_NONE, why, sizeof why) != LB_NA;
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

bool lb_cli_which_survives(const struct lb_cell *cell) {
  struct lb_told told = lb_table_told(cell);
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

json_t *lb_cli_which_changes(const struct lb_cell *cell) {
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

/* ---- which: what a lock cost in the reference runs that are kept with the sources ------------------------ */

enum { RUNS = 2, TRIALS_MAX = 100, COLUMNS_OF_COST = 2 };
/* The first one that has a lock says what it costs. */
static const char *const folders[RUNS] = {"results/reference-speed", "results/reference"};
static const char *const cost_columns[COLUMNS_OF_COST] = {"grants_per_s", "handoff_p50_us"};

struct measured { /* a trial of one hot lock without a guard; texts point into the file */
  const char *system, *clients;
  double value[COLUMNS_OF_COST]; /* NAN = it has none */
};
struct speed_run {
  struct lb_csv csv; /* trials.csv */
  struct measured *trial;
  size_t count;
  bool tried, there;
};
static struct speed_run runs[RUNS];

static bool take_measured(struct speed_run *run) {
  static const char *const names[] = {"scenario", "system", "guard", "clients"};
  enum { SCENARIO, SYSTEM, GUARD, CLIENTS, NAMES };
  int at[NAMES], value[COLUMNS_OF_COST], r;
  struct lb_error err;
  for (int i = 0; i < NAMES; i++)
    if ((at[i] = lb_csv_column(&run->csv, names[i], &err)) < 0) return false;
  for (int i = 0; i < COLUMNS_OF_COST; i++)
    if ((value[i] = lb_csv_column(&run->csv, cost_columns[i], &err)) < 0) return false;
  while ((r = lb_csv_next(&run->csv, &err)) > 0) {
    char **field = run->csv.field;
    if (strcmp(field[at[SCENARIO]], "contention") != 0 || strcmp(field[at[GUARD]], "none") != 0) continue;
    struct measured *trial = &LB_APPEND(run->trial, run->count);
    *trial = (struct measured){.system = field[at[SYSTEM]], .clients = field[at[CLIENTS]]};
    for (int i = 0; i < COLUMNS_OF_COST; i++) trial->value[i] = *field[value[i]] ? strtod(field[value[i]], NULL) : NAN;
  }
  return r == 0;
}

/* NULL = it is not there. */
static const struct speed_run *run_at(size_t i) {
  struct lb_error err;
  char path[4096];
  struct speed_run *run = &runs[i];
  snprintf(path, sizeof path, "%s/%s/trials.csv", lb_process_root(), folders[i]);
  if (!run->tried) run->there = lb_csv_open(path, &run->csv, &err) == 0 && take_measured(run);
  run->tried = true;
  return run->there ? run : NULL;
}

void lb_cli_which_cost_end(void) {
  for (size_t i = 0; i < RUNS; i++) {
    if (runs[i].tried) lb_csv_close(&runs[i].csv);
    free(runs[i].trial);
    runs[i] = (struct speed_run){0};
  }
}

/* The median over the trials of this number of clients, null if there is none. */
static json_t *median(const struct speed_run *run, const char *system, const char *clients, const char *column) {
  double values[TRIALS_MAX];
  size_t count = 0, at = 0;
  while (strcmp(cost_columns[at], column) != 0) at++;
  for (size_t i = 0; i < run->count && count < TRIALS_MAX; i++) {
    const struct measured *t = &run->trial[i];
    bool fits = strcmp(t->system, system) == 0 && strcmp(t->clients, clients) == 0;
    if (fits && isfinite(t->value[at])) values[count++] = t->value[at];
  }
  return count ? json_real(lb_interval_median(values, count)) : json_null();
}

json_t *lb_cli_which_cost(const char *system) {
  for (size_t i = 0; i < RUNS; i++) {
    const struct speed_run *run = run_at(i);
    json_t *cost = run ? json_pack("{s:s, s:o, s:o, s:o}", "run", folders[i], "grants_per_s_1",
                                   median(run, system, "1", "grants_per_s"), "grants_per_s_16",
                                   median(run, system, "16", "grants_per_s"), "handoff_us_16",
                                   median(run, system, "16", "handoff_p50_us"))
                       : NULL;
    if (cost && (json_is_real(json_object_get(cost, "grants_per_s_1")) ||
                 json_is_real(json_object_get(cost, "grants_per_s_16"))))
      return cost;
    json_decref(cost);
  }
  return json_null();
}
