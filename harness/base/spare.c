/* SPDX-License-Identifier: MIT
 *
 * What the machine has left. The kernel counts ticks of a hundredth of a second: a quarter of a second of two processors has fifty of them.
 */
#include "spare.h"

#include <stdio.h>

#include "clock.h"

enum { LOOK_MS = 250, COLUMNS = 8 };

/* "cpu  user nice system idle iowait irq softirq steal guest ...". What a guest used is in user already. */
bool lb_spare_read(const char *line, unsigned long long *ret_idle, unsigned long long *ret_all) {
  unsigned long long t[COLUMNS];
  if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != COLUMNS) return false;
  *ret_idle = t[3] + t[4];
  *ret_all = 0;
  for (int i = 0; i < COLUMNS; i++) *ret_all += t[i];
  return true;
}

static bool read_now(unsigned long long *ret_idle, unsigned long long *ret_all) {
  char line[300];
  FILE *in = fopen("/proc/stat", "re");
  bool told = in && fgets(line, sizeof line, in) && lb_spare_read(line, ret_idle, ret_all);
  if (in) fclose(in);
  return told;
}

bool lb_spare_look(struct lb_spare *spare) {
  uint64_t now = lb_clock_ns();
  unsigned long long idle, all;
  if (spare->at && now - spare->at < LOOK_MS * UINT64_C(1000000)) return false;
  bool told = read_now(&idle, &all), before = spare->all > 0;
  spare->at = now;
  spare->share = 0;
  if (!told) return true;
  if (before && all > spare->all && idle >= spare->idle) spare->share = (double)(idle - spare->idle) / (double)(all - spare->all);
  spare->idle = idle;
  spare->all = all;
  return true;
}
