/* SPDX-License-Identifier: MIT
 *
 * The steps of a timeline that wait for something, or look at it: in the memory of the trial, or by asking a server.
 */
#include "timeline.h"

#include <errno.h>

#include "base/clock.h"
#include "base/error.h"
#include "servers/power.h"

enum { ASK_MS = 5000, POLL_MS = 20, QUIET_MS = 150, LEAVES_POLL_MS = 50 };

/* ---- conditions that are a look at the memory, and time ---- */

static bool asks(const struct lb_client_state *state) { return atomic_load(&state->asks); }
static bool waits(const struct lb_client_state *state) { return atomic_load(&state->waits); }
static bool holds(const struct lb_client_state *state) { return atomic_load(&state->holds); }
static bool is_granted(const struct lb_client_state *state) { return atomic_load(&state->granted); }
static bool has_written(const struct lb_client_state *state) { return atomic_load(&state->writes) > 0; }

static int met(struct lb_stage *s, const struct lb_step *step) {
  lb_stage_step(s, LB_EV_MET, step);
  return 0;
}

static int not_met(struct lb_stage *s, const struct lb_step *step) {
  lb_stage_step(s, LB_EV_NOT_MET, step);
  return 0;
}

/* The history also records that the wait timed out: its event shows until when. */
static int in_vain(struct lb_stage *s, const struct lb_step *step, const char *why) {
  not_met(s, step);
  return lb_stage_doubt(s, LB_STUCK, "%s: %s", step->text, why);
}

/* Looks at the memory only, as the client cannot answer: it may be deep in a hook, or stopped. */
static int await_client(struct lb_stage *s, const struct lb_step *step) {
  const struct lb_client_state *state = &s->memory->state[step->a.number - 1];
  lb_ns since = lb_clock_ns(), deadline = lb_in_ms(step->within_ms);
  while (!lb_parts_of_conditions[step->verb].met(state)) {
    if (lb_clock_ns() > deadline) return in_vain(s, step, "it did not");
    lb_timeline_doze(since);
  }
  return met(s, step);
}

/* Whether it came true is recorded, and decides nothing: what comes after shows what the lock made of it. */
static int let_client(struct lb_stage *s, const struct lb_step *step) {
  const struct lb_client_state *one = &s->memory->state[step->a.number - 1];
  const struct lb_client_state *other = step->b.kind == LB_ROLE_CLIENT ? &s->memory->state[step->b.number - 1] : one;
  lb_ns since = lb_clock_ns(), deadline = lb_in_ms(step->within_ms);
  while (!lb_parts_of_conditions[step->verb].met(one) && !lb_parts_of_conditions[step->verb].met(other)) {
    if (lb_clock_ns() > deadline) return not_met(s, step);
    if (lb_timeline_look_at_points(s) < 0) return -ECANCELED;
    lb_timeline_doze(since);
  }
  return met(s, step);
}

static int pass_time(struct lb_stage *s, const struct lb_step *step) {
  (void)s;
  lb_sleep_ms((step->within_ms));
  return 0;
}

/* A time of a file is one for servers that detect as soon as their row says. */
static lb_ns failover_until(const struct lb_stage *s, const struct lb_step *step) {
  return lb_in_ms(step->within_ms + s->cluster.late_ms);
}

/* Records the new primary, and an old one that still runs because the operator that promoted the new one did not fence
 * it. */
static void tell_failover(struct lb_stage *s, int old) {
  int now = lb_cast_primary(s);
  if (now < 0) return;
  lb_stage_failover(s, &s->cluster.server[now]);
  if (s->cluster.topology->family->orders.promote && old >= 0 && old != now &&
      lb_proc_alive(&s->cluster.server[old].proc))
    lb_stage_note(s, "the operator fenced nobody: the old primary %s still runs", s->cluster.server[old].name);
}

/* Waits until the cluster decides without the server that `primary` is bound to, or the latest one that took over from
 * it. The binding stays: later steps go on naming the old one. */
