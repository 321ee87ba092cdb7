/* SPDX-License-Identifier: MIT
 *
 * A timeline: the steps of a scenario, one after the other. Every fault proves that it fired before
 * the next step begins (fault.c), or, if that takes its time, before the end; what cannot be proved
 * makes the trial undecided, never safe.
 *
 * What clients are told, and owe, is in timeline_client.c.
 */
#include "timeline.h"

#include <errno.h>

#include "base/clock.h"
#include "fault.h"
#include "timeline_await.h"
#include "timeline_client.h"
#include "timeline_closing.h"

enum { ASK_MS = 5000, LEAVES_POLL_MS = 50 };

/* What plays a verb: its row in the table below. */
struct part {
  int (*play)(struct lb_stage *s, const struct lb_step *step); /* 0, or -ECANCELED after lb_stage_doubt(); NULL = a fault, done as it is */
  enum lb_client_verb command;                                 /* what the client is told */
  bool (*met)(const struct lb_client_state *state);            /* the condition that is awaited */
};
static const struct part parts[LB_VERB_COUNT];

/* ---- clients ----------------------------------------------------------------------------------------------------------- */

static int tell(struct lb_stage *s, const struct lb_step *step) { return lb_timeline_tell(s, step, parts[step->verb].command); }

/* ---- conditions and facts ----------------------------------------------------------------------------------------- */

static bool asks(const struct lb_client_state *state) { return atomic_load(&state->asks); }
static bool waits(const struct lb_client_state *state) { return atomic_load(&state->waits); }
static bool holds(const struct lb_client_state *state) { return atomic_load(&state->holds); }
static bool is_granted(const struct lb_client_state *state) { return atomic_load(&state->granted); }
static bool has_written(const struct lb_client_state *state) { return atomic_load(&state->writes) > 0; }

/* That it was awaited in vain stands in the history, too: it shows until when. */
static int in_vain(struct lb_stage *s, const struct lb_step *step, const char *why) {
  lb_stage_not_met(s, step);
  return lb_stage_doubt(s, LB_STUCK, "%s: %s", step->text, why);
}

/* Looks at the memory and asks nobody: the client may be deep in a hook, or stand still. */
static int await_client(struct lb_stage *s, const struct lb_step *step) {
  const struct lb_client_state *state = &s->memory->state[step->a.number - 1];
  lb_ns since = lb_clock_ns(), deadline = lb_timeline_in_ms(step->within_ms);
  while (!parts[step->verb].met(state)) {
    if (lb_clock_ns() > deadline) return in_vain(s, step, "it did not");
    lb_timeline_doze(since);
  }
  lb_stage_met(s, step);
  return 0;
}

/* Whether it came true is recorded, and decides nothing: what comes after shows what the lock made of it. */
static int let_client(struct lb_stage *s, const struct lb_step *step) {
  const struct lb_client_state *one = &s->memory->state[step->a.number - 1];
  const struct lb_client_state *other = step->b.kind == LB_ROLE_CLIENT ? &s->memory->state[step->b.number - 1] : one;
  lb_ns since = lb_clock_ns(), deadline = lb_timeline_in_ms(step->within_ms);
  while (!parts[step->verb].met(one) && !parts[step->verb].met(other)) {
    if (lb_clock_ns() > deadline) return lb_stage_not_met(s, step), 0;
    if (lb_timeline_look_at_points(s) < 0) return -ECANCELED;
    lb_timeline_doze(since);
  }
  lb_stage_met(s, step);
  return 0;
}

static int pass_time(struct lb_stage *s, const struct lb_step *step) {
  (void)s;
  lb_clock_sleep_until(lb_timeline_in_ms(step->within_ms));
  return 0;
}

/* Waits until the cluster decides without the server that `primary` is bound to, or the latest one that took over from it. The binding stays:
 * later steps go on naming the old one. */
