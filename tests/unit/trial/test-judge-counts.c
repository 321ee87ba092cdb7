/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Every number of an outcome, each with a value of its own, so that none can stand in another's place. The trial is
 * played by hand in one memory: a scene per number, each on a key of its own, at times of our choosing.
 */

#include "history/history_load.h"
#include "test.h"
#include "base/error.h"
#include "check/check.h"
#include "base/files.h"
#include "judged.h"
#include "scratch.h"

enum { CLIENTS = 3, CONTROLLER = CLIENTS, TTL_MS = 1000, KEPT = 50000 };
#define MS UINT64_C(1000000)
#define US UINT64_C(1000)

static struct world *w;

static int set_up(void **state) {
  *state = w = world_of(CLIENTS, 4, TTL_MS);
  return w ? 0 : -1;
}

static int tear_down(void **state) { return world_end(*state), 0; }
EACH(set_up, tear_down);

/* ---- a trial by hand --------------------------------------------------------------------------------------------- */

static void put(size_t log, uint64_t t, struct lb_event event) {
  const struct lb_log *l = &w->stage.memory->log[log];
  event.fact = LB_NO_NAME;
  lb_memory_record(w->stage.memory, log, event);
  w->stage.memory->events[l->first + atomic_load(&l->count) - 1].t = t;
}

static void did(uint64_t t, uint32_t client, uint32_t key, enum lb_event_kind kind) {
  put(client, t, (struct lb_event){.kind = (uint16_t)kind, .client = client, .key = key});
}

static void accessed(uint64_t t, uint32_t client, uint32_t key, enum lb_event_kind kind, uint64_t value) {
  put(client, t,
      (struct lb_event){.kind = (uint16_t)kind, .client = client, .key = key, .flags = LB_EVF_VALUE, .value = value});
}

static void held(uint32_t client, uint32_t key, uint64_t from, uint64_t to) {
  did(from, client, key, LB_EV_GRANTED);
  did(to, client, key, LB_EV_RELEASE);
}

static void moved(uint64_t t) {
  const struct lb_log *l = &w->stage.memory->log[CONTROLLER];
  w->stage.memory->events[l->first + atomic_load(&l->count) - 1].t = t;
}

static void said(uint64_t t, enum lb_event_kind kind, const char *text) {
  if (kind == LB_EV_FAULT) lb_stage_fault(&w->stage, &(struct lb_step){.text = (char *)text, .number = 1});
  else lb_stage_note(&w->stage, "%s", text);
  moved(t);
}

static void marked(uint64_t t, enum lb_fact_phase phase) {
  lb_stage_phase(&w->stage, phase);
  moved(t);
}

static void judge(void) {
  if (judge_and_keep(&w->stage, &w->out) != 0) fail_msg("%s", w->out.why);
}

static const char *part(const char *folder, const char *ending) {
  static char path[300];
  snprintf(path, sizeof path, "%s/%s/%s.%s", w->dir, folder, w->plan.name, ending);
  return path;
}

static struct lb_history written(void) {
  struct lb_history h;
  struct lb_error err;
  assert_true(w->out.history_kept);
  if (lb_history_load(part("histories", "hist"), NULL, &h, &err) != 0) fail_msg("%s", err.text);
  return h;
}

/* ---- the scenes; times in ms ------------------------------------------------------------------------------------- */

enum { REGRESSES, OVERLAPS, DIRTY, STALE, FENCED, LOST, ORPHAN, BLIND, ASKED_ONCE, KEYS };

/* 14 grants to one client before anything is measured: 13 of them with a number that has not grown. */
static void scene_of_regressions(void) {
  for (uint64_t i = 0; i < 14; i++) {
    put(0, (10 + 2 * i) * MS,
        (struct lb_event){.kind = LB_EV_GRANTED, .key = REGRESSES, .flags = LB_EVF_FENCE, .fence = 5});
    did((11 + 2 * i) * MS, 0, REGRESSES, LB_EV_RELEASE);
  }
}

