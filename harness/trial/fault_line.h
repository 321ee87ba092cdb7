/* SPDX-License-Identifier: MIT
 *
 * fault_line.h - what delays or loses packets, from its proof to its end.
 */
#ifndef LB_FAULT_LINE_H
#define LB_FAULT_LINE_H

#include "fault.h"

/* Undoes a line, which has to have done what it was for by then; of a hold the packet of its proof has to
 * come then. 0, or -1 with err. */
int lb_doing_end_line(struct lb_doing *d, struct lb_line *line);
/* For a line that ends, records whether it met a packet, what it carried, and how late it was itself. */
void lb_doing_note_line(struct lb_stage *stage, const struct lb_line *line);

/* Proves the faults whose effect takes time (a packet that is to come late), as far as it is known by now; with `wait`
 * all of them. 0, or -1 with err: one of them is not so. */
int lb_fault_settle(struct lb_stage *stage, bool wait, struct lb_error *err);
/* At the end of a timeline: 0 if every fault that was armed for a message and still holds has met it; or -1 with
 * err. */
int lb_fault_all_met(struct lb_stage *stage, struct lb_error *err);

/* Makes all links of a load with `round_trip_ms` late by half of it, once sessions are there, and proves
 * it by a packet on each. */
int lb_fault_make_distance(struct lb_stage *stage);

#endif