static int await_failover(struct lb_stage *s, const struct lb_step *step) {
  struct lb_error err;
  if (lb_cast_bind_primary(s, &err) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s", err.text);
  int old = lb_cast_latest_primary(s), r = lb_cluster_failover(&s->cluster, old, failover_until(s, step));
  if (r == LB_TIMEOUT) return in_vain(s, step, "no other server became primary");
  if (r < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, s->cluster.err.text);
  tell_failover(s, old);
  return 0;
}

/* A service that cannot say whether a failover happened counts as one without: it is not asked again. */
static int let_failover(struct lb_stage *s, const struct lb_step *step) {
  struct lb_error err;
  if (lb_cast_bind_primary(s, &err) < 0) return not_met(s, step);
  int old = lb_cast_latest_primary(s);
  if (lb_cluster_failover(&s->cluster, old, failover_until(s, step)) != LB_OK) return not_met(s, step);
  lb_stage_step(s, LB_EV_MET, step);
  tell_failover(s, old);
  return 0;
}

/* ---- conditions for which a client or server is asked, or a point has to be found passed ---- */

/* Whether that server has a record of the key, or the service of an adapter (NULL); -1 after lb_stage_doubt(). */
static int is_present(struct lb_stage *s, const struct lb_step *step, const struct lb_server *server) {
  struct lb_reply reply;
  struct lb_command command = {.verb = LB_DO_INSPECT,
                               .deadline = lb_in_ms(ASK_MS),
                               .argument = server ? (size_t)(server - s->cluster.server) : 0};
  int r = lb_client_call(&s->observer, command, LB_GRACE_MS, &reply);
  if (r != 0) return lb_stage_silent(s, &s->observer, step->text, r), -1;
  if (reply.result < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, reply.err), -1;
  return reply.result > 0;
}

/* What was seen last is recorded: absent, or present to the end. */
static int await_absent(struct lb_stage *s, const struct lb_step *step) {
  struct lb_error err;
  struct lb_cast cast = {.server = {NULL}};
  bool servers = s->cluster.topology->data_count > 0;
  lb_ns deadline = lb_in_ms(step->within_ms);
  if (servers && lb_cast_find(s, &step->a, &cast, &err) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s", err.text);
  int present = is_present(s, step, cast.server[0]);
  while (present == 1 && lb_clock_ns() < deadline) {
    lb_sleep_ms(POLL_MS);
    present = is_present(s, step, cast.server[0]);
  }
  if (present < 0) return -ECANCELED;
  if (servers) lb_stage_observed_at(s, step, cast.server[0], present);
  else lb_stage_observed(s, step, present);
  if (!present) return met(s, step);
  not_met(s, step);
  return lb_stage_doubt(s, LB_STUCK, "%s: it is there to the end", step->text);
}

/* It has got there by itself: who was paused or killed by another step is at no point. */
static int await_life(struct lb_stage *s, const struct lb_step *step, enum lb_life life) {
  struct lb_client *client = lb_timeline_client(s, step);
  const struct lb_client_state *state = lb_stage_state(s, client);
  lb_ns since = lb_clock_ns(), deadline = lb_in_ms(step->within_ms);
  while (lb_clock_ns() < deadline) {
    if (lb_timeline_look_at_points(s) < 0) return -ECANCELED;
    if (atomic_load(&state->at_point) && lb_client_look(client) == life) return met(s, step);
    lb_timeline_doze(since);
  }
  not_met(s, step);
  return lb_stage_doubt(s, LB_UNDECIDED, "%s: it is at no point that an earlier step has armed", step->text);
}

static int await_stopped(struct lb_stage *s, const struct lb_step *step) {
  return await_life(s, step, LB_LIFE_STOPPED);
}
static int await_crashed(struct lb_stage *s, const struct lb_step *step) { return await_life(s, step, LB_LIFE_KILLED); }

/* Looks often: it may be a matter of a millisecond. */
static int await_woken(struct lb_stage *s, const struct lb_step *step) {
  const struct lb_client_state *state = lb_stage_state(s, lb_timeline_client(s, step));
  lb_ns deadline = lb_in_ms(step->within_ms);
  while (!atomic_load(&state->woken) || atomic_load(&state->holds)) {
    if (lb_clock_ns() > deadline)
      return not_met(s, step), lb_stage_doubt(s, LB_UNDECIDED, "%s: it was told nothing", step->text);
    lb_timeline_doze(lb_clock_ns());
  }
  return met(s, step);
}

/* A grant instead is no answer to the question that the scenario asks. */
static int await_gave_up(struct lb_stage *s, const struct lb_step *step) {
  const struct lb_client_state *state = lb_stage_state(s, lb_timeline_client(s, step));
  lb_ns since = lb_clock_ns(), deadline = lb_in_ms(step->within_ms);
  while (!atomic_load(&state->gave_up)) {
    bool granted = atomic_load(&state->granted);
    if (granted || lb_clock_ns() > deadline)
      return not_met(s, step), lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text,
                                              granted ? "it was granted the lock" : "it still asks");
    lb_timeline_doze(since);
  }
  return met(s, step);
}

static int await_caught_up(struct lb_stage *s, const struct lb_step *step) {
  struct lb_error err;
  struct lb_cast cast;
  struct lb_cluster *cluster = &s->cluster;
  lb_ns deadline = lb_in_ms(step->within_ms);
  if (lb_cast_find(s, &step->a, &cast, &err) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s", err.text);
  if (!cluster->topology->family->caught_up)
    return lb_stage_doubt(s, LB_UNDECIDED, "%s: no server here says how far it follows another one", step->text);
  size_t index = (size_t)(cast.server[0] - cluster->server);
  for (;;) {
    int leader = lb_cluster_primary(cluster, deadline);
    if (leader == (int)index) lb_fail(cluster->env, -EINVAL, "%s decides itself", cast.server[0]->name);
    else if (leader >= 0 && cluster->topology->family->caught_up(cluster, index, (size_t)leader, deadline) == 0)
      return met(s, step);
    if (lb_clock_ns() >= deadline) break;
    lb_sleep_ms(POLL_MS);
  }
  not_met(s, step);
  return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, cluster->env->err);
}

/* Only the server that decides is believed: another one may not have heard of the end, or still list what is over. */
static int await_session(struct lb_stage *s, const struct lb_step *step) {
  struct lb_cluster *cluster = &s->cluster;
  const struct lb_family *family = cluster->topology->family;
  uint64_t id = atomic_load(&lb_stage_state(s, lb_timeline_client(s, step))->session);
  lb_ns deadline = lb_in_ms(step->within_ms);
  if (id == 0 || !family->has_session) return lb_stage_doubt(s, LB_UNDECIDED, "%s: it has none", step->text);
  int known_at = -ENOENT; /* who said last that it lives; an ask that the deadline cut off says nothing */
  for (;;) {
    int leader = lb_cluster_primary(cluster, deadline);
    int has = leader < 0 ? leader : family->has_session(cluster, (size_t)leader, id, deadline);
    if (has == 0) return met(s, step);
    if (has > 0) known_at = leader;
    if (lb_clock_ns() >= deadline) break;
    lb_sleep_ms(POLL_MS);
  }
  not_met(s, step);
  if (known_at >= 0)
    return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s still has it", step->text, cluster->server[known_at].name);
  return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, cluster->env->err);
}

