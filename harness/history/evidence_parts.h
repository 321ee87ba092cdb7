/* SPDX-License-Identifier: MIT
 *
 * evidence_parts.h - what the files that look for evidence share.
 */
#ifndef LB_EVIDENCE_PARTS_H
#define LB_EVIDENCE_PARTS_H

#include "history.h"

static inline uint64_t lb_later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* An attempt ended without a grant. */
static inline bool lb_gave_up(const struct lb_event *e) { return e->kind == LB_EV_BUSY || e->kind == LB_EV_TIMEOUT || e->kind == LB_EV_UNKNOWN; }

#endif
