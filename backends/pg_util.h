/* SPDX-License-Identifier: MIT
 *
 * pg_util.h - PostgreSQL connections with our own deadlines, on libpq's asynchronous calls.
 * Private to the PostgreSQL protocols and the harness's PostgreSQL topologies.
 *   pg_util.c     connections
 *   pg_primary.c  which server to talk to, wherever the primary is now; what the protocols share above that: the schema
 *                 of a run, waiters that are told of a release, and the token of a grant
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
int pg_call(struct pg_conn *conn, lb_ns deadline, PGresult **ret, const struct pg_stmt *stmt,
            const char *const params[]);
/* The same, and its answer is left to whatever is asked next on this connection: nobody waits for it, and nobody learns
 * whether it was done. A statement whose first use this is waits for being prepared. */
void pg_tell(struct pg_conn *conn, lb_ns deadline, const struct pg_stmt *stmt, const char *const params[]);
/* Still of use after the latest call: no LB_UNKNOWN, no FATAL, no -errno of the connection itself. Asks nobody. */
bool pg_usable(const struct pg_conn *conn);
/* The same, after what has come since then was looked at: an end of file, or a FATAL. Does not wait. */
bool pg_still_open(struct pg_conn *conn);
/* Waits until another session has notified one of the channels that this one listens to; notifications that came before
 * count, and are taken. 1; 0: the deadline passed; -errno: the connection is lost. */
int pg_await_notice(struct pg_conn *conn, lb_ns deadline);
/* After the latest answer, which the server gave without its standby: it was told to wait no longer, did, and warned of
 * it. */
bool pg_unconfirmed(const struct pg_conn *conn);
/* True if the result is an error with this SQLSTATE, or one that begins like it ("08" is a class). */
bool pg_is(const PGresult *result, const char *sqlstate);

/* 0 when the result is an answer, else the refusal as -errno with the server's words in env->err: -ENOENT there is no
 * such table,
 * -ECANCELED, -EPROTO all others. */
int pg_refusal(struct lb_env *env, const PGresult *result);
/* Whether a pooler stands between, as the server process that answers says another `pid` than the connection was opened
 * to. Then no statement is prepared any more, as the next one may meet another server process. */
bool pg_pooled(struct pg_conn *conn, int pid);

/* ---- the primary, wherever it is ---------------------------------------------------------------------- */

/* One session's connection to the server that is the primary now. Zeroed, then the first fields set, up to conn. */
struct pg_primary {
  struct lb_env *env;
  const struct lb_target *target;
  const char *schema;      /* of pg_open() */
  int64_t lock_timeout_ms; /* how long a statement may wait for another transaction: then SQLSTATE 55P03 */
  int64_t
      idle_timeout_ms;  /* how long a transaction may idle: then the server ends it with its connection; 0 = for ever */
  bool careless;        /* a commit whose wait for the standby was cancelled is an answer like any other */
  struct pg_conn *conn; /* NULL = none now */
  size_t endpoint;      /* that conn leads to, or the first one to try */
  int pid;              /* the server process behind conn; of a pooler in transaction mode, one that was behind it */
  char born[32];        /* its start time */
  bool pooled;          /* a pooler stands between, see pg_pooled() */
  uint64_t losses;      /* connections that were dropped */
};

/* Which server process got a statement; outlives the connection. */
struct pg_origin {
  int pid;
  char born[32]; /* tells it from a later process with the same pid */
};

/* Makes sure of a usable connection: keeps a working one, else tries all PostgreSQL endpoints round and round, starting
 * with the last that worked, until one is not in recovery or the deadline passes. 0, or -errno: the latest reason. */
int pg_primary_get(struct pg_primary *primary, lb_ns deadline);
/* One statement on the primary, which has 1.5 s to answer. Repeated until the deadline while it provably had no effect:
 * nothing was sent, the server turned out to be a standby, or the transaction was rolled back to be tried again. 0:
 * *ret as in pg_query. LB_TIMEOUT: the deadline passed, no effect. LB_UNKNOWN: sent, and no answer in time, or (unless
 * careless) one that no standby has confirmed. -errno: no primary. `origin` (may be NULL) is where it was sent, valid
 * with 0 and LB_UNKNOWN. */
int pg_primary_call(struct pg_primary *primary, lb_ns deadline, PGresult **ret, const struct pg_stmt *stmt,
                    const char *const params[], struct pg_origin *origin);
/* One statement on the connection that there is, for what belongs to it: a transaction, a lock of its server process.
 * 0: *ret as in pg_query. LB_UNKNOWN: sent, and no answer in time; the connection is dropped. -errno: nothing was sent;
 * the connection is dropped if it is lost, and stays if there was only no time left. */
int pg_primary_ask(struct pg_primary *primary, lb_ns deadline, PGresult **ret, const struct pg_stmt *stmt,
                   const char *const params[]);
