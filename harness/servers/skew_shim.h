/* SPDX-License-Identifier: MIT
 *
 * skew_shim.h - where the preload library lies that gives a server its skewed clocks
 * (clock_shim.c).
 */
#ifndef LB_SKEW_SHIM_H
#define LB_SKEW_SHIM_H

#define LB_SKEW_SHIM "lockbench-clock.so"
#define LB_SKEW_SHIM_VARIABLE "LOCKBENCH_CLOCK_SHIM"

/* Its path: what the environment variable LOCKBENCH_CLOCK_SHIM says, or else beside the running
 * executable, in harness/ below it, or in ../harness/ (where a test finds it). NULL: not there, so
 * no server's clocks can be set. Static; one thread. */
const char *lb_skew_shim_path(void);
/* The same of any library of this build, and the variable that says where it is. */
const char *lb_shim_path(const char *name, const char *variable);

#endif
