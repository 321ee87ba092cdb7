/* SPDX-License-Identifier: MIT
 *
 * How many of the cells that runs have measured follow from rules, and which rules no run has tried on more than one
 * protocol: such a rule may say no more than what that lock does.
 */
#include "base/json.h"
#include "cli_table.h"
#include "show/explain_cell.h"

#include <string.h>

struct measured {
  json_t *cells;      /* those that were decided: {"SCENARIO SYSTEM GUARD": verdict} */
  json_t *rules;      /* those that say what came out, or may: {LINE: {attack, text, protocols: {NAME: cells}}} */
  size_t count, race; /* of the cells; those of which a rule says that timing decides */
  size_t by_rules, stated;
};

static int load(struct measured *m, const char *dir) {
  static const char decided[] = " safe violated stuck delayed mixed ";
  char path[4096], key[400], word[40];
  json_error_t why;
  size_t i;
  json_t *cell;
  snprintf(path, sizeof path, "%s/run.json", dir);
  json_t *run = json_load_file(path, 0, &why);
  if (!run) return lb_complain(LB_EXIT_USAGE, "theory: %s:%d: %s", path, why.line, why.text);
  lb_explain_fill_cells(run);
  json_array_foreach(json_object_get(run, "cells"), i, cell) {
    snprintf(key, sizeof key, "%s %s %s", lb_text_of(cell, "scenario"), lb_text_of(cell, "system"),
             lb_text_of(cell, "guard"));
    snprintf(word, sizeof word, " %s ", lb_text_of(cell, "verdict"));
    if (strstr(decided, word)) json_object_set_new(m->cells, key, json_true());
  }
  json_decref(run);
  return 0;
}

static void count_rule(struct measured *m, const struct lb_rule *rule, const char *protocol) {
  char line[20];
  snprintf(line, sizeof line, "%d", rule->line);
  json_t *entry = json_object_get(m->rules, line);
  if (!entry) {
    entry =
        json_pack("{s:s, s:i, s:s, s:{}}", "attack", rule->attack, "line", rule->line, "text", rule->text, "protocols");
    json_object_set_new(m->rules, line, entry);
  }
  json_t *protocols = json_object_get(entry, "protocols");
  json_int_t cells = json_integer_value(json_object_get(protocols, protocol));
  json_object_set_new(protocols, protocol, json_integer(cells + 1));
}

static int visit(void *data, struct lb_plan *plan) {
  struct measured *m = data;
  char key[400];
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    struct lb_told told = lb_table_told(cell);
    snprintf(key, sizeof key, "%s %s %s", cell->scenario->name, cell->system, lb_guard_name(cell->guard));
    if (!json_object_get(m->cells, key) || told.verdict == LB_VERDICT_NONE) continue;
    m->count++;
    m->stated += !told.rule;
    m->race += told.rule && told.verdict == LB_ANY;
    m->by_rules += told.rule && told.verdict != LB_ANY;
    if (told.rule) count_rule(m, told.rule, cell->protocol->name);
  }
  return 0;
}

/* The rules of one protocol, and in *ret_cells how many cells they decide. */
static json_t *narrow_rules(const struct measured *m, json_int_t *ret_cells) {
  json_t *ret = json_array(), *rule, *cells;
  const char *line, *protocol;
  *ret_cells = 0;
  json_object_foreach(m->rules, line, rule) {
    json_t *protocols = json_object_get(rule, "protocols");
    if (json_object_size(protocols) != 1) continue;
    json_object_foreach(protocols, protocol, cells) *ret_cells += json_integer_value(cells);
    json_array_append(ret, rule);
  }
  return ret;
}

int lb_cli_measured(const struct lb_args *args, json_t **ret) {
  struct measured m = {.cells = json_object(), .rules = json_object()};
  int r = 0;
  json_int_t cells;
  for (int i = 0; i < args->word_count && r == 0; i++) r = load(&m, args->words[i]);
  if (r == 0)
    r = lb_table_walk(&(struct lb_table){
        .systems = LB_TABLE_SYSTEMS, .guards = (1u << LB_GUARD_COUNT) - 1, .visit = visit, .data = &m});
  json_t *narrow = narrow_rules(&m, &cells);
  *ret = r ? NULL
           : json_pack("{s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:O}", "cells", (json_int_t)m.count, "by_rules",
                       (json_int_t)m.by_rules, "share_by_rules", m.count ? (double)m.by_rules / (double)m.count : 0,
                       "race", (json_int_t)m.race, "stated", (json_int_t)m.stated, "rules",
                       (json_int_t)json_object_size(m.rules), "cells_of_one_protocol", cells, "rules_of_one_protocol",
                       narrow);
  json_decref(narrow);
  json_decref(m.cells);
  json_decref(m.rules);
  return r;
}
