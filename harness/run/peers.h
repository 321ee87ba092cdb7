/* SPDX-License-Identifier: MIT
 *
 * peers.h - the libraries that people use, as rows of their own: what peers/peers.ini says of each becomes a foreign lock (backends/foreign.h) of the registry. Nothing of
 * them is started or needed before a trial asks for one.
 */
#ifndef LB_PEERS_H
#define LB_PEERS_H

#include <stddef.h>

#include "backends/backend.h"

/* Adds what <root>/peers/peers.ini names. Once, before anybody asks the registry. No such file: there are none. 0, or -EINVAL with one line in err (file and section). */
int lb_peers_load(const char *root, char *err, size_t err_size);
/* Why a peer cannot run on this machine: the file that is missing and what installs it. NULL = it can, or it is no peer. Static. */
const char *lb_peer_missing(const struct lb_protocol *protocol);
bool lb_is_peer(const struct lb_protocol *protocol);
/* A list of systems ("a@x,peers,b") with each word `peers` put as all peers that can run here. malloc'd; NULL = no memory. */
char *lb_peers_expand(const char *systems);

#endif
