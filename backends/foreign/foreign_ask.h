/* SPDX-License-Identifier: MIT
 *
 * foreign_ask.h - what a program says of itself in its first line, asked by calling it.
 */
#ifndef LB_FOREIGN_ASK_H
#define LB_FOREIGN_ASK_H

#include "foreign_child.h"

/* Calls `command` and reads its first line, as lb_foreign_plan.says has it, and how much processor time that took (at
 * least 1 ms). Waits at most 20 s, not counted for how long it waits for a processor, then ends it. 0, or with one line
 * in err: -EPROTO, the line is none of the line protocol; -ENODATA, it ended without one; -ETIMEDOUT, it wrote none;
 * -errno, it could not be started. Afterwards no process that it has started is left, nor any other child of the
 * caller. */
int lb_foreign_ask(const char *command, char *says, size_t size, int *ret_start_ms, struct lb_error *err);
/* As lb_foreign_ask(), in its folder. What it says on stderr is dropped. */
int foreign_ask_silently(const struct foreign *f, char *says, size_t size, int *ret_start_ms, struct lb_error *err);

#endif
