/* SPDX-License-Identifier: MIT
 *
 * `lockbench play`: a job per line of standard input, an outcome per line of standard output, both JSON. The program
 * that writes the jobs may wait for outcomes and decide by them what is next.
 *
 * The input is a source of the engine (run/engine.h). A job has the plan of a run of one trial, so the same seed plays
 * what `run` plays. A process that shares its servers may have been started before a job came in: it reads its line
 * again.
 */
#include "cli.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/need.h"
#include "base/text.h"
#include "run/engine.h"
#include "run/journal.h"
#include "plan/plan.h"
#include "trial/site.h"

/* AHEAD: so many jobs are read before they begin. The rest stays in the pipe. */
enum { PATH = 4200, POOLS_MAX = 256, AHEAD = 256, LINE_MAX_BYTES = LB_JOB_TEXT_MAX - 32 };

struct played { /* one line. The job comes first, so that the engine's pointer is ours */
  struct lb_job job;
  struct lb_plan plan;
  json_t *line;
  bool begun, stays; /* stays: its pool is known by it */
  struct played *next;
};

struct play {
  struct lb_source source;
  struct lb_input input;
  const struct lb_rundir *dir;
  const char *out;             /* of -o, or NULL */
  struct played *first, **end; /* in the order of their lines */
  struct lb_pool pools[POOLS_MAX];
  size_t pool_count;
  char text[LINE_MAX_BYTES + 1]; /* the line that has not ended yet */
  size_t length, lines;
  bool open;
  int code;
};

static void free_played(struct played *played) {
  lb_plan_clear(&played->plan);
  json_decref(played->line);
  free((char *)played->job.text);
  free(played);
}

/* ---- a line ------------------------------------------------------------------------------------------------------- */

enum key { ID, SCENARIO, SYSTEM, GUARD, SEED, TRIAL, FRESH, SET, KEY_COUNT };
static const char *const keys[KEY_COUNT] = {"id", "scenario", "system", "guard", "seed", "trial", "fresh", "set"};

/* What each of them may be, in the words of the complaint. */
static const char *wanted_of(enum key key, const json_t *value) {
  switch (key) {
    case ID: return json_is_string(value) || json_is_integer(value) ? NULL : "a text or a whole number";
    case SCENARIO:
    case SYSTEM:
    case GUARD: return json_is_string(value) ? NULL : "a text";
    case SEED: return json_is_integer(value) && json_integer_value(value) >= 0 ? NULL : "a whole number from 0";
    case TRIAL:
      return json_integer_value(value) >= 1 && json_integer_value(value) <= 100000 ? NULL
                                                                                   : "a whole number from 1 to 100000";
    case FRESH: return json_is_boolean(value) ? NULL : "true or false";
    default: return json_is_array(value) ? NULL : "a list of KEY=VALUE";
  }
}

static int check_keys(json_t *line, struct lb_error *err) {
  const char *name;
  json_t *value;
  json_object_foreach(line, name, value) {
    int key = 0;
    while (key < KEY_COUNT && strcmp(keys[key], name) != 0) key++;
    const char *near = lb_suggest(name, keys, KEY_COUNT);
    if (key == KEY_COUNT && near) return lb_refuse(err, "unknown key '%s', did you mean '%s'?", name, near);
    if (key == KEY_COUNT)
      return lb_refuse(err, "unknown key '%s', expected id, scenario, system, guard, seed, trial, fresh or set", name);
    const char *wanted = wanted_of((enum key)key, value);
    if (wanted) return lb_refuse(err, "%s: expected %s", name, wanted);
  }
  for (int key = SCENARIO; key <= SYSTEM; key++)
    if (!json_object_get(line, keys[key])) return lb_refuse(err, "expected the key '%s'", keys[key]);
  return 0;
}

static const char *text_of(const struct played *played, enum key key) {
  const char *text = json_string_value(json_object_get(played->line, keys[key]));
  return text ? text : "";
}
static json_int_t number_of(const struct played *played, enum key key) {
  const json_t *value = json_object_get(played->line, keys[key]);
  return value ? json_integer_value(value) : 1;
}

static int find_guard(const struct played *played, struct lb_error *err) {
  const char *name = json_object_get(played->line, keys[GUARD]) ? text_of(played, GUARD) : lb_guard_name(LB_GUARD_NONE);
  int guard = lb_guard_find(name);
  return guard >= 0 ? guard : lb_refuse(err, "guard: expected one of " LB_GUARD_NAMES ", found '%s'", name);
}

