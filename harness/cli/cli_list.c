/* SPDX-License-Identifier: MIT
 *
 * `lockbench list`: the names of everything there is, from the same tables and files that run it. One line each, the
 * name first, so that a script can cut it off. Scenarios and suites are loaded, not only listed: one that cannot be
 * read is said here, and the others are listed all the same. `lockbench doctor` says what of it this machine can and
 * cannot run, by the checks that a run makes itself.
 */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/foreign/foreign.h"
#include "backends/registry.h"
#include "base/text.h"
#include "client/holder.h"
#include "check/counter.h"
#include "plan/peers.h"
#include "scenario/scenario.h"
#include "theory/facts.h"
#include "scenario/suite.h"
#include "network/proc.h"
#include "network/sandbox.h"
#include "scenario/scenario_load.h"
#include "servers/topology.h"

/* ---- what is said of protocols --------------------------------------------------------------------------- */

void lb_cli_print_words(const char *const *words) {
  for (; words && *words; words++) printf("%s%s", *words, words[1] ? ", " : "");
}

static const struct {
  unsigned trait;
  const char *name;
} trait_names[] = {
    {LB_TRAIT_LEASED, "leased"},
    {LB_TRAIT_SESSION, "session"},
    {LB_TRAIT_NO_EXPIRY, "no-expiry"},
    {LB_TRAIT_FENCED, "fenced"},
    {LB_TRAIT_FIFO, "fifo"},
    {LB_TRAIT_WAKES, "wakes-waiters"},
    {LB_TRAIT_QUEUES, "queues"},
    {LB_TRAIT_CLIENT_CLOCK, "uses-client-clock"},
    {LB_TRAIT_SERVER_CLOCK, "uses-server-clock"},
    {LB_TRAIT_UNSAFE, "known-unsafe"},
    {LB_TRAIT_FLOOR, "floor"},
    {LB_TRAIT_NO_OWNER, "no-owner"},
    {LB_TRAIT_REENTRANT, "reentrant"},
    {LB_TRAIT_RENEWED, "renewed"},
};

void lb_cli_print_traits(unsigned traits) {
  const char *between = "";
  for (size_t i = 0; i < sizeof trait_names / sizeof *trait_names; i++)
    if (traits & trait_names[i].trait) printf("%s%s", between, trait_names[i].name), between = ", ";
}

/* The servers whose locks there are, in the order of the list. Locks without a server come last. */
static const struct {
  const char *service, *title;
} servers[] = {
    {"redis", "Redis"},         {"zookeeper", "ZooKeeper"}, {"postgres", "PostgreSQL"}, {"mariadb", "MariaDB"},
    {"memcached", "memcached"}, {"etcd", "etcd"},           {"nats", "NATS"},           {NULL, "none"}};
enum { SERVER_COUNT = sizeof servers / sizeof *servers };

/* By the topology that it runs on by default. A topology that only a plugin knows has no servers of ours. */
static size_t server_of(const struct lb_protocol *p) {
  const struct lb_topology *t = lb_topology_find(p->topologies[0]);
  size_t i = 0;
  while (i < SERVER_COUNT - 1 && !(t && t->family->service && strcmp(servers[i].service, t->family->service) == 0)) i++;
  return i;
}

/* All of them, in the order of lists; NULL behind the last. */
static const char *server_title_at(size_t index) { return index < SERVER_COUNT ? servers[index].title : NULL; }

const char *lb_cli_server_title(const struct lb_protocol *protocol) { return servers[server_of(protocol)].title; }

/* ---- lists ----------------------------------------------------------------------------------------------- */

/* Columns: the second one begins behind the longest name of the first. */
static int wider(int width, const char *name) {
  int length = (int)strlen(name);
  return length > width ? length : width;
}

static int width_of_protocols(void) {
  const struct lb_protocol *p;
  int width = 0;
  for (size_t i = 0; (p = lb_protocol_at(i)); i++) width = wider(width, p->name);
  return width;
}

static void list_protocol(const struct lb_protocol *p, int width, int server_width) {
  printf("%-*s  %-*s  %s (", width, p->name, server_width, lb_cli_server_title(p), p->summary);
  lb_cli_print_words(p->topologies);
  printf(") [");
  lb_cli_print_traits(p->traits);
  puts("]");
}

