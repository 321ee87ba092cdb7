/* test: beside */
/* SPDX-License-Identifier: MIT
 *
 * The folder of a run: nothing under its final name before it is whole, and nothing left of it otherwise, however the
 * tool ends. The tool is a child of this program where it has to be killed.
 */

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "base/clock.h"
#include "base/files.h"
#include "plan/peers.h"
#include "plan/plan.h"
#include "run/about.h"
#include "run/rundir.h"

#define MS UINT64_C(1000000)
enum { WAIT_MS = 10000, STAMP = 16 /* "20250101T000000Z" */ };

struct world {
  struct lb_error err;
  char root[PATH_MAX];
  struct lb_rundir dir, second;
};
static struct world *w;

static int set_up(void **state) {
  w = calloc(1, sizeof *w);
  char name[] = "/tmp/test-rundir-XXXXXX";
  if (!w || !mkdtemp(name) || !realpath(name, w->root)) return -1;
  *state = w;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  lb_files_remove_tree(w->root);
  free(w);
  return 0;
}
EACH(set_up, tear_down);

/* ---- looking ----------------------------------------------------------------------------------------------------- */

/* "ROOT/name", printf-made; the last two stay valid. */
__attribute__((format(printf, 1, 2))) static const char *in_root(const char *format, ...) {
  static char paths[2][PATH_MAX + 300];
  static unsigned turn;
  char *path = paths[turn++ % 2], name[300];
  va_list args;
  va_start(args, format);
  vsnprintf(name, sizeof name, format, args);
  va_end(args);
  snprintf(path, sizeof *paths, "%s/%s", w->root, name);
  return path;
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static bool in(const char *folder, const char *name) {
  char path[4000];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return exists(path);
}

static int entries(const char *folder) {
  int count = 0;
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  for (struct dirent *entry; (entry = readdir(dir));)
    count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
  closedir(dir);
  return count;
}

static char final[3000]; /* the name that the latest run wants */

static void open_run(struct lb_rundir *dir) {
  if (lb_rundir_open(dir, w->root, "label", NULL, &w->err) != 0) fail_msg("%s", w->err.text);
  snprintf(final, sizeof final, "%s", dir->final);
}

static void commit(void) {
  if (lb_rundir_commit(&w->dir, true, &w->err) != 0) fail_msg("%s", w->err.text);
}

static void write_file(const char *folder, const char *name) {
  char path[4000];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *out = fopen(path, "we");
  assert_non_null(out);
  fputs("x\n", out);
  assert_int_equal(lb_files_close_written(out), 0);
}

/* ---- the way of a run that ends well ----------------------------------------------------------------------------- */

TEST(nothing_has_the_final_name_before_the_commit) {
  open_run(&w->dir);
  assert_false(exists(w->dir.final));
  assert_int_equal(entries(w->root), 1);
  assert_int_equal(strncmp(strrchr(w->dir.partial, '/'), "/.", 2), 0);
  assert_true(in(w->dir.partial, "histories") && in(w->dir.partial, "logs") && in(w->dir.partial, "parts"));
  assert_true(in(w->dir.partial, "scratch/cache") && in(w->dir.partial, "lock"));
  lb_rundir_close(&w->dir);
}

TEST(a_commit_renames_and_leaves_no_scratch_parts_or_lock) {
  open_run(&w->dir);
  write_file(w->dir.partial, "run.json");
  write_file(w->dir.partial, "histories/a.hist");
  write_file(w->dir.partial, "parts/a.latency");
  write_file(w->dir.partial, "scratch/cache/template");
  commit();
  assert_true(in(final, "run.json") && in(final, "histories/a.hist"));
  assert_int_equal(entries(final), 2); /* logs/ was empty */
  lb_rundir_close(&w->dir);
  assert_true(in(final, "run.json") && in(final, "histories/a.hist"));
  assert_int_equal(entries(w->root), 1);
}

TEST(logs_are_kept_when_there_are_some) {
  open_run(&w->dir);
  write_file(w->dir.partial, "logs/redis-1.log");
  commit();
  lb_rundir_close(&w->dir);
  assert_true(in(final, "logs/redis-1.log"));
  assert_false(in(final, "histories"));
}

TEST(a_folder_that_took_the_name_meanwhile_is_not_touched) {
  open_run(&w->dir);
  assert_int_equal(mkdir(final, 0755), 0);
  assert_int_equal(lb_rundir_commit(&w->dir, true, &w->err), -EEXIST);
  assert_non_null(strstr(w->err.text, final));
  lb_rundir_close(&w->dir);
  assert_int_equal(entries(w->root), 1);
  assert_int_equal(entries(final), 0);
}

/* ---- of a run that does not -------------------------------------------------------------------------------------- */

STATES(a_close_without_a_commit_removes_it, open_run(&w->dir), write_file(w->dir.partial, "histories/a.hist"),
       lb_rundir_close(&w->dir), assert_int_equal(entries(w->root), 0));

struct tool { /* what the child tells of itself */
  char partial[3000];
  int guardian;
  int ended; /* ours: a pipe that ends with the tool, its guardian and its trial */
};

/* A tool that opened a run and waits to be killed; with_trial: it has a trial that still writes when the tool is
 * dead. */
static _Noreturn void be_tool(int out, bool with_trial) {
  struct tool tool = {.guardian = 0};
  char late[3100];
  if (lb_rundir_open(&w->dir, w->root, "label", NULL, &w->err) != 0) _exit(1);
  snprintf(tool.partial, sizeof tool.partial, "%s", w->dir.partial);
  tool.guardian = w->dir.guardian;
  if (with_trial && fork() == 0) {
    char byte;
    close(w->dir.guard_pipe);
    if (read(w->dir.alive, &byte, 1) != 0) _exit(1); /* ends with the tool */
    lb_clock_sleep_until(lb_clock_ns() + 200 * MS);
    snprintf(late, sizeof late, "%s/late/deep", w->dir.partial);
    _exit(lb_files_make_dirs(late) == 0 ? 0 : 1);
  }
  if (write(out, &tool, sizeof tool) != sizeof tool) _exit(1);
  lb_clock_sleep_until(lb_clock_ns() + 6 * WAIT_MS * MS);
  _exit(1);
}

static pid_t start_tool(bool with_trial, struct tool *ret) {
  int pipe_fd[2];
  assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
  pid_t pid = fork();
  if (pid == 0) be_tool(pipe_fd[1], with_trial);
  close(pipe_fd[1]);
  assert_int_equal(read(pipe_fd[0], ret, sizeof *ret), sizeof *ret);
  ret->ended = pipe_fd[0];
  assert_true(in(ret->partial, "lock"));
  return pid;
}

/* Kills the tool and waits for the end of all that it has started. */
static void end_tool(pid_t pid, const struct tool *tool) {
  struct pollfd p = {.fd = tool->ended, .events = POLLIN};
  int status = 0;
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(poll(&p, 1, WAIT_MS), 1);
  close(tool->ended);
}

TEST(the_guardian_removes_what_a_killed_tool_left) {
  struct tool tool;
  pid_t pid = start_tool(false, &tool);
  end_tool(pid, &tool);
  assert_int_equal(entries(w->root), 0);
}

TEST(the_guardian_waits_for_the_trials_of_a_killed_tool) {
  struct tool tool;
  pid_t pid = start_tool(true, &tool);
  end_tool(pid, &tool);
  assert_int_equal(entries(w->root), 0);
}

/* ---- of a run that has something to keep ------------------------------------------------------------------------- */

TEST(a_folder_with_outcomes_gets_its_name) {
  open_run(&w->dir);
  write_file(w->dir.partial, "resume.bin");
  write_file(w->dir.partial, "parts/a.latency");
  write_file(w->dir.partial, "scratch/cache/template");
  lb_rundir_close(&w->dir);
  assert_true(in(final, "resume.bin") && in(final, "parts/a.latency"));
  assert_int_equal(entries(final), 2);
  assert_int_equal(entries(w->root), 1);
}

TEST(outcomes_whose_name_was_taken_get_one_beside_it) {
  open_run(&w->dir);
  write_file(w->dir.partial, "resume.bin");
  assert_int_equal(mkdir(final, 0755), 0);
  lb_rundir_close(&w->dir);
  char kept[PATH_MAX];
  snprintf(kept, sizeof kept, "%s-kept", final);
  assert_true(in(kept, "resume.bin"));
  assert_int_equal(entries(final), 0);
  assert_int_equal(entries(w->root), 2);
}

TEST(a_name_that_is_no_text_is_refused_before_anything_runs) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/r\xe9s", w->root);
  assert_int_equal(lb_rundir_open(&w->dir, NULL, NULL, path, &w->err), -EILSEQ);
  assert_non_null(strstr(w->err.text, "UTF-8"));
  assert_int_equal(entries(w->root), 0);
}

