/* SPDX-License-Identifier: MIT
 *
 * `lockbench which`: from the words of its options to the answer.
 */
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/called.h"
#include "cli.h"
#include "cli_table.h"
#include "cli_which.h"
#include "run/groups.h"

enum { WORDS_MAX = 32, SYSTEMS_MAX = 4000, NAMES_MAX = 512 };

/* How a word means a scenario. The strongest that a word has counts alone. */
enum match { NO_MATCH, BY_BEGINNING, BY_FOLDER, BY_ATTACK, BY_NAME };

struct kept { /* a scenario that some word means */
  struct lb_plan plan;
  enum match by[WORDS_MAX];
};

struct which {
  const struct lb_args *args;
  enum lb_guard guard;
  char systems[SYSTEMS_MAX]; /* "a@x,b@y" */
  char *faults, *fault[WORDS_MAX];
  enum match best[WORDS_MAX];
  size_t fault_count;
  struct kept *kept;
  size_t kept_count;
  char *names[NAMES_MAX]; /* of scenarios and attacks, for suggestions */
  size_t name_count;
};

/* ---- on which servers ------------------------------------------------------------------------ */

static bool begins(const char *name, const char *word) {
  size_t length = strlen(word);
  return strncmp(name, word, length) == 0 && (name[length] == '\0' || name[length] == '-');
}

/* Adds those on these servers. *ret_found: whether there is any. 0, or an exit code. */
static int add_systems(struct which *w, const char *word, bool *ret_found) {
  char *list = strdup(lb_group("all") ? lb_group("all") : ""), *rest = list;
  size_t at = strlen(w->systems);
  for (char *name; rest && (name = strsep(&rest, ","));) {
    const char *topology = strchr(name, '@');
    if (word && !(topology && begins(topology + 1, word))) continue;
    *ret_found = true;
    const char *there = strstr(w->systems, name);
    size_t length = strlen(name);
    if (there && (there == w->systems || there[-1] == ',') && (there[length] == ',' || there[length] == '\0')) continue;
    at += (size_t)snprintf(w->systems + at, sizeof w->systems - at, "%s%s", at ? "," : "", name);
  }
  free(list);
  return list ? 0 : lb_complain(LB_EXIT_FAILURE, "out of memory");
}

static int refuse_servers(const char *word) {
  const char *known[64], *near;
  near = lb_suggest(word, known, lb_topology_names(known, 64));
  if (lb_topology_find(word)) return lb_complain(LB_EXIT_USAGE, "which --on %s: no lock of the group all is there", word);
  return lb_complain(LB_EXIT_USAGE, "which --on %s: unknown servers%s%s%s", word, near ? ", did you mean '" : ", see `list topologies`", near ? near : "", near ? "'?" : "");
}

static int choose_systems(struct which *w) {
  int r = 0;
  bool found = false;
  char *list = w->args->on ? strdup(w->args->on) : NULL, *rest = list;
  if (!list) return add_systems(w, NULL, &found);
  for (char *word; r == 0 && (word = strsep(&rest, ",")); found = false) {
    r = add_systems(w, word, &found);
    if (r == 0 && !found) r = refuse_servers(word);
  }
  free(list);
  return r;
}

/* ---- which scenarios ------------------------------------------------------------------------- */

/* scenarios/FOLDER/NAME.ini */
static bool is_in_folder(const struct lb_scenario *s, const char *folder) {
  const char *slash = strrchr(s->path, '/');
  size_t length = strlen(folder);
  return slash && (size_t)(slash - s->path) > length && slash[-(ptrdiff_t)length - 1] == '/' && strncmp(slash - length, folder, length) == 0;
}

static enum match match_of(const struct lb_scenario *s, const char *word) {
  if (strcmp(s->name, word) == 0) return BY_NAME;
  if (s->attack && strcmp(s->attack, word) == 0) return BY_ATTACK;
  if (is_in_folder(s, word)) return BY_FOLDER;
  return begins(s->name, word) ? BY_BEGINNING : NO_MATCH;
}

static void add_name(struct which *w, const char *name) {
  if (name && w->name_count < NAMES_MAX && (w->names[w->name_count] = strdup(name))) w->name_count++;
}

