/* SPDX-License-Identifier: MIT
 *
 * process.h - this process: where its files are, what it forgets of the user's environment, and its name.
 */
#ifndef LB_PROCESS_H
#define LB_PROCESS_H

#define LB_SCENARIOS "scenarios" /* below lb_root() */

/* The folder of scenarios/ and plots/: LOCKBENCH_ROOT, else where the sources were when this was built. Not to be
 * freed. */
const char *lb_root(void);

/* Forgets settings that client libraries and servers would pick up on their own: a PGOPTIONS can
 * change a verdict. Of this process and those it starts from now on. */
void lb_environ_forget(void);

/* The name under which ps, pgrep and pkill see this process. To be called by main() with its own arguments, before
 * anything forks. */
void lb_title_init(int argc, char **argv);
/* Renames this process; cut to the space its arguments take. Without lb_title_init() only the short
 * name changes. */
void lb_title_set(const char *title);

#endif
