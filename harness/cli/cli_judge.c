/* SPDX-License-Identifier: MIT
 *
 * `lockbench judge LOCK`: is this lock safe? It is a run of the suite `judge` on one lock, with a screen of its own
 * (cli_judge_screen.c). Expectations do not decide here (run/judging.h).
 */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "base/process.h"
#include "network/proc.h"
#include "plan/bring.h"
#include "run/tally.h"
#include "scenario/scenario.h"
#include "scenario/suite.h"
#include "show/live.h"
#include "theory/theory.h"

/* What a check takes: it mostly waits for leases, so about the same everywhere. */
enum { ADAPTER_CHECK_S = 35, CONFORM_S = 20 };

struct judge { /* the command, from its word to its screen */
  const struct lb_args *args;
  struct lb_judging judging;
  const struct lb_protocol *protocol;
  bool adapter;         /* the lock speaks the line protocol */
  const char *word;     /* as it was typed, without its topology */
  const char *topology; /* behind the @ of the word; NULL = none */
  char systems[600];    /* "NAME@TOPOLOGY,..." */
  struct lb_system first;
};

/* ---- which lock ------------------------------------------------------------------------------ */

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), n = strlen(end);
  return length > n && strcmp(text + length - n, end) == 0;
}

static bool in_path(const char *name) {
  char *found = lb_proc_find(name, NULL);
  free(found);
  return found;
}

/* By its name, or that of a foreign lock without its kind. */
static const struct lb_protocol *find_protocol(const char *name) {
  const struct lb_protocol *p = lb_protocol_find(name);
  for (size_t i = 0; !p && lb_protocol_at(i); i++) {
    const char *colon = strchr(lb_protocol_at(i)->name, ':');
    if (colon && strcmp(colon + 1, name) == 0) p = lb_protocol_at(i);
  }
  return p;
}

/* A command that is called and writes no first line is no adapter. One that writes another line is a broken one. 0 or
 * an exit code. */
static int take_adapter(struct judge *j, const char *word) {
  struct lb_error err;
  int r;
  const struct lb_protocol *protocol = lb_bring_adapter(word, &r, &err);
  if (r < 0 && r != -EPROTO)
    return lb_complain(LB_EXIT_USAGE, "judge '%s': expected an adapter (peers/README.md): %s", word, err.text);
  j->protocol = protocol;
  j->judging.check = "conform";
  j->adapter = true;
  if (j->protocol) return 0;
  return lb_complain(LB_EXIT_USAGE, "judge '%s': %s; see peers/README.md", word, err.text);
}

static int take_plugin(struct judge *j, const char *word) {
  struct lb_error err;
  j->protocol = lb_bring_plugin(word, &err);
  j->judging.check = "conform";
  return j->protocol ? 0 : lb_complain(LB_EXIT_USAGE, "judge %s", err.text);
}

/* The name of a protocol goes before that of a program in PATH. */
static int take_lock(struct judge *j, const char *word) {
  static char name[200];
  struct lb_error err;
  struct lb_system system;
  const char *at = strchr(word, '@');
  j->word = word;
  if (ends_with(word, ".so")) return take_plugin(j, word);
  if (strcspn(word, " \t/") < (at ? (size_t)(at - word) : strlen(word))) return take_adapter(j, word);
  snprintf(name, sizeof name, "%.*s", at ? (int)(at - word) : (int)strlen(word), word);
  j->protocol = find_protocol(name);
  if (!j->protocol && in_path(word)) return take_adapter(j, word);
  if (!j->protocol) {
    lb_system_parse(word, &system, &err);
    return lb_complain(LB_EXIT_USAGE, "judge %s: no command, no plugin (.so), and: %s", word, err.text);
  }
  j->word = name;
  j->topology = at ? at + 1 : NULL;
  return 0;
}

/* ---- on which servers ------------------------------------------------------------------------ */

static int add_system(struct judge *j, const char *topology, int length) {
  struct lb_error err;
  char name[300];
  struct lb_system system;
  size_t used = strlen(j->systems);
  snprintf(name, sizeof name, "%s@%.*s", j->protocol->name, length, topology);
  if (lb_system_parse(name, &system, &err) < 0) return lb_complain(LB_EXIT_USAGE, "judge: %s", err.text);
  if (used == 0) j->first = system;
  snprintf(j->systems + used, sizeof j->systems - used, "%s%s", used ? "," : "", system.name);
  return 0;
}

