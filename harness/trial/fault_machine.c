/* SPDX-License-Identifier: MIT
 *
 * Faults of what a server or client runs on: its power goes, its memory or its disk is full, its clocks are wrong.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "fault.h"
#include "servers/power.h"
#include "servers/room.h"

enum { FILL_MS = 20000, NEED_MS = 10000, END_MS = 5000, POLL_MS = 5 };
enum { QUICK_MS = 1000, ASK_MS = 4000, FLOW_MS = 500, CLOCK_ERROR_MS = 500, RATE_LOOK_MS = 400, RATE_ASKS = 5 };

/* ---- loss of power ----
 *
 * Servers are killed, and what they had not synced goes with them. The proof is read in their files: the last that each
 * had synced is there, and the first that it had not is not (servers/power.h). How much is lost may be nothing: a
 * premise can ask for that. */

/* All are dead before anything is taken from the first: the power of a machine room goes at once. */
static int power_off(struct lb_doing *d) {
  for (size_t i = 0; i < d->a->server_count; i++)
    if (!d->a->server[i]->journal[0])
      return lb_doing_fail(d, "%s: nobody has seen what %s writes", d->step->text, d->a->server[i]->name);
  return lb_doing_kill_servers(d);
}

static int take_unsynced(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  for (size_t i = 0; i < d->a->server_count; i++) {
    struct lb_power_loss loss;
    struct lb_server *server = d->a->server[i];
    if (lb_power_cut(cluster, (size_t)(server - cluster->server), &loss) < 0)
      return lb_doing_fail(d, "%s: %s", d->step->text, cluster->err.text);
    lb_stage_unsynced(d->s, d->step, server, loss.written - loss.lost, loss.written);
  }
  return 0;
}

/* ---- full memory: servers are limited and written to until they show what they do then, and say how it showed ---- */

/* The server has shown it when this returns. */
static int fill_memory(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  char said[100];
  for (size_t i = 0; i < d->a->server_count; i++) {
    if (cluster->topology->family->orders.fill_memory(cluster, lb_doing_index(d, i), d->step->policy, lb_in_ms(FILL_MS),
                                                      said, sizeof said) < 0)
      return lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
    lb_stage_note(d->s, "%s %s", d->a->server[i]->name, said);
  }
  return 0;
}

static int free_memory(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  for (size_t i = 0; i < d->a->server_count; i++)
    if (cluster->topology->family->orders.free_memory(cluster, lb_doing_index(d, i), lb_in_ms(FILL_MS)) < 0)
      return lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
  return 0;
}

/* ---- a full disk ----
 *
 * All room is taken, and the server is made to need some. It is proved by what the server does: it refuses and says
 * why, or it has ended, or left the others, and said why. */

/* Whether the server has stopped serving: it has ended, or says that it has left the others. */
static bool is_out(struct lb_doing *d, struct lb_server *server, lb_ns deadline) {
  struct lb_cluster *cluster = &d->s->cluster;
  size_t index = (size_t)(server - cluster->server);
  return !lb_proc_alive(&server->proc) ||
         (cluster->topology->family->left && lb_cluster_left(cluster, index, deadline) == 1);
}

/* One that has ended is dead by this step, and not by itself. */
static int await_end(struct lb_doing *d, struct lb_server *server, long since) {
  char why[200];
  const char *words = d->s->cluster.topology->family->orders.no_room;
  lb_ns deadline = lb_in_ms(END_MS);
  snprintf(why, sizeof why, "%s", d->s->cluster.env->err);
  while (!lb_doing_has_said(server, since, words) || !is_out(d, server, deadline)) {
    if (lb_clock_ns() > deadline)
      return lb_doing_fail(d, "%s: %s neither refuses nor ends for want of room: %s", d->step->text, server->name, why);
    lb_sleep_ms(POLL_MS);
  }
  lb_stage_note(d->s, "%s has %s, and says: %s", server->name,
                lb_proc_alive(&server->proc) ? "left the others" : "ended", words);
  return 0;
}

static int fill_disk(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  for (size_t i = 0; i < d->a->server_count; i++) {
    struct lb_server *server = d->a->server[i];
    long since = lb_doing_said(server);
    if (lb_room_fill(cluster, lb_doing_index(d, i)) < 0)
      return lb_doing_fail(d, "%s: %s", d->step->text, cluster->err.text);
    int r = cluster->topology->family->orders.need_room(cluster, lb_doing_index(d, i), lb_in_ms(NEED_MS));
    if (r == 0) return lb_doing_fail(d, "%s: %s has found room all the same", d->step->text, server->name);
    if (r == -ENOSPC) lb_stage_note(d->s, "%s", cluster->env->err);
    else if (await_end(d, server, since) < 0) return -1;
  }
  return 0;
}

