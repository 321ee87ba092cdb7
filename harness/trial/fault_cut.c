/* SPDX-License-Identifier: MIT
 *
 * Faults of links: cuts.
 *
 * A cut is proved link by link. A connection over the link was established before it, and no longer is. The rules of
 * this cut have dropped packets each way, so this cut silences the link. Sometimes no connection can be made before:
 * another cut holds the link, packets are late on it, or a step has killed the server. Then the rules alone are the
 * proof. A paused server can be asked, because its kernel answers for it. The kernel of a client refuses, as no program
 * listens there: that is an answer, too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/need.h"
#include "fault_heal.h"
#include "fault_links.h"
#include "network/cut.h"
#include "network/net.h"

enum { REACH_MS = 1000, SILENCE_MS = 60, TOGETHER = 64 };

/* The host that is asked over the link; caller() is the host that asks. */
static const struct lb_host *called(const struct lb_link *link) {
  return link->listener ? link->listener->host : link->b;
}
static const struct lb_host *caller(const struct lb_link *link) { return called(link) == link->b ? link->a : link->b; }

static int call(const struct lb_link *link, uint16_t from_port) {
  return lb_host_connect(caller(link), from_port, called(link),
                         link->listener ? link->listener->port : LB_CUT_PROBE_PORT);
}

static bool was_answered(const struct lb_link *link, int fd, int timeout_ms) {
  return link->listener ? lb_host_connected(fd, timeout_ms) : lb_host_answered(fd, timeout_ms);
}

static const char *name_of(const struct lb_link *link) { return link->listener ? link->listener->name : link->b->name; }

/* ---- cutting ----------------------------------------------------------------------------------------------------- */

/* Whether no connection can be asked for in time: another cut holds it, or packets are late on it. */
static bool is_troubled(const struct lb_stage *s, const struct lb_link *l) {
  return lb_cut_parts(s->net.cuts, l->a, l->b) || lb_line_on(&s->net, l->a, l->b) || lb_line_on(&s->net, l->b, l->a);
}

/* A link that nothing troubles yet has to work, or its silence afterwards would prove nothing. Those of servers that a
 * step has killed are proved by their counters, beside others; alone they are no cut. */
static int ask_before(struct lb_doing *d, const struct lb_links *links) {
  size_t dead = 0;
  for (size_t i = 0; i < links->count; i++) {
    const struct lb_link *l = &links->link[i];
    bool is_dead = l->listener && l->listener->proc.pid <= 0 && !d->s->plan->topology->own;
    dead += is_dead;
    if (is_troubled(d->s, l) || (is_dead && dead < links->count)) continue;
    if (!was_answered(l, call(l, 0), REACH_MS))
      return lb_doing_fail(d, "%s could not be reached even before the cut", name_of(l));
  }
  return 0;
}

/* One cut for the whole step, whatever the number of links: it is counted and healed as one. */
static int drop(struct lb_doing *d, const struct lb_links *links, bool both_ways) {
  struct lb_cut *cut;
  size_t count = 0;
  struct lb_way *ways = lb_need(calloc(2 * links->count + 1, sizeof *ways));
  for (size_t i = 0; i < links->count; i++) {
    ways[count++] = (struct lb_way){links->link[i].a, links->link[i].b};
    if (both_ways) ways[count++] = (struct lb_way){links->link[i].b, links->link[i].a};
  }
  int r = lb_cut_make(&d->s->net, d->step, ways, count, &cut, d->err);
  free(ways);
  return r < 0 ? lb_error_prefix(d->err, "no cut: ") : 0;
}

/* A cut without a host on one side does nothing, so there is nothing to prove. */
static int cut(struct lb_doing *d, bool both_ways) {
  struct lb_links links;
  int r = 0;
  lb_doing_links(d, true, &links);
  if (links.count == 0) lb_doing_fail(d, "%s: nobody to cut", d->step->text), r = 1;
  if (r == 0) r = ask_before(d, &links);
  if (r == 0) r = drop(d, &links, both_ways);
  free(links.link);
  return r;
}

static int cut_both_ways(struct lb_doing *d) { return cut(d, true); }
static int cut_one_way(struct lb_doing *d) { return cut(d, false); }

/* ---- the proof --------------------------------------------------------------------------------------------------- */

/* The newest cut of a step; NULL = none, as it had no link. */
static struct lb_cut *cut_of(struct lb_doing *d, const struct lb_step *step) {
  struct lb_cut *cut = d->s->net.cuts;
  while (cut && cut->owner != step) cut = cut->older;
  return cut;
}

/* Some links at a time. The listener is asked from the other side; one packet goes the other way, where no program has
 * to listen. */
static int ask_some(struct lb_doing *d, const struct lb_link *link, size_t count) {
  int fd[TOGETHER], back[TOGETHER], r = 0;
  for (size_t i = 0; i < count; i++) {
    fd[i] = call(&link[i], LB_CUT_PROBE_PORT);
    back[i] = lb_host_connect(called(&link[i]), 0, caller(&link[i]), LB_CUT_PROBE_PORT);
  }
  lb_sleep_ms(SILENCE_MS);
  for (size_t i = 0; i < count; i++) {
    bool reached = was_answered(&link[i], fd[i], 0);
    lb_host_connected(back[i], 0);
    if (reached) r = lb_doing_fail(d, "%s can still be reached after the cut", name_of(&link[i]));
  }
  return r;
}

/* All links of a cut, TOGETHER at a time: each group waits once for its silence, and connections cost descriptors. */
static int ask_after(struct lb_doing *d) {
  struct lb_links links;
  int r = 0;
  lb_doing_links(d, false, &links);
  for (size_t i = 0; r == 0 && i < links.count; i += TOGETHER)
    r = ask_some(d, &links.link[i], links.count - i < TOGETHER ? links.count - i : TOGETHER);
  free(links.link);
  return r;
}

/* After the packets of ask_after(): by then every way of this cut has had something to drop. */
static int read_counters(struct lb_doing *d, const struct lb_cut *cut) {
  uint64_t *dropped = lb_need(calloc(cut->way_count + 1, sizeof *dropped));
  int r = lb_cut_dropped(cut, dropped, NULL, d->err);
  if (r < 0) lb_error_prefix(d->err, "the counters of the cut cannot be read: ");
  for (size_t i = 0; i < cut->way_count && r == 0; i++)
    if (dropped[i] == 0)
      r = lb_doing_fail(d, "the cut has dropped nothing from %s to %s", cut->way[i].from->name, cut->way[i].to->name);
  free(dropped);
  return r;
}

static int prove_cut(struct lb_doing *d) {
  const struct lb_cut *cut = cut_of(d, d->step);
  int r = ask_after(d);
  return r < 0 ? r : read_counters(d, cut);
}

static int heal_own(struct lb_doing *d) { return lb_doing_heal(d, cut_of(d, d->step)); }

const struct lb_fault lb_faults_of_cuts[LB_VERB_COUNT] = {
    [LB_STEP_CUT] = {cut_both_ways, prove_cut, heal_own, .patient = true},
    [LB_STEP_CUT_TO] = {cut_one_way, prove_cut, heal_own, .patient = true},
};
