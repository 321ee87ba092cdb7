/* test: memory, beside */
/* SPDX-License-Identifier: MIT
 *
 * Self-checks of a measured window: each with numbers that it lets pass and numbers that it does not, the time that clients
 * were inside with histories, and what becomes of an outcome with planted lies. The processor time is that of a real
 * process.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "base/clock.h"
#include "check/self_check.h"
#include "lines.h"
#include "trial/judge.h"
#include "trial/workload.h"
#include "trial/gauge.h"

static struct lb_self_verdict verdict;

/* Two clients for ten seconds, in a closed loop, 10 ms inside each time. */
static struct lb_self_facts ordinary(void) {
  return (struct lb_self_facts){.seconds = 10,
                                .clients = 2,
                                .has_servers = true,
                                .inside = {.inside_s = 20, .starts = 2000},
                                .latency_s = 20,
                                .longest_s = 0.5,
                                .history_s = 12,
                                .cpu_s = 5,
                                .cores = 2,
                                .steal = 0,
                                .grants = 2000,
                                .releases = 2000,
                                .requests = 4000,
                                .commits = 2000,
                                .writes = true};
}

/* The same asked for 50 times a second, half of the time for each client. */
static struct lb_self_facts open_loop(void) {
  struct lb_self_facts f = ordinary();
  f.asked_per_s = 200;
  f.latency_s = f.inside.inside_s = 10;
  f.inside.idle = 2;
  f.inside.idle_starts = f.inside.starts;
  return f;
}

static unsigned failed(struct lb_self_facts f) { return lb_self_check(&f, &verdict), verdict.failed; }

#define ONLY(check) (1u << (check))

/* However well the others do. */
TEST(a_client_without_an_answer_is_no_client) {
  struct lb_self_facts f = ordinary();
  f.unanswered = 1;
  assert_int_equal(failed(f), ONLY(LB_CHECK_ANSWERS));
  assert_string_equal(verdict.why, "1 of 2 clients never got an answer");
}

TEST(an_ordinary_window_passes) {
  assert_int_equal(failed(ordinary()), 0);
  assert_string_equal(verdict.why, "");
  assert_false(verdict.saturated);
  assert_true(verdict.busy == 2 && verdict.by_latency == 2);
  assert_int_equal(failed(open_loop()), 0);
  assert_true(verdict.busy == 1 && verdict.by_latency == 1);
  assert_false(verdict.saturated);
}

TEST(a_window_without_time_or_clients_is_not_asked) {
  struct lb_self_facts f = ordinary();
  f.steal = 1, f.seconds = 0;
  assert_int_equal(failed(f), 0);
  f.seconds = 10, f.clients = 0;
  assert_int_equal(failed(f), 0);
}

/* Its clients come when they have finished, as often as that may be. */
TEST(a_closed_loop_is_not_asked_for_a_rate) {
  struct lb_self_facts f = ordinary();
  f.inside.idle = 2, f.inside.idle_starts = f.inside.starts;
  assert_int_equal(failed(f), 0);
}

TEST(clients_that_are_neither_inside_nor_think_break_littles_law) {
  struct lb_self_facts f = ordinary();
  f.latency_s = 18.1; /* of 20 */
  assert_int_equal(failed(f), 0);
  f.latency_s = 17.9;
  assert_int_equal(failed(f), ONLY(LB_CHECK_LITTLE));
  f.inside.edge_s = 0.2; /* what the window cuts in two may be in one number only */
  assert_int_equal(failed(f), 0);
  f.latency_s = 17.7;
  assert_int_equal(failed(f), ONLY(LB_CHECK_LITTLE));
  f.latency_s = 17.9;
  f.inside.edge_s = 0, f.inside.uncounted_s = 2.1; /* they gave up */
  assert_int_equal(failed(f), 0);
  f.inside.uncounted_s = 0, f.think_s = 0.001; /* 2000 times, in a mean of which four standard deviations are 0.018 */
  f.latency_s = 15.9;
  assert_int_equal(failed(f), 0);
  f.latency_s = 15.7;
  assert_int_equal(failed(f), ONLY(LB_CHECK_LITTLE));
  f.latency_s = 17.9, f.think_s = 0, f.has_servers = false; /* the clients are the lock */
  assert_int_equal(failed(f), 0);
}

