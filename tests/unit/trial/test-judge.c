/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * From events to a verdict and files. Each test plays a trial by hand: clients record into the memory as real ones do,
 * but at times of our choosing, so that every figure is known beforehand.
 */
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "history/history_load.h"
#include "test.h"
#include "base/error.h"
#include "check/check.h"
#include "base/files.h"
#include "judged.h"
#include "scratch.h"

enum { TTL_MS = 1000 };
#define MS UINT64_C(1000000)
#define HALF_TTL_NS (TTL_MS * MS / 2)
#define FACT "key absent on current primary"

static struct world *w;

static int set_up(void **state) {
  *state = w = world_of(2, 3, TTL_MS);
  return w ? 0 : -1;
}

static int tear_down(void **state) { return world_end(*state), 0; }
EACH(set_up, tear_down);

/* ---- a trial by hand --------------------------------------------------------------------------------------------- */

static void move_to(size_t log, uint64_t at_ms) {
  const struct lb_log *l = &w->stage.memory->log[log];
  w->stage.memory->events[l->first + atomic_load(&l->count) - 1].t = at_ms * MS;
}

/* Client 0 or 1 of this stage. */
static void record(uint64_t at_ms, uint32_t client, enum lb_event_kind kind) {
  lb_memory_record(w->stage.memory, client,
                   (struct lb_event){.kind = (uint16_t)kind, .client = client, .fact = LB_NO_NAME});
  move_to(client, at_ms);
}

static void phase(uint64_t at_ms, enum lb_fact_phase phase) {
  lb_stage_phase(&w->stage, phase);
  move_to(w->stage.client_count, at_ms);
}

/* Nobody had got the lock: client 0 asks again from then on, until then. */
enum { ENOUGH_MS = 3 * TTL_MS / 2 };
static void asks_again(uint64_t from_ms, uint64_t until_ms, enum lb_event_kind answer) {
  phase(from_ms, LB_PHASE_CLOSING);
  record(from_ms + 1, 0, LB_EV_ACQUIRE);
  record(until_ms, 0, answer);
  phase(until_ms + 1, LB_PHASE_CLOSED);
}

/* What the scenario asks for with a violation, and what was observed. */
static void asks_for_proof(void) {
  w->scenario.proof_violated = (char *)FACT;
  w->scenario.proof_role = (struct lb_role){LB_ROLE_CURRENT_PRIMARY, 0};
  w->scenario.proof_present = false;
}

static void observe(uint64_t at_ms, enum lb_role_kind role, bool present) {
  lb_stage_observed(&w->stage, &(struct lb_step){.a = {role, 0}, .number = 3}, present);
  move_to(w->stage.client_count, at_ms);
}

static void hold(uint32_t client, uint64_t asked_ms, uint64_t granted_ms, uint64_t released_ms) {
  record(asked_ms, client, LB_EV_ACQUIRE);
  record(granted_ms, client, LB_EV_GRANTED);
  record(released_ms, client, LB_EV_RELEASE);
  record(released_ms, client, LB_EV_RELEASED);
}

static void two_holds_apart(void) {
  hold(0, 10, 11, 20);
  hold(1, 12, 25, 30);
}

static void two_holds_at_once(void) {
  hold(0, 10, 11, 20);
  hold(1, 12, 15, 30);
}

static void judge(void) {
  struct lb_history *h = &w->stage.history; /* of an earlier judgement, perhaps; its texts stay */
  free(h->events);
  h->events = NULL, h->count = h->capacity = 0;
  assert_int_equal(judge_and_keep(&w->stage, &w->out), 0);
}

static void assert_decided(enum lb_verdict verdict, const char *why) {
  assert_string_equal(lb_verdict_name(w->out.verdict), lb_verdict_name(verdict));
  assert_string_equal(w->out.why, why);
}

static void decides(enum lb_verdict verdict, const char *why) {
  judge();
  assert_decided(verdict, why);
}

/* What the only step looks for, and what it saw. */
static void asks_for_a_premise(bool holds) {
  static struct lb_premise premise = {
      .kind = LB_PREMISE_HOLDS, .is = true, .client = 1, .text = (char *)"client 1 holds"};
  w->step = (struct lb_step){.verb = LB_STEP_OBSERVE_CLIENT, .a = {LB_ROLE_CLIENT, 1}, .number = 1};
  w->scenario.step_count = 1;
  w->scenario.premises = &premise;
  w->scenario.premise_count = 1;
  struct lb_client client = {.number = 0};
  struct lb_client_state *state = &w->stage.memory->state[0];
  atomic_store(&state->until, LB_NEVER);
  atomic_store(&state->holds, holds);
  lb_stage_holds(&w->stage, &w->step, &client);
  move_to(w->stage.client_count, 12);
}

/* ---- the verdict ------------------------------------------------------------------------------------------------- */

TEST(a_premise_comes_before_whatever_came_out) {
#define BROKEN "the premise \"client 1 holds\" does not hold: the opposite was observed"
  asks_for_a_premise(false);
  two_holds_at_once();
  decides(LB_UNDECIDED, BROKEN);
  assert_false(w->out.premises_observed);
  w->stage.verdict = LB_STUCK;
  snprintf(w->stage.why, sizeof w->stage.why, "no failover");
  decides(LB_UNDECIDED, BROKEN);
  w->stage.verdict = LB_UNDECIDED; /* what could not be proved says more */
  decides(LB_UNDECIDED, "no failover");
}

STATES(a_premise_that_was_observed_changes_nothing, asks_for_a_premise(true), two_holds_at_once(), judge(),
       assert_true(w->out.premises_observed), assert_decided(LB_VIOLATED, ""));

TEST(what_only_a_safe_trial_needs_is_asked_of_that_alone) {
  asks_for_a_premise(false);
  w->scenario.premises[0].use = LB_PREMISE_OF_SAFE;
  two_holds_apart();
  decides(LB_UNDECIDED, "a safe trial would have to show \"client 1 holds\", and no step observed it");
  two_holds_at_once();
  judge();
  w->scenario.premises[0].use = LB_PREMISE_OF_ALL;
  assert_decided(LB_VIOLATED, "");
}

STATES(holds_apart_are_safe, two_holds_apart(), decides(LB_SAFE, ""));
STATES(holds_at_once_are_a_violation, two_holds_at_once(), decides(LB_VIOLATED, ""));
STATES(a_violation_with_the_proof_that_was_asked_for_counts, asks_for_proof(), two_holds_at_once(),
       observe(13, LB_ROLE_CURRENT_PRIMARY, false), decides(LB_VIOLATED, ""));

TEST(a_violation_without_that_proof_is_undecided) {
  asks_for_proof();
  two_holds_at_once();
  observe(13, LB_ROLE_CURRENT_PRIMARY, true);
  observe(13, LB_ROLE_PRIMARY, false);
  lb_stage_note(&w->stage, "%s", FACT); /* words alone prove nothing */
  decides(LB_UNDECIDED, "exclusion was lost, but \"" FACT "\" was not observed");
}

STATES(a_safe_trial_needs_no_proof, asks_for_proof(), two_holds_apart(), decides(LB_SAFE, ""));

static void judge_stalled(unsigned traits, uint64_t stall_ns) {
  w->protocol.traits = traits;
  w->out.stall_ns = stall_ns;
  two_holds_at_once();
}

TEST(a_stall_above_half_the_ttl_makes_a_violation_of_a_lease_undecided) {
  judge_stalled(LB_TRAIT_LEASED, HALF_TTL_NS + 1);
  decides(LB_UNDECIDED, "exclusion was lost, but the machine stalled for 500 ms, more than half the ttl");
}

TEST(a_stall_above_half_the_ttl_makes_a_violation_of_a_session_undecided) {
  judge_stalled(LB_TRAIT_SESSION, TTL_MS * MS);
  decides(LB_UNDECIDED, "exclusion was lost, but the machine stalled for 1000 ms, more than half the ttl");
}

STATES(a_stall_of_just_half_the_ttl_excuses_nothing, judge_stalled(LB_TRAIT_LEASED, HALF_TTL_NS),
       decides(LB_VIOLATED, ""));
