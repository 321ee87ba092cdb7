/* SPDX-License-Identifier: MIT
 *
 * `lockbench conform`: one line per statement of the contract, or about the lines of an adapter, for people or as TAP. What the statements are, and how a protocol is kept from taking the tool with it, is in conform/.
 *
 * Without a SYSTEM it is the plugin that is tried, on each topology it names: who writes a lock asks `does mine hold?`.
 * Topologies whose servers are not on this machine then do not count, as long as one was there.
 */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/registry.h"
#include "base/process.h"
#include "base/text.h"
#include "conform/conform.h"
#include "network/proc.h"
#include "plan/bring.h"
#include "run/exit.h"
#include "run/rundir.h"
#include "plan/settings.h"
#include "theory/theory.h"
#include "theory/versions.h"

/* What has been said so far. TAP numbers its lines through all systems, people read a sum for each. */
enum { KINDS_MAX = 32, KIND_TEXT = 160, STATEMENTS_MAX = 128 };
struct suite {
  bool tap, many; /* many: more than one system, so each line of TAP has to name its own */
  const char *system;
  int statements, held, declared; /* of this system; declared: of those that held, by failing as declared */
  int points, failed, flaws;      /* of all of them; flaws: that failed as declared */
  /* How the statements of this system fail: each kind by the first that did so, and how many more. For people. */
  struct kind {
    char text[KIND_TEXT], statement[100];
    int more;
  } kinds[KINDS_MAX];
  int kind_count;
};

/* ---- words ----------------------------------------------------------------------------------- */

/* `lines` is several lines, each with its newline; what follows the last newline is left out. */
static void print_indented(const char *before, const char *lines) {
  for (const char *end; *lines && (end = strchr(lines, '\n')); lines = end + 1)
    printf("%s%.*s\n", before, (int)(end - lines), lines);
}

static void print_tap(const struct suite *s, const struct lb_conform_result *r) {
  printf("%s %d - %s%s%s\n", r->holds ? "ok" : "not ok", s->points, s->many ? s->system : "", s->many ? ": " : "",
         r->statement);
  if (r->note[0]) printf("# %s\n", r->note);
  if (r->holds && r->declared[0]) printf("# fails as declared, because %s\n", r->declared);
  if (r->why[0]) printf("# %s\n", r->why);
  print_indented("# | ", r->output);
}

/* What two failures have in common that come from one mistake: what was expected and the word that came, without
 * numbers, tokens and which client. */
static void kind_of(const char *why, char *buf, size_t size) {
  static const char read[] = ", read '";
  const char *end = strstr(why, read), *client = strstr(why, " (");
  size_t length = 0;
  if (end) {
    end += strlen(read);
    end += strspn(end, "0123456789 ");
    end += strcspn(end, " '");
  } else {
    end = client ? client : why + strlen(why);
  }
  for (const char *at = why; at < end && length + 1 < size; at++)
    if (*at < '0' || *at > '9') buf[length++] = *at;
  buf[length] = '\0';
}

/* Whether an earlier statement failed like that; else it is the first of its kind. */
static bool follows(struct suite *s, const struct lb_conform_result *r) {
  char text[KIND_TEXT];
  kind_of(r->why, text, sizeof text);
  for (int i = 0; i < s->kind_count; i++)
    if (strcmp(s->kinds[i].text, text) == 0) return ++s->kinds[i].more, true;
  if (s->kind_count == KINDS_MAX) return false;
  struct kind *kind = &s->kinds[s->kind_count++];
  *kind = (struct kind){0};
  snprintf(kind->text, sizeof kind->text, "%s", text);
  snprintf(kind->statement, sizeof kind->statement, "%s", r->statement);
  return false;
}

/* Called for each statement as soon as it is decided. */
static void print_result(void *data, const struct lb_conform_result *r) {
  struct suite *s = data;
  s->statements++;
  s->points++;
  s->held += r->holds;
  s->declared += r->holds && r->declared[0];
  s->flaws += r->holds && r->declared[0];
  s->failed += !r->holds;
  if (s->tap) {
    print_tap(s, r);
  } else if (r->holds || !follows(s, r)) {
    printf("%s %s%s%s", r->holds ? "ok  " : "FAIL", r->statement, r->why[0] ? ": " : "", r->why);
    if (r->note[0]) printf(" (%s)", r->note);
    putchar('\n');
    if (r->holds && r->declared[0]) printf("     fails as declared, because %s\n", r->declared);
    print_indented("     | ", r->output);
  }
  fflush(stdout); /* the next one may take its time */
}

