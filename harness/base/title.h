/* SPDX-License-Identifier: MIT
 *
 * title.h - the name under which ps, pgrep and pkill see a process.
 */
#ifndef LB_TITLE_H
#define LB_TITLE_H

/* To be called by main() with its own arguments, before anything forks. */
void lb_title_init(int argc, char **argv);
/* Renames this process; cut to the space its arguments take. Without lb_title_init() only the short
 * name changes. */
void lb_title_set(const char *title);

#endif
