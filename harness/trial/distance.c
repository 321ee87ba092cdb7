/* SPDX-License-Identifier: MIT
 *
 * One delay line for all links: clients and servers both ways, servers among each other. Clients never
 * talk to each other. TCP needs no patience, as it waits 200 ms anyway before it sends again.
 */
#include "distance.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "servers/line.h"

enum { CAME_MS = 5000 };

static const struct lb_step far_step = {.text = (char *)"round_trip_ms"}; /* whose the line is: nobody's step */

static bool talk(const struct lb_stage *s, size_t a, size_t b) { return a != b && (a < s->cluster.server_count || b < s->cluster.server_count); }

static int make(struct lb_stage *s, lb_ns late, struct lb_line **ret, char *err, size_t err_size) {
  size_t hosts = s->net.count, count = 0;
  struct lb_way *ways = calloc(hosts * hosts + 1, sizeof *ways);
  if (!ways) return -ENOMEM;
  for (size_t a = 0; a < hosts; a++)
    for (size_t b = 0; b < hosts; b++)
      if (talk(s, a, b)) ways[count++] = (struct lb_way){&s->net.host[a], &s->net.host[b]};
  int r = lb_line_make(&s->net, &far_step, ways, count, &(struct lb_line_plan){.delay_ns = late}, ret, err, err_size);
  free(ways);
  return r;
}

static bool came(const struct lb_line *line, size_t i) { return atomic_load(&line->seen[i].probes_came) > 0; }

static int prove(struct lb_stage *s, struct lb_line *line) {
  lb_ns deadline = lb_clock_ns() + CAME_MS * LB_NS_PER_MS, trip;
  if (lb_line_probe(line, 1) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "round_trip_ms: the packet of the proof could not be sent");
  for (size_t i = 0; i < line->way_count; i++) {
    while (!came(line, i) && lb_clock_ns() < deadline) lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS / 2);
    if (!lb_line_trip(line, i, &trip) || trip < line->plan.delay_ns)
      return lb_stage_doubt(s, LB_UNDECIDED, "round_trip_ms: a packet from %s to %s %s", line->way[i].from->name, line->way[i].to->name,
                            came(line, i) ? "came too early" : "has not come");
  }
  return 0;
}

int lb_distance_make(struct lb_stage *s) {
  const struct lb_scenario *scenario = s->plan->scenario;
  char err[200];
  struct lb_line *line;
  lb_ns late = (lb_ns)(scenario->round_trip_ms / 2 * (double)LB_NS_PER_MS);
  if (!scenario->apart || late == 0 || s->cluster.server_count == 0) return 0;
  if (make(s, late, &line, err, sizeof err) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "round_trip_ms: %s", err);
  return prove(s, line);
}

void lb_distance_note(struct lb_stage *s) {
  uint64_t lost = 0;
  for (const struct lb_line *line = s->net.lines; line; line = line->older) {
    const struct lb_hist *own = &line->shared->own;
    for (size_t i = 0; i < line->way_count; i++) lost += atomic_load(&line->seen[i].lost);
    lb_stage_note(s, "round trip %g ms: the line itself added %.3f ms to each of %llu packets, %.3f ms to one of 100, and lost %llu", s->plan->scenario->round_trip_ms,
                  (double)lb_hist_quantile(own, 0.5) / 1e6, (unsigned long long)own->count, (double)lb_hist_quantile(own, 0.99) / 1e6, (unsigned long long)lost);
  }
}
