/* SPDX-License-Identifier: MIT
 *
 * Faults of one message on the wire: it is dropped, or kept until it is released, and with it whatever
 * follows on its connection.
 *
 * Such a fault is armed, and acts when somebody sends. Its proof is the line's record of that message: from
 * which port to which, how many bytes. By the end of the timeline, or when it is undone, there has to
 * be one.
 */
#include <stdio.h>

#include "base/clock.h"
#include "fault.h"
#include "fault_parts.h"

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
  if (!line->is_proved && atomic_load(&line->shared->picked.fired)) {
    record(d->s, line);
    lb_stage_proved(d->s, line->owner);
    line->is_proved = true;
  }
  return line->is_proved;
}

/* How long the message was kept is the trip of what was held. */
int lb_message_settle(struct lb_doing *d, struct lb_line *line) {
  const struct lb_line_picked *m = &line->shared->picked;
  if (!lb_message_look(d, line)) return lb_doing_fail(d, "%s: no such message was sent", ((const struct lb_step *)line->owner)->text);
  if (line->plan.pick == LB_LINE_PICKS_HELD) lb_stage_trip(d->s, line->owner, line->way[m->way].from, line->way[m->way].to, lb_clock_ns() - m->at);
  return 0;
}

int lb_fault_all_met(struct lb_stage *s, char *err, size_t err_size) {
  const struct lb_doing d = {.s = s, .err = err, .err_size = err_size};
  for (struct lb_line *line = s->net.lines; line; line = line->older)
    if (line->plan.pick && !lb_message_look(&d, line)) return lb_doing_fail(&d, "%s: no such message was sent", ((const struct lb_step *)line->owner)->text);
  return 0;
}

const struct lb_fault lb_faults_of_messages[LB_VERB_COUNT] = {
    [LB_STEP_DROP_NEXT] = {drop_next, .settles = true},
    [LB_STEP_HOLD_NEXT] = {hold_next, .settles = true},
};
