/* SPDX-License-Identifier: MIT
 *
 * `lockbench show`: what one protocol, topology or scenario is, from the tables and files that run it. `show --cost`
 * counts what each call of a lock costs.
 *
 * The three share one space of names for the user, so the command asks for each in turn. A suggestion comes from
 * protocols and topologies only: scenarios are files, and lb_cli_find_scenario() has suggestions of its own.
 */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/foreign/foreign.h"
#include "backends/registry.h"
#include "base/process.h"
#include "base/text.h"
#include "client/holder.h"
#include "cost/cost.h"
#include "plan/fit.h"
#include "run/exit.h"
#include "plan/system.h"
#include "plan/peers.h"
#include "plan/plan.h"
#include "run/rundir.h"
#include "plan/settings.h"
#include "scenario/scenario.h"
#include "scenario/scenario_load.h"
#include "servers/topology.h"
#include "theory/versions.h"

/* ---- a protocol ------------------------------------------------------------------------------ */

/* Topologies that a protocol runs on without naming them. */
static void print_stand_ins(const char *const *named) {
  const struct lb_topology *t;
  for (size_t i = 0; (t = lb_topology_at(i)); i++) {
    bool own = false;
    for (const char *const *name = named; *name; name++) own |= strcmp(*name, t->name) == 0;
    if (!own && lb_topology_serves(t, named)) printf(", %s (like %s)", t->name, t->stands_for);
  }
}

/* With its default, and what else it takes. */
static void show_option(const struct lb_protocol *p, const struct lb_option *o) {
  printf("option:   -s %s.%s=", p->name, o->name);
  switch (o->type) {
    case LB_OPT_INT:
    case LB_OPT_REAL: printf("%g  %s (%g to %g)\n", o->def, o->help, o->min, o->max); break;
    case LB_OPT_BOOL: printf("%s  %s (yes or no)\n", o->def != 0 ? "yes" : "no", o->help); break;
    case LB_OPT_TEXT: printf("%s  %s (text, %g to %g bytes)\n", o->text, o->help, o->min, o->max); break;
    case LB_OPT_CHOICE:
      printf("%s  %s (", o->words[(size_t)o->def], o->help);
      lb_cli_print_words(o->words);
      puts(")");
      break;
  }
}

/* The statements of conform that this lock is declared to fail. */
static void show_flaws(const struct lb_protocol *p) {
  for (const struct lb_flaw *f = p->flaws; f && f->statement; f++)
    printf("fails:    \"%s\"%s%s: %s\n", f->statement, f->where ? ", with " : "", f->where ? f->where : "", f->reason);
}

/* The file that an adapter is called from: a word of its command that names one below our root. */
static FILE *open_adapter(const struct lb_protocol *p, char *name, size_t size) {
  char path[5000], copy[1000];
  snprintf(copy, sizeof copy, "%s", lb_foreign_command(p));
  for (char *rest = copy, *word; (word = strsep(&rest, " "));) {
    const char *dot = strrchr(word, '.');
    if (!dot || word[0] == '/' || !strchr(word, '/')) continue;
    snprintf(path, sizeof path, "%s/%s", lb_process_root(), word);
    snprintf(name, size, "%s", word);
    FILE *in = fopen(path, "re");
    if (in) return in;
  }
  return NULL;
}

/* Its comment: the lines that begin with # or // after the first two, which are for machines. */
static void show_adapter(const struct lb_protocol *p) {
  char name[200], line[1000];
  printf("\nversion:  %s\ncommand:  %s\n", lb_foreign_version(p)[0] ? lb_foreign_version(p) : "not said",
         lb_foreign_command(p));
  if (lb_foreign_like(p)) printf("compare:  %s, our file of the same algorithm\n", lb_foreign_like(p));
  if (lb_peers_missing_file(p))
    printf("MISSING:  %s (`%s %s` installs it)\n", lb_peers_missing_file(p), lb_process_peers_installer(),
           lb_peers_name(p));
  FILE *in = open_adapter(p, name, sizeof name);
  if (!in) return;
  printf("\n%s begins:\n\n", name);
  while (fgets(line, sizeof line, in)) {
    size_t mark = line[0] == '#' ? 1 : strncmp(line, "//", 2) == 0 ? 2 : 0;
    if (!mark) break;
    if (line[1] == '!' || strstr(line, "SPDX-License-Identifier")) continue;
    printf("  %s", line + mark + (line[mark] == ' '));
  }
  fclose(in);
}

