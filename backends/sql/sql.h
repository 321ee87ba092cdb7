/* SPDX-License-Identifier: MIT
 *
 * sql.h - what locks at an SQL database share, whichever database it is: the connection to the server that is the
 * primary now, and the token of a grant. What a database does in its own way is a table of hooks (struct sql_server).
 * sql_row.h and sql_hold.h make locks of this: a protocol brings its statements, and names its database.
 */
#ifndef LB_SQL_H
#define LB_SQL_H

#include "backends/backend.h"

/* A statement. $1 to $4 in its text are its parameters. */
struct sql_stmt {
  const char *sql;
  int params;
};

/* Which server process (a thread, a connection) got a statement; outlives the connection. */
struct sql_origin {
  int pid;
  char born[32]; /* tells it from a later one with the same number */
};

enum sql_outcome {
  SQL_DONE,
  SQL_BUSY,     /* it waited too long for another transaction, or was told not to wait; nothing is changed */
  SQL_EXISTS,   /* what was to be unique is there already */
  SQL_AGAIN,    /* rolled back, to be tried again */
  SQL_STANDBY,  /* the server does not write: it follows another one */
  SQL_NO_TABLE, /* refused: there is no such table */
  SQL_REFUSED,  /* refused otherwise */
};

struct sql_answer {
  enum sql_outcome outcome;
  int code;         /* -errno of a refusal, whose words are in env->err */
  bool yes;         /* it yielded or changed a row; of a database whose functions say 0 or NULL for no, another one */
  bool unconfirmed; /* committed here, and the server was told not to wait for its standby any more */
  char text[64];    /* the first column of the first row, or the one that was asked for; "" = none */
};

struct sql_server;

/* One session's connection to the server that is the primary now. Zeroed, then the first fields set, up to conn. */
struct sql_primary {
  const struct sql_server *server;
  struct lb_env *env;
  const struct lb_target *target;
  const char *schema;      /* holds all that the run makes */
  int64_t lock_timeout_ms; /* how long a statement may wait for another transaction: then SQL_BUSY */
  int64_t
      idle_timeout_ms; /* how long a transaction may idle: then the server ends it with its connection; 0 = for ever */
  int64_t lasts_ms;    /* so long a transaction may last, where the server has such a limit; 0 = for ever */
  bool idles_outside;  /* it is a session without a transaction that may idle for so long */
  bool unhurried;      /* an answer may take until the deadline, not 1.5 s: a statement that waits for others */
  bool careless;       /* a commit whose wait for the standby was cancelled is an answer like any other */
  const char *column;  /* of MariaDB: what is read of the first row; NULL = its first column */
  void *conn;          /* NULL = none now */
  size_t endpoint;     /* that conn leads to, or the first one to try */
  int pid;             /* the server process behind conn; of a pooler in transaction mode, one that was behind it */
  char born[32];       /* as in sql_origin */
  bool pooled;         /* a pooler stands between */
  uint64_t losses;     /* connections that were dropped */
};

/* What a session's connection listens to. Zeroed = nothing. */
struct sql_ear {
  char key[LB_TOKEN_MAX]; /* empty = nothing */
  uint64_t losses;        /* of the sql_primary: another number, another connection */
};

/* A database. */
struct sql_server {
  const char *service;   /* "postgres": of its endpoints, and in messages */
  const char *durable;   /* the statement after which a commit waits for the disk; NULL = it does anyway */
  const char *drop_more; /* behind DROP SCHEMA "name" */
  /* Connects primary->conn to that server. 0 or -errno; then conn may be half open, and is closed. */
  int (*connect)(struct sql_primary *primary, const struct lb_endpoint *at, lb_ns deadline);
  /* Asks who the server is: pid, born and pooled. 0; -EROFS: it follows another one; -errno. */
  int (*greet)(struct sql_primary *primary, lb_ns deadline);
  void (*close)(void *conn);
  /* Whether it is of use after the latest call; the same, after what has come since was looked at. Neither asks nor
   * waits. */
  bool (*usable)(const void *conn);
  bool (*still_open)(void *conn);
  /* One statement on primary->conn. 0: it was answered. LB_UNKNOWN: sent, and no answer came; the connection is of no
   * use then. -errno: nothing was sent. */
  int (*run)(struct sql_primary *primary, lb_ns deadline, const struct sql_stmt *stmt, const char *const params[],
             struct sql_answer *ret);
  /* As sql_primary_settled(). */
  int (*settled)(struct sql_primary *primary, lb_ns deadline, const struct sql_origin *origin);
  /* Ends all other connections of the run. How many there were, or -errno. */
  int (*end_others)(struct sql_primary *primary, lb_ns deadline);
  /* Comes back when the disk and every server that follows have what was made. 0 or -errno. */
  int (*await_copies)(struct sql_primary *primary, lb_ns deadline);
  /* The option `wake`. NULL = waiters poll. */
  void (*tell)(struct sql_primary *primary, const char *key, lb_ns deadline);
  int (*wait)(struct sql_primary *primary, struct sql_ear *ear, const struct sql_stmt *held, const char *const params[],
              lb_ns deadline);
};

