/* SPDX-License-Identifier: MIT
 *
 * address.h - the numeric address behind the host of an endpoint. Private to the connection helpers (redis,
 * pg, zk).
 */
#ifndef LB_ADDRESS_H
#define LB_ADDRESS_H

#include "backend.h"

#define LB_ADDRESS_MAX 64 /* an IPv6 address with the name of its interface */

/* A numeric host is copied at once. A name is looked up every time, because behind a name the server may change, and
 * waited for in env. Of several addresses it is the first of IPv4, or else the first: most servers listen there. 0;
 * -ETIMEDOUT; -ENOENT: no such name;
 * -errno. All with a text in env->err. */
int lb_address(struct lb_env *env, const char *host, lb_ns deadline, char ret[LB_ADDRESS_MAX]);

#endif
