/* SPDX-License-Identifier: MIT
 *
 * A process per client, with a socket that keeps messages apart: the controller's end below, and
 * the process itself (client_main). The kernel does what a fault asks for: a stopped or killed
 * process is an honest one, with all the threads of its libraries.
 */
#include "driver_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "hooks.h"
#include "program.h"

enum { FOLLOW_MS = 1000 };

/* ---- the process ------------------------------------------------------------------------------------------ */

void lb_process_sleep_until(struct lb_program *p, lb_ns when) {
  (void)p;
  if (when) lb_clock_sleep_until(when);
}

static void process_halt(struct lb_program *p, bool dies) {
  (void)p;
  if (dies) kill(getpid(), SIGKILL);
  else raise(SIGSTOP);
}

static const struct lb_ground process_ground = {.sleep_until = lb_process_sleep_until, .halt = process_halt};

/* The next command; renews while there is none. False: the controller has gone. */
static bool next_command(struct lb_program *p, int commands, struct lb_command *ret) {
  for (;;) {
    int ready = lb_wait_fd(&p->env.base, commands, POLLIN, lb_program_due(p));
    if (ready < 0) return false;
    if (ready > 0) return recv(commands, ret, sizeof *ret, 0) == (ssize_t)sizeof *ret;
    lb_program_renew(p);
  }
}

/* The controller closes its end when all is over; this end only closes if somebody in this process
 * has closed it. */
static void note_lost_socket(struct lb_client_state *state, int commands) {
  if (fcntl(commands, F_GETFD) < 0 && !state->breach[0])
    snprintf(state->breach, sizeof state->breach, "a file descriptor that it did not open was closed");
}

/* The whole life of the process. It never returns into the controller's code, of which it is a
 * copy. */
static _Noreturn void client_main(const struct lb_client *client, const struct lb_client_plan *plan, const struct lb_ground *ground,
                                  int commands) {
  struct lb_program program;
  struct lb_command command;
  struct lb_reply reply;
  lb_hooks_own_process();
  atomic_store(&plan->memory->state[client->number].pid, (int)getpid());
  lb_program_begin(&program, plan, client, ground);
  while (next_command(&program, commands, &command)) {
    lb_program_do(&program, command, &reply);
    if (send(commands, &reply, sizeof reply, MSG_NOSIGNAL) < 0) break;
  }
  note_lost_socket(&plan->memory->state[client->number], commands);
  _exit(0);
}

/* What a client library or a plugin prints is not for our own output, and nobody types anything to
 * it. */
static void speak_into(int output) {
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
}

/* Between fork and the first command. It must not outlive the controller, and its connections must
 * begin on its own host. */
static _Noreturn void become_client(const struct lb_client *client, const struct lb_client_plan *plan, const struct lb_ground *ground,
                                    pid_t parent, const int pair[2]) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  if (ground->prepare) setpgid(0, 0), ground->prepare(client, plan); /* it will not stay alone */
  signal(SIGPIPE, SIG_IGN);
  if (plan->output > 0) speak_into(plan->output);
  close(pair[0]);
  if (client->host->netns >= 0 && setns(client->host->netns, CLONE_NEWNET) < 0) _exit(1);
  client_main(client, plan, ground, pair[1]);
}

/* ---- the controller's side ---------------------------------------------------------------------------------- */

size_t lb_process_writers(size_t clients) { return clients; }

int lb_process_start(struct lb_client *client, const struct lb_client_plan *plan, const struct lb_ground *ground) {
  int pair[2];
  pid_t parent = getpid();
  struct lb_body *body = malloc(sizeof *body);
  if (!body) return -ENOMEM;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
    int error = errno;
    free(body);
    return -error;
  }
  *body = (struct lb_body){.socket = pair[0]};
  client->body = body;
  body->pid = fork();
  int error = errno;
  if (body->pid == 0) become_client(client, plan, ground, parent, pair);
  close(pair[1]);
  if (body->pid > 0 && ground->prepare) setpgid(body->pid, body->pid); /* both do: whoever is first */
  if (body->pid > 0) return 0;
  body->pid = 0;
  client->driver->end(client);
  return -error;
}

static int process_start(struct lb_client *client, const struct lb_client_plan *plan) {
  return lb_process_start(client, plan, &process_ground);
}

int lb_process_send(struct lb_client *client, const struct lb_command *command) {
  return send(client->body->socket, command, sizeof *command, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int lb_process_await(struct lb_client *client, lb_ns deadline, struct lb_reply *ret) {
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

int lb_process_peek(const struct lb_client *client) {
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
enum lb_life lb_process_look(struct lb_client *client) {
  struct lb_body *body = client->body;
  siginfo_t info = {0};
  if (body->killed) return LB_LIFE_KILLED;
  if (body->pid == 0) return LB_LIFE_DIED;
  if (waitid(P_PID, (id_t)body->pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
    return LB_LIFE_RUNS;
  if (info.si_code == CLD_STOPPED) return LB_LIFE_STOPPED;
  reap(body);
  return LB_LIFE_DIED;
}

/* Also for one that has died already: by this signal at a point, or otherwise, which -ECHILD tells. */
static int process_kill(struct lb_body *body) {
  if (body->killed) return -ESRCH;
  if (body->pid > 0) {
    kill(body->pid, SIGKILL);
    reap(body);
  }
  body->killed = WIFSIGNALED(body->status) && WTERMSIG(body->status) == SIGKILL;
  return body->killed ? 0 : -ECHILD;
}

static int process_signal(struct lb_client *client, enum lb_client_signal signal) {
  enum lb_life wanted = signal == LB_CLIENT_STOP ? LB_LIFE_STOPPED : LB_LIFE_RUNS, life;
  lb_ns deadline = lb_clock_ns() + FOLLOW_MS * LB_NS_PER_MS;
  if (signal == LB_CLIENT_KILL) return process_kill(client->body);
  if (client->body->pid == 0 || kill(client->body->pid, signal == LB_CLIENT_STOP ? SIGSTOP : SIGCONT) < 0)
    return -ESRCH;
  while ((life = lb_process_look(client)) != wanted) {
    if (life == LB_LIFE_DIED) return -ESRCH;
    if (lb_clock_ns() > deadline) return -ETIMEDOUT;
    lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS);
  }
  return 0;
}

void lb_process_tell_end(const struct lb_client *client, char *buf, size_t size) {
  int status = client->body->status;
  const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
  if (name) snprintf(buf, size, "died of SIG%s", name);
  else if (WIFSIGNALED(status)) snprintf(buf, size, "died of signal %d", WTERMSIG(status));
  else snprintf(buf, size, "exited with status %d", WEXITSTATUS(status));
}

static void process_end(struct lb_client *client) {
  struct lb_body *body = client->body;
  if (body->pid > 0) process_kill(body);
  close(body->socket);
  free(body);
  client->body = NULL;
}

const struct lb_driver lb_driver_process = {
    .name = "process",
    .writers = lb_process_writers,
    .start = process_start,
    .send = lb_process_send,
    .await = lb_process_await,
    .peek = lb_process_peek,
    .look = lb_process_look,
    .signal = process_signal,
    .tell_end = lb_process_tell_end,
    .end = process_end,
};
