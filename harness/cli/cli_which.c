/* SPDX-License-Identifier: MIT
 *
 * `lockbench which`: the locks that should survive some faults, by the rules. Where none does: what stands against the
 * best one, and which guard or fact would help. The whole answer is made as JSON first and then told.
 */
#include "cli_table.h"

#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "base/process.h"
#include "base/json.h"
#include "base/need.h"
#include "base/text.h"
#include "plan/system.h"
#include "theory/facts.h"
#include "theory/facts_cell.h"
#include "theory/theory.h"

/* ---- the answer ------------------------------------------------------------------------------------------ */

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

/* Adds those on these servers. Whether there is any. */
static bool add_systems(struct which *w, const char *word) {
  char *list = lb_need_text(lb_system_group("all") ? lb_system_group("all") : ""), *rest = list;
  bool found = false;
  size_t at = strlen(w->systems);
  for (char *name; (name = strsep(&rest, ","));) {
    const char *topology = strchr(name, '@');
    if (word && !(topology && begins(topology + 1, word))) continue;
    found = true;
    const char *there = strstr(w->systems, name);
    size_t length = strlen(name);
    if (there && (there == w->systems || there[-1] == ',') && (there[length] == ',' || there[length] == '\0')) continue;
    at += (size_t)snprintf(w->systems + at, sizeof w->systems - at, "%s%s", at ? "," : "", name);
  }
  free(list);
  return found;
}

static int refuse_servers(const char *word) {
  const char *known[64], *near;
  near = lb_text_suggest(word, known, lb_topology_names(known, 64));
  if (lb_topology_find(word))
    return lb_complain(LB_EXIT_USAGE, "which --on %s: no lock of the group all is there", word);
  return lb_complain(LB_EXIT_USAGE, "which --on %s: unknown servers%s%s%s", word,
                     near ? ", did you mean '" : ", see `list topologies`", near ? near : "", near ? "'?" : "");
}

static int choose_systems(struct which *w) {
  int r = 0;
  if (!w->args->on) return add_systems(w, NULL), 0;
  char *list = lb_need_text(w->args->on), *rest = list;
  for (char *word; r == 0 && (word = strsep(&rest, ","));)
    if (!add_systems(w, word)) r = refuse_servers(word);
  free(list);
  return r;
}

/* ---- which scenarios ------------------------------------------------------------------------- */

/* scenarios/FOLDER/NAME.ini */
static bool is_in_folder(const struct lb_scenario *s, const char *folder) {
  const char *slash = strrchr(s->path, '/');
  size_t length = strlen(folder);
  return slash && (size_t)(slash - s->path) > length && slash[-(ptrdiff_t)length - 1] == '/' &&
         strncmp(slash - length, folder, length) == 0;
}

static enum match match_of(const struct lb_scenario *s, const char *word) {
  if (strcmp(s->name, word) == 0) return BY_NAME;
  if (s->attack && strcmp(s->attack, word) == 0) return BY_ATTACK;
  if (is_in_folder(s, word)) return BY_FOLDER;
  return begins(s->name, word) ? BY_BEGINNING : NO_MATCH;
}

static void add_name(struct which *w, const char *name) {
  if (name && w->name_count < NAMES_MAX) w->names[w->name_count++] = lb_need_text(name);
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
  if (!any) return 0;
  kept.plan = *plan;
  *plan = (struct lb_plan){0};
  LB_APPEND(w->kept, w->kept_count) = kept;
  return 0;
}

static bool is_meant(const struct which *w, const struct kept *kept) {
  for (size_t i = 0; i < w->fault_count; i++)
    if (kept->by[i] != NO_MATCH && kept->by[i] == w->best[i]) return true;
  return false;
}

