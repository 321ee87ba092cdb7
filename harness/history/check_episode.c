/* SPDX-License-Identifier: MIT
 *
 * Double holds: from who holds a key after each instant to the episodes in which too many did: more
 * than may, and not all of them readers. An episode opens with the holder that is one too many and
 * closes when those left are right, whoever came and went in between. The sweep over the events is in check.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "check_sweep.h"

/* A client is named once for each episode, however often it comes and goes. Usually there are two;
 * the array doubles. */
static int name_client(struct sweep *s, struct pair *p, size_t episode) {
  struct lb_episode *e = &s->check->episodes[episode];
  if (p->episode == episode) return 0;
  if ((e->client_count & (e->client_count - 1)) == 0) { /* full at 0, 1, 2, 4, ... */
    uint32_t *more = realloc(e->clients, (e->client_count ? e->client_count * 2 : 1) * sizeof *more);
    if (!more) return -ENOMEM;
    e->clients = more;
  }
  e->clients[e->client_count++] = p->client;
  p->episode = episode;
  return 0;
}

/* The first pair in the list of holders whose hold began in this instant; they are at its end. */
static uint32_t first_begun_at(const struct sweep *s, const struct key *k, uint64_t t) {
  uint32_t number = NONE;
  for (uint32_t i = k->last; i != NONE && s->pairs[i].begin_t == t; i = s->pairs[i].previous) number = i;
  return number;
}

/* Whether so many holders may not hold the key together. */
static bool too_many(const struct key *k, uint64_t holders, uint64_t exclusive) {
  return holders > k->permits && exclusive > 0;
}

/* It begins with the hold that came last in this instant: that is the one too many. */
static int open_episode(struct sweep *s, struct key *k, uint64_t t) {
  struct lb_check *c = s->check;
  struct lb_episode *more = lb_check_grown(c->episodes, c->episode_count, &s->episode_capacity, sizeof *more);
  if (!more) return -ENOMEM;
  c->episodes = more;
  k->episode = c->episode_count++;
  c->episodes[k->episode] =
      (struct lb_episode){.key = (uint32_t)(k - s->keys), .begin_t = t, .begin_event = k->begin_event};
  return 0;
}

void lb_check_close_episode(struct sweep *s, struct key *k, uint64_t t, size_t event) {
  struct lb_episode *e = &s->check->episodes[k->episode];
  e->end_t = t;
  e->end_event = event;
  s->check->double_hold_ns += e->end_t - e->begin_t;
  k->episode = NO_EPISODE;
}

static bool lease_runs(const struct pair *p, uint64_t t) { return p->endless || p->until > t; }

/* The holder that came first of those that are not overtaken, and what there is of these. */
static struct pair *first_not_overtaken(const struct sweep *s, const struct key *k, uint64_t *ret_holders,
                                        uint64_t *ret_exclusive) {
  struct pair *first = NULL;
  *ret_holders = *ret_exclusive = 0;
  for (uint32_t i = k->first; i != NONE; i = s->pairs[i].next) {
    struct pair *p = &s->pairs[i];
    if (p->overtaken) continue;
    (*ret_holders)++;
    *ret_exclusive += !p->shared;
    if (!first || p->entry < first->entry) first = p;
  }
  return first;
}

/* Whether somebody is overtaken in this instant: a holder that would be one too many among those who
 * came after it and still hold. Who merely goes on holding what it was granted long ago is overtaken
 * once: those who come after the first have been granted a lock that was free again. */
static bool overtakes(struct sweep *s, const struct key *k) {
  uint64_t holders, exclusive;
  bool any = false;
  for (struct pair *p; p = first_not_overtaken(s, k, &holders, &exclusive), too_many(k, holders, exclusive);)
    p->overtaken = any = true;
  return any;
}

/* What this moment makes of those who hold the key together. Leases change at such moments only, so
 * too many of them ran at once if they do at one of these. */
static void mark_overlap(struct sweep *s, const struct key *k, uint64_t t) {
  struct lb_episode *e = &s->check->episodes[k->episode];
  uint32_t running = 0, exclusive = 0;
  for (uint32_t i = k->first; i != NONE; i = s->pairs[i].next) {
    bool runs = lease_runs(&s->pairs[i], t);
    running += runs;
    exclusive += runs && !s->pairs[i].shared;
  }
  bool within = too_many(k, running, exclusive);
  for (uint32_t i = k->first; i != NONE; i = s->pairs[i].next) {
    struct pair *p = &s->pairs[i];
    if (within && lease_runs(p, t)) p->overlap = OVERLAP_WITHIN;
    else if (p->overlap == OVERLAP_NONE) p->overlap = OVERLAP_LATE;
  }
  if (within && !e->within_lease) s->check->within_lease++;
  e->within_lease |= within;
  if (overtakes(s, k)) lb_check_charge_overlap(s, t, within);
}

/* A new episode names all who hold; one that goes on names only who has come in this instant. */
static int settle(struct sweep *s, struct key *k, uint64_t t) {
  if (k->holders > s->check->depth) s->check->depth = k->holders;
  if (!too_many(k, k->holders, k->exclusive)) {
    if (k->episode != NO_EPISODE) lb_check_close_episode(s, k, t, k->end_event);
    return 0;
  }
  uint32_t number = k->episode == NO_EPISODE ? k->first : first_begun_at(s, k, t);
  int r = k->episode == NO_EPISODE ? open_episode(s, k, t) : 0;
  for (; r == 0 && number != NONE; number = s->pairs[number].next) r = name_client(s, &s->pairs[number], k->episode);
  if (r < 0) return r;
  if (k->holders > s->check->episodes[k->episode].depth) s->check->episodes[k->episode].depth = k->holders;
  mark_overlap(s, k, t);
  return 0;
}

int lb_check_settle(struct sweep *s, struct key *k, uint64_t t) {
  k->touched = false;
  return settle(s, k, t);
}
