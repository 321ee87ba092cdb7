/* SPDX-License-Identifier: MIT
 *
 * server.h - what the families share: finding programs, writing configuration, starting,
 * waiting by asking. Private to family*.c, topology.c, cluster.c
 * and disk.c.
 */
#ifndef LB_SERVER_H
#define LB_SERVER_H

#include "cluster.h"
#include "preload/skew.h"

/* Path of the first alternative of a need (see lb_family.needs) that exists; malloc'd, NULL = none
 * does. */
char *lb_need_path(const char *need);
/* Output of a command, stdout and stderr, cut to `size`. 0 or -errno; its exit status does not
 * matter. */
int lb_program_output(const char *const argv[], const char *argv0, char *buf, size_t size);

/* Writes a file below the server's folder; append = after what is there. 0 or -errno with
 * cluster->err. */
int lb_server_write(struct lb_cluster *cluster, const struct lb_server *server, bool append, const char *name,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The folder for what is made once and used by many trials: cache_dir, or without one the first
 * server's own. */
const char *lb_cluster_cache(const struct lb_cluster *cluster);
/* Makes that folder and locks it, so that only one process at a time makes such a thing. 0 with *ret_fd,
 * whose close() gives it back, or -errno with cluster->err (-ETIMEDOUT). */
int lb_cluster_lock_cache(struct lb_cluster *cluster, lb_ns deadline, int *ret_fd);
/* Copies a data folder that was made once as the server's own, "data". 0 or -errno with cluster->err. */
int lb_server_copy_template(struct lb_cluster *cluster, const struct lb_server *server, const char *template);
/* Puts a preload library within reach of its process. 0 or -errno with cluster->err. */
int lb_server_bring(struct lb_cluster *cluster, const struct lb_server *server, enum lb_shim which);
/* Starts the server's process in its folder, with the preload libraries that it needs. 0 or -errno with
 * cluster->err. */
int lb_server_start(struct lb_cluster *cluster, struct lb_server *server, const char *const argv[], const char *argv0,
                    bool unprivileged);
/* Starts all servers of the cluster. */
int lb_cluster_launch_all(struct lb_cluster *cluster);
/* 0; -EIO if its process has ended, with its last words in cluster->err. */
int lb_server_check_alive(struct lb_cluster *cluster, struct lb_server *server);
/* Until its servers are asked again (lb_family.poll_ms). */
void lb_cluster_doze(const struct lb_cluster *cluster);
/* Asks `ready` (0 = yes; else why not, in env->err) until it says yes. 0; -ETIMEDOUT; -EIO when a
 * server ended meanwhile, with its last words; cluster->err says what was awaited and
 * what came instead. */
int lb_cluster_await(struct lb_cluster *cluster, lb_ns deadline,
                     int (*ready)(struct lb_cluster *cluster, lb_ns deadline), const char *what);
/* Every server answers by itself: a `ready` for lb_cluster_await. */
int lb_cluster_all_answer(struct lb_cluster *cluster, lb_ns deadline);
/* The deadline for one question to one server, so that a silent one does not eat the time of the
 * others. */
lb_ns lb_ask_until(struct lb_env *env, lb_ns deadline);

#endif
