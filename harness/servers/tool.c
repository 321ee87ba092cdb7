/* SPDX-License-Identifier: MIT
 *
 * Runs of ip(8) or nft(8). They are short: the controller waits.
 */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/refuse.h"
#include "proc.h"

static const char *const sbin[] = {"/usr/sbin", "/sbin", NULL};

/* Between vfork and exec, in memory that is still the parent's: no allocation, no output, nothing but errno is written. 126 and 127 are what a shell would say, too. */
static _Noreturn void become(const char *path, char *const argv[], const struct lb_host *host, int in, int out) {
  signal(SIGPIPE, SIG_DFL);
  if (host && host->netns >= 0 && setns(host->netns, CLONE_NEWNET) < 0) _exit(126);
  if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(126);
  execv(path, argv);
  _exit(127);
}

/* All that comes from a pipe, to be freed; NULL = no memory. */
static char *read_all(int fd) {
  char part[4096], *text = NULL;
  size_t size = 0;
  ssize_t n;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  while ((n = read(fd, part, sizeof part)) > 0 || (n < 0 && errno == EINTR))
    if (n > 0) fwrite(part, 1, (size_t)n, out);
  return fclose(out) == 0 ? text : NULL;
}

/* Both or none: 0, or -1 with errno. */
static int make_pipes(int in[2], int out[2]) {
  if (pipe2(in, O_CLOEXEC) < 0) return -1;
  if (pipe2(out, O_CLOEXEC) == 0) return 0;
  int error = errno;
  close(in[0]);
  close(in[1]);
  errno = error;
  return -1;
}

int lb_tool_start(const struct lb_host *host, char *const argv[], const char *input, struct lb_tool *ret, char *err, size_t err_size) {
  char *path = lb_proc_find(argv[0], sbin);
  int in[2], out[2], r = 0;
  if (!path) return lb_refuse(err, err_size, "%s is not installed", argv[0]), -ENOENT;
  if (make_pipes(in, out) < 0) {
    r = -errno;
    free(path);
    return lb_refuse(err, err_size, "no pipe to %s: %s", argv[0], strerror(-r)), r;
  }
  pid_t pid = vfork();
  if (pid == 0) become(path, argv, host, in[0], out[1]);
  if (pid < 0) r = -errno;
  *ret = (struct lb_tool){.pid = pid, .output = out[0]};
  free(path);
  close(in[0]);
  close(out[1]);
  /* All of the input first, then all of the output: that cannot lock up, because the input fits the pipe. */
  ret->told = r == 0 && write(in[1], input, strlen(input)) == (ssize_t)strlen(input);
  close(in[1]);
  if (r < 0) close(out[0]), lb_refuse(err, err_size, "%s cannot be started: %s", argv[0], strerror(-r));
  return r;
}

int lb_tool_end(struct lb_tool *tool, const char *name, char **ret_output, char *err, size_t err_size) {
  char *output = read_all(tool->output);
  int status = 0, r = 0;
  close(tool->output);
  while (waitpid(tool->pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!output) r = -ENOMEM;
  else if (!tool->told || status != 0) r = -EPERM;
  if (r < 0) {
    if (output) output[strcspn(output, "\n")] = '\0';
    lb_refuse(err, err_size, "%s failed: %.160s", name, output && output[0] ? output : "no message");
  }
  if (r == 0 && ret_output) *ret_output = output;
  else free(output);
  return r;
}

int lb_tool_run(const struct lb_host *host, char *const argv[], const char *input, char **ret_output, char *err, size_t err_size) {
  struct lb_tool tool;
  int r = lb_tool_start(host, argv, input, &tool, err, err_size);
  return r < 0 ? r : lb_tool_end(&tool, argv[0], ret_output, err, err_size);
}
