/* SPDX-License-Identifier: MIT
 *
 * bring.h - a lock that its user brings.
 */
#ifndef LB_BRING_H
#define LB_BRING_H

#include "backends/backend.h"
#include "base/error.h"

/* Loads a plugin; the words of its `.facts` are checked. NULL with one line. */
const struct lb_protocol *lb_bring_plugin(const char *path, struct lb_error *err);
/* Calls an adapter, adds what it says, and takes its word facts=NAME=VALUE,NAME=VALUE. NULL with one line; *ret_asked
 * is then what lb_foreign_ask() returned, where 0 says that its first line was read and is wrong, or -EINVAL: the facts
 * are wrong. */
const struct lb_protocol *lb_bring_adapter(const char *command, int *ret_asked, struct lb_error *err);

#endif
