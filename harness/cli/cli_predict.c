/* SPDX-License-Identifier: MIT
 *
 * `lockbench predict`: what each scenario should do to one lock, before anything has run. Beside it stands what a run has measured, if one is named.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "base/called.h"
#include "cli.h"
#include "cli_table.h"
#include "cli_theory.h"

struct predict { /* one system */
  const struct lb_args *args;
  struct lb_system system;
  const char *dir; /* of the run; NULL = none */
  json_t *run;     /* its run.json */
  json_t *cells;   /* all that is predicted, for --json */
  json_t *rows;    /* of each scenario that means something: {scenario, verdict, reason, guards, measured, differs: [text]} */
  size_t nothing, measured, differ; /* scenarios that mean nothing; cells that were measured and decided; those of them that differ */
};

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

/* ---- what was measured ----------------------------------------------------------------------- */

static const json_t *measured_of(const struct predict *p, const struct lb_cell *cell) {
  size_t i;
  const json_t *m;
  json_array_foreach(json_object_get(p->run, "cells"), i, m) {
    if (strcmp(text_of(m, "scenario"), cell->scenario->name) == 0 && strcmp(text_of(m, "system"), cell->system) == 0 &&
        strcmp(text_of(m, "guard"), lb_guard_name(cell->guard)) == 0)
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

/* Whatever comes of a race is as predicted. Of what is predicted to mean nothing, or not at all, nothing differs. */
static bool differs(enum lb_verdict predicted, const char *measured) {
  bool says = predicted != LB_ANY && predicted != LB_NA && predicted != LB_VERDICT_NONE;
  return says && is_decided(measured) && strcmp(lb_verdict_name(predicted), measured) != 0;
}

/* "violated 3/3": of the trials so many came out so. */
static void say_measured(const json_t *m, char *ret, size_t size) {
  const char *verdict = text_of(m, "verdict");
  const json_t *count = json_object_get(m, strcmp(verdict, "safe") == 0 || strcmp(verdict, "mixed") == 0 ? "violated" : verdict);
  *ret = '\0';
  if (m && json_is_integer(count)) snprintf(ret, size, "%s %lld/%lld", verdict, (long long)json_integer_value(count), (long long)json_integer_value(json_object_get(m, "trials")));
  else if (m) snprintf(ret, size, "%s", verdict);
}

/* ---- a scenario ------------------------------------------------------------------------------ */

static void add_cell(struct predict *p, const struct lb_cell *cell, const struct lb_told *told, const json_t *m) {
  json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s?, s:o, s:o}", "scenario", cell->scenario->name, "guard", lb_guard_name(cell->guard), "verdict", lb_verdict_name(told->verdict),
                        "reason", told->reason, "source", told->source, "rule", told->rule ? json_integer(told->rule->line) : json_null(), "measured",
                        m ? json_string(text_of(m, "verdict")) : json_null());
  bool known = m && is_decided(text_of(m, "verdict")) && told->verdict != LB_NA && told->verdict != LB_VERDICT_NONE;
  json_object_set_new(o, "as_predicted", known ? json_boolean(!differs(told->verdict, text_of(m, "verdict"))) : json_null());
  json_array_append_new(p->cells, o);
  p->measured += known;
  p->differ += known && differs(told->verdict, text_of(m, "verdict"));
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
    char *text = NULL;
    if (m && differs(told.verdict, text_of(m, "verdict")) &&
        asprintf(&text, "%s%s: predicted %s, measured %s: %s", cell->guard ? "under " : "without a guard", cell->guard ? lb_guard_name(cell->guard) : "", lb_verdict_name(told.verdict), line,
                 told.reason) >= 0)
      json_array_append_new(different, json_string(text));
    free(text);
  }
  say_guards(verdict, guards, sizeof guards);
  bool nothing = verdict[LB_GUARD_NONE] == LB_NA || verdict[LB_GUARD_NONE] == LB_VERDICT_NONE;
  p->nothing += nothing && !json_array_size(different);
  if (nothing && !json_array_size(different)) return json_decref(different), 0;
  json_array_append_new(p->rows, json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "scenario", plan->scenarios[0].name, "verdict", lb_verdict_name(verdict[LB_GUARD_NONE]), "reason", reason,
                                           "guards", guards, "measured", measured, "differs", different));
  return 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

static bool are_alike(const json_t *a, const json_t *b) {
  static const char *const keys[] = {"reason", "guards", "measured"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp(text_of(a, keys[i]), text_of(b, keys[i])) != 0) return false;
  return !json_array_size(json_object_get(a, "differs")) && !json_array_size(json_object_get(b, "differs"));
}

