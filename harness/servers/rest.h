/* SPDX-License-Identifier: MIT
 *
 * rest.h - whether anything of earlier faults of links is left in a network: rules that drop, and TCP's memory of what was lost.
 * A connection that lost packets waits longer and longer before it sends them again, up to two minutes, also when
 * the cut is over.
 */
#ifndef LB_REST_H
#define LB_REST_H

#include "cluster.h"
#include "net.h"

/* Whether no connection of this server to another one (or the beginning of one) waits to send again, as the kernel of its
 * host says. Servers on one loopback lose nothing: true. */
bool lb_rest_of_links(const struct lb_cluster *cluster, size_t index);
/* Counts the tables of rules that are left on all hosts, which has to come to none. 0, or -errno with err (-EBUSY: some are
 * left). */
int lb_rest_of_rules(const struct lb_net *net, char *err, size_t err_size);
/* From now on no host notes of a connection that ends how long its answers took, and later ones do not begin with that. 0, or -errno
 * with err. */
int lb_rest_no_notes(const struct lb_net *net, char *err, size_t err_size);

#endif