/* Adds all topologies that the user's own lock names and this machine has. */
static int add_named(struct judge *j) {
  int r = 0;
  const char *missing = NULL;
  for (const char *const *t = j->protocol->topologies; r == 0 && *t; t++) {
    const struct lb_topology *topology = lb_topology_find(*t);
    const char *lacks = topology ? lb_topology_missing(topology) : NULL;
    if (lacks) missing = lacks;
    else r = add_system(j, *t, (int)strlen(*t));
  }
  if (r || j->systems[0]) return r;
  if (j->args->json) return lb_complain(LB_EXIT_MISSING, "judge: this machine has none of its servers");
  lb_cli_say("nothing could be asked: this machine has not got %s", missing ? missing : "its servers");
  return LB_EXIT_MISSING;
}

/* Before any server is asked. */
static int refuse_two_places(const struct judge *j) {
  if (!lb_cli_names_own(j->args) || (!j->topology && !j->args->systems)) return 0;
  return lb_complain(LB_EXIT_USAGE, "judge %s: %s names other servers than the option of your own", j->args->words[0],
                     j->topology ? "the @" : "-b");
}

/* On servers of the user's own. The check starts servers and kills them, so it takes some of this machine. */
static int choose_own(struct judge *j) {
  struct lb_error err;
  char name[300] = "";
  for (const char *const *t = j->protocol->topologies; !*name && *t; t++)
    if (lb_topology_find(*t) && !lb_topology_missing(lb_topology_find(*t)))
      snprintf(name, sizeof name, "%s@%s", j->protocol->name, *t);
  if (!*name || lb_system_parse(name, &j->first, &err) < 0) j->judging.check = NULL;
  char *own = lb_cli_own_systems(j->protocol->name);
  snprintf(j->systems, sizeof j->systems, "%s", own ? own : "");
  free(own);
  return 0;
}

static int choose_systems(struct judge *j) {
  int r = 0;
  if (lb_cli_names_own(j->args)) return j->judging.chosen = true, choose_own(j);
  j->judging.chosen = j->topology || j->args->systems;
  if (j->args->systems && j->topology)
    return lb_complain(LB_EXIT_USAGE, "judge %s: -b %s names other servers", j->args->words[0], j->args->systems);
  const char *list = j->topology ? j->topology : j->args->systems;
  if (!list && j->judging.check) return add_named(j);
  if (!list) list = j->protocol->topologies[0];
  for (int length; r == 0 && *list; list += length + (list[length] == ',')) {
    length = (int)strcspn(list, ",");
    r = add_system(j, list, length);
  }
  return r || j->systems[0]
             ? r
             : lb_complain(LB_EXIT_USAGE, "judge %s: expected a topology behind the @", j->args->words[0]);
}

/* ---- check, then questions ------------------------------------------------------------------- */

static void count_statement(void *data, const struct lb_conform_result *result) {
  struct lb_judging *judging = data;
  int at = judging->statements++;
  judging->failed += !result->holds;
  if (at >= LB_STATEMENTS_MAX) return;
  snprintf(judging->statement[at].text, sizeof judging->statement[at].text, "%s", result->statement);
  judging->statement[at].holds = result->holds;
}

/* On the first of its servers: what is said of the lines and hooks does not depend on them. */
static int check(struct judge *j) {
  struct lb_conform_order order = {.args = j->args,
                                   .systems = &j->first,
                                   .count = 1,
                                   .named = true,
                                   .adapter = j->adapter,
                                   .said = count_statement,
                                   .data = &j->judging};
  int code = lb_cli_conform_systems(&order);
  if (code) return code;
  fprintf(stderr, "%s: %d of %d statements hold\n", j->judging.check, j->judging.statements - j->judging.failed,
          j->judging.statements);
  return 0;
}