STATES(a_lock_without_expiry_has_no_excuse_in_a_stall, judge_stalled(LB_TRAIT_NO_EXPIRY, 200 * HALF_TTL_NS),
       decides(LB_VIOLATED, ""));

static void renewal_in_vain(uint32_t client) {
  lb_memory_record(w->stage.memory, client,
                   (struct lb_event){.kind = LB_EV_NOT_RENEWED,
                                     .client = client,
                                     .fact = LB_NO_NAME,
                                     .check = LB_CHECK_NO_ANSWER,
                                     .flags = LB_EVF_CHECK});
}

STATES(a_violation_behind_a_renewal_without_an_answer_is_undecided_if_no_fault_was_played, two_holds_at_once(),
       renewal_in_vain(0), judge(), assert_int_equal(w->out.verdict, LB_UNDECIDED));

/* The very first event counts as any other. */
STATES(so_is_one_behind_a_renewal_that_came_first, renewal_in_vain(0), move_to(0, 1), two_holds_at_once(), judge(),
       assert_int_equal(w->out.verdict, LB_UNDECIDED));

TEST(a_fault_is_why_a_renewal_gets_no_answer) {
  two_holds_at_once();
  struct lb_step kill = {
      .verb = LB_STEP_KILL, .a = {.kind = LB_ROLE_PRIMARY}, .text = (char *)"kill primary", .number = 1};
  lb_stage_fault(&w->stage, &kill);
  renewal_in_vain(0);
  decides(LB_VIOLATED, "");
}

static void judge_stalled_and_clean(unsigned traits, uint64_t stall_ns) {
  w->protocol.traits = traits;
  w->out.stall_ns = stall_ns;
  two_holds_apart();
}

STATES(a_test_on_a_machine_that_stalled_is_none, judge_stalled_and_clean(LB_TRAIT_LEASED, HALF_TTL_NS + 1),
       decides(LB_UNDECIDED, "nothing went wrong, but the machine stalled for 500 ms, more than half the ttl"));
STATES(a_stall_of_half_the_ttl_spoils_no_test, judge_stalled_and_clean(LB_TRAIT_LEASED, HALF_TTL_NS),
       decides(LB_SAFE, ""));
STATES(a_stall_does_not_matter_to_a_lock_without_expiry, judge_stalled_and_clean(LB_TRAIT_NO_EXPIRY, 200 * HALF_TTL_NS),
       decides(LB_SAFE, ""));

/* Client 1 has given up behind its deadline before it was granted: was it asleep? */
static void gave_up_late(unsigned traits, lb_ns late_ns, uint64_t stall_ns) {
  w->scenario.kind = LB_KIND_TIMELINE;
  judge_stalled_and_clean(traits, stall_ns);
  w->stage.memory->state[1].late_ns = late_ns;
}

STATES(who_slept_through_its_deadline_has_not_asked, gave_up_late(LB_TRAIT_LEASED, 21 * MS, 100 * MS),
       decides(LB_UNDECIDED,
               "nothing went wrong, but client-2 did not ask up to its deadline: the machine stalled for 100 ms"));
STATES(who_is_late_by_a_fault_has_asked, gave_up_late(LB_TRAIT_LEASED, 121 * MS, 120 * MS), decides(LB_SAFE, ""));
STATES(a_beat_late_is_not_late, gave_up_late(LB_TRAIT_LEASED, 20 * MS, 120 * MS), decides(LB_SAFE, ""));
STATES(a_short_stall_keeps_nobody_from_asking, gave_up_late(LB_TRAIT_LEASED, 21 * MS, 99 * MS), decides(LB_SAFE, ""));
STATES(a_library_may_be_late_by_itself, gave_up_late(LB_TRAIT_LEASED | LB_TRAIT_FOREIGN, 21 * MS, 100 * MS),
       decides(LB_SAFE, ""));
STATES(a_lock_without_expiry_may_be_asked_late, gave_up_late(LB_TRAIT_NO_EXPIRY, 21 * MS, 100 * MS),
       decides(LB_SAFE, ""));

/* Client 1 is refused although the lease that client 0 was told of has been over for a ttl. */
static void refused_past_the_lease(unsigned traits) {
  w->protocol.traits = traits;
  w->scenario.kind = LB_KIND_TIMELINE;
  record(10, 0, LB_EV_ACQUIRE);
  lb_memory_record(
      w->stage.memory, 0,
      (struct lb_event){.kind = LB_EV_GRANTED, .fact = LB_NO_NAME, .flags = LB_EVF_UNTIL, .until = (11 + TTL_MS) * MS});
  move_to(0, 11);
  record(12, 1, LB_EV_ACQUIRE);
  record(11 + 2 * TTL_MS, 1, LB_EV_BUSY);
  record(12 + 2 * TTL_MS, 0, LB_EV_RELEASE);
  record(13 + 2 * TTL_MS, 0, LB_EV_RELEASED);
  hold(1, 14 + 2 * TTL_MS, 15 + 2 * TTL_MS, 20 + 2 * TTL_MS);
}

STATES(who_is_refused_past_a_lease_was_kept_out_by_nobody, refused_past_the_lease(LB_TRAIT_LEASED),
       decides(LB_UNDECIDED, "client-2 gave up long after the lease of client-1 was over, so it was not client-1 that "
                             "kept it out"));
STATES(a_session_keeps_others_out_past_the_end_that_its_client_knew,
       refused_past_the_lease(LB_TRAIT_LEASED | LB_TRAIT_SESSION), decides(LB_SAFE, ""));
STATES(so_does_a_library_that_renews, refused_past_the_lease(LB_TRAIT_LEASED | LB_TRAIT_RENEWED), decides(LB_SAFE, ""));

/* Half a ttl is left to whoever counts a lease a little longer. */
TEST(who_is_refused_shortly_past_a_lease_may_have_been_kept_out) {
  refused_past_the_lease(LB_TRAIT_LEASED);
  w->stage.memory->events[w->stage.memory->log[1].first + 1].t = (11 + TTL_MS + TTL_MS / 2 - 1) * MS;
  decides(LB_SAFE, "");
}

/* ---- the names of servers ---- */

static void names_server(uint64_t at_ms, enum lb_event_kind kind, uint64_t value) {
  lb_memory_record(w->stage.memory, 0, (struct lb_event){.kind = (uint16_t)kind, .value = value, .fact = LB_NO_NAME});
  move_to(0, at_ms);
}

/* The host that the fact of the event at this time names; NULL = none. */
static const char *host_at(uint64_t at_ms) {
  const struct lb_history *h = &w->stage.history;
  for (size_t i = 0; i < h->count; i++)
    if (h->events[i].t == at_ms * MS) {
      uint32_t host = lb_event_fact(h, &h->events[i])->host;
      return host == LB_NO_NAME ? NULL : h->texts.name[host];
    }
  fail_msg("no event at %llu ms", (unsigned long long)at_ms);
  return NULL;
}

TEST(who_answered_and_who_voted_get_their_names) {
  struct lb_cluster *cluster = &w->stage.cluster;
  cluster->data_count = cluster->server_count = 3;
  for (size_t i = 0; i < 3; i++) snprintf(cluster->server[i].name, sizeof cluster->server[i].name, "s-%zu", i + 1);
  two_holds_apart();
  names_server(40, LB_EV_VOTED, 5), names_server(41, LB_EV_SERVER, 1), names_server(42, LB_EV_SERVER, 0);
  names_server(43, LB_EV_SERVER, 3), names_server(44, LB_EV_VOTED, 2), names_server(45, LB_EV_VOTED, 5);
  judge();
  assert_string_equal(host_at(40), "s-1, s-3");
  assert_string_equal(host_at(41), "s-2");
  assert_string_equal(host_at(42), "s-1");
  assert_null(host_at(43)); /* it is none of ours */
  assert_string_equal(host_at(44), "s-2");
  assert_string_equal(host_at(45), "s-1, s-3");
  for (size_t i = 0; i < w->stage.history.count; i++) /* a number of this trial means nothing to a reader */
    if (w->stage.history.events[i].kind == LB_EV_SERVER || w->stage.history.events[i].kind == LB_EV_VOTED)
      assert_int_equal(w->stage.history.events[i].value, 0);
}

