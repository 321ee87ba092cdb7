/* SPDX-License-Identifier: MIT
 *
 * The first word is the command; the commands are in cli_commands.c. Options of a command stand behind it: before it
 * there are only --help and --version.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/need.h"
#include "cli.h"
#include "plan/system.h"
#include "show/display.h"
#include "base/text.h"
#include "base/process.h"
#include "version.h"

enum { WORDS_MAX = 64 };

/* Commands that are not in the table (help, version) are not suggested. */
static int unknown_command(const char *word) {
  const char *names[WORDS_MAX], *near, *instead = lb_cli_gone(word);
  size_t count = 0;
  if (instead)
    return lb_complain(LB_EXIT_USAGE, "the command '%s' is gone: `%s%s%s`", word,
                       strchr(instead, '/') ? "" : lb_process_called(), strchr(instead, '/') ? "" : " ", instead);
  for (const struct lb_cli_command *c; count < WORDS_MAX && (c = lb_cli_commands[count]); count++)
    names[count] = c->name;
  near = lb_text_suggest(word, names, count);
  if (near) return lb_complain(LB_EXIT_USAGE, "unknown command '%s', did you mean '%s'?", word, near);
  return lb_complain(LB_EXIT_USAGE, "unknown command '%s', see `%s help`", word, lb_process_called());
}

static int too_many(const char *command, const char *word) {
  return lb_complain(LB_EXIT_USAGE, "%s: expected nothing more, found '%s'", command, word);
}

/* ---- help -------------------------------------------------------------------------------------------------------- */

enum { HELP_COLUMNS = 80, HELP_TEXT = 30 /* where explanations begin */, NAME_REST = 6, NAMES_MAX = 240 };

/* 80 unless COLUMNS says otherwise: longer lines read badly, even on a wider terminal. */
static size_t help_width(FILE *out) {
  const char *said = getenv("COLUMNS");
  size_t width = lb_display_width(out);
  return width < HELP_COLUMNS || (said && strtol(said, NULL, 10) > 0) ? width : HELP_COLUMNS;
}

/* A name and what it is; behind a long name that begins in a line of its own. */
static void put_row(const char *name, const char *text, FILE *out) {
  char *lines = NULL;
  size_t length = strlen(name), size;
  FILE *memory = lb_need(open_memstream(&lines, &size));
  if (length + 2 > HELP_TEXT) lb_display_wrap_at(name + 2, help_width(out), 2, NAME_REST, out), length = 0;
  lb_display_wrap_at(text, help_width(out), HELP_TEXT, HELP_TEXT, memory);
  fclose(memory);
  memcpy(lines, name, length);
  fputs(lines, out);
  free(lines);
}

/* Lines that may be longer than there is room. What is behind the first of a line stands as its text does. */
static void put_lines(const char *text, FILE *out) {
  char line[1000];
  for (size_t length; *text; text += length + (text[length] == '\n')) {
    length = strcspn(text, "\n");
    size_t blanks = strspn(text, " ");
    snprintf(line, sizeof line, "%.*s", (int)(length - blanks), text + blanks);
    lb_display_wrap_at(line, help_width(out), blanks, blanks ? blanks : 2, out);
  }
}

/* A line for each of these options, and for --help. */
static void put_options(unsigned takes, FILE *out) {
  char names[NAMES_MAX];
  for (const struct lb_cli_option *o = NULL; (o = lb_cli_option_next(o, takes));) {
    snprintf(names, sizeof names, "  %s%s%s%s%s", o->name, o->alias ? ", " : "", o->alias ? o->alias : "",
             o->value ? " " : "", o->value ? o->value : "");
    put_row(names, o->help, out);
  }
}

/* "options of run and suite:", and these. */
static void put_run_options(FILE *out) {
  const char *between = "\noptions of ";
  for (size_t i = 0; lb_cli_commands[i]; i++)
    if (lb_cli_commands[i]->takes & LB_ARG_RUN)
      fprintf(out, "%s%s", between, lb_cli_commands[i]->name), between = " and ";
  fputs(":\n", out);
  put_options(LB_ARG_RUN | LB_ARG_JSON | LB_ARG_OWN | LB_ARG_CONSENT, out);
}

static void help_of_all(FILE *out) {
  char name[NAMES_MAX];
  put_lines("lockbench: which distributed lock can I trust, under which fault, at what cost?", out);
  putc('\n', out);
  for (const struct lb_cli_command *const *c = lb_cli_commands; *c; c++) {
    snprintf(name, sizeof name, "  %s %s %s", lb_process_called(), (*c)->name, (*c)->words);
    put_row(name, (*c)->what, out);
  }
  snprintf(name, sizeof name, "  %s COMMAND --help", lb_process_called());
  put_row(name, "its options", out);
  snprintf(name, sizeof name, "  %s --version", lb_process_called());
  put_row(name, "version and commit", out);
  put_run_options(out);
  putc('\n', out);
  put_lines(lb_exit_codes, out);
}

