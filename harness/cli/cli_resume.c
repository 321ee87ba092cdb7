/* SPDX-License-Identifier: MIT
 *
 * `--resume DIR` of `run`, `suite` and `judge`: the arguments of the stopped run are taken apart again, in
 * the folder where it was called. Whether the plan that comes of them is still the same is asked by the
 * journal (run/journal.h).
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "run/journal.h"

/* Everything else is said by the run itself. */
static bool has_others(const struct lb_args *args) {
  static const char *const may[] = {"--resume", "-j", "--jobs", "--json", "-v", "--verbose"};
  for (int i = 1; i < args->argc; i++) {
    const char *word = args->argv[i];
    bool known = word[0] != '-' || (word[0] == '-' && word[1] == 'j');
    for (size_t m = 0; m < sizeof may / sizeof *may; m++) known |= strncmp(word, may[m], strlen(may[m])) == 0 && strchr("=", word[strlen(may[m])]);
    if (!known) return true;
  }
  return args->word_count > 0;
}

/* Takes apart `argv` of the journal and carries it out. The texts of `head` live as long as the run. */
static int call_again(const struct lb_args *args, const json_t *head, const char *folder) {
  const json_t *words = json_object_get(head, "argv");
  char *argv[LB_ARGS_MAX * 4];
  int argc = 0;
  for (; argc < (int)json_array_size(words) && argc + 1 < (int)(sizeof argv / sizeof *argv); argc++)
    argv[argc] = (char *)json_string_value(json_array_get(words, (size_t)argc));
  argv[argc] = NULL;
  const struct lb_cli_command *command = argv[0] ? lb_cli_command_find(argv[0]) : NULL;
  if (!command || !(command->takes & (LB_ARG_RUN | LB_ARG_JUDGE))) return lb_complain(LB_EXIT_USAGE, "%s/resume.json: expected the arguments of a run, a suite or a judge", folder);
  if (chdir(json_string_value(json_object_get(head, "cwd"))) < 0)
    return lb_complain(LB_EXIT_USAGE, "%s: the folder where it was started is gone: %s: %s", folder, json_string_value(json_object_get(head, "cwd")), strerror(errno));
  struct lb_args again;
  int r = lb_args_parse(argc, argv, command->takes, &again);
  if (r != 0) return LB_EXIT_USAGE;
  again.resumed = folder;
  again.out = NULL;
  again.has_seed = true;
  again.seed = (uint64_t)json_integer_value(json_object_get(head, "seed"));
  again.json = args->json;
  again.verbose = args->verbose;
  if (args->jobs) again.jobs = args->jobs;
  return command->run(&again);
}

int lb_resume(const struct lb_args *args) {
  char folder[PATH_MAX], err[600];
  if (has_others(args)) return lb_complain(LB_EXIT_USAGE, "--resume %s: expected nothing beside it but -j, -v and --json: the rest is as it was", args->resume);
  if (!realpath(args->resume, folder)) return lb_complain(LB_EXIT_USAGE, "--resume %s: expected the folder of a run that was stopped: %s", args->resume, strerror(errno));
  json_t *head = lb_journal_read(folder, err, sizeof err);
  if (!head) return lb_complain(LB_EXIT_USAGE, "--resume %s", err);
  int code = call_again(args, head, folder);
  json_decref(head);
  return code;
}
