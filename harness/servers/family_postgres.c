/* SPDX-License-Identifier: MIT
 *
 * PostgreSQL: one server, or a primary with standbys that follow it asynchronously or
 * synchronously.
 *
 * A standby is not made by a base backup but by copying the same freshly initialised folder again:
 * all have the same system identifier and the same history, so a standby simply streams what the
 * primary has written since. The folder itself is initialised once per run.
 *
 * Only the first primary is configured to wait for standbys. A promoted standby has none to wait for, and the operator
 * is taken to know that.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <unistd.h>

#include "backends/postgres/pg.h"
#include "base/files.h"
#include "cache.h"
#include "postgres.h"

#define MS_OF(deadline, env) ((deadline) > lb_now(env) ? (long long)(((deadline)-lb_now(env)) / LB_NS_PER_MS) : 0)

/* ---- asking ---------------------------------------------------------------------------------- */

struct question {
  const char *sql, *param; /* param: of $1; NULL = it has none */
  char (*ret)[64];         /* the columns of the first row, "" = NULL */
  int columns;
};

/* To one server over a connection of its own. */
static int ask_until(struct lb_cluster *cluster, size_t index, lb_ns deadline, const struct question *q) {
  const struct lb_server *server = &cluster->server[index];
  struct pg_conn *conn = NULL;
  PGresult *result = NULL;
  struct lb_target target;
  const struct lb_endpoint *at = lb_cluster_endpoint(cluster, index, &target);
  int r = pg_open(cluster->env, &target, at, NULL, deadline, &conn);
  if (r == 0) r = pg_query(conn, deadline, &result, q->sql, q->param != NULL, &q->param);
  pg_close(conn);
  if (r != 0) return r < 0 ? r : -EIO;
  if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) < 1 || PQnfields(result) < q->columns)
    r = lb_fail(cluster->env, -EPROTO, "%s: %.*s", server->name, (int)strcspn(PQresultErrorMessage(result), "\n"),
                PQresultErrorMessage(result));
  for (int i = 0; i < q->columns && r == 0; i++) snprintf(q->ret[i], sizeof q->ret[i], "%s", PQgetvalue(result, 0, i));
  PQclear(result);
  return r;
}

/* ask_until() with the short deadline of a question. A promotion takes longer than that. */
static int ask_soon(struct lb_cluster *cluster, size_t index, lb_ns deadline, const struct question *q) {
  return ask_until(cluster, index, lb_cluster_ask_until(cluster, deadline), q);
}

static int answers(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  char one[1][64];
  return ask_soon(cluster, index, deadline, &(struct question){"SELECT 1", NULL, one, 1});
}

static int wall_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  char said[1][64];
  int r = ask_soon(cluster, index, deadline,
                   &(struct question){"SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", NULL, said, 1});
  if (r == 0) *ret_ms = atoll(said[0]);
  return r;
}

static int identity(struct lb_cluster *cluster, size_t index, lb_ns deadline, char *ret, size_t size) {
  char said[1][64];
  int r = ask_soon(cluster, index, deadline, &(struct question){"SELECT pg_postmaster_start_time()", NULL, said, 1});
  if (r == 0) snprintf(ret, size, "started at %s", said[0]);
  return r;
}

/* A user without rights is not told what a connection is for, but which have a database: standbys have none. */
static int others(struct lb_cluster *cluster, size_t index, lb_ns deadline, size_t *ret) {
  char said[1][64];
  int r = ask_soon(cluster, index, deadline,
                   &(struct question){"SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL AND "
                                      "pid <> pg_backend_pid() AND coalesce(backend_type, 'client backend') = "
                                      "'client backend' AND coalesce(application_name, '') <> 'Patroni'",
                                      NULL, said, 1});
  if (r == 0) *ret = strtoull(said[0], NULL, 10);
  return r;
}

/* A transaction that writes has a number of its own; one that reads has none. */
static int commits(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret) {
  char said[1][64];
  int r = ask_soon(cluster, index, deadline,
                   &(struct question){"SELECT pg_snapshot_xmax(pg_current_snapshot())::text", NULL, said, 1});
  if (r == 0) *ret = strtoull(said[0], NULL, 10);
  return r;
}

