/* SPDX-License-Identifier: MIT
 *
 * brought.h - a lock that its user brings: a plugin or an adapter. It enters the registry here, and what it states of itself is checked and kept as facts.
 */
#ifndef LB_BROUGHT_H
#define LB_BROUGHT_H

#include <stddef.h>

#include "backends/backend.h"

/* Loads a plugin; the words of its `.facts` are checked. NULL with one line. */
const struct lb_protocol *lb_bring_plugin(const char *path, char *err, size_t err_size);
/* Calls an adapter, adds what it says, and takes its word facts=NAME=VALUE,NAME=VALUE. NULL with one line; *ret_asked is then
 * what lb_foreign_ask() returned, where 0 says that its first line was read and is wrong, or -EINVAL: the facts are wrong. */
const struct lb_protocol *lb_bring_adapter(const char *command, int *ret_asked, char *err, size_t err_size);

#endif