static int choose_scenarios(struct which *w) {
  struct lb_table table = {.systems = w->systems, .guards = (1u << LB_GUARD_COUNT) - 1, .visit = visit, .data = w};
  char *rest = w->faults = lb_need_text(w->args->survive);
  for (char *word; (word = strsep(&rest, ","));) {
    if (w->fault_count == WORDS_MAX) return lb_complain(LB_EXIT_USAGE, "which --survive: at most %d words", WORDS_MAX);
    w->fault[w->fault_count++] = word;
  }
  int r = lb_table_walk(&table);
  for (size_t i = 0; r == 0 && i < w->fault_count; i++) {
    if (w->best[i] != NO_MATCH) continue;
    const char *near = lb_text_suggest(w->fault[i], (const char *const *)w->names, w->name_count);
    r = lb_complain(LB_EXIT_USAGE, "which --survive %s: no scenario and no attack%s%s%s", w->fault[i],
                    near ? ", did you mean '" : ", see `list scenarios` and `theory rules`", near ? near : "",
                    near ? "'?" : "");
  }
  return r;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const struct lb_cell *cell_of(const struct kept *kept, const char *system, enum lb_guard guard) {
  for (size_t i = 0; i < kept->plan.cell_count; i++)
    if (kept->plan.cells[i].guard == guard && strcmp(kept->plan.cells[i].system, system) == 0)
      return &kept->plan.cells[i];
  return NULL;
}

static bool survives(const struct kept *kept, const char *system, enum lb_guard guard) {
  const struct lb_cell *cell = cell_of(kept, system, guard);
  return cell && lb_cli_which_survives(cell);
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
  bool against = !lb_cli_which_survives(cell);
  json_t *guards = json_array();
  for (int g = 0; against && g < LB_GUARD_COUNT; g++)
    if (survives(kept, system, (enum lb_guard)g))
      json_array_append_new(guards, json_string(lb_guard_name((enum lb_guard)g)));
  return json_pack("{s:s, s:s, s:s, s:s?, s:b, s:o, s:o}", "scenario", cell->scenario->name, "verdict",
                   lb_verdict_name(told.verdict), "reason", told.reason, "source", told.source, "stands_against",
                   against, "survives_under", guards, "survives_if",
                   against ? lb_cli_which_changes(cell) : json_array());
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

static bool is_flawed_system(const struct which *w, const char *system) {
  const struct lb_cell *cell = w->kept_count ? cell_of(&w->kept[0], system, LB_GUARD_NONE) : NULL;
  return cell && is_flawed(cell);
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
  return json_pack("{s:s, s:b, s:i, s:i, s:o, s:o}", "system", system, "flawed", is_flawed_system(w, system), "lost",
                   lost, "beyond_guards", beyond, "cells", cells, "cost",
                   lost ? json_null() : lb_cli_which_cost(system));
}

static json_t *words_json(const char *words) {
  json_t *ret = json_array();
  for (const char *at = words; at && *at; at += strcspn(at, ","), at += *at == ',')
    json_array_append_new(ret, json_stringn(at, strcspn(at, ",")));
  return ret;
}

/* Those with a known flaw last. */
static json_t *names_of(const struct which *w) {
  json_t *ret = json_array(), *all = words_json(w->systems);
  size_t i;
  json_t *name;
  for (int flawed = 0; flawed < 2; flawed++)
    json_array_foreach(all, i, name)
      if (is_flawed_system(w, json_string_value(name)) == (bool)flawed) json_array_append(ret, name);
  json_decref(all);
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
    json_int_t loss = json_integer_value(json_object_get(system, "lost")) * INT16_MAX +
                      json_integer_value(json_object_get(system, "beyond_guards"));
    if (loss < fewest) json_array_clear(ret), fewest = loss;
    if (loss == fewest) json_array_append(ret, json_object_get(system, "system"));
  }
  return ret;
}

static json_t *answer_of(struct which *w) {
  json_t *systems = json_array(), *names = names_of(w), *scenarios = json_array(), *under = json_object();
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
  return json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:o}", "on", words_json(w->args->on), "scenarios", scenarios,
                   "guard", lb_guard_name(w->guard), "left", left_of(systems), "fewest", fewest_of(systems),
                   "left_under", under, "systems", systems);
}

/* ---- telling it ------------------------------------------------------------------------------------------ */

