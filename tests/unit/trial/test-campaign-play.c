/* test: compute, memory, wraps lb_clock_ns lb_files_make_dirs lb_workload_begin lb_workload_continue lb_workload_end lb_cast_find lb_fault_do lb_fault_undo */
/* SPDX-License-Identifier: MIT
 *
 * The play of a campaign with faults that do what the test says, on a clock that only work and faults move: when each
 * begins and ends, which of them count, and when the trial is doubted. The linker puts the functions below in the place
 * of those that act on real hosts (tests/meson.build); what they really do is for live-campaign.sh.
 */
#include <math.h>

#include "scenario/scenario_load.h"
#include "test.h"
#include "trial/campaign.h"
#include "base/clock.h"
#include "trial/fault.h"
#include "base/files.h"
#include "base/error.h"
#include "trial/workload.h"
#include "scratch.h"

enum { FAULTS_MAX = 100, CLIENTS = 3, DURATION_S = 63 };

static struct world {
  char dir[100];
  struct lb_scenario scenario;
  struct lb_topology topology;
  struct lb_trial_plan plan;
  struct lb_stage stage;
  lb_ns now;
  struct lb_outcome out;

  int begin_answer, end_answer, folder_answer;
  bool nobody, empty[2];       /* the cast: cannot be found; a, b have no members */
  bool no_other_side;          /* the other side of a cut cannot be found */
  const char *proofs, *undone; /* what becomes of each fault in turn: '+' or '-'; '+' when they are used up */
  lb_ns takes;                 /* a fault, to be done */
  lb_ns full_at;               /* then the log is full; 0 = never */
  bool stands_still;           /* nobody is granted */

  size_t casts, faults, undos, ends;
  bool primary_was_bound; /* when some cast was looked for */
  struct played {
    char text[100];
    lb_ns begin, end;
    size_t a, b; /* how many clients on each side */
  } played[FAULTS_MAX];
} world;

/* ---- what stands in for hosts and time --------------------------------------------------------------------------- */

lb_ns __wrap_lb_clock_ns(void);
int __real_lb_files_make_dirs(const char *path);
int __wrap_lb_files_make_dirs(const char *path);
int __wrap_lb_workload_begin(struct lb_stage *stage);
void __wrap_lb_workload_continue(struct lb_stage *stage, lb_ns when, const _Atomic bool *enough);
int __wrap_lb_workload_end(struct lb_stage *stage);
int __wrap_lb_cast_find(struct lb_stage *stage, const struct lb_role *role, struct lb_cast *ret, struct lb_error *err);
int __wrap_lb_fault_do(struct lb_stage *stage, const struct lb_step *step, const struct lb_cast *a,
                       const struct lb_cast *b, struct lb_error *err);
int __wrap_lb_fault_undo(struct lb_stage *stage, const struct lb_step *step, const struct lb_cast *a,
                         struct lb_error *err);

lb_ns __wrap_lb_clock_ns(void) { return world.now; }

int __wrap_lb_files_make_dirs(const char *path) {
  return world.folder_answer < 0 ? world.folder_answer : __real_lb_files_make_dirs(path);
}

int __wrap_lb_workload_begin(struct lb_stage *stage) {
  world.now += 5 * LB_NS_PER_S; /* to warm up: the campaign begins after it */
  if (world.begin_answer < 0) return lb_stage_doubt(stage, LB_UNDECIDED, "client-1 is gone");
  return 0;
}

void __wrap_lb_workload_continue(struct lb_stage *stage, lb_ns when, const _Atomic bool *enough) {
  assert_ptr_equal(enough, &stage->memory->log_full);
  if (!world.stands_still) atomic_fetch_add(&stage->memory->grants, 1);
  if (atomic_load(enough)) return;
  if (world.full_at && when >= world.full_at) {
    atomic_store(&stage->memory->log_full, true);
    when = world.full_at;
  }
  if (when > world.now) world.now = when;
}

int __wrap_lb_workload_end(struct lb_stage *stage) {
  world.ends++;
  if (world.end_answer < 0) return lb_stage_doubt(stage, LB_UNDECIDED, "client-1 died");
  return 0;
}

int __wrap_lb_cast_find(struct lb_stage *stage, const struct lb_role *role, struct lb_cast *ret, struct lb_error *err) {
  bool b = role->kind == LB_ROLE_NODE;
  world.casts++;
  *ret = (struct lb_cast){0};
  if (stage->primary >= 0) world.primary_was_bound = true;
  if (b ? world.no_other_side : world.nobody) return lb_error(err, -1, "nobody held the lock");
  if (!world.empty[b]) ret->client_count = b ? 2 : 1;
  return 0;
}

