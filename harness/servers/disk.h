/* SPDX-License-Identifier: MIT
 *
 * disk.h - the disk of a server: its writes are counted, by a preload library (preload/disk_shim.c); its syncs may
 * stall.
 */
#ifndef LB_DISK_H
#define LB_DISK_H

#include <stdbool.h>
#include <stddef.h>

struct lb_cluster;
struct lb_counts;
struct lb_server;

/* Before the server starts: it loads the library, which counts in server->counted. 0 or -errno (-ENOENT: no such
 * library; -EOPNOTSUPP: it would see nothing), and then the server is as before. */
int lb_disk_watch(struct lb_cluster *cluster, size_t index);
/* Adds "writes to files", "bytes written" and "fsyncs" so far. False: unknown, as the library is not loaded or the
 * server calls other functions. */
bool lb_disk_counts(const struct lb_server *server, struct lb_counts *counts);
void lb_disk_forget(struct lb_server *server);
/* Before it starts: its syncs may stall from then on (network/stall.h). 0. */
int lb_disk_may_stall(struct lb_cluster *cluster, size_t index);

#endif
