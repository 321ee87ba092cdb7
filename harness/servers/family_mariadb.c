/* SPDX-License-Identifier: MIT
 *
 * MariaDB: one server, or a primary with replicas that follow it asynchronously or semi-synchronously.
 *
 * The data folder is made once per run and copied for every server. A replica begins with the same empty folder, so it
 * applies all that the primary has logged since. read_only says whether clients may write; the operator who promotes
 * sets it. Each promotion raises gtid_domain_id: our way to know the later of two primaries.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "backends/mariadb/maria.h"
#include "base/files.h"
#include "base/text.h"
#include "binary.h"
#include "cache.h"
#include "cluster.h"

#define MYSQLD "/usr/sbin/mysqld"
#define NEED_MARIADBD "mariadbd or /usr/sbin/mariadbd or " MYSQLD
#define NEED_INSTALL "mariadb-install-db or " MYSQLD
#define INSTALL_MS 60000

/* ---- settings -------------------------------------------------------------------------------- */

/* Direct and asynchronous writes would not be seen by the preload library that counts and loses them. */
static const struct lb_setting settings[] = {
    {.name = "innodb_buffer_pool_size = ", .stock = "128M", .faults = "16M"},
    {.name = "innodb_monitor_enable = ",
     .faults = "trx_commits_insert_update",
     .measured = "trx_commits_insert_update"},
    {.name = "loose_innodb_log_file_size = ", .stock = "96M", .faults = "8M"},
    {.name = "innodb_flush_method = ", .stock = "O_DIRECT", .faults = "fsync"},
    {.name = "innodb_use_native_aio = ", .stock = "ON", .faults = "OFF"},
    {.name = "innodb_flush_log_at_trx_commit = ", .stock = "1", .unsynced = "2"},
    {.name = "innodb_doublewrite = ", .stock = "ON", .unsynced = "OFF"},
    {.name = "max_connections = ", .stock = "151", .faults = "300", .measured = "300"},
    {.name = "skip_name_resolve = ", .stock = "OFF", .faults = "ON", .measured = "ON"},
    {.name = "slave_net_timeout = ", .stock = "60", .faults = "4"},
    {0},
};

/* ---- asking ---------------------------------------------------------------------------------- */

static const struct lb_target nobody;

/* One statement at one server, over a connection of its own. `column`: what is read of its row; NULL = the first. */
static int ask_column(struct lb_cluster *cluster, size_t index, lb_ns deadline, const char *sql, const char *column,
                      struct sql_answer *ret) {
  struct lb_target target;
  struct lb_endpoint at = *lb_cluster_endpoint(cluster, index, &target);
  struct sql_primary asker = {.server = &maria_server, .env = cluster->env, .target = &target, .column = column};
  if (!cluster->topology->own) at.user = "root";
  *ret = (struct sql_answer){0};
  int r = maria_server.connect(&asker, &at, deadline);
  if (r == 0) r = maria_server.run(&asker, deadline, &(struct sql_stmt){sql, 0}, NULL, ret);
  sql_primary_drop(&asker);
  return r > 0 ? -EIO : r ? r : ret->code;
}

static int ask_until(struct lb_cluster *cluster, size_t index, lb_ns deadline, const char *sql,
                     struct sql_answer *ret) {
  return ask_column(cluster, index, deadline, sql, NULL, ret);
}

static int ask_sql(struct lb_cluster *cluster, size_t index, lb_ns deadline, const char *sql, struct sql_answer *ret) {
  return ask_until(cluster, index, lb_cluster_ask_until(cluster, deadline), sql, ret);
}

static int ask_number(struct lb_cluster *cluster, size_t index, lb_ns deadline, const char *sql, uint64_t *ret) {
  struct sql_answer answer;
  int r = ask_sql(cluster, index, deadline, sql, &answer);
  if (r == 0) *ret = strtoull(answer.text, NULL, 10);
  return r;
}

static int answers(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct sql_answer answer;
  return ask_sql(cluster, index, deadline, "SELECT 1", &answer);
}

