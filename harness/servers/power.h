/* SPDX-License-Identifier: MIT
 *
 * disk.h - the disk of a server: it counts writes, loses what was not synced with the power, can be full, and can be
 * copied. All but copies need a preload library that sees writes (preload/disk_shim.c), or a mount.
 */
#ifndef LB_POWER_H
#define LB_POWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lb_cluster;
struct lb_counts;
struct lb_server;

/* ---- counted: servers have no statistics of that, or none that is up to date ------------------- */

/* Before the server starts: it loads the library, which counts in server->counted. 0 or -errno (-ENOENT: no such
 * library; -EOPNOTSUPP: it would see nothing), and then the server is as before. */
int lb_disk_watch(struct lb_cluster *cluster, size_t index);
/* Adds "writes to files", "bytes written" and "fsyncs" so far. False: unknown, as the library is not loaded or the
 * server calls other functions. */
bool lb_disk_counts(const struct lb_server *server, struct lb_counts *counts);
void lb_disk_forget(struct lb_server *server);

/* ---- a loss of power: when its processes are dead, what it had not synced is removed from its files ----
 *
 * The library keeps a journal of writes (preload/disk_page.h). This is the harshest disk that keeps its promise:
 * nothing is left of what was not synced, and all of what was. Names, existence and truncation of files count as on the
 * disk at once. What the C library writes for itself (stdio) is not seen, and stays. */

struct lb_power_loss {
  uint64_t written; /* bytes that it has written since it was started, to files that are still there */
  uint64_t lost;    /* of these, bytes that it had not synced */
};

/* Makes the journal that a server keeps from its next start on: server->journal. Its folder must exist. 0 or -errno
 * with cluster->err (-ENOENT: no preload library). */
int lb_power_watch(struct lb_cluster *cluster, size_t index);
/* Removes what a server had not synced; its processes are dead. Proves it: that is gone, and the last that was synced
 * to each file is there. A new journal begins. 0, or -errno with cluster->err (-ENODATA: there is no journal; -EIO: the
 * files are not as they should be). */
int lb_power_cut(struct lb_cluster *cluster, size_t index, struct lb_power_loss *ret);
/* 1 = a server has synced all that it has written, so lb_power_cut() would remove nothing; 0 = not all. It may run:
 * nothing is changed. -errno with cluster->err: as lb_power_cut(), or its files cannot be listed now. */
int lb_power_is_synced(struct lb_cluster *cluster, size_t index);

/* ---- a full disk: a small file system in memory, mounted on the folder of a server inside the sandbox of the trial,
 * with which it ends ---- */

/* Gives the server such a disk: before its folder has anything in it. 0, or -errno with cluster->err. */
int lb_room_make(struct lb_cluster *cluster, size_t index);
/* Takes all room that is left, and proves that nothing more can be written. 0, or -errno with cluster->err. */
int lb_room_fill(struct lb_cluster *cluster, size_t index);
/* Gives back what lb_room_fill() took, and proves that there is room. 0, or -errno with cluster->err. */
int lb_room_free(struct lb_cluster *cluster, size_t index);

/* ---- a disk that stalls: syncs of a server do not end (network/stall.h) ---- */

/* Before it starts: its disk may stall from then on. 0, or -errno with cluster->err. */
int lb_stall_watch(struct lb_cluster *cluster, size_t index);

/* ---- copies of what a server keeps (lb_family.files): an image of its files, beside its folder -----
 *
 * The server must stand still: its files are then what a crash would have left, and servers start on that. */

/* Copies its files, in place of an earlier copy, and compares. 0, or -errno with cluster->err (-ENOENT: it has
 * none). */
int lb_copy_take(struct lb_cluster *cluster, size_t index);
/* Puts the copy in place of the files of a server whose processes are dead, and compares. 0, or -errno with
 * cluster->err (-ENOENT: there is no copy). */
int lb_copy_put_back(struct lb_cluster *cluster, size_t index);
/* Removes the files of a server whose processes are dead, and sees that none is left. 0, or -errno with cluster->err
 * (-ENOENT: there was none). */
int lb_files_wipe(struct lb_cluster *cluster, size_t index);
/* Removes from its folder what lb_family.save made it write there, so that it keeps nothing again. */
void lb_copy_forget_saved(struct lb_cluster *cluster, size_t index);

#endif