static bool next_is_good(const char **script) { return **script == '\0' || *(*script)++ == '+'; }

int __wrap_lb_fault_do(struct lb_stage *stage, const struct lb_step *step, const struct lb_cast *a,
                       const struct lb_cast *b, struct lb_error *err) {
  assert_true(world.faults < FAULTS_MAX);
  struct played *p = &world.played[world.faults++];
  *p = (struct played){.begin = world.now, .a = a->client_count, .b = b->client_count};
  snprintf(p->text, sizeof p->text, "%s", step->text);
  stage->primary = 1;
  world.now += world.takes;
  if (*world.proofs == '0') return world.proofs++, lb_refuse(err, "nobody to cut"), 1;
  if (next_is_good(&world.proofs)) return 0;
  return lb_error(err, -1, "it goes on");
}

int __wrap_lb_fault_undo(struct lb_stage *stage, const struct lb_step *step, const struct lb_cast *a,
                         struct lb_error *err) {
  (void)stage;
  assert_int_equal(++world.undos, world.faults);
  struct played *p = &world.played[world.faults - 1];
  assert_string_equal(p->text, step->text);
  assert_int_equal(p->a, a->client_count);
  p->end = world.now;
  if (next_is_good(&world.undone)) return 0;
  return lb_error(err, -1, "client-1 did not come back");
}

/* ---- a campaign -------------------------------------------------------------------------------------------------- */

/* Somewhat more than a minute, with faults of about two seconds every four. */
static void scenario(const char *fault) {
  struct lb_error err;
  char text[1000];
  snprintf(text, sizeof text,
           "[scenario]\ntitle = t\nquestion = q\nrefuted = r\n[workload]\nclients = 3\nduration_s = %d\n[campaign]\n"
           "every_ms = 4000\nlasts_ms = 2000\nfault = %s\n[expect]\nlocal@none = race: it is a test\n",
           DURATION_S, fault);
  lb_scenario_clear(&world.scenario);
  if (lb_scenario_parse("01-s.ini", text, strlen(text), &world.scenario, &err) != 0) fail_msg("%s", err.text);
}

static int set_up(void **state) {
  world = (struct world){
      .now = 1000 * LB_NS_PER_S, .proofs = "", .undone = "", .topology = {.name = "none", .family = &lb_family_none}};
  *state = &world;
  if (!scratch_folder(world.dir, sizeof world.dir, "campaign")) return -1;
  world.plan = (struct lb_trial_plan){.scenario = &world.scenario,
                                      .topology = &world.topology,
                                      .clients = CLIENTS,
                                      .fault_seed = 2,
                                      .name = "s.p@none.none.c3.t1"};
  world.stage = (struct lb_stage){.plan = &world.plan,
                                  .run_dir = world.dir,
                                  .client_count = CLIENTS,
                                  .primary = -1,
                                  .verdict = LB_VERDICT_NONE,
                                  .memory = lb_memory_map(CLIENTS, CLIENTS, 1)};
  scenario("pause client any"); /* unless a test says another fault */
  return world.stage.memory ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  lb_scenario_clear(&world.scenario);
  lb_history_clear(&world.stage.history);
  lb_memory_unmap(world.stage.memory);
  lb_files_remove_tree(world.dir);
  return 0;
}
EACH(set_up, tear_down);

static int play(void) { return lb_campaign_play(&world.stage, &world.out); }

static void start_again(void **state) {
  tear_down(state);
  assert_int_equal(set_up(state), 0);
}

enum { PLANNED = 10 };

/* The faults of the written schedule, in ns from the begin of the campaign; there are as many as this test was made
 * for. */
static void schedule(struct played ret[PLANNED + 1]) {
  char path[300];
  double begin, end;
  size_t count = 0;
  snprintf(path, sizeof path, "%s/schedules/%s.txt", world.dir, world.plan.name);
  FILE *in = fopen(path, "re");
  assert_non_null(in);
  for (; fscanf(in, "%lf s to %lf s: %99[^\n]\n", &begin, &end, ret[count].text) == 3; count++) {
    ret[count].begin = (lb_ns)(begin * 1e9), ret[count].end = (lb_ns)(end * 1e9);
    assert_true(count < PLANNED);
  }
  fclose(in);
  assert_int_equal(count, PLANNED);
}

