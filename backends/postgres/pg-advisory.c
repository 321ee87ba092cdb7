/* SPDX-License-Identifier: MIT
 *
 * pg-advisory - a session-level advisory lock: pg_try_advisory_lock takes it, pg_advisory_unlock frees it.
 *
 * Promises: one holder per key, as long as one server process answers for it. It stands in the memory of one server:
 * taken and freed in one round trip each, without a transaction, a commit or a write to disk. It ends with the
 * connection, so a client that dies frees it at once. No connection can free what another one holds. A session may take
 * it several times, and frees it as often. Nothing depends on any clock.
 *
 * Assumes: one primary at a time, which is not restarted; a client that stops when its connection is lost; and that a
 * lost connection is noticed on both sides.
 *
 * Breaks: a restart of the server or a failover forgets the lock, whatever is replicated and however durably: no
 * standby knows of it, a synchronous one as little as any. An old primary that is cut off, yet still answers its
 * clients, grants by itself. A client behind a network that went silent keeps the lock until TCP gives up: hours,
 * unless tcp_keepalives_idle and its kin on the server say less. (tcp_user_timeout alone does not: the server sends
 * nothing to a holder that idles, so it counts only from the first keepalive on.) With the option `idle_timeout`
 * (idle_session_timeout) the server ends a holder's session that says nothing for the ttl, though it works. A pooler that hands out connections
 * for a transaction takes the lock with one connection, and frees it with another one; so does a pool inside the client
 * (`pool`), whose unlock returns false with a warning. The number that names the lock
 * is a hash of the key: of two keys with one hash, each keeps the other out.
 *
 * The number: with `fence` it is drawn by the statement that takes the lock, after it was taken (a WHERE comes before
 * the columns), and stands in the log before the answer comes, if that draw wrote to the log. A sequence writes for 32
 * draws at a time. So if the server dies while the draw of another session that wrote has not been flushed, a number
 * may come again.
 *
 * With `wait=block` a waiter is inside pg_advisory_lock(), with a snapshot that CREATE INDEX CONCURRENTLY waits for. A
 * holder that builds an index over another connection waits for those who wait for it, for ever. Over the lock's own
 * PostgreSQL sees the circle and reports a deadlock; an index that is not valid stays.
 *
 * What an unanswered statement means, and whom a session trusts: sql_hold.h.
 *
 * Source: PostgreSQL's documentation, "Advisory Locks" and "Advisory Lock Functions"; with_advisory_lock for Rails and
 * the migration locks of many tools.
 *
 * pg-advisory-xact - a transaction-level advisory lock: BEGIN, pg_try_advisory_xact_lock, and COMMIT frees it.
 *
 * Promises: what pg-advisory does, for as long as a transaction is open: one holder per key, in the memory of one
 * server, without a commit that writes (as long as the transaction changes nothing). Readers share it
 * (pg_try_advisory_xact_lock_shared). There is no statement that frees
 * it, so it cannot be forgotten: it ends with the transaction, be that by COMMIT, ROLLBACK, an error or the end of the
 * connection. And a pooler that hands out connections for a transaction does it no harm. Three round trips for a lock
 * and its release, three for a refusal: BEGIN has one of its own here. Drivers such as pgjdbc send it along with the
 * first statement, and then both are two.
 *
 * Assumes: what pg-advisory assumes; and that the client does nothing else with its connection, or wants it in one
 * transaction.
 *
 * Breaks: what breaks pg-advisory, but for the pooler. Besides: any error in the transaction ends the hold, unless a
 * savepoint was set after the lock. ROLLBACK TO one that was set before frees it, and the transaction goes on. The
 * transaction is open for as long as the work takes, which keeps vacuum from cleaning up what ended since, if it has a
 * snapshot or a number. A client that hangs keeps the lock as long as it hangs; with the option `idle_timeout`
 * (idle_in_transaction_session_timeout) the server ends it after the ttl, and then it is a lease, with all that breaks
 * a lease: the client may go on working. The client sets it for its session. Behind a pooler of transactions that
 * is one server process of many, so another transaction may idle for ever; SET LOCAL in each would reach it.
 *
 * The number: with `fence` it is drawn in the transaction that holds, which commits with the release. So what the
 * sequence writes about it need not be on disk when the number is used: a server that dies may give it out again.
 *
 * What an unanswered statement means, and whom a session trusts: sql_hold.h.
 *
 * Source: PostgreSQL's documentation, "Advisory Locks"; the lock of Flyway and of many schedulers behind a pooler.
 */
#include "pg.h"
#include "backends/sql/sql_hold.h"

/* An advisory lock is called by a number of 64 bits. */
#define PG_ADVISORY_KEY "hashtextextended($1, 0)"

/* The row of pg_locks of who holds it. The number stands there in two halves; those of two numbers of 32 bits have an
 * objsubid of 2. */
#define PG_ADVISORY_HELD                                                                                               \
  "SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"                                      \
  " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"                                   \
  " AND ((classid::bigint << 32) | objid::bigint) = " PG_ADVISORY_KEY

