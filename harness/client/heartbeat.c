/* SPDX-License-Identifier: MIT
 *
 * A process that only sleeps and looks at the clock: what it misses is a stall of this machine. At each beat it also
 * asks the kernel how long each client has waited for a processor so far. That number grows when a client gets one, by
 * the whole of its wait; so its growth since the last beat is the longest wait that ended in between, and at most the
 * other waits of one beat more. A client that sleeps, or that a fault has stopped, waits for no processor.
 */
#include "heartbeat.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"

static const uint64_t beat_ns = UINT64_C(10000000);

struct watched { /* a client; a killed one may start again as another process */
  int pid, file; /* file: -1 = none */
  uint64_t waited_ns;
};

/* The second number of /proc/PID/schedstat is ns on a run queue. False: the process has gone, or this kernel does not
 * count. */
static bool read_wait(int file, uint64_t *ret_ns) {
  char text[100];
  ssize_t length = pread(file, text, sizeof text - 1, 0);
  unsigned long long ran, waited;
  if (length <= 0) return false;
  text[length] = '\0';
  if (sscanf(text, "%llu %llu", &ran, &waited) != 2) return false;
  *ret_ns = waited;
  return true;
}

/* Begins to count here: a client's wait before this call is not known. */
static void watch(struct watched *w, int pid) {
  char path[40];
  if (w->file >= 0) close(w->file);
  snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
  w->pid = pid;
  w->file = open(path, O_RDONLY | O_CLOEXEC);
  if (w->file >= 0) read_wait(w->file, &w->waited_ns);
}

static uint64_t longer(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* How long it waited, as far as it is known since the last beat. */
static uint64_t look_at(struct watched *w, int pid) {
  uint64_t waited, before = w->waited_ns;
  if (pid == 0) return 0;
  if (pid != w->pid) return watch(w, pid), 0;
  if (w->file < 0 || !read_wait(w->file, &waited)) return 0;
  return (w->waited_ns = waited) - before;
}

/* A process that wakes up always waits a little, so the total counts only stalls of more than a beat. */
static void note(struct lb_memory *memory, uint64_t stall_ns) {
  if (stall_ns > atomic_load(&memory->max_stall_ns)) atomic_store(&memory->max_stall_ns, stall_ns);
  if (stall_ns > beat_ns) atomic_fetch_add(&memory->stalled_ns, stall_ns);
}

static _Noreturn void beat(struct lb_memory *memory) {
  struct watched *watched = calloc(memory->client_count + 1, sizeof *watched);
  for (size_t i = 0; watched && i < memory->client_count; i++) watched[i].file = -1;
  for (;;) {
    uint64_t due = lb_clock_ns() + beat_ns;
    lb_clock_sleep_until(due);
    uint64_t stall = lb_clock_ns() - due;
    for (size_t i = 0; watched && i < memory->client_count; i++)
      stall = longer(stall, look_at(&watched[i], atomic_load(&memory->state[i].pid)));
    note(memory, stall);
  }
}

pid_t lb_heartbeat_start(struct lb_memory *memory) {
  pid_t pid = lb_process_fork();
  if (pid != 0) return pid;
  beat(memory);
}

bool lb_heartbeat_stop(pid_t pid) {
  if (pid <= 0 || waitpid(pid, NULL, WNOHANG) != 0) return false;
  kill(pid, SIGKILL);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
  }
  return true;
}