static int stated(struct lb_cluster *cluster, size_t index, lb_ns deadline, char ret[LB_STATED_MAX]) {
  struct sql_answer answer;
  int r = ask_sql(cluster, index, deadline, "SELECT VERSION()", &answer);
  snprintf(ret, LB_STATED_MAX, "%.*s", r == 0 ? (int)strspn(answer.text, "0123456789.") : 0, answer.text);
  return r;
}

static int wall_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  uint64_t said = 0;
  int r = ask_number(cluster, index, deadline, "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS UNSIGNED)", &said);
  if (r == 0) *ret_ms = (int64_t)said;
  return r;
}

/* Both count from when the question came, so their difference is exact. */
static int identity(struct lb_cluster *cluster, size_t index, lb_ns deadline, char *ret, size_t size) {
  struct sql_answer answer;
  int r = ask_sql(cluster, index, deadline,
                  "SELECT UNIX_TIMESTAMP() - variable_value FROM information_schema.global_status"
                  " WHERE variable_name = 'UPTIME'",
                  &answer);
  if (r == 0) snprintf(ret, size, "started at %s", answer.text);
  return r;
}

static int ask_status(struct lb_cluster *cluster, size_t index, lb_ns deadline, const char *name, uint64_t *ret) {
  struct sql_answer answer;
  char sql[80];
  snprintf(sql, sizeof sql, "SHOW GLOBAL STATUS LIKE '%s'", name);
  int r = ask_column(cluster, index, lb_cluster_ask_until(cluster, deadline), sql, "Value", &answer);
  if (r == 0) *ret = strtoull(answer.text, NULL, 10);
  return r;
}

static int requests(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret) {
  return ask_status(cluster, index, deadline, "QUESTIONS", ret);
}

/* Transactions that have changed something, as InnoDB counts them: a server without replicas has no binary log. */
static int commits(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret) {
  return ask_number(cluster, index, deadline,
                    "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_commits_insert_update'",
                    ret);
}

static int counts(struct lb_cluster *cluster, size_t index, lb_ns deadline, struct lb_counts *ret) {
  uint64_t bytes = 0;
  if (index > 0) return 0; /* a replica only repeats */
  int r = ask_status(cluster, index, deadline, "INNODB_LSN_CURRENT", &bytes);
  if (r == 0) lb_counts_add(ret, "bytes of redo log", bytes);
  return r;
}

/* ---- MySQL, where it stands in for MariaDB ------------------------------------------------------------------- */

/* Debian has one of the two. MariaDB's mysqld is a link to mariadbd, which is found first. */
static bool is_mysql(const struct lb_origin *origin) {
  char *server = lb_binary_find(origin, NEED_MARIADBD);
  bool mysql = server && strcmp(strrchr(server, '/'), strrchr(MYSQLD, '/')) == 0;
  free(server);
  return mysql;
}

/* ---- the template ---------------------------------------------------------------------------- */

static int version(const struct lb_origin *origin, char *buf, size_t size) {
  char said[300], number[40];
  int r = lb_binary_output(origin, (const char *const[]){NEED_MARIADBD, "--no-defaults", "--version", NULL}, NULL, said,
                           sizeof said);
  const char *at = r < 0 ? NULL : strstr(said, "Ver ");
  if (r < 0 || !at || sscanf(at, "Ver %39[0-9.]", number) != 1) return r < 0 ? r : -EPROTO;
  return snprintf(buf, size, "%s %s", is_mysql(origin) ? "mysql" : "mariadb", number), 0;
}

/* Replicas and the harness log in as root. Clients are another user, so that read_only holds for them. */
static const char users[] = /* a statement a line */
    "FLUSH PRIVILEGES;\nCREATE USER root@'%';\nGRANT ALL ON *.* TO root@'%';\nCREATE USER lockbench@'%';\n"
    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER, PROCESS ON *.* TO lockbench@'%';\n";