/* Three double holds of 3 ms each, in the first of them three clients at once: 7 grants, 5 of them hand-offs. */
static void scene_of_overlaps(void) {
  held(0, OVERLAPS, 110 * MS, 115 * MS);
  held(1, OVERLAPS, 112 * MS, 116 * MS);
  held(2, OVERLAPS, 113 * MS, 114 * MS);
  held(0, OVERLAPS, 120 * MS, 125 * MS);
  held(1, OVERLAPS, 122 * MS, 126 * MS);
  held(1, OVERLAPS, 127 * MS, 132 * MS);
  held(0, OVERLAPS, 129 * MS, 133 * MS);
}

/* 7 reads by a client that does not hold. */
static void scene_of_dirty_reads(void) {
  for (uint64_t i = 0; i < 7; i++) accessed((134 + i) * MS, 1, DIRTY, LB_EV_READ, 3);
}

/* 2 grants, 1 hand-off, an access by the new holder; then 5 writes of the former one, dirty ones. */
static void scene_of_stale_writes(void) {
  held(0, STALE, 142 * MS, 143 * MS);
  held(1, STALE, 144 * MS, 145 * MS);
  accessed(144 * MS + MS / 2, 1, STALE, LB_EV_WRITE, 1);
  for (uint64_t i = 0; i < 5; i++) accessed((146 + i) * MS, 0, STALE, LB_EV_WRITE, 2 + i);
}

/* 1 grant; 11 writes that the resource refused, for it had seen a larger number. */
static void scene_of_fenced_writes(void) {
  held(0, FENCED, 152 * MS, 166 * MS);
  put(0, 153 * MS,
      (struct lb_event){.kind = LB_EV_READ, .key = FENCED, .flags = LB_EVF_VALUE | LB_EVF_FENCE, .fence = 9});
  for (uint64_t i = 0; i < 11; i++)
    put(0, (154 + i) * MS,
        (struct lb_event){.kind = LB_EV_WRITE,
                          .key = FENCED,
                          .flags = LB_EVF_VALUE | LB_EVF_FENCE | LB_EVF_REFUSED,
                          .fence = 3,
                          .value = 1});
}

/* 1 grant; of 18 writes one shows in the value. */
static void scene_of_lost_updates(void) {
  held(0, LOST, 170 * MS, 190 * MS);
  accessed(171 * MS, 0, LOST, LB_EV_READ, 0);
  for (uint64_t i = 0; i < 18; i++) accessed((172 + i) * MS - MS / 2, 0, LOST, LB_EV_WRITE, 1);
}

/* 2 grants, 1 hand-off; a holder dies and 19 ms later another one is granted the key. */
static void scene_of_an_orphan(void) {
  did(200 * MS, 2, ORPHAN, LB_EV_GRANTED);
  put(CONTROLLER, 205 * MS, (struct lb_event){.kind = LB_EV_CRASH, .client = 2, .key = LB_NO_NAME});
  held(1, ORPHAN, 224 * MS, 225 * MS);
}

/* 2 grants, 1 hand-off; a double hold of 29 ms, at the end of which the first one learns of it. */
static void scene_of_a_blind_client(void) {
  did(230 * MS, 0, BLIND, LB_EV_GRANTED);
  held(1, BLIND, 240 * MS, 270 * MS);
  did(269 * MS, 0, BLIND, LB_EV_LOST);
}

/* 1 grant, no hand-off, 23 ms after a fault. */
static void scene_of_a_fault(void) {
  said(280 * MS, LB_EV_FAULT, "pause client 1");
  held(0, OVERLAPS, 303 * MS, 304 * MS);
}

static void scene_of_attempts_in_vain(void) {
  for (uint64_t i = 0; i < 10; i++) did((310 + i) * MS, 0, REGRESSES, LB_EV_BUSY);
  for (uint64_t i = 0; i < 21; i++) did((330 + i) * MS, 0, REGRESSES, LB_EV_TIMEOUT);
  for (uint64_t i = 0; i < 15; i++) did((360 + i) * MS, 0, REGRESSES, LB_EV_UNKNOWN);
}

/* Measured is one second, from 100 ms on. The key that comes first in the logs is the last one and never comes
 * again. */
