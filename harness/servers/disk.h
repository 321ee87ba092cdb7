/* SPDX-License-Identifier: MIT
 *
 * disk.h - the disk of a server: what it writes is counted, a loss of power takes what it had not synced, it can be
 * full, and its operator has copies of what is on it. All but copies rest on a preload library that sees what a server
 * writes (preload/disk_shim.c), or on a mount of its own.
 */
#ifndef LB_DISK_H
#define LB_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lb_cluster;
struct lb_counts;
struct lb_server;

/* ---- counted: servers have no statistics of that, or none that is up to date ------------------- */

/* Before the server is started: it loads the library, which counts in server->counted. 0 or -errno (-ENOENT: there is
 * no such library;
 * -EOPNOTSUPP: it would see nothing); then the server is as before. */
int lb_disk_watch(struct lb_cluster *cluster, size_t index);
/* Adds "writes to files", "bytes written" and "fsyncs" so far. False: nobody has counted (the library was not loaded,
 * or its functions are not those that the server calls). */
bool lb_disk_counts(const struct lb_server *server, struct lb_counts *counts);
void lb_disk_forget(struct lb_server *server);

/* ---- a loss of power: when its processes are dead, what it had not synced is taken out of its files ----
 *
 * The library keeps a journal of what it writes (preload/disk_page.h). The disk is the harshest that still keeps its
 * promise: of what was written and not synced nothing is left, and what was synced is all there. That a file exists,
 * its name, and that it was cut shorter, count as on the disk at once. What the C library writes for itself (stdio) is
 * not seen, and stays. */

struct lb_power_loss {
  uint64_t written; /* bytes that it has written since it was started, to files that are still there */
  uint64_t lost;    /* of these, bytes that it had not synced */
};

/* Makes the journal of one server, which its processes keep from its next start on: server->journal. Call it when its
 * folder exists. 0 or
 * -errno with cluster->err (-ENOENT: there is no preload library). */
int lb_power_watch(struct lb_cluster *cluster, size_t index);
/* Of a server whose processes are dead: takes out what it had not synced, and looks whether that is gone and whether
 * the last that it had synced to each file is there. The journal begins anew. 0, or -errno with cluster->err (-ENODATA:
 * nobody has kept a journal; -EIO: it is not as it should be). */
int lb_power_cut(struct lb_cluster *cluster, size_t index, struct lb_power_loss *ret);
/* 1 = a server has synced all that it has written so far, so lb_power_cut() would take nothing; 0 = not all. It may
 * run: nothing is changed, and what it keeps in its memory is not written. -errno with cluster->err: as lb_power_cut(),
 * or its files cannot be listed just now. */
int lb_power_is_synced(struct lb_cluster *cluster, size_t index);

/* ---- a full disk: a small file system in memory, mounted on the folder of a server inside the sandbox of the trial, with which it ends ---- */

/* Gives the server such a disk: before its folder has anything in it. 0, or -errno with cluster->err. */
int lb_room_make(struct lb_cluster *cluster, size_t index);
/* Takes all room that is left, and looks that nothing more can be written. 0, or -errno with cluster->err. */
int lb_room_fill(struct lb_cluster *cluster, size_t index);
/* Gives back what lb_room_fill() took, and looks that there is room again. 0, or -errno with cluster->err. */
int lb_room_free(struct lb_cluster *cluster, size_t index);

/* ---- copies of what a server keeps (lb_family.files): an image of its files, beside its folder -----
 *
 * Whoever takes one makes the server stand still first. What it had in its files at that moment is what a crash would
 * have left there, and servers start on that. */

/* Copies its files, in place of an earlier copy, and compares. 0, or -errno with cluster->err (-ENOENT: it has
 * none). */
int lb_copy_take(struct lb_cluster *cluster, size_t index);
/* Of a server whose processes are dead: puts the copy in place of its files, and compares. 0, or -errno with
 * cluster->err (-ENOENT: there is no copy). */
int lb_copy_put_back(struct lb_cluster *cluster, size_t index);
/* Removes from its folder what lb_family.save made it write there, so that it keeps nothing again. */
void lb_copy_forget_saved(struct lb_cluster *cluster, size_t index);

#endif
