/* SPDX-License-Identifier: MIT
 *
 * jvm.h - what a running HotSpot JVM does, seen from outside: nobody has to be let in.
 */
#ifndef LB_JVM_H
#define LB_JVM_H

#include <sys/types.h>

#include "backends/backend.h"

/* CPU time that its compilers have used so far: the threads "C1 CompilerThread0" and the like. Threads
 * that have ended are not counted. 0, or -errno (-ESRCH: no such process). */
int lb_jvm_compiling(pid_t pid, lb_ns *ret);

#endif
