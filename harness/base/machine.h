/* SPDX-License-Identifier: MIT
 *
 * machine.h - where a run took place: what a reader of the results has to know of the machine.
 */
#ifndef LB_MACHINE_H
#define LB_MACHINE_H

#include <stdint.h>

struct lb_machine {
  char hostname[128], kernel[200], cpu[128], filesystem[32]; /* file system of the results folder */
  long cores, memory_mib;
  double load; /* one-minute load average now */
};

/* Never fails: what cannot be read is "unknown" or 0. */
void lb_machine_read(struct lb_machine *ret, const char *results_dir);

/* How much others want of the processors: as many processes that always want one would leave as much to us. Tries it, with a process for each
 * processor, which takes nearly half a second. 0 where that cannot be tried. */
double lb_machine_others(void);

#endif
