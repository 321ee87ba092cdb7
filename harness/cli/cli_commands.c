/* SPDX-License-Identifier: MIT
 *
 * The commands: one row each, out of which come what main() runs, which options a command takes, its help and the help
 * of all. Their options stand in the table of cli_args.c. And what they share: what a run takes where nothing was said,
 * where things are, how long it will take.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/called.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/machine.h"
#include "base/error.h"
#include "base/suggest.h"
#include "scenario/scenario.h"
#include "show/live.h"

static const struct lb_cli_command commands[] = {
    {"run", lb_cli_run, LB_ARG_RUN | LB_ARG_JSON | LB_ARG_AGAINST | LB_ARG_OWN, "SCENARIO...",
     "runs scenarios (names or .ini files) and prints verdicts", NULL},
    {"merge", lb_cli_merge, LB_ARG_MERGE | LB_ARG_JSON, "DIR...",
     "makes one run of the folders of its shards, or of all shards in a folder", NULL},
    {"suite", lb_cli_suite, LB_ARG_RUN | LB_ARG_JSON | LB_ARG_OWN, "SUITE",
     "runs the scenarios of a suite, draws charts and a report",
     "SUITE is one of `list suites`, or an .ini file of your own: docs/scenarios.md describes its form.\n"},
    {"judge", lb_cli_judge, LB_ARG_JUDGE | LB_ARG_JSON, "LOCK",
     "answers \"is my lock safe?\" on one screen: what breaks it, how to see it, what to do instead",
     "LOCK is the command of an adapter ('python3 mine.py', see peers/README.md), a plugin (mine.so), PROTOCOL[@TOPOLOGY], or LIBRARY[@TOPOLOGY] of `list peers`.\n"
     "Your own lock is tested against the contract first (adapter-check, conform). Then the suite `judge` runs, without scenarios that mean nothing for the lock.\n"
     "exit: 0 safe in all that was asked, 1 failure of the harness, 2 bad input, 3 not safe, or stuck, 4 undecided, 5 nothing could be asked,\n"
     "      130 stopped: decided trials are kept, and --resume plays the rest\n"},
    {"list", lb_cli_list, LB_ARG_PLUGIN | LB_ARG_LIST,
     "[protocols|topologies|scenarios|suites|steps|points|assumptions|expectations [SYSTEMS]|guards|keys|counters]",
     "lists what there is to run, or what the tables of docs/ have", NULL},
    {"show", lb_cli_show, LB_ARG_PLUGIN | LB_ARG_COST | LB_ARG_SHOW, "NAME",
     "shows what a protocol promises and what breaks it, or a topology, or a scenario",
     "NAME is PROTOCOL, PROTOCOL@TOPOLOGY, TOPOLOGY or SCENARIO.\n"},
    {"which", lb_cli_which, LB_ARG_WHICH | LB_ARG_JSON, "",
     "names the locks that are predicted to survive some faults, or what would have to change",
     "The answer comes from rules (`theory`), with the cells that show it and the cost in a reference run.\n"
     "If no lock is left, it names the faults that break the best one, and the guard or the single fact that would stop each.\n"},
    {"predict", lb_cli_predict, LB_ARG_JSON | LB_ARG_PLUGIN | LB_ARG_OWN, "[SYSTEM] [DIR]",
     "says what each fault should do to a lock, before anything has run",
     "SYSTEM is PROTOCOL[@TOPOLOGY]; optional with --plugin, --exec and servers of your own.\n"
     "DIR is a results folder: its verdicts are shown beside, with ! where they differ.\n"},
    {"theory", lb_cli_theory, LB_ARG_JSON | LB_ARG_PLUGIN, "[facts [SYSTEM]|rules [ATTACK]|exceptions]",
     "says what predictions rest on: facts, rules, exceptions, and how many cells they cover",
     "ATTACK is a section of scenarios/theory/rules.ini, or a scenario that plays it.\n"},
    {"check", lb_cli_check, LB_ARG_JSON | LB_ARG_EXPORT | LB_ARG_PAST_LEASE, "FILE|-",
     "judges a history (binary, JSON lines, Jepsen's EDN or CSV); - is standard input",
     "docs/histories-of-others.md describes EDN and CSV.\n"
     "exit: 0 safe, 3 violated, 4 undecided, 2 no history\n"},
    {"explain", lb_cli_explain, LB_ARG_JSON | LB_ARG_TRIAL | LB_ARG_ALL | LB_ARG_PAST_LEASE, "DIR CELL|FILE|-",
     "tells as a story which events made a violation",
     "DIR is a results folder. CELL is SCENARIO.SYSTEM or SCENARIO.SYSTEM.GUARD, or any part of it that fits one cell only.\n"
     "FILE is any history, as for `check`; - is standard input.\n"},
    {"compare", lb_cli_compare, LB_ARG_JSON | LB_ARG_ANYWAY, "A B|RUN",
     "says what one run did faster or slower than another",
     "A, B and RUN are results folders. The variants of a scenario in one RUN (`run SCENARIO -s KEY=VALUE,VALUE`) are\n"
     "compared with the first of them; they were measured side by side, so prefer that to two runs.\n"
     "exit: 0 nothing is slower, 3 something is, 4 too few repeats to say, 2 nothing to compare, or refused, 5 numpy is missing\n"},
    {"report", lb_cli_report, 0, "DIR", "draws the charts and the page of a results folder", NULL},
    {"conform", lb_cli_conform, LB_ARG_PLUGIN | LB_ARG_TAP, "[SYSTEM...]",
     "tests protocols against the contract (backends/backend.h)",
     "SYSTEM is PROTOCOL or PROTOCOL@TOPOLOGY. Without one, the plugin is tested on each of its topologies.\n"
     "exit: 0 all hold, 1 failure of the harness, 2 usage, 3 some do not, 5 servers are missing\n"},
    {"serve", lb_cli_serve, LB_ARG_SERVE, "TOPOLOGY [-- COMMAND]", "starts servers as a trial would, and keeps them",
     "COMMAND runs on the host of client 1, with the addresses in its environment: LOCKBENCH_SERVERS, LOCKBENCH_REDIS,\n"
     "LOCKBENCH_SENTINELS, LOCKBENCH_SENTINEL_MASTER, LOCKBENCH_ZOOKEEPER, LOCKBENCH_POSTGRES, PGHOST ..., LOCKBENCH_ETCD,\n"
     "ETCDCTL_ENDPOINTS; LOCKBENCH_TOOL is this program. Without COMMAND there is a prompt: `help` lists what can be asked. All ends with COMMAND.\n"
     "exit: that of COMMAND; 1 failure of the harness, 2 usage, 5 servers are missing, 127 no such command\n"},
    {"fault", lb_cli_fault, 0, "STEP", "does a step of a scenario to servers that `serve` keeps, and proves it",
     "STEP is what a scenario says: 'kill primary', 'cut primary from replicas', 'await failover within 20s'; or help, hosts, env.\n"
     "LOCKBENCH_SERVE names the `serve` to ask. Its COMMAND has it; for other terminals `serve` prints it.\n"
     "exit: 0 done and proved, 4 not proved, 2 not understood, 1 nobody serves\n"},
    {"adapter-check", lb_cli_adapter, LB_ARG_ADAPTER, "CMD [WORDS...]",
     "tests an adapter against the line protocol (peers/README.md)",
     "CMD is called in a shell, once per client. WORDS: only statements with one of these words.\n"
     "docs/adding-a-lock.md explains each failure.\n"
     "exit: 0 all hold, 1 failure of the harness, 2 usage or no adapter, 3 some do not, 5 servers are missing\n"},
    {"hunt", lb_cli_hunt, LB_ARG_HUNT, "SYSTEM...|all",
     "finds the minimal sets of faults that break a lock, in all timelines of at most K faults",
     "SYSTEM is PROTOCOL@TOPOLOGY; a plugin or a foreign lock needs no name. All timelines run the same program with three clients;\n"
     "one holds during the faults. Each set and each subset runs again with new seeds. `run` replays hunt/NN.ini; hunt.csv has all timelines.\n"
     "exit: 0 done or out of budget, 1 failure of the harness, 2 usage, 3 a pruned timeline came out otherwise (audit), 5 servers are missing,\n"
     "      130 interrupted (the same command continues)\n"},
    {"shrink", lb_cli_shrink, LB_ARG_SHRINK | LB_ARG_TRIAL | LB_ARG_PLUGIN, "DIR CELL",
     "cuts a violation of a campaign down to the smallest timeline that still breaks the lock",
     "DIR is a results folder, CELL a cell of it that played random faults, as `explain` takes it. It takes the first double hold within a lease,\n"
     "else the first of all. The faults before it become steps. Then it removes faults and shortens waits, each time with new seeds.\n"
     "`run` replays shrunk.ini, which says how often it broke. A larger -n removes more.\n"
     "exit: 0 done or out of budget, 1 failure of the harness, 2 usage, 3 no directed timeline broke the lock, 130 interrupted\n"},
    {"play", lb_cli_play, LB_ARG_PLAY | LB_ARG_PLUGIN, "",
     "plays a job per line of standard input and prints an outcome per line",
     "A job is a JSON object: scenario (a name or an .ini file), system (PROTOCOL@TOPOLOGY), and if you like guard (default: none),\n"
     "seed (default: 1; the same seed plays what `run` plays), trial (default: 1), set (a list of KEY=VALUE), id (any text or number),\n"
     "fresh (default: true; false = on servers that an earlier job has used, where that is sound).\n"
     "An outcome is a JSON object: id, cell, verdict, violations, why (if undecided, stuck, delayed, n/a or skipped), fresh, seconds, history.\n"
     "Outcomes come as trials end. A line that is wrong ends the input: the jobs before it are played.\n"
     "exit: 0 all were played, whatever came of them, 1 failure of the harness, 2 usage or a line that is wrong, 130 interrupted\n"},
    {"clean", lb_cli_clean, LB_ARG_OWN, "", "removes from your own servers what killed runs have left",
     "It removes whatever has the name of a run (lockbench: and eight hexadecimal digits), also of a run that is going on.\n"
     "exit: 0 nothing is left, 1 not all could be removed, 2 usage, 5 a server could not be asked\n"},
    {"completion", lb_cli_completion, 0, "bash|zsh|fish|man",
     "prints the completion of a shell, or the manual page as scdoc reads it", NULL},
    {"doctor", lb_cli_doctor, 0, "", "says what this machine can and cannot run", NULL},
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

/* `check` and `conform` say theirs in their rows. */
const char lb_exit_codes[] =
    "exit: 0 as expected, 1 failure of the harness, 2 usage or bad input, 3 verdict differs from the expectation,\n"
    "      4 undecided, 5 a needed server or permission is missing, or nothing was asked,\n"
    "      130 stopped: decided trials are kept, and --resume plays the rest\n"
    "of every command: 1 its output could not be written, 141 who read its output went away (`| head`)\n";

