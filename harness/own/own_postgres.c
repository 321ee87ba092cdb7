/* SPDX-License-Identifier: MIT
 *
 * The user's own PostgreSQL. What a run makes is one schema of its name, in the database that was named.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/postgres/pg.h"
#include "base/error.h"
#include "base/need.h"
#include "own.h"

/* ---- CONNINFO ----------------------------------------------------------------------------------- */

static const char *value_of(const PQconninfoOption *options, const char *keyword) {
  for (; options->keyword; options++)
    if (strcmp(options->keyword, keyword) == 0) return options->val && *options->val ? options->val : NULL;
  return NULL;
}

/* The first keyword with a value that libpq knows and that means nothing here; NULL = there is none. Locks are asked of the
 * server that can write in any case. */
static const char *not_taken(const PQconninfoOption *options) {
  static const char *const taken[] = {"host", "hostaddr", "port", "dbname", "user", "sslmode", "sslrootcert", NULL};
  for (; options->keyword; options++) {
    size_t i = 0;
    while (taken[i] && strcmp(taken[i], options->keyword) != 0) i++;
    bool writes = strcmp(options->keyword, "target_session_attrs") == 0 && options->val &&
                  (strcmp(options->val, "read-write") == 0 || strcmp(options->val, "primary") == 0);
    if (!taken[i] && !writes && options->val && *options->val) return options->keyword;
  }
  return NULL;
}

/* "a,b" and "5432,5433", as libpq takes several. */
static int read_hosts(struct lb_own *own, const char *hosts, const char *ports, struct lb_error *err) {
  char *host_list = lb_need_text(hosts), *port_list = lb_need_text(ports ? ports : ""), *host_rest = host_list,
       *port_rest = port_list, *port = NULL;
  int r = 0;
  for (char *host; r == 0 && (host = strsep(&host_rest, ","));) {
    char text[LB_OWN_HOST_MAX + 16], *next = port_rest ? strsep(&port_rest, ",") : NULL;
    bool literal = strchr(host, ':');
    if (next) port = next; /* one port is that of all hosts */
    if (*host == '/')
      r = lb_refuse(err, "--postgres: expected host=NAME or an address: sockets of files are not taken");
    else
      snprintf(text, sizeof text, "%s%.250s%s%s%.8s", literal ? "[" : "", host, literal ? "]" : "",
               port && *port ? ":" : "", port ? port : "");
    if (r == 0) r = lb_own_add_address(own, text, err);
  }
  free(host_list);
  free(port_list);
  return r;
}

/* Encrypted or not at all: there is nothing between. */
static int read_tls(const char *mode, const char *ca, struct lb_error *err) {
  struct lb_own_login *login = lb_own_login(LB_LOGIN_POSTGRES);
  if (ca) snprintf(login->ca, sizeof login->ca, "%s", ca);
  if (!mode) return login->tls |= ca != NULL, 0;
  if (strcmp(mode, "disable") == 0) return login->tls = false, 0;
  login->tls = true;
  if (strcmp(mode, "require") == 0) return 0;
  if (strcmp(mode, "verify-full") != 0)
    return lb_refuse(err, "--postgres: sslmode=%s: expected disable, require or verify-full", mode);
  return login->ca[0] ? 0 : lb_refuse(err, "--postgres: sslmode=verify-full: expected sslrootcert=FILE beside it");
}

static int read_options(struct lb_own *own, const PQconninfoOption *options, struct lb_error *err) {
  struct lb_own_login *login = lb_own_login(LB_LOGIN_POSTGRES);
  const char *host = value_of(options, "host"), *user = value_of(options, "user"),
             *database = value_of(options, "dbname"), *odd = not_taken(options);
  if (value_of(options, "password")) return lb_own_refuse_login(own->kind, err);
  if (odd)
    return lb_refuse(err, "--postgres: %s is not taken: expected host, port, dbname, user, sslmode and sslrootcert",
                     odd);
  if (!host) host = value_of(options, "hostaddr");
  if (!host) return lb_refuse(err, "--postgres: expected a host, as in 'host=db.example.org dbname=test user=me'");
  if (user) snprintf(login->user, sizeof login->user, "%s", user);
  if (!login->user[0]) return lb_refuse(err, "--postgres: expected user=NAME in it, or in the file of --auth");
  snprintf(own->database, sizeof own->database, "%s", database ? database : "postgres");
  int r = read_tls(value_of(options, "sslmode"), value_of(options, "sslrootcert"), err);
  return r < 0 ? r : read_hosts(own, host, value_of(options, "port"), err);
}

/* The message of libpq may repeat what was typed, and with it a password. */
static int read_conninfo(struct lb_own *own, const char *text, struct lb_error *err) {
  char *why = NULL;
  PQconninfoOption *options = PQconninfoParse(text, &why);
  bool plain = !strchr(text, '=') && !strstr(text, "://");
  PQfreemem(why);
  int r;
  if (options) r = read_options(own, options, err);
  else if (plain && !strchr(text, '@'))
    r = snprintf(own->database, sizeof own->database, "postgres"), read_hosts(own, text, NULL, err);
  else
    r = lb_refuse(
        err, "--postgres: expected a CONNINFO of libpq, as in 'host=db.example.org port=5432 dbname=test user=me'");
  PQconninfoFree(options);
  return r;
}

/* ---- asking ------------------------------------------------------------------------------------- */

