/* SPDX-License-Identifier: MIT
 *
 * directed.h - a violation of a campaign as a directed timeline: the faults up to it, and the two clients that met, in
 * the order and with the times that the history has. Faults can be left out, each with its undo, and times be made
 * shorter.
 *
 * Client 1 is the one that held, client 2 the one that was granted the lock beside it. What the other clients did is
 * left out, but where a fault hit one. Within a lease client 1 holds until client 2 has written, and only overlaps
 * within its lease count. If the overlap came after the lease, client 1 holds no longer than its own program takes. So
 * only a fault that stops it makes the lease end: without faults nothing breaks a lock of either kind.
 */
#ifndef LB_HUNT_DIRECTED_H
#define LB_HUNT_DIRECTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "check/check.h"
#include "scenario/scenario.h"
#include "scenario/step.h"

enum { LB_DIRECTED_FAULTS_MAX = 48, LB_DIRECTED_ITEMS_MAX = 2 * LB_DIRECTED_FAULTS_MAX + 4 };

struct lb_directed_fault {
  struct lb_step step; /* as the campaign drew it; its text is owned */
  char host[64];       /* whom it hit: "redis-1", "client-3" */
  char from[160];      /* the other side of a cut, "redis-2, redis-3" */
  int client;          /* the number here of the client that it hit, 0 = a server */
  bool decided;        /* the host that it hit decided then: it had answered the grant before */
  int reign;           /* of a host that decided: how many had led before it, of those that were hit; -1 = it did not */
};
enum lb_directed_kind {
  LB_DIRECTED_DO,
  LB_DIRECTED_UNDO,
  LB_DIRECTED_ASKS_1,
  LB_DIRECTED_HOLDS_1,
  LB_DIRECTED_ASKS_2,
  LB_DIRECTED_HOLDS_2
};
struct lb_directed_item {
  enum lb_directed_kind kind;
  size_t fault;     /* of DO and UNDO */
  int within;       /* the fault that lasted when it came, or -1 */
  long long gap_ms; /* after what was before it */
};
/* In a campaign clients wait behind others, and go from server to server, which a directed timeline leaves out. So
 * there are several ways to play the two. */
enum lb_directed_way {
  LB_DIRECTED_AS_ASKED, /* each asks at the place of its request in the history, over the connection that it has had all along */
  LB_DIRECTED_FRESH,     /* the same, but client 2 opens its session only when it asks */
  LB_DIRECTED_BY_SERVER, /* who was granted by the server that a fault had hit asks it when the fault has begun; who was granted by another one opens a session then */
};
struct lb_directed { /* owns the texts of its steps */
  struct lb_directed_fault fault[LB_DIRECTED_FAULTS_MAX];
  size_t fault_count;
  struct lb_directed_item item[LB_DIRECTED_ITEMS_MAX];
  size_t item_count;
  bool late;      /* the overlap began when the earlier lease was over */
  char by[2][64]; /* the servers that granted client 1 and client 2 the lock; "" = it is not known */
  enum lb_directed_way way;
  int clients; /* so many are named */
};
struct lb_directed_of { /* where it comes from. Texts are borrowed */
  const char *scenario, *system, *trial, *seed, *run;
  enum lb_guard guard;
  long long ttl_ms, request_ms;
  double hold_ms;
  bool renew, disk;
  char options[8][160]; /* "PROTOCOL.OPTION=VALUE"; "" = no more */
};

/* Reads it out of a sorted history that `check` has judged: the first overlap within a lease, or the first if there is
 * none. 0 (release with lb_directed_clear()); -EINVAL with one line in err: there is none, or its faults cannot be
 * read. */
int lb_directed_read(const struct lb_history *history, const struct lb_check *check, const struct lb_directed_of *of,
                     struct lb_directed *ret, struct lb_error *err);
void lb_directed_clear(struct lb_directed *directed);
/* Whether this way to play these faults differs from the others. */
bool lb_directed_may(const struct lb_directed *directed, const bool keep[], enum lb_directed_way way);
/* For each item, whether the timeline with these faults waits before it. It does not wait before the first deed, while
 * a left-out fault lasted, or when both hold: there the timeline goes by events. */
void lb_directed_waits(const struct lb_directed *directed, const bool keep[], bool ret[LB_DIRECTED_ITEMS_MAX]);
/* The scenario with the faults that are kept; `note` is a line of its header or NULL, `expected` a word of [expect]. 0
 * or -errno of the file. */
int lb_directed_write(const struct lb_directed *directed, const bool keep[], const struct lb_directed_of *of,
                      const char *note, const char *expected, FILE *file);

#endif
