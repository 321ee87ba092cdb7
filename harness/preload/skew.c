/* SPDX-License-Identifier: MIT
 *
 * The page that moves a host's clocks, and the libraries that servers are preloaded with.
 *
 * Each change starts a new line where the old one reads at that moment, so that what was changed before stays in force.
 */
#include "skew.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "skew_page.h"

#define NEVER_NS INT64_MAX

/* ---- the page -------------------------------------------------------------------------------- */

/* A file of its own also where one of that name exists: others may still have that one mapped.
 * Everybody may read it, because servers run as other users. */
static int new_file(const char *path) {
  if (unlink(path) < 0 && errno != ENOENT) return -1;
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return -1;
  if (fchmod(fd, 0644) == 0 && ftruncate(fd, sizeof(struct lb_skew)) == 0) return fd;
  int error = errno;
  close(fd);
  unlink(path);
  errno = error;
  return -1;
}

struct lb_skew *lb_skew_create(const char *path) {
  int fd = path ? new_file(path) : -1;
  if (path && fd < 0) return NULL;
  struct lb_skew *skew =
      mmap(NULL, sizeof *skew, PROT_READ | PROT_WRITE, MAP_SHARED | (path ? 0 : MAP_ANONYMOUS), fd, 0);
  int error = errno;
  if (fd >= 0) close(fd);
  errno = error;
  if (skew == MAP_FAILED) return NULL;
  skew->magic = LB_SKEW_MAGIC; /* all else is 0 already: true clocks */
  return skew;
}

void lb_skew_unmap(struct lb_skew *skew) {
  if (skew) munmap(skew, sizeof *skew);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* The lines in force. For a true clock that is the line that reads what the truth reads. */
static void get_lines(const struct lb_skew *skew, struct lb_skew_line lines[LB_SKEW_CLOCKS]) {
  for (unsigned clock = 0; clock < LB_SKEW_CLOCKS; clock++)
    if (!lb_skew_read(skew, clock, &lines[clock])) lines[clock] = (struct lb_skew_line){.rate = 1};
}

/* What was published last is in the other slot and is not touched. Each store releases what was
 * stored before it, see lb_skew_read. */
static void publish(struct lb_skew *skew, const struct lb_skew_line lines[LB_SKEW_CLOCKS]) {
  uint64_t next = ++skew->changes;
  for (unsigned clock = 0; clock < LB_SKEW_CLOCKS; clock++) {
    struct lb_skew_slot *slot = &skew->slot[next & 1][clock];
    atomic_store_explicit(&slot->since_ns, lines[clock].since_ns, memory_order_release);
    atomic_store_explicit(&slot->value_ns, lines[clock].value_ns, memory_order_release);
    atomic_store_explicit(&slot->rate, lines[clock].rate, memory_order_release);
  }
  atomic_store_explicit(&skew->now, next, memory_order_release);
}

/* From here on the line has its bend at `true_ns`: what it read before is kept, what comes later
 * may run at another rate. */
static void start_over(struct lb_skew_line *line, uint64_t true_ns) {
  line->value_ns = lb_skew_at(line, (int64_t)true_ns);
  line->since_ns = (int64_t)true_ns;
}

/* A jump moves the line as a whole, at any rate. */
void lb_skew_jump(struct lb_skew *skew, bool monotonic, int64_t offset_ns) {
  struct lb_skew_line lines[LB_SKEW_CLOCKS];
  get_lines(skew, lines);
  lines[monotonic ? LB_SKEW_MONO : LB_SKEW_WALL].value_ns += offset_ns;
  publish(skew, lines);
}

void lb_skew_rate(struct lb_skew *skew, double rate) {
  struct lb_skew_line lines[LB_SKEW_CLOCKS];
  get_lines(skew, lines);
  start_over(&lines[LB_SKEW_WALL], lb_clock_wall_ns());
  start_over(&lines[LB_SKEW_MONO], lb_clock_ns());
  lines[LB_SKEW_WALL].rate = lines[LB_SKEW_MONO].rate = rate;
  publish(skew, lines);
}

void lb_skew_reset(struct lb_skew *skew) { atomic_store_explicit(&skew->now, 0, memory_order_release); }

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t read_at(const struct lb_skew *skew, unsigned clock, uint64_t true_ns) {
  struct lb_skew_line line;
  if (!skew || true_ns > NEVER_NS || !lb_skew_read(skew, clock, &line)) return true_ns;
  return (uint64_t)lb_skew_at(&line, (int64_t)true_ns);
}

uint64_t lb_skew_wall_ns(const struct lb_skew *skew, uint64_t true_ns) { return read_at(skew, LB_SKEW_WALL, true_ns); }
uint64_t lb_skew_mono_ns(const struct lb_skew *skew, uint64_t true_ns) { return read_at(skew, LB_SKEW_MONO, true_ns); }

uint64_t lb_skew_mono_true_ns(const struct lb_skew *skew, uint64_t skewed_ns) {
  struct lb_skew_line line;
  if (!skew || skewed_ns > NEVER_NS / 2 || !lb_skew_read(skew, LB_SKEW_MONO, &line)) return skewed_ns;
  int64_t when = lb_skew_when(&line, (int64_t)skewed_ns);
  return when < NEVER_NS ? (uint64_t)when : UINT64_MAX;
}

/* ---- the preload libraries ----------------------------------------------------------------------- */

/* A test runs from another folder than the tool, and an installed tool has them elsewhere: hence several places. */
const char *lb_shim_path(enum lb_shim which) {
  static char path[PATH_MAX + 64];
  static const struct {
    const char *name, *variable;
  } shims[] = {[LB_SHIM_CLOCK] = {LB_CLOCK_SHIM, LB_CLOCK_SHIM_VARIABLE},
               [LB_SHIM_DISK] = {LB_DISK_SHIM, LB_DISK_SHIM_VARIABLE}};
  static const char *const places[] = {"", "harness/", "../harness/", LB_LIB_FROM_BIN "/"};
  char exe[PATH_MAX];
  const char *said = getenv(shims[which].variable);
  if (said && said[0]) return realpath(said, path) && access(path, R_OK) == 0 ? path : NULL;
  ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (len <= 0) return NULL;
  exe[len] = '\0';
  const char *slash = strrchr(exe, '/');
  for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
    snprintf(path, sizeof path, "%.*s%s%s", (int)(slash + 1 - exe), exe, places[i], shims[which].name);
    if (access(path, R_OK) == 0) return path;
  }
  return NULL;
}
