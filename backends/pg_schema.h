/* SPDX-License-Identifier: MIT
 *
 * pg_schema.h - what a run has on PostgreSQL servers, and what one of them alone knows. All that a run makes is in a schema that is
 * called like its prefix, and every connection looks for it there. So no two runs meet, and teardown drops the schema. PostgreSQL has no
 * expiry for what a run that was killed leaves there.
 */
#ifndef LB_PG_SCHEMA_H
#define LB_PG_SCHEMA_H

#include "pg_util.h"

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

#endif
