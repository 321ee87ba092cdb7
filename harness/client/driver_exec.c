/* SPDX-License-Identifier: MIT
 *
 * A client with a program of somebody else: a process of ours, which runs the client's program (program.h) with the hooks of a foreign lock (backends/foreign.h), and below it the
 * foreign program with all that it starts. They are one client: stopped, continued and killed together. Ours with the rest, or it would touch the resource for a library that
 * stands still; the rest with ours, or the library would keep its session up for a client that does.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "driver_process.h"
#include "servers/proctree.h"
#include "servers/skew_shim.h"

enum { FOLLOW_MS = 1000 };

/* ---- in the client ----------------------------------------------------------------------------------------------- */

/* A signal to the group reaches all of it at once, and what has left the group is found by the controller (exec_look). */
static void exec_halt(struct lb_program *program, bool dies) {
  (void)program;
  kill(0, dies ? SIGKILL : SIGSTOP);
}

/* What it starts has the clocks of its host. And an adapter in a JVM may start fast where no speed is measured, as servers do (setting.h). */
static void exec_prepare(const struct lb_client *client, const struct lb_client_plan *plan) {
  const char *shim = client->skew_file[0] ? lb_skew_shim_path() : NULL, *others = getenv("LD_PRELOAD");
  char library[4200];
  setenv("LOCKBENCH_MEASURED", plan->names_server ? "no" : "yes", 1);
  if (!shim) return;
  snprintf(library, sizeof library, "%s%s%s", shim, others && others[0] ? ":" : "", others ? others : "");
  setenv("LD_PRELOAD", library, 1);
  setenv("LOCKBENCH_SKEW", client->skew_file, 1);
}

static const struct lb_ground exec_ground = {.sleep_until = lb_process_sleep_until, .halt = exec_halt, .prepare = exec_prepare};

/* ---- the controller's side ----------------------------------------------------------------------------------------- */

static int exec_start(struct lb_client *client, const struct lb_client_plan *plan) { return lb_process_start(client, plan, &exec_ground); }

/* One that has stopped itself counts as stopped once nothing of it runs. */
static enum lb_life exec_look(struct lb_client *client) {
  struct lb_body *body = client->body;
  enum lb_life life = lb_process_look(client);
  if (life != LB_LIFE_STOPPED) body->still = false;
  else if (!body->still) body->still = lb_proctree_signal(body->pid, SIGSTOP) == 0;
  return life == LB_LIFE_STOPPED && !body->still ? LB_LIFE_RUNS : life;
}

/* Also for one that has died already: what it left of its group ends with it. */
static int exec_kill(struct lb_body *body) {
  if (body->killed) return -ESRCH;
  if (body->pid > 0) {
    body->status = lb_proctree_kill(body->pid);
    body->pid = 0;
  }
  body->killed = WIFSIGNALED(body->status) && WTERMSIG(body->status) == SIGKILL;
  return body->killed ? 0 : -ECHILD;
}

static int exec_signal(struct lb_client *client, enum lb_client_signal signal) {
  struct lb_body *body = client->body;
  enum lb_life life;
  if (signal == LB_CLIENT_KILL) return exec_kill(body);
  if (body->pid == 0) return -ESRCH;
  lb_ns deadline = lb_clock_ns() + FOLLOW_MS * LB_NS_PER_MS;
  int r = lb_proctree_signal(body->pid, signal == LB_CLIENT_STOP ? SIGSTOP : SIGCONT);
  if (r < 0) return r;
  if (signal == LB_CLIENT_STOP) body->still = true;
  while ((life = exec_look(client)) != (signal == LB_CLIENT_STOP ? LB_LIFE_STOPPED : LB_LIFE_RUNS)) {
    if (life == LB_LIFE_DIED) return -ESRCH;
    if (lb_clock_ns() > deadline) return -ETIMEDOUT;
    lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS);
  }
  return 0;
}

static void exec_end(struct lb_client *client) {
  struct lb_body *body = client->body;
  if (body->pid > 0) exec_kill(body);
  close(body->socket);
  free(body);
  client->body = NULL;
}

const struct lb_driver lb_driver_exec = {
    .name = "exec",
    .writers = lb_process_writers,
    .start = exec_start,
    .send = lb_process_send,
    .await = lb_process_await,
    .peek = lb_process_peek,
    .look = exec_look,
    .signal = exec_signal,
    .tell_end = lb_process_tell_end,
    .end = exec_end,
};
