/* SPDX-License-Identifier: MIT
 *
 * Options from one table. A row says which commands take an option, and its kind says where the value goes; parsing,
 * help and suggestions all read the row. getopt_long() is not used: it takes abbreviations, and here "--see" is a
 * mistake with a suggestion, not another way to write --seed. It would also need a second table for the help.
 *
 * The same option may have two rows, one for each group of commands that gives it a meaning.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/need.h"
#include "base/process.h"
#include "base/text.h"
#include "cli.h"
#include "plan/bring.h"
#include "scenario/scenario.h"
#include "theory/theory.h"
#include "version.h"

/* What becomes of a value. The first four go to a field of struct lb_args; two rows may name the same one. */
enum kind {
  FLAG,
  TEXT,
  LIST,
  COUNT,
  GUARD,
  SETTING,
  SEED,
  PLUGIN,
  EXEC,
  EXPECT,
  STORAGE,
  FAULTS,
  BUDGET,
  LEASE,
  OWN_SERVERS,
  HELP
};
#define AT(member) offsetof(struct lb_args, member)

enum { TEXT_MAX = 8192 };

/* --help belongs to every command: no row has to name it. */
#define EVERY_COMMAND (1u << 31)

static const struct lb_cli_option table[] = {
    /* an option twice: what it means depends on the command */
    {"-b", "--systems", LIST, LB_ARG_RUN, "SYSTEM,...", "runs only these systems: PROTOCOL@TOPOLOGY or PROTOCOL",
     AT(systems)},
    {"-b", "--systems", LIST, LB_ARG_SHOW, "SYSTEM,...",
     "of a scenario: what it expects of these systems, and no others", AT(systems)},
    {"-b", "--topologies", LIST, LB_ARG_ADAPTER, "TOPOLOGY,...",
     "tries an adapter on these (default: the first that it names)", AT(systems)},
    {"-b", "--topologies", LIST, LB_ARG_JUDGE, "TOPOLOGY,...",
     "asks on these servers (default: of your own lock all that it names and this machine has)", AT(systems)},
    {"-g", "--guard", GUARD, LB_ARG_HUNT, "GUARD",
     "looks for what breaks under this guard (default: none): " LB_GUARD_NAMES},
    {"-g", "--guard", GUARD, LB_ARG_WHICH, "GUARD",
     "asks for what is safe under this guard (default: none): " LB_GUARD_NAMES},
    {"--on", NULL, LIST, LB_ARG_WHICH, "SERVERS,...",
     "locks on these servers: topologies, or the beginning of their names as in zk, pg (default: all)", AT(on)},
    {"--survive", NULL, LIST, LB_ARG_WHICH, "FAULT,...",
     "scenarios, attacks of scenarios/theory/rules.ini, folders of scenarios as in clock, or the beginning of their names",
     AT(survive)},
    {"-n", "--trials", COUNT, LB_ARG_RUN, "TRIALS",
     "trials of each cell, for each number of clients (default: the scenario says)", AT(trials), 1, 100000},
    {"-n", "--trials", COUNT, LB_ARG_JUDGE, "TRIALS", "asks each question so often (default: 1)", AT(trials), 1,
     100000},
    {"--from", NULL, TEXT, LB_ARG_HUNT, "DIR",
     "takes the faults of a violated trial of this results folder, and finds the smallest timeline that still breaks the lock",
     AT(from)},
    {"-n", "--trials", COUNT, LB_ARG_HUNT, "TRIALS",
     "with --from: plays each timeline so often, the last one four times as often (default: 5)", AT(trials), 1, 100000},
    {"-g", "--guard", GUARD, LB_ARG_RUN, "GUARD,...", "runs only these guards: " LB_GUARD_NAMES},
    {"-s", "--set", SETTING, LB_ARG_RUN, "KEY=VALUE",
     "sets a key of the scenario, as in ttl_ms=5000, or PROTOCOL.OPTION=VALUE; several values, as in hold_ms=0,1, side by side"},
    {"-s", "--set", SETTING, LB_ARG_TAP | LB_ARG_COST | LB_ARG_HUNT | LB_ARG_JUDGE, "OPTION=VALUE",
     "PROTOCOL.OPTION=VALUE, as `show PROTOCOL` lists them"},
    {"-j", "--jobs", COUNT, LB_ARG_RUN | LB_ARG_HUNT | LB_ARG_JUDGE, "JOBS",
     "trials side by side (trials that measure speed run alone)", AT(jobs), 1, 64},
    {"-o", "--out", TEXT, LB_ARG_RUN | LB_ARG_JUDGE | LB_ARG_MERGE, "DIR", "results folder (must be new)", AT(out)},
    {"-o", "--out", TEXT, LB_ARG_HUNT, "DIR",
     "results folder; continues a hunt whose journal is there (default: results/hunt-SEED)", AT(out)},
    {"--faults", NULL, FAULTS, LB_ARG_HUNT, "K", "timelines of at most so many faults: 0 to 3 (default: 2)", AT(faults),
     0, 3},
    {"--budget", NULL, BUDGET, LB_ARG_RUN, "TIME",
     "begins no trial after so long, as in 90s, 10m, 2h. Decided trials are kept, --resume plays on (default: when it is whole)"},
    {"--again", NULL, FLAG, LB_ARG_RUN | LB_ARG_JUDGE, NULL,
     "plays a trial that came out undecided once more at the end, with the same seed; only that one counts (default: it stays undecided)",
     AT(again)},
    {"--budget", NULL, BUDGET, LB_ARG_HUNT, "TIME",
     "ends after so long, as in 90s, 10m, 2h; of several systems each gets its share (default: when it is whole)"},
    {"--without", NULL, LIST, LB_ARG_HUNT, "WORD,...",
     "leaves out kinds of faults by the first words of their ids, client-3, and the order by lineage, as in restart,kill,client-3. What is left out is not known to be harmless",
     AT(without)},
    {"--only", NULL, TEXT, LB_ARG_TAP, "STATEMENT", "tests those statements alone that have this in their text",
     AT(only)},
    {"--only", NULL, TEXT, LB_ARG_HUNT, "ID", "one timeline, by its id, several times", AT(only)},
    {"--list", NULL, FLAG, LB_ARG_HUNT, NULL, "prints the timelines, each with what is done with it, and runs none",
     AT(list)},
    {"--seed", NULL, SEED, LB_ARG_HUNT, "N",
     "seed of the order and of the trials: the same one gives the same order (default: 1)"},
    {"--expect", NULL, EXPECT, LB_ARG_RUN, "VERDICT",
     "your expectation where the scenario has none: safe, violated, stuck or delayed; GUARD=VERDICT for one guard"},
    {"--baseline", NULL, TEXT, LB_ARG_JUDGE, "FILE",
     "exit 0 if nothing is worse than there: the JUnit file, or the results folder, of an earlier judge", AT(baseline)},
    {"--junit", NULL, TEXT, LB_ARG_RUN | LB_ARG_JUDGE | LB_ARG_MERGE, "FILE",
     "writes a JUnit file for CI, too: a testcase per cell (docs/commands.md)", AT(junit)},
    {"--strict", NULL, FLAG, LB_ARG_RUN, NULL,
     "a lock of --plugin or --exec that is not as predicted from its facts fails the run (default: it is only said)",
     AT(strict)},
    {"--seed", NULL, SEED, LB_ARG_RUN | LB_ARG_JUDGE, "N",
     "seed of the random order and of random faults: the same seed draws the same, at other moments"},
    {"--resume", NULL, TEXT, LB_ARG_RUN | LB_ARG_JUDGE, "DIR",
     "plays what is left of a run that was stopped, in its folder; beside it only -j, -v, --json, and of `run` and `suite` --budget",
     AT(resume)},
    {"--shard", NULL, TEXT, LB_ARG_RUN, "I/N",
     "plays part I of N of the run, to be put together by `merge` (default: what a Slurm array, mpirun or srun says); needs --seed",
     AT(shard)},
    {"--shard", NULL, TEXT, LB_ARG_HUNT, "I/N",
     "looks at part I of N of the timelines with two faults or more (default: as the environment says). The same command without it puts the parts in -o together",
     AT(shard)},
    {"--keep-logs", NULL, FLAG, LB_ARG_RUN, NULL,
     "keeps the logs of every trial (default: of those that are not as expected)", AT(keep_logs)},
    {"--hook", NULL, TEXT, LB_ARG_RUN, "CMD",
     "does what a step `operator` orders: a command of sh, with LOCKBENCH_ORDER and LOCKBENCH_SERVERS (default: a person, who presses Enter)",
     AT(hook)},
    {"--reuse", NULL, FLAG, LB_ARG_RUN, NULL,
     "plays timelines one after the other on the same servers if nothing of one reaches the next (default: fresh servers for each trial)",
     AT(reuse)},
    {"--against", NULL, TEXT, LB_ARG_AGAINST, "LOCKBENCH",
     "takes turns with another build, -n rounds of a trial each, and compares what both measured; A is the other one",
     AT(against)},
    {"--json", NULL, FLAG, LB_ARG_JSON, NULL, "JSON on stdout instead of text (results/SCHEMA.md)", AT(json)},
    {"--markdown", NULL, FLAG, LB_ARG_LIST, NULL, "steps, guards, keys, counters or facts as a table of Markdown",
     AT(markdown)},
    {"--for", NULL, TEXT, LB_ARG_LIST, "TOPOLOGY",
     "of scenarios: which can be asked there, also of own-redis and its like, and what the others lack. Or SYSTEM",
     AT(where)},
    {"-v", "--verbose", FLAG, LB_ARG_RUN | LB_ARG_HUNT | LB_ARG_JUDGE | LB_ARG_MERGE, NULL,
     "a line for every trial, and all tables at the end (default: how far it is, in a pipe every 30 s; of many cells one screen)",
     AT(verbose)},
    {"--trial", NULL, COUNT, LB_ARG_TRIAL, "N", "tells trial N (default: the first of the worst)", AT(trial), 1,
     100000},
    {"--trial", NULL, COUNT, LB_ARG_HUNT, "N", "with --from: trial N (default: the first violated trial)", AT(trial), 1,
     100000},
    {"--all", NULL, FLAG, LB_ARG_ALL, NULL, "tells every cell as JSON, for report.html (results/SCHEMA.md)", AT(all)},
    {"--past-lease", NULL, FLAG, LB_ARG_PAST_LEASE, NULL,
     "counts overlaps that began after the lease had ended (default: undecided)", AT(past_lease)},
    {"--lease", NULL, LEASE, LB_ARG_PAST_LEASE, "TIME",
     "each hold of this history ends with its lease, which is so long where none is said, as in 3s or 500ms"},
    {"--as", NULL, TEXT, LB_ARG_PAST_LEASE, "NAME=OPERATION,...",
     "operations of another name: lock=acquire,unlock=release (acquire, release, refresh, extend)", AT(as)},
    {"--export", NULL, TEXT, LB_ARG_EXPORT, "json", "prints the events as JSON lines and judges nothing", AT(export)},
    {"--plugin", NULL, PLUGIN, LB_ARG_RUN, "FILE",
     "adds a protocol from a shared library; without -b, only plugins run"},
    {"--plugin", NULL, PLUGIN, LB_ARG_PLUGIN | LB_ARG_HUNT, "FILE", "adds a protocol from a shared library"},
    {"--exec", NULL, EXEC, LB_ARG_RUN, "CMD",
     "adds the lock of a foreign program, which speaks the line protocol of peers/README.md; without -b, only that runs"},
    {"--exec", NULL, EXEC, LB_ARG_PLUGIN | LB_ARG_HUNT, "CMD", "adds the lock of a foreign program (peers/README.md)"},
    {"--anyway", NULL, FLAG, LB_ARG_ANYWAY, NULL,
     "compares runs of other machines or settings, and says what differs (default: refused)", AT(anyway)},
    {"--cost", NULL, FLAG, LB_ARG_COST, NULL,
     "starts the servers and counts what a lock costs (PROTOCOL or PROTOCOL@TOPOLOGY)", AT(cost)},
    {"--hosts", NULL, COUNT, LB_ARG_SERVE, "N",
     "hosts of clients (default: 1); the command runs on the first, `nsenter --net=$LOCKBENCH_CLIENT_2` is on the second",
     AT(hosts), 1, 64},
    {"--storage", NULL, STORAGE, LB_ARG_SERVE, "WHERE",
     "where servers keep their data: memory or disk (default: memory, with --speed disk)"},
    {"--speed", NULL, FLAG, LB_ARG_SERVE, NULL, "servers with the settings of a user, as where speed is measured",
     AT(speed)},
    {"--clocks", NULL, FLAG, LB_ARG_SERVE, NULL, "servers whose clocks can be set, for the step clock", AT(clocks)},
    {"--ttl", NULL, COUNT, LB_ARG_SERVE, "MS",
     "lease or session timeout that the servers have to allow (default: 10000)", AT(ttl_ms), 10, 3600000},
    {"--tap", NULL, FLAG, LB_ARG_TAP, NULL, "prints TAP, for a test suite", AT(tap)},
    {"--redis", NULL, OWN_SERVERS, LB_ARG_OWN, "HOST:PORT,...",
     "servers of your own instead of ones that are started: one Redis, or several for locks that ask a majority"},
    {"--sentinel", NULL, OWN_SERVERS, LB_ARG_OWN, "HOST:PORT,...=NAME",
     "your own Sentinels, and the NAME of the master that they watch"},
    {"--redis-cluster", NULL, OWN_SERVERS, LB_ARG_OWN, "HOST:PORT,...",
     "a server of your own Redis Cluster, or several"},
    {"--zookeeper", NULL, OWN_SERVERS, LB_ARG_OWN, "HOST:PORT,...", "your own ZooKeeper ensemble"},
    {"--postgres", NULL, OWN_SERVERS, LB_ARG_OWN, "CONNINFO",
     "your own PostgreSQL, as in 'host=db.example.org dbname=test user=me', without the password"},
    {"--mariadb", NULL, OWN_SERVERS, LB_ARG_OWN, "HOST:PORT,...", "your own MariaDB, and its replicas"},
    {"--etcd", NULL, OWN_SERVERS, LB_ARG_OWN, "HOST:PORT,...", "your own etcd cluster"},
    {"--memcached", NULL, OWN_SERVERS, LB_ARG_OWN, "HOST:PORT", "your own memcached"},
    {"--nats", NULL, OWN_SERVERS, LB_ARG_OWN, "HOST:PORT,...", "your own NATS, with JetStream"},
    {"--auth", NULL, TEXT, LB_ARG_OWN, "FILE",
     "logins for them: sections [redis], [sentinel], [zookeeper], [postgres], [mariadb], [etcd], [nats] with user= and password=; tls=yes and ca=FILE for PostgreSQL, MariaDB and etcd",
     AT(auth)},
    {"--operator", NULL, TEXT, LB_ARG_OWN, "FILE",
     "what may be done to them, and by which commands (docs/own-servers.md): killed, paused or cut off, and undone",
     AT(operator_file)},
    {"--yes", NULL, FLAG, LB_ARG_CONSENT, NULL, "allows these commands (default: they are shown, and you are asked)",
     AT(yes)},
    {"--list", NULL, FLAG, LB_ARG_CONSENT, NULL, "shows these commands and gives none", AT(list)},
    {"-h", "--help", HELP, EVERY_COMMAND, NULL, "this help"},
};
enum { TABLE_COUNT = sizeof table / sizeof *table };