/* ---- what a hand-off cost ---- */

TEST(requests_and_commits_are_shared_out_among_hand_offs) {
  two_holds_apart();
  w->out.requests = 10, w->out.commits = 4;
  judge();
  assert_int_equal(w->out.handoffs, 1);
  assert_true(w->out.requests_per_handoff == 10.0 && w->out.commits_per_handoff == 4.0);
  w->out.requests = w->out.commits = 0;
  judge();
  assert_true(w->out.requests_per_handoff == 0 && w->out.commits_per_handoff == 0);
}

#define NO_CHANGE "; 1.5 s more changed nothing, though every lease and session should be over that is not kept up"

/* Client 0 has let go, and client 1 asks for two ttls and gets nothing. */
TEST(who_asks_last_and_gets_nothing_is_stuck) {
  w->scenario.kind = LB_KIND_TIMELINE;
  two_holds_apart();
  record(100, 0, LB_EV_ACQUIRE);
  record(100 + 2 * TTL_MS, 0, LB_EV_TIMEOUT);
#define IN_VAIN "client-1 asked for 2.0 s and got nothing, though for the last 2.0 s nobody had a right to the lock"
  asks_again(2200, 2200 + ENOUGH_MS, LB_EV_TIMEOUT);
  decides(LB_STUCK,
          IN_VAIN "; 1.5 s more changed nothing, though every lease and session should be over that is not kept up");
}

TEST(who_gets_it_when_a_lease_has_ended_is_delayed) {
  w->scenario.kind = LB_KIND_TIMELINE;
  two_holds_apart();
  record(100, 0, LB_EV_ACQUIRE);
  record(100 + 2 * TTL_MS, 0, LB_EV_TIMEOUT);
  asks_again(2200, 3000, LB_EV_GRANTED);
  decides(LB_DELAYED, IN_VAIN "; client-1 was granted 0.8 s later");
}

/* A step waited in vain: a grant before all leases had ended is as good. */
STATES(a_step_in_vain_is_delayed_if_somebody_is_granted_after_it, two_holds_apart(),
       lb_stage_doubt(&w->stage, LB_STUCK, "no failover"), asks_again(100, 130, LB_EV_GRANTED),
       decides(LB_DELAYED, "no failover; client-1 was granted 0.0 s later"));

/* The grant of a step that waited in vain came so much later. */
static void granted_later(int64_t later_ms, lb_ns late_ns, uint64_t stall_ns) {
  w->out.stall_ns = stall_ns;
  two_holds_apart();
  w->stage.memory->state[1].late_ns = late_ns;
  lb_stage_doubt(&w->stage, LB_STUCK, "no failover");
  asks_again(100, 100 + later_ms, LB_EV_GRANTED);
}

STATES(what_comes_late_by_a_stall_is_no_delay, granted_later(120, 0, 120 * MS),
       decides(LB_UNDECIDED, "no failover; client-1 was granted 0.1 s later, but the machine stalled for 120 ms"));
STATES(what_comes_later_than_a_stall_is_delayed, granted_later(121, 0, 120 * MS),
       decides(LB_DELAYED, "no failover; client-1 was granted 0.1 s later"));
STATES(an_everyday_stall_explains_no_delay, granted_later(30, 0, 99 * MS),
       decides(LB_DELAYED, "no failover; client-1 was granted 0.0 s later"));
STATES(who_slept_through_its_deadline_is_not_delayed, granted_later(800, 21 * MS, 120 * MS),
       decides(LB_UNDECIDED, "no failover; client-1 was granted 0.8 s later, but the machine stalled for 120 ms"));

/* Not by default: who was not asked for long enough may have been free a moment later. */
TEST(what_ends_before_a_lease_could_is_undecided) {
  two_holds_apart();
  lb_stage_doubt(&w->stage, LB_STUCK, "no failover");
  decides(LB_UNDECIDED, "no failover; whether a lease would have ended that is not known");
  asks_again(100, 100 + ENOUGH_MS - 1, LB_EV_TIMEOUT);
  decides(LB_UNDECIDED, "no failover; whether a lease would have ended that is not known");
}
#undef IN_VAIN

STATES(where_nothing_was_granted_nothing_was_tested, w->scenario.min_handoffs = 0, record(10, 0, LB_EV_ACQUIRE),
       record(20, 0, LB_EV_TIMEOUT), decides(LB_UNDECIDED, "nothing was ever granted, so nothing was tested"));

static void fails(size_t client, const char *error) {
  struct lb_client_state *state = &w->stage.memory->state[client];
  snprintf(state->error, sizeof state->error, "%s", error);
}

static void breaks(size_t client, const char *breach) {
  struct lb_client_state *state = &w->stage.memory->state[client];
  snprintf(state->breach, sizeof state->breach, "%s", breach);
}

TEST(what_is_undecided_or_stuck_says_what_clients_were_told) {
  record(10, 0, LB_EV_ACQUIRE);
  record(20, 0, LB_EV_TIMEOUT);
  fails(1, "try_acquire: cannot connect");
  decides(LB_UNDECIDED,
          "nothing was ever granted, so nothing was tested; last error of client-2: try_acquire: cannot connect");
  fails(0, "release: refused");
  fails(2, "inspect: no");
  lb_stage_doubt(&w->stage, LB_STUCK, "client 2 acquire within 1s: it did not");
  asks_again(100, 100 + ENOUGH_MS, LB_EV_TIMEOUT);
  decides(LB_STUCK, "client 2 acquire within 1s: it did not" NO_CHANGE
                    "; last error of client-1 (and of 2 others): release: refused");
}

STATES(what_the_reason_says_already_is_not_said_twice, fails(2, "setup: no such table"),
       lb_stage_doubt(&w->stage, LB_UNDECIDED, "observer could not set up: setup: no such table"),
       decides(LB_UNDECIDED, "observer could not set up: setup: no such table"));
STATES(who_is_decided_needs_no_error, fails(0, "release: refused"), two_holds_at_once(), decides(LB_VIOLATED, ""));

TEST(a_breach_of_the_contract_comes_before_everything_else) {
  fails(0, "release: refused");
  breaks(2, "inspect answered 42, which is no result of it");
  two_holds_at_once();
  lb_stage_doubt(&w->stage, LB_STUCK, "so");
  decides(LB_UNDECIDED, "the observer: breach of the contract (backends/backend.h): "
                        "inspect answered 42, which is no result of it");
  breaks(1, "try_acquire granted with asked_at = 0");
  decides(LB_UNDECIDED, "client-2: breach of the contract (backends/backend.h): try_acquire granted with asked_at = 0");
}

STATES(a_breach_of_the_first_client_has_its_name_however_short_it_is, breaks(0, "x"), two_holds_apart(),
       decides(LB_UNDECIDED, "client-1: breach of the contract (backends/backend.h): x"));
STATES(an_error_is_told_however_short_it_is_and_of_one_other, fails(0, "x"),
       decides(LB_UNDECIDED, "nothing was ever granted, so nothing was tested; last error of client-1: x"),
       fails(1, "y"),
       decides(LB_UNDECIDED,
               "nothing was ever granted, so nothing was tested; last error of client-1 (and of 1 other): x"));
STATES(what_only_the_observer_was_told_is_told, fails(2, "inspect: no"),
       decides(LB_UNDECIDED,
               "nothing was ever granted, so nothing was tested; last error of the observer: inspect: no"));

TEST(a_long_reason_with_a_long_error_ends_where_its_room_does) {
  char reason[396], error[250];
  memset(reason, 'r', sizeof reason - 1);
  memset(error, 'e', sizeof error - 1);
  reason[sizeof reason - 1] = error[sizeof error - 1] = '\0';
  fails(0, error);
  lb_stage_doubt(&w->stage, LB_UNDECIDED, "%s", reason);
  judge();
  assert_int_equal(strlen(w->out.why), sizeof w->out.why - 1);
  assert_memory_equal(w->out.why, reason, sizeof reason - 1);
  assert_string_equal(w->out.why + sizeof reason - 1, "; la");
  assert_int_equal(w->out.grants + w->out.handoffs + w->out.double_holds + w->out.dirty_accesses, 0);
}

