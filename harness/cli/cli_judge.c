/* SPDX-License-Identifier: MIT
 *
 * `lockbench judge LOCK`: is this lock safe? It is a run of the suite `judge` on one lock, with a screen of its own
 * (cli_judge_tell.c). Expectations do not decide here: a violation that is expected of a lock is one all the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "base/called.h"
#include "cli.h"
#include "cli_judge.h"
#include "scenario/scenario.h"
#include "network/proc.h"
#include "show/live.h"
#include "theory/theory.h"

/* What a check takes: it mostly waits for leases, so about the same everywhere. */
enum { ADAPTER_CHECK_S = 35, CONFORM_S = 20 };

struct judge { /* the command, from its word to its screen */
  const struct lb_args *args;
  struct lb_judged judged;
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
  j->judged.protocol = protocol;
  j->judged.check = "adapter-check";
  if (j->judged.protocol) return 0;
  if (!j->args->json) lb_say("nothing could be asked: its first line is not that of an adapter");
  return lb_complain(LB_EXIT_MISSING, "judge '%s': %s; see peers/README.md", word, err.text);
}

static int take_plugin(struct judge *j, const char *word) {
  struct lb_error err;
  j->judged.protocol = lb_bring_plugin(word, &err);
  j->judged.check = "conform";
  return j->judged.protocol ? 0 : lb_complain(LB_EXIT_USAGE, "judge %s", err.text);
}

/* The name of a protocol goes before that of a program in PATH. */
static int take_lock(struct judge *j, const char *word) {
  static char name[200];
  struct lb_error err;
  struct lb_system system;
  const char *at = strchr(word, '@');
  j->judged.word = word;
  if (ends_with(word, ".so")) return take_plugin(j, word);
  if (strpbrk(word, " \t/")) return take_adapter(j, word);
  snprintf(name, sizeof name, "%.*s", at ? (int)(at - word) : (int)strlen(word), word);
  j->judged.protocol = find_protocol(name);
  if (!j->judged.protocol && in_path(word)) return take_adapter(j, word);
  if (!j->judged.protocol) {
    lb_system_parse(word, &system, &err);
    return lb_complain(LB_EXIT_USAGE, "judge %s: no command, no plugin (.so), and: %s", word, err.text);
  }
  j->judged.word = name;
  j->topology = at ? at + 1 : NULL;
  return 0;
}

/* ---- on which servers ------------------------------------------------------------------------ */

static int add_system(struct judge *j, const char *topology, int length) {
  struct lb_error err;
  char name[300];
  struct lb_system system;
  size_t used = strlen(j->systems);
  snprintf(name, sizeof name, "%s@%.*s", j->judged.protocol->name, length, topology);
  if (lb_system_parse(name, &system, &err) < 0) return lb_complain(LB_EXIT_USAGE, "judge: %s", err.text);
  if (used == 0) j->first = system;
  snprintf(j->systems + used, sizeof j->systems - used, "%s%s", used ? "," : "", system.name);
  return 0;
}

/* Of the user's own lock all that it names and this machine has. One that it names and nobody knows is for the check to
 * say. */
static int add_named(struct judge *j) {
  int r = 0;
  const char *missing = NULL;
  for (const char *const *t = j->judged.protocol->topologies; r == 0 && *t; t++) {
    const struct lb_topology *topology = lb_topology_find(*t);
    const char *lacks = topology ? lb_topology_missing(topology) : NULL;
    if (lacks) missing = lacks;
    else if (topology) r = add_system(j, *t, (int)strlen(*t));
  }
  if (r || j->systems[0]) return r;
  if (j->args->json) return lb_complain(LB_EXIT_MISSING, "judge: this machine has none of its servers");
  lb_say("nothing could be asked: %s%s",
         missing ? "this machine has not got " : "it names no servers that lockbench has", missing ? missing : "");
  return LB_EXIT_MISSING;
}

