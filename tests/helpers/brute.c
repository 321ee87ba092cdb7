/* SPDX-License-Identifier: MIT
 *
 * The independent judge: definitions of check.h, written down without any thought of speed.
 */
#include "brute.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct hold {
  uint32_t client, key;
  size_t from, to; /* events; to == count: until the end of the file */
  size_t alone;    /* the first grant of it that is not shared; count: it is a reader's */
};

struct scene {
  const struct lb_history *h;
  struct hold hold[BRUTE_EVENTS_MAX];
  size_t holds;
  uint64_t time[BRUTE_EVENTS_MAX]; /* the distinct times, ascending; gap g is between time[g] and time[g + 1] */
  size_t times;
};

static bool ends(const struct lb_event *e, uint32_t client, uint32_t key) {
  if (e->client != client) return false;
  bool of_key = e->kind == LB_EV_RELEASE || e->kind == LB_EV_LOST || e->kind == LB_EV_EXPIRED;
  return e->kind == LB_EV_CRASH || (e->key == key && of_key);
}

static bool grants(const struct lb_event *e, uint32_t key) { return e->kind == LB_EV_GRANTED && e->key == key; }

/* True if event i is a grant to a client that already holds. */
static bool repeats(const struct scene *s, size_t i) {
  const struct lb_event *e = &s->h->events[i];
  for (size_t n = 0; n < s->holds; n++)
    if (s->hold[n].client == e->client && s->hold[n].key == e->key && s->hold[n].to > i) return true;
  return false;
}

/* The event that ends the hold from event `from`: the first by which the client has released as often as it was
 * granted, or one that ends all at once. */
static size_t end_of(const struct lb_history *h, size_t from) {
  const struct lb_event *e = h->events, *first = &e[from];
  for (size_t to = from + 1; to < h->count; to++) {
    size_t granted = 0, released = 0;
    if (!ends(&e[to], first->client, first->key)) continue;
    if (e[to].kind != LB_EV_RELEASE) return to;
    for (size_t i = from; i <= to; i++) {
      granted += grants(&e[i], first->key) && e[i].client == first->client;
      released += e[i].kind == LB_EV_RELEASE && ends(&e[i], first->client, first->key);
    }
    if (released == granted) return to;
  }
  return h->count;
}

/* The first grant in [from, to) to this client that is not shared, count = none. */
static size_t alone_from(const struct lb_history *h, size_t from, size_t to) {
  for (size_t i = from; i < to; i++)
    if (grants(&h->events[i], h->events[from].key) && h->events[i].client == h->events[from].client &&
        !(h->events[i].flags & LB_EVF_SHARED))
      return i;
  return h->count;
}

/* The latest word on the key decides, else the latest on any. */
static uint64_t permits(const struct lb_history *h, uint32_t key) {
  for (int of_any = 0; of_any < 2; of_any++)
    for (size_t i = h->count; i-- > 0;)
      if (h->events[i].kind == LB_EV_PERMITS && h->events[i].key == (of_any ? LB_NO_NAME : key))
        return lb_event_fact(h, &h->events[i])->total;
  return 1;
}

static void find_holds(struct scene *s) {
  const struct lb_event *e = s->h->events;
  for (size_t i = 0; i < s->h->count; i++) {
    if (e[i].kind != LB_EV_GRANTED || repeats(s, i)) continue;
    s->hold[s->holds++] = (struct hold){.client = e[i].client, .key = e[i].key, .from = i, .to = end_of(s->h, i)};
    s->hold[s->holds - 1].alone = alone_from(s->h, i, s->hold[s->holds - 1].to);
  }
}

static void find_times(struct scene *s) {
  for (size_t i = 0; i < s->h->count; i++)
    if (i == 0 || s->h->events[i].t != s->h->events[i - 1].t) s->time[s->times++] = s->h->events[i].t;
}

/* Whether a hold covers all of gap g. */
static bool covers(const struct scene *s, const struct hold *hold, size_t g) {
  if (s->h->events[hold->from].t > s->time[g]) return false;
  return hold->to == s->h->count || s->h->events[hold->to].t > s->time[g];
}

static bool client_holds(const struct scene *s, uint32_t client, uint32_t key, size_t g) {
  for (size_t i = 0; i < s->holds; i++)
    if (s->hold[i].client == client && s->hold[i].key == key && covers(s, &s->hold[i], g)) return true;
  return false;
}

static uint32_t holders(const struct scene *s, uint32_t key, size_t g) {
  uint32_t n = 0;
  for (uint32_t c = 0; c < s->h->clients.count; c++) n += client_holds(s, c, key, g);
  return n;
}