/* Its statements come on standard input, which is a shell's work; --extra-file of the script came with 10.6. */
static int add_users(struct lb_cluster *cluster, const char *dir) {
  char log[600], *server = lb_binary_find(cluster->topology->origin, NEED_MARIADBD);
  snprintf(log, sizeof log, "%s/users.log", dir);
  int r = server ? lb_proc_run(
                       &(struct lb_proc_plan){
                           .argv = (const char *const[]){"/bin/sh", "-c", "exec \"$0\" \"$@\" < users.sql", server,
                                                         "--no-defaults", "--bootstrap", "--datadir=./data",
                                                         "--tmpdir=.", "--innodb-log-file-size=8M", NULL},
                           .dir = dir,
                           .log = log,
                           .root = lb_origin_root(cluster->topology->origin),
                           .unprivileged = true},
                       INSTALL_MS, &cluster->err)
                 : lb_error(&cluster->err, -ENOENT, "mariadbd is not installed");
  free(server);
  return r > 0 ? lb_error(&cluster->err, -EIO, "mariadbd could not add users, see %s", log) : r;
}

/* Its script looks up the names of this machine unless it is forced. It splits some of its arguments at blanks, and the server a tmpdir at colons; that one is relative to the data
 * folder. */
static int run_install(struct lb_cluster *cluster, const char *dir) {
  char data[600], log[600], extra[600], init[620];
  char *install = lb_binary_find(cluster->topology->origin, NEED_INSTALL);
  if (!install) return lb_error(&cluster->err, -ENOENT, "mariadb-install-db is not installed");
  bool mysql = is_mysql(cluster->topology->origin);
  snprintf(data, sizeof data, "--datadir=%s/data", dir);
  snprintf(log, sizeof log, "%s/install.log", dir);
  snprintf(extra, sizeof extra, "%s/users.sql", dir);
  snprintf(init, sizeof init, "--init-file=%s", extra);
  const char *const of_mysql[] = {install, "--no-defaults", "--initialize-insecure", data, init, NULL};
  const char *const of_mariadb[] = {install,
                                    "--no-defaults",
                                    data,
                                    "--tmpdir=.",
                                    "--auth-root-authentication-method=normal",
                                    "--skip-test-db",
                                    "--force",
                                    "--innodb-log-file-size=8M",
                                    NULL};
  FILE *out = fopen(extra, "we");
  bool written = out && fputs(users, out) >= 0;
  if (out) written = fclose(out) == 0 && written;
  int r = written ? lb_proc_run(&(struct lb_proc_plan){.argv = mysql ? of_mysql : of_mariadb,
                                                       .dir = dir,
                                                       .log = log,
                                                       .root = lb_origin_root(cluster->topology->origin),
                                                       .unprivileged = true},
                                INSTALL_MS, &cluster->err)
                  : lb_error(&cluster->err, -EIO, "cannot write its input");
  if (r < 0) lb_error_prefix(&cluster->err, "%s: ", install);
  if (r > 0) r = lb_error(&cluster->err, -EIO, "%s failed with status %d, see %s", install, r, log);
  free(install);
  return r < 0 || mysql ? r : add_users(cluster, dir);
}

/* Made now if there is none yet. Its name has the version, so a cache that outlives an upgrade is not used. */
static int find_template(struct lb_cluster *cluster, lb_ns deadline, char *ret, size_t size) {
  char number[60], *space;
  int r = version(cluster->topology->origin, number, sizeof number);
  if (r < 0) return lb_error(&cluster->err, r, "cannot run mariadbd: %s", strerror(-r));
  while ((space = strchr(number, ' '))) *space = '-';
  return lb_cache_template(cluster, number, deadline, run_install, ret, size);
}

/* ---- starting -------------------------------------------------------------------------------- */

/* The names of socket and tmpdir are relative to the data folder: a whole path may be longer than the kernel takes, and
 * a tmpdir is split at colons. The socket stands beside that folder, for it is no data. That of the data folder is an argument, as a blank and '#' end a value here. Temporary
 * tables are in a folder of its own: a server that starts deletes those of others that stand in the same one. */
