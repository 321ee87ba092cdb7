/* SPDX-License-Identifier: MIT
 *
 * Premises against the facts of a history. A step that looks records what it saw under its own
 * number, so a premise is held against the steps that look at it, one after the other.
 *
 * One premise of a subject speaks of all steps that look at it; of several the first speaks of the
 * first step, and so on (scenario_check.c has seen to it that their numbers agree).
 */
#include "premises.h"

#include <stdio.h>
#include <string.h>

/* The role that a fact names is the role of a premise about a server. */
static bool names_role(const struct lb_history *h, const struct lb_fact *f, struct lb_role role) {
  char name[32];
  lb_role_format(role, name, sizeof name);
  return f->role < h->texts.count && strcmp(h->texts.name[f->role], name) == 0;
}

/* Whether this event is what a step saw of the premise's subject. What is observed of a key at a
 * single host is no answer: that of the role is. */
static bool speaks_of(const struct lb_history *h, const struct lb_event *e, const struct lb_premise *premise) {
  const struct lb_fact *f = lb_event_fact(h, e);
  switch (premise->kind) {
    case LB_PREMISE_KEY: return e->kind == LB_EV_OBSERVED && names_role(h, f, premise->server);
    case LB_PREMISE_HOLDS: return e->kind == LB_EV_HOLDS;
    case LB_PREMISE_SERVER: return e->kind == LB_EV_SERVER && names_role(h, f, premise->server);
  }
  return false;
}

/* What a step saw of it; NULL = nothing. */
static const struct lb_fact *seen_by(const struct lb_history *h, const struct lb_step *step, const struct lb_premise *premise) {
  for (size_t i = 0; i < h->count; i++) {
    const struct lb_fact *f = lb_event_fact(h, &h->events[i]);
    if (f->step == step->number && speaks_of(h, &h->events[i], premise)) return f;
  }
  return NULL;
}

/* Its place among the premises of the same subject, from 0, and how many these are. */
static size_t place_of(const struct lb_scenario *scenario, size_t index, size_t *ret_alike) {
  size_t place = 0;
  *ret_alike = 0;
  for (size_t i = 0; i < scenario->premise_count; i++) {
    if (!lb_premise_same_subject(&scenario->premises[i], &scenario->premises[index])) continue;
    if (i == index) place = *ret_alike;
    ++*ret_alike;
  }
  return place;
}

static bool refuse(const struct lb_premise *premise, const struct lb_fact *seen, char *why, size_t size) {
  snprintf(why, size, seen ? "the premise \"%s\" does not hold: the opposite was observed" : "the premise \"%s\" was not observed",
           premise->text);
  return false;
}

static bool is_observed(const struct lb_scenario *scenario, const struct lb_history *h, size_t index, char *why, size_t size) {
  const struct lb_premise *premise = &scenario->premises[index];
  size_t alike, place = place_of(scenario, index, &alike), at = 0;
  for (size_t i = 0; i < scenario->step_count; i++) {
    const struct lb_step *step = &scenario->steps[i];
    if (!lb_premise_observed_by(premise, step)) continue;
    if (alike > 1 && at++ != place) continue;
    const struct lb_fact *seen = seen_by(h, step, premise);
    if (!seen || (seen->present != 0) != premise->is) return refuse(premise, seen, why, size);
  }
  return true;
}

bool lb_premises_observed(const struct lb_scenario *scenario, const struct lb_history *history, char *why, size_t why_size) {
  for (size_t i = 0; i < scenario->premise_count; i++)
    if (!is_observed(scenario, history, i, why, why_size)) return false;
  return true;
}
