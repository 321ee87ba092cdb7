/* SPDX-License-Identifier: MIT
 *
 * A preload library, no part of the harness: it counts what its server writes to regular files, and how often it syncs
 * one. The counts go to the page (disk_page.h) that the environment variable LOCKBENCH_DISK names. Forked children
 * count in the same page.
 *
 * What goes to standard output and standard error is no data, and is left out: there servers log. So is what the C
 * library writes for itself (stdio), and what a program writes that calls the kernel directly, as those written in Go
 * do, or through a mapping. A call counts whether it succeeds or not.
 *
 * Where the environment names a journal, each write is kept there, too, until it is synced: what a loss of power takes.
 */
#undef _FILE_OFFSET_BITS /* or pwrite would be pwrite64, and both are wanted */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "disk_page.h"

#define EXPORTED __attribute__((visibility("default")))

static struct lb_disk_page *page;
static struct lb_journal *journal;

/* NULL: the environment names no such file. */
static void *map(const char *variable, size_t bytes) {
  const char *path = getenv(variable);
  int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return NULL;
  void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return mapped == MAP_FAILED ? NULL : mapped;
}

__attribute__((constructor)) static void map_files(void) {
  page = map(LB_DISK_VARIABLE, sizeof *page);
  if (page) atomic_fetch_add(&page->loaded, 1);
  journal = map(LB_JOURNAL_VARIABLE, LB_JOURNAL_BYTES);
  if (journal) atomic_fetch_add(&journal->users, 1);
}

/* ---- the journal ------------------------------------------------------------------------------
 *
 * What was in the file before is read just before the write. Two processes that write the same bytes at the same time
 * could make that wrong; servers take locks to avoid just this. */

/* A regular file; not what goes to standard output and standard error. */
static bool look(int fd, struct statx *ret) {
  return journal && fd > STDERR_FILENO &&
         syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, ret) == 0 && S_ISREG(ret->stx_mode);
}

static struct lb_journal_entry *append(const struct lb_journal_entry *head) {
  uint64_t bytes = (sizeof *head + head->before + 7) & ~UINT64_C(7), room = LB_JOURNAL_BYTES - sizeof *journal;
  if (bytes > room || atomic_load(&journal->used) > room - bytes) {
    atomic_store(&journal->full, 1);
    return NULL;
  }
  uint64_t at = atomic_fetch_add(&journal->used, bytes);
  if (at + bytes > room) { /* others were faster: this end is never read */
    atomic_store(&journal->full, 1);
    return NULL;
  }
  struct lb_journal_entry *entry = (struct lb_journal_entry *)(journal->entries + at);
  memcpy(entry, head, sizeof *head);
  __atomic_store_n(&entry->bytes, bytes, __ATOMIC_RELEASE);
  return entry;
}

static void name_file(struct lb_journal_entry *head, const struct statx *s) {
  head->device = (uint64_t)s->stx_dev_major << 32 | s->stx_dev_minor;
  head->inode = s->stx_ino;
  head->born = s->stx_mask & STATX_BTIME ? (uint64_t)s->stx_btime.tv_sec * 1000000000 + s->stx_btime.tv_nsec : 0;
}

/* A file that is open for writing only is opened once more. */
static bool read_before(int fd, void *buf, uint64_t size, uint64_t at) {
  char path[40];
  ssize_t n = syscall(SYS_pread64, fd, buf, size, at);
  if (n < 0 && errno == EBADF) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, O_RDONLY | O_CLOEXEC);
    if (again < 0) return false;
    n = syscall(SYS_pread64, again, buf, size, at);
    close(again);
  }
  return n == (ssize_t)size;
}

/* Before a write of `parts` to `fd`; at < 0: where the file stands. NULL: it is no regular file, or what is written
 * there is on the disk at once. */
static struct lb_journal_entry *journal_begin(int fd, const struct iovec *parts, int n, int64_t at) {
  int kept_errno = errno, flags;
  struct statx s;
  if (!look(fd, &s) || (flags = fcntl(fd, F_GETFL)) < 0 || flags & O_DSYNC) return errno = kept_errno, NULL;
  struct lb_journal_entry head = {.kind = LB_JOURNAL_WRITE, .old_size = s.stx_size}, *entry;
  for (int i = 0; i < n; i++) head.size += parts[i].iov_len;
  if (at < 0) at = flags & O_APPEND ? (int64_t)s.stx_size : (int64_t)lseek(fd, 0, SEEK_CUR);
  head.at = (uint64_t)at;
  if (head.at < head.old_size) head.before = head.old_size - head.at < head.size ? head.old_size - head.at : head.size;
  name_file(&head, &s);
  entry = append(&head);
  if (entry && head.before > 0 && !read_before(fd, entry + 1, head.before, head.at)) atomic_store(&journal->full, 1);
  return errno = kept_errno, entry;
}

