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

/* The servers that are touched at a time: those of faults that last, and these, or what their links lead to. */
static size_t count_touched(const struct lb_guardian_fault *new, size_t count, bool other_ends) {
  bool touched[LB_WARDS_MAX] = {false};
  size_t sum = 0;
  for (size_t i = 0; i < lb_guardian.count; i++) touched[lb_guardian.fault[i].touches] = true;
  for (size_t i = 0; i < count; i++) touched[other_ends ? new[i].other : new[i].ward] = true;
  for (size_t i = 0; i < lb_guardian.rules->count; i++) sum += touched[i];
  return sum;
}

/* What counts of links is the side with fewer servers: that one is cut off from the rest. */
static int check_at_once(struct lb_guardian_fault *new, size_t count, struct lb_error *err) {
  size_t sum = count_touched(new, count, false), others = sum;
  if (new->other < lb_guardian.rules->count) others = count_touched(new, count, true);
  for (size_t i = 0; i < count; i++) new[i].touches = others < sum ? new[i].other : new[i].ward;
  if (others < sum) sum = others;
  if (sum <= lb_guardian.rules->at_once) return 0;
  return lb_refuse(err, "%s: that makes %zu servers at a time, and the operator allows at-once = %zu",
                   lb_mandate_verbs[new->verb], sum, lb_guardian.rules->at_once);
}

/* One that an earlier fault has set is not as it was. */
static int64_t skew_before(const struct lb_guardian_fault *new, const struct lb_guardian_look *before) {
  for (size_t i = 0; i < lb_guardian.count; i++)
    if (lb_guardian.fault[i].verb == LB_MAY_CLOCK && lb_guardian.fault[i].ward == new->ward)
      return lb_guardian.fault[i].skew_ms;
  return before->ahead_ms;
}

/* Where each server is fine, and a cut would show at some of its links. */
static int look_before(struct lb_guardian_fault *new, size_t count, struct lb_guardian_look *before,
                       struct lb_error *err) {
  bool tells = new->verb != LB_MAY_CUT;
  for (size_t i = 0; i < count; i++) {
    lb_guardian_look_at(new[i].verb, &new[i], &before[i]);
    if (!before[i].answers)
      return lb_refuse(err, "%s: %s does not answer even before it", lb_mandate_verbs[new->verb],
                       lb_guardian_name(new[i].ward));
    snprintf(new[i].identity, sizeof new[i].identity, "%s", before[i].identity);
    new[i].skew_ms = skew_before(&new[i], &before[i]);
    tells |= before[i].tells;
  }
  return tells ? 0
               : lb_refuse(err, "cut %s: nothing would prove it: no server tells of that link",
                           lb_guardian_name(new->ward));
}

/* The proof is that of the undo, when all is over: a server may need other links to get well. */
static void note_healed(const struct lb_guardian_fault *link) {
  size_t old = taken_back(LB_MAY_HEAL, link);
  if (old < lb_guardian.count) lb_guardian.fault[old].ordered_back = lb_guardian.fault[old].obeyed = true;
}

static int give_commands(const struct lb_guardian_fault *new, size_t count, bool is_fault, struct lb_error *err) {
  for (size_t i = 0; i < count; i++) {
    if (is_fault && !lb_guardian_journal_add(&new[i], err)) return -EIO;
    int r = lb_guardian_command(new->verb, &new[i], err);
    if (r < 0) return r;
    if (new->verb == LB_MAY_HEAL) note_healed(&new[i]);
  }
  return 0;
}

/* `like` has the identity of before. */
static int prove(const struct lb_guardian_fault *new, const struct lb_guardian_fault *like,
                 const struct lb_guardian_look *before, struct lb_error *err) {
  struct lb_guardian_look now;
  const char *name = lb_guardian_name(new->ward);
  if (!lb_guardian_look_await(new->verb, like, before, new->verb == LB_MAY_RESTART ? STARTS_MS : SHOWS_MS, &now))
    return lb_refuse(err, "%s %s: its command ended, but %s", lb_mandate_verbs[new->verb], name,
                     lb_guardian_look_lacks(new->verb, &now));
  if (new->verb == LB_MAY_RESTART && now.told && !lb_guardian_look_is_other(&now, like->identity))
    return lb_refuse(err, "restart %s: it is the one of before, so it was never killed", name);
  return 0;
}

static int prove_all(const struct lb_guardian_fault *new, size_t count, const struct lb_guardian_look *before,
                     struct lb_error *err) {
  bool is_fault = lb_mandate_undo(new->verb) < LB_MAY_COUNT;
  size_t first = lb_guardian.count - count; /* of these, if they are faults */
  for (size_t i = 0; i < count; i++) {
    size_t old = taken_back(new->verb, &new[i]);
    bool cures = old < lb_guardian.count;
    if (new->verb == LB_MAY_CUT && !before[i].tells) continue; /* another link of the same cut does */
    if (new->verb == LB_MAY_CUT && !before[i].follows) {
      lb_guardian.fault[first + i].shows_late = true;
      continue;
    }
    int r = prove(&new[i], cures ? &lb_guardian.fault[old] : &new[i], &before[i], err);
    if (r < 0) return r;
    if (cures) lb_guardian_journal_strike(old);
    else if (is_fault) lb_guardian.fault[first + i].seen = true;
  }
  return 0;
}

static int act(struct lb_guardian_fault *new, size_t count, struct lb_error *err) {
  static struct lb_guardian_look before[LB_MANDATE_MOST];
  bool is_fault = lb_mandate_undo(new->verb) < LB_MAY_COUNT;
  int r = is_fault ? check_at_once(new, count, err) : 0;
  if (r == 0 && is_fault) r = look_before(new, count, before, err);
  if (r == 0) r = give_commands(new, count, is_fault, err);
  if (r < 0 || new->verb == LB_MAY_HEAL) return r;
  return prove_all(new, count, before, err);
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

int lb_guardian_order_prove_late(struct lb_error *err) {
  static const struct lb_guardian_look whole;
  for (size_t i = 0; i < lb_guardian.count; i++) {
    struct lb_guardian_fault *f = &lb_guardian.fault[i];
    if (!f->shows_late || f->seen || f->ordered_back) continue;
    int r = prove(f, f, &whole, err);
    if (r < 0) return r;
    f->seen = true;
  }
  return 0;
}

int lb_guardian_order_lasts(struct lb_error *err) {
  for (size_t i = 0; i < lb_guardian.count; i++) {
    const struct lb_guardian_fault *f = &lb_guardian.fault[i];
    struct lb_guardian_look now;
    bool is_dead = lb_mandate_undo(f->verb) == LB_MAY_RESTART;
    if (!is_dead && f->verb != LB_MAY_PAUSE) continue;
    lb_guardian_look_at(f->verb, f, &now);
    if (is_dead ? now.accepts : now.answers)
      return lb_refuse(err, "%s %s did not last: it %s again, and no order said so", lb_mandate_verbs[f->verb],
                       lb_guardian_name(f->ward), is_dead ? "takes connections" : "answers");
  }
  return 0;
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
  int r = lb_guardian_order_prove_late(err);
  if (r < 0) return r;
  return order->verb == LB_MAY_RESTART ? restart(new, order->count, err) : act(new, order->count, err);
}
