/* SPDX-License-Identifier: MIT
 *
 * `lockbench run ... --against LOCKBENCH`: two builds take turns, so that a slow minute of the machine is one of both.
 * A round is a run of each with one trial of every cell; every other round the other one begins. The folder of results
 * has the rounds of the other build in a/, those of this one in b/. `compare FOLDER/a FOLDER/b` says again what is said
 * at the end.
 *
 * The builds need not have anything in common but the options of `run` and the columns of trials.csv: each
 * is a program of its own that reads its own scenarios.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/files.h"
#include "cli.h"
#include "run/rundir.h"
#include "show/live.h"

/* Beside its trials a run asks the servers for their versions, and writes its files. */
#define BESIDE_S 1.5
enum { ROUNDS = 20, ANSWER_MS = 10000, WORDS_MAX = 4 * LB_ARGS_MAX, THIS_BUILD = 1 };

/* What is typed for one round, in this order. */
struct line {
  const char *word[WORDS_MAX];
  size_t count;
};

static void add(struct line *line, const char *word) {
  if (line->count + 1 < WORDS_MAX) line->word[line->count++] = word;
}

static void add_option(struct line *line, const char *name, const char *value) {
  if (!value) return;
  add(line, name);
  add(line, value);
}

static void make_line(const struct lb_args *args, const char *tool, const char *seed, const char *out,
                      struct line *ret) {
  *ret = (struct line){.word = {tool, "run"}, .count = 2};
  for (int i = 0; i < args->word_count; i++) add(ret, args->words[i]);
  add_option(ret, "-b", args->systems);
  for (int guard = 0; guard < LB_GUARD_COUNT; guard++)
    if (args->guards >> guard & 1) add_option(ret, "-g", lb_guard_name((enum lb_guard)guard));
  for (size_t i = 0; i < args->setting_count; i++) add_option(ret, "-s", args->settings[i]);
  for (size_t i = 0; i < args->expect_count; i++) add_option(ret, "--expect", args->expects[i]);
  if (args->keep_logs) add(ret, "--keep-logs");
  add_option(ret, "-n", "1");
  add_option(ret, "--seed", seed);
  add_option(ret, "-o", out);
}

/* ---- a turn ------------------------------------------------------------------------------------------ */

struct view {
  struct lb_live_out live;
  lb_ns begin;
  size_t turns, all, violations;
  double whole_s; /* as it was estimated before the first turn */
  char what[40];
};

/* We pass the signal on, once, to the run of this turn, which then ends by itself. */
static volatile sig_atomic_t stopped;
static void on_signal(int sig) {
  (void)sig;
  stopped = 1;
}

static void show(struct view *v) {
  double elapsed_s = (double)(lb_clock_ns() - v->begin) / 1e9,
         expected_s = v->whole_s * (double)v->turns / (double)v->all;
  double left_s = lb_estimate_corrected(v->whole_s - expected_s, expected_s, elapsed_s, v->whole_s);
  struct lb_live_state state = {v->turns, v->all, elapsed_s, left_s, v->violations, v->what};
  lb_live_show(&v->live, &state);
}

static pid_t start(const char *const argv[], const char *err_path) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  setpgid(0, 0); /* Ctrl-C is for us, and we tell it once */
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  int null = open("/dev/null", O_RDWR),
      err = err_path ? open(err_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : STDERR_FILENO;
  if (null < 0 || err < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
      dup2(err, STDERR_FILENO) < 0)
    _exit(LB_EXIT_FAILURE);
  execv(argv[0], (char *const *)argv);
  _exit(127);
}

/* Its exit code, or 128 + the signal that it died of. Without standard output: what it prints there is of one round; so
 * is what it says of its time, so what it complains of goes into a file, if one is named. `view` may be NULL. */
