/* SPDX-License-Identifier: MIT
 *
 * The only file that reads a clock (a test greps for it): everything else asks here or its env,
 * so that one day a client's clock can be skewed and a test's clock can be made up.
 */
#include "clock.h"

#include <errno.h>

uint64_t lb_clock_ns(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

uint64_t lb_clock_wall_ns(void) {
  struct timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

int64_t lb_clock_wall_ms(void) { return (int64_t)(lb_clock_wall_ns() / UINT64_C(1000000)); }

struct tm lb_clock_utc(void) {
  time_t now = (time_t)(lb_clock_wall_ms() / 1000);
  struct tm tm;
  gmtime_r(&now, &tm);
  return tm;
}

uint64_t lb_clock_cpu_ns(int pid) {
  struct timespec ts;
  clockid_t clock;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &ts) != 0) return 0;
  return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

void lb_clock_sleep_until(uint64_t when) {
  struct timespec ts = {.tv_sec = (time_t)(when / UINT64_C(1000000000)),
                        .tv_nsec = (long)(when % UINT64_C(1000000000))};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR) {
  }
}
