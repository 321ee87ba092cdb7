/* SPDX-License-Identifier: MIT
 *
 * Commands first, then looks: one server may need another to answer.
 */
#include "guardian_undo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"
#include "guardian_command.h"
#include "guardian_look.h"

enum {
  ROUND_MS = 15000, /* before an undo is tried again */
  ROUNDS = 3,       /* so often */
  WELL_MS = 90000,  /* until the servers are well again */
  CLOCK_MS = 2000,  /* a clock may be off by that: it was read twice, over a network */
  POLL_MS = 100
};

/* `offset_ms` is of a clock. */
static void order_back(struct lb_guardian_fault *f, int64_t offset_ms) {
  struct lb_guardian_fault back = *f;
  struct lb_error why;
  back.offset_ms = offset_ms;
  f->ordered_back = true;
  if (lb_guardian_command(lb_mandate_undo(f->verb), &back, &why) == 0) f->obeyed = true;
  else snprintf(lb_guardian.why, sizeof lb_guardian.why, "%s", why.text); /* what is seen decides, and of links both */
}

void lb_guardian_undo_begin(void) {
  for (size_t i = lb_guardian.count; i-- > 0;)
    if (lb_guardian.fault[i].verb != LB_MAY_CLOCK) order_back(&lb_guardian.fault[i], 0);
}

static bool is_right(const struct lb_guardian_fault *clock, const struct lb_guardian_look *now) {
  int64_t off_ms = llabs(now->ahead_ms - clock->skew_ms), half_ms = llabs(clock->offset_ms) / 2;
  return off_ms < (half_ms < CLOCK_MS ? half_ms : CLOCK_MS);
}

/* By a look. Most servers do not tell of a link, so a command that heals has to end with 0, too. One that was killed comes
 * back as another one. */
static bool is_undone(const struct lb_guardian_fault *f) {
  struct lb_guardian_look now;
  if (f->verb == LB_MAY_CUT && !f->obeyed) return false;
  lb_guardian_look_at(f->verb, f, &now);
  if (f->verb == LB_MAY_CLOCK) return now.has_time && is_right(f, &now);
  if (!lb_guardian_look_shows(lb_mandate_undo(f->verb), f, &now, &now)) return false;
  if (lb_mandate_undo(f->verb) == LB_MAY_RESTART && f->seen && now.told &&
      !lb_guardian_look_is_other(&now, f->identity))
    snprintf(lb_guardian.false_kill, sizeof lb_guardian.false_kill, "%s", lb_guardian_name(f->ward));
  return true;
}

void lb_guardian_undo_name_left(const char *why, struct lb_error *err) {
  char names[400] = "";
  struct lb_text text = {names, sizeof names, 0};
  for (size_t i = 0; i < lb_guardian.count; i++)
    lb_text_add(&text, "%s%s %s", i ? ", " : "", lb_mandate_verbs[lb_guardian.fault[i].verb],
                lb_guardian_name(lb_guardian.fault[i].ward));
  lb_error(err, -EIO,
           "could not be undone: %s%s%s; `%s clean --operator %s`, with the options of the servers, tries again", names,
           why ? ": " : "", why ? why : "", lb_process_called(), lb_guardian.rules->path);
}

/* A kill or pause that was never seen, and the server is the one of before: starting it again would be another fault. */
static bool was_nothing(const struct lb_guardian_fault *f) {
  struct lb_guardian_look now;
  if (f->seen || (lb_mandate_undo(f->verb) != LB_MAY_RESTART && f->verb != LB_MAY_PAUSE)) return false;
  lb_guardian_look_at(f->verb, f, &now);
  return now.answers && now.told && f->identity[0] && !lb_guardian_look_is_other(&now, f->identity);
}

/* Most commands may be given twice. A clock would be moved twice, so it is looked at, and moved by what it is off. */
static void order_in_round(struct lb_guardian_fault *f, int round) {
  struct lb_guardian_look now;
  if (f->verb != LB_MAY_CLOCK) {
    if (round > 0 || !f->ordered_back) order_back(f, 0);
    return;
  }
  lb_guardian_look_at(f->verb, f, &now);
  if (now.has_time && !is_right(f, &now)) order_back(f, f->skew_ms - now.ahead_ms);
}

/* The newest first. All commands come before the proofs: one server may need another to answer. */
int lb_guardian_undo_all(struct lb_error *err) {
  for (size_t i = lb_guardian.count; i-- > 0;)
    if (was_nothing(&lb_guardian.fault[i])) lb_guardian_journal_strike(i);
  for (int round = 0; round < ROUNDS && lb_guardian.count > 0; round++) {
    for (size_t i = lb_guardian.count; i-- > 0;) order_in_round(&lb_guardian.fault[i], round);
    lb_ns deadline = lb_clock_ns() + ROUND_MS * LB_NS_PER_MS;
    do {
      for (size_t i = lb_guardian.count; i-- > 0;)
        if (is_undone(&lb_guardian.fault[i])) lb_guardian_journal_strike(i);
      if (lb_guardian.count > 0) lb_clock_sleep_until(lb_clock_ns() + POLL_MS * LB_NS_PER_MS);
    } while (lb_guardian.count > 0 && lb_clock_ns() < deadline);
  }
  lb_guardian.failed = lb_guardian.count > 0;
  if (lb_guardian.failed) lb_guardian_undo_name_left(lb_guardian.why[0] ? lb_guardian.why : NULL, err);
  return lb_guardian.failed ? -EIO : 0;
}

int lb_guardian_undo(struct lb_error *err) {
  char why[300];
  int r = lb_guardian_undo_all(err);
  if (r == 0 && lb_guardian.well) return 0;
  for (lb_ns deadline = lb_clock_ns() + WELL_MS * LB_NS_PER_MS;
       r == 0 && !lb_guardian_look_are_well(why, sizeof why);) {
    if (lb_clock_ns() > deadline) return lb_error(err, -EIO, "your servers are not as before: %s", why);
    lb_clock_sleep_until(lb_clock_ns() + POLL_MS * LB_NS_PER_MS);
  }
  lb_guardian.early = false;
  lb_guardian.well = r == 0;
  if (r == 0 && lb_guardian.false_kill[0])
    r = lb_refuse(err, "%s was not killed: it is the one of before", lb_guardian.false_kill);
  lb_guardian.false_kill[0] = '\0';
  return r;
}
