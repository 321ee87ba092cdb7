/* SPDX-License-Identifier: MIT
 *
 * Faults of links: packets that are late or lost (slow), or kept until somebody releases them (hold). The proof
 * of a slow is in fault_slow.c.
 *
 * A hold is proved by packets of our own, one on each way: it is with the line and has not come, and
 * comes when it is released. And one that is sent the other way comes at once: it is this direction
 * alone that is late.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "fault.h"
#include "fault_links.h"
#include "fault_parts.h"
#include "servers/cut.h"

enum { BACK_MS = 500, BACK_TRIES = 3, TAKEN_MS = 1000, SILENCE_MS = 60, CAME_MS = 1000 };

static void doze(void) { lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS / 2); }

static bool holds(const struct lb_line *line) { return line->plan.delay_ns == LB_LINE_HOLD; }

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* A line on a link that is cut would have nothing to delay. */
static int make(struct lb_doing *d, const struct lb_links *links, const struct lb_line_plan *plan, struct lb_line **ret) {
  char why[200];
  struct lb_way *ways = calloc(links->count + 1, sizeof *ways);
  int r = ways ? 0 : lb_doing_fail(d, "out of memory");
  for (size_t i = 0; r == 0 && i < links->count; i++) {
    ways[i] = (struct lb_way){links->link[i].a, links->link[i].b};
    if (lb_cut_parts(d->s->net.cuts, ways[i].from, ways[i].to))
      r = lb_doing_fail(d, "%s: the link of %s and %s is cut", d->step->text, ways[i].from->name, ways[i].to->name);
  }
  if (r == 0 && lb_line_make(&d->s->net, d->step, ways, links->count, plan, ret, why, sizeof why) < 0)
    r = lb_doing_fail(d, "%s: %s", d->step->text, why);
  free(ways);
  return r;
}

/* The shortest of a few: a machine that is busy for a moment is no late link. */
static lb_ns trip_back(struct lb_line *line, size_t i) {
  lb_ns shortest = LB_LINE_HOLD;
  for (int n = 0; n < BACK_TRIES && shortest >= line->plan.delay_ns; n++) {
    lb_ns took = lb_line_trip_back(line, i, BACK_MS);
    if (took < shortest) shortest = took;
  }
  return shortest;
}

/* The other direction, where no line of another step makes it late. */
static int ask_back(struct lb_doing *d, struct lb_line *line) {
  for (size_t i = 0; i < line->way_count; i++) {
    const struct lb_way *way = &line->way[i];
    if (lb_line_on(&d->s->net, way->to, way->from)) continue;
    lb_ns took = trip_back(line, i);
    if (took >= line->plan.delay_ns)
      return lb_doing_fail(d, "%s: what %s sends to %s is late, too", d->step->text, way->to->name, way->from->name);
    lb_stage_trip(d->s, d->step, way->to, way->from, took);
  }
  return 0;
}

/* A step that names no link is no fault of nobody: its question was not put. What is drawn on a line
 * depends on the trial's faults and on nothing else. */
int lb_doing_make_line(struct lb_doing *d, struct lb_line_plan plan, struct lb_line **ret) {
  struct lb_links links;
  int r = lb_links_find(d, &links);
  plan.seed = d->s->plan->fault_seed;
  if (r == 0 && links.count == 0) r = lb_doing_fail(d, "%s: no link between these two", d->step->text);
  if (r == 0) r = make(d, &links, &plan, ret);
  lb_links_free(&links);
  return r;
}

static int begin(struct lb_doing *d, struct lb_line_plan plan, unsigned probes) {
  struct lb_line *line;
  int r = lb_doing_make_line(d, plan, &line);
  if (r == 0 && lb_line_probe(line, probes) < 0) r = lb_doing_fail(d, "%s: the packet of the proof could not be sent", d->step->text);
  return r < 0 ? r : ask_back(d, line);
}

static int slow(struct lb_doing *d) {
  const struct lb_line_plan plan = {.delay_ns = (lb_ns)d->step->within_ms * LB_NS_PER_MS, .jitter_ns = (lb_ns)d->step->jitter_ms * LB_NS_PER_MS, .loss = d->step->loss};
  if (plan.jitter_ns > plan.delay_ns) return lb_doing_fail(d, "%s: the jitter is more than the delay, and nothing is early", d->step->text);
  return begin(d, plan, lb_slow_probes(&plan));
}

static int hold(struct lb_doing *d) { return begin(d, (struct lb_line_plan){.delay_ns = LB_LINE_HOLD}, 1); }

/* ---- the proof of a hold ----------------------------------------------------------------------------------------- */