static int await_failover(struct lb_stage *s, const struct lb_step *step) {
  char err[300];
  if (lb_cast_bind_primary(s, err, sizeof err) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s", err);
  int r = lb_cluster_failover(&s->cluster, lb_cast_latest_primary(s), lb_timeline_in_ms(step->within_ms));
  if (r == LB_TIMEOUT) return in_vain(s, step, "no other server took over");
  if (r < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, s->cluster.err);
  int now = lb_cast_primary(s);
  if (now >= 0) lb_stage_failover(s, &s->cluster.server[now]);
  return 0;
}

/* A service that cannot say whether one did has not: nobody is asked again. */
static int let_failover(struct lb_stage *s, const struct lb_step *step) {
  char err[300];
  if (lb_cast_bind_primary(s, err, sizeof err) < 0) return lb_stage_not_met(s, step), 0;
  if (lb_cluster_failover(&s->cluster, lb_cast_latest_primary(s), lb_timeline_in_ms(step->within_ms)) != LB_OK) return lb_stage_not_met(s, step), 0;
  lb_stage_met(s, step);
  int now = lb_cast_primary(s);
  if (now >= 0) lb_stage_failover(s, &s->cluster.server[now]);
  return 0;
}

/* Both sides of the step; nobody where it names none. 0, or -ECANCELED after lb_stage_doubt(). */
static int find_casts(struct lb_stage *s, const struct lb_step *step, struct lb_cast *ret_a, struct lb_cast *ret_b) {
  char err[400];
  *ret_a = *ret_b = (struct lb_cast){0};
  int r = step->a.kind == LB_ROLE_NONE ? 0 : lb_cast_find(s, &step->a, ret_a, err, sizeof err);
  if (r == 0 && step->b.kind != LB_ROLE_NONE) r = lb_cast_find(s, &step->b, ret_b, err, sizeof err);
  return r < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "%s", err) : 0;
}

/* The fact is "present" when any of the servers has a record of the key. */
static int observe_key(struct lb_stage *s, const struct lb_step *step) {
  bool present = false;
  struct lb_cast a, b;
  int r = find_casts(s, step, &a, &b);
  for (size_t i = 0; r == 0 && i < a.server_count; i++) {
    struct lb_reply reply;
    struct lb_command command = {
        .verb = LB_DO_INSPECT, .deadline = lb_timeline_in_ms(ASK_MS), .argument = (size_t)(a.server[i] - s->cluster.server)};
    r = lb_client_call(&s->observer, command, LB_GRACE_MS, &reply);
    if (r != 0) return lb_stage_silent(s, &s->observer, step->text, r);
    if (reply.result < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, reply.err);
    lb_stage_observed_at(s, step, a.server[i], reply.result > 0);
    present |= reply.result > 0;
  }
  if (r == 0) lb_stage_observed(s, step, present);
  return r;
}

/* Nobody is asked, so it may stand still or be deep in a hook. */
static int observe_client(struct lb_stage *s, const struct lb_step *step) {
  lb_stage_holds(s, step, lb_timeline_client(s, step));
  return 0;
}

/* Whether that server plays the role of a premise. Where nobody plays it nothing is recorded, and
 * the premise was not observed. */
static int observe_role(struct lb_stage *s, const struct lb_step *step, const struct lb_server *server, struct lb_role role) {
  char err[400];
  struct lb_cast played;
  if (!server || lb_cast_find(s, &role, &played, err, sizeof err) < 0) return 0;
  lb_stage_server(s, step, lb_timeline_client(s, step), server, role, played.server[0] == server);
  return 1;
}

static int observe_server(struct lb_stage *s, const struct lb_step *step) {
  const struct lb_scenario *scenario = s->plan->scenario;
  int index = lb_cast_server_of(s, lb_timeline_client(s, step)), recorded = 0;
  const struct lb_server *server = index < 0 ? NULL : &s->cluster.server[index];
  for (size_t i = 0; i < scenario->premise_count; i++) {
    const struct lb_premise *premise = &scenario->premises[i];
    if (premise->kind == LB_PREMISE_SERVER && premise->client == step->a.number)
      recorded += observe_role(s, step, server, premise->server);
  }
  if (recorded == 0) lb_stage_server(s, step, lb_timeline_client(s, step), server, (struct lb_role){LB_ROLE_NONE, 0}, false);
  return 0;
}

/* One that does not answer is asked again: while it leaves, it may refuse connections. That it did not
 * leave is what it says after the bound. */
