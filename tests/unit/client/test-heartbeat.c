/* test: memory, beside */
/* SPDX-License-Identifier: MIT
 *
 * What counts as a stall: a client that wants to run and gets no processor does, one that a fault has stopped does not.
 */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "base/clock.h"
#include "client/heartbeat.h"

#define MS UINT64_C(1000000)

/* A process that runs on one processor only, all the time, by this policy; it is the client if it is given a state. Its
 * priority is the usual one, whatever the test's: beside a rival of a higher one an idle client would wait for longer
 * than the test does, and a wait is booked when it ends. */
static pid_t spin(struct lb_client_state *state, int policy) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  cpu_set_t one;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  sched_setaffinity(0, sizeof one, &one);
  setpriority(PRIO_PROCESS, 0, 0);
  sched_setscheduler(0, policy, &(struct sched_param){0});
  if (state) atomic_store(&state->pid, (int)getpid());
  for (;;) {
  }
}

static void end(pid_t pid) {
  kill(pid, SIGKILL);
  kill(pid, SIGCONT);
  waitpid(pid, NULL, 0);
}

/* It is one of three, of whom the others sleep. */
static void assert_stalls(size_t number) {
  struct lb_memory *memory = lb_memory_map(3, 3, 1);
  assert_non_null(memory);
  for (size_t i = 0; i < 3; i++)
    if (i != number) atomic_store(&memory->state[i].pid, (int)getpid());
  pid_t heartbeat = lb_heartbeat_start(memory), client = spin(&memory->state[number], SCHED_IDLE),
        rival = spin(NULL, SCHED_OTHER);
  lb_ns deadline = lb_clock_ns() + 20000 * MS;
  atomic_store(&memory->max_stall_ns, 0);
  while (atomic_load(&memory->max_stall_ns) < 100 * MS && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + 10 * MS);
  assert_true(atomic_load(&memory->max_stall_ns) >= 100 * MS);
  /* The total has at least that stall; the heartbeat adds it a moment later. */
  deadline = lb_clock_ns() + 300 * MS;
  while (atomic_load(&memory->stalled_ns) < 100 * MS && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + 10 * MS);
  assert_true(atomic_load(&memory->stalled_ns) >= 100 * MS);
  end(rival), end(client);
  lb_heartbeat_stop(heartbeat);
  lb_memory_unmap(memory);
}

TEST(a_client_that_gets_no_processor_is_a_stall) {
  for (size_t i = 0; i < 2; i++) assert_stalls(i);
}

/* A process always wakes up a little late. */
TEST(the_total_has_only_stalls_of_more_than_a_beat) {
  struct lb_memory *memory = lb_memory_map(1, 1, 1);
  assert_non_null(memory);
  pid_t heartbeat = lb_heartbeat_start(memory);
  lb_ns deadline = lb_clock_ns() + 100 * MS;
  while (lb_clock_ns() < deadline) {
    uint64_t total = atomic_load(&memory->stalled_ns);
    assert_true(total == 0 || total > 10 * MS);
    lb_clock_sleep_until(lb_clock_ns() + MS);
  }
  assert_true(atomic_load(&memory->max_stall_ns) > 0);
  lb_heartbeat_stop(heartbeat);
  lb_memory_unmap(memory);
}

static int open_files(pid_t pid) {
  char path[40];
  int count = 0;
  snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
  DIR *folder = opendir(path);
  assert_non_null(folder);
  while (readdir(folder)) count++;
  closedir(folder);
  return count;
}

/* Waits until the heartbeat has had two more beats, at which it looks at who is there. */
static void be_seen(struct lb_memory *memory, int pid) {
  atomic_store(&memory->state[0].pid, pid);
  for (int beats = 0; beats < 2; beats++) {
    lb_ns deadline = lb_clock_ns() + 20000 * MS;
    atomic_store(&memory->max_stall_ns, 0);
    while (atomic_load(&memory->max_stall_ns) == 0 && lb_clock_ns() < deadline)
      lb_clock_sleep_until(lb_clock_ns() + MS);
    assert_true(atomic_load(&memory->max_stall_ns) > 0);
  }
}

