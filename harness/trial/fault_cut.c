/* SPDX-License-Identifier: MIT
 *
 * Faults of links: cuts, and their heal.
 *
 * A cut is proved link by link. A connection over the link was established before it, and no longer
 * is; and on each of its ways the rules of this cut have dropped something, so it is this cut that
 * silences the link, not another one. (Where another cut holds a link already, no connection can be
 * asked for, and the rules alone are the proof.) A dead server cannot be cut off, because nothing
 * could be reached before; one that is paused can, because its kernel answers for it.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "fault.h"
#include "fault_parts.h"
#include "servers/cut.h"

enum { REACH_MS = 1000, SILENCE_MS = 60, TOGETHER = 64 };

struct link { /* between two hosts of a cut */
  const struct lb_host *a, *b;      /* as the step names them */
  const struct lb_server *listener; /* one of them, whose port is asked; of two servers the second */
};

struct links {
  struct link *link;
  size_t count;
};

/* ---- which links ------------------------------------------------------------------------------------------------- */

/* A host can play both roles of a cut, or stand in one of them twice; its link is cut and proved
 * once. */
static bool has_link(const struct links *links, const struct lb_host *a, const struct lb_host *b) {
  for (size_t i = 0; i < links->count; i++) {
    const struct link *l = &links->link[i];
    if ((l->a == a && l->b == b) || (l->a == b && l->b == a)) return true;
  }
  return false;
}

static const struct lb_host *host_of(const struct lb_cast *c, size_t i) {
  return i < c->server_count ? c->server[i]->host : c->client[i - c->server_count]->host;
}

/* Every link between a host of `a` and one of `b`, once; to be freed. 0, or -1 with err. */
static int find_links(struct lb_doing *d, struct links *ret) {
  size_t as = d->a->server_count + d->a->client_count, bs = d->b->server_count + d->b->client_count;
  *ret = (struct links){.link = calloc(as * bs + 1, sizeof *ret->link)};
  if (!ret->link) return lb_doing_fail(d, "out of memory");
  for (size_t i = 0; i < as; i++)
    for (size_t j = 0; j < bs; j++) {
      struct link link = {.a = host_of(d->a, i), .b = host_of(d->b, j)};
      link.listener = j < d->b->server_count ? d->b->server[j] : i < d->a->server_count ? d->a->server[i] : NULL;
      if (link.listener && link.a != link.b && !has_link(ret, link.a, link.b)) ret->link[ret->count++] = link;
    }
  return 0;
}

/* The host whose connection to the listener goes over the link. */
static const struct lb_host *caller(const struct link *link) { return link->listener->host == link->b ? link->a : link->b; }

/* ---- cutting ----------------------------------------------------------------------------------------------------- */

/* A link that nothing cuts yet has to work, or its silence afterwards would prove nothing. */
static int ask_before(struct lb_doing *d, const struct links *links) {
  for (size_t i = 0; i < links->count; i++) {
    const struct link *l = &links->link[i];
    if (lb_cut_parts(d->s->net.cuts, l->a, l->b)) continue;
    if (!lb_net_reaches(caller(l), l->listener->host, l->listener->port, REACH_MS))
      return lb_doing_fail(d, "%s could not be reached even before the cut", l->listener->name);
  }
  return 0;
}

/* One cut for the whole step, whatever the number of links: it is counted and healed as one. */
static int drop(struct lb_doing *d, const struct links *links, bool both_ways) {
  char why[200];
  struct lb_cut *cut;
  size_t count = 0;
  struct lb_way *ways = calloc(2 * links->count + 1, sizeof *ways);
  if (!ways) return lb_doing_fail(d, "out of memory");
  for (size_t i = 0; i < links->count; i++) {
    ways[count++] = (struct lb_way){links->link[i].a, links->link[i].b};
    if (both_ways) ways[count++] = (struct lb_way){links->link[i].b, links->link[i].a};
  }
  int r = lb_cut_make(&d->s->net, d->step, ways, count, &cut, why, sizeof why);
  free(ways);
  return r < 0 ? lb_doing_fail(d, "no cut: %s", why) : 0;
}

/* The hosts of one side that have a link in the cut, each once. */
static void name_side(const struct links *links, bool first_side, char *buf, size_t size) {
  size_t at = 0;
  buf[0] = '\0';
  for (size_t i = 0; i < links->count && at < size; i++) {
    const struct lb_host *host = first_side ? links->link[i].a : links->link[i].b;
    bool named = false;
    for (size_t j = 0; j < i; j++) named |= host == (first_side ? links->link[j].a : links->link[j].b);
    if (!named) at += (size_t)snprintf(buf + at, size - at, "%s%s", at > 0 ? ", " : "", host->name);
  }
}

