/* test: alone, wraps lb_heartbeat_start */
/* SPDX-License-Identifier: MIT
 *
 * The engine with a source that decides what is next while it plays: real trials of a lock that needs no servers. And
 * which jobs are of one pool.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "base/files.h"
#include "client/heartbeat.h"
#include "run/engine.h"
#include "plan/plan.h"
#include "servers/topology.h"
#include "trial/site.h"

#define QUIET                                                                                                          \
  "[scenario]\ntitle = t\nquestion = q\nrefuted = r\nmin_handoffs = 1\n[workload]\nclients = 2\nttl_ms = 10000\n"      \
  "[timeline]\nstep = client 1 acquire within 3s\nstep = client 2 acquire within 200ms\n"                              \
  "step = client 1 release within 1s\nstep = client 2 acquire within 3s\nstep = client 2 release within 1s\n"          \
  "[expect]\n* = safe: so it should be\n"
enum { JOBS = 4 };

struct world { /* a source: the trials of one cell, in the order of the plan's jobs */
  struct lb_rundir dir;
  struct lb_error err;
  char folder[64], path[128];
  struct lb_plan plan;
  struct lb_source source;
  size_t begun, ended, most;
  size_t enough;   /* so many are needed */
  bool one_by_one; /* whether another one is needed is known when the one before has ended */
  int result;      /* of the first outcome */
  enum lb_verdict expected;
};

/* What trials look for stalls with: as it is, one that cannot be started, one that dies at once. */
static enum { BEATS, CANNOT_START, DIES } heartbeat;

pid_t __real_lb_heartbeat_start(struct lb_memory *memory);
pid_t __wrap_lb_heartbeat_start(struct lb_memory *memory);
pid_t __wrap_lb_heartbeat_start(struct lb_memory *memory) {
  siginfo_t info;
  if (heartbeat == BEATS) return __real_lb_heartbeat_start(memory);
  pid_t pid = heartbeat == DIES ? fork() : (errno = EAGAIN, -1);
  if (pid == 0) _exit(1);
  if (pid > 0) waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
  return pid;
}

static enum lb_next next(void *of, const struct lb_pool *pool, const struct lb_job **ret) {
  struct world *w = of;
  assert_null(pool);
  if (w->begun == w->enough) return LB_NEXT_NONE;
  *ret = &w->plan.jobs[w->begun];
  return w->one_by_one && w->begun > w->ended ? LB_NEXT_LATER : LB_NEXT_NOW;
}

static void begun(void *of, const struct lb_job *job) {
  struct world *w = of;
  assert_ptr_equal(job, &w->plan.jobs[w->begun]);
  w->begun++;
  w->source.left--;
  if (w->begun - w->ended > w->most) w->most = w->begun - w->ended;
}

static int ended(void *of, const struct lb_job *job, const struct lb_outcome *outcome) {
  struct world *w = of;
  if (outcome->verdict != w->expected)
    fail_msg("%s is %s: %s", job->plan.name, lb_verdict_name(outcome->verdict), outcome->why);
  w->ended++;
  return w->result;
}

static int set_up(void **state) {
  struct world *w = calloc(1, sizeof *w);
  *state = w;
  w->enough = JOBS;
  w->expected = LB_SAFE;
  heartbeat = BEATS;
  snprintf(w->folder, sizeof w->folder, "/tmp/live-engine-XXXXXX");
  if (!mkdtemp(w->folder) || lb_rundir_open(&w->dir, w->folder, "engine", NULL, &w->err) < 0) return -1;
  snprintf(w->path, sizeof w->path, "%s/quiet.ini", w->folder);
  FILE *out = fopen(w->path, "we");
  if (!out || fputs(QUIET, out) < 0 || fclose(out) != 0) return -1;
  const char *const paths[] = {w->path};
  struct lb_plan_request request = {.systems = "local@none", .trials = JOBS, .seed = 1};
  if (lb_plan_load(paths, 1, &request, &w->plan, &w->err) < 0) return -1;
  w->source = (struct lb_source){.of = w, .left = JOBS, .next = next, .begun = begun, .ended = ended};
  fflush(NULL);
  return w->plan.job_count == JOBS ? 0 : -1;
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

static void expect(struct world *w, int most, int result, size_t played) {
  int r = lb_engine_run(&w->source, &w->dir, (struct lb_jobs){most, most}, &w->err);
  if (r != result) fail_msg("%d: %s", r, w->err.text);
  assert_int_equal(w->ended, played);
}

TEST(jobs_are_played_side_by_side_and_each_once) {
  struct world *w = *state;
  expect(w, 2, 0, JOBS);
  assert_int_equal(w->begun, JOBS);
  assert_int_equal(w->most, 2);
}

TEST(what_may_be_superfluous_waits_for_what_runs) {
  struct world *w = *state;
  w->one_by_one = true;
  expect(w, JOBS, 0, JOBS);
  assert_int_equal(w->most, 1);
}

TEST(what_is_not_needed_is_not_played) {
  struct world *w = *state;
  w->enough = 1;
  expect(w, JOBS, 0, 1);
}

TEST(an_outcome_can_end_it) {
  struct world *w = *state;
  w->result = -EPIPE;
  expect(w, 1, -EPIPE, 1);
}

/* The same trial is safe where they are seen. */
TEST(where_nobody_looks_for_stalls_a_trial_is_undecided) {
  struct world *w = *state;
  w->enough = 2;
  w->expected = LB_UNDECIDED;
  heartbeat = CANNOT_START;
  expect(w, 1, 0, 2);
  heartbeat = DIES;
  w->enough = JOBS;
  expect(w, 1, 0, JOBS);
}

/* ---- pools ------------------------------------------------------------------------------------------------------- */

static struct lb_trial_plan plan_of(const char *topology, const struct lb_scenario *scenario, int clients) {
  return (struct lb_trial_plan){
      .topology = lb_topology_find(topology), .scenario = scenario, .trial = 1, .clients = clients};
}

TEST(those_of_one_pool_can_have_the_same_servers) {
  static const struct lb_scenario timeline = {.kind = LB_KIND_TIMELINE}, load = {.kind = LB_KIND_LOAD};
  struct lb_trial_plan plan[] = {plan_of("redis", &timeline, 2), plan_of("redis-x3", &timeline, 2),
                                 plan_of("redis", &timeline, 3), plan_of("redis", &load, 2),
                                 plan_of("none", &timeline, 2)};
  struct lb_pool pools[5], *pool[5];
  size_t count = 0;
  for (size_t i = 0; i < 5; i++) pool[i] = lb_site_pool_join(pools, &count, &plan[i]);
  assert_int_equal(count, 2);
  assert_ptr_equal(pool[0], &pools[0]);
  assert_ptr_equal(pool[1], &pools[1]);
  assert_ptr_equal(pool[2], &pools[0]);
  assert_null(pool[3]);
  assert_null(pool[4]);
  assert_int_equal(pools[0].jobs, 2);
  assert_int_equal(pools[0].needs.clients, 3);
  assert_true(pools[0].needs.shared);
}
