/* SPDX-License-Identifier: MIT
 *
 * A running trial: the first reason why it cannot be decided, and what its controller records: each fact with its
 * fields. How that is said in English is story/say.c's affair.
 *
 * Everything that goes wrong on the stage ends in lb_stage_doubt(). The first reason is kept because what follows it is
 * usually its consequence. A fact goes through the controller's own log in shared memory, as a client's event does, so
 * that it is stamped and numbered among theirs. Its fields are kept in the history of the stage, to which the log's
 * events are added when all is over (judge.c).
 */
#include "stage.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "client/client.h"

/* Undecided replaces stuck: a wait for a process that has died is not a stuck lock. */
int lb_stage_doubt(struct lb_stage *s, enum lb_verdict verdict, const char *format, ...) {
  bool graver = s->verdict == LB_STUCK && verdict == LB_UNDECIDED;
  if (s->verdict != LB_VERDICT_NONE && !graver) return -ECANCELED;
  va_list args;
  va_start(args, format);
  vsnprintf(s->why, sizeof s->why, format, args);
  va_end(args);
  s->verdict = verdict;
  return -ECANCELED;
}

struct lb_client_state *lb_stage_state(const struct lb_stage *s, const struct lb_client *client) {
  return &s->memory->state[client->number];
}

int lb_stage_died(struct lb_stage *s, struct lb_client *client) {
  char fate[200];
  lb_client_fate(client, lb_stage_state(s, client), -ECONNRESET, fate, sizeof fate);
  return lb_stage_doubt(s, LB_UNDECIDED, "%s died by itself: %s", client->name, fate);
}

int lb_stage_silent(struct lb_stage *s, struct lb_client *client, const char *what, int result) {
  char fate[200];
  lb_client_fate(client, lb_stage_state(s, client), result, fate, sizeof fate);
  return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s%s%s", what, result == LB_TIMEOUT ? "" : client->name,
                        result == LB_TIMEOUT ? "" : " ", fate);
}

/* ---- facts ---- */

static void record_of(struct lb_stage *s, enum lb_event_kind kind, const struct lb_client *client,
                      const struct lb_fact *fact) {
  lb_memory_record(s->memory, s->memory->controller,
                   (struct lb_event){.kind = (uint16_t)kind,
                                     .client = client ? client->number : LB_NO_NAME,
                                     .key = LB_NO_NAME,
                                     .fact = lb_history_facts_add(&s->history, fact)});
}

static void record(struct lb_stage *s, enum lb_event_kind kind, const struct lb_fact *fact) {
  record_of(s, kind, NULL, fact);
}

static uint32_t text(struct lb_stage *s, const char *name) { return lb_names_add(&s->history.texts, name); }

static uint32_t role(struct lb_stage *s, struct lb_role of) {
  char name[32];
  lb_role_format(of, name, sizeof name);
  return of.kind == LB_ROLE_NONE ? LB_NO_NAME : text(s, name);
}

/* What ties it to the others of that step. */
static struct lb_fact tied_to(const struct lb_step *step) {
  struct lb_fact fact = lb_no_fact;
  fact.step = step->number;
  return fact;
}

