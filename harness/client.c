/* SPDX-License-Identifier: MIT
 *
 * Both ends of the command socket: the controller's calls below, and the process itself (client_main), which executes one
 * command after the other and knows nothing of scenarios.
 */
#include "client.h"

#include <errno.h>
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

#include "clock.h"
#include "env.h"
#include "holder.h"

enum { STREAM_ENV = 1, STREAM_WORK = 2, STREAM_BACKOFF = 3 };

/* ---- the process ------------------------------------------------------------------------------------------ */

struct process {
  const struct lb_client_plan *plan;
  struct lb_process_env env;
  struct lb_config config;
  struct lb_holder holder;
  struct lb_rng rng; /* choice of keys */
};

static int process_open(struct process *p, lb_ns deadline) {
  p->holder.session = calloc(1, p->plan->protocol->session_size);
  if (!p->holder.session) return -ENOMEM;
  return p->plan->protocol->open(p->holder.session, &p->config, deadline);
}

static void sleep_ns(lb_ns duration) {
  if (duration) lb_clock_sleep_until(lb_clock_ns() + duration);
}

/* Closed loop: think, acquire, read, hold, write, release. */
static int process_work(struct process *p) {
  const struct lb_work *work = &p->plan->work;
  struct lb_arena *arena = p->plan->arena;
  while (atomic_load_explicit(&arena->phase, memory_order_relaxed) != LB_PHASE_STOP) {
    if (atomic_load_explicit(&arena->log_full, memory_order_relaxed)) {
      sleep_ns(LB_NS_PER_MS);
      continue;
    }
    uint32_t key = work->keys ? (uint32_t)lb_rng_below(&p->rng, work->keys) : (uint32_t)p->holder.index;
    if (lb_holder_acquire(&p->holder, key, lb_clock_ns() + work->wait_ns) == LB_OK) {
      lb_holder_read(&p->holder);
      sleep_ns(work->hold_ns);
      lb_holder_write(&p->holder);
      lb_holder_release(&p->holder, lb_clock_ns() + work->wait_ns);
    }
    sleep_ns(work->think_ns);
  }
  return LB_OK;
}

static int process_inspect(struct process *p, const struct lb_command *c) {
  char name[LB_KEY_NAME_MAX];
  lb_holder_key_name(&p->holder, 0, name);
  if (!p->plan->protocol->inspect)
    return lb_fail(&p->env.base, -EOPNOTSUPP, "%s has no way to look at one server", p->plan->protocol->name);
  return p->plan->protocol->inspect(p->holder.session, c->argument, name, c->deadline);
}

static int process_command(struct process *p, const struct lb_command *c) {
  const struct lb_protocol *protocol = p->plan->protocol;
  switch (c->verb) {
    case LB_DO_OPEN: return process_open(p, c->deadline);
    case LB_DO_SETUP: return protocol->setup ? protocol->setup(p->holder.session, c->deadline) : LB_OK;
    case LB_DO_WORK: return process_work(p);
    case LB_DO_ACQUIRE: return lb_holder_acquire(&p->holder, 0, c->deadline);
    case LB_DO_RELEASE: return lb_holder_release(&p->holder, c->deadline);
    case LB_DO_READ: return lb_holder_read(&p->holder);
    case LB_DO_WRITE: return lb_holder_write(&p->holder);
    case LB_DO_INSPECT: return process_inspect(p, c);
    case LB_DO_ARM:
    case LB_DO_CLOCK: break;
  }
  return -EINVAL;
}

static _Noreturn void client_main(const struct lb_client_plan *plan, size_t index, const char *name, int commands) {
  struct process p = {
      .plan = plan,
      .config = {.target = plan->target, .options = plan->options, .ttl_ms = plan->ttl_ms, .client = name},
      .holder = {.protocol = plan->protocol,
                 .arena = plan->arena,
                 .index = index,
                 .ttl_ms = plan->ttl_ms,
                 .prefix = plan->key_prefix,
                 .rng = lb_rng_fork(plan->seed, STREAM_BACKOFF, index)},
      .rng = lb_rng_fork(plan->seed, STREAM_WORK, index),
  };
  lb_env_init(&p.env, lb_rng_fork(plan->seed, STREAM_ENV, index).state);
  p.config.env = p.holder.env = &p.env.base;
  struct lb_command command;
  while (recv(commands, &command, sizeof command, 0) == (ssize_t)sizeof command) {
    struct lb_reply reply = {.result = process_command(&p, &command)};
    memcpy(reply.err, p.env.base.err, sizeof reply.err);
    if (send(commands, &reply, sizeof reply, MSG_NOSIGNAL) < 0) break;
  }
  _exit(0);
}

/* ---- the controller's side ---------------------------------------------------------------------------------- */

int lb_client_start(struct lb_client *client, const struct lb_client_plan *plan, size_t index, const char *name,
                    const struct lb_host *host) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return -errno;
  *client = (struct lb_client){.index = index, .socket = pair[0]};
  snprintf(client->name, sizeof client->name, "%s", name);
  pid_t parent = getpid();
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

int lb_client_call(struct lb_client *client, struct lb_command command, int64_t grace_ms, struct lb_reply *ret) {
  int r = lb_client_send(client, command);
  return r < 0 ? r : lb_client_await(client, command.deadline + (lb_ns)grace_ms * LB_NS_PER_MS, ret);
}

bool lb_client_alive(struct lb_client *client) {
  if (client->pid == 0 || waitpid(client->pid, NULL, WNOHANG) == 0) return true;
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