static void play(void) {
  did(1 * MS, 0, ASKED_ONCE, LB_EV_ACQUIRE);
  marked(100 * MS, LB_PHASE_MEASURE);
  for (uint32_t c = 0; c < CLIENTS; c++) did(101 * MS, c, REGRESSES, LB_EV_ACQUIRE);
  scene_of_regressions();
  scene_of_overlaps();
  scene_of_dirty_reads();
  scene_of_stale_writes();
  scene_of_fenced_writes();
  scene_of_lost_updates();
  scene_of_an_orphan();
  scene_of_a_blind_client();
  scene_of_a_fault();
  scene_of_attempts_in_vain();
  marked(1100 * MS, LB_PHASE_END);
}

/* ---- statements: counts ------------------------------------------------------------------------------------------ */

TEST(each_count_of_the_checker_reaches_the_outcome) {
  play();
  judge();
  assert_int_equal(w->out.verdict, LB_VIOLATED);
  assert_int_equal(w->out.grants, 30);
  assert_int_equal(w->out.handoffs, 8);
  assert_int_equal(w->out.double_holds, 4);
  assert_int_equal(w->out.double_hold_ns, (3 * 3 + 29) * MS);
  assert_int_equal(w->out.within_lease, 4);
  assert_int_equal(w->out.depth, 3);
  assert_int_equal(w->out.dirty_accesses, 7 + 5);
  assert_int_equal(w->out.lost_updates, 17);
  assert_int_equal(w->out.stale_writes, 5);
  assert_int_equal(w->out.fenced_off, 11);
  assert_int_equal(w->out.token_regressions, 13);
  assert_int_equal(w->out.unavailable_ns, 23 * MS);
  assert_int_equal(w->out.orphan_ns, 19 * MS);
  assert_int_equal(w->out.blind_ns, 29 * MS);
}

TEST(each_count_of_the_measured_window_reaches_the_outcome) {
  play();
  judge();
  assert_int_equal(w->out.client_max, 8); /* client 1: 8, 2: 6, 3: 2 */
  assert_int_equal(w->out.busy, 10);
  assert_int_equal(w->out.timeouts, 21);
  assert_int_equal(w->out.unknowns, 15);
  assert_true(w->out.measured_s == 1);
  assert_true(w->out.grants_per_s == 16);
  assert_int_equal(w->out.client_min, 2);
  assert_int_equal(w->out.client_max, 8);
  assert_true(w->out.jain > 256. / 312 - 1e-9 && w->out.jain < 256. / 312 + 1e-9);
}

/* Of a timeline the times are the scenario's, not the lock's. */
TEST(a_timeline_has_the_checkers_counts_and_no_others) {
  w->scenario.kind = LB_KIND_TIMELINE;
  play();
  judge();
  assert_int_equal(w->out.grants, 30);
  assert_int_equal(w->out.dirty_accesses, 12);
  assert_int_equal(w->out.busy + w->out.timeouts + w->out.unknowns, 0);
  assert_true(w->out.grants_per_s == 0);
}

/* Attempt i (from 1) waits twice, holds four times and is handed the lock over in length(i); few are long, very few
 * very. */
enum { ATTEMPTS = 10001 }; /* a hand-off less; ten of these are beyond the last quantile */
static uint64_t length(uint64_t i) { return i * US * (i <= 9000 ? 1 : i <= 9950 ? 3 : 9); }

static void assert_near(uint64_t value, uint64_t expected) {
  assert_in_range(value, expected - expected / 64, expected + expected / 64);
}

TEST(each_quantile_stands_in_its_place) {
  uint64_t released = 1000 * MS;
  for (uint64_t i = 1; i <= ATTEMPTS; i++) {
    uint32_t client = i % 2;
    did(released - length(i), client, 0, LB_EV_ACQUIRE);
    did(released + length(i), client, 0, LB_EV_GRANTED);
    released += 5 * length(i);
    did(released, client, 0, LB_EV_RELEASE);
  }
  judge();
  assert_int_equal(w->out.verdict, LB_SAFE);
  const struct {
    uint64_t rank;
    int64_t wait, hold, handoff;
  } x[] = {{5001, w->out.wait_p50_ns, w->out.hold_p50_ns, w->out.handoff_p50_ns},
           {9901, w->out.wait_p99_ns, w->out.hold_p99_ns, w->out.handoff_p99_ns},
           {9991, w->out.wait_p999_ns, w->out.hold_p999_ns, w->out.handoff_p999_ns}};
  for (size_t q = 0; q < sizeof x / sizeof *x; q++) {
    assert_near((uint64_t)x[q].wait, 2 * length(x[q].rank));
    assert_near((uint64_t)x[q].hold, 4 * length(x[q].rank));
    assert_near((uint64_t)x[q].handoff, length(x[q].rank + 1)); /* the first of all was handed over by nobody */
  }
}

