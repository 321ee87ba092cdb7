/* SPDX-License-Identifier: MIT
 *
 * PostgreSQL connections with our own deadlines, and below them what a lock needs of its server.
 *
 * libpq's blocking calls know no deadline, so only the asynchronous ones are used and every wait goes through
 * lb_wait_fd(). A statement that ran into its deadline is left alone: libpq's cancel request opens a blocking
 * connection, and it would turn a commit that waits for a standby into one that exists on the primary only. The caller
 * is told LB_UNKNOWN instead and drops the connection.
 *
 * Behind a pooler that shares server processes a statement may run on another one than the statement before it. So
 * no name and no prepared statement is left to the session: names carry their schema, and where a prepared statement is
 * not the session's own, all go unprepared from then on. Its timeouts are: behind such a pooler they hold on one server
 * process of many.
 */
#include "pg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "backends/address.h"

enum { PREPARED_MAX = 32 };

struct pg_conn {
  struct lb_env *env;
  PGconn *pg;
  char *schema;                 /* NULL = names are looked for as the server has it */
  char *prepared[PREPARED_MAX]; /* the texts; they begin with NULL where there are no more */
  bool unprepared;              /* the server process may be another one each time */
  bool owes;                    /* an answer that was left for later has not been read */
  bool unconfirmed;             /* the latest answer: the server was told not to wait for its standby any more */
  bool dead;
};

/* True if the result is an error with this SQLSTATE, or one that begins like it ("08" is a class). */
static bool pg_is(const PGresult *result, const char *sqlstate) {
  const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return state && strncmp(state, sqlstate, strlen(sqlstate)) == 0;
}

/* libpq reports errors as text only; the system's part of it is strerror()'s, which can be found again. */
static int errno_of(const char *text) {
  static const int known[] = {ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ECONNRESET, EPIPE, EADDRNOTAVAIL};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strstr(text, strerror(known[i]))) return -known[i];
  return strstr(text, "authentication failed") || strstr(text, "no password supplied") ? -EACCES : -EIO;
}

/* The connection's own error, its line breaks removed. */
static int connection_error(struct pg_conn *conn) {
  const char *text = conn->pg ? PQerrorMessage(conn->pg) : "out of memory";
  int n = (int)strcspn(text, "\n");
  conn->dead = true;
  bool vague = strstr(text, "certificate verify failed"); /* libpq does not say why; another name it tells apart */
  return lb_fail(conn->env, errno_of(text), "postgres: %.*s%s", n, text,
                 vague ? ": it has expired, or nothing in the ca file has signed it" : "");
}

/* Notices would go to stderr. A FATAL on an idle connection arrives as one: the server says good-bye. A commit whose
 * wait for the standby has failed is only warned of, without a SQLSTATE of its own and in the server's language: the
 * place in its source tells it. */
static void on_notice(void *arg, const PGresult *notice) {
  struct pg_conn *conn = arg;
  const char *place = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
  const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0)) conn->dead = true;
  if (place && strcmp(place, "SyncRepWaitForLSN") == 0) conn->unconfirmed = true;
}

static int finish_connecting(struct pg_conn *conn, lb_ns deadline) {
  PostgresPollingStatusType state = PGRES_POLLING_WRITING;
  while (state != PGRES_POLLING_OK) {
    if (state == PGRES_POLLING_FAILED || PQstatus(conn->pg) == CONNECTION_BAD) return connection_error(conn);
    int got = lb_wait_fd(conn->env, PQsocket(conn->pg), state == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline);
    if (got == 0) return lb_fail(conn->env, -ETIMEDOUT, "postgres: no connection before the deadline");
    if (got < 0) return lb_fail(conn->env, got, "postgres: waiting for the connection: %s", strerror(-got));
    state = PQconnectPoll(conn->pg);
  }
  return PQsetnonblocking(conn->pg, 1) ? connection_error(conn) : 0;
}