TEST(more_latency_than_clients_breaks_it_too) {
  struct lb_self_facts f = ordinary();
  f.latency_s = 22.1;
  assert_int_equal(failed(f), ONLY(LB_CHECK_LITTLE));
}

TEST(in_an_open_loop_the_events_say_how_many_are_inside) {
  struct lb_self_facts f = open_loop();
  f.latency_s = 8.9;
  assert_int_equal(failed(f), ONLY(LB_CHECK_LITTLE));
}

/* Four standard deviations of 2000 starts are 179, more than 5 %. */
TEST(starts_that_idle_clients_did_not_make_are_the_harness_s) {
  struct lb_self_facts f = open_loop();
  f.inside.starts = f.inside.idle_starts = 1830;
  assert_int_equal(failed(f), 0);
  f.inside.starts = f.inside.idle_starts = 1820;
  assert_int_equal(failed(f), ONLY(LB_CHECK_RATE));
  assert_string_equal(verdict.why, "of 200 starts per s clients that were not busy had to make 200 and made 182");
  assert_false(verdict.saturated);
  f.inside.starts = f.inside.idle_starts = 2180;
  assert_int_equal(failed(f), ONLY(LB_CHECK_RATE));
}

TEST(starts_that_busy_clients_did_not_make_are_saturation) {
  struct lb_self_facts f = open_loop();
  f.inside.starts = 1500, f.inside.idle = 1, f.inside.idle_starts = 1000;
  assert_int_equal(failed(f), 0);
  assert_true(verdict.saturated);
  f.inside.idle = 0, f.inside.idle_starts = 0;
  assert_int_equal(failed(f), 0);
  assert_true(verdict.saturated);
}

TEST(clients_without_a_processor_to_spare_are_measured_themselves) {
  struct lb_self_facts f = ordinary();
  f.cpu_s = 18.9; /* of 2 processors for 10 s */
  assert_int_equal(failed(f), 0);
  f.cpu_s = 19;
  assert_int_equal(failed(f), ONLY(LB_CHECK_CPU));
  f.has_servers = false;
  assert_int_equal(failed(f), 0);
  f = ordinary(), f.cpu_s = -1;
  assert_int_equal(failed(f), 0);
  f.cpu_s = f.cores = 0; /* nobody could count them */
  assert_int_equal(failed(f), 0);
}

TEST(a_latency_longer_than_the_history_ran_backwards) {
  struct lb_self_facts f = ordinary();
  f.longest_s = 12.9; /* it may have begun before the first event of 12 s */
  assert_int_equal(failed(f), 0);
  f.longest_s = 1.8e10; /* UINT64_MAX ns */
  assert_int_equal(failed(f), ONLY(LB_CHECK_RANGE));
}

TEST(the_longest_of_any_latency_counts) {
  static struct lb_stats stats;
  uint64_t *const most[] = {&stats.wait.max, &stats.service.max, &stats.hold.max, &stats.handoff.max,
                            &stats.release.max};
  for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
    *most[i] = 7000000000;
    assert_true(lb_self_longest_s(&stats) == 7);
    *most[i] = 1000000000;
  }
}

TEST(servers_that_were_not_asked_granted_nothing) {
  struct lb_self_facts f = ordinary();
  f.requests = 3799;
  assert_int_equal(failed(f), ONLY(LB_CHECK_COUNTERS));
  f.requests = 0;
  assert_int_equal(failed(f), ONLY(LB_CHECK_COUNTERS));
  f.requests = 3800;
  assert_int_equal(failed(f), 0);
  f.requests = -1, f.commits = 1899;
  assert_int_equal(failed(f), ONLY(LB_CHECK_COUNTERS));
  f.writes = false;
  assert_int_equal(failed(f), 0);
  f.commits = -1, f.counted_back = true;
  assert_int_equal(failed(f), ONLY(LB_CHECK_COUNTERS));
}