static int read_settings(const struct played *played, const char *ret[LB_ARGS_MAX], size_t *count,
                         struct lb_error *err) {
  const json_t *set = json_object_get(played->line, keys[SET]);
  *count = 0;
  for (size_t i = 0; i < json_array_size(set); i++) {
    const char *text = json_string_value(json_array_get(set, i));
    if (!text || !strchr(text, '=') || *count == LB_ARGS_MAX)
      return lb_refuse(err, "set: expected a list of at most %d KEY=VALUE", LB_ARGS_MAX);
    ret[(*count)++] = text;
  }
  return 0;
}

/* The plan of a run of this one cell. */
static int make_plan(struct played *played, const char *path, struct lb_error *err) {
  const char *settings[LB_ARGS_MAX];
  struct lb_plan_request request = {.scenario_paths = &path,
                                    .scenario_count = 1,
                                    .systems = text_of(played, SYSTEM),
                                    .settings = settings,
                                    .trials = (int)number_of(played, TRIAL),
                                    .seed = (uint64_t)number_of(played, SEED)};
  int guard = find_guard(played, err);
  if (guard < 0) return guard;
  request.only_guards = 1u << guard;
  int r = read_settings(played, settings, &request.setting_count, err);
  if (r == 0) r = lb_plan_make(&request, &played->plan, err);
  if (r < 0) return r;
  if (played->plan.cell_count != 1)
    return lb_refuse(err, "expected one cell, found %zu: one PROTOCOL@TOPOLOGY, and one value of each setting",
                     played->plan.cell_count);
  if (played->plan.scenarios[0].client_count_count != 1)
    return lb_refuse(err, "expected one number of clients, as in \"set\": [\"clients=2\"]");
  return 0;
}

/* The last trial is the one that was asked for, and of many the others would take much memory. Its files are named by
 * the line, for a cell may be played twice. */
static void take_job(struct play *p, struct played *played, size_t number, const char *line) {
  struct lb_plan *plan = &played->plan;
  if (plan->job_count == 0) return;
  const struct lb_job *last = &plan->jobs[plan->job_count - 1];
  char *name = lb_need_printed("%zu.%s", number, last->plan.name);
  played->job = (struct lb_job){.text = lb_need_printed("%zu %s", number, line), .plan = last->plan};
  snprintf(played->job.plan.name, sizeof played->job.plan.name, "%s", name);
  free(name);
  free(plan->jobs), plan->jobs = NULL, plan->job_count = 0;
  const json_t *fresh = json_object_get(played->line, keys[FRESH]);
  if (!json_is_false(fresh) || p->pool_count == POOLS_MAX) return;
  struct lb_pool *pool = lb_pool_join(p->pools, &p->pool_count, &played->job.plan);
  played->stays = pool && pool->first == &played->job.plan;
  played->job.plan.pool = pool;
}

static int read_line(struct play *p, size_t number, const char *line, struct played **ret) {
  struct lb_error err = {0};
  json_error_t error;
  struct played *played = lb_need(calloc(1, sizeof *played));
  int r = 0;
  played->line = json_loads(line, JSON_REJECT_DUPLICATES, &error);
  if (!played->line) r = lb_refuse(&err, "column %d: %s", error.column, error.text);
  else if (!json_is_object(played->line))
    r = lb_refuse(&err,
                  "expected a JSON object, as in {\"scenario\": \"failover\", \"system\": \"PROTOCOL@TOPOLOGY\"}");
  else r = check_keys(played->line, &err);
  char *path = r == 0 ? lb_look_for_scenario(text_of(played, SCENARIO), &err) : NULL;
  if (r == 0 && !path) r = -EINVAL;
  if (r == 0) r = make_plan(played, path, &err);
  if (r == 0) take_job(p, played, number, line);
  free(path);
  if (r < 0) lb_complain(0, "line %zu: %s", number, *err.text ? err.text : strerror(-r)), free_played(played);
  else *ret = played;
  return r;
}

/* ---- outcomes ------------------------------------------------------------------------------------------------------ */

static void set_text(json_t *o, const char *key, const char *text) {
  if (*text) json_object_set_new(o, key, json_string(text));
}