static int free_disk(struct lb_doing *d) {
  for (size_t i = 0; i < d->a->server_count; i++)
    if (lb_room_free(&d->s->cluster, lb_doing_index(d, i)) < 0)
      return lb_doing_fail(d, "%s: %s", d->step->text, d->s->cluster.err.text);
  return 0;
}

/* ---- a disk that stalls: proved by the syncs that have waited, which are there when it ends ---- */

static int stall_disk(struct lb_doing *d) {
  for (size_t i = 0; i < d->a->server_count; i++) {
    struct lb_stall *stall = d->a->server[i]->stall;
    stall->owner = d->step;
    atomic_store(&stall->kept, 0);
    atomic_store(&stall->stalled, 1);
  }
  return 0;
}

/* All that waited go on. */
static bool is_flowing(const struct lb_stall *stall) {
  lb_ns deadline = lb_clock_ns() + FLOW_MS * LB_NS_PER_MS;
  while (atomic_load(&stall->waiting) > 0 && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS);
  return atomic_load(&stall->waiting) == 0;
}

static int unstall_one(struct lb_doing *d, const struct lb_server *server) {
  struct lb_stall *stall = server->stall;
  const struct lb_step *owner = stall->owner;
  uint64_t kept = atomic_load(&stall->kept);
  uint64_t waited = kept > 0 ? lb_clock_ns() - atomic_load(&stall->since_ns) : 0;
  atomic_store(&stall->stalled, 0);
  stall->owner = NULL;
  if (kept == 0) return lb_doing_fail(d, "%s: %s has synced nothing meanwhile", d->step->text, server->name);
  lb_stage_note(d->s, "%s: syncs had waited (%llu), the first for %llu ms", server->name, (unsigned long long)kept,
                (unsigned long long)(waited / LB_NS_PER_MS));
  if (!is_flowing(stall)) return lb_doing_fail(d, "%s: syncs of %s still wait", d->step->text, server->name);
  if (owner) lb_stage_step(d->s, LB_EV_PROVED, owner);
  return 0;
}

static int unstall_disk(struct lb_doing *d) {
  int r = 0;
  for (size_t i = 0; i < d->a->server_count; i++) {
    int one = unstall_one(d, d->a->server[i]);
    r = r < 0 ? r : one;
  }
  return r;
}

/* ---- clocks ----
 *
 * That a clock has moved is asked of the server or client whose clock it is; what was set is never taken for it.
 *
 * A jump is proved by the difference between two answers, before and after. Another rate is proved by the answers
 * drifting apart. Both are compared with the true clock, which is that of the controller, and are as exact as a
 * server's answer: half a second for a jump. */

struct dial { /* a clock, and whom to ask for its time */
  const char *name;
  struct lb_skew *skew;     /* NULL: it cannot be set */
  struct lb_server *server; /* or */
  struct lb_client *client;
};

static size_t dial_count(const struct lb_doing *d) { return d->a->server_count + d->a->client_count; }

