/* SPDX-License-Identifier: MIT
 *
 * What a process has used of the machine.
 */
#include "peer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The fields of stat are counted behind the name, which stands in parentheses and may have spaces. */
double peer_cpu_ms(pid_t process) {
  char path[40], line[1000] = "";
  unsigned long user = 0, kernel = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  FILE *in = fopen(path, "re");
  if (in && !fgets(line, sizeof line, in)) line[0] = '\0';
  if (in) fclose(in);
  const char *behind = strrchr(line, ')');
  if (!behind || sscanf(behind, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel) != 2) return 0;
  return (double)(user + kernel) * 1000 / (double)sysconf(_SC_CLK_TCK);
}
