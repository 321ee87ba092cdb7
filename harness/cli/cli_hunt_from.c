/* SPDX-License-Identifier: MIT
 *
 * `lockbench hunt --from RUN CELL`: a violated trial of a campaign as the smallest directed scenario that still breaks
 * the lock. What the run says of the trial is read here; the search is hunt/shrink.c's. The file appears under its name
 * when it is complete, and not at all if nothing breaks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli.h"
#include "hunt/shrink.h"
#include "plan/system.h"
#include "show/live.h"

enum { PATH = 4000, TRIALS = 5 };

/* ---- what the run says --------------------------------------------------------------------------------- */

/* "yes", "12", "0.5" or a word, as -s takes it; false where it is the default. */
static bool differs(const struct lb_option *option, const json_t *value, char *ret, size_t size) {
  const char *def = option->words ? option->words[(int)option->def] : option->text ? option->text : "";
  if (json_is_boolean(value)) snprintf(ret, size, "%s", json_is_true(value) ? "yes" : "no");
  else if (json_is_number(value)) snprintf(ret, size, "%.15g", json_number_value(value));
  else if (json_is_string(value)) snprintf(ret, size, "%s", json_string_value(value));
  else return false;
  if (json_is_string(value)) return strcmp(ret, def) != 0;
  return (json_is_boolean(value) ? (double)json_is_true(value) : json_number_value(value)) != option->def;
}

static void take_options(const json_t *cell, const struct lb_protocol *protocol, struct lb_directed_of *ret) {
  size_t count = 0;
  char value[100];
  const struct lb_option *o;
  for (size_t i = 0; (o = lb_option_at(protocol, i)) && count < sizeof ret->options / sizeof *ret->options; i++)
    if (differs(o, json_object_get(json_object_get(cell, "options"), o->name), value, sizeof value))
      snprintf(ret->options[count++], sizeof *ret->options, "%s.%s=%s", protocol->name, o->name, value);
}

static int take(const struct lb_cli_story *told, const char *run, struct lb_directed_of *ret) {
  struct lb_system system;
  struct lb_error err;
  const json_t *workload = json_object_get(told->scenario, "workload");
  if (lb_system_parse(lb_text_of(told->cell, "system"), &system, &err) < 0)
    return lb_complain(LB_EXIT_USAGE, "hunt --from: %s", err.text);
  int guard = lb_guard_find(lb_text_of(told->cell, "guard"));
  *ret = (struct lb_directed_of){.scenario = lb_text_of(told->cell, "scenario"),
                                 .system = lb_text_of(told->cell, "system"),
                                 .trial = lb_cli_story_of(told, "trial"),
                                 .seed = lb_cli_story_of(told, "seed"),
                                 .run = run,
                                 .guard = guard < 0 ? LB_GUARD_NONE : (enum lb_guard)guard,
                                 .ttl_ms = json_integer_value(json_object_get(workload, "ttl_ms")),
                                 .request_ms = json_integer_value(json_object_get(workload, "request_ms")),
                                 .hold_ms = json_number_value(json_object_get(workload, "hold_ms")),
                                 .renew = json_is_true(json_object_get(workload, "renew")),
                                 .disk = strcmp(lb_text_of(workload, "storage"), "disk") == 0};
  take_options(told->cell, system.protocol, ret);
  return 0;
}

/* Whether there is something to cut down; else one line says why not. */
static int may_shrink(const struct lb_cli_story *told) {
  if (json_array_size(json_object_get(json_object_get(told->scenario, "campaign"), "faults")) == 0)
    return lb_complain(LB_EXIT_USAGE, "hunt --from: %s is no campaign: only random faults are cut down to a timeline",
                       lb_text_of(told->cell, "scenario"));
  if (!told->trial) return lb_complain(LB_EXIT_USAGE, "hunt --from: this cell was skipped, so it has no trial");
  if (strcmp(lb_cli_story_of(told, "verdict"), "violated") != 0)
    return lb_complain(LB_EXIT_USAGE, "hunt --from: expected a violated trial, trial %s is %s",
                       lb_cli_story_of(told, "trial"), lb_cli_story_of(told, "verdict"));
  if (!*lb_cli_story_of(told, "history"))
    return lb_complain(LB_EXIT_USAGE, "hunt --from: the run has no history of trial %s",
                       lb_cli_story_of(told, "trial"));
  if (!lb_cli_story_is_there(told))
    return lb_complain(LB_EXIT_USAGE, "hunt --from: %s is not in the folder", lb_cli_story_of(told, "history"));
  return 0;
}