/* What libpq is told. `host` only names the server in messages: the address has been looked up, because libpq would
 * block for that. */
static PGconn *start_connecting(const struct lb_target *target, const struct lb_endpoint *at, const char *address,
                                const char *schema) {
  char service[8];
  const char *ca = target ? target->ca_file : NULL;
  snprintf(service, sizeof service, "%u", (unsigned)at->port);
  /* tcp_user_timeout only tidies up behind us: our own deadlines give up earlier. */
  const char *const table[][2] = {
      {"hostaddr", address},
      {"host", at->host},
      {"port", service},
      {"user", at->user ? at->user : "lockbench"},
      {"password", at->password},
      {"dbname", target && target->database ? target->database : "postgres"},
      {"application_name", schema ? schema : "lockbench"},
      {"sslmode", !at->tls ? "disable"
                  : ca     ? "verify-full"
                           : "require"},
      {"sslrootcert",
       ca ? ca : "/dev/null/none"}, /* no such file can be; else libpq would look for one in the home of the user */
      {"gssencmode", "disable"},
      {"target_session_attrs", "any"}, /* that a standby is one is for us to find out, whatever the environment says */
      {"tcp_user_timeout", "10000"},
      {NULL, NULL}};
  enum { COUNT = sizeof table / sizeof *table };
  const char *keys[COUNT], *values[COUNT];
  for (size_t i = 0; i < COUNT; i++) keys[i] = table[i][0], values[i] = table[i][1];
  return PQconnectStartParams(keys, values, 0);
}

int pg_open(struct lb_env *env, const struct lb_target *target, const struct lb_endpoint *at, const char *schema,
            lb_ns deadline, struct pg_conn **ret) {
  char address[LB_ADDRESS_MAX];
  int rc = lb_address(env, at->host, deadline, address);
  if (rc) return rc;
  struct pg_conn *conn = calloc(1, sizeof *conn);
  if (!conn) return lb_fail(env, -ENOMEM, "postgres: out of memory");
  conn->env = env;
  conn->schema = schema ? strdup(schema) : NULL;
  if (!schema || conn->schema) conn->pg = start_connecting(target, at, address, schema);
  if (conn->pg) PQsetNoticeReceiver(conn->pg, on_notice, conn);
  rc = conn->pg ? finish_connecting(conn, deadline) : connection_error(conn);
  if (rc) {
    pg_close(conn);
    return rc;
  }
  *ret = conn;
  return 0;
}

void pg_close(struct pg_conn *conn) {
  if (!conn) return;
  PQfinish(conn->pg);
  for (size_t i = 0; i < PREPARED_MAX; i++) free(conn->prepared[i]);
  free(conn->schema);
  free(conn);
}

/* The same, after a look for an end of file or a FATAL that came since the last call. Does not wait. Without the look
 * the first statement after a restart of the server would be written into a dead socket, and its outcome would be
 * unknown for no reason. */
static bool pg_still_open(struct pg_conn *conn) {
  char byte;
  ssize_t n;
  while (!conn->dead && (n = recv(PQsocket(conn->pg), &byte, 1, MSG_PEEK | MSG_DONTWAIT)) != 0) {
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (!PQconsumeInput(conn->pg)) return false;
    PQisBusy(conn->pg); /* parses what came, which calls on_notice() */
  }
  return false;
}

static int unknown(struct pg_conn *conn, const char *why) {
  conn->dead = true;
  return lb_fail(conn->env, -EIO, "postgres: sent, no answer: %s", why), LB_UNKNOWN;
}

/* Gets the rest of the request out. Reads as well: a server that is busy writing to us may not read before we do. */
static int flush(struct pg_conn *conn, lb_ns deadline) {
  int left;
  while ((left = PQflush(conn->pg)) > 0) {
    int got = lb_wait_fd(conn->env, PQsocket(conn->pg), POLLIN | POLLOUT, deadline);
    if (got <= 0) return unknown(conn, got ? strerror(-got) : "the deadline passed");
    if ((got & POLLIN) && !PQconsumeInput(conn->pg)) return unknown(conn, "connection lost");
  }
  return left ? unknown(conn, "connection lost") : 0;
}