static void write_tables(void *data) { write_file(((struct lb_rundir *)data)->partial, "run.json"); }

TEST(the_guardian_calls_for_rescue) {
  open_run(&w->dir);
  write_file(w->dir.partial, "resume.bin");
  int first = w->dir.guardian;
  assert_int_equal(lb_rundir_set_rescue(&w->dir, write_tables, &w->dir), 0);
  assert_int_not_equal(w->dir.guardian, first);
  lb_rundir_close(&w->dir);
  assert_true(in(final, "run.json") && in(final, "resume.bin"));
}

TEST(a_committed_folder_needs_no_rescue) {
  open_run(&w->dir);
  write_file(w->dir.partial, "resume.bin");
  assert_int_equal(lb_rundir_set_rescue(&w->dir, write_tables, &w->dir), 0);
  commit();
  lb_rundir_close(&w->dir);
  assert_int_equal(entries(final), 0);
}

TEST(a_stopped_run_is_opened_again_and_loses_nothing) {
  struct lb_rundir second;
  open_run(&w->dir);
  write_file(w->dir.partial, "resume.bin");
  write_file(w->dir.partial, "histories/a.hist");
  assert_int_equal(lb_rundir_commit(&w->dir, false, &w->err), 0);
  lb_rundir_close(&w->dir);
  static const char *const results[] = {"report.html", "run.json", "trials.csv", "latency.csv", "series.csv.part"};
  for (size_t i = 0; i < sizeof results / sizeof *results; i++) write_file(final, results[i]);
  assert_int_equal(lb_rundir_reopen(&w->dir, final, &w->err), 0);
  assert_false(exists(final));
  assert_true(in(w->dir.partial, "histories/a.hist") && in(w->dir.partial, "parts"));
  assert_int_equal(lb_rundir_reopen(&second, final, &w->err), -EBUSY);
  char partial[4000];
  snprintf(partial, sizeof partial, "%s", w->dir.partial);
  assert_int_equal(lb_rundir_reopen(&second, partial, &w->err), -EBUSY);
  assert_true(exists(partial));
  lb_rundir_forget_results(&w->dir);
  lb_rundir_close(&w->dir);
  assert_true(in(final, "histories/a.hist") && in(final, "resume.bin"));
  assert_int_equal(entries(final), 2);
  assert_int_equal(entries(w->root), 1);
  assert_int_equal(lb_rundir_reopen(&second, in_root("none"), &w->err), -ENOENT);
}

