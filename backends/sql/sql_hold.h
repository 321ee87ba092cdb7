/* SPDX-License-Identifier: MIT
 *
 * sql_hold.h - a lock that a server process of a database holds in memory, for as long as it lives or its transaction
 * lasts: what the protocols without a row of their own share. (At MariaDB such a process is a connection's thread.) A protocol brings the statements; here are the hooks, and
 * the care about connections.
 *
 * What holds is the server process behind the session's connection. So a hold is as good as that connection: nothing
 * can be asked or released over another one, and a statement of it is never sent again over a new one. When the
 * connection is lost, so is the hold, for its client. For others the lock is free when the server process has ended,
 * which is when the server notices: at once, if the client's kernel closed the connection; not for hours, if the
 * network went silent. And a statement without an answer in time costs its connection, with all that it holds. That is
 * why an attempt remembers its server process:
 *  - a try that had no answer is never a hold any more. It is asked about until that process has ended, and is then
 *    refused for good.
 *  - a hold whose connection was lost is lost, and may stand in the way of others until that process has ended.
 * It is asked to end (pg_terminate_backend, KILL) where it idles. One that is at work ends by itself; or waits for a standby,
 * as any commit does.
 *
 * The server knows of a process that it holds a key, not for which attempt. The session remembers its attempts, and so
 * tells an old grant from the one that it has now.
 *
 * With `begin` a transaction holds, not the session. It ends with all that it has, so each lock has a transaction of
 * its own, and a connection: as with a pool. A session that holds as many as it has lines is refused with -EMFILE.
 * Without `begin` one connection holds all locks of the session, and each as often as it was granted; others get it
 * after as many releases.
 *
 * With the option `pool` a release and a question may so meet a connection that holds nothing: the answer is no.
 *
 * With the option `idle_timeout` the server ends the session of a transaction that has idled for longer than the ttl.
 * Then a hold has an end, which every statement on its connection moves, and extend() is such a statement. Without
 * `begin` it ends any session that idles so long: a setting of the server that its client does not know of, so its
 * holds name no end.
 */
#ifndef LB_SQL_HOLD_H
#define LB_SQL_HOLD_H

#include "sql.h"

/* The statements of one protocol: $1 is the key; one row means yes, none no. One whose sql is NULL is left out. */
struct sql_hold_kind {
  const struct sql_server *server;
  struct sql_stmt begin;       /* the transaction that is to hold; NULL sql = the connection holds */
  struct sql_stmt take;        /* yes: it was free, or this server process had it, and holds it now (once more) */
  struct sql_stmt take_number; /* the same, and its first column is a number drawn when it was taken */
  struct sql_stmt take_waiting, take_waiting_number; /* the two, and they wait for at most $2 ms; with wait=block */
  struct sql_stmt take_shared, take_shared_number; /* the two for a reader, in a transaction; NULL sql = it has none */
  struct sql_stmt number; /* in place of take_number: draws one, after take, where no statement does both */
  struct sql_stmt make;  /* makes what take looks for, where take neither says yes nor is refused; harmless to repeat */
  struct sql_stmt holds; /* yes: this server process holds it */
  struct sql_stmt
      free; /* yes: this server process held it, and does so once less now. Of a transaction: its end, which is a yes */
  struct sql_stmt held;      /* yes: somebody holds it */
  const char *const *create; /* of sql_schema_make() */
  bool fails_whole;          /* any error ends its transaction, and not a deadlock alone */
  /* Points. after_take: the answer has been read, and it was yes. */
  const char *before_take, *after_take, *before_free;
};

/* The options that every such protocol has, as its first. */
enum { SQL_HOLD_OPT_FENCE, SQL_HOLD_OPT_IDLE };
#define SQL_HOLD_FENCE_OPTION                                                                                          \
  { "fence", LB_OPT_BOOL, 0, 0, 1, "a number that grows with each grant, drawn under the lock" }
#define SQL_HOLD_IDLE_OPTION                                                                                           \
  {                                                                                                                    \
    "idle_timeout", LB_OPT_BOOL, 0, 0, 1,                                                                              \
        "the server ends a session that idles for longer than the ttl, in its transaction if that holds"               \
  }