static int observe_leaves(struct lb_stage *s, const struct lb_step *step) {
  struct lb_cast a, b;
  lb_ns until = lb_timeline_in_ms(step->within_ms), last = until + ASK_MS * LB_NS_PER_MS;
  int r = find_casts(s, step, &a, &b), left = -EAGAIN;
  if (r < 0) return r;
  size_t index = (size_t)(a.server[0] - s->cluster.server);
  for (bool late = false; left != 1 && !(late && left == 0) && lb_clock_ns() < last;) {
    late = lb_clock_ns() >= until;
    left = lb_cluster_left(&s->cluster, index, last);
    if (left != 1) lb_clock_sleep_until(lb_clock_ns() + LEAVES_POLL_MS * LB_NS_PER_MS);
  }
  if (left < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, s->env.base.err);
  lb_stage_left(s, step, a.server[0], left);
  return 0;
}

/* ---- faults ---------------------------------------------------------------------------------------------------------- */

static int do_fault(struct lb_stage *s, const struct lb_step *step, const struct lb_cast *a, const struct lb_cast *b) {
  char err[400];
  return lb_fault_do(s, step, a, b, err, sizeof err) < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "%s", err) : 0;
}

/* The roles are looked up now, once; a step that finds nobody for a role is a doubt, not a fault of
 * nobody. */
static int play_fault(struct lb_stage *s, const struct lb_step *step) {
  struct lb_cast a, b;
  int r = find_casts(s, step, &a, &b);
  return r < 0 ? r : do_fault(s, step, &a, &b);
}

/* It means what an earlier step has named so, whoever plays these roles now. */
static int play_by_name(struct lb_stage *s, const struct lb_step *step) {
  struct lb_cast nobody = {0};
  return do_fault(s, step, &nobody, &nobody);
}

/* Who was stopped in the middle of a command finishes it now. */
static int resume(struct lb_stage *s, const struct lb_step *step) {
  struct lb_cast a, b;
  int r = find_casts(s, step, &a, &b);
  if (r == 0) r = do_fault(s, step, &a, &b);
  for (size_t i = 0; r == 0 && i < a.client_count; i++) r = lb_timeline_finish(s, a.client[i]);
  return r;
}

/* A clock is proved by asking, and who owes an answer would give that one instead. Of who waits for a server the jump of a wall clock can be
 * seen all the same (fault_clock.c). */
static bool shows_its_clock(const struct lb_stage *s, const struct lb_step *step, const struct lb_client *client) {
  const struct lb_pending *p = &s->pending[client->number];
  return step->verb == LB_STEP_CLOCK_JUMP && !step->monotonic && p->step && lb_step_row(p->step)->beside && lb_client_peek(client) == 0;
}

static int set_clock(struct lb_stage *s, const struct lb_step *step) {
  struct lb_cast a, b;
  int r = find_casts(s, step, &a, &b);
  for (size_t i = 0; r == 0 && i < a.client_count; i++)
    if (!shows_its_clock(s, step, a.client[i])) r = lb_timeline_collect(s, a.client[i]);
  return r < 0 ? r : do_fault(s, step, &a, &b);
}

/* ---- the play ------------------------------------------------------------------------------------------------------ */

