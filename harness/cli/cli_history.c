/* SPDX-License-Identifier: MIT
 *
 * Commands that read what a trial or a run has left. `check` judges a history again, ours or another tool's, without
 * servers. `explain` tells its story, or those of a run.
 *
 * The form of a history is told by its first bytes, not by its name. plots/operations.py reads those of other tools.
 */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/need.h"
#include "base/process.h"
#include "check/check.h"
#include "story/check_print.h"
#include "story/explain.h"
#include "history/history.h"
#include "history/history_lease.h"
#include "history/history_load.h"
#include "scenario/scenario.h"

bool lb_cli_is_run_folder(const char *path) {
  char file[4096];
  return snprintf(file, sizeof file, "%s/run.json", path) < (int)sizeof file && access(file, F_OK) == 0;
}

struct foreign {
  const char *as;
  bool timed; /* it has to have times */
  bool is_it; /* the file is of another tool */
  int exit;   /* of the script that has complained, else 0 */
};

/* The script makes JSON lines, each with the line of its operation. */
static int read_foreign(void *of, const struct lb_history_bytes *from, struct lb_history *ret, struct lb_error *err) {
  struct foreign *f = of;
  f->is_it = true;
  FILE *input = tmpfile(), *lines = tmpfile();
  int r = -EIO;
  if (!input || !lines || fwrite(from->data, 1, from->size, input) != from->size || fflush(input) != 0)
    lb_error(err, r, "%s: cannot write a temporary file: %s", from->name, strerror(errno));
  else if ((f->exit = lb_cli_run_script("operations.py", (const char *[]){from->name, f->as ? f->as : "", "timed"},
                                        f->timed ? 3 : 2, input, lines)) == 0)
    rewind(lines), r = lb_history_read(fileno(lines), from->name, NULL, ret, err);
  ret->lines = r == 0;
  if (input) fclose(input);
  if (lines) fclose(lines);
  return r;
}

static int load(const char *word, const char *as, bool timed, struct lb_history *ret) {
  struct lb_error err;
  struct foreign foreign = {.as = as, .timed = timed};
  const struct lb_history_foreign reader = {read_foreign, &foreign};
  if (lb_cli_is_run_folder(word))
    return lb_complain(LB_EXIT_USAGE, "%s: expected a history, found a results folder, see `%s explain --help`", word,
                       lb_process_called());
  int r = strcmp(word, "-") != 0 ? lb_history_load(word, &reader, ret, &err)
                                 : lb_history_read(STDIN_FILENO, "standard input", &reader, ret, &err);
  if (foreign.exit || r < 0) return foreign.exit ? foreign.exit : lb_complain(LB_EXIT_USAGE, "%s", err.text);
  if (!as || foreign.is_it) return 0;
  lb_history_clear(ret);
  return lb_complain(LB_EXIT_USAGE, "--as %s: %s is a history of our own form, expected operations in EDN or CSV", as,
                     word);
}

int lb_cli_load_history(const char *word, const char *as, struct lb_history *ret) { return load(word, as, false, ret); }

/* The history of a file, with what the options say of it. */
static int load_file(const struct lb_args *args, struct lb_history *ret) {
  int r = load(args->words[0], args->as, args->lease_ms > 0, ret);
  if (r || args->lease_ms == 0) return r;
  lb_history_lease_add(ret, args->lease_ms);
  lb_history_lease_write_out(ret);
  return 0;
}

/* ---- check: says what the checker and the rules of evidence say of the history alone ------------------- */

/* More would push the verdict off the screen; --json has all of them. */
enum { EPISODES_SHOWN = 10 };

static int print_json(const struct lb_history *history, const struct lb_check *check, bool past_lease) {
  json_t *o = lb_check_json(history, check, past_lease);
  int r = o ? json_dumpf(o, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) : -1;
  json_decref(o);
  putchar('\n');
  return r;
}

static int print_text(const struct lb_history *history, const struct lb_check *check, bool past_lease) {
  lb_check_print(history, check, past_lease, EPISODES_SHOWN, stdout);
  if (lb_check_violated(check, true) && !lb_check_violated(check, past_lease))
    puts("\nWhere leases run out on purpose, --past-lease counts what begins after their end.");
  return 0;
}

/* No expectation is known here: a violation is the finding that a script looks for, and has the
 * code of an unexpected verdict. */
static int exit_code(enum lb_ruled verdict) {
  return verdict == LB_RULED_SAFE ? LB_EXIT_OK : verdict == LB_RULED_VIOLATED ? LB_EXIT_UNEXPECTED : LB_EXIT_UNDECIDED;
}