static int begin(void *data, const struct lb_plan *plan) {
  struct judge *j = data;
  struct lb_error err;
  if (j->judging.baseline && !lb_baseline_fits(j->judging.baseline, plan, &err))
    return lb_complain(LB_EXIT_USAGE, "--baseline %s", err.text);
  char about[40];
  bool checks = j->judging.check; /* again where a run goes on: its outcome is not kept */
  double check_s = !checks ? 0 : !j->adapter ? CONFORM_S : ADAPTER_CHECK_S;
  lb_live_about(lb_cli_seconds_of(plan, lb_cli_run_jobs(j->args)) + check_s, about, sizeof about);
  if (plan->job_count)
    lb_complain(0, "judges %s, %s here: %s%s%zu trials", j->systems, about, checks ? j->judging.check : "",
                checks ? ", then " : "", plan->job_count);
  return checks && plan->job_count ? check(j) : 0;
}

static void tell(void *data, const struct lb_tally *tally, const struct lb_run_info *info, const char *dir) {
  const struct judge *j = data;
  lb_cli_judge_tell(j->word, tally, info, dir);
}

/* As `suite judge`, with this lock for its systems. */
static int run_suite(struct judge *j) {
  struct lb_suite suite;
  struct lb_error err;
  char folder[4096];
  struct lb_args args = *j->args;
  char *path = lb_cli_find_suite("judge");
  if (!path) return LB_EXIT_FAILURE;
  snprintf(folder, sizeof folder, "%s/" LB_SCENARIOS, lb_process_root());
  int r = lb_suite_load(path, folder, &suite, &err);
  free(path);
  if (r < 0) return lb_complain(LB_EXIT_FAILURE, "%s", err.text);
  args.systems = j->systems;
  struct lb_order order = {.args = &args,
                           .label = suite.name,
                           .scenarios = suite.scenarios,
                           .own_settings = (const char *const *)suite.varied,
                           .scenario_count = suite.count,
                           .suite = &suite,
                           .draw = true,
                           .begin = begin,
                           .tell = tell,
                           .judging = &j->judging,
                           .data = j};
  int code = lb_cli_carry_out(&order);
  lb_suite_clear(&suite);
  return code;
}

static int judge_command(const struct lb_args *args) {
  struct judge j = {.args = args};
  struct lb_error err;
  if (args->resume) return lb_cli_resume(args);
  if (args->word_count != 1)
    return lb_complain(
        LB_EXIT_USAGE,
        "judge: expected one lock: a command, a plugin (.so), PROTOCOL[@TOPOLOGY] or LIBRARY[@TOPOLOGY], as in `%s judge 'python3 peers/reference.py'`",
        lb_process_called());
  int r = take_lock(&j, args->words[0]);
  if (r == 0 && args->baseline && !(j.judging.baseline = lb_baseline_load(args->baseline, &err)))
    r = lb_complain(LB_EXIT_USAGE, "--baseline %s", err.text);
  if (r == 0) r = refuse_two_places(&j);
  if (r == 0) r = lb_cli_own_begin(args);
  if (r == 0) r = choose_systems(&j);
  if (r == 0) r = lb_cli_check_options(args);
  return r ? r : run_suite(&j);
}

const struct lb_cli_command lb_command_judge = {
    "judge",
    judge_command,
    LB_ARG_JUDGE | LB_ARG_JSON | LB_ARG_OWN | LB_ARG_CONSENT,
    "LOCK",
    "answers \"is my lock safe?\" on one screen: what breaks it, how to see it, what to do instead",
    "LOCK is the command of an adapter ('python3 mine.py', see peers/README.md), a plugin (mine.so), PROTOCOL[@TOPOLOGY], or LIBRARY[@TOPOLOGY] of `list peers`.\n"
    "Your own lock is tested against the contract first (conform). Then the suite `judge` runs, without scenarios that mean nothing for the lock.\n"
    "On servers of your own (--redis HOST:PORT ...) it asks what acts on clients only; with --operator also what that file allows.\n"
    "exit: 0 safe in all that was asked, 1 failure of the harness, 2 bad input, 3 not safe, or stuck, 4 undecided, 5 nothing could be asked,\n"
    "      with --baseline: 0 nothing is worse, 3 something is, 4 something is undecided that had an answer there, 5 something of that cannot be asked,\n"
    "      130 stopped: decided trials are kept, and --resume plays the rest\n"};
