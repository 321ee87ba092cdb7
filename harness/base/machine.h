/* SPDX-License-Identifier: MIT
 *
 * machine.h - where a run took place: what a reader of the results has to know of the machine.
 */
#ifndef LB_MACHINE_H
#define LB_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

struct lb_machine {
  char hostname[128], kernel[200], cpu[128], filesystem[32]; /* file system of the results folder */
  long cores, memory_mib;
  double load; /* one-minute load average now */
};

/* Never fails: what cannot be read is "unknown" or 0. */
void lb_machine_read(struct lb_machine *ret, const char *results_dir);

/* How much others want of the processors: as many processes that always want one would leave as much to us. Tries it,
 * with a process for each processor, which takes nearly half a second. 0 where that cannot be tried. */
double lb_machine_others(void);

/* What the machine has left: idle processor time, of all processes together, and memory. */
struct lb_spare {
  double share; /* of the time of all processors between the last two looks; 0 = unknown (so before the second one) */
  bool tight;   /* less than a quarter of its memory is available */
  uint64_t at;  /* of the last look, by lb_clock_ns() */
  unsigned long long idle, all;
};

/* Takes the first line of /proc/stat: idle time (waiting for disks included) and all of it, in ticks since the start.
 * False if that is not what it says. */
bool lb_spare_read(const char *line, unsigned long long *ret_idle, unsigned long long *ret_all);
/* The time that the hypervisor gave to others, and with it all that was not idle, from the file itself. */
bool lb_machine_steal(unsigned long long *ret_steal, unsigned long long *ret_wanted);
/* True if it looked: the last look is long enough ago. Call from one thread. */
bool lb_spare_look(struct lb_spare *spare);

#endif