/* The protocol's head comment. The source of a plugin is not here, so it has none. */
static void show_design(const struct lb_protocol *p) {
  if (p->traits & LB_TRAIT_FOREIGN) return show_adapter(p);
  const struct lb_design *design = lb_protocol_design(p);
  if (!design) return;
  printf("\nbackends/%s says:\n\n", design->file);
  for (const char *line = design->text, *end; (end = strchr(line, '\n')); line = end + 1)
    printf("%s%.*s\n", end > line ? "  " : "", (int)(end - line), line);
}

/* What its exclusion rests on, each in a line; nothing if the protocol declares nothing. */
static void show_assumptions(const struct lb_protocol *p) {
  const char *label = "assumes:";
  for (const struct lb_assumption *a = lb_assumptions; a->name; a++)
    if (p->traits & a->traits) printf("\n%-9s %s (%s)", label, a->text, a->name), label = "";
}

/* On the first topology that it names; the others of it are of the same kind. */
static void show_clocks(const struct lb_protocol *p) {
  const struct lb_topology *t = lb_topology_find(p->topologies[0]);
  char said[160];
  if (t) printf("\nclocks:   %s", lb_fit_clocks_say(lb_fit_clocks_of(p, NULL, t), said, sizeof said));
}

/* Only for a lock that polls: a hand-off cannot be shorter than what is left of the pause. */
static void show_retry(const struct lb_protocol *p) {
  if (!lb_option_find(p, "poll_ms")) return;
  if (p->poll_ms) printf("\nretry:    a refused client retries after %lld ms", (long long)p->poll_ms);
  else
    printf("\nretry:    a refused client retries after up to %d ms, later up to %d ms", LB_POLL_FIRST_MS,
           LB_POLL_LAST_MS);
}

static void show_protocol(const struct lb_protocol *p) {
  printf("protocol %s: %s\n\n", p->name, p->summary);
  if (p->promises) printf("promises: %s\n", p->promises);
  if (p->breaks) printf("breaks:   %s\n", p->breaks);
  if (p->source) printf("source:   %s\n", p->source);
  printf("traits:   ");
  lb_cli_print_traits(p->traits);
  if (p->unsafe_why) printf(" (%s)", p->unsafe_why);
  if (!(p->traits & LB_TRAIT_FOREIGN)) show_assumptions(p);
  show_clocks(p);
  show_retry(p);
  printf("\nserver:   %s\nruns on:  ", lb_cli_server_title(p));
  lb_cli_print_words(p->topologies);
  print_stand_ins(p->topologies);
  putchar('\n');
  if (p->needs) printf("needs:    %s\n", p->needs);
  if (p->points) {
    printf("points:   ");
    lb_cli_print_words(p->points);
    putchar('\n');
  }
  for (size_t i = 0; lb_option_at(p, i); i++) show_option(p, lb_option_at(p, i));
  show_flaws(p);
  show_design(p);
}

/* ---- a topology ------------------------------------------------------------------------------ */

/* One below the other. */
static void print_settings(const char *settings) {
  const char *label = "settings:";
  for (const char *end; settings && (end = strchr(settings, '\n')); settings = end + 1, label = "")
    printf("\n%-9s %.*s", label, (int)(end - settings), settings);
}

static void show_topology(const struct lb_topology *t) {
  char version[128];
  const char *missing = lb_topology_missing(t);
  printf("topology %s: %s\n\nservers:  %zu that hold%s locks", t->name, t->summary, t->data_count,
         t->data_count == 1 ? "s" : "");
  if (t->other_count) printf(", %zu others (%s)", t->other_count, t->family->other_service);
  if (t->shards) printf("\nkeys:     split into %zu parts, each with a primary of its own", t->shards);
  if (t->data_count) printf("\nkeeps:    %s", lb_topology_keeps_text(t->keeps));
  print_settings(t->settings);
  if (t->stands_for) printf("\nlike:     %s: protocols that run there run here", t->stands_for);
  printf("\nneeds:    ");
  lb_cli_print_words(t->family->needs);
  printf("%s%s\n", missing ? "  MISSING: " : "", missing ? missing : "");
  if (!missing && lb_topology_version(t, version, sizeof version) == 0 && version[0]) printf("version:  %s\n", version);
}

