/* test: memory, beside */
/* SPDX-License-Identifier: MIT
 *
 * What a backup does to the servers beside copying their files, on processes that stand for servers.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "base/process.h"
#include "trial/fault.h"

enum { SERVERS = 3, PAUSED = 1 };

static struct lb_topology topology = {.name = "none", .family = &lb_family_none};
static struct lb_stage stage;
static struct lb_cast cast;

static pid_t start(void) {
  pid_t pid = lb_process_fork();
  if (pid == 0)
    for (;;) pause();
  setpgid(pid, pid); /* a signal to a server is one to its group */
  return pid;
}

static int set_up(void **state) {
  (void)state;
  stage = (struct lb_stage){.cluster = {.topology = &topology, .server_count = SERVERS}};
  cast = (struct lb_cast){.server_count = SERVERS};
  for (size_t i = 0; i < SERVERS; i++) {
    cast.server[i] = &stage.cluster.server[i];
    if ((stage.cluster.server[i].proc.pid = start()) < 0) return -1;
  }
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  for (size_t i = 0; i < SERVERS; i++)
    if (stage.cluster.server[i].proc.pid > 0) lb_proc_kill(&stage.cluster.server[i].proc);
  return 0;
}
EACH(set_up, tear_down);

TEST(who_was_paused_before_a_backup_is_so_after_it) {
  static const struct lb_step step = {.verb = LB_STEP_BACK_UP};
  struct lb_error err = {0};
  struct lb_doing doing = {.s = &stage, .step = &step, .a = &cast, .b = &cast, .err = &err};
  assert_int_equal(lb_proc_signal(&cast.server[PAUSED]->proc, SIGSTOP), 0);
  if (lb_faults_by_hand[LB_STEP_BACK_UP].act(&doing) != 0) fail_msg("%s", err.text);
  for (size_t i = 0; i < SERVERS; i++) assert_int_equal(lb_fault_server_stands(cast.server[i]), i == PAUSED);
}
