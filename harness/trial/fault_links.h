/* SPDX-License-Identifier: MIT
 *
 * fault_links.h - the links that a fault with two roles is done to. For the faults of links only
 * (fault_cut.c, fault_line.c).
 */
#ifndef LB_FAULT_LINKS_H
#define LB_FAULT_LINKS_H

#include "fault_parts.h"

struct lb_link { /* between two hosts of a step */
  const struct lb_host *a, *b;      /* as the step names them */
  const struct lb_server *listener; /* one of them, whose port is asked; of two servers the second */
};

struct lb_links {
  struct lb_link *link;
  size_t count;
};

/* Every link between a host of `a` and one of `b`, once; records whom that touches. 0, and to be
 * freed by lb_links_free(); or -1 with err. */
int lb_links_find(struct lb_doing *d, struct lb_links *ret);
/* The same without a record, for who looks again. */
int lb_links_find_again(struct lb_doing *d, struct lb_links *ret);
void lb_links_free(struct lb_links *links);

#endif