/* Or the reason could not be written into run.json. */
TEST(a_reason_that_was_cut_off_is_still_utf8) {
  char text[400] = "";
  memset(text, 'x', 200);
  for (int i = 200; i + 2 < 350; i += 2) memcpy(text + i, "\u00e9", 2);
  for (int i = 0; i < 2; i++) {
    w->stage.verdict = LB_VERDICT_NONE;
    lb_stage_doubt(&w->stage, LB_UNDECIDED, "%s%s", i ? "y" : "", text);
    fails(
        0,
        "release: caf\u00e9 caf\u00e9 caf\u00e9 caf\u00e9 caf\u00e9 caf\u00e9 caf\u00e9 caf\u00e9 caf\u00e9 caf\u00e9");
    judge();
    json_t *json = json_string(w->out.why);
    assert_non_null(json);
    json_decref(json);
  }
}

TEST(a_history_ends_with_what_clients_were_told) {
  struct lb_history h;
  struct lb_error err;
  char path[200];
  w->scenario.kind = LB_KIND_TIMELINE;
  record(10, 0, LB_EV_ACQUIRE);
  fails(0, "try_acquire: cannot connect");
  judge();
  snprintf(path, sizeof path, "%s/histories/%s.hist", w->dir, w->plan.name);
  assert_int_equal(lb_history_load(path, NULL, &h, &err), 0);
  const struct lb_event *last = &h.events[h.count - 1];
  assert_int_equal(last->kind, LB_EV_ERROR);
  assert_string_equal(h.clients.name[last->client], "client-1");
  assert_string_equal(h.texts.name[lb_event_fact(&h, last)->why], "try_acquire: cannot connect");
  lb_history_clear(&h);
}

TEST(the_error_of_each_client_and_of_the_observer_is_kept) {
  w->scenario.kind = LB_KIND_TIMELINE;
  record(10, 0, LB_EV_ACQUIRE);
  fails(0, "x");
  fails(1, "release: refused");
  fails(2, "inspect: no");
  judge();
  const struct lb_history *h = &w->stage.history;
  static const uint32_t clients[] = {0, 1, LB_NO_NAME};
  static const char *const errors[] = {"x", "release: refused", "inspect: no"};
  assert_int_equal(h->count, 1 + 3);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(h->events[1 + i].kind, LB_EV_ERROR);
    assert_int_equal(h->events[1 + i].client, clients[i]);
    assert_int_equal(h->events[1 + i].t, 10 * MS);
    assert_string_equal(h->texts.name[lb_event_fact(h, &h->events[1 + i])->why], errors[i]);
  }
}

TEST(the_error_of_a_history_without_any_event_stands_at_its_begin) {
  w->scenario.kind = LB_KIND_TIMELINE;
  fails(0, "open: refused");
  judge();
  assert_int_equal(w->stage.history.count, 1);
  assert_int_equal(w->stage.history.events[0].kind, LB_EV_ERROR);
  assert_int_equal(w->stage.history.events[0].t, 0);
  assert_int_equal(w->stage.history.events[0].s, 0);
}

STATES(a_trial_without_any_event_is_undecided,
       decides(LB_UNDECIDED, "nothing was ever granted, so nothing was tested"));
STATES(fewer_hand_offs_than_asked_for_are_undecided, w->scenario.min_handoffs = 2, two_holds_apart(),
       decides(LB_UNDECIDED, "1 hand-offs, the scenario asks for 2"));
STATES(as_many_hand_offs_as_asked_for_are_enough, w->scenario.min_handoffs = 2, two_holds_apart(), hold(0, 40, 41, 50),
       decides(LB_SAFE, ""));
STATES(a_single_client_need_not_hand_off, w->scenario.min_handoffs = 2, w->stage.client_count = 1, hold(0, 10, 11, 20),
       decides(LB_SAFE, ""));

/* Client 0 is granted at 11 ms with a lease until `until_ms` and lets go at 20; client 1 is granted at 15. */
static void an_overlap_with_a_lease_until(uint64_t until_ms) {
  record(10, 0, LB_EV_ACQUIRE);
  lb_memory_record(
      w->stage.memory, 0,
      (struct lb_event){.kind = LB_EV_GRANTED, .flags = LB_EVF_UNTIL, .until = until_ms * MS, .fact = LB_NO_NAME});
  move_to(0, 11);
  record(20, 0, LB_EV_RELEASE);
  hold(1, 12, 15, 30);
}

STATES(an_overlap_within_the_lease_is_a_violation, an_overlap_with_a_lease_until(16), decides(LB_VIOLATED, ""));
STATES(an_overlap_after_the_lease_is_undecided, an_overlap_with_a_lease_until(14),
       decides(LB_UNDECIDED, "exclusion was lost, but only after the earlier holder's lease was over"));
STATES(where_leases_run_out_on_purpose_it_counts, w->scenario.past_lease = true, an_overlap_with_a_lease_until(14),
       decides(LB_VIOLATED, ""));

TEST(a_pause_alone_does_not_make_it_count) {
  w->scenario.kind = LB_KIND_TIMELINE;
  w->step = (struct lb_step){.verb = LB_STEP_PAUSE, .a = {.kind = LB_ROLE_CLIENT, .number = 1}};
  an_overlap_with_a_lease_until(14);
  decides(LB_UNDECIDED, "exclusion was lost, but only after the earlier holder's lease was over");
}

/* Client 0 is overtaken by client 1; with or without a write of its own after that. */
static void an_overtaken_client(bool writes) {
  record(10, 0, LB_EV_ACQUIRE);
  record(11, 0, LB_EV_GRANTED);
  record(12, 1, LB_EV_ACQUIRE);
  record(15, 1, LB_EV_GRANTED);
  if (writes) {
    lb_memory_record(
        w->stage.memory, 1,
        (struct lb_event){.kind = LB_EV_READ, .client = 1, .flags = LB_EVF_VALUE, .value = 0, .fact = LB_NO_NAME});
    move_to(1, 15);
    lb_memory_record(w->stage.memory, 0,
                     (struct lb_event){.kind = LB_EV_WRITE, .flags = LB_EVF_VALUE, .value = 1, .fact = LB_NO_NAME});
    move_to(0, 16);
  }
  record(20, 0, LB_EV_RELEASE);
  record(30, 1, LB_EV_RELEASE);
}

/* What the guard of this client found just before it would have touched the resource. */
static void check_came_to(uint64_t at_ms, uint32_t client, enum lb_check_result result) {
  lb_memory_record(
      w->stage.memory, client,
      (struct lb_event){
          .kind = LB_EV_CHECK, .client = client, .flags = LB_EVF_CHECK, .check = (uint8_t)result, .fact = LB_NO_NAME});
  move_to(client, at_ms);
}

STATES(under_a_guard_an_overlap_without_damage_is_safe, w->plan.guard = LB_GUARD_DEADLINE, an_overtaken_client(false),
       check_came_to(28, 0, LB_CHECK_LEASE_OVER), decides(LB_SAFE, ""), assert_int_equal(w->out.double_holds, 1));

static void judged_under(enum lb_guard guard) {
  w->plan.guard = guard;
  an_overtaken_client(false);
}

STATES(a_guard_that_nobody_asked_makes_nothing_safe, judged_under(LB_GUARD_SIGNAL),
       decides(LB_UNDECIDED, "nobody came to a check of the guard, so it had nothing to decide"));

/* Of client 0 or 1 at the resource. */
static void came_to_the_resource(uint64_t at_ms, uint32_t client, enum lb_event_kind kind, bool accepted) {
  lb_memory_record(w->stage.memory, client,
                   (struct lb_event){.kind = (uint16_t)kind,
                                     .client = client,
                                     .flags = accepted ? LB_EVF_VALUE : LB_EVF_VALUE | LB_EVF_REFUSED,
                                     .fact = LB_NO_NAME});
  move_to(client, at_ms);
}

