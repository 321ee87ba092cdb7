/* SPDX-License-Identifier: MIT
 *
 * Both ends of the command socket: the controller's calls below, and the process itself (client_main), which executes
 * one command after the other and knows nothing of scenarios.
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "env.h"
#include "hooks.h"

enum { STREAM_ENV = 1, STREAM_WORK = 2, STREAM_BACKOFF = 3 };
enum { LOOK_MS = 50 };

/* ---- the process ------------------------------------------------------------------------------------------ */

struct process {
  const struct lb_client_plan *plan;
  struct lb_process_env env;
  struct lb_config config;
  struct lb_holder holder;
  struct lb_rng rng;       /* choice of keys */
  struct lb_command armed; /* the point where it stops or kills itself */
};

/* Deadlines arrive in true time and protocols live by their host's clock: this is the only place where the one becomes
 * the other. */
static lb_ns as_seen(const struct process *p, lb_ns true_deadline) { return lb_env_from_truth(&p->env, true_deadline); }

static lb_ns holder_to_truth(struct lb_env *env, lb_ns ns) { return lb_env_to_truth((struct lb_process_env *)env, ns); }

static int process_open(struct process *p, lb_ns deadline) {
  p->holder.session = calloc(1, p->plan->protocol->session_size);
  if (!p->holder.session)
    return lb_fail(&p->env.base, -ENOMEM, "no memory for a session of %zu bytes", p->plan->protocol->session_size);
  return lb_hook_open(&p->holder, &p->config, deadline);
}

static void sleep_ns(lb_ns duration) {
  if (duration) lb_clock_sleep_until(lb_clock_ns() + duration);
}

/* When the next renewal is due, on the clock of the env; LB_NEVER = none. */
static lb_ns renewal_due(const struct process *p) { return p->holder.holding ? p->holder.renew_at : LB_NEVER; }

static lb_ns min_ns(lb_ns a, lb_ns b) { return a < b ? a : b; }

/* Work that takes `duration` of true time, with the watchdog beside it; who learns that it lost the lock stops working.
 * The clock that says when to renew may be set meanwhile, so it is looked at from time to time. */
static void work_inside(struct process *p, lb_ns duration) {
  if (renewal_due(p) == LB_NEVER) return sleep_ns(duration);
  lb_ns end = lb_clock_ns() + duration, now;
  while (p->holder.holding && (now = lb_clock_ns()) < end) {
    lb_ns next = min_ns(end, lb_env_to_truth(&p->env, renewal_due(p)));
    lb_clock_sleep_until(min_ns(next, now + LOOK_MS * LB_NS_PER_MS));
    lb_holder_renew(&p->holder);
  }
}

/* Closed loop: think, acquire, read, hold, write, release. */
static int process_work(struct process *p) {
  const struct lb_work *work = &p->plan->work;
  struct lb_memory *memory = p->plan->memory;
  while (atomic_load_explicit(&memory->phase, memory_order_relaxed) != LB_PHASE_STOP) {
    if (p->holder.breached || atomic_load_explicit(&memory->log_full, memory_order_relaxed)) {
      sleep_ns(LB_NS_PER_MS);
      continue;
    }
    uint32_t key = work->keys ? (uint32_t)lb_rng_below(&p->rng, work->keys) : (uint32_t)p->holder.index;
    if (lb_holder_acquire(&p->holder, key, as_seen(p, lb_clock_ns() + work->wait_ns)) == LB_OK) {
      if (lb_holder_read(&p->holder) == LB_OK) {
        work_inside(p, work->hold_ns);
        lb_holder_write(&p->holder);
      }
      lb_holder_release(&p->holder, as_seen(p, lb_clock_ns() + work->wait_ns));
    }
    sleep_ns(work->think_ns);
  }
  return LB_OK;
}

static void pass_point(struct lb_env *env, const char *name) {
  struct process *p = (struct process *)((char *)env - offsetof(struct process, env.base));
  if (strcmp(p->armed.text, name) != 0) return;
  _Atomic bool *at_point = &p->plan->memory->state[p->holder.index].at_point;
  env->point = NULL; /* once */
  atomic_store(at_point, true);
  if (p->armed.argument) kill(getpid(), SIGKILL);
  else raise(SIGSTOP);
  atomic_store(at_point, false);
}

