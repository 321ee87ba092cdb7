/* SPDX-License-Identifier: MIT
 *
 * counts.h - what servers say they have done so far, as named numbers: only differences mean something.
 */
#ifndef LB_COUNTS_H
#define LB_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#define LB_COUNTS_MAX 64

struct lb_counts {
  struct lb_count {
    char what[40]; /* "command evalsha", "transactions": as a row of a table is called */
    uint64_t n;
  } count[LB_COUNTS_MAX];
  size_t size;
};

/* Adds n to what is called so; what is new beyond LB_COUNTS_MAX is dropped. */
void lb_counts_add(struct lb_counts *counts, const char *what, uint64_t n);
/* 0 if nothing is called so. */
uint64_t lb_counts_of(const struct lb_counts *counts, const char *what);

#endif
