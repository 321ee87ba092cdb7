/* SPDX-License-Identifier: MIT
 *
 * `lockbench hunt SYSTEM`, and `hunt all`, which shares its time out among the systems. A hunt may take long, so what
 * it has is on the disk all the time: the same command with the same folder goes on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "backends/registry.h"
#include "base/process.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/need.h"
#include "cli.h"
#include "hunt/tell.h"
#include "hunt/keep.h"
#include "hunt/rests.h"
#include "hunt/search.h"
#include "hunt/space.h"
#include "run/about.h"
#include "run/rundir.h"
#include "plan/settings.h"
#include "plan/system.h"
#include "scenario/scenario.h"
#include "show/live.h"
#include "theory/versions.h"

/* HUNT_JOBS: a timeline waits even more than a scenario does, mostly for what does not happen; what starts at once is
 * limited by its cost. CHEAP_JOBS: of those whose servers start in CHEAP_MS of a processor, or that have none. */
enum { PATH = 4000, FAULTS_DEFAULT = 2, LATE_SHOWN = 3, HUNT_JOBS = 2, CHEAP_JOBS = 5, CHEAP_MS = 30 };

/* ---- the live line ----------------------------------------------------------------------------------------------- */

struct view {
  const char *system;
  struct lb_live_out live;
  size_t known, all; /* as it was shown last: for the lines of trials */
};

static void begin(void *to, size_t timelines, double seconds) {
  const struct view *v = to;
  char about[40];
  lb_live_about(seconds, about, sizeof about);
  fprintf(stderr, "%s: %zu timeline%s, %s here\n", v->system, timelines, timelines == 1 ? "" : "s", about);
}

static void show(void *to, const struct lb_hunt_live *live) {
  struct view *v = to;
  char what[200];
  snprintf(what, sizeof what, "%s, %s %zu of %zu, %zu fault%s, %zu undecided", v->system, live->what, live->done,
           live->count, live->faults, live->faults == 1 ? "" : "s", live->undecided);
  struct lb_live_state state = {live->known, live->all, live->elapsed_s, live->left_s, live->breaking, what};
  v->known = live->known, v->all = live->all;
  lb_live_show(&v->live, &state);
}

static void show_trial(void *to, const struct lb_hunt_trial *trial) {
  const struct view *v = to;
  lb_live_hide(&v->live);
  fprintf(stderr, "[%zu/%zu] %s %s.%s: %s%s%s%s, %.1f s\n", v->known, v->all, v->system, trial->id,
          lb_guard_name(trial->guard), lb_hunt_outcome_name(trial->outcome), *trial->why ? " (" : "", trial->why,
          *trial->why ? ")" : "", trial->seconds);
}

/* 0, or -1 after a complaint. */
static int read_without(const struct lb_args *args, struct lb_hunt_switches *ret) {
  struct lb_error err;
  return lb_hunt_switches_parse(args->without ? args->without : "", ret, &err) < 0 ? lb_complain(-1, "%s", err.text)
                                                                                   : 0;
}

/* The shard that the argument names, else the one of the engine that started this process. LB_EXIT_OK, or another code
 * after a complaint. */
static int read_shard(const struct lb_args *args, struct lb_shard *ret) {
  struct lb_error err;
  uint64_t job;
  *ret = (struct lb_shard){0};
  if (!args->shard) lb_shard_of_engine(ret, &job);
  else if (lb_shard_parse(args->shard, ret, &err) < 0) return lb_complain(LB_EXIT_USAGE, "%s", err.text);
  return LB_EXIT_OK;
}

static uint64_t seed_of(const struct lb_args *args) { return args->has_seed ? args->seed : 1; }
/* Servers and adapters that are dear to start are many processes, and take their time of the processors as long as they
 * run: more of them end no sooner. */
static struct lb_jobs jobs_of(const struct lb_args *args, const struct lb_system *system) {
  enum { DEAR_MS = 750, LEAST = 3, CLIENTS = 3 };
  int start_ms = lb_admit_start_ms(system->protocol, system->topology, CLIENTS);
  int jobs = (start_ms <= CHEAP_MS ? CHEAP_JOBS : HUNT_JOBS) * lb_cli_default_jobs();
  if (start_ms <= DEAR_MS || args->jobs) return lb_cli_jobs_of(args, jobs);
  jobs = jobs * DEAR_MS / start_ms > LEAST ? jobs * DEAR_MS / start_ms : LEAST;
  return (struct lb_jobs){jobs, jobs};
}

