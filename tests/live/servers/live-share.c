/* test: alone */
/* SPDX-License-Identifier: MIT
 *
 * Timelines one after the other on the same servers: when they share them, when they get fresh ones, and that a fault
 * of one is no fault of the next. Three Redis servers and Redlock, which start in no time.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "base/files.h"
#include "plan/plan.h"
#include "run/rundir.h"
#include "run/runner.h"
#include "network/sandbox.h"
#include "trial/trial.h"

#define HEAD                                                                                                           \
  "[scenario]\ntitle = t\nquestion = q\nrefuted = r\ntrials = 1\nmin_handoffs = 1\n[workload]\nclients = 2\nttl_ms = 10000\n[timeline]\n"
#define ASK                                                                                                            \
  "step = client 1 acquire within 3s\nstep = client 2 acquire within 200ms\nstep = client 1 release within 1s\n"       \
  "step = client 2 acquire within 3s\n"
#define END "step = client 2 release within 1s\n[expect]\n* = safe: so it should be\n"
#define KILLS HEAD "step = kill node 1\n" ASK END /* that node has to live before */
#define QUIET HEAD ASK END
#define CUTS HEAD "step = cut clients from node 1\n" ASK END /* and nobody heals it */
#define SEES                                                                                                           \
  HEAD ASK                                                                                                             \
      "step = observe key on node 1\nstep = client 2 release within 1s\n[proof]\npremise = key present on node 1\n[expect]\n* = safe: so it should be\n"
#define JUMPS HEAD "step = clock node 1 +60m\nstep = clock node 1 -60m\n" ASK END
#define PAUSES HEAD "step = pause node 1\n" ASK "step = resume node 1\n" END
/* It is undecided: client 2 never comes there. */
#define DOUBTS                                                                                                         \
  HEAD                                                                                                                 \
      "step = stop client 2 at after-check\nstep = client 1 acquire within 3s\nstep = client 1 release within 1s\n[expect]\n* = safe: so it should be\n"
enum { MOST = 3 };

struct world {
  struct lb_rundir dir;
  char folder[64], path[MOST][128];
  const char *paths[MOST];
  struct lb_plan plan;
};

struct told { /* in memory that the trials share with us */
  const struct lb_plan *plan;
  size_t count;
  struct lb_outcome outcome[MOST];
};

static const struct lb_trial_plan *next(void *to) {
  const struct told *told = to;
  return told->count < told->plan->job_count ? &told->plan->jobs[told->count].plan : NULL;
}

static void tell(void *to, int result, const struct lb_outcome *outcome) {
  struct told *told = to;
  if (result == 0) told->outcome[told->count++] = *outcome;
}

static int set_up(void **state) {
  struct world *w = calloc(1, sizeof *w);
  struct lb_error err;
  *state = w;
  snprintf(w->folder, sizeof w->folder, "/tmp/live-share-XXXXXX");
  return w && mkdtemp(w->folder) && lb_rundir_open(&w->dir, w->folder, "share", NULL, &err) == 0 ? 0 : -1;
}

static int tear_down(void **state) {
  struct world *w = *state;
  lb_rundir_close(&w->dir);
  lb_plan_clear(&w->plan);
  lb_files_remove_tree(w->folder);
  free(w);
  return 0;
}
EACH(set_up, tear_down);

/* One trial of each of them, in this order. */
static void plan(struct world *w, const char *const text[], size_t count) {
  struct lb_error err = {0};
  for (size_t i = 0; i < count; i++) {
    snprintf(w->path[i], sizeof w->path[i], "%s/play-%zu.ini", w->folder, i);
    w->paths[i] = w->path[i];
    FILE *out = fopen(w->path[i], "we");
    assert_non_null(out);
    fputs(text[i], out);
    assert_int_equal(fclose(out), 0);
  }
  struct lb_plan_request request = {
      .systems = "redlock@redis-x3", .only_guards = 1u << LB_GUARD_NONE, .seed = 1, .reuse = true};
  if (lb_plan_load(w->paths, count, &request, &w->plan, &err) < 0) fail_msg("%s", err.text);
  assert_int_equal(w->plan.job_count, count);
  for (size_t i = 0; i < count; i++) w->plan.order[i] = i;
}

