/* SPDX-License-Identifier: MIT */
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster.h"
#include "counts.h"
#include "preload/disk_page.h"
#include "preload/skew.h"

static struct lb_disk_page *make_page(const char *path) {
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  struct lb_disk_page *page = MAP_FAILED;
  /* Servers run as other users, too. */
  if (fd >= 0 && fchmod(fd, 0666) == 0 && ftruncate(fd, sizeof *page) == 0)
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0) close(fd);
  return page == MAP_FAILED ? NULL : page;
}

int lb_disk_watch(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  char path[300];
  if (!cluster->topology->family->by_libc) return -EOPNOTSUPP;
  int r = lb_server_bring(cluster, server, LB_SHIM_DISK);
  if (r < 0) return r;
  snprintf(path, sizeof path, "%s/" LB_DISK_PAGE, server->dir);
  server->counted = make_page(path);
  return server->counted ? 0 : -errno;
}

bool lb_disk_counts(const struct lb_server *server, struct lb_counts *counts) {
  const struct lb_disk_page *page = server->counted;
  if (!page || atomic_load(&page->loaded) == 0) return false;
  lb_counts_add(counts, "writes to files", atomic_load(&page->writes));
  lb_counts_add(counts, "bytes written", atomic_load(&page->bytes));
  lb_counts_add(counts, "fsyncs", atomic_load(&page->syncs));
  return true;
}

void lb_disk_forget(struct lb_server *server) {
  if (server->counted) munmap(server->counted, sizeof *server->counted);
  server->counted = NULL;
}

int lb_disk_may_stall(struct lb_cluster *cluster, size_t index) {
  cluster->server[index].stall = lb_stall_make();
  return 0;
}