/* FATAL ends the connection, and a commit may have happened just before it, so such an answer is none. */
static bool fatal(const PGresult *result) { return pg_is(result, "57P") || pg_is(result, "08"); }

/* Takes the one result and the NULL behind it. */
static int answer(struct pg_conn *conn, lb_ns deadline, PGresult **ret) {
  PGresult *result = NULL, *next;
  conn->unconfirmed = false;
  int rc = flush(conn, deadline);
  while (!rc) {
    while (!rc && PQisBusy(conn->pg)) {
      int got = lb_wait_fd(conn->env, PQsocket(conn->pg), POLLIN, deadline);
      if (got <= 0) rc = unknown(conn, got ? strerror(-got) : "the deadline passed");
      else if (!PQconsumeInput(conn->pg)) rc = unknown(conn, "connection lost");
    }
    if (rc || !(next = PQgetResult(conn->pg))) break;
    PQclear(result);
    result = next;
  }
  if (!rc && (!result || conn->dead || fatal(result) || PQstatus(conn->pg) != CONNECTION_OK))
    rc = unknown(conn, "connection lost");
  if (rc) PQclear(result);
  else *ret = result;
  return rc;
}

/* Reads the answer that pg_tell() has left. It does not matter what it is; only that the connection goes on. 0, or
 * -errno. */
static int read_owed(struct pg_conn *conn, lb_ns deadline) {
  PGresult *result;
  if (!conn->owes) return 0;
  conn->owes = false;
  if (answer(conn, deadline, &result)) return lb_now(conn->env) >= deadline ? -ETIMEDOUT : -ECONNRESET;
  PQclear(result);
  return 0;
}

static int before_send(struct pg_conn *conn, lb_ns deadline) {
  if (conn->dead || !pg_still_open(conn)) {
    conn->dead = true;
    return lb_fail(conn->env, -ENOTCONN, "postgres: the server closed the connection");
  }
  if (lb_now(conn->env) >= deadline)
    return lb_fail(conn->env, -ETIMEDOUT, "postgres: the deadline passed before sending");
  return read_owed(conn, deadline);
}

/* What this session has notified itself is no news. */
static bool take_notices(struct pg_conn *conn) {
  bool found = false;
  for (PGnotify *n; (n = PQnotifies(conn->pg)); PQfreemem(n)) found = found || n->be_pid != PQbackendPID(conn->pg);
  return found;
}

/* Waits until another session has notified one of the channels that this one listens to; notifications that came before
 * count, and are taken. 1; 0: the deadline passed; -errno: the connection is lost. */
static int pg_await_notice(struct pg_conn *conn, lb_ns deadline) {
  int rc = read_owed(conn, deadline);
  if (rc) return rc;
  while (!take_notices(conn)) {
    int got = lb_wait_fd(conn->env, PQsocket(conn->pg), POLLIN, deadline);
    if (got <= 0) return got;
    if (!PQconsumeInput(conn->pg) || conn->dead) return connection_error(conn);
  }
  return 1;
}

#define OURS "lockbench_" /* how the names of all tables and sequences of a run begin */

/* The text with each of those names in the schema of the connection, malloc'd; NULL = out of memory. A search_path
 * would do the same, but belongs to a server process, and a pooler refuses or loses it. */
static char *with_schema(const struct pg_conn *conn, const char *sql) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  for (const char *name; conn->schema && (name = strstr(sql, OURS)); sql = name + strlen(OURS))
    fprintf(out, "%.*s\"%s\"." OURS, (int)(name - sql), sql, conn->schema);
  fputs(sql, out);
  return fclose(out) == 0 ? text : (free(text), NULL);
}

