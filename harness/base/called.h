/* SPDX-License-Identifier: MIT
 *
 * called.h - what hints tell to type: the name under which the user called the tool, and paths as they are seen from
 * here.
 */
#ifndef LB_CALLED_H
#define LB_CALLED_H

/* LOCKBENCH_CALLED_AS if it is set and not empty (./bench sets it), else "lockbench". Never NULL;
 * not to be freed, and good until the environment changes. */
const char *lb_called(void);
/* A path as one would type it here: without the current folder where it is below that. Part of `path`. */
const char *lb_from_here(const char *path);

#endif