const struct lb_cli_command *lb_cli_command_at(size_t index) { return index < COMMAND_COUNT ? &commands[index] : NULL; }

const struct lb_cli_command *lb_cli_command_find(const char *name) {
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    if (strcmp(commands[i].name, name) == 0) return &commands[i];
  return NULL;
}

/* "options of run and suite:", and these. */
static void put_run_options(FILE *out) {
  const char *between = "\noptions of ";
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    if (commands[i].takes & LB_ARG_RUN) fprintf(out, "%s%s", between, commands[i].name), between = " and ";
  fputs(":\n", out);
  lb_args_help(LB_ARG_RUN | LB_ARG_JSON | LB_ARG_OWN, out);
}

/* The column of explanations begins behind the longest command, so a new row keeps the table straight. */
void lb_cli_help(FILE *out) {
  int width = 0;
  for (size_t i = 0; i < COMMAND_COUNT; i++) {
    int length = (int)(strlen(commands[i].name) + 1 + strlen(commands[i].words));
    if (length > width) width = length;
  }
  fputs("lockbench: which distributed lock can I trust, under which fault, at what cost?\n\n", out);
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    fprintf(out, "  %s %s %-*s  %s\n", lb_called(), commands[i].name, width - (int)strlen(commands[i].name) - 1,
            commands[i].words, commands[i].what);
  fprintf(out, "  %s %-*s  its options\n", lb_called(), width, "COMMAND --help");
  fprintf(out, "  %s %-*s  version and commit\n", lb_called(), width, "--version");
  put_run_options(out);
  fprintf(out, "\n%s", lb_exit_codes);
}

