/* SPDX-License-Identifier: MIT
 *
 * What machine this is: read from /proc and the file system, for run.json.
 */
#include "machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

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

/* NEWLY_MOST: more than so many that the load of the last minute does not show yet are taken for a crowd that is gone
 * soon. */
enum { TRY_MS = 100, TRIES = 3, BETWEEN_MS = 60, CORES_MOST = 64, NEWLY_MOST = 4 };

/* The processor time that so many processes got which wanted one each all the time, of what they wanted; 0 = it could
 * not be tried. */
static double try_share(int count) {
  pid_t pid[CORES_MOST];
  int started = 0;
  double got_s = 0;
  uint64_t begin = lb_clock_ns(), end = begin + TRY_MS * UINT64_C(1000000);
  for (; started < count; started++) {
    if ((pid[started] = fork()) < 0) break;
    if (pid[started] > 0) continue;
    while (lb_clock_ns() < end) {
    }
    _exit(0);
  }
  for (int i = 0; i < started; i++) {
    struct rusage usage = {0};
    while (wait4(pid[i], NULL, 0, &usage) < 0 && errno == EINTR) {
    }
    got_s += (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
             (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  }
  return started ? got_s / ((double)(lb_clock_ns() - begin) / 1e9 * started) : 0;
}

/* Not read off /proc/loadavg: what runs in another session or control group may get less than its number says. */
double lb_machine_others(void) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int count = cores < 1 ? 1 : cores > CORES_MOST ? CORES_MOST : (int)cores;
  double sum = 0;
  for (int i = 0; i < TRIES; i++) {
    if (i > 0) lb_clock_sleep_until(lb_clock_ns() + BETWEEN_MS * UINT64_C(1000000));
    sum += try_share(count);
  }
  double share = sum / TRIES, others = share <= 0 || share >= 1 ? 0 : count / share - count, load = 0;
  return getloadavg(&load, 1) == 1 && others > load + NEWLY_MOST ? load + NEWLY_MOST : others;
}

/* ---- What the machine has left. The kernel counts ticks of a hundredth of a second: a quarter of a second of two processors has fifty of them. ---- */

enum { LOOK_MS = 250, COLUMNS = 8 };

/* "cpu  user nice system idle iowait irq softirq steal guest ...". What a guest used is in user already. */
static bool read_ticks(const char *line, unsigned long long t[COLUMNS], unsigned long long *ret_all) {
  if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
             &t[7]) != COLUMNS)
    return false;
  *ret_all = 0;
  for (int i = 0; i < COLUMNS; i++) *ret_all += t[i];
  return true;
}

bool lb_spare_read(const char *line, unsigned long long *ret_idle, unsigned long long *ret_all) {
  unsigned long long t[COLUMNS];
  if (!read_ticks(line, t, ret_all)) return false;
  *ret_idle = t[3] + t[4];
  return true;
}

static bool read_line(char *line, int size) {
  FILE *in = fopen("/proc/stat", "re");
  bool told = in && fgets(line, size, in);
  if (in) fclose(in);
  return told;
}

/* False also if the kernel does not say. */
static bool is_tight(void) {
  char line[100];
  unsigned long long all = 0, available = 0;
  FILE *in = fopen("/proc/meminfo", "re");
  while (in && fgets(line, sizeof line, in) && sscanf(line, "MemAvailable: %llu", &available) != 1)
    if (all == 0) sscanf(line, "MemTotal: %llu", &all);
  if (in) fclose(in);
  return available > 0 && available < all / 4;
}

static bool read_now(unsigned long long *ret_idle, unsigned long long *ret_all) {
  char line[300];
  return read_line(line, sizeof line) && lb_spare_read(line, ret_idle, ret_all);
}

bool lb_machine_steal(unsigned long long *ret_steal, unsigned long long *ret_wanted) {
  char line[300];
  unsigned long long t[COLUMNS], all;
  if (!read_line(line, sizeof line) || !read_ticks(line, t, &all)) return false;
  *ret_steal = t[7];
  *ret_wanted = all - t[3] - t[4]; /* nothing is taken from a processor that is idle */
  return true;
}

bool lb_spare_look(struct lb_spare *spare) {
  uint64_t now = lb_clock_ns();
  unsigned long long idle, all;
  if (spare->at && now - spare->at < LOOK_MS * UINT64_C(1000000)) return false;
  bool told = read_now(&idle, &all), before = spare->all > 0;
  spare->at = now;
  spare->share = 0;
  spare->tight = is_tight();
  if (!told) return true;
  if (before && all > spare->all && idle >= spare->idle)
    spare->share = (double)(idle - spare->idle) / (double)(all - spare->all);
  spare->idle = idle;
  spare->all = all;
  return true;
}