/* Negative if the reader has gone. */
static int print(const struct played *played, const struct lb_outcome *outcome, const char *history) {
  const struct lb_cell *cell = &played->plan.cells[0];
  char name[400];
  snprintf(name, sizeof name, "%s.%s.%s", cell->scenario->name, cell->system, lb_guard_name(cell->guard));
  json_t *o = json_object(), *id = json_object_get(played->line, keys[ID]);
  if (id) json_object_set(o, keys[ID], id);
  set_text(o, "cell", name);
  set_text(o, "verdict", lb_verdict_name(outcome->verdict));
  set_text(o, "why", outcome->why);
  if (outcome->trial_ns > 0) {
    json_object_set_new(o, "violations", json_integer((json_int_t)lb_outcome_violations(outcome)));
    json_object_set_new(o, "fresh", json_boolean(outcome->fresh));
    json_object_set_new(o, "seconds", json_real((double)outcome->trial_ns / 1e9));
  }
  set_text(o, "history", history);
  char *line = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(4));
  json_decref(o);
  if (!line) return -ENOMEM;
  errno = 0;
  int r = printf("%s\n", line) < 0 || fflush(stdout) != 0 ? -(errno ? errno : EIO) : 0;
  free(line);
  return r;
}

/* Into the folder of -o. What else a trial has left goes. */
static void keep_history(const struct play *p, const char *trial, const struct lb_outcome *outcome, char *ret,
                         size_t size) {
  char from[PATH];
  *ret = '\0';
  snprintf(from, sizeof from, "%s/histories/%s.hist", p->dir->partial, trial);
  snprintf(ret, size, "%s/histories/%s.hist", p->out ? p->out : "", trial);
  if (!p->out || !outcome->history_kept || rename(from, ret) < 0) *ret = '\0';
  lb_rundir_forget(p->dir->partial, trial, true);
}

/* ---- the source ---------------------------------------------------------------------------------------------------- */

/* No more is read than is needed, and nothing behind a line that is wrong. */
static void look_at_input(struct play *p) { p->input.fd = p->open && p->source.left < AHEAD ? STDIN_FILENO : -1; }

static enum lb_next next(void *of, const struct lb_pool *pool, const struct lb_job **ret) {
  const struct play *p = of;
  for (const struct played *played = p->first; played; played = played->next)
    if (!played->begun && (!pool || played->job.plan.pool == pool)) return *ret = &played->job, LB_NEXT_NOW;
  return p->open ? LB_NEXT_LATER : LB_NEXT_NONE;
}

static void begun(void *of, const struct lb_job *job, bool starts) {
  struct play *p = of;
  (void)starts;
  ((struct played *)job)->begun = true;
  p->source.left--;
  look_at_input(p);
}

static void forget(struct play *p, struct played *played) {
  struct played **at = &p->first;
  while (*at != played) at = &(*at)->next;
  if (!(*at = played->next)) p->end = at;
  free_played(played);
}

static int ended(void *of, const struct lb_job *job, const struct lb_outcome *outcome) {
  struct play *p = of;
  struct played *played = (struct played *)job;
  char history[PATH];
  keep_history(p, job->plan.name, outcome, history, sizeof history);
  int r = print(played, outcome, history);
  if (!played->stays) forget(p, played);
  return r;
}

static int take_line(struct play *p, const char *line) {
  struct played *played;
  size_t number = ++p->lines;
  if (line[strspn(line, " \t\r")] == '\0') return 0;
  int r = read_line(p, number, line, &played);
  if (r < 0) return p->open = false, p->code = r == -ENOMEM ? LB_EXIT_FAILURE : LB_EXIT_USAGE, 0;
  const struct lb_cell *cell = &played->plan.cells[0];
  if (cell->skip[0]) {
    struct lb_outcome outcome = {.verdict = cell->means_nothing ? LB_NA : LB_SKIPPED};
    snprintf(outcome.why, sizeof outcome.why, "%s", cell->skip);
    r = print(played, &outcome, "");
    return free_played(played), r;
  }
  *p->end = played;
  p->end = &played->next;
  p->source.left++;
  return 0;
}

/* All whole lines of what has been read. */
static int take_lines(struct play *p) {
  char *line = p->text, *end;
  int r = 0;
  while (r == 0 && p->open && (end = memchr(line, '\n', p->length - (size_t)(line - p->text)))) {
    *end = '\0';
    if (strlen(line) < (size_t)(end - line))
      p->open = false, p->code = lb_complain(LB_EXIT_USAGE, "line %zu: expected text, found a zero byte", p->lines + 1);
    else r = take_line(p, line);
    line = end + 1;
  }
  p->length -= (size_t)(line - p->text);
  memmove(p->text, line, p->length);
  return r;
}