static int faults_of(const struct lb_args *args) { return args->has_faults ? args->faults : FAULTS_DEFAULT; }

/* ---- one system -------------------------------------------------------------------------------------------------- */

/* A folder of its own for each system, below that of the command or of the shard. */
static int make_folder(const char *of, const struct lb_shard *shard, const char *system, char *ret, size_t size) {
  char own[60] = "", name[200];
  if (shard->of) snprintf(own, sizeof own, "/shard-%d-of-%d", shard->index, shard->of);
  snprintf(name, sizeof name, "%s", system);
  for (char *c = name; *c; c++)
    if (*c == ':' || *c == '/') *c = '-';
  snprintf(ret, size, "%s%s/%s", of, own, name);
  int r = lb_files_make_dirs(ret);
  return r < 0 ? lb_complain(r, "cannot make %s: %s", ret, strerror(-r)) : 0;
}

/* Beside what is told, for a user who only looks at the end and at the code: what a hunt leaves out for a wrong reason
 * it cannot find. */
static int judge(const struct lb_hunt *h) {
  size_t wrong = lb_hunt_audit_count(&h->audit, &h->journal, LB_HUNT_OTHER);
  if (h->end == LB_HUNT_INTERRUPTED) return LB_EXIT_STOPPED;
  if (wrong == 0) return LB_EXIT_OK;
  return lb_complain(
      LB_EXIT_UNEXPECTED,
      "hunt %s: ERROR: %zu pruned timeline%s came out otherwise than claimed, so others may break the lock: see `audit`",
      h->space.system.name, wrong, wrong == 1 ? "" : "s");
}

/* A shard has looked only: what of it is a set is not known yet. */
static int say_shard(const struct lb_hunt *h, const struct lb_hunt_order *order,
                     const struct lb_hunt_sitting *sitting) {
  struct lb_error err;
  if (lb_hunt_keep_sitting(sitting, h, order, &err) < 0) return lb_complain(LB_EXIT_FAILURE, "%s", err.text);
  printf("%s, shard %d of %d: %zu trials, %zu undecided; when all have ended, call it once more without --shard\n",
         h->space.system.name, order->shard.index, order->shard.of, h->journal.trials, h->journal.undecided);
  fflush(stdout);
  return h->end == LB_HUNT_INTERRUPTED ? LB_EXIT_STOPPED : LB_EXIT_OK;
}

static int say(const struct lb_hunt *h, const struct lb_hunt_order *order, const struct lb_hunt_sitting *sitting,
               bool head) {
  struct lb_error err;
  int r = lb_hunt_keep(h, order->folder, &err);
  if (r == 0) r = lb_hunt_keep_sitting(sitting, h, order, &err);
  if (head) lb_hunt_tell_head(stdout);
  lb_hunt_tell_row(h, stdout);
  lb_hunt_tell_sets(h, order->folder, LATE_SHOWN, stdout);
  lb_hunt_tell_remarks(h, order, stdout);
  fflush(stdout);
  return r < 0 ? lb_complain(LB_EXIT_FAILURE, "%s", err.text) : judge(h);
}

/* Asks the machine and the servers' programs, before anything is started. Results go to `folder`. */
static void sitting_begin(struct lb_hunt_sitting *ret, const char *const *argv, int argc,
                          const struct lb_topology *topology, const char *folder) {
  struct tm tm = lb_clock_utc();
  *ret = (struct lb_hunt_sitting){.argv = argv, .argc = argc};
  strftime(ret->started_utc, sizeof ret->started_utc, "%Y-%m-%dT%H:%M:%SZ", &tm);
  lb_machine_read(&ret->before, folder);
  lb_about_namespaces(ret->namespaces, sizeof ret->namespaces);
  if (lb_topology_version(topology, ret->servers, sizeof ret->servers) != 0) ret->servers[0] = '\0';
}

