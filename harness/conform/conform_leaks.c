/* SPDX-License-Identifier: MIT
 *
 * What a client loses that works for long: descriptors and memory. A process keeps more than it had at
 * its begin, for buffers grow to their size; but once it has worked for a while, it keeps what it has.
 */
#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "conform_statement.h"

/* FOR_MS: on a service that is slower, fewer cycles have to do. A leak of one byte in each is none that
 * malloc can make. */
enum { CYCLES = 10000, FOR_MS = 800, REFUSE_EVERY = 8, TRIES = 4, BYTES_PER_CYCLE = 8, BYTES = 8192, RESIDENT = 4 << 20 };

struct kept {
  int files;
  size_t bytes, resident;
};

static int open_files(void) {
  int count = 0;
  DIR *files = opendir("/proc/self/fd");
  while (files && readdir(files)) count++;
  if (files) closedir(files);
  return count;
}

/* malloc counts for its main arena only: what threads of a library leak, is seen in the pages. */
static struct kept what_is_kept(void) {
  struct mallinfo2 info = mallinfo2();
  size_t pages = 0;
  FILE *in = fopen("/proc/self/statm", "re");
  if (in && fscanf(in, "%*s %zu", &pages) != 1) pages = 0;
  if (in) fclose(in);
  return (struct kept){open_files(), info.uordblks + info.hblkhd, pages * (size_t)sysconf(_SC_PAGESIZE)};
}

/* In so many cycles a busy machine lets some request come too late. */
static void get(struct lb_conform *c, const char *key, struct lb_grant *grant) {
  int r = LB_BUSY;
  for (int tries = 0; tries < TRIES && (r = lb_conform_acquire(c, 0, key, grant, 2000)) != LB_OK; tries++) {
    if (r == LB_UNKNOWN || r == LB_BUSY) lb_conform_release(c, 0, key, grant);
    *grant = LB_GRANT_INIT;
  }
  WANT(LB_OK, r);
}

static void cycle(struct lb_conform *c, const char *key, bool refuse) {
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  get(c, key, &a);
  if (refuse && !has(c, LB_TRAIT_UNSAFE)) {
    WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
    lb_conform_leave(c, 1, key, &b);
  }
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

static int cycles(struct lb_conform *c, const char *key, int most, int64_t ms) {
  lb_ns end = in_ms(ms);
  int n = 0;
  while (n < most && (n == 0 || lb_clock_ns() < end)) cycle(c, key, n++ % REFUSE_EVERY == 0);
  return n;
}

/* A half of them to get going, and what the other half adds is what is lost. */
void lb_statement_leaks_nothing(struct lb_conform *c) {
  KEY;
  int n = cycles(c, key, CYCLES / 2, FOR_MS / 2);
  struct kept before = what_is_kept();
  n += cycles(c, key, n, FOR_MS);
  struct kept after = what_is_kept();
  lb_conform_note(c, "%d cycles", n);
  lb_conform_check(c, after.files <= before.files, "expected %d open files as before %d cycles, got %d", before.files, n / 2, after.files);
  size_t most = before.bytes + (size_t)n / 2 * BYTES_PER_CYCLE + BYTES;
  lb_conform_check(c, after.bytes <= most, "expected about %zu bytes allocated as before %d cycles, got %zu more", before.bytes, n / 2,
                   after.bytes - before.bytes);
  if (after.bytes == 0) return; /* a sanitizer's malloc, which counts nothing and keeps what was freed */
  lb_conform_check(c, after.resident <= before.resident + RESIDENT, "expected about %zu bytes resident as before %d cycles, got %zu more",
                   before.resident, n / 2, after.resident - before.resident);
}
