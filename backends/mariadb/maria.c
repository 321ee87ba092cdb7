/* SPDX-License-Identifier: MIT
 *
 * maria.c - MariaDB connections with our own deadlines, and what locks need of them.
 *
 * The client library's blocking calls know no deadline, so each call is started and continued whenever its socket is
 * ready. A call that ran into its deadline is given up with its connection: KILL would turn a commit that waits for a
 * replica into one that exists on the primary only. Statements go as text, with the parameters quoted in.
 *
 * A connection says whose it is by its default database, the schema of the run; the first one finds none and makes it.
 */
#include "maria.h"

#include "backends/address.h"

#include <errno.h>
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Errors of the server (mysqld_error.h, which Debian has in another package). */
enum {
  ER_NO_SUCH_DB = 1049,
  ER_SHUTTING_DOWN = 1053,
  ER_DUPLICATE = 1062,
  ER_NO_TABLE = 1146,
  ER_LOCK_WAIT = 1205,
  ER_DEADLOCK = 1213,
  ER_READ_ONLY = 1290,
  ER_KILLED = 1927,
  ER_IDLE_TIMEOUT = 4031,
  CLIENT_ERRORS = 2000, /* up to 2999: nothing the server has said */
};

struct maria_conn {
  struct lb_env *env;
  MYSQL *mysql;
  const char *schema;
  bool dead;
};

const char *const maria_topologies[] = {"maria", "maria-async", "maria-semisync", NULL};

/* ---- calls --------------------------------------------------------------------------------------------------- */

/* Waits for what a started call waits for (MYSQL_WAIT_*). What came of it, to be given to the call's continuation;
 * 0: the deadline passed; -errno. */
static int await(struct maria_conn *conn, int status, lb_ns deadline) {
  short events = 0;
  if (status & MYSQL_WAIT_READ) events |= POLLIN;
  if (status & MYSQL_WAIT_WRITE) events |= POLLOUT;
  if (status & MYSQL_WAIT_EXCEPT) events |= POLLPRI;
  int got = lb_wait_fd(conn->env, mysql_get_socket(conn->mysql), events, deadline);
  if (got <= 0) return got;
  int came = 0;
  if (got & (POLLIN | POLLERR | POLLHUP)) came |= MYSQL_WAIT_READ;
  if (got & (POLLOUT | POLLERR)) came |= MYSQL_WAIT_WRITE;
  if (got & POLLPRI) came |= MYSQL_WAIT_EXCEPT;
  return came & status ? came & status : status;
}

static int connection_error(struct maria_conn *conn) {
  static const int known[] = {ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ECONNRESET, EPIPE, EADDRNOTAVAIL};
  const char *text = mysql_error(conn->mysql);
  int code = -EIO;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    char number[16];
    snprintf(number, sizeof number, "(%d)", known[i]);
    if (strstr(text, strerror(known[i])) || strstr(text, number)) code = -known[i];
  }
  if (mysql_errno(conn->mysql) == 1045) code = -EACCES;
  conn->dead = true;
  return lb_fail(conn->env, code, "mariadb: %.200s", text);
}

static int unknown(struct maria_conn *conn, const char *why) {
  conn->dead = true;
  return lb_fail(conn->env, -EIO, "mariadb: sent, no answer: %s", why), LB_UNKNOWN;
}

/* ---- a connection -------------------------------------------------------------------------------------------- */

static bool is_usable(const void *conn) { return !((const struct maria_conn *)conn)->dead; }

/* Nothing is outstanding, so whatever can be read is an end: of the file, or the server's good-bye. */
static bool is_still_open(void *arg) {
  struct maria_conn *conn = arg;
  char byte;
  if (conn->dead) return false;
  ssize_t n = recv(mysql_get_socket(conn->mysql), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) conn->dead = true;
  return !conn->dead;
}

/* A dead connection is not told good-bye: that could block. */
static void close_conn(void *arg) {
  struct maria_conn *conn = arg;
  int fd = conn->mysql ? (int)mysql_get_socket(conn->mysql) : -1;
  if (conn->dead && fd >= 0) shutdown(fd, SHUT_RDWR);
  if (conn->mysql) mysql_close(conn->mysql);
  free(conn);
}

