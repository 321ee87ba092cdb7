/* SPDX-License-Identifier: MIT
 *
 * Its stderr is laid aside while it is asked: all of it is shown where that went well, else its last line in our own.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foreign_ask.h"
#include "base/error.h"

enum { FIRST_LINE_MS = 20000, QUIT_MS = 300 };

/* 1, 0 after FIRST_LINE_MS and what the machine has taken from it meanwhile, -errno. */
static int first_line(struct foreign_child *child, char **ret) {
  for (;;) {
    int r = foreign_child_next_line(child, ret);
    if (r) return r;
    if (foreign_child_await(child, child->out, FIRST_LINE_MS) <= 0) return 0;
  }
}

/* What it has started has become a child of ours (a subreaper). Such a child may have children, which then are ours. A
 * caller that has other children is not told apart: it has to ask in a process of its own (foreign_ask.h). */
static void end_orphans(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  for (int found = 1; found;) {
    int pid;
    FILE *in = fopen(path, "re");
    for (found = 0; in && fscanf(in, "%d", &pid) == 1; found++) kill(pid, SIGKILL), waitpid(pid, NULL, 0);
    if (in) fclose(in);
  }
}

/* ---- its stderr -------------------------------------------------------------------------------------------------- */

struct aside {
  int file, kept; /* kept: our stderr */
};

/* The child inherits it. */
static struct aside lay_aside(void) {
  struct aside a = {.file = memfd_create("stderr", MFD_CLOEXEC), .kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)};
  if (a.file >= 0 && a.kept >= 0) dup2(a.file, STDERR_FILENO);
  return a;
}

static void take_back(const struct aside *a) {
  if (a->file >= 0 && a->kept >= 0) dup2(a->kept, STDERR_FILENO);
}

static void end_aside(struct aside *a, bool well, struct lb_error *err) {
  char buf[4096];
  ssize_t n = 0;
  off_t end = a->file >= 0 ? lseek(a->file, 0, SEEK_END) : 0,
        from = well || end < (off_t)sizeof buf ? 0 : end - (off_t)sizeof buf + 1;
  for (; from < end && (n = pread(a->file, buf, sizeof buf - 1, from)) > 0; from += n)
    if (!well || write(STDERR_FILENO, buf, (size_t)n) < 0) break;
  if (!well && from < end && n > 0) {
    while (n > 0 && strchr(" \r\n", buf[n - 1])) n--;
    buf[n] = '\0';
    char *last = strrchr(buf, '\n');
    for (char *c = last ? last + 1 : buf; *c; c++)
      if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    size_t length = strlen(err->text);
    snprintf(err->text + length, sizeof err->text - length, ": %.200s", last ? last + 1 : buf);
  }
  if (a->file >= 0) close(a->file);
  if (a->kept >= 0) close(a->kept);
}

static int ask_first_line(const struct foreign *f, char *says, size_t size, int *ret_start_ms, struct aside *aside,
                          struct lb_error *err) {
  struct foreign_child child;
  char fate[100] = "", *line = NULL;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int r = foreign_child_start(&child, f->command, f->folder);
  take_back(aside);
  if (r < 0) return lb_error(err, r, "cannot start it: %s", strerror(-r));
  r = first_line(&child, &line);
  const char *words = r > 0 ? foreign_line_first(line, err) : NULL;
  if (words) snprintf(says, size, "%s", words);
  foreign_child_end(&child, r == -ENODATA ? QUIT_MS : 0, fate, sizeof fate);
  *ret_start_ms = (int)(child.used / LB_NS_PER_MS) + 1;
  end_orphans();
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  if (words) return 0;
  if (r == -ENODATA) return lb_error(err, r, "it %s before it said what it is", fate);
  if (r == 0) return lb_error(err, -ETIMEDOUT, "it has not said what it is within %d s", FIRST_LINE_MS / 1000);
  if (r == -EMSGSIZE) lb_error(err, r, "its first line does not end");
  else if (r < 0) return lb_error(err, r, "its stdout cannot be read: %s", strerror(-r));
  return -EPROTO;
}

int lb_foreign_ask(const char *command, char *says, size_t size, int *ret_start_ms, struct lb_error *err) {
  struct aside aside = lay_aside();
  int r = ask_first_line(&(struct foreign){.command = (char *)command}, says, size, ret_start_ms, &aside, err);
  end_aside(&aside, r == 0, err);
  return r;
}

int foreign_ask_silently(const struct foreign *f, char *says, size_t size, int *ret_start_ms, struct lb_error *err) {
  struct aside aside = lay_aside();
  int r = ask_first_line(f, says, size, ret_start_ms, &aside, err);
  end_aside(&aside, false, err);
  return r;
}