TEST(stolen_time_is_not_the_lock_s) {
  struct lb_self_facts f = ordinary();
  f.steal = 0.05;
  assert_int_equal(failed(f), 0);
  f.steal = 0.051;
  assert_int_equal(failed(f), ONLY(LB_CHECK_STEAL));
}

TEST(all_that_failed_is_named) {
  struct lb_self_facts f = ordinary();
  f.steal = 0.2, f.cpu_s = 20;
  assert_int_equal(failed(f), ONLY(LB_CHECK_CPU) | ONLY(LB_CHECK_STEAL));
  assert_string_equal(verdict.why, "the clients used 100 % of 2 processors: they were measured and not the lock; the "
                                   "hypervisor took 20 % of the time that this machine wanted");
}

TEST(of_more_reasons_than_there_is_room_for_the_first_are_named) {
  struct lb_self_facts f = open_loop();
  f.unanswered = 1, f.inside.inside_s = 0, f.inside.idle_starts = 0, f.cpu_s = 20, f.longest_s = 1e6, f.steal = 0.2;
  f.counted_back = true, f.requests = f.commits = 0;
  assert_int_equal(failed(f), 2 * ONLY(LB_CHECK_ANSWERS) - 1);
  assert_true(strnlen(verdict.why, sizeof verdict.why) == sizeof verdict.why - 1);
  assert_memory_equal(verdict.why, "1 of 2 clients never got an answer; ", 36);
}

/* ---- the time inside ---- */

#define EVENT(t, c, e) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"x\",\"e\":\"" e "\"}\n"
#define PHASE(t, phase) "{\"t\":" #t ",\"e\":\"phase\",\"phase\":\"" phase "\"}\n"

static struct lb_inside inside;

static void measure(const char *lines) {
  static struct lb_stats stats;
  struct lb_history h;
  struct lb_error err;
  if (parse_lines("test", lines, &h, &err) < 0) fail_msg("%s", err.text);
  lb_stats_history(&h, &stats);
  lb_inside_measure(&h, &stats, &inside);
  lb_stats_clear(&stats);
  lb_history_clear(&h);
}

static void assert_ns(double s, double ns) {
  if (s * 1e9 < ns - 0.01 || s * 1e9 > ns + 0.01) fail_msg("%g ns, expected %g", s * 1e9, ns);
}

TEST(a_client_is_inside_until_its_release_is_confirmed) {
  measure(PHASE(5, "measure") EVENT(10, "a", "acquire") EVENT(20, "a", "granted") EVENT(30, "a", "release")
              EVENT(45, "a", "released") EVENT(50, "b", "acquire") EVENT(60, "b", "busy") PHASE(100, "end"));
  assert_ns(inside.inside_s, 45);
  assert_ns(inside.uncounted_s, 0);
  assert_ns(inside.edge_s, 0);
  assert_int_equal(inside.starts, 2);
  assert_int_equal(inside.idle, 2);
  assert_int_equal(inside.idle_starts, 2);
}

TEST(the_window_cuts_off_what_lies_outside) {
  measure(EVENT(10, "a", "acquire") PHASE(100, "measure") EVENT(110, "a", "granted") EVENT(115, "a", "release")
              EVENT(120, "a", "released") EVENT(121, "a", "acquire") EVENT(130, "a", "granted") PHASE(200, "end")
                  EVENT(220, "a", "release") EVENT(221, "a", "released"));
  assert_ns(inside.inside_s, 20 + 79);
  assert_ns(inside.edge_s, 110 + 100);
  assert_ns(inside.uncounted_s, 0);
  assert_int_equal(inside.starts, 1);
  assert_int_equal(inside.idle, 0);
}