/* Unprepared: 0 = it has left, or will with the next flush. */
static int send_text(struct pg_conn *conn, lb_ns deadline, const char *sql, int count, const char *const params[]) {
  int rc = before_send(conn, deadline);
  if (rc) return rc;
  char *text = with_schema(conn, sql);
  if (!text) return lb_fail(conn->env, -ENOMEM, "postgres: out of memory");
  rc = PQsendQueryParams(conn->pg, text, count, NULL, params, NULL, NULL, 0) ? 0 : connection_error(conn);
  free(text);
  return rc;
}

int pg_query(struct pg_conn *conn, lb_ns deadline, PGresult **ret, const char *sql, int count,
             const char *const params[]) {
  int rc = send_text(conn, deadline, sql, count, params);
  return rc ? rc : answer(conn, deadline, ret);
}

/* The place of a text among those that are prepared, or the first free one; -ENOSPC. By the text itself: no two
 * statements can be taken for each other. */
static int place_of(struct pg_conn *conn, const char *sql) {
  for (int i = 0; i < PREPARED_MAX; i++)
    if (!conn->prepared[i] || strcmp(conn->prepared[i], sql) == 0) return i;
  return lb_fail(conn->env, -ENOSPC, "postgres: more than %d statements prepared on one connection", PREPARED_MAX);
}

/* The name of a prepared statement says its text (FNV-1a): one that another session has prepared in the same server
 * process is never another statement. */
struct stmt_name {
  char text[24];
};
static struct stmt_name name_of(const char *sql) {
  struct stmt_name name;
  uint64_t hash = 14695981039346656037u;
  for (; *sql; sql++) hash = (hash ^ (unsigned char)*sql) * 1099511628211u;
  snprintf(name.text, sizeof name.text, "lb%016" PRIx64, hash);
  return name;
}

/* 0 with *ret still NULL: prepared. What goes wrong here has not sent the statement itself. */
static int prepare(struct pg_conn *conn, lb_ns deadline, PGresult **ret, const struct sql_stmt *stmt, int place) {
  PGresult *result;
  int rc = before_send(conn, deadline);
  if (rc) return rc;
  char *text = with_schema(conn, stmt->sql);
  if (!text) return lb_fail(conn->env, -ENOMEM, "postgres: out of memory");
  rc = PQsendPrepare(conn->pg, name_of(stmt->sql).text, text, stmt->params, NULL) ? 0 : connection_error(conn);
  free(text);
  if (rc) return rc;
  rc = answer(conn, deadline, &result);
  if (rc) return lb_now(conn->env) >= deadline ? -ETIMEDOUT : -ECONNRESET;
  if (PQresultStatus(result) != PGRES_COMMAND_OK) {
    *ret = result;
    return 0;
  }
  PQclear(result);
  conn->prepared[place] = strdup(stmt->sql);
  return conn->prepared[place] ? 0 : lb_fail(conn->env, -ENOMEM, "postgres: out of memory");
}

/* Prepared and sent. 0 with *ret still NULL: it has left, or will with the next flush. */
static int send_prepared(struct pg_conn *conn, lb_ns deadline, PGresult **ret, const struct sql_stmt *stmt,
                         const char *const params[]) {
  if (conn->unprepared) return send_text(conn, deadline, stmt->sql, stmt->params, params);
  int place = place_of(conn, stmt->sql);
  if (place < 0) return place;
  if (!conn->prepared[place]) {
    int rc = prepare(conn, deadline, ret, stmt, place);
    if (rc || *ret) return rc;
  }
  int rc = before_send(conn, deadline);
  if (rc) return rc;
  return PQsendQueryPrepared(conn->pg, name_of(stmt->sql).text, stmt->params, params, NULL, NULL, 0)
             ? 0
             : connection_error(conn);
}