static int configure(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  int r = lb_server_write(
      cluster, server, false, "my.cnf",
      "[mysqld]\ntmpdir = .\nbind_address = %s\nport = %u\nsocket = ../s\nloose_mysqlx = OFF\nsecure_file_priv =\n",
      server->host->address, (unsigned)server->port);
  if (r == 0) r = lb_setting_write(cluster, server, settings, "my.cnf");
  if (r == 0 && cluster->data_count > 1)
    r = lb_server_write(cluster, server, true, "my.cnf",
                        "log_bin = binlog\nlog_slave_updates = ON\nserver_id = %zu\nread_only = %d\n", index + 1,
                        index > 0);
  /* Only the first primary waits: a replica that waited for one of its own would stop applying. AFTER_SYNC is set by
   * us, also in maria-semisync-stock. MariaDB's default is AFTER_COMMIT, where others see a commit before a replica has
   * it. */
  if (r == 0 && cluster->topology->synchronous)
    r = lb_server_write(cluster, server, true, "my.cnf",
                        index > 0
                            ? "rpl_semi_sync_slave_enabled = ON\n"
                            : "rpl_semi_sync_master_enabled = ON\nrpl_semi_sync_master_wait_point = AFTER_SYNC\n");
  if (r == 0 && cluster->topology->settings)
    r = lb_server_write(cluster, server, true, "my.cnf", "%s", cluster->topology->settings);
  return r;
}

static int launch(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  char defaults[300], data[300];
  snprintf(defaults, sizeof defaults, "--defaults-file=%s/my.cnf", server->dir);
  snprintf(data, sizeof data, "--datadir=%s/data", server->dir);
  return lb_server_start(cluster, server, (const char *const[]){NEED_MARIADBD, defaults, data, NULL}, NULL, true);
}

static int follow(struct lb_cluster *cluster, size_t index, size_t leader, lb_ns deadline) {
  struct sql_answer answer;
  char sql[300];
  snprintf(
      sql, sizeof sql,
      "CHANGE MASTER TO MASTER_HOST = '%s', MASTER_PORT = %u, MASTER_USER = 'root', MASTER_CONNECT_RETRY = 1,"
      " MASTER_USE_GTID = slave_pos, MASTER_SSL_VERIFY_SERVER_CERT = 0", /* from 11.4 on it asks for a certificate */
      cluster->server[leader].host->address, (unsigned)cluster->server[leader].port);
  int r = ask_until(cluster, index, deadline, sql, &answer);
  if (r == 0) r = ask_until(cluster, index, deadline, "START SLAVE", &answer);
  return r < 0 ? lb_error(&cluster->err, r, "%s: replication: %s", cluster->server[index].name, cluster->env->err) : 0;
}

static int not_yet(struct lb_cluster *cluster, size_t index, const char *what) {
  return lb_fail(cluster->env, -EAGAIN, "%s %s", cluster->server[index].name, what);
}

static int caught_up(struct lb_cluster *cluster, size_t index, size_t leader, lb_ns deadline) {
  struct sql_answer here, there;
  int r = ask_sql(cluster, index, deadline, "SHOW SLAVE STATUS", &there);
  if (r == 0 && strncmp(there.text, "Waiting for master", 18) != 0) return not_yet(cluster, index, "does not follow");
  if (r == 0) r = ask_sql(cluster, leader, deadline, "SELECT @@gtid_binlog_pos", &here);
  if (r == 0) r = ask_sql(cluster, index, deadline, "SELECT @@gtid_slave_pos", &there);
  if (r == 0 && strcmp(here.text, there.text) != 0) r = not_yet(cluster, index, "has not repeated everything yet");
  return r;
}

