/* SPDX-License-Identifier: MIT
 *
 * What has room already, keeps it: who writes where something stood before is not refused, as on any disk.
 */
#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cluster.h"

#define ROOM "mode=0755,size=400m" /* more than any server needs in a trial */
#define FILLER "lockbench.filler"

static int cannot(struct lb_cluster *cluster, const struct lb_server *server, int error, const char *what) {
  return lb_error(&cluster->err, -error, "%s: %s: %s", server->name, what, strerror(error));
}

static void name_filler(const struct lb_server *server, char path[400]) {
  snprintf(path, 400, "%s/" FILLER, server->dir);
}

int lb_room_make(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  if (!lb_proc_sandboxed) return cannot(cluster, server, EPERM, "no disk of its own without a sandbox");
  if (mount("lockbench", server->dir, "tmpfs", MS_NOSUID | MS_NODEV, ROOM) < 0)
    return cannot(cluster, server, errno, "no disk of its own");
  cluster->server[index].own_disk = true;
  return 0;
}

/* The large part at once, the rest as it comes, for the server may take some meanwhile. */
static int take_all(int fd) {
  static const char piece[65536];
  struct statvfs left;
  if (fstatvfs(fd, &left) < 0) return -errno;
  off_t bytes = (off_t)(left.f_bavail * left.f_frsize);
  if (bytes > 0 && fallocate(fd, 0, 0, bytes) < 0 && errno != ENOSPC) return -errno;
  if (lseek(fd, 0, SEEK_END) < 0) return -errno;
  while (write(fd, piece, sizeof piece) > 0) continue;
  return errno == ENOSPC ? 0 : -errno;
}

int lb_room_fill(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  char path[400];
  if (!server->own_disk) return cannot(cluster, server, EPERM, "it has no disk of its own");
  name_filler(server, path);
  int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return cannot(cluster, server, errno, "its disk cannot be filled");
  int r = take_all(fd);
  struct statvfs left;
  bool full = r == 0 && fstatvfs(fd, &left) == 0 && left.f_bavail == 0;
  close(fd);
  return full ? 0 : cannot(cluster, server, r < 0 ? -r : EAGAIN, "its disk is not full");
}

int lb_room_free(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  char path[400];
  struct statvfs left;
  name_filler(server, path);
  if (unlink(path) < 0) return cannot(cluster, server, errno, "its disk was not filled");
  return statvfs(server->dir, &left) == 0 && left.f_bavail > 0
             ? 0
             : cannot(cluster, server, ENOSPC, "its disk is still full");
}
