/* SPDX-License-Identifier: MIT
 *
 * One pass: who holds each key, and which key each client waits for. A circle closes with the request that comes last.
 */
#include "circle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/need.h"
#include "evidence.h"

struct pass {
  const struct lb_history *history;
  uint32_t *owner; /* of each key, LB_NO_NAME = none, or not one */
  uint32_t *depth; /* of its hold */
  uint32_t *waits; /* of each client: a key, LB_NO_NAME = for none */
};

/* Told from its first client by name on, not from the one that asked last: the same deadlock is the same words. */
static void turn(const struct pass *p, struct lb_circle *circle) {
  struct lb_circle was = *circle;
  size_t first = 0;
  for (size_t i = 1; i < was.count; i++)
    if (strverscmp(p->history->clients.name[was.link[i].client], p->history->clients.name[was.link[first].client]) < 0)
      first = i;
  for (size_t i = 0; i < was.count; i++) circle->link[i] = was.link[(first + i) % was.count];
}

/* From the client that has just asked, along those who hold what the one before waits for. */
static bool closes(const struct pass *p, uint32_t first, struct lb_circle *ret) {
  *ret = (struct lb_circle){0};
  for (uint32_t client = first; p->waits[client] != LB_NO_NAME && ret->count < LB_CIRCLE_MAX;) {
    uint32_t key = p->waits[client], next = p->owner[key];
    ret->link[ret->count].client = client;
    ret->link[ret->count++].waits = key;
    if (next == LB_NO_NAME || next == client) return false;
    if (next == first) {
      for (size_t i = 0; i < ret->count; i++) ret->link[i].holds = ret->link[(i + ret->count - 1) % ret->count].waits;
      turn(p, ret);
      return ret->count > 1;
    }
    client = next;
  }
  return false;
}

static void grant(struct pass *p, const struct lb_event *e) {
  bool one = !(e->flags & LB_EVF_SHARED) && lb_history_permits(p->history, e->key) == 1;
  bool again = p->owner[e->key] == e->client;
  p->waits[e->client] = LB_NO_NAME;
  p->depth[e->key] = again ? p->depth[e->key] + 1 : 1;
  p->owner[e->key] = one ? e->client : LB_NO_NAME;
}

static void let_go(struct pass *p, const struct lb_event *e) {
  if (p->owner[e->key] != e->client) return;
  if (e->kind == LB_EV_RELEASE && --p->depth[e->key] > 0) return;
  p->owner[e->key] = LB_NO_NAME;
}

static void crash(struct pass *p, uint32_t client) {
  p->waits[client] = LB_NO_NAME;
  for (size_t i = 0; i < p->history->keys.count; i++)
    if (p->owner[i] == client) p->owner[i] = LB_NO_NAME;
}

static bool step(struct pass *p, const struct lb_event *e, struct lb_circle *ret) {
  if (e->kind == LB_EV_CRASH) crash(p, e->client);
  if (e->client == LB_NO_NAME || e->key == LB_NO_NAME) return false;
  switch (e->kind) {
    case LB_EV_ACQUIRE: p->waits[e->client] = e->key; return closes(p, e->client, ret);
    case LB_EV_GRANTED: grant(p, e); break;
    case LB_EV_BUSY:
    case LB_EV_TIMEOUT:
    case LB_EV_UNKNOWN: p->waits[e->client] = LB_NO_NAME; break;
    case LB_EV_RELEASE:
    case LB_EV_LOST:
    case LB_EV_EXPIRED: let_go(p, e); break;
    default: break;
  }
  return false;
}

bool lb_circle_find(const struct lb_history *history, struct lb_circle *ret) {
  size_t keys = history->keys.count, clients = history->clients.count, end = lb_evidence_closing_begins(history);
  struct pass p = {.history = history,
                   .owner = lb_need(malloc((keys + 1) * sizeof *p.owner)),
                   .depth = lb_need(calloc(keys + 1, sizeof *p.depth)),
                   .waits = lb_need(malloc((clients + 1) * sizeof *p.waits))};
  bool found = false;
  if (keys < 2) end = 0; /* one key makes no circle */
  for (size_t i = 0; i < keys; i++) p.owner[i] = LB_NO_NAME;
  for (size_t i = 0; i < clients; i++) p.waits[i] = LB_NO_NAME;
  for (size_t i = 0; i < end && !found; i++) found = step(&p, &history->events[i], ret);
  free(p.owner);
  free(p.depth);
  free(p.waits);
  return found;
}

int lb_circle_format(const struct lb_history *history, const struct lb_circle *circle, char *buf, size_t size) {
  size_t used = 0;
  for (size_t i = 0; i < circle->count; i++)
    used += (size_t)snprintf(used < size ? buf + used : NULL, used < size ? size - used : 0,
                             "%s%.40s holds %.60s and waits for %.60s", i ? ", " : "",
                             history->clients.name[circle->link[i].client], history->keys.name[circle->link[i].holds],
                             history->keys.name[circle->link[i].waits]);
  return (int)used;
}
