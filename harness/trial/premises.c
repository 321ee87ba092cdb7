/* SPDX-License-Identifier: MIT
 *
 * What a trial has to show before it says anything: that the question of its scenario was put, and that its guard was
 * tested.
 *
 * A step that looks records what it saw under its own number. So a premise is compared with the steps that look at it,
 * one after the other. One premise of a subject speaks of all steps that look at it; of several the first speaks of the
 * first step, and so on (scenario_check.c has seen to it that their numbers agree).
 */
#include <stdio.h>
#include <string.h>

#include "check/evidence.h"
#include "premises.h"
#include "scenario/scenario_asked.h"

/* The role that a fact names is the role of a premise about a server. */
static bool names_role(const struct lb_history *h, const struct lb_fact *f, struct lb_role role) {
  char name[32];
  lb_role_format(role, name, sizeof name);
  return f->role < h->texts.count && strcmp(h->texts.name[f->role], name) == 0;
}

enum seen { NOTHING, SO, NOT_SO };

/* Whether the client was connected when it gave up in the acquire that event `reply` answers. */
static bool was_connected(const struct lb_history *h, size_t reply) {
  for (size_t i = reply; i-- > 0;) {
    const struct lb_event *e = &h->events[i];
    if (e->client != h->events[reply].client || e->key == LB_NO_NAME) continue;
    if (e->kind == LB_EV_SERVER || e->kind == LB_EV_VOTED) return lb_event_fact(h, e)->host != LB_NO_NAME;
    if (e->kind == LB_EV_ACQUIRE) return false;
  }
  return false;
}

/* Whether a server had refused an earlier try of the acquire that event `reply` answers. The last one may get no answer
 * because the time was over. */
static bool was_refused(const struct lb_history *h, size_t reply) {
  for (size_t i = reply; i-- > 0;) {
    const struct lb_event *e = &h->events[i];
    if (e->client != h->events[reply].client || e->key == LB_NO_NAME) continue;
    if (e->kind == LB_EV_UNKNOWN) return e->flags & LB_EVF_REFUSED;
    if (e->kind == LB_EV_ACQUIRE) return false;
  }
  return false;
}

/* What came of asking, if anything left for a server. */
static enum seen came_of_asking(const struct lb_history *h, size_t reply, enum lb_answer wanted) {
  enum lb_answer answer = lb_event_fact(h, &h->events[reply])->answer;
  switch (answer) {
    case LB_ANSWER_GRANTED:
    case LB_ANSWER_REFUSED: return answer == wanted ? SO : NOT_SO;
    case LB_ANSWER_UNKNOWN: return wanted == LB_ANSWER_REFUSED && was_refused(h, reply) ? SO : NOT_SO;
    case LB_ANSWER_NO_ANSWER: return was_connected(h, reply) ? NOT_SO : NOTHING;
    default: return NOTHING;
  }
}

static enum seen as_present(const struct lb_fact *f, bool speaks) {
  return !speaks ? NOTHING : f->present ? SO : NOT_SO;
}

/* What this event of a step says of the premise's subject. What is observed of a key at a single host is no answer:
 * that of the role is. */
static enum seen says(const struct lb_history *h, size_t event, const struct lb_premise *premise) {
  const struct lb_event *e = &h->events[event];
  const struct lb_fact *f = lb_event_fact(h, e);
  switch (premise->kind) {
    case LB_PREMISE_KEY: return as_present(f, e->kind == LB_EV_OBSERVED && names_role(h, f, premise->server));
    case LB_PREMISE_HOLDS: return as_present(f, e->kind == LB_EV_HOLDS);
    case LB_PREMISE_SERVER: return as_present(f, e->kind == LB_EV_SERVER && names_role(h, f, premise->server));
    case LB_PREMISE_UNSYNCED:
      return e->kind != LB_EV_UNSYNCED || !names_role(h, f, premise->server) ? NOTHING
             : f->kept < f->total                                            ? SO
                                                                             : NOT_SO;
    case LB_PREMISE_LEFT: return as_present(f, e->kind == LB_EV_LEFT && names_role(h, f, premise->server));
    case LB_PREMISE_GRANTED: return e->kind == LB_EV_REPLY ? came_of_asking(h, event, LB_ANSWER_GRANTED) : NOTHING;
    case LB_PREMISE_REFUSED: return e->kind == LB_EV_REPLY ? came_of_asking(h, event, LB_ANSWER_REFUSED) : NOTHING;
  }
  return NOTHING;
}

