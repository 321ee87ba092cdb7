/* SPDX-License-Identifier: MIT
 *
 * maria-for-update - a row that is locked by a transaction: BEGIN, SELECT ... FOR UPDATE NOWAIT, and COMMIT frees it.
 *
 * Promises: one holder per key, for as long as its transaction is open. The row is only what is locked, it says
 * nothing; it is made with the first attempt at its key and stays. The lock ends with its transaction or its
 * connection, so a client that dies frees it. Nothing depends on any clock. Only making the row writes to the disk,
 * and drawing a number with `fence`.
 *
 * Assumes: one primary at a time, which is not restarted; a client that stops when its connection is lost.
 *
 * Breaks: a restart of the server or a failover ends all transactions, and the locks with them. An old primary that is
 * cut off, yet still answers its clients, grants by itself. A client behind a network that went silent keeps the lock.
 * With the option `idle_timeout` (idle_transaction_timeout, by the second) it does not, nor does one that hangs: the
 * server ends the connection, and then it is a lease, with all that breaks a lease. A deadlock with another transaction
 * rolls the whole transaction back, and the lock with it.
 *
 * Details that matter: where the row is missing, SELECT ... FOR UPDATE finds nothing and locks the gap, which keeps
 * others from making the row. So that transaction ends, and the row is made in one of its own. NOWAIT refuses with
 * the error of a lock that was waited for too long (1205). The number is drawn for the row that is found, which is
 * locked by then.
 *
 * What an unanswered statement means, and whom a session trusts: sql_hold.h.
 *
 * Source: MariaDB's documentation, "InnoDB Lock Modes"; Quartz's StdRowLockSemaphore, which waits where this one asks
 * again.
 */
#include "maria.h"
#include "backends/sql/sql_hold.h"

static const struct lb_option transaction_options[] = {[SQL_HOLD_OPT_FENCE] = SQL_HOLD_FENCE_OPTION,
                                                       [SQL_HOLD_OPT_IDLE] = SQL_HOLD_IDLE_OPTION,
                                                       SQL_HOLD_WORK_OPTIONS,
                                                       {0}};

static const char *const create[] = {
    MARIA_CREATE_FENCE, "CREATE TABLE IF NOT EXISTS lockbench_locked(name " MARIA_NAME " PRIMARY KEY) ENGINE=InnoDB",
    NULL};

#define LOCKED " FROM lockbench_locked WHERE name = $1 FOR UPDATE"

static const struct sql_hold_kind for_update = {
    .server = &maria_server,
    .begin = {"BEGIN", 0},
    .take = {"SELECT 1" LOCKED " NOWAIT", 1},
    .take_number = {"SELECT NEXTVAL(lockbench_fence)" LOCKED " NOWAIT", 1},
    .make = {"INSERT IGNORE INTO lockbench_locked(name) VALUES ($1)", 1},
    .holds = {"SELECT @@in_transaction", 0}, /* a line has one transaction, which has one lock */
    .free = {"COMMIT", 0},
    .held = {"SELECT EXISTS(SELECT 1 FROM lockbench_locked WHERE name = $1)"
             " AND NOT EXISTS(SELECT 1" LOCKED " SKIP LOCKED)",
             1},
    .create = create,
    .before_take = "before-select",
    .after_take = "after-select",
    .before_free = "before-commit",
};

/* before-select: the transaction has begun. after-select: the answer has been read, and the row is locked by us. */
static const char *const transaction_points[] = {"before-select", "after-select", "before-commit", NULL};

const struct lb_protocol lb_maria_for_update = {
    .abi = LB_ABI,
    .name = "maria-for-update",
    .summary = "MariaDB's SELECT ... FOR UPDATE NOWAIT in a transaction that stays open; COMMIT frees the row",
    .topologies = maria_topologies,
    .needs = "mariadb >= 10.6", /* SKIP LOCKED, by which an observer asks */
    .facts = "ends=transaction number=open lost=other ddl=commits",
    .traits = LB_TRAIT_SESSION | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR,
    .options = transaction_options,
    .points = transaction_points,
    .midway = "before-select",
    SQL_HOLD_HOOKS,
    .extend = sql_hold_extend,
    .data = &for_update,
};
