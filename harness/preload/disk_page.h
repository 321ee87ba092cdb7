/* SPDX-License-Identifier: MIT
 *
 * disk_page.h - what the preload library that sees a server write (disk_shim.c) shares with us: a page of counters, and
 * a journal. Private to it, servers/disk.c, servers/power.c and servers/server.c.
 */
#ifndef LB_DISK_PAGE_H
#define LB_DISK_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

#define LB_DISK_VARIABLE "LOCKBENCH_DISK" /* names the page, a file in the folder of the server */
#define LB_DISK_PAGE "disk.page"

struct lb_disk_page {
  _Atomic uint64_t loaded; /* processes that have mapped it: 0 = no process counts */
  _Atomic uint64_t writes, bytes, syncs;
};

/* ---- the journal ------------------------------------------------------------------------------
 *
 * A record of what a server wrote to its files, which says what a disk would have kept after a power loss. The
 * processes of the server map this file and append to it. It is read when they are dead, or while they run.
 *
 * Each write leaves an entry with what stood there before, each sync one that says when it began. A write has reached
 * the disk when a sync of its file began after it had returned: then it is kept. No process waits for another one, so
 * each may be killed anywhere. */

#define LB_JOURNAL_VARIABLE "LOCKBENCH_JOURNAL"
#define LB_JOURNAL_BYTES (UINT64_C(256) << 20) /* sparse: it takes what is used */

enum lb_journal_kind { LB_JOURNAL_WRITE = 1, LB_JOURNAL_SYNC };

struct lb_journal_entry {       /* a multiple of 8 bytes, with what follows it */
  uint64_t bytes;               /* of all of it; 0 = its process was killed before it was complete */
  uint64_t kind;                /* enum lb_journal_kind */
  uint64_t device, inode, born; /* the file; born: a number that its inode had not before */
  uint64_t at, size, old_size;  /* write: from where, how much was asked for, and how long the file was */
  uint64_t before;              /* bytes that stood there, behind this struct */
  uint64_t written, sum;        /* how much was written, and its checksum */
  _Atomic uint64_t moment;      /* write: when it returned (0 = it never did); sync: when it began */
};

struct lb_journal {
  _Atomic uint64_t users;  /* processes that have mapped it: 0 = no process writes it */
  _Atomic uint64_t used;   /* bytes of entries */
  _Atomic uint64_t moment; /* a clock that counts */
  _Atomic uint64_t full;   /* 1 = something is not in it */
  unsigned char entries[];
};

/* FNV-1a. */
static inline uint64_t lb_journal_sum(uint64_t sum, const void *data, uint64_t size) {
  const unsigned char *at = data;
  for (uint64_t i = 0; i < size; i++) sum = (sum ^ at[i]) * UINT64_C(1099511628211);
  return sum;
}
#define LB_JOURNAL_SUM_BEGIN UINT64_C(14695981039346656037)

#endif
