/* SPDX-License-Identifier: MIT
 *
 * The process that serves: in a sandbox as a trial's controller is, so the kernel ends all of it with the tool. It
 * waits for three things, for a question at the socket, for a line at the prompt, for the end of the command, and does
 * one at a time: a trial does its steps one after the other, too.
 */
#include "serve_stage.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/called.h"
#include "base/process.h"
#include "base/files.h"
#include "base/error.h"
#include "run/exit.h"
#include "network/sandbox.h"
#include "trial/site.h"

/* ---- the stage of a trial that nobody plays: its site, and clients who have a host and no program -------- */

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

static int set_stage(struct lb_serve *v) {
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
  s->memory = lb_memory_map(clients, clients, 1);
  s->client = calloc(clients, sizeof *s->client);
  s->pending = calloc(clients, sizeof *s->pending);
  if (!s->memory || !s->client || !s->pending) return -ENOMEM;
  for (size_t i = 0; i < clients; i++) {
    s->client[i] = (struct lb_client){.driver = &lb_driver_command, .number = (uint32_t)i, .log = i};
    snprintf(s->client[i].name, sizeof s->client[i].name, "client-%zu", i + 1);
  }
  return 0;
}

/* The servers' logs lie where a trial's would. */
static int make_log_folder(struct lb_serve *v) {
  char path[4000];
  snprintf(path, sizeof path, "%s/logs/%s", v->plan->dir->partial, v->trial.name);
  return lb_make_dirs(path);
}

/* The command gets the environment as the user had it: a program in Java wants its class path. */
static int keep_environ(struct lb_serve *v) {
  size_t count = 0;
  while (environ[count]) count++;
  v->environ = calloc(count + 1, sizeof *v->environ);
  for (size_t i = 0; v->environ && i < count; i++)
    if (!(v->environ[i] = strdup(environ[i]))) return -ENOMEM;
  return v->environ ? 0 : -ENOMEM;
}

static int open_stage(struct lb_serve *v, struct lb_error *err) {
  struct lb_stage *s = &v->stage;
  write_scenario(v);
  int r = keep_environ(v);
  lb_environ_forget();
  if (r == 0) r = set_stage(v);
  if (r == 0) r = make_log_folder(v);
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

static void put_variable(void *to, const char *name, const char *value) { fprintf(to, "%s='%s'\n", name, value); }

static void greet(const struct lb_serve *v) {
  const struct lb_serve_plan *plan = v->plan;
  if (plan->command) {
    fprintf(plan->notes, "lockbench: %s serves; from another terminal: " LB_SERVE_VARIABLE "=%s %s fault 'STEP'\n",
            plan->topology->name, v->socket_path, lb_called());
  } else {
    lb_serve_env(v, put_variable, plan->out);
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
                        {.fd = commanded ? lb_serve_command_fd(v) : STDIN_FILENO, .events = POLLIN}};
  if (!commanded) put_prompt(v, &prompt);
  for (;;) {
    if (poll(p, 2, -1) < 0 && errno != EINTR) return LB_EXIT_FAILURE;
    if (p[1].revents && commanded) return lb_serve_command_status(v);
    if (p[1].revents) do_lines(v, &prompt);
    if (prompt.over) return prompt.status;
    if (p[0].revents) lb_serve_answer(v);
  }
}

static _Noreturn void control(struct lb_serve *v, struct shared *shared) {
  struct lb_error *err = &shared->err;
  int r = open_stage(v, err);
  if (r == 0) r = lb_serve_listen(v, err);
  if (r == 0 && v->plan->command) r = lb_serve_command_start(v, err);
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
  struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return lb_error(err, -ENOMEM, "no memory");
  *shared = (struct shared){.result = -ECHILD, .err.text = "the process that serves has died"};
  v = (struct lb_serve){
      .plan = plan, .socket = -1, .foreground = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp()};
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