/* Whether this is recorded of fault i: not done, or not proved, because of `why`. */
static bool recorded(enum lb_event_kind kind, size_t i, const char *why) {
  const struct lb_log *log = &world.stage.memory->log[CLIENTS];
  const struct lb_history *h = &world.stage.history;
  struct played planned[PLANNED + 1];
  schedule(planned);
  for (size_t n = 0; n < atomic_load(&log->count); n++) {
    const struct lb_event *e = &world.stage.memory->events[log->first + n];
    const struct lb_fact *f = lb_event_fact(h, e);
    if (e->kind != kind || f->step != i + 1) continue;
    return strcmp(h->texts.name[f->what], planned[i].text) == 0 && strcmp(h->texts.name[f->why], why) == 0;
  }
  return false;
}

static const lb_ns origin = 1005 * LB_NS_PER_S;

/* Schedules are written to the microsecond. */
static void assert_time(lb_ns t, lb_ns since_origin) {
  assert_in_range(t, origin + since_origin - 2000, origin + since_origin + 2000);
}

/* ---- statements: when -------------------------------------------------------------------------------------------- */

TEST(each_fault_begins_and_ends_when_the_schedule_says) {
  struct played planned[PLANNED + 1];
  assert_int_equal(play(), 0);
  schedule(planned);
  assert_int_equal(world.faults, PLANNED);
  assert_int_equal(world.undos, PLANNED);
  for (size_t i = 0; i < PLANNED; i++) {
    assert_string_equal(world.played[i].text, planned[i].text);
    assert_time(world.played[i].begin, planned[i].begin);
    assert_time(world.played[i].end, planned[i].end);
  }
  assert_true(world.now >= origin + DURATION_S * LB_NS_PER_S); /* the clients work to the end */
  assert_int_equal(world.ends, 1);
  assert_int_equal(world.stage.verdict, LB_VERDICT_NONE);
}

/* Seconds that come out as just so many ns. */
static double seconds(lb_ns ns) {
  double s = (double)ns / 1e9;
  while ((lb_ns)(s * 1e9) < ns) s = nextafter(s, INFINITY);
  assert_int_equal((lb_ns)(s * 1e9), ns);
  return s;
}

TEST(a_fault_that_begins_before_the_end_has_its_time_behind_it) {
  for (int nobody = 0; nobody < 2; nobody++) {
    play();
    struct played last = world.played[PLANNED - 1];
    start_again(state);
    world.nobody = nobody; /* nobody to do it to: it is waited for all the same */
    world.scenario.duration_s = seconds(last.begin - origin + 1);
    assert_int_equal(play(), 0);
    assert_int_equal(world.casts, PLANNED);
    assert_int_equal(world.now, last.end);
    start_again(state);
  }
}

TEST(no_fault_begins_at_the_very_end) {
  play();
  lb_ns begin = world.played[PLANNED - 1].begin - origin;
  start_again(state);
  world.scenario.duration_s = seconds(begin);
  assert_int_equal(play(), 0);
  assert_int_equal(world.casts, PLANNED - 1);
}

TEST(a_fault_that_is_slow_to_begin_lasts_for_half_of_its_length) {
  struct played planned[PLANNED + 1];
  world.takes = 3 * LB_NS_PER_S; /* as long as the longest one should last */
  play();
  schedule(planned);
  lb_ns begun = world.played[0].begin + world.takes - origin;
  assert_time(world.played[0].end, begun + (planned[0].end - planned[0].begin) / 2);
}

TEST(a_fault_that_is_quick_to_begin_is_not_made_longer) {
  struct played planned[PLANNED + 1];
  world.takes = 100 * LB_NS_PER_MS;
  play();
  schedule(planned);
  for (size_t i = 0; i < PLANNED; i++) assert_time(world.played[i].end, planned[i].end);
}

TEST(when_the_log_is_full_no_further_fault_begins) {
  world.full_at = origin + 15 * LB_NS_PER_S;
  assert_int_equal(play(), 0);
  assert_in_range(world.faults, 1, 4);
  assert_int_equal(world.undos, world.faults); /* what had begun is taken back */
  assert_int_equal(world.ends, 1);
}

/* ---- statements: which faults count ------------------------------------------------------------------------------ */

static void assert_counted(void **state, const char *proofs, uint64_t proved, const char *doubt) {
  world.proofs = proofs;
  assert_int_equal(play(), doubt ? -ECANCELED : 0);
  assert_int_equal(world.faults, PLANNED);
  assert_int_equal(world.out.faults, proved);
  assert_int_equal(world.stage.verdict, doubt ? LB_UNDECIDED : LB_VERDICT_NONE);
  assert_string_equal(world.stage.why, doubt ? doubt : "");
  start_again(state);
}

