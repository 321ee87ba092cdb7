/* SPDX-License-Identifier: MIT
 *
 * sql_row.h - a lock that is a row of a table: what the protocols at databases share. A protocol brings the statements;
 * here are the hooks, and the care about statements whose answer never came.
 *
 * What an unanswered statement means: its transaction may not have started, be waiting (for another client's
 * uncommitted row, or for a standby's copy), or be committed; and closing the connection stops none of this: what
 * already lies in the server's socket is still read and executed. So a row that is not there proves nothing while the
 * server process that got the statement lives. The attempt therefore remembers that process. "Not held, and never will
 * be" is said only after it has ended (or the primary is another server now, which replays nothing of the old one any
 * more) and the row is still not there, asked in this order. A repeated acquire settles the earlier one first, so at
 * most one statement that takes the lock for an attempt is under way, and none can come after the one that frees it.
 * Nothing is cancelled: a cancelled wait for a standby ends in a row that is committed on the primary only. So does a
 * wait that the primary's restart ends: every reader sees that row then, and no standby may have it. Therefore the row
 * of an unanswered attempt is no grant until a write to it has been confirmed, which comes after the row in the log of
 * the standby, too. Nor is a hold confirmed by a read once an extension of it was not answered: the longer lease may be
 * the primary's alone.
 *
 * A try may wait for a transaction that has changed this row and not committed yet; lock_timeout bounds that, and
 * behind a pooler of transactions the client's own limit. It fails
 * with -EAGAIN then: as long as no transaction has decided, no client is said to hold. That transaction may be an
 * earlier attempt of the same client, which was given up and waits for a standby.
 */
#ifndef LB_SQL_ROW_H
#define LB_SQL_ROW_H

#include "backends/doubt.h"
#include "sql.h"

/* The statements of one protocol. All but `held` and `remove` are given the same parameters, of which each uses the
 * first few: $1 the key, $2 the owner (unique per attempt), $3 the client's wall clock in ms since 1970, or NULL for
 * the server's own, $4 the ttl in ms. `held` and `remove` have $1 and, as $2, that clock. Each yields one row for yes
 * and none for no; the first column of take and again is the fencing token. */
struct sql_row_sql {
  struct sql_stmt take; /* yes: it was free and is $2's now */
  struct sql_stmt
      again; /* yes: it is $2's (an earlier take has succeeded). A write, so that the yes is as durable as a take */
  struct sql_stmt holds;     /* yes: it is $2's */
  struct sql_stmt free;      /* yes: it was $2's and is free now */
  struct sql_stmt extend;    /* yes: it was $2's and is so for $4 from now on; NULL sql = there is no lease */
  struct sql_stmt held;      /* yes: it is somebody's */
  struct sql_stmt remove;    /* yes: a client had it, and none has it any more */
  const char *const *create; /* tables and the like, harmless to repeat; NULL at the end */
  /* Points, beside "before-confirm" (the write `again` has not left), which all have. */
  const char *before_take, *after_take, *before_free; /* after_take: the answer has been read, and it was yes */
};

/* The body of struct lb_session for all of these protocols. */
struct lb_session {
  struct sql_primary primary;
  const struct sql_row_sql *sql;
  const char *client;
  bool client_clock;  /* $3 is given */
  char extending[64]; /* the owner of which an extension was not answered; "" = none */
  bool wakes;         /* a release tells those who wait */
  struct sql_ear ear; /* what the connection listens to */
  struct lb_confirmed confirmed;
};

/* What `data` in the table of such a protocol points to. */
struct sql_row_kind {
  const struct sql_server *server;
  const struct sql_row_sql *sql;
  bool client_clock; /* leases are dated by the clock of the client that asks */
};

/* The hooks of struct lb_protocol, as they are; extend only with a lease, wait only where a release is told. */
#define SQL_ROW_HOOKS                                                                                                  \
  .session_size = sizeof(struct lb_session), .open = sql_row_open, .close = sql_row_close, .try_acquire = sql_row_try, \
  .release = sql_row_release, .setup = sql_row_setup, .resolve = sql_row_resolve, .holds = sql_row_holds,              \
  .break_lock = sql_row_break, .teardown = sql_row_teardown, .doubt = sql_row_doubt, .proofs = &sql_row_proofs

extern const struct lb_proofs sql_row_proofs;
int sql_row_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline);
void sql_row_close(struct lb_session *s);
int sql_row_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int sql_row_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int sql_row_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int sql_row_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int sql_row_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline);
int sql_row_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);
int sql_row_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant);
int sql_row_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int sql_row_setup(struct lb_session *s, lb_ns deadline);
int sql_row_teardown(struct lb_session *s, lb_ns deadline);

/* The options of those whose server tells of a release (struct sql_server), as their first. */
enum { SQL_ROW_OPT_WAIT, SQL_ROW_OPT_WAKE, SQL_ROW_OPT_HEED };
#define SQL_ROW_WAIT_OPTION                                                                                            \
  {                                                                                                                    \
    "lock_wait_ms", LB_OPT_INT, 100, 1, 60000,                                                                         \
        "a try waits this long for another client's uncommitted change of the row"                                     \
  }
#define SQL_ROW_HEED_OPTION                                                                                            \
  {                                                                                                                    \
    "heed_warnings", LB_OPT_BOOL, 1, 0, 1,                                                                             \
        "a commit whose wait for the standby was cancelled is no answer; else it is one, as for who reads no warnings" \
  }

#endif