/* At once, unlike its statistics, which lag by seconds. */
static int counts(struct lb_cluster *cluster, size_t index, lb_ns deadline, struct lb_counts *ret) {
  char said[1][64];
  if (index > 0) return 0; /* a standby only repeats */
  int r = ask_soon(cluster, index, deadline,
                   &(struct question){"SELECT (pg_current_wal_insert_lsn() - '0/0')::text", NULL, said, 1});
  if (r == 0) lb_counts_add(ret, "bytes of WAL", strtoull(said[0], NULL, 10));
  return r;
}

/* 1 = a primary, with its timeline, which each promotion raises; 0 = a standby; -errno. */
static int ask_role(struct lb_cluster *cluster, size_t index, lb_ns deadline, unsigned long *ret_timeline) {
  char said[2][64];
  int r =
      ask_soon(cluster, index, deadline,
               &(struct question){
                   "SELECT pg_is_in_recovery(),"
                   " CASE WHEN NOT pg_is_in_recovery() THEN substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END",
                   NULL, said, 2});
  if (r < 0) return r;
  *ret_timeline = strtoul(said[1], NULL, 16);
  return said[0][0] == 'f';
}

/* ---- starting -------------------------------------------------------------------------------- */

/* Settings are appended in the order in which they win: PostgreSQL takes the last of a name. What
 * initdb has written comes first, then ours, then the topology's. */
static int configure(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index], *first = &cluster->server[0];
  int r = lb_server_write(
      cluster, server, true, "data/postgresql.conf",
      "listen_addresses = '%s'\nport = %u\nunix_socket_directories = ''\nlog_line_prefix = '%%m [%%p] '\n",
      server->host->address, (unsigned)server->port);
  if (r == 0) r = lb_setting_write(cluster, server, lb_postgres_settings, "data/postgresql.conf");
  if (r == 0)
    r = lb_server_write(cluster, server, false, "data/pg_hba.conf",
                        "host all all all trust\nhost replication all all trust\n");
  /* Only the first primary waits. A promoted standby has no standby of its own, so it must not wait (as with Patroni's
   * synchronous_mode, unless it is strict). */
  if (r == 0 && index == 0 && cluster->topology->synchronous)
    r = lb_server_write(cluster, server, true, "data/postgresql.conf", "synchronous_standby_names = 'FIRST %zu (*)'\n",
                        cluster->data_count - 1);
  if (r == 0)
    r = lb_server_write(cluster, server, true, "data/postgresql.conf", "%s",
                        cluster->topology->settings ? cluster->topology->settings : "");
  if (r < 0 || index == 0) return r;
  r = lb_server_write(cluster, server, true, "data/postgresql.conf",
                      "primary_conninfo = 'host=%s port=%u user=lockbench application_name=standby%zu'\n",
                      first->host->address, (unsigned)first->port, index);
  return r < 0 ? r : lb_server_write(cluster, server, false, "data/standby.signal", "%s", "");
}

static int launch(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  char data[300];
  snprintf(data, sizeof data, "%s/data", server->dir);
  return lb_server_start(cluster, server, (const char *const[]){LB_NEED_POSTGRES, "-D", data, NULL}, NULL, true);
}

static int not_yet(struct lb_cluster *cluster, size_t index, const char *what) {
  return lb_fail(cluster->env, -EAGAIN, "%s %s", cluster->server[index].name, what);
}

/* The primary streams to each standby (and counts on it, where it waits for them), and each standby
 * has replayed all of it. */
static int serving(struct lb_cluster *cluster, lb_ns deadline) {
  char said[2][64], caught_up[1][64];
  const char *state = cluster->topology->synchronous ? "sync" : "async";
  if (cluster->promoted) return lb_fail(cluster->env, -ESTALE, "a standby was promoted");
  int r = ask_soon(
      cluster, 0, deadline,
      &(struct question){"SELECT pg_current_wal_lsn(),"
                         " (SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = $1)",
                         state, said, 2});
  if (r < 0) return r;
  if ((size_t)atoi(said[1]) != cluster->data_count - 1)
    return not_yet(cluster, 0, "does not stream to all its standbys yet");
  for (size_t i = 1; i < cluster->data_count; i++) {
    r = ask_soon(cluster, i, deadline,
                 &(struct question){"SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn", said[0], caught_up, 1});
    if (r < 0) return r;
    if (caught_up[0][0] != 't') return not_yet(cluster, i, "has not replayed everything yet");
  }
  return 0;
}

