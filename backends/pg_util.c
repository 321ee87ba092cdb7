/* SPDX-License-Identifier: MIT
 *
 * pg_util.c - PostgreSQL connections with our own deadlines.
 *
 * libpq's blocking calls know no deadline, so only the asynchronous ones are used and every wait goes through
 * lb_wait_fd(). A statement that ran into its deadline is left alone: libpq's cancel request opens a blocking
 * connection, and it would turn a commit that waits for a standby into one that exists on the primary only. The caller
 * is told LB_UNKNOWN instead and drops the connection.
 *
 * Behind a pooler that shares server processes a statement may run on another one than the statement before it. So
 * nothing is left to the session: names carry their schema, and where a prepared statement is not the session's own,
 * all go unprepared from then on.
 */
#include "pg_util.h"

#include "address.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PREPARED_MAX = 32 };

struct pg_conn {
  struct lb_env *env;
  PGconn *pg;
  char *schema;                 /* NULL = names are looked for as the server has it */
  char *prepared[PREPARED_MAX]; /* the texts; they begin with NULL where there are no more */
  bool unprepared;              /* the server process may be another one each time */
  bool owes;                    /* an answer that nobody waits for has not been read */
  bool unconfirmed;             /* the latest answer: the server was told not to wait for its standby any more */
  bool dead;
};

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

/* Notices would go to stderr. A FATAL on an idle connection arrives as one: the server says good-bye. That a commit has
 * waited for the standby in vain is only warned of, without a SQLSTATE of its own and in the server's language: the
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

/* Looks for an end of file or a FATAL that came since the last call. Without it, the first statement after a restart of
 * the server would be written into a dead socket, and its outcome would be unknown for no reason. */
bool pg_still_open(struct pg_conn *conn) {
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

/* Reads the answer that nobody has waited for. It does not matter what it is; only that the connection goes on. 0, or
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

int pg_await_notice(struct pg_conn *conn, lb_ns deadline) {
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

bool pg_unconfirmed(const struct pg_conn *conn) { return conn->unconfirmed; }

bool pg_usable(const struct pg_conn *conn) { return !conn->dead; }

bool pg_is(const PGresult *result, const char *sqlstate) {
  const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return state && strncmp(state, sqlstate, strlen(sqlstate)) == 0;
}

int pg_refusal(struct lb_env *env, const PGresult *result) {
  if (PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK) return 0;
  const char *text = PQresultErrorMessage(result);
  int code = pg_is(result, "42P01") ? -ENOENT : pg_is(result, "57014") ? -ECANCELED : -EPROTO;
  return lb_fail(env, code, "postgres: %.*s", (int)strcspn(text, "\n"), text);
}
