/* SPDX-License-Identifier: MIT
 *
 * Hosts of a timeline: how many there are, and the same timeline with fewer of them.
 */
#include <stdio.h>
#include <string.h>

#include "space.h"

/* ---- how many -------------------------------------------------------------------------------------------------------- */

enum { PRIMARY = 1 << 0, OTHERS = 1 << 1, MIDDLE = 1 << 2, ONE = 1 << 3 }; /* OTHERS: F; ONE of them; MIDDLE: who is neither the primary nor F */

static unsigned servers_of(const struct lb_hunt_system *s, struct lb_hunt_fault f) {
  static const unsigned of[LB_HUNT_TARGET_COUNT] = {
      [LB_HUNT_P] = PRIMARY, [LB_HUNT_F] = OTHERS, [LB_HUNT_ALL] = PRIMARY | OTHERS | MIDDLE, [LB_HUNT_ONE] = ONE, [LB_HUNT_MOST] = PRIMARY | MIDDLE};
  if (f.kind == LB_HUNT_CUT) return OTHERS | (s->servers == LB_HUNT_ENSEMBLE ? (unsigned)PRIMARY : 0);
  return f.kind == LB_HUNT_CUT_ONE ? (unsigned)ONE : of[f.target];
}

static bool hits_client(struct lb_hunt_fault f, enum lb_hunt_target client) {
  return f.target == client && f.kind != LB_HUNT_CUT && f.kind != LB_HUNT_CUT_ONE;
}

struct lb_hunt_hosts lb_hunt_hosts_of(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t) {
  size_t majority = s->count / 2 + 1, others = s->count > 0 ? s->count - majority : 0;
  if (s->count == 2) majority = 1, others = 1; /* the role is `replicas` */
  struct lb_hunt_hosts hosts = {0};
  bool c1 = false, c2 = false;
  unsigned hit = 0;
  for (size_t i = 0; i < t->fault_count; i++) {
    hit |= servers_of(s, t->fault[i]);
    c1 |= hits_client(t->fault[i], LB_HUNT_C1);
    c2 |= hits_client(t->fault[i], LB_HUNT_C2);
  }
  hosts.clients = (size_t)c1 + (size_t)c2;
  hosts.servers = (hit & PRIMARY ? 1 : 0) + (hit & OTHERS ? others : hit & ONE ? 1 : 0) + (hit & MIDDLE ? majority - 1 : 0);
  return hosts;
}

void lb_hunt_hosts_say(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t, char *buf, size_t size) {
  struct lb_hunt_hosts hosts = lb_hunt_hosts_of(s, t);
  const char *clients = hosts.clients == 0 ? "" : hosts.clients == 1 ? "a client" : "two clients";
  if (hosts.servers > 0) snprintf(buf, size, "It hits %zu of %zu server%s%s%s", hosts.servers, s->count, s->count == 1 ? "" : "s", hosts.clients ? " and " : "", clients);
  else snprintf(buf, size, "%s%s", hosts.clients ? "It hits " : "", clients);
}

/* ---- fewer ----------------------------------------------------------------------------------------------------------- */

static void put_in_order(struct lb_hunt_timeline *t) {
  size_t from, to;
  while (lb_hunt_is_moved(t, &from, &to)) {
    struct lb_hunt_fault f = t->fault[from];
    memmove(t->fault + to + 1, t->fault + to, (from - to) * sizeof f);
    t->fault[to] = f;
  }
}

/* What is pruned for a sound reason comes out as a timeline with fewer faults, which is run in any case; but behind the last reply it is a part like the others. */
static bool means_something(const struct lb_hunt_space *space, struct lb_hunt_timeline *t) {
  t->pruned = lb_hunt_prune(&space->system, t);
  return !lb_hunt_pruned_is_sound(t->pruned) || t->pruned == LB_HUNT_SAME_AS_H;
}

/* Choice 0 of a fault is to leave it out, 1 the fault itself, then the fewer ones. */
size_t lb_hunt_fewer_sets(const struct lb_hunt_space *space, const struct lb_hunt_timeline *t, struct lb_hunt_timeline ret[LB_HUNT_FEWER_SETS_MAX]) {
  struct lb_hunt_fault fewer[LB_HUNT_FAULTS_MAX][LB_HUNT_FEWER_MAX];
  size_t choices[LB_HUNT_FAULTS_MAX], all = 1, count = 0;
  for (size_t i = 0; i < t->fault_count; i++) all *= choices[i] = 2 + lb_hunt_fewer(&space->system, t->fault[i], fewer[i]);
  for (size_t n = 0; n < all; n++) {
    struct lb_hunt_timeline part = {.regime = t->regime};
    bool less = false;
    for (size_t i = 0, rest = n; i < t->fault_count; rest /= choices[i++]) {
      size_t choice = rest % choices[i];
      less |= choice > 1;
      if (choice > 0) part.fault[part.fault_count++] = choice == 1 ? t->fault[i] : fewer[i][choice - 2];
    }
    put_in_order(&part);
    if (less && means_something(space, &part)) ret[count++] = part;
  }
  return count;
}
