/* SPDX-License-Identifier: MIT
 *
 * sparse.h - a program that takes no room on disk ahead: the kernel refuses fallocate(2) to it, as a file system does that
 * cannot reserve (EOPNOTSUPP). Its files then grow as they are written. etcd would take 128 MB at each start, which are
 * pages to be cleared where its folder is in memory: a third of its processor time.
 */
#ifndef LB_SPARSE_H
#define LB_SPARSE_H

/* In the child, just before it becomes the program. 0 or -errno. */
int lb_sparse_enter(void);

#endif