static int hunt_one(const struct lb_args *args, const struct lb_system *system, const char *of,
                    const struct lb_rundir *dir, double budget_s, bool head) {
  struct lb_error err = {.text = "out of memory"};
  char folder[PATH];
  struct view view = {.system = system->name,
                      .live = {stderr, .terminal = lb_live_terminal(stderr), .said_ns = lb_clock_ns()}};
  struct lb_hunt_sitting sitting;
  struct lb_hunt hunt;
  struct lb_hunt_switches switches;
  struct lb_shard shard;
  int code = read_shard(args, &shard);
  if (code != LB_EXIT_OK || read_without(args, &switches) < 0) return LB_EXIT_USAGE;
  if (make_folder(of, &shard, system->name, folder, sizeof folder) < 0) return LB_EXIT_FAILURE;
  if (!shard.of && (code = lb_cli_hunt_join(of, folder)) != LB_EXIT_OK) return code;
  struct lb_hunt_order order = {.protocol = system->protocol,
                                .topology = system->topology,
                                .system = system->name,
                                .settings = args->settings,
                                .setting_count = args->setting_count,
                                .switches = switches,
                                .faults_max = faults_of(args),
                                .guard = args->guards ? (enum lb_guard)(ffs((int)args->guards) - 1) : LB_GUARD_NONE,
                                .seed = seed_of(args),
                                .budget_s = budget_s,
                                .only = args->only,
                                .shard = shard,
                                .jobs = jobs_of(args, system),
                                .folder = folder,
                                .dir = dir,
                                .room = lb_cli_room_now(jobs_of(args, system)),
                                .begin = begin,
                                .tick = show,
                                .trial = args->verbose ? show_trial : NULL,
                                .display = &view};
  sitting_begin(&sitting, args->argv, args->argc, system->topology, folder);
  int r = lb_hunt_run(&order, &hunt, &err);
  lb_live_hide(&view.live);
  if (r < 0) return lb_complain(r == -EINVAL ? LB_EXIT_USAGE : LB_EXIT_FAILURE, "hunt %s: %s", system->name, err.text);
  code = shard.of ? say_shard(&hunt, &order, &sitting) : say(&hunt, &order, &sitting, head);
  lb_hunt_clear(&hunt);
  return code;
}

/* ---- which systems ----------------------------------------------------------------------------------------------- */

/* `all`: every protocol on the first of its topologies. */
static int every_system(struct lb_system *systems, int max) {
  struct lb_error err;
  char name[160], why[300];
  const struct lb_protocol *p;
  int count = 0;
  for (size_t i = 0; (p = lb_protocol_at(i)) && count < max; i++) {
    snprintf(name, sizeof name, "%s@%s", p->name, p->topologies[0]);
    if (!(p->traits & (LB_TRAIT_FOREIGN | LB_TRAIT_FLOOR)) && lb_system_parse(name, &systems[count], &err) == 0 &&
        !lb_topology_missing(systems[count].topology) && lb_versions_meet(p, systems[count].topology, why, sizeof why))
      count++;
  }
  return count;
}

static int find_systems(const struct lb_args *args, struct lb_system *systems, int max) {
  struct lb_error err;
  char names[600];
  int count = 0;
  for (int i = 0; i < args->word_count; i++) {
    if (strcmp(args->words[i], "all") != 0) continue;
    if (args->word_count == 1) return every_system(systems, max);
    return lb_complain(-1, "hunt: expected systems, or `all` alone, found `all` and '%s'", args->words[i == 0]);
  }
  for (int i = 0; i < args->word_count && count < max; i++)
    if (lb_system_parse(args->words[i], &systems[count++], &err) < 0) return lb_complain(-1, "hunt: %s", err.text);
  if (count > 0) return count;
  snprintf(names, sizeof names, "%s", args->plugins);
  for (char *rest = NULL, *name = strtok_r(names, ",", &rest); name && count < max; name = strtok_r(NULL, ",", &rest))
    if (lb_system_parse(name, &systems[count++], &err) < 0) return lb_complain(-1, "hunt: %s", err.text);
  return count > 0 ? count
                   : lb_complain(-1, "hunt: expected PROTOCOL@TOPOLOGY, or all, see `%s list`", lb_process_called());
}

/* Not among the lines of the list. */
static void count_list(const struct lb_system *system, const struct lb_hunt_space *space, size_t audited) {
  char rests[200];
  size_t run = 0, sound = 0;
  lb_hunt_rests_say(space->system.rests, rests, sizeof rests);
  for (size_t i = 0; i < space->count; i++) {
    run += space->timeline[i].pruned == LB_HUNT_RUN;
    sound += lb_hunt_prune_is_sound(space->timeline[i].pruned);
  }
  fprintf(
      stderr,
      "%s: %zu timelines, of which %zu run, %zu are pruned (%zu of them run as a check), and %zu are beyond the bounds; a grant rests on %s\n",
      system->name, space->count, run, sound, audited, space->count - run - sound, *rests ? rests : "nothing known");
}

