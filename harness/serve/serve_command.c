/* SPDX-License-Identifier: MIT
 *
 * A command as a client of the stage: it runs on the client's host, and a fault of that client means all of it, its
 * children included. It is told nothing and answers nothing.
 *
 * It has a process group of its own, and the terminal if ours had it: what is typed is for the command, ^C included.
 */
#include "serve_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "network/proctree.h"

/* ---- where the servers are, as environment variables in the form that each kind of client takes ------------ */

enum { TEXT_BYTES = 1000 };

/* "host:port" of all servers of a service, each with `before`; of NULL those of all, as URLs. False: there is none. */
static bool list(const struct lb_serve *v, const char *service, const char *before, const char *between,
                 char text[TEXT_BYTES]) {
  size_t at = 0;
  text[0] = '\0';
  for (size_t i = 0; i < v->stage.target.count; i++) {
    const struct lb_endpoint *e = &v->stage.target.endpoints[i];
    if (service && strcmp(e->service, service) != 0) continue;
    at += (size_t)snprintf(text + at, TEXT_BYTES - at, "%s%s%s%s:%u", at ? between : "", service ? before : e->service,
                           service ? "" : "://", e->host, (unsigned)e->port);
  }
  return at > 0;
}

/* What libpq and psql take. It tries them in this order, and goes on until one of them can write. */
static void tell_postgres(const struct lb_serve *v, void (*tell)(void *to, const char *name, const char *value),
                          void *to) {
  char hosts[TEXT_BYTES] = "", ports[TEXT_BYTES] = "", info[2 * TEXT_BYTES + 100];
  size_t h = 0, p = 0;
  for (size_t i = 0; i < v->stage.target.count; i++) {
    const struct lb_endpoint *e = &v->stage.target.endpoints[i];
    if (strcmp(e->service, "postgres") != 0) continue; /* the etcd of Patroni, or a server behind a pooler */
    h += (size_t)snprintf(hosts + h, sizeof hosts - h, "%s%s", h ? "," : "", e->host);
    p += (size_t)snprintf(ports + p, sizeof ports - p, "%s%u", p ? "," : "", (unsigned)e->port);
  }
  snprintf(info, sizeof info, "host=%s port=%s user=lockbench dbname=postgres target_session_attrs=read-write", hosts,
           ports);
  tell(to, "LOCKBENCH_POSTGRES", info);
  tell(to, "PGHOST", hosts);
  tell(to, "PGPORT", ports);
  tell(to, "PGUSER", "lockbench");
  tell(to, "PGDATABASE", "postgres");
  tell(to, "PGTARGETSESSIONATTRS", "read-write");
}

void lb_serve_env(const struct lb_serve *v, void (*tell)(void *to, const char *name, const char *value), void *to) {
  const struct lb_stage *s = &v->stage;
  char text[TEXT_BYTES], name[40];
  tell(to, "LOCKBENCH_TOPOLOGY", v->plan->topology->name);
  if (list(v, NULL, "", " ", text)) tell(to, "LOCKBENCH_SERVERS", text);
  if (list(v, "redis", "", ",", text)) tell(to, "LOCKBENCH_REDIS", text);
  if (list(v, "sentinel", "", ",", text)) tell(to, "LOCKBENCH_SENTINELS", text);
  if (s->target.sentinel_master) tell(to, "LOCKBENCH_SENTINEL_MASTER", s->target.sentinel_master);
  if (list(v, "zookeeper", "", ",", text)) tell(to, "LOCKBENCH_ZOOKEEPER", text);
  if (list(v, "etcd", "", ",", text)) tell(to, "LOCKBENCH_ETCD", text);
  if (list(v, "etcd", "http://", ",", text)) tell(to, "ETCDCTL_ENDPOINTS", text), tell(to, "ETCDCTL_API", "3");
  if (list(v, "postgres", "", ",", text)) tell_postgres(v, tell, to);
  if (s->target.shards > 0) tell(to, "LOCKBENCH_KEY", s->cluster.key);
  snprintf(text, sizeof text, "%lld", (long long)v->plan->ttl_ms);
  tell(to, "LOCKBENCH_TTL_MS", text);
  for (size_t i = 0; s->net.separate && i < s->client_count; i++) {
    snprintf(name, sizeof name, "LOCKBENCH_CLIENT_%zu", i + 1);
    snprintf(text, sizeof text, "/proc/1/fd/%d", s->client[i].host->netns);
    tell(to, name, text);
  }
  ssize_t n = readlink("/proc/self/exe", text, sizeof text - 1);
  text[n > 0 ? n : 0] = '\0';
  if (n > 0) tell(to, "LOCKBENCH_TOOL", text);
  tell(to, LB_SERVE_VARIABLE, v->socket_path);
}

enum { FOLLOW_MS = 1000 };

struct lb_body {
  pid_t pid; /* 0 = reaped */
  int pidfd;
  int status; /* as of waitpid(2), once it is reaped */
  bool killed;
};

/* ---- the process ----------------------------------------------------------------------------------------- */

static void put(void *to, const char *name, const char *value) {
  (void)to;
  setenv(name, value, 1);
}

/* The user's, without what would lead a client of PostgreSQL elsewhere, and where our servers are. */
static void set_environ(const struct lb_serve *v) {
  clearenv();
  for (char **entry = v->environ; *entry; entry++)
    if (strncmp(*entry, "PG", 2) != 0) putenv(*entry);
  lb_serve_env(v, put, NULL);
}

