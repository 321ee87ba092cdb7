/* SPDX-License-Identifier: MIT
 *
 * adapter.h - the statements of the line protocol (peers/README.md), held against one adapter on real servers: its lines, as its author wrote them, not the hooks
 * that foreign.c makes of them. Each runs like a statement of the contract (conform.h), with programs of its own. Private to conform/ but for the table.
 */
#ifndef LB_ADAPTER_H
#define LB_ADAPTER_H

#include "conform_parts.h"

/* All of them, in the order they run; text = NULL at the end. */
extern const struct lb_conform_statement lb_adapter_statements[];
/* What this adapter says that it has, in bits for their `needs`. */
unsigned lb_adapter_has(const struct lb_conform *c);

#endif