static int read_directed(const struct lb_cli_story *told, const struct lb_directed_of *of, struct lb_directed *ret) {
  struct lb_history history;
  struct lb_check check;
  struct lb_error err;
  int code = lb_cli_load_history(lb_cli_story_of(told, "history"), NULL, &history);
  if (code) return code;
  lb_check_history(&history, &check);
  int r = lb_directed_read(&history, &check, of, ret, &err);
  lb_check_clear(&check);
  lb_history_clear(&history);
  return r < 0 ? lb_complain(LB_EXIT_USAGE, "hunt --from: %s", err.text) : 0;
}

/* ---- what is said -------------------------------------------------------------------------------------- */

struct view {
  struct lb_live_out live;
  bool verbose;
};

static void begin(void *to, size_t timelines, double seconds) {
  char about[40];
  (void)to;
  lb_live_about(seconds, about, sizeof about);
  fprintf(stderr, "about %zu timelines, %s here\n", timelines, about);
}

static void show(void *to, const struct lb_shrink_live *live) {
  struct view *v = to;
  char what[100];
  snprintf(what, sizeof what, "%s, %zu fault%s", live->what, live->faults, live->faults == 1 ? "" : "s");
  struct lb_live_state state = {live->asked, live->all, live->elapsed_s, live->left_s, live->violations, what};
  if (live->ended && v->verbose) {
    lb_live_hide(&v->live);
    fprintf(stderr, "%3zu  %-9s  %zu fault%s, waits of %lld ms: breaks %d of %d\n", live->asked, live->what,
            live->faults, live->faults == 1 ? "" : "s", live->ms, live->broke, live->trials);
  }
  lb_live_show(&v->live, &state);
}

static const char *const how_it_ended[] = {
    [LB_SHRINK_WHOLE] = "; without one of its faults, or with shorter waits, it broke less often or not at all",
    [LB_SHRINK_OUT_OF_BUDGET] = "; the time was over before everything that might go had been tried",
    [LB_SHRINK_INTERRUPTED] = "; the search was interrupted before everything that might go had been tried",
};

static int keep_file(const struct lb_directed *d, const struct lb_shrunk *s, const struct lb_directed_of *of,
                     const char *path) {
  char partial[PATH + 20], note[200];
  snprintf(partial, sizeof partial, "%s.partial", path);
  snprintf(note, sizeof note, "It breaks %d of %d%s.", s->broke, s->trials, how_it_ended[s->end]);
  FILE *file = fopen(partial, "we");
  int r = file ? lb_directed_write(d, s->keep, of, note, s->broke == s->trials ? "violated" : "mixed", file) : -errno;
  if (file && fclose(file) != 0 && r == 0) r = -EIO;
  if (r == 0 && rename(partial, path) < 0) r = -errno;
  if (r < 0 && file) unlink(partial);
  return r < 0 ? lb_complain(LB_EXIT_FAILURE, "cannot write %s: %s", path, strerror(-r)) : 0;
}

static int never(const struct lb_shrunk *s, const struct lb_directed *d) {
  return lb_complain(LB_EXIT_UNEXPECTED,
                     "no directed timeline of its %zu fault%s broke the lock%s; nothing was written%s%s%s",
                     d->fault_count, d->fault_count == 1 ? "" : "s",
                     s->end == LB_SHRINK_NEVER_IN_TIME ? ", of those for which there was time" : "",
                     *s->why ? " (an undecided trial: " : "", s->why, *s->why ? ")" : "");
}

/* ---- the command --------------------------------------------------------------------------------------- */