/* ---- what a trial has -------------------------------------------------------------------------------------------- */

static const char *const of_trials[] = {"histories/%s.hist", "parts/%s.latency",    "parts/%s.series",
                                        "faults/%s.jsonl",   "waits/%s.jsonl",      "schedules/%s.txt",
                                        "scratch/%s/data",   "logs/%s/redis-1.log", "logs/%s.servers/redis-1.log"};

/* How many there are; `make`: makes them first. */
static size_t files_of(const char *trial, bool make) {
  size_t count = 0;
  for (size_t i = 0; i < sizeof of_trials / sizeof *of_trials; i++) {
    char name[200], folder[4000];
    int before = (int)(strchr(of_trials[i], '%') - of_trials[i]);
    snprintf(name, sizeof name, "%.*s%s%s", before, of_trials[i], trial, of_trials[i] + before + 2);
    snprintf(folder, sizeof folder, "%s/%s", w->dir.partial, name);
    *strrchr(folder, '/') = '\0';
    if (make) assert_int_equal(lb_files_make_dirs(folder), 0);
    if (make) write_file(w->dir.partial, name);
    count += in(w->dir.partial, name);
  }
  return count;
}

TEST(a_trial_is_forgotten_with_all_its_files_and_no_other) {
  enum { ALL = sizeof of_trials / sizeof *of_trials, LOGS = 2 };
  open_run(&w->dir);
  assert_int_equal(files_of("one", true), ALL);
  assert_int_equal(files_of("one.more", true), ALL);
  lb_rundir_forget(w->dir.partial, "one", false);
  assert_int_equal(files_of("one", false), LOGS);
  lb_rundir_forget(w->dir.partial, "one", true);
  assert_int_equal(files_of("one", false), 0);
  assert_int_equal(files_of("one.more", false), ALL);
  lb_rundir_forget(w->dir.partial, "one.more", true);
  write_file(w->dir.partial, "run.json");
  commit();
  assert_int_equal(entries(final), 1); /* no folder is left empty */
  lb_rundir_close(&w->dir);
}