/* An export is no judgement, so it ends with 0 whatever the history holds. */
static int output(const struct lb_history *history, const struct lb_check *check, const struct lb_args *args) {
  int r;
  if (args->export) r = lb_history_write_json(history, stdout);
  else if (args->json) r = print_json(history, check, args->past_lease);
  else r = print_text(history, check, args->past_lease);
  if (r < 0 && !ferror(stdout)) return lb_complain(LB_EXIT_FAILURE, "cannot write the JSON: %s", strerror(ENOMEM));
  return args->export ? LB_EXIT_OK : exit_code(lb_check_rule(check, args->past_lease).verdict);
}

/* Nothing can be said of such a history, and one word in it would do. */
static int refuse_stranger(const struct lb_args *args, const struct lb_history *history, const struct lb_check *check) {
  const struct lb_event *e = &history->events[check->stranger_event];
  char place[40] = "";
  if (history->lines) snprintf(place, sizeof place, ":%llu", (unsigned long long)e->s);
  return lb_complain(LB_EXIT_USAGE,
                     "%s%s: found a release by %s, which never asked for the lock, expected for"
                     " whom it was: :client in EDN, client in CSV, \"c\" in JSON lines",
                     args->words[0], place, history->clients.name[e->client]);
}

/* Contradicting options are refused before the file is read: standard input can be read once only. */
static int check_command(const struct lb_args *args) {
  struct lb_history history;
  struct lb_check check;
  if (args->word_count != 1)
    return lb_complain(LB_EXIT_USAGE, "check: expected one history file, or - for standard input");
  if (args->export && strcmp(args->export, "json") != 0)
    return lb_complain(LB_EXIT_USAGE, "--export %s: expected json", args->export);
  if (args->export && (args->json || args->past_lease))
    return lb_complain(LB_EXIT_USAGE, "check: expected --export or %s, got both",
                       args->json ? "--json" : "--past-lease");
  int r = load_file(args, &history);
  if (r) return r;
  lb_check_history(&history, &check);
  const char *why = lb_check_rule(&check, args->past_lease).why;
  bool open = why && strcmp(why, LB_CHECK_STRANGER) == 0 && !args->export;
  int code = open ? refuse_stranger(args, &history, &check) : output(&history, &check, args);
  lb_check_clear(&check);
  lb_history_clear(&history);
  return code;
}

const struct lb_cli_command lb_command_check = {
    "check",
    check_command,
    LB_ARG_JSON | LB_ARG_EXPORT | LB_ARG_PAST_LEASE,
    "FILE|-",
    "judges a history (binary, JSON lines, Jepsen's EDN or CSV); - is standard input",
    "docs/histories-of-others.md describes EDN and CSV.\n"
    "exit: 0 safe, 3 violated, 4 undecided, 2 no history, 5 EDN or CSV needs python3\n"};

/* ---- explain: a cell brings its verdict out of run.json, a file is judged as `check` would --------------- */

/* What stands above the story of a file. What its scenario counts is not in it, and may decide what the events leave
 * open. */
static void print_file(const char *name, const struct lb_history *history, const struct lb_check *check,
                       bool past_lease) {
  lb_check_print_verdict(check, past_lease, stdout);
  lb_cli_say("  %s: %zu event%s", strcmp(name, "-") == 0 ? "standard input" : name, history->count,
             history->count == 1 ? "" : "s");
  if (lb_check_rule(check, past_lease).verdict == LB_RULED_UNDECIDED)
    puts(
        "  what its scenario counts (past_lease, min_handoffs, premises) is not in a file: explain RUN CELL has the verdict of"
        " the trial, --past-lease counts leases that were over");
}

static void print_head(const struct lb_cli_story *told) {
  const json_t *line;
  size_t i;
  json_array_foreach(json_object_get(told->all, "head"), i, line) lb_cli_say("%s", json_string_value(line));
}

/* What the run knows of the trial beside its history. */
static struct lb_explain_about about(const struct lb_cli_story *told) {
  struct lb_explain_about about = {0};
  if (!told) return about;
  const char *guard = json_string_value(json_object_get(told->cell, "guard"));
  const json_t *ttl_ms = json_object_get(json_object_get(told->scenario, "workload"), "ttl_ms");
  int64_t ttl = json_integer_value(ttl_ms);
  about.claims = guard && strcmp(guard, lb_guard_name(LB_GUARD_CLAIM)) == 0;
  bool timeline = json_array_size(json_object_get(told->scenario, "steps")) > 0;
  about.delayed = strcmp(lb_cli_story_of(told, "verdict"), lb_verdict_name(LB_DELAYED)) == 0;
  about.stuck = about.delayed || strcmp(lb_cli_story_of(told, "verdict"), lb_verdict_name(LB_STUCK)) == 0;
  if (timeline && ttl > 0 && ttl < INT64_MAX / 1000000) about.ttl_ns = (uint64_t)ttl * 1000000;
  return about;
}

