/* SPDX-License-Identifier: MIT
 *
 * datadir.h - the files in which a server keeps its data (lb_operator.files): copied, restored, removed.
 *
 * A copy is an image beside the server's folder. The server must stand still: its files are then what a crash would
 * have left, and servers start on that.
 */
#ifndef LB_DATADIR_H
#define LB_DATADIR_H

#include <stddef.h>

struct lb_cluster;

/* Copies its files, in place of an earlier copy, and compares. 0, or -errno with cluster->err (-ENOENT: it has
 * none). */
int lb_datadir_copy(struct lb_cluster *cluster, size_t index);
/* Puts the copy in place of the files of a server whose processes are dead, and compares. 0, or -errno with
 * cluster->err (-ENOENT: there is no copy). */
int lb_datadir_restore(struct lb_cluster *cluster, size_t index);
/* Removes the files of a server whose processes are dead, and sees that none is left. 0, or -errno with cluster->err
 * (-ENOENT: there was none). */
int lb_datadir_wipe(struct lb_cluster *cluster, size_t index);
/* Removes from its folder what lb_operator.save made it write there, so that it keeps nothing again. */
void lb_datadir_forget_saved(struct lb_cluster *cluster, size_t index);

#endif