/* Which standbys a primary streams to it does not tell every user, but each standby tells whether it receives. One that has
 * left the timeline of its primary may be ahead of it, and still has to be rewound: a user with rights is told that. */
static int own_caught_up(struct lb_cluster *cluster, size_t index, size_t leader, lb_ns deadline) {
  static const char at[] = "SELECT pg_current_wal_lsn() || ' ' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)";
  static const char follows[] =
      "SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= split_part($1, ' ', 1)::pg_lsn AND"
      " EXISTS(SELECT FROM pg_stat_wal_receiver WHERE status IS NULL OR"
      " (status = 'streaming' AND lpad(upper(to_hex(received_tli)), 8, '0') = split_part($1, ' ', 2)))";
  char said[1][64], yes[1][64];
  int r = ask_soon(cluster, leader, deadline, &(struct question){at, NULL, said, 1});
  if (r == 0) r = ask_soon(cluster, index, deadline, &(struct question){follows, said[0], yes, 1});
  return r < 0 ? r : yes[0][0] == 't' ? 0 : not_yet(cluster, index, "has not replayed everything yet");
}

static int caught_up(struct lb_cluster *cluster, size_t index, size_t leader, lb_ns deadline) {
  static const char streams[] =
      "SELECT pg_current_wal_lsn(), EXISTS(SELECT FROM pg_stat_replication WHERE state = 'streaming' AND client_addr = $1::inet)";
  char said[2][64], replayed[1][64];
  if (cluster->topology->own) return own_caught_up(cluster, index, leader, deadline);
  int r =
      ask_soon(cluster, leader, deadline, &(struct question){streams, cluster->server[index].host->address, said, 2});
  if (r == 0 && said[1][0] != 't') return not_yet(cluster, leader, "does not stream to it");
  if (r == 0)
    r = ask_soon(cluster, index, deadline,
                 &(struct question){"SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= $1::pg_lsn", said[0],
                                    replayed, 1});
  return r < 0 ? r : replayed[0][0] == 't' ? 0 : not_yet(cluster, index, "has not replayed everything yet");
}

static int start(struct lb_cluster *cluster, lb_ns deadline) {
  char template[512];
  int r = lb_postgres_template(cluster, deadline, template, sizeof template);
  for (size_t i = 0; i < cluster->data_count && r == 0; i++) {
    r = lb_cache_copy(cluster, &cluster->server[i], template);
    if (r == 0) r = configure(cluster, i);
  }
  if (r == 0) r = lb_cluster_launch_all(cluster);
  return r < 0 ? r : lb_cluster_await(cluster, deadline, serving, "the primary serves and its standbys have caught up");
}

/* ---- roles ----------------------------------------------------------------------------------- */

/* Two servers may say that they are primary: the one that was cut off does not know of the
 * promotion. The later timeline is the truth. */
static int primary(struct lb_cluster *cluster, lb_ns deadline) {
  unsigned long timeline = 0, best_timeline = 0;
  int best = -ENOENT;
  for (size_t i = 0; i < cluster->data_count; i++) {
    if (ask_role(cluster, i, deadline, &timeline) != 1 || (best >= 0 && timeline <= best_timeline)) continue;
    best = (int)i;
    best_timeline = timeline;
  }
  return best;
}

/* pg_promote(true, ...) returns when the standby has left recovery, so no poll follows. A wait of 0
 * s would be refused, hence the + 1. */