/* ---- leases ------------------------------------------------------------------------------------------------------ */

/* Whether the lease of a hold runs in gap g, by the latest word in it: no end was said, or a later one. If none was said, the
 * client's silence says one. */
static bool lease_runs(const struct scene *s, const struct hold *hold, size_t g) {
  const struct lb_event *word = NULL, *silence = NULL;
  for (size_t i = hold->from; i < hold->to && s->h->events[i].t <= s->time[g]; i++) {
    const struct lb_event *e = &s->h->events[i];
    bool says = e->client == hold->client && e->key == hold->key;
    if (says && (e->kind == LB_EV_GRANTED || e->kind == LB_EV_RENEWED)) word = e, silence = NULL;
    if (e->client != hold->client || e->kind != LB_EV_SILENT) continue;
    if (e->flags & LB_EVF_UNTIL) silence = silence ? silence : e;
    else if (silence && silence->until > e->t) silence = NULL;
  }
  if (silence && !(word->flags & LB_EVF_UNTIL)) word = silence;
  return !(word->flags & LB_EVF_UNTIL) || word->until > s->time[g];
}

/* Whether a hold is nobody else's in gap g. */
static bool is_alone(const struct scene *s, const struct hold *hold, size_t g) {
  return hold->alone < s->h->count && s->h->events[hold->alone].t <= s->time[g];
}

/* Where the client came in, as of gap g: with the begin of its hold, or with the grant that made it exclusive. */
static size_t came(const struct scene *s, const struct hold *hold, size_t g) {
  return is_alone(s, hold, g) ? hold->alone : hold->from;
}

/* Whether those who hold the key in gap g may not hold it together: of those who came at event `since` or later;
 * `leased`: of those whose leases run. */
static bool crowded(const struct scene *s, uint32_t key, size_t g, size_t since, bool leased) {
  uint64_t n = 0;
  bool alone = false;
  for (size_t i = 0; i < s->holds; i++) {
    const struct hold *hold = &s->hold[i];
    if (hold->key != key || !covers(s, hold, g) || came(s, hold, g) < since || (leased && !lease_runs(s, hold, g)))
      continue;
    n++;
    alone |= is_alone(s, hold, g);
  }
  return alone && n > permits(s->h, key);
}

/* Whether what a client does at time t is excused: it holds, and until then its hold has met others, but never while
 * both leases ran. */
static bool is_excused(const struct scene *s, const struct lb_event *access) {
  const struct hold *own = NULL;
  bool met = false, both = false;
  for (size_t i = 0; i < s->holds; i++) {
    const struct hold *hold = &s->hold[i];
    if (hold->client == access->client && hold->key == access->key && s->h->events[hold->from].t <= access->t)
      own = hold;
  }
  if (!own || (own->to < s->h->count && s->h->events[own->to].t < access->t)) return false;
  for (size_t g = 0; g < s->times && s->time[g] <= access->t; g++) {
    if (!covers(s, own, g) || !crowded(s, own->key, g, 0, false)) continue;
    met = true;
    both |= lease_runs(s, own, g) && crowded(s, own->key, g, 0, true);
  }
  return met && !both;
}

/* ---- episodes ---------------------------------------------------------------------------------------------------- */

/* The clients of an episode, in order of the first of their holds that reaches into it. */
static void name_clients(const struct scene *s, struct lb_episode *e, size_t first, size_t last) {
  e->clients = calloc(s->h->clients.count, sizeof *e->clients);
  assert(e->clients);
  for (size_t i = 0; i < s->holds; i++) {
    const struct hold *hold = &s->hold[i];
    bool within = false, named = false;
    for (size_t g = first; g <= last; g++) within |= hold->key == e->key && covers(s, hold, g);
    for (size_t j = 0; j < e->client_count; j++) named |= e->clients[j] == hold->client;
    if (within && !named) e->clients[e->client_count++] = hold->client;
  }
}

static void add_episode(const struct scene *s, struct lb_check *c, uint32_t key, size_t first, size_t last) {
  bool to_end = last + 1 == s->times;
  struct lb_episode e = {.key = key, .begin_t = s->time[first], .end_t = to_end ? s->time[last] : s->time[last + 1]};
  for (size_t g = first; g <= last; g++)
    if (holders(s, key, g) > e.depth) e.depth = holders(s, key, g);
  for (size_t g = first; g <= last; g++) e.within_lease |= crowded(s, key, g, 0, true);
  c->within_lease += e.within_lease;
  e.end_event = s->h->count;
  for (size_t i = 0; i < s->holds; i++) {
    const struct hold *hold = &s->hold[i];
    if (hold->key != key) continue;
    if (s->h->events[hold->from].t == e.begin_t && hold->from > e.begin_event) e.begin_event = hold->from;
    if (hold->alone < s->h->count && s->h->events[hold->alone].t == e.begin_t && hold->alone > e.begin_event)
      e.begin_event = hold->alone;
    if (!to_end && hold->to < s->h->count && s->h->events[hold->to].t == e.end_t &&
        (e.end_event == s->h->count || hold->to > e.end_event))
      e.end_event = hold->to;
  }
  name_clients(s, &e, first, last);
  c->episodes[c->episode_count++] = e;
  c->double_hold_ns += e.end_t - e.begin_t;
}

