/* SPDX-License-Identifier: MIT
 *
 * Whether an overlap began within the earlier holder's lease: one sweep over the sorted events,
 * which keeps for each client and key what the client may believe. A grant inside an episode is
 * then held against the beliefs of the others, and so is a renewal by which a holder whose lease
 * was over has one again: the service has just confirmed two holders.
 */
#include <stdlib.h>
#include <string.h>

#include "evidence.h"
#include "pairs.h"

#define NONE UINT32_MAX

struct belief { /* of a client, about a key */
  uint32_t client;
  bool holds, endless;
  uint64_t until;
  uint32_t next_of_key, next_of_client; /* all that ever were: clients and keys are few, events are many */
};

struct sweep {
  const struct lb_history *h;
  const struct lb_check *check;
  struct lb_pairs numbers;
  struct belief *belief; /* by number of the pair */
  size_t capacity;
  uint32_t *of_key, *of_client; /* heads of the lists */
  size_t *episode, *next; /* of a key the present or next one; of an episode the next one of its key; count = none */
};

static void *must(void *memory) {
  if (!memory) abort(); /* as in history.c: half an answer would be a wrong one */
  return memory;
}

/* What this client believes of this key; a new one believes nothing. Ends the process when memory
 * is exhausted: no caller could go on. */
static struct belief *find(struct sweep *s, uint32_t client, uint32_t key) {
  uint32_t before = s->numbers.count, number = lb_pairs_number(&s->numbers, client, key);
  if (number == UINT32_MAX) abort();
  if (s->numbers.count == before) return &s->belief[number];
  if (number >= s->capacity) {
    s->capacity = s->capacity ? s->capacity * 2 : 16;
    s->belief = must(realloc(s->belief, s->capacity * sizeof *s->belief));
  }
  s->belief[number] =
      (struct belief){.client = client, .next_of_key = s->of_key[key], .next_of_client = s->of_client[client]};
  s->of_key[key] = s->of_client[client] = number;
  return &s->belief[number];
}

static void lease(struct belief *b, const struct lb_event *e) {
  b->endless = !(e->flags & LB_EVF_UNTIL);
  b->until = e->until;
}

/* A renewal makes a lease longer but gives no hold: a client that has let go and then reads the
 * answer to an older renewal holds nothing. One that died believes nothing any more. */
static void believe(struct sweep *s, const struct lb_event *e) {
  switch (e->kind) {
    case LB_EV_GRANTED:
    case LB_EV_UNKNOWN:
    case LB_EV_TIMEOUT:
    case LB_EV_BUSY:
    case LB_EV_RELEASE:
    case LB_EV_LOST: find(s, e->client, e->key)->holds = e->kind == LB_EV_GRANTED; break;
    case LB_EV_CRASH:
      for (uint32_t i = s->of_client[e->client]; i != NONE; i = s->belief[i].next_of_client) s->belief[i].holds = false;
      break;
    default: break;
  }
  if (e->kind == LB_EV_GRANTED || e->kind == LB_EV_RENEWED) lease(find(s, e->client, e->key), e);
}

/* Whether event `index`, of a key, lies in an episode of it. The episodes of a key come in order
 * and do not meet. */
static bool in_episode(struct sweep *s, size_t index) {
  size_t *at = &s->episode[s->h->events[index].key];
  while (*at < s->check->episode_count && s->check->episodes[*at].end_event <= index) *at = s->next[*at];
  return *at < s->check->episode_count && s->check->episodes[*at].begin_event <= index;
}

/* Whether another client's hold, valid at that moment, is overrun by this grant or renewal. */
static bool overruns(const struct sweep *s, const struct lb_event *grant) {
  for (uint32_t i = s->of_key[grant->key]; i != NONE; i = s->belief[i].next_of_key) {
    const struct belief *b = &s->belief[i];
    if (b->client != grant->client && b->holds && (b->endless || b->until > grant->t)) return true;
  }
  return false;
}

/* Whether the event gives its client a lease: a grant, or a renewal of what it holds whose answer
 * was not read too late. */
static bool gives_lease(struct sweep *s, const struct lb_event *e) {
  if (e->kind == LB_EV_GRANTED) return true;
  if (e->kind != LB_EV_RENEWED || !find(s, e->client, e->key)->holds) return false;
  return !(e->flags & LB_EVF_UNTIL) || e->until > e->t;
}

/* The episodes of each key become a list in their order, so that in_episode() only ever moves
 * forward. */
static void prepare(struct sweep *s) {
  size_t keys = s->h->keys.count, clients = s->h->clients.count, count = s->check->episode_count;
  s->of_key = must(malloc((keys + 1) * sizeof *s->of_key));
  s->of_client = must(malloc((clients + 1) * sizeof *s->of_client));
  s->episode = must(malloc((keys + 1) * sizeof *s->episode));
  s->next = must(malloc((count + 1) * sizeof *s->next));
  memset(s->of_key, 0xff, keys * sizeof *s->of_key); /* NONE */
  memset(s->of_client, 0xff, clients * sizeof *s->of_client);
  for (size_t i = 0; i < keys; i++) s->episode[i] = count;
  for (size_t i = count; i-- > 0;) {
    uint32_t key = s->check->episodes[i].key;
    s->next[i] = s->episode[key];
    s->episode[key] = i;
  }
}

bool lb_evidence_within_lease(const struct lb_history *history, const struct lb_check *check) {
  struct sweep s = {.h = history, .check = check};
  bool found = check->episode_count == 0;
  prepare(&s);
  for (size_t i = 0; i < history->count && !found; i++) {
    const struct lb_event *e = &history->events[i];
    found = gives_lease(&s, e) && in_episode(&s, i) && overruns(&s, e);
    believe(&s, e);
  }
  free(s.belief);
  free(s.of_key);
  free(s.of_client);
  free(s.episode);
  free(s.next);
  lb_pairs_clear(&s.numbers);
  return found;
}
