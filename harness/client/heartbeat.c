/* SPDX-License-Identifier: MIT
 *
 * A process that only sleeps and looks at the clock: what it misses is a stall of this machine.
 */
#include "heartbeat.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static const uint64_t beat_ns = UINT64_C(10000000);

static _Noreturn void beat(struct lb_memory *memory) {
  for (;;) {
    uint64_t due = lb_clock_ns() + beat_ns;
    lb_clock_sleep_until(due);
    uint64_t late = lb_clock_ns() - due;
    if (late > atomic_load(&memory->max_stall_ns)) atomic_store(&memory->max_stall_ns, late);
  }
}

pid_t lb_heartbeat_start(struct lb_memory *memory) {
  pid_t parent = getpid(), pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  beat(memory);
}

void lb_heartbeat_stop(pid_t pid) {
  if (pid <= 0) return;
  kill(pid, SIGKILL);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
  }
}