/* Those of one server together. */
static int list_protocols(void) {
  const struct lb_protocol *p;
  int width = width_of_protocols(), server_width = 0;
  const char *title;
  for (size_t i = 0; (title = server_title_at(i)); i++) server_width = wider(server_width, title);
  for (size_t server = 0; (title = server_title_at(server)); server++)
    for (size_t i = 0; (p = lb_protocol_at(i)); i++)
      if (lb_cli_server_title(p) == title) list_protocol(p, width, server_width);
  return LB_EXIT_OK;
}

/* The libraries of others: which version, which file of ours has the same algorithm, and the file that is missing. What
 * installs those is said once, not on stdout, whose every line is a peer. */
static int list_peers(void) {
  const struct lb_protocol *p;
  int width = 0;
  size_t all, lacking = lb_peers_missing(&all);
  for (size_t i = 0; (p = lb_protocol_at(i)); i++)
    if (lb_peers_has(p)) width = wider(width, p->name);
  for (size_t i = 0; (p = lb_protocol_at(i)); i++) {
    if (!lb_peers_has(p)) continue;
    const char *missing = lb_peers_missing_file(p), *like = lb_foreign_like(p);
    printf("%-*s  %-14s like %-16s %s%s%s%s\n", width, p->name, lb_foreign_version(p), like ? like : "-", p->summary,
           missing ? " [needs " : "", missing ? missing : "", missing ? "]" : "");
  }
  if (lacking) fflush(stdout), fputs("lockbench: ", stderr), lb_peers_say_missing(NULL, lacking, all, stderr);
  return LB_EXIT_OK;
}

/* With what the machine lacks for each, which decides whether its cells are skipped. */
static int list_topologies(void) {
  const struct lb_topology *t;
  int width = 0;
  for (size_t i = 0; (t = lb_topology_at(i)); i++) width = wider(width, t->name);
  for (size_t i = 0; (t = lb_topology_at(i)); i++) {
    const char *missing = lb_topology_missing(t);
    printf("%-*s  %s%s%s%s\n", width, t->name, t->summary, missing ? " [needs " : "", missing ? missing : "",
           missing ? "]" : "");
  }
  return LB_EXIT_OK;
}

/* A line of each file of a folder, its name `width` wide: 0, or an exit code after a complaint. */
static int list_files(const char *place, int (*list_file)(const char *name, int width, const char *path)) {
  char folder[4096], **names, **paths;
  size_t count;
  int code = LB_EXIT_OK, width = 0;
  snprintf(folder, sizeof folder, "%s/%s", lb_process_root(), place);
  int r = lb_scenario_list(folder, &names, &paths, &count);
  if (r < 0) return lb_complain(LB_EXIT_FAILURE, "cannot read %s: %s", folder, strerror(-r));
  for (size_t i = 0; i < count; i++) width = wider(width, names[i]);
  for (size_t i = 0; i < count; i++) {
    int listed = list_file(names[i], width, paths[i]);
    if (listed) code = listed;
    free(names[i]);
    free(paths[i]);
  }
  free(names);
  free(paths);
  return code;
}

static int list_scenario(const char *name, int width, const char *path) {
  struct lb_scenario s;
  struct lb_error err;
  if (lb_scenario_load(path, &s, &err) < 0) return lb_complain(LB_EXIT_USAGE, "%s", err.text);
  printf("%-*s  %s%s\n", width, name, s.title, s.unreal ? " [unreal]" : "");
  lb_scenario_clear(&s);
  return LB_EXIT_OK;
}

static int list_suite(const char *name, int width, const char *path) {
  struct lb_suite s;
  struct lb_error err;
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/" LB_SCENARIOS, lb_process_root());
  if (lb_suite_load(path, folder, &s, &err) < 0) return lb_complain(LB_EXIT_USAGE, "%s", err.text);
  printf("%-*s  %s\n", width, name, s.title);
  lb_suite_clear(&s);
  return LB_EXIT_OK;
}

static int list_scenarios(void) { return list_files(LB_SCENARIOS, list_scenario); }
static int list_suites(void) { return list_files(LB_SUITES, list_suite); }

/* Points at which a step can stop or crash a client: those of the loop that every client runs, then
 * those inside a protocol. */
static int list_points(void) {
  static const char every[] = "every client";
  const struct lb_protocol *p;
  int width = wider(width_of_protocols(), every);
  for (const char *const *point = lb_holder_points; *point; point++) printf("%-*s  %s\n", width, every, *point);
  for (size_t i = 0; (p = lb_protocol_at(i)); i++)
    for (const char *const *point = p->points; point && *point; point++) printf("%-*s  %s\n", width, p->name, *point);
  return LB_EXIT_OK;
}

