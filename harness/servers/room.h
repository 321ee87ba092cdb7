/* SPDX-License-Identifier: MIT
 *
 * room.h - a disk that is full: a small file system in memory, mounted on the folder of a server inside the sandbox of the
 * trial, with which it ends.
 */
#ifndef LB_ROOM_H
#define LB_ROOM_H

#include <stddef.h>

struct lb_cluster;

/* Gives the server such a disk: before its folder has anything in it. 0, or -errno with cluster->err. */
int lb_room_make(struct lb_cluster *cluster, size_t index);
/* Takes all room that is left, and proves that nothing more can be written. 0, or -errno with cluster->err. */
int lb_room_fill(struct lb_cluster *cluster, size_t index);
/* Gives back what lb_room_fill() took, and proves that there is room. 0, or -errno with cluster->err. */
int lb_room_free(struct lb_cluster *cluster, size_t index);

#endif
