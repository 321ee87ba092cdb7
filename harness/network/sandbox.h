/* SPDX-License-Identifier: MIT
 *
 * sandbox.h - a process with namespaces of its own (PID, mount, network, IPC; a user namespace
 * around them when we are not root), in which a trial lives. When it ends, however it ends, the
 * kernel ends everything inside.
 */
#ifndef LB_SANDBOX_H
#define LB_SANDBOX_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/error.h"

enum lb_isolation_kind {
  LB_ISOLATION_ROOT, /* namespaces, as root */
  LB_ISOLATION_USER, /* namespaces inside a user namespace */
  LB_ISOLATION_NONE, /* forbidden here: trials share this machine's loopback, without network faults */
};

struct lb_isolation {
  enum lb_isolation_kind kind;
  struct lb_error why; /* of NONE: what was tried and refused */
};

/* "root", "user", "none". */
const char *lb_isolation_name(enum lb_isolation_kind kind);
/* Finds out by trying (a child builds a bridge, a veth pair and an nftables rule); the first call
 * takes some 30 ms, later ones answer from memory. LOCKBENCH_NO_NAMESPACES=1 in the environment
 * answers NONE. */
const struct lb_isolation *lb_isolation_probe(void);

/* fork(2) into new namespaces as the probe allows. In the child (return 0): it is PID 1 of its namespace with its own
 * /proc, a private mount table and loopback up; it gets SIGKILL when the parent dies. In the parent: the pid, or
 * -errno. alive, parents_end: the two ends of a pipe; the child closes the write end, so that the pipe ends with the
 * parent. It reads once, to notice a parent that died before the child could ask for that signal. */
pid_t lb_sandbox_fork(int alive, int parents_end);
/* The same in the network of this machine, for a trial that has to reach servers that are not ours. */
pid_t lb_sandbox_fork_online(int alive, int parents_end);
/* In the sandbox: a memory file system on `dir`. 0 or -errno. */
int lb_sandbox_mount_memory(const char *dir);

#endif