/* `told` is the trial that the history belongs to; NULL = it was given as a file. */
static int print_story(const struct lb_cli_story *told, const struct lb_args *args, const struct lb_history *history) {
  struct lb_check check;
  lb_check_history(history, &check);
  if (told) print_head(told);
  else print_file(args->words[0], history, &check, args->past_lease);
  putchar('\n');
  struct lb_explain_about known = about(told);
  lb_explain(history, &check, &known, stdout);
  lb_check_clear(&check);
  return LB_EXIT_OK;
}

static int print_history(const struct lb_cli_story *told, const struct lb_args *args,
                         const struct lb_history *history) {
  if (!args->json) return print_story(told, args, history);
  int r = lb_history_write_json(history, stdout);
  return r < 0 && !ferror(stdout) ? lb_complain(LB_EXIT_FAILURE, "%s", strerror(-r)) : LB_EXIT_OK;
}

static int without_history(const struct lb_cli_story *told, bool json) {
  static const char why[] =
      "no history was kept: of a workload, only those of trials that were not safe are (faults/ has the faults of a campaign)";
  if (json) return lb_complain(LB_EXIT_USAGE, "%s", told->trial ? why : "this cell was skipped, so it has no history");
  print_head(told);
  if (told->trial) printf("\n%s\n", why);
  return LB_EXIT_OK;
}

static int explain_trial(const struct lb_cli_story *told, const struct lb_args *args) {
  struct lb_history history;
  if (!*lb_cli_story_of(told, "history")) return without_history(told, args->json);
  if (!lb_cli_story_is_there(told)) {
    char again[600];
    lb_cli_story_again(told, again, sizeof again);
    return lb_complain(LB_EXIT_USAGE, "%s is not in the folder; to make one like it: %s",
                       lb_cli_story_of(told, "history"), again);
  }
  int r = lb_cli_load_history(lb_cli_story_of(told, "history"), NULL, &history);
  if (r) return r;
  r = print_history(told, args, &history);
  lb_history_clear(&history);
  return r;
}

/* The cell has been judged with its scenario, which knows whether leases run out on purpose: a
 * --past-lease could only contradict it. */
static int explain_cell(const struct lb_args *args) {
  struct lb_cli_story told;
  if (args->past_lease || args->lease_ms || args->as)
    return lb_complain(LB_EXIT_USAGE, "%s: only with a history file, a cell has its verdict",
                       args->past_lease ? "--past-lease"
                       : args->as       ? "--as"
                                        : "--lease");
  int code = lb_cli_story_find(args, args->words[0], args->words + 1, args->word_count - 1, &told);
  if (code) return code;
  code = explain_trial(&told, args);
  lb_cli_story_clear(&told);
  return code;
}

/* ---- explain --all: what the page of a run shows of each cell ------------------------------------------------------ */

/* The story of the chosen trial, as it is printed below its head. */
static char *story_of(const struct lb_cli_story *told, const struct lb_history *history, const struct lb_check *check) {
  struct lb_explain_about known = about(told);
  char *text = NULL;
  size_t size = 0;
  FILE *out = lb_need(open_memstream(&text, &size));
  lb_explain(history, check, &known, out);
  return lb_need(fclose(out) == 0 ? text : NULL);
}

enum { TOLD_WHOLE = 2000, TOLD_AROUND = 150 };

/* The latest fault before this event, or grant of a key to a client; the event itself if there is none near it. */
static size_t latest(const struct lb_history *h, size_t before, enum lb_event_kind kind, uint32_t client,
                     uint32_t key) {
  for (size_t i = before, end = before > TOLD_WHOLE ? before - TOLD_WHOLE : 0; i-- > end;) {
    const struct lb_event *e = &h->events[i];
    if (e->kind == kind && (kind == LB_EV_FAULT || (e->client == client && e->key == key))) return i;
  }
  return before;
}

/* With the fault before it, and the begin of every hold of it. */
static size_t begin_of(const struct lb_history *h, const struct lb_episode *episode) {
  size_t begin = episode->begin_event, from = begin > TOLD_AROUND ? begin - TOLD_AROUND : 0;
  size_t other = latest(h, begin, LB_EV_FAULT, LB_NO_NAME, LB_NO_NAME);
  if (other < from) from = other;
  for (size_t i = 0; i < episode->client_count; i++) {
    other = latest(h, begin, LB_EV_GRANTED, episode->clients[i], episode->key);
    if (other < from) from = other;
  }
  return from;
}

/* Cuts a long history, as a load has many thousands of events and a page draws few. What stays are the events around
 * the double hold of the story, or else the last ones. */
