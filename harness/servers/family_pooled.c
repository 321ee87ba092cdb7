/* SPDX-License-Identifier: MIT
 *
 * PostgreSQL behind PgBouncer. Clients talk to the pooler alone; what is asked of the data server is asked without it.
 *
 * The pool is as PgBouncer has it by default: the server process that was given back last is handed out next. So
 * clients that ask one after the other share one process. A process that is occupied meanwhile is next again when it is
 * given back (`occupy`).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/postgres/pg.h"
#include "postgres.h"

#define NEED_PGBOUNCER "pgbouncer or /usr/sbin/pgbouncer"

/* Several, as the pooler ends a server process whose client goes while it works: the next one must not be that of the
 * lock yet. */
enum { OCCUPANTS = 4 };
static struct pg_conn *occupant[OCCUPANTS]; /* one controller process plays one trial at a time */

/* ---- the pooler ------------------------------------------------------------------------------ */

/* Without auth_type = any it refuses a user that it does not know. A server that failed is tried again after 0.1 s, not
 * after PgBouncer's own 15 s. */
static int configure(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index], *data = &cluster->server[0];
  return lb_server_write(
      cluster, server, false, "pgbouncer.ini",
      "[databases]\n* = host=%s port=%u user=lockbench\n[pgbouncer]\nlisten_addr = %s\nlisten_port = %u\nunix_socket_dir =\nauth_type = any\n"
      "max_client_conn = 500\nserver_login_retry = 0.1\nignore_startup_parameters = extra_float_digits,options\n%s",
      data->host->address, (unsigned)data->port, server->host->address, (unsigned)server->port,
      cluster->topology->other_settings);
}

static int launch_pooler(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  char config[300];
  snprintf(config, sizeof config, "%s/pgbouncer.ini", server->dir);
  return lb_server_start(cluster, server, (const char *const[]){NEED_PGBOUNCER, "-q", config, NULL}, NULL, true);
}

/* Ends the transactions, and closes what there is. */
static int vacate(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  (void)index;
  int r = occupant[0] ? 0 : lb_fail(cluster->env, -ENOENT, "nobody occupies it");
  for (size_t i = 0; i < OCCUPANTS && occupant[i]; i++) {
    int end = lb_postgres_say(cluster, occupant[i], deadline, "COMMIT");
    if (r == 0) r = end;
    pg_close(occupant[i]);
    occupant[i] = NULL;
  }
  return r;
}

/* The second statement is answered by a server process that is the transaction's by then. */
static int occupy(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  const struct lb_server *server = &cluster->server[index];
  struct lb_endpoint at = {.service = server->service, .host = server->host->address, .port = server->port};
  int r = occupant[0] ? lb_fail(cluster->env, -EBUSY, "it is occupied already") : 0;
  for (size_t i = 0; i < OCCUPANTS && r == 0; i++) {
    r = pg_open(cluster->env, NULL, &at, NULL, deadline, &occupant[i]);
    if (r == 0) r = lb_postgres_say(cluster, occupant[i], deadline, "BEGIN");
    if (r == 0) r = lb_postgres_say(cluster, occupant[i], deadline, "SELECT 1");
  }
  return r;
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static int launch(struct lb_cluster *cluster, size_t index) {
  return cluster->server[index].data ? lb_family_postgres.launch(cluster, index) : launch_pooler(cluster, index);
}

static int start(struct lb_cluster *cluster, lb_ns deadline) {
  int r = 0;
  for (size_t i = cluster->data_count; i < cluster->server_count && r == 0; i++) r = configure(cluster, i);
  if (r == 0) r = lb_family_postgres.start(cluster, deadline);
  return r < 0 ? r : lb_cluster_await(cluster, deadline, lb_cluster_all_answer, "the pooler answers");
}

static int answers(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return lb_family_postgres.answers(cluster, index, deadline);
}
static int primary(struct lb_cluster *cluster, lb_ns deadline) { return lb_family_postgres.primary(cluster, deadline); }
static int need_room(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return lb_family_postgres.orders.need_room(cluster, index, deadline);
}
static int commits(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret) {
  return lb_family_postgres.commits(cluster, index, deadline, ret);
}
static int counts(struct lb_cluster *cluster, size_t index, lb_ns deadline, struct lb_counts *ret) {
  return lb_family_postgres.counts(cluster, index, deadline, ret);
}

/* The pooler answers with the clock of the server behind it. */
static int wall_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  return lb_family_postgres.wall_ms(cluster, index, deadline, ret_ms);
}

static void clean(struct lb_cluster *cluster) {
  for (size_t i = 0; i < OCCUPANTS; i++) pg_close(occupant[i]), occupant[i] = NULL;
  lb_family_postgres.clean(cluster);
}

static const char *const needs[] = {LB_NEED_POSTGRES, LB_NEED_INITDB, NEED_PGBOUNCER, NULL};

static const struct lb_ending ending = {.signal = SIGINT, .says = "database system is shut down"};

/* Without `healthy`: what clients have left on the server processes of the pool is nothing that the next timeline
 * should find. */
const struct lb_family lb_family_pooled = {
    .name = "pooled",
    .needs = needs,
    .service = "postgres",
    .other_service = "pgbouncer",
    .fronted = true,
    .orders =
        {
            .ending = &ending,
            .occupy = occupy,
            .vacate = vacate,
            .need_room = need_room,
            .no_room = "No space left on device",
        },
    .settings = lb_postgres_settings,
    .by_libc = true,
    .start = start,
    .launch = launch,
    .answers = answers,
    .primary = primary,
    .wall_ms = wall_ms,
    .commits = commits,
    .counts = counts,
    .clean = clean,
    .version = lb_postgres_version,
};