static void journal_end(struct lb_journal_entry *entry, const struct iovec *parts, int n, ssize_t written) {
  if (!entry) return;
  uint64_t left = written > 0 ? (uint64_t)written : 0, sum = LB_JOURNAL_SUM_BEGIN;
  entry->written = left;
  for (int i = 0; i < n && left > 0; i++) {
    uint64_t size = parts[i].iov_len < left ? parts[i].iov_len : left;
    sum = lb_journal_sum(sum, parts[i].iov_base, size);
    left -= size;
  }
  entry->sum = sum;
  atomic_store(&entry->moment, atomic_fetch_add(&journal->moment, 1) + 1);
}

/* What it returns goes to journal_sync_end(). */
static uint64_t journal_sync_begin(void) { return journal ? atomic_fetch_add(&journal->moment, 1) + 1 : 0; }

static void journal_sync_end(int fd, uint64_t began, int result) {
  int kept_errno = errno;
  struct statx s;
  if (result == 0 && look(fd, &s)) {
    struct lb_journal_entry head = {.kind = LB_JOURNAL_SYNC, .moment = began};
    name_file(&head, &s);
    append(&head);
  }
  errno = kept_errno;
}

/* ---- the calls --------------------------------------------------------------------------------- */

static ssize_t count(int fd, ssize_t written) {
  struct statx s;
  if (!page || fd <= STDERR_FILENO || syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &s) != 0 ||
      !S_ISREG(s.stx_mode))
    return written;
  atomic_fetch_add(&page->writes, 1);
  if (written > 0) atomic_fetch_add(&page->bytes, (uint64_t)written);
  return written;
}

static int count_sync(int r) {
  if (page) atomic_fetch_add(&page->syncs, 1);
  return r;
}

/* AT: where in the file, < 0 = where it stands. CALL: the system call. */
#define WRITTEN(FD, PARTS, N, AT, CALL)                                                                                \
  do {                                                                                                                 \
    struct lb_journal_entry *entry_ = journal_begin(FD, PARTS, N, AT);                                                 \
    ssize_t written_ = (CALL);                                                                                         \
    journal_end(entry_, PARTS, N, written_);                                                                           \
    return count(FD, written_);                                                                                        \
  } while (0)

static ssize_t write_one(int fd, const void *data, size_t size, off64_t at) {
  struct iovec part = {(void *)data, size};
  WRITTEN(fd, &part, 1, at, at < 0 ? syscall(SYS_write, fd, data, size) : syscall(SYS_pwrite64, fd, data, size, at));
}

static ssize_t write_parts(int fd, const struct iovec *parts, int n, off64_t at) {
  WRITTEN(fd, parts, n, at, at < 0 ? syscall(SYS_writev, fd, parts, n) : syscall(SYS_pwritev, fd, parts, n, at, 0));
}

static int sync_file(long call, int fd) {
  uint64_t began = journal_sync_begin();
  int r = (int)syscall(call, fd);
  journal_sync_end(fd, began, r);
  return count_sync(r);
}

EXPORTED ssize_t write(int fd, const void *data, size_t size) { return write_one(fd, data, size, -1); }
EXPORTED ssize_t writev(int fd, const struct iovec *parts, int n) { return write_parts(fd, parts, n, -1); }
EXPORTED ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return write_one(fd, data, size, at); }
EXPORTED ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { return write_one(fd, data, size, at); }
EXPORTED ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t at) { return write_parts(fd, parts, n, at); }
EXPORTED ssize_t pwritev64(int fd, const struct iovec *parts, int n, off64_t at) {
  return write_parts(fd, parts, n, at);
}
EXPORTED int fsync(int fd) { return sync_file(SYS_fsync, fd); }
EXPORTED int fdatasync(int fd) { return sync_file(SYS_fdatasync, fd); }