/* ---- a guardian that is gone ------------------------------------------------------------------------------------- */

static void kill_guardian(bool reap) {
  siginfo_t info;
  assert_int_equal(kill(w->dir.guardian, SIGKILL), 0);
  assert_int_equal(waitid(P_PID, (id_t)w->dir.guardian, &info, WEXITED | (reap ? 0 : WNOWAIT)), 0);
}

TEST(what_a_killed_guardian_cannot_do_the_tool_does) {
  for (int reaped = 0; reaped < 2; reaped++) {
    open_run(&w->dir);
    write_file(w->dir.partial, "resume.bin");
    kill_guardian(reaped);
    lb_rundir_close(&w->dir);
    assert_true(in(final, "resume.bin"));
    open_run(&w->dir);
    kill_guardian(reaped);
    lb_rundir_close(&w->dir);
    assert_false(exists(final));
    assert_int_equal(entries(w->root), reaped + 1);
  }
}

/* A library as peers.ini has them, whose adapter leaves a process behind that has our pipe open. */
static void write_peer(void) {
  assert_int_equal(lb_files_make_dirs(in_root("peers")), 0);
  FILE *out = fopen(in_root("peers/peers.ini"), "we");
  assert_non_null(out);
  fputs("[upgraded]\nrun = sh peers/adapter.sh\nsays = name=upgraded topologies=none ends=lease can=\nversion = 1\n"
        "there = /bin/sh\n",
        out);
  assert_int_equal(lb_files_close_written(out), 0);
  out = fopen(in_root("peers/adapter.sh"), "we");
  assert_non_null(out);
  fputs("setsid sleep 1000 &\n"
        "echo lockbench-adapter 1 name=upgraded version=2 topologies=none ends=lease can=\nread line\n",
        out);
  assert_int_equal(lb_files_close_written(out), 0);
}

