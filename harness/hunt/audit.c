/* SPDX-License-Identifier: MIT
 *
 * What an audit draws, and what its trials say. Some timelines are drawn for each reason: most are pruned for few reasons,
 * and a wrong one may be among the others.
 */
#include "audit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/need.h"
#include "base/rng.h"
#include "scenario/scenario.h"
#include "scenario/scenario_load.h"
#include "write.h"

enum { PURPOSE_AUDIT = 0x61756474 }; /* a stream of its own */

/* ---- the sample -------------------------------------------------------------------------------------------------- */

static bool can_be_written(const struct lb_hunt_space *space, const struct lb_hunt_timeline *t) {
  struct lb_error err;
  char *text = NULL;
  size_t size = 0;
  struct lb_scenario scenario;
  FILE *file = lb_need(open_memstream(&text, &size));
  int r = lb_hunt_write(t, &space->system, LB_GUARD_NONE, NULL, "race", file);
  lb_need(fclose(file) == 0 ? text : NULL);
  if (r == 0) r = lb_scenario_parse("audit.ini", text, size, &scenario, &err);
  if (r == 0) lb_scenario_clear(&scenario);
  free(text);
  return r == 0;
}

static bool take(const struct lb_hunt_space *space, size_t timeline, struct lb_hunt_drawn *ret) {
  struct lb_hunt_timeline other;
  if (!lb_hunt_prune_stand_in(&space->system, &space->timeline[timeline], &other)) return false;
  ptrdiff_t at = lb_hunt_space_find(space, &other);
  if (at < 0 || !can_be_written(space, &space->timeline[timeline])) return false;
  *ret = (struct lb_hunt_drawn){timeline, (size_t)at};
  return true;
}

/* The first of a shuffle that can be taken. How many. */
static size_t draw(const struct lb_hunt_space *space, struct lb_rng *rng, size_t *index, size_t count, size_t wanted,
                   struct lb_hunt_drawn *ret) {
  size_t taken = 0;
  for (size_t i = 0; i < count && taken < wanted; i++) {
    size_t j = i + (size_t)lb_rng_below(rng, count - i), drawn = index[j];
    index[j] = index[i];
    taken += take(space, drawn, ret + taken);
  }
  return taken;
}

void lb_hunt_audit_draw(const struct lb_hunt_space *space, uint64_t seed, size_t faults, double share,
                        struct lb_hunt_drawn **ret, size_t *ret_count) {
  struct lb_rng rng = lb_rng_fork(seed, PURPOSE_AUDIT, faults);
  size_t *index = lb_need(calloc(space->count + 1, sizeof *index));
  *ret = lb_need(calloc(space->count + 1, sizeof **ret));
  *ret_count = 0;
  for (int why = LB_HUNT_RUN + 1; why < LB_HUNT_PRUNED_COUNT; why++) {
    size_t count = 0;
    for (size_t i = 0; i < space->count && lb_hunt_prune_is_sound((enum lb_hunt_pruned)why); i++)
      if (space->timeline[i].pruned == (enum lb_hunt_pruned)why && space->timeline[i].fault_count == faults)
        index[count++] = i;
    size_t wanted = (size_t)((double)count * share + 0.999);
    if (wanted < LB_HUNT_AUDITED_LEAST) wanted = LB_HUNT_AUDITED_LEAST;
    *ret_count += draw(space, &rng, index, count, wanted, *ret + *ret_count);
  }
  free(index);
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

struct lb_hunt_count lb_hunt_audit_seen(const struct lb_hunt_audit *a, const struct lb_hunt_journal *hunt,
                                        size_t timeline) {
  struct lb_hunt_count sum = *lb_hunt_journal_seen(hunt, timeline);
  for (int outcome = 0; outcome < LB_HUNT_OUTCOME_COUNT && a->journal.file; outcome++)
    sum.of[outcome] = (uint16_t)(sum.of[outcome] + lb_hunt_journal_seen(&a->journal, timeline)->of[outcome]);
  return sum;
}

enum lb_hunt_answer lb_hunt_audit_answer(const struct lb_hunt_audit *a, const struct lb_hunt_journal *hunt,
                                         const struct lb_hunt_drawn *drawn) {
  struct lb_hunt_count one = lb_hunt_audit_seen(a, hunt, drawn->timeline),
                       other = lb_hunt_audit_seen(a, hunt, drawn->stand_in);
  unsigned of_one = lb_hunt_count_decided(&one), of_other = lb_hunt_count_decided(&other);
  enum lb_hunt_answer answer = of_one > 0 && of_other > 0 ? LB_HUNT_SAME : LB_HUNT_NO_ANSWER;
  for (int class = LB_HUNT_CLASS_FIRST; class <= LB_HUNT_CLASS_LAST && answer != LB_HUNT_NO_ANSWER; class ++) {
    unsigned broke = one.of[class], broke_other = other.of[class];
    if ((broke == 0) == (broke_other == 0)) continue;
    bool always = broke + broke_other == (broke > 0 ? of_one : of_other);
    if (of_one < LB_HUNT_SURE || of_other < LB_HUNT_SURE) answer = LB_HUNT_NO_ANSWER;
    else if (answer != LB_HUNT_OTHER) answer = always ? LB_HUNT_OTHER : LB_HUNT_UNCLEAR;
  }
  return answer;
}

size_t lb_hunt_audit_count(const struct lb_hunt_audit *a, const struct lb_hunt_journal *hunt,
                           enum lb_hunt_answer answer) {
  size_t count = 0;
  for (size_t i = 0; i < a->count; i++) count += lb_hunt_audit_answer(a, hunt, &a->drawn[i]) == answer;
  return count;
}