/* What each lock declares that its exclusion rests on, a line for each. A foreign one declares nothing. */
static int list_assumptions(void) {
  const struct lb_protocol *p;
  int width = width_of_protocols();
  for (size_t i = 0; (p = lb_protocol_at(i)); i++)
    for (const struct lb_assumption *a = lb_assumptions; a->name; a++)
      if (p->traits & a->traits && !(p->traits & LB_TRAIT_FOREIGN))
        printf("%-*s  %-12s  %s\n", width, p->name, a->name, a->text);
  return LB_EXIT_OK;
}

/* ---- tables of the pages ------------------------------------------------------------------------------------- */

/* A table of the reference, out of the rows that parser and results go by. As Markdown it stands in docs/, where
 * tests/python/test-printed.py compares it. */
enum { CELLS_MAX = 4 };
struct table {
  const char *head[CELLS_MAX]; /* NULL behind the last; the first column is code */
  int width;                   /* of the first column on a terminal */
  bool markdown;
};

static void put_head(const struct table *table) {
  if (!table->markdown) return;
  for (int i = 0; i < CELLS_MAX && table->head[i]; i++) printf("| %s ", table->head[i]);
  puts("|");
  for (int i = 0; i < CELLS_MAX && table->head[i]; i++) fputs("|---", stdout);
  puts("|");
}

/* A '|' would begin a cell. */
static void put_cell(const char *text, const char *quote) {
  printf("| %s", quote);
  for (; *text; text++) printf(*text == '|' ? "\\%c" : "%c", *text);
  printf("%s%s", quote, *quote ? " " : "");
}

static void put_row(const struct table *table, const char *const *cells) {
  if (!table->markdown) {
    printf("%-*s", table->width, cells[0]);
    for (int i = 1; i < CELLS_MAX && table->head[i]; i++) printf("%s%s", *cells[i] ? "  " : "", cells[i]);
    puts("");
    return;
  }
  put_cell(cells[0], "`");
  for (int i = 1; i < CELLS_MAX && table->head[i]; i++) put_cell(cells[i], ""), fputs(*cells[i] ? " " : "", stdout);
  puts("|");
}

static int list_steps(bool markdown) {
  struct table table = {.head = {"step", "meaning"}, .markdown = markdown};
  for (enum lb_verb v = LB_STEP_NONE + 1; v < LB_VERB_COUNT; v++)
    table.width = wider(table.width, lb_step_rows[v].form);
  put_head(&table);
  for (enum lb_verb v = LB_STEP_NONE + 1; v < LB_VERB_COUNT; v++)
    put_row(&table, (const char *[]){lb_step_rows[v].form, lb_step_rows[v].help});
  return LB_EXIT_OK;
}

static int list_guards(bool markdown) {
  struct table table = {.head = {"guard", "what happens before each access"}, .width = 8, .markdown = markdown};
  put_head(&table);
  for (int guard = 0; guard < LB_GUARD_COUNT; guard++)
    put_row(&table, (const char *[]){lb_guard_name((enum lb_guard)guard), lb_guard_help((enum lb_guard)guard)});
  return LB_EXIT_OK;
}

/* "number, 0 to 100 ms". */
static void value_of_key(const struct lb_scenario_key *key, char *ret, size_t size) {
  char range[64] = "";
  if (key->max > 0) snprintf(range, sizeof range, ", %.15g to %.15g", key->min, key->max);
  snprintf(ret, size, "%s%s%s%s", lb_scenario_type_name(key->type), range, *key->unit ? " " : "", key->unit);
}

static int list_keys(bool markdown) {
  struct table table = {.head = {"key", "value", "default", "meaning"}, .markdown = markdown};
  const char *section = NULL;
  for (size_t i = 0; i < lb_scenario_key_count; i++) table.width = wider(table.width, lb_scenario_keys[i].name);
  for (size_t i = 0; i < lb_scenario_key_count; i++) {
    const struct lb_scenario_key *key = &lb_scenario_keys[i];
    char value[120];
    if (!section || strcmp(section, key->section) != 0) {
      printf(markdown ? "%s**[%s]**\n\n" : "%s[%s]\n", section ? "\n" : "", key->section);
      put_head(&table);
    }
    section = key->section;
    value_of_key(key, value, sizeof value);
    put_row(&table, (const char *[]){key->name, value,
                                     key->flags & LB_KEY_MANDATORY ? "must be given"
                                     : key->def                    ? key->def
                                                                   : "",
                                     key->help});
  }
  return LB_EXIT_OK;
}