static void print_sum(const struct suite *s) {
  printf("%s: %d of %d statements hold", s->system, s->held - s->declared, s->statements);
  if (s->declared) printf(", %d fail%s as declared", s->declared, s->declared == 1 ? "s" : "");
  putchar('\n');
  for (int i = 0; i < s->kind_count; i++)
    if (s->kinds[i].more)
      printf("%d more fail%s as \"%s\" does (--tap prints them)\n", s->kinds[i].more, s->kinds[i].more == 1 ? "s" : "",
             s->kinds[i].statement);
}

/* What the words at the begin of the lines mean, and last the count, which readers look for there. */
static void print_end(const struct suite *s, int systems) {
  printf("\n%s%s%s%d failure%s of %d statement%s on %d system%s\n",
         s->points > s->failed ? "ok: the lock does as the statement says\n" : "",
         s->failed ? "FAIL: it does not; behind the colon what was expected, and what came\n" : "",
         s->flaws ? "fails as declared: a flaw that the lock says it has, and that showed\n" : "", s->failed,
         s->failed == 1 ? "" : "s", s->points, s->points == 1 ? "" : "s", systems, systems == 1 ? "" : "s");
}

/* ---- one system ------------------------------------------------------------------------------ */

/* All statements on one system. LB_EXIT_OK, LB_EXIT_UNEXPECTED if some do not hold, LB_EXIT_FAILURE
 * after a complaint if they could not be tried. */
static int run_system(struct suite *s, const struct lb_system *system, const struct lb_conform_order *order,
                      const struct lb_rundir *dir) {
  const struct lb_args *args = order->args;
  struct lb_error err;
  struct lb_conform_plan plan = {.protocol = system->protocol,
                                 .topology = system->topology,
                                 .dir = dir,
                                 .only = order->only,
                                 .adapter = order->adapter};
  union lb_value *options = lb_settings_options(system->protocol, args->settings, args->setting_count);
  if (!options) return lb_complain(LB_EXIT_FAILURE, "%s %s: no memory", args->argv[0], system->name);
  plan.options = options;
  s->system = system->name;
  s->statements = s->held = s->declared = s->kind_count = 0;
  int r = order->said ? lb_conform_run(&plan, order->said, order->data, &err)
                      : lb_conform_run(&plan, print_result, s, &err);
  free(options);
  if (r < 0) return lb_complain(LB_EXIT_FAILURE, "%s %s: %s", args->argv[0], system->name, err.text);
  if (order->only && !order->said && s->statements == 0)
    return lb_complain(LB_EXIT_USAGE,
                       "%s %s: none of these statements can be asked of it: it lacks what they are about",
                       args->argv[0], system->name);
  if (!s->tap && !order->said) print_sum(s);
  return s->held == s->statements ? LB_EXIT_OK : LB_EXIT_UNEXPECTED;
}

/* A system whose servers are not there: a skip for TAP, a line for people. */
static int miss(struct suite *s, const char *command, const struct lb_system *system, const char *lacks) {
  if (!s->tap) return lb_complain(LB_EXIT_MISSING, "%s %s: %s", command, system->name, lacks);
  printf("ok %d - %s # SKIP %s\n", ++s->points, system->name, lacks);
  return LB_EXIT_OK;
}

/* NULL: nothing. */
static const char *lacks_of(const struct lb_system *system, char *buf, size_t size) {
  const char *missing = lb_topology_missing(system->topology);
  if (missing) return snprintf(buf, size, "needs %s, which is not on this machine", missing), buf;
  return lb_versions_meet(system->protocol, system->topology, buf, size) ? NULL : buf;
}

/* The worst that came: something that does not hold, then a failure of ours, then something missing. */
static int worse(int a, int b) {
  static const int order[] = {LB_EXIT_UNEXPECTED, LB_EXIT_FAILURE, LB_EXIT_USAGE, LB_EXIT_MISSING};
  for (size_t i = 0; i < sizeof order / sizeof *order; i++)
    if (a == order[i] || b == order[i]) return order[i];
  return LB_EXIT_OK;
}

/* ---- who is stopped says so; the guardian clears up --------------------------------------------------------------- */

