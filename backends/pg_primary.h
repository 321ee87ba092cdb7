/* SPDX-License-Identifier: MIT
 *
 * pg_primary.h - what the PostgreSQL protocols share above a connection to the primary (pg_util.h): the schema of a run, waiters that are told of
 * a release, and the token of a grant.
 */
#ifndef LB_PG_PRIMARY_H
#define LB_PG_PRIMARY_H

#include "pg_util.h"

/* ---- what a run has on the servers ---------------------------------------------------------------------------
 *
 * All that a run makes is in a schema that is called like its prefix, and every connection looks for it there. So no two runs meet, and teardown
 * drops the schema. PostgreSQL has no expiry for what a run that was killed leaves there. */

/* Numbers of all grants of all PostgreSQL protocols. One after the other without a cache: sessions with a cache each
 * would hand them out of order. For pg_schema_make(). */
#define PG_CREATE_FENCE "CREATE SEQUENCE IF NOT EXISTS lockbench_fence CACHE 1"

extern const char *const pg_topologies[];

/* The hook setup: the schema, and in it what `create` makes, statements that are harmless to repeat, NULL at the end. Comes back when the
 * log on disk and every standby have it. LB_OK, -errno. */
int pg_schema_make(struct pg_primary *primary, const char *const create[], lb_ns deadline);
/* The hook teardown: without the schema and all that is in it. LB_OK, LB_TIMEOUT, LB_UNKNOWN, -errno. */
int pg_schema_drop(struct pg_primary *primary, lb_ns deadline);
/* Ends all other connections of the run to the primary, whoever made them, and what their server processes hold; comes back when these
 * have ended. LB_OK, LB_TIMEOUT, -errno. */
int pg_end_others(struct pg_primary *primary, lb_ns deadline);
/* The hooks inspect and break_lock: whether `held` with `params` yields a row at target->endpoints[endpoint], asked over a connection of its own. 1; 0, also
 * where there is no such table; -errno. */
int pg_inspect(struct pg_primary *primary, size_t endpoint, const struct pg_stmt *held, const char *const params[], lb_ns deadline);

/* ---- the option `wake`: who frees a key notifies, and waiters listen on the connection of their own session ------------- */

#define PG_WAKE_OPTION                                                                                                 \
  { "wake", LB_OPT_BOOL, 0, 0, 1, "a release notifies, and waiters listen instead of polling" }

/* What a session's connection listens to. Zeroed = nothing. */
struct pg_ear {
  char key[LB_TOKEN_MAX]; /* empty = nothing */
  uint64_t losses;        /* of the pg_primary: another number, another connection */
};

/* Tells all who listen to `key` that it may be free: after the release was answered, in a transaction of its own, whose answer nobody
 * waits for. */
void pg_wake_tell(struct pg_primary *primary, const char *key, lb_ns deadline);
/* The hook wait. Who has just begun to listen asks `held` ($1 the key, and what else it has in `params`), which yields a row if
 * somebody holds. `primary` has no transaction open. LB_OK, LB_TIMEOUT, -errno. */
int pg_wake_wait(struct pg_primary *primary, struct pg_ear *ear, const struct pg_stmt *held, const char *const params[],
                 lb_ns deadline);

/* ---- the token of a grant -----------------------------------------------------------------------------------
 *
 * It says who an attempt is, and which server process was sent a statement of it: "owner", or with a server process "owner@STATE PID BORN". */

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
