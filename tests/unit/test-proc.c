/* SPDX-License-Identifier: MIT
 *
 * Server processes: what the program finds when it starts, and that nothing of it is left when it ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "skip.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "network/proc.h"

#define WAIT_NS (UINT64_C(5) * 1000000000)

struct world {
  struct lb_error err;
  char dir[64], log[80];
  struct lb_proc proc;
};

static int set_up(void **state) {
  struct world *w = calloc(1, sizeof *w);
  snprintf(w->dir, sizeof w->dir, "/tmp/test-proc-XXXXXX");
  if (!w || !mkdtemp(w->dir)) return -1;
  snprintf(w->log, sizeof w->log, "%s/log", w->dir);
  lb_proc_sandboxed = false;
  *state = w;
  return 0;
}

static int tear_down(void **state) {
  struct world *w = *state;
  char command[100];
  lb_proc_kill(&w->proc);
  snprintf(command, sizeof command, "rm -rf %s", w->dir);
  free(w);
  return system(command);
}

/* The log so far. */
static const char *output(const struct world *w) {
  static char text[4096];
  FILE *in = fopen(w->log, "r");
  size_t n = in ? fread(text, 1, sizeof text - 1, in) : 0;
  if (in) fclose(in);
  text[n] = '\0';
  return text;
}

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

static int run_with(struct world *w, const char *script, const char *const env[]) {
  return lb_proc_run(
      &(struct lb_proc_plan){.argv = ARGV("sh", "-c", script), .dir = w->dir, .log = w->log, .env_extra = env}, 5000,
      &w->err);
}

static int run(struct world *w, const char *script) { return run_with(w, script, NULL); }

static void start(struct world *w, const char *script) {
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
static pid_t printed_pid(const struct world *w) {
  uint64_t deadline = lb_clock_ns() + WAIT_NS;
  while (!strchr(output(w), '\n') && lb_clock_ns() < deadline) lb_clock_sleep_until(lb_clock_ns() + 1000000);
  return (pid_t)atoi(output(w));
}

/* ---- starting --------------------------------------------------------------------------------------------- */

static void test_missing_program(void **state) {
  struct world *w = *state;
  assert_int_equal(lb_proc_start(&w->proc,
                                 &(struct lb_proc_plan){.argv = ARGV("no-such-program"), .dir = w->dir, .log = w->log},
                                 &w->err),
                   -ENOENT);
  assert_non_null(strstr(w->err.text, "no-such-program"));
  assert_int_equal(w->proc.pid, 0);
}

static void test_failure_in_child(void **state) {
  struct world *w = *state;
  assert_int_equal(lb_proc_start(&w->proc,
                                 &(struct lb_proc_plan){.argv = ARGV("true"), .dir = "/no/such/folder", .log = w->log},
                                 &w->err),
                   -ENOENT);
  assert_non_null(strstr(w->err.text, "entering its folder"));
  assert_int_equal(w->proc.pid, 0);
}

static void test_exec_failure(void **state) {
  struct world *w = *state;
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

static void test_name_folder_environment(void **state) {
  struct world *w = *state;
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
  assert_non_null(strstr(output(w), "first\nother -c "));
  assert_non_null(strstr(output(w), w->dir));
  assert_non_null(strstr(output(w), "\nnew\n1\n"));
}

static void test_clean_descriptors_and_signals(void **state) {
  struct world *w = *state;
  sigset_t all, old;
  char script[64];
  int fd = open("/dev/null", O_RDONLY); /* without CLOEXEC */
  snprintf(script, sizeof script, "test ! -e /proc/$$/fd/%d", fd);
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &old);
  signal(SIGPIPE, SIG_IGN);
  int r = lb_proc_run(&(struct lb_proc_plan){.argv = ARGV("cat", "/proc/self/status"), .dir = w->dir, .log = w->log},
                      5000, &w->err);
  int r2 = run(w, script);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &old, NULL);
  close(fd);
  assert_int_equal(r, 0);
  assert_int_equal(r2, 0);
  assert_non_null(strstr(output(w), "SigBlk:\t0000000000000000"));
  assert_non_null(strstr(output(w), "SigIgn:\t0000000000000000"));
}