/* 42P05: a statement of that name exists already. 26000: none does. Either way the server process is not that of this
 * session alone: a pooler in transaction mode stands between. Nothing was executed, so the statement may be sent again,
 * and from now on none is prepared. */
static bool is_shared(struct pg_conn *conn, const PGresult *result) {
  if (conn->unprepared || !(pg_is(result, "42P05") || pg_is(result, "26000"))) return false;
  return conn->unprepared = true;
}

int pg_call(struct pg_conn *conn, lb_ns deadline, PGresult **ret, const struct sql_stmt *stmt,
            const char *const params[]) {
  *ret = NULL;
  int rc = send_prepared(conn, deadline, ret, stmt, params);
  if (rc == 0 && !*ret) rc = answer(conn, deadline, ret);
  if (rc || !is_shared(conn, *ret)) return rc;
  PQclear(*ret);
  *ret = NULL;
  return pg_query(conn, deadline, ret, stmt->sql, stmt->params, params);
}

bool pg_pooled(struct pg_conn *conn, int pid) {
  return conn->unprepared = pid != PQbackendPID(conn->pg) || conn->unprepared;
}

void pg_tell(struct pg_conn *conn, lb_ns deadline, const struct sql_stmt *stmt, const char *const params[]) {
  PGresult *result = NULL;
  int rc = send_prepared(conn, deadline, &result, stmt, params);
  if (rc == 0 && !result) conn->owes = flush(conn, deadline) == 0;
  PQclear(result);
}

/* After the latest answer, which the server gave without its standby: it was told to wait no longer, did, and warned of
 * it. */
static bool pg_unconfirmed(const struct pg_conn *conn) { return conn->unconfirmed; }

/* Still of use after the latest call: no LB_UNKNOWN, no FATAL, no -errno of the connection itself. Sends nothing. */
static bool pg_usable(const struct pg_conn *conn) { return !conn->dead; }

int pg_refusal(struct lb_env *env, const PGresult *result) {
  if (PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK) return 0;
  const char *text = PQresultErrorMessage(result);
  int code = pg_is(result, "42P01") ? -ENOENT : pg_is(result, "57014") ? -ECANCELED : -EPROTO;
  return lb_fail(env, code, "postgres: %.*s", (int)strcspn(text, "\n"), text);
}

/* ---- what a lock needs of its server ---------------------------------------------------------------------- */

/* Sequential scans are off for a reason: a lock table is planned for when it has one page, and read when it has
 * thousands of pages of dead rows. The plan is kept in between. */
static const char hello_sql[] =
    "SELECT pg_is_in_recovery(), extract(epoch FROM backend_start), set_config('lock_timeout', $1, false),"
    " set_config('enable_seqscan', 'off', false), set_config($3, $2, false), pg_backend_pid()"
    " FROM pg_stat_get_activity(pg_backend_pid())";

/* Idle, or idle in a transaction. */
static const struct sql_stmt settled_sql = {
    "SELECT CASE WHEN state LIKE 'idle%' THEN pg_terminate_backend(pid) END FROM pg_stat_activity"
    " WHERE pid = $1::int AND extract(epoch FROM backend_start) = $2::numeric",
    2};
/* Behind a pooler an idle process may be lent to somebody else by now, so none is ended; and the one that answers may
 * be that very process, which has done whatever came before. What the network keeps for longer may still come: a lease
 * then ends by itself, and a row stays. */
static const struct sql_stmt settled_pooled_sql = {
    "SELECT FROM pg_stat_activity WHERE pid = $1::int AND extract(epoch FROM backend_start) = $2::numeric"
    " AND pid <> pg_backend_pid() AND state NOT LIKE 'idle%'",
    2};

const char *const pg_topologies[] = {"pg", "pg-async", "pg-sync", NULL};

static int connect_to(struct sql_primary *primary, const struct lb_endpoint *at, lb_ns deadline) {
  struct pg_conn *conn = NULL;
  int rc = pg_open(primary->env, primary->target, at, primary->schema, deadline, &conn);
  primary->conn = conn;
  return rc;
}

