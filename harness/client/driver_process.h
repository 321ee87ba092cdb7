/* SPDX-License-Identifier: MIT
 *
 * driver_process.h - what the drivers share whose clients are processes of their own (driver_process.c, driver_exec.c): a body, a socket for commands, and the
 * hooks of driver.h that are the same for both. Private to them.
 */
#ifndef LB_DRIVER_PROCESS_H
#define LB_DRIVER_PROCESS_H

#include <sys/types.h>

#include "driver.h"
#include "program.h"

struct lb_body {
  pid_t pid;   /* 0 = reaped */
  int status;  /* as of waitpid(2), once it is reaped */
  bool killed; /* by the signal hook */
  bool still;  /* of driver_exec.c: stopped, with all that it started */
  int socket;
};

/* The hook start, with a ground (program.h). */
int lb_process_start(struct lb_client *client, const struct lb_client_plan *plan, const struct lb_ground *ground);
void lb_process_sleep_until(struct lb_program *program, lb_ns when);
/* Hooks as driver.h says. lb_process_look() looks at the process alone, and reaps it. */
size_t lb_process_writers(size_t clients);
int lb_process_send(struct lb_client *client, const struct lb_command *command);
int lb_process_await(struct lb_client *client, lb_ns deadline, struct lb_reply *ret);
int lb_process_peek(const struct lb_client *client);
enum lb_life lb_process_look(struct lb_client *client);
void lb_process_tell_end(const struct lb_client *client, char *buf, size_t size);

#endif
