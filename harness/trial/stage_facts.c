/* SPDX-License-Identifier: MIT
 *
 * What a controller records of its trial: faults and facts for the history.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "stage.h"

static void record(struct lb_stage *s, enum lb_event_kind kind, const char *format, va_list args) __attribute__((format(printf, 3, 0)));
static void record(struct lb_stage *s, enum lb_event_kind kind, const char *format, va_list args) {
  char text[500];
  vsnprintf(text, sizeof text, format, args);
  lb_memory_record(s->memory, s->memory->controller,
                  (struct lb_event){.kind = (uint16_t)kind,
                                    .client = LB_NO_NAME,
                                    .key = LB_NO_NAME,
                                    .what = lb_names_add(&s->history.whats, text)});
}

static void say(struct lb_stage *s, enum lb_event_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say(struct lb_stage *s, enum lb_event_kind kind, const char *format, ...) {
  va_list args;
  va_start(args, format);
  record(s, kind, format, args);
  va_end(args);
}

void lb_stage_note(struct lb_stage *s, const char *format, ...) {
  va_list args;
  va_start(args, format);
  record(s, LB_EV_NOTE, format, args);
  va_end(args);
}

void lb_stage_fault(struct lb_stage *s, const struct lb_step *step) { say(s, LB_EV_FAULT, "%s", step->text); }
void lb_stage_proved(struct lb_stage *s, const struct lb_step *step) { say(s, LB_EV_NOTE, "proved: %s", step->text); }
void lb_stage_over(struct lb_stage *s, const struct lb_step *step) { say(s, LB_EV_NOTE, "over: %s", step->text); }

void lb_stage_not_done(struct lb_stage *s, const struct lb_step *step, const char *why) {
  say(s, LB_EV_NOTE, "not done: %s: %s", step->text, why);
}

void lb_stage_not_proved(struct lb_stage *s, const struct lb_step *step, const char *why) {
  say(s, LB_EV_NOTE, "not proved: %s: %s", step->text, why);
}

void lb_stage_reply(struct lb_stage *s, const struct lb_step *step, const struct lb_client *client, const struct lb_reply *reply) {
  static const char *const asked[] = {"granted", "refused in time", "no answer from the service in time", "lost", "unknown"};
  static const char *const outcome[] = {"done", "not holding", "not in time", "lost", "unknown"};
  bool asks = lb_step_row(step)->asks;
  (void)client;
  say(s, LB_EV_NOTE, "%s: %s", step->text, reply->result < 0 ? reply->err : (asks ? asked : outcome)[reply->result]);
}

void lb_stage_met(struct lb_stage *s, const struct lb_step *step) { say(s, LB_EV_NOTE, "%s: it does", step->text); }

void lb_stage_observed_at(struct lb_stage *s, const struct lb_step *step, const struct lb_server *server, bool present) {
  (void)step;
  say(s, LB_EV_NOTE, "key %s at %s", present ? "present" : "absent", server->name);
}

void lb_stage_observed(struct lb_stage *s, const struct lb_step *step, bool present) {
  char role[32];
  lb_role_format(step->a, role, sizeof role);
  say(s, LB_EV_NOTE, "key %s on %s", present ? "present" : "absent", role);
}

void lb_stage_primary(struct lb_stage *s, const struct lb_server *server) { say(s, LB_EV_NOTE, "primary is %s", server->name); }
void lb_stage_failover(struct lb_stage *s, const struct lb_server *server) { say(s, LB_EV_NOTE, "failover: %s decides", server->name); }

void lb_stage_clock(struct lb_stage *s, const struct lb_step *step, const char *name, enum lb_clock_reading reading, int64_t ms,
                    int64_t in_ms) {
  (void)step;
  switch (reading) {
    case LB_CLOCK_WALL: say(s, LB_EV_NOTE, "%s says it is %+.3f s off", name, (double)ms / 1e3); break;
    case LB_CLOCK_MONOTONIC: say(s, LB_EV_NOTE, "%s says its monotonic clock jumped by %+.3f s", name, (double)ms / 1e3); break;
    case LB_CLOCK_RATE: say(s, LB_EV_NOTE, "%s gained %+lld ms in %lld ms", name, (long long)ms, (long long)in_ms); break;
  }
}

void lb_stage_phase(struct lb_stage *s, enum lb_fact_phase phase) {
  say(s, LB_EV_NOTE, "phase %s", phase == LB_PHASE_MEASURE ? "measure" : "end");
}

bool lb_stage_noted(const struct lb_stage *s, const char *fact) {
  for (size_t i = 0; i < s->history.whats.count; i++)
    if (strcmp(s->history.whats.name[i], fact) == 0) return true;
  return false;
}
