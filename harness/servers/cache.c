/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/files.h"

#define POLL_MS 10

static const char *dir_of(const struct lb_cluster *cluster) {
  return cluster->cache_dir ? cluster->cache_dir : cluster->server[0].dir;
}

/* Polls, because waiting in flock() knows no deadline. */
int lb_cache_lock(struct lb_cluster *cluster, lb_ns deadline, int *ret_fd) {
  const char *base = dir_of(cluster);
  int r = lb_files_make_dirs(base);
  if (r < 0) return lb_error(&cluster->err, r, "cannot make %s: %s", base, strerror(-r));
  int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  r = fd < 0 ? -errno : 0;
  while (r == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
    if (errno != EWOULDBLOCK) r = -errno;
    else if (lb_now(cluster->env) >= deadline) r = -ETIMEDOUT;
    else lb_sleep_until(cluster->env, lb_now(cluster->env) + POLL_MS * LB_NS_PER_MS);
  }
  if (r == 0) return *ret_fd = fd, 0;
  if (fd >= 0) close(fd);
  return lb_error(&cluster->err, r, "cannot lock %s: %s", base, strerror(-r));
}

/* In a folder of its own below the cache: a rename is only atomic within one file system. */
static int make_template(struct lb_cluster *cluster, int (*make)(struct lb_cluster *cluster, const char *dir),
                         const char *path) {
  char building[400], data[420];
  snprintf(building, sizeof building, "%s/building-XXXXXX", dir_of(cluster));
  if (!mkdtemp(building)) return lb_error(&cluster->err, -errno, "cannot make the folder %s: %m", building);
  snprintf(data, sizeof data, "%s/data", building);
  int r = make(cluster, building);
  if (r == 0) lb_files_dig_holes(data);
  if (r == 0 && rename(data, path) < 0) r = lb_error(&cluster->err, -errno, "cannot name the template %s: %m", path);
  lb_files_remove_tree(building);
  return r;
}

/* The lock is taken before looking: who had to wait for it usually finds the template made. */
int lb_cache_template(struct lb_cluster *cluster, const char *name, lb_ns deadline,
                      int (*make)(struct lb_cluster *cluster, const char *dir), char *ret, size_t size) {
  const char *base = dir_of(cluster);
  int fd, r;
  if ((size_t)snprintf(ret, size, "%s/%s", base, name) >= size)
    return lb_error(&cluster->err, -ENAMETOOLONG, "the path of the template folder is too long: %s", base);
  if ((r = lb_cache_lock(cluster, deadline, &fd)) < 0) return r;
  if (access(ret, F_OK) < 0) r = make_template(cluster, make, ret);
  close(fd); /* and with it the lock */
  return r;
}

/* In memory what is zero takes no room, and no time to be copied. On a disk it has to have its room before it is
 * written, and where a disk may be full, too. */
int lb_cache_copy(struct lb_cluster *cluster, const struct lb_server *server, const char *template) {
  char to[300];
  snprintf(to, sizeof to, "%s/data", server->dir);
  int r = lb_files_copy_tree(template, to, !cluster->durable && !server->own_disk);
  return r < 0 ? lb_error(&cluster->err, r, "%s: cannot copy %s: %s", server->name, template, strerror(-r)) : 0;
}