static int run_program(const char *const argv[], const char *err_path, struct view *view) {
  enum { LOOK_MS = 100 };
  int status;
  bool told = false;
  pid_t pid = start(argv, err_path), ended;
  if (pid < 0) return LB_EXIT_FAILURE;
  while ((ended = waitpid(pid, &status, view ? WNOHANG : 0)) != pid) {
    if (ended < 0 && errno != EINTR) return LB_EXIT_FAILURE;
    if (!view) continue;
    if (stopped && !told) told = kill(pid, SIGTERM) == 0;
    show(view);
    lb_clock_sleep_until(lb_clock_ns() + LOOK_MS * LB_NS_PER_MS);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* A run that was written: with verdicts as expected or not. */
static bool has_results(int code) {
  return code == LB_EXIT_OK || code == LB_EXIT_UNEXPECTED || code == LB_EXIT_UNDECIDED;
}

/* The violations of a run. A run that cannot be read has none: the number is only shown. */
static size_t count_violations(const char *run) {
  struct lb_error err;
  char path[PATH_MAX];
  struct lb_csv csv;
  size_t count = 0;
  snprintf(path, sizeof path, "%.*s/trials.csv", PATH_MAX - 20, run);
  if (lb_csv_open(path, &csv, &err) < 0) return 0;
  int verdict = lb_csv_column(&csv, "verdict", &err);
  while (verdict >= 0 && lb_csv_next(&csv, &err) > 0) count += strcmp(csv.field[verdict], "violated") == 0;
  lb_csv_close(&csv);
  return count;
}

static void repeat_complaints(const char *path) {
  fflush(stderr);
  lb_files_append(stderr, path);
  fflush(stderr);
}

struct match {
  const struct lb_args *args;
  const char *const *tool; /* of both sides */
  const struct lb_rundir *dir;
  struct view *view;
};

static int play_turn(const struct match *m, int round, int side, const char *seed) {
  const struct lb_args *args = m->args;
  struct view *view = m->view;
  char out[PATH_MAX], err_path[PATH_MAX];
  struct line line;
  snprintf(out, sizeof out, "%s/%c/%d", m->dir->partial, 'a' + side, round);
  snprintf(err_path, sizeof err_path, "%s/complaints", m->dir->partial);
  make_line(args, m->tool[side], seed, out, &line);
  if (args->verbose && side == THIS_BUILD) add(&line, "-v"); /* the other one may not know it */
  int code = run_program(line.word, args->verbose ? NULL : err_path, view);
  lb_live_hide(&view->live);
  if (!has_results(code) && code != LB_EXIT_STOPPED && !args->verbose) repeat_complaints(err_path);
  unlink(err_path);
  view->turns++;
  view->violations += count_violations(out);
  if (code == LB_EXIT_STOPPED || stopped) return LB_EXIT_STOPPED;
  if (!has_results(code))
    return lb_complain(code == LB_EXIT_USAGE ? LB_EXIT_USAGE : LB_EXIT_FAILURE, "round %d: %s ended with %d", round,
                       m->tool[side], code);
  return LB_EXIT_OK;
}

static int play_round(const struct match *m, int round, int rounds, uint64_t seed) {
  char text[32];
  int code = LB_EXIT_OK;
  snprintf(text, sizeof text, "%llu", (unsigned long long)(seed + (uint64_t)round));
  for (int turn = 0; turn < 2 && code == LB_EXIT_OK; turn++) {
    int side = (turn + round) % 2;
    snprintf(m->view->what, sizeof m->view->what, "%s", side == THIS_BUILD ? "this build" : "the other one");
    if (m->args->verbose) fprintf(stderr, "round %d of %d, %s\n", round, rounds, m->view->what);
    code = play_turn(m, round, side, text);
  }
  return code;
}

/* Prints how long all rounds will take, and returns it in seconds. */
static double announce(double turn_s, int rounds) {
  enum { SIDES = 2 };
  double whole_s = (turn_s + BESIDE_S) * SIDES * rounds;
  char about[40];
  lb_live_about(whole_s, about, sizeof about);
  fprintf(stderr, "%d rounds, %s here\n", rounds, about);
  return whole_s;
}

/* ---- all of them ------------------------------------------------------------------------------------- */

/* One side of it may be there. */
static void forget_round(const struct lb_rundir *dir, int round) {
  char path[PATH_MAX];
  for (int side = 'a'; side <= 'b'; side++) {
    snprintf(path, sizeof path, "%s/%c/%d", dir->partial, side, round);
    lb_files_remove_tree(path);
  }
}

static int compare(const struct lb_args *args, const struct lb_rundir *dir) {
  char a[PATH_MAX], b[PATH_MAX];
  snprintf(a, sizeof a, "%s/a", dir->final);
  snprintf(b, sizeof b, "%s/b", dir->final);
  int code = lb_cli_compare_folders(args, a, b);
  fflush(stdout);
  fprintf(stderr, "again: %s compare %s %s\n", lb_process_called(), a, b);
  return code;
}

static int take_turns(const struct lb_args *args, double turn_s, const char *const tool[2], struct lb_rundir *dir) {
  int rounds = args->trials ? args->trials : ROUNDS, round = 1, code = LB_EXIT_OK;
  struct view view = {.live = {stderr, .terminal = lb_live_terminal(stderr), .said_ns = lb_clock_ns()},
                      .begin = lb_clock_ns(),
                      .all = 2 * (size_t)rounds};
  view.whole_s = announce(turn_s, rounds);
  const struct match match = {args, tool, dir, &view};
  uint64_t seed = args->has_seed ? args->seed : lb_cli_random_seed();
  struct lb_error err;
  static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    sigaction(ends[i], &(struct sigaction){.sa_handler = on_signal}, NULL);
  for (; round <= rounds && code == LB_EXIT_OK; round++) code = play_round(&match, round, rounds, seed);
  int whole = code == LB_EXIT_OK ? rounds : round - 2;
  if (code == LB_EXIT_STOPPED && whole < 1)
    return lb_complain(code, "interrupted before the first round had ended: nothing was kept");
  if (code != LB_EXIT_OK && code != LB_EXIT_STOPPED) return code;
  if (whole < rounds) forget_round(dir, whole + 1);
  if (lb_rundir_commit(dir, true, &err) < 0) return lb_complain(LB_EXIT_FAILURE, "%s", err.text);
  int compared = compare(args, dir);
  return whole == rounds ? compared : lb_complain(code, "interrupted: compared %d of %d rounds", whole, rounds);
}

/* The begin of what a program says of its version; "" = it cannot be started, or is silent for too long. */
static void ask_version(const char *tool, char *buf, size_t size) {
  size_t length = 0;
  ssize_t n = 1;
  int out[2], fate;
  struct pollfd p = {.events = POLLIN};
  buf[0] = '\0';
  if (pipe2(out, O_CLOEXEC) < 0) return;
  pid_t pid = fork();
  if (pid == 0) {
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
      _exit(127);
    execl(tool, tool, "--version", (char *)NULL);
    _exit(127);
  }
  close(out[1]);
  p.fd = out[0];
  while (pid > 0 && n > 0 && length + 1 < size && poll(&p, 1, ANSWER_MS) > 0)
    if ((n = read(out[0], buf + length, size - 1 - length)) > 0) length += (size_t)n;
  buf[length] = '\0';
  close(out[0]);
  if (pid <= 0) return;
  kill(pid, SIGKILL); /* no more is wanted of it */
  while (waitpid(pid, &fate, 0) < 0 && errno == EINTR) {
  }
}

/* Anything may end with 0 when it is asked for its version. */
static bool answers(const char *tool) {
  static const char ours[] = "lockbench ";
  char said[sizeof ours];
  ask_version(tool, said, sizeof said);
  return strcmp(said, ours) == 0;
}

int lb_cli_against(const struct lb_args *args, double turn_s) {
  static char self[PATH_MAX];
  const char *tool[2] = {args->against, self};
  struct lb_rundir dir;
  struct lb_error err;
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (args->plugins[0])
    return lb_complain(LB_EXIT_USAGE, "--against: a plugin belongs to one build, so it cannot be measured by two");
  if (length <= 0) return lb_complain(LB_EXIT_FAILURE, "cannot find this program: %s", strerror(errno));
  if (!answers(args->against))
    return lb_complain(LB_EXIT_USAGE, "--against %s: expected the program of another build", args->against);
  int r = lb_rundir_open(&dir, lb_cli_results_folder(), "against", args->out, &err);
  if (r < 0) return lb_complain(lb_cli_exit_of_place(r, args->out), "%s", err.text);
  int code = take_turns(args, turn_s, tool, &dir);
  lb_rundir_close(&dir);
  return code;
}
