/* SPDX-License-Identifier: MIT
 *
 * room.h - a disk of a server's own that can be full: a small file system in memory, mounted on its folder inside the sandbox of the trial, and a file that takes what
 * is left of it. It ends with the sandbox.
 */
#ifndef LB_ROOM_H
#define LB_ROOM_H

#include "cluster.h"

/* Gives the server such a disk: before its folder has anything in it. 0, or -errno with cluster->err. */
int lb_room_make(struct lb_cluster *cluster, size_t index);
/* Takes all room that is left, and looks that nothing more can be written. 0, or -errno with cluster->err. */
int lb_room_fill(struct lb_cluster *cluster, size_t index);
/* Gives back what lb_room_fill() took, and looks that there is room again. 0, or -errno with cluster->err. */
int lb_room_free(struct lb_cluster *cluster, size_t index);

#endif
