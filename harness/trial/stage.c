/* SPDX-License-Identifier: MIT
 *
 * What a controller says of its trial: faults and facts for the history, and the first reason why it cannot be decided.
 */
#include "stage.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/fate.h"

static void say(struct lb_stage *s, enum lb_event_kind kind, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
static void say(struct lb_stage *s, enum lb_event_kind kind, const char *format, va_list args) {
  char text[500];
  vsnprintf(text, sizeof text, format, args);
  lb_memory_record(s->memory, s->client_count,
                  (struct lb_event){.kind = (uint16_t)kind,
                                    .client = LB_NO_NAME,
                                    .key = LB_NO_NAME,
                                    .what = lb_names_add(&s->history.whats, text)});
}

void lb_stage_fault(struct lb_stage *s, const char *format, ...) {
  va_list args;
  va_start(args, format);
  say(s, LB_EV_FAULT, format, args);
  va_end(args);
}

void lb_stage_note(struct lb_stage *s, const char *format, ...) {
  va_list args;
  va_start(args, format);
  say(s, LB_EV_NOTE, format, args);
  va_end(args);
}

bool lb_stage_noted(const struct lb_stage *s, const char *fact) {
  for (size_t i = 0; i < s->history.whats.count; i++)
    if (strcmp(s->history.whats.name[i], fact) == 0) return true;
  return false;
}

/* Who waited in vain for somebody that has died is not stuck. */
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
  return &s->memory->state[client->index];
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