/* The primary counts on each replica where it waits for them, and each replica has applied all of it. */
static int serving(struct lb_cluster *cluster, lb_ns deadline) {
  uint64_t waited_for = 0;
  if (cluster->promoted) return lb_fail(cluster->env, -ESTALE, "a replica was promoted");
  int r = answers(cluster, 0, deadline);
  for (size_t i = 1; i < cluster->data_count && r == 0; i++) r = caught_up(cluster, i, 0, deadline);
  if (r < 0 || !cluster->topology->synchronous) return r;
  r = ask_status(cluster, 0, deadline, "RPL_SEMI_SYNC_MASTER_CLIENTS", &waited_for);
  if (r == 0 && waited_for + 1 != cluster->data_count)
    r = not_yet(cluster, 0, "does not wait for all its replicas yet");
  return r;
}

static int start(struct lb_cluster *cluster, lb_ns deadline) {
  char template[512];
  if (cluster->data_count > 1 && is_mysql(cluster->topology->origin))
    return lb_error(&cluster->err, -ENOTSUP, "MySQL replicates by other words than MariaDB: expected one server");
  int r = find_template(cluster, deadline, template, sizeof template);
  for (size_t i = 0; i < cluster->data_count && r == 0; i++) {
    r = lb_cache_copy(cluster, &cluster->server[i], template);
    if (r == 0) r = configure(cluster, i);
  }
  if (r == 0) r = lb_cluster_launch_all(cluster);
  if (r == 0) r = lb_cluster_await(cluster, deadline, lb_cluster_all_answer, "all servers answer");
  for (size_t i = 1; i < cluster->data_count && r == 0; i++) r = follow(cluster, i, 0, deadline);
  return r < 0 ? r : lb_cluster_await(cluster, deadline, serving, "the primary serves and its replicas have caught up");
}

/* ---- roles ----------------------------------------------------------------------------------- */

/* 1 = a primary, with the number of its promotion; 0 = a replica; -errno. */
static int ask_role(struct lb_cluster *cluster, size_t index, lb_ns deadline, unsigned *ret_promotion) {
  struct sql_answer answer;
  unsigned read_only = 0;
  int r = ask_sql(cluster, index, deadline,
                  "SELECT CONCAT(IF(@@GLOBAL.read_only, 1, 0), ' ', /*M! @@GLOBAL.gtid_domain_id + */ 0)", &answer);
  if (r < 0) return r;
  if (sscanf(answer.text, "%u %u", &read_only, ret_promotion) != 2) return -EPROTO;
  return !read_only;
}

/* Two servers may say that they are primary: the one that was cut off does not know of the promotion. */
static int primary(struct lb_cluster *cluster, lb_ns deadline) {
  unsigned promotion = 0, best_promotion = 0;
  int best = -ENOENT;
  for (size_t i = 0; i < cluster->data_count; i++) {
    if (ask_role(cluster, i, deadline, &promotion) != 1 || (best >= 0 && promotion <= best_promotion)) continue;
    best = (int)i;
    best_promotion = promotion;
  }
  return best;
}

/* What was received and not applied: a semi-synchronous primary has counted on it. The applying thread is started while
 * the other one still runs: a replica throws its relay log away if both have stopped.
 *
 * Gtid_IO_Pos is what was received. What a thread says of itself is no proof: with parallel workers the reader of the
 * relay log says "read all of it" while they still apply it. STOP SLAVE drops what they have not begun. */
static int apply_received(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct sql_answer answer;
  char sql[120], received[sizeof answer.text];
  int r = ask_until(cluster, index, deadline, "START SLAVE SQL_THREAD", &answer);
  if (r == 0) r = ask_until(cluster, index, deadline, "STOP SLAVE IO_THREAD", &answer);
  if (r == 0) r = ask_column(cluster, index, deadline, "SHOW SLAVE STATUS", "Gtid_IO_Pos", &answer);
  if (r < 0) return r;
  snprintf(received, sizeof received, "%s", answer.text);
  snprintf(sql, sizeof sql, "SELECT MASTER_GTID_WAIT('%s', 0.1)", received); /* 0: it is applied; -1: not yet */
  while ((r = ask_until(cluster, index, deadline, sql, &answer)) == 0 && strcmp(answer.text, "0") != 0)
    if (lb_now(cluster->env) >= deadline)
      return lb_fail(cluster->env, -ETIMEDOUT, "it has received %s and not applied it", received);
  return r;
}

