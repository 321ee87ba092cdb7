/* SPDX-License-Identifier: MIT
 *
 * Faults of links by a delay line: packets that are late or lost (slow), kept until somebody releases them (hold), or
 * one message alone. Each is proved by what the line's process saw of packets of our own, or of that message. In a load
 * with `round_trip_ms` one line makes all links long.
 */
#include "fault_line.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/need.h"
#include "fault_links.h"
#include "network/cut.h"
#include "network/line.h"
#include "workload.h"

enum { BACK_MS = 500, BACK_TRIES = 3, TAKEN_MS = 1000, SILENCE_MS = 60, CAME_MS = 1000 };
enum { LATER_MS = 5000, AGAIN_MS = 3000, FAR_CAME_MS = 5000 };

static void doze(void) { lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS / 2); }

static bool holds(const struct lb_line *line) { return line->plan.delay_ns == LB_LINE_HOLD; }

static const char *text_of(const struct lb_line *line) { return ((const struct lb_step *)line->owner)->text; }

/* ---- the proof of a slow ----
 *
 * Packets of our own, which the line's process stamps. Each has to take its time, which is known only then, and the
 * steps go on meanwhile (lb_fault_settle).
 *
 * For a delay without jitter one packet is enough. With jitter the packets have to spread: some earlier than the
 * middle, which no busy machine can make, and the first and the last apart by half of the range. Where packets are
 * lost, exactly those are missing which the line says it dropped. There were some, as many as that share makes likely.
 */

/* The chance that 64 draws all lie in one half of the range is 1 in 10^17. Ten lost packets are expected, and the
 * chance of none is 1 in 20,000. */
enum { SPREAD_PACKETS = 64, LOST_PACKETS = 10 };
#define SIGMAS 6

static unsigned slow_probes(const struct lb_line_plan *plan) {
  double lossy = plan->loss > 0 ? ceil(LOST_PACKETS / plan->loss) : 1;
  double spread = plan->jitter_ns > 0 ? ceil(SPREAD_PACKETS / (1 - plan->loss)) : 1;
  return (unsigned)fmin(fmax(lossy, spread), LB_LINE_PROBES_MAX);
}

static int refuse_way(const struct lb_doing *d, const struct lb_line *line, size_t i, const char *what) {
  return lb_doing_fail(d, "%s: of the %u packets from %s to %s %s", text_of(line), line->probes,
                       line->way[i].from->name, line->way[i].to->name, what);
}

static int check_delay(const struct lb_doing *d, const struct lb_line *line, size_t i) {
  const struct lb_line_plan *plan = &line->plan;
  lb_ns least = atomic_load(&line->seen[i].trip_min), most = atomic_load(&line->seen[i].trip_max), trip = least;
  if (line->probes == 1) lb_line_trip(line, i, &trip);
  if (trip < plan->delay_ns - plan->jitter_ns)
    return lb_doing_fail(d, "%s: a packet from %s to %s took %.3f s", text_of(line), line->way[i].from->name,
                         line->way[i].to->name, (double)trip / 1e9);
  if (plan->jitter_ns > 0 && (least >= plan->delay_ns || most - least < plan->jitter_ns))
    return lb_doing_fail(d, "%s: the %u packets from %s to %s took %.1f to %.1f ms: that is no such jitter",
                         text_of(line), line->probes, line->way[i].from->name, line->way[i].to->name,
                         (double)least / 1e6, (double)most / 1e6);
  return 0;
}

static int check_loss(const struct lb_doing *d, const struct lb_line *line, size_t i) {
  double expected = line->plan.loss * line->probes, dropped = (double)atomic_load(&line->seen[i].probes_dropped);
  if (line->plan.loss <= 0) return 0;
  if (dropped < 1) return refuse_way(d, line, i, "none was lost");
  return dropped > expected + SIGMAS * sqrt(expected) ? refuse_way(d, line, i, "too many were lost") : 0;
}

/* What is not dropped has to come. */
static bool is_complete(const struct lb_line *line, size_t i) {
  const struct lb_line_seen *seen = &line->seen[i];
  return atomic_load(&seen->probes_came) + atomic_load(&seen->probes_dropped) >= line->probes;
}

static void record_slow(struct lb_stage *s, struct lb_line *line) {
  for (size_t i = 0; i < line->way_count; i++) {
    const struct lb_line_seen *seen = &line->seen[i];
    lb_stage_trip(s, line->owner, line->way[i].from, line->way[i].to, atomic_load(&seen->trip_min));
    if (line->probes > 1)
      lb_stage_trip(s, line->owner, line->way[i].from, line->way[i].to, atomic_load(&seen->trip_max));
    if (line->plan.loss > 0)
      lb_stage_note(s, "%s: of %u packets of ours %llu were lost", text_of(line), line->probes,
                    (unsigned long long)atomic_load(&seen->probes_dropped));
  }
  line->is_proved = true;
  lb_stage_step(s, LB_EV_PROVED, line->owner);
}