static int visit(void *data, struct lb_plan *plan) {
  struct which *w = data;
  const struct lb_scenario *s = &plan->scenarios[0];
  struct kept kept = {.by = {NO_MATCH}};
  bool any = false;
  add_name(w, s->name);
  add_name(w, s->attack);
  for (size_t i = 0; i < w->fault_count; i++) {
    kept.by[i] = match_of(s, w->fault[i]);
    if (kept.by[i] > w->best[i]) w->best[i] = kept.by[i];
    any |= kept.by[i] != NO_MATCH;
  }
  struct kept *grown = any ? realloc(w->kept, (w->kept_count + 1) * sizeof *grown) : NULL;
  if (any && !grown) return lb_complain(LB_EXIT_FAILURE, "out of memory");
  if (!any) return 0;
  kept.plan = *plan;
  *plan = (struct lb_plan){0};
  w->kept = grown;
  w->kept[w->kept_count++] = kept;
  return 0;
}

static bool is_meant(const struct which *w, const struct kept *kept) {
  for (size_t i = 0; i < w->fault_count; i++)
    if (kept->by[i] != NO_MATCH && kept->by[i] == w->best[i]) return true;
  return false;
}

static int choose_scenarios(struct which *w) {
  struct lb_table table = {.systems = w->systems, .guards = (1u << LB_GUARD_COUNT) - 1, .visit = visit, .data = w};
  char *rest = w->faults = strdup(w->args->survive);
  for (char *word; rest && (word = strsep(&rest, ","));) {
    if (w->fault_count == WORDS_MAX) return lb_complain(LB_EXIT_USAGE, "which --survive: at most %d words", WORDS_MAX);
    w->fault[w->fault_count++] = word;
  }
  int r = lb_table_walk(&table);
  for (size_t i = 0; r == 0 && i < w->fault_count; i++) {
    if (w->best[i] != NO_MATCH) continue;
    const char *near = lb_suggest(w->fault[i], (const char *const *)w->names, w->name_count);
    r = lb_complain(LB_EXIT_USAGE, "which --survive %s: no scenario and no attack%s%s%s", w->fault[i], near ? ", did you mean '" : ", see `list scenarios` and `theory rules`",
                    near ? near : "", near ? "'?" : "");
  }
  return r;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const struct lb_cell *cell_of(const struct kept *kept, const char *system, enum lb_guard guard) {
  for (size_t i = 0; i < kept->plan.cell_count; i++)
    if (kept->plan.cells[i].guard == guard && strcmp(kept->plan.cells[i].system, system) == 0) return &kept->plan.cells[i];
  return NULL;
}

static bool survives(const struct kept *kept, const char *system, enum lb_guard guard) {
  const struct lb_cell *cell = cell_of(kept, system, guard);
  return cell && lb_which_survives(cell);
}

static bool survives_somehow(const struct kept *kept, const char *system) {
  for (int g = 0; g < LB_GUARD_COUNT; g++)
    if (survives(kept, system, (enum lb_guard)g)) return true;
  return false;
}

static bool survives_all(const struct which *w, const char *system, enum lb_guard guard) {
  for (size_t i = 0; i < w->kept_count; i++)
    if (is_meant(w, &w->kept[i]) && !survives(&w->kept[i], system, guard)) return false;
  return true;
}

static json_t *cell_json(const struct which *w, const struct kept *kept, const char *system) {
  const struct lb_cell *cell = cell_of(kept, system, w->guard);
  struct lb_told told = lb_table_told(cell);
  bool against = !lb_which_survives(cell);
  json_t *guards = json_array();
  for (int g = 0; against && g < LB_GUARD_COUNT; g++)
    if (survives(kept, system, (enum lb_guard)g)) json_array_append_new(guards, json_string(lb_guard_name((enum lb_guard)g)));
  return json_pack("{s:s, s:s, s:s, s:s?, s:b, s:o, s:o}", "scenario", cell->scenario->name, "verdict", lb_verdict_name(told.verdict), "reason", told.reason, "source", told.source,
                   "stands_against", against, "survives_under", guards, "survives_if", against ? lb_which_changes(cell) : json_array());
}

static json_t *system_json(const struct which *w, const char *system) {
  json_t *cells = json_array();
  int lost = 0, beyond = 0;
  for (size_t i = 0; i < w->kept_count; i++) {
    if (!is_meant(w, &w->kept[i])) continue;
    json_array_append_new(cells, cell_json(w, &w->kept[i], system));
    lost += !survives(&w->kept[i], system, w->guard);
    beyond += !survives_somehow(&w->kept[i], system);
  }
  return json_pack("{s:s, s:i, s:i, s:o, s:o}", "system", system, "lost", lost, "beyond_guards", beyond, "cells", cells, "cost", lost ? json_null() : lb_which_cost(system));
}

static json_t *words_json(const char *words) {
  json_t *ret = json_array();
  for (const char *at = words; at && *at; at += strcspn(at, ","), at += *at == ',') json_array_append_new(ret, json_stringn(at, strcspn(at, ",")));
  return ret;
}

/* Those of the systems that lose nothing. */
static json_t *left_of(const json_t *systems) {
  json_t *ret = json_array();
  size_t i;
  const json_t *system;
  json_array_foreach(systems, i, system)
    if (!json_integer_value(json_object_get(system, "lost"))) json_array_append(ret, json_object_get(system, "system"));
  return ret;
}

/* Those that lose in the fewest scenarios, and of them those that a guard helps in most. */
static json_t *fewest_of(const json_t *systems) {
  json_t *ret = json_array();
  size_t i;
  const json_t *system;
  json_int_t fewest = INT64_MAX;
  json_array_foreach(systems, i, system) {
    json_int_t loss = json_integer_value(json_object_get(system, "lost")) * INT16_MAX + json_integer_value(json_object_get(system, "beyond_guards"));
    if (loss < fewest) json_array_clear(ret), fewest = loss;
    if (loss == fewest) json_array_append(ret, json_object_get(system, "system"));
  }
  return ret;
}

static json_t *answer_of(struct which *w) {
  json_t *systems = json_array(), *names = words_json(w->systems), *scenarios = json_array(), *under = json_object();
  const json_t *name;
  size_t i;
  for (i = 0; i < w->kept_count; i++)
    if (is_meant(w, &w->kept[i])) json_array_append_new(scenarios, json_string(w->kept[i].plan.scenarios[0].name));
  json_array_foreach(names, i, name) json_array_append_new(systems, system_json(w, json_string_value(name)));
  for (int g = 0; g < LB_GUARD_COUNT; g++) {
    json_int_t left = 0;
    json_array_foreach(names, i, name) left += survives_all(w, json_string_value(name), (enum lb_guard)g);
    json_object_set_new(under, lb_guard_name((enum lb_guard)g), json_integer(left));
  }
  json_decref(names);
  return json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:o}", "on", words_json(w->args->on), "scenarios", scenarios, "guard", lb_guard_name(w->guard), "left", left_of(systems),
                   "fewest", fewest_of(systems), "left_under", under, "systems", systems);
}

static void clear(struct which *w) {
  for (size_t i = 0; i < w->kept_count; i++) lb_plan_clear(&w->kept[i].plan);
  for (size_t i = 0; i < w->name_count; i++) free(w->names[i]);
  free(w->kept);
  free(w->faults);
  lb_which_cost_end();
}

int lb_cli_which(const struct lb_args *args) {
  struct which w = {.args = args, .guard = LB_GUARD_NONE};
  while (args->guards && !(args->guards >> w.guard & 1)) w.guard++;
  if (args->word_count) return lb_complain(LB_EXIT_USAGE, "which: expected only options, found '%s'", args->words[0]);
  if (!args->survive) return lb_complain(LB_EXIT_USAGE, "which: expected --survive, as in `%s which --on redis,zk --survive failover,pause-holder`", lb_called());
  int r = choose_systems(&w);
  if (r == 0) r = choose_scenarios(&w);
  json_t *answer = r == 0 ? answer_of(&w) : NULL;
  if (answer && args->json) json_dumpf(answer, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9)), putchar('\n');
  else if (answer) lb_which_tell(answer);
  else if (r == 0) r = lb_complain(LB_EXIT_FAILURE, "out of memory");
  json_decref(answer);
  clear(&w);
  return r;
}
