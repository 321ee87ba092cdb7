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

/* A statement worth preparing. `id` (0..31) tells the statements of one connection apart. */
struct pg_stmt {
  unsigned id;
  const char *sql;
  int params;
};

/* Connects to user `lockbench`, database `postgres` (trust). 0, or -errno with env->err (-ETIMEDOUT, -ECONNREFUSED ...;
 * -EIO: a server answered, and refused, e.g. because it is starting up). */
int pg_open(struct lb_env *env, const char *host, uint16_t port, lb_ns deadline, struct pg_conn **ret);
/* NULL is fine. */
void pg_close(struct pg_conn *conn);
/* One statement in autocommit with text parameters. 0: *ret holds the result, also an error result (PQresultStatus says), PQclear it;
 * LB_UNKNOWN: sent, and no answer came (deadline, connection lost) - the connection is then dead, close it; -errno: nothing was sent. */
int pg_query(struct pg_conn *conn, lb_ns deadline, PGresult **ret, const char *sql, int count, const char *const params[]);
/* The same in one round trip without parsing: prepared on the connection's first use of stmt, which costs one round trip more. */
int pg_call(struct pg_conn *conn, lb_ns deadline, PGresult **ret, const struct pg_stmt *stmt, const char *const params[]);
/* Still of use after the latest call: no LB_UNKNOWN, no FATAL, no -errno of the connection itself. Asks nobody. */
bool pg_usable(const struct pg_conn *conn);
/* Process id of the server process behind this connection. */
int pg_backend_pid(const struct pg_conn *conn);
/* True if the result is an error with this SQLSTATE, or one that begins like it ("08" is a class). */
bool pg_is(const PGresult *result, const char *sqlstate);

#endif
