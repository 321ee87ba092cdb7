/* SPDX-License-Identifier: MIT
 *
 * A fault from its row: done, proved by its effect before anything goes on, and undone.
 *
 * Which of the tables has the row does not matter to callers: verbs are told apart by the table that has an `act` for
 * them. A test checks that every verb has a player.
 */
#include "fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/need.h"
#include "network/cut.h"

static const struct lb_fault *const tables[] = {lb_faults_of_cuts,      lb_faults_of_heals,      lb_faults_of_lines,
                                                lb_faults_of_processes, lb_faults_of_machines,   lb_faults_by_hand,
                                                lb_faults_of_writes,    lb_faults_of_connections};

static const struct lb_fault *fault_of(enum lb_verb verb) {
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (tables[i][verb].act) return &tables[i][verb];
  return NULL;
}

bool lb_fault_knows(enum lb_verb verb) { return fault_of(verb) != NULL; }

bool lb_fault_has_undo(enum lb_verb verb) { return fault_of(verb) && fault_of(verb)->undo; }

int lb_doing_fail(const struct lb_doing *d, const char *format, ...) {
  va_list args;
  va_start(args, format);
  lb_error_va(d->err, -1, format, args);
  va_end(args);
  return -1;
}

/* Servers that are not ours, and their links with each other, are in other hands. */
static const struct lb_fault *fault_for(const struct lb_doing *d) {
  const struct lb_topology *topology = d->s->plan->topology;
  bool cures = d->step->verb == LB_STEP_HEAL || d->step->verb == LB_STEP_HEAL_ONE;
  bool of_servers = d->a->server_count > 0 && (d->step->b.kind == LB_ROLE_NONE || !d->b || d->b->server_count > 0);
  bool own = topology->mandate && lb_faults_of_own[d->step->verb].act && (cures || of_servers);
  return own ? &lb_faults_of_own[d->step->verb] : fault_of(d->step->verb);
}

/* The hosts that it is done to. A cut knows its links, and says it itself; a person is not watched. */
static void touch(const struct lb_doing *d) {
  char names[LB_NAMES_BYTES] = "";
  size_t at = 0;
  if (lb_step_row(d->step)->class != LB_STEP_FAULT || d->step->b.kind != LB_ROLE_NONE || lb_step_by_hand(d->step))
    return;
  for (size_t i = 0; i < d->a->server_count + d->a->client_count && at < sizeof names; i++) {
    const char *name = i < d->a->server_count ? d->a->server[i]->name : d->a->client[i - d->a->server_count]->name;
    at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", at > 0 ? ", " : "", name);
  }
  lb_stage_touched(d->s, d->step, names, "");
}

/* One server has no replicas, no partners and no minority. A cut of no host does nothing; any other fault without a
 * host was not played. */
static bool hits_nobody(const struct lb_doing *d) {
  return !lb_step_needs(d->step, LB_NEED_NETWORK) && !lb_step_by_hand(d->step) &&
         d->a->server_count + d->a->client_count == 0;
}

/* ---- what a library renews unseen --------------------------------------------------------------------------------- */

static bool reaches_nobody(const struct lb_stage *s, struct lb_client *client) {
  enum lb_life life = lb_client_look(client);
  if (life != LB_LIFE_RUNS) return life == LB_LIFE_STOPPED;
  for (size_t i = 0; i < s->cluster.server_count; i++)
    if (!lb_cut_parts(s->net.cuts, client->host, s->cluster.server[i].host)) return false;
  return s->cluster.server_count > 0;
}

/* The client of a foreign lock cannot say until when it holds, if its library keeps up a session, or renews a lease by
 * itself. Libraries renew when half the ttl is left, or before: so much is left at least when one falls silent. What ends
 * with a connection runs on. */
