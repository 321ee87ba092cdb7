/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/files.h"

#define POLL_MS 10

const char *lb_cache_dir(const struct lb_cluster *cluster) {
  return cluster->cache_dir ? cluster->cache_dir : cluster->server[0].dir;
}

/* Polls, because waiting in flock() knows no deadline. */
int lb_cache_lock(struct lb_cluster *cluster, lb_ns deadline, int *ret_fd) {
  const char *base = lb_cache_dir(cluster);
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

/* In memory what is zero takes no room, and no time to be copied. On a disk it has to have its room before it is
 * written, and where a disk may be full, too. */
int lb_cache_copy(struct lb_cluster *cluster, const struct lb_server *server, const char *template) {
  char to[300];
  snprintf(to, sizeof to, "%s/data", server->dir);
  int r = lb_files_copy_tree(template, to, !cluster->durable && !server->own_disk);
  return r < 0 ? lb_error(&cluster->err, r, "%s: cannot copy %s: %s", server->name, template, strerror(-r)) : 0;
}