/* "a, b and c", at most `most` of them. */
static void join(const json_t *list, size_t most, const char *last, char *ret, size_t size) {
  size_t i, at = 0, count = json_array_size(list);
  const json_t *word;
  *ret = '\0';
  json_array_foreach(list, i, word) {
    if (at >= size || i >= most) break;
    at += (size_t)snprintf(ret + at, size - at, "%s%s",
                           i == 0           ? ""
                           : i + 1 == count ? last
                                            : ", ",
                           json_string_value(word));
  }
  if (count > most && at < size) snprintf(ret + at, size - at, " and %zu more", count - most);
}

/* ---- where some are left --------------------------------------------------------------------- */

/* Why a step cannot be done names the lock, so locks that it cannot be done to would all differ. */
static const char *reason_of(const json_t *cell) {
  return strcmp(lb_text_of(cell, "source"), "fit") == 0 ? "it cannot be put to this lock" : lb_text_of(cell, "reason");
}

static bool are_alike(const json_t *a, const json_t *b) {
  size_t i;
  const json_t *cell;
  if (json_is_true(json_object_get(a, "flawed")) != json_is_true(json_object_get(b, "flawed"))) return false;
  json_array_foreach(json_object_get(a, "cells"), i, cell) {
    const json_t *other = json_array_get(json_object_get(b, "cells"), i);
    if (strcmp(lb_text_of(cell, "verdict"), lb_text_of(other, "verdict")) != 0 ||
        strcmp(reason_of(cell), reason_of(other)) != 0)
      return false;
  }
  return true;
}

/* Appends where to read of the flaw that all of these systems have. */
static void add_flaw(const json_t *names, char *line, size_t size) {
  const char *first = json_string_value(json_array_get(names, 0));
  size_t at = strlen(line);
  if (json_array_size(names) > 1) snprintf(line + at, size - at, " (each has a known flaw: show NAME)");
  else snprintf(line + at, size - at, " (has a known flaw: show %.*s)", (int)strcspn(first, "@"), first);
}

/* Locks with the same cells stand together: their names, then the cells. */
static void print_group(const json_t *systems, size_t first) {
  json_t *system = json_array_get(systems, first), *names = json_array(), *other;
  char line[2000];
  size_t i;
  const json_t *cell;
  for (i = first; i < json_array_size(systems); i++) {
    other = json_array_get(systems, i);
    if (json_integer_value(json_object_get(other, "lost")) || !are_alike(system, other)) continue;
    json_array_append(names, json_object_get(other, "system"));
    json_object_set_new(other, "told", json_true());
  }
  join(names, SIZE_MAX, ", ", line, sizeof line);
  if (json_is_true(json_object_get(system, "flawed"))) add_flaw(names, line, sizeof line);
  putchar('\n');
  lb_table_wrap(line, 0, 0);
  json_decref(names);
  json_array_foreach(json_object_get(system, "cells"), i, cell) {
    snprintf(line, sizeof line, "%s: %s: %s", lb_text_of(cell, "scenario"), lb_text_of(cell, "verdict"),
             reason_of(cell));
    fputs("  ", stdout);
    lb_table_wrap(line, 2, 4);
  }
}

static void print_number(const json_t *cost, const char *key, double unit, int decimals) {
  const json_t *value = json_object_get(cost, key);
  if (json_is_real(value)) printf(" %12.*f", decimals, json_real_value(value) / unit);
  else printf(" %12s", "-");
}

/* A lock without a reference run has no row. */
static void print_costs(const json_t *systems) {
  bool any = false;
  size_t i;
  const json_t *system;
  json_array_foreach(systems, i, system) {
    const json_t *cost = json_object_get(system, "cost");
    if (json_integer_value(json_object_get(system, "lost")) || !json_is_object(cost)) continue;
    if (!any)
      printf("\n%-28s %12s %12s %12s  measured in\n", "cost without a guard", "1 client/s", "16 clients/s",
             "hand-off ms");
    any = true;
    printf("%-28s", lb_text_of(system, "system"));
    print_number(cost, "grants_per_s_1", 1, 0);
    print_number(cost, "grants_per_s_16", 1, 0);
    print_number(cost, "handoff_us_16", 1000, 2);
    printf("  %s\n", lb_text_of(cost, "run"));
  }
  if (!any) puts("\nno reference run has measured what these cost");
}