/* ---- statements: files ------------------------------------------------------------------------------------------- */

TEST(the_written_history_is_judged_like_the_trial) {
  struct lb_check check;
  play();
  judge();
  struct lb_history h = written();
  assert_int_equal(h.clients.count, CLIENTS);
  assert_string_equal(h.clients.name[2], "client-3");
  assert_int_equal(h.keys.count, KEYS);
  assert_string_equal(h.keys.name[KEYS - 1], "lock-9");
  assert_int_equal(h.events[0].key, ASKED_ONCE);
  assert_int_equal(h.count, w->stage.history.count);
  lb_check_history(&h, &check);
  assert_int_equal(check.double_hold_ns, w->out.double_hold_ns);
  assert_int_equal(check.dirty_accesses, w->out.dirty_accesses);
  assert_int_equal(check.lost_updates, w->out.lost_updates);
  assert_int_equal(check.orphan_ns, w->out.orphan_ns);
  lb_check_clear(&check);
  lb_history_clear(&h);
}

TEST(a_key_that_comes_late_has_its_name) {
  w->scenario.kind = LB_KIND_TIMELINE;
  held(0, 0, 1 * MS, 2 * MS);
  held(1, 2, 3 * MS, 4 * MS);
  judge();
  struct lb_history h = written();
  assert_int_equal(h.keys.count, 3);
  assert_string_equal(h.keys.name[2], "lock-3");
  lb_history_clear(&h);
}

TEST(a_history_in_which_nobody_asked_names_no_key) {
  w->scenario.kind = LB_KIND_TIMELINE;
  said(1 * MS, LB_EV_NOTE, "nobody came");
  judge();
  struct lb_history h = written();
  assert_int_equal(h.count, 1);
  assert_int_equal(h.keys.count, 0);
  lb_history_clear(&h);
}

TEST(the_series_has_each_count_and_the_waits_in_microseconds) {
  char line[300] = "", rest[300];
  play();
  did(400 * MS, 2, LOST, LB_EV_ACQUIRE);
  held(2, LOST, 402 * MS, 403 * MS);
  judge();
  FILE *in = fopen(part("parts", "series"), "re");
  assert_non_null(in);
  assert_non_null(fgets(line, sizeof line, in));
  assert_null(fgets(rest, sizeof rest, in)); /* one second */
  fclose(in);
  double p50 = 0, p99 = 0;
  assert_int_equal(sscanf(line, "s,p@none,none,3,4,0,17,10,21,15,%lf,%lf", &p50, &p99), 2);
  assert_true(p50 > 1960 && p50 < 2040);
  assert_true(p99 > 204000 && p99 < 213000); /* of who gave up */
}

TEST(lengths_of_nothing_and_of_less_than_a_ms_have_rows) {
  char line[300];
  int waits_of_nothing = 0, holds = 0;
  w->scenario.hold_ms = 0.5;
  w->scenario.min_handoffs = 0;
  did(10 * MS, 0, 0, LB_EV_ACQUIRE);
  held(0, 0, 10 * MS, 10 * MS + 500 * US);
  judge();
  FILE *in = fopen(part("parts", "latency"), "re");
  assert_non_null(in);
  while (fgets(line, sizeof line, in)) {
    waits_of_nothing += strcmp(line, "s,p@none,none,3,4,wait,0,0,1\n") == 0;
    holds += strstr(line, ",hold,") != NULL;
  }
  fclose(in);
  assert_int_equal(waits_of_nothing, 1);
  assert_int_equal(holds, 1);
}

/* ---- statements: what is kept of a long history ------------------------------------------------------------------ */

/* An overlap, then holds apart, until there are so many events. */
static void long_violated_trial(size_t events) {
  held(0, 0, 1 * MS, 3 * MS);
  held(1, 0, 2 * MS, 4 * MS);
  for (size_t i = 4; i < events; i++) did((i + 10) * MS, 2, 0, i % 2 ? LB_EV_RELEASE : LB_EV_GRANTED);
}