static int promote(struct lb_cluster *cluster, int old, lb_ns deadline) {
  char done[1][64], wait_s[24];
  unsigned long timeline;
  for (size_t i = 0; i < cluster->data_count; i++) {
    if ((int)i == old || ask_role(cluster, i, deadline, &timeline) != 0) continue;
    snprintf(wait_s, sizeof wait_s, "%lld", MS_OF(deadline, cluster->env) / 1000 + 1);
    int r = ask_until(cluster, i, deadline, &(struct question){"SELECT pg_promote(true, $1::int)", wait_s, done, 1});
    if (r < 0) return lb_error(&cluster->err, r, "%s: promotion: %s", cluster->server[i].name, cluster->env->err);
    if (done[0][0] != 't') return lb_error(&cluster->err, -EIO, "%s refused to be promoted", cluster->server[i].name);
    cluster->promoted = true;
    return 0;
  }
  return lb_error(&cluster->err, -ENOENT, "no standby answers that could be promoted");
}

/* The old primary is not told: it goes on, and so do its clients. */
static int promote_other(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  int r = promote(cluster, (int)index, deadline);
  return r < 0 ? lb_fail(cluster->env, r, "%s", cluster->err.text) : 0;
}

/* Ends a client's wait for the standby. Its statement is already done and committed here. */
static int cancel(struct lb_cluster *cluster, size_t index, const char *client, lb_ns deadline) {
  static const char sql[] = "SELECT (SELECT count(*) FROM (SELECT pg_cancel_backend(pid) AS told FROM pg_stat_activity"
                            " WHERE client_addr = $1::inet AND wait_event = 'SyncRep') AS waiting WHERE told)";
  char told[1][64];
  int r = ask_soon(cluster, index, deadline, &(struct question){sql, client, told, 1});
  if (r == 0 && strcmp(told[0], "0") == 0)
    r = lb_fail(cluster->env, -EAGAIN, "%s: no statement of that client waits for a standby",
                cluster->server[index].name);
  return r;
}

/* The server processes of that client; one that it makes anew meanwhile is another one. */
static int end_session(struct lb_cluster *cluster, size_t index, const char *client, uint64_t id, lb_ns deadline,
                       struct lb_text *said) {
  static const char list[] =
      "SELECT coalesce(string_agg(pid::text, ','), '') FROM pg_stat_activity WHERE client_addr = $1::inet";
  static const char end[] = "SELECT count(pg_terminate_backend(pid::int)) FROM unnest(string_to_array($1, ',')) AS pid";
  static const char left[] = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY(string_to_array($1, ',')::int[])";
  enum { POLL_MS = 5, LAST_MS = 1000 }; /* the last answer may come behind the deadline */
  char had[1][64], count[1][64];
  (void)id;
  int r = ask_until(cluster, index, deadline, &(struct question){list, client, had, 1});
  if (r == 0 && !had[0][0])
    return lb_fail(cluster->env, -ENOENT, "%s has no process of that client", cluster->server[index].name);
  if (r == 0) r = ask_until(cluster, index, deadline, &(struct question){end, had[0], count, 1});
  while (r == 0 &&
         (r = ask_until(cluster, index, deadline + LAST_MS * LB_NS_PER_MS,
                        &(struct question){left, had[0], count, 1})) == 0 &&
         strcmp(count[0], "0") != 0) {
    if (lb_now(cluster->env) >= deadline)
      return lb_fail(cluster->env, -ETIMEDOUT, "%s still has a process of that client", cluster->server[index].name);
    lb_sleep_until(cluster->env, lb_now(cluster->env) + POLL_MS * LB_NS_PER_MS);
  }
  if (r == 0) lb_text_add(said, "has ended its processes %s", had[0]);
  return r;
}

/* A process of that client waits for a lock, or has one that it took by name. */
static int has_place(struct lb_cluster *cluster, size_t index, const char *client, uint64_t id, lb_ns deadline) {
  static const char places[] =
      "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE client_addr = $1::inet"
      " AND (NOT granted OR locktype = 'advisory')";
  char count[1][64];
  (void)id;
  int r = ask_until(cluster, index, deadline, &(struct question){places, client, count, 1});
  return r < 0 ? r : strcmp(count[0], "0") != 0;
}

/* A table is made of what it has no room for. Rows for which there is a page already are taken all the same, and so is
 * the log, until its file is full. */
static int need_room(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  char none[1][64];
  int r = ask_until(
      cluster, index, deadline,
      &(struct question){
          "CREATE TABLE lockbench_room AS SELECT repeat(md5(i::text), 100) FROM generate_series(1, 5000) AS i", NULL,
          none, 0});
  return r < 0 && strstr(cluster->env->err, "No space left on device") ? -ENOSPC : r;
}

