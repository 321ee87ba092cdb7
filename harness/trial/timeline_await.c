/* SPDX-License-Identifier: MIT
 *
 * Conditions of a timeline that are more than a look at the memory of the trial: a server is asked, or a point has to be found passed.
 */
#include "timeline_await.h"

#include <errno.h>

#include "base/clock.h"
#include "cast.h"
#include "servers/disk.h"
#include "timeline_client.h"

enum { ASK_MS = 5000, POLL_MS = 20, QUIET_MS = 150 };

/* Whether that server has a record of the key; -1 after lb_stage_doubt(). */
static int is_present(struct lb_stage *s, const struct lb_step *step, const struct lb_server *server) {
  struct lb_reply reply;
  struct lb_command command = {
      .verb = LB_DO_INSPECT, .deadline = lb_timeline_in_ms(ASK_MS), .argument = (size_t)(server - s->cluster.server)};
  int r = lb_client_call(&s->observer, command, LB_GRACE_MS, &reply);
  if (r != 0) return lb_stage_silent(s, &s->observer, step->text, r), -1;
  if (reply.result < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, reply.err), -1;
  return reply.result > 0;
}

/* What was seen last is recorded: absent, or present to the end. */
int lb_timeline_await_absent(struct lb_stage *s, const struct lb_step *step) {
  char err[400];
  struct lb_cast cast;
  lb_ns deadline = lb_timeline_in_ms(step->within_ms);
  if (lb_cast_find(s, &step->a, &cast, err, sizeof err) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s", err);
  int present = is_present(s, step, cast.server[0]);
  while (present == 1 && lb_clock_ns() < deadline) {
    lb_clock_sleep_until(lb_clock_ns() + POLL_MS * LB_NS_PER_MS);
    present = is_present(s, step, cast.server[0]);
  }
  if (present < 0) return -ECANCELED;
  lb_stage_observed_at(s, step, cast.server[0], present);
  if (!present) return lb_stage_met(s, step), 0;
  lb_stage_not_met(s, step);
  return lb_stage_doubt(s, LB_STUCK, "%s: it is there to the end", step->text);
}

/* It has got there by itself: who was paused or killed by another step is at no point. */
static int await_life(struct lb_stage *s, const struct lb_step *step, enum lb_life life) {
  struct lb_client *client = lb_timeline_client(s, step);
  const struct lb_client_state *state = lb_stage_state(s, client);
  lb_ns since = lb_clock_ns(), deadline = lb_timeline_in_ms(step->within_ms);
  while (lb_clock_ns() < deadline) {
    if (lb_timeline_look_at_points(s) < 0) return -ECANCELED;
    if (atomic_load(&state->at_point) && lb_client_look(client) == life) return lb_stage_met(s, step), 0;
    lb_timeline_doze(since);
  }
  lb_stage_not_met(s, step);
  return lb_stage_doubt(s, LB_UNDECIDED, "%s: it is at no point that an earlier step has armed", step->text);
}

int lb_timeline_await_stopped(struct lb_stage *s, const struct lb_step *step) { return await_life(s, step, LB_LIFE_STOPPED); }
int lb_timeline_await_crashed(struct lb_stage *s, const struct lb_step *step) { return await_life(s, step, LB_LIFE_KILLED); }

/* Looks often: it may be a matter of a millisecond. */
int lb_timeline_await_woken(struct lb_stage *s, const struct lb_step *step) {
  const struct lb_client_state *state = lb_stage_state(s, lb_timeline_client(s, step));
  lb_ns deadline = lb_timeline_in_ms(step->within_ms);
  while (!atomic_load(&state->woken) || atomic_load(&state->holds)) {
    if (lb_clock_ns() > deadline) return lb_stage_not_met(s, step), lb_stage_doubt(s, LB_UNDECIDED, "%s: it was told nothing", step->text);
    lb_timeline_doze(lb_clock_ns());
  }
  return lb_stage_met(s, step), 0;
}

/* A grant instead is no answer to the question that the scenario asks. */
int lb_timeline_await_gave_up(struct lb_stage *s, const struct lb_step *step) {
  const struct lb_client_state *state = lb_stage_state(s, lb_timeline_client(s, step));
  lb_ns since = lb_clock_ns(), deadline = lb_timeline_in_ms(step->within_ms);
  while (!atomic_load(&state->gave_up)) {
    bool granted = atomic_load(&state->granted);
    if (granted || lb_clock_ns() > deadline)
      return lb_stage_not_met(s, step), lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, granted ? "it was granted the lock" : "it still asks");
    lb_timeline_doze(since);
  }
  return lb_stage_met(s, step), 0;
}

