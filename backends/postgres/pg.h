/* SPDX-License-Identifier: MIT
 *
 * pg.h - PostgreSQL connections with our own deadlines, on libpq's asynchronous calls.
 * Private to the PostgreSQL protocols and the harness's PostgreSQL topologies. What locks need of them is a struct
 * sql_server.
 */
#ifndef LB_PG_H
#define LB_PG_H

#include <libpq-fe.h>

#include "backends/sql/sql.h"

struct pg_conn; /* one connection, one thread; prepares at most 32 statements, told apart by their texts */

/* Connects to the database of the target (NULL: `postgres`), as the endpoint's user or as `lockbench`. Names that begin
 * with `lockbench_` are looked for in `schema` (letters, digits, ':', '-'), and the server process shows it as its
 * application_name; NULL = as the server has it, and "lockbench". 0, or -errno with env->err (-ETIMEDOUT, -ECONNREFUSED
 * ...; -EACCES: the server does not take the user or the password; -EIO: it answered, and refused, e.g. because it is
 * starting up). */
int pg_open(struct lb_env *env, const struct lb_target *target, const struct lb_endpoint *at, const char *schema,
            lb_ns deadline, struct pg_conn **ret);
/* NULL is fine. */
void pg_close(struct pg_conn *conn);
/* One statement in autocommit with text parameters. 0: *ret holds the result, also an error result (PQresultStatus
 * says), PQclear it; LB_UNKNOWN: sent, and no answer came (deadline, connection lost) - the connection is then dead,
 * close it; -errno: nothing was sent. */
int pg_query(struct pg_conn *conn, lb_ns deadline, PGresult **ret, const char *sql, int count,
             const char *const params[]);
/* The same in one round trip without parsing: prepared on the connection's first use of stmt, which costs one round
 * trip more. */
int pg_call(struct pg_conn *conn, lb_ns deadline, PGresult **ret, const struct sql_stmt *stmt,
            const char *const params[]);
/* The same, and its answer is left to whatever is asked next on this connection: the caller does not wait for it, nor
 * learn whether it was done. A statement whose first use this is waits for being prepared. */
void pg_tell(struct pg_conn *conn, lb_ns deadline, const struct sql_stmt *stmt, const char *const params[]);

/* 0 when the result is an answer, else the refusal as -errno with the server's words in env->err: -ENOENT there is no
 * such table,
 * -ECANCELED, -EPROTO all others. */
int pg_refusal(struct lb_env *env, const PGresult *result);
/* Whether a pooler stands between, as the server process that answers says another `pid` than the connection was opened
 * to. Then no statement is prepared any more, as the next one may meet another server process. */
bool pg_pooled(struct pg_conn *conn, int pid);

/* ---- for the locks (sql.h) ----------------------------------------------------------------------------- */

/* Numbers of all grants of all PostgreSQL protocols. One after the other without a cache: sessions with a cache each
 * would hand them out of order. For sql_schema_make(). */
#define PG_CREATE_FENCE "CREATE SEQUENCE IF NOT EXISTS lockbench_fence CACHE 1"

extern const char *const pg_topologies[];
extern const struct sql_server pg_server;

#define PG_LASTS_OPTION                                                                                                \
  {                                                                                                                    \
    "transaction_timeout", LB_OPT_BOOL, 0, 0, 1,                                                                       \
        "the server ends a transaction that lasts longer than the ttl (PostgreSQL 17)"                                 \
  }
#define PG_WAKE_OPTION                                                                                                 \
  { "wake", LB_OPT_BOOL, 0, 0, 1, "a release notifies, and waiters listen instead of polling" }

#endif
