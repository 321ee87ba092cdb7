/* SPDX-License-Identifier: MIT
 *
 * binary.h - the programs of servers: where they are installed, on this machine or in an origin, and what they print.
 */
#ifndef LB_BINARY_H
#define LB_BINARY_H

#include <stddef.h>

#include "origin.h"

/* Path of the first alternative of a need (see lb_family.needs) that exists; malloc'd, NULL = none does. `origin` NULL:
 * on this machine. In a root the path is that of the root; what a prefix lacks is looked for on this machine. */
char *lb_binary_find(const struct lb_origin *origin, const char *need);
/* Output of a command, stdout and stderr, cut to `size`; argv[0] is a need. 0 or -errno (-ENOENT: it is not there); its
 * exit status does not matter. */
int lb_binary_output(const struct lb_origin *origin, const char *const argv[], const char *argv0, char *buf,
                     size_t size);

#endif