static int connect_to(struct sql_primary *primary, const struct lb_endpoint *at, lb_ns deadline) {
  char address[LB_ADDRESS_MAX], hello[200];
  MYSQL *done = NULL;
  int r = lb_address(primary->env, at->host, deadline, address);
  if (r) return r;
  struct maria_conn *conn = primary->conn = calloc(1, sizeof *conn);
  if (!conn || !(conn->mysql = mysql_init(NULL))) return lb_fail(primary->env, -ENOMEM, "mariadb: out of memory");
  conn->env = primary->env;
  conn->schema = primary->schema;
  /* Names stand in double quotes, as in the standard. Waits, and what idles, are bounded by the second. MySQL knows no
   * idle transactions, and skips what stands behind M!. */
  snprintf(hello, sizeof hello,
           "SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES'), innodb_lock_wait_timeout = 1 %s = %lld */",
           primary->idles_outside && primary->idle_timeout_ms ? "/*!, wait_timeout" : "/*M!, idle_transaction_timeout",
           (long long)(primary->idle_timeout_ms + 999) / 1000);
  mysql_options(conn->mysql, MYSQL_INIT_COMMAND, hello);
  mysql_options(conn->mysql, MYSQL_OPT_NONBLOCK, NULL);
  const char *ca = at->tls ? primary->target->ca_file : NULL;
  mysql_options(conn->mysql, MYSQL_OPT_SSL_ENFORCE, &(my_bool){at->tls});
  mysql_options(conn->mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &(my_bool){ca != NULL}); /* 3.4 would ask for one */
  if (ca) mysql_options(conn->mysql, MYSQL_OPT_SSL_CA, ca);
  int status = mysql_real_connect_start(&done, conn->mysql, ca ? at->host : address, at->user ? at->user : "lockbench",
                                        at->password, NULL, at->port, NULL, 0);
  while (status) {
    int came = await(conn, status, deadline);
    if (came <= 0) {
      conn->dead = true;
      return came ? lb_fail(conn->env, came, "mariadb: waiting for the connection: %s", strerror(-came))
                  : lb_fail(conn->env, -ETIMEDOUT, "mariadb: no connection before the deadline");
    }
    status = mysql_real_connect_cont(&done, conn->mysql, came);
  }
  return done ? 0 : connection_error(conn);
}

/* ---- statements ---------------------------------------------------------------------------------------------- */

#define OURS "lockbench_" /* how the names of all tables and sequences of a run begin */

/* The text with its parameters quoted in, and with our names in the schema. malloc'd; NULL = out of memory. */
static char *fill_in(struct maria_conn *conn, const char *sql, const char *const params[], size_t *ret_size) {
  char *text = NULL, quoted[2 * LB_TOKEN_MAX + 1];
  FILE *out = open_memstream(&text, ret_size);
  for (; out && *sql; sql++) {
    if (sql[0] == '$' && sql[1] >= '1' && sql[1] <= '9') {
      const char *param = params[*++sql - '1'];
      if (!param) fputs("NULL", out);
      else {
        mysql_real_escape_string(conn->mysql, quoted, param, strnlen(param, LB_TOKEN_MAX));
        fprintf(out, "'%s'", quoted);
      }
    } else {
      if (conn->schema && strncmp(sql, OURS, strlen(OURS)) == 0) fprintf(out, "\"%s\".", conn->schema);
      fputc(*sql, out);
    }
  }
  return out && fclose(out) == 0 ? text : (free(text), NULL);
}

static enum sql_outcome outcome_of(unsigned error) {
  switch (error) {
    case 0: return SQL_DONE;
    case ER_LOCK_WAIT: return SQL_BUSY;
    case ER_DUPLICATE: return SQL_EXISTS;
    case ER_DEADLOCK: return SQL_AGAIN;
    case ER_READ_ONLY: return SQL_STANDBY;
    case ER_NO_TABLE:
    case ER_NO_SUCH_DB: return SQL_NO_TABLE;
    default: return SQL_REFUSED;
  }
}