/* What the hook work does: any protocol may have both. */
extern const char *const sql_hold_work_on[];
#define SQL_HOLD_WORK_OPTIONS                                                                                          \
  {"work",                                                                                                             \
   LB_OPT_TEXT,                                                                                                        \
   0,                                                                                                                  \
   1,                                                                                                                  \
   200,                                                                                                                \
   "the statement of the step `work`",                                                                                 \
   .text = "CREATE TABLE IF NOT EXISTS lockbench_work (a int)"},                                                       \
  {                                                                                                                    \
    "work_on", LB_OPT_CHOICE, 0, 0, 0, "the connection that it runs on: the lock's own, or another one",               \
        .words = sql_hold_work_on                                                                                      \
  }

/* A pool inside the client, which lends its connections in turn, as those of SQLAlchemy and psycopg do. */
#define SQL_HOLD_POOL_OPTION                                                                                           \
  { "pool", LB_OPT_INT, 1, 1, 8, "connections of a client, lent in turn: each call is made on the next one" }

extern const char *const sql_hold_waits[];
#define SQL_HOLD_WAIT_OPTION                                                                                           \
  {                                                                                                                    \
    "wait", LB_OPT_CHOICE, 0, 0, 0, "whether a refused client asks again, or waits in a statement of the server",      \
        .words = sql_hold_waits                                                                                        \
  }

/* The hooks of struct lb_protocol, as they are; extend only with a transaction, wait only where a release is told.
 * `data` points to the kind. */
#define SQL_HOLD_HOOKS                                                                                                 \
  .session_size = sizeof(struct lb_session), .open = sql_hold_open, .close = sql_hold_close,                           \
  .try_acquire = sql_hold_try, .release = sql_hold_release, .setup = sql_hold_setup, .resolve = sql_hold_resolve,      \
  .holds = sql_hold_holds, .teardown = sql_hold_teardown, .doubt = sql_hold_doubt, .proofs = &sql_hold_proofs,         \
  .work = sql_hold_work

/* The connections of one session to the primary, and what the server processes behind them hold. */

enum { SQL_LINES_MAX = 32 };

struct sql_line {
  struct sql_primary primary;
  struct sql_ear ear; /* what it listens to */
};

/* One attempt that is held for. */
struct sql_held {
  char owner[64], key[LB_TOKEN_MAX];
  struct sql_line *line;
  uint64_t losses; /* of the line, when it was granted: with another connection it is not held any more */
};

/* Zeroed = closed. */
struct sql_lines {
  bool one_each; /* a line holds one lock, and is of no other use meanwhile; else the first one holds all */
  struct sql_line line[SQL_LINES_MAX], *latest; /* latest: the one that was used last */
  struct sql_held *held;
  size_t held_count, held_room;
  size_t pool, turn; /* pool: so many lines take turns, whatever they hold; 0 or 1 = they do not */
};

/* The body of struct lb_session for all of these protocols. */
struct lb_session {
  struct lb_env *env;
  const struct sql_hold_kind *kind;
  char name[41];            /* of this session: its attempts' owners begin with it */
  bool fence, wakes, reads; /* reads: its latest try is a reader's */
  int64_t idle_ms;          /* a transaction may idle for so long; 0 = for ever */
  struct sql_lines lines;
  const char *work; /* a statement; NULL = there is no such option */
  bool works_apart;
  bool blocks, patient; /* blocks: a try may wait at the server; patient: its latest one */
  struct sql_primary apart;
};

extern const struct lb_proofs sql_hold_proofs;
int sql_hold_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline);
void sql_hold_close(struct lb_session *s);
int sql_hold_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int sql_hold_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int sql_hold_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int sql_hold_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int sql_hold_setup(struct lb_session *s, lb_ns deadline);
int sql_hold_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int sql_hold_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline);
int sql_hold_teardown(struct lb_session *s, lb_ns deadline);
int sql_hold_work(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline);
int sql_hold_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant);

#endif
