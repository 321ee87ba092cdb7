/* SPDX-License-Identifier: MIT
 *
 * copy.h - copies of what a server keeps (lb_family.files), as its operator has them: an image of its files, beside its folder.
 *
 * Whoever takes one makes the server stand still first. What it had in its files at that moment is what a crash would have left there, and servers start on that.
 */
#ifndef LB_COPY_H
#define LB_COPY_H

#include "cluster.h"

/* Copies its files, in place of an earlier copy, and compares. 0, or -errno with cluster->err (-ENOENT: it has none). */
int lb_copy_take(struct lb_cluster *cluster, size_t index);
/* Of a server whose processes are dead: puts the copy in place of its files, and compares. 0, or -errno with cluster->err (-ENOENT: there is no copy). */
int lb_copy_put_back(struct lb_cluster *cluster, size_t index);
/* Removes from its folder what lb_family.save made it write there, so that it keeps nothing again. */
void lb_copy_forget_saved(struct lb_cluster *cluster, size_t index);

#endif
