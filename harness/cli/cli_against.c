/* SPDX-License-Identifier: MIT
 *
 * `lockbench run ... --against LOCKBENCH`: two builds take turns, so that a slow minute of the machine is
 * one of both. A round is a run of each with one trial of every cell; every other round the other one
 * begins. The folder of results has the rounds of the other build in a/, those of this one in b/, and
 * `compare FOLDER/a FOLDER/b` says again what is said at the end.
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
#include <sys/wait.h>
#include <unistd.h>

#include "base/called.h"
#include "base/files.h"
#include "cli.h"
#include "run/rundir.h"

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

static void make_line(const struct lb_args *args, const char *tool, const char *seed, const char *out, struct line *ret) {
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

/* Its exit code, or 128 + the signal that it died of. Without standard output: what it prints there is of one round. */
static int run_program(const char *const argv[]) {
  int status;
  pid_t pid = fork();
  if (pid < 0) return LB_EXIT_FAILURE;
  if (pid == 0) {
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0) _exit(LB_EXIT_FAILURE);
    execv(argv[0], (char *const *)argv);
    _exit(127);
  }
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return LB_EXIT_FAILURE;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* A run that was written: with verdicts as expected or not. */
static bool has_results(int code) { return code == LB_EXIT_OK || code == LB_EXIT_UNEXPECTED || code == LB_EXIT_UNDECIDED; }

static int play_round(const struct lb_args *args, const char *const tool[2], const struct lb_rundir *dir, int round, int rounds, uint64_t seed) {
  char text[32], out[PATH_MAX];
  struct line line;
  snprintf(text, sizeof text, "%llu", (unsigned long long)(seed + (uint64_t)round));
  for (int turn = 0; turn < 2; turn++) {
    int side = (turn + round) % 2;
    snprintf(out, sizeof out, "%s/%c/%d", dir->partial, 'a' + side, round);
    make_line(args, tool[side], text, out, &line);
    fprintf(stderr, "round %d of %d, %s\n", round, rounds, side == THIS_BUILD ? "this build" : "the other one");
    int code = run_program(line.word);
    if (code == LB_EXIT_STOPPED) return code;
    if (!has_results(code)) return lb_complain(code == LB_EXIT_USAGE ? LB_EXIT_USAGE : LB_EXIT_FAILURE, "round %d: %s ended with %d", round, tool[side], code);
  }
  return LB_EXIT_OK;
}

/* One side of it may be there. */
static void forget_round(const struct lb_rundir *dir, int round) {
  char path[PATH_MAX];
  for (int side = 'a'; side <= 'b'; side++) {
    snprintf(path, sizeof path, "%s/%c/%d", dir->partial, side, round);
    lb_remove_tree(path);
  }
}

static int compare(const struct lb_args *args, const struct lb_rundir *dir) {
  char a[PATH_MAX], b[PATH_MAX];
  snprintf(a, sizeof a, "%s/a", dir->final);
  snprintf(b, sizeof b, "%s/b", dir->final);
  int code = lb_compare_folders(args, a, b);
  fflush(stdout);
  fprintf(stderr, "again: %s compare %s %s\n", lb_called(), a, b);
  return code;
}

static int take_turns(const struct lb_args *args, const char *const tool[2], struct lb_rundir *dir) {
  int rounds = args->trials ? args->trials : ROUNDS, code = LB_EXIT_OK;
  uint64_t seed = args->has_seed ? args->seed : lb_random_seed();
  char err[600];
  int round = 1;
  for (; round <= rounds && code == LB_EXIT_OK; round++) code = play_round(args, tool, dir, round, rounds, seed);
  int whole = code == LB_EXIT_OK ? rounds : round - 2;
  if (code == LB_EXIT_STOPPED && whole < 1) return lb_complain(code, "interrupted before the first round had ended: nothing was kept");
  if (code != LB_EXIT_OK && code != LB_EXIT_STOPPED) return code;
  if (whole < rounds) forget_round(dir, whole + 1);
  if (lb_rundir_commit(dir, true, err, sizeof err) < 0) return lb_complain(LB_EXIT_FAILURE, "%s", err);
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
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0) _exit(127);
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

int lb_run_against(const struct lb_args *args) {
  static char self[PATH_MAX];
  const char *tool[2] = {args->against, self};
  struct lb_rundir dir;
  char err[600];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (args->plugins[0]) return lb_complain(LB_EXIT_USAGE, "--against: a plugin belongs to one build, so it cannot be measured by two");
  if (length <= 0) return lb_complain(LB_EXIT_FAILURE, "cannot find this program: %s", strerror(errno));
  if (!answers(args->against)) return lb_complain(LB_EXIT_USAGE, "--against %s: expected the program of another build", args->against);
  int r = lb_rundir_open(&dir, lb_results_folder(), "against", args->out, err, sizeof err);
  if (r < 0) return lb_complain(lb_exit_of_place(r, args->out), "%s", err);
  int code = take_turns(args, tool, &dir);
  lb_rundir_close(&dir);
  return code;
}