static void __attribute__((format(printf, 3, 0)))
print_line(FILE *out, const char *prefix, const char *format, va_list args) {
  char line[TEXT_MAX], shown[TEXT_MAX];
  vsnprintf(line, sizeof line, format, args);
  lb_text_printable(line, shown, sizeof shown);
  fprintf(out, "%s%s\n", prefix, shown);
}

int lb_complain(int code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  print_line(stderr, "lockbench: ", format, args);
  va_end(args);
  return code;
}

void lb_cli_say(const char *format, ...) {
  va_list args;
  va_start(args, format);
  print_line(stdout, "", format, args);
  va_end(args);
}

/* strtoull() alone would take blanks, a sign and "-1" as a very large number. */
static bool whole_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret) {
  char *end;
  errno = 0;
  if (*text < '0' || *text > '9') return false;
  unsigned long long value = strtoull(text, &end, 10);
  *ret = value;
  return errno == 0 && *end == '\0' && value >= min && value <= max;
}

static int set_number(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *ret) {
  if (whole_number(text, min, max, ret)) return 0;
  return lb_complain(LB_EXIT_USAGE, "%s %s: expected a whole number from %llu to %llu", name, text,
                     (unsigned long long)min, (unsigned long long)max);
}

/* ---- lists ------------------------------------------------------------------------------------ */