static int shrink_one(const struct lb_args *args, const struct lb_directed_of *of, struct lb_directed *d,
                      const char *path) {
  struct lb_error err = {.text = "out of memory"};
  const char *tmp = getenv("TMPDIR");
  struct lb_rundir dir;
  struct lb_shrunk s;
  struct view view = {.live = {stderr, .terminal = lb_live_terminal(stderr), .said_ns = lb_clock_ns()},
                      .verbose = args->verbose};
  if (lb_rundir_open(&dir, tmp && *tmp ? tmp : "/tmp", "shrink", NULL, &err) < 0)
    return lb_complain(LB_EXIT_FAILURE, "%s", err.text);
  struct lb_shrink_order order = {.of = of,
                                  .dir = &dir,
                                  .trials = args->trials ? args->trials : TRIALS,
                                  .jobs = lb_cli_jobs_of(args, lb_cli_default_jobs()),
                                  .seed = args->has_seed ? args->seed : 1,
                                  .budget_s = args->budget_s,
                                  .room = lb_cli_room_now(lb_cli_jobs_of(args, lb_cli_default_jobs())),
                                  .begin = begin,
                                  .tick = show,
                                  .display = &view};
  int r = lb_shrink(&order, d, &s, &err);
  lb_live_hide(&view.live);
  lb_rundir_close(&dir);
  if (r == -EINTR)
    return lb_complain(LB_EXIT_STOPPED, "interrupted before a timeline broke the lock; nothing was written");
  if (r < 0) return lb_complain(r == -EINVAL ? LB_EXIT_USAGE : LB_EXIT_FAILURE, "hunt --from: %s", err.text);
  if (s.end == LB_SHRINK_NEVER || s.end == LB_SHRINK_NEVER_IN_TIME) return never(&s, d);
  if (keep_file(d, &s, of, path)) return LB_EXIT_FAILURE;
  lb_cli_say("%s: %zu of %zu faults, breaks %d of %d; %zu timelines were played", path, s.faults, d->fault_count,
             s.broke, s.trials, s.asked);
  return s.end == LB_SHRINK_INTERRUPTED ? lb_complain(LB_EXIT_STOPPED, "interrupted: perhaps not the smallest")
                                        : LB_EXIT_OK;
}

/* The folder is made before the first trial, so that no hour is lost if it cannot be written to. */
static int shrink(const struct lb_args *args, const struct lb_directed_of *of, struct lb_directed *d,
                  const char *folder) {
  char path[PATH + 20];
  snprintf(path, sizeof path, "%s/shrunk.ini", folder);
  if (access(path, F_OK) == 0)
    return lb_complain(LB_EXIT_USAGE, "%s exists already, expected a new name with -o", path);
  int code = lb_cli_try_folder("hunt", folder, args->out);
  if (code == LB_EXIT_OK && (code = shrink_one(args, of, d, path)))
    rmdir(folder); /* unless somebody else has something in it */
  return code;
}

static int shrink_trial(const struct lb_args *args, const struct lb_cli_story *told) {
  struct lb_directed_of of;
  struct lb_directed d;
  char folder[PATH];
  int code = may_shrink(told);
  if (code == 0) code = take(told, args->from, &of);
  if (code == 0) code = read_directed(told, &of, &d);
  if (code) return code;
  if (args->out) snprintf(folder, sizeof folder, "%s", args->out);
  else
    snprintf(folder, sizeof folder, "%s/shrink-%s.%s.%s.t%s", lb_cli_results_folder(), of.scenario, of.system,
             lb_guard_name(of.guard), of.trial);
  code = shrink(args, &of, &d, folder);
  lb_directed_clear(&d);
  return code;
}

/* What only the search of a space can use. */
static const char *useless(const struct lb_args *args) {
  return args->guards          ? "--guard"
         : args->has_faults    ? "--faults"
         : args->shard         ? "--shard"
         : args->without       ? "--without"
         : args->only          ? "--only"
         : args->list          ? "--list"
         : args->setting_count ? "--set"
                               : NULL;
}

int lb_cli_hunt_from(const struct lb_args *args) {
  struct lb_cli_story told;
  if (useless(args)) return lb_complain(LB_EXIT_USAGE, "hunt --from: %s means nothing beside it", useless(args));
  int code = lb_cli_story_find(args, args->from, args->words, args->word_count, &told);
  if (code) return code;
  code = shrink_trial(args, &told);
  lb_cli_story_clear(&told);
  return code;
}