#define BY_CHANCE(whom)                                                                                                \
  "two clients held at once, and the " whom " none that another one had overtaken: it was not the guard that kept "
#define RESOURCE_BY_CHANCE BY_CHANCE("resource refused") "it whole"
#define CHECKS_BY_CHANCE BY_CHANCE("guard stopped") "the resource whole"

/* Two clients hold at once, and the resource stays whole. */
static void judged_at_the_resource(enum lb_guard guard, bool refused) {
  w->scenario.kind = LB_KIND_TIMELINE;
  w->plan.guard = guard;
  an_overtaken_client(false);
  came_to_the_resource(28, 1, LB_EV_READ, true);
  if (refused) came_to_the_resource(29, 0, LB_EV_WRITE, false);
  judge();
  assert_int_equal(w->out.double_holds, 1);
}

STATES(a_claim_that_was_overtaken_and_refused_is_safe, judged_at_the_resource(LB_GUARD_CLAIM, true),
       assert_decided(LB_SAFE, ""));
STATES(a_fence_that_was_overtaken_and_refused_is_safe, judged_at_the_resource(LB_GUARD_FENCE, true),
       assert_decided(LB_SAFE, ""));
STATES(a_claim_that_refused_nobody_kept_nothing_whole, judged_at_the_resource(LB_GUARD_CLAIM, false),
       assert_decided(LB_UNDECIDED, RESOURCE_BY_CHANCE));
STATES(a_fence_that_refused_nobody_kept_nothing_whole, judged_at_the_resource(LB_GUARD_FENCE, false),
       assert_decided(LB_UNDECIDED, RESOURCE_BY_CHANCE));
STATES(a_resource_needs_to_refuse_nobody_where_one_held_at_a_time, w->scenario.kind = LB_KIND_TIMELINE,
       w->plan.guard = LB_GUARD_CLAIM, two_holds_apart(), decides(LB_SAFE, ""));

/* Or the rate of damage would be taken of those trials only in which there was an occasion. */
STATES(in_a_campaign_nobody_has_to_come_to_the_resource, w->scenario.kind = LB_KIND_CAMPAIGN,
       w->plan.guard = LB_GUARD_FENCE, an_overtaken_client(false), decides(LB_SAFE, ""),
       assert_int_equal(w->out.double_holds, 1));

static void judged_at_a_check(uint64_t at_ms, uint32_t client, enum lb_check_result result) {
  w->scenario.kind = LB_KIND_TIMELINE;
  w->plan.guard = LB_GUARD_RECHECK;
  an_overtaken_client(false);
  check_came_to(at_ms, client, result);
}

STATES(a_check_that_stopped_no_overtaken_client_kept_nothing_whole, judged_at_a_check(28, 0, LB_CHECK_PASSED),
       decides(LB_UNDECIDED, CHECKS_BY_CHANCE));
STATES(a_check_that_stopped_the_wrong_client_kept_nothing_whole, judged_at_a_check(28, 1, LB_CHECK_TOLD_NO),
       decides(LB_UNDECIDED, CHECKS_BY_CHANCE));
STATES(a_check_that_stopped_the_overtaken_client_is_safe, judged_at_a_check(28, 0, LB_CHECK_TOLD_NO),
       decides(LB_SAFE, ""));
STATES(a_check_needs_to_stop_nobody_where_one_held_at_a_time, w->scenario.kind = LB_KIND_TIMELINE,
       w->plan.guard = LB_GUARD_SIGNAL, two_holds_apart(), check_came_to(35, 1, LB_CHECK_PASSED), decides(LB_SAFE, ""));

/* What is asked of a safe trial is about the lock: a guard that did its work is safe without it, and one
 * that did nothing is not. */
STATES(what_a_safe_trial_needs_is_waived_for_a_guard_that_did_its_work, asks_for_a_premise(false),
       w->scenario.premises[0].use = LB_PREMISE_OF_SAFE, judged_at_the_resource(LB_GUARD_FENCE, true),
       assert_decided(LB_SAFE, ""));

TEST(and_not_where_one_held_at_a_time) {
  asks_for_a_premise(false);
  w->scenario.premises[0].use = LB_PREMISE_OF_SAFE;
  w->scenario.kind = LB_KIND_TIMELINE;
  w->plan.guard = LB_GUARD_FENCE;
  two_holds_apart();
  decides(LB_UNDECIDED, "a safe trial would have to show \"client 1 holds\", and no step observed it");
}

STATES(a_question_that_nobody_answered_is_undecided, check_came_to(13, 0, LB_CHECK_ERROR),
       judged_under(LB_GUARD_RECHECK),
       decides(LB_UNDECIDED, "no check of the guard was ever answered, so it protected nothing"));

TEST(silence_is_no_protection) {
  strcpy(w->stage.memory->state[0].error, "holds: Connection refused");
  check_came_to(13, 0, LB_CHECK_PASSED);
  w->plan.guard = LB_GUARD_RECHECK;
  an_overtaken_client(false);
  check_came_to(29, 0, LB_CHECK_NO_ANSWER);
  decides(LB_UNDECIDED,
          "the guard stopped client-1 because nobody answered, though it was not cut off: that is no protection; "
          "last error of client-1: holds: Connection refused");
}

static void touched(uint64_t at_ms, const struct lb_step *step, const char *hosts, const char *from) {
  struct lb_history *h = &w->stage.history;
  struct lb_fact fact = lb_no_fact;
  fact.step = step->number;
  fact.verb = lb_names_add(&h->texts, "cut");
  fact.host = lb_names_add(&h->texts, hosts);
  fact.from = lb_names_add(&h->texts, from);
  lb_memory_record(
      w->stage.memory, w->stage.client_count,
      (struct lb_event){
          .kind = LB_EV_TOUCHED, .client = LB_NO_NAME, .key = LB_NO_NAME, .fact = lb_history_facts_add(h, &fact)});
  move_to(w->stage.client_count, at_ms);
}

/* The same with a cut between the client and both servers, or as many as are needed. */
static void silence_under_a_cut(size_t replicas, const char *reached) {
  struct lb_cluster *cluster = &w->stage.cluster;
  cluster->data_count = cluster->server_count = 3;
  w->stage.target.replicas = replicas;
  for (int i = 0; i < 3; i++) snprintf(cluster->server[i].name, sizeof cluster->server[i].name, "redis-%d", i + 1);
  struct lb_step cut = {.verb = LB_STEP_CUT,
                        .text = (char *)"cut client 1 from all",
                        .number = 3,
                        .a = {LB_ROLE_CLIENT, 1},
                        .b = {LB_ROLE_ALL, 0}};
  lb_stage_fault(&w->stage, &cut);
  move_to(w->stage.client_count, 14);
  touched(14, &cut, "client-1", reached);
  lb_stage_step(&w->stage, LB_EV_PROVED, &cut);
  move_to(w->stage.client_count, 15);
  check_came_to(13, 0, LB_CHECK_PASSED);
  w->plan.guard = LB_GUARD_RECHECK;
  an_overtaken_client(false);
  check_came_to(29, 0, LB_CHECK_NO_ANSWER);
}

STATES(who_is_cut_off_is_right_to_stop, silence_under_a_cut(2, "redis-1, redis-2, redis-3"), decides(LB_SAFE, ""));
STATES(who_could_have_asked_a_replica_is_not, silence_under_a_cut(2, "redis-1, redis-2"),
       decides(LB_UNDECIDED,
               "the guard stopped client-1 because nobody answered, though it was not cut off: that is no protection"));
STATES(one_of_three_masters_says_nothing_of_the_lock, silence_under_a_cut(0, "redis-1, redis-2"), decides(LB_SAFE, ""));
STATES(two_of_three_masters_do, silence_under_a_cut(0, "redis-1"),
       decides(LB_UNDECIDED,
               "the guard stopped client-1 because nobody answered, though it was not cut off: that is no protection"));
STATES(under_a_guard_a_stale_write_is_a_violation, w->plan.guard = LB_GUARD_DEADLINE, an_overtaken_client(true),
       decides(LB_VIOLATED, ""), assert_int_equal(w->out.stale_writes, 1));