int lb_timeline_await_caught_up(struct lb_stage *s, const struct lb_step *step) {
  char err[400];
  struct lb_cast cast;
  struct lb_cluster *cluster = &s->cluster;
  lb_ns deadline = lb_timeline_in_ms(step->within_ms);
  if (lb_cast_find(s, &step->a, &cast, err, sizeof err) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s", err);
  if (!cluster->topology->family->caught_up) return lb_stage_doubt(s, LB_UNDECIDED, "%s: no server here says how far it follows another one", step->text);
  size_t index = (size_t)(cast.server[0] - cluster->server);
  for (;;) {
    int leader = lb_cluster_primary(cluster, deadline);
    if (leader == (int)index) lb_fail(cluster->env, -EINVAL, "%s decides itself", cast.server[0]->name);
    else if (leader >= 0 && cluster->topology->family->caught_up(cluster, index, (size_t)leader, deadline) == 0) return lb_stage_met(s, step), 0;
    if (lb_clock_ns() >= deadline) break;
    lb_clock_sleep_until(lb_clock_ns() + POLL_MS * LB_NS_PER_MS);
  }
  lb_stage_not_met(s, step);
  return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, cluster->env->err);
}

/* Nobody is believed but the one that decides: another one may not have heard of the end, or still list what is over. */
int lb_timeline_await_session(struct lb_stage *s, const struct lb_step *step) {
  struct lb_cluster *cluster = &s->cluster;
  const struct lb_family *family = cluster->topology->family;
  uint64_t id = atomic_load(&lb_stage_state(s, lb_timeline_client(s, step))->session);
  lb_ns deadline = lb_timeline_in_ms(step->within_ms);
  if (id == 0 || !family->has_session) return lb_stage_doubt(s, LB_UNDECIDED, "%s: it has none", step->text);
  int known_at = -ENOENT; /* who said last that it lives; an ask that the deadline cut off says nothing */
  for (;;) {
    int leader = lb_cluster_primary(cluster, deadline);
    int has = leader < 0 ? leader : family->has_session(cluster, (size_t)leader, id, deadline);
    if (has == 0) return lb_stage_met(s, step), 0;
    if (has > 0) known_at = leader;
    if (lb_clock_ns() >= deadline) break;
    lb_clock_sleep_until(lb_clock_ns() + POLL_MS * LB_NS_PER_MS);
  }
  lb_stage_not_met(s, step);
  if (known_at >= 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s still has it", step->text, cluster->server[known_at].name);
  return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, cluster->env->err);
}

/* A server may have answered before it writes: one that is in the middle of a sync keeps it for its next timer, up to a tenth of a second later. So it has to
 * have synced all for longer than that. */
int lb_timeline_let_sync(struct lb_stage *s, const struct lb_step *step) {
  char err[400];
  struct lb_cast cast;
  lb_ns deadline = lb_timeline_in_ms(step->within_ms), since = 0;
  if (lb_cast_find(s, &step->a, &cast, err, sizeof err) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s", err);
  for (;;) {
    lb_ns now = lb_clock_ns();
    bool synced = lb_power_is_synced(&s->cluster, (size_t)(cast.server[0] - s->cluster.server)) == 1;
    if (!synced) since = 0;
    else if (since == 0) since = now;
    if (since > 0 && now - since >= QUIET_MS * LB_NS_PER_MS) return lb_stage_met(s, step), 0;
    if (now >= deadline) return lb_stage_not_met(s, step), 0;
    lb_clock_sleep_until(now + POLL_MS * LB_NS_PER_MS);
  }
}
