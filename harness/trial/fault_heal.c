/* SPDX-License-Identifier: MIT
 *
 * Healing what faults of links have done: cuts, and delays and losses.
 */
#include "fault_heal.h"

#include <stdlib.h>

#include "fault_line.h"
#include "network/cut.h"
#include "network/line.h"
#include "network/net.h"

/* Records a cut that dropped no packet but our own. If its counters cannot be read, it records nothing. */
static void note_unused(struct lb_stage *s, const struct lb_cut *cut) {
  uint64_t others = 0, *dropped = calloc(cut->way_count, sizeof *dropped);
  bool known = dropped && lb_cut_dropped(cut, dropped, &others, NULL) == 0;
  if (known && others == 0) lb_stage_step(s, LB_EV_UNUSED, cut->owner);
  free(dropped);
}

void lb_fault_note_unused(struct lb_stage *s) {
  for (const struct lb_cut *cut = s->net.cuts; cut; cut = cut->older) note_unused(s, cut);
  for (const struct lb_line *line = s->net.lines; line; line = line->older) lb_doing_note_line(s, line);
}

int lb_doing_heal(struct lb_doing *d, struct lb_cut *cut) {
  if (!cut) return 0;
  note_unused(d->s, cut);
  return lb_cut_heal(&d->s->net, cut, d->err) < 0 ? lb_error_prefix(d->err, "no heal: ") : 0;
}

static uint32_t number_of(const void *owner) { return ((const struct lb_step *)owner)->number; }

/* The latest cut, slow or drop whose step names the same roles. It heals the hosts of that step, even if other hosts
 * play these roles now. */
static int heal_named(struct lb_doing *d) {
  struct lb_cut *cut = d->s->net.cuts;
  struct lb_line *line = d->s->net.lines;
  while (cut && !lb_step_undoes(d->step, cut->owner)) cut = cut->older;
  while (line && !lb_step_undoes(d->step, line->owner)) line = line->older;
  if (line && (!cut || number_of(line->owner) > number_of(cut->owner))) return lb_doing_end_line(d, line);
  return lb_doing_heal(d, cut);
}

/* Each is tried, whatever fails on another one. */
static int heal_all(struct lb_doing *d) {
  int r = 0;
  for (const struct lb_cut *cut = d->s->net.cuts; cut; cut = cut->older) note_unused(d->s, cut);
  if (lb_cut_heal_all(&d->s->net, d->err) < 0) r = lb_error_prefix(d->err, "no heal: ");
  for (struct lb_line *line = d->s->net.lines, *older; line; line = older) {
    older = line->older;
    if (lb_doing_end_line(d, line) < 0) r = -1;
  }
  return r;
}

const struct lb_fault lb_faults_of_heals[LB_VERB_COUNT] = {
    [LB_STEP_HEAL] = {heal_all},
    [LB_STEP_HEAL_ONE] = {heal_named},
};