/* ---- defaults of a run ----------------------------------------------------------------------------------- */

enum { JOBS_MORE = 3 };

/* 32 bits: enough to draw from, and short enough to be copied from a screen. */
uint64_t lb_random_seed(void) {
  uint32_t word = 1;
  if (getrandom(&word, sizeof word, 0) != sizeof word) word = (uint32_t)lb_clock_ns();
  return word;
}

int lb_default_jobs(void) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN); /* a directed trial mostly waits: four a core */
  return cores < 1 ? 4 : cores > 4 ? 16 : (int)(4 * cores);
}

/* What the user said is meant; what is guessed is exceeded where the machine bears it. */
struct lb_jobs lb_jobs_of(const struct lb_args *args, int guess) {
  int most = JOBS_MORE * guess > LB_JOBS_MOST ? LB_JOBS_MOST : JOBS_MORE * guess;
  return args->jobs ? (struct lb_jobs){args->jobs, args->jobs} : (struct lb_jobs){guess < most ? guess : most, most};
}

/* results/ below the sources belongs to whoever built the tool; who may not write there gets a
 * folder below the one he stands in. */
const char *lb_results_folder(void) {
  static char path[4096];
  const char *folder = getenv("LOCKBENCH_RESULTS");
  if (folder && *folder) return folder;
  snprintf(path, sizeof path, "%s/results", lb_root());
  return !lb_is_installed() && access(path, W_OK) == 0 ? path : "lockbench-results";
}

