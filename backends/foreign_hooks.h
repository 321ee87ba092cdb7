/* SPDX-License-Identifier: MIT
 *
 * foreign_hooks.h - one foreign lock: how it is called, and the table that the tool knows it by. Private to foreign.c and foreign_add.c.
 */
#ifndef LB_FOREIGN_HOOKS_H
#define LB_FOREIGN_HOOKS_H

#include "foreign_parts.h"

struct foreign {
  struct lb_protocol protocol; /* its data is this struct */
  struct foreign_says says;
  char *command, *folder, *like, *summary;
  char name[64];
  int start_ms; /* of lb_foreign_plan */
  const char *topologies[FOREIGN_TOPOLOGIES_MAX + 1];
};

/* All hooks there are. foreign_add.c leaves out those that an adapter cannot answer. */
extern const struct lb_protocol foreign_hooks;

#endif
