/* SPDX-License-Identifier: MIT
 *
 * The writer of the journal, inside a server: part of the preload library, no part of the harness. See journal.h.
 *
 * What was in the file before is read just before the write. Two processes that write the same bytes at the same time could make that
 * wrong; servers take locks to avoid just this.
 */
#include "journal_shim.h"

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
#include <unistd.h>

#include "journal.h"

static struct lb_journal *journal;

__attribute__((constructor)) static void map_journal(void) {
  const char *path = getenv(LB_JOURNAL_VARIABLE);
  int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *mapped = mmap(NULL, LB_JOURNAL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped == MAP_FAILED) return;
  journal = mapped;
  atomic_fetch_add(&journal->users, 1);
}

/* A regular file; not what goes to standard output and standard error. */
static bool look(int fd, struct statx *ret) {
  return journal && fd > STDERR_FILENO && statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, ret) == 0 && S_ISREG(ret->stx_mode);
}

static struct lb_journal_entry *append(const struct lb_journal_entry *head) {
  uint64_t bytes = (sizeof *head + head->before + 7) & ~UINT64_C(7), room = LB_JOURNAL_BYTES - sizeof *journal;
  if (bytes > room || atomic_load(&journal->used) > room - bytes) {
    atomic_store(&journal->full, 1);
    return NULL;
  }
  uint64_t at = atomic_fetch_add(&journal->used, bytes);
  if (at + bytes > room) { /* others were faster: an end that nobody reads */
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

struct lb_journal_entry *lb_journal_begin(int fd, const struct iovec *parts, int n, int64_t at) {
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

void lb_journal_end(struct lb_journal_entry *entry, const struct iovec *parts, int n, ssize_t written) {
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

uint64_t lb_journal_sync_begin(void) { return journal ? atomic_fetch_add(&journal->moment, 1) + 1 : 0; }

void lb_journal_sync_end(int fd, uint64_t began, int result) {
  int kept_errno = errno;
  struct statx s;
  if (result == 0 && look(fd, &s)) {
    struct lb_journal_entry head = {.kind = LB_JOURNAL_SYNC, .moment = began};
    name_file(&head, &s);
    append(&head);
  }
  errno = kept_errno;
}
