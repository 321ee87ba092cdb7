/* SPDX-License-Identifier: MIT
 *
 * spare.h - what the machine has left: how much of its processors' time nobody used lately, whoever that could have been.
 */
#ifndef LB_SPARE_H
#define LB_SPARE_H

#include <stdbool.h>
#include <stdint.h>

struct lb_spare {
  double share; /* of the time of all processors between the last two looks; 0 before the second one, and where nobody can tell */
  uint64_t at;  /* of the last look, by lb_clock_ns() */
  unsigned long long idle, all;
};

/* Takes the first line of /proc/stat: idle time (waiting for disks included) and all of it, in ticks since the start. False if that is not what it says. */
bool lb_spare_read(const char *line, unsigned long long *ret_idle, unsigned long long *ret_all);
/* True if it looked: the last look is long enough ago. Call from one thread. */
bool lb_spare_look(struct lb_spare *spare);

#endif
