/* SPDX-License-Identifier: MIT
 *
 * tool.h - runs a tool of the system (ip, nft) on a host, to its end.
 */
#ifndef LB_TOOL_H
#define LB_TOOL_H

#include <stddef.h>

#include "host.h"

/* Runs argv[0], looked for in PATH and the sbin folders, in the network namespace of `host` (NULL:
 * ours), with `input` (at most 64 KiB) as its standard input. 0, and what it printed in
 * *ret_output, to be freed, unless that is NULL; or -errno with its first line in err. */
int lb_tool_run(const struct lb_host *host, char *const argv[], const char *input, char **ret_output, char *err, size_t err_size);

#endif