/* A process that is not in the foreground is stopped when it takes the terminal, unless it does not hear of that. */
static void take_terminal(void) {
  signal(SIGTTOU, SIG_IGN);
  tcsetpgrp(STDIN_FILENO, getpid());
  signal(SIGTTOU, SIG_DFL);
}

/* Says through the pipe why it could not become the command; the pipe closes when it has. */
static _Noreturn void become_command(const struct lb_serve *v, const struct lb_host *host, pid_t parent, int failed) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  if (v->foreground) take_terminal();
  signal(SIGPIPE, SIG_DFL);
  int r = host->netns >= 0 && setns(host->netns, CLONE_NEWNET) < 0 ? -errno : 0;
  set_environ(v);
  if (r == 0) execvp(v->plan->command[0], (char *const *)v->plan->command), r = -errno;
  if (write(failed, &r, sizeof r) < 0) _exit(1);
  _exit(127);
}

/* ---- the driver ------------------------------------------------------------------------------------------ */

static size_t command_writers(size_t clients) { return clients; }
static int command_start(struct lb_client *client, const struct lb_client_plan *plan) {
  return (void)client, (void)plan, -ENOTSUP;
}
static int command_send(struct lb_client *client, const struct lb_command *command) {
  return (void)client, (void)command, -EPIPE;
}
static int command_await(struct lb_client *client, lb_ns deadline, struct lb_reply *ret) {
  return (void)client, (void)deadline, (void)ret, -ECONNRESET;
}
static int command_peek(const struct lb_client *client) { return (void)client, -ECONNRESET; }

static void reap(struct lb_body *body) {
  body->status = lb_proctree_reap(body->pid);
  body->pid = 0;
}

static enum lb_life command_look(struct lb_client *client) {
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

static int command_kill(struct lb_body *body) {
  if (body->killed) return -ESRCH;
  if (body->pid > 0) body->status = lb_proctree_kill(body->pid), body->pid = 0;
  body->killed = WIFSIGNALED(body->status) && WTERMSIG(body->status) == SIGKILL;
  return body->killed ? 0 : -ECHILD;
}

static int command_signal(struct lb_client *client, enum lb_client_signal signal) {
  enum lb_life wanted = signal == LB_CLIENT_STOP ? LB_LIFE_STOPPED : LB_LIFE_RUNS, life;
  lb_ns deadline = lb_clock_ns() + FOLLOW_MS * LB_NS_PER_MS;
  if (signal == LB_CLIENT_KILL) return command_kill(client->body);
  if (client->body->pid == 0) return -ESRCH;
  int r = lb_proctree_signal(client->body->pid, signal == LB_CLIENT_STOP ? SIGSTOP : SIGCONT);
  while (r == 0 && (life = command_look(client)) != wanted) {
    if (life == LB_LIFE_DIED) return -ESRCH;
    if (lb_clock_ns() > deadline) return -ETIMEDOUT;
    lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS);
  }
  return r;
}

static void command_tell_end(const struct lb_client *client, char *buf, size_t size) {
  int status = client->body->status;
  if (WIFSIGNALED(status)) snprintf(buf, size, "died of signal %d", WTERMSIG(status));
  else snprintf(buf, size, "exited with status %d", WEXITSTATUS(status));
}

static void command_end(struct lb_client *client) {
  struct lb_body *body = client->body;
  if (body->pid > 0) command_kill(body);
  close(body->pidfd);
  free(body);
  client->body = NULL;
}

const struct lb_driver lb_driver_command = {
    .name = "command",
    .writers = command_writers,
    .start = command_start,
    .send = command_send,
    .await = command_await,
    .peek = command_peek,
    .look = command_look,
    .signal = command_signal,
    .tell_end = command_tell_end,
    .end = command_end,
};

/* ---- who serves ------------------------------------------------------------------------------------------ */

int lb_serve_command_start(struct lb_serve *v, struct lb_error *err) {
  struct lb_client *client = &v->stage.client[0];
  struct lb_body *body = calloc(1, sizeof *body);
  int failed[2], why = 0;
  pid_t parent = getpid();
  if (!body || pipe2(failed, O_CLOEXEC) < 0) return free(body), lb_error(err, -ENOMEM, "no memory");
  body->pid = fork();
  if (body->pid == 0) become_command(v, client->host, parent, failed[1]);
  int error = errno;
  close(failed[1]);
  if (body->pid > 0) setpgid(body->pid, body->pid); /* whoever of us comes first */
  if (body->pid < 0) why = -error;
  else if (read(failed[0], &why, sizeof why) != (ssize_t)sizeof why) why = 0;
  close(failed[0]);
  if (why == 0 && (body->pidfd = (int)syscall(SYS_pidfd_open, body->pid, 0)) < 0) why = -errno;
  if (why == 0) return client->body = body, 0;
  if (body->pid > 0) lb_proctree_kill(body->pid);
  free(body);
  return lb_refuse(err, "cannot start %s: %s", v->plan->command[0], strerror(-why)), why;
}

int lb_serve_command_fd(const struct lb_serve *v) { return v->stage.client[0].body->pidfd; }

int lb_serve_command_status(struct lb_serve *v) {
  struct lb_body *body = v->stage.client[0].body;
  if (body->pid > 0) reap(body);
  return WIFSIGNALED(body->status) ? 128 + WTERMSIG(body->status) : WEXITSTATUS(body->status);
}
