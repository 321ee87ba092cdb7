/* SPDX-License-Identifier: MIT
 *
 * cli.h - the commands of the tool, and what they share.
 *
 * A command is a row, lb_command_NAME, at the end of its file: a function that takes its parsed arguments and returns
 * the exit code of the process (run/exit.h), which options it takes, and its help. cli_commands.c lists the rows. main()
 * takes the arguments apart by the row (cli_args.c), so a command never sees an option that it does not take. Commands
 * print: results on stdout, complaints as one line on stderr. What a run prints while it goes on, and its tables, is
 * show/'s.
 */
#ifndef LB_CLI_H
#define LB_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/process.h"
#include "conform/conform.h"
#include "run/about.h"
#include "run/estimate.h"
#include "run/judging.h"
#include "run/exit.h"
#include "plan/system.h"
#include "scenario/scenario.h"
#include "own/own.h"

struct lb_args;

/* `list origins` (cli_origins.c): other versions of servers that are there. LB_EXIT_OK. */
int lb_cli_list_origins(void);
/* `list expectations [SYSTEMS [SCENARIO...]]` (cli_expectations.c). An exit code. */
int lb_cli_list_expectations(const struct lb_args *args);
/* Which scenarios can be asked of args->where, and what it lacks for the others. */
int lb_cli_list_for(const struct lb_args *args);
/* Runs a script of plots/ in a process of its own, with these words and with what stands in `input` (NULL = our
 * standard input). What it prints goes to `output` (NULL = to our standard output, printable). Its exit code
 * (cli_report.c). */
int lb_cli_run_script(const char *script, const char *const words[], size_t count, FILE *input, FILE *output);
/* What `report` does with a results folder: also the end of a suite, where one line says all (`quiet`). An exit
 * code. */
int lb_cli_draw_report(const char *dir, bool quiet);

/* ---- the table of commands (cli_commands.c) ------------------------------------------------------ */

struct lb_cli_command {
  const char *name;
  int (*run)(const struct lb_args *args);
  unsigned takes;    /* LB_ARG_...: which options */
  const char *words; /* what else it takes, as in "SCENARIO..."; "" = nothing */
  const char *what;  /* one line */
  const char *more;  /* further lines of its own help, each with its end; NULL = none */
};

/* In the order of the help; NULL behind the last. */
extern const struct lb_cli_command *const lb_cli_commands[];
/* NULL if there is none of that name. */
const struct lb_cli_command *lb_cli_command_find(const char *name);
/* What to type in place of a command that the last release had; NULL if it never was one. */
const char *lb_cli_gone(const char *name);
/* The exit codes of `run` and `suite`, a line each. */
extern const char lb_exit_codes[];

/* ---- shared by the commands (cli_args.c) ----------------------------------------------------- */

struct lb_history;

/* Most of everything that can be given several times: words, -s, scenarios of a run. */
enum { LB_ARGS_MAX = 256 };

/* The arguments of a command, taken apart. Texts live as long as the process. What was not
 * given is 0, NULL or false; the default is the command's. Values are checked as far as that needs
 * no scenario: a guard exists, a number is in its range. A plugin is loaded at once. */
struct lb_args {
  /* As they were given, for run.json: argv[0] names the command. */
  int argc;
  const char *const *argv;
  const char *words[LB_ARGS_MAX]; /* what is no option */
  int word_count;
  const char *resume;        /* folder of a stopped run */
  const char *resumed;       /* the same, in the arguments of that run: set by cli_resume.c alone */
  const char *shard;         /* "I/N"; "" = not shared out, whatever the environment says */
  const char *const *merged; /* folders of shards, NULL behind the last: what they have is the run. By cli_resume.c */
  const char *systems, *out, *export, *against, *junit, *baseline; /* `systems` may be of several -b, "a,b" */
  unsigned guards;                                                 /* a bit each; 0 = not said */
  /* Names of the protocols that --plugin loaded, "a,b": what -b defaults to. */
  char plugins[400];
  /* The values of --expect: "VERDICT" or "GUARD=VERDICT". They are checked here. The run takes them apart, as it knows
   * what -g says of those without a guard. */
  const char *expects[LB_ARGS_MAX];
  size_t expect_count;
  const char *settings[LB_ARGS_MAX];
  size_t setting_count;
  const char *const *command; /* what stands behind `--`, NULL at its end */
  const char *storage;        /* "disk", "memory" */
  int trials, jobs, trial, hosts, ttl_ms;
  const char *own[LB_OWN_COUNT], *auth; /* servers of the user's own, by kind; NULL = none */
  const char *operator_file;            /* what may be done to them; NULL = nothing */
  uint64_t seed;
  /* Options of a hunt: one timeline by its id, kinds that are left out, most faults, time in all (0 = no end), whether
   * only to list. */
  const char *only, *without, *from; /* from: a results folder */
  const char *on, *survive;          /* of `which`, lists */
  const char *hook;                  /* of a run, for the steps `operator` */
  const char *where;                 /* of a list of scenarios: a topology or system */
  const char *as;                    /* of a history: names of its operations */
  int64_t lease_ms;                  /* ... the length of its leases; 0 = none was said */
  int faults;
  double budget_s;
  bool has_faults, list, all, yes;
  bool has_seed, json, markdown, verbose, past_lease, strict, tap, again, keep_logs, reuse, anyway, cost, speed, clocks;
};

