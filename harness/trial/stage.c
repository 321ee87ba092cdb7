/* SPDX-License-Identifier: MIT
 *
 * The first reason why a trial cannot be decided.
 *
 * Everything that goes wrong on the stage ends in lb_stage_doubt(). The first reason is kept
 * because what follows it is usually its consequence; who called goes on to clear away, and the
 * verdict is found in judge.c.
 */
#include "stage.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "client/client.h"

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
  return &s->memory->state[client->number];
}

const char *lb_stage_speaker(const struct lb_stage *s, size_t index, char name[32]) {
  if (index == s->client_count) return "the observer";
  snprintf(name, 32, "client-%zu", index + 1);
  return name;
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