/* After an LB_UNKNOWN: 1 = the server process that got the statement has ended, so what it did is visible from now on
 * and nothing more will come; 0 = not yet, it is asked to end if it idles. -errno: no primary, or no answer from it
 * (-ETIMEDOUT).
 * Asking only an idle process to end is what makes it harmless. One that works on the statement may be waiting for a
 * standby; ending it there would let the commit stand without the standby's copy. An idle one has either finished, or
 * never got the statement, because the network lost it; it would then sit there for hours. Behind a pooler 1 = it has
 * ended or idles: it is not ours to end. */
int pg_primary_settled(struct pg_primary *primary, lb_ns deadline, const struct pg_origin *origin);
/* Index of the endpoint that the connection leads to, -ENOENT = there is none of use now. */
int pg_primary_server(const struct pg_primary *primary);
/* Drops the connection. */
void pg_primary_drop(struct pg_primary *primary);

/* ---- what a run has on the servers ---------------------------------------------------------------------------
 *
 * All that a run makes is in a schema that is called like its prefix, and every connection looks for it there. So no
 * two runs meet, and teardown drops the schema. PostgreSQL has no expiry for what a run that was killed leaves
 * there. */

/* Numbers of all grants of all PostgreSQL protocols. One after the other without a cache: sessions with a cache each
 * would hand them out of order. For pg_schema_make(). */
#define PG_CREATE_FENCE "CREATE SEQUENCE IF NOT EXISTS lockbench_fence CACHE 1"

extern const char *const pg_topologies[];

/* The hook setup: the schema, and in it what `create` makes, statements that are harmless to repeat, NULL at the end.
 * Comes back when the log on disk and every standby have it. LB_OK, -errno. */
int pg_schema_make(struct pg_primary *primary, const char *const create[], lb_ns deadline);
/* The hook teardown: without the schema and all that is in it. LB_OK, LB_TIMEOUT, LB_UNKNOWN, -errno. */
int pg_schema_drop(struct pg_primary *primary, lb_ns deadline);
/* Ends all other connections of the run to the primary, whoever made them, and what their server processes hold; comes
 * back when these have ended. LB_OK, LB_TIMEOUT, -errno. */
int pg_end_others(struct pg_primary *primary, lb_ns deadline);
/* The hooks inspect and break_lock: whether `held` with `params` yields a row at target->endpoints[endpoint], asked
 * over a connection of its own. 1; 0, also where there is no such table; -errno. */
int pg_inspect(struct pg_primary *primary, size_t endpoint, const struct pg_stmt *held, const char *const params[],
               lb_ns deadline);

/* ---- the option `wake`: who frees a key notifies, and waiters listen on the connection of their own session ------ */

#define PG_WAKE_OPTION                                                                                                 \
  { "wake", LB_OPT_BOOL, 0, 0, 1, "a release notifies, and waiters listen instead of polling" }

/* What a session's connection listens to. Zeroed = nothing. */
struct pg_ear {
  char key[LB_TOKEN_MAX]; /* empty = nothing */
  uint64_t losses;        /* of the pg_primary: another number, another connection */
};

/* Tells all who listen to `key` that it may be free: after the release was answered, in a transaction of its own, whose
 * answer nobody waits for. */
void pg_wake_tell(struct pg_primary *primary, const char *key, lb_ns deadline);
/* The hook wait. Who has just begun to listen asks `held` ($1 the key, and what else it has in `params`), which yields
 * a row if somebody holds. `primary` has no transaction open. LB_OK, LB_TIMEOUT, -errno. */
int pg_wake_wait(struct pg_primary *primary, struct pg_ear *ear, const struct pg_stmt *held, const char *const params[],
                 lb_ns deadline);

/* ---- the token of a grant -----------------------------------------------------------------------------------
 *
 * It says who an attempt is, and which server process was sent a statement of it: "owner", or with a server process
 * "owner@STATE PID BORN". */

/* What a server process has to do with an attempt. */
enum pg_attempt_state {
  PG_NO_PROCESS = 0,
  PG_TAKING = 't',  /* it was sent a statement that takes, and has not answered */
  PG_FREEING = 'f', /* one that frees */
  PG_HELD_BY = 'h', /* it holds the lock, for as long as it lives */
};

struct pg_attempt {
  char owner[64]; /* no other attempt of the run has it */
  enum pg_attempt_state state;
  struct pg_origin origin; /* with a state */
};

/* A new one, with an owner of its own. `client` as in lb_config. */
struct pg_attempt pg_attempt_new(struct lb_env *env, const char *client);
/* Out of the token of a grant, and into it. */
struct pg_attempt pg_attempt_get(const struct lb_grant *grant);
void pg_attempt_put(const struct pg_attempt *attempt, struct lb_grant *grant);

#endif