static const struct part parts[LB_VERB_COUNT] = {
    [LB_STEP_RELEASE_HELD] = {play_by_name},
    [LB_STEP_HEAL_ONE] = {play_by_name},
    [LB_STEP_RESUME] = {resume},
    [LB_STEP_CLOCK_JUMP] = {set_clock},
    [LB_STEP_CLOCK_RATE] = {set_clock},
    [LB_STEP_ACQUIRE] = {tell, LB_DO_ACQUIRE},
    [LB_STEP_BEGIN_ACQUIRE] = {tell, LB_DO_ACQUIRE},
    [LB_STEP_BEGIN_SECTION] = {tell, LB_DO_SECTION},
    [LB_STEP_OPEN_SECTION] = {tell, LB_DO_SECTION},
    [LB_STEP_RELEASE] = {tell, LB_DO_RELEASE},
    [LB_STEP_READ] = {tell, LB_DO_READ},
    [LB_STEP_READ_EARLY] = {tell, LB_DO_READ_EARLY},
    [LB_STEP_WRITE] = {tell, LB_DO_WRITE},
    [LB_STEP_WRITE_LATE] = {lb_timeline_write_late},
    [LB_STEP_REOPEN] = {lb_timeline_reopen},
    [LB_STEP_START] = {lb_timeline_start},
    [LB_STEP_STOP_AT] = {lb_timeline_arm},
    [LB_STEP_CRASH_AT] = {lb_timeline_arm},
    [LB_STEP_HANG_AT] = {lb_timeline_arm},
    [LB_STEP_GATE_AT] = {lb_timeline_gate},
    [LB_STEP_PASS] = {lb_timeline_pass},
    [LB_STEP_LET_FAILOVER] = {let_failover},
    [LB_STEP_LET_SYNC] = {lb_timeline_let_sync},
    [LB_STEP_LET_HOLD] = {let_client, .met = holds},
    [LB_STEP_LET_WRITE] = {let_client, .met = has_written},
    [LB_STEP_LET_EITHER_WRITE] = {let_client, .met = has_written},
    [LB_STEP_AWAIT_FAILOVER] = {await_failover},
    [LB_STEP_AWAIT_ASKS] = {await_client, .met = asks},
    [LB_STEP_AWAIT_WAITS] = {await_client, .met = waits},
    [LB_STEP_AWAIT_HOLDS] = {await_client, .met = holds},
    [LB_STEP_AWAIT_GRANTED] = {await_client, .met = is_granted},
    [LB_STEP_AWAIT_GAVE_UP] = {lb_timeline_await_gave_up},
    [LB_STEP_AWAIT_WRITTEN] = {await_client, .met = has_written},
    [LB_STEP_AWAIT_STOPPED] = {lb_timeline_await_stopped},
    [LB_STEP_AWAIT_CRASHED] = {lb_timeline_await_crashed},
    [LB_STEP_AWAIT_WOKEN] = {lb_timeline_await_woken},
    [LB_STEP_AWAIT_SESSION] = {lb_timeline_await_session},
    [LB_STEP_AWAIT_CAUGHT_UP] = {lb_timeline_await_caught_up},
    [LB_STEP_AWAIT_ABSENT] = {lb_timeline_await_absent},
    [LB_STEP_WAIT] = {pass_time},
    [LB_STEP_OBSERVE_KEY] = {observe_key},
    [LB_STEP_OBSERVE_CLIENT] = {observe_client},
    [LB_STEP_OBSERVE_SERVER] = {observe_server},
    [LB_STEP_OBSERVE_LEAVES] = {observe_leaves},
};

bool lb_timeline_knows(enum lb_verb verb) { return parts[verb].play || lb_fault_knows(verb); }

static int play_step(struct lb_stage *s, const struct lb_step *step) {
  return parts[step->verb].play ? parts[step->verb].play(s, step) : play_fault(s, step);
}

/* What had to take its time before it could be proved. */
static int settle(struct lb_stage *s, bool wait) {
  char err[400];
  return lb_fault_prove_kept(s, wait, err, sizeof err) < 0 || lb_fault_settle(s, wait, err, sizeof err) < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "%s", err) : 0;
}

int lb_timeline_step(struct lb_stage *s, const struct lb_step *step) {
  if (lb_timeline_look_at_points(s) < 0 || settle(s, false) < 0) return -ECANCELED;
  return play_step(s, step);
}

int lb_timeline_settle(struct lb_stage *s) { return settle(s, true); }

/* What was armed for a message has to have met it by the end. */
static int all_met(struct lb_stage *s) {
  char err[400];
  return lb_fault_all_met(s, err, sizeof err) < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "%s", err) : 0;
}

static int play_all(struct lb_stage *s) {
  for (size_t i = 0; i < s->plan->scenario->step_count; i++) {
    int r = lb_timeline_step(s, &s->plan->scenario->steps[i]);
    if (r < 0) return r;
  }
  if (lb_timeline_settle(s) < 0 || all_met(s) < 0) return -ECANCELED;
  lb_fault_note_unused(s);
  return lb_timeline_all_fired(s);
}

int lb_timeline_play(struct lb_stage *s) {
  int r = play_all(s);
  lb_timeline_close(s);
  return r;
}