/* Who asks ends what the adapter has started, and must not take the guardian for that. */
TEST(a_question_for_a_version_does_not_end_the_guardian) {
  static char path[4096];
  const char *source = getenv("LB_SOURCE_DIR"), *paths[] = {path};
  struct lb_plan_request request = {.systems = "peer:upgraded@none", .trials = 1, .seed = 7};
  struct lb_run_info info = {0};
  struct lb_plan plan;
  int end[2];
  assert_int_equal(pipe(end), 0);
  write_peer();
  if (lb_peers_load(w->root, &w->err) < 0) fail_msg("%s", w->err.text);
  snprintf(path, sizeof path, "%s/scenarios/speed/contention.ini", source ? source : ".");
  if (lb_plan_load(paths, 1, &request, &plan, &w->err) < 0) fail_msg("%s", w->err.text);
  assert_int_equal(lb_rundir_open(&w->dir, NULL, NULL, in_root("runs/asked"), &w->err), 0);
  lb_run_info_ask(&info, &plan, w->dir.partial);
  assert_int_equal(info.library_count, 1);
  assert_string_equal(info.libraries[0].version, "2");
  assert_int_equal(waitpid(w->dir.guardian, NULL, WNOHANG), 0); /* it is ours, and lives */
  lb_rundir_close(&w->dir);
  close(end[1]);
  struct pollfd p = {.fd = end[0], .events = POLLIN};
  assert_int_equal(poll(&p, 1, WAIT_MS), 1); /* nobody else has the other end */
  close(end[0]);
  lb_run_info_clear(&info);
  lb_plan_clear(&plan);
}

/* The signals it ignores, as a mask; 0 = it is gone. */
static unsigned long long ignored_by(int pid) {
  char path[64], line[200];
  unsigned long long mask = 0;
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  FILE *in_file = fopen(path, "re");
  while (in_file && fgets(line, sizeof line, in_file)) sscanf(line, "SigIgn: %llx", &mask);
  if (in_file) fclose(in_file);
  return mask;
}

TEST(signals_of_a_terminal_do_not_end_the_guardian) {
  struct tool tool;
  pid_t pid = start_tool(false, &tool);
  uint64_t end = lb_clock_ns() + WAIT_MS * MS; /* it may only just have been forked */
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) /* nohup and a shell's & have some ignored before */
    while (!(ignored_by(tool.guardian) & 1 << (signals[i] - 1)) && lb_clock_ns() < end)
      lb_clock_sleep_until(lb_clock_ns() + MS);
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) assert_int_equal(kill(tool.guardian, signals[i]), 0);
  end_tool(pid, &tool);
  assert_int_equal(entries(w->root), 0);
}

/* ---- sweeping ---------------------------------------------------------------------------------------------------- */

static bool lock_is_free(const char *partial) {
  char path[3100];
  snprintf(path, sizeof path, "%s/lock", partial);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  bool is_free = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (fd >= 0) close(fd);
  return is_free;
}

TEST(the_next_run_removes_what_a_killed_guardian_could_not) {
  struct tool tool;
  pid_t pid = start_tool(false, &tool);
  assert_int_equal(kill(tool.guardian, SIGKILL), 0);
  end_tool(pid, &tool);
  for (uint64_t end = lb_clock_ns() + WAIT_MS * MS; !lock_is_free(tool.partial) && lb_clock_ns() < end;)
    lb_clock_sleep_until(lb_clock_ns() + 5 * MS);
  assert_true(exists(tool.partial));
  open_run(&w->dir);
  assert_int_equal(entries(w->root), 1);
  lb_rundir_close(&w->dir);
}

static void make_partial(const char *name, bool with_lock) {
  assert_int_equal(lb_files_make_dirs(in_root("%s/histories", name)), 0);
  if (with_lock) assert_true(fclose(fopen(in_root("%s/lock", name), "we")) == 0);
}

