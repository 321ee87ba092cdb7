/* SPDX-License-Identifier: MIT
 *
 * A preload library, no part of the harness: it counts what the server it is loaded into writes to regular files, and how often it has one
 * synced, in the page (disk_page.h) that the environment variable LOCKBENCH_DISK names. Forked children count in the same page.
 *
 * What goes to standard output and standard error is no data, and is left out: there servers log. So is what the C library writes for
 * itself (stdio), and what a program writes that calls the kernel directly, as those written in Go do, or through a mapping.
 * A call counts whether it succeeds or not.
 *
 * Where the environment names a journal, each write is kept there, too, until it is synced (journal_shim.c): what a loss of power takes.
 */
#undef _FILE_OFFSET_BITS /* or pwrite would be pwrite64, and both are wanted */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "disk_page.h"
#include "journal_shim.h"

#define EXPORTED __attribute__((visibility("default")))

static struct lb_disk_page *page;

__attribute__((constructor)) static void map_page(void) {
  const char *path = getenv(LB_DISK_VARIABLE);
  int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *mapped = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped == MAP_FAILED) return;
  page = mapped;
  atomic_fetch_add(&page->loaded, 1);
}

static ssize_t count(int fd, ssize_t written) {
  struct stat s;
  if (!page || fd <= STDERR_FILENO || fstat(fd, &s) < 0 || !S_ISREG(s.st_mode)) return written;
  atomic_fetch_add(&page->writes, 1);
  if (written > 0) atomic_fetch_add(&page->bytes, (uint64_t)written);
  return written;
}

static int count_sync(int r) {
  if (page) atomic_fetch_add(&page->syncs, 1);
  return r;
}

/* AT: where in the file, < 0 = where it stands. CALL: the system call. */
#define WRITTEN(FD, PARTS, N, AT, CALL)                                       \
  do {                                                                        \
    struct lb_journal_entry *entry_ = lb_journal_begin(FD, PARTS, N, AT);      \
    ssize_t written_ = (CALL);                                                 \
    lb_journal_end(entry_, PARTS, N, written_);                                \
    return count(FD, written_);                                                \
  } while (0)

static ssize_t write_one(int fd, const void *data, size_t size, off64_t at) {
  struct iovec part = {(void *)data, size};
  WRITTEN(fd, &part, 1, at, at < 0 ? syscall(SYS_write, fd, data, size) : syscall(SYS_pwrite64, fd, data, size, at));
}

static ssize_t write_parts(int fd, const struct iovec *parts, int n, off64_t at) {
  WRITTEN(fd, parts, n, at, at < 0 ? syscall(SYS_writev, fd, parts, n) : syscall(SYS_pwritev, fd, parts, n, at, 0));
}

static int sync_file(long call, int fd) {
  uint64_t began = lb_journal_sync_begin();
  int r = (int)syscall(call, fd);
  lb_journal_sync_end(fd, began, r);
  return count_sync(r);
}

EXPORTED ssize_t write(int fd, const void *data, size_t size) { return write_one(fd, data, size, -1); }
EXPORTED ssize_t writev(int fd, const struct iovec *parts, int n) { return write_parts(fd, parts, n, -1); }
EXPORTED ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return write_one(fd, data, size, at); }
EXPORTED ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { return write_one(fd, data, size, at); }
EXPORTED ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t at) { return write_parts(fd, parts, n, at); }
EXPORTED ssize_t pwritev64(int fd, const struct iovec *parts, int n, off64_t at) { return write_parts(fd, parts, n, at); }
EXPORTED int fsync(int fd) { return sync_file(SYS_fsync, fd); }
EXPORTED int fdatasync(int fd) { return sync_file(SYS_fdatasync, fd); }
