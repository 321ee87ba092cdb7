/* SPDX-License-Identifier: MIT
 *
 * `lockbench report DIR`: figures and page by plots/render, a process of its own: it is a script, and everything that a person looks at
 * after a run is made by Python out of the run folder. It says itself what it could not do.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/printable.h"
#include "cli.h"

/* What the script says on stdout, line by line as it comes, or on stderr, as complaints. Names out of the run may hold anything, so control
 * characters are written out. Our own stdout is written by us only: whoever draws is not stopped by a reader that went away. */
static void pass_on(FILE *from, bool complains) {
  char *line = NULL, shown[4096];
  size_t size = 0;
  ssize_t length;
  while (from && (length = getline(&line, &size, from)) > 0) {
    line[strcspn(line, "\n")] = '\0';
    lb_printable(line, shown, sizeof shown);
    if (complains) lb_complain(0, "%s", shown);
    else printf("%s\n", shown), fflush(stdout);
  }
  free(line);
}

/* Exit status of plots/render: 0, 1 = something failed, 2 = bad input, 5 = a program is missing. -1 when it could not be started or
 * was killed. */
static int render(const char *dir, bool quiet) {
  char script[4096], self[4096];
  int said[2];
  snprintf(script, sizeof script, "%s/plots/render", lb_root());
  fflush(stdout);
  FILE *complaints = tmpfile(); /* no second pipe: nobody would read it while we read the first */
  if (!complaints || pipe2(said, O_CLOEXEC) < 0) return -1;
  pid_t pid = fork();
  if (pid == 0) {
    dup2(said[1], STDOUT_FILENO);
    dup2(fileno(complaints), STDERR_FILENO);
    ssize_t length = readlink("/proc/self/exe", self, sizeof self); /* for the figure that needs a history */
    if (length > 0 && length < (ssize_t)sizeof self) {
      self[length] = '\0';
      setenv("LOCKBENCH_BIN", self, 1);
    }
    execl(script, script, dir, quiet ? "--quiet" : (char *)NULL, (char *)NULL);
    _exit(127);
  }
  int status = 127 << 8;
  close(said[1]);
  FILE *lines = fdopen(said[0], "r");
  if (pid > 0) pass_on(lines, false);
  if (lines) fclose(lines);
  else close(said[0]);
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  rewind(complaints);
  pass_on(complaints, true);
  fclose(complaints);
  return WIFEXITED(status) && WEXITSTATUS(status) < 126 ? WEXITSTATUS(status) : -1;
}

/* The code of plots/render is ours where it means the same; anything else is a failure. */
int lb_draw_report(const char *dir, bool quiet) {
  char path[4096];
  snprintf(path, sizeof path, "%s/run.json", dir);
  if (access(path, R_OK) < 0)
    return lb_complain(LB_EXIT_USAGE, "%s: expected a results folder with run.json: %s", dir, strerror(errno));
  int drawn = render(dir, quiet);
  if (drawn < 0) return lb_complain(LB_EXIT_FAILURE, "%s/plots/render could not be started, or was killed", lb_root());
  return drawn == LB_EXIT_OK || drawn == LB_EXIT_USAGE || drawn == LB_EXIT_MISSING ? drawn : LB_EXIT_FAILURE;
}

int lb_cli_report(const struct lb_args *args) {
  if (args->word_count != 1) return lb_complain(LB_EXIT_USAGE, "report: expected one results folder");
  return lb_draw_report(args->words[0], false);
}