/* ---- the folder of -o ----------------------------------------------------------------------- */

int lb_exit_of_place(int error, const char *out) {
  return out && error != -ENOMEM && error != -ENOSPC && error != -EMFILE ? LB_EXIT_USAGE : LB_EXIT_FAILURE;
}

int lb_try_folder(const char *command, const char *path, const char *out) {
  char file[4100];
  int r = lb_make_dirs(path);
  snprintf(file, sizeof file, "%s/.lockbench-XXXXXX", path);
  int fd = r == 0 ? mkostemp(file, O_CLOEXEC) : -1;
  if (r == 0 && fd < 0) r = -errno;
  if (fd >= 0) close(fd), unlink(file);
  return r < 0 ? lb_complain(lb_exit_of_place(r, out), "%s: cannot write to %s: %s", command, path, strerror(-r)) : 0;
}

/* ---- scenarios and suites ------------------------------------------------------------------- */

/* An .ini file below the root by its name, or as a path; malloc'd, NULL with one line in err.
 * What has a '/' or ends in .ini is a path, even if there is no such file: then the reader
 * complains, with the path. The name of a file is looked up in the folder, not put together,
 * because a scenario's file may begin with a number. */
static char *find_file(const char *what, const char *place, const char *name, struct lb_error *err) {
  char folder[4096], **names = NULL, **paths = NULL, *found = NULL;
  size_t count = 0, length = strlen(name);
  if (strchr(name, '/') || (length > 4 && strcmp(name + length - 4, ".ini") == 0)) return strdup(name);
  snprintf(folder, sizeof folder, "%s/%s", lb_root(), place);
  int r = lb_scenario_list(folder, &names, &paths, &count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) found = strdup(paths[i]);
  const char *near = count ? lb_suggest(name, (const char *const *)names, count) : NULL;
  if (!found && r < 0) lb_refuse(err, "cannot read %s: %s", folder, strerror(-r));
  else if (!found && near) lb_refuse(err, "unknown %s '%s', did you mean '%s'?", what, name, near);
  else if (!found)
    lb_refuse(err, "unknown %s '%s', expected one of `%s list %ss` or a path to an .ini file", what, name, lb_called(),
              what);
  for (size_t i = 0; i < count; i++) free(names[i]), free(paths[i]);
  free(names);
  free(paths);
  return found;
}

