/* SPDX-License-Identifier: MIT
 *
 * Holds, overlaps and dirty accesses: a sweep over the events in order of time (values and fences:
 * check_order.c). All events of one instant are taken together, first those that begin and end
 * holds, then the accesses, so that the order of equal times cannot make or hide a violation: who
 * held a key strictly before and strictly after an instant is known only when the whole instant is.
 *
 * Per key the present holders stand in a list in order of the begin of their holds; so whether
 * anyone else has held the key since before this instant is seen at its head. An event costs a
 * constant time, except a crash, which looks at the holds of the client since its last one:
 * constant on average.
 */
#include "check.h"

#include <errno.h>
#include <stdlib.h>

#include "check_parts.h"
#include "pairs.h"

#define NONE UINT32_MAX
#define NO_EPISODE SIZE_MAX
#define NEVER UINT64_MAX

struct pair { /* a client and a key: the present hold, or the last one */
  uint32_t client, key;
  uint32_t next, previous;  /* holders of the same key */
  uint32_t next_of_client;  /* pairs of the same client that a crash has to look at */
  bool holds, listed;       /* listed: is among those pairs */
  bool granted;             /* ever ... */
  uint64_t granted_t;       /* ... and last then */
  bool other_granted;       /* to another client, during this hold ... */
  uint64_t other_granted_t; /* ... for the first time then */
  uint64_t begin_t, end_t;  /* of the present hold; of the last one that ended, NEVER = none did */
  size_t episode;           /* the last one that names the client */
};

struct orphan { /* a holder that died */
  uint32_t client;
  uint64_t t;
};

struct key {
  uint32_t first, last, holders; /* list of pairs that hold it */
  uint32_t last_granted;         /* pair of the latest grant, NONE = no grant yet */
  bool touched;
  size_t begin_event, end_event; /* of the latest hold that began, of the latest that ended */
  size_t episode;                /* the present one */
  uint32_t granted_client;       /* of the latest grant of an earlier instant, NONE = no such grant */
  uint64_t granted_t;            /* of the same */
  struct orphan *orphans;        /* that no other client was granted the key after */
  size_t orphan_count, orphan_capacity;
};

struct sweep {
  const struct lb_history *history;
  struct lb_check *check;
  struct lb_pairs numbers;
  struct pair *pairs;
  size_t pair_capacity;
  struct key *keys;
  uint32_t *client_pairs; /* by client: head of the list through next_of_client */
  uint32_t *touched;      /* keys whose holders changed in this instant */
  size_t touched_count;
  size_t episode_capacity;
};

/* An array with room for one more than count, or NULL; the old one stays valid then. */
static void *grown(void *array, size_t count, size_t *capacity, size_t item) {
  if (count < *capacity) return array;
  size_t wanted = *capacity ? *capacity * 2 : 8;
  void *more = realloc(array, wanted * item);
  if (more) *capacity = wanted;
  return more;
}

static struct pair *find_pair(struct sweep *s, uint32_t client, uint32_t key) {
  uint32_t before = s->numbers.count, number = lb_pairs_number(&s->numbers, client, key);
  if (number == UINT32_MAX) return NULL;
  if (s->numbers.count > before) {
    struct pair *more = grown(s->pairs, number, &s->pair_capacity, sizeof *more);
    if (!more) return NULL;
    s->pairs = more;
    s->pairs[number] = (struct pair){.client = client, .key = key, .end_t = NEVER, .episode = NO_EPISODE};
  }
  return &s->pairs[number];
}

/* ---- holds ------------------------------------------------------------------------------------------------------- */

static void touch(struct sweep *s, uint32_t key) {
  if (s->keys[key].touched) return;
  s->keys[key].touched = true;
  s->touched[s->touched_count++] = key;
}