static int process_arm(struct process *p, const struct lb_command *c) {
  p->armed = *c;
  p->armed.text[sizeof p->armed.text - 1] = '\0';
  p->env.base.point = pass_point;
  return LB_OK;
}

static int process_inspect(struct process *p, const struct lb_command *c) {
  char name[LB_KEY_NAME_MAX];
  struct lb_lock lock = lb_holder_lock(&p->holder, 0, name);
  if (!p->plan->protocol->inspect)
    return lb_fail(&p->env.base, -EOPNOTSUPP, "%s has no way to look at one server", p->plan->protocol->name);
  return lb_hook_inspect(&p->holder, &lock, c->argument, c->deadline);
}

static int64_t clock_ms(struct process *p, bool monotonic) {
  return monotonic ? (int64_t)(lb_now(&p->env.base) / LB_NS_PER_MS) : lb_wall_ms(&p->env.base);
}

/* `c->deadline` is on the client's clock by now. */
static int process_command(struct process *p, const struct lb_command *c, int64_t *ret) {
  switch (c->verb) {
    case LB_DO_OPEN: return process_open(p, c->deadline);
    case LB_DO_SETUP: return lb_hook_setup(&p->holder, c->deadline);
    case LB_DO_WORK: return process_work(p);
    case LB_DO_ACQUIRE: return lb_holder_acquire(&p->holder, 0, c->deadline);
    case LB_DO_RELEASE: return lb_holder_release(&p->holder, c->deadline);
    case LB_DO_READ: return lb_holder_read(&p->holder);
    case LB_DO_WRITE: return lb_holder_write(&p->holder);
    case LB_DO_INSPECT: return process_inspect(p, c);
    case LB_DO_ARM: return process_arm(p, c);
    case LB_DO_CLOCK: return *ret = clock_ms(p, c->argument != 0), LB_OK;
  }
  return -EINVAL;
}

/* The next command; renews while there is none. False: the controller has gone. */
static bool next_command(struct process *p, int commands, struct lb_command *ret) {
  for (;;) {
    int ready = lb_wait_fd(&p->env.base, commands, POLLIN, renewal_due(p));
    if (ready < 0) return false;
    if (ready > 0) return recv(commands, ret, sizeof *ret, 0) == (ssize_t)sizeof *ret;
    lb_holder_renew(&p->holder);
  }
}

/* The number of its random streams: the lives of a client must not draw the same tokens. */
static uint64_t stream_of(struct lb_memory *memory, size_t index) {
  return index | (uint64_t)(atomic_load(&memory->state[index].lives) - 1) << 32;
}

/* The controller closes its end when all is over; this end only closes if somebody in this process has closed it. */
static void note_lost_socket(struct process *p, int commands) {
  struct lb_client_state *state = &p->plan->memory->state[p->holder.index];
  if (fcntl(commands, F_GETFD) < 0 && !state->breach[0])
    snprintf(state->breach, sizeof state->breach, "a file descriptor that it did not open was closed");
}

static _Noreturn void client_main(const struct lb_client_plan *plan, size_t index, const char *name, int commands) {
  uint64_t stream = stream_of(plan->memory, index);
  lb_hooks_own_process();
  struct process p = {
      .plan = plan,
      .config = {.target = plan->target,
                 .options = plan->options,
                 .ttl_ms = plan->ttl_ms,
                 .client = name,
                 .protocol = plan->protocol,
                 .prefix = plan->key_prefix},
      .holder = {.protocol = plan->protocol,
                 .memory = plan->memory,
                 .index = index,
                 .ttl_ms = plan->ttl_ms,
                 .prefix = plan->key_prefix,
                 .guard = plan->guard,
                 .renew = plan->renew,
                 .to_truth = holder_to_truth,
                 .rng = lb_rng_fork(plan->seed, STREAM_BACKOFF, stream)},
      .rng = lb_rng_fork(plan->seed, STREAM_WORK, stream),
  };
  lb_env_init(&p.env, lb_rng_fork(plan->seed, STREAM_ENV, stream).state);
  p.env.skew = plan->skew ? plan->skew[index] : NULL;
  p.config.env = p.holder.env = &p.env.base;
  struct lb_command command;
  while (next_command(&p, commands, &command)) {
    struct lb_reply reply = {0};
    p.env.base.err[0] = '\0';
    command.deadline = as_seen(&p, command.deadline);
    reply.result = process_command(&p, &command, &reply.value);
    memcpy(reply.err, p.env.base.err, sizeof reply.err);
    if (send(commands, &reply, sizeof reply, MSG_NOSIGNAL) < 0) break;
  }
  note_lost_socket(&p, commands);
  _exit(0);
}

