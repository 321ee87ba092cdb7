/* SPDX-License-Identifier: MIT
 *
 * guardian_undo.h - undoing what lasts. Private to the guardian.
 */
#ifndef LB_GUARDIAN_UNDO_H
#define LB_GUARDIAN_UNDO_H

#include "guardian_journal.h"

/* Gives the commands that undo all but clocks, before a server is asked; what is seen later decides. */
void lb_guardian_undo_begin(void);
/* Undoes all, and proves it. 0, or -EIO with err, which names what is left. */
int lb_guardian_undo_all(struct lb_error *err);
/* Undoes all, and waits until the servers are well. 0 or -EIO with err. */
int lb_guardian_undo(struct lb_error *err);
/* Says in err what is left, with the reason; `why` may be NULL. */
void lb_guardian_undo_name_left(const char *why, struct lb_error *err);

#endif
