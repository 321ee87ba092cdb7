/* SPDX-License-Identifier: MIT
 *
 * root.h - the folder of scenarios/ and plots/.
 */
#ifndef LB_ROOT_H
#define LB_ROOT_H

#define LB_SCENARIOS "scenarios" /* below lb_root() */

/* LOCKBENCH_ROOT, else where the sources were when this was built. Not to be freed. */
const char *lb_root(void);

#endif
