/* SPDX-License-Identifier: MIT
 *
 * pg-row - a row with a unique name is the lock: INSERT takes it, DELETE of one's own row frees it.
 *
 * Promises: one holder per key, as long as a committed row is not forgotten. The primary key decides between two
 * inserts, and the owner column, unique per attempt, keeps anybody from deleting somebody else's row. Acquire and
 * release are one round trip and one commit each. Nothing depends on any clock. Grants of a key carry growing numbers.
 *
 * Assumes: one primary at a time, which keeps what it has committed.
 *
 * Breaks: a holder that dies leaves its row for ever (no expiry). An asynchronous standby, when promoted, may lack the
 * newest rows, so a second client is granted while the first one holds; synchronous_commit=off loses them in a crash.
 * An old primary that is cut off, yet still answers its clients, grants by itself.
 *
 * The number: a sequence gives them out in order to all sessions and takes none back, so what matters is when one is
 * drawn. In VALUES it would be drawn before the INSERT waits for a transaction that is deleting the row, and others
 * could be granted with larger ones, and be done, before it wins. RETURNING is evaluated when the row stands in the
 * unique index, where it keeps everybody else out until we delete it; the rows of all earlier winners had been there,
 * and their numbers drawn, before. The number is not kept in the row. An attempt whose answer was lost draws another
 * one when it finds its row: as good as the first, for the same reason. The promise ends with what the sequence keeps.
 * It writes to the log at the first draw, at the first after a checkpoint and at about every 32nd otherwise, each time
 * as if the next 32 had been drawn.
 * A promotion that lost a few commits goes on with larger numbers if none of those records was among what it lost; if
 * one was, as for the very first grant, or if the old primary goes on beside the new one, numbers repeat.
 *
 * What an unanswered statement means: sql_row.h.
 *
 * Source: the lock table of many schedulers, e.g. the JDBC providers of ShedLock and Spring Integration, in its
 * plainest form.
 */
#include "pg.h"
#include "backends/sql/sql_row.h"

static const struct lb_option row_options[] = {[SQL_ROW_OPT_WAIT] = SQL_ROW_WAIT_OPTION,
                                               [SQL_ROW_OPT_WAKE] = PG_WAKE_OPTION,
                                               [SQL_ROW_OPT_HEED] = SQL_ROW_HEED_OPTION,
                                               {0}};

/* Rows are inserted and deleted, and updated only to confirm an attempt whose answer was lost, which is rare. So pages
 * need no free space left for updates: fillfactor 100. Each pair leaves a dead row behind. Vacuum has to come by count,
 * since a share of a table of a few live rows means nothing, at full speed, and without giving the file's end back, for
 * which it would lock the table. */
static const char *const row_create[] = {
    "CREATE TABLE IF NOT EXISTS lockbench_row(name text PRIMARY KEY, owner text NOT NULL) WITH (fillfactor = 100,"
    " autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0,"
    " vacuum_truncate = off)",
    PG_CREATE_FENCE, NULL};

static const struct sql_row_sql row_sql = {
    .take = {"INSERT INTO lockbench_row(name, owner) VALUES ($1, $2) ON CONFLICT DO NOTHING"
             " RETURNING nextval('lockbench_fence')",
             2},
    .again =
        {"UPDATE lockbench_row SET owner = owner WHERE name = $1 AND owner = $2 RETURNING nextval('lockbench_fence')",
         2},
    .holds = {"SELECT FROM lockbench_row WHERE name = $1 AND owner = $2", 2},
    .free = {"DELETE FROM lockbench_row WHERE name = $1 AND owner = $2", 2},
    .held = {.sql = "SELECT FROM lockbench_row WHERE name = $1", .params = 1},
    .remove = {.sql = "DELETE FROM lockbench_row WHERE name = $1 RETURNING name", .params = 1},
    .create = row_create,
    .before_take = "before-insert",
    .after_take = "after-insert",
    .before_free = "before-delete",
};

static const struct sql_row_kind row = {.server = &pg_server, .sql = &row_sql};

/* after-insert: the answer has been read, and the row is ours. before-confirm: it may be ours, as an answer was
 * lost. */
static const char *const row_points[] = {"before-insert", "after-insert", "before-delete", "before-confirm", NULL};

const struct lb_protocol lb_pg_row = {
    .abi = LB_ABI,
    .name = "pg-row",
    .summary = "a row with a unique name: INSERT takes the lock, DELETE of one's own row frees it",
    .topologies = pg_topologies,
    .facts = "number=sequence",
    .traits = LB_TRAIT_NO_EXPIRY | LB_TRAIT_FENCED | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR,
    .options = row_options,
    .points = row_points,
    SQL_ROW_HOOKS,
    .wait = sql_row_wait,
    .data = &row,
};
