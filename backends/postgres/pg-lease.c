/* SPDX-License-Identifier: MIT
 *
 * pg-lease - a row with an owner and an expiry is the lock: an UPSERT takes it when the expiry has passed.
 *
 * pg-lease          the server's clock decides, in the statement itself.
 * pg-lease-client   the same table and statements, but "now" is the wall clock of the client that sends them: the
 *                   default of well-known schedulers.
 *
 * Promises: one holder per key as long as the clock that dates the leases does not jump, the row is not forgotten, and
 * holders stop at valid_until, which is counted from before the request left, minus drift. A dead holder is replaced
 * when its lease is over. Grants of a key carry growing numbers. Acquire, extension and release are one round trip
 * and one commit each; a try that finds the lease running is a mere read.
 *
 * Assumes: one primary at a time, which keeps what it has committed; its clock (pg-lease-client: the wall clocks of all
 * clients) runs at nearly the same rate as the clients' monotonic ones, and does not jump. pg-lease-client besides: all
 * wall clocks agree, within what a lease has left over.
 *
 * Breaks: a holder that works on past its lease. A wall clock of the server set forward. For pg-lease-client one client
 * whose clock is ahead is enough: it finds a lease over that its holder counts on; or a pause between reading the
 * clock and sending, after which the lease is over when it is written. The losses of an asynchronous standby and
 * of synchronous_commit=off, as for pg-row.
 *
 * Details that matter
 *  - clock_timestamp(), not now(): that one is the start of the transaction, which may be long before the
 *    statement's turn comes at a row others have locked. A lease dated so is born short, and an old one looks longer.
 *  - A conflicting UPSERT waits for the row and then looks at its newest version, with a new clock_timestamp(); so of
 *    two that find the lease over, one takes it.
 *  - The number is drawn from a sequence in DO UPDATE SET, under the row's lock and after the expiry has been looked
 *    at; and kept in the row, so an attempt whose answer was lost finds it again. Only where there is no row yet does
 *    the number come from the SELECT, before any wait. That is why a release expires the row and never deletes it: the
 *    first grant of a key is the only one that may have such a number, and no other grant came before it. Who deletes
 *    the row, as the fault `delete key` does, may let numbers go back. (What a
 *    crash or a promotion means for the sequence: pg-row. A number counted in the row would be lost with the row.)
 *  - WHERE NOT EXISTS keeps a busy try from locking the row, drawing a number and writing to the log. It answers from
 *    the statement's snapshot: the lease ran then, and was held.
 *  - What an unanswered statement means: sql_row.h. An extension without an answer changes nothing one relies upon:
 *    from then on holds asks by a write.
 *
 * Source: ShedLock's JDBC provider, with usingDbTime() and without (its issues 231 and 263 tell why the former came),
 * as one statement for PostgreSQL; the lock repository of Spring Integration for the client's clock. The release here
 * compares the owner of the attempt. ShedLock's compared none until its PR 2959 (issue 1986), and compares the host
 * since.
 */
#include "pg.h"
#include "backends/sql/sql_row.h"

/* The harness reads check_validity, as of every protocol that has it. A task of ShedLock does not look how long it was
 * asked for. */
static const struct lb_option options[] = {
    [SQL_ROW_OPT_WAIT] = SQL_ROW_WAIT_OPTION,
    [SQL_ROW_OPT_WAKE] = PG_WAKE_OPTION,
    [SQL_ROW_OPT_HEED] = SQL_ROW_HEED_OPTION,
    {"check_validity", LB_OPT_BOOL, 1, 0, 1,
     "a grant whose lease was over by the client's clock when it was read is none"},
    {0}};

/* Rows are updated for ever: half of each page stays free, so that the new version finds room beside the old one and no
 * index has to be changed. Vacuum by count, as in pg-row. */
static const char *const create[] = {
    "CREATE TABLE IF NOT EXISTS lockbench_lease(name text PRIMARY KEY, owner text NOT NULL, until timestamptz NOT NULL,"
    " fence bigint NOT NULL) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000,"
    " autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off)",
    PG_CREATE_FENCE, NULL};

#define CLOCK(param) "coalesce(to_timestamp(" param "::float8 / 1000), clock_timestamp())"
#define NOW CLOCK("$3")
#define THEN NOW " + $4::float8 * interval '1 ms'"
#define MINE "name = $1 AND owner = $2 AND until > " NOW

static const struct sql_row_sql lease_sql = {
    .take = {"INSERT INTO lockbench_lease AS l (name, owner, until, fence)"
             " SELECT $1::text, $2::text, " THEN ", nextval('lockbench_fence')"
             " WHERE NOT EXISTS (SELECT FROM lockbench_lease WHERE name = $1 AND until > " NOW ")"
             " ON CONFLICT (name) DO UPDATE SET owner = $2, until = " THEN ", fence = nextval('lockbench_fence')"
             " WHERE l.until <= " NOW " RETURNING fence",
             4},
    .again = {"UPDATE lockbench_lease SET owner = owner WHERE " MINE " RETURNING fence", 3},
    .holds = {"SELECT fence FROM lockbench_lease WHERE " MINE, 3},
    .free = {"UPDATE lockbench_lease SET owner = '', until = '-infinity' WHERE " MINE, 3},
    .extend = {"UPDATE lockbench_lease SET until = " THEN " WHERE " MINE, 4},
    .held = {.sql = "SELECT FROM lockbench_lease WHERE name = $1 AND until > " CLOCK("$2"), .params = 2},
    .remove = {.sql = "DELETE FROM lockbench_lease WHERE name = $1 AND until > " CLOCK("$2") " RETURNING name",
               .params = 2},
    .create = create,
    .before_take = "before-upsert",
    .after_take = "after-upsert",
    .before_free = "before-release",
};

static const struct sql_row_kind lease = {.server = &pg_server, .sql = &lease_sql},
                                 client_lease = {.server = &pg_server, .sql = &lease_sql, .client_clock = true};

/* before-upsert: pg-lease-client has read its clock. after-upsert: the answer has been read, and the lease is ours.
 * before-confirm: it may be ours, as an answer was lost. */
static const char *const points[] = {"before-upsert", "after-upsert", "before-release", "before-confirm", NULL};

const struct lb_protocol lb_pg_lease = {
    .abi = LB_ABI,
    .name = "pg-lease",
    .summary = "a row with an expiry by the server's clock: an UPSERT takes it when the expiry has passed",
    .topologies = pg_topologies,
    .facts = "number=sequence",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_FENCED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NEEDS_MEMORY |
              LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    .options = options,
    .points = points,
    SQL_ROW_HOOKS,
    .wait = sql_row_wait,
    .extend = sql_row_extend,
    .data = &lease,
};

const struct lb_protocol lb_pg_lease_client = {
    .abi = LB_ABI,
    .name = "pg-lease-client",
    .summary = "pg-lease with expiries by the wall clocks of the clients, as many schedulers do",
    .topologies = pg_topologies,
    .facts = "number=sequence",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_FENCED | LB_TRAIT_CLIENT_CLOCK | LB_TRAIT_NEEDS_MEMORY |
              LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    .options = options,
    .points = points,
    .midway = "before-upsert",
    SQL_ROW_HOOKS,
    .wait = sql_row_wait,
    .extend = sql_row_extend,
    .data = &client_lease,
};