static int hear(void *of) {
  struct play *p = of;
  ssize_t n = read(STDIN_FILENO, p->text + p->length, LINE_MAX_BYTES - p->length);
  if (n < 0 && errno == EINTR) return 0;
  if (n < 0) {
    p->code = lb_complain(LB_EXIT_FAILURE, "cannot read standard input: %s", strerror(errno));
  } else if (n == 0 && p->length > 0) { /* its last line has no end */
    p->text[p->length++] = '\n';
  }
  p->length += n > 0 ? (size_t)n : 0;
  int r = take_lines(p);
  if (p->open && p->length == LINE_MAX_BYTES)
    p->open = false,
    p->code = lb_complain(LB_EXIT_USAGE, "line %zu: expected at most %d bytes", p->lines + 1, LINE_MAX_BYTES);
  if (n <= 0) p->open = false;
  look_at_input(p);
  return r;
}

static const struct lb_trial_plan *read_again(void *of, const char *text) {
  struct played *played;
  char *line;
  size_t number = strtoul(text, &line, 10);
  return read_line(of, number, line + 1, &played) == 0 ? &played->job.plan : NULL;
}

/* ---- the command --------------------------------------------------------------------------------------------------- */

static int play_jobs(struct play *p, int jobs) {
  struct lb_error err = {0};
  p->end = &p->first;
  p->open = true;
  p->input = (struct lb_input){.fd = STDIN_FILENO, .hear = hear, .read = read_again};
  p->source = (struct lb_source){.of = p, .next = next, .begun = begun, .ended = ended, .input = &p->input};
  int r = lb_engine_run(&p->source, p->dir, jobs, &err);
  if (r == -EINTR) return lb_complain(LB_EXIT_STOPPED, "%s", err.text);
  if (ferror(stdout)) return p->code; /* main() says so */
  return r < 0 ? lb_complain(LB_EXIT_FAILURE, "%s", *err.text ? err.text : strerror(-r)) : p->code;
}

/* Histories of two calls would have the same names. */
static int make_out(const char *out) {
  char path[PATH];
  int code = lb_try_folder("play", out, out);
  snprintf(path, sizeof path, "%s/histories", out);
  if (code == 0 && mkdir(path, 0777) < 0)
    code = lb_complain(LB_EXIT_USAGE, "play: -o %s: %s", out,
                       errno == EEXIST ? "it has histories, expected a new folder" : strerror(errno));
  return code;
}

static int play_command(const struct lb_args *args) {
  struct play *p = lb_need(calloc(1, sizeof *p));
  struct lb_rundir dir;
  struct lb_error err;
  const char *tmp = getenv("TMPDIR");
  if (args->word_count > 0)
    return free(p), lb_complain(LB_EXIT_USAGE, "play: expected jobs on standard input, found '%s'", args->words[0]);
  int code = args->out ? make_out(args->out) : 0;
  if (code) return free(p), code;
  if (lb_rundir_open(&dir, args->out ? args->out : tmp && *tmp ? tmp : "/tmp", "play", NULL, &err) < 0)
    return free(p), lb_complain(LB_EXIT_FAILURE, "%s", err.text);
  p->dir = &dir;
  p->out = args->out;
  code = play_jobs(p, args->jobs ? args->jobs : lb_default_jobs());
  while (p->first) forget(p, p->first);
  lb_rundir_close(&dir);
  free(p);
  return code;
}

const struct lb_cli_command lb_command_play = {
    "play",
    play_command,
    LB_ARG_PLAY | LB_ARG_PLUGIN,
    "",
    "plays a job per line of standard input and prints an outcome per line",
    "A job is a JSON object: scenario (a name or an .ini file), system (PROTOCOL@TOPOLOGY), and if you like guard (default: none),\n"
    "seed (default: 1; the same seed plays what `run` plays), trial (default: 1), set (a list of KEY=VALUE), id (any text or number),\n"
    "fresh (default: true; false = on servers that an earlier job has used, where that is sound).\n"
    "An outcome is a JSON object: id, cell, verdict, violations, why (if undecided, stuck, delayed, n/a or skipped), fresh, seconds, history.\n"
    "Outcomes come as trials end. A line that is wrong ends the input: the jobs before it are played.\n"
    "exit: 0 all were played, whatever came of them, 1 failure of the harness, 2 usage or a line that is wrong, 130 interrupted\n"};