/* No row, and so nothing, before PostgreSQL 17. */
static int limit(struct sql_primary *primary, lb_ns deadline) {
  static const char sql[] = "SELECT set_config(name, $1, false) FROM pg_settings WHERE name = 'transaction_timeout'";
  PGresult *result = NULL;
  char lasts[24];
  snprintf(lasts, sizeof lasts, "%lld", (long long)primary->lasts_ms);
  int rc = pg_query(primary->conn, deadline, &result, sql, 1, (const char *[]){lasts});
  if (rc) return rc < 0 ? rc : -ETIMEDOUT;
  if (PQresultStatus(result) != PGRES_TUPLES_OK)
    rc = lb_fail(primary->env, -EPROTO, "postgres: transaction_timeout: %.200s", PQresultErrorMessage(result));
  PQclear(result);
  return rc;
}

static int greet(struct sql_primary *primary, lb_ns deadline) {
  PGresult *result = NULL;
  char lock[24], idle[24];
  snprintf(lock, sizeof lock, "%lld", (long long)primary->lock_timeout_ms);
  snprintf(idle, sizeof idle, "%lld", (long long)primary->idle_timeout_ms);
  const char *which = primary->idles_outside && primary->idle_timeout_ms ? "idle_session_timeout" /* from 14 on */
                                                                         : "idle_in_transaction_session_timeout";
  int rc = pg_query(primary->conn, deadline, &result, hello_sql, 3, (const char *[]){lock, idle, which});
  if (rc) return rc < 0 ? rc : -ETIMEDOUT;
  if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1)
    rc = lb_fail(primary->env, -EPROTO, "postgres: greeting: %.200s", PQresultErrorMessage(result));
  else if (*PQgetvalue(result, 0, 0) != 'f')
    rc = lb_fail(primary->env, -EROFS, "postgres: the server that answers is a standby");
  else {
    snprintf(primary->born, sizeof primary->born, "%s", PQgetvalue(result, 0, 1));
    primary->pid = atoi(PQgetvalue(result, 0, 5));
    primary->pooled = pg_pooled(primary->conn, primary->pid);
  }
  PQclear(result);
  return rc == 0 && primary->lasts_ms ? limit(primary, deadline) : rc;
}

static void close_conn(void *conn) { pg_close(conn); }
static bool is_usable(const void *conn) { return pg_usable(conn); }
static bool is_still_open(void *conn) { return pg_still_open(conn); }