/* ---- the primary, wherever it is ---------------------------------------------------------------------- */

/* Makes sure of a usable connection: keeps a working one, else tries all endpoints of this database round and round,
 * starting with the last that worked, until one is no standby or the deadline passes. 0, or -errno: the latest
 * reason. */
int sql_primary_get(struct sql_primary *primary, lb_ns deadline);
/* One statement on the primary, which has 1.5 s to answer. Repeated until the deadline while it provably had no effect:
 * nothing was sent, the server turned out to be a standby, or the transaction was rolled back to be tried again. 0:
 * answered. LB_TIMEOUT: the deadline passed, no effect. LB_UNKNOWN: sent, and no answer in time, or (unless careless)
 * one that no standby has confirmed. -errno: no primary. `origin` (may be NULL) is where it was sent, valid with 0 and
 * LB_UNKNOWN. */
int sql_primary_call(struct sql_primary *primary, lb_ns deadline, const struct sql_stmt *stmt,
                     const char *const params[], struct sql_origin *origin, struct sql_answer *ret);
/* One statement on the connection that there is, for what belongs to it: a transaction, a lock of its server process.
 * 0: answered. LB_UNKNOWN: sent, and no answer in time; the connection is dropped. -errno: nothing was sent; the
 * connection is dropped if it is lost, and stays if there was only no time left. */
int sql_primary_ask(struct sql_primary *primary, lb_ns deadline, const struct sql_stmt *stmt,
                    const char *const params[], struct sql_answer *ret);
/* After an LB_UNKNOWN: 1 = the server process that got the statement has ended, so what it did is visible from now on
 * and nothing more will come; 0 = not yet, it is asked to end if it idles. -errno: no primary, or no answer from it
 * (-ETIMEDOUT).
 * Asking only an idle process to end is what makes it harmless. One that works on the statement may be waiting for a
 * standby; ending it there would let the commit stand without the standby's copy. An idle one has either finished, or
 * never got the statement, because the network lost it; it would then sit there for hours. Behind a pooler 1 = it has
 * ended or idles: it is not ours to end. */
int sql_primary_settled(struct sql_primary *primary, lb_ns deadline, const struct sql_origin *origin);
/* Index of the endpoint that the connection leads to, -ENOENT = there is none of use now. */
int sql_primary_server(const struct sql_primary *primary);
/* Drops the connection. */
void sql_primary_drop(struct sql_primary *primary);

/* ---- what a run has on the servers ---------------------------------------------------------------------------
 *
 * All that a run makes is in a schema that is called like its prefix, and every connection looks for it there. So no
 * two runs meet, and teardown drops the schema. A database has no expiry for what a killed run leaves there. */

/* The hook setup: the schema, and in it what `create` makes, statements that are harmless to repeat, NULL at the end.
 * Comes back when the log on disk and every standby have it. LB_OK, -errno. */
int sql_schema_make(struct sql_primary *primary, const char *const create[], lb_ns deadline);
/* The hook teardown: without the schema and all that is in it. LB_OK, LB_TIMEOUT, LB_UNKNOWN, -errno. */
int sql_schema_drop(struct sql_primary *primary, lb_ns deadline);
/* Ends all other connections of the run to the primary, also those of other programs, and what their server processes
 * hold; comes back when these have ended. LB_OK, LB_TIMEOUT, -errno. */
int sql_end_others(struct sql_primary *primary, lb_ns deadline);
/* The hooks inspect and break_lock: whether `held` with `params` says yes at target->endpoints[endpoint], asked over a
 * connection of its own. 1; 0, also where there is no such table; -errno. */
int sql_inspect(struct sql_primary *primary, size_t endpoint, const struct sql_stmt *held, const char *const params[],
                lb_ns deadline);

/* ---- the token of a grant -----------------------------------------------------------------------------------
 *
 * It says who an attempt is, and which server process was sent a statement of it: "owner", or with a server process
 * "owner@STATE PID BORN". */

/* What a server process has to do with an attempt. */
enum sql_attempt_state {
  SQL_NO_PROCESS = 0,
  SQL_TAKING = 't',  /* it was sent a statement that takes, and has not answered */
  SQL_FREEING = 'f', /* one that frees */
  SQL_HELD_BY = 'h', /* it holds the lock, for as long as it lives */
};

struct sql_attempt {
  char owner[64]; /* no other attempt of the run has it */
  enum sql_attempt_state state;
  struct sql_origin origin; /* with a state */
};

/* A new one, with an owner of its own. `client` as in lb_config. */
struct sql_attempt sql_attempt_new(struct lb_env *env, const char *client);
/* Out of the token of a grant, and into it. */
struct sql_attempt sql_attempt_get(const struct lb_grant *grant);
void sql_attempt_put(const struct sql_attempt *attempt, struct lb_grant *grant);

#endif