static pid_t tool;

static void on_stop(int number) {
  static const char line[] = "\nlockbench: interrupted while it tested the statements: of these nothing is kept\n";
  if (getpid() == tool) _exit(write(STDERR_FILENO, line, sizeof line - 1) < 0 ? LB_EXIT_FAILURE : LB_EXIT_STOPPED);
  signal(number, SIG_DFL); /* a client, which is forked */
  raise(number);
}

static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
enum { STOPS = sizeof stops / sizeof *stops };

/* `old`: what was there before. A signal that is ignored stays so. */
static void say_stops(struct sigaction old[STOPS]) {
  tool = getpid();
  for (int i = 0; i < STOPS; i++) {
    sigaction(stops[i], NULL, &old[i]);
    if (old[i].sa_handler == SIG_DFL) sigaction(stops[i], &(struct sigaction){.sa_handler = on_stop}, NULL);
  }
}

static void unsay_stops(const struct sigaction old[STOPS]) {
  for (int i = 0; i < STOPS; i++) sigaction(stops[i], &old[i], NULL);
}

/* The folder for the servers' files is a run folder that is never committed, so its guardian removes it even if the
 * tool is killed. The plan of TAP, "1..N", stands at the end: how many statements apply is only known then. */
int lb_cli_conform_systems(const struct lb_conform_order *order) {
  const struct lb_args *args = order->args;
  int count = order->count;
  struct suite suite = {.tap = args->tap, .many = count > 1};
  struct lb_rundir dir;
  struct lb_error err;
  int code = LB_EXIT_OK, tried = 0;
  const char *tmp = getenv("TMPDIR");
  struct sigaction old[STOPS];
  say_stops(old);
  if (lb_rundir_open(&dir, tmp && *tmp ? tmp : "/tmp", "conform", NULL, &err) < 0) {
    unsay_stops(old);
    return lb_complain(LB_EXIT_FAILURE, "%s", err.text);
  }
  for (int i = 0; i < count; i++) {
    char buf[300];
    const char *missing = lacks_of(&order->systems[i], buf, sizeof buf);
    if (i > 0 && !args->tap && !order->said) putchar('\n');
    int r = missing ? miss(&suite, args->argv[0], &order->systems[i], missing)
                    : run_system(&suite, &order->systems[i], order, &dir);
    tried += !missing;
    if (!missing || order->named) code = worse(code, r); /* of a plugin's topologies those count that are here */
  }
  lb_rundir_close(&dir);
  unsay_stops(old);
  if (args->tap) printf("1..%d\n", suite.points);
  else if (!order->said && suite.points > 0) print_end(&suite, tried);
  return tried == 0 && !args->tap ? LB_EXIT_MISSING : code;
}

/* ---- which systems --------------------------------------------------------------------------- */

/* What was loaded with --plugin, on everything it can run on. How many, or -1 after a complaint. */
static int plugin_systems(struct lb_system *systems, int max) {
  struct lb_error err;
  char name[160];
  int count = 0;
  const struct lb_protocol *p;
  for (size_t i = 0; (p = lb_protocol_at(i)); i++)
    for (const char *const *t = p->topologies; lb_protocol_is_plugin(p) && *t && count < max; t++) {
      snprintf(name, sizeof name, "%s@%s", p->name, *t);
      if (lb_system_parse(name, &systems[count++], &err) < 0) return lb_complain(-1, "%s", err.text);
    }
  if (count == 0)
    lb_complain(0, "conform: expected a PROTOCOL, PROTOCOL@TOPOLOGY or --plugin FILE, see `%s list protocols`",
                lb_process_called());
  return count ? count : -1;
}

/* A protocol alone means the first topology that it names (plan/system.h). */
static int named_systems(const struct lb_args *args, struct lb_system *systems) {
  struct lb_error err;
  for (int i = 0; i < args->word_count; i++)
    if (lb_system_parse(args->words[i], &systems[i], &err) < 0) return lb_complain(-1, "%s", err.text);
  return args->word_count;
}