/* It follows no server then, and its clients may write. */
static int promote_one(struct lb_cluster *cluster, size_t index, unsigned promotion, lb_ns deadline) {
  struct sql_answer answer;
  char sql[80];
  int r = apply_received(cluster, index, deadline);
  if (r == 0) r = ask_until(cluster, index, deadline, "STOP SLAVE", &answer);
  if (r == 0) r = ask_until(cluster, index, deadline, "RESET SLAVE ALL", &answer);
  snprintf(sql, sizeof sql, "SET GLOBAL gtid_domain_id = %u, GLOBAL read_only = OFF", promotion);
  if (r == 0) r = ask_until(cluster, index, deadline, sql, &answer);
  if (r < 0) return lb_error(&cluster->err, r, "%s: promotion: %s", cluster->server[index].name, cluster->env->err);
  return lb_server_write(cluster, &cluster->server[index], true, "my.cnf", "gtid_domain_id = %u\nread_only = OFF\n",
                         promotion);
}

static int promote(struct lb_cluster *cluster, int old, lb_ns deadline) {
  unsigned promotion = 0;
  for (size_t i = 0; i < cluster->data_count; i++) {
    if ((int)i == old || ask_role(cluster, i, deadline, &promotion) != 0) continue;
    cluster->promoted = true;
    return promote_one(cluster, i, promotion + 1, deadline);
  }
  return lb_error(&cluster->err, -ENOENT, "no replica answers that could be promoted");
}

/* The old primary is not told: it goes on, and so do its clients. */
static int promote_other(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  int r = promote(cluster, (int)index, deadline);
  return r < 0 ? lb_fail(cluster->env, r, "%s", cluster->err.text) : 0;
}

/* The connections that the client has now; one that it makes anew meanwhile is another one. */
static int end_session(struct lb_cluster *cluster, size_t index, const char *client, uint64_t id, lb_ns deadline,
                       struct lb_text *said) {
  enum { POLL_MS = 5 };
  struct sql_answer answer;
  char sql[300], had[64];
  (void)id;
  snprintf(sql, sizeof sql, "SELECT GROUP_CONCAT(id) FROM information_schema.processlist WHERE host LIKE '%s:%%'",
           client);
  int r = ask_until(cluster, index, deadline, sql, &answer);
  if (r == 0 && !answer.text[0])
    return lb_fail(cluster->env, -ENOENT, "%s has no connection of that client", cluster->server[index].name);
  snprintf(had, sizeof had, "%s", answer.text);
  for (char *at = had, *end; r == 0 && *at; at = *end ? end + 1 : end) {
    end = at + strcspn(at, ",");
    snprintf(sql, sizeof sql, "KILL CONNECTION %.*s", (int)(end - at), at);
    int killed = ask_until(cluster, index, deadline, sql, &answer);
    if (killed < 0 && killed != -EPROTO) r = killed; /* -EPROTO: it has ended by itself */
  }
  snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM information_schema.processlist WHERE id IN (%s)", had);
  while (r == 0 && (r = ask_until(cluster, index, deadline, sql, &answer)) == 0 && answer.yes) {
    if (lb_now(cluster->env) >= deadline)
      return lb_fail(cluster->env, -ETIMEDOUT, "%s still has a connection of that client", cluster->server[index].name);
    lb_sleep_until(cluster->env, lb_now(cluster->env) + POLL_MS * LB_NS_PER_MS);
  }
  if (r == 0) lb_text_add(said, "has ended its connections %s", had);
  return r;
}

/* A table is made of what it has no room for: it is refused before its rows go to the binary log. For that one a server
 * would wait until there is room. */
