/* SPDX-License-Identifier: MIT
 *
 * disk_page.h - the shared page in which the processes of a server count what they write to files. Private to disk.c and disk_shim.c.
 */
#ifndef LB_DISK_PAGE_H
#define LB_DISK_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

#define LB_DISK_VARIABLE "LOCKBENCH_DISK"

struct lb_disk_page {
  _Atomic uint64_t loaded; /* processes that have mapped it: 0 = nobody counts */
  _Atomic uint64_t writes, bytes, syncs;
};

#endif