static int look_at_slow(const struct lb_doing *d, struct lb_line *line) {
  for (size_t i = 0; i < line->way_count; i++) {
    if (!is_complete(line, i)) return 0;
    if (check_delay(d, line, i) < 0 || check_loss(d, line, i) < 0) return -1;
  }
  record_slow(d->s, line);
  return 1;
}

/* ---- the proof of a fault of one message ----
 *
 * The message is dropped, or kept until it is released, and with it whatever follows on its connection.
 *
 * Such a fault is armed, and acts when a host sends. The line records the message: from which port to which, how many
 * bytes. It is proved when the sender's TCP sends this message again: had it arrived, it would have been acknowledged.
 * By the end of the timeline, or when it is undone, that has to be seen; where the message is there, it is waited for.
 */

static void record_message(struct lb_stage *s, const struct lb_line *line) {
  char from[80], to[80];
  const struct lb_line_picked *m = &line->shared->picked;
  snprintf(from, sizeof from, "%s:%u", line->way[m->way].from->name, m->from_port);
  snprintf(to, sizeof to, "%s:%u", line->way[m->way].to->name, m->to_port);
  lb_stage_message(s, line->owner, from, to, m->bytes, m->before);
}

static int look_for_message(const struct lb_doing *d, struct lb_line *line) {
  const struct lb_line_picked *m = &line->shared->picked;
  if (!line->is_told && atomic_load(&m->fired)) {
    record_message(d->s, line);
    line->is_told = true;
  }
  if (!line->is_proved && line->is_told && atomic_load(&m->again) > 0) {
    lb_stage_step(d->s, LB_EV_PROVED, line->owner);
    line->is_proved = true;
  }
  return line->is_proved;
}

static int insist(const struct lb_doing *d, struct lb_line *line) {
  lb_ns deadline = line->shared->picked.at + (lb_ns)AGAIN_MS * LB_NS_PER_MS;
  while (!look_for_message(d, line)) {
    if (!line->is_told) return lb_doing_fail(d, "%s: no such message was sent", text_of(line));
    if (lb_clock_ns() > deadline)
      return lb_doing_fail(d, "%s: it was not sent again, so it may have arrived", text_of(line));
    lb_sleep_ms(1);
  }
  return 0;
}

/* How long the message was kept is the trip of what was held. */
static int settle_message(struct lb_doing *d, struct lb_line *line) {
  const struct lb_line_picked *m = &line->shared->picked;
  int r = insist(d, line);
  if (r == 0 && line->plan.pick == LB_LINE_PICKS_HELD)
    lb_stage_trip(d->s, line->owner, line->way[m->way].from, line->way[m->way].to, lb_clock_ns() - m->at);
  return r;
}

/* ---- the proof of a hold ----------------------------------------------------------------------------------------- */

