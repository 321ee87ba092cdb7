/* SPDX-License-Identifier: MIT
 *
 * versions.h - facts of locks that changed with a version of their servers.
 */
#ifndef LB_VERSIONS_H
#define LB_VERSIONS_H

#include "backends/backend.h"
#include "facts.h"
#include "servers/topology.h"

/* Facts of locks that changed with a version of their servers. Reads the file, once for the process. 0;
 * -EINVAL with one line "FILE:LINE: ..."; other -errno with err. */
int lb_versions_load(const char *path, struct lb_error *err);
/* The same from memory, as lb_theory_parse() does. */
int lb_versions_parse(const char *path, const char *data, size_t size, struct lb_error *err);
/* What a topology says of its servers, or "": asked once for the process. */
const char *lb_versions_of(const struct lb_topology *topology);
/* Puts in what holds for the lock on servers of the version that is here, or that LOCKBENCH_VERSIONS names. */
void lb_versions_add(const char *lock, const struct lb_topology *topology, struct lb_facts *facts);
/* Whether these servers are what the lock needs. False with "needs valkey >= 9.0; this is redis 7.0.15" in `why`. Servers
 * that do not tell their version are not. */
bool lb_versions_meet(const struct lb_protocol *lock, const struct lb_topology *topology, char *why, size_t size);

#endif