/* Both are granted the same number, one after the other. */
static void the_same_number_twice(void) {
  for (int c = 0; c < 2; c++) {
    record(10 + 20 * (uint64_t)c, (size_t)c, LB_EV_ACQUIRE);
    lb_memory_record(
        w->stage.memory, (size_t)c,
        (struct lb_event){
            .kind = LB_EV_GRANTED, .client = (uint32_t)c, .flags = LB_EVF_FENCE, .fence = 7, .fact = LB_NO_NAME});
    move_to((size_t)c, 12 + 20 * (uint64_t)c);
    record(20 + 20 * (uint64_t)c, (size_t)c, LB_EV_RELEASE);
  }
}

STATES(a_number_that_does_not_grow_counts_under_the_fence, w->plan.guard = LB_GUARD_FENCE, the_same_number_twice(),
       decides(LB_VIOLATED, ""));
STATES(a_number_that_does_not_grow_means_nothing_to_a_deadline, w->plan.guard = LB_GUARD_DEADLINE,
       the_same_number_twice(), check_came_to(45, 1, LB_CHECK_PASSED), decides(LB_SAFE, ""));

/* Client 1 holds alone, with a number that the resource has seen a larger one than. */
static void the_holder_is_refused(enum lb_guard guard) {
  w->plan.guard = guard;
  two_holds_apart();
  came_to_the_resource(26, 1, LB_EV_WRITE, false);
}

#define REFUSED "without a fault the resource refused the holder 1 time: the number of its grant was not the largest"
STATES(a_fence_that_keeps_out_the_holder_is_a_violation, the_holder_is_refused(LB_GUARD_FENCE),
       decides(LB_VIOLATED, REFUSED));
STATES(a_claim_that_does_so_has_other_reasons, the_holder_is_refused(LB_GUARD_CLAIM), decides(LB_SAFE, ""));
STATES(a_stall_may_be_why_the_holder_is_refused, the_holder_is_refused(LB_GUARD_FENCE),
       w->out.stall_ns = HALF_TTL_NS + 1,
       decides(LB_UNDECIDED, REFUSED ", but the machine stalled for 500 ms, more than half the ttl"));
STATES(a_timeline_in_which_nobody_met_is_undecided, w->scenario.kind = LB_KIND_TIMELINE, hold(0, 10, 11, 20),
       hold(1, 22, 25, 30),
       decides(LB_UNDECIDED, "no client asked while another one held the lock or might have held it"));
STATES(a_timeline_in_which_one_waited_for_the_other_is_safe, w->scenario.kind = LB_KIND_TIMELINE, two_holds_apart(),
       decides(LB_SAFE, ""));
STATES(a_workload_without_a_grant_while_it_was_measured_is_undecided, two_holds_apart(), phase(40, LB_PHASE_MEASURE),
       phase(50, LB_PHASE_END), decides(LB_UNDECIDED, "nothing was granted while it was measured"));
STATES(what_is_stuck_says_why, two_holds_apart(), lb_stage_doubt(&w->stage, LB_STUCK, "no failover within %d s", 20),
       asks_again(100, 100 + ENOUGH_MS, LB_EV_TIMEOUT), decides(LB_STUCK, "no failover within 20 s" NO_CHANGE));
STATES(a_stall_may_be_why_it_is_stuck, w->out.stall_ns = HALF_TTL_NS + 1,
       lb_stage_doubt(&w->stage, LB_STUCK, "no failover"), judge(), assert_int_equal(w->out.verdict, LB_UNDECIDED),
       assert_non_null(strstr(w->out.why, "no failover, but the machine stalled for ")));
STATES(a_stuck_trial_needs_no_grant, lb_stage_doubt(&w->stage, LB_STUCK, "no failover"),
       asks_again(100, 100 + ENOUGH_MS, LB_EV_TIMEOUT), decides(LB_STUCK, "no failover" NO_CHANGE));
STATES(a_violation_comes_before_being_stuck, two_holds_at_once(), lb_stage_doubt(&w->stage, LB_STUCK, "no failover"),
       decides(LB_VIOLATED, ""));
STATES(a_doubt_comes_before_all, two_holds_at_once(), lb_stage_doubt(&w->stage, LB_UNDECIDED, "the server died"),
       lb_stage_doubt(&w->stage, LB_STUCK, "no failover"), decides(LB_UNDECIDED, "the server died"));
STATES(a_doubt_comes_before_being_stuck_also_when_it_is_found_later, two_holds_apart(),
       lb_stage_doubt(&w->stage, LB_STUCK, "no failover"), lb_stage_doubt(&w->stage, LB_UNDECIDED, "the server died"),
       lb_stage_doubt(&w->stage, LB_UNDECIDED, "another one died, too"), decides(LB_UNDECIDED, "the server died"));

/* ---- a campaign that stands still -------------------------------------------------------------------------------- */

/* Client 1 waits from 20 ms until `until_ms` and is not granted. */
static void a_campaign_waits_in_vain(uint64_t until_ms) {
  w->scenario.kind = LB_KIND_CAMPAIGN;
  w->scenario.min_handoffs = 0;
  w->scenario.progress_ms = 100;
  phase(1, LB_PHASE_MEASURE);
  hold(0, 10, 11, 15);
  record(20, 1, LB_EV_ACQUIRE);
  record(until_ms, 1, LB_EV_TIMEOUT);
  phase(until_ms + 1, LB_PHASE_END);
  judge();
}

TEST(a_campaign_without_a_grant_for_too_long_is_stuck) {
  a_campaign_waits_in_vain(20 + ENOUGH_MS);
  assert_int_equal(w->out.no_grant_ns, ENOUGH_MS * MS);
  assert_decided(LB_STUCK, "for 1.5 s the lock was asked for and granted to nobody; this campaign allows 0.1 s");
}

TEST(a_campaign_that_ends_before_a_lease_could_is_undecided) {
  a_campaign_waits_in_vain(121);
  assert_int_equal(w->out.no_grant_ns, 101 * MS);
  assert_decided(
      LB_UNDECIDED,
      "for 0.1 s the lock was asked for and granted to nobody; this campaign allows 0.1 s; whether a lease would have ended that is not known");
}

/* A lease lasts as long as it was asked for, and half of that more is waited. */
TEST(a_campaign_that_ends_before_the_end_of_a_lease_is_seen_is_undecided) {
  a_campaign_waits_in_vain(20 + TTL_MS + TTL_MS / 4);
  assert_string_equal(lb_verdict_name(w->out.verdict), "undecided");
}

TEST(a_campaign_that_goes_on_after_a_standstill_is_delayed) {
  w->scenario.kind = LB_KIND_CAMPAIGN;
  w->scenario.min_handoffs = 0;
  w->scenario.progress_ms = 100;
  phase(1, LB_PHASE_MEASURE);
  hold(0, 10, 11, 15);
  hold(1, 20, 220, 230);
  phase(300, LB_PHASE_END);
  decides(
      LB_DELAYED,
      "for 0.2 s the lock was asked for and granted to nobody; this campaign allows 0.1 s; then it was granted again");
}

STATES(a_campaign_that_is_granted_just_in_time_is_not, a_campaign_waits_in_vain(120),
       assert_int_equal(w->out.no_grant_ns, 100 * MS), assert_decided(LB_SAFE, ""));

/* ---- a client that others pass over ---- */

/* Client 2 asks from 12 ms on, and client 1 is granted the lock again and again. */
static void passes_over(enum lb_scenario_kind kind, bool granted_at_last) {
  w->scenario.kind = kind;
  w->scenario.min_handoffs = 0;
  w->scenario.patience_ms = 100;
  hold(0, 10, 11, 15);
  record(12, 1, LB_EV_ACQUIRE);
  for (uint64_t at = 20; at < 250; at += 75) hold(0, at, at + 1, at + 5);
  record(250, 1, granted_at_last ? LB_EV_GRANTED : LB_EV_BUSY);
}