/* Dial i of those that are hit: servers first, then clients. */
static struct dial dial_at(const struct lb_doing *d, size_t i) {
  if (i < d->a->server_count) {
    struct lb_server *server = d->a->server[i];
    return (struct dial){.name = server->name, .skew = server->skew, .server = server};
  }
  struct lb_client *client = d->a->client[i - d->a->server_count];
  return (struct dial){.name = client->name, .skew = client->skew, .client = client};
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* What the client's env shows, as an ordinary command: so the client must not owe another answer. */
static int ask_client(struct lb_client *client, bool monotonic, int64_t *ret_ms) {
  struct lb_reply reply;
  struct lb_command command = {.verb = LB_DO_CLOCK, .deadline = lb_in_ms(QUICK_MS), .argument = monotonic};
  int r = lb_client_call(client, command, ASK_MS, &reply);
  *ret_ms = reply.value;
  return r == 0 ? 0 : -ETIMEDOUT;
}

/* It owes the answer to another command, and has not got it yet. */
static bool is_busy(const struct lb_doing *d, const struct lb_client *client) {
  return d->s->pending && d->s->pending[client->number].step && lb_client_peek(client) == 0;
}

/* The clock of a client that waits for a server: what its env shows to itself (env.h), in a look that began after this
 * call. */
static int hear_client(const struct lb_doing *d, const struct lb_client *client, int64_t *ret_ahead_ms) {
  struct lb_wall_told *wall = &lb_stage_state(d->s, client)->wall;
  lb_ns deadline = lb_in_ms(QUICK_MS);
  for (uint32_t looks = atomic_load(&wall->looks); atomic_load(&wall->looks) - looks < 2; lb_sleep_ms(1))
    if (lb_clock_ns() > deadline) return -ETIMEDOUT;
  *ret_ahead_ms = atomic_load(&wall->ahead_ms);
  return 0;
}

/* How a server tells its time is up to its family; -EOPNOTSUPP: it has no way to tell a monotonic clock. */
static int ask_server(struct lb_doing *d, const struct lb_server *server, bool monotonic, int64_t *ret_ms) {
  struct lb_cluster *cluster = &d->s->cluster;
  size_t index = (size_t)(server - cluster->server);
  return (monotonic ? lb_cluster_mono_ms : lb_cluster_wall_ms)(cluster, index, lb_in_ms(QUICK_MS), ret_ms);
}

/* The clock that no fault touches, in the same two kinds. */
static int64_t true_ms(bool monotonic) {
  return monotonic ? (int64_t)(lb_clock_ns() / LB_NS_PER_MS) : lb_clock_wall_ms();
}

/* What the clock says minus the true time, in ms; of a monotonic clock only differences of this mean something. 0, or
 * -1 with err. */
static int ask_offset(struct lb_doing *d, const struct dial *dial, int64_t *ret) {
  bool monotonic = d->step->monotonic;
  lb_ns deadline = lb_in_ms(ASK_MS);
  int64_t told = 0, before;
  int r = 0;
  if (dial->client && !monotonic && is_busy(d, dial->client))
    return hear_client(d, dial->client, ret) == 0
               ? 0
               : lb_doing_fail(d, "%s: %s does not look at its clock", d->step->text, dial->name);
  do { /* a server may be busy with other things when it is asked first */
    before = true_ms(monotonic);
    if (dial->server) r = ask_server(d, dial->server, monotonic, &told);
    else r = ask_client(dial->client, monotonic, &told);
  } while (r < 0 && r != -EOPNOTSUPP && lb_clock_ns() < deadline);
  if (r < 0)
    return lb_doing_fail(d, "%s: %s does not tell its time: %s", d->step->text, dial->name,
                         dial->server ? d->s->env.base.err : "no answer");
  *ret = told - (before + true_ms(monotonic)) / 2;
  return 0;
}

/* A server that an earlier step has killed or stopped. Its clock moves with those of the others, and is not waited for;
 * alone it would be a clock without a proof. */
static bool is_silent(const struct dial *dial) {
  return dial->server && (dial->server->proc.pid <= 0 || lb_fault_server_stands(dial->server));
}

/* Those who can answer; one has to. */
static size_t count_heard(const struct lb_doing *d) {
  size_t heard = 0;
  for (size_t i = 0; i < dial_count(d); i++) {
    struct dial dial = dial_at(d, i);
    heard += !is_silent(&dial);
  }
  return heard;
}

/* A jump needs the answers from before it: a host's clock may be off already, by an earlier step. */
static int ask_before(struct lb_doing *d, const struct dial *dial, int64_t *before) {
  if (!dial->skew) return lb_doing_fail(d, "%s: its clock cannot be set", dial->name);
  if (count_heard(d) == 0) return lb_doing_fail(d, "%s: who is hit cannot tell the time now", d->step->text);
  return is_silent(dial) ? 0 : ask_offset(d, dial, before);
}

static int each_dial(struct lb_doing *d, int (*act)(struct lb_doing *d, const struct dial *dial, int64_t *before)) {
  int r = 0;
  for (size_t i = 0; r == 0 && i < dial_count(d); i++) {
    struct dial dial = dial_at(d, i);
    r = act(d, &dial, &d->before_ms[i]);
  }
  return r;
}

/* ---- a jump ------------------------------------------------------------------------------------------------------ */

static int jump(struct lb_doing *d) {
  if (each_dial(d, ask_before) < 0) return -1;
  for (size_t i = 0; i < dial_count(d); i++)
    lb_skew_jump(dial_at(d, i).skew, d->step->monotonic, d->step->offset_ms * (int64_t)LB_NS_PER_MS);
  return 0;
}

/* It asks again until the jump is seen: a server may still answer with a time that it has kept from before. */
static int prove_one_jump(struct lb_doing *d, const struct dial *dial, int64_t *before) {
  lb_ns deadline = lb_in_ms(ASK_MS);
  int64_t now, jumped;
  while (!is_silent(dial)) {
    if (ask_offset(d, dial, &now) < 0) return -1;
    jumped = now - *before;
    if (llabs(jumped - d->step->offset_ms) <= CLOCK_ERROR_MS) {
      if (d->step->monotonic) lb_stage_clock(d->s, d->step, dial->name, LB_CLOCK_MONOTONIC, jumped, 0);
      else lb_stage_clock(d->s, d->step, dial->name, LB_CLOCK_WALL, now, 0);
      return 0;
    }
    if (lb_clock_ns() > deadline)
      return lb_doing_fail(d, "%s: %s says it jumped by %+lld ms, expected %+lld", d->step->text, dial->name,
                           (long long)jumped, (long long)d->step->offset_ms);
    lb_sleep_ms(1);
  }
  return 0;
}

static int prove_jumps(struct lb_doing *d) { return each_dial(d, prove_one_jump); }

/* ---- another rate ------------------------------------------------------------------------------------------------ */

static int change_rate(struct lb_doing *d) {
  for (size_t i = 0; i < dial_count(d); i++) {
    struct dial dial = dial_at(d, i);
    if (!dial.skew) return lb_doing_fail(d, "%s: its clock cannot be set", dial.name);
    lb_skew_rate(dial.skew, d->step->rate);
  }
  return 0;
}

/* The answer that came fastest of several: it can be off by no more than half its round trip. */
static int ask_exactly(struct lb_doing *d, const struct dial *dial, int64_t *ret) {
  lb_ns best = LB_NEVER;
  for (int i = 0; i < RATE_ASKS; i++) {
    int64_t offset;
    lb_ns begin = lb_clock_ns();
    if (ask_offset(d, dial, &offset) < 0) return -1;
    lb_ns trip = lb_clock_ns() - begin;
    if (trip < best) best = trip, *ret = offset;
  }
  return 0;
}

/* At the new rate the offset has to move the right way, by at least half of what it should. The slower the drift, the
 * longer it looks, until 20 ms should have come together: less could be the jitter of the answers. On a busy machine
 * that can be more, so it looks for twice as long then. */
static int prove_one_rate(struct lb_doing *d, const struct dial *dial, int64_t *before) {
  (void)before;
  int64_t first = 0, now = 0, look_ms = RATE_LOOK_MS;
  double gain = d->step->rate - 1;
  if (count_heard(d) == 0) return lb_doing_fail(d, "%s: who is hit cannot tell the time now", d->step->text);
  if (is_silent(dial)) return 0;
  if (gain != 0 && 20 / fabs(gain) > (double)look_ms) look_ms = (int64_t)(20 / fabs(gain));
  if (ask_exactly(d, dial, &first) < 0) return -1;
  lb_ns begin = lb_clock_ns();
  for (int64_t looked_ms = look_ms; looked_ms <= 4 * look_ms; looked_ms *= 2) {
    lb_clock_sleep_until(begin + (lb_ns)looked_ms * LB_NS_PER_MS);
    if (ask_exactly(d, dial, &now) < 0) return -1;
    if ((double)(now - first) * (gain < 0 ? -1 : 1) < fabs(gain) * (double)looked_ms / 2) continue;
    lb_stage_clock(d->s, d->step, dial->name, LB_CLOCK_RATE, now - first, looked_ms);
    return 0;
  }
  return lb_doing_fail(d, "%s: %s gained %lld ms in %lld ms", d->step->text, dial->name, (long long)(now - first),
                       4LL * look_ms);
}

static int prove_rates(struct lb_doing *d) { return each_dial(d, prove_one_rate); }

/* ---- and back ---------------------------------------------------------------------------------------------------- */

/* Taken back without a proof: what a clock says afterwards is not part of any claim. */
static int true_clocks(struct lb_doing *d) {
  for (size_t i = 0; i < dial_count(d); i++)
    if (dial_at(d, i).skew) lb_skew_reset(dial_at(d, i).skew);
  return 0;
}

const struct lb_fault lb_faults_of_machines[LB_VERB_COUNT] = {
    [LB_STEP_POWER_OFF] = {power_off, take_unsynced, lb_doing_restart},
    [LB_STEP_FILL_MEMORY] = {fill_memory, .undo = free_memory},
    [LB_STEP_FREE_MEMORY] = {free_memory},
    [LB_STEP_FILL_DISK] = {fill_disk, .undo = free_disk},
    [LB_STEP_FREE_DISK] = {free_disk},
    [LB_STEP_STALL_DISK] = {stall_disk, .undo = unstall_disk, .settles = true},
    [LB_STEP_UNSTALL_DISK] = {unstall_disk},
    [LB_STEP_CLOCK_JUMP] = {jump, prove_jumps, true_clocks},
    [LB_STEP_CLOCK_RATE] = {change_rate, prove_rates, true_clocks},
};
