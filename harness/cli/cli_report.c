/* SPDX-License-Identifier: MIT
 *
 * `lockbench report DIR`: charts by plots/render (a process of its own: it is a script), then the
 * page.
 *
 * The page is written even if nothing could be drawn. It then shows the tables, and says which
 * figures are missing: a machine without matplotlib can still read its results.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/called.h"
#include "cli.h"
#include "show/not_drawn.h"
#include "show/report.h"

/* What the figures say, as it comes. Our own stdout is written by us only, so that whoever draws is not stopped by a reader
 * that went away. */
static void pass_on(int from, bool quiet) {
  char text[4096];
  ssize_t length;
  while ((length = read(from, text, sizeof text)) > 0 || (length < 0 && errno == EINTR)) {
    if (length > 0 && !quiet) fwrite(text, 1, (size_t)length, stdout);
    fflush(stdout);
  }
}

/* Exit status of plots/render DIR: 0, 1 = drawing failed, 2 = bad input, 5 = a program is missing.
 * 127 when it could not be started. */
static int render(const char *dir, bool quiet) {
  char script[4096], self[4096];
  int said[2];
  snprintf(script, sizeof script, "%s/plots/render", lb_root());
  fflush(stdout);
  if (pipe2(said, O_CLOEXEC) < 0) return 127;
  pid_t pid = fork();
  if (pid == 0) {
    dup2(said[1], STDOUT_FILENO);
    ssize_t length = readlink("/proc/self/exe", self, sizeof self); /* for the figure that needs a history */
    if (length > 0 && length < (ssize_t)sizeof self) {
      self[length] = '\0';
      setenv("LOCKBENCH_BIN", self, 1);
    }
    execl(script, script, dir, (char *)NULL);
    _exit(127);
  }
  int status = 127 << 8;
  close(said[1]);
  if (pid > 0) pass_on(said[0], quiet);
  close(said[0]);
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* What is missing comes last, so that nobody has to scroll for it. */
static void print_not_drawn(const char *dir, int drawn) {
  struct lb_not_drawn list;
  char line[1000];
  if (drawn == 127) {
    printf("not drawn: all figures (cannot start %s/plots/render)\n", lb_root());
    return;
  }
  lb_not_drawn_read(dir, &list);
  for (size_t i = 0; lb_not_drawn_line(&list, i, line, sizeof line); i++) printf("not drawn: %s\n", line);
}

/* The code of plots/render is ours where it means the same; anything else is a failure. */
int lb_draw_report(const char *dir, bool quiet) {
  char err[600], path[4096];
  snprintf(path, sizeof path, "%s/run.json", dir);
  if (access(path, R_OK) < 0)
    return lb_complain(LB_EXIT_USAGE, "%s: expected a results folder with run.json: %s", dir, strerror(errno));
  int r = lb_report_check(dir, err, sizeof err);
  if (r < 0) return lb_complain(r == -ENOMEM ? LB_EXIT_FAILURE : LB_EXIT_USAGE, "%s", err);
  int drawn = render(dir, quiet);
  r = lb_report_write(dir, err, sizeof err);
  if (r < 0) return lb_complain(r == -EINVAL || r == -ENOENT ? LB_EXIT_USAGE : LB_EXIT_FAILURE, "%s", err);
  lb_say("report: %s/report.html", dir);
  if (!quiet) print_not_drawn(dir, drawn);
  else if (drawn != LB_EXIT_OK) lb_complain(0, "some figures could not be drawn: %s report %s", lb_called(), dir);
  return drawn == 0                 ? LB_EXIT_OK
         : drawn == LB_EXIT_USAGE   ? LB_EXIT_USAGE
         : drawn == LB_EXIT_MISSING ? LB_EXIT_MISSING
                                    : LB_EXIT_FAILURE;
}

int lb_cli_report(const struct lb_args *args) {
  if (args->word_count != 1) return lb_complain(LB_EXIT_USAGE, "report: expected one results folder");
  return lb_draw_report(args->words[0], false);
}
