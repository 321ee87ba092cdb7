/* test: compute, table */
/* SPDX-License-Identifier: MIT
 *
 * The rules of this tree over the whole table: every scenario, on every system of the groups, of every library and
 * without servers, under every guard. Each rule, each word that a lock states and each exception has to make a
 * difference there, and each scenario to tell two locks apart. A cell counts if it can be put at all (plan/fit.h),
 * whether or not `systems` or `guards` of its scenario leave it out of a suite.
 */

#include "test.h"
#include "backends/foreign/foreign.h"
#include "backends/registry.h"
#include "base/files.h"
#include "base/ini.h"
#include "plan/fit.h"
#include "plan/system.h"
#include "plan/peers.h"
#include "plan/plan.h"
#include "scratch.h"
#include "theory/facts.h"
#include "theory/facts_cell.h"
#include "theory/versions.h"

enum { FILES_MAX = 300, EXCEPTIONS_MAX = 370 /* most are of libraries */, OF_RULES_PERCENT = 95 };

struct row {
  const struct lb_cell *cell;
  struct lb_facts facts;
};

static struct lb_plan plans[FILES_MAX]; /* one for each scenario */
static size_t plan_count, row_count;
static struct row *rows; /* those that can be put */
static struct lb_error err;

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const char *root(void) { return getenv("LB_SOURCE_DIR"); }

static bool can_be_put(const struct lb_cell *cell) {
  char why[300];
  return lb_fit(cell, why, sizeof why) != LB_NA;
}

static int add_file(const char *path) {
  struct lb_plan *plan = &plans[plan_count];
  struct lb_plan_request request = {.systems = "all,peers,museum,broken@none,local@none,null@none", .product = true};
  if (plan_count == FILES_MAX) return lb_refuse(&err, "%s: expected at most %d scenarios", path, FILES_MAX);
  if (lb_plan_load(&path, 1, &request, plan, &err) < 0) return -1;
  struct row *grown = realloc(rows, (row_count + plan->cell_count) * sizeof *rows);
  if (!grown) return -1;
  rows = grown;
  plan_count++;
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    if (!can_be_put(cell)) continue;
    rows[row_count].cell = cell;
    lb_facts_of(cell->protocol, cell->options, cell->topology, cell->scenario, &rows[row_count++].facts);
  }
  return 0;
}

static int add_folder(const char *name) {
  char folder[1100], **names, **paths;
  size_t count;
  snprintf(folder, sizeof folder, "%s/scenarios%s", root(), name);
  int r = lb_scenario_list(folder, &names, &paths, &count);
  if (r < 0) return r;
  for (size_t i = 0; i < count; i++) {
    if (r == 0) r = add_file(paths[i]);
    free(names[i]);
    free(paths[i]);
  }
  free(names);
  free(paths);
  return r;
}

static int load(const char *name, int (*read)(const char *path, struct lb_error *err)) {
  char path[1100];
  snprintf(path, sizeof path, "%s/scenarios/theory/%s", root(), name);
  return read(path, &err);
}

static int make_table(void **state) {
  (void)state;
  setenv("LOCKBENCH_VERSIONS", "etcd 3.4.23", 1); /* whatever is installed here */
  if (lb_peers_load(root(), &err) < 0 || load("rules.ini", lb_theory_load) < 0 ||
      load("versions.ini", lb_versions_load) < 0 || load("systems.ini", lb_system_groups_load) < 0)
    return fprintf(stderr, "%s\n", err.text), -1;
  if (add_folder("") < 0 || add_folder("/museum") < 0 || add_folder("/peers") < 0)
    return fprintf(stderr, "%s\n", err.text), -1;
  return 0;
}

static int clear_table(void **state) {
  (void)state;
  for (size_t i = 0; i < plan_count; i++) lb_plan_clear(&plans[i]);
  free(rows);
  return 0;
}

/* The prediction with other facts; what no rule decides is LB_VERDICT_NONE. */
static struct lb_prediction predict(const struct row *row, const struct lb_facts *facts) {
  struct lb_prediction p = {.verdict = LB_VERDICT_NONE, .reason = ""};
  lb_theory_predict(row->cell->scenario->attack, facts, row->cell->guard, &p);
  return p;
}

static bool differs(const struct lb_prediction *a, const struct lb_prediction *b) {
  return a->verdict != b->verdict || strcmp(a->reason, b->reason) != 0;
}