static bool alike(const struct lb_counter *a, const struct lb_counter *b) {
  return a->places == b->places && strcmp(a->help, b->help) == 0;
}

/* Those of trials.csv and of the cells of run.json. In Markdown the quantiles of one time share a row. */
static int list_counters(bool markdown) {
  struct table table = {.head = {"counter", "unit", "in", "meaning"}, .markdown = markdown};
  for (size_t i = 0; i < lb_counter_row_count; i++) table.width = wider(table.width, lb_counter_rows[i].name);
  put_head(&table);
  for (size_t i = 0; i < lb_counter_row_count; i++) {
    const struct lb_counter *row = &lb_counter_rows[i];
    unsigned places = row->places & (LB_IN_TRIALS | LB_IN_CELLS);
    char names[160] = "";
    struct lb_text text = {names, sizeof names, 0};
    lb_text_add(&text, "%s", row->name);
    while (markdown && i + 1 < lb_counter_row_count && alike(row, &lb_counter_rows[i + 1]))
      lb_text_add(&text, "`, `%s", lb_counter_rows[++i].name);
    if (places)
      put_row(&table, (const char *[]){names, row->unit ? row->unit : "",
                                       places == LB_IN_TRIALS  ? "trials"
                                       : places == LB_IN_CELLS ? "cells"
                                                               : "both",
                                       row->help});
  }
  return LB_EXIT_OK;
}

static const char *owner_of(enum lb_term_of of) {
  static const char *const owners[] = {[LB_TERM_OF_LOCK] = "lock",
                                       [LB_TERM_OF_SERVERS] = "servers",
                                       [LB_TERM_OF_SCENARIO] = "scenario",
                                       [LB_TERM_OF_GUARD] = "guard"};
  return owners[of];
}

/* The vocabulary of rules.ini. The first value of a fact is its default. */
static int list_facts(bool markdown) {
  struct table table = {.head = {"fact", "of", "values", "meaning"}, .markdown = markdown};
  const struct lb_term *term;
  for (size_t i = 0; (term = lb_term_at(i)); i++) table.width = wider(table.width, term->name);
  put_head(&table);
  for (size_t i = 0; (term = lb_term_at(i)); i++)
    put_row(&table, (const char *[]){term->name, owner_of(term->of), term->values, term->help});
  return LB_EXIT_OK;
}

static int list_steps_plain(void) { return list_steps(false); }

/* `list WORD --markdown` prints one of the tables above. */
static int list_table(const char *name, bool markdown, bool *found) {
  static const struct {
    const char *name;
    int (*list)(bool markdown);
  } tables[] = {{"steps", list_steps},
                {"guards", list_guards},
                {"keys", list_keys},
                {"counters", list_counters},
                {"facts", list_facts}};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if ((*found = strcmp(name, tables[i].name) == 0)) return tables[i].list(markdown);
  if (!markdown) return LB_EXIT_OK;
  *found = true;
  return lb_complain(LB_EXIT_USAGE, "list %s --markdown: expected steps, guards, keys, counters or facts", name);
}