TEST(half_of_the_faults_have_to_be_proved) {
  assert_counted(state, "++++++++++", 10, NULL);
  assert_counted(state, "-+-+-+-+-+", 5, NULL);
  assert_counted(state, "-+-+-+-+--", 4, "4 of 10 faults were proved");
  assert_counted(state, "----------", 0, "0 of 10 faults were proved");
  assert_counted(state, "0+0+0+0+0+", 5, NULL); /* a cut of nobody proves nothing */
}

/* When the log is full no fault begins: here that is after the third. */
TEST(of_an_odd_number_more_than_half_have_to_be_proved) {
  struct played planned[PLANNED + 1];
  play();
  schedule(planned);
  for (uint64_t proved = 0; proved <= 3; proved++) {
    start_again(state);
    world.proofs = &"+++---"[3 - proved];
    world.full_at = origin + planned[2].end - LB_NS_PER_MS;
    assert_int_equal(play(), proved >= 2 ? 0 : -ECANCELED);
    assert_int_equal(world.faults, 3);
    assert_int_equal(world.out.faults, proved);
    assert_int_equal(world.stage.verdict, proved >= 2 ? LB_VERDICT_NONE : LB_UNDECIDED);
  }
}

TEST(the_only_fault_that_was_tried_has_to_be_proved) {
  world.proofs = "-";
  world.full_at = origin + LB_NS_PER_S; /* before the first one ends */
  assert_int_equal(play(), -ECANCELED);
  assert_string_equal(world.stage.why, "0 of 1 faults were proved");
}

TEST(a_fault_that_is_not_proved_is_noted_and_taken_back) {
  const struct lb_log *log = &world.stage.memory->log[CLIENTS];
  world.proofs = "+-";
  assert_int_equal(play(), 0);
  assert_true(recorded(LB_EV_NOT_PROVED, 1, "it goes on"));
  assert_int_equal(atomic_load(&log->count), 1); /* no other fault is */
  assert_int_equal(world.undos, PLANNED);
  assert_int_equal(world.out.faults, PLANNED - 1);
}

TEST(a_fault_that_hits_nobody_is_noted_waited_for_and_not_counted) {
  for (int empty = 0; empty < 2; empty++) {
    world.nobody = !empty;
    world.empty[0] = empty;
    assert_int_equal(play(), 0); /* there are no servers, and few hosts that could be hit */
    assert_int_equal(world.casts, PLANNED);
    assert_int_equal(world.faults + world.undos, 0);
    assert_int_equal(world.out.faults, 0);
    const char *why = empty ? "this system has no such host" : "nobody held the lock";
    assert_true(recorded(LB_EV_NOT_DONE, 0, why) && recorded(LB_EV_NOT_DONE, PLANNED - 1, why));
    assert_int_equal(world.stage.verdict, LB_VERDICT_NONE);
    start_again(state);
  }
}

STATES(a_system_of_servers_that_no_fault_hit_is_undecided, world.stage.cluster.data_count = 1, world.nobody = true,
       assert_int_equal(play(), -ECANCELED), assert_int_equal(world.stage.verdict, LB_UNDECIDED),
       assert_string_equal(world.stage.why, "0 of 0 faults were proved"));
STATES(a_system_of_servers_whose_faults_are_proved_is_not_doubted, world.stage.cluster.data_count = 1,
       assert_int_equal(play(), 0), assert_int_equal(world.stage.verdict, LB_VERDICT_NONE));

/* ---- statements: casts ------------------------------------------------------------------------------------------- */

STATES(a_cut_has_two_sides, scenario("cut client 1 from node any"), assert_int_equal(play(), 0),
       assert_int_equal(world.casts, 2 * PLANNED), assert_int_equal(world.played[0].a, 1),
       assert_int_equal(world.played[0].b, 2));

TEST(a_cut_without_its_other_side_is_none) {
  for (int empty = 0; empty < 2; empty++) {
    scenario("cut client 1 from node any");
    world.no_other_side = !empty;
    world.empty[1] = empty;
    assert_int_equal(play(), 0);
    assert_int_equal(world.faults, 0);
    assert_true(recorded(LB_EV_NOT_DONE, 0, empty ? "this system has no such host" : "nobody held the lock"));
    start_again(state);
  }
}

STATES(a_cut_of_nobody_does_not_ask_for_the_other_side, scenario("cut client 1 from node any"), world.nobody = true,
       assert_int_equal(play(), 0), assert_int_equal(world.casts, PLANNED));
