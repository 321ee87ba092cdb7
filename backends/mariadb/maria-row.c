/* SPDX-License-Identifier: MIT
 *
 * maria-row - a row with a unique name is the lock: INSERT takes it, DELETE of one's own row frees it.
 *
 * Promises: one holder per key, as long as a committed row is not forgotten. The primary key decides between two
 * inserts, and the owner column, unique per attempt, keeps anybody from deleting somebody else's row. Acquire and
 * release are one round trip and one commit each. Nothing depends on any clock. Grants of a key carry growing numbers.
 *
 * Assumes: one primary at a time, which keeps what it has committed.
 *
 * Breaks: a holder that dies leaves its row for ever (no expiry). An asynchronous replica, when promoted, may lack the
 * newest rows, so a second client is granted while the first one holds. An old primary that is cut off, yet still
 * answers its clients, grants by itself. innodb_flush_log_at_trx_commit = 0 loses the newest rows when the server is
 * killed, 2 when the power goes. With a binary log (maria-async, maria-semisync) sync_binlog = 0 may lose them, too, by
 * MariaDB's documentation. That is MariaDB's own value, and ours. power-loss on maria-semisync was undecided.
 *
 * The number: RETURNING is evaluated when the row stands in the table, where it keeps everybody else out. So it is
 * larger than those of all earlier holders, whose draws came before. An attempt whose answer was lost draws another one
 * when it finds its row: as good as the first, for the same reason, unless the server is killed before the log is next
 * written, within a second (maria.h).
 *
 * What an unanswered statement means: sql_row.h.
 *
 * Source: the lock table of many schedulers, e.g. the JDBC providers of ShedLock and Spring Integration, in its
 * plainest form.
 */
#include "maria.h"
#include "backends/sql/sql_row.h"

static const char *const row_create[] = {MARIA_CREATE_FENCE,
                                         "CREATE TABLE IF NOT EXISTS lockbench_row(name " MARIA_NAME
                                         " PRIMARY KEY, owner " MARIA_NAME " NOT NULL) ENGINE=InnoDB",
                                         NULL};

#define MINE "FROM lockbench_row WHERE name = $1 AND owner = $2"

/* `again` locks the row, so it waits for a transaction that has changed it and not committed yet; and NEXTVAL is a
 * write, whose commit waits for a replica as that of `take` did. */
static const struct sql_row_sql row_sql = {
    .take = {"INSERT INTO lockbench_row(name, owner) VALUES ($1, $2) RETURNING NEXTVAL(lockbench_fence)", 2},
    .again = {"SELECT NEXTVAL(lockbench_fence) " MINE " FOR UPDATE", 2},
    .holds = {"SELECT 1 " MINE, 2},
    .free = {"DELETE " MINE, 2},
    .held = {"SELECT 1 FROM lockbench_row WHERE name = $1", 1},
    .remove = {"DELETE FROM lockbench_row WHERE name = $1", 1},
    .create = row_create,
    .before_take = "before-insert",
    .after_take = "after-insert",
    .before_free = "before-delete",
};

static const struct sql_row_kind row = {.server = &maria_server, .sql = &row_sql};

/* after-insert: the answer has been read, and the row is ours. before-confirm: it may be ours, as an answer was
 * lost. */
static const char *const row_points[] = {"before-insert", "after-insert", "before-delete", "before-confirm", NULL};

const struct lb_protocol lb_maria_row = {
    .abi = LB_ABI,
    .name = "maria-row",
    .summary = "MariaDB, a row with a unique name: INSERT takes the lock, DELETE of one's own row frees it",
    .topologies = maria_topologies,
    .needs = "mariadb >= 10.5",
    .facts = "number=sequence",
    .traits = LB_TRAIT_NO_EXPIRY | LB_TRAIT_FENCED | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR,
    .points = row_points,
    SQL_ROW_HOOKS,
    .data = &row,
};