/* The line has the packet, and the other host has not, nor after a while. */
static int prove_hold(struct lb_doing *d) {
  struct lb_line *line = d->s->net.lines;
  lb_ns deadline = lb_clock_ns() + TAKEN_MS * LB_NS_PER_MS, trip;
  for (size_t i = 0; i < line->way_count; i++)
    while (atomic_load(&line->seen[i].probe_taken) == 0) {
      if (lb_clock_ns() > deadline) return lb_doing_fail(d, "%s: nothing is kept on the way from %s", d->step->text, line->way[i].from->name);
      doze();
    }
  lb_clock_sleep_until(lb_clock_ns() + SILENCE_MS * LB_NS_PER_MS);
  for (size_t i = 0; i < line->way_count; i++)
    if (lb_line_trip(line, i, &trip))
      return lb_doing_fail(d, "%s: %s still hears from %s", d->step->text, line->way[i].to->name, line->way[i].from->name);
  line->is_proved = true;
  return 0;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static const char *text_of(const struct lb_line *line) { return ((const struct lb_step *)line->owner)->text; }

/* What the line itself was late with, in ms; of a hold nobody asks. */
static void note_own(struct lb_stage *s, const struct lb_line *line) {
  const struct lb_hist *own = &line->shared->own;
  if (own->count == 0) return;
  lb_stage_note(s, "%s: the line itself added %.3f ms to a packet, %.3f ms to one of 100", text_of(line), (double)lb_hist_quantile(own, 0.5) / 1e6,
                (double)lb_hist_quantile(own, 0.99) / 1e6);
}

void lb_line_note(struct lb_stage *s, const struct lb_line *line) {
  uint64_t others = 0, lost = 0;
  for (size_t i = 0; i < line->way_count; i++) {
    uint64_t taken = atomic_load(&line->seen[i].others), dropped = atomic_load(&line->seen[i].dropped);
    others += taken;
    lost += atomic_load(&line->seen[i].lost);
    if (line->plan.loss > 0 || line->plan.pick) lb_stage_carried(s, line->owner, line->way[i].from, line->way[i].to, taken - dropped, taken);
  }
  if (others == 0) lb_stage_unused(s, line->owner);
  if (lost > 0) lb_stage_note(s, "%s: %llu packets were lost, because the line could not take them in time", text_of(line), (unsigned long long)lost);
  note_own(s, line);
}

/* What was kept comes now, and how long it was kept is recorded. */
static int await_kept(struct lb_doing *d, const struct lb_line *line) {
  lb_ns deadline = lb_clock_ns() + CAME_MS * LB_NS_PER_MS, trip;
  for (size_t i = 0; i < line->way_count; i++) {
    while (!lb_line_trip(line, i, &trip)) {
      if (lb_clock_ns() > deadline) return lb_doing_fail(d, "%s: what was kept did not come", d->step->text);
      doze();
    }
    lb_stage_trip(d->s, line->owner, line->way[i].from, line->way[i].to, trip);
  }
  return 0;
}

/* Whether it did what it was for; of a hold that is seen when it ends. */
static int prove_at_end(struct lb_doing *d, struct lb_line *line) {
  if (line->plan.pick) return lb_message_settle(d, line);
  int r = holds(line) || line->is_proved ? 0 : lb_slow_look(d, line);
  if (r == 0 && !line->is_proved) r = lb_doing_fail(d, "%s: undone before its packet had come, so it is not proved", text_of(line));
  return r;
}

int lb_doing_end_line(struct lb_doing *d, struct lb_line *line) {
  char why[200];
  int r = prove_at_end(d, line);
  if (r >= 0 && lb_line_pass(line, why, sizeof why) < 0) r = lb_doing_fail(d, "%s: %s", d->step->text, why);
  lb_line_note(d->s, line);
  if (r >= 0 && holds(line)) r = await_kept(d, line);
  if (lb_line_end(&d->s->net, line, why, sizeof why) < 0 && r >= 0) r = lb_doing_fail(d, "%s: %s", d->step->text, why);
  return r < 0 ? r : 0;
}

/* The latest hold of these two roles: its hosts, whoever plays them now. */
static int release(struct lb_doing *d) {
  for (struct lb_line *line = d->s->net.lines; line; line = line->older)
    if (lb_step_undoes(d->step, line->owner)) return lb_doing_end_line(d, line);
  return lb_doing_fail(d, "%s: nothing is held there", d->step->text);
}

const struct lb_fault lb_faults_of_lines[LB_VERB_COUNT] = {
    [LB_STEP_SLOW] = {slow, .settles = true},
    [LB_STEP_HOLD] = {hold, prove_hold},
    [LB_STEP_RELEASE_HELD] = {release},
};
