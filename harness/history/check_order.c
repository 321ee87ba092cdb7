/* SPDX-License-Identifier: MIT
 *
 * What follows from the order of events alone: hand-offs, fences, values, and how long a fault kept
 * everyone out. Here equal times are no doubt, for the lock service and the resource served one
 * request after the other.
 *
 * Lost updates: every critical section writes what it read plus one, so the last value should have
 * grown over the first one read by the number of accepted writes. What is missing was overwritten
 * by a client that had read an older value.
 */
#include <errno.h>
#include <stdlib.h>

#include "check_parts.h"

struct key {
  bool granted, fence_granted, fence_seen, read;      /* whether there was any */
  uint32_t last_client;                               /* of the latest grant */
  uint64_t largest_fence_granted, largest_fence_seen; /* seen: by the resource */
  uint64_t first_read, last_written, writes;
};

/* A regression leaves the largest fence as it is: every later grant that is not above it is one
 * more. */
static void count_grant(struct lb_check *c, struct key *k, const struct lb_event *e) {
  c->grants++;
  if (k->granted && k->last_client != e->client) c->handoffs++;
  k->granted = true;
  k->last_client = e->client;
  if (!(e->flags & LB_EVF_FENCE)) return;
  if (k->fence_granted && e->fence <= k->largest_fence_granted) c->token_regressions++;
  else k->largest_fence_granted = e->fence;
  k->fence_granted = true;
}

/* Whether the resource refused it or not: a write with an older fence than one seen is what the
 * guard `fence` is for. A read shows its fence, too. */
static void count_fence(struct lb_check *c, struct key *k, const struct lb_event *e) {
  if (!(e->flags & LB_EVF_FENCE)) return;
  bool stale = k->fence_seen && e->fence < k->largest_fence_seen;
  if (stale && e->kind == LB_EV_WRITE) c->fenced_off++;
  if (!stale) k->largest_fence_seen = e->fence;
  k->fence_seen = true;
}

/* Only what was accepted; the first read says where the value stood when the history began. */
static void count_value(struct key *k, const struct lb_event *e) {
  if (e->flags & LB_EVF_REFUSED) return;
  if (e->kind == LB_EV_WRITE) {
    k->writes++;
    k->last_written = e->value;
  } else if (!k->read) {
    k->read = true;
    k->first_read = e->value;
  }
}

/* Saturates: values come from files, where any number may stand. */
static void count_lost_updates(struct lb_check *c, const struct key *k) {
  if (k->writes == 0 || !k->read) return;
  __int128 lost = (__int128)k->writes - ((__int128)k->last_written - (__int128)k->first_read);
  if (lost <= 0) return;
  __int128 sum = c->lost_updates + lost;
  c->lost_updates = sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
}

/* A fault counts from the first one without a grant since: a second fault does not begin the time
 * anew. */
int lb_check_order(const struct lb_history *history, struct lb_check *c) {
  struct key *keys = calloc(history->keys.count + 1, sizeof *keys);
  const struct lb_event *fault = NULL; /* the earliest without a grant since */
  if (!keys) return -ENOMEM;
  for (size_t i = 0; i < history->count; i++) {
    const struct lb_event *e = &history->events[i];
    if (e->kind == LB_EV_GRANTED) {
      count_grant(c, &keys[e->key], e);
      if (fault) lb_keep_longest(&c->unavailable_ns, fault->t, e->t);
      fault = NULL;
    } else if (e->kind == LB_EV_READ || e->kind == LB_EV_WRITE) {
      count_fence(c, &keys[e->key], e);
      count_value(&keys[e->key], e);
    } else if (e->kind == LB_EV_RENEWED) {
      c->renewals++;
    } else if (e->kind == LB_EV_UNKNOWN) {
      c->unknown_acquires++;
    } else if (e->kind == LB_EV_FAULT && !fault) {
      fault = e;
    }
  }
  if (fault) lb_keep_longest(&c->unavailable_ns, fault->t, history->events[history->count - 1].t);
  for (size_t i = 0; i < history->keys.count; i++) count_lost_updates(c, &keys[i]);
  free(keys);
  return 0;
}
