/* SPDX-License-Identifier: MIT
 *
 * line_fate.h - what becomes of each packet on a line, by its plan: when it is due, or that it is
 * dropped; and what the line has seen, for the controller. For the process of a line only.
 */
#ifndef LB_LINE_FATE_H
#define LB_LINE_FATE_H

#include "line.h"

struct lb_line_fate;

/* NULL = no memory. It lives as long as the process. */
struct lb_line_fate *lb_line_fate_new(struct lb_line *line);
/* A packet that the sender's link had at `stamp` (ns of lb_clock_ns()). False: it is dropped, or is no packet. */
bool lb_line_fate(struct lb_line_fate *fate, size_t way, const unsigned char *bytes, size_t size, uint64_t stamp, uint64_t *ret_due);
/* From now on all pass at once. */
void lb_line_fate_pass(struct lb_line_fate *fate);
/* Packets of the probe have come out at the receiver of a way: takes them, and notes when. */
void lb_line_fate_arrived(struct lb_line_fate *fate, size_t way);

#endif