/* "SYSTEM,...": takes several, with commas or by being given again. */
static bool is_list(const struct lb_cli_option *arg) {
  const char *dots = arg->value ? strstr(arg->value, ",...") : NULL;
  return dots && !dots[4];
}

/* Those that mean more each time, without being a list. */
static bool is_repeated(const struct lb_cli_option *arg) {
  return arg->kind == SETTING || arg->kind == PLUGIN || arg->kind == EXEC || arg->kind == EXPECT;
}

/* The second one makes a text of both, which lives as long as the process. */
static int add_to_list(const char **list, const char *value) {
  static char *texts[LB_ARGS_MAX];
  static size_t count;
  if (!*list) return *list = value, 0;
  if (count == LB_ARGS_MAX) return lb_complain(LB_EXIT_USAGE, "%s: given more than %d times", value, LB_ARGS_MAX);
  *list = texts[count++] = lb_need_printed("%s,%s", *list, value);
  return 0;
}

/* An empty text is never meant: it is what a variable held that was not set. */
static int check_value(const struct lb_cli_option *arg, const char *name, const char *value, bool *given) {
  size_t length = strlen(value);
  bool again = *given;
  *given = true;
  if (length == 0) return lb_complain(LB_EXIT_USAGE, "%s '': expected %s", name, arg->value);
  if (again && !is_list(arg) && !is_repeated(arg))
    return lb_complain(LB_EXIT_USAGE, "%s %s: given twice, expected one %s", name, value, arg->value);
  if (is_list(arg) && (*value == ',' || value[length - 1] == ',' || strstr(value, ",,")))
    return lb_complain(LB_EXIT_USAGE, "%s %s: an entry is empty, expected %s", name, value, arg->value);
  return 0;
}