static bool any_nothing(const json_t *systems) {
  size_t i, c;
  const json_t *system, *cell;
  json_array_foreach(systems, i, system) {
    if (json_integer_value(json_object_get(system, "lost"))) continue;
    json_array_foreach(json_object_get(system, "cells"), c, cell)
      if (strcmp(lb_text_of(cell, "verdict"), "n/a") == 0) return true;
  }
  return false;
}

static void print_left(const json_t *systems) {
  size_t i;
  const json_t *system;
  json_array_foreach(systems, i, system)
    if (!json_integer_value(json_object_get(system, "lost")) && !json_object_get(system, "told"))
      print_group(systems, i);
  if (any_nothing(systems))
    puts("\nn/a: by its facts, the fault takes nothing from the lock, or the question cannot be put to it");
  print_costs(systems);
}

/* ---- where none is --------------------------------------------------------------------------- */

static const json_t *find(const json_t *systems, const char *name) {
  size_t i;
  const json_t *system;
  json_array_foreach(systems, i, system)
    if (strcmp(lb_text_of(system, "system"), name) == 0) return system;
  return NULL;
}

static bool same_remedy(const json_t *a, const json_t *b) {
  return strcmp(lb_text_of(a, "fact"), lb_text_of(b, "fact")) == 0 &&
         strcmp(lb_text_of(a, "verdict"), lb_text_of(b, "verdict")) == 0 &&
         strcmp(lb_text_of(a, "reason"), lb_text_of(b, "reason")) == 0;
}

/* Several values of a fact that make the same of it stand in one line. */
static void print_changes(const json_t *changes) {
  char line[2000], values[300];
  size_t i, k;
  const json_t *change, *other;
  json_array_foreach(changes, i, change) {
    json_t *same = json_array();
    bool told = false;
    json_array_foreach(changes, k, other) {
      if (!same_remedy(change, other)) continue;
      told |= k < i;
      json_array_append(same, json_object_get(other, "value"));
    }
    join(same, SIZE_MAX, " or ", values, sizeof values);
    json_decref(same);
    if (told) continue;
    snprintf(line, sizeof line, "survives if %s=%s instead of %s: %s: %s", lb_text_of(change, "fact"), values,
             lb_text_of(change, "now"), lb_text_of(change, "verdict"), lb_text_of(change, "reason"));
    fputs("      ", stdout);
    lb_table_wrap(line, 6, 8);
  }
}

/* What would make this cell safe. */
static void print_remedies(const json_t *cell) {
  const json_t *changes = json_object_get(cell, "survives_if");
  char line[2000];
  if (json_array_size(json_object_get(cell, "survives_under"))) {
    join(json_object_get(cell, "survives_under"), SIZE_MAX, " or ", line, sizeof line);
    printf("      survives under the guard %s\n", line);
  } else {
    puts("      no guard helps");
  }
  print_changes(changes);
  if (!json_array_size(changes)) puts("      no single fact helps");
}

static void print_nearest(const json_t *answer) {
  const json_t *fewest = json_object_get(answer, "fewest"),
               *system = find(json_object_get(answer, "systems"), json_string_value(json_array_get(fewest, 0))), *cell;
  char line[2000];
  size_t i;
  json_t *others = json_copy((json_t *)fewest), *one = json_pack("[O]", json_object_get(system, "system"));
  json_array_remove(others, 0);
  char also[300];
  join(others, 3, " and ", also, sizeof also);
  json_decref(others);
  snprintf(line, sizeof line, "%s is lost in %lld of %zu, the fewest%s%s", lb_text_of(system, "system"),
           (long long)json_integer_value(json_object_get(system, "lost")),
           json_array_size(json_object_get(system, "cells")), *also ? "; as few: " : "", also);
  if (json_is_true(json_object_get(system, "flawed"))) add_flaw(one, line, sizeof line);
  json_decref(one);
  putchar('\n');
  lb_table_wrap(line, 0, 4);
  json_array_foreach(json_object_get(system, "cells"), i, cell) {
    if (!json_is_true(json_object_get(cell, "stands_against"))) continue;
    snprintf(line, sizeof line, "%s: %s: %s", lb_text_of(cell, "scenario"), lb_text_of(cell, "verdict"),
             lb_text_of(cell, "reason"));
    fputs("  ", stdout);
    lb_table_wrap(line, 2, 4);
    print_remedies(cell);
  }
}