/* The first row of an answer, or NULL with env->err and *ret_rc. */
static PGresult *first_row(struct lb_env *env, struct pg_conn *conn, lb_ns deadline, int *ret_rc, const char *sql) {
  PGresult *result = NULL;
  int rc = pg_query(conn, deadline, &result, sql, 0, NULL);
  if (rc > 0) rc = -ETIMEDOUT;
  if (!rc) rc = pg_refusal(env, result);
  if (rc) PQclear(result), result = NULL;
  *ret_rc = rc;
  return result;
}

static int ask_pid(struct lb_env *env, struct pg_conn *conn, lb_ns deadline, int *ret) {
  int rc;
  PGresult *said = first_row(env, conn, deadline, &rc, "SELECT pg_backend_pid()");
  if (!rc) *ret = atoi(PQgetvalue(said, 0, 0));
  PQclear(said);
  return rc;
}

/* What a lock keeps in its session is there for others, too, where two open connections have one server process; and
 * gets lost where one connection has several. */
static int ask_pooler(struct lb_env *env, const struct lb_target *target, const struct lb_endpoint *at,
                      struct pg_conn *conn, lb_ns deadline, const char **ret) {
  struct pg_conn *other = NULL;
  int first = 0, again = 0, of_other = 0, last = 0, rc = pg_open(env, target, at, NULL, deadline, &other);
  if (!rc) rc = ask_pid(env, conn, deadline, &first);
  if (!rc) rc = ask_pid(env, conn, deadline, &again);
  if (!rc) rc = ask_pid(env, other, deadline, &of_other);
  if (!rc) rc = ask_pid(env, conn, deadline, &last);
  if (!rc)
    *ret = first != again || first != last || first == of_other ? "transaction"
           : pg_pooled(conn, first)                             ? "session"
                                                                : "no";
  pg_close(other);
  return rc;
}

static int ask_one(struct lb_env *env, const struct lb_target *target, size_t i, lb_ns deadline,
                   struct lb_own_found *ret) {
  const struct lb_endpoint *at = &target->endpoints[i];
  const char *pooled = "no";
  struct pg_conn *conn = NULL;
  int rc = pg_open(env, target, at, NULL, deadline, &conn);
  if (!rc) rc = ask_pooler(env, target, at, conn, deadline, &pooled);
  PGresult *said = rc ? NULL
                      : first_row(env, conn, deadline, &rc,
                                  "SELECT split_part(current_setting('server_version'), ' ', 1), pg_is_in_recovery() OR"
                                  " has_database_privilege(current_database(), 'CREATE')");
  bool direct = strcmp(pooled, "no") == 0;
  if (!rc)
    snprintf(ret->version, sizeof ret->version, "postgresql %s%s%s%s", PQgetvalue(said, 0, 0),
             direct ? "" : " behind a pooler in ", direct ? "" : pooled, direct ? "" : " mode");
  if (!rc) snprintf(ret->facts, sizeof ret->facts, "pooled=%s", strcmp(pooled, "transaction") == 0 ? pooled : "no");
  if (!rc && *PQgetvalue(said, 0, 1) != 't')
    rc = lb_fail(env, -EPERM, "postgres %s:%u: the user may not create a schema in database %s", at->host,
                 (unsigned)at->port, target->database);
  PQclear(said);
  pg_close(conn);
  return rc;
}

static int ask_all(struct lb_env *env, const struct lb_own *own, lb_ns deadline, struct lb_own_found *ret) {
  struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  int rc = 0;
  lb_own_target(own, endpoint, &target);
  for (size_t i = 0; i < target.count && !rc; i++) {
    rc = ask_one(env, &target, i, deadline, ret);
    if (!rc) rc = lb_own_note(env, own, ret, endpoint[i].host, endpoint[i].port);
  }
  ret->data_count = ret->count;
  ret->replicas = ret->count ? ret->count - 1 : 0;
  return rc;
}

/* ---- cleaning ----------------------------------------------------------------------------------- */

static int drop(struct lb_env *env, struct pg_conn *conn, lb_ns deadline, const char *name) {
  char sql[200];
  int rc;
  snprintf(sql, sizeof sql, "DROP SCHEMA IF EXISTS \"%s\" CASCADE", name);
  PQclear(first_row(env, conn, deadline, &rc, sql));
  return rc;
}

/* A standby is cleaned by its primary. */
static int clean_one(struct lb_env *env, const struct lb_target *target, const struct lb_endpoint *at, lb_ns deadline) {
  struct pg_conn *conn = NULL;
  int rc = pg_open(env, target, at, NULL, deadline, &conn);
  PGresult *names =
      rc ? NULL
         : first_row(env, conn, deadline, &rc,
                     "SELECT nspname FROM pg_namespace WHERE NOT pg_is_in_recovery() AND nspname ~ '^" LB_OWN_PREFIX
                         LB_OWN_DIGITS "$'");
  for (int i = 0; !rc && i < PQntuples(names); i++) rc = drop(env, conn, deadline, PQgetvalue(names, i, 0));
  PQclear(names);
  pg_close(conn);
  return rc;
}

static int clean(struct lb_env *env, const struct lb_own *own, lb_ns deadline) {
  struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  int rc = 0;
  lb_own_target(own, endpoint, &target);
  for (size_t i = 0; i < target.count && !rc; i++) rc = clean_one(env, &target, &endpoint[i], deadline);
  return rc;
}

const struct lb_own_kind lb_own_kind_postgres = {"--postgres", "own-postgres", "CONNINFO",   LB_LOGIN_POSTGRES,
                                                 5432,         "pg",           "pg-async",   false,
                                                 ask_all,      clean,          read_conninfo};