/* ---- the controller's side ---------------------------------------------------------------------------------- */

/* Before the fork: whoever looks at the state after lb_client_start() must not see the former life. */
static void begin_life(struct lb_client_state *state) {
  atomic_store(&state->asks, false);
  atomic_store(&state->holds, false);
  atomic_store(&state->at_point, false);
  atomic_store(&state->writes, 0);
  atomic_store(&state->hook, 0);
  atomic_fetch_add(&state->lives, 1);
}

/* What a client library or a plugin prints is not for our own output, and nobody types anything to it. */
static void speak_into(int output) {
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
}

int lb_client_start(struct lb_client *client, const struct lb_client_plan *plan, size_t index, const char *name,
                    const struct lb_host *host) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return -errno;
  *client = (struct lb_client){.index = index, .socket = pair[0]};
  snprintf(client->name, sizeof client->name, "%s", name);
  pid_t parent = getpid();
  begin_life(&plan->memory->state[index]);
  client->pid = fork();
  if (client->pid < 0) {
    int error = errno;
    close(pair[0]);
    close(pair[1]);
    client->pid = 0;
    return -error;
  }
  if (client->pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    signal(SIGPIPE, SIG_IGN);
    if (plan->output > 0) speak_into(plan->output);
    close(pair[0]);
    if (host->netns >= 0 && setns(host->netns, CLONE_NEWNET) < 0) _exit(1);
    client_main(plan, index, client->name, pair[1]);
  }
  close(pair[1]);
  return 0;
}

int lb_client_send(struct lb_client *client, struct lb_command command) {
  return send(client->socket, &command, sizeof command, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int lb_client_await(struct lb_client *client, lb_ns deadline, struct lb_reply *ret) {
  struct pollfd p = {.fd = client->socket, .events = POLLIN};
  for (;;) {
    lb_ns now = lb_clock_ns(), left = deadline > now ? deadline - now : 0;
    int n = poll(&p, 1, (int)((left + LB_NS_PER_MS - 1) / LB_NS_PER_MS));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -errno;
    if (n == 0) return LB_TIMEOUT;
    return recv(client->socket, ret, sizeof *ret, 0) == (ssize_t)sizeof *ret ? 0 : -ECONNRESET;
  }
}

bool lb_client_peek(const struct lb_client *client) {
  struct pollfd p = {.fd = client->socket, .events = POLLIN};
  return poll(&p, 1, 0) > 0;
}

int lb_client_call(struct lb_client *client, struct lb_command command, int64_t grace_ms, struct lb_reply *ret) {
  int r = lb_client_send(client, command);
  return r < 0 ? r : lb_client_await(client, command.deadline + (lb_ns)grace_ms * LB_NS_PER_MS, ret);
}

bool lb_client_alive(struct lb_client *client) {
  if (client->ended) return false;
  if (client->pid == 0 || waitpid(client->pid, &client->status, WNOHANG) == 0) return true;
  client->ended = true;
  client->pid = 0;
  return false;
}

void lb_client_kill(struct lb_client *client) {
  if (client->pid > 0) {
    kill(client->pid, SIGKILL);
    while (waitpid(client->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    client->pid = 0;
  }
  if (client->socket > 0) close(client->socket);
  client->socket = 0;
}
