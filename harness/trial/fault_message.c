/* SPDX-License-Identifier: MIT
 *
 * Faults of one message on the wire: it is dropped, or kept until it is released, and with it whatever
 * follows on its connection.
 *
 * Such a fault is armed, and acts when somebody sends. The line records the message: from which port to
 * which, how many bytes. It is proved when the sender's TCP sends this message again: had it
 * arrived, it would have been acknowledged. By the end of the timeline, or when it is undone, that has
 * to be seen; where the message is there, it is waited for.
 */
#include <stdio.h>

#include "base/clock.h"
#include "fault.h"
#include "fault_parts.h"

enum { AGAIN_MS = 3000 };

static const char *text_of(const struct lb_line *line) { return ((const struct lb_step *)line->owner)->text; }

static int arm(struct lb_doing *d, enum lb_line_pick pick) {
  struct lb_line *line;
  return lb_doing_make_line(d, (struct lb_line_plan){.pick = pick, .after = (unsigned)d->step->after}, &line);
}

static int drop_next(struct lb_doing *d) { return arm(d, LB_LINE_PICKS_DROPPED); }
static int hold_next(struct lb_doing *d) { return arm(d, LB_LINE_PICKS_HELD); }

static void record(struct lb_stage *s, const struct lb_line *line) {
  char from[80], to[80];
  const struct lb_line_picked *m = &line->shared->picked;
  snprintf(from, sizeof from, "%s:%u", line->way[m->way].from->name, m->from_port);
  snprintf(to, sizeof to, "%s:%u", line->way[m->way].to->name, m->to_port);
  lb_stage_message(s, line->owner, from, to, m->bytes, m->before);
}

int lb_message_look(const struct lb_doing *d, struct lb_line *line) {
  const struct lb_line_picked *m = &line->shared->picked;
  if (!line->is_told && atomic_load(&m->fired)) {
    record(d->s, line);
    line->is_told = true;
  }
  if (!line->is_proved && line->is_told && atomic_load(&m->again) > 0) {
    lb_stage_proved(d->s, line->owner);
    line->is_proved = true;
  }
  return line->is_proved;
}

static int insist(const struct lb_doing *d, struct lb_line *line) {
  lb_ns deadline = line->shared->picked.at + (lb_ns)AGAIN_MS * LB_NS_PER_MS;
  while (!lb_message_look(d, line)) {
    if (!line->is_told) return lb_doing_fail(d, "%s: no such message was sent", text_of(line));
    if (lb_clock_ns() > deadline) return lb_doing_fail(d, "%s: it was not sent again, so it may have arrived", text_of(line));
    lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS);
  }
  return 0;
}

/* How long the message was kept is the trip of what was held. */
int lb_message_settle(struct lb_doing *d, struct lb_line *line) {
  const struct lb_line_picked *m = &line->shared->picked;
  int r = insist(d, line);
  if (r == 0 && line->plan.pick == LB_LINE_PICKS_HELD)
    lb_stage_trip(d->s, line->owner, line->way[m->way].from, line->way[m->way].to, lb_clock_ns() - m->at);
  return r;
}

int lb_fault_all_met(struct lb_stage *s, char *err, size_t err_size) {
  const struct lb_doing d = {.s = s, .err = err, .err_size = err_size};
  int r = 0;
  for (struct lb_line *line = s->net.lines; line && r == 0; line = line->older)
    if (line->plan.pick) r = insist(&d, line);
  return r;
}

const struct lb_fault lb_faults_of_messages[LB_VERB_COUNT] = {
    [LB_STEP_DROP_NEXT] = {drop_next, .settles = true},
    [LB_STEP_HOLD_NEXT] = {hold_next, .settles = true},
};