char *lb_look_for_scenario(const char *name, struct lb_error *err) {
  return find_file("scenario", LB_SCENARIOS, name, err);
}

static char *find_or_complain(const char *what, const char *place, const char *name) {
  struct lb_error err;
  char *path = find_file(what, place, name, &err);
  if (!path) lb_complain(0, "%s", err.text);
  return path;
}

char *lb_find_scenario(const char *name) { return find_or_complain("scenario", LB_SCENARIOS, name); }

char *lb_find_suite(const char *name) { return find_or_complain("suite", LB_SUITES, name); }

/* ---- how long a command will take here, said before it starts -------------------------------------------- */

/* What is less is over before the line is read. */
enum { FEW_TRIALS = 5, FEW_S = 10 };

static struct lb_room idle(struct lb_jobs jobs) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return (struct lb_room){.cores = cores < 1 ? 1 : (int)cores, .jobs = jobs};
}

struct lb_room lb_room_now(struct lb_jobs jobs) {
  struct lb_room room = idle(jobs);
  room.others = lb_machine_others();
  return room;
}

static bool is_over_soon(const struct lb_tally *tally, const struct lb_estimate *e) {
  return tally->wanted - tally->done <= FEW_TRIALS && e->whole_s <= FEW_S;
}

void lb_read_times(struct lb_times *ret) {
  struct lb_error err;
  char path[4000];
  snprintf(path, sizeof path, "%s/" LB_SCENARIOS "/times.csv", lb_root());
  lb_times_read(path, ret, &err);
}

/* Without the table it is a guess, which is corrected while the run goes on. What is over soon anyway does not wait to
 * know what others want of the machine. */
static int estimate(const struct lb_tally *tally, struct lb_jobs jobs, struct lb_estimate *ret) {
  struct lb_times times;
  struct lb_room room = idle(jobs);
  lb_read_times(&times);
  int r = lb_estimate_begin(tally, &times, &room, ret);
  if (r == 0 && !is_over_soon(tally, ret)) {
    room = lb_room_now(jobs);
    lb_estimate_end(ret);
    r = lb_estimate_begin(tally, &times, &room, ret);
  }
  lb_times_clear(&times);
  return r;
}

int lb_announce(const struct lb_tally *tally, struct lb_jobs jobs, struct lb_estimate *ret) {
  char about[40];
  int r = estimate(tally, jobs, ret);
  if (r < 0 || is_over_soon(tally, ret)) return r;
  size_t left = tally->wanted - tally->done;
  lb_live_about(ret->whole_s, about, sizeof about);
  fprintf(stderr, "%zu trial%s, %s here\n", left, left == 1 ? "" : "s", about);
  return 0;
}

double lb_seconds_of(const struct lb_plan *plan, struct lb_jobs jobs) {
  struct lb_tally tally;
  struct lb_estimate e = {0};
  if (lb_tally_begin(plan, &tally) < 0) return 0;
  estimate(&tally, jobs, &e);
  lb_tally_clear(&tally);
  double s = e.whole_s;
  lb_estimate_end(&e);
  return s;
}
