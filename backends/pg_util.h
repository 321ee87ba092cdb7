/* SPDX-License-Identifier: MIT
 *
 * pg_util.h - PostgreSQL connections with our own deadlines, on libpq's asynchronous calls.
 * Private to the PostgreSQL protocols and the harness's PostgreSQL topologies.
 */
#ifndef LB_PG_UTIL_H
#define LB_PG_UTIL_H

#include <libpq-fe.h>

#include "backend.h"

struct pg_conn; /* one connection, one thread */

/* Connects to user `lockbench`, database `postgres` (trust). 0, or -errno with env->err (-ETIMEDOUT, -ECONNREFUSED ...). */
int pg_open(struct lb_env *env, const char *host, uint16_t port, lb_ns deadline, struct pg_conn **ret);
/* NULL is fine. */
void pg_close(struct pg_conn *conn);
/* One statement in autocommit with text parameters. 0: *ret holds the result, also an error result (PQresultStatus says), PQclear it;
 * LB_UNKNOWN: sent, and no answer came (deadline, connection lost) - the connection is then dead, close it; -errno: nothing was sent. */
int pg_query(struct pg_conn *conn, lb_ns deadline, PGresult **ret, const char *sql, int count, const char *const params[]);

#endif
