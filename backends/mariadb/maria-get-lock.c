/* SPDX-License-Identifier: MIT
 *
 * maria-get-lock - a named lock of a connection: GET_LOCK takes it, RELEASE_LOCK frees it.
 *
 * Promises: one holder per name, as long as one server process answers for it. It stands in the memory of one server:
 * taken and freed in one round trip each, without a transaction or a write to disk. It ends with the connection, so a
 * client that dies frees it at once. RELEASE_LOCK frees only what its own connection holds. A session may take it
 * several times, and frees it as often. Nothing depends on any clock.
 *
 * Assumes: one primary at a time, which is not restarted; a client that stops when its connection is lost; and that a
 * lost connection is noticed on both sides.
 *
 * Breaks: a restart of the server or a failover forgets the lock: it is written to no log, so no replica knows of it,
 * a semi-synchronous one as little as any. An old primary that is cut off, yet still answers its clients, grants by
 * itself. A client behind a network that went silent keeps the lock until TCP gives up, or until wait_timeout: eight
 * hours. With the option `idle_timeout` that is the ttl, by the second, and a holder that works without a statement
 * loses the lock. A KILL of the connection frees it, and the client learns so with its next statement. A proxy that shares
 * connections, or a pool inside the client (`pool`), may take the lock with one, and free it with another. Names ignore case, by MariaDB's documentation (not
 * tried).
 *
 * The number: with `fence` a statement of its own counts one up, after the lock was taken, and commits before the
 * number is used. A sequence would not do: a server that is killed may forget what NEXTVAL gave out within the last
 * second (maria.h). A loss of power may take the commit, too, where there is a binary log (maria-row).
 *
 * What an unanswered statement means, and whom a session trusts: sql_hold.h.
 *
 * Source: MariaDB's documentation of GET_LOCK; with_advisory_lock for Rails (GET_LOCK(name, 0) in a loop), Flyway's
 * lock on MySQL, django-mysql's Lock.
 */
#include "maria.h"
#include "backends/sql/sql_hold.h"

static const struct lb_option options[] = {[SQL_HOLD_OPT_FENCE] = SQL_HOLD_FENCE_OPTION,
                                           [SQL_HOLD_OPT_IDLE] = SQL_HOLD_IDLE_OPTION,
                                           SQL_HOLD_WORK_OPTIONS,
                                           SQL_HOLD_POOL_OPTION,
                                           {0}};
static const char *const numbers[] = {
    "CREATE TABLE IF NOT EXISTS lockbench_number(one INT PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB", NULL};

static const struct sql_hold_kind named = {
    .server = &maria_server,
    .take = {"SELECT GET_LOCK($1, 0)", 1},
    .number = {"INSERT INTO lockbench_number(one, n) VALUES (1, 1) ON DUPLICATE KEY UPDATE n = n + 1 RETURNING n", 0},
    .holds = {"SELECT IS_USED_LOCK($1) = CONNECTION_ID()", 1},
    .free = {"SELECT RELEASE_LOCK($1)", 1},
    .held = {"SELECT IS_USED_LOCK($1) IS NOT NULL", 1},
    .create = numbers,
    .before_take = "before-lock",
    .after_take = "after-lock",
    .before_free = "before-unlock",
};

/* after-lock: the answer has been read, and the lock is ours. */
static const char *const points[] = {"before-lock", "after-lock", "before-unlock", NULL};

const struct lb_protocol lb_maria_get_lock = {
    .abi = LB_ABI,
    .name = "maria-get-lock",
    .summary = "MariaDB's GET_LOCK: a name that one connection has, in the memory of a server",
    .topologies = maria_topologies,
    .facts = "number=sequence",
    .traits = LB_TRAIT_SESSION | LB_TRAIT_REENTRANT | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR,
    .options = options,
    .points = points,
    SQL_HOLD_HOOKS,
    .data = &named,
};
