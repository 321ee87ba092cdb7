/* test: beside */
/* SPDX-License-Identifier: MIT
 *
 * Server processes: what the program finds when it starts, and that nothing of it is left when it ends.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "base/clock.h"
#include "network/proc.h"
#include "skip.h"

#define WAIT_NS (UINT64_C(5) * 1000000000)

struct world {
  struct lb_error err;
  char dir[64], log[80];
  struct lb_proc proc;
};
static struct world *w;

static int set_up(void **state) {
  w = calloc(1, sizeof *w);
  snprintf(w->dir, sizeof w->dir, "/tmp/test-proc-XXXXXX");
  if (!w || !mkdtemp(w->dir)) return -1;
  snprintf(w->log, sizeof w->log, "%s/log", w->dir);
  lb_proc_sandboxed = false;
  *state = w;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  char command[100];
  lb_proc_kill(&w->proc);
  snprintf(command, sizeof command, "rm -rf %s", w->dir);
  free(w);
  return system(command);
}
EACH(set_up, tear_down);

/* The log so far. */
static const char *output(void) {
  static char text[4096];
  FILE *in = fopen(w->log, "r");
  size_t n = in ? fread(text, 1, sizeof text - 1, in) : 0;
  if (in) fclose(in);
  text[n] = '\0';
  return text;
}

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

static int run_with(const char *script, const char *const env[]) {
  return lb_proc_run(
      &(struct lb_proc_plan){.argv = ARGV("sh", "-c", script), .dir = w->dir, .log = w->log, .env_extra = env}, 5000,
      &w->err);
}

static int run(const char *script) { return run_with(script, NULL); }

static void start(const char *script) {
  int r = lb_proc_start(
      &w->proc, &(struct lb_proc_plan){.argv = ARGV("sh", "-c", script), .dir = w->dir, .log = w->log}, &w->err);
  if (r != 0) fail_msg("%s", w->err.text);
}

/* Letter of the state in /proc, '-' when there is no such process. */
static char state_of(pid_t pid) {
  char path[64], line[400] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *in = fopen(path, "r");
  if (!in) return '-';
  size_t n = fread(line, 1, sizeof line - 1, in);
  fclose(in);
  line[n] = '\0';
  const char *end = strrchr(line, ')');
  return end ? end[2] : '-';
}

static bool is_gone(pid_t pid) { return strchr("-ZX", state_of(pid)) != NULL; }

static bool await_state(pid_t pid, const char *states) {
  uint64_t deadline = lb_clock_ns() + WAIT_NS;
  while (!strchr(states, state_of(pid))) {
    if (lb_clock_ns() > deadline) return false;
    lb_clock_sleep_until(lb_clock_ns() + 1000000);
  }
  return true;
}

/* The first number the program prints. */
static pid_t printed_pid(void) {
  uint64_t deadline = lb_clock_ns() + WAIT_NS;
  while (!strchr(output(), '\n') && lb_clock_ns() < deadline) lb_clock_sleep_until(lb_clock_ns() + 1000000);
  return (pid_t)atoi(output());
}

/* ---- starting --------------------------------------------------------------------------------------------- */

TEST(a_missing_program_comes_back_as_enoent) {
  assert_int_equal(lb_proc_start(&w->proc,
                                 &(struct lb_proc_plan){.argv = ARGV("no-such-program"), .dir = w->dir, .log = w->log},
                                 &w->err),
                   -ENOENT);
  assert_non_null(strstr(w->err.text, "no-such-program"));
  assert_int_equal(w->proc.pid, 0);
}

TEST(a_failure_before_exec_comes_back_with_its_errno_and_place) {
  assert_int_equal(lb_proc_start(&w->proc,
                                 &(struct lb_proc_plan){.argv = ARGV("true"), .dir = "/no/such/folder", .log = w->log},
                                 &w->err),
                   -ENOENT);
  assert_non_null(strstr(w->err.text, "entering its folder"));
  assert_int_equal(w->proc.pid, 0);
}