TEST(only_partial_folders_that_nobody_owns_are_swept) {
  make_partial(".stale.partial", true);
  make_partial(".owned.partial", true);
  make_partial(".elsewhere.partial", false);
  write_file(in_root(".elsewhere.partial"), "lock"); /* it names another machine */
  make_partial(".fresh.partial", false);
  make_partial("finished.partial", true); /* a label may end so */
  make_partial(".other", true);
  int fd = open(in_root(".owned.partial/lock"), O_RDWR | O_CLOEXEC);
  assert_true(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
  open_run(&w->dir);
  assert_false(exists(in_root(".stale.partial")));
  assert_true(exists(in_root(".owned.partial/histories")));
  assert_true(exists(in_root(".elsewhere.partial/histories")));
  assert_true(exists(in_root(".fresh.partial/histories")));
  assert_true(exists(in_root("finished.partial/histories")));
  assert_true(exists(in_root(".other/histories")));
  lb_rundir_close(&w->dir);
  close(fd);
}

TEST(a_run_does_not_sweep_another_that_is_under_way) {
  open_run(&w->dir);
  open_run(&w->second);
  assert_true(exists(w->dir.partial));
  lb_rundir_close(&w->second); /* the later one first: its guardian has inherited the pipe of the other */
  lb_rundir_close(&w->dir);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

TEST(two_runs_of_the_same_second_have_different_names) {
  bool same_second = false;
  for (int tries = 0; tries < 20 && !same_second; tries++) {
    open_run(&w->dir);
    open_run(&w->second);
    assert_string_not_equal(w->dir.id, w->second.id);
    assert_string_not_equal(w->dir.partial, w->second.partial);
    assert_string_not_equal(w->dir.final, w->second.final);
    same_second = strncmp(w->dir.id, w->second.id, STAMP) == 0;
    if (same_second) assert_string_equal(w->second.id + STAMP, "-label-2");
    lb_rundir_close(&w->second);
    lb_rundir_close(&w->dir);
  }
  assert_true(same_second);
}

TEST(a_run_does_not_take_the_name_of_a_finished_one) {
  char id[128];
  open_run(&w->dir);
  snprintf(id, sizeof id, "%s", w->dir.id);
  commit();
  lb_rundir_close(&w->dir);
  open_run(&w->dir);
  assert_string_not_equal(w->dir.id, id);
  lb_rundir_close(&w->dir);
  assert_true(exists(in_root("%s", id)));
}

STATES(a_label_becomes_a_plain_name,
       assert_int_equal(lb_rundir_open(&w->dir, w->root, "../a b*\nA.9_-\xc3\xbc", NULL, &w->err), 0),
       assert_string_equal(w->dir.id + STAMP, "-..-a-b--A.9_---"),
       assert_string_equal(w->dir.final, in_root("%s", w->dir.id)), lb_rundir_close(&w->dir));
STATES(the_folder_of_all_runs_is_made,
       assert_int_equal(lb_rundir_open(&w->dir, in_root("a/b"), "label", NULL, &w->err), 0),
       assert_string_equal(w->dir.final, in_root("a/b/%s", w->dir.id)), lb_rundir_close(&w->dir));

TEST(the_path_that_was_asked_for_is_taken_as_it_is) {
  assert_int_equal(lb_rundir_open(&w->dir, "unused", "label", in_root("a/mine/"), &w->err), 0);
  assert_string_equal(w->dir.id, "mine");
  assert_string_equal(w->dir.final, in_root("a/mine"));
  assert_false(exists(w->dir.final));
  commit();
  assert_true(exists(in_root("a/mine")));
  lb_rundir_close(&w->dir);
  assert_true(exists(in_root("a/mine")));
}

TEST(a_path_that_exists_is_refused) {
  char expected[PATH_MAX + 400];
  write_file(w->root, "mine");
  snprintf(expected, sizeof expected, "results folder %s/mine exists already, expected a new name", w->root);
  assert_int_equal(lb_rundir_open(&w->dir, "unused", "label", in_root("mine"), &w->err), -EEXIST);
  assert_string_equal(w->err.text, expected);
  assert_int_equal(entries(w->root), 1);
}

TEST(a_place_that_cannot_be_written_is_refused_with_a_reason) {
  write_file(w->root, "file");
  assert_int_equal(lb_rundir_open(&w->dir, in_root("file"), "label", NULL, &w->err), -ENOTDIR);
  assert_non_null(strstr(w->err.text, "cannot write results to "));
  assert_non_null(strstr(w->err.text, strerror(ENOTDIR)));
  assert_int_equal(lb_rundir_open(&w->dir, "unused", "label", in_root("file/x"), &w->err), -ENOTDIR);
  assert_non_null(strstr(w->err.text, strerror(ENOTDIR)));
}

/* The number that the next descriptor gets. */
static int next_descriptor(void) {
  int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(fd);
  return fd;
}

/* With each number of descriptors that is too small, from the one on that removing takes: an error, and neither a
 * folder nor a descriptor is left. */
TEST(a_run_without_enough_descriptors_leaves_nothing) {
  struct rlimit old, few;
  int r = -1, refused = 0;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
  for (int room = 1; room < 20 && r < 0; room++) {
    int next = next_descriptor();
    few = (struct rlimit){.rlim_cur = (rlim_t)(next + room), .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    r = lb_rundir_open(&w->dir, w->root, "label", NULL, &w->err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    if (r == 0) break;
    assert_int_equal(r, -EMFILE);
    assert_non_null(strstr(w->err.text, "cannot write results to"));
    assert_int_equal(next_descriptor(), next);
    assert_int_equal(entries(w->root), 0);
    refused++;
  }
  assert_int_equal(r, 0);
  assert_true(refused >= 3); /* the lock, one pipe, the other */
  lb_rundir_close(&w->dir);
  assert_int_equal(entries(w->root), 0);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

enum { HOLE_BYTES = 1 << 20 };

/* A template: a file that only its owner may read, of zeros and a last byte, in a folder. */
static void make_template(void) {
  static char zeros[HOLE_BYTES];
  assert_int_equal(lb_files_make_dirs(in_root("from/sub")), 0);
  int fd = open(in_root("from/sub/file"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  assert_int_equal(write(fd, zeros, sizeof zeros), sizeof zeros);
  assert_int_equal(write(fd, "x", 1), 1);
  close(fd);
  assert_int_equal(chmod(in_root("from/sub"), 0500), 0);
}

static struct stat file_of(const char *copy) {
  struct stat st;
  char last = 0;
  int fd = open(in_root("%s/sub/file", copy), O_RDONLY | O_CLOEXEC);
  assert_int_equal(fstat(fd, &st), 0);
  assert_int_equal(pread(fd, &last, 1, HOLE_BYTES), 1);
  assert_int_equal(last, 'x');
  assert_int_equal(st.st_size, HOLE_BYTES + 1);
  assert_int_equal(st.st_mode & 07777, 0600);
  close(fd);
  return st;
}

TEST(a_copied_folder_has_the_same_files_and_modes) {
  struct stat sub;
  make_template();
  assert_int_equal(lb_files_copy_tree(in_root("from"), in_root("whole"), false), 0);
  assert_true(file_of("whole").st_blocks >= HOLE_BYTES / 512);
  assert_int_equal(stat(in_root("whole/sub"), &sub), 0);
  assert_int_equal(sub.st_mode & 07777, 0500);
  assert_int_equal(lb_files_copy_tree(in_root("from"), in_root("whole"), false), -EEXIST);
}

TEST(what_is_zero_takes_no_room_in_a_sparse_copy) {
  make_template();
  lb_files_dig_holes(in_root("from"));
  assert_int_equal(lb_files_copy_tree(in_root("from"), in_root("sparse"), true), 0);
  assert_true(file_of("sparse").st_blocks < HOLE_BYTES / 512);
  assert_int_equal(lb_files_copy_tree(in_root("from"), in_root("whole"), false), 0);
  assert_true(file_of("whole").st_blocks >= HOLE_BYTES / 512);
}

/* A link or a pipe is no file of a server that has ended. */
TEST(what_is_no_file_is_not_copied) {
  assert_int_equal(lb_files_make_dirs(in_root("from")), 0);
  assert_int_equal(symlink("nowhere", in_root("from/link")), 0);
  assert_int_equal(lb_files_copy_tree(in_root("from"), in_root("to"), false), -EINVAL);
  assert_int_equal(lb_files_copy_tree(in_root("none"), in_root("other"), false), -ENOENT);
}
