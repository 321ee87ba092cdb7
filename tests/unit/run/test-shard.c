/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Shards: what their number is read from, and that their parts are the plan.
 */
#include "test.h"
#include "run/shard.h"

static struct lb_error err;

TEST(a_shard_is_read) {
  static const char *const bad[] = {"",     "1",    "1/",    "/2",     "0/2", "3/2",
                                    "-1/2", "1/2x", "1/2/3", "1 / 2 ", "a/b", "1/99999"};
  struct lb_shard shard;
  assert_int_equal(lb_shard_parse("2/16", &shard, &err), 0);
  assert_int_equal(shard.index, 2);
  assert_int_equal(shard.of, 16);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (lb_shard_parse(bad[i], &shard, &err) != -EINVAL) fail_msg("%s was taken", bad[i]);
}

/* ---- engines ----------------------------------------------------------------------------------------------------- */

/* What is found with these variables and no others. */
static struct lb_shard found(const char *const pairs[][2], uint64_t *job) {
  static const char *const known[] = {"SLURM_ARRAY_TASK_ID",
                                      "SLURM_ARRAY_TASK_MIN",
                                      "SLURM_ARRAY_TASK_COUNT",
                                      "SLURM_PROCID",
                                      "SLURM_STEP_NUM_TASKS",
                                      "OMPI_COMM_WORLD_RANK",
                                      "OMPI_COMM_WORLD_SIZE",
                                      "PMI_RANK",
                                      "PMI_SIZE",
                                      "PMI_JOBID"};
  struct lb_shard shard;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) unsetenv(known[i]);
  for (size_t i = 0; pairs[i][0]; i++) setenv(pairs[i][0], pairs[i][1], 1);
  lb_shard_of_engine(&shard, job);
  return shard;
}

#define FOUND(expected_index, expected_of, has_job, ...)                                                               \
  do {                                                                                                                 \
    uint64_t job;                                                                                                      \
    struct lb_shard shard = found((const char *const[][2]){__VA_ARGS__, {NULL, NULL}}, &job);                          \
    assert_int_equal(shard.index, expected_index);                                                                     \
    assert_int_equal(shard.of, expected_of);                                                                           \
    assert_int_equal(job != 0, has_job);                                                                               \
  } while (0)

TEST(engines_say_which_shard_it_is) {
  FOUND(3, 4, true, {"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_NAMESPACE", "77"});
  FOUND(1, 16, true, {"SLURM_ARRAY_TASK_ID", "0"}, {"SLURM_ARRAY_TASK_MIN", "0"}, {"SLURM_ARRAY_TASK_COUNT", "16"},
        {"SLURM_ARRAY_JOB_ID", "5"});
  FOUND(2, 3, true, {"SLURM_ARRAY_TASK_ID", "8"}, {"SLURM_ARRAY_TASK_MIN", "7"}, {"SLURM_ARRAY_TASK_COUNT", "3"},
        {"SLURM_ARRAY_JOB_ID", "5"});
  FOUND(4, 4, true, {"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_JOB_ID", "5"});
  FOUND(2, 2, false, {"PMI_RANK", "1"}, {"PMI_SIZE", "2"});
}

TEST(one_process_is_not_shared_out) {
  FOUND(0, 0, false, {"HOME", "/"});
  FOUND(0, 0, false, {"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"});
  FOUND(0, 0, false, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "5"}); /* the script of a job */
  FOUND(0, 0, false, {"OMPI_COMM_WORLD_RANK", "4"}, {"OMPI_COMM_WORLD_SIZE", "4"});
  FOUND(0, 0, false, {"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "4"});
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

enum { SCENARIOS = 3, JOBS = 60, SHARDS = 7 };

static struct lb_scenario scenarios[SCENARIOS] = {
    {.name = "load", .base = "load", .kind = LB_KIND_LOAD, .duration_s = 1},
    {.name = "load~x=1", .base = "load", .kind = LB_KIND_LOAD, .duration_s = 1},
    {.name = "steps", .base = "steps", .kind = LB_KIND_TIMELINE}};
static struct lb_topology topology = {.name = "none"};
static struct lb_pool *const pool = (struct lb_pool *)&topology; /* never looked into */

/* Jobs 0-9 measure, in two variants; 10-14 share servers. */
static struct lb_plan plan_of(struct lb_job jobs[JOBS]) {
  for (size_t i = 0; i < JOBS; i++) {
    jobs[i] = (struct lb_job){
        .plan = {.scenario = &scenarios[i >= 10 ? 2 : i % 2], .topology = &topology, .system = "local@none"}};
    if (i >= 10 && i < 15) jobs[i].plan.pool = pool;
  }
  return (struct lb_plan){.scenarios = scenarios, .scenario_count = SCENARIOS, .jobs = jobs, .job_count = JOBS};
}

TEST(the_parts_are_the_plan) {
  static struct lb_job jobs[JOBS];
  static const struct lb_times none;
  struct lb_plan plan = plan_of(jobs);
  int where[JOBS] = {0};
  size_t least = JOBS, most = 0;
  for (int index = 1; index <= SHARDS; index++) {
    struct lb_tally tally;
    lb_tally_begin(&plan, &tally);
    lb_shard_take(&tally, (struct lb_shard){index, SHARDS}, &none);
    size_t count = 0;
    for (size_t i = 0; i < JOBS; i++) {
      if (tally.jobs[i].elsewhere) continue;
      assert_int_equal(where[i], 0);
      where[i] = index;
      count++;
    }
    assert_int_equal(tally.wanted, count);
    if (count < least) least = count;
    if (count > most) most = count;
    lb_tally_clear(&tally);
  }
  for (size_t i = 0; i < JOBS; i++) assert_int_not_equal(where[i], 0);
  for (size_t i = 1; i < 10; i++) assert_int_equal(where[i], where[0]);
  for (size_t i = 11; i < 15; i++) assert_int_equal(where[i], where[10]);
  assert_true(most - least <= 9); /* what measures is long, but short beside a timeline */
}

TEST(one_shard_of_one_plays_all) {
  static struct lb_job jobs[JOBS];
  static const struct lb_times none;
  struct lb_plan plan = plan_of(jobs);
  struct lb_tally tally;
  lb_tally_begin(&plan, &tally);
  assert_int_equal(tally.wanted, JOBS);
  lb_shard_take(&tally, (struct lb_shard){1, 1}, &none);
  assert_int_equal(tally.wanted, JOBS);
  for (size_t i = 0; i < JOBS; i++) assert_false(tally.jobs[i].elsewhere);
  lb_tally_clear(&tally);
}