static void test_network_namespace(void **state) {
  struct world *w = *state;
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
  assert_null(strstr(output(w), here));
  assert_non_null(strstr(output(w), "net:["));
}

/* False without root, and in a user namespace that knows no other user. */
static bool can_become_nobody(const struct world *w) {
  return geteuid() == 0 && chown(w->dir, 65534, 65534) == 0 && chown(w->dir, 0, 0) == 0;
}

/* ---- users ------------------------------------------------------------------------------------------------ */

static void test_never_root_on_shared_loopback(void **state) {
  struct world *w = *state;
  if (!can_become_nobody(w)) SKIP("only root becomes nobody");
  assert_int_equal(run(w, "id -u; id -G; echo $(grep CapEff /proc/$$/status); touch made"), 0);
  assert_string_equal(output(w), "65534\n65534\nCapEff: 0000000000000000\n");
}

static void test_unreachable_folder(void **state) {
  struct world *w = *state;
  char below[100];
  if (!can_become_nobody(w)) SKIP("only root becomes nobody");
  snprintf(below, sizeof below, "%s/below", w->dir);
  assert_int_equal(mkdir(below, 0755), 0);
  assert_int_equal(chmod(w->dir, 0700), 0);
  assert_int_equal(
      lb_proc_run(&(struct lb_proc_plan){.argv = ARGV("true"), .dir = below, .log = w->log}, 5000, &w->err), -EACCES);
  assert_non_null(strstr(w->err.text, "65534"));
}

static void test_sandboxed_root_stays(void **state) {
  struct world *w = *state;
  if (geteuid() != 0) SKIP("needs root");
  lb_proc_sandboxed = true;
  assert_int_equal(run(w, "id -u"), 0);
  assert_string_equal(output(w), "0\n");
}

static void test_sandboxed_unprivileged(void **state) {
  struct world *w = *state;
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
  assert_string_equal(output(w), "65534\n65534\nCapEff: 0000000000000000\n65534\n");
  snprintf(made, sizeof made, "%s/made", w->dir);
  assert_int_equal(stat(made, &st), 0);
  assert_int_equal(st.st_uid, geteuid());
}

/* ---- running and ending ------------------------------------------------------------------------------------- */

static void test_exit_status(void **state) {
  struct world *w = *state;
  assert_int_equal(run(w, "exit 7"), 7);
  assert_int_equal(run(w, "kill -TERM $$"), 128 + SIGTERM);
}

static void test_run_timeout(void **state) {
  struct world *w = *state;
  assert_int_equal(
      lb_proc_run(
          &(struct lb_proc_plan){.argv = ARGV("sh", "-c", "echo $$; exec sleep 1000"), .dir = w->dir, .log = w->log},
          100, &w->err),
      -ETIMEDOUT);
  assert_true(is_gone(printed_pid(w)));
}

static void test_kill_once(void **state) {
  struct world *w = *state;
  start(w, "exec sleep 1000");
  pid_t pid = w->proc.pid;
  assert_true(lb_proc_alive(&w->proc));
  assert_int_equal(lb_proc_kill(&w->proc), 0);
  assert_int_equal(state_of(pid), '-');
  assert_false(lb_proc_alive(&w->proc));
  assert_int_equal(lb_proc_kill(&w->proc), -ESRCH);
  assert_int_equal(lb_proc_signal(&w->proc, SIGTERM), -ESRCH);
}

static void test_ended_by_itself(void **state) {
  struct world *w = *state;
  start(w, "exit 0");
  assert_true(await_state(w->proc.pid, "Z-"));
  assert_int_equal(lb_proc_kill(&w->proc), -ESRCH);
}

static void test_kill_stopped(void **state) {
  struct world *w = *state;
  start(w, "exec sleep 1000");
  assert_int_equal(lb_proc_signal(&w->proc, SIGSTOP), 0);
  assert_int_equal(state_of(w->proc.pid), 'T');
  assert_true(lb_proc_alive(&w->proc));
  assert_int_equal(lb_proc_kill(&w->proc), 0);
}

