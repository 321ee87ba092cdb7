/* SPDX-License-Identifier: MIT
 *
 * fault_heal.h - healing cuts.
 */
#ifndef LB_FAULT_HEAL_H
#define LB_FAULT_HEAL_H

#include "fault.h"

/* Takes a cut back, and records it if it dropped no packet; NULL = there is none. 0, or -1 with err. */
int lb_doing_heal(struct lb_doing *d, struct lb_cut *cut);
/* For every fault of links that still holds, records it if it met no packet. */
void lb_fault_note_unused(struct lb_stage *stage);

#endif
