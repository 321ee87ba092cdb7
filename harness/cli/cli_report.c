/* SPDX-License-Identifier: MIT
 *
 * The scripts of plots/, each in a process of its own, and two commands that are nothing but a script: `report`, `compare`.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

/* Prints what the script says on stdout, line by line as it comes, or on stderr, as complaints. Names out of the run
 * may hold anything, so control characters are written out. Only we write to our stdout: a reader that went away does
 * not stop the script that draws. */
static void pass_on(FILE *from, bool complains) {
  char *line = NULL, shown[4096];
  size_t size = 0;
  ssize_t length;
  while (from && (length = getline(&line, &size, from)) > 0) {
    line[strcspn(line, "\n")] = '\0';
    lb_text_printable(line, shown, sizeof shown);
    if (complains) lb_complain(0, "%s", shown);
    else printf("%s\n", shown), fflush(stdout);
  }
  free(line);
}

/* In the child. The figure that needs a history asks this program for it. */
static _Noreturn void become(const char *program, char *const argv[], FILE *input, int out, int err) {
  char self[4096];
  if (input) rewind(input), dup2(fileno(input), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  ssize_t length = readlink("/proc/self/exe", self, sizeof self);
  if (length > 0 && length < (ssize_t)sizeof self) {
    self[length] = '\0';
    setenv("LOCKBENCH_BIN", self, 1);
  }
  execv(program, argv);
  _exit(127);
}

/* To our stdout, until the script has ended. */
static void show_lines(int from) {
  FILE *lines = fdopen(from, "r");
  pass_on(lines, false);
  if (lines) fclose(lines);
  else close(from);
}

int lb_cli_run_script(const char *script, const char *const words[], size_t count, FILE *input, FILE *output) {
  char program[4096];
  const char *argv[LB_ARGS_MAX + 3] = {"python", script};
  int said[2] = {-1, -1}, status = 127 << 8;
  snprintf(program, sizeof program, "%s/plots/python", lb_process_root());
  for (size_t i = 0; i < count && i < sizeof argv / sizeof *argv - 3; i++) argv[2 + i] = words[i];
  fflush(stdout);
  FILE *complaints = tmpfile(); /* no second pipe: it would fill up while we read the first */
  if (!complaints || (!output && pipe2(said, O_CLOEXEC) < 0))
    return lb_complain(LB_EXIT_FAILURE, "%s: %s", program, strerror(errno));
  pid_t pid = fork();
  if (pid == 0) become(program, (char *const *)argv, input, output ? fileno(output) : said[1], fileno(complaints));
  if (!output) close(said[1]), show_lines(said[0]);
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  rewind(complaints);
  pass_on(complaints, true);
  fclose(complaints);
  if (WIFEXITED(status) && WEXITSTATUS(status) < 126) return WEXITSTATUS(status);
  return lb_complain(LB_EXIT_FAILURE, "%s could not be started, or was killed", program);
}

/* The code of the script is ours where it means the same; anything else is a failure. */
int lb_cli_draw_report(const char *dir, bool quiet) {
  char path[4096];
  snprintf(path, sizeof path, "%s/run.json", dir);
  if (access(path, R_OK) < 0)
    return lb_complain(LB_EXIT_USAGE, "%s: expected a results folder with run.json: %s", dir, strerror(errno));
  int drawn = lb_cli_run_script("draw_all.py", (const char *[]){dir, "--quiet"}, quiet ? 2 : 1, NULL, NULL);
  return drawn == LB_EXIT_OK || drawn == LB_EXIT_USAGE || drawn == LB_EXIT_MISSING ? drawn : LB_EXIT_FAILURE;
}

int lb_cli_compare_folders(const struct lb_args *args, const char *a_dir, const char *b_dir) {
  const char *words[4];
  size_t count = 0;
  if (args->json) words[count++] = "--json";
  if (args->anyway) words[count++] = "--anyway";
  words[count++] = a_dir;
  if (b_dir) words[count++] = b_dir;
  return lb_cli_run_script("compare.py", words, count, NULL, NULL);
}

static int compare_command(const struct lb_args *args) {
  if (args->word_count < 1 || args->word_count > 2)
    return lb_complain(LB_EXIT_USAGE, "compare: expected two results folders, or one");
  return lb_cli_compare_folders(args, args->words[0], args->word_count == 2 ? args->words[1] : NULL);
}

const struct lb_cli_command lb_command_compare = {
    "compare",
    compare_command,
    LB_ARG_JSON | LB_ARG_ANYWAY,
    "A B|RUN",
    "says what one run did faster or slower than another, or which verdicts differ",
    "A, B and RUN are results folders. Verdicts of A and B are compared where both decided a cell, also on other machines\n"
    "and versions; a race may go either way. The variants of a scenario in one RUN (`run SCENARIO -s KEY=VALUE,VALUE`) are\n"
    "compared with the first of them; they were measured side by side, so prefer that to two runs. So are servers of\n"
    "several versions (`-b LOCK@TOPOLOGY,LOCK@TOPOLOGY:ORIGIN`), and their verdicts, too.\n"
    "exit: 0 nothing is slower, 3 something is, or a cell has another verdict, 4 too few repeats to say, 2 nothing to compare, or refused, 5 numpy is missing\n"};

static int report_command(const struct lb_args *args) {
  if (args->word_count != 1) return lb_complain(LB_EXIT_USAGE, "report: expected one results folder");
  return lb_cli_draw_report(args->words[0], false);
}

const struct lb_cli_command lb_command_report = {
    "report", report_command, 0, "DIR", "draws the charts and the page of a results folder", NULL};
