/* SPDX-License-Identifier: MIT
 *
 * The reader's side of the page, and how the library gets into the server: as that of its clocks does (family_util.c).
 */
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk_page.h"
#include "skew_shim.h"

const char *lb_disk_shim_path(void) { return lb_shim_path(LB_DISK_SHIM, LB_DISK_SHIM_VARIABLE); }

static struct lb_disk_page *make_page(const char *path) {
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  struct lb_disk_page *page = MAP_FAILED;
  /* Servers run as other users, too. */
  if (fd >= 0 && fchmod(fd, 0666) == 0 && ftruncate(fd, sizeof *page) == 0) page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0) close(fd);
  return page == MAP_FAILED ? NULL : page;
}

int lb_disk_watch(struct lb_disk *disk, struct lb_server *server) {
  const char *shim = lb_disk_shim_path(), *others = getenv("LD_PRELOAD");
  char path[300];
  *disk = (struct lb_disk){0};
  if (!shim) return -ENOENT;
  snprintf(path, sizeof path, "%s/" LB_DISK_SHIM, server->dir);
  if (symlink(shim, path) < 0) return -errno;
  snprintf(path, sizeof path, "%s/disk.page", server->dir);
  disk->page = make_page(path);
  if (!disk->page) return -errno;
  snprintf(disk->library, sizeof disk->library, "LD_PRELOAD=./" LB_DISK_SHIM "%s%s", others && others[0] ? ":" : "", others ? others : "");
  snprintf(disk->file, sizeof disk->file, LB_DISK_VARIABLE "=%s", path);
  disk->env[0] = disk->library, disk->env[1] = disk->file;
  server->env = disk->env;
  return 0;
}

bool lb_disk_counts(const struct lb_disk *disk, struct lb_counts *counts) {
  if (!disk->page || atomic_load(&disk->page->loaded) == 0) return false;
  lb_counts_add(counts, "writes to files", atomic_load(&disk->page->writes));
  lb_counts_add(counts, "bytes written", atomic_load(&disk->page->bytes));
  lb_counts_add(counts, "fsyncs", atomic_load(&disk->page->syncs));
  return true;
}

void lb_disk_forget(struct lb_disk *disk) {
  if (disk->page) munmap(disk->page, sizeof *disk->page);
  disk->page = NULL;
}