static void touch(struct lb_doing *d, const struct links *links) {
  char a[LB_NAMES_BYTES], b[LB_NAMES_BYTES];
  name_side(links, true, a, sizeof a);
  name_side(links, false, b, sizeof b);
  lb_stage_touched(d->s, d->step, a, b);
}

/* To cut off nobody is nothing to do, and nothing to prove. */
static int cut(struct lb_doing *d, bool both_ways) {
  struct links links;
  int r = find_links(d, &links);
  if (r == 0) touch(d, &links);
  if (r == 0 && links.count == 0) r = lb_doing_nobody(d);
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

/* Some links at a time: the listener is asked from the other side, and a packet is sent the other
 * way, whoever it reaches. */
static int ask_some(struct lb_doing *d, const struct link *link, size_t count) {
  int fd[TOGETHER], back[TOGETHER], r = 0;
  for (size_t i = 0; i < count; i++) {
    const struct lb_server *listener = link[i].listener;
    fd[i] = lb_net_connect_by(caller(&link[i]), LB_CUT_PROBE_PORT, listener->host, listener->port);
    back[i] = lb_net_connect(listener->host, caller(&link[i]), LB_CUT_PROBE_PORT);
  }
  lb_clock_sleep_until(lb_clock_ns() + SILENCE_MS * LB_NS_PER_MS);
  for (size_t i = 0; i < count; i++) {
    bool reached = lb_net_connected(fd[i], 0);
    lb_net_connected(back[i], 0);
    if (reached) r = lb_doing_fail(d, "%s can still be reached after the cut", link[i].listener->name);
  }
  return r;
}

/* All links of a cut, TOGETHER at a time: each group waits once for its silence, and connections
 * cost descriptors. */
static int ask_after(struct lb_doing *d) {
  struct links links;
  int r = find_links(d, &links);
  for (size_t i = 0; r == 0 && i < links.count; i += TOGETHER)
    r = ask_some(d, &links.link[i], links.count - i < TOGETHER ? links.count - i : TOGETHER);
  free(links.link);
  return r;
}

/* After the packets of ask_after(): by then every way of this cut has had something to drop. */
static int read_counters(struct lb_doing *d, const struct lb_cut *cut) {
  char why[200];
  uint64_t *dropped = calloc(cut->way_count, sizeof *dropped);
  if (!dropped) return lb_doing_fail(d, "out of memory");
  int r = lb_cut_dropped(cut, dropped, NULL, why, sizeof why);
  if (r < 0) r = lb_doing_fail(d, "the counters of the cut cannot be read: %s", why);
  for (size_t i = 0; i < cut->way_count && r == 0; i++)
    if (dropped[i] == 0) r = lb_doing_fail(d, "the cut has dropped nothing from %s to %s", cut->way[i].from->name, cut->way[i].to->name);
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
  char why[200];
  uint64_t others = 0, *dropped = calloc(cut->way_count, sizeof *dropped);
  bool known = dropped && lb_cut_dropped(cut, dropped, &others, why, sizeof why) == 0;
  if (known && others == 0) lb_stage_unused(s, cut->owner);
  free(dropped);
}

void lb_fault_note_unused_cuts(struct lb_stage *s) {
  for (const struct lb_cut *cut = s->net.cuts; cut; cut = cut->older) note_unused(s, cut);
}

static int heal(struct lb_doing *d, struct lb_cut *cut) {
  char why[200];
  if (!cut) return 0;
  note_unused(d->s, cut);
  return lb_cut_heal(&d->s->net, cut, why, sizeof why) < 0 ? lb_doing_fail(d, "no heal: %s", why) : 0;
}

static int heal_own(struct lb_doing *d) { return heal(d, cut_of(d, d->step)); }

/* The latest cut that holds of those whose step names the same roles: its hosts, whoever plays
 * these roles now. */
static int heal_named(struct lb_doing *d) {
  struct lb_cut *cut = d->s->net.cuts;
  for (; cut; cut = cut->older) {
    const struct lb_step *step = cut->owner;
    if (lb_role_equal(step->a, d->step->a) && lb_role_equal(step->b, d->step->b)) break;
  }
  return heal(d, cut);
}

static int heal_all(struct lb_doing *d) {
  char why[200];
  lb_fault_note_unused_cuts(d->s);
  return lb_cut_heal_all(&d->s->net, why, sizeof why) < 0 ? lb_doing_fail(d, "no heal: %s", why) : 0;
}

const struct lb_fault lb_faults_of_links[LB_VERB_COUNT] = {
    [LB_STEP_CUT] = {cut_both_ways, prove_cut, heal_own},
    [LB_STEP_CUT_TO] = {cut_one_way, prove_cut, heal_own},
    [LB_STEP_HEAL] = {heal_all},
    [LB_STEP_HEAL_ONE] = {heal_named},
};