static void begin_hold(struct sweep *s, struct pair *p, size_t event) {
  struct key *k = &s->keys[p->key];
  uint32_t number = (uint32_t)(p - s->pairs);
  p->holds = true;
  p->other_granted = false;
  p->begin_t = s->history->events[event].t;
  p->next = NONE;
  p->previous = k->last;
  if (k->last == NONE) k->first = number;
  else s->pairs[k->last].next = number;
  k->last = number;
  k->holders++;
  k->begin_event = event;
  if (!p->listed) {
    p->listed = true;
    p->next_of_client = s->client_pairs[p->client];
    s->client_pairs[p->client] = number;
  }
  touch(s, p->key);
}

static void end_hold(struct sweep *s, struct pair *p, size_t event) {
  struct key *k = &s->keys[p->key];
  if (!p->holds) return;
  p->holds = false;
  p->end_t = s->history->events[event].t;
  if (p->previous == NONE) k->first = p->next;
  else s->pairs[p->previous].next = p->next;
  if (p->next == NONE) k->last = p->previous;
  else s->pairs[p->next].previous = p->previous;
  k->holders--;
  k->end_event = event;
  touch(s, p->key);
}

/* ---- events of the lock ------------------------------------------------------------------------------------------ */

static void end_waiting(struct sweep *s, struct key *k, uint32_t client, uint64_t t) {
  size_t kept = 0;
  for (size_t i = 0; i < k->orphan_count; i++) {
    if (k->orphans[i].client != client) lb_keep_longest(&s->check->orphan_ns, k->orphans[i].t, t);
    else if (kept == 0) k->orphans[kept++] = k->orphans[i]; /* its later deaths can only be shorter */
  }
  k->orphan_count = kept;
}

/* Of all holders only the one granted last can still be without another's grant: whoever came
 * before it has had it. */
static void note_other_grant(struct sweep *s, const struct key *k, uint32_t client, uint64_t t) {
  struct pair *last = k->last_granted == NONE ? NULL : &s->pairs[k->last_granted];
  if (!last || last->client == client || !last->holds || last->other_granted) return;
  last->other_granted = true;
  last->other_granted_t = t;
}

static int grant(struct sweep *s, const struct lb_event *e, size_t event) {
  struct key *k = &s->keys[e->key];
  struct pair *p = find_pair(s, e->client, e->key);
  if (!p) return -ENOMEM;
  note_other_grant(s, k, e->client, e->t);
  end_waiting(s, k, e->client, e->t);
  if (!p->holds) begin_hold(s, p, event);
  p->granted = true;
  p->granted_t = e->t;
  k->last_granted = (uint32_t)(p - s->pairs);
  return 0;
}

static int lose(struct sweep *s, const struct lb_event *e, size_t event) {
  struct pair *p = find_pair(s, e->client, e->key);
  if (!p) return -ENOMEM;
  end_hold(s, p, event);
  lb_keep_longest(&s->check->blind_ns, p->other_granted ? p->other_granted_t : e->t, e->t);
  p->other_granted = false;
  return 0;
}

static int release(struct sweep *s, const struct lb_event *e, size_t event) {
  struct pair *p = find_pair(s, e->client, e->key);
  if (!p) return -ENOMEM;
  end_hold(s, p, event); /* other_granted stays: the answer may be that the lock was lost */
  return 0;
}

static int crash(struct sweep *s, const struct lb_event *e, size_t event) {
  uint32_t number = s->client_pairs[e->client];
  for (; number != NONE; number = s->pairs[number].next_of_client) {
    struct pair *p = &s->pairs[number];
    p->listed = false;
    p->other_granted = false;
    if (!p->holds) continue;
    end_hold(s, p, event);
    struct key *k = &s->keys[p->key];
    struct orphan *more = grown(k->orphans, k->orphan_count, &k->orphan_capacity, sizeof *more);
    if (!more) return -ENOMEM;
    k->orphans = more;
    k->orphans[k->orphan_count++] = (struct orphan){.client = e->client, .t = e->t};
  }
  s->client_pairs[e->client] = NONE;
  return 0;
}

