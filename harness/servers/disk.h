/* SPDX-License-Identifier: MIT
 *
 * disk.h - what a server writes to files, and how often it has them synced, counted by a library that is loaded into it (disk_shim.c):
 * servers have no statistics of that, or none that is up to date.
 */
#ifndef LB_DISK_H
#define LB_DISK_H

#include "cluster.h"
#include "counts.h"

#define LB_DISK_SHIM "lockbench-disk.so"
#define LB_DISK_SHIM_VARIABLE "LOCKBENCH_DISK_SHIM"

struct lb_disk {
  struct lb_disk_page *page;
  char library[300], file[300]; /* "LD_PRELOAD=...", "LOCKBENCH_DISK=..." */
  const char *env[3];
};

/* Where that library is, as lb_skew_shim_path(); NULL: not there. Static; one thread. */
const char *lb_disk_shim_path(void);
/* Before the server is started: it loads the library, server->env is its. 0 or -errno (-ENOENT: there is no such library); then the server
 * is as before. */
int lb_disk_watch(struct lb_disk *disk, struct lb_server *server);
/* Adds "writes to files", "bytes written" and "fsyncs" so far. False: nobody has counted (the library was not loaded, or its functions are
 * not those that the server calls). */
bool lb_disk_counts(const struct lb_disk *disk, struct lb_counts *counts);
void lb_disk_forget(struct lb_disk *disk);

#endif
