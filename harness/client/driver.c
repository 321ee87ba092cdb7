/* SPDX-License-Identifier: MIT
 *
 * A process per client, with a socket for commands that keeps messages apart. A stopped or killed process is an honest
 * one, with all the threads of its libraries.
 *
 * The driver `exec` has the program of a foreign lock below that process, with all that it starts. They are one client:
 * stopped, continued and killed together. Otherwise ours would touch the resource for a library that stands still, or
 * the library would keep its session up for a client that does.
 */
#include "driver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "hook.h"
#include "program.h"
#include "network/proctree.h"
#include "preload/skew.h"

enum { FOLLOW_MS = 1000 };

struct lb_body {
  pid_t pid;   /* 0 = reaped */
  int status;  /* as of waitpid(2), once it is reaped */
  bool killed; /* by kill_all() */
  bool tree;   /* it stands for all processes below it, too */
  bool still;  /* ... and all of them have been stopped */
  int socket;
};

/* ---- the process ------------------------------------------------------------------------------------------ */

static void sleep_until(struct lb_program *p, lb_ns when) {
  (void)p;
  if (when) lb_clock_sleep_until(when);
}

static void process_halt(struct lb_program *p, bool dies) {
  (void)p;
  if (dies) kill(getpid(), SIGKILL);
  else raise(SIGSTOP);
}

static const struct lb_ground process_ground = {.sleep_until = sleep_until, .halt = process_halt};

/* A signal to the group reaches all of it at once, and look() finds what has left the group. */
static void exec_halt(struct lb_program *program, bool dies) {
  (void)program;
  kill(0, dies ? SIGKILL : SIGSTOP);
}

/* What it starts has the clocks of its host. And an adapter in a JVM may start fast where no speed is measured, as
 * servers do (servers/family.h). */
static void exec_prepare(const struct lb_client *client, const struct lb_client_plan *plan) {
  const char *shim = client->skew_file[0] ? lb_shim_path(LB_SHIM_CLOCK) : NULL, *others = getenv("LD_PRELOAD");
  char library[4200];
  setenv("LOCKBENCH_MEASURED", plan->names_server ? "no" : "yes", 1);
  if (!shim) return;
  snprintf(library, sizeof library, "%s%s%s", shim, others && others[0] ? ":" : "", others ? others : "");
  setenv("LD_PRELOAD", library, 1);
  setenv("LOCKBENCH_SKEW", client->skew_file, 1);
}

static const struct lb_ground exec_ground = {.sleep_until = sleep_until, .halt = exec_halt, .prepare = exec_prepare};

/* The next command; renews while there is none. False: the controller has gone. */
static bool next_command(struct lb_program *p, int commands, struct lb_command *ret) {
  for (;;) {
    int ready = lb_wait_fd(&p->env.base, commands, POLLIN, lb_holder_due(&p->holder));
    if (ready < 0) return false;
    if (ready > 0) return recv(commands, ret, sizeof *ret, 0) == (ssize_t)sizeof *ret;
    lb_holder_renew(&p->holder);
  }
}

/* The controller closes its end when all is over; this end only closes if somebody in this process has closed it. */
static void note_lost_socket(struct lb_client_state *state, int commands) {
  if (fcntl(commands, F_GETFD) < 0 && !state->breach[0])
    snprintf(state->breach, sizeof state->breach, "a file descriptor that it did not open was closed");
}

/* The whole life of the process. It never returns into the controller's code, of which it is a copy. */
static _Noreturn void client_main(const struct lb_client *client, const struct lb_client_plan *plan,
                                  const struct lb_ground *ground, int commands) {
  struct lb_program program;
  struct lb_command command;
  struct lb_reply reply;
  lb_hook_own_process();
  atomic_store(&plan->memory->state[client->number].pid, (int)getpid());
  lb_program_begin(&program, plan, client, ground);
  while (next_command(&program, commands, &command)) {
    lb_program_do(&program, command, &reply);
    if (send(commands, &reply, sizeof reply, MSG_NOSIGNAL) < 0) break;
  }
  note_lost_socket(&plan->memory->state[client->number], commands);
  _exit(0);
}

void lb_driver_speak_into(int output) {
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
}

/* Between fork and the first command. Its connections must begin on its own host. */
static _Noreturn void become_client(const struct lb_client *client, const struct lb_client_plan *plan,
                                    const struct lb_ground *ground, const int pair[2]) {
  if (plan->gives_way) lb_process_give_way();
  if (ground->prepare) setpgid(0, 0), ground->prepare(client, plan); /* it will not stay alone */
  signal(SIGPIPE, SIG_IGN);
  if (plan->output > 0) lb_driver_speak_into(plan->output);
  close(pair[0]);
  if (client->host->netns >= 0 && setns(client->host->netns, CLONE_NEWNET) < 0) _exit(1);
  client_main(client, plan, ground, pair[1]);
}

/* ---- the controller's side ---------------------------------------------------------------------------------- */

static size_t writers(size_t clients) { return clients; }

static int start(struct lb_client *client, const struct lb_client_plan *plan, const struct lb_ground *ground) {
  int pair[2];
  struct lb_body *body = malloc(sizeof *body);
  if (!body) return -ENOMEM;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
    int error = errno;
    free(body);
    return -error;
  }
  *body = (struct lb_body){.socket = pair[0], .tree = ground == &exec_ground};
  client->body = body;
  body->pid = lb_process_fork();
  int error = errno;
  if (body->pid == 0) become_client(client, plan, ground, pair);
  close(pair[1]);
  if (body->pid > 0 && ground->prepare) setpgid(body->pid, body->pid); /* both do, as either may be first */
  if (body->pid > 0) return 0;
  body->pid = 0;
  client->driver->end(client);
  return -error;
}

