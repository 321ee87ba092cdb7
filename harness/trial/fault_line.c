/* SPDX-License-Identifier: MIT
 *
 * Faults of links: packets that are late (slow), or kept until somebody releases them (hold).
 *
 * Both are proved by packets of our own, one on each way. That of a slow has to take the time: which is
 * known only then, and the steps go on meanwhile (lb_fault_settle). That of a hold is with the line and
 * has not come, and comes when it is released. And one that is sent the other way comes at once: it
 * is this direction alone that is late.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "fault.h"
#include "fault_links.h"
#include "fault_parts.h"
#include "servers/cut.h"

enum { BACK_MS = 500, BACK_TRIES = 3, TAKEN_MS = 1000, SILENCE_MS = 60, CAME_MS = 1000, LATER_MS = 5000 };

static void doze(void) { lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS / 2); }

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* A line on a link that is cut would have nothing to delay. */
static int make(struct lb_doing *d, const struct lb_links *links, lb_ns delay_ns, struct lb_line **ret) {
  char why[200];
  struct lb_way *ways = calloc(links->count + 1, sizeof *ways);
  int r = ways ? 0 : lb_doing_fail(d, "out of memory");
  for (size_t i = 0; r == 0 && i < links->count; i++) {
    ways[i] = (struct lb_way){links->link[i].a, links->link[i].b};
    if (lb_cut_parts(d->s->net.cuts, ways[i].from, ways[i].to))
      r = lb_doing_fail(d, "%s: the link of %s and %s is cut", d->step->text, ways[i].from->name, ways[i].to->name);
  }
  if (r == 0 && lb_line_make(&d->s->net, d->step, ways, links->count, delay_ns, ret, why, sizeof why) < 0)
    r = lb_doing_fail(d, "%s: %s", d->step->text, why);
  free(ways);
  return r;
}

/* The shortest of a few: a machine that is busy for a moment is no late link. */
static lb_ns trip_back(struct lb_line *line, size_t i) {
  lb_ns shortest = LB_LINE_HOLD;
  for (int n = 0; n < BACK_TRIES && shortest >= line->delay_ns; n++) {
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
    if (took >= line->delay_ns)
      return lb_doing_fail(d, "%s: what %s sends to %s is late, too", d->step->text, way->to->name, way->from->name);
    lb_stage_trip(d->s, d->step, way->to, way->from, took);
  }
  return 0;
}

/* A step that names no link is no fault of nobody: its question was not put. */
static int begin(struct lb_doing *d, lb_ns delay_ns, struct lb_line **ret) {
  struct lb_links links;
  int r = lb_links_find(d, &links);
  if (r == 0 && links.count == 0) r = lb_doing_fail(d, "%s: no link between these two", d->step->text);
  if (r == 0) r = make(d, &links, delay_ns, ret);
  if (r == 0 && lb_line_probe(*ret) < 0) r = lb_doing_fail(d, "%s: the packet of the proof could not be sent", d->step->text);
  lb_links_free(&links);
  return r < 0 ? r : ask_back(d, *ret);
}

static int slow(struct lb_doing *d) {
  struct lb_line *line;
  return begin(d, (lb_ns)d->step->within_ms * LB_NS_PER_MS, &line);
}

static int hold(struct lb_doing *d) {
  struct lb_line *line;
  return begin(d, LB_LINE_HOLD, &line);
}

/* ---- the proof --------------------------------------------------------------------------------------------------- */

static const char *text_of(const struct lb_line *line) { return ((const struct lb_step *)line->owner)->text; }

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

/* 1 = all of them have come, none too early, and that is recorded; 0 = not yet; -1 with err. */
static int look_at(struct lb_stage *s, struct lb_line *line, const struct lb_doing *d) {
  lb_ns trip;
  for (size_t i = 0; i < line->way_count; i++) {
    if (!lb_line_trip(line, i, &trip)) return 0;
    if (trip < line->delay_ns)
      return lb_doing_fail(d, "%s: a packet from %s to %s took %.3f s", text_of(line), line->way[i].from->name, line->way[i].to->name, (double)trip / 1e9);
  }
  for (size_t i = 0; i < line->way_count; i++) {
    lb_line_trip(line, i, &trip);
    lb_stage_trip(s, line->owner, line->way[i].from, line->way[i].to, trip);
  }
  line->is_proved = true;
  lb_stage_proved(s, line->owner);
  return 1;
}

static int settle_one(struct lb_stage *s, struct lb_line *line, bool wait, const struct lb_doing *d) {
  lb_ns deadline = line->probed_at + line->delay_ns + LATER_MS * LB_NS_PER_MS;
  int r;
  while ((r = look_at(s, line, d)) == 0 && wait) {
    if (lb_clock_ns() > deadline) return lb_doing_fail(d, "%s: its packet has not come", text_of(line));
    doze();
  }
  return r < 0 ? r : 0;
}

int lb_fault_settle(struct lb_stage *s, bool wait, char *err, size_t err_size) {
  const struct lb_doing d = {.err = err, .err_size = err_size};
  int r = 0;
  for (struct lb_line *line = s->net.lines; line && r == 0; line = line->older)
    if (!line->is_proved && line->delay_ns != LB_LINE_HOLD) r = settle_one(s, line, wait, &d);
  return r;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

void lb_line_note_unused(struct lb_stage *s, const struct lb_line *line) {
  uint64_t others = 0, lost = 0;
  for (size_t i = 0; i < line->way_count; i++) {
    others += atomic_load(&line->seen[i].others);
    lost += atomic_load(&line->seen[i].lost);
  }
  if (others == 0) lb_stage_unused(s, line->owner);
  if (lost > 0) lb_stage_note(s, "%s: %llu packets were lost, because the line could not take them in time", text_of(line), (unsigned long long)lost);
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

int lb_doing_end_line(struct lb_doing *d, struct lb_line *line) {
  char why[200];
  bool holds = line->delay_ns == LB_LINE_HOLD;
  int r = holds || line->is_proved ? 0 : look_at(d->s, line, d);
  if (r == 0 && !line->is_proved) r = lb_doing_fail(d, "%s: undone before its packet had come, so it is not proved", text_of(line));
  lb_line_note_unused(d->s, line);
  if (r >= 0 && lb_line_pass(line, why, sizeof why) < 0) r = lb_doing_fail(d, "%s: %s", d->step->text, why);
  if (r >= 0 && holds) r = await_kept(d, line);
  if (lb_line_end(&d->s->net, line, why, sizeof why) < 0 && r >= 0) r = lb_doing_fail(d, "%s: %s", d->step->text, why);
  return r < 0 ? r : 0;
}

/* The latest hold of these two roles: its hosts, whoever plays them now. */
static int release(struct lb_doing *d) {
  for (struct lb_line *line = d->s->net.lines; line; line = line->older) {
    const struct lb_step *step = line->owner;
    if (line->delay_ns == LB_LINE_HOLD && lb_role_equal(step->a, d->step->a) && lb_role_equal(step->b, d->step->b))
      return lb_doing_end_line(d, line);
  }
  return lb_doing_fail(d, "%s: nothing is held there", d->step->text);
}

const struct lb_fault lb_faults_of_lines[LB_VERB_COUNT] = {
    [LB_STEP_SLOW] = {slow, .settles = true},
    [LB_STEP_HOLD] = {hold, prove_hold},
    [LB_STEP_RELEASE_HELD] = {release},
};