TEST(a_failing_exec_comes_back_with_its_errno) {
  char path[100];
  snprintf(path, sizeof path, "%s/not-a-program", w->dir);
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  fputs("\x7f"
        "ELF nonsense",
        out);
  fclose(out);
  assert_int_equal(chmod(path, 0755), 0);
  assert_int_equal(
      lb_proc_start(&w->proc, &(struct lb_proc_plan){.argv = ARGV(path), .dir = w->dir, .log = w->log}, &w->err),
      -ENOEXEC);
}

TEST(name_folder_environment_and_log_are_as_asked) {
  setenv("LB_TEST", "old", 1);
  assert_int_equal(
      lb_proc_run(&(struct lb_proc_plan){.argv = ARGV("sh", "-c", "echo first"), .dir = w->dir, .log = w->log}, 5000,
                  &w->err),
      0);
  assert_int_equal(
      lb_proc_run(
          &(struct lb_proc_plan){
              .argv = ARGV("sh", "-c", "tr '\\0' ' ' </proc/$$/cmdline; pwd; echo $LB_TEST; env | grep -c LB_TEST"),
              .argv0 = "other",
              .dir = w->dir,
              .log = w->log,
              .env_extra = ARGV("LB_TEST=new")},
          5000, &w->err),
      0);
  assert_non_null(strstr(output(), "first\nother -c "));
  assert_non_null(strstr(output(), w->dir));
  assert_non_null(strstr(output(), "\nnew\n1\n"));
}

TEST(descriptors_and_signal_settings_are_not_inherited) {
  sigset_t all, old;
  char script[64];
  int fd = open("/dev/null", O_RDONLY); /* without CLOEXEC */
  snprintf(script, sizeof script, "test ! -e /proc/$$/fd/%d", fd);
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &old);
  signal(SIGPIPE, SIG_IGN);
  int r = lb_proc_run(&(struct lb_proc_plan){.argv = ARGV("cat", "/proc/self/status"), .dir = w->dir, .log = w->log},
                      5000, &w->err);
  int r2 = run(script);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &old, NULL);
  close(fd);
  assert_int_equal(r, 0);
  assert_int_equal(r2, 0);
  assert_non_null(strstr(output(), "SigBlk:\t0000000000000000"));
  assert_non_null(strstr(output(), "SigIgn:\t0000000000000000"));
}

TEST(the_program_runs_in_its_host_s_network_namespace) {
  char here[64] = "", line[80];
  struct lb_host host = {.name = "elsewhere", .netns = -1};
  pid_t pid = fork();
  if (pid == 0) { /* a namespace that lives as long as this child */
    if (unshare(CLONE_NEWNET) < 0) _exit(77);
    raise(SIGSTOP);
    _exit(0);
  }
  int status;
  waitpid(pid, &status, WUNTRACED);
  if (!WIFSTOPPED(status)) SKIP("no network namespaces");
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
  host.netns = open(path, O_RDONLY | O_CLOEXEC);
  assert_true(readlink("/proc/self/ns/net", here, sizeof here - 1) > 0);
  assert_true(readlink(path, line, sizeof line - 1) > 0);
  int r = lb_proc_run(
      &(struct lb_proc_plan){
          .host = &host, .argv = ARGV("readlink", "/proc/self/ns/net"), .dir = w->dir, .log = w->log},
      5000, &w->err);
  close(host.netns);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  assert_int_equal(r, 0);
  assert_null(strstr(output(), here));
  assert_non_null(strstr(output(), "net:["));
}

/* False without root, and in a user namespace that knows no other user. */
static bool can_become_nobody(void) {
  return geteuid() == 0 && chown(w->dir, 65534, 65534) == 0 && chown(w->dir, 0, 0) == 0;
}

/* ---- users ------------------------------------------------------------------------------------------------ */

TEST(outside_a_sandbox_root_starts_everything_as_nobody) {
  if (!can_become_nobody()) SKIP("only root becomes nobody");
  assert_int_equal(run("id -u; id -G; echo $(grep CapEff /proc/$$/status); touch made"), 0);
  assert_string_equal(output(), "65534\n65534\nCapEff: 0000000000000000\n");
}

