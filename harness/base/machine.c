/* SPDX-License-Identifier: MIT
 *
 * What machine this is: read from /proc and the file system, for run.json.
 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

static void read_cpu(char *buf, size_t size) {
  char line[256];
  snprintf(buf, size, "unknown");
  FILE *in = fopen("/proc/cpuinfo", "re");
  if (!in) return;
  while (fgets(line, sizeof line, in)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    snprintf(buf, size, "%s", colon + 1 + strspn(colon + 1, " "));
    buf[strcspn(buf, "\n")] = '\0';
    break;
  }
  fclose(in);
}

static const char *filesystem_name(const char *path) {
  static const struct {
    unsigned long magic;
    const char *name;
  } known[] = {{0xEF53, "ext4"},          {0x01021994, "tmpfs"}, {0x58465342, "xfs"}, {0x9123683E, "btrfs"},
               {0x794c7630, "overlayfs"}, {0x2FC12FC1, "zfs"},   {0x6969, "nfs"},     {0x01021997, "9p"}};
  struct statfs st;
  if (statfs(path, &st) < 0) return "unknown";
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if ((unsigned long)st.f_type == known[i].magic) return known[i].name;
  return "other";
}

void lb_machine_read(struct lb_machine *ret, const char *results_dir) {
  struct utsname u;
  *ret = (struct lb_machine){.cores = sysconf(_SC_NPROCESSORS_ONLN)};
  if (uname(&u) == 0) {
    snprintf(ret->hostname, sizeof ret->hostname, "%s", u.nodename);
    snprintf(ret->kernel, sizeof ret->kernel, "%s %s %s", u.sysname, u.release, u.machine);
  }
  read_cpu(ret->cpu, sizeof ret->cpu);
  snprintf(ret->filesystem, sizeof ret->filesystem, "%s", filesystem_name(results_dir));
  ret->memory_mib = sysconf(_SC_PHYS_PAGES) / 1024 * (sysconf(_SC_PAGESIZE) / 1024);
  if (getloadavg(&ret->load, 1) != 1) ret->load = 0;
}
