/* SPDX-License-Identifier: MIT
 *
 * initdb takes a second of CPU, a copy of its result a few hundredths. The template appears under
 * its name by rename, so it is whole or absent; a lock only keeps several trials from making it at
 * the same time, and goes with its holder.
 */
#include "pg_template.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"

#define INITDB_MS 60000

int lb_pg_version(const char *postgres, char *buf, size_t size) {
  char said[200], number[24];
  int r = lb_program_output((const char *const[]){postgres, "--version", NULL}, NULL, said, sizeof said);
  if (r < 0) return r;
  if (sscanf(said, "postgres (PostgreSQL) %23s", number) != 1) return -EPROTO;
  snprintf(buf, size, "%s", number);
  return 0;
}

/* initdb of the same installation as postgres: the names in PATH may be links to different
 * versions. */
static char *initdb_beside(const char *postgres) {
  char real[PATH_MAX], *path = NULL;
  if (!realpath(postgres, real)) return NULL;
  if (asprintf(&path, "%s/initdb", dirname(real)) < 0) return NULL;
  if (access(path, X_OK) == 0) return path;
  free(path);
  return lb_need_path(LB_NEED_INITDB);
}

static int run_initdb(struct lb_cluster *cluster, const char *postgres, const char *dir) {
  char err[300], data[600], log[600];
  char *initdb = initdb_beside(postgres);
  if (!initdb) return lb_cluster_fail(cluster, -ENOENT, "initdb is not installed");
  snprintf(data, sizeof data, "%s/data", dir);
  snprintf(log, sizeof log, "%s/initdb.log", dir);
  int r = lb_proc_run(NULL,
                      (const char *const[]){initdb, "-D", data, "-U", "lockbench", "-A", "trust", "-E", "UTF8",
                                            "--locale=C", "--no-sync", "--no-instructions", NULL},
                      NULL, dir, log, true, NULL, INITDB_MS, err, sizeof err);
  free(initdb);
  if (r < 0) return lb_cluster_fail(cluster, r, "initdb: %s", err);
  return r > 0 ? lb_cluster_fail(cluster, -EIO, "initdb failed with status %d", r) : 0;
}

/* initdb works in a folder of its own below `base`: a rename is only atomic within one file
 * system. */
static int make_template(struct lb_cluster *cluster, const char *postgres, const char *base, const char *path) {
  char building[400], data[420];
  snprintf(building, sizeof building, "%s/pg-building-XXXXXX", base);
  if (!mkdtemp(building)) return lb_cluster_fail(cluster, -errno, "cannot make a folder in %s: %m", base);
  snprintf(data, sizeof data, "%s/data", building);
  int r = run_initdb(cluster, postgres, building);
  if (r == 0 && rename(data, path) < 0) r = lb_cluster_fail(cluster, -errno, "cannot name the template %s: %m", path);
  lb_remove_tree(building);
  return r;
}

/* The version is part of the name, so a cache that outlives an upgrade is not used. The lock is
 * taken before looking: who had to wait for it usually finds the template made. */
int lb_pg_template(struct lb_cluster *cluster, lb_ns deadline, char *ret, size_t size) {
  const char *base = lb_cluster_cache(cluster);
  char *postgres = lb_need_path(LB_NEED_POSTGRES), number[24];
  int fd = -1, r = postgres ? lb_pg_version(postgres, number, sizeof number) : -ENOENT;
  if (r < 0) {
    r = lb_cluster_fail(cluster, r, "cannot run postgres: %s", strerror(-r));
    goto out;
  }
  if ((size_t)snprintf(ret, size, "%s/pg-template-%s", base, number) >= size) {
    r = lb_cluster_fail(cluster, -ENAMETOOLONG, "the path of the template folder is too long: %s", base);
    goto out;
  }
  r = lb_cluster_lock_cache(cluster, deadline, &fd);
  if (r == 0 && access(ret, F_OK) < 0) r = make_template(cluster, postgres, base, ret);
out:
  if (fd >= 0) close(fd); /* and with it the lock */
  free(postgres);
  return r;
}

int lb_pg_copy(struct lb_cluster *cluster, const struct lb_server *server, const char *template, int64_t timeout_ms) {
  char err[300], to[300];
  snprintf(to, sizeof to, "%s/data", server->dir);
  int r = lb_proc_run(NULL, (const char *const[]){"cp", "-a", "--reflink=auto", template, to, NULL}, NULL, server->dir,
                      server->log, true, NULL, timeout_ms, err, sizeof err);
  if (r < 0) return lb_cluster_fail(cluster, r, "%s: %s", server->name, err);
  return r > 0 ? lb_cluster_fail(cluster, -EIO, "%s: cannot copy %s, see %s", server->name, template, server->log) : 0;
}