/* One of the lists, or all of them with headings. A list that complains ends the whole. */
static int list_command(const struct lb_args *args) {
  static const struct {
    const char *name;
    int (*list)(void);
  } lists[] = {{"protocols", list_protocols},    {"peers", list_peers},         {"topologies", list_topologies},
               {"origins", lb_cli_list_origins}, {"scenarios", list_scenarios}, {"suites", list_suites},
               {"steps", list_steps_plain},      {"points", list_points},       {"assumptions", list_assumptions}};
  enum { LIST_COUNT = sizeof lists / sizeof *lists };
  const char *names[LIST_COUNT + 5] = {"expectations"};
  names[LIST_COUNT + 1] = "guards", names[LIST_COUNT + 2] = "keys", names[LIST_COUNT + 3] = "counters",
                     names[LIST_COUNT + 4] = "facts";
  int r = LB_EXIT_OK;
  if (args->json && (args->word_count == 0 || strcmp(args->words[0], "expectations") != 0))
    return lb_complain(LB_EXIT_USAGE, "list --json: expected the word expectations before it");
  if (args->where && (args->word_count != 1 || strcmp(args->words[0], "scenarios") != 0))
    return lb_complain(LB_EXIT_USAGE, "list --for: expected the word scenarios before it");
  if (args->where) return lb_cli_list_for(args);
  if (lb_cli_names_own(args))
    return lb_complain(LB_EXIT_USAGE, "list: expected --for TOPOLOGY beside servers of your own");
  if (args->word_count == 0 && args->markdown)
    return lb_complain(LB_EXIT_USAGE, "list --markdown: expected steps, guards, keys, counters or facts before it");
  if (args->word_count == 0) { /* all of it */
    for (size_t i = 0; i < LIST_COUNT && r == 0; i++) {
      printf("%s%s:\n", i ? "\n" : "", lists[i].name);
      r = lists[i].list();
    }
    return r;
  }
  if (strcmp(args->words[0], "expectations") == 0) return lb_cli_list_expectations(args);
  if (args->word_count > 1)
    return lb_complain(LB_EXIT_USAGE, "list: expected at most one word, found '%s', too", args->words[1]);
  bool found;
  int code = list_table(args->words[0], args->markdown, &found);
  if (found) return code;
  for (size_t i = 0; i < LIST_COUNT; i++) {
    if (strcmp(args->words[0], lists[i].name) == 0) return lists[i].list();
    names[i + 1] = lists[i].name;
  }
  const char *near = lb_text_suggest(args->words[0], names, LIST_COUNT + 5);
  return lb_complain(
      LB_EXIT_USAGE,
      "list %s: expected protocols, peers, topologies, origins, scenarios, suites, steps, points, assumptions, expectations, guards, keys, counters or facts%s%s%s",
      args->words[0], near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

const struct lb_cli_command lb_command_list = {
    "list",
    list_command,
    LB_ARG_PLUGIN | LB_ARG_LIST | LB_ARG_JSON | LB_ARG_OWN,
    "[protocols|peers|topologies|origins|scenarios|suites|steps|points|assumptions|expectations [SYSTEMS [SCENARIO...]]|guards|keys|counters|facts]",
    "lists what there is to run, or what the tables of docs/ have",
    NULL};

/* ---- doctor ---------------------------------------------------------------------------------------------- */

/* One line: "ok" with what was found, or "MISS" with what to do. Returns `good`. */
static bool report(bool good, const char *what, const char *how) {
  printf("%s  %s%s%s\n", good ? "ok  " : "MISS", what, how && *how ? ": " : "", how ? how : "");
  return good;
}

static bool check_topology(const struct lb_topology *t) {
  char text[300], version[128] = "";
  const char *missing = lb_topology_missing(t);
  int r = missing ? -ENOENT : lb_topology_version(t, version, sizeof version);
  if (missing)
    snprintf(text, sizeof text, "needs %s%s", missing,
             lb_process_is_installed() ? "; packages: docs/install.md" : "; ./bench installs what is missing");
  else if (r == 0) snprintf(text, sizeof text, "%s", version);
  else if (r == -ETIMEDOUT) snprintf(text, sizeof text, "its server did not say its version within 10 s");
  else snprintf(text, sizeof text, "%s", t->summary);
  char name[100];
  snprintf(name, sizeof name, "topology %s", t->name);
  return report(!missing && r != -ETIMEDOUT, name, text);
}

static bool check_namespaces(void) {
  const struct lb_isolation *isolation = lb_isolation_probe();
  if (isolation->kind == LB_ISOLATION_NONE) {
    report(false, "namespaces", isolation->why.text);
    puts("      without them trials run on loopback and scenarios that cut links are skipped");
    return false;
  }
  return report(true, "namespaces", isolation->kind == LB_ISOLATION_ROOT ? "as root" : "inside a user namespace");
}

/* network/proc.c looks in the same folders: who is not root may not have sbin in PATH. */
static bool check_program(const char *name, const char *why) {
  static const char *const extra[] = {"/usr/sbin", "/sbin", NULL};
  char *path = lb_proc_find(name, extra);
  bool found = path != NULL;
  report(found, name, found ? path : why);
  free(path);
  return found;
}

static int doctor_command(const struct lb_args *args) {
  if (args->word_count) return lb_complain(LB_EXIT_USAGE, "doctor: takes no argument, found '%s'", args->words[0]);
  bool good = true;
  const struct lb_topology *t;
  for (size_t i = 0; (t = lb_topology_at(i)); i++) good &= check_topology(t);
  good &= check_program("ip", "package iproute2: builds the network of a trial");
  good &= check_program("gnuplot", "package gnuplot-nox: draws the scaling once more");
  good &= check_namespaces();
  puts(good ? "this machine can run everything"
            : "some things cannot run here: their cells are skipped, with the reason");
  return good ? LB_EXIT_OK : LB_EXIT_MISSING;
}

const struct lb_cli_command lb_command_doctor = {
    "doctor", doctor_command, 0, "", "says what this machine can and cannot run", NULL};
