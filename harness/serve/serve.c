/* SPDX-License-Identifier: MIT
 *
 * The process that serves: in a sandbox as a trial's controller is, so the kernel ends all of it with the tool. It
 * waits for a question at the socket, a line at the prompt, and the end of the command, and handles one at a time: a
 * trial does its steps one after the other, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve_env.h"
#include "serve_line.h"
#include "serve_operator.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/need.h"
#include "base/process.h"
#include "network/proctree.h"
#include "network/sandbox.h"
#include "run/exit.h"
#include "trial/site.h"

/* ---- a command as a client of the stage -------------------------------------------------------------------
 *
 * It runs on the client's host, and a fault of that client means all of it, its children included. It is told nothing
 * and answers nothing. It has a process group of its own, and the terminal if ours had it: what is typed is for the
 * command, ^C included. */

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
static _Noreturn void become_command(const struct lb_serve *v, const struct lb_host *host, int failed) {
  setpgid(0, 0);
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

static const struct lb_driver driver_command = {
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

/* Starts the command on the host of client 1. 0, or -errno with err (-ENOENT: no such program). */
static int start_command(struct lb_serve *v, struct lb_error *err) {
  struct lb_client *client = &v->stage.client[0];
  struct lb_body *body = lb_need(calloc(1, sizeof *body));
  int failed[2], why = 0;
  if (pipe2(failed, O_CLOEXEC) < 0) return free(body), lb_error(err, -errno, "no pipe: %m");
  body->pid = lb_process_fork();
  if (body->pid == 0) become_command(v, client->host, failed[1]);
  int error = errno;
  close(failed[1]);
  if (body->pid > 0) setpgid(body->pid, body->pid); /* both processes do, as either may be first */
  if (body->pid < 0) why = -error;
  else if (read(failed[0], &why, sizeof why) != (ssize_t)sizeof why) why = 0;
  close(failed[0]);
  if (why == 0 && (body->pidfd = (int)syscall(SYS_pidfd_open, body->pid, 0)) < 0) why = -errno;
  if (why == 0) return client->body = body, 0;
  if (body->pid > 0) lb_proctree_kill(body->pid);
  free(body);
  return lb_refuse(err, "cannot start %s: %s", v->plan->command[0], strerror(-why)), why;
}

/* A descriptor that can be read once it has ended; then its exit status, or 128 + signal. */
static int command_fd(const struct lb_serve *v) { return v->stage.client[0].body->pidfd; }

static int command_status(struct lb_serve *v) {
  struct lb_body *body = v->stage.client[0].body;
  if (body->pid > 0) reap(body);
  return WIFSIGNALED(body->status) ? 128 + WTERMSIG(body->status) : WEXITSTATUS(body->status);
}

/* ---- the stage of a trial without a play: its site, and clients that have a host and no program -------- */

/* What a scenario would need that has every step which may be asked. */
static void write_scenario(struct lb_serve *v) {
  const struct lb_serve_plan *plan = v->plan;
  v->scenario = (struct lb_scenario){.name = (char *)"serve",
                                     .kind = plan->measured ? LB_KIND_LOAD : LB_KIND_TIMELINE,
                                     .keys = 1,
                                     .ttl_ms = plan->ttl_ms,
                                     .memory_storage = !plan->on_disk,
                                     .steps = v->needs};
  if (lb_isolation_probe()->kind != LB_ISOLATION_NONE)
    v->needs[v->scenario.step_count++] = (struct lb_step){.verb = LB_STEP_HEAL};
  if (plan->clocks) v->needs[v->scenario.step_count++] = (struct lb_step){.verb = LB_STEP_CLOCK_RATE};
  v->trial = (struct lb_trial_plan){.scenario = &v->scenario,
                                    .topology = plan->topology,
                                    .clients = plan->hosts,
                                    .seed = plan->seed,
                                    .name = "serve"};
}

static void set_stage(struct lb_serve *v) {
  struct lb_stage *s = &v->stage;
  size_t clients = (size_t)v->plan->hosts;
  s->plan = &v->trial;
  s->run_dir = v->plan->dir->partial;
  s->client_count = clients;
  s->primary = -1;
  s->verdict = LB_VERDICT_NONE;
  s->commits = s->requests = -1;
  lb_env_init(&s->env, v->plan->seed);
  snprintf(s->key_prefix, sizeof s->key_prefix, "lockbench:%08llx", (unsigned long long)(v->plan->seed & 0xffffffff));
  s->memory = lb_need(lb_memory_map(clients, clients, 1));
  s->client = lb_need(calloc(clients, sizeof *s->client));
  s->pending = lb_need(calloc(clients, sizeof *s->pending));
  for (size_t i = 0; i < clients; i++) {
    s->client[i] = (struct lb_client){.driver = &driver_command, .number = (uint32_t)i, .log = i};
    snprintf(s->client[i].name, sizeof s->client[i].name, "client-%zu", i + 1);
  }
}

/* The servers' logs lie where a trial's would. */
static int make_log_folder(struct lb_serve *v) {
  char path[4000];
  snprintf(path, sizeof path, "%s/logs/%s", v->plan->dir->partial, v->trial.name);
  return lb_files_make_dirs(path);
}

/* The command gets the environment as the user had it: a program in Java wants its class path. */
static void keep_environ(struct lb_serve *v) {
  size_t count = 0;
  while (environ[count]) count++;
  v->environ = lb_need(calloc(count + 1, sizeof *v->environ));
  for (size_t i = 0; i < count; i++) v->environ[i] = lb_need_text(environ[i]);
}

static int open_stage(struct lb_serve *v, struct lb_error *err) {
  struct lb_stage *s = &v->stage;
  write_scenario(v);
  keep_environ(v);
  lb_process_forget_environ();
  set_stage(v);
  int r = make_log_folder(v);
  if (r < 0) return lb_error(err, r, "cannot set the stage: %s", strerror(-r));
  struct lb_site_needs needs = lb_site_needs(&v->trial);
  if (lb_site_open(s, &needs) < 0 || lb_site_enter(s) < 0) return lb_error(err, -EIO, "%s", s->why);
  return 0;
}

static void close_stage(struct lb_serve *v) {
  struct lb_stage *s = &v->stage;
  for (size_t i = 0; s->client && i < s->client_count; i++) lb_client_end(&s->client[i]);
  lb_site_close(s);
  for (size_t i = 0; s->client && i < s->client_count; i++) lb_skew_unmap(s->client[i].skew);
  lb_history_clear(&s->history);
  lb_memory_unmap(s->memory);
  free(s->client);
  free(s->pending);
  for (size_t i = 0; i < v->step_count; i++) free(v->step[i]->text), free(v->step[i]);
  free(v->step);
  for (size_t i = 0; v->environ && v->environ[i]; i++) free(v->environ[i]);
  free(v->environ);
}

enum { LINE_BYTES = 1000 };

struct shared { /* what the process that served leaves to the tool */
  int result, status;
  struct lb_error err;
};

/* ---- the prompt -------------------------------------------------------------------------------------------- */

struct prompt {
  char text[LINE_BYTES]; /* what is typed and not done yet */
  size_t size;
  bool is_person; /* somebody sits there */
  bool over;
  int status;
};

static void put_prompt(const struct lb_serve *v, const struct prompt *p) {
  if (p->is_person && !p->over) fputs("> ", v->plan->out);
  fflush(v->plan->out);
}

/* Blanks around it do not count; an empty line, or a note behind a '#', is nothing. */
static void do_line(struct lb_serve *v, struct prompt *p, char *line) {
  struct lb_error err;
  line += strspn(line, " \t");
  for (size_t n = strlen(line); n > 0 && strchr(" \t\r", line[n - 1]); n--) line[n - 1] = '\0';
  if (!*line || *line == '#') return;
  p->over = strcmp(line, "quit") == 0;
  int code = p->over ? LB_EXIT_OK : lb_serve_line(v, line, v->plan->out, &err);
  fflush(v->plan->out);
  if (code != LB_EXIT_OK) fprintf(v->plan->notes, "%s\n", err.text), fflush(v->plan->notes);
  if (!p->is_person && p->status == 0) p->status = code;
}

static void do_lines(struct lb_serve *v, struct prompt *p) {
  ssize_t n = read(STDIN_FILENO, p->text + p->size, sizeof p->text - 1 - p->size);
  if (n < 0 && errno == EINTR) return;
  char *line = p->text, *end;
  p->size += n > 0 ? (size_t)n : 0;
  p->text[p->size] = '\0';
  for (; !p->over && (end = strchr(line, '\n')); line = end + 1) *end = '\0', do_line(v, p, line);
  if (!p->over && (n <= 0 || p->size == sizeof p->text - 1))
    do_line(v, p, line), line += strlen(line); /* the last, or far too long */
  p->size = strlen(line);
  memmove(p->text, line, p->size + 1);
  p->over |= n <= 0;
  put_prompt(v, p);
}

/* ---- serving ----------------------------------------------------------------------------------------------- */

static void greet(const struct lb_serve *v) {
  const struct lb_serve_plan *plan = v->plan;
  if (plan->command) {
    fprintf(plan->notes, "lockbench: %s serves; from another terminal: " LB_SERVE_VARIABLE "=%s %s fault 'STEP'\n",
            plan->topology->name, v->socket_path, lb_process_called());
  } else {
    lb_serve_env_print(v, plan->out);
    fputs("`help` lists what can be asked\n", plan->out);
  }
  if (!v->stage.net.separate)
    fprintf(plan->notes, "lockbench: on loopback, so no links can be cut: %s\n", lb_isolation_probe()->why.text);
  fflush(plan->out);
  fflush(plan->notes);
}

/* Until the command or the prompt ends; its status. */
static int serve(struct lb_serve *v) {
  struct prompt prompt = {.is_person = isatty(STDIN_FILENO)};
  bool commanded = v->plan->command;
  struct pollfd p[2] = {{.fd = v->socket, .events = POLLIN},
                        {.fd = commanded ? command_fd(v) : STDIN_FILENO, .events = POLLIN}};
  if (!commanded) put_prompt(v, &prompt);
  for (;;) {
    if (poll(p, 2, -1) < 0 && errno != EINTR) return LB_EXIT_FAILURE;
    if (p[1].revents && commanded) return command_status(v);
    if (p[1].revents) do_lines(v, &prompt);
    if (prompt.over) return prompt.status;
    if (p[0].revents) lb_serve_answer(v);
  }
}

static _Noreturn void control(struct lb_serve *v, struct shared *shared) {
  struct lb_error *err = &shared->err;
  int r = open_stage(v, err);
  if (r == 0) r = lb_serve_listen(v, err);
  if (r == 0) r = lb_serve_operator(v, err);
  if (r == 0 && v->plan->command) r = start_command(v, err);
  if (r == 0) greet(v), shared->status = serve(v);
  close_stage(v);
  shared->result = r;
  _exit(0);
}

/* ---- the tool ---------------------------------------------------------------------------------------------- */

/* The command may have had it. */
static void take_terminal_back(void) {
  signal(SIGTTOU, SIG_IGN);
  tcsetpgrp(STDIN_FILENO, getpgrp());
  signal(SIGTTOU, SIG_DFL);
}

int lb_serve_run(const struct lb_serve_plan *plan, int *ret_status, struct lb_error *err) {
  static struct lb_serve v; /* too large for a stack */
  struct shared *shared = lb_need_shared(sizeof *shared);
  *shared = (struct shared){.result = -ECHILD, .err.text = "the process that serves has died"};
  v = (struct lb_serve){
      .plan = plan, .socket = -1, .foreground = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp()};
  if (readlink("/proc/self/exe", v.tool, sizeof v.tool - 1) < 0) v.tool[0] = '\0';
  fflush(NULL); /* or both processes would write it */
  pid_t pid = lb_sandbox_fork(plan->dir->alive, plan->dir->guard_pipe);
  if (pid == 0) control(&v, shared);
  while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
  if (v.foreground && plan->command) take_terminal_back();
  int r = pid < 0 ? (int)pid : shared->result;
  if (r < 0) lb_error(err, r, "%s", pid < 0 ? strerror(-pid) : shared->err.text);
  *ret_status = shared->status;
  munmap(shared, sizeof *shared);
  return r;
}