/* Which options a command takes, beside --help. */
enum {
  LB_ARG_RUN = 1 << 0, /* -b -n -g -s -j -o -v --budget --expect --strict --seed --plugin --keep-logs --junit */
  LB_ARG_JSON = 1 << 1,
  LB_ARG_PLUGIN = 1 << 2, /* --plugin alone; loaded at once */
  LB_ARG_EXPORT = 1 << 3,
  LB_ARG_TRIAL = 1 << 4,
  LB_ARG_PAST_LEASE = 1 << 5,
  LB_ARG_TAP = 1 << 6, /* --tap --only -s */
  LB_ARG_ANYWAY = 1 << 7,
  LB_ARG_AGAINST = 1 << 8,
  LB_ARG_COST = 1 << 9,     /* --cost -s */
  LB_ARG_SERVE = 1 << 10,   /* --hosts --ttl --storage --speed --clocks -- COMMAND */
  LB_ARG_OWN = 1 << 11,     /* --redis --sentinel ... --auth --operator */
  LB_ARG_ADAPTER = 1 << 12, /* -b --tap, of an adapter */
  LB_ARG_HUNT = 1 << 13,    /* -g --faults --budget --shard --without --only --list --seed -o -j -s -v ... */
  LB_ARG_CONSENT = 1 << 14, /* --yes --list, of what an operator's file allows */
  LB_ARG_SHOW = 1 << 15,    /* -b */
  LB_ARG_JUDGE = 1 << 16,   /* -b -n -s -j -o -v --seed --resume --junit --baseline */
  LB_ARG_WHICH = 1 << 17,   /* --on --survive -g */
  LB_ARG_ALL = 1 << 18,     /* --all, of a story */
  LB_ARG_LIST = 1 << 19,    /* --markdown --for */
  LB_ARG_MERGE = 1 << 21,   /* -o -v, beside --json */
};

/* lb_args_parse() returns it if --help is among the options. */
enum { LB_WANTS_HELP = -1 };
/* argv[0] names the command, `takes` says which options it has. 0; LB_EXIT_USAGE after one line on
 * stderr; LB_WANTS_HELP. */
int lb_args_parse(int argc, char **argv, unsigned takes, struct lb_args *ret);
struct lb_cli_option { /* a row of the table of options; one that means several things has several */
  const char *name, *alias;
  int kind;
  unsigned takes;    /* LB_ARG_..., of all of its commands */
  const char *value; /* what stands for it in the help; NULL = it takes none */
  const char *help;
  size_t field;      /* of struct lb_args */
  uint64_t min, max; /* of a count */
};
/* The row behind `before` (NULL = the first) that a command has which takes these; NULL behind the last. */
const struct lb_cli_option *lb_cli_option_next(const struct lb_cli_option *before, unsigned takes);
/* One line on stdout, in which control characters are written out: for names of files and what stands in them. */
void lb_cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* One line on stderr, "lockbench: ...", likewise. Returns `code`, so that a command can complain and end in
 * one statement. */