static struct lb_fact of_step(struct lb_stage *s, const struct lb_step *step) {
  struct lb_fact fact = tied_to(step);
  fact.what = text(s, step->text);
  return fact;
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static uint32_t verb(struct lb_stage *s, const struct lb_step *step) {
  char word[32];
  snprintf(word, sizeof word, "%.*s", (int)strcspn(step->text, " \t"), step->text);
  return text(s, word);
}

void lb_stage_fault(struct lb_stage *s, const struct lb_step *step) {
  struct lb_fact fact = of_step(s, step);
  fact.verb = verb(s, step);
  fact.role = role(s, step->a);
  fact.from = role(s, step->b);
  record(s, LB_EV_FAULT, &fact);
}

void lb_stage_touched(struct lb_stage *s, const struct lb_step *step, const char *hosts, const char *from) {
  struct lb_fact fact = tied_to(step);
  fact.verb = verb(s, step);
  if (hosts[0]) fact.host = text(s, hosts);
  if (from[0]) fact.from = text(s, from);
  record(s, LB_EV_TOUCHED, &fact);
}

void lb_stage_step(struct lb_stage *s, enum lb_event_kind kind, const struct lb_step *step) {
  struct lb_fact fact = of_step(s, step);
  record(s, kind, &fact);
}

void lb_stage_failed(struct lb_stage *s, enum lb_event_kind kind, const struct lb_step *step, const char *why) {
  struct lb_fact fact = of_step(s, step);
  fact.why = text(s, why);
  record(s, kind, &fact);
}

void lb_stage_trip(struct lb_stage *s, const struct lb_step *step, const struct lb_host *from, const struct lb_host *to,
                   lb_ns took) {
  struct lb_fact fact = tied_to(step);
  fact.from = text(s, from->name);
  fact.host = text(s, to->name);
  fact.ms = (int64_t)(took / LB_NS_PER_MS);
  record(s, LB_EV_TRIP, &fact);
}

void lb_stage_message(struct lb_stage *s, const struct lb_step *step, const char *from, const char *to, uint64_t bytes,
                      uint64_t before) {
  struct lb_fact fact = tied_to(step);
  fact.verb = verb(s, step);
  fact.from = text(s, from);
  fact.host = text(s, to);
  fact.total = bytes;
  fact.kept = before;
  record(s, LB_EV_MESSAGE, &fact);
}

void lb_stage_carried(struct lb_stage *s, const struct lb_step *step, const struct lb_host *from,
                      const struct lb_host *to, uint64_t sent_on, uint64_t taken) {
  struct lb_fact fact = tied_to(step);
  fact.from = text(s, from->name);
  fact.host = text(s, to->name);
  fact.kept = sent_on;
  fact.total = taken;
  record(s, LB_EV_CARRIED, &fact);
}

/* ---- clients and servers ----------------------------------------------------------------------------------------- */

/* What a hook's result means depends on what was asked: LB_BUSY is "somebody else holds it" for an acquire, and "you
 * hold nothing" for everything else. */
static enum lb_answer answer(const struct lb_step *step, int result) {
  bool asks = lb_step_row(step)->asks;
  switch (result) {
    case LB_OK: return asks ? LB_ANSWER_GRANTED : LB_ANSWER_DONE;
    case LB_BUSY: return asks ? LB_ANSWER_REFUSED : LB_ANSWER_NOT_HOLDING;
    case LB_TIMEOUT: return asks ? LB_ANSWER_NO_ANSWER : LB_ANSWER_NOT_IN_TIME;
    case LB_LOST: return LB_ANSWER_LOST;
    case LB_UNKNOWN: return LB_ANSWER_UNKNOWN;
    default: return LB_ANSWER_FAILED;
  }
}

void lb_stage_reply(struct lb_stage *s, const struct lb_step *step, const struct lb_client *client,
                    const struct lb_reply *reply) {
  struct lb_fact fact = of_step(s, step);
  fact.answer = (uint8_t)answer(step, reply->result);
  if (fact.answer == LB_ANSWER_FAILED) fact.why = text(s, reply->err);
  record_of(s, LB_EV_REPLY, client, &fact);
}

void lb_stage_observed_at(struct lb_stage *s, const struct lb_step *step, const struct lb_server *server,
                          bool present) {
  struct lb_fact fact = tied_to(step);
  fact.host = text(s, server->name);
  fact.present = present;
  record(s, LB_EV_OBSERVED, &fact);
}

void lb_stage_observed(struct lb_stage *s, const struct lb_step *step, bool present) {
  struct lb_fact fact = tied_to(step);
  fact.role = role(s, step->a);
  fact.present = present;
  record(s, LB_EV_OBSERVED, &fact);
}

/* Read in this order: who lets go meanwhile is seen to hold no more. */
bool lb_stage_holds(struct lb_stage *s, const struct lb_step *step, const struct lb_client *client) {
  struct lb_fact fact = tied_to(step);
  const struct lb_client_state *state = lb_stage_state(s, client);
  lb_ns until = atomic_load(&state->until), now = lb_clock_ns();
  bool believes = atomic_load(&state->holds);
  fact.present = believes && until > now;
  if (believes && until != LB_NEVER) fact.ms = ((int64_t)until - (int64_t)now) / (int64_t)LB_NS_PER_MS;
  record_of(s, LB_EV_HOLDS, client, &fact);
  return fact.present;
}

void lb_stage_reaches_nobody(struct lb_stage *s, const struct lb_client *client, lb_ns until) {
  struct lb_event event = {
      .kind = LB_EV_SILENT, .client = client->number, .key = LB_NO_NAME, .fact = LB_NO_NAME, .until = until};
  if (until != LB_NEVER) event.flags = LB_EVF_UNTIL;
  lb_memory_record(s->memory, s->memory->controller, event);
}

void lb_stage_server(struct lb_stage *s, const struct lb_step *step, const struct lb_client *client,
                     const struct lb_server *server, struct lb_role of, bool plays) {
  struct lb_fact fact = tied_to(step);
  if (server) fact.host = text(s, server->name);
  fact.role = role(s, of);
  fact.present = plays;
  record_of(s, LB_EV_SERVER, client, &fact);
}

void lb_stage_left(struct lb_stage *s, const struct lb_step *step, const struct lb_server *server, bool left) {
  struct lb_fact fact = tied_to(step);
  fact.host = text(s, server->name);
  fact.role = role(s, step->a);
  fact.present = left;
  record(s, LB_EV_LEFT, &fact);
}

void lb_stage_unsynced(struct lb_stage *s, const struct lb_step *step, const struct lb_server *server, uint64_t kept,
                       uint64_t total) {
  struct lb_fact fact = tied_to(step);
  fact.host = text(s, server->name);
  fact.role = role(s, step->a);
  fact.kept = kept;
  fact.total = total;
  record(s, LB_EV_UNSYNCED, &fact);
}

void lb_stage_primary(struct lb_stage *s, int number, const struct lb_server *server) {
  struct lb_fact fact = lb_no_fact;
  fact.role = role(s, (struct lb_role){.kind = LB_ROLE_PRIMARY, .number = number});
  fact.host = text(s, server->name);
  record(s, LB_EV_ROLE, &fact);
}

void lb_stage_failover(struct lb_stage *s, const struct lb_server *server) {
  struct lb_fact fact = lb_no_fact;
  fact.host = text(s, server->name);
  record(s, LB_EV_FAILOVER, &fact);
}

void lb_stage_clock(struct lb_stage *s, const struct lb_step *step, const char *name, enum lb_clock_reading reading,
                    int64_t ms, int64_t in_ms) {
  struct lb_fact fact = tied_to(step);
  fact.host = text(s, name);
  fact.clock = (uint8_t)reading;
  fact.ms = ms;
  fact.in_ms = (uint64_t)in_ms;
  record(s, LB_EV_CLOCK, &fact);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

void lb_stage_phase(struct lb_stage *s, enum lb_fact_phase phase) {
  struct lb_fact fact = lb_no_fact;
  fact.phase = (uint8_t)phase;
  record(s, LB_EV_PHASE, &fact);
}

void lb_stage_permits(struct lb_stage *s, int permits) {
  struct lb_fact fact = lb_no_fact;
  fact.total = (uint64_t)permits;
  if (permits > 1) record(s, LB_EV_PERMITS, &fact);
}

void lb_stage_note(struct lb_stage *s, const char *format, ...) {
  char said[500];
  va_list args;
  va_start(args, format);
  vsnprintf(said, sizeof said, format, args);
  va_end(args);
  struct lb_fact fact = lb_no_fact;
  fact.what = text(s, said);
  record(s, LB_EV_NOTE, &fact);
}
