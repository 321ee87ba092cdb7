/* SPDX-License-Identifier: MIT
 *
 * directed_parts.h - what the files that write a directed timeline share; nobody else includes it.
 */
#ifndef LB_HUNT_DIRECTED_PARTS_H
#define LB_HUNT_DIRECTED_PARTS_H

#include "directed.h"

enum { LB_DIRECTED_PROLOGUE_MS = 10000, LB_DIRECTED_RELEASE_MS = 2000 };

struct lb_directed_writer {
  const struct lb_directed *d;
  const struct lb_directed_of *of;
  const bool *keep;
  FILE *file;
  const char *first;                     /* the host that `primary` stands for; NULL = nobody yet */
  bool acquired[LB_DIRECTED_FAULTS_MAX]; /* the holder that this fault hits has the lock */
  bool began[3];                         /* client 1, 2 has begun to ask */
  bool ended_1;                          /* client 1 has written and released */
  bool waits[LB_DIRECTED_ITEMS_MAX];     /* before each item */
  long long wait_ms;                     /* before the next step */
};

/* directed_line.c: a line, behind the time that has to pass before it. */
void lb_directed_step(struct lb_directed_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* directed_order.c: what lies between what. */
bool lb_directed_is_fault(const struct lb_directed_item *item);
bool lb_directed_is_kept(const bool keep[], const struct lb_directed_item *item);
/* The place among the items; item_count = it is not among them. */
size_t lb_directed_place(const struct lb_directed *d, enum lb_directed_kind kind);
/* A fault that is kept begins or ends between the two. */
bool lb_directed_parted(const struct lb_directed *d, const bool keep[], size_t from, size_t to);
/* A fault that is kept stops client 1 while it holds. */
bool lb_directed_stops_1(const struct lb_directed *d, const bool keep[]);
/* The item behind which this client begins to ask in a step of its own; SIZE_MAX = it asks where client 1 holds. */
size_t lb_directed_begins(const struct lb_directed *d, const bool keep[], int client);
/* This client opens its session only when it asks. */
bool lb_directed_is_fresh(const struct lb_directed *d, const bool keep[], int client);

/* directed_faults.c: the steps of the fault at this place, and of its undo. */
void lb_directed_begin_fault(struct lb_directed_writer *w, size_t place);
void lb_directed_end_fault(struct lb_directed_writer *w, size_t fault);
/* Before somebody asks in vain, whoever is hit as holder from this place on until client 1 holds has to hold. */
void lb_directed_take_ahead(struct lb_directed_writer *w, size_t from);

#endif
