/* SPDX-License-Identifier: MIT
 *
 * pg-for-update - a row that is locked by a transaction: BEGIN, SELECT ... FOR UPDATE NOWAIT, and COMMIT frees it.
 *
 * Promises: one holder per key, for as long as its transaction is open. The row is only what is locked, it says
 * nothing; it is made with the first attempt at its key and stays. A dead client frees it with its connection, a client
 * that forgets it with its transaction. Nothing depends on any clock. Three round trips for a lock and its release:
 * BEGIN has one of its own here. Drivers such as pgjdbc send it along with the SELECT, and then they are two.
 *
 * Assumes: one primary at a time, which is not restarted; a client that stops when its connection is lost.
 *
 * Breaks: a restart of the server or a failover ends all transactions, and the locks with them: a standby has the row,
 * and not its lock. An old primary that is cut off, yet still answers its clients, grants by itself. A client behind a
 * network that went silent keeps the lock until TCP gives up. With the option `idle_timeout`
 * (idle_in_transaction_session_timeout) it does not, nor does one that hangs: the server ends its session after the
 * ttl, and then it is a lease, with all that breaks a lease (behind a pooler: pg-advisory.c). The transaction is open
 * for as long as the work takes, and keeps vacuum from cleaning up what was deleted since anywhere in the database.
 *
 * Details that matter
 *  - To lock a row is a write: its transaction's number is put into the row, and COMMIT waits for the disk like any
 *    other, and for a synchronous standby, with the lock in its hand. Only the grant is as quick as memory: no request
 *    waits for anything before it. So a primary without its standby grants what was free, and keeps it after the
 *    release, as the release is not confirmed.
 *  - A row that does not exist cannot be locked, and is not refused either: it is made in a transaction of its own, and
 *    locked then.
 *  - NOWAIT refuses with an error (55P03), which ends the transaction, and which the server writes to its log.
 *  - The number: with `fence` it is drawn above the locked row. Beside FOR UPDATE in one SELECT it would be drawn
 *    before the row is locked, and by who is refused, too. It is drawn in the transaction that holds, so a server that
 *    dies may give it out again (pg-advisory-xact).
 *
 * What an unanswered statement means, and whom a session trusts: sql_hold.h.
 *
 * Source: PostgreSQL's documentation, "Row-Level Locks"; Quartz's StdRowLockSemaphore (SELECT ... FOR UPDATE on
 * QRTZ_LOCKS), which waits where this one asks again.
 */
#include "pg.h"
#include "backends/sql/sql_hold.h"

static const struct lb_option options[] = {[SQL_HOLD_OPT_FENCE] = SQL_HOLD_FENCE_OPTION,
                                           [SQL_HOLD_OPT_IDLE] = SQL_HOLD_IDLE_OPTION,
                                           PG_LASTS_OPTION,
                                           SQL_HOLD_WORK_OPTIONS,
                                           PG_WAKE_OPTION,
                                           {0}};

static const char *const create[] = {"CREATE TABLE IF NOT EXISTS lockbench_locked(name text PRIMARY KEY)",
                                     PG_CREATE_FENCE, NULL};

#define LOCKED "SELECT name FROM lockbench_locked WHERE name = $1 FOR UPDATE NOWAIT"

/* A row has in its xmax the transaction that locked it last, and a transaction holds its own number as long as it
 * runs. */
static const struct sql_hold_kind for_update = {
    .server = &pg_server,
    .begin = {"BEGIN", 0},
    .fails_whole = true,
    .take = {LOCKED, 1},
    .take_number = {"WITH locked AS MATERIALIZED (" LOCKED ") SELECT nextval('lockbench_fence') FROM locked", 1},
    .make = {"INSERT INTO lockbench_locked(name) VALUES ($1) ON CONFLICT DO NOTHING", 1},
    .holds = {"SELECT FROM lockbench_locked WHERE name = $1 AND xmax = pg_current_xact_id_if_assigned()::xid", 1},
    .free = {"COMMIT", 0},
    .held =
        {"SELECT FROM lockbench_locked r JOIN pg_locks l ON l.locktype = 'transactionid' AND l.transactionid = r.xmax AND l.granted"
         " WHERE r.name = $1",
         1},
    .create = create,
    .before_take = "before-select",
    .after_take = "after-select",
    .before_free = "before-commit",
};

/* before-select: the transaction has begun. after-select: the answer has been read, and the row is locked by us. */
static const char *const points[] = {"before-select", "after-select", "before-commit", NULL};

const struct lb_protocol lb_pg_for_update = {
    .abi = LB_ABI,
    .name = "pg-for-update",
    .summary = "SELECT ... FOR UPDATE NOWAIT in a transaction that stays open; COMMIT frees the row",
    .topologies = pg_topologies,
    .facts = "ends=transaction number=open lost=other",
    .traits = LB_TRAIT_SESSION | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR,
    .options = options,
    .points = points,
    .midway = "before-select",
    SQL_HOLD_HOOKS,
    .wait = sql_hold_wait,
    .extend = sql_hold_extend,
    .data = &for_update,
};