TEST(a_history_of_just_the_length_that_is_kept_stays_whole) {
  long_violated_trial(KEPT);
  judge();
  struct lb_history h = written();
  assert_int_equal(h.count, KEPT);
  assert_int_equal(h.fact_count, 0);
  lb_history_clear(&h);
}

TEST(that_a_history_was_cut_stands_at_the_cut) {
  long_violated_trial(KEPT + 3);
  judge();
  struct lb_history h = written();
  assert_int_equal(h.count, KEPT + 1);
  assert_int_equal(h.events[KEPT].kind, LB_EV_SHORTENED);
  assert_int_equal(h.events[KEPT].t, h.events[KEPT - 1].t);
  assert_int_equal(h.events[KEPT].s, h.events[KEPT - 1].s);
  lb_history_clear(&h);
}

/* Whatever clients were told. */
TEST(that_a_history_was_cut_is_its_last_word) {
  long_violated_trial(KEPT + 3);
  strcpy(w->stage.memory->state[0].error, "release: refused");
  judge();
  struct lb_history h = written();
  assert_int_equal(h.count, KEPT + 2);
  assert_int_equal(h.events[KEPT].kind, LB_EV_ERROR);
  assert_int_equal(h.events[KEPT + 1].kind, LB_EV_SHORTENED);
  lb_history_clear(&h);
}

/* ---- statements: verdicts at their edges ------------------------------------------------------------------------- */

static void two_held_apart(void) {
  held(0, 0, 10 * MS, 20 * MS);
  held(1, 0, 30 * MS, 40 * MS);
}

/* From 100 ms on, for long enough. */
static void asks_again_in_vain(void) {
  lb_stage_phase(&w->stage, LB_PHASE_CLOSING);
  moved(100 * MS);
  did(101 * MS, 0, 0, LB_EV_ACQUIRE);
  did((100 + 3 * TTL_MS / 2) * MS, 0, 0, LB_EV_TIMEOUT);
}

TEST(a_scenario_that_asks_for_one_hand_off_gets_none_from_a_lonely_client) {
  held(0, 0, 10 * MS, 20 * MS);
  judge();
  assert_int_equal(w->out.verdict, LB_UNDECIDED);
  assert_string_equal(w->out.why, "0 hand-offs, the scenario asks for 1");
}

TEST(a_stall_of_up_to_half_the_ttl_does_not_excuse_being_stuck) {
  lb_stage_doubt(&w->stage, LB_STUCK, "no failover");
  two_held_apart();
  asks_again_in_vain();
  for (uint64_t stall_ms = 2; stall_ms <= TTL_MS / 2; stall_ms += 498) {
    struct lb_history *h = &w->stage.history; /* of the judgement before; its facts stay */
    free(h->events);
    h->events = NULL, h->count = h->capacity = 0;
    w->out.stall_ns = stall_ms * MS;
    judge();
    assert_int_equal(w->out.verdict, LB_STUCK);
    assert_string_equal(
        w->out.why,
        "no failover; 1.5 s more changed nothing, though every lease and session should be over that is not kept up");
  }
}

TEST(a_stall_that_may_be_why_it_is_stuck_is_told_in_ms) {
  lb_stage_doubt(&w->stage, LB_STUCK, "no failover");
  two_held_apart();
  w->out.stall_ns = 777 * MS;
  judge();
  assert_int_equal(w->out.verdict, LB_UNDECIDED);
  assert_string_equal(w->out.why, "no failover, but the machine stalled for 777 ms, more than half the ttl");
}

/* ---- statements: what cannot be written -------------------------------------------------------------------------- */

TEST(a_history_that_no_reader_would_accept_is_an_error_with_a_reason) {
  w->scenario.kind = LB_KIND_TIMELINE;
  two_held_apart();
  accessed(35 * MS, 1, 0, LB_EV_READ, UINT64_MAX);
  assert_int_equal(judge_and_keep(&w->stage, &w->out), -EINVAL);
  assert_int_equal(w->out.verdict, LB_UNDECIDED);
  assert_string_equal(w->out.why, "the trial's results could not be written: Invalid argument");
  assert_false(w->out.history_kept);
}