TEST(the_table_is_there) {
  assert_true(plan_count > 80);
  assert_true(row_count > 10000);
  for (size_t i = 0; i < plan_count; i++) assert_true(plans[i].cell_count > 0);
}

/* Scenarios state few systems: a suite that names none would ask nobody. */
TEST(a_suite_without_systems_is_of_the_usual_ones) {
  char path[1100], wanted[4000];
  const char *file = path;
  struct lb_plan plan;
  struct lb_plan_request request = {.product = true, .only_guards = 1u << LB_GUARD_NONE};
  size_t usual = 1;
  snprintf(path, sizeof path, "%s/scenarios/failover/failover.ini", root());
  if (lb_plan_load(&file, 1, &request, &plan, &err) < 0) fail_msg("%s", err.text);
  for (const char *at = lb_system_group("standard"); *at; at++) usual += *at == ',';
  assert_int_equal(plan.cell_count, usual);
  for (size_t i = 0; i < plan.cell_count; i++) {
    snprintf(wanted, sizeof wanted, ",%s,", lb_system_group("standard"));
    char system[100];
    snprintf(system, sizeof system, ",%s,", plan.cells[i].system);
    assert_non_null(strstr(wanted, system));
  }
  lb_plan_clear(&plan);
}

/* Whoever names no system still puts the question. */
TEST(every_scenario_is_asked_of_somebody) {
  size_t unasked = 0;
  for (size_t i = 0; i < plan_count; i++) {
    const char *path = plans[i].scenarios[0].path;
    struct lb_plan plan;
    struct lb_plan_request request = {0};
    size_t asked = 0;
    if (lb_plan_load(&path, 1, &request, &plan, &err) < 0) fail_msg("%s", err.text);
    for (size_t c = 0; c < plan.cell_count; c++) asked += can_be_put(&plan.cells[c]) && !plan.cells[c].means_nothing;
    bool of_libraries = plans[i].scenarios[0].systems && strncmp(plans[i].scenarios[0].systems, "peer:", 5) == 0;
    if (!asked && !of_libraries) print_error("%s: nobody is asked\n", path), unasked++;
    lb_plan_clear(&plan);
  }
  assert_int_equal(unasked, 0);
}

