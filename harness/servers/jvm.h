/* SPDX-License-Identifier: MIT
 *
 * jvm.h - the machine that ZooKeeper runs in: its classes as a file, made once per run and used by every
 * server, which a JVM maps instead of loading each class from a jar; and what its compilers have done, seen from
 * outside. Private to family_zookeeper.c.
 */
#ifndef LB_JVM_H
#define LB_JVM_H

#include <sys/types.h>

#include "cluster.h"

/* Starts the one server of `trainer` with this option of the JVM, and waits until it serves. 0 or
 * -errno. */
typedef int lb_jvm_trainee(struct lb_cluster *trainer, const char *option, lb_ns deadline);

/* Makes the archive in cluster->cache_dir unless this was tried before. Several processes may ask at
 * once. It never fails: without an archive servers only start more slowly. */
void lb_jvm_archive(struct lb_cluster *cluster, lb_ns deadline, lb_jvm_trainee *start);
/* The option with which a JVM of this cluster finds the archive, or one that changes nothing. */
void lb_jvm_archive_option(const struct lb_cluster *cluster, char *buf, size_t size);

/* CPU time that its compilers have used so far: the threads "C1 CompilerThread0" and the like. Threads
 * that have ended are not counted. 0, or -errno (-ESRCH: no such process). */
int lb_jvm_compiling(pid_t pid, lb_ns *ret);

#endif
