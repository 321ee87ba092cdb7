/* SPDX-License-Identifier: MIT
 *
 * Copies are made by cp(1) and compared by diff(1). Only what a server keeps is copied: its configuration, and the
 * pages that its preload libraries share with us, stay as they are.
 */
#include "datadir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "cluster.h"

enum { COPY_MS = 15000, PATH_BYTES = 400 };

static const char *const *files_of(const struct lb_cluster *cluster) {
  static const char *const none[] = {NULL};
  return cluster->topology->family->orders.files ? cluster->topology->family->orders.files : none;
}

static void name_copy(const struct lb_server *server, char path[PATH_BYTES]) {
  snprintf(path, PATH_BYTES, "%s.backup", server->dir);
}

static int run_tool(struct lb_cluster *cluster, const struct lb_server *server, const char *const argv[],
                    const char *what) {
  int r =
      lb_proc_run(&(struct lb_proc_plan){.argv = argv, .dir = server->dir, .log = server->log}, COPY_MS, &cluster->err);
  if (r < 0) return lb_error_prefix(&cluster->err, "%s: ", server->name);
  return r > 0 ? lb_error(&cluster->err, -EIO, "%s: %s", server->name, what) : 0;
}

static int copy_one(struct lb_cluster *cluster, const struct lb_server *server, const char *from, const char *to,
                    const char *name) {
  char source[2 * PATH_BYTES], target[2 * PATH_BYTES];
  snprintf(source, sizeof source, "%s/%s", from, name);
  snprintf(target, sizeof target, "%s/%s", to, name);
  if (access(source, F_OK) < 0) return 0;
  int r = run_tool(cluster, server, (const char *const[]){"cp", "-a", "--reflink=auto", source, target, NULL},
                   "its files cannot be copied, its log says why");
  if (r == 0)
    r = run_tool(cluster, server, (const char *const[]){"diff", "-rq", source, target, NULL},
                 "the copy of its files is not like them");
  return r < 0 ? r : 1;
}

/* How many there were. */
static int copy_all(struct lb_cluster *cluster, const struct lb_server *server, const char *from, const char *to) {
  int copied = 0;
  for (const char *const *name = files_of(cluster); *name; name++) {
    int r = copy_one(cluster, server, from, to, *name);
    if (r < 0) return r;
    copied += r;
  }
  return copied;
}

int lb_datadir_copy(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  char copy[PATH_BYTES];
  name_copy(server, copy);
  lb_files_remove_tree(copy);
  int r = lb_files_make_dirs(copy);
  if (r < 0) return lb_error(&cluster->err, r, "%s: no folder for a copy: %s", server->name, strerror(-r));
  r = copy_all(cluster, server, server->dir, copy);
  return r == 0 ? lb_error(&cluster->err, -ENOENT, "%s has no files to be copied", server->name) : r < 0 ? r : 0;
}

static void remove_file(const struct lb_server *server, const char *name) {
  char path[2 * PATH_BYTES];
  snprintf(path, sizeof path, "%s/%s", server->dir, name);
  if (unlink(path) < 0) lb_files_remove_tree(path);
}

int lb_datadir_restore(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  char copy[PATH_BYTES];
  name_copy(server, copy);
  if (access(copy, F_OK) < 0) return lb_error(&cluster->err, -ENOENT, "%s was never backed up", server->name);
  for (const char *const *name = files_of(cluster); *name; name++) remove_file(server, *name);
  int r = copy_all(cluster, server, copy, server->dir);
  return r < 0 ? r : 0;
}

void lb_datadir_forget_saved(struct lb_cluster *cluster, size_t index) {
  remove_file(&cluster->server[index], files_of(cluster)[0]);
}

static size_t count_files(const struct lb_cluster *cluster, const struct lb_server *server) {
  char path[2 * PATH_BYTES];
  size_t count = 0;
  for (const char *const *name = files_of(cluster); *name; name++) {
    snprintf(path, sizeof path, "%s/%s", server->dir, *name);
    count += access(path, F_OK) == 0;
  }
  return count;
}

int lb_datadir_wipe(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  if (count_files(cluster, server) == 0)
    return lb_error(&cluster->err, -ENOENT, "%s has no files to be removed", server->name);
  for (const char *const *name = files_of(cluster); *name; name++) remove_file(server, *name);
  if (count_files(cluster, server) > 0) return lb_error(&cluster->err, -EIO, "%s still has files", server->name);
  server->wiped = true;
  return 0;
}
