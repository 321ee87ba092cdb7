/* SPDX-License-Identifier: MIT
 *
 * What operators do by hand to a lock, or to who holds it: they delete its record, end the session of a client, and move the slot of its key. All three are proved by
 * asking the server.
 */
#include <errno.h>

#include "base/clock.h"
#include "client/client.h"
#include "fault_parts.h"
#include "timeline_client.h"

enum { ASK_MS = 5000, HAND_MS = 5000, POLL_MS = 5 };

static lb_ns in_ms(int64_t ms) { return lb_clock_ns() + (lb_ns)ms * LB_NS_PER_MS; }
static size_t index_of(const struct lb_doing *d) { return (size_t)(d->a->server[0] - d->s->cluster.server); }

/* ---- the record of a lock -------------------------------------------------------------------------------------------- */

/* Asked through the observer, whose session knows what a record looks like: 1, 0, or -1 with err. */
static int ask(struct lb_doing *d, enum lb_client_verb verb) {
  struct lb_reply reply;
  struct lb_command command = {.verb = verb, .deadline = in_ms(ASK_MS), .argument = index_of(d)};
  int r = lb_client_call(&d->s->observer, command, LB_GRACE_MS, &reply);
  if (r != 0) return lb_doing_fail(d, "%s: the observer does not answer", d->step->text);
  return reply.result < 0 ? lb_doing_fail(d, "%s: %s", d->step->text, reply.err) : reply.result > 0;
}

/* Whoever asks now may have made another record by the time that somebody looks. Then the word of the server counts, which has removed one. */
static bool somebody_asks(const struct lb_stage *s) {
  for (size_t i = 0; i < s->client_count; i++)
    if (atomic_load(&lb_stage_state(s, &s->client[i])->asks)) return true;
  return false;
}

static int delete_key(struct lb_doing *d) {
  const char *name = d->a->server[0]->name;
  int there = ask(d, LB_DO_INSPECT), waited = somebody_asks(d->s);
  if (there == 0) return lb_doing_fail(d, "%s: %s has no record that somebody holds the lock", d->step->text, name);
  int broken = there < 0 ? -1 : ask(d, LB_DO_BREAK);
  if (broken == 0) return lb_doing_fail(d, "%s: %s has removed nothing", d->step->text, name);
  there = broken < 0 ? -1 : ask(d, LB_DO_INSPECT);
  if (there == 1 && !waited)
    return lb_doing_fail(d, "%s: %s still has a record that somebody holds the lock", d->step->text, name);
  if (there < 0) return -1;
  lb_stage_note(d->s, "%s had a record of the lock, and has removed it%s", name,
                there ? "; by now it is somebody else's" : "");
  return 0;
}

/* ---- the session of a client ----------------------------------------------------------------------------------------- */

static int end_session(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  struct lb_client *client = d->b->client[0];
  uint64_t id = atomic_load(&lb_stage_state(d->s, client)->session);
  char said[100];
  if (cluster->topology->family->end_session(cluster, index_of(d), client->host->address, id, in_ms(HAND_MS), said,
                                             sizeof said) < 0)
    return lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
  lb_stage_note(d->s, "%s %s", d->a->server[0]->name, said);
  return 0;
}

/* ---- the slot of a key ----------------------------------------------------------------------------------------------- */

static int move_slot(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  if (cluster->topology->family->move_slot(cluster, index_of(d), in_ms(HAND_MS)) < 0)
    return lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
  return 0;
}

/* The new owner says so, and its number is above all others'. */
static int await_owner(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  for (lb_ns deadline = in_ms(HAND_MS); lb_clock_ns() < deadline; lb_clock_sleep_until(in_ms(POLL_MS)))
    if (lb_cluster_primary(cluster, deadline) == (int)index_of(d)) return 0;
  return lb_doing_fail(d, "%s: %s does not decide for it", d->step->text, d->a->server[0]->name);
}

const struct lb_fault lb_faults_by_hand[LB_VERB_COUNT] = {
    [LB_STEP_DELETE_KEY] = {delete_key},
    [LB_STEP_END_SESSION] = {end_session},
    [LB_STEP_MOVE_SLOT] = {move_slot, await_owner},
};
