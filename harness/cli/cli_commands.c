/* SPDX-License-Identifier: MIT
 *
 * The commands, and what they share: what a run takes where nothing was said, where things are, how long it will take.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/process.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/machine.h"
#include "base/error.h"
#include "base/need.h"
#include "base/text.h"
#include "scenario/scenario.h"
#include "show/live.h"

/* In the order of the help. */
/* clang-format off */
#define COMMANDS(C)                                                                                    \
  C(run) C(merge) C(suite) C(judge) C(list) C(show) C(which) C(predict) C(check) C(explain)  \
  C(compare) C(report) C(conform) C(serve) C(fault) C(hunt) C(clean) C(doctor)
/* clang-format on */

#define DECLARED(name) extern const struct lb_cli_command lb_command_##name;
#define LISTED(name) &lb_command_##name,
COMMANDS(DECLARED)
const struct lb_cli_command *const lb_cli_commands[] = {COMMANDS(LISTED) NULL};

/* `check` and `conform` say theirs in their rows. */
const char lb_exit_codes[] =
    "exit: 0 as expected, 1 failure of the harness, 2 usage or bad input, 3 verdict differs from the expectation,\n"
    "      4 undecided, 5 a needed server or permission is missing, or nothing was asked,\n"
    "      130 stopped: decided trials are kept, and --resume plays the rest\n"
    "of every command: 1 its output could not be written, 141 who read its output went away (`| head`)\n";

/* What to type in place of a command of the last release. */
static const struct {
  const char *name, *instead;
} gone[] = {
    {"completion", "install/completion bash"},
    {"adapter-check", "conform CMD"},
    {"shrink", "hunt --from DIR CELL"},
    {"theory", "list facts"},
    {"play", "run SCENARIO -b SYSTEM --seed N --json"},
};

const char *lb_cli_gone(const char *name) {
  for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
    if (strcmp(gone[i].name, name) == 0) return gone[i].instead;
  return NULL;
}

const struct lb_cli_command *lb_cli_command_find(const char *name) {
  const struct lb_cli_command *const *c = lb_cli_commands;
  while (*c && strcmp((*c)->name, name) != 0) c++;
  return *c;
}

/* ---- defaults of a run ----------------------------------------------------------------------------------- */

enum { JOBS_MORE = 3 };

/* 32 bits: enough to draw from, and short enough to be copied from a screen. */
uint64_t lb_cli_random_seed(void) {
  uint32_t word = 1;
  if (getrandom(&word, sizeof word, 0) != sizeof word) word = (uint32_t)lb_clock_ns();
  return word;
}

int lb_cli_default_jobs(void) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN); /* a directed trial mostly waits: four a core */
  return cores < 1 ? 4 : cores > 4 ? 16 : (int)(4 * cores);
}

/* What the user said is meant; what is guessed is exceeded where the machine bears it. */
struct lb_jobs lb_cli_jobs_of(const struct lb_args *args, int guess) {
  int most = JOBS_MORE * guess > LB_JOBS_MOST ? LB_JOBS_MOST : JOBS_MORE * guess;
  return args->jobs ? (struct lb_jobs){args->jobs, args->jobs} : (struct lb_jobs){guess < most ? guess : most, most};
}

/* Servers that are kept for the next trial take time of the processors as long as they are there: more of them end no
 * sooner. */
struct lb_jobs lb_cli_run_jobs(const struct lb_args *args) {
  struct lb_jobs jobs = lb_cli_jobs_of(args, lb_cli_default_jobs());
  return args->reuse ? (struct lb_jobs){jobs.always, jobs.always} : jobs;
}

/* results/ below the sources belongs to the user who built the tool. A user without write access gets a folder below
 * the current one. */
const char *lb_cli_results_folder(void) {
  static char path[4096];
  const char *folder = getenv("LOCKBENCH_RESULTS");
  if (folder && *folder) return folder;
  snprintf(path, sizeof path, "%s/results", lb_process_root());
  return !lb_process_is_installed() && access(path, W_OK) == 0 ? path : "lockbench-results";
}

/* ---- the folder of -o ----------------------------------------------------------------------- */

int lb_cli_exit_of_place(int error, const char *out) {
  return out && error != -ENOMEM && error != -ENOSPC && error != -EMFILE ? LB_EXIT_USAGE : LB_EXIT_FAILURE;
}

int lb_cli_try_folder(const char *command, const char *path, const char *out) {
  char file[4100];
  int r = lb_files_make_dirs(path);
  snprintf(file, sizeof file, "%s/.lockbench-XXXXXX", path);
  int fd = r == 0 ? mkostemp(file, O_CLOEXEC) : -1;
  if (r == 0 && fd < 0) r = -errno;
  if (fd >= 0) close(fd), unlink(file);
  return r < 0 ? lb_complain(lb_cli_exit_of_place(r, out), "%s: cannot write to %s: %s", command, path, strerror(-r))
               : 0;
}

