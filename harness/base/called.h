/* SPDX-License-Identifier: MIT
 *
 * called.h - the name under which the user called the tool: what hints tell to type.
 */
#ifndef LB_CALLED_H
#define LB_CALLED_H

/* LOCKBENCH_CALLED_AS if it is set and not empty (./bench sets it), else "lockbench". Never NULL;
 * not to be freed, and good until the environment changes. */
const char *lb_called(void);

#endif