static int choose_systems(struct judge *j) {
  int r = 0;
  if (j->args->systems && j->topology)
    return lb_complain(LB_EXIT_USAGE, "judge %s: -b %s names other servers", j->args->words[0], j->args->systems);
  const char *list = j->topology ? j->topology : j->args->systems;
  if (!list && j->judged.check) return add_named(j);
  if (!list) list = j->judged.protocol->topologies[0];
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
  struct lb_judged *judged = data;
  judged->statements++;
  if (result->holds) return;
  if (judged->failed++ == 0) snprintf(judged->first_failed, sizeof judged->first_failed, "%s", result->statement);
}

/* On the first of its servers: what is said of the lines and hooks does not depend on them. */
static int check(struct judge *j) {
  struct lb_conform_order order = {.args = j->args,
                                   .systems = &j->first,
                                   .count = 1,
                                   .named = true,
                                   .adapter = strcmp(j->judged.check, "adapter-check") == 0,
                                   .said = count_statement,
                                   .data = &j->judged};
  int code = lb_conform_systems(&order);
  if (code) return code;
  fprintf(stderr, "%s: %d of %d statements hold\n", j->judged.check, j->judged.statements - j->judged.failed,
          j->judged.statements);
  return 0;
}

static int begin(void *data, const struct lb_plan *plan) {
  struct judge *j = data;
  char about[40];
  bool checks = j->judged.check; /* again where a run goes on: its outcome is not kept */
  int jobs = j->args->jobs ? j->args->jobs : lb_default_jobs();
  double check_s = !checks ? 0 : strcmp(j->judged.check, "conform") == 0 ? CONFORM_S : ADAPTER_CHECK_S;
  lb_live_about(lb_seconds_of(plan, (struct lb_jobs){jobs, jobs}) + check_s, about, sizeof about);
  if (plan->job_count)
    lb_complain(0, "judges %s, %s here: %s%s%zu trials", j->systems, about, checks ? j->judged.check : "",
                checks ? ", then " : "", plan->job_count);
  return checks && plan->job_count ? check(j) : 0;
}

static int tell(void *data, const struct lb_tally *tally, const char *dir) {
  const struct judge *j = data;
  return j->args->json ? lb_judge_code(&j->judged, tally) : lb_judge_tell(&j->judged, tally, dir);
}

/* As `suite judge`, with this lock for its systems. */
static int ask(struct judge *j) {
  struct lb_suite suite;
  struct lb_error err;
  char folder[4096];
  struct lb_args args = *j->args;
  char *path = lb_find_suite("judge");
  if (!path) return LB_EXIT_FAILURE;
  snprintf(folder, sizeof folder, "%s/" LB_SCENARIOS, lb_root());
  int r = lb_suite_load(path, folder, &suite, &err);
  free(path);
  if (r < 0) return lb_complain(LB_EXIT_FAILURE, "%s", err.text);
  args.systems = j->systems;
  struct lb_order order = {.args = &args,
                           .label = suite.name,
                           .paths = (const char *const *)suite.scenarios,
                           .own_settings = (const char *const *)suite.settings,
                           .path_count = suite.count,
                           .suite = &suite,
                           .begin = begin,
                           .tell = tell,
                           .data = j};
  int code = lb_carry_out(&order);
  lb_suite_clear(&suite);
  return code;
}

int lb_cli_judge(const struct lb_args *args) {
  struct judge j = {.args = args};
  if (args->resume) return lb_resume(args);
  if (args->word_count != 1)
    return lb_complain(
        LB_EXIT_USAGE,
        "judge: expected one lock: a command, a plugin (.so), PROTOCOL[@TOPOLOGY] or LIBRARY[@TOPOLOGY], as in `%s judge 'python3 peers/reference.py'`",
        lb_called());
  int r = take_lock(&j, args->words[0]);
  if (r == 0) r = choose_systems(&j);
  if (r == 0) r = lb_check_options(args);
  return r ? r : ask(&j);
}