#define PASSED(what) "client-2 asked for 0.2 s, while others were granted the lock; this " what " allows 0.1 s"
STATES(who_is_passed_over_in_a_load_is_stuck, passes_over(LB_KIND_LOAD, false), decides(LB_STUCK, PASSED("load")));
STATES(who_is_passed_over_in_a_timeline_is_stuck, passes_over(LB_KIND_TIMELINE, false),
       decides(LB_STUCK, PASSED("timeline")));
STATES(who_is_granted_in_the_end_is_delayed, passes_over(LB_KIND_LOAD, true),
       decides(LB_DELAYED, PASSED("load") "; then it was granted"));
STATES(without_patience_nobody_is_passed_over, passes_over(LB_KIND_LOAD, false), w->scenario.patience_ms = 0, judge(),
       assert_int_equal(w->out.longest_wait_ns, 238 * MS), assert_int_equal(w->out.verdict, LB_SAFE));

TEST(a_load_without_a_grant_for_longer_than_its_patience_is_stuck) {
  w->scenario.kind = LB_KIND_LOAD;
  w->scenario.min_handoffs = 0;
  w->scenario.patience_ms = 100;
  hold(0, 10, 11, 15);
  record(20, 1, LB_EV_ACQUIRE);
  record(20 + ENOUGH_MS, 1, LB_EV_TIMEOUT);
  decides(LB_STUCK, "for 1.5 s the lock was asked for and granted to nobody; this load allows 0.1 s");
}

TEST(what_tests_the_lock_stands_for_a_client_beside_a_holder) {
  asks_for_a_premise(true);
  w->scenario.premises[0].use = LB_PREMISE_OF_TEST;
  w->scenario.kind = LB_KIND_TIMELINE;
  w->scenario.min_handoffs = 0;
  hold(0, 10, 11, 20);
  decides(LB_SAFE, "");
  w->scenario.premises[0].is = false;
  decides(LB_UNDECIDED, "a safe trial would have to show \"client 1 holds\", and no step observed it");
  w->scenario.premises[0].is = true;
}

/* Only a stall of its own size explains it: more than half of what the campaign allows. */
TEST(a_standstill_is_doubted_with_a_stall_of_its_size_only) {
  w->out.stall_ns = 50 * MS;
  a_campaign_waits_in_vain(20 + ENOUGH_MS);
  assert_int_equal(w->out.verdict, LB_STUCK);
  w->out = (struct lb_outcome){.verdict = LB_VERDICT_NONE, .requests = -1, .commits = -1, .stall_ns = 50 * MS + 1};
  judge();
  assert_int_equal(w->out.verdict, LB_UNDECIDED);
}

TEST(a_violation_comes_before_a_standstill) {
  two_holds_at_once();
  w->scenario.kind = LB_KIND_CAMPAIGN;
  w->scenario.progress_ms = 100;
  record(40, 1, LB_EV_ACQUIRE);
  record(400, 1, LB_EV_TIMEOUT);
  judge();
  assert_int_equal(w->out.verdict, LB_VIOLATED);
}

TEST(a_load_without_faults_may_stand_still) {
  a_campaign_waits_in_vain(400);
  w->scenario.kind = LB_KIND_LOAD;
  w->out = (struct lb_outcome){.verdict = LB_VERDICT_NONE, .requests = -1, .commits = -1};
  judge();
  assert_int_equal(w->out.verdict, LB_SAFE);
}

/* ---- the figures ------------------------------------------------------------------------------------------------- */

TEST(the_counts_are_the_checkers) {
  two_holds_at_once();
  hold(0, 40, 41, 50);
  judge();
  assert_int_equal(w->out.grants, 3);
  assert_int_equal(w->out.handoffs, 2);
  assert_int_equal(w->out.double_holds, 1);
  assert_int_equal(w->out.double_hold_ns, 5 * MS);
  assert_int_equal(w->out.depth, 2);
  assert_int_equal(w->out.unavailable_ns, -1);
}