TEST(a_client_that_starts_again_leaves_no_file_open) {
  struct lb_memory *memory = lb_memory_map(1, 1, 1);
  assert_non_null(memory);
  pid_t heartbeat = lb_heartbeat_start(memory);
  be_seen(memory, (int)getpid());
  int files = open_files(heartbeat);
  be_seen(memory, (int)getppid());
  be_seen(memory, (int)getpid());
  assert_int_equal(open_files(heartbeat), files);
  lb_heartbeat_stop(heartbeat);
  lb_memory_unmap(memory);
}

TEST(where_none_was_started_none_is_ended) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0); /* 0 means all of a group to kill(), and any child in it to waitpid() */
    pid_t other = fork();
    if (other == 0)
      for (;;) pause();
    lb_heartbeat_stop(0);
    kill(other, SIGKILL);
    _exit(7);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

TEST(one_that_has_ended_before_is_told_from_one_that_ran) {
  struct lb_memory *memory = lb_memory_map(1, 1, 1);
  siginfo_t info;
  assert_non_null(memory);
  for (int dies = 0; dies < 2; dies++) {
    pid_t heartbeat = lb_heartbeat_start(memory);
    assert_true(heartbeat > 0);
    if (dies) assert_int_equal(kill(heartbeat, SIGKILL), 0); /* as ours, but not by us */
    if (dies) assert_int_equal(waitid(P_PID, (id_t)heartbeat, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(lb_heartbeat_stop(heartbeat), !dies);
    assert_int_equal(waitpid(heartbeat, NULL, WNOHANG), -1);
  }
  assert_false(lb_heartbeat_stop(0));
  lb_memory_unmap(memory);
}

/* One of a few tries has to be undisturbed, as below. */
TEST(what_a_client_waited_before_the_first_beat_is_none) {
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < 10 && shortest >= 100 * MS; i++) {
    struct lb_memory *memory = lb_memory_map(1, 1, 1);
    assert_non_null(memory);
    pid_t client = spin(&memory->state[0], SCHED_IDLE), rival = spin(NULL, SCHED_OTHER);
    lb_clock_sleep_until(lb_clock_ns() + 400 * MS);
    end(rival); /* from here on the client has a processor; its wait is booked when it gets it */
    lb_clock_sleep_until(lb_clock_ns() + 50 * MS);
    pid_t heartbeat = lb_heartbeat_start(memory);
    lb_clock_sleep_until(lb_clock_ns() + 60 * MS);
    if (atomic_load(&memory->max_stall_ns) < shortest) shortest = atomic_load(&memory->max_stall_ns);
    lb_heartbeat_stop(heartbeat);
    end(client);
    lb_memory_unmap(memory);
  }
  assert_true(shortest < 100 * MS);
}

/* The machine itself may stall while the test runs, so one of a few tries has to be undisturbed. */
TEST(a_client_that_is_stopped_is_none) {
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < 10 && shortest >= 300 * MS; i++) {
    struct lb_memory *memory = lb_memory_map(1, 1, 1);
    assert_non_null(memory);
    pid_t client = fork();
    if (client == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      atomic_store(&memory->state[0].pid, (int)getpid());
      for (;;) usleep(1000);
    }
    pid_t heartbeat = lb_heartbeat_start(memory);
    lb_clock_sleep_until(lb_clock_ns() + 50 * MS);
    kill(client, SIGSTOP);
    lb_clock_sleep_until(lb_clock_ns() + 400 * MS);
    kill(client, SIGCONT);
    lb_clock_sleep_until(lb_clock_ns() + 50 * MS);
    if (atomic_load(&memory->max_stall_ns) < shortest) shortest = atomic_load(&memory->max_stall_ns);
    end(client);
    lb_heartbeat_stop(heartbeat);
    lb_memory_unmap(memory);
  }
  assert_true(shortest < 300 * MS);
}