/* ---- a scenario ------------------------------------------------------------------------------ */

/* "steps:    A" and below it, aligned, the others. */
static void show_steps(const char *label, const struct lb_step *steps, size_t count) {
  for (size_t i = 0; i < count; i++) printf("%-9s %s\n", i ? "" : label, steps[i].text);
}

static const char *random_text(int times) { return times == LB_LENGTH_EXPONENTIAL ? " on average" : ""; }

/* Clients and leases are said of every scenario. The rest is load, which a timeline does not have. */
static void show_workload(const struct lb_scenario *s) {
  printf("clients:  ");
  for (size_t i = 0; i < s->client_count_count; i++) printf("%s%d", i ? ", " : "", s->client_counts[i]);
  printf("; ttl %lld ms%s", (long long)s->ttl_ms, s->renew ? ", renewed while they hold" : "");
  if (s->permits > 1) printf("; %d may hold at once", s->permits);
  if (s->readers > 0) printf("; %d of them read", s->readers);
  if (s->request_ms) printf("; a request is given up after %lld ms", (long long)s->request_ms);
  if (s->driver == LB_BY_COROUTINE) printf("; one process for each core runs them");
  if (s->kind != LB_KIND_TIMELINE) {
    if (s->keys == 0) printf("; a lock each");
    else printf("; %d lock%s", s->keys, s->keys == 1 ? "" : "s");
    if (s->skew > 0) printf(", by zipf %g", s->skew);
    if (s->arrivals != LB_ARRIVE_CLOSED) printf("; open loop, %g/s", s->rate_per_s);
    printf("; hold %g ms%s, think %g ms%s; %g s after %g s", s->hold_ms, random_text(s->hold), s->think_ms,
           random_text(s->think), s->duration_s, s->warmup_s);
  }
  putchar('\n');
  for (size_t i = 0; i < s->option_count; i++) printf("%-9s %s\n", i ? "" : "options:", s->options[i]);
}

/* What a verdict of this scenario has to be read with. */
static void show_proof(const struct lb_scenario *s) {
  if (s->unreal) puts("unreal:   no real clock does this; it shows which clock a lock rests on");
  if (s->control) puts("control:  a correct lock cannot lose exclusion here; the other scenarios are compared with it");
  for (size_t i = 0; i < s->premise_count; i++)
    printf("%-9s %s%s\n", i == 0 ? "premises:" : "", s->premises[i].text,
           s->premises[i].use == LB_PREMISE_OF_ALL ? "" : " (of a safe trial)");
  if (s->proof_violated) printf("proof:    a violation counts only if \"%s\" was observed\n", s->proof_violated);
  if (s->past_lease)
    printf("%-9s leases run out on purpose, so overlaps after the end of a lease count\n",
           s->proof_violated ? "" : "proof:");
}

/* Those that the file states under one guard, with a heading of their own unless it is `none`; nothing where it
 * states nothing. Where rules say the rest they are exceptions. */
static void show_expectations(const struct lb_scenario *s, enum lb_guard guard) {
  const char *label = s->attack ? "except:" : "expects:";
  int width = 0; /* of the longest system, under whichever guard */
  for (size_t i = 0; i < s->expect_count; i++)
    if ((int)strlen(s->expect[i].system) > width) width = (int)strlen(s->expect[i].system);
  for (size_t i = 0; i < s->expect_count; i++) {
    const struct lb_expect *e = &s->expect[i];
    if (e->guard != guard) continue;
    if (*label && guard != LB_GUARD_NONE)
      printf("%.*s under the guard %s (%s):\n", (int)strlen(label) - 1, label, lb_guard_name(guard),
             lb_guard_help(guard)),
          label = "";
    printf("%-9s %-*s %-9s %s\n", label, width, e->system, lb_verdict_name(e->verdict), e->reason ? e->reason : "");
    label = "";
  }
}