static void mark_drawn(const struct lb_hunt_space *space, uint64_t seed, bool *ret, size_t *ret_count) {
  struct lb_hunt_drawn *drawn;
  size_t count;
  *ret_count = 0;
  for (int k = 0; k <= space->faults_max; k++) {
    lb_hunt_audit_draw(space, seed, (size_t)k, LB_HUNT_AUDITED, &drawn, &count);
    for (size_t i = 0; i < count; i++) ret[drawn[i].timeline] = true;
    *ret_count += count;
    free(drawn);
  }
}

/* By the index of a timeline: which one it is in the order of the hunt, from 1; 0 = it is not run. Malloc'd. */
static size_t *find_places(const struct lb_hunt_space *space, uint64_t seed) {
  size_t *order, count, places = 0, *ret = lb_need(calloc(space->count + 1, sizeof *ret));
  lb_hunt_search_order(space, seed, &order, &count);
  for (size_t i = 0; i < count; i++)
    if (ret[order[i]] == 0) ret[order[i]] = ++places;
  free(order);
  return ret;
}

static void print(const struct lb_hunt_space *space, const struct lb_hunt_timeline *t, bool drawn, FILE *file) {
  struct lb_hunt_timeline other;
  char id[LB_HUNT_ID_MAX];
  lb_hunt_timeline_id(t, id);
  fprintf(file, "%s\t%s\t%s", id, lb_hunt_regimes[t->regime],
          t->pruned == LB_HUNT_RUN ? "run" : lb_hunt_prune_text(t->pruned));
  if (lb_hunt_prune_stand_in(&space->system, t, &other)) {
    lb_hunt_timeline_id(&other, id);
    fprintf(file, "\t%sas %s", drawn ? "audited, " : "", id);
  }
}

/* One line per timeline: id, regime, "run" or why not; of one that is run "place N", where the order of the hunt has it;
 * of one that is soundly pruned "as ID", with "audited, " in front if a hunt with this seed runs it all the same. In the
 * order of the space. How many are drawn so. */
static size_t space_print(const struct lb_hunt_space *space, uint64_t seed, FILE *file) {
  size_t count, *place = find_places(space, seed);
  bool *drawn = lb_need(calloc(space->count + 1, sizeof *drawn));
  mark_drawn(space, seed, drawn, &count);
  for (size_t i = 0; i < space->count; i++) {
    print(space, &space->timeline[i], drawn[i], file);
    if (place[i]) fprintf(file, "\tplace %zu", place[i]);
    fputc('\n', file);
  }
  free(drawn);
  free(place);
  return count;
}

static int list(const struct lb_args *args, const struct lb_system *systems, int count) {
  struct lb_hunt_space space;
  struct lb_hunt_system system;
  struct lb_hunt_switches switches;
  if (read_without(args, &switches) < 0) return LB_EXIT_USAGE;
  for (int i = 0; i < count; i++) {
    lb_hunt_system_of(systems[i].protocol, systems[i].topology, &system);
    int r = lb_hunt_space_make(&system, faults_of(args), &switches, &space);
    if (r < 0) return lb_complain(LB_EXIT_FAILURE, "hunt %s: %s", systems[i].name, strerror(-r));
    count_list(&systems[i], &space, space_print(&space, seed_of(args), stdout));
    lb_hunt_space_clear(&space);
  }
  return LB_EXIT_OK;
}

/* An option of a lock that is not hunted would change nothing. */
static int check_use(const struct lb_args *args, const struct lb_system *systems, int count) {
  char protocol[64];
  for (size_t i = 0; i < args->setting_count; i++) {
    bool used = !lb_settings_protocol(args->settings[i], protocol, sizeof protocol);
    for (int k = 0; k < count; k++) used = used || strcmp(systems[k].protocol->name, protocol) == 0;
    if (!used)
      return lb_complain(LB_EXIT_USAGE, "-s %s: no system of this hunt is of protocol %s", args->settings[i], protocol);
  }
  return 0;
}

/* Before anything is started: what is wrong with options, and what is missing. */
static int check(const struct lb_args *args, const struct lb_system *systems, int count) {
  struct lb_hunt_timeline timeline;
  struct lb_hunt_switches switches;
  struct lb_shard shard;
  struct lb_error err;
  int code = lb_cli_check_options(args);
  if (code == 0) code = lb_cli_check_locks(args, systems, count);
  if (code == 0) code = check_use(args, systems, count);
  if (code == 0 && read_without(args, &switches) < 0) code = LB_EXIT_USAGE;
  if (code == 0) code = read_shard(args, &shard);
  if (code == 0 && shard.of && (args->only || args->list))
    code = lb_complain(LB_EXIT_USAGE, "--shard: %s is not shared out", args->only ? "--only" : "--list");
  if (code == 0 && args->only && lb_hunt_timeline_of_id(args->only, &timeline, &err) < 0)
    code = lb_complain(LB_EXIT_USAGE, "--only %s", err.text);
  if (code) return code;
  for (int i = 0; i < count; i++) {
    const char *missing = lb_topology_missing(systems[i].topology);
    union lb_value *options = lb_settings_options(systems[i].protocol, args->settings, args->setting_count);
    free(options);
    if (missing)
      return lb_complain(LB_EXIT_MISSING, "hunt %s: needs %s, which is not on this machine", systems[i].name, missing);
    if (!options) return lb_complain(LB_EXIT_FAILURE, "hunt %s: no memory", systems[i].name);
  }
  return 0;
}