/* "  SCENARIO, SCENARIO: reason": the rows of this verdict from `first` on that say the same. */
static void print_row(json_t *rows, size_t first, const char *verdict) {
  json_t *row = json_array_get(rows, first), *other;
  size_t i, size;
  char *text = NULL;
  const json_t *line;
  bool differ = json_array_size(json_object_get(row, "differs"));
  FILE *out = open_memstream(&text, &size);
  if (!out) return;
  fprintf(out, "%s", text_of(row, "scenario"));
  for (i = first + 1; i < json_array_size(rows); i++) {
    other = json_array_get(rows, i);
    if (strcmp(text_of(other, "verdict"), verdict) != 0 || !are_alike(row, other)) continue;
    fprintf(out, ", %s", text_of(other, "scenario"));
    json_object_set_new(other, "told", json_true());
  }
  if (*text_of(row, "measured")) fprintf(out, " (measured: %s)", text_of(row, "measured"));
  fprintf(out, ": %s", text_of(row, "reason"));
  fclose(out);
  printf("%s ", differ ? "!" : " ");
  lb_table_wrap(text, 2, 4);
  free(text);
  if (*text_of(row, "guards")) fputs("      ", stdout), lb_table_wrap(text_of(row, "guards"), 6, 6);
  json_array_foreach(json_object_get(row, "differs"), i, line) fputs("    ! ", stdout), lb_table_wrap(json_string_value(line), 6, 6);
}

static void print_verdict(json_t *rows, const char *verdict) {
  size_t i, count = 0;
  json_t *row;
  json_array_foreach(rows, i, row) count += strcmp(text_of(row, "verdict"), verdict) == 0;
  if (count) printf("\n%s in %zu:\n", verdict, count);
  json_array_foreach(rows, i, row) if (strcmp(text_of(row, "verdict"), verdict) == 0 && !json_object_get(row, "told")) print_row(rows, i, verdict);
}

/* What is lost comes first. */
static void print_text(const struct predict *p) {
  static const enum lb_verdict order[] = {LB_VIOLATED, LB_STUCK, LB_DELAYED, LB_ANY, LB_SAFE, LB_NA, LB_VERDICT_NONE};
  bool brought = p->args->plugins[0] || p->system.topology->own; /* another command would not know it by its name alone */
  printf("%s: predicted from its facts", p->system.name);
  if (brought) putchar('\n');
  else printf(" (%s theory facts %s)\n", lb_called(), p->system.name);
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) print_verdict(p->rows, lb_verdict_name(order[i]));
  printf("\nn/a in %zu more scenarios: --json has the reasons\n", p->nothing);
  if (p->run) lb_say("measured in %s: %zu cells, %zu as predicted, %zu not", p->dir, p->measured, p->measured - p->differ, p->differ);
}

static int print_json(const struct predict *p) {
  json_t *facts = lb_theory_system(&p->system);
  json_t *o = json_pack("{s:s, s:s?, s:O, s:O, s:I, s:I}", "system", p->system.name, "run", p->dir, "facts", json_object_get(facts, "facts"), "cells", p->cells, "measured",
                        (json_int_t)p->measured, "not_as_predicted", (json_int_t)p->differ);
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
  return json_is_array(json_object_get(p->run, "cells")) ? 0 : lb_complain(LB_EXIT_USAGE, "predict: %s: 'cells' is missing, expected a list", path);
}

/* The lock that is named, else the one that --plugin or --exec brought; on servers of the user's own where they are named. */
static int find_system(struct predict *p, const char *word) {
  char err[600];
  if (!word && p->args->plugins[0]) word = p->args->plugins;
  char *own = lb_own_at(0) ? lb_own_systems(word) : NULL;
  if (own) word = own;
  int r = word ? lb_system_parse(word, &p->system, err, sizeof err) : -1;
  if (!word) r = lb_complain(LB_EXIT_USAGE, "predict: expected PROTOCOL[@TOPOLOGY], see `%s list protocols`", lb_called());
  else if (r < 0) r = lb_complain(LB_EXIT_USAGE, "predict: %s", err);
  free(own);
  return r;
}

static int take_words(struct predict *p) {
  const struct lb_args *args = p->args;
  bool brought = args->plugins[0] || lb_own_at(0);
  int words = args->word_count;
  if (words > 2) return lb_complain(LB_EXIT_USAGE, "predict: expected one lock and one results folder, found '%s', too", args->words[2]);
  if (words == 2 || (words == 1 && brought && lb_is_run_folder(args->words[0]))) p->dir = args->words[--words];
  if (p->dir && !lb_is_run_folder(p->dir)) return lb_complain(LB_EXIT_USAGE, "predict: %s: expected a results folder, which has a run.json", p->dir);
  int r = find_system(p, words ? args->words[0] : NULL);
  return r == 0 && p->dir ? load_run(p) : r;
}

int lb_cli_predict(const struct lb_args *args) {
  struct predict p = {.args = args, .cells = json_array(), .rows = json_array()};
  int r = lb_own_begin(args);
  if (r == 0) r = take_words(&p);
  if (r == 0) r = lb_table_walk(&(struct lb_table){.systems = p.system.name, .guards = (1u << LB_GUARD_COUNT) - 1, .visit = visit, .data = &p});
  if (r == 0 && args->json) r = print_json(&p);
  else if (r == 0) print_text(&p);
  json_decref(p.run);
  json_decref(p.cells);
  json_decref(p.rows);
  return r;
}
