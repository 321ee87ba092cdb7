/* SPDX-License-Identifier: MIT
 *
 * redis_record.h - the record of a lock as one server has it: asked for, removed, and cleaned up after a run.
 */
#ifndef LB_REDIS_RECORD_H
#define LB_REDIS_RECORD_H

#include "backends/record.h"
#include "redis_link.h"

/* The key's record at one server, over a connection of its own: for inspect(). 1, 0, -errno. */
int redis_record_inspect(struct lb_env *env, const struct lb_target *target, size_t endpoint, const char *key,
                         lb_ns deadline);
/* DEL at that server, over a connection of its own: for break_lock(). 1, 0, -errno. */
int redis_record_break(struct lb_env *env, const struct lb_target *target, size_t endpoint, const char *key,
                       lb_ns deadline);

/* Removes every key called <prefix>-... and its counter, page by page, on the server that decides (in a cluster on
 * every master); on each server with service "redis" that takes writes, of which one that fails does not spare the
 * others. A prefix with [...] in it is a pattern of many. 0; LB_UNKNOWN, -errno: some of it may remain. */
int redis_record_clean(struct redis_link *link, const char *prefix, lb_ns deadline);
int redis_record_clean_each(struct lb_env *env, const struct lb_target *target, const char *prefix, lb_ns deadline);

/* For a key of a foreign lock. */
extern const struct lb_record_hooks redis_record_hooks;

#endif