static void run_alone(const struct lb_protocol *protocol, struct lb_args *args) {
  size_t length = strlen(args->plugins);
  snprintf(args->plugins + length, sizeof args->plugins - length, "%s%s", length ? "," : "", protocol->name);
}

/* The library is loaded while options are still being read, so the command finds its protocol like
 * any that is built in. */
static int set_plugin(const char *path, struct lb_args *args) {
  struct lb_error err;
  const struct lb_protocol *protocol = lb_bring_plugin(path, &err);
  if (!protocol) return lb_complain(LB_EXIT_USAGE, "--plugin %s", err.text);
  run_alone(protocol, args);
  return 0;
}

/* It is called once to hear what it is, so the command finds its lock like any other. */
static int set_exec(const char *command, struct lb_args *args) {
  struct lb_error err;
  int asked;
  const struct lb_protocol *protocol = lb_bring_adapter(command, &asked, &err);
  if (!protocol) return lb_complain(LB_EXIT_USAGE, "--exec '%s': %s", command, err.text);
  run_alone(protocol, args);
  return 0;
}

/* "fence=violated", or "violated" for `guard`. Such an expectation is for every system, as a line
 * `* = ...` of a scenario is. */
int lb_args_expect(const char *text, enum lb_guard guard, struct lb_expect *ret) {
  static const enum lb_verdict verdicts[] = {LB_SAFE, LB_VIOLATED, LB_STUCK, LB_DELAYED};
  enum { VERDICTS = sizeof verdicts / sizeof *verdicts };
  const char *equals = strchr(text, '='), *verdict = equals ? equals + 1 : text, *names[VERDICTS];
  char word[32];
  snprintf(word, sizeof word, "%.*s", equals ? (int)(equals - text) : 0, text);
  int named = equals ? lb_guard_find(word) : (int)guard;
  if (named < 0) return lb_complain(-1, "--expect %s: expected VERDICT, or GUARD=VERDICT with " LB_GUARD_NAMES, text);
  *ret =
      (struct lb_expect){.guard = (enum lb_guard)named, .system = (char *)"*", .reason = (char *)"said with --expect"};
  for (int i = 0; i < VERDICTS; i++) {
    names[i] = lb_verdict_name(verdicts[i]);
    if (strcmp(names[i], verdict) == 0) return ret->verdict = verdicts[i], 0;
  }
  const char *near =
      strncmp(verdict, "un", 2) == 0 ? NULL : lb_text_suggest(verdict, names, VERDICTS); /* unsafe: not safe */
  return lb_complain(-1, "--expect %s: expected safe, violated, stuck or delayed%s%s%s", text,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Which guard it will be for is not known yet (-g may follow), so it is taken apart here only to be refused in time. */
static int add_expect(const char *text, struct lb_args *args) {
  struct lb_expect expect;
  if (args->expect_count == LB_GUARD_COUNT)
    return lb_complain(LB_EXIT_USAGE, "--expect: at most %d times", LB_GUARD_COUNT);
  args->expects[args->expect_count++] = text;
  return lb_args_expect(text, LB_GUARD_NONE, &expect) < 0 ? LB_EXIT_USAGE : 0;
}

static int set_guard(const char *text, struct lb_args *args) {
  const char *names[LB_GUARD_COUNT];
  int guard = lb_guard_find(text);
  if (guard >= 0) return args->guards |= 1u << guard, 0;
  for (int i = 0; i < LB_GUARD_COUNT; i++) names[i] = lb_guard_name((enum lb_guard)i);
  const char *near = lb_text_suggest(text, names, LB_GUARD_COUNT);
  return lb_complain(LB_EXIT_USAGE, "-g %s: unknown guard, expected " LB_GUARD_NAMES "%s%s%s", text,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* A hunt takes one guard only, so a comma is part of an unknown name there. */
static int each_guard(const struct lb_cli_option *arg, const char *value, struct lb_args *args) {
  char one[64];
  int r = 0;
  if (!is_list(arg)) return set_guard(value, args);
  for (size_t length; r == 0 && *value; value += length + (value[length] == ',')) {
    length = strcspn(value, ",");
    snprintf(one, sizeof one, "%.*s", (int)length, value);
    r = set_guard(one, args);
  }
  return r;
}

static int set_own(const char *name, const char *value, struct lb_args *args) {
  int what = 0;
  while (strcmp(lb_own_kinds[what]->option, name) != 0) what++;
  return add_to_list(&args->own[what], value);
}

static int set_budget(const char *text, struct lb_args *args) {
  char *end = NULL;
  double value = *text >= '0' && *text <= '9' ? strtod(text, &end) : -1;
  double unit = !end || end[0] == '\0' || end[1] != '\0' ? 0
                : *end == 's'                            ? 1
                : *end == 'm'                            ? 60
                : *end == 'h'                            ? 3600
                                                         : 0;
  args->budget_s = value * unit;
  if (args->budget_s >= 1 && args->budget_s <= 1e6) return 0;
  return lb_complain(LB_EXIT_USAGE, "--budget %s: expected a time of at least a second, as in 90s, 10m or 2h", text);
}

static int set_lease(const char *text, struct lb_args *args) {
  char *end = NULL;
  double value = *text >= '0' && *text <= '9' ? strtod(text, &end) : 0;
  double unit_ms = !end                     ? 0
                   : strcmp(end, "ms") == 0 ? 1
                   : strcmp(end, "s") == 0  ? 1e3
                   : strcmp(end, "m") == 0  ? 6e4
                                            : 0;
  if (value * unit_ms >= 1 && value * unit_ms <= 1e9) return args->lease_ms = (int64_t)(value * unit_ms), 0;
  return lb_complain(LB_EXIT_USAGE, "--lease %s: expected a time of at least 1ms, as in 500ms, 3s or 2m", text);
}

static int set_count(const struct lb_cli_option *arg, const char *value, struct lb_args *args) {
  uint64_t number = 0;
  int r = set_number(arg->name, value, arg->min, arg->max, &number);
  *(int *)((char *)args + arg->field) = (int)number;
  return r;
}

/* 0, LB_WANTS_HELP, or LB_EXIT_USAGE after a complaint. */
static int set(const struct lb_cli_option *arg, const char *value, struct lb_args *args) {
  void *field = (char *)args + arg->field;
  switch (arg->kind) {
    case FLAG: return *(bool *)field = true, 0;
    case TEXT: return *(const char **)field = value, 0;
    case LIST: return add_to_list(field, value);
    case FAULTS: args->has_faults = true; return set_count(arg, value, args);
    case COUNT: return set_count(arg, value, args);
    case GUARD: return each_guard(arg, value, args);
    case PLUGIN: return set_plugin(value, args);
    case EXEC: return set_exec(value, args);
    case EXPECT: return add_expect(value, args);
    case STORAGE:
      args->storage = value;
      if (strcmp(value, "disk") == 0 || strcmp(value, "memory") == 0) return 0;
      return lb_complain(LB_EXIT_USAGE, "--storage %s: expected memory or disk", value);
    case BUDGET: return set_budget(value, args);
    case LEASE: return set_lease(value, args);
    case OWN_SERVERS: return set_own(arg->name, value, args);
    case SEED: args->has_seed = true; return set_number("--seed", value, 0, INT64_MAX, &args->seed);
    case SETTING:
      if (args->setting_count == LB_ARGS_MAX) return lb_complain(LB_EXIT_USAGE, "-s: at most %d times", LB_ARGS_MAX);
      args->settings[args->setting_count++] = value;
      return 0;
    case HELP: break;
  }
  return LB_WANTS_HELP;
}

/* Searches the options of this command only. An option of another command is as unknown here as one that does not
 * exist. */
static const struct lb_cli_option *find(const char *text, unsigned takes) {
  for (size_t i = 0; i < TABLE_COUNT; i++)
    if ((table[i].takes & takes) &&
        (strcmp(text, table[i].name) == 0 || (table[i].alias && strcmp(text, table[i].alias) == 0)))
      return &table[i];
  return NULL;
}

static int unknown_option(const char *command, const char *text, unsigned takes) {
  const char *words[2 * TABLE_COUNT];
  size_t count = 0;
  for (size_t i = 0; i < TABLE_COUNT; i++) {
    if (!(table[i].takes & takes)) continue;
    words[count++] = table[i].name;
    if (table[i].alias) words[count++] = table[i].alias;
  }
  const char *near = lb_text_suggest(text, words, count);
  if (near) return lb_complain(LB_EXIT_USAGE, "unknown option '%s', did you mean '%s'?", text, near);
  return lb_complain(LB_EXIT_USAGE, "unknown option '%s', see `%s %s --help`", text, lb_process_called(), command);
}

/* The word as "--name=value", "-nvalue" or a name alone. *ret_value NULL = its value is not in this
 * word but, if it takes one, in the next. */
static void split(const char *word, unsigned takes, char *name, size_t size, const char **ret_value) {
  char longer[64];
  bool is_long = strncmp(word, "--", 2) == 0;
  const char *equals = strchr(word, '=');
  size_t length = equals ? (size_t)(equals - word) : strlen(word);
  snprintf(longer, sizeof longer, "-%.*s", (int)length, word);
  if (!is_long && !find(longer, takes) && word[2]) { /* "-seed 7" is a misspelt --seed, not the setting "eed" */
    const struct lb_cli_option *arg = (snprintf(name, size, "%.2s", word), find(name, takes));
    *ret_value = word + 2 + (word[2] == '=');
    if (arg && arg->value) return;
  }
  snprintf(name, size, "%.*s", (int)length, word);
  *ret_value = equals ? equals + 1 : NULL;
}

/* Takes argv[*at], and the word after it if that is its value; *at is left at the last word taken. */
static int parse_option(int argc, char **argv, int *at, unsigned takes, bool given[TABLE_COUNT], struct lb_args *ret) {
  char name[64];
  const char *value;
  split(argv[*at], takes, name, sizeof name, &value);
  const struct lb_cli_option *arg = find(name, takes);
  if (!arg) return unknown_option(argv[0], name, takes);
  if (!arg->value && value) return lb_complain(LB_EXIT_USAGE, "%s takes no value", name);
  if (arg->value && !value && *at + 1 == argc) return lb_complain(LB_EXIT_USAGE, "%s: expected a value", name);
  if (arg->value && !value) value = argv[++*at];
  int r = arg->value ? check_value(arg, name, value, &given[arg - table]) : 0;
  return r ? r : set(arg, value, ret);
}

/* Options and words in any order. A lone "-" is a word: it stands for standard input. */
int lb_args_parse(int argc, char **argv, unsigned takes, struct lb_args *ret) {
  int r = 0;
  bool given[TABLE_COUNT] = {false};
  *ret = (struct lb_args){.argc = argc, .argv = (const char *const *)argv};
  for (int i = 1; i < argc && r == 0; i++) {
    if ((takes & LB_ARG_SERVE) && strcmp(argv[i], "--") == 0) {
      if (i + 1 == argc) return lb_complain(LB_EXIT_USAGE, "%s: expected a command behind `--`", argv[0]);
      ret->command = (const char *const *)argv + i + 1;
      break;
    }
    if (!argv[i][0])
      return lb_complain(LB_EXIT_USAGE, "%s: word %d is empty, see `%s %s --help`", argv[0], i, lb_process_called(),
                         argv[0]);
    if (argv[i][0] == '-' && argv[i][1]) r = parse_option(argc, argv, &i, takes | EVERY_COMMAND, given, ret);
    else if (ret->word_count < LB_ARGS_MAX) ret->words[ret->word_count++] = argv[i];
    else
      r = lb_complain(LB_EXIT_USAGE, "%s: '%s' is one word too many, expected at most %d", argv[0], argv[i],
                      LB_ARGS_MAX);
  }
  return r;
}

const struct lb_cli_option *lb_cli_option_next(const struct lb_cli_option *before, unsigned takes) {
  for (const struct lb_cli_option *o = before ? before + 1 : table; o < table + TABLE_COUNT; o++)
    if (o->takes & (takes | EVERY_COMMAND)) return o;
  return NULL;
}
