/* SPDX-License-Identifier: MIT
 *
 * Each server is looked at before and after; those of links are proved together.
 */
#include "guardian_order.h"

#include <errno.h>
#include <stdio.h>

#include "guardian_command.h"
#include "guardian_look.h"

enum {
  SHOWS_MS = 15000, /* until its effect is seen */
  STARTS_MS = 60000 /* ... of a start */
};

/* Whether two faults are of the same servers. */
static bool same_place(const struct lb_guardian_fault *a, const struct lb_guardian_fault *b) {
  return (a->ward == b->ward && a->other == b->other) || (a->ward == b->other && a->other == b->ward);
}

/* The fault that this order takes back; count = there is none. */
static size_t taken_back(enum lb_mandate_verb verb, const struct lb_guardian_fault *f) {
  for (size_t i = lb_guardian.count; i-- > 0;)
    if (lb_mandate_undo(lb_guardian.fault[i].verb) == verb && verb != LB_MAY_CLOCK &&
        same_place(&lb_guardian.fault[i], f))
      return i;
  return lb_guardian.count;
}

static bool has_touched(const size_t *wards, size_t count, size_t ward) {
  for (size_t i = 0; i < count; i++)
    if (wards[i] == ward) return true;
  return false;
}

/* What counts of links is the side with fewer servers: that one is cut off from the rest. */
static int check_at_once(const struct lb_guardian_fault *new, size_t count, struct lb_error *err) {
  size_t a[LB_GUARDIAN_FAULTS_MAX + LB_MANDATE_MOST], b[LB_GUARDIAN_FAULTS_MAX + LB_MANDATE_MOST], as = 0, bs = 0;
  bool links = new->other < lb_guardian.rules->count;
  for (size_t i = 0; i < lb_guardian.count; i++)
    if (!has_touched(a, as, lb_guardian.fault[i].ward)) a[as++] = b[bs++] = lb_guardian.fault[i].ward;
  for (size_t i = 0; i < count; i++) {
    if (!has_touched(a, as, new[i].ward)) a[as++] = new[i].ward;
    if (links && !has_touched(b, bs, new[i].other)) b[bs++] = new[i].other;
  }
  size_t touched = links && bs < as ? bs : as;
  if (touched <= lb_guardian.rules->at_once) return 0;
  return lb_refuse(err, "%s: that makes %zu servers at a time, and the operator allows at-once = %zu",
                   lb_mandate_verbs[new->verb], touched, lb_guardian.rules->at_once);
}

/* Does it, seen before and after. A cure needs no new fault, and those of links are proved when all is over. */
static int act(struct lb_guardian_fault *new, size_t count, struct lb_error *err) {
  static struct lb_guardian_look before[LB_MANDATE_MOST];
  struct lb_guardian_look now;
  enum lb_mandate_verb verb = new->verb;
  bool is_fault = lb_mandate_undo(verb) < LB_MAY_COUNT, blind = false;
  int r = is_fault ? check_at_once(new, count, err) : 0;
  for (size_t i = 0; i < count && r == 0 && is_fault; i++) {
    lb_guardian_look_at(verb, &new[i], &before[i]);
    snprintf(new[i].identity, sizeof new[i].identity, "%s", before[i].identity);
    if (!before[i].answers)
      r = lb_refuse(err, "%s: %s does not answer even before it", lb_mandate_verbs[verb],
                    lb_guardian_name(new[i].ward));
  }
  for (size_t i = 0; i < count && r == 0; i++)
    if (is_fault && !lb_guardian_journal_add(&new[i], err)) r = -EIO;
    else r = lb_guardian_command(verb, &new[i], err);
  for (size_t i = 0; i < count && r == 0; i++) {
    size_t old = taken_back(verb, &new[i]);
    const struct lb_guardian_fault *like = old < lb_guardian.count ? &lb_guardian.fault[old] : &new[i];
    int64_t within_ms = verb == LB_MAY_RESTART ? STARTS_MS : SHOWS_MS;
    if (verb == LB_MAY_HEAL) {
      for (size_t k = 0; k < lb_guardian.count; k++) lb_guardian.fault[k].ordered_back |= k == old;
      continue;
    }
    blind = verb == LB_MAY_CUT && before[i].follows == 0 && before[i].left == 0 && count > 1;
    if (blind) continue; /* ends that say nothing of each other; another link of the same order speaks */
    if (!lb_guardian_look_await(verb, like, &before[i], within_ms, &now))
      r = lb_refuse(err, "%s %s: its command ended, but %s", lb_mandate_verbs[verb], lb_guardian_name(new[i].ward),
                    lb_guardian_look_lacks(verb, &now));
    else if (verb == LB_MAY_RESTART && now.told && !lb_guardian_look_is_other(&now, like->identity))
      r = lb_refuse(err, "restart %s: it is the one of before, so it was never killed", lb_guardian_name(new[i].ward));
    else if (old < lb_guardian.count) lb_guardian_journal_strike(old);
    else if (is_fault) lb_guardian.fault[lb_guardian.count - count + i].seen = true;
  }
  return r;
}

/* A server that lives is killed first: most commands that start one do nothing then. */
static int restart(struct lb_guardian_fault *new, size_t count, struct lb_error *err) {
  static struct lb_guardian_fault alive[LB_MANDATE_MOST];
  size_t kills = 0;
  for (size_t i = 0; i < count; i++) {
    alive[kills] = new[i];
    alive[kills].verb = LB_MAY_KILL;
    kills += taken_back(LB_MAY_RESTART, &new[i]) == lb_guardian.count;
  }
  int r = kills ? act(alive, kills, err) : 0;
  return r < 0 ? r : act(new, count, err);
}

int lb_guardian_order(const struct lb_own *own, const struct lb_mandate_order *order, struct lb_error *err) {
  static struct lb_guardian_fault new[LB_MANDATE_MOST];
  lb_guardian.well = false;
  if (lb_guardian.early)
    return lb_refuse(err, "undo-after = %lld s was over", (long long)lb_guardian.rules->undo_after_ms / 1000);
  for (size_t i = 0; i < order->count; i++) {
    bool links = order->verb == LB_MAY_CUT || order->verb == LB_MAY_HEAL;
    new[i] = (struct lb_guardian_fault){
        .verb = order->verb, .offset_ms = order->offset_ms, .other = lb_guardian.rules->count};
    new[i].ward = lb_own_operator_ward(lb_guardian.rules, own, order->server[i]);
    if (links) new[i].other = lb_own_operator_ward(lb_guardian.rules, own, order->other[i]);
    if (new[i].ward == lb_guardian.rules->count || (links && new[i].other == lb_guardian.rules->count))
      return lb_refuse(err, "%s: the operator does not name each of these servers", lb_mandate_verbs[order->verb]);
  }
  return order->verb == LB_MAY_RESTART ? restart(new, order->count, err) : act(new, order->count, err);
}