static int apply(struct sweep *s, const struct lb_event *e, size_t event) {
  switch (e->kind) {
    case LB_EV_GRANTED: return grant(s, e, event);
    case LB_EV_RELEASE: return release(s, e, event);
    case LB_EV_LOST: return lose(s, e, event);
    case LB_EV_CRASH: return crash(s, e, event);
    default: return 0;
  }
}

/* ---- accesses of the resource ------------------------------------------------------------------------------------ */

static bool is_dirty(const struct sweep *s, const struct pair *p, uint64_t t) {
  uint32_t other = s->keys[p->key].first;
  bool holds_itself = p->holds || p->end_t == t;
  if (other != NONE && &s->pairs[other] == p) other = p->next;
  return !holds_itself || (other != NONE && s->pairs[other].begin_t < t);
}

/* True if another client was granted the key before this instant and after the latest grant of this
 * one. If any was, the one that was granted last was. */
static bool is_overtaken(const struct sweep *s, const struct pair *p) {
  const struct key *k = &s->keys[p->key];
  if (k->granted_client == NONE || k->granted_client == p->client) return false;
  return !p->granted || k->granted_t > p->granted_t;
}

static void remember_grant(struct sweep *s, const struct lb_event *e) {
  if (e->kind != LB_EV_GRANTED) return;
  s->keys[e->key].granted_client = e->client;
  s->keys[e->key].granted_t = e->t;
}

static int judge_access(struct sweep *s, const struct lb_event *e) {
  if ((e->kind != LB_EV_READ && e->kind != LB_EV_WRITE) || e->flags & LB_EVF_REFUSED) return 0;
  struct pair *p = find_pair(s, e->client, e->key);
  if (!p) return -ENOMEM;
  if (is_dirty(s, p, e->t)) s->check->dirty_accesses++;
  if (e->kind == LB_EV_WRITE && is_overtaken(s, p)) s->check->stale_writes++;
  return 0;
}

/* ---- episodes ---------------------------------------------------------------------------------------------------- */

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

static int open_episode(struct sweep *s, struct key *k, uint64_t t) {
  struct lb_check *c = s->check;
  struct lb_episode *more = grown(c->episodes, c->episode_count, &s->episode_capacity, sizeof *more);
  if (!more) return -ENOMEM;
  c->episodes = more;
  k->episode = c->episode_count++;
  c->episodes[k->episode] =
      (struct lb_episode){.key = (uint32_t)(k - s->keys), .begin_t = t, .begin_event = k->begin_event};
  return 0;
}

static void close_episode(struct sweep *s, struct key *k, uint64_t t, size_t event) {
  struct lb_episode *e = &s->check->episodes[k->episode];
  e->end_t = t;
  e->end_event = event;
  s->check->double_hold_ns += e->end_t - e->begin_t;
  k->episode = NO_EPISODE;
}

/* After an instant: who holds the key now will hold it until a later one. */
static int settle(struct sweep *s, struct key *k, uint64_t t) {
  k->touched = false;
  if (k->holders > s->check->depth) s->check->depth = k->holders;
  if (k->holders < 2) {
    if (k->episode != NO_EPISODE) close_episode(s, k, t, k->end_event);
    return 0;
  }
  uint32_t number = k->episode == NO_EPISODE ? k->first : first_begun_at(s, k, t);
  int r = k->episode == NO_EPISODE ? open_episode(s, k, t) : 0;
  for (; r == 0 && number != NONE; number = s->pairs[number].next) r = name_client(s, &s->pairs[number], k->episode);
  if (r == 0 && k->holders > s->check->episodes[k->episode].depth) s->check->episodes[k->episode].depth = k->holders;
  return r;
}

/* ---- the sweep --------------------------------------------------------------------------------------------------- */

static int sweep_instant(struct sweep *s, size_t begin, size_t end) {
  const struct lb_event *e = s->history->events;
  int r = 0;
  for (size_t i = begin; i < end && r == 0; i++) r = apply(s, &e[i], i);
  for (size_t i = begin; i < end && r == 0; i++) r = judge_access(s, &e[i]);
  for (size_t i = begin; i < end; i++) remember_grant(s, &e[i]);
  for (size_t i = 0; i < s->touched_count && r == 0; i++) r = settle(s, &s->keys[s->touched[i]], e[begin].t);
  s->touched_count = 0;
  return r;
}

