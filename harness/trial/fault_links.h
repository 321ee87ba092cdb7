/* SPDX-License-Identifier: MIT
 *
 * fault_links.h - the links between the hosts of two roles.
 */
#ifndef LB_FAULT_LINKS_H
#define LB_FAULT_LINKS_H

#include "fault.h"

struct lb_link {         /* between two hosts of a step */
  struct lb_host *a, *b; /* as the step names them */
  const struct lb_server
      *listener; /* one of them, whose port is asked; of two servers the second; NULL between clients */
};
struct lb_links {
  struct lb_link *link; /* to be freed */
  size_t count;
};
/* Every link between a host of `a` and one of `b`, once; with `record` also records whom that touches. */
void lb_doing_links(struct lb_doing *d, bool record, struct lb_links *ret);

#endif