/* Options of protocols only: no scenario is here to have other keys. */
int lb_cli_check_options(const struct lb_args *args) {
  struct lb_error err;
  for (size_t i = 0; i < args->setting_count; i++) {
    const char *equals = strchr(args->settings[i], '='), *dot = strchr(args->settings[i], '.');
    if (!equals || !dot || dot > equals)
      return lb_complain(LB_EXIT_USAGE, "-s %s: expected PROTOCOL.OPTION=VALUE, as `%s show PROTOCOL` lists them",
                         args->settings[i], lb_process_called());
  }
  return lb_settings_check(args->settings, args->setting_count, &err) < 0 ? lb_complain(LB_EXIT_USAGE, "%s", err.text)
                                                                          : 0;
}

int lb_cli_check_locks(const struct lb_args *args, const struct lb_system *systems, int count) {
  for (int i = 0; i < count; i++)
    if (systems[i].protocol->traits & LB_TRAIT_FLOOR)
      return lb_complain(LB_EXIT_USAGE, "%s %s: is no lock but the floor under one: it has a speed and nothing else",
                         args->argv[0], systems[i].name);
  return 0;
}

/* Those whose text has this word in it, added to what is there. How many. */
static size_t add_statements(bool of_adapter, const char *word, const char **only, size_t count) {
  size_t before = count;
  const struct lb_conform_statement *s;
  for (size_t k = 0; (s = lb_conform_statement_at(of_adapter, k)) && count < STATEMENTS_MAX - 1; k++)
    if (strstr(s->text, word)) only[count++] = s->text;
  only[count] = NULL;
  return count - before;
}

/* The statement that a misspelt text means. For some words of a statement, one of them misspelt: the first statement
 * that has most of them. NULL = none. */
static const char *nearest_statement(const char *text) {
  const char *all[STATEMENTS_MAX], *best = NULL;
  size_t count = add_statements(false, "", all, 0), most = 0;
  const char *near = lb_text_suggest(text, all, count);
  for (size_t i = 0; !near && i < count; i++) {
    size_t common = 0, length;
    for (const char *at = text; *at; at += length, at += strspn(at, " ")) {
      char word[100];
      length = strcspn(at, " ");
      snprintf(word, sizeof word, "%.*s", (int)length, at);
      common += length > 2 && strstr(all[i], word);
    }
    if (common > most) most = common, best = all[i];
  }
  return near ? near : best;
}

/* The statements that --only names. False after a complaint. */
static bool only_statements(const char *word, const char **only) {
  if (add_statements(false, word, only, 0) > 0) return true;
  const char *near = nearest_statement(word);
  lb_complain(0, "conform --only '%s': no statement has this in it%s%s%s", word, near ? ", did you mean '" : "",
              near ? near : ": without --only all are tried, and printed", near ? "'?" : "");
  return false;
}

/* ---- an adapter ------------------------------------------------------------------------------ */

/* A program that cannot be called is a mistake of the user. An unreadable first line is a mistake of the adapter: its
 * first statement fails. */
static int refuse_first_line(const struct lb_args *args, bool spoke, const char *err) {
  const char *first = lb_conform_statement_at(true, 0)->text;
  if (!spoke) return lb_complain(LB_EXIT_USAGE, "conform '%s': %s", args->words[0], err);
  if (args->tap) printf("not ok 1 - %s\n# %s\n1..1\n", first, err);
  else printf("FAIL %s: %s\n", first, err);
  return LB_EXIT_UNEXPECTED;
}

/* NULL: *ret_code is what the command ends with. */
static const struct lb_protocol *hear(const struct lb_args *args, int *ret_code) {
  struct lb_error err;
  int r;
  const struct lb_protocol *protocol = lb_bring_adapter(args->words[0], &r, &err);
  if (!protocol) *ret_code = refuse_first_line(args, r == 0 || r == -EPROTO, err.text);
  return protocol;
}

/* Those of -b, or the first that it names. How many; -1 after a complaint. */
static int choose_systems(const struct lb_protocol *protocol, const char *topologies, struct lb_system *systems,
                          int max) {
  struct lb_error err;
  char name[160];
  int count = 0;
  for (const char *at = topologies ? topologies : protocol->topologies[0]; *at && count < max; at += *at == ',') {
    int length = (int)strcspn(at, ",");
    snprintf(name, sizeof name, "%s@%.*s", protocol->name, length, at);
    if (lb_system_parse(name, &systems[count++], &err) < 0) return lb_complain(-1, "conform: %s", err.text);
    at += length;
  }
  return count ? count : lb_complain(-1, "conform -b: expected TOPOLOGY,...");
}

