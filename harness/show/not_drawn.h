/* SPDX-License-Identifier: MIT
 *
 * not_drawn.h - which figures of a run should have been drawn and were not: the list that
 * plots/render leaves.
 */
#ifndef LB_NOT_DRAWN_H
#define LB_NOT_DRAWN_H

#include <stdbool.h>
#include <stddef.h>

enum { LB_NOT_DRAWN_MAX = 16 };

/* As many figures as a run has, and some more: the list is on the caller's stack. */
struct lb_not_drawn {
  size_t count;
  struct {
    char name[64];
    char why[256];
  } figure[LB_NOT_DRAWN_MAX];
};

/* Reads figures/not-drawn.txt of a run folder (results/SCHEMA.md). No such file: no figure is
 * missing. */
void lb_not_drawn_read(const char *run_dir, struct lb_not_drawn *ret);
/* True if the figure of that name is in the list. */
bool lb_not_drawn_has(const struct lb_not_drawn *list, const char *name);
/* "scaling, latency (reason)" for the i-th reason, from 0, with all figures that share it; false:
 * there are no more. */
bool lb_not_drawn_line(const struct lb_not_drawn *list, size_t i, char *ret, size_t size);

#endif
