/* SPDX-License-Identifier: MIT
 *
 * The process that serves: in a sandbox as a trial's controller is, so the kernel ends all of it with the tool. It waits for three things, for a
 * question at the socket, for a line at the prompt, for the end of the command, and does one at a time: a trial does its steps one after the other, too.
 */
#include "serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/called.h"
#include "base/refuse.h"
#include "run/exit.h"
#include "serve_parts.h"
#include "servers/sandbox.h"

enum { LINE_BYTES = 1000, ERR_BYTES = 600 };

struct shared { /* what the process that served leaves to the tool */
  int result, status;
  char err[ERR_BYTES];
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
  char err[ERR_BYTES];
  line += strspn(line, " \t");
  for (size_t n = strlen(line); n > 0 && strchr(" \t\r", line[n - 1]); n--) line[n - 1] = '\0';
  if (!*line || *line == '#') return;
  p->over = strcmp(line, "quit") == 0;
  int code = p->over ? LB_EXIT_OK : lb_serve_line(v, line, v->plan->out, err, sizeof err);
  fflush(v->plan->out);
  if (code != LB_EXIT_OK) fprintf(v->plan->notes, "%s\n", err), fflush(v->plan->notes);
  if (!p->is_person && p->status == 0) p->status = code;
}

static void do_lines(struct lb_serve *v, struct prompt *p) {
  ssize_t n = read(STDIN_FILENO, p->text + p->size, sizeof p->text - 1 - p->size);
  if (n < 0 && errno == EINTR) return;
  char *line = p->text, *end;
  p->size += n > 0 ? (size_t)n : 0;
  p->text[p->size] = '\0';
  for (; !p->over && (end = strchr(line, '\n')); line = end + 1) *end = '\0', do_line(v, p, line);
  if (!p->over && (n <= 0 || p->size == sizeof p->text - 1)) do_line(v, p, line), line += strlen(line); /* the last, or far too long */
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
    fprintf(plan->notes, "lockbench: %s serves; from another terminal: " LB_SERVE_VARIABLE "=%s %s fault 'STEP'\n", plan->topology->name, v->socket_path, lb_called());
  } else {
    lb_serve_env(v, put_variable, plan->out);
    fputs("`help` lists what can be asked\n", plan->out);
  }
  if (!v->stage.net.separate) fprintf(plan->notes, "lockbench: on loopback, so no links can be cut: %s\n", lb_isolation_probe()->why);
  fflush(plan->out);
  fflush(plan->notes);
}

/* Until the command or the prompt ends; its status. */
static int serve(struct lb_serve *v) {
  struct prompt prompt = {.is_person = isatty(STDIN_FILENO)};
  bool commanded = v->plan->command;
  struct pollfd p[2] = {{.fd = v->socket, .events = POLLIN}, {.fd = commanded ? lb_serve_command_fd(v) : STDIN_FILENO, .events = POLLIN}};
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
  char err[ERR_BYTES] = "";
  int r = lb_serve_open(v, err, sizeof err);
  if (r == 0) r = lb_serve_listen(v, err, sizeof err);
  if (r == 0 && v->plan->command) r = lb_serve_command_start(v, err, sizeof err);
  if (r == 0) greet(v), shared->status = serve(v);
  lb_serve_close(v);
  memcpy(shared->err, err, sizeof err);
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

int lb_serve_run(const struct lb_serve_plan *plan, int *ret_status, char *err, size_t err_size) {
  static struct lb_serve v; /* too large for a stack */
  struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return lb_refuse(err, err_size, "no memory"), -ENOMEM;
  *shared = (struct shared){.result = -ECHILD, .err = "the process that serves has died"};
  v = (struct lb_serve){.plan = plan, .socket = -1, .foreground = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp()};
  fflush(NULL); /* or both processes would write it */
  pid_t pid = lb_sandbox_fork(plan->dir->alive, plan->dir->guard_pipe);
  if (pid == 0) control(&v, shared);
  while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
  if (v.foreground && plan->command) take_terminal_back();
  int r = pid < 0 ? (int)pid : shared->result;
  if (r < 0) lb_refuse(err, err_size, "%s", pid < 0 ? strerror(-pid) : shared->err);
  *ret_status = shared->status;
  munmap(shared, sizeof *shared);
  return r;
}