static void find_episodes(const struct scene *s, struct lb_check *c) {
  c->episodes = calloc(s->times * s->h->keys.count + 1, sizeof *c->episodes);
  assert(c->episodes);
  for (uint32_t key = 0; key < s->h->keys.count; key++)
    for (size_t g = 0; g < s->times; g++) {
      if (holders(s, key, g) > c->depth) c->depth = holders(s, key, g);
      if (!crowded(s, key, g, 0, false)) continue;
      size_t last = g;
      while (last + 1 < s->times && crowded(s, key, last + 1, 0, false)) last++;
      for (size_t i = g; i <= last; i++)
        if (holders(s, key, i) > c->depth) c->depth = holders(s, key, i);
      add_episode(s, c, key, g, last);
      g = last;
    }
  c->double_holds = c->episode_count;
  if (c->depth == 0 && c->grants > 0) c->depth = 1;
}

/* ---- the resource ------------------------------------------------------------------------------------------------ */

static bool is_access(const struct lb_event *e) { return e->kind == LB_EV_READ || e->kind == LB_EV_WRITE; }

static bool is_early(const struct lb_event *e) { return (e->flags & LB_EVF_EARLY) != 0; }

/* A read in the shared part of a hold, its first and its last moment included, minds only those who have had the key
 * alone since before. */
static bool reads_as_one_of_many(const struct scene *s, const struct lb_event *access) {
  for (size_t i = 0; i < s->holds; i++) {
    const struct hold *hold = &s->hold[i];
    size_t end = hold->alone < hold->to ? hold->alone : hold->to;
    if (hold->client != access->client || hold->key != access->key || end == hold->from) continue;
    if (s->h->events[hold->from].t <= access->t && (end == s->h->count || s->h->events[end].t >= access->t))
      return access->kind == LB_EV_READ;
  }
  return false;
}

static bool is_dirty(const struct scene *s, const struct lb_event *access) {
  bool own = false, other = false, shares = reads_as_one_of_many(s, access);
  if (is_early(access) || permits(s->h, access->key) > 1) return false;
  for (size_t i = 0; i < s->holds; i++) {
    const struct hold *hold = &s->hold[i];
    uint64_t begin = s->h->events[hold->from].t, end = hold->to < s->h->count ? s->h->events[hold->to].t : UINT64_MAX;
    if (hold->key != access->key) continue;
    if (hold->client == access->client) own |= begin <= access->t && access->t <= end;
    else if (!shares) other |= begin < access->t && access->t < end;
    else other |= hold->alone < s->h->count && s->h->events[hold->alone].t < access->t && access->t < end;
  }
  return other || !own;
}

/* How much a write takes away that is accepted at event i: what is missing to one more than the value before it, which
 * is that of the latest write, or of the first read if there was none. Nothing if that is not known. */
static __int128 taken_away(const struct lb_history *h, size_t i) {
  const struct lb_event *first_read = NULL, *last_write = NULL, *before;
  for (size_t j = 0; j < i; j++) {
    const struct lb_event *e = &h->events[j];
    if (!is_access(e) || e->key != h->events[i].key || e->flags & LB_EVF_REFUSED) continue;
    if (e->kind == LB_EV_READ && !first_read) first_read = e;
    if (e->kind == LB_EV_WRITE) last_write = e;
  }
  before = last_write ? last_write : first_read;
  return before ? (__int128)before->value + 1 - h->events[i].value : 0;
}

/* Whether the client of the write at event i had read the key early, when it did so last. */
static bool follows_early_read(const struct lb_history *h, size_t i) {
  const struct lb_event *write = &h->events[i];
  while (i-- > 0)
    if (h->events[i].kind == LB_EV_READ && !(h->events[i].flags & LB_EVF_REFUSED) &&
        h->events[i].client == write->client && h->events[i].key == write->key)
      return is_early(&h->events[i]);
  return false;
}

