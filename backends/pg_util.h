/* SPDX-License-Identifier: MIT
 *
 * pg_util.h - PostgreSQL connections with our own deadlines, on libpq's asynchronous calls.
 * Private to the PostgreSQL protocols and the harness's PostgreSQL topologies.
 *   pg_util.c     connections
 *   pg_primary.c  which server to talk to, wherever the primary is now
 */
#ifndef LB_PG_UTIL_H
#define LB_PG_UTIL_H

#include <libpq-fe.h>

#include "backend.h"

struct pg_conn; /* one connection, one thread */

/* A statement worth preparing. Its text tells the statements of one connection apart, of which there are at most 32. */
struct pg_stmt {
  const char *sql;
  int params;
};

/* Connects to the database of the target (NULL: `postgres`), as the endpoint's user or as `lockbench`. Names that begin with `lockbench_` are looked for in `schema` (letters,
 * digits, ':', '-'), and the server process shows it as its application_name; NULL = as the server has it, and "lockbench". 0, or -errno with env->err (-ETIMEDOUT, -ECONNREFUSED ...; -EACCES:
 * the server does not take the user or the password; -EIO: it answered, and refused, e.g. because it is starting up). */
int pg_open(struct lb_env *env, const struct lb_target *target, const struct lb_endpoint *at, const char *schema, lb_ns deadline, struct pg_conn **ret);
/* NULL is fine. */
void pg_close(struct pg_conn *conn);
/* One statement in autocommit with text parameters. 0: *ret holds the result, also an error result (PQresultStatus
 * says), PQclear it; LB_UNKNOWN: sent, and no answer came (deadline, connection lost) - the connection is then dead,
 * close it; -errno: nothing was sent. */
int pg_query(struct pg_conn *conn, lb_ns deadline, PGresult **ret, const char *sql, int count,
             const char *const params[]);
/* The same in one round trip without parsing: prepared on the connection's first use of stmt, which costs one round
 * trip more. */
int pg_call(struct pg_conn *conn, lb_ns deadline, PGresult **ret, const struct pg_stmt *stmt,
            const char *const params[]);
/* The same, and its answer is left to whatever is asked next on this connection: nobody waits for it, and nobody learns whether it
 * was done. A statement whose first use this is waits for being prepared. */
void pg_tell(struct pg_conn *conn, lb_ns deadline, const struct pg_stmt *stmt, const char *const params[]);
/* Still of use after the latest call: no LB_UNKNOWN, no FATAL, no -errno of the connection itself. Asks nobody. */
bool pg_usable(const struct pg_conn *conn);
/* The same, after what has come since then was looked at: an end of file, or a FATAL. Does not wait. */
bool pg_still_open(struct pg_conn *conn);
/* Waits until another session has notified one of the channels that this one listens to; notifications that came before count,
 * and are taken. 1; 0: the deadline passed; -errno: the connection is lost. */
int pg_await_notice(struct pg_conn *conn, lb_ns deadline);
/* After the latest answer, which the server gave without its standby: it was told to wait no longer, did, and warned of it. */
bool pg_unconfirmed(const struct pg_conn *conn);
/* True if the result is an error with this SQLSTATE, or one that begins like it ("08" is a class). */
bool pg_is(const PGresult *result, const char *sqlstate);

/* 0 when the result is an answer, else the refusal as -errno with the server's words in env->err: -ENOENT there is no such table,
 * -ECANCELED, -EPROTO all others. */
int pg_refusal(struct lb_env *env, const PGresult *result);
/* Whether a pooler stands between, as the server process that answers says another `pid` than the connection was opened to. Then no
 * statement is prepared any more, as the next one may meet another server process. */
bool pg_pooled(struct pg_conn *conn, int pid);

/* ---- the primary, wherever it is ---------------------------------------------------------------------- */

/* One session's connection to the server that is the primary now. Zeroed, then the first fields set, up to conn. */
struct pg_primary {
  struct lb_env *env;
  const struct lb_target *target;
  const char *schema;      /* of pg_open() */
  int64_t lock_timeout_ms; /* how long a statement may wait for another transaction: then SQLSTATE 55P03 */
  int64_t idle_timeout_ms; /* how long a transaction may idle: then the server ends it with its connection; 0 = for ever */
  bool careless;           /* a commit whose wait for the standby was cancelled is an answer like any other */
  struct pg_conn *conn;    /* NULL = none now */
  size_t endpoint;         /* that conn leads to, or the first one to try */
  int pid;                 /* the server process behind conn; of a pooler in transaction mode, one that was behind it */
  char born[32];           /* its start time */
  bool pooled;             /* a pooler stands between, see pg_pooled() */
  uint64_t losses;         /* connections that were dropped */
};

/* Which server process got a statement; outlives the connection. */
struct pg_origin {
  int pid;
  char born[32]; /* tells it from a later process with the same pid */
};

/* Makes sure of a usable connection: keeps a working one, else tries all PostgreSQL endpoints round and round, starting
 * with the last that worked, until one is not in recovery or the deadline passes. 0, or -errno: the latest reason. */
int pg_primary_get(struct pg_primary *primary, lb_ns deadline);
/* One statement on the primary, which has 1.5 s to answer. Repeated until the deadline while it provably had no effect: nothing was sent, the
 * server turned out to be a standby, or the transaction was rolled back to be tried again. 0: *ret as in pg_query.
 * LB_TIMEOUT: the deadline passed, no effect. LB_UNKNOWN: sent, and no answer in time, or (unless careless) one that no standby has confirmed. -errno: no primary. `origin` (may be NULL) is where it was
 * sent, valid with 0 and LB_UNKNOWN. */
int pg_primary_call(struct pg_primary *primary, lb_ns deadline, PGresult **ret, const struct pg_stmt *stmt,
                    const char *const params[], struct pg_origin *origin);
/* One statement on the connection that there is, for what belongs to it: a transaction, a lock of its server process. 0: *ret as in
 * pg_query. LB_UNKNOWN: sent, and no answer in time; the connection is dropped. -errno: nothing was sent; the connection is dropped if it is lost, and stays
 * if there was only no time left. */
int pg_primary_ask(struct pg_primary *primary, lb_ns deadline, PGresult **ret, const struct pg_stmt *stmt, const char *const params[]);
/* After an LB_UNKNOWN: 1 = the server process that got the statement has ended, so what it did is visible from now on
 * and nothing more will come; 0 = not yet, it is asked to end if it idles. -errno: no primary, or no answer from it
 * (-ETIMEDOUT).
 * Asking only an idle process to end is what makes it harmless. One that works on the statement may be waiting for a standby; ending it
 * there would let the commit stand without the standby's copy. An idle one has either finished, or never got the statement, because the
 * network lost it; it would then sit there for hours. Behind a pooler 1 = it has ended or idles: it is not ours to end. */
int pg_primary_settled(struct pg_primary *primary, lb_ns deadline, const struct pg_origin *origin);
/* Index of the endpoint that the connection leads to, -ENOENT = there is none of use now. */
int pg_primary_server(const struct pg_primary *primary);
/* Drops the connection. */
void pg_primary_drop(struct pg_primary *primary);

#endif
