/* SPDX-License-Identifier: MIT
 *
 * pg-advisory.c - a session-level advisory lock: pg_try_advisory_lock takes it, pg_advisory_unlock frees it.
 *
 * Promises: one holder per key, as long as one server process answers for it. It stands in the memory of one server: taken and
 * freed in one round trip each, without a transaction, a commit or a write to disk. It ends with the connection, so
 * a client that dies frees it at once. Nobody can free what another connection holds. A session may take it several times, and frees it
 * as often. Nothing depends on any clock.
 *
 * Assumes: one primary at a time, which nobody restarts; a client that stops when its connection is lost; and that a lost
 * connection is noticed on both sides.
 *
 * Breaks: a restart of the server or a failover forgets the lock, whatever is replicated and however durably: no standby knows of it,
 * a synchronous one as little as any. An old primary that is cut off, yet still answers its clients, grants by itself. A client behind a
 * network that went silent keeps the lock until TCP gives up: hours, unless tcp_keepalives_idle and its kin on the server say less.
 * (tcp_user_timeout alone does not: the server sends nothing to a holder that idles, so it counts only from the first keepalive on.)
 * A pooler that hands out connections for a transaction takes the lock with one connection, and frees it with another one. The number
 * that names the lock is a hash of the key: of two keys with one hash, each keeps the other out.
 *
 * The number: with `fence` it is drawn by the statement that takes the lock, after it was taken (a WHERE comes before the columns), and
 * stands in the log before the answer comes, if that draw wrote to the log. A sequence writes for 32 draws at a time. So if the
 * server dies while the draw of another session that wrote has not been flushed, a number may come again.
 *
 * What an unanswered statement means, and whom a session trusts: pg_hold.h.
 *
 * Source: PostgreSQL's documentation, "Advisory Locks" and "Advisory Lock Functions"; with_advisory_lock for Rails and the
 * migration locks of many tools.
 */
#include "pg_advisory.h"
#include "pg_hold.h"

static const struct lb_option options[] = {
    [PG_HOLD_OPT_FENCE] = PG_HOLD_FENCE_OPTION, [PG_HOLD_OPT_WAKE] = PG_WAKE_OPTION, {0}};

static const struct pg_hold_kind advisory = {
    .take = {"SELECT 1 WHERE pg_try_advisory_lock(" PG_ADVISORY_KEY ")", 1},
    .take_number = {"SELECT nextval('lockbench_fence') WHERE pg_try_advisory_lock(" PG_ADVISORY_KEY ")", 1},
    .holds = {PG_ADVISORY_HELD " AND pid = pg_backend_pid()", 1},
    .free = {"SELECT 1 WHERE pg_advisory_unlock(" PG_ADVISORY_KEY ")", 1},
    .held = {PG_ADVISORY_HELD, 1},
    .create = pg_hold_numbers,
    .before_take = "before-lock",
    .after_take = "after-lock",
    .before_free = "before-unlock",
};

/* after-lock: the answer has been read, and the lock is ours. */
static const char *const points[] = {"before-lock", "after-lock", "before-unlock", NULL};

const struct lb_protocol lb_pg_advisory = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
    .name = "pg-advisory",
    .summary =
        "PostgreSQL's session-level advisory lock: it lives in the memory of a server, as long as the connection",
    .promises =
        "One holder per key while one server runs and the holder's connection stands. A dead client frees it with\n"
        "its connection. No commit, no write to disk, no clock. Counted: a session may take it several times.",
    .breaks =
        "A restart of the server or a failover, also to a synchronous standby: nobody else knows of the lock. A\n"
        "cut-off old primary that still answers. A silent network: the server keeps the lock of a client that it\n"
        "does not know to be gone. A pooler that changes connections between two transactions.",
    .source = "PostgreSQL's documentation, \"Advisory Locks\" (postgresql.org/docs/15/explicit-locking.html)",
    .topologies = pg_topologies,
    .facts = "number=sequence",
    .traits = LB_TRAIT_SESSION | LB_TRAIT_REENTRANT | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR,
    .options = options,
    .points = points,
    PG_HOLD_HOOKS,
    .data = &advisory,
};