/* Those whose text has one of the words behind CMD in it. False after a complaint. */
static bool choose_statements(const struct lb_args *args, const char **only) {
  size_t count = 0, added;
  for (int i = 1; i < args->word_count; i++, count += added) {
    added = add_statements(true, args->words[i], only, count);
    if (added == 0)
      return lb_complain(0, "conform: no statement has '%s' in it; without one, all are tried", args->words[i]), false;
  }
  return true;
}

/* Names the topologies that the protocol lists and this call did not try. A result for one says nothing of another. */
static void say_not_tried(const struct lb_args *args, const struct lb_protocol *protocol,
                          const struct lb_system *systems, int count) {
  char list[400] = "";
  for (const char *const *t = protocol->topologies; *t; t++) {
    bool tried = !lb_topology_find(*t); /* what is no topology is a FAIL already */
    for (int i = 0; i < count; i++) tried |= strcmp(systems[i].topology->name, *t) == 0;
    size_t length = strlen(list);
    if (!tried) snprintf(list + length, sizeof list - length, "%s%s", length ? "," : "", *t);
  }
  if (!list[0]) return;
  printf("%snot tried: ", args->tap ? "# " : "");
  for (const char *at = list; *at; at++) printf(*at == ',' ? ", " : "%c", *at);
  printf(": add -b %s\n", list);
}

static int try_adapter(const struct lb_args *args) {
  static struct lb_system systems[LB_ARGS_MAX];
  const char *only[STATEMENTS_MAX];
  int code = LB_EXIT_USAGE;
  if (!choose_statements(args, only)) return LB_EXIT_USAGE;
  const struct lb_protocol *protocol = hear(args, &code);
  if (!protocol) return code;
  int count = choose_systems(protocol, args->systems, systems, LB_ARGS_MAX);
  struct lb_conform_order order = {.args = args,
                                   .systems = systems,
                                   .count = count,
                                   .named = true,
                                   .adapter = true,
                                   .only = args->word_count > 1 ? only : NULL};
  if (count < 0) return LB_EXIT_USAGE;
  say_not_tried(args, protocol, systems, count);
  return lb_cli_conform_systems(&order);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* What no name of a system looks like. */
static bool is_command(const char *word) {
  char *found = strpbrk(word, " \t/") || lb_protocol_find(word) ? NULL : lb_proc_find(word, NULL);
  bool in_path = found;
  free(found);
  return in_path || strpbrk(word, " \t/");
}

/* Settings are checked before a server is started, and before a topology is missed: a misspelt
 * option is the user's mistake on every machine. */
static int conform_command(const struct lb_args *args) {
  static struct lb_system systems[LB_ARGS_MAX];
  int r = lb_cli_check_options(args);
  if (r) return r;
  if (args->word_count && is_command(args->words[0])) return try_adapter(args);
  if (args->systems)
    return lb_complain(LB_EXIT_USAGE, "conform -b %s: expected the command of an adapter before it", args->systems);
  int count = args->word_count ? named_systems(args, systems) : plugin_systems(systems, LB_ARGS_MAX);
  const char *only[STATEMENTS_MAX];
  struct lb_conform_order order = {.args = args,
                                   .systems = systems,
                                   .count = count,
                                   .named = args->word_count > 0,
                                   .only = args->only ? only : NULL};
  if (count < 0 || lb_cli_check_locks(args, systems, count)) return LB_EXIT_USAGE;
  if (args->only && !only_statements(args->only, only)) return LB_EXIT_USAGE;
  return lb_cli_conform_systems(&order);
}

const struct lb_cli_command lb_command_conform = {
    "conform",
    conform_command,
    LB_ARG_PLUGIN | LB_ARG_TAP | LB_ARG_ADAPTER,
    "[SYSTEM...|CMD [WORDS...]]",
    "tests protocols against the contract (backends/backend.h), or an adapter against the line protocol (peers/README.md)",
    "SYSTEM is PROTOCOL or PROTOCOL@TOPOLOGY. Without one, the plugin is tested on each of its topologies.\n"
    "CMD is a program in PATH, or has a blank or a slash in it. It is called in a shell, once per client. WORDS: only statements with one of these words.\n"
    "docs/adding-a-lock.md explains each failure.\n"
    "exit: 0 all hold, 1 failure of the harness, 2 usage or no adapter, 3 some do not, 5 servers are missing\n"};
