/* SPDX-License-Identifier: MIT
 *
 * journal_shim.h - how the preload library keeps the journal of a server's writes (journal.h). Where the environment names none, these do
 * nothing.
 */
#ifndef LB_JOURNAL_SHIM_H
#define LB_JOURNAL_SHIM_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct lb_journal_entry;

/* Before and after a write of `parts` to `fd`; at < 0: where the file stands. The first may return NULL: it is no regular file, or what is
 * written there is on the disk at once. */
struct lb_journal_entry *lb_journal_begin(int fd, const struct iovec *parts, int n, int64_t at);
void lb_journal_end(struct lb_journal_entry *entry, const struct iovec *parts, int n, ssize_t written);
/* Before and after a sync: what the first returns goes to the second. */
uint64_t lb_journal_sync_begin(void);
void lb_journal_sync_end(int fd, uint64_t began, int result);

#endif
