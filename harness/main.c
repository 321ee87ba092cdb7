/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "called.h"
#include "cli.h"
#include "suggest.h"
#include "title.h"
#include "version.h"

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
} commands[] = {
    {"run", lb_cli_run},       {"suite", lb_cli_suite}, {"list", lb_cli_list},     {"show", lb_cli_show},
    {"doctor", lb_cli_doctor}, {"check", lb_cli_check}, {"report", lb_cli_report}, {"explain", lb_cli_explain},
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static const char help[] =
    "lockbench: which distributed lock can I trust, under which fault, at what cost?\n"
    "\n"
    "  lockbench run SCENARIO...      run scenarios (names or .ini files) and print verdicts\n"
    "      -b SYSTEM,...   only these: PROTOCOL@TOPOLOGY or PROTOCOL     -n TRIALS  trials per cell\n"
    "      -s KEY=VALUE    a workload key, or PROTOCOL.OPTION=VALUE      -j JOBS    trials side by side\n"
    "      -o DIR          results folder (must be new)                  --seed N   replays order and choices\n"
    "      -g GUARD        none, deadline, recheck or fence              --json     cells as JSON on stdout\n"
    "      --plugin FILE   adds a protocol from a shared library; without -b it is the one that is run\n"
    "      --expect VERDICT  safe, violated or stuck: of systems that a scenario states nothing for\n"
    "  lockbench suite quick|full|paper    the shipped scenarios, with charts and a report\n"
    "  lockbench list protocols|topologies|scenarios|points\n"
    "  lockbench show NAME            what a protocol promises and what breaks it; a topology; a scenario\n"
    "  lockbench check FILE           judges a history (binary or JSON lines); --json; --export json\n"
    "  lockbench report DIR           draws the charts and the page of a results folder\n"
    "  lockbench explain DIR CELL     the events that made a violation, as a story; CELL: SCENARIO.SYSTEM[.GUARD]\n"
    "      --trial N       this one instead of the first violated                      --json     all of its events\n"
    "  lockbench doctor               what this machine can and cannot run\n"
    "\n"
    "exit: 0 as expected, 1 failure of the harness, 2 usage or bad input, 3 verdict differs from the expectation,\n"
    "      4 undecided, 5 a needed server or permission is missing\n";

int main(int argc, char **argv) {
  const char *names[COMMAND_COUNT];
  if (argc > 0) lb_title_init(argc, argv);
  signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of the write that met it */
  if (argc < 2 || strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    fputs(help, argc < 2 ? stderr : stdout);
    return argc < 2 ? LB_EXIT_USAGE : LB_EXIT_OK;
  }
  if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
    printf("lockbench %s (%s)\n", LB_VERSION, LB_COMMIT);
    return LB_EXIT_OK;
  }
  for (size_t i = 0; i < COMMAND_COUNT; i++) {
    if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
    names[i] = commands[i].name;
  }
  const char *near = lb_suggest(argv[1], names, COMMAND_COUNT);
  if (near) return lb_complain(LB_EXIT_USAGE, "unknown command '%s', did you mean '%s'?", argv[1], near);
  return lb_complain(LB_EXIT_USAGE, "unknown command '%s', see `%s help`", argv[1], lb_called());
}