/* Of those that were accepted; NULL. */
static const struct lb_event *first_access(const struct lb_history *h, uint32_t key) {
  for (size_t i = 0; i < h->count; i++)
    if (is_access(&h->events[i]) && h->events[i].key == key && !(h->events[i].flags & LB_EVF_REFUSED))
      return &h->events[i];
  return NULL;
}

static int64_t capped_sum(int64_t a, __int128 b) { return a + b > INT64_MAX ? INT64_MAX : (int64_t)(a + b); }

static void judge_values(const struct scene *s, uint32_t key, struct lb_check *c) {
  const struct lb_event *first_read = NULL, *last_write = NULL;
  __int128 writes = 0, excused = 0, early = 0;
  if (permits(s->h, key) > 1) return;
  for (size_t i = 0; i < s->h->count; i++) {
    const struct lb_event *e = &s->h->events[i];
    if (!is_access(e) || e->key != key || e->flags & LB_EVF_REFUSED) continue;
    if (e->kind == LB_EV_READ && !first_read) first_read = e;
    if (e->kind == LB_EV_WRITE) last_write = e, writes++;
    if (e->kind == LB_EV_WRITE && is_excused(s, e)) excused += taken_away(s->h, i);
    if (e->kind == LB_EV_WRITE && follows_early_read(s->h, i)) early += taken_away(s->h, i);
  }
  const struct lb_event *first = first_access(s->h, key);
  bool writes_first = first && first->kind == LB_EV_WRITE;
  if (!last_write || (!first_read && !writes_first)) return;
  __int128 base = writes_first ? (__int128)first->value - 1 : first_read->value;
  __int128 lost = base + writes - last_write->value, rest = lost - excused;
  if (lost < 0) lost = 0;
  if (rest < 0) rest = 0;
  if (rest > lost) rest = lost;
  if (early < 0) early = 0;
  if (early > lost) early = lost;
  c->early_lost_updates = capped_sum(c->early_lost_updates, early);
  c->lost_updates = capped_sum(c->lost_updates, lost);
  c->unexcused.lost_updates = capped_sum(c->unexcused.lost_updates, rest);
}

/* Whether another client, granted the key at a time after the writer's own latest grant up to then, accessed the
 * resource before the write. */
static bool is_overtaken(const struct lb_history *h, const struct lb_event *write) {
  if (permits(h, write->key) > 1) return false;
  for (size_t i = 0; i < h->count; i++) {
    const struct lb_event *access = &h->events[i];
    if (!is_access(access) || is_early(access) || access->key != write->key || access->flags & LB_EVF_REFUSED) continue;
    if (access->client == write->client || access->t >= write->t) continue;
    for (size_t j = 0; j < h->count; j++) {
      const struct lb_event *other = &h->events[j];
      if (!grants(other, write->key) || other->client != access->client || other->t > access->t) continue;
      bool own_later = false;
      for (size_t k = 0; k < h->count; k++) {
        const struct lb_event *own = &h->events[k];
        own_later |=
            grants(own, write->key) && own->client == write->client && own->t >= other->t && own->t <= write->t;
      }
      if (!own_later) return true;
    }
  }
  return false;
}

static void judge_resource(const struct scene *s, struct lb_check *c) {
  const struct lb_event *e = s->h->events;
  for (size_t i = 0; i < s->h->count; i++) {
    if (!is_access(&e[i])) continue;
    bool accepted = !(e[i].flags & LB_EVF_REFUSED), excused = is_excused(s, &e[i]), stale = false;
    bool dirty = accepted && is_dirty(s, &e[i]);
    bool overtaken = accepted && e[i].kind == LB_EV_WRITE && is_overtaken(s->h, &e[i]);
    c->dirty_accesses += dirty;
    c->stale_writes += overtaken;
    if (!excused) c->unexcused.dirty_accesses += dirty;
    if (!excused) c->unexcused.stale_writes += overtaken;
    for (size_t j = 0; j < i; j++)
      stale |= is_access(&e[j]) && e[j].key == e[i].key && e[j].flags & LB_EVF_FENCE && e[j].fence > e[i].fence;
    if (e[i].kind == LB_EV_WRITE && e[i].flags & LB_EVF_FENCE) c->fenced_off += stale;
    c->refused += (e[i].flags & LB_EVF_REFUSED) != 0;
  }
  for (uint32_t key = 0; key < s->h->keys.count; key++) judge_values(s, key, c);
}