static int sweep_all(struct sweep *s) {
  const struct lb_event *e = s->history->events;
  int r = 0;
  for (size_t i = 0, end; i < s->history->count && r == 0; i = end) {
    for (end = i + 1; end < s->history->count && e[end].t == e[i].t; end++) {
    }
    r = sweep_instant(s, i, end);
  }
  return r;
}

static void finish(struct sweep *s) {
  const struct lb_history *h = s->history;
  uint64_t end_t = h->count ? h->events[h->count - 1].t : 0;
  for (size_t i = 0; i < h->keys.count; i++) {
    struct key *k = &s->keys[i];
    if (k->episode != NO_EPISODE) close_episode(s, k, end_t, h->count);
    if (k->orphan_count) lb_keep_longest(&s->check->orphan_ns, k->orphans[0].t, end_t);
  }
  if (s->check->grants && s->check->depth == 0) s->check->depth = 1; /* holds without length */
  s->check->double_holds = s->check->episode_count;
}

static int prepare(struct sweep *s) {
  size_t keys = s->history->keys.count, clients = s->history->clients.count;
  s->keys = malloc((keys + 1) * sizeof *s->keys);
  s->touched = malloc((keys + 1) * sizeof *s->touched);
  s->client_pairs = malloc((clients + 1) * sizeof *s->client_pairs);
  if (!s->keys || !s->touched || !s->client_pairs) return -ENOMEM;
  for (size_t i = 0; i < keys; i++)
    s->keys[i] =
        (struct key){.first = NONE, .last = NONE, .last_granted = NONE, .episode = NO_EPISODE, .granted_client = NONE};
  for (size_t i = 0; i < clients; i++) s->client_pairs[i] = NONE;
  return 0;
}

int lb_check_history(const struct lb_history *history, struct lb_check *ret) {
  struct sweep s = {.history = history, .check = ret};
  *ret = (struct lb_check){.counters = lb_counters_none()};
  int r = prepare(&s);
  if (r == 0) {
    r = sweep_all(&s);
    if (r == 0) r = lb_check_order(history, ret);
    if (r == 0) finish(&s);
    for (size_t i = 0; i < history->keys.count; i++) free(s.keys[i].orphans);
  }
  free(s.keys);
  free(s.touched);
  free(s.client_pairs);
  free(s.pairs);
  lb_pairs_clear(&s.numbers);
  if (r < 0) lb_check_clear(ret);
  return r;
}

void lb_check_clear(struct lb_check *check) {
  for (size_t i = 0; i < check->episode_count; i++) free(check->episodes[i].clients);
  free(check->episodes);
  *check = (struct lb_check){0};
}

bool lb_check_violated(const struct lb_check *check) {
  return check->double_holds > 0 || check->dirty_accesses > 0 || check->lost_updates > 0 ||
         check->token_regressions > 0;
}

bool lb_check_damaged(const struct lb_check *check) { return check->lost_updates > 0 || check->stale_writes > 0; }

const char *lb_ruled_name(enum lb_ruled verdict) {
  return verdict == LB_RULED_SAFE ? "safe" : verdict == LB_RULED_VIOLATED ? "violated" : "undecided";
}

struct lb_ruling lb_check_rule(const struct lb_check *check, const char *excuse) {
  if (lb_check_violated(check)) {
    if (excuse) return (struct lb_ruling){LB_RULED_UNDECIDED, excuse};
    return (struct lb_ruling){LB_RULED_VIOLATED, NULL};
  }
  if (check->handoffs == 0) return (struct lb_ruling){LB_RULED_UNDECIDED, "no hand-off put the lock to the test"};
  return (struct lb_ruling){LB_RULED_SAFE, NULL};
}