int lb_complain(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* For a command without scenarios: whether each -s is a valid PROTOCOL.OPTION=VALUE. 0, or LB_EXIT_USAGE after one line
 * on stderr (cli_conform.c). */
int lb_cli_check_options(const struct lb_args *args);
/* For a command about locks: whether none of these is a floor. 0, or LB_EXIT_USAGE after one line (cli_conform.c). */
struct lb_system;
int lb_cli_check_locks(const struct lb_args *args, const struct lb_system *systems, int count);
/* What a command ends with that cannot make its folder, -errno: the place is the user's mistake where -o named it. */
int lb_cli_exit_of_place(int error, const char *out);
/* Makes the folder of -o and tries to write there; nothing is left in it. 0, or an exit code after one line on
 * stderr. */
int lb_cli_try_folder(const char *command, const char *path, const char *out);
/* An --expect, taken apart: 0 and *ret, or -1 after one line on stderr. Without a guard of its own it is of `guard`. */
int lb_args_expect(const char *text, enum lb_guard guard, struct lb_expect *ret);
/* The history of a file, or of standard input for "-" (cli_history.c). as: what operations of other tools are called, or
 * NULL. 0 (release with lb_history_clear()), or an exit code after one line on stderr, with *ret empty. */
int lb_cli_load_history(const char *word, const char *as, struct lb_history *ret);

/* A trial that is worth telling, as plots/chosen.py prints it (cli_story.c). */
struct lb_cli_story {
  json_t *all;                           /* owns what the others point into */
  const json_t *cell, *scenario, *trial; /* trial: NULL = the cell was skipped */
};
/* Tells one; goes on if that returns LB_EXIT_OK. */
typedef int lb_cli_story_tell(const struct lb_cli_story *told, void *arg);
/* Finds the cell that so many words name, and of it the trial args->trial, or the best one if that is 0. LB_EXIT_OK (release with
 * lb_cli_story_clear()), or an exit code after one line on stderr. */
int lb_cli_story_find(const struct lb_args *args, const char *dir, const char *const words[], int count,
                      struct lb_cli_story *ret);
/* Tells the best one of every cell that has a trial. Returns an exit code: LB_EXIT_OK, what `tell` returned, or after one line on stderr. */
int lb_cli_story_each(const char *dir, lb_cli_story_tell *tell, void *arg);
void lb_cli_story_clear(struct lb_cli_story *told);
/* A column of trials.csv: "clients", "trial", "seed", "verdict", "why", "history" (its path, "" = none was kept). "" where there
 * is no trial. */
const char *lb_cli_story_of(const struct lb_cli_story *told, const char *column);
/* Whether its history is in the folder. */
bool lb_cli_story_is_there(const struct lb_cli_story *told);
/* The command that makes trials like this one, with the same seed. It can be pasted into a shell, whatever the run says. */
void lb_cli_story_again(const struct lb_cli_story *told, char *ret, size_t size);
/* Where a hunt has not begun in `folder`, the last part of which is its system's: what shards below `of_hunt` have seen
 * is its journal. Names a shard that is missing. An exit code, other than 0 after one line on stderr. */
int lb_cli_hunt_join(const char *of_hunt, const char *folder);
/* `hunt --from DIR CELL` (cli_hunt_from.c). An exit code. */
int lb_cli_hunt_from(const struct lb_args *args);
/* Whether it is a folder with a run.json. */
bool lb_cli_is_run_folder(const char *path);
#define LB_SUITES LB_SCENARIOS "/suites"
/* Path of a scenario by name or path, malloc'd; NULL after one line on stderr. */
char *lb_cli_find_scenario(const char *name);
/* The same, with the line in err. */
char *lb_cli_look_for_scenario(const char *name, struct lb_error *err);
/* The same of a suite. */
char *lb_cli_find_suite(const char *name);

/* ---- what is said of protocols (cli_list.c) ------------------------------------------------- */

struct lb_protocol;
/* "one, two, three" on stdout; NULL = none. */
void lb_cli_print_words(const char *const *words);
/* "leased, fifo" on stdout: enum lb_trait in words. */
void lb_cli_print_traits(unsigned traits);
/* The product whose locks they are: "Redis"; "none" where no server has them. */
const char *lb_cli_server_title(const struct lb_protocol *protocol);

/* ---- a run (cli_run.c) ----------------------------------------------------------------------- */

/* What `run` and `suite` have in common: some scenarios, perhaps changed, and the options of a run. */
struct lb_suite;
struct lb_order { /* what a command wants done */
  const struct lb_args *args;
  const char *label; /* names the run's folder */
  const struct lb_scenario *scenarios;
  const char *const *own_settings; /* of each, as in a plan */
  size_t scenario_count;
  const struct lb_suite *suite; /* that they are of: its plan is the full product; NULL = none */
  bool draw;                    /* the charts and the page, too */
  /* For a command with a screen of its own; NULL = the tables of a run. `begin` is called before the first trial: an
   * exit code other than 0 is that of the command, which then runs none. `tell` prints the results of the trials that
   * are done. */
  int (*begin)(void *data, const struct lb_plan *plan);
  void (*tell)(void *data, const struct lb_tally *tally, const struct lb_run_info *info, const char *dir);
  const struct lb_judging *judging; /* as in a plan */
  void *data;
};
/* Plans it, runs it, writes its results and says what came of it. An exit code. */
int lb_cli_carry_out(const struct lb_order *order);
/* `--resume DIR`: calls the command of that run again as it was called then, with its seed and in its folder. An exit
 * code. */
int lb_cli_resume(const struct lb_args *args);
/* `run --against TOOL` (cli_against.c): this build and another one take turns, and what came of it is compared. A turn
 * takes about `turn_s`. An exit code. */
int lb_cli_against(const struct lb_args *args, double turn_s);
/* Compares two results folders, or the variants in `a` (NULL = no `b`), and prints it as `args` say (plots/compare.py).
 * An exit code. */
int lb_cli_compare_folders(const struct lb_args *args, const char *a, const char *b);

/* ---- a judge (cli_judge_screen.c) ------------------------------------------------------------- */

/* Prints what came of it, the verdict first; `word` is the lock as it was typed. */
void lb_cli_judge_tell(const char *word, const struct lb_tally *tally, const struct lb_run_info *info, const char *dir);

/* ---- servers of the user's own (cli_servers.c) ---------------------------------------------------- */

/* Whether any of the options that name such servers was given. */
bool lb_cli_names_own(const struct lb_args *args);
/* Takes the servers and logins that the options name, and asks each server who it is. 0, also without any;
 * LB_EXIT_USAGE or LB_EXIT_MISSING after one line on stderr. */
int lb_cli_own_begin(const struct lb_args *args);
/* The systems that a run on such servers is about, malloc'd: `asked` with a topology for every protocol that has none,
 * where "all" is every protocol that runs on one of them; NULL = of each kind of servers the one lock to use there. */
char *lb_cli_own_systems(const char *asked);

/* ---- what may be done to them (cli_operator.c): each 0, also without --operator, or an exit code after one line on stderr */

/* Reads the file; takes its lock; and, when the servers have been asked, holds it against them and gives their
 * topologies the mandate. */
int lb_cli_operator_read(const struct lb_args *args);
int lb_cli_operator_reserve(const struct lb_args *args);
int lb_cli_operator_meet(const struct lb_args *args);
/* Shows the commands of the plan and asks whether they are allowed; with --list it only shows them. */
int lb_cli_operator_consent(const struct lb_args *args, const struct lb_plan *plan);
/* Around a run: starts the guardian, and ends it when all is undone. `code` is that of the run. */
int lb_cli_operator_begin(const struct lb_args *args, const struct lb_plan *plan);
int lb_cli_operator_end(int code);
/* What `clean` does first: it undoes what a guardian that was killed has left; how many faults that were, or an exit code that is
 * negative; and later their proof. */
int lb_cli_operator_clean(const struct lb_args *args);
int lb_cli_operator_cleaned(int left);

/* ---- how long it takes (cli_commands.c) ----------------------------------------------------------- */

/* How long trials took, as scenarios/times.csv says; empty where it cannot be read: lengths are then guessed. Release with
 * lb_times_clear(). */
void lb_cli_read_times(struct lb_times *ret);
/* What this machine has for trials side by side. Takes nearly half a second. */
struct lb_room lb_cli_room_now(struct lb_jobs jobs);
/* Estimates what is left to do of a run. If that is more than a few trials, or seconds, says it in one line on stderr.
 * Release with lb_estimate_end(). */
void lb_cli_announce(const struct lb_tally *tally, struct lb_jobs jobs, struct lb_estimate *ret);
/* How long a plan takes of which nothing is done. 0 without memory. */
double lb_cli_seconds_of(const struct lb_plan *plan, struct lb_jobs jobs);

/* The folder of all runs of this user. Not to be freed. */
const char *lb_cli_results_folder(void);
/* A seed to be shown and typed again. */
uint64_t lb_cli_random_seed(void);
/* How many trials that only wait run side by side. */
int lb_cli_default_jobs(void);
/* Trials side by side: as many as the user said; or the guess always, and more where the processors stand still. */
struct lb_jobs lb_cli_jobs_of(const struct lb_args *args, int guess);
/* Those of a run. */
struct lb_jobs lb_cli_run_jobs(const struct lb_args *args);

/* ---- statements on some systems, printed for people or as TAP (cli_conform.c) ----------------- */

struct lb_conform_order {
  const struct lb_args *args; /* of the command: its name, --tap, -s */
  const struct lb_system *systems;
  int count;
  bool named;              /* they were asked for one by one: one whose servers are missing counts */
  bool adapter;            /* as in struct lb_conform_plan */
  const char *const *only; /* as there */
  /* Not NULL: is told each result, and nothing is printed. */
  void (*said)(void *data, const struct lb_conform_result *result);
  void *data;
};
/* An exit code. */
int lb_cli_conform_systems(const struct lb_conform_order *order);

#endif