static struct lb_history part_of(const struct lb_history *history, const struct lb_episode *episode) {
  struct lb_history part = *history;
  if (history->count <= TOLD_WHOLE) return part;
  size_t from = episode ? begin_of(history, episode) : history->count - TOLD_AROUND;
  size_t end = episode ? episode->end_event : history->count;
  if (end > from + 2 * TOLD_WHOLE) end = from + 2 * TOLD_WHOLE;
  part.events += from;
  part.count = (history->count - end > TOLD_AROUND ? end + TOLD_AROUND : history->count) - from;
  return part;
}

/* A line about the trial, and below it as many lines as that says: its events. */
static int put_told(const struct lb_cli_story *told, const struct lb_history *history, const struct lb_check *check) {
  char again[2000];
  char *story = story_of(told, history, check);
  const json_t *cell = told->cell;
  json_t *judged = lb_check_json(history, check, false), *o = NULL;
  int episode = lb_explain_episode(history, check);
  struct lb_history part = part_of(history, episode < 0 ? NULL : &check->episodes[episode]);
  lb_cli_story_again(told, again, sizeof again);
  if (judged)
    o = json_pack("{sO? sO? sO? ss ss ss ss sO? si sI sI sI}", "scenario", json_object_get(cell, "scenario"), "system",
                  json_object_get(cell, "system"), "guard", json_object_get(cell, "guard"), "clients",
                  lb_cli_story_of(told, "clients"), "trial", lb_cli_story_of(told, "trial"), "again", again, "story",
                  story, "episodes", json_object_get(judged, "episodes"), "episode", episode, "begin_ns",
                  (json_int_t)(history->count ? history->events[0].t : 0), "total", (json_int_t)history->count,
                  "events", (json_int_t)part.count);
  int r = o ? json_dumpf(o, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15)) : -1;
  putchar('\n');
  json_decref(o);
  json_decref(judged);
  free(story);
  return r < 0 ? -ENOMEM : lb_history_write_json(&part, stdout);
}

/* A history that is not there, or cannot be read, is the only one that is not told. */
static int tell_one(const struct lb_cli_story *told, void *failed) {
  struct lb_history history;
  struct lb_check check;
  struct lb_error err;
  if (!lb_cli_story_is_there(told)) return LB_EXIT_OK;
  if (lb_history_load(lb_cli_story_of(told, "history"), NULL, &history, &err) < 0) {
    *(bool *)failed = true;
    lb_complain(LB_EXIT_USAGE, "%s", err.text);
    return LB_EXIT_OK;
  }
  lb_check_history(&history, &check);
  int r = put_told(told, &history, &check);
  lb_check_clear(&check);
  lb_history_clear(&history);
  if (r < 0 && !ferror(stdout)) return lb_complain(LB_EXIT_FAILURE, "%s", strerror(-r));
  return r < 0 ? LB_EXIT_FAILURE : LB_EXIT_OK;
}

static int explain_all(const struct lb_args *args) {
  bool failed = false;
  if (args->word_count != 1 || args->json || args->trial || args->past_lease || args->lease_ms || args->as)
    return lb_complain(LB_EXIT_USAGE, "explain --all: expected a results folder and nothing else");
  int code = lb_cli_story_each(args->words[0], tell_one, &failed);
  return code ? code : failed ? LB_EXIT_USAGE : LB_EXIT_OK;
}

static int explain_file(const struct lb_args *args) {
  struct lb_history history;
  if (args->trial) return lb_complain(LB_EXIT_USAGE, "--trial %d: only with a results folder and a cell", args->trial);
  int r = load_file(args, &history);
  if (r) return r;
  r = print_history(NULL, args, &history);
  lb_history_clear(&history);
  return r;
}

static int explain_command(const struct lb_args *args) {
  if (args->all) return explain_all(args);
  if (args->word_count == 0)
    return lb_complain(LB_EXIT_USAGE,
                       "explain: expected a results folder and a cell, as in failover.SYSTEM, or a history file");
  return args->word_count == 1 && !lb_cli_is_run_folder(args->words[0]) ? explain_file(args) : explain_cell(args);
}

const struct lb_cli_command lb_command_explain = {
    "explain",
    explain_command,
    LB_ARG_JSON | LB_ARG_TRIAL | LB_ARG_ALL | LB_ARG_PAST_LEASE,
    "DIR [CELL]|FILE|-",
    "tells as a story which events made a violation",
    "DIR is a results folder. CELL is SCENARIO.SYSTEM or SCENARIO.SYSTEM.GUARD, or any part of it that fits one cell only\n"
    "(default: the first that was violated).\n"
    "FILE is any history, as for `check`; - is standard input.\n"};