static const struct lb_option transaction_options[] = {[SQL_HOLD_OPT_FENCE] = SQL_HOLD_FENCE_OPTION,
                                                       [SQL_HOLD_OPT_IDLE] = SQL_HOLD_IDLE_OPTION,
                                                       PG_LASTS_OPTION,
                                                       SQL_HOLD_WORK_OPTIONS,
                                                       PG_WAKE_OPTION,
                                                       {0}};

/* The table is there for work that needs one (the option `work`). */
static const char *const made[] = {PG_CREATE_FENCE, "CREATE TABLE IF NOT EXISTS lockbench_indexed (a int)", NULL};

static const struct lb_option advisory_options[] = {[SQL_HOLD_OPT_FENCE] = SQL_HOLD_FENCE_OPTION,
                                                    [SQL_HOLD_OPT_IDLE] = SQL_HOLD_IDLE_OPTION,
                                                    SQL_HOLD_WORK_OPTIONS,
                                                    PG_WAKE_OPTION,
                                                    SQL_HOLD_WAIT_OPTION,
                                                    SQL_HOLD_POOL_OPTION,
                                                    {0}};

/* The server sets $2 for this transaction before it looks for the lock, which a volatile condition makes it do. */
#define PG_ADVISORY_WAITING                                                                                            \
  " FROM set_config('lock_timeout', $2, true) WHERE pg_advisory_lock(" PG_ADVISORY_KEY ")::text IS NOT NULL"

static const struct sql_hold_kind advisory = {
    .server = &pg_server,
    .take = {"SELECT 1 WHERE pg_try_advisory_lock(" PG_ADVISORY_KEY ")", 1},
    .take_number = {"SELECT nextval('lockbench_fence') WHERE pg_try_advisory_lock(" PG_ADVISORY_KEY ")", 1},
    .take_waiting = {"SELECT 1" PG_ADVISORY_WAITING, 2},
    .take_waiting_number = {"SELECT nextval('lockbench_fence')" PG_ADVISORY_WAITING, 2},
    .holds = {PG_ADVISORY_HELD " AND pid = pg_backend_pid()", 1},
    .free = {"SELECT 1 WHERE pg_advisory_unlock(" PG_ADVISORY_KEY ")", 1},
    .held = {PG_ADVISORY_HELD, 1},
    .create = made,
    .before_take = "before-lock",
    .after_take = "after-lock",
    .before_free = "before-unlock",
};

/* after-lock: the answer has been read, and the lock is ours. */
static const char *const advisory_points[] = {"before-lock", "after-lock", "before-unlock", NULL};

const struct lb_protocol lb_pg_advisory = {
    .abi = LB_ABI,
    .name = "pg-advisory",
    .summary =
        "PostgreSQL's session-level advisory lock: it lives in the memory of a server, as long as the connection",
    .topologies = pg_topologies,
    .facts = "number=sequence",
    .traits = LB_TRAIT_SESSION | LB_TRAIT_REENTRANT | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR,
    .options = advisory_options,
    .points = advisory_points,
    SQL_HOLD_HOOKS,
    .wait = sql_hold_wait,
    .data = &advisory,
};

static const struct sql_hold_kind advisory_xact = {
    .server = &pg_server,
    .begin = {"BEGIN", 0},
    .fails_whole = true,
    .take = {"SELECT 1 WHERE pg_try_advisory_xact_lock(" PG_ADVISORY_KEY ")", 1},
    .take_number = {"SELECT nextval('lockbench_fence') WHERE pg_try_advisory_xact_lock(" PG_ADVISORY_KEY ")", 1},
    .take_shared = {"SELECT 1 WHERE pg_try_advisory_xact_lock_shared(" PG_ADVISORY_KEY ")", 1},
    .take_shared_number = {"SELECT nextval('lockbench_fence') WHERE pg_try_advisory_xact_lock_shared(" PG_ADVISORY_KEY
                           ")",
                           1},
    .holds = {PG_ADVISORY_HELD " AND pid = pg_backend_pid()", 1},
    .free = {"COMMIT", 0},
    .held = {PG_ADVISORY_HELD, 1},
    .create = made,
    .before_take = "before-lock",
    .after_take = "after-lock",
    .before_free = "before-commit",
};

/* before-lock: the transaction has begun. after-lock: the answer has been read, and the lock is ours. */
static const char *const xact_points[] = {"before-lock", "after-lock", "before-commit", NULL};

const struct lb_protocol lb_pg_advisory_xact = {
    .abi = LB_ABI,
    .name = "pg-advisory-xact",
    .summary =
        "PostgreSQL's transaction-level advisory lock: it lives in the memory of a server, as long as a transaction",
    .topologies = pg_topologies,
    .facts = "ends=transaction number=open lost=other comes-first=readers",
    .traits = LB_TRAIT_SESSION | LB_TRAIT_SHARED | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR,
    .options = transaction_options,
    .points = xact_points,
    .midway = "before-lock",
    SQL_HOLD_HOOKS,
    .wait = sql_hold_wait,
    .extend = sql_hold_extend,
    .data = &advisory_xact,
};