/* ---- scenarios and suites ------------------------------------------------------------------- */

/* An .ini file below the root by its name, or as a path; malloc'd, NULL with one line in err.
 * What has a '/' or ends in .ini is a path, even if there is no such file: then the reader
 * complains, with the path. The name of a file is looked up in the folder, not put together,
 * because a scenario's file may begin with a number. */
static char *find_file(const char *what, const char *place, const char *name, struct lb_error *err) {
  char folder[4096], **names = NULL, **paths = NULL, *found = NULL;
  size_t count = 0, length = strlen(name);
  if (strchr(name, '/') || (length > 4 && strcmp(name + length - 4, ".ini") == 0)) return lb_need_text(name);
  snprintf(folder, sizeof folder, "%s/%s", lb_process_root(), place);
  int r = lb_scenario_list(folder, &names, &paths, &count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) found = lb_need_text(paths[i]);
  const char *near = count ? lb_text_suggest(name, (const char *const *)names, count) : NULL;
  if (!found && r < 0) lb_refuse(err, "cannot read %s: %s", folder, strerror(-r));
  else if (!found && near) lb_refuse(err, "unknown %s '%s', did you mean '%s'?", what, name, near);
  else if (!found)
    lb_refuse(err, "unknown %s '%s', expected one of `%s list %ss` or a path to an .ini file", what, name,
              lb_process_called(), what);
  for (size_t i = 0; i < count; i++) free(names[i]), free(paths[i]);
  free(names);
  free(paths);
  return found;
}

char *lb_cli_look_for_scenario(const char *name, struct lb_error *err) {
  return find_file("scenario", LB_SCENARIOS, name, err);
}

static char *find_or_complain(const char *what, const char *place, const char *name) {
  struct lb_error err;
  char *path = find_file(what, place, name, &err);
  if (!path) lb_complain(0, "%s", err.text);
  return path;
}

char *lb_cli_find_scenario(const char *name) { return find_or_complain("scenario", LB_SCENARIOS, name); }

char *lb_cli_find_suite(const char *name) { return find_or_complain("suite", LB_SUITES, name); }

/* ---- how long a command will take here, said before it starts -------------------------------------------- */

/* What is less is over before the line is read. */
enum { FEW_TRIALS = 5, FEW_S = 10 };

static struct lb_room idle(struct lb_jobs jobs) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return (struct lb_room){.cores = cores < 1 ? 1 : (int)cores, .jobs = jobs};
}

struct lb_room lb_cli_room_now(struct lb_jobs jobs) {
  struct lb_room room = idle(jobs);
  room.others = lb_machine_others();
  return room;
}

static bool is_over_soon(const struct lb_tally *tally, const struct lb_estimate *e) {
  return tally->wanted - tally->done <= FEW_TRIALS && e->whole_s <= FEW_S;
}

void lb_cli_read_times(struct lb_times *ret) {
  struct lb_error err;
  char path[4000];
  snprintf(path, sizeof path, "%s/" LB_SCENARIOS "/times.csv", lb_process_root());
  lb_times_read(path, ret, &err);
}

/* Without the table it is a guess, which is corrected while the run goes on. What is over soon anyway does not wait to
 * know what others want of the machine. */
static void estimate(const struct lb_tally *tally, struct lb_jobs jobs, struct lb_estimate *ret) {
  struct lb_times times;
  struct lb_room room = idle(jobs);
  lb_cli_read_times(&times);
  lb_estimate_begin(tally, &times, &room, ret);
  if (!is_over_soon(tally, ret)) {
    room = lb_cli_room_now(jobs);
    lb_estimate_end(ret);
    lb_estimate_begin(tally, &times, &room, ret);
  }
  lb_times_clear(&times);
}

void lb_cli_announce(const struct lb_tally *tally, struct lb_jobs jobs, struct lb_estimate *ret) {
  char about[40];
  estimate(tally, jobs, ret);
  if (is_over_soon(tally, ret)) return;
  size_t left = tally->wanted - tally->done;
  lb_live_about(ret->whole_s, about, sizeof about);
  fprintf(stderr, "%zu trial%s, %s here\n", left, left == 1 ? "" : "s", about);
}

double lb_cli_seconds_of(const struct lb_plan *plan, struct lb_jobs jobs) {
  struct lb_tally tally;
  struct lb_estimate e = {0};
  lb_tally_begin(plan, &tally);
  estimate(&tally, jobs, &e);
  lb_tally_clear(&tally);
  double s = e.whole_s;
  lb_estimate_end(&e);
  return s;
}
