/* SPDX-License-Identifier: MIT
 *
 * registry.h - the one list of protocols, and protocols loaded from a file.
 */
#ifndef LB_REGISTRY_H
#define LB_REGISTRY_H

#include "backend.h"

struct lb_error; /* base/error.h */

/* All protocols: the built-in ones, then those loaded, in this order. NULL for i beyond the end. */
const struct lb_protocol *lb_protocol_at(size_t i);
/* By name, or NULL. */
const struct lb_protocol *lb_protocol_find(const char *name);
/* The one to use on servers like those of this topology; NULL = not said. */
const struct lb_protocol *lb_protocol_to_use(const char *topology);
/* Whether its grants can carry a fencing token: always (LB_TRAIT_FENCED), or with its boolean option `fence` on. */
bool lb_protocol_can_fence(const struct lb_protocol *protocol);
/* Lists of points end with NULL; a protocol may have none. */
bool lb_protocol_has_point(const char *const *points, const char *name);
/* The flaw that it declares in this statement of conform, with these values of its options (as in lb_config), or
 * NULL. */
const struct lb_flaw *lb_protocol_flaw(const struct lb_protocol *protocol, const union lb_value *options,
                                       const char *statement);
/* Whether it came by lb_protocol_load(). */
bool lb_protocol_is_plugin(const struct lb_protocol *protocol);
/* What the file of a built-in protocol says at its head, as it was when the tool was built; its lines end with '\n'. */
struct lb_design {
  const char *name; /* of the protocol */
  const char *file; /* in backends/: "pg-lease.c" */
  const char *text;
};
/* Of all files (designs.awk makes it); name = NULL at the end. */
extern const struct lb_design lb_designs[];
/* NULL for what was loaded: its file is not known. */
const struct lb_design *lb_protocol_design(const struct lb_protocol *protocol);
/* Adds the table of a foreign lock (foreign.h), which stays the caller's and has to stay there until the process ends.
 * 0, or -EINVAL with one line in err: a name that is taken, a broken table, too many. */
int lb_protocol_add(const struct lb_protocol *protocol, struct lb_error *err);
/* Checks one table: version, names, texts, mandatory hooks, traits that agree with the hooks. 0, or -EINVAL with one
 * line in err, which repeats nothing of the table: what is in there may not be printable. */
int lb_protocol_check(const struct lb_protocol *protocol, struct lb_error *err);
/* Loads `path` (a shared library that exports lockbench_plugin) and adds its protocol; it stays loaded until the
 * process ends. NULL with one line in err: not a library, no such symbol, another version, a name that is taken, a
 * broken table. */
const struct lb_protocol *lb_protocol_load(const char *path, struct lb_error *err);

#endif