/* The help of a command, on stdout. */
static void help_of(const struct lb_cli_command *command) {
  char usage[NAMES_MAX + 80];
  snprintf(usage, sizeof usage, "%s %s [OPTION]...%s%s", lb_process_called(), command->name, *command->words ? " " : "",
           command->words);
  put_lines(usage, stdout);
  put_lines(command->what, stdout);
  fputs("\noptions:\n", stdout);
  put_options(command->takes, stdout);
  if (command->more) putchar('\n'), put_lines(command->more, stdout);
  if (command->takes & LB_ARG_RUN) putchar('\n'), put_lines(lb_exit_codes, stdout);
}

/* The tables of commands and options, for completion and manual (install/completion). */
static int help_as_json(void) {
  json_t *commands = json_array(), *options = json_array(), *guards = json_array();
  for (const struct lb_cli_command *const *c = lb_cli_commands; *c; c++)
    json_array_append_new(commands, json_pack("{s:s, s:s, s:s, s:s?}", "name", (*c)->name, "words", (*c)->words, "what",
                                              (*c)->what, "more", (*c)->more));
  for (const struct lb_cli_option *o = NULL; (o = lb_cli_option_next(o, ~0u));) {
    json_t *of = json_array(); /* empty: of every command */
    for (const struct lb_cli_command *const *c = lb_cli_commands; *c; c++)
      if (o->takes & (*c)->takes) json_array_append_new(of, json_string((*c)->name));
    json_array_append_new(options, json_pack("{s:s, s:s?, s:s?, s:s, s:o}", "name", o->name, "alias", o->alias, "value",
                                             o->value, "help", o->help, "commands", of));
  }
  for (int i = 0; i < LB_GUARD_COUNT; i++) json_array_append_new(guards, json_string(lb_guard_name((enum lb_guard)i)));
  json_t *o = json_pack("{s:s, s:s, s:o, s:o, s:o}", "version", LB_VERSION, "exit", lb_exit_codes, "guards", guards,
                        "commands", commands, "options", options);
  json_dumpf(o, stdout, JSON_INDENT(1));
  putchar('\n');
  json_decref(o);
  return LB_EXIT_OK;
}

/* `help`, `help COMMAND`, `help --json` */
static int help(int argc, char **argv) {
  if (argc > 2 && strcmp(argv[0], "help") == 0) return too_many(argv[0], argv[2]);
  if (argc < 2 || strcmp(argv[1], "help") == 0) return help_of_all(stdout), LB_EXIT_OK;
  if (strcmp(argv[1], "--json") == 0) return help_as_json();
  const struct lb_cli_command *command = lb_cli_command_find(argv[1]);
  if (!command) return unknown_command(argv[1]);
  return help_of(command), LB_EXIT_OK;
}

/* A stream that we were started without would be the next file that is opened, and our words would be
 * written into it. In its place comes one that cannot be used as it should be. */
static void hold_streams(void) {
  static const int modes[] = {O_WRONLY, O_RDONLY, O_RDWR};
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", modes[fd]); /* the lowest one that is free: fd */
}

/* The code of the command, if what it printed has arrived. A reader that went away (`| head`) has
 * what it wanted: nothing is said. Every command relies on this and does not look itself. */
static int printed(int code) {
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  if (!errno && write(STDOUT_FILENO, "\n", 1) == 1) errno = EIO; /* an earlier write failed: this one says why */
  if (errno == EPIPE) return LB_EXIT_PIPE;
  return lb_complain(LB_EXIT_FAILURE, "cannot write to standard output: %s", strerror(errno));
}

static int run_command(int argc, char **argv) {
  if (argc < 2) return help_of_all(stderr), LB_EXIT_USAGE;
  if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
    return help(argc - 1, argv + 1);
  if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
    if (argc > 2) return too_many(argv[1], argv[2]);
    printf("lockbench %s (%s)\n", LB_VERSION, LB_COMMIT);
    return LB_EXIT_OK;
  }
  const struct lb_cli_command *command = lb_cli_command_find(argv[1]);
  if (!command) return unknown_command(argv[1]);
  struct lb_args args;
  struct lb_error err;
  int known = lb_system_load_known(lb_process_root(), &err);
  if (known < 0) return lb_complain(known == -EINVAL ? LB_EXIT_USAGE : LB_EXIT_FAILURE, "%s", err.text);
  int r = lb_args_parse(argc - 1, argv + 1, command->takes, &args);
  if (r == LB_WANTS_HELP) return help_of(command), LB_EXIT_OK;
  return r ? r : command->run(&args);
}

/* lb_process_title_init() comes first: it keeps the place of the original arguments, which is where
 * processes that are forked later write their names. */
int main(int argc, char **argv) {
  if (argc > 0) lb_process_title_init(argc, argv);
  hold_streams();
  signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of the write that met it */
  return printed(run_command(argc, argv));
}