/* The line has a packet of ours, and the other host has not, nor after a while. It comes when it is released. */
static int prove_hold(struct lb_doing *d) {
  struct lb_line *line = d->s->net.lines;
  lb_ns deadline = lb_in_ms(TAKEN_MS), trip;
  for (size_t i = 0; i < line->way_count; i++)
    while (atomic_load(&line->seen[i].probe_taken) == 0) {
      if (lb_clock_ns() > deadline)
        return lb_doing_fail(d, "%s: nothing is kept on the way from %s", d->step->text, line->way[i].from->name);
      doze();
    }
  lb_sleep_ms(SILENCE_MS);
  for (size_t i = 0; i < line->way_count; i++)
    if (lb_line_trip(line, i, &trip))
      return lb_doing_fail(d, "%s: %s still hears from %s", d->step->text, line->way[i].to->name,
                           line->way[i].from->name);
  line->is_proved = true;
  return 0;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* A line on a link that is cut would have nothing to delay. */
static int make(struct lb_doing *d, const struct lb_links *links, const struct lb_line_plan *plan,
                struct lb_line **ret) {
  struct lb_way *ways = lb_need(calloc(links->count + 1, sizeof *ways));
  int r = 0;
  for (size_t i = 0; r == 0 && i < links->count; i++) {
    ways[i] = (struct lb_way){links->link[i].a, links->link[i].b};
    if (lb_cut_parts(d->s->net.cuts, ways[i].from, ways[i].to))
      r = lb_doing_fail(d, "%s: the link of %s and %s is cut", d->step->text, ways[i].from->name, ways[i].to->name);
  }
  if (r == 0 && !(*ret = lb_line_make(&d->s->net, d->step, ways, links->count, plan, d->err)))
    r = lb_error_prefix(d->err, "%s: ", d->step->text);
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

/* A step that names no link makes the trial undecided: its question was not put. What is drawn on a line depends on the
 * trial's fault seed and on nothing else. */
static int make_line(struct lb_doing *d, struct lb_line_plan plan, struct lb_line **ret) {
  struct lb_links links;
  lb_doing_links(d, true, &links);
  plan.seed = d->s->plan->fault_seed;
  int r =
      links.count > 0 ? make(d, &links, &plan, ret) : lb_doing_fail(d, "%s: no link between these two", d->step->text);
  free(links.link);
  return r;
}

static int begin(struct lb_doing *d, struct lb_line_plan plan, unsigned probes) {
  struct lb_line *line;
  int r = make_line(d, plan, &line);
  if (r == 0 && lb_line_probe(line, probes) < 0)
    r = lb_doing_fail(d, "%s: the packet of the proof could not be sent", d->step->text);
  return r < 0 ? r : ask_back(d, line);
}

static int slow(struct lb_doing *d) {
  const struct lb_line_plan plan = {.delay_ns = (lb_ns)d->step->within_ms * LB_NS_PER_MS,
                                    .jitter_ns = (lb_ns)d->step->jitter_ms * LB_NS_PER_MS,
                                    .loss = d->step->loss};
  if (plan.jitter_ns > plan.delay_ns)
    return lb_doing_fail(d, "%s: the jitter is more than the delay, and nothing is early", d->step->text);
  return begin(d, plan, slow_probes(&plan));
}

static int hold(struct lb_doing *d) { return begin(d, (struct lb_line_plan){.delay_ns = LB_LINE_HOLD}, 1); }

static int arm(struct lb_doing *d, enum lb_line_pick pick) {
  struct lb_line *line;
  return make_line(d, (struct lb_line_plan){.pick = pick, .after = (unsigned)d->step->after}, &line);
}

static int drop_next(struct lb_doing *d) { return arm(d, LB_LINE_PICKS_DROPPED); }
static int hold_next(struct lb_doing *d) { return arm(d, LB_LINE_PICKS_HELD); }

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* How late the line itself was, in ms. A hold has no such figure. */
static void note_own(struct lb_stage *s, const struct lb_line *line) {
  const struct lb_hist *own = &line->shared->own;
  if (own->count == 0) return;
  lb_stage_note(s, "%s: the line itself added %.3f ms to a packet, %.3f ms to one of 100", text_of(line),
                (double)lb_hist_quantile(own, 0.5) / 1e6, (double)lb_hist_quantile(own, 0.99) / 1e6);
}

void lb_doing_note_line(struct lb_stage *s, const struct lb_line *line) {
  uint64_t others = 0, lost = 0;
  for (size_t i = 0; i < line->way_count; i++) {
    uint64_t taken = atomic_load(&line->seen[i].others), dropped = atomic_load(&line->seen[i].dropped);
    others += taken;
    lost += atomic_load(&line->seen[i].lost);
    if (line->plan.loss > 0 || line->plan.pick)
      lb_stage_carried(s, line->owner, line->way[i].from, line->way[i].to, taken - dropped, taken);
  }
  if (others == 0) lb_stage_step(s, LB_EV_UNUSED, line->owner);
  if (lost > 0)
    lb_stage_note(s, "%s: %llu packets were lost, because the line could not take them in time", text_of(line),
                  (unsigned long long)lost);
  note_own(s, line);
}

/* What was kept comes now, and how long it was kept is recorded. */
static int await_kept(struct lb_doing *d, const struct lb_line *line) {
  lb_ns deadline = lb_in_ms(CAME_MS), trip;
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
  if (line->plan.pick) return settle_message(d, line);
  int r = holds(line) || line->is_proved ? 0 : look_at_slow(d, line);
  if (r == 0 && !line->is_proved)
    r = lb_doing_fail(d, "%s: undone before its packet had come, so it is not proved", text_of(line));
  return r;
}

int lb_doing_end_line(struct lb_doing *d, struct lb_line *line) {
  int r = prove_at_end(d, line);
  if (r >= 0 && lb_line_pass(line, d->err) < 0) r = lb_error_prefix(d->err, "%s: ", d->step->text);
  lb_doing_note_line(d->s, line);
  if (r >= 0 && holds(line)) r = await_kept(d, line);
  if (lb_line_end(&d->s->net, line, r < 0 ? NULL : d->err) < 0 && r >= 0)
    r = lb_error_prefix(d->err, "%s: ", d->step->text);
  return r < 0 ? r : 0;
}

/* The latest hold of these two roles. It ends for the hosts of that step, even if other hosts play these roles now. */
static int release(struct lb_doing *d) {
  for (struct lb_line *line = d->s->net.lines; line; line = line->older)
    if (lb_step_undoes(d->step, line->owner)) return lb_doing_end_line(d, line);
  return lb_doing_fail(d, "%s: nothing is held there", d->step->text);
}

const struct lb_fault lb_faults_of_lines[LB_VERB_COUNT] = {
    [LB_STEP_SLOW] = {slow, .settles = true},
    [LB_STEP_HOLD] = {hold, prove_hold},
    [LB_STEP_RELEASE_HELD] = {release},
    [LB_STEP_DROP_NEXT] = {drop_next, .settles = true},
    [LB_STEP_HOLD_NEXT] = {hold_next, .settles = true},
};

/* ---- proofs that take their time ---- */

static int settle_one(const struct lb_doing *d, struct lb_line *line, bool wait) {
  lb_ns deadline = line->probed_at + line->plan.delay_ns + line->plan.jitter_ns + LATER_MS * LB_NS_PER_MS;
  int r;
  while ((r = look_at_slow(d, line)) == 0 && wait) {
    if (lb_clock_ns() > deadline) return lb_doing_fail(d, "%s: its packet has not come", text_of(line));
    doze();
  }
  return r < 0 ? r : 0;
}

/* Does not wait for a message that is still to come: no client or server may ever send it. */
int lb_fault_settle(struct lb_stage *s, bool wait, struct lb_error *err) {
  const struct lb_doing d = {.s = s, .err = err};
  int r = 0;
  for (struct lb_line *line = s->net.lines; line && r == 0; line = line->older) {
    if (line->is_proved || line->plan.delay_ns == LB_LINE_HOLD) continue;
    r = line->plan.pick ? look_for_message(&d, line) : settle_one(&d, line, wait);
  }
  return r < 0 ? r : 0;
}

int lb_fault_all_met(struct lb_stage *s, struct lb_error *err) {
  const struct lb_doing d = {.s = s, .err = err};
  int r = 0;
  for (struct lb_line *line = s->net.lines; line && r == 0; line = line->older)
    if (line->plan.pick) r = insist(&d, line);
  for (size_t i = 0; i < s->cluster.server_count && r == 0; i++)
    if (s->cluster.server[i].stall && s->cluster.server[i].stall->owner)
      r = lb_doing_fail(&d, "the disk of %s is still stalled: `unstall` has the proof", s->cluster.server[i].name);
  return r;
}

/* ---- machines that are apart ----
 *
 * One delay line for all links: clients and servers both ways, servers among each other. Clients never talk to each
 * other. TCP needs no patience, as it waits 200 ms anyway before it sends again. */

static const struct lb_step far_step = {.text = (char *)"round_trip_ms"}; /* their owner: no step of the scenario */

static bool talk(const struct lb_stage *s, size_t a, size_t b) {
  return a != b && (a < s->cluster.server_count || b < s->cluster.server_count);
}

static int make_far(struct lb_stage *s, lb_ns late, struct lb_line **ret, struct lb_error *err) {
  size_t hosts = s->net.count, count = 0;
  struct lb_way *ways = lb_need(calloc(hosts * hosts + 1, sizeof *ways));
  for (size_t a = 0; a < hosts; a++)
    for (size_t b = 0; b < hosts; b++)
      if (talk(s, a, b)) ways[count++] = (struct lb_way){&s->net.host[a], &s->net.host[b]};
  *ret = lb_line_make(&s->net, &far_step, ways, count, &(struct lb_line_plan){.delay_ns = late}, err);
  free(ways);
  return *ret ? 0 : err->code;
}

static bool came(const struct lb_line *line, size_t i) { return atomic_load(&line->seen[i].probes_came) > 0; }

static int prove_far(struct lb_stage *s, struct lb_line *line) {
  lb_ns deadline = lb_in_ms(FAR_CAME_MS), trip;
  if (lb_line_probe(line, 1) < 0)
    return lb_stage_doubt(s, LB_UNDECIDED, "round_trip_ms: the packet of the proof could not be sent");
  for (size_t i = 0; i < line->way_count; i++) {
    while (!came(line, i) && lb_clock_ns() < deadline) doze();
    if (!lb_line_trip(line, i, &trip) || trip < line->plan.delay_ns)
      return lb_stage_doubt(s, LB_UNDECIDED, "round_trip_ms: a packet from %s to %s %s", line->way[i].from->name,
                            line->way[i].to->name, came(line, i) ? "came too early" : "has not come");
  }
  return 0;
}

int lb_fault_make_distance(struct lb_stage *s) {
  const struct lb_scenario *scenario = s->plan->scenario;
  struct lb_error err;
  struct lb_line *line;
  lb_ns late = (lb_ns)(scenario->round_trip_ms / 2 * (double)LB_NS_PER_MS);
  if (!scenario->apart || late == 0 || s->cluster.server_count == 0) return 0;
  if (make_far(s, late, &line, &err) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "round_trip_ms: %s", err.text);
  return prove_far(s, line);
}