static const char doubts[] = DOUBTS;

/* Plays them in this order in one process, and says of each which servers it had: "fresh", or "used" before. */
static void play(struct world *w, const char *const text[], size_t count, bool last_fresh, const char *expected) {
  char got[100] = "";
  struct told *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(told, MAP_FAILED);
  if (lb_isolation_probe()->kind == LB_ISOLATION_NONE) skip();
  plan(w, text, count);
  w->plan.jobs[count - 1].plan.fresh = last_fresh;
  told->plan = &w->plan;
  fflush(NULL);
  pid_t pid = lb_sandbox_fork(w->dir.alive, w->dir.guard_pipe);
  if (pid == 0) _exit(lb_trial_run(&w->plan.jobs[0].plan, w->dir.partial, NULL, next, tell, told) < 0);
  assert_true(pid > 0);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  assert_int_equal(told->count, count);
  for (size_t i = 0; i < count; i++) {
    const struct lb_outcome *o = &told->outcome[i];
    if ((o->verdict == LB_UNDECIDED) != (text[i] == doubts) || (o->verdict != LB_SAFE && text[i] != doubts))
      fail_msg("timeline %zu is %s: %s", i + 1, lb_verdict_name(o->verdict), o->why);
    snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? " " : "", o->fresh ? "fresh" : "used");
  }
  assert_string_equal(got, expected);
  munmap(told, sizeof *told);
}
#define PLAY(w, last_fresh, expected, ...)                                                                             \
  play(w, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), last_fresh, \
       expected)

STATES(timelines_share_their_servers, PLAY(*state, false, "fresh used used", QUIET, PAUSES, SEES));
STATES(a_dead_server_is_left_to_nobody, PLAY(*state, false, "fresh used fresh", QUIET, KILLS, KILLS));
STATES(a_cut_ends_with_its_timeline, PLAY(*state, false, "fresh used used", QUIET, CUTS, SEES));
STATES(what_outlives_its_undo_closes_the_site, PLAY(*state, false, "fresh used fresh", QUIET, JUMPS, QUIET));
STATES(servers_of_an_undecided_timeline_serve_one_more, PLAY(*state, false, "fresh used used", doubts, QUIET, doubts));
STATES(two_undecided_timelines_end_their_servers, PLAY(*state, false, "fresh used fresh", doubts, doubts, QUIET));
STATES(who_asks_for_fresh_servers_has_them, PLAY(*state, true, "fresh used fresh", QUIET, CUTS, SEES));

/* Each trial leaves a history: one more than the runner was told of was played for nobody. */
static void count_histories(void *to, const struct lb_tally *tally, const struct lb_job_result *result) {
  struct world *w = to;
  char path[3100];
  size_t played = 0;
  (void)result;
  for (size_t i = 0; i < tally->plan->job_count; i++) {
    snprintf(path, sizeof path, "%s/histories/%s.hist", w->dir.partial, tally->plan->jobs[i].plan.name);
    played += access(path, F_OK) == 0;
  }
  assert_int_equal(played, tally->done);
}

/* There is one place. The worker there plays all of them, and starts servers for the one that wants fresh ones. */
TEST(one_place_is_enough) {
  struct world *w = *state;
  struct lb_tally tally;
  struct lb_progress progress = {.finished = count_histories, .display = w};
  struct lb_error err = {0};
  if (lb_isolation_probe()->kind == LB_ISOLATION_NONE) skip();
  plan(w, (const char *const[]){QUIET, PAUSES, SEES}, 3);
  w->plan.jobs[1].plan.fresh = true;
  lb_tally_begin(&w->plan, &tally);
  fflush(NULL);
  if (lb_runner_run(&tally, &w->dir, LB_JOBS_ALONE, (struct lb_sitting){0}, &progress, &err) < 0)
    fail_msg("%s", err.text);
  assert_int_equal(tally.done, 3);
  for (size_t i = 0; i < 3; i++) assert_int_equal(tally.jobs[i].outcome.fresh, i < 2);
  lb_tally_clear(&tally);
}
