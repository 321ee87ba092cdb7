/* SPDX-License-Identifier: MIT
 *
 * An exit status proves nothing: a command may end with 0 and have done nothing. It only refutes: see guardian_undo.c.
 */
#include "guardian_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"

enum {
  COMMAND_MS = 20000 /* one that takes longer is ended */
};

static _Noreturn void be_command(const char *command, int out) {
  int null = open("/dev/null", O_RDWR);
  setsid();
  for (int sig = 1; sig < NSIG; sig++) signal(sig, SIG_DFL);
  dup2(null, 0);
  dup2(out, 1);
  dup2(out, 2);
  execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  _exit(127);
}

/* The last line that it wrote. */
static void last_words(int out, char *ret, size_t size) {
  char text[600];
  off_t length = lseek(out, 0, SEEK_END), from = length > (off_t)sizeof text - 1 ? length - (off_t)sizeof text + 1 : 0;
  ssize_t n = pread(out, text, sizeof text - 1, from);
  text[n > 0 ? n : 0] = '\0';
  while (n > 0 && text[n - 1] == '\n') text[--n] = '\0';
  char *last = strrchr(text, '\n');
  lb_text_printable(last ? last + 1 : text, ret, size);
}

int lb_guardian_command(enum lb_mandate_verb verb, const struct lb_guardian_fault *f, struct lb_error *err) {
  const char *line = lb_own_operator_command(lb_guardian.rules, verb, f->ward, f->other, f->offset_ms);
  int out = memfd_create("command", MFD_CLOEXEC), status = 0;
  char said[300];
  pid_t pid = fork();
  if (pid == 0) be_command(line, out);
  int error = pid < 0 ? errno : 0;
  bool ended = pid > 0 && lb_process_await(pid, lb_clock_ns() + COMMAND_MS * LB_NS_PER_MS, &status);
  last_words(out, said, sizeof said);
  close(out);
  if (error)
    return lb_error(err, -error, "%s %s: its command could not be started: %s", lb_mandate_verbs[verb],
                    lb_guardian_name(f->ward), strerror(error));
  if (!ended)
    return lb_error(err, -ETIMEDOUT, "%s %s: its command did not end within %d s", lb_mandate_verbs[verb],
                    lb_guardian_name(f->ward), COMMAND_MS / 1000);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  return lb_error(err, -EIO, "%s %s: its command ended with %d%s%s", lb_mandate_verbs[verb], lb_guardian_name(f->ward),
                  WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), said[0] ? ": " : "", said);
}
