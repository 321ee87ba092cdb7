/* SPDX-License-Identifier: MIT
 *
 * The template is a freshly initialised data folder, made once per run and copied for every server: initdb takes a
 * second of CPU, a copy of its result a few hundredths.
 */
#include "postgres.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/postgres/pg.h"
#include "base/files.h"
#include "base/need.h"
#include "binary.h"
#include "cache.h"

#define INITDB_MS 60000

const struct lb_setting lb_postgres_settings[] = {
    LB_POSTGRES_SETTINGS,
    {.name = "full_page_writes = ", .stock = "on", .unsynced = "off"},
    {0},
};

/* "15.12" of this program. */
static int postgres_version(const struct lb_origin *origin, char *buf, size_t size) {
  char said[200], number[24];
  int r = lb_binary_output(origin, (const char *const[]){LB_NEED_POSTGRES, "--version", NULL}, NULL, said, sizeof said);
  if (r < 0) return r;
  if (sscanf(said, "postgres (PostgreSQL) %23s", number) != 1) return -EPROTO;
  snprintf(buf, size, "%s", number);
  return 0;
}

int lb_postgres_folder(const struct lb_origin *origin, char *buf, size_t size) {
  char real[PATH_MAX], *postgres = lb_binary_find(origin, LB_NEED_POSTGRES);
  bool found = postgres && (lb_origin_root(origin) ? !!strcpy(real, postgres) : !!realpath(postgres, real));
  free(postgres);
  if (found) snprintf(buf, size, "%s", dirname(real));
  return found ? 0 : -ENOENT;
}

/* initdb of the same installation as postgres: the names in PATH may be links to different
 * versions. */
static char *find_initdb(const struct lb_origin *origin) {
  char folder[PATH_MAX];
  if (lb_postgres_folder(origin, folder, sizeof folder) < 0) return NULL;
  char *path = lb_need_printed("%s/initdb", folder);
  if (lb_origin_root(origin) || access(path, X_OK) == 0) return path;
  free(path);
  return lb_binary_find(origin, LB_NEED_INITDB);
}

static int run_initdb(struct lb_cluster *cluster, const char *dir) {
  char data[600], log[600];
  char *initdb = find_initdb(cluster->topology->origin);
  if (!initdb) return lb_error(&cluster->err, -ENOENT, "initdb is not installed");
  snprintf(data, sizeof data, "%s/data", dir);
  snprintf(log, sizeof log, "%s/initdb.log", dir);
  int r = lb_proc_run(
      &(struct lb_proc_plan){.argv = (const char *const[]){initdb, "-D", data, "-U", "lockbench", "-A", "trust", "-E",
                                                           "UTF8", "--locale=C", "--no-sync", NULL},
                             .dir = dir,
                             .log = log,
                             .root = lb_origin_root(cluster->topology->origin),
                             .unprivileged = true},
      INITDB_MS, &cluster->err);
  free(initdb);
  if (r < 0) return lb_error_prefix(&cluster->err, "initdb: ");
  return r > 0 ? lb_error(&cluster->err, -EIO, "initdb failed with status %d", r) : 0;
}

/* The version is part of the name, so a cache that outlives an upgrade is not used. */
int lb_postgres_template(struct lb_cluster *cluster, lb_ns deadline, char *ret, size_t size) {
  char number[24], name[40];
  int r = postgres_version(cluster->topology->origin, number, sizeof number);
  if (r < 0) return lb_error(&cluster->err, r, "cannot run postgres: %s", strerror(-r));
  snprintf(name, sizeof name, "pg-template-%s", number);
  return lb_cache_template(cluster, name, deadline, run_initdb, ret, size);
}

int lb_postgres_say(struct lb_cluster *cluster, struct pg_conn *conn, lb_ns deadline, const char *sql) {
  PGresult *result = NULL;
  int r = pg_query(conn, deadline, &result, sql, 0, NULL);
  if (r == 0) r = pg_refusal(cluster->env, result);
  PQclear(result);
  return r > 0 ? -EIO : r;
}

int lb_postgres_version(const struct lb_origin *origin, char *buf, size_t size) {
  char number[32];
  int r = postgres_version(origin, number, sizeof number);
  if (r == 0) snprintf(buf, size, "postgresql %s", number);
  return r;
}