/* What an error says: the answer, or that there is none. */
static int read_error(struct maria_conn *conn, struct sql_answer *ret) {
  unsigned error = mysql_errno(conn->mysql);
  bool lost = (error >= CLIENT_ERRORS && error < CLIENT_ERRORS + 1000) || error == ER_KILLED ||
              error == ER_SHUTTING_DOWN || error == ER_IDLE_TIMEOUT;
  if (lost) return unknown(conn, mysql_error(conn->mysql));
  *ret = (struct sql_answer){.outcome = outcome_of(error)};
  if (ret->outcome == SQL_REFUSED || ret->outcome == SQL_NO_TABLE)
    ret->code = lb_fail(conn->env, ret->outcome == SQL_NO_TABLE ? -ENOENT : -EPROTO, "mariadb: %.200s",
                        mysql_error(conn->mysql));
  return 0;
}

/* Functions such as GET_LOCK say 0 or NULL for no. */
static void read_rows(MYSQL_RES *rows, const char *column, struct sql_answer *ret) {
  MYSQL_ROW row = mysql_fetch_row(rows);
  unsigned i = 0, count = mysql_num_fields(rows);
  while (column && i < count && strcmp(mysql_fetch_field_direct(rows, i)->name, column) != 0) i++;
  if (!row || i == count || !row[i]) return;
  snprintf(ret->text, sizeof ret->text, "%s", row[i]);
  ret->yes = strcmp(ret->text, "0") != 0;
}

static int run_text(struct maria_conn *conn, lb_ns deadline, const char *text, size_t size, const char *column,
                    struct sql_answer *ret) {
  MYSQL_RES *rows = NULL;
  int failed = 0, came, status = mysql_real_query_start(&failed, conn->mysql, text, size);
  while (status) {
    if ((came = await(conn, status, deadline)) <= 0)
      return unknown(conn, came ? strerror(-came) : "the deadline passed");
    status = mysql_real_query_cont(&failed, conn->mysql, came);
  }
  if (failed) return read_error(conn, ret);
  status = mysql_store_result_start(&rows, conn->mysql);
  while (status) {
    if ((came = await(conn, status, deadline)) <= 0)
      return unknown(conn, came ? strerror(-came) : "the deadline passed");
    status = mysql_store_result_cont(&rows, conn->mysql, came);
  }
  *ret = (struct sql_answer){0};
  if (!rows && mysql_field_count(conn->mysql)) return read_error(conn, ret);
  if (rows) read_rows(rows, column, ret);
  else ret->yes = mysql_affected_rows(conn->mysql) > 0;
  mysql_free_result(rows);
  return 0;
}

static int maria_run(struct sql_primary *primary, lb_ns deadline, const struct sql_stmt *stmt,
                     const char *const params[], struct sql_answer *ret) {
  struct maria_conn *conn = primary->conn;
  size_t size;
  if (!is_still_open(conn)) return lb_fail(conn->env, -ENOTCONN, "mariadb: the server closed the connection");
  if (lb_now(conn->env) >= deadline)
    return lb_fail(conn->env, -ETIMEDOUT, "mariadb: the deadline passed before sending");
  char *text = fill_in(conn, stmt->sql, params, &size);
  if (!text) return lb_fail(conn->env, -ENOMEM, "mariadb: out of memory");
  int r = run_text(conn, deadline, text, size, primary->column, ret);
  free(text);
  return r;
}

/* ---- for the locks (struct sql_server) ----------------------------------------------------------------------- */

/* "host:port" of the client, of which sql_origin has room for the end: that tells two of a host apart. */
#define ORIGIN "RIGHT(host, 31)"

static int greet(struct sql_primary *primary, lb_ns deadline) {
  static const struct sql_stmt who = {"SELECT CONCAT(IF(@@GLOBAL.read_only, 1, 0), ' ', CONNECTION_ID(), ' ', " ORIGIN
                                      ") FROM information_schema.processlist"
                                      " WHERE id = CONNECTION_ID()",
                                      0};
  struct sql_answer answer;
  char text[100];
  int read_only;
  int r = maria_run(primary, deadline, &who, NULL, &answer);
  if (r == 0) r = answer.code;
  if (r) return r < 0 ? r : -ETIMEDOUT;
  if (sscanf(answer.text, "%d %d %31s", &read_only, &primary->pid, primary->born) != 3)
    return lb_fail(primary->env, -EPROTO, "mariadb: greeting: '%s'", answer.text);
  if (read_only) return lb_fail(primary->env, -EROFS, "mariadb: the server that answers is a replica");
  if (!primary->schema) return 0;
  snprintf(text, sizeof text, "USE \"%s\"", primary->schema);
  r = maria_run(primary, deadline, &(struct sql_stmt){text, 0}, NULL, &answer);
  if (r == 0 && answer.code && answer.outcome != SQL_NO_TABLE) r = answer.code;
  return r > 0 ? -ETIMEDOUT : r;
}

