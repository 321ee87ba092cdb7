/* SPDX-License-Identifier: MIT
 *
 * cache.h - what is made once and used by many trials: a data folder, an archive of classes.
 */
#ifndef LB_CACHE_H
#define LB_CACHE_H

#include "cluster.h"

/* Makes the folder for it (cache_dir, or without one the first server's own) and locks it, so that only one process at a time makes such a thing. 0 with *ret_fd, whose close()
 * gives it back, or -errno with cluster->err (-ETIMEDOUT). */
int lb_cache_lock(struct lb_cluster *cluster, lb_ns deadline, int *ret_fd);
/* The path of the data folder of that name. If it is not there yet, `make` makes it now as "data" in a folder that it is
 * given: it appears under its name by rename, so it is whole or absent. 0 or -errno with cluster->err. */
int lb_cache_template(struct lb_cluster *cluster, const char *name, lb_ns deadline,
                      int (*make)(struct lb_cluster *cluster, const char *dir), char *ret, size_t size);
/* Copies a data folder that was made once as the server's own, "data". 0 or -errno with cluster->err. */
int lb_cache_copy(struct lb_cluster *cluster, const struct lb_server *server, const char *template);

#endif