static enum sql_outcome outcome_of(const PGresult *result, int code) {
  static const struct {
    const char *sqlstate;
    enum sql_outcome outcome;
  } known[] = {{"55P03", SQL_BUSY},  {"23505", SQL_EXISTS},  {"40001", SQL_AGAIN},
               {"40P01", SQL_AGAIN}, {"25006", SQL_STANDBY}, {"42P01", SQL_NO_TABLE}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (pg_is(result, known[i].sqlstate)) return known[i].outcome;
  return code ? SQL_REFUSED : SQL_DONE;
}

static int pg_run(struct sql_primary *primary, lb_ns deadline, const struct sql_stmt *stmt, const char *const params[],
                  struct sql_answer *ret) {
  PGresult *result = NULL;
  int rc = pg_call(primary->conn, deadline, &result, stmt, params);
  if (rc) return rc;
  int code = pg_refusal(primary->env, result);
  *ret = (struct sql_answer){.outcome = outcome_of(result, code), .unconfirmed = pg_unconfirmed(primary->conn)};
  if (ret->outcome == SQL_REFUSED || ret->outcome == SQL_NO_TABLE) ret->code = code;
  if (!code) {
    ret->yes = PQntuples(result) > 0 || strtoul(PQcmdTuples(result), NULL, 10) > 0;
    if (PQntuples(result) && PQnfields(result)) snprintf(ret->text, sizeof ret->text, "%s", PQgetvalue(result, 0, 0));
  }
  PQclear(result);
  return 0;
}

static int settled(struct sql_primary *primary, lb_ns deadline, const struct sql_origin *origin) {
  struct sql_answer answer;
  char pid[16];
  snprintf(pid, sizeof pid, "%d", origin->pid);
  const struct sql_stmt *stmt = primary->pooled
                                    ? &settled_pooled_sql
                                    : &settled_sql; /* of the pooler that there was, if the connection is lost now */
  int rc = sql_primary_call(primary, deadline, stmt, (const char *[]){pid, origin->born}, NULL, &answer);
  if (rc) return rc < 0 ? rc : lb_fail(primary->env, -ETIMEDOUT, "postgres: no answer about the earlier statement");
  return answer.code ? answer.code : !answer.yes;
}

/* One value as text. 0, or -errno (-ETIMEDOUT: no answer). */
static int ask_text(struct sql_primary *primary, const struct sql_stmt *stmt, const char *const params[],
                    char ret[static 64], lb_ns deadline) {
  const char *name = primary->server->service;
  struct sql_answer answer;
  int rc = sql_primary_call(primary, deadline, stmt, params, NULL, &answer);
  if (rc) return rc < 0 ? rc : lb_fail(primary->env, -ETIMEDOUT, "%s: no answer before the deadline", name);
  if (answer.code) return answer.code;
  if (!answer.yes && !answer.text[0]) return lb_fail(primary->env, -EPROTO, "%s: an answer without a row", name);
  memcpy(ret, answer.text, sizeof answer.text);
  return 0;
}

/* Until the log on disk and every connected standby have the tables, too: a server that comes back without them, or is
 * promoted without them, would refuse everybody, and nothing about locks would be learnt from it. (A commit may be
 * acknowledged before it is in the log.) */
static int await_copies(struct sql_primary *primary, lb_ns deadline) {
  static const struct sql_stmt here = {"SELECT pg_current_wal_insert_lsn()", 0};
  static const struct sql_stmt there = {
      "SELECT coalesce(bool_and(replay_lsn >= $1::pg_lsn), true) AND pg_current_wal_flush_lsn() >= $1::pg_lsn FROM pg_stat_replication",
      1};
  struct lb_env *env = primary->env;
  char lsn[64], all[64];
  int rc = ask_text(primary, &here, NULL, lsn, deadline);
  while (!rc && !(rc = ask_text(primary, &there, (const char *[]){lsn}, all, deadline)) && all[0] != 't') {
    if (lb_now(env) >= deadline) return lb_fail(env, -ETIMEDOUT, "postgres: the log or a standby does not follow");
    lb_sleep_until(env, lb_now(env) + 5 * LB_NS_PER_MS);
  }
  return rc;
}

/* Behind a pooler the process that answers may be one that a client has left its locks on, and the next one may be
 * about to end: then it is asked again. */
static int end_others(struct sql_primary *primary, lb_ns deadline) {
  static const struct sql_stmt others = {
      "SELECT count(pg_terminate_backend(pid)), pg_advisory_unlock_all() FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()",
      1};
  char left[64];
  int rc = ask_text(primary, &others, (const char *[]){primary->schema}, left, deadline);
  return rc ? rc : atoi(left);
}

/* ---- waiting -----------------------------------------------------------------------------------------------
 *
 * Waiters are told of a release by NOTIFY, and LISTEN on their session's own connection.
 *
 * The notification is sent behind the release, not in it. Transactions that notify commit one after the other in the
 * whole server (it takes a lock of the database "0" before the commit record, and keeps it through the flush and the
 * wait for a standby), so a release that notifies would stand in line for the disk with all other releases of other
 * keys. Behind it there is nothing that has to be kept: the notification commits without waiting for the log. No waiter
 * hears of a release before it is committed, because it was answered first. The price: a client that dies in between
 * has not told the waiters.
 *
 * A notification is for those that listen when it is sent, one may be missing, and a lease that runs out is not told.
 * So a waiter that has just begun to listen looks once whether the key is held, and waits for at most WAKE_MS. That all
 * who wait ask, and one gets it, is the price of a channel for each key.
 *
 * Source: PostgreSQL's documentation of NOTIFY; src/backend/commands/async.c, PreCommit_Notify(). */

enum { WAKE_MS = 200 };
/* The channel of a key is what fits into a name of PostgreSQL: two keys that begin alike are woken together, which does
 * no harm. */
#define CHANNEL_MAX "60"

/* set_config(..., true) is for this transaction, and is read when it commits. */
static const struct sql_stmt tell_sql = {
    "SELECT set_config('synchronous_commit', 'off', true), pg_notify(left($1, " CHANNEL_MAX "), '')", 1};

static void tell(struct sql_primary *primary, const char *key, lb_ns deadline) {
  if (primary->conn && pg_usable(primary->conn)) pg_tell(primary->conn, deadline, &tell_sql, (const char *[]){key});
}

/* 0; -errno, also where there was no answer: the connection is then of no use. */
static int do_sql(struct sql_primary *primary, const char *sql, lb_ns until) {
  PGresult *result = NULL;
  int rc = pg_query(primary->conn, until, &result, sql, 0, NULL);
  if (rc) return rc < 0 ? rc : -ETIMEDOUT;
  rc = pg_refusal(primary->env, result);
  PQclear(result);
  return rc;
}

/* To this key alone. */
static int listen_on(struct sql_primary *primary, struct sql_ear *ear, const char *key, lb_ns until) {
  char sql[100];
  int rc = ear->key[0] ? do_sql(primary, "UNLISTEN *", until) : 0;
  ear->key[0] = '\0';
  if (rc) return rc;
  snprintf(sql, sizeof sql, "LISTEN \"%." CHANNEL_MAX "s\"", key);
  rc = do_sql(primary, sql, until);
  if (rc) return rc;
  ear->losses = primary->losses;
  snprintf(ear->key, sizeof ear->key, "%s", key);
  return 0;
}

/* No answer counts as held: the next try will ask again. */
static bool is_free(struct sql_primary *primary, const struct sql_stmt *held, const char *const params[], lb_ns until) {
  PGresult *result = NULL;
  int rc = pg_query(primary->conn, until, &result, held->sql, held->params, params);
  bool gone = rc == 0 && PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 0;
  PQclear(result);
  return gone;
}

static int wait_for(struct sql_primary *primary, struct sql_ear *ear, const struct sql_stmt *held,
                    const char *const params[], lb_ns deadline) {
  struct lb_env *env = primary->env;
  const char *key = params[0];
  lb_ns until = lb_now(env) + WAKE_MS * LB_NS_PER_MS;
  if (until > deadline) until = deadline;
  int rc = sql_primary_get(primary, until);
  if (rc) return rc;
  if (ear->losses != primary->losses) ear->key[0] = '\0'; /* that was another connection */
  if (strcmp(ear->key, key) != 0) {
    rc = listen_on(primary, ear, key, until);
    if (rc == 0 && is_free(primary, held, params, until)) return LB_OK;
  }
  if (rc == 0) rc = pg_await_notice(primary->conn, until);
  if (rc) return rc < 0 ? rc : LB_OK;
  return lb_now(env) >= deadline ? LB_TIMEOUT : LB_OK;
}

const struct sql_server pg_server = {
    .service = "postgres",
    .durable = "SET synchronous_commit = on",
    .drop_more = " CASCADE",
    .connect = connect_to,
    .greet = greet,
    .close = close_conn,
    .usable = is_usable,
    .still_open = is_still_open,
    .run = pg_run,
    .settled = settled,
    .end_others = end_others,
    .await_copies = await_copies,
    .tell = tell,
    .wait = wait_for,
};
