/* SPDX-License-Identifier: MIT
 *
 * pg-advisory-xact.c - a transaction-level advisory lock: BEGIN, pg_try_advisory_xact_lock, and COMMIT frees it.
 *
 * Promises: what pg-advisory does, for as long as a transaction is open: one holder per key, in the memory of one server, without a commit
 * that writes (as long as the transaction changes nothing). There is no statement that frees it, so it cannot be forgotten: it
 * ends with the transaction, be that by COMMIT, ROLLBACK, an error or the end of the connection. And a pooler that hands out
 * connections for a transaction does it no harm. Three round trips for a lock and its release, three for a refusal: BEGIN has one of
 * its own here. Drivers such as pgjdbc send it along with the first statement, and then both are two.
 *
 * Assumes: what pg-advisory assumes; and that the client does nothing else with its connection, or wants it in one transaction.
 *
 * Breaks: what breaks pg-advisory, but for the pooler. Besides: any error in the transaction ends the hold. The transaction is open
 * for as long as the work takes, which keeps vacuum from cleaning up what ended since, if it has a snapshot or a number. A client that hangs keeps the lock
 * as long as it hangs; with the option `idle_timeout` (idle_in_transaction_session_timeout) the server ends it after the ttl,
 * and then it is a lease, with all that breaks a lease: the client may go on working.
 *
 * The number: with `fence` it is drawn in the transaction that holds, which commits with the release. So what the sequence writes about it
 * need not be on disk when the number is used: a server that dies may give it out again.
 *
 * What an unanswered statement means, and whom a session trusts: pg_hold.h.
 *
 * Source: PostgreSQL's documentation, "Advisory Locks"; the lock of Flyway and of many schedulers behind a pooler.
 */
#include "pg_advisory.h"
#include "pg_hold.h"

static const struct pg_hold_kind advisory_xact = {
    .begin = {"BEGIN", 0},
    .take = {"SELECT 1 WHERE pg_try_advisory_xact_lock(" PG_ADVISORY_KEY ")", 1},
    .take_number = {"SELECT nextval('lockbench_fence') WHERE pg_try_advisory_xact_lock(" PG_ADVISORY_KEY ")", 1},
    .holds = {PG_ADVISORY_HELD " AND pid = pg_backend_pid()", 1},
    .free = {"COMMIT", 0},
    .held = {PG_ADVISORY_HELD, 1},
    .create = pg_hold_numbers,
    .before_take = "before-lock",
    .after_take = "after-lock",
    .before_free = "before-commit",
};

/* before-lock: the transaction has begun. after-lock: the answer has been read, and the lock is ours. */
static const char *const points[] = {"before-lock", "after-lock", "before-commit", NULL};

const struct lb_protocol lb_pg_advisory_xact = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
    .name = "pg-advisory-xact",
    .summary =
        "PostgreSQL's transaction-level advisory lock: it lives in the memory of a server, as long as a transaction",
    .promises =
        "One holder per key while one server runs and the holder's transaction is open. A dead client frees it\n"
        "with its connection. No write to disk, no clock. Nobody can forget to free it.",
    .breaks =
        "What breaks pg-advisory, but for a pooler; an error in the transaction ends the hold. With `idle_timeout`\n"
        "a holder that says nothing for longer than the ttl loses the lock, and may go on working.",
    .source = "PostgreSQL's documentation, \"Advisory Locks\" (postgresql.org/docs/15/explicit-locking.html)",
    .topologies = pg_topologies,
    .facts = "ends=transaction number=open lost=other",
    .traits = LB_TRAIT_SESSION | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR,
    .options = pg_hold_transaction_options,
    .points = points,
    .midway = "before-lock",
    PG_HOLD_HOOKS,
    .extend = pg_hold_extend,
    .data = &advisory_xact,
};
