/* SPDX-License-Identifier: MIT
 *
 * peers.h - the libraries that people use, as rows of their own: what peers/peers.ini says of each becomes a foreign
 * lock (backends/foreign/foreign.h) of the registry. Nothing of them is started or needed before a trial asks for one.
 */
#ifndef LB_PEERS_H
#define LB_PEERS_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "backends/backend.h"

/* Adds what <root>/peers/peers.ini names. Once, before the registry is used. No such file: there are none. 0, or
 * -EINVAL with one line in err (file and section). */
int lb_peers_load(const char *root, struct lb_error *err);
/* The file that a peer lacks to run on this machine; NULL = it can, or it is no peer. Static. */
const char *lb_peers_missing_file(const struct lb_protocol *protocol);
/* How many of the peers cannot run on this machine; *ret_all = of how many. */
size_t lb_peers_missing(size_t *ret_all);
/* The end of a line that says it of `count` of `all` libraries, with what installs them: their names, or without these
 * (NULL, or many) all. */
void lb_peers_say_missing(const char *const *names, size_t count, size_t all, FILE *out);
/* As ./bench peers takes it: without its kind. Part of the protocol's own name. */
const char *lb_peers_name(const struct lb_protocol *protocol);
bool lb_peers_has(const struct lb_protocol *protocol);
/* A list of systems ("a@x,peers,b") with each word `peers` put as all peers without a line `museum` that can run here;
 * of those that cannot, one line on stderr. `missing_too`: as all. malloc'd; NULL = no memory. */
char *lb_peers_expand(const char *systems, bool missing_too);

#endif
