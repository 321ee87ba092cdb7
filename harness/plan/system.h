/* SPDX-License-Identifier: MIT
 *
 * system.h - what is measured: a protocol on a topology.
 */
#ifndef LB_SYSTEM_H
#define LB_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "backends/backend.h"
#include "scenario/scenario.h"
#include "servers/topology.h"

struct lb_system {
  const struct lb_protocol *protocol;
  const struct lb_topology *topology;
  char name[LB_SYSTEM_MAX]; /* "PROTOCOL@TOPOLOGY" or "PROTOCOL@TOPOLOGY:ORIGIN" */
};

/* "TOPOLOGY", or "TOPOLOGY:ORIGIN" for the same servers from elsewhere (servers/origin.h). 0, or -EINVAL with one line and
 * the nearest known word. */
int lb_system_topology(const char *text, const struct lb_topology **ret, struct lb_error *err);
/* "PROTOCOL@TOPOLOGY", or "PROTOCOL" for the first of its topologies. 0, or -EINVAL with one line
 * and the nearest known word. */
int lb_system_parse(const char *text, struct lb_system *ret, struct lb_error *err);
/* The name of the protocol that is nearest to this one; NULL = none is near. A foreign lock may be written without its
 * kind. Static. */
const char *lb_system_near(const char *name);

/* ---- Names for many systems: `standard`, `all` and whatever else scenarios/theory/systems.ini calls by one word, and
 * `peers` (peers.h). ---- */

/* Reads the file, once for the process. 0; -EINVAL with one line "FILE:LINE: ..."; other -errno with err. */
int lb_system_groups_load(const char *path, struct lb_error *err);
/* What is known before any run, of the data below this folder: peers (peers.h), rules (theory/theory.h) and groups.
 * Once for the process. 0, or -errno with one line. */
int lb_system_load_known(const char *root, struct lb_error *err);
/* The systems of a group, "a@x,b@y"; NULL = there is no such group. Static. */
const char *lb_system_group(const char *name);

#endif