/* How many are left under each guard. */
static void print_guards(const json_t *answer) {
  const char *guard;
  const json_t *count;
  bool any = false;
  json_object_foreach((json_t *)json_object_get(answer, "left_under"), guard, count) {
    if (!json_integer_value(count)) continue;
    printf("%s%lld under %s", any ? ", " : "\nleft: ", (long long)json_integer_value(count), guard);
    any = true;
  }
  puts(any ? " (--guard)" : "\nno guard leaves one");
}

/* ---- all ------------------------------------------------------------------------------------- */

static void tell(const json_t *answer) {
  const json_t *systems = json_object_get(answer, "systems"), *left = json_object_get(answer, "left");
  char scenarios[1000], servers[300], line[2000];
  bool guarded = strcmp(lb_text_of(answer, "guard"), "none") != 0;
  size_t count = json_array_size(left);
  join(json_object_get(answer, "scenarios"), 6, " and ", scenarios, sizeof scenarios);
  join(json_object_get(answer, "on"), 6, " or ", servers, sizeof servers);
  char number[24] = "each";
  if (count) snprintf(number, sizeof number, "%zu", count);
  snprintf(line, sizeof line, "%s of %zu locks%s%s should %s %s %s%s", number, json_array_size(systems),
           *servers ? " on " : "", servers, count ? "not be lost to" : "be lost to some of", scenarios,
           guarded ? "under the guard " : "without a guard", guarded ? lb_text_of(answer, "guard") : "");
  lb_table_wrap(line, 0, 0);
  if (count) return print_left(systems);
  print_nearest(answer);
  print_guards(answer);
}

/* ---- the command ----------------------------------------------------------------------------------------- */

static void clear(struct which *w) {
  for (size_t i = 0; i < w->kept_count; i++) lb_plan_clear(&w->kept[i].plan);
  for (size_t i = 0; i < w->name_count; i++) free(w->names[i]);
  free(w->kept);
  free(w->faults);
  lb_cli_which_cost_end();
}

static int which_command(const struct lb_args *args) {
  struct which w = {.args = args, .guard = LB_GUARD_NONE};
  while (args->guards && !(args->guards >> w.guard & 1)) w.guard++;
  if (args->word_count) return lb_complain(LB_EXIT_USAGE, "which: expected only options, found '%s'", args->words[0]);
  if (!args->survive)
    return lb_complain(LB_EXIT_USAGE,
                       "which: expected --survive, as in `%s which --on redis,zk --survive failover,pause-holder`",
                       lb_process_called());
  int r = choose_systems(&w);
  if (r == 0) r = choose_scenarios(&w);
  json_t *answer = r == 0 ? answer_of(&w) : NULL;
  if (answer && args->json) json_dumpf(answer, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9)), putchar('\n');
  else if (answer) tell(answer);
  else if (r == 0) r = lb_complain(LB_EXIT_FAILURE, "out of memory");
  json_decref(answer);
  clear(&w);
  return r;
}

const struct lb_cli_command lb_command_which = {
    "which",
    which_command,
    LB_ARG_WHICH | LB_ARG_JSON,
    "",
    "names the locks that are predicted to survive some faults, or what would have to change",
    "The answer comes from rules (`theory`), with the cells that show it and the cost in a reference run.\n"
    "If no lock is left, it names the faults that break the best one, and the guard or the single fact that would stop each.\n"};