STATES(only_a_cut_needs_another_side, world.empty[1] = world.no_other_side = true, assert_int_equal(play(), 0),
       assert_int_equal(world.faults, PLANNED), assert_int_equal(world.played[0].b, 0));

TEST(who_is_the_primary_is_asked_anew_for_each_fault) {
  assert_int_equal(play(), 0);
  assert_int_equal(world.stage.primary, 1); /* bound while the last fault was done */
  assert_false(world.primary_was_bound);
}

/* ---- statements: progress ---------------------------------------------------------------------------------------- */

/* Half of the longest fault, the lease and an attempt: what the scenario of this test allows by itself. */
static lb_ns allowed(void) { return (lb_ns)(3000 + world.scenario.ttl_ms + world.scenario.wait_ms) * LB_NS_PER_MS; }

TEST(a_lock_that_stands_still_has_its_time_after_the_last_fault) {
  world.stands_still = true;
  world.scenario.progress_ms = 60000;
  assert_int_equal(play(), 0);
  lb_ns end = world.played[PLANNED - 1].end + 60 * LB_NS_PER_S;
  assert_in_range(world.now, end, end + 100 * LB_NS_PER_MS);
  assert_int_equal(world.ends, 1);
}

TEST(without_a_bound_of_its_own_it_is_what_a_correct_lock_can_need) {
  world.scenario.ttl_ms = 30000;
  assert_int_equal(lb_scenario_progress_ms(&world.scenario) * LB_NS_PER_MS, allowed());
  world.stands_still = true;
  assert_int_equal(play(), 0);
  lb_ns end = world.played[PLANNED - 1].end + allowed();
  assert_in_range(world.now, end, end + 100 * LB_NS_PER_MS);
  world.scenario.delayed_restart = true; /* then a killed server is the longest fault: 33 s */
  assert_int_equal(lb_scenario_progress_ms(&world.scenario) * LB_NS_PER_MS, allowed() + 30 * LB_NS_PER_S);
}

TEST(a_lock_that_is_granted_after_the_last_fault_ends_in_time) {
  world.scenario.progress_ms = 60000;
  assert_int_equal(play(), 0);
  assert_true(world.now < world.played[PLANNED - 1].end + 10 * LB_NS_PER_S);
}

TEST(a_control_plays_no_fault) {
  world.scenario.control = true;
  world.stage.cluster.data_count = 1;
  assert_int_equal(play(), 0);
  assert_int_equal(world.casts + world.faults, 0);
  assert_int_equal(world.ends, 1);
  assert_true(world.now >= origin + DURATION_S * LB_NS_PER_S);
  assert_int_equal(world.stage.verdict, LB_VERDICT_NONE);
}

/* ---- statements: what ends a campaign ---------------------------------------------------------------------------- */

TEST(a_fault_that_cannot_be_taken_back_ends_the_campaign) {
  char why[300];
  world.undone = "++-";
  play();
  snprintf(why, sizeof why, "after %s: client-1 did not come back", world.played[2].text);
  assert_int_equal(world.stage.verdict, LB_UNDECIDED);
  assert_string_equal(world.stage.why, why);
  assert_int_equal(world.faults, 3);
  assert_int_equal(world.out.faults, 3);
  assert_int_equal(world.ends, 1);
}

STATES(a_doubt_from_elsewhere_ends_the_campaign_too,
       lb_stage_doubt(&world.stage, LB_UNDECIDED, "redis-1 died by itself"), play(), assert_int_equal(world.faults, 0),
       assert_int_equal(world.ends, 1), assert_string_equal(world.stage.why, "redis-1 died by itself"));
STATES(clients_that_do_not_begin_to_work_are_not_played_with, world.begin_answer = -1,
       assert_int_equal(play(), -ECANCELED), assert_int_equal(world.casts + world.ends, 0),
       assert_string_equal(world.stage.why, "client-1 is gone"));
STATES(where_there_is_no_folder_for_schedules_the_reason_is_told, world.folder_answer = -EROFS,
       assert_int_equal(play(), -ECANCELED), assert_string_equal(world.stage.why, "no schedule: Read-only file system"),
       assert_int_equal(world.casts + world.ends, 0));
STATES(clients_that_do_not_stop_are_the_reason_that_is_told, world.end_answer = -1, world.proofs = "----------",
       assert_int_equal(play(), -ECANCELED), assert_string_equal(world.stage.why, "client-1 died"));