TEST(every_cell_has_a_rule) {
  size_t without = 0;
  for (size_t i = 0; i < row_count; i++)
    if (rows[i].cell->scenario->attack && !rows[i].cell->predicted && without++ < 10)
      print_error("%s %s: no rule of [%s] holds\n", rows[i].cell->scenario->name, rows[i].cell->system,
                  rows[i].cell->scenario->attack);
  assert_int_equal(without, 0);
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

/* Rules that no lock of this table needs, and a user's own may. */
static const struct {
  const char *attack, *begins;
} for_others[] = {
    {"grant-answer-lost", "lost=forgotten "}, /* only one library forgets, on one topology: an exception says so */
    {"release-between", "release=blind "},    /* the blind locks here have no point between a look and the delete */
    {"loser-changes-record",
     "-> n/a"}, /* only one lock here has the point; without a default nothing is said of another one that has */
    {"server-gone", "copies=later heard=perhaps "}, /* server-lost waits, and failover-confirmed is of another attack */
    /* Each scenario here cuts its client off from a minority first. */
    {"power-lost", "votes=strangers reached=all "},
    {"memory-full", "votes=strangers reached=all "},
    {"memory-full-any", "votes=strangers reached=all "},
    {"server-clock-fast", "votes=strangers reached=all "},
    {"deposed-stopped", "deposed=asks "}, /* etcd from 3.4.31 and 3.5.13 on: this table is of an earlier one */
    {"deposed-stalled", "deposed=asks "},
    {"transaction-lasts", "ends=transaction limits=yes "}, /* PostgreSQL from 17 on */
    {"transaction-lasts", "pooled=transaction ends=transaction limits=yes "},
    {"replica-ahead", "copied-end=length "}, /* Redis before 7.0 */
    {"server-clock-ahead", "jump=less "},    /* each clock here jumps by more than a lease has left */
};

static bool is_for_others(const struct lb_rule *rule) {
  for (size_t i = 0; i < sizeof for_others / sizeof *for_others; i++)
    if (strcmp(rule->attack, for_others[i].attack) == 0 &&
        strncmp(rule->text, for_others[i].begins, strlen(for_others[i].begins)) == 0)
      return true;
  return false;
}

static bool concerns(const struct lb_rule *rule, const struct row *row) {
  if (!row->cell->predicted) return false;
  return strcmp(rule->attack, row->cell->scenario->attack) == 0 || row->cell->prediction.rule == rule;
}

static bool is_needed(const struct lb_rule *rule) {
  bool needed = false;
  lb_theory_without(rule);
  for (size_t i = 0; !needed && i < row_count; i++) {
    if (!concerns(rule, &rows[i])) continue;
    struct lb_prediction p = predict(&rows[i], &rows[i].facts);
    needed = differs(&p, &rows[i].cell->prediction);
  }
  lb_theory_without(NULL);
  return needed;
}

TEST(every_rule_is_needed) {
  const struct lb_rule *rule;
  size_t idle = 0;
  for (size_t i = 0; (rule = lb_rule_at(i)); i++) {
    if (is_needed(rule) != is_for_others(rule)) continue;
    print_error("rules.ini:%d: [%s] %s: %s\n", rule->line, rule->attack, rule->text,
                is_for_others(rule) ? "a lock of the table needs it" : "without it nothing changes");
    idle++;
  }
  assert_int_equal(idle, 0);
}

TEST(every_attack_is_played_and_says_what_it_is) {
  const struct lb_rule *rule;
  size_t idle = 0;
  for (size_t i = 0; (rule = lb_rule_at(i)); i++) {
    bool played = strcmp(rule->attack, "guards") == 0;
    for (size_t k = 0; !played && k < plan_count; k++)
      played = plans[k].scenarios[0].attack && strcmp(plans[k].scenarios[0].attack, rule->attack) == 0;
    if (played && lb_theory_attack_what(rule->attack)) continue;
    print_error("rules.ini:%d: [%s]: no scenario plays it, or it has no `what`\n", rule->line, rule->attack);
    idle++;
  }
  assert_int_equal(idle, 0);
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

/* Whether some cell is predicted otherwise with one of the two values than with the other. */
static bool makes_a_difference(size_t fact, unsigned one, unsigned another) {
  for (size_t i = 0; i < row_count; i++) {
    struct lb_facts a = rows[i].facts, b = rows[i].facts;
    a.value[fact] = one;
    b.value[fact] = another;
    struct lb_prediction of_a = predict(&rows[i], &a), of_b = predict(&rows[i], &b);
    if (differs(&of_a, &of_b)) return true;
  }
  return false;
}

/* The text of a bit. */
static const char *value_of(const struct lb_term *term, unsigned bit, char *buf, size_t size) {
  const char *at = term->values;
  for (; at && bit > 1; bit >>= 1) at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL;
  if (!at) return NULL;
  snprintf(buf, size, "%.*s", (int)strcspn(at, "|"), at);
  return buf;
}

/* A lock that declares the wrong one of two values is found out by a cell: else they are one value. */
TEST(any_two_values_of_a_fact_make_a_difference) {
  const struct lb_term *term;
  size_t alike = 0;
  char a[40], b[40];
  for (size_t i = 0; (term = lb_term_at(i)); i++)
    for (unsigned one = 1; term->of != LB_TERM_OF_GUARD && value_of(term, one, a, sizeof a); one <<= 1)
      for (unsigned another = one << 1; value_of(term, another, b, sizeof b); another <<= 1) {
        if (makes_a_difference(i, one, another)) continue;
        print_error("%s=%s and %s=%s: no cell is predicted otherwise\n", term->name, a, term->name, b);
        alike++;
      }
  assert_int_equal(alike, 0);
}

/* The words without number `which`; false: there are no more. */
static bool without_word(const char *words, size_t which, char *ret, size_t size, char *word, size_t word_size) {
  char copy[400], *rest = copy;
  bool found = false;
  *ret = '\0';
  snprintf(copy, sizeof copy, "%s", words);
  for (char *one; (one = strsep(&rest, " "));) {
    if (!*one) continue;
    if (which-- == 0) found = snprintf(word, word_size, "%s", one) > 0;
    else snprintf(ret + strlen(ret), size - strlen(ret), "%s ", one);
  }
  return found;
}

/* Facts of the row as if its lock, or its servers, said something else. */
static bool is_other(const struct row *row, const struct lb_protocol *protocol, const struct lb_topology *topology) {
  struct lb_facts facts;
  lb_facts_of(protocol, row->cell->options, topology, row->cell->scenario, &facts);
  struct lb_prediction p = predict(row, &facts);
  return row->cell->predicted && differs(&p, &row->cell->prediction);
}

static bool of_lock_needed(const struct lb_protocol *protocol, const char *rest) {
  struct lb_protocol other = *protocol;
  other.facts = rest;
  for (size_t i = 0; i < row_count; i++)
    if (rows[i].cell->protocol == protocol && is_other(&rows[i], &other, rows[i].cell->topology)) return true;
  return false;
}

static bool of_servers_needed(const struct lb_topology *topology, const char *rest) {
  struct lb_topology other = *topology;
  other.facts = rest;
  for (size_t i = 0; i < row_count; i++)
    if (rows[i].cell->topology == topology && is_other(&rows[i], rows[i].cell->protocol, &other)) return true;
  return false;
}

/* Facts that are stated wherever they are true, though not every lock and server has a cell that asks for them: to
 * leave one out is to state its default, which is false. */
static bool is_true_anyway(const char *word) {
  static const char *const facts[] = {"number=", "evicts=", "copies=", "power="};
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
    if (strncmp(word, facts[i], strlen(facts[i])) == 0) return true;
  return false;
}

static size_t report_idle(bool needed, const char *name, const char *word) {
  needed |= is_true_anyway(word);
  if (!needed) print_error("%s: %s: without it nothing is predicted otherwise\n", name, word);
  return !needed;
}

static bool is_in_the_table(const struct lb_topology *topology) {
  for (size_t i = 0; i < row_count; i++)
    if (rows[i].cell->topology == topology) return true;
  return false;
}

TEST(every_word_of_a_table_is_needed) {
  const struct lb_protocol *p;
  const struct lb_topology *t;
  size_t idle = 0;
  char rest[400], word[100];
  for (size_t i = 0; (p = lb_protocol_at(i)); i++)
    for (size_t k = 0; p->facts && without_word(p->facts, k, rest, sizeof rest, word, sizeof word); k++)
      idle += report_idle(of_lock_needed(p, rest), p->name, word);
  for (size_t i = 0; (t = lb_topology_at(i)); i++)
    for (size_t k = 0;
         t->facts && is_in_the_table(t) && without_word(t->facts, k, rest, sizeof rest, word, sizeof word); k++)
      idle += report_idle(of_servers_needed(t, rest), t->name, word);
  assert_int_equal(idle, 0);
}

/* A library without its line `facts`, but for what is left of it. A copy is like no lock of ours: it gets the facts of
 * that one as its own. */
static bool of_library_needed(const struct lb_protocol *library, const char *rest) {
  struct lb_protocol other = *library;
  const char *like = lb_foreign_like(library);
  other.facts = like ? lb_protocol_find(like)->facts : NULL;
  for (size_t i = 0; i < row_count; i++) {
    const struct lb_cell *cell = rows[i].cell;
    struct lb_facts facts;
    if (cell->protocol != library || !cell->predicted) continue;
    lb_facts_of(&other, cell->options, cell->topology, cell->scenario, &facts);
    assert_int_equal(lb_facts_take(&facts, rest, LB_TERM_OF_LOCK, &err), 0);
    struct lb_prediction p = predict(&rows[i], &facts);
    if (differs(&p, &cell->prediction)) return true;
  }
  return false;
}

TEST(every_word_of_a_library_is_needed) {
  struct lb_ini ini;
  size_t idle = 0, size;
  char path[1100], rest[400], word[100], name[100], *data;
  snprintf(path, sizeof path, "%s/peers/peers.ini", root());
  assert_int_equal(lb_ini_load(path, &data, &size, &err), 0);
  lb_ini_begin(&ini, path, data, size, &err);
  while (lb_ini_next(&ini)) {
    if (!ini.key || strcmp(ini.key, "facts") != 0) continue;
    snprintf(name, sizeof name, "peer:%s", ini.section);
    for (size_t k = 0; without_word(ini.value, k, rest, sizeof rest, word, sizeof word); k++)
      idle += report_idle(of_library_needed(lb_protocol_find(name), rest), name, word);
  }
  assert_int_equal(lb_ini_end(&ini), 0);
  free(data);
  assert_int_equal(idle, 0);
}

/* ---- exceptions -------------------------------------------------------------------------------------------------- */

/* How many cells a line decides, and in how many of them the rules would say something else. */
static size_t count_cells(const struct lb_plan *plan, const struct lb_expect *line, size_t *ret_other) {
  size_t count = 0;
  *ret_other = 0;
  for (size_t i = 0; i < row_count; i++) {
    const struct lb_cell *cell = rows[i].cell;
    if (cell->expect != line || cell->scenario != &plan->scenarios[0]) continue;
    count++;
    *ret_other += !cell->predicted || cell->prediction.verdict != line->verdict;
  }
  return count;
}

TEST(no_exception_says_what_the_rules_say) {
  size_t idle = 0, all = 0;
  for (size_t i = 0; i < plan_count; i++) {
    const struct lb_scenario *s = &plans[i].scenarios[0];
    for (size_t k = 0; k < s->expect_count; k++, all++) {
      size_t other, count = count_cells(&plans[i], &s->expect[k], &other);
      if (other) continue;
      print_error("%s: [expect %s] %s = %s: %s\n", s->path, lb_guard_name(s->expect[k].guard), s->expect[k].system,
                  lb_verdict_name(s->expect[k].verdict),
                  count ? "the rules say the same" : "it decides no cell that can be put");
      idle++;
    }
  }
  assert_true(all > 0);
  assert_in_range(all, 1, EXCEPTIONS_MAX);
  assert_int_equal(idle, 0);
}

TEST(nearly_all_cells_come_from_rules) {
  size_t decided = 0, of_rules = 0;
  for (size_t i = 0; i < row_count; i++) {
    const struct lb_cell *cell = rows[i].cell;
    bool is_decided =
        cell->expect && !cell->means_nothing && cell->expect->verdict != LB_NA && cell->expect->verdict != LB_ANY;
    decided += is_decided;
    of_rules += is_decided && cell->derived;
  }
  print_message("# %zu of %zu decided cells come from rules\n", of_rules, decided);
  assert_true(decided > 4000);
  assert_true(of_rules * 100 >= decided * OF_RULES_PERCENT);
}

/* ---- scenarios --------------------------------------------------------------------------------------------------- */

/* A cell that comes out as every other one says nothing of its lock. n/a and race are no outcomes here. */
static bool separates(const struct lb_scenario *scenario) {
  enum lb_verdict first = LB_VERDICT_NONE;
  for (size_t i = 0; i < row_count; i++) {
    const struct lb_cell *cell = rows[i].cell;
    if (cell->scenario != scenario || cell->guard != LB_GUARD_NONE || !cell->expect ||
        !lb_scenario_asks(scenario, cell->system))
      continue;
    enum lb_verdict verdict = cell->expect->verdict;
    if (verdict == LB_NA || verdict == LB_ANY) continue;
    if (first != LB_VERDICT_NONE && first != verdict) return true;
    first = verdict;
  }
  return false;
}

TEST(every_scenario_separates_two_locks_or_says_why_not) {
  size_t wrong = 0, separating = 0;
  for (size_t i = 0; i < plan_count; i++) {
    const struct lb_scenario *s = &plans[i].scenarios[0];
    bool does = separates(s);
    separating += does;
    if (does == !s->alike) continue;
    print_error("%s: %s\n", s->path,
                does ? "`alike` says why it separates no two locks, and it does"
                     : "every lock comes out alike, and no `alike` says why");
    wrong++;
  }
  assert_true(separating > 30);
  assert_int_equal(wrong, 0);
}

TEST(an_attack_without_rules_is_refused) {
  static const struct {
    const char *attack, *told;
  } cases[] = {{"holder-stoped", ": attack = holder-stoped: there are no rules for it, did you mean 'holder-stopped'?"},
               {"guards", ": attack = guards: there are no rules for it"},
               {"xylophone", ": attack = xylophone: there are no rules for it, see scenarios/theory/rules.ini"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char folder[200], path[300];
    const char *file = path;
    struct lb_plan_request request = {.systems = "local@none"};
    struct lb_plan plan;
    assert_true(scratch_folder(folder, sizeof folder, "theory-table"));
    snprintf(path, sizeof path, "%s/mine.ini", folder);
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    fprintf(out, "[scenario]\ntitle = t\nattack = %s\nquestion = q\nrefuted = r\n[workload]\nclients = 2\n",
            cases[i].attack);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(lb_plan_load(&file, 1, &request, &plan, &err), -EINVAL);
    assert_memory_equal(err.text, path, strlen(path));
    assert_memory_equal(err.text + strlen(path), cases[i].told, strlen(cases[i].told));
    lb_files_remove_tree(folder);
  }
}

GROUP(make_table, clear_table);