/* The postmaster marks its data folder as used with a System V segment, named in its pid file;
 * killed, it leaves the segment. */
/* ---- an upgrade: its transaction is the only one that has the tables ------------------------------------------- */

static struct pg_conn *upgrade; /* one controller process plays one trial at a time */

static int unlock_tables(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  (void)index;
  if (!upgrade) return lb_fail(cluster->env, -ENOENT, "no tables are locked");
  int r = lb_postgres_say(cluster, upgrade, deadline, "ROLLBACK");
  pg_close(upgrade);
  upgrade = NULL;
  return r;
}

/* With a table of its own, as not every lock is in one. */
static int lock_tables(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  static const char lock[] = "DO $$ DECLARE name regclass; BEGIN"
                             " FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relname LIKE 'lockbench%'"
                             " LOOP EXECUTE 'LOCK TABLE ' || name || ' IN ACCESS EXCLUSIVE MODE'; END LOOP; END $$";
  static const char look[] = "SELECT count(*) FROM pg_locks JOIN pg_class ON relation = pg_class.oid"
                             " WHERE granted AND mode = 'AccessExclusiveLock' AND relname LIKE 'lockbench%'";
  const struct lb_server *server = &cluster->server[index];
  struct lb_endpoint at = {.service = server->service, .host = server->host->address, .port = server->port};
  char said[1][64] = {""};
  int r = upgrade ? lb_fail(cluster->env, -EBUSY, "the tables are locked already") : 0;
  if (r == 0) r = pg_open(cluster->env, NULL, &at, NULL, deadline, &upgrade);
  if (r == 0) r = lb_postgres_say(cluster, upgrade, deadline, "CREATE TABLE IF NOT EXISTS lockbench_upgrade(n int)");
  if (r == 0) r = lb_postgres_say(cluster, upgrade, deadline, "BEGIN");
  if (r == 0) r = lb_postgres_say(cluster, upgrade, deadline, lock);
  if (r == 0) r = ask_soon(cluster, index, deadline, &(struct question){look, NULL, said, 1});
  return r == 0 && atoi(said[0]) == 0 ? lb_fail(cluster->env, -EIO, "%s lists no locked table", server->name) : r;
}

static void clean(struct lb_cluster *cluster) {
  pg_close(upgrade);
  upgrade = NULL;
  for (size_t i = 0; i < cluster->data_count; i++) {
    char path[300], line[300];
    int key, id = -1;
    snprintf(path, sizeof path, "%s/data/postmaster.pid", cluster->server[i].dir);
    FILE *in = fopen(path, "re");
    for (int n = 1; in && fgets(line, sizeof line, in); n++)
      if (n == 7 && sscanf(line, "%d %d", &key, &id) == 2 && id >= 0) shmctl(id, IPC_RMID, NULL);
    if (in) fclose(in);
  }
}

static const char *const needs[] = {LB_NEED_POSTGRES, LB_NEED_INITDB, NULL};

static const struct lb_ending ending = {.signal = SIGINT, .says = "database system is shut down"};

const struct lb_family lb_family_postgres = {
    .name = "postgres",
    .needs = needs,
    .service = "postgres",
    .orders =
        {
            .ending = &ending,
            .depose = promote_other,
            .cancel = cancel,
            .cancelled = "canceling wait for synchronous replication due to user request",
            .end_session = end_session,
            .files = (const char *const[]){"data", NULL},
            .lock_tables = lock_tables,
            .unlock_tables = unlock_tables,
            .need_room = need_room,
            .no_room = "No space left on device",
            .promote = promote,
        },
    .settings = lb_postgres_settings,
    .by_libc = true,
    .poll_ms = 30, /* each question is a connection, and so a process of the server */
    .start = start,
    .launch = launch,
    .answers = answers,
    .healthy = serving,
    .primary = primary,
    .caught_up = caught_up,
    .has_place = has_place,
    .identity = identity,
    .others = others,
    .wall_ms = wall_ms,
    .commits = commits,
    .counts = counts,
    .clean = clean,
    .version = lb_postgres_version,
};