TEST(what_no_histogram_has_is_counted_from_where_they_end) {
  measure(PHASE(0, "measure") EVENT(10, "a", "acquire") EVENT(20, "a", "granted") EVENT(50, "a", "lost")
              EVENT(60, "b", "acquire") EVENT(61, "b", "granted") EVENT(62, "b", "release") EVENT(80, "b", "acquire")
                  EVENT(81, "b", "released") EVENT(82, "b", "granted") EVENT(83, "b", "release")
                      EVENT(84, "b", "released") PHASE(100, "end"));
  assert_ns(inside.uncounted_s, 30 + 18); /* a debt that is paid while b asks confirms nothing of this attempt */
  assert_ns(inside.inside_s, 40 + 24);
}

/* Who gives up has a wait in the histogram; in an open loop what counts is the service, which it has not. */
TEST(a_wait_that_was_given_up_is_counted_once) {
  measure(PHASE(0, "measure") EVENT(10, "a", "acquire") EVENT(40, "a", "timeout") EVENT(50, "a", "acquire")
              EVENT(55, "a", "unknown") PHASE(100, "end"));
  assert_ns(inside.inside_s, 35);
  assert_ns(inside.uncounted_s, 0);
  measure("{\"format\":2}\n" PHASE(
      0, "measure") "{\"t\":10,\"c\":\"a\",\"k\":\"x\",\"e\":\"acquire\",\"due\":5}\n" EVENT(40, "a", "timeout")
              PHASE(100, "end"));
  assert_ns(inside.uncounted_s, 30);
}

/* Another try of an attempt is none of its own, and what begins with the window is in it, what begins with its end is not. */
TEST(an_attempt_begins_once) {
  measure(PHASE(10, "measure") EVENT(10, "a", "acquire") EVENT(30, "a", "acquire") EVENT(50, "a", "busy")
              EVENT(60, "b", "released") PHASE(100, "end") EVENT(100, "a", "acquire") EVENT(110, "a", "busy"));
  assert_ns(inside.inside_s, 40);
  assert_ns(inside.uncounted_s, 0);
  assert_int_equal(inside.starts, 1);
}

/* It holds when the history ends, 30 after its grant. */
TEST(what_never_ended_is_uncounted) {
  measure(PHASE(0, "measure") EVENT(10, "a", "acquire") EVENT(70, "a", "granted") PHASE(100, "end"));
  assert_ns(inside.inside_s, 90);
  assert_ns(inside.uncounted_s, 30);
}

TEST(what_was_due_before_the_window_is_no_start_that_it_asked_for) {
  measure(
      "{\"t\":90,\"e\":\"phase\",\"phase\":\"measure\"}\n"
      "{\"t\":100,\"c\":\"a\",\"k\":\"x\",\"e\":\"acquire\",\"due\":80}\n" EVENT(
          101, "a", "busy") "{\"t\":102,\"c\":\"a\",\"k\":\"x\",\"e\":\"acquire\",\"due\":95}\n" EVENT(103, "a", "busy")
          PHASE(200, "end"));
  assert_int_equal(inside.starts, 2);
  assert_int_equal(inside.idle_starts, 1);
}

/* ---- a trial ---- */

static struct lb_protocol protocol = {.name = "p", .traits = LB_TRAIT_LEASED};
static struct lb_scenario scenario = {.name = (char *)"s", .kind = LB_KIND_LOAD, .ttl_ms = 1000, .keys = 1};
static struct lb_trial_plan plan = {
    .scenario = &scenario, .protocol = &protocol, .system = "p@x", .clients = 1, .name = "s.p@x.none.c1.t1"};
static struct lb_stage stage;

static int set_up(void **state) {
  (void)state;
  stage = (struct lb_stage){.plan = &plan,
                            .client_count = 1,
                            .verdict = LB_VERDICT_NONE,
                            .cluster = {.data_count = 1},
                            .gauge = {.cpu_s = -1, .cores = 1, .steal = -1},
                            .memory = lb_memory_map(1, 1, 1)};
  return stage.memory ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  lb_memory_unmap(stage.memory);
  return 0;
}