/* Those of the system of cell `first`; the plan goes guard by guard. Without an expectation: "-". */
static void show_system_cells(const struct lb_plan *plan, size_t first, int width) {
  for (size_t i = first; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    const struct lb_expect *e = cell->expect;
    if (strcmp(cell->system, plan->cells[first].system) != 0) continue;
    const char *verdict = cell->means_nothing ? lb_verdict_name(LB_NA) : e ? lb_verdict_name(e->verdict) : "-";
    const char *reason = cell->means_nothing ? cell->skip : e && e->reason ? e->reason : "";
    printf("%-9s %-*s %-9s %-9s %s\n", i == 0 ? "expects:" : "", width, cell->system, lb_guard_name(cell->guard),
           verdict, reason);
  }
}

static void show_cells(const struct lb_plan *plan) {
  int width = 0;
  for (size_t i = 0; i < plan->cell_count; i++)
    if ((int)strlen(plan->cells[i].system) > width) width = (int)strlen(plan->cells[i].system);
  for (size_t i = 0; i < plan->cell_count && plan->cells[i].guard == plan->cells[0].guard; i++)
    show_system_cells(plan, i, width);
}

/* Only these systems, under every guard: what the scenario states, or why there is no question for it. A plan of them
 * says the same before it is run. */
static int show_systems(const char *path, const char *systems) {
  struct lb_plan plan;
  struct lb_error err;
  struct lb_plan_request request = {.systems = systems, .guards = (1u << LB_GUARD_COUNT) - 1};
  if (lb_plan_load(&path, 1, &request, &plan, &err) < 0) return lb_complain(LB_EXIT_USAGE, "show: %s", err.text);
  const struct lb_scenario *s = &plan.scenarios[0];
  printf("scenario %s: %s\n\nquestion: %s\n", s->name, s->title, s->question ? s->question : "");
  show_steps("steps:", s->steps, s->step_count);
  show_steps("faults:", s->faults, s->fault_count);
  show_cells(&plan);
  lb_plan_clear(&plan);
  return LB_EXIT_OK;
}

/* What a run of it alone would be held to. */
static int show_usual(const char *path) {
  struct lb_plan plan;
  struct lb_error err;
  struct lb_plan_request request = {.guards = 1u << LB_GUARD_NONE};
  if (lb_plan_load(&path, 1, &request, &plan, &err) < 0) return lb_complain(LB_EXIT_USAGE, "show: %s", err.text);
  show_cells(&plan);
  lb_plan_clear(&plan);
  return LB_EXIT_OK;
}