/* What a step saw of it. */
static enum seen seen_by(const struct lb_history *h, const struct lb_step *step, const struct lb_premise *premise) {
  enum seen seen = NOTHING;
  for (size_t i = 0; i < h->count && seen == NOTHING; i++)
    if (lb_event_fact(h, &h->events[i])->step == step->number) seen = says(h, i, premise);
  return seen;
}

static enum seen wanted(const struct lb_premise *premise) { return premise->is ? SO : NOT_SO; }

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

static bool refuse(const struct lb_premise *premise, enum seen seen, struct lb_error *why) {
  lb_refuse(
      why, seen ? "the premise \"%s\" does not hold: the opposite was observed" : "the premise \"%s\" was not observed",
      premise->text);
  return false;
}

static bool is_observed(const struct lb_scenario *scenario, const struct lb_history *h, size_t index,
                        struct lb_error *why) {
  const struct lb_premise *premise = &scenario->premises[index];
  size_t alike, place = place_of(scenario, index, &alike), at = 0;
  for (size_t i = 0; i < scenario->step_count; i++) {
    const struct lb_step *step = &scenario->steps[i];
    if (!lb_premise_observed_by(premise, step)) continue;
    if (alike > 1 && at++ != place) continue;
    enum seen seen = seen_by(h, step, premise);
    if (seen != wanted(premise)) return refuse(premise, seen, why);
  }
  return true;
}

bool lb_premises_observed(const struct lb_scenario *scenario, const struct lb_history *history, struct lb_error *why) {
  for (size_t i = 0; i < scenario->premise_count; i++)
    if (scenario->premises[i].use == LB_PREMISE_OF_ALL && !is_observed(scenario, history, i, why)) return false;
  return true;
}

static bool is_observed_once(const struct lb_scenario *scenario, const struct lb_history *h,
                             const struct lb_premise *premise) {
  for (size_t i = 0; i < scenario->step_count; i++) {
    const struct lb_step *step = &scenario->steps[i];
    if (lb_premise_observed_by(premise, step) && seen_by(h, step, premise) == wanted(premise)) return true;
  }
  return false;
}

bool lb_premises_have(const struct lb_scenario *scenario, enum lb_premise_use use) {
  for (size_t i = 0; i < scenario->premise_count; i++)
    if (scenario->premises[i].use == use) return true;
  return false;
}

bool lb_premises_shown(const struct lb_scenario *scenario, const struct lb_history *history, enum lb_premise_use use,
                       struct lb_error *why) {
  for (size_t i = 0; i < scenario->premise_count; i++) {
    const struct lb_premise *premise = &scenario->premises[i];
    if (premise->use != use || is_observed_once(scenario, history, premise)) continue;
    lb_refuse(why, "a safe trial would have to show \"%s\", and no step observed it", premise->text);
    return false;
  }
  return true;
}

bool lb_premises_answered(const struct lb_scenario *scenario, const struct lb_history *history, struct lb_error *why) {
  size_t end;
  for (size_t i = 0; (i = lb_scenario_next_asked(scenario, i, &end)) < scenario->step_count; i++) {
    const struct lb_step *steps = scenario->steps;
    uint32_t until = end < scenario->step_count ? (uint32_t)steps[end].number : UINT32_MAX;
    if (lb_evidence_answered_while(history, (uint32_t)steps[i].number, until)) continue;
    lb_refuse(why, "nobody who asked while \"%s\" lasted was answered", steps[i].text);
    return false;
  }
  return true;
}

/* ---- the guard ---- */

/* When the guard of a trial without damage was tested. The last column is of timelines; overtaken, stopped, refused and
 * answered as in evidence.c:
 *
 *  guard                      the history shows                        one held at a time   two held at once
 *  deadline, signal, recheck  no check, or none that was answered      undecided            undecided
 *                             an overtaken client was stopped, and
 *                             only because no server answered          undecided            undecided
 *                             no overtaken client was stopped          safe: by the lock    undecided
 *                             an overtaken client was stopped          safe: by the guard   safe: by the guard
 *  claim, fence               no overtaken client was refused          safe: by the lock    undecided
 *                             an overtaken client was refused          safe: by the guard   safe: by the guard
 *
 * So what the scenario asks of a safe trial, which is about the lock, is waived only where the guard is seen to have
 * done its work. A load or campaign is judged as if one held at a time: there it is chance whether the overtaken client
 * comes to the resource at all, and to leave out the trials in which it did not would make the rate of damage larger
 * than it was. */