/* One client for 750 us: granted, released, again. */
static void judge(struct lb_outcome *out) {
  static const enum lb_event_kind kinds[] = {LB_EV_ACQUIRE, LB_EV_GRANTED, LB_EV_RELEASE, LB_EV_RELEASED};
  struct lb_judgement judgement;
  for (uint64_t t = 0; t < 1000; t++) {
    lb_memory_record(stage.memory, 0, (struct lb_event){.kind = (uint16_t)kinds[t % 4], .fact = LB_NO_NAME});
    stage.memory->events[stage.memory->log[0].first + t].t = 1000000 + (t - t / 4) * 1000; /* the next one at once */
  }
  *out = (struct lb_outcome){.counters = lb_counters_none()};
  out->requests = stage.requests, out->commits = stage.commits;
  assert_int_equal(lb_judge(&stage, &judgement, out), 0);
  lb_judgement_clear(&judgement);
  lb_history_clear(&stage.history);
}

TEST_WITH(a_trial_without_a_lie_has_its_speed, set_up, tear_down) {
  struct lb_outcome out;
  stage.requests = 500, stage.commits = 500;
  judge(&out);
  assert_int_equal(out.verdict, LB_SAFE);
  assert_int_equal(out.speed_void, 0);
  assert_string_equal(out.why, "");
  assert_true(out.clients_busy == 1 && out.clients_by_latency > 0.95);
  assert_true(out.starts_per_s > 200000);
}

TEST_WITH(planted_lies_void_the_speed_and_not_the_verdict, set_up, tear_down) {
  struct lb_outcome out;
  stage.requests = 10, stage.commits = -1;
  stage.gauge.cpu_s = 0.98 * 749e-6, stage.gauge.cores = 1, stage.gauge.steal = 0.5;
  judge(&out);
  assert_int_equal(out.verdict, LB_SAFE);
  assert_int_equal(out.speed_void, 1);
  assert_true(strncmp(out.why, "no speed: the clients used 98 % of 1 processors", 46) == 0);
  assert_non_null(strstr(out.why, "the servers counted 10 requests for 250 grants and 250 releases"));
  assert_non_null(strstr(out.why, "the hypervisor took 50 %"));
}

TEST_WITH(a_campaign_measures_no_speed_that_could_be_void, set_up, tear_down) {
  struct lb_outcome out;
  scenario.kind = LB_KIND_CAMPAIGN;
  stage.requests = 10;
  judge(&out);
  scenario.kind = LB_KIND_LOAD;
  assert_int_equal(out.speed_void, 0);
}

/* ---- processors ---- */

TEST_WITH(a_process_that_never_waits_uses_all_of_one_processor, set_up, tear_down) {
  pid_t pid = fork();
  if (pid == 0)
    for (;;) lb_clock_ns();
  uint64_t deadline = lb_clock_ns() + UINT64_C(30000000000);
  atomic_store(&stage.memory->state[0].pid, (int)pid);
  lb_gauge_begin(&stage);
  uint64_t used = lb_clock_cpu_ns(pid);
  while (lb_clock_cpu_ns(pid) < used + 100000000 && lb_clock_ns() < deadline) usleep(1000);
  lb_gauge_end(&stage);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  assert_true(stage.gauge.cpu_s > 0.09 && stage.gauge.cpu_s < 30);
  assert_true(stage.gauge.cores == 1);
  assert_true(stage.gauge.steal >= 0 && stage.gauge.steal <= 1);
  struct lb_self_facts f = ordinary();
  f.cpu_s = stage.gauge.cpu_s, f.cores = stage.gauge.cores, f.seconds = f.cpu_s, f.latency_s = 2 * f.seconds;
  assert_int_equal(failed(f), ONLY(LB_CHECK_CPU));
}
