/* SPDX-License-Identifier: MIT
 *
 * tool.h - runs a tool of the system (ip, nft) on a host.
 */
#ifndef LB_TOOL_H
#define LB_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "host.h"

struct lb_tool { /* one that runs */
  pid_t pid;
  int output; /* to be read to its end */
  bool told;  /* all of its input left */
};

/* Starts argv[0] as lb_tool_run() does, so that several run side by side. 0: lb_tool_end() has to be called; or -errno with err. */
int lb_tool_start(const struct lb_host *host, char *const argv[], const char *input, struct lb_tool *ret, char *err, size_t err_size);
/* Waits for its end. `name` is for err; the rest as of lb_tool_run(). */
int lb_tool_end(struct lb_tool *tool, const char *name, char **ret_output, char *err, size_t err_size);

/* Runs argv[0], looked for in PATH and the sbin folders, in the network namespace of `host` (NULL:
 * ours), with `input` (at most 64 KiB) as its standard input. 0, and what it printed in
 * *ret_output, to be freed, unless that is NULL; or -errno with its first line in err. */
int lb_tool_run(const struct lb_host *host, char *const argv[], const char *input, char **ret_output, char *err, size_t err_size);

#endif
