/* SPDX-License-Identifier: MIT
 *
 * launch.h - from fork to exec: a child that becomes a program on a host, in a folder, as a user.
 * Private to proc.c, which finds the program and puts its arguments and environment together.
 */
#ifndef LB_LAUNCH_H
#define LB_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct lb_launch {
  char *path; /* of the program */
  const char **argv;
  char **env;
  const char *dir, *log; /* NULL = our own folder; NULL = /dev/null */
  int netns;             /* descriptor of the network namespace; -1 = ours */
  bool unprivileged;     /* the program must see a uid that is not 0 */
  pid_t parent;          /* with which it dies */
};

/* Forks, and returns once the child is the program or has failed to become it. `program` is its
 * name for messages. 0 and *ret; or -errno with a line in err that names the step that failed; the
 * child is then gone and waited for. */
int lb_launch(const struct lb_launch *l, const char *program, pid_t *ret, char *err, size_t err_size);
/* "cannot start PROGRAM: WHAT: text of `error`" into err. Returns -error. */
int lb_launch_fail(char *err, size_t err_size, int error, const char *program, const char *what);

#endif
