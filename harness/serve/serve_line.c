/* SPDX-License-Identifier: MIT
 *
 * A line that was typed: a step, done and proved as in a trial, or a word that asks where things are. What was proved is told from the facts
 * that the step has left in the history, as `explain` would tell them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/refuse.h"
#include "history/say.h"
#include "run/exit.h"
#include "serve_parts.h"
#include "servers/cut.h"
#include "servers/line.h"
#include "servers/net.h"
#include "trial/timeline.h"

enum { ASK_MS = 1000 };

/* ---- words ------------------------------------------------------------------------------------------------ */

static void put_variable(void *to, const char *name, const char *value) { fprintf(to, "%s='%s'\n", name, value); }

static void put_server(struct lb_serve *v, size_t i, int primary, FILE *out) {
  struct lb_server *server = &v->stage.cluster.server[i];
  fprintf(out, "%-12s %s:%u  ", server->name, server->host->address, (unsigned)server->port);
  if (server->data) fprintf(out, "node %zu", i + 1);
  else fputs(server->service, out);
  if ((int)i == primary) fputs(", current primary", out);
  if ((int)i == v->stage.primary) fputs(", primary", out);
  fputs(lb_proc_alive(&server->proc) ? "\n" : ", dead\n", out);
}

/* `primary` is whom a step has bound, as in a scenario; the current one is asked now. */
static void put_hosts(struct lb_serve *v, FILE *out) {
  struct lb_stage *s = &v->stage;
  int primary = lb_cluster_primary(&s->cluster, lb_clock_ns() + ASK_MS * LB_NS_PER_MS);
  for (size_t i = 0; i < s->cluster.server_count; i++) put_server(v, i, primary, out);
  for (size_t i = 0; i < s->client_count; i++) {
    fprintf(out, "%-12s %s  client %zu", s->client[i].name, s->client[i].host->address, i + 1);
    fputs(s->client[i].body ? ", your command\n" : "\n", out);
  }
  for (const struct lb_cut *cut = s->net.cuts; cut; cut = cut->older) fprintf(out, "holds: %s\n", ((const struct lb_step *)cut->owner)->text);
  for (const struct lb_line *line = s->net.lines; line; line = line->older) fprintf(out, "holds: %s\n", ((const struct lb_step *)line->owner)->text);
}

static void put_help(struct lb_serve *v, FILE *out) {
  fputs("hosts                       who is where, who decides now, and which cuts hold\n"
        "env                         the addresses as environment variables\n"
        "help                        this\n"
        "quit                        ends all servers (at the prompt; so does the end of its input)\n"
        "and the steps of a scenario:\n",
        out);
  for (enum lb_verb verb = LB_STEP_NONE + 1; verb < LB_VERB_COUNT; verb++)
    if (!lb_serve_why_not(v, verb)) fprintf(out, "%-27s %s\n", lb_step_rows[verb].form, lb_step_rows[verb].help);
  fputs("A, B: primary, primary N, current primary, replicas, node N, majority, partners, minority, proxy, all, client N or clients.\n"
        "`primary` is bound by the first step that names it, and stays that server: `current primary` is asked each time.\n",
        out);
}

/* True if it was one. */
static bool do_word(struct lb_serve *v, const char *line, FILE *out) {
  static const struct {
    const char *word;
    void (*put)(struct lb_serve *v, FILE *out);
  } words[] = {{"hosts", put_hosts}, {"help", put_help}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(line, words[i].word) == 0) return words[i].put(v, out), true;
  if (strcmp(line, "env") != 0) return false;
  lb_serve_env(v, put_variable, out);
  return true;
}

/* ---- steps ------------------------------------------------------------------------------------------------ */

/* It has to stay where it is: what it did knows it. NULL with an exit code, and err. */
static struct lb_step *read_step(struct lb_serve *v, const char *line, int *ret_code, char *err, size_t err_size) {
  struct lb_step **more = realloc(v->step, (v->step_count + 1) * sizeof *more);
  struct lb_step *step = calloc(1, sizeof *step);
  if (more) v->step = more;
  int r = more && step ? lb_step_parse(line, step, err, err_size) : -ENOMEM;
  if (r == 0) r = lb_serve_may(v, step, err, err_size);
  if (r == -ENOMEM) lb_refuse(err, err_size, "no memory");
  *ret_code = r == -ENOMEM ? LB_EXIT_FAILURE : LB_EXIT_USAGE;
  if (r < 0) {
    if (step) free(step->text);
    free(step);
    return NULL;
  }
  v->step[v->step_count++] = step;
  step->number = (uint32_t)v->step_count;
  return step;
}

/* Facts are of one step only: who keeps servers for days does as many as he likes. */
static void forget_facts(struct lb_stage *s) {
  atomic_store(&s->memory->log[s->memory->controller].count, 0);
  lb_history_clear(&s->history);
}

/* True if among them is the proof of a fault. What was done is told by whom it touched; what is about a lock is left out. */
static bool tell_facts(const struct lb_stage *s, FILE *out, int *ret_told) {
  const struct lb_log *log = &s->memory->log[s->memory->controller];
  bool proved = false;
  *ret_told = 0;
  for (size_t i = 0; i < atomic_load(&log->count); i++) {
    const struct lb_event *e = &s->memory->events[log->first + i];
    proved |= e->kind == LB_EV_PROVED;
    if (e->kind == LB_EV_FAULT || e->kind == LB_EV_HOLDS || e->kind == LB_EV_NOT_MET || e->kind == LB_EV_CRASH) continue;
    lb_event_say(&s->history, e, out);
    fputc('\n', out);
    ++*ret_told;
  }
  return proved;
}

/* Connections that begin from now on do not take late for lost. */
static int be_patient(struct lb_stage *s, const struct lb_step *step, char *err, size_t err_size) {
  return step->verb == LB_STEP_SLOW ? lb_net_be_patient(&s->net, step->within_ms + step->jitter_ms, step->loss > 0, err, err_size) : 0;
}

static int do_step(struct lb_serve *v, const struct lb_step *step, FILE *out, char *err, size_t err_size) {
  struct lb_stage *s = &v->stage;
  int told;
  forget_facts(s);
  if (be_patient(s, step, err, err_size) < 0) return LB_EXIT_FAILURE;
  int r = lb_timeline_step(s, step);
  if (r == 0) r = lb_timeline_settle(s);
  bool proved = tell_facts(s, out, &told);
  if (r < 0) lb_refuse(err, err_size, "not proved: %s", s->why);
  s->verdict = LB_VERDICT_NONE;
  s->why[0] = '\0';
  if (r < 0) return LB_EXIT_UNDECIDED;
  if (!proved && lb_step_row(step)->armed) return fprintf(out, "armed: %s\n", step->text), LB_EXIT_OK;
  if (!proved && lb_step_row(step)->class == LB_STEP_FAULT) return lb_refuse(err, err_size, "not proved: %s: there is nobody", step->text), LB_EXIT_UNDECIDED;
  if (told == 0 || (!proved && lb_step_row(step)->class == LB_STEP_CURE)) fprintf(out, "done: %s\n", step->text);
  return LB_EXIT_OK;
}

int lb_serve_line(struct lb_serve *v, const char *line, FILE *out, char *err, size_t err_size) {
  int code;
  if (do_word(v, line, out)) return LB_EXIT_OK;
  const struct lb_step *step = read_step(v, line, &code, err, err_size);
  return step ? do_step(v, step, out, err, err_size) : code;
}
