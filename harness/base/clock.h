/* SPDX-License-Identifier: MIT
 *
 * clock.h - the only place that reads a clock. Ground truth of a run is this machine's
 * CLOCK_MONOTONIC.
 */
#ifndef LB_CLOCK_H
#define LB_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in ns. */
uint64_t lb_clock_ns(void);
/* Wall clock since 1970. */
uint64_t lb_clock_wall_ns(void);
int64_t lb_clock_wall_ms(void);
/* The wall clock as struct tm in UTC, for names of runs and dates in results. */
struct tm lb_clock_utc(void);
/* Processor time that a process and its threads have used so far, in ns; 0 = there is none of that number. */
uint64_t lb_clock_cpu_ns(int pid);
/* Sleeps until lb_clock_ns() >= when. */
void lb_clock_sleep_until(uint64_t when);

#endif