/* wait 1, 13; hold 9, 5; hand-off 5 ms */
TEST(the_figures_of_a_workload_are_those_on_paper) {
  two_holds_apart();
  record(31, 0, LB_EV_ACQUIRE);
  record(40, 0, LB_EV_TIMEOUT);
  judge();
  assert_int_equal(w->out.timeouts, 1);
  assert_int_equal(w->out.unknowns, 0);
  assert_int_equal(w->out.client_min, 1);
  assert_int_equal(w->out.client_max, 1);
  assert_true(w->out.jain == 1);
  assert_true(w->out.measured_s > 0.0299 && w->out.measured_s < 0.0301);
  assert_int_equal(w->out.wait_p999_ns, -1); /* of two samples */
  assert_in_range(w->out.hold_p50_ns, 5 * MS, 5 * MS * 65 / 64);
  assert_int_equal(w->out.handoff_p50_ns, 5 * MS);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static const char *part(const char *folder, const char *ending) {
  static char path[300];
  snprintf(path, sizeof path, "%s/%s/%s.%s", w->dir, folder, w->plan.name, ending);
  return path;
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static void assert_history(size_t events) {
  struct lb_history h;
  struct lb_error err = {0};
  assert_true(w->out.history_kept);
  if (lb_history_load(part("histories", "hist"), NULL, &h, &err) != 0) fail_msg("%s", err.text);
  assert_int_equal(h.count, events);
  assert_int_equal(h.clients.count, 2);
  assert_string_equal(h.clients.name[1], "client-2");
  assert_string_equal(h.keys.name[0], "lock-1");
  lb_history_clear(&h);
}

STATES(the_history_of_a_timeline_is_kept, w->scenario.kind = LB_KIND_TIMELINE, two_holds_apart(),
       observe(13, LB_ROLE_CURRENT_PRIMARY, false), decides(LB_SAFE, ""), assert_history(9));
STATES(the_history_of_a_workload_that_was_not_safe_is_kept, two_holds_at_once(), judge(), assert_history(8));
STATES(the_history_of_a_safe_workload_is_not_kept, two_holds_apart(), judge(), assert_false(w->out.history_kept),
       assert_false(exists(part("histories", "hist"))));

enum { KEPT = 50000, EVENTS_EACH = 4 }; /* a hold is four events */

/* Reads the file of a long history, whose last event says how much of it was kept, and returns its length without that
 * one. */
static size_t kept_events(size_t of) {
  struct lb_history h;
  struct lb_error err = {0};
  if (lb_history_load(part("histories", "hist"), NULL, &h, &err) != 0) fail_msg("%s", err.text);
  size_t kept = h.count - 1;
  assert_int_equal(h.events[kept].kind, LB_EV_SHORTENED);
  assert_int_equal(lb_event_fact(&h, &h.events[kept])->kept, kept);
  assert_int_equal(lb_event_fact(&h, &h.events[kept])->total, of);
  lb_history_clear(&h);
  return kept;
}

static void many_holds_apart(unsigned count, uint64_t from_ms) {
  for (unsigned i = 0; i < count; i++) hold(i % 2, from_ms + 10 * i, from_ms + 10 * i + 1, from_ms + 10 * i + 5);
}

TEST(of_a_long_workload_the_begin_is_kept) {
  two_holds_at_once();
  many_holds_apart(15000, 100);
  decides(LB_VIOLATED, "");
  assert_int_equal(w->out.grants, 15002);
  assert_int_equal(kept_events(8 + 15000 * EVENTS_EACH), KEPT);
}

TEST(the_first_double_hold_is_kept_however_late_it_is) {
  struct lb_history h;
  struct lb_check check;
  struct lb_error err;
  many_holds_apart(15000, 0);
  hold(0, 200000, 200001, 200010);
  hold(1, 200000, 200005, 200020);
  many_holds_apart(1000, 300000);
  judge();
  size_t kept = kept_events(16002 * EVENTS_EACH);
  assert_in_range(kept, 15000 * EVENTS_EACH + 6, 16001 * EVENTS_EACH);
  assert_int_equal(lb_history_load(part("histories", "hist"), NULL, &h, &err), 0);
  lb_check_history(&h, &check);
  assert_int_equal(check.double_holds, 1);
  assert_int_equal(check.double_hold_ns, 5 * MS);
  lb_check_clear(&check);
  lb_history_clear(&h);
}

STATES(a_long_timeline_is_kept_whole, w->scenario.kind = LB_KIND_TIMELINE, many_holds_apart(15000, 0), judge(),
       assert_history(15000 * EVENTS_EACH));

TEST(a_timeline_has_no_figures_of_speed) {
  w->scenario.kind = LB_KIND_TIMELINE;
  two_holds_apart();
  judge();
  assert_int_equal(w->out.wait_p50_ns, 0);
  assert_true(w->out.measured_s == 0);
  assert_false(exists(part("parts", "latency")));
  assert_false(exists(part("parts", "series")));
}

/* Sum of the counts of a metric's rows, every one of which must be of this trial and not empty. */
static unsigned long long latency_count(const char *metric) {
  unsigned long long low, high, before = 0, sum = 0;
  char line[300], name[16];
  FILE *in = fopen(part("parts", "latency"), "re");
  assert_non_null(in);
  while (fgets(line, sizeof line, in)) {
    unsigned count = 0;
    int end = 0;
    assert_int_equal(sscanf(line, "s,p@none,none,2,3,%15[a-z],%llu,%llu,%u%n", name, &low, &high, &count, &end), 4);
    assert_string_equal(line + end, "\n");
    assert_true(count > 0);
    assert_true(low <= high);
    if (strcmp(name, metric) != 0) continue;
    assert_true(sum == 0 || low > before);
    before = high;
    sum += count;
  }
  fclose(in);
  return sum;
}

TEST(latency_rows_are_the_buckets_in_use_and_add_up) {
  for (unsigned i = 0; i < 20; i++) hold(i % 2, 100 * i + i % 3, 100 * i + 10, 100 * i + 20 + i);
  w->scenario.hold_ms = 5;
  decides(LB_SAFE, "");
  assert_int_equal(latency_count("wait"), 20);
  assert_int_equal(latency_count("hold"), 20);
  assert_int_equal(latency_count("handoff"), 0); /* nobody waits while another holds */
}

STATES(holds_of_no_length_have_no_rows, two_holds_apart(), judge(), assert_int_equal(latency_count("wait"), 2),
       assert_int_equal(latency_count("hold"), 0));
STATES(a_campaign_measures_no_speed, w->scenario.kind = LB_KIND_CAMPAIGN, two_holds_apart(), judge(),
       assert_int_equal(latency_count("wait"), 0));

/* The load is left out; a timeline keeps its history. */
TEST(a_safe_campaign_keeps_its_faults) {
  struct lb_error line;
  unsigned proofs = 0, lines = 0;
  struct lb_history h;
  w->scenario.kind = LB_KIND_CAMPAIGN;
  struct lb_step kill = {
      .verb = LB_STEP_KILL, .a = {.kind = LB_ROLE_PRIMARY}, .text = (char *)"kill primary", .number = 1};
  lb_stage_fault(&w->stage, &kill);
  lb_stage_touched(&w->stage, &kill, "redis-1", "");
  lb_stage_step(&w->stage, LB_EV_PROVED, &kill);
  two_holds_apart();
  judge();
  assert_int_equal(w->out.verdict, LB_SAFE);
  assert_false(w->out.history_kept);
  FILE *in = fopen(part("faults", "jsonl"), "re");
  assert_non_null(in);
  for (; fgets(line.text, sizeof line.text, in); lines++) {
    assert_null(strstr(line.text, "granted"));
    proofs += strstr(line.text, "\"e\":\"proved\",\"what\":\"kill primary\"") != NULL;
  }
  fclose(in);
  assert_int_equal(proofs, 1);
  assert_true(lines >= 4); /* the format, the fault, whom it touched, its proof */
  assert_int_equal(lb_history_load(part("faults", "jsonl"), NULL, &h, &line), 0);
  lb_history_clear(&h);
  remove(part("faults", "jsonl"));
  w->scenario.kind = LB_KIND_LOAD;
  judge();
  assert_int_equal(access(part("faults", "jsonl"), F_OK), -1);
}

static unsigned lines_with(const char *path, const char *word) {
  struct lb_error line;
  unsigned count = 0;
  FILE *in = fopen(path, "re");
  assert_non_null(in);
  while (fgets(line.text, sizeof line.text, in)) count += strstr(line.text, word) != NULL;
  fclose(in);
  return count;
}

/* What the client did that waited longest, and who was granted it meanwhile; nothing from before or after. */
TEST(a_load_keeps_its_longest_wait) {
  w->scenario.kind = LB_KIND_LOAD;
  hold(1, 5, 6, 8);
  hold(0, 10, 11, 20);
  record(12, 1, LB_EV_ACQUIRE);
  hold(0, 25, 26, 30);
  record(60, 1, LB_EV_GRANTED);
  record(70, 1, LB_EV_RELEASE);
  record(70, 1, LB_EV_RELEASED);
  hold(0, 80, 81, 90);
  judge();
  const char *waits = part("waits", "jsonl");
  assert_int_equal(lines_with(waits, "\"e\":\"granted\""), 2);
  assert_int_equal(lines_with(waits, "\"e\":\"acquire\""), 1);
  assert_int_equal(lines_with(waits, "\"e\":\"release"), 0);
}

STATES(hand_offs_are_in_the_latency_rows, two_holds_apart(), judge(), assert_int_equal(latency_count("handoff"), 1));

TEST(the_series_has_a_row_a_second_and_adds_up) {
  char line[300];
  static const unsigned expected[] = {2, 0, 1};
  unsigned rows = 0, second, grants, sum = 0;
  hold(0, 0, 10, 20);
  hold(1, 100, 200, 300);
  hold(0, 2100, 2200, 2500); /* nothing in second 1 */
  judge();
  FILE *in = fopen(part("parts", "series"), "re");
  assert_non_null(in);
  for (; fgets(line, sizeof line, in); rows++) {
    assert_int_equal(sscanf(line, "s,p@none,none,2,3,%u,%u,0,0,0,", &second, &grants), 2);
    assert_int_equal(second, rows);
    assert_int_equal(grants, expected[rows % 3]);
    sum += grants;
  }
  fclose(in);
  assert_int_equal(rows, 3);
  assert_int_equal(sum, w->out.grants);
}

/* ---- files that cannot be written -------------------------------------------------------------------------------- */

static void assert_not_written(int error) {
  char why[200];
  assert_int_equal(judge_and_keep(&w->stage, &w->out), -error);
  snprintf(why, sizeof why, "the trial's results could not be written: %s", strerror(error));
  assert_decided(LB_UNDECIDED, why);
  assert_false(w->out.history_kept);
}

static void remove_folder(const char *name) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s", w->dir, name);
  lb_files_remove_tree(path);
}

STATES(a_missing_folder_for_figures_is_an_error_with_a_reason, remove_folder("parts"), two_holds_apart(),
       assert_not_written(ENOENT));
STATES(a_missing_folder_for_histories_is_an_error_with_a_reason, remove_folder("histories"), two_holds_at_once(),
       assert_not_written(ENOENT));

static const char *const files[][2] = {
    {"parts", "latency"}, {"parts", "series"}, {"waits", "jsonl"}, {"histories", "hist"}};
enum { FILES = sizeof files / sizeof *files };

static void make_folder(const char *name) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s", w->dir, name);
  assert_int_equal(lb_files_make_dirs(path), 0);
}

TEST(each_file_that_cannot_be_opened_is_an_error_with_a_reason) {
  two_holds_at_once();
  make_folder("waits");
  for (size_t i = 0; i < FILES; i++) {
    const char *path = part(files[i][0], files[i][1]);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_not_written(EISDIR);
    assert_int_equal(rmdir(path), 0);
    lb_history_clear(&w->stage.history);
  }
}

TEST(a_full_disk_is_an_error_with_a_reason) {
  two_holds_at_once();
  make_folder("waits");
  for (size_t i = 0; i < FILES; i++) {
    const char *path = part(files[i][0], files[i][1]);
    assert_int_equal(symlink("/dev/full", path), 0);
    assert_not_written(ENOSPC);
    assert_int_equal(unlink(path), 0);
    lb_history_clear(&w->stage.history);
  }
}
