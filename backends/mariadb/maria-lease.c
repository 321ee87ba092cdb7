/* SPDX-License-Identifier: MIT
 *
 * maria-lease - a row with an owner and an expiry is the lock: an INSERT that updates takes it when the expiry has
 * passed, by the server's clock.
 *
 * Promises: one holder per key as long as the server's clock does not jump, the row is not forgotten, and holders stop
 * at valid_until, which is counted from before the request left, minus drift. A dead holder is replaced when its lease
 * is over. Grants of a key carry growing numbers, counted in the row.
 *
 * Assumes: one primary at a time, which keeps what it has committed; its clock runs at nearly the same rate as the
 * clients' monotonic ones, and does not jump.
 *
 * Breaks: a holder that works on past its lease. A wall clock of the server set forward. What breaks maria-row, but for
 * the holder that dies. If the row is lost, so is the count.
 *
 * Details that matter: the columns are assigned in their order, so the expiry that decides is changed last. RETURNING
 * answers for the row as it is then, which may be another client's: the owner in it says whether it was taken. Times
 * are UTC: a session's time zone, and its change in spring, would move a lease by an hour.
 *
 * Source: ShedLock's JDBC provider with usingDbTime() on MySQL, as one statement.
 */
#include "maria.h"
#include "backends/sql/sql_row.h"

#define NOW "UTC_TIMESTAMP(3)"
#define END NOW " + INTERVAL $4 * 1000 MICROSECOND"
#define LEASE_MINE "lockbench_lease WHERE name = $1 AND owner = $2 AND expires > " NOW

static const char *const lease_create[] = {
    "CREATE TABLE IF NOT EXISTS lockbench_lease(name " MARIA_NAME " PRIMARY KEY, owner " MARIA_NAME
    " NOT NULL, fence BIGINT NOT NULL, renewals BIGINT NOT NULL, expires DATETIME(3) NOT NULL) ENGINE=InnoDB",
    NULL};

/* `take` says yes only if it took the lease now, by the end that it set: an attempt that has it already asks `again`,
 * as its lease runs since the earlier statement. `again` has to write, so that its commit waits for a replica as that of `take` did; an UPDATE has no RETURNING here.
 * A row that it makes has no owner. A renewal counts, because an UPDATE that changes no value changes no row. */
static const struct sql_row_sql lease_sql = {
    .take = {"INSERT INTO lockbench_lease(name, owner, fence, renewals, expires) VALUES ($1, $2, 1, 0, " END ")"
             " ON DUPLICATE KEY UPDATE fence = IF(expires <= " NOW ", fence + 1, fence),"
             " owner = IF(expires <= " NOW ", VALUES(owner), owner),"
             " expires = IF(expires <= " NOW ", VALUES(expires), expires)"
             " RETURNING IF(owner = $2 AND expires = " END ", fence, 0)",
             4},
    .again = {"INSERT INTO lockbench_lease(name, owner, fence, renewals, expires) VALUES ($1, '', 0, 0, " NOW ")"
              " ON DUPLICATE KEY UPDATE renewals = renewals + (owner = $2 AND expires > " NOW ")"
              " RETURNING IF(owner = $2 AND expires > " NOW ", fence, 0)",
              2},
    .holds = {"SELECT 1 FROM " LEASE_MINE, 2},
    .free = {"UPDATE lockbench_lease SET owner = '', expires = " NOW
             " WHERE name = $1 AND owner = $2 AND expires > " NOW,
             2},
    .extend = {"UPDATE lockbench_lease SET renewals = renewals + 1, expires = " END
               " WHERE name = $1 AND owner = $2 AND expires > " NOW,
               4},
    .held = {"SELECT 1 FROM lockbench_lease WHERE name = $1 AND expires > " NOW, 1},
    .remove = {"UPDATE lockbench_lease SET owner = '', expires = " NOW " WHERE name = $1 AND expires > " NOW, 1},
    .create = lease_create,
    .before_take = "before-upsert",
    .after_take = "after-upsert",
    .before_free = "before-update",
};

static const struct sql_row_kind lease = {.server = &maria_server, .sql = &lease_sql};

/* after-upsert: the answer has been read, and the lease is ours. */
static const char *const lease_points[] = {"before-upsert", "after-upsert", "before-update", "before-confirm", NULL};

const struct lb_protocol lb_maria_lease = {
    .abi = LB_ABI,
    .name = "maria-lease",
    .summary = "MariaDB, a row with an owner and an expiry by the server's clock",
    .topologies = maria_topologies,
    .needs = "mariadb >= 10.5",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_FENCED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NEEDS_MEMORY |
              LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    .points = lease_points,
    SQL_ROW_HOOKS,
    .extend = sql_row_extend,
    .data = &lease,
};