TEST(a_folder_that_nobody_cannot_reach_is_refused_with_the_reason) {
  char below[100];
  if (!can_become_nobody()) SKIP("only root becomes nobody");
  snprintf(below, sizeof below, "%s/below", w->dir);
  assert_int_equal(mkdir(below, 0755), 0);
  assert_int_equal(chmod(w->dir, 0700), 0);
  assert_int_equal(
      lb_proc_run(&(struct lb_proc_plan){.argv = ARGV("true"), .dir = below, .log = w->log}, 5000, &w->err), -EACCES);
  assert_non_null(strstr(w->err.text, "65534"));
}

TEST(inside_a_sandbox_root_stays_root) {
  if (geteuid() != 0) SKIP("needs root");
  lb_proc_sandboxed = true;
  assert_int_equal(run("id -u"), 0);
  assert_string_equal(output(), "0\n");
}

TEST(inside_a_sandbox_unprivileged_shows_uid_65534_and_keeps_files_ours) {
  struct stat st;
  char made[100];
  if (geteuid() != 0) SKIP("needs root");
  lb_proc_sandboxed = true;
  int r = lb_proc_run(
      &(struct lb_proc_plan){
          .argv = ARGV("sh", "-c", "id -u; id -g; echo $(grep CapEff /proc/$$/status); touch made; stat -c %u made"),
          .dir = w->dir,
          .log = w->log,
          .unprivileged = true},
      5000, &w->err);
  if (r == -EPERM || r == -ENOSPC) SKIP("user namespaces are forbidden here");
  if (UNDER_TSAN && r == -EINVAL) SKIP("no user namespace for a process with threads");
  assert_int_equal(r, 0);
  assert_string_equal(output(), "65534\n65534\nCapEff: 0000000000000000\n65534\n");
  snprintf(made, sizeof made, "%s/made", w->dir);
  assert_int_equal(stat(made, &st), 0);
  assert_int_equal(st.st_uid, geteuid());
}

/* ---- running and ending ------------------------------------------------------------------------------------- */

STATES(run_returns_the_exit_status_or_signal, assert_int_equal(run("exit 7"), 7),
       assert_int_equal(run("kill -TERM $$"), 128 + SIGTERM));

TEST(run_kills_what_does_not_end_in_time) {
  assert_int_equal(
      lb_proc_run(
          &(struct lb_proc_plan){.argv = ARGV("sh", "-c", "echo $$; exec sleep 1000"), .dir = w->dir, .log = w->log},
          100, &w->err),
      -ETIMEDOUT);
  assert_true(is_gone(printed_pid()));
}

TEST(kill_ends_it_once_and_leaves_no_zombie) {
  start("exec sleep 1000");
  pid_t pid = w->proc.pid;
  assert_true(lb_proc_alive(&w->proc));
  assert_int_equal(lb_proc_kill(&w->proc), 0);
  assert_int_equal(state_of(pid), '-');
  assert_false(lb_proc_alive(&w->proc));
  assert_int_equal(lb_proc_kill(&w->proc), -ESRCH);
  assert_int_equal(lb_proc_signal(&w->proc, SIGTERM), -ESRCH);
}

STATES(killing_what_ended_by_itself_says_esrch, start("exit 0"), assert_true(await_state(w->proc.pid, "Z-")),
       assert_int_equal(lb_proc_kill(&w->proc), -ESRCH));
STATES(a_stopped_program_can_be_killed, start("exec sleep 1000"),
       assert_int_equal(lb_proc_signal(&w->proc, SIGSTOP), 0), assert_int_equal(state_of(w->proc.pid), 'T'),
       assert_true(lb_proc_alive(&w->proc)), assert_int_equal(lb_proc_kill(&w->proc), 0));