/* The time that is left is shared out among the systems that are left: one that needs less leaves more to the
 * others. */
static int hunt_each(const struct lb_args *args, const struct lb_system *systems, int count, const char *folder,
                     const struct lb_rundir *dir) {
  lb_ns begin = lb_clock_ns();
  int code = LB_EXIT_OK, surprise = LB_EXIT_OK;
  struct lb_shard shard;
  for (int i = 0; i < count && code == LB_EXIT_OK; i++) {
    double left = args->budget_s - (double)(lb_clock_ns() - begin) / 1e9;
    code = hunt_one(args, &systems[i], folder, dir, args->budget_s > 0 ? (left > 1 ? left : 1) / (count - i) : 0, true);
    if (code == LB_EXIT_UNEXPECTED) surprise = code, code = LB_EXIT_OK;
  }
  if (code == LB_EXIT_OK && read_shard(args, &shard) == LB_EXIT_OK && !shard.of)
    lb_hunt_tell_legend(stdout), fflush(stdout);
  return code != LB_EXIT_OK ? code : surprise;
}

static int hunt_command(const struct lb_args *args) {
  static struct lb_system systems[LB_ARGS_MAX];
  struct lb_error err;
  char folder[PATH];
  struct lb_rundir dir;
  if (args->from) return lb_cli_hunt_from(args);
  if (args->trials || args->trial)
    return lb_complain(LB_EXIT_USAGE, "hunt %s: expected --from DIR, too", args->trials ? "-n" : "--trial");
  int count = find_systems(args, systems, LB_ARGS_MAX), code = count < 0 ? LB_EXIT_USAGE : check(args, systems, count);
  if (code) return code;
  if (args->list) return list(args, systems, count);
  snprintf(folder, sizeof folder, "%s", args->out ? args->out : lb_cli_results_folder());
  if (!args->out)
    snprintf(folder + strlen(folder), sizeof folder - strlen(folder), "/hunt-%llu",
             (unsigned long long)(args->has_seed ? args->seed : 1));
  if (args->out && lb_cli_is_run_folder(args->out))
    return lb_complain(LB_EXIT_USAGE,
                       "hunt: -o %s: it has the results of a run (run.json), expected a new folder or that of a hunt",
                       args->out);
  if ((code = lb_cli_try_folder("hunt", folder, args->out))) return code;
  const char *tmp = getenv("TMPDIR");
  if (lb_rundir_open(&dir, tmp && *tmp ? tmp : "/tmp", "hunt", NULL, &err) < 0)
    return lb_complain(LB_EXIT_FAILURE, "%s", err.text);
  code = hunt_each(args, systems, count, folder, &dir);
  lb_rundir_close(&dir);
  return code;
}

const struct lb_cli_command lb_command_hunt = {
    "hunt",
    hunt_command,
    LB_ARG_HUNT,
    "SYSTEM...|all|--from DIR CELL",
    "finds the minimal sets of faults that break a lock: of all timelines of at most K faults, or of the faults of one trial",
    "SYSTEM is PROTOCOL@TOPOLOGY; a plugin or a foreign lock needs no name. All timelines run the same program with three clients;\n"
    "one holds during the faults. Each set and each subset runs again with new seeds. `run` replays hunt/NN.ini; hunt.csv has all timelines.\n"
    "--from: CELL is a cell of the results folder DIR that played random faults, as `explain` takes it. The faults before its first double hold\n"
    "become steps. Then it removes faults and shortens waits, each time with new seeds. `run` replays shrunk.ini. A larger -n removes more.\n"
    "exit: 0 done or out of budget, 1 failure of the harness, 2 usage, 3 a pruned timeline came out otherwise (audit), or --from broke nothing, 5 servers are missing,\n"
    "      130 interrupted (the same command continues)\n"};