static int process_start(struct lb_client *client, const struct lb_client_plan *plan) {
  return start(client, plan, &process_ground);
}

static int exec_start(struct lb_client *client, const struct lb_client_plan *plan) {
  return start(client, plan, &exec_ground);
}

static int send_command(struct lb_client *client, const struct lb_command *command) {
  return send(client->body->socket, command, sizeof *command, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int await(struct lb_client *client, lb_ns deadline, struct lb_reply *ret) {
  int socket = client->body->socket;
  struct pollfd p = {.fd = socket, .events = POLLIN};
  for (;;) {
    lb_ns now = lb_clock_ns(), left = deadline > now ? deadline - now : 0;
    int n = poll(&p, 1, (int)((left + LB_NS_PER_MS - 1) / LB_NS_PER_MS));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -errno;
    if (n == 0) return LB_TIMEOUT;
    return recv(socket, ret, sizeof *ret, 0) == (ssize_t)sizeof *ret ? 0 : -ECONNRESET;
  }
}

static int peek(const struct lb_client *client) {
  char byte;
  ssize_t n = recv(client->body->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n > 0 ? 1 : n < 0 && errno == EAGAIN ? 0 : -ECONNRESET;
}

static void reap(struct lb_body *body) {
  while (waitpid(body->pid, &body->status, 0) < 0 && errno == EINTR) {
  }
  body->pid = 0;
}

/* A stop is told by the kernel once every thread of the process stands still. */
static enum lb_life look_at_process(struct lb_body *body) {
  siginfo_t info = {0};
  if (body->killed) return LB_LIFE_KILLED;
  if (body->pid == 0) return LB_LIFE_DIED;
  if (waitid(P_PID, (id_t)body->pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
    return LB_LIFE_RUNS;
  if (info.si_code == CLD_STOPPED) return LB_LIFE_STOPPED;
  reap(body);
  return LB_LIFE_DIED;
}

/* A tree that has stopped itself counts as stopped once nothing of it runs. */
static enum lb_life look(struct lb_client *client) {
  struct lb_body *body = client->body;
  enum lb_life life = look_at_process(body);
  if (!body->tree) return life;
  if (life != LB_LIFE_STOPPED) body->still = false;
  else if (!body->still) body->still = lb_proctree_signal(body->pid, SIGSTOP) == 0;
  return life == LB_LIFE_STOPPED && !body->still ? LB_LIFE_RUNS : life;
}

/* Also for one that has died already: by this signal at a point, or otherwise, which -ECHILD tells. What a tree has
 * left of its group ends with it. */
static int kill_all(struct lb_body *body) {
  if (body->killed) return -ESRCH;
  if (body->pid > 0 && body->tree) {
    body->status = lb_proctree_kill(body->pid);
    body->pid = 0;
  } else if (body->pid > 0) {
    kill(body->pid, SIGKILL);
    reap(body);
  }
  body->killed = WIFSIGNALED(body->status) && WTERMSIG(body->status) == SIGKILL;
  return body->killed ? 0 : -ECHILD;
}

static int signal_client(struct lb_client *client, enum lb_client_signal signal) {
  struct lb_body *body = client->body;
  enum lb_life wanted = signal == LB_CLIENT_STOP ? LB_LIFE_STOPPED : LB_LIFE_RUNS, life;
  lb_ns deadline = lb_clock_ns() + FOLLOW_MS * LB_NS_PER_MS;
  int sig = signal == LB_CLIENT_STOP ? SIGSTOP : SIGCONT;
  if (signal == LB_CLIENT_KILL) return kill_all(body);
  if (body->pid == 0) return -ESRCH;
  int r = body->tree ? lb_proctree_signal(body->pid, sig) : kill(body->pid, sig) < 0 ? -ESRCH : 0;
  if (r < 0) return r;
  if (signal == LB_CLIENT_STOP) body->still = true;
  while ((life = look(client)) != wanted) {
    if (life == LB_LIFE_DIED) return -ESRCH;
    if (lb_clock_ns() > deadline) return -ETIMEDOUT;
    lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS);
  }
  return 0;
}

static void tell_end(const struct lb_client *client, char *buf, size_t size) {
  int status = client->body->status;
  const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
  if (name) snprintf(buf, size, "died of SIG%s", name);
  else if (WIFSIGNALED(status)) snprintf(buf, size, "died of signal %d", WTERMSIG(status));
  else snprintf(buf, size, "exited with status %d", WEXITSTATUS(status));
}

static void end(struct lb_client *client) {
  struct lb_body *body = client->body;
  if (body->pid > 0) kill_all(body);
  close(body->socket);
  free(body);
  client->body = NULL;
}

const struct lb_driver lb_driver_process = {
    .name = "process",
    .writers = writers,
    .start = process_start,
    .send = send_command,
    .await = await,
    .peek = peek,
    .look = look,
    .signal = signal_client,
    .tell_end = tell_end,
    .end = end,
};

const struct lb_driver lb_driver_exec = {
    .name = "exec",
    .writers = writers,
    .start = exec_start,
    .send = send_command,
    .await = await,
    .peek = peek,
    .look = look,
    .signal = signal_client,
    .tell_end = tell_end,
    .end = end,
};