/* One column of counts per result. */
static void judge_checks(const struct lb_history *h, struct lb_check *c) {
  uint64_t of[LB_CHECK_NO_MAJORITY + 1] = {0};
  for (size_t i = 0; i < h->count; i++)
    if (h->events[i].kind == LB_EV_CHECK) of[h->events[i].check]++, c->checks++;
  c->stopped_lease_over = of[LB_CHECK_LEASE_OVER];
  c->stopped_in_doubt = of[LB_CHECK_IN_DOUBT] + of[LB_CHECK_SESSION_OVER];
  c->stopped_told_no = of[LB_CHECK_TOLD_NO];
  c->stopped_no_majority = of[LB_CHECK_NO_MAJORITY];
  c->stopped_no_answer = of[LB_CHECK_NO_ANSWER] + of[LB_CHECK_ERROR];
}

/* ---- the order of grants, liveness ------------------------------------------------------------------------------- */

/* Whether grant i is one more of a hold whose latest number was the same. */
static bool has_own_number(const struct scene *s, size_t i) {
  const struct lb_event *e = s->h->events, *latest = NULL;
  for (size_t n = 0; n < s->holds; n++) {
    const struct hold *hold = &s->hold[n];
    if (hold->client != e[i].client || hold->key != e[i].key || hold->from >= i || hold->to <= i) continue;
    for (size_t j = hold->from; j < i; j++)
      if (grants(&e[j], e[i].key) && e[j].client == e[i].client && e[j].flags & LB_EVF_FENCE) latest = &e[j];
  }
  return latest && latest->fence == e[i].fence;
}

/* Whether the number of grant i had been passed when it was asked for (no question since its client's grant before:
 * when it was granted), or was another client's first. Readers' numbers say nothing about a reader's. */
static bool has_old_number(const struct scene *s, size_t i) {
  const struct lb_event *e = s->h->events, *owner = NULL;
  size_t asked = i;
  if (has_own_number(s, i) || permits(s->h, e[i].key) > 1) return false;
  for (size_t j = 0; j < i; j++) {
    if (e[j].kind == LB_EV_ACQUIRE && e[j].client == e[i].client && e[j].key == e[i].key) asked = j;
    if (grants(&e[j], e[i].key) && e[j].client == e[i].client) asked = i; /* the question was answered */
    if (!grants(&e[j], e[i].key) || !(e[j].flags & LB_EVF_FENCE) || e[i].flags & e[j].flags & LB_EVF_SHARED) continue;
    if (!owner && e[j].fence == e[i].fence) owner = &e[j];
  }
  for (size_t j = 0; j < asked; j++)
    if (grants(&e[j], e[i].key) && e[j].flags & LB_EVF_FENCE && !(e[i].flags & e[j].flags & LB_EVF_SHARED) &&
        e[j].fence >= e[i].fence)
      return true;
  return owner && owner->client != e[i].client;
}

static void judge_grants(const struct scene *s, struct lb_check *c) {
  const struct lb_history *h = s->h;
  const struct lb_event *e = h->events;
  for (size_t i = 0; i < h->count; i++) {
    c->unknown_acquires += e[i].kind == LB_EV_UNKNOWN;
    c->renewals += e[i].kind == LB_EV_RENEWED;
    c->work_failed += e[i].kind == LB_EV_WORK_FAILED;
    if (e[i].kind != LB_EV_GRANTED) continue;
    c->grants++;
    c->token_regressions += e[i].flags & LB_EVF_FENCE && has_old_number(s, i);
    for (size_t j = i; j-- > 0;)
      if (grants(&e[j], e[i].key)) {
        c->handoffs += e[j].client != e[i].client;
        c->excluded |=
            e[j].client != e[i].client && !(e[i].flags & e[j].flags & LB_EVF_SHARED) && permits(h, e[i].key) == 1;
        break;
      }
    for (size_t g = 0; g < s->times && s->time[g] < e[i].t; g++)
      c->excluded |= permits(h, e[i].key) > 1 && holders(s, e[i].key, g) >= permits(h, e[i].key);
  }
}

/* The hand-offs whose client wrote, before the next grant to another one. */
static void judge_use(const struct lb_history *h, struct lb_check *c) {
  const struct lb_event *e = h->events;
  for (size_t i = 0; i < h->count; i++) {
    size_t before = i;
    while (before-- > 0 && !grants(&e[before], e[i].key)) {
    }
    if (e[i].kind != LB_EV_GRANTED || before == SIZE_MAX || e[before].client == e[i].client) continue;
    for (size_t j = i + 1; j < h->count && !(grants(&e[j], e[i].key) && e[j].client != e[i].client); j++) {
      if (e[j].kind != LB_EV_WRITE || e[j].client != e[i].client || e[j].key != e[i].key || e[j].flags & LB_EVF_REFUSED)
        continue;
      c->useful_handoffs++;
      break;
    }
  }
}