static int need_room(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  static const char *const statements[] = {
      "CREATE DATABASE IF NOT EXISTS lockbench_room",
      "CREATE TABLE lockbench_room.room ENGINE=InnoDB AS SELECT REPEAT(MD5(seq), 100) AS t FROM lockbench_room.seq_1_to_20000"};
  struct sql_answer answer;
  int r = 0;
  for (size_t i = 0; i < sizeof statements / sizeof *statements && r == 0; i++)
    r = ask_until(cluster, index, deadline, statements[i], &answer);
  return r < 0 && (strstr(cluster->env->err, "is full") || strstr(cluster->env->err, "No space left")) ? -ENOSPC : r;
}

/* ---- an upgrade: its session is the only one that has the tables ----------------------------------------------- */

static struct sql_primary upgrade; /* one controller process plays one trial at a time */

static int say(struct lb_cluster *cluster, lb_ns deadline, const char *sql) {
  struct sql_answer answer = {0};
  int r = maria_server.run(&upgrade, deadline, &(struct sql_stmt){sql, 0}, NULL, &answer);
  (void)cluster;
  return r > 0 ? -EIO : r ? r : answer.code;
}

static int unlock_tables(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  (void)index;
  if (!upgrade.conn) return lb_fail(cluster->env, -ENOENT, "no tables are locked");
  int r = say(cluster, deadline, "UNLOCK TABLES");
  sql_primary_drop(&upgrade);
  return r;
}

/* With a table of its own, as not every lock is in one. */
static int lock_tables(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  static const char *const statements[] = {
      "CREATE DATABASE IF NOT EXISTS lockbench_upgrade",
      "CREATE TABLE IF NOT EXISTS lockbench_upgrade.lockbench_upgrade(n int)",
      ("SET @tables = (SELECT GROUP_CONCAT('`', table_schema, '`.`', table_name, '` WRITE')"
       " FROM information_schema.tables WHERE table_name LIKE 'lockbench%' AND table_type = 'BASE TABLE')"),
      "SET @lock = CONCAT('LOCK TABLES ', @tables)",
      "EXECUTE IMMEDIATE @lock",
  };
  const struct lb_server *server = &cluster->server[index];
  const struct lb_endpoint at = {
      .service = server->service, .host = server->host->address, .port = server->port, .user = "root"};
  struct sql_answer answer = {0};
  if (upgrade.conn) return lb_fail(cluster->env, -EBUSY, "the tables are locked already");
  upgrade = (struct sql_primary){.server = &maria_server, .env = cluster->env, .target = &nobody};
  int r = maria_server.connect(&upgrade, &at, deadline);
  for (size_t i = 0; i < sizeof statements / sizeof *statements && r == 0; i++)
    r = say(cluster, deadline, statements[i]);
  if (r == 0) r = ask_sql(cluster, index, deadline, "SHOW OPEN TABLES WHERE In_use > 0", &answer);
  return r == 0 && !answer.text[0] ? lb_fail(cluster->env, -EIO, "%s lists no locked table", server->name) : r;
}

static void clean(struct lb_cluster *cluster) {
  (void)cluster;
  sql_primary_drop(&upgrade);
}

static const char *const needs[] = {NEED_MARIADBD, NEED_INSTALL, NULL};
static const struct lb_ending ending = {.signal = SIGTERM, .says = "Shutdown complete"};

const struct lb_family lb_family_mariadb = {
    .name = "mariadb",
    .needs = needs,
    .service = "mariadb",
    .orders =
        {
            .ending = &ending,
            .depose = promote_other,
            .end_session = end_session,
            .files = (const char *const[]){"data", NULL},
            .lock_tables = lock_tables,
            .unlock_tables = unlock_tables,
            .need_room = need_room,
            .no_room = "is full",
            .promote = promote,
        },
    .settings = settings,
    .by_libc = true,
    .start = start,
    .launch = launch,
    .answers = answers,
    .healthy = serving,
    .primary = primary,
    .caught_up = caught_up,
    .identity = identity,
    .stated = stated,
    .wall_ms = wall_ms,
    .requests = requests,
    .commits = commits,
    .counts = counts,
    .clean = clean,
    .version = version,
};
