/* SPDX-License-Identifier: MIT
 *
 * The new root is a file system in memory that shows the entries of the tree one by one: so a folder of the trial can
 * stand at its own path, and no mount point has to be made in the tree. pivot_root(2), because after chroot(2) a process
 * may not make the user namespace that PostgreSQL needs.
 */
#include "root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, LINK_BYTES = 512 };

/* Mount points of ours; what the tree has there stays hidden. */
static const char *const shown[] = {"proc", "dev", "sys", NULL}, *const empty[] = {"tmp", "run", NULL};

static bool is_one_of(const char *name, const char *const words[]) {
  while (*words && strcmp(*words, name) != 0) words++;
  return *words;
}

/* Whether a folder that is kept lies at or below this path of the new root. */
static bool holds_kept(const char *path, const char *const keep[]) {
  size_t length = strlen(path);
  for (; *keep; keep++)
    if (strncmp(*keep, path, length) == 0 && ((*keep)[length] == '/' || !(*keep)[length])) return true;
  return false;
}

/* Flags that a mount had have to stay, or the kernel refuses in a user namespace. */
static int make_read_only(const char *path) {
  struct statvfs fs;
  if (statvfs(path, &fs) < 0) return -errno;
  unsigned long same = (fs.f_flag & ST_NOSUID ? MS_NOSUID : 0) | (fs.f_flag & ST_NODEV ? MS_NODEV : 0) |
                       (fs.f_flag & ST_NOEXEC ? MS_NOEXEC : 0);
  return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | same, NULL) < 0 ? -errno : 0;
}

static int bind_at(const char *from, const char *to, bool read_only) {
  if (mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0) return -errno;
  return read_only ? make_read_only(to) : 0;
}

static int link_at(const char *from, const char *to) {
  char target[LINK_BYTES];
  ssize_t n = readlink(from, target, sizeof target - 1);
  if (n < 0) return -errno;
  target[n] = '\0';
  return symlink(target, to) < 0 ? -errno : 0;
}

static int show_file(const char *from, const char *to) {
  int fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return -errno;
  close(fd);
  return bind_at(from, to, true);
}

/* `path` is what `to` will be called in the new root: "" at its top. A folder on the way to a kept one is made anew, and
 * its entries are shown one by one. */
static int show_tree(const char *from, const char *to, const char *path, const char *const keep[]) {
  int r = 0;
  DIR *entries = opendir(from);
  if (!entries) return -errno;
  for (const struct dirent *e; r == 0 && (e = readdir(entries));) {
    char source[PATH_BYTES], target[PATH_BYTES], inside[PATH_BYTES];
    struct stat st;
    bool fixed = !*path && (is_one_of(e->d_name, shown) || is_one_of(e->d_name, empty));
    if (fixed || strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    if (snprintf(source, sizeof source, "%s/%s", from, e->d_name) >= PATH_BYTES ||
        snprintf(target, sizeof target, "%s/%s", to, e->d_name) >= PATH_BYTES ||
        snprintf(inside, sizeof inside, "%s/%s", path, e->d_name) >= PATH_BYTES) {
      r = -ENAMETOOLONG;
    } else if (lstat(source, &st) < 0) {
      r = -errno;
    } else if (S_ISDIR(st.st_mode)) {
      if (mkdir(target, 0755) < 0) r = -errno;
      else r = holds_kept(inside, keep) ? show_tree(source, target, inside, keep) : bind_at(source, target, true);
    } else if (S_ISLNK(st.st_mode)) {
      if (!holds_kept(inside, keep)) r = link_at(source, target);
    } else {
      r = show_file(source, target);
    }
  }
  closedir(entries);
  return r;
}

/* Trees unpacked by dpkg -x lack the links that the package base-files brings. */
static int add_usr_links(const char *to) {
  static const char *const names[] = {"bin", "sbin", "lib", "lib64"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char link[PATH_BYTES], target[64], there[PATH_BYTES];
    struct stat st;
    snprintf(target, sizeof target, "usr/%s", names[i]);
    snprintf(link, sizeof link, "%s/%s", to, names[i]);
    snprintf(there, sizeof there, "%s/%s", to, target);
    if (lstat(link, &st) < 0 && stat(there, &st) == 0 && symlink(target, link) < 0) return -errno;
  }
  return 0;
}

static int make_path(const char *to, const char *path) {
  char made[PATH_BYTES];
  size_t base = strlen(to);
  if (snprintf(made, sizeof made, "%s%s", to, path) >= PATH_BYTES) return -ENAMETOOLONG;
  for (char *at = made + base + 1; *at; at++) {
    if (*at != '/') continue;
    *at = '\0';
    if (mkdir(made, 0755) < 0 && errno != EEXIST) return -errno;
    *at = '/';
  }
  return mkdir(made, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static int keep_folders(const char *to, const char *const keep[]) {
  char target[PATH_BYTES];
  int r = 0;
  for (; r == 0 && *keep; keep++) {
    if ((r = make_path(to, *keep)) < 0) break;
    snprintf(target, sizeof target, "%s%s", to, *keep);
    r = bind_at(*keep, target, false);
  }
  return r;
}

static int make_fixed(const char *to) {
  char target[PATH_BYTES], from[64];
  int r = 0;
  for (const char *const *name = shown; r == 0 && *name; name++) {
    snprintf(target, sizeof target, "%s/%s", to, *name);
    snprintf(from, sizeof from, "/%s", *name);
    r = mkdir(target, 0755) < 0 ? -errno : bind_at(from, target, false);
  }
  for (const char *const *name = empty; r == 0 && *name; name++) {
    snprintf(target, sizeof target, "%s/%s", to, *name);
    r = mkdir(target, 0755) < 0 || chmod(target, 01777) < 0 ? -errno : 0;
  }
  return r;
}

static int write_map(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
  int r = n < 0 ? -errno : 0;
  if (fd >= 0) close(fd);
  return r;
}

/* Outside of a sandbox only root may mount; an ordinary user may in a user namespace of his own. */
static int own_mounts(void) {
  char uids[32], gids[32];
  snprintf(uids, sizeof uids, "%u %u 1", geteuid(), geteuid());
  snprintf(gids, sizeof gids, "%u %u 1", getegid(), getegid());
  if (unshare(CLONE_NEWNS) < 0) {
    if (errno != EPERM || unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) return -errno;
    int r = write_map("/proc/self/setgroups", "deny");
    if (r == 0) r = write_map("/proc/self/uid_map", uids);
    if (r == 0) r = write_map("/proc/self/gid_map", gids);
    if (r < 0) return r;
  }
  return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
}

/* The tree's own folder is the mount point; the tree is still reached through a descriptor opened before. */
int lb_root_enter(const char *root, const char *const keep[]) {
  char from[64];
  int r = own_mounts(), fd = r < 0 ? -1 : open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return r < 0 ? r : -errno;
  snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
  if (mount("lockbench", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") < 0) r = -errno;
  if (r == 0) r = show_tree(from, root, "", keep);
  if (r == 0) r = add_usr_links(root);
  if (r == 0) r = make_fixed(root);
  if (r == 0) r = keep_folders(root, keep);
  if (r == 0 &&
      (chdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0))
    r = -errno;
  close(fd);
  return r;
}