static void keep_longest(int64_t *longest, uint64_t ns) {
  if ((int64_t)ns > *longest) *longest = (int64_t)ns;
}

static void judge_faults(const struct lb_history *h, struct lb_check *c) {
  for (size_t i = 0; i < h->count; i++) {
    if (h->events[i].kind != LB_EV_FAULT) continue;
    size_t next = i;
    while (next < h->count - 1 && h->events[next].kind != LB_EV_GRANTED) next++;
    keep_longest(&c->unavailable_ns, h->events[next].t - h->events[i].t);
  }
}

/* Whether an event of this kind follows the fault at event i, of its step and before that is played again. */
static bool is_followed(const struct lb_history *h, size_t i, enum lb_event_kind kind) {
  bool followed = false, again = false;
  uint32_t step = lb_event_fact(h, &h->events[i])->step;
  for (size_t j = i + 1; j < h->count; j++) {
    bool same = lb_event_fact(h, &h->events[j])->step == step;
    again |= same && h->events[j].kind == LB_EV_FAULT;
    followed |= same && !again && h->events[j].kind == kind;
  }
  return followed;
}

static bool is_used(const struct lb_history *h, size_t i) { return !is_followed(h, i, LB_EV_UNUSED); }

/* Whether `t` lies between the fault at event i and the next one that is one, in time. */
static bool is_charged(const struct lb_history *h, size_t i, uint64_t t) {
  bool later = false;
  for (size_t j = 0; j < h->count; j++)
    later |= h->events[j].kind == LB_EV_FAULT && is_used(h, j) && h->events[j].t <= t &&
             (h->events[j].t > h->events[i].t || (h->events[j].t == h->events[i].t && j > i));
  return h->events[i].t <= t && !later;
}

static bool is_counted(const struct lb_history *h, size_t i) {
  return is_used(h, i) && is_followed(h, i, LB_EV_PROVED);
}

/* Whether anything was granted between the fault at event i and the next one. */
static bool is_granted(const struct lb_history *h, size_t i) {
  bool granted = false;
  for (size_t j = 0; j < h->count; j++)
    granted |= h->events[j].kind == LB_EV_GRANTED && is_charged(h, i, h->events[j].t);
  return granted;
}

/* When the writer was overtaken: at the first grant to another client after its own latest one. A writer that never was
 * granted: at its write. */
static uint64_t overtaken_at(const struct lb_history *h, const struct lb_event *write) {
  size_t own = h->count;
  for (size_t i = 0; i < h->count; i++)
    if (grants(&h->events[i], write->key) && h->events[i].client == write->client && h->events[i].t <= write->t)
      own = i;
  for (size_t i = own; i < h->count; i++)
    if (grants(&h->events[i], write->key) && h->events[i].client != write->client) return h->events[i].t;
  return write->t;
}

/* A holder that came in at event `since` is overtaken in the first gap in which it and those who came after it are too
 * many. */
static void judge_overlap(const struct scene *s, const struct hold *hold, size_t since, size_t fault,
                          bool *ret_overlapped, bool *ret_within) {
  for (size_t g = 0; g < s->times; g++) {
    if (!covers(s, hold, g) || came(s, hold, g) != since || !crowded(s, hold->key, g, since, false)) continue;
    if (!is_charged(s->h, fault, s->time[g])) return;
    *ret_overlapped = true;
    *ret_within |= crowded(s, hold->key, g, 0, true);
    return;
  }
}

static void judge_overlaps(const struct scene *s, size_t fault, bool *ret_overlapped, bool *ret_within) {
  for (size_t i = 0; i < s->holds; i++) {
    judge_overlap(s, &s->hold[i], s->hold[i].from, fault, ret_overlapped, ret_within);
    if (s->hold[i].alone != s->hold[i].from)
      judge_overlap(s, &s->hold[i], s->hold[i].alone, fault, ret_overlapped, ret_within);
  }
}

static void judge_costs(const struct scene *s, struct lb_check *c) {
  const struct lb_history *h = s->h;
  for (size_t i = 0; i < h->count; i++) {
    bool overlapped = false, within = false, damaged = false;
    if (h->events[i].kind != LB_EV_FAULT) continue;
    c->faults_unused += !is_used(h, i) && is_followed(h, i, LB_EV_PROVED);
    if (!is_counted(h, i)) continue;
    judge_overlaps(s, i, &overlapped, &within);
    for (size_t n = 0; n < h->count; n++) {
      const struct lb_event *e = &h->events[n];
      damaged |= e->kind == LB_EV_WRITE && !(e->flags & LB_EVF_REFUSED) && is_overtaken(h, e) &&
                 is_charged(h, i, overtaken_at(h, e));
    }
    if (!is_granted(h, i) && !overlapped && !damaged) continue;
    c->faults_tested++;
    c->faults_overlapped += overlapped;
    c->faults_within_lease += within;
    c->faults_damaged += damaged;
  }
}