/* Like a PostgreSQL session process: a child in a session of its own. */
static pid_t start_with_deserter(void) {
  start("setsid sh -c 'echo $$; exec sleep 1000' & wait");
  pid_t deserter = printed_pid();
  assert_true(deserter > 0);
  assert_true(getpgid(deserter) != w->proc.pid);
  return deserter;
}

TEST(kill_reaches_a_child_that_left_the_group) {
  pid_t deserter = start_with_deserter();
  assert_int_equal(lb_proc_kill(&w->proc), 0);
  assert_true(is_gone(deserter));
}

TEST(stop_and_continue_reach_a_child_that_left_the_group) {
  pid_t deserter = start_with_deserter();
  assert_int_equal(lb_proc_signal(&w->proc, SIGSTOP), 0);
  assert_int_equal(state_of(deserter), 'T'); /* at once: a pause that is announced has begun */
  assert_int_equal(lb_proc_signal(&w->proc, SIGCONT), 0);
  assert_true(await_state(deserter, "SR"));
}

static void dies_with_parent(bool unprivileged) {
  pid_t parent = fork();
  if (parent == 0) {
    int r = lb_proc_start(&w->proc,
                          &(struct lb_proc_plan){.argv = ARGV("sh", "-c", "echo $$; exec sleep 1000"),
                                                 .dir = w->dir,
                                                 .log = w->log,
                                                 .unprivileged = unprivileged},
                          &w->err);
    _exit(r == 0 && printed_pid() > 0 ? 0 : 77);
  }
  int status;
  waitpid(parent, &status, 0);
  if (WEXITSTATUS(status) == 77) SKIP("only root becomes another user");
  assert_true(await_state(printed_pid(), "Z-"));
}

TEST(it_dies_with_its_parent) { dies_with_parent(false); }

STATES(it_dies_with_its_parent_under_another_user, lb_proc_sandboxed = true, dies_with_parent(true));

TEST(find_looks_in_path_and_in_extra_folders) {
  char path[100];
  snprintf(path, sizeof path, "%s/lb-test-program", w->dir);
  assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0755)), 0);
  assert_null(lb_proc_find("lb-test-program", NULL));
  char *found = lb_proc_find("lb-test-program", ARGV("/no/such/folder", w->dir));
  assert_string_equal(found, path);
  free(found);
  found = lb_proc_find("sh", NULL);
  assert_int_equal(found[0], '/');
  free(found);
}

/* ---- tools ------------------------------------------------------------------------------------------------------- */

static int tool(const char *script, const char *input, int64_t timeout_ms) {
  char *argv[] = {"sh", "-c", (char *)script, NULL};
  alarm(60);
  int r = lb_proc_run_tool(NULL, argv, input, timeout_ms, &w->err);
  alarm(0);
  return r;
}

/* The script with the path of the log for its @. */
static char *into_log(const char *format) {
  static char script[300];
  int before = (int)strcspn(format, "@");
  snprintf(script, sizeof script, "%.*s%s%s", before, format, w->log, format + before + 1);
  return script;
}

TEST(a_tool_reads_its_input_and_its_first_line_says_why_it_failed) {
  assert_int_equal(tool("[ \"$(cat)\" = hello ]", "hello", 20000), 0);
  assert_int_equal(tool("echo no right; echo more; exit 3", "", 20000), -EPERM);
  assert_non_null(strstr(w->err.text, "no right"));
  assert_null(strstr(w->err.text, "more"));
  assert_int_equal(
      tool("i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done", "", 20000),
      0);
}

TEST(what_a_tool_leaves_behind_is_not_waited_for) {
  assert_int_equal(tool(into_log("sleep 1000 & echo $! >@; echo done"), "", 20000), 0);
  pid_t left = printed_pid();
  assert_true(left > 0 && !is_gone(left));
  kill(left, SIGKILL);
}

TEST(a_tool_that_does_not_end_is_killed_with_what_it_has_started) {
  assert_int_equal(tool(into_log("sleep 1000 & echo $! >@; wait"), "", 2000), -ETIMEDOUT);
  pid_t left = printed_pid();
  assert_true(left > 0 && await_state(left, "Z-"));
}