/* One that has ended meanwhile cannot be killed, which is as good. */
static int kill_one(struct sql_primary *primary, lb_ns deadline, int id) {
  struct sql_answer answer;
  char text[40];
  snprintf(text, sizeof text, "KILL CONNECTION %d", id);
  int r = sql_primary_call(primary, deadline, &(struct sql_stmt){text, 0}, NULL, NULL, &answer);
  return r > 0 ? -ETIMEDOUT : r;
}

static int settled(struct sql_primary *primary, lb_ns deadline, const struct sql_origin *origin) {
  static const struct sql_stmt what = {
      "SELECT command FROM information_schema.processlist WHERE id = $1 AND " ORIGIN " = $2", 2};
  struct sql_answer answer;
  char id[16];
  snprintf(id, sizeof id, "%d", origin->pid);
  int r = sql_primary_call(primary, deadline, &what, (const char *[]){id, origin->born}, NULL, &answer);
  if (r) return r < 0 ? r : lb_fail(primary->env, -ETIMEDOUT, "mariadb: no answer about the earlier statement");
  if (answer.code || !answer.yes) return answer.code ? answer.code : 1;
  return strcmp(answer.text, "Sleep") == 0 ? kill_one(primary, deadline, origin->pid) : 0;
}

static int end_others(struct sql_primary *primary, lb_ns deadline) {
  static const struct sql_stmt others = {
      "SELECT CONCAT(COUNT(*), ' ', COALESCE(MIN(id), 0)) FROM information_schema.processlist"
      " WHERE db = $1 AND id <> CONNECTION_ID()",
      1};
  struct sql_answer answer;
  int left, id;
  int r = sql_primary_call(primary, deadline, &others, (const char *[]){primary->schema}, NULL, &answer);
  if (r || answer.code) return r > 0 ? -ETIMEDOUT : r ? r : answer.code;
  if (sscanf(answer.text, "%d %d", &left, &id) != 2)
    return lb_fail(primary->env, -EPROTO, "mariadb: '%s'", answer.text);
  r = left ? kill_one(primary, deadline, id) : 0;
  return r ? r : left;
}

/* Until every replica has what the primary had. A server that writes no log for others has none. */
static int await_copies(struct sql_primary *primary, lb_ns deadline) {
  static const struct sql_stmt here = {"SELECT @@gtid_binlog_pos", 0}, there = {"SELECT @@gtid_slave_pos = $1", 1};
  struct lb_env *env = primary->env;
  struct sql_answer answer;
  if (primary->target->replicas == 0) return 0;
  int r = sql_primary_call(primary, deadline, &here, NULL, NULL, &answer);
  if (r || answer.code) return r > 0 ? -ETIMEDOUT : r ? r : answer.code;
  for (size_t i = 0; i < primary->target->count; i++)
    while (i != primary->endpoint &&
           (r = sql_inspect(primary, i, &there, (const char *[]){answer.text}, deadline)) != 1) {
      if (r < 0) return r;
      if (lb_now(env) >= deadline)
        return lb_fail(env, -ETIMEDOUT, "mariadb: a replica does not follow to %s", answer.text);
      lb_sleep_until(env, lb_now(env) + 5 * LB_NS_PER_MS);
    }
  return 0;
}

const struct sql_server maria_server = {
    .service = "mariadb",
    .drop_more = "",
    .connect = connect_to,
    .greet = greet,
    .close = close_conn,
    .usable = is_usable,
    .still_open = is_still_open,
    .run = maria_run,
    .settled = settled,
    .end_others = end_others,
    .await_copies = await_copies,
};