/* The latest exclusive request for the key came after the latest exclusive grant. */
static bool wanted_alone(const struct lb_history *h, uint32_t key) {
  bool wanted = false;
  for (size_t i = 0; i < h->count; i++) {
    const struct lb_event *e = &h->events[i];
    if (e->key != key || e->flags & LB_EVF_SHARED) continue;
    if (e->kind == LB_EV_ACQUIRE) wanted = true;
    if (e->kind == LB_EV_GRANTED) wanted = false;
  }
  return wanted;
}

static void judge_orphan(const struct scene *s, const struct hold *hold, struct lb_check *c) {
  const struct lb_event *e = s->h->events;
  bool reader = hold->alone >= s->h->count;
  if (hold->to == s->h->count || e[hold->to].kind != LB_EV_CRASH) return;
  for (size_t i = hold->to; i < s->h->count; i++) {
    if (!grants(&e[i], hold->key) || e[i].client == hold->client || (reader && e[i].flags & LB_EVF_SHARED)) continue;
    keep_longest(&c->orphan_ns, e[i].t - e[hold->to].t);
    return;
  }
  if (!reader || wanted_alone(s->h, hold->key)) keep_longest(&c->orphan_ns, e[s->h->count - 1].t - e[hold->to].t);
}

/* Whether the grant at event j gave away what this hold had by then. */
static bool takes(const struct scene *s, const struct hold *hold, size_t j) {
  const struct lb_event *e = &s->h->events[j];
  bool together = e->flags & LB_EVF_SHARED && hold->alone > j;
  return grants(e, hold->key) && e->client != hold->client && !together && permits(s->h, hold->key) == 1;
}

/* Of the `lost` at event i: the hold it ended or whose release it answers, and who else was granted during that. */
static void judge_loss(const struct scene *s, size_t i, struct lb_check *c) {
  const struct lb_event *e = s->h->events;
  keep_longest(&c->blind_ns, 0);
  for (size_t n = s->holds; n-- > 0;) {
    const struct hold *hold = &s->hold[n];
    if (hold->client != e[i].client || hold->key != e[i].key || hold->from > i) continue;
    for (size_t j = hold->to; j < i; j++) /* it ended before: only the first answer to a release tells about it */
      if (ends(&e[j], hold->client, hold->key) && e[j].kind != LB_EV_RELEASE) return;
    for (size_t j = hold->from; j < hold->to; j++)
      if (takes(s, hold, j)) {
        keep_longest(&c->blind_ns, e[i].t - e[j].t);
        return;
      }
    return;
  }
}

/* Until it was asked for again. */
static size_t asked(const struct lb_history *h) {
  size_t i = 0;
  while (i < h->count &&
         (h->events[i].kind != LB_EV_PHASE || lb_event_fact(h, &h->events[i])->phase != LB_PHASE_CLOSING))
    i++;
  return i;
}

void brute_check(const struct lb_history *whole, struct lb_check *ret) {
  struct lb_history until = *whole, *history = &until;
  until.count = asked(whole);
  static struct scene s;
  assert(history->count > 0 && history->count <= BRUTE_EVENTS_MAX);
  memset(&s, 0, sizeof s);
  s.h = history;
  *ret = (struct lb_check){.counters = lb_counters_none()};
  find_holds(&s);
  find_times(&s);
  judge_grants(&s, ret);
  judge_checks(history, ret);
  find_episodes(&s, ret);
  judge_resource(&s, ret);
  judge_faults(history, ret);
  judge_use(history, ret);
  judge_costs(&s, ret);
  for (size_t i = 0; i < s.holds; i++) judge_orphan(&s, &s.hold[i], ret);
  for (size_t i = 0; i < history->count; i++)
    if (history->events[i].kind == LB_EV_LOST) judge_loss(&s, i, ret);
}

/* ---- leases that end their holds --------------------------------------------------------------------------------- */

/* Whether another client was granted the key between the two times, in a way that the holder would mind. */
static bool met(const struct lb_history *h, const struct lb_event *holder, uint64_t from, uint64_t to) {
  for (size_t i = 0; i < h->count; i++) {
    const struct lb_event *e = &h->events[i];
    if (grants(e, holder->key) && e->client != holder->client && !(e->flags & holder->flags & LB_EVF_SHARED) &&
        e->t >= from && e->t <= to)
      return true;
  }
  return false;
}