void lb_fault_note_silence(struct lb_stage *s, lb_ns since) {
  const struct lb_protocol *protocol = s->plan->protocol;
  unsigned traits = protocol ? protocol->traits : 0; /* `serve` knows no lock */
  bool kept_up = traits & LB_TRAIT_FOREIGN && traits & LB_TRAIT_SESSION &&
                 s->plan->topology->family->ends_by != LB_ENDS_BY_NO_CLOCK;
  lb_ns half_ttl = (lb_ns)s->plan->scenario->ttl_ms * LB_NS_PER_MS / 2;
  for (size_t i = 0; kept_up && i < s->client_count; i++) {
    struct lb_client *client = &s->client[i];
    bool silent = reaches_nobody(s, client);
    if (silent != client->silent) lb_stage_reaches_nobody(s, client, silent ? since + half_ttl : LB_NEVER);
    client->silent = silent;
  }
}

/* ---- a proof that waits for a gate ------------------------------------------------------------------------------- */

struct lb_kept { /* one is enough: the next fault first has it proved */
  const struct lb_step *step;
  struct lb_cast a, b;
  lb_ns begin;
};

static bool somebody_at_gate(const struct lb_stage *s) {
  for (size_t i = 0; s->pending && i < s->client_count; i++)
    if (s->pending[i].gate && s->pending[i].armed != s->pending[i].gate) return true;
  return false;
}

static void keep(struct lb_doing *d, lb_ns begin) {
  struct lb_kept *kept = lb_need(malloc(sizeof *kept));
  *kept = (struct lb_kept){.step = d->step, .a = *d->a, .b = *d->b, .begin = begin};
  d->s->kept = kept;
}

int lb_fault_prove_kept(struct lb_stage *s, bool now, struct lb_error *err) {
  struct lb_kept *kept = s->kept;
  if (!kept || (!now && somebody_at_gate(s))) return 0;
  struct lb_doing d = {.s = s, .step = kept->step, .a = &kept->a, .b = &kept->b, .err = err};
  int r = fault_for(&d)->prove(&d);
  if (r == 0) lb_stage_step(s, LB_EV_PROVED, kept->step);
  lb_fault_note_silence(s, kept->begin);
  s->kept = NULL;
  free(kept);
  return r;
}

/* ---- doing and undoing ------------------------------------------------------------------------------------------- */

/* The fault is recorded before it acts: its first effects may be in the history already when the proof is there. A
 * fault without `prove` has seen its effect in `act`, and is recorded as proved; a cure without one is not. */
int lb_fault_do(struct lb_stage *s, const struct lb_step *step, const struct lb_cast *a, const struct lb_cast *b,
                struct lb_error *err) {
  struct lb_doing d = {.s = s, .step = step, .a = a, .b = b, .err = err};
  const struct lb_fault *fault = fault_for(&d);
  if (!fault) return lb_doing_fail(&d, "%s: not a fault", step->text);
  if (lb_fault_prove_kept(s, true, err) < 0) return -1;
  lb_stage_fault(s, step);
  touch(&d);
  if (hits_nobody(&d)) return lb_doing_fail(&d, "%s: this system has no such host", step->text);
  lb_ns begin = lb_clock_ns();
  int r = fault->act(&d);
  if (r == 0 && fault->patient && somebody_at_gate(s)) return keep(&d, begin), 0;
  if (r == 0 && fault->prove) r = fault->prove(&d);
  if (r == 0 && !fault->settles && (fault->prove || lb_step_row(step)->class == LB_STEP_FAULT))
    lb_stage_step(s, LB_EV_PROVED, step);
  lb_fault_note_silence(s, begin);
  return r;
}

int lb_fault_undo(struct lb_stage *s, const struct lb_step *step, const struct lb_cast *a, struct lb_error *err) {
  struct lb_doing d = {.s = s, .step = step, .a = a, .err = err};
  const struct lb_fault *fault = fault_for(&d);
  lb_stage_step(s, LB_EV_OVER, step);
  int r = fault && fault->undo ? fault->undo(&d) : 0;
  lb_fault_note_silence(s, lb_clock_ns());
  return r;
}