/* Like a PostgreSQL session process: a child in a session of its own. */
static pid_t start_with_deserter(struct world *w) {
  start(w, "setsid sh -c 'echo $$; exec sleep 1000' & wait");
  pid_t deserter = printed_pid(w);
  assert_true(deserter > 0);
  assert_true(getpgid(deserter) != w->proc.pid);
  return deserter;
}

static void test_kill_reaches_deserter(void **state) {
  struct world *w = *state;
  pid_t deserter = start_with_deserter(w);
  assert_int_equal(lb_proc_kill(&w->proc), 0);
  assert_true(is_gone(deserter));
}

static void test_stop_reaches_deserter(void **state) {
  struct world *w = *state;
  pid_t deserter = start_with_deserter(w);
  assert_int_equal(lb_proc_signal(&w->proc, SIGSTOP), 0);
  assert_int_equal(state_of(deserter), 'T'); /* at once: a pause that is announced has begun */
  assert_int_equal(lb_proc_signal(&w->proc, SIGCONT), 0);
  assert_true(await_state(deserter, "SR"));
}

static void dies_with_parent(struct world *w, bool unprivileged) {
  pid_t parent = fork();
  if (parent == 0) {
    int r = lb_proc_start(&w->proc,
                          &(struct lb_proc_plan){.argv = ARGV("sh", "-c", "echo $$; exec sleep 1000"),
                                                 .dir = w->dir,
                                                 .log = w->log,
                                                 .unprivileged = unprivileged},
                          &w->err);
    _exit(r == 0 && printed_pid(w) > 0 ? 0 : 77);
  }
  int status;
  waitpid(parent, &status, 0);
  if (WEXITSTATUS(status) == 77) SKIP("only root becomes another user");
  assert_true(await_state(printed_pid(w), "Z-"));
}

static void test_dies_with_parent(void **state) { dies_with_parent(*state, false); }

static void test_dies_with_parent_under_another_user(void **state) {
  lb_proc_sandboxed = true;
  dies_with_parent(*state, true);
}

static void test_find(void **state) {
  struct world *w = *state;
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

#define STATEMENT(f, name)                                                                                             \
  { name, f, set_up, tear_down, NULL }

int main(void) {
  const struct CMUnitTest tests[] = {
      STATEMENT(test_missing_program, "a missing program comes back as ENOENT"),
      STATEMENT(test_failure_in_child, "a failure before exec comes back with its errno and place"),
      STATEMENT(test_exec_failure, "a failing exec comes back with its errno"),
      STATEMENT(test_name_folder_environment, "name, folder, environment and log are as asked"),
      STATEMENT(test_clean_descriptors_and_signals, "descriptors and signal settings are not inherited"),
      STATEMENT(test_network_namespace, "the program runs in its host's network namespace"),
      STATEMENT(test_never_root_on_shared_loopback, "outside a sandbox root starts everything as nobody"),
      STATEMENT(test_unreachable_folder, "a folder that nobody cannot reach is refused with the reason"),
      STATEMENT(test_sandboxed_root_stays, "inside a sandbox root stays root"),
      STATEMENT(test_sandboxed_unprivileged, "inside a sandbox unprivileged shows uid 65534 and keeps files ours"),
      STATEMENT(test_exit_status, "run returns the exit status or 128 + signal"),
      STATEMENT(test_run_timeout, "run kills what does not end in time"),
      STATEMENT(test_kill_once, "kill ends it once and leaves no zombie"),
      STATEMENT(test_ended_by_itself, "killing what ended by itself says ESRCH"),
      STATEMENT(test_kill_stopped, "a stopped program can be killed"),
      STATEMENT(test_kill_reaches_deserter, "kill reaches a child that left the group"),
      STATEMENT(test_stop_reaches_deserter, "stop and continue reach a child that left the group"),
      STATEMENT(test_dies_with_parent, "it dies with its parent"),
      STATEMENT(test_dies_with_parent_under_another_user, "it dies with its parent under another user"),
      STATEMENT(test_find, "find looks in PATH and in extra folders"),
  };
  return cmocka_run_group_tests_name("proc", tests, NULL, NULL);
}
