/* SPDX-License-Identifier: MIT
 *
 * proc.h - one server process: started on a host, with its output in a log file, dead when its
 * parent dies. And short runs of a tool of the system (ip) on a host.
 *
 * "Its tree" below is the process, its group, and everything it started: PostgreSQL's processes
 * leave the group.
 */
#ifndef LB_PROC_H
#define LB_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "net.h"
#include "stall.h"

struct lb_proc {
  pid_t pid; /* 0 = not running */
};

/* True once this process runs in PID, mount and network namespaces of its own (the trial's sandbox sets it). While it
 * is false and we are root, every program started here drops to uid 65534 for good: a server that trusts every client
 * must not run as root on a loopback that others share. (A root that is the only user of its user namespace is no such
 * root.) */
extern bool lb_proc_sandboxed;

struct lb_proc_plan {
  const struct lb_host *host; /* NULL: in our own network namespace */
  const char *const *argv;    /* argv[0] is searched in PATH */
  const char *path;           /* ... unless this is where the program is */
  const char *argv0;          /* what the program sees as its own name; NULL: argv[0] */
  const char *dir;            /* its working folder; NULL: ours */
  const char *root;           /* the folder that it sees as "/" (root.h), in which `path` is; NULL: our own root */
  const char *keep;           /* with a root: a folder that it sees beside the one around `dir`; NULL: none */
  const char *log;            /* stdout and stderr are appended to it */
  bool
      unprivileged; /* run under another, non-zero uid (PostgreSQL refuses uid 0); files below `dir` are made its own */
  struct lb_stall *stall;       /* its disk may stall; NULL: it may not */
  bool sparse;                  /* it takes no room on disk ahead (sparse.h) */
  const char *const *env_extra; /* NULL-terminated "NAME=value" list, or NULL */
};

/* Starts a program in its own process group, with stdin /dev/null. It gets SIGKILL when its parent dies.
 * 0, or -errno with a line in err (-ENOENT: no such program). */
int lb_proc_start(struct lb_proc *proc, const struct lb_proc_plan *plan, struct lb_error *err);
/* Runs a command to its end like lb_proc_start; its exit status (0..255), 128 + signal, or -errno;
 * -ETIMEDOUT after timeout_ms (the command is then killed). */
int lb_proc_run(const struct lb_proc_plan *plan, int64_t timeout_ms, struct lb_error *err);
/* Sends a signal to its tree; after SIGSTOP also waits until none of its threads runs. 0 or -errno
 * (-ESRCH: not running; -ETIMEDOUT: something would not stop within a second). One that has ended
 * counts as running until lb_proc_alive() has looked: 0, and nothing happens. */
int lb_proc_signal(const struct lb_proc *proc, int sig);
/* True while it runs; reaps it when it has ended. */
bool lb_proc_alive(struct lb_proc *proc);
/* SIGKILL to its tree, waits for the end of all of it. 0 = it died by this signal; -ESRCH = it was
 * already gone. */
int lb_proc_kill(struct lb_proc *proc);
/* Full path of a program in PATH or in `extra` folders (NULL-terminated list, may be NULL);
 * malloc'd; NULL = none. */
char *lb_proc_find(const char *name, const char *const extra[]);

/* Runs argv[0], looked for in PATH and the sbin folders, in the network namespace of `host` (NULL: ours), with `input`
 * (at most 64 KiB) as its standard input, and waits for its end. What it leaves behind is not waited for. 0; -ETIMEDOUT
 * after timeout_ms with one line in err, and its tree is killed; or another -errno with the first line that it wrote. */
int lb_proc_run_tool(const struct lb_host *host, char *const argv[], const char *input, int64_t timeout_ms,
                     struct lb_error *err);
enum { LB_TOOL_MS = 120000 }; /* for one that asks the kernel, on any machine */

#endif
