/* SPDX-License-Identifier: MIT
 *
 * Faults of links: cuts, and the heal of these and of delays.
 *
 * A cut is proved link by link. A connection over the link was established before it, and no longer is; and on each of
 * its ways the rules of this cut have dropped something, so it is this cut that silences the link. Where another cut
 * holds a link already, where packets are late on it, or where a step has killed the server, no connection can be asked
 * for, and the rules alone are the proof. A paused server can be asked, because its kernel answers for it. So does that
 * of a client, on whose port nobody listens: it refuses.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fault.h"
#include "network/cut.h"
#include "network/line.h"
#include "network/net.h"

/* ---- from two roles to links: a host can play both of them ---- */

static bool has_link(const struct lb_links *links, const struct lb_host *a, const struct lb_host *b) {
  for (size_t i = 0; i < links->count; i++) {
    const struct lb_link *l = &links->link[i];
    if ((l->a == a && l->b == b) || (l->a == b && l->b == a)) return true;
  }
  return false;
}

static const struct lb_host *host_of(const struct lb_cast *c, size_t i) {
  return i < c->server_count ? c->server[i]->host : c->client[i - c->server_count]->host;
}

static int find_links(struct lb_doing *d, struct lb_links *ret) {
  size_t as = d->a->server_count + d->a->client_count, bs = d->b->server_count + d->b->client_count;
  *ret = (struct lb_links){.link = calloc(as * bs + 1, sizeof *ret->link)};
  if (!ret->link) return lb_doing_fail(d, "out of memory");
  for (size_t i = 0; i < as; i++)
    for (size_t j = 0; j < bs; j++) {
      struct lb_link link = {.a = host_of(d->a, i), .b = host_of(d->b, j)};
      link.listener = j < d->b->server_count ? d->b->server[j] : i < d->a->server_count ? d->a->server[i] : NULL;
      if (link.a != link.b && !has_link(ret, link.a, link.b)) ret->link[ret->count++] = link;
    }
  return 0;
}

/* The hosts of one side that have a link, each once. */
static void name_side(const struct lb_links *links, bool first_side, char *buf, size_t size) {
  size_t at = 0;
  buf[0] = '\0';
  for (size_t i = 0; i < links->count && at < size; i++) {
    const struct lb_host *host = first_side ? links->link[i].a : links->link[i].b;
    bool named = false;
    for (size_t j = 0; j < i; j++) named |= host == (first_side ? links->link[j].a : links->link[j].b);
    if (!named) at += (size_t)snprintf(buf + at, size - at, "%s%s", at > 0 ? ", " : "", host->name);
  }
}

int lb_doing_links(struct lb_doing *d, bool record, struct lb_links *ret) {
  char a[LB_NAMES_BYTES], b[LB_NAMES_BYTES];
  int r = find_links(d, ret);
  if (r < 0 || !record) return r;
  name_side(ret, true, a, sizeof a);
  name_side(ret, false, b, sizeof b);
  lb_stage_touched(d->s, d->step, a, b);
  return 0;
}

enum { REACH_MS = 1000, SILENCE_MS = 60, TOGETHER = 64 };

/* Who is asked over the link, and the host that asks. */
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
 * step has killed are proved by their counters, beside others; alone they are no cut of anybody. */
static int ask_before(struct lb_doing *d, const struct lb_links *links) {
  size_t dead = 0;
  for (size_t i = 0; i < links->count; i++) {
    const struct lb_link *l = &links->link[i];
    bool is_dead = l->listener && l->listener->proc.pid <= 0;
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
  struct lb_way *ways = calloc(2 * links->count + 1, sizeof *ways);
  if (!ways) return lb_doing_fail(d, "out of memory");
  for (size_t i = 0; i < links->count; i++) {
    ways[count++] = (struct lb_way){links->link[i].a, links->link[i].b};
    if (both_ways) ways[count++] = (struct lb_way){links->link[i].b, links->link[i].a};
  }
  int r = lb_cut_make(&d->s->net, d->step, ways, count, &cut, d->err);
  free(ways);
  return r < 0 ? lb_error_prefix(d->err, "no cut: ") : 0;
}

/* To cut off nobody is nothing to do, and nothing to prove. */
static int cut(struct lb_doing *d, bool both_ways) {
  struct lb_links links;
  int r = lb_doing_links(d, true, &links);
  if (r == 0 && links.count == 0) lb_doing_fail(d, "%s: nobody to cut", d->step->text), r = 1;
  if (r == 0) r = ask_before(d, &links);
  if (r == 0) r = drop(d, &links, both_ways);
  free(links.link);
  return r;
}

static int cut_both_ways(struct lb_doing *d) { return cut(d, true); }
static int cut_one_way(struct lb_doing *d) { return cut(d, false); }

/* ---- the proof --------------------------------------------------------------------------------------------------- */

/* The newest cut of a step; NULL = none, it cut off nobody. */
static struct lb_cut *cut_of(struct lb_doing *d, const struct lb_step *step) {
  struct lb_cut *cut = d->s->net.cuts;
  while (cut && cut->owner != step) cut = cut->older;
  return cut;
}

/* Some links at a time: the listener is asked from the other side, and a packet is sent the other way, whoever it
 * reaches. */
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
  int r = lb_doing_links(d, false, &links);
  for (size_t i = 0; r == 0 && i < links.count; i += TOGETHER)
    r = ask_some(d, &links.link[i], links.count - i < TOGETHER ? links.count - i : TOGETHER);
  free(links.link);
  return r;
}

/* After the packets of ask_after(): by then every way of this cut has had something to drop. */
static int read_counters(struct lb_doing *d, const struct lb_cut *cut) {
  uint64_t *dropped = calloc(cut->way_count, sizeof *dropped);
  if (!dropped) return lb_doing_fail(d, "out of memory");
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

/* ---- healing ----------------------------------------------------------------------------------------------------- */

/* A cut under which nobody had anything to say is noted. What cannot be read is not claimed. */
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

static int heal(struct lb_doing *d, struct lb_cut *cut) {
  if (!cut) return 0;
  note_unused(d->s, cut);
  return lb_cut_heal(&d->s->net, cut, d->err) < 0 ? lb_error_prefix(d->err, "no heal: ") : 0;
}

static int heal_own(struct lb_doing *d) { return heal(d, cut_of(d, d->step)); }

static uint32_t number_of(const void *owner) { return ((const struct lb_step *)owner)->number; }

/* The latest cut, slow or drop that holds of those whose step names the same roles: its hosts, whoever plays these
 * roles now. */
static int heal_named(struct lb_doing *d) {
  struct lb_cut *cut = d->s->net.cuts;
  struct lb_line *line = d->s->net.lines;
  while (cut && !lb_step_undoes(d->step, cut->owner)) cut = cut->older;
  while (line && !lb_step_undoes(d->step, line->owner)) line = line->older;
  if (line && (!cut || number_of(line->owner) > number_of(cut->owner))) return lb_doing_end_line(d, line);
  return heal(d, cut);
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

const struct lb_fault lb_faults_of_cuts[LB_VERB_COUNT] = {
    [LB_STEP_CUT] = {cut_both_ways, prove_cut, heal_own, .patient = true},
    [LB_STEP_CUT_TO] = {cut_one_way, prove_cut, heal_own, .patient = true},
    [LB_STEP_HEAL] = {heal_all},
    [LB_STEP_HEAL_ONE] = {heal_named},
};