static int show_scenario(const char *path, const char *systems) {
  struct lb_scenario s;
  struct lb_error err;
  if (systems) return show_systems(path, systems);
  if (lb_scenario_load(path, &s, &err) < 0) return lb_complain(LB_EXIT_USAGE, "%s", err.text);
  printf("scenario %s: %s\n\nquestion: %s\nthe expectation is refuted if: %s\n", s.name, s.title,
         s.question ? s.question : "", s.refuted ? s.refuted : "");
  if (s.upstream) printf("upstream: %s\n", s.upstream);
  if (s.attack)
    printf("attack:   %s: %s\n", s.attack,
           lb_theory_attack_what(s.attack) ? lb_theory_attack_what(s.attack) : "no rules");
  if (s.alike) printf("separates no two locks: %s\n", s.alike);
  lb_cli_say("file:     %s", s.path);
  show_workload(&s);
  show_steps("steps:", s.steps, s.step_count);
  show_steps("faults:", s.faults, s.fault_count);
  if (s.kind == LB_KIND_CAMPAIGN)
    printf("%-9s %s about every %lld ms, for about %lld ms\n", "", s.control ? "none is done; elsewhere one" : "one",
           (long long)s.every_ms, (long long)s.lasts_ms);
  show_proof(&s);
  int code = s.attack ? show_usual(path) : LB_EXIT_OK;
  for (int guard = 0; guard < LB_GUARD_COUNT; guard++) show_expectations(&s, (enum lb_guard)guard);
  lb_scenario_clear(&s);
  return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* The nearest of all names that there are. */
static int unknown(const char *name) {
  char folder[4096], **names = NULL, **paths = NULL;
  const char *words[512];
  size_t count = 0, scenarios = 0;
  const char *system = lb_system_near(name);
  count += lb_topology_names(words + count, 384 - count);
  snprintf(folder, sizeof folder, "%s/" LB_SCENARIOS, lb_process_root());
  lb_scenario_list(folder, &names, &paths, &scenarios);
  for (size_t i = 0; i < scenarios && count < 511; i++) words[count++] = names[i];
  if (system) words[count++] = system;
  bool is_peer = system && strchr(system, ':') && !strchr(name, ':'); /* written without its kind, it is not near */
  const char *near = is_peer ? system : lb_text_suggest(name, words, count);
  if (near) lb_complain(0, "show: unknown name '%s', did you mean '%s'?", name, near);
  else
    lb_complain(
        0,
        "show: unknown name '%s', expected a protocol, a topology or a scenario of `%s list`, or a path to an .ini file",
        name, lb_process_called());
  for (size_t i = 0; i < scenarios; i++) free(names[i]), free(paths[i]);
  free(names);
  free(paths);
  return LB_EXIT_USAGE;
}

/* What the protocol is, and then what it runs on. */
static int show_system(const char *name) {
  struct lb_system system;
  struct lb_error err;
  if (lb_system_parse(name, &system, &err) < 0) return lb_complain(LB_EXIT_USAGE, "show: %s", err.text);
  show_protocol(system.protocol);
  putchar('\n');
  show_topology(system.topology);
  return LB_EXIT_OK;
}

static int show_named_scenario(const struct lb_args *args, char *path) {
  int r = show_scenario(path, args->systems);
  free(path);
  return r;
}

/* ---- what a lock costs, counted -------------------------------------------------------------------------- */

enum { TIMES = 200 };

/* Every row that some column has, in the order they were first seen. */
static size_t rows_of(const struct lb_cost *cost, const char *rows[LB_COUNTS_MAX]) {
  struct lb_counts seen = {0};
  size_t count = 0;
  for (int column = 0; column < LB_COST_COLUMNS; column++)
    for (size_t i = 0; i < cost->sum[column].size; i++) {
      size_t before = seen.size;
      lb_counts_add(&seen, cost->sum[column].count[i].what, 0);
      if (seen.size > before) rows[count++] = cost->sum[column].count[i].what;
    }
  return count;
}

static void add_row(const struct lb_cost *cost, const char *what, struct lb_grid *grid) {
  uint64_t sum = 0;
  for (int column = 0; column < LB_COST_COLUMNS; column++) sum += lb_counts_of(&cost->sum[column], what);
  if (sum == 0 && strncmp(what, "command ", 8) == 0) return; /* asked for by the looks only */
  lb_grid_add(grid, "%s ", what);
  for (int column = 0; column < LB_COST_COLUMNS; column++) {
    double each = (double)lb_counts_of(&cost->sum[column], what) / cost->times;
    if (column == LB_COST_REFUSED && !cost->refuses) lb_grid_add(grid, "-");
    else lb_grid_add(grid, "%.*f", each < 100 ? 2 : 0, each);
  }
  lb_grid_add(grid, "%s", "");
}

static void add_unknown(const char *what, const char *why, struct lb_grid *grid) {
  lb_grid_add(grid, "%s ", what);
  for (int column = 0; column < LB_COST_COLUMNS; column++) lb_grid_add(grid, "-");
  lb_grid_add(grid, "%s", why);
}

static void print(const struct lb_system *system, const struct lb_cost *cost) {
  const char *rows[LB_COUNTS_MAX * LB_COST_COLUMNS];
  size_t count = rows_of(cost, rows);
  printf("cost of %s, counted over %d of each: a client alone, and one that is refused while another one holds\n\n",
         system->name, cost->times);
  static const char *const head[] = {"", "acquire", "release", "refused", ""};
  struct lb_grid grid;
  lb_grid_begin(&grid, "lrrrl");
  for (size_t i = 0; i < sizeof head / sizeof *head; i++) lb_grid_add(&grid, "%s", head[i]);
  for (size_t i = 0; i < count; i++) add_row(cost, rows[i], &grid);
  if (!cost->has_servers) add_unknown("at servers, on disks", "it has none", &grid);
  else if (!cost->disk_counts)
    add_unknown("writes to files, fsyncs", "nobody counts them: its servers call the kernel without the C library",
                &grid);
  bool commands = false, requests = false;
  for (size_t i = 0; i < count; i++)
    commands |= strncmp(rows[i], "command ", 8) == 0, requests |= strcmp(rows[i], "requests") == 0;
  if (cost->has_servers && !requests) add_unknown("requests", "its servers do not count them", &grid);
  lb_grid_end(&grid, stdout);
  putchar('\n');
  puts("A round trip is an answer waited for after something was sent, to one server or to several at once.");
  if (cost->has_servers)
    puts("Of several servers it is the sum. Bytes are those of the client's connections, without headers.");
  if (commands) puts("Commands that a script calls are counted beside the script.");
  if (cost->disk_counts)
    puts("Writes and fsyncs are those of all processes of the servers, also what they do behind the answer.");
  if (!cost->refuses) puts("It refuses nobody.");
}

static int cli_cost(const struct lb_args *args) {
  struct lb_system system;
  struct lb_rundir dir;
  struct lb_cost cost;
  struct lb_error err;
  const char *tmp = getenv("TMPDIR"), *missing;
  char why[300];
  if (lb_system_parse(args->words[0], &system, &err) < 0)
    return lb_complain(LB_EXIT_USAGE, "show --cost: %s", err.text);
  int code = lb_cli_check_options(args);
  if (code) return code;
  if ((missing = lb_topology_missing(system.topology)))
    return lb_complain(LB_EXIT_MISSING, "show --cost %s: needs %s, which is not on this machine", system.name, missing);
  if (!lb_versions_meet(system.protocol, system.topology, why, sizeof why))
    return lb_complain(LB_EXIT_MISSING, "show --cost %s: %s", system.name, why);
  if (lb_rundir_open(&dir, tmp && *tmp ? tmp : "/tmp", "cost", NULL, &err) < 0)
    return lb_complain(LB_EXIT_FAILURE, "%s", err.text);
  union lb_value *options = lb_settings_options(system.protocol, args->settings, args->setting_count);
  struct lb_cost_plan plan = {
      .protocol = system.protocol, .topology = system.topology, .options = options, .dir = &dir, .times = TIMES};
  int r = options ? lb_cost_count(&plan, &cost, &err) : -1;
  free(options);
  lb_rundir_close(&dir);
  if (r < 0) return lb_complain(LB_EXIT_FAILURE, "show --cost %s: %s", system.name, options ? err.text : "no memory");
  print(&system, &cost);
  return LB_EXIT_OK;
}

static int show_command(const struct lb_args *args) {
  if (args->word_count != 1)
    return lb_complain(LB_EXIT_USAGE, "show: expected one name of a protocol, a topology or a scenario, see `%s list`",
                       lb_process_called());
  if (args->cost) return cli_cost(args);
  const struct lb_protocol *protocol = lb_protocol_find(args->words[0]);
  struct lb_error err;
  const struct lb_topology *topology = NULL;
  if (lb_system_topology(args->words[0], &topology, &err) < 0) topology = NULL;
  if (args->systems && (protocol || topology))
    return lb_complain(LB_EXIT_USAGE, "show %s -b: expected a scenario", args->words[0]);
  if (protocol) return show_protocol(protocol), LB_EXIT_OK;
  if (topology) return show_topology(topology), LB_EXIT_OK;
  char *path = lb_cli_look_for_scenario(args->words[0], &err);
  if (!path && strchr(args->words[0], '@'))
    return args->systems ? lb_complain(LB_EXIT_USAGE, "show %s -b: expected a scenario", args->words[0])
                         : show_system(args->words[0]);
  return path ? show_named_scenario(args, path) : unknown(args->words[0]);
}

const struct lb_cli_command lb_command_show = {
    "show",
    show_command,
    LB_ARG_PLUGIN | LB_ARG_COST | LB_ARG_SHOW,
    "NAME",
    "shows what a protocol promises and what breaks it, or a topology, or a scenario",
    "NAME is PROTOCOL, PROTOCOL@TOPOLOGY, TOPOLOGY or SCENARIO.\n"};