/* The session is that of the client's latest try. An ask that the deadline cut off says nothing. */
static int await_place(struct lb_stage *s, const struct lb_step *step) {
  struct lb_cluster *cluster = &s->cluster;
  const struct lb_client *client = lb_timeline_client(s, step);
  lb_ns deadline = lb_in_ms(step->within_ms);
  bool had_none = false;
  do {
    int leader = lb_cluster_primary(cluster, deadline);
    int has = leader < 0
                  ? leader
                  : cluster->topology->family->has_place(cluster, (size_t)leader, client->host->address,
                                                         atomic_load(&lb_stage_state(s, client)->session), deadline);
    if (has == 1) return met(s, step);
    had_none |= has == 0;
    lb_sleep_ms(POLL_MS);
  } while (lb_clock_ns() < deadline);
  if (had_none) return in_vain(s, step, "the servers have none");
  not_met(s, step);
  return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, cluster->env->err);
}

/* A server may have answered before it writes: one that is in the middle of a sync keeps it for its next timer, up to a
 * tenth of a second later. So it has to have synced all for longer than that. */
static int let_sync(struct lb_stage *s, const struct lb_step *step) {
  struct lb_error err;
  struct lb_cast cast;
  lb_ns deadline = lb_in_ms(step->within_ms), since = 0;
  if (lb_cast_find(s, &step->a, &cast, &err) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s", err.text);
  for (;;) {
    lb_ns now = lb_clock_ns();
    bool synced = lb_power_is_synced(&s->cluster, (size_t)(cast.server[0] - s->cluster.server)) == 1;
    if (!synced) since = 0;
    else if (since == 0) since = now;
    if (since > 0 && now - since >= QUIET_MS * LB_NS_PER_MS) return met(s, step);
    if (now >= deadline) return not_met(s, step);
    lb_clock_sleep_until(now + POLL_MS * LB_NS_PER_MS);
  }
}

/* ---- facts ---- */

/* The fact is "present" when any of the servers has a record of the key. */
static int observe_key(struct lb_stage *s, const struct lb_step *step) {
  bool present = false;
  struct lb_cast a, b;
  if (s->cluster.topology->data_count == 0) {
    int there = is_present(s, step, NULL);
    if (there >= 0) lb_stage_observed(s, step, there);
    return there < 0 ? -ECANCELED : 0;
  }
  int r = lb_timeline_cast(s, step, &a, &b);
  for (size_t i = 0; r == 0 && i < a.server_count; i++) {
    int there = is_present(s, step, a.server[i]);
    if (there < 0) return -ECANCELED;
    lb_stage_observed_at(s, step, a.server[i], there);
    present |= there;
  }
  if (r == 0) lb_stage_observed(s, step, present);
  return r;
}

/* Looks at the memory only, so the client may be stopped or deep in a hook. */
static int observe_client(struct lb_stage *s, const struct lb_step *step) {
  lb_stage_holds(s, step, lb_timeline_client(s, step));
  return 0;
}

/* Whether that server plays the role of a premise. If no server plays it, nothing is recorded: the premise was not
 * observed. */
static int observe_role(struct lb_stage *s, const struct lb_step *step, const struct lb_server *server,
                        struct lb_role role) {
  struct lb_error err;
  struct lb_cast played;
  if (!server || lb_cast_find(s, &role, &played, &err) < 0) return 0;
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
  if (recorded == 0)
    lb_stage_server(s, step, lb_timeline_client(s, step), server, (struct lb_role){LB_ROLE_NONE, 0}, false);
  return 0;
}

/* One that does not answer is asked again: while it leaves, it may refuse connections. That it did not leave is what it
 * says after the bound. */
static int observe_leaves(struct lb_stage *s, const struct lb_step *step) {
  struct lb_cast a, b;
  lb_ns until = lb_in_ms(step->within_ms), last = until + ASK_MS * LB_NS_PER_MS;
  int r = lb_timeline_cast(s, step, &a, &b), left = -EAGAIN;
  if (r < 0) return r;
  size_t index = (size_t)(a.server[0] - s->cluster.server);
  for (bool late = false; left != 1 && !(late && left == 0) && lb_clock_ns() < last;) {
    late = lb_clock_ns() >= until;
    left = lb_cluster_left(&s->cluster, index, last);
    if (left != 1) lb_sleep_ms(LEAVES_POLL_MS);
  }
  if (left < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, s->env.base.err);
  lb_stage_left(s, step, a.server[0], left);
  return 0;
}

const struct lb_play lb_parts_of_conditions[LB_VERB_COUNT] = {
    [LB_STEP_LET_FAILOVER] = {let_failover},
    [LB_STEP_LET_SYNC] = {let_sync},
    [LB_STEP_LET_HOLD] = {let_client, .met = holds},
    [LB_STEP_LET_WRITE] = {let_client, .met = has_written},
    [LB_STEP_LET_EITHER_WRITE] = {let_client, .met = has_written},
    [LB_STEP_AWAIT_FAILOVER] = {await_failover},
    [LB_STEP_AWAIT_ASKS] = {await_client, .met = asks},
    [LB_STEP_AWAIT_WAITS] = {await_client, .met = waits},
    [LB_STEP_AWAIT_PLACE] = {await_place},
    [LB_STEP_AWAIT_HOLDS] = {await_client, .met = holds},
    [LB_STEP_AWAIT_GRANTED] = {await_client, .met = is_granted},
    [LB_STEP_AWAIT_GAVE_UP] = {await_gave_up},
    [LB_STEP_AWAIT_WRITTEN] = {await_client, .met = has_written},
    [LB_STEP_AWAIT_STOPPED] = {await_stopped},
    [LB_STEP_AWAIT_CRASHED] = {await_crashed},
    [LB_STEP_AWAIT_WOKEN] = {await_woken},
    [LB_STEP_AWAIT_SESSION] = {await_session},
    [LB_STEP_AWAIT_CAUGHT_UP] = {await_caught_up},
    [LB_STEP_AWAIT_ABSENT] = {await_absent},
    [LB_STEP_WAIT] = {pass_time},
    [LB_STEP_OBSERVE_KEY] = {observe_key},
    [LB_STEP_OBSERVE_CLIENT] = {observe_client},
    [LB_STEP_OBSERVE_SERVER] = {observe_server},
    [LB_STEP_OBSERVE_LEAVES] = {observe_leaves},
};