/* When the hold of grant i surely ended. */
static uint64_t sure_end(const struct lb_history *h, size_t i) {
  const struct lb_event *grant = &h->events[i], *asked = NULL;
  uint64_t end = grant->until, last = h->events[h->count - 1].t, depth = 1;
  for (size_t j = i + 1; j < h->count; j++) {
    const struct lb_event *e = &h->events[j];
    if (e->client != grant->client || (e->key != grant->key && e->kind != LB_EV_CRASH)) continue;
    if (e->kind == LB_EV_RENEW || e->kind == LB_EV_ACQUIRE) {
      asked = e;
      continue;
    }
    if (e->kind == LB_EV_RENEWED) {
      uint64_t began = asked ? asked->t : e->t, least = end > began ? end : began;
      end = met(h, grant, began, e->t) ? least : e->until > began ? e->until : began;
    } else if (end < e->t && (ends(e, grant->client, grant->key) || e->kind == LB_EV_GRANTED)) {
      return end;
    } else if (e->kind == LB_EV_GRANTED) {
      depth++, end = e->until;
    } else if (ends(e, grant->client, grant->key) && (e->kind != LB_EV_RELEASE || --depth == 0)) {
      return e->t;
    }
    if (e->kind != LB_EV_RELEASE) asked = NULL;
  }
  return end <= last ? end : UINT64_MAX;
}

bool brute_leases_cross(const struct lb_history *h) {
  for (size_t i = 0; i < h->count; i++)
    for (size_t j = 0; j < h->count; j++) {
      const struct lb_event *a = &h->events[i], *b = &h->events[j];
      if (!grants(a, a->key) || !grants(b, a->key) || a->client == b->client || a->flags & b->flags & LB_EVF_SHARED)
        continue;
      if (a->t <= b->t && b->t < sure_end(h, i) && b->t < sure_end(h, j)) return true;
    }
  return false;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static const struct lb_episode *find_episode(const struct lb_check *c, const struct lb_episode *like) {
  for (size_t i = 0; i < c->episode_count; i++)
    if (c->episodes[i].key == like->key && c->episodes[i].begin_t == like->begin_t) return &c->episodes[i];
  return NULL;
}

static bool same_episode(const struct lb_episode *a, const struct lb_episode *b) {
  return b && a->end_t == b->end_t && a->within_lease == b->within_lease && a->depth == b->depth &&
         a->begin_event == b->begin_event && a->end_event == b->end_event && a->client_count == b->client_count &&
         memcmp(a->clients, b->clients, a->client_count * sizeof *a->clients) == 0;
}

bool brute_same(const struct lb_history *history, const struct lb_check *a, const struct lb_check *b, char *text,
                size_t size) {
  if (a->excluded != b->excluded) return snprintf(text, size, "excluded: %d and %d", a->excluded, b->excluded), false;
  for (size_t i = 0; i < lb_counter_row_count; i++) {
    const struct lb_counter *row = &lb_counter_rows[i];
    long long x = lb_counter_whole(row, &a->counters), y = lb_counter_whole(row, &b->counters);
    if (row->source != LB_FROM_CHECK || x == y) continue;
    snprintf(text, size, "%s: %lld and %lld", row->name, x, y);
    return false;
  }
  const long long unexcused[][2] = {{(long long)a->unexcused.dirty_accesses, (long long)b->unexcused.dirty_accesses},
                                    {(long long)a->unexcused.stale_writes, (long long)b->unexcused.stale_writes},
                                    {a->unexcused.lost_updates, b->unexcused.lost_updates},
                                    {a->early_lost_updates, b->early_lost_updates}};
  for (size_t i = 0; i < sizeof unexcused / sizeof *unexcused; i++)
    if (unexcused[i][0] != unexcused[i][1]) {
      static const char *const of[] = {"dirty accesses that nothing excuses", "stale writes that nothing excuses",
                                       "lost updates that nothing excuses", "lost updates after early reads"};
      snprintf(text, size, "%s: %lld and %lld", of[i], unexcused[i][0], unexcused[i][1]);
      return false;
    }
  if (a->episode_count != b->episode_count) {
    snprintf(text, size, "episode_count: %zu and %zu", a->episode_count, b->episode_count);
    return false;
  }
  for (size_t i = 0; i < a->episode_count; i++)
    if (!same_episode(&a->episodes[i], find_episode(b, &a->episodes[i]))) {
      snprintf(text, size, "the episode of key %s from %llu", history->keys.name[a->episodes[i].key],
               (unsigned long long)a->episodes[i].begin_t);
      return false;
    }
  return true;
}
