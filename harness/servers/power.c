/* SPDX-License-Identifier: MIT
 *
 * The disk of a server: counted, full, copied, and after a loss of power.
 */
#include "power.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/files.h"
#include "preload/disk_page.h"
#include "server.h"
#include "network/proc.h"
#include "preload/skew.h"

/* ---- what it writes, counted ------------------------------------------------------------------- */

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

/* ---- a loss of power: the reader of the journal (disk_page.h) -----------------------------------------
 *
 * What was written after the last sync of a file is undone from its end to its begin, so that what stood there before
 * all of it stands there again. */

struct file { /* one that is in the server's folder now */
  uint64_t device, inode, born;
  char *path;
  int fd;                               /* -1 = not opened yet */
  uint64_t synced_from;                 /* when the last sync began that came to its end; 0 = none */
  struct lb_journal_entry *kept, *gone; /* its last write that was synced, its first that was not */
};
struct look { /* at the files of a server, and its journal */
  struct lb_cluster *cluster;
  const struct lb_server *server;
  struct lb_journal *journal;
  struct lb_journal_entry **entry;
  size_t entry_count;
  struct file *file;
  size_t file_count;
};

static int fail(struct look *l, int r, const char *what) {
  return lb_error(&l->cluster->err, r, "%s: %s", l->server->name, what);
}

/* .... the journal */

static int begin_anew(struct lb_cluster *cluster, const struct lb_server *server) {
  int fd = open(server->journal, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  bool made =
      fd >= 0 && fchmod(fd, 0666) == 0 && ftruncate(fd, LB_JOURNAL_BYTES) == 0; /* servers run as other users, too */
  int r = made ? 0 : lb_error(&cluster->err, -errno, "%s: cannot make %s: %m", server->name, server->journal);
  if (fd >= 0) close(fd);
  return r;
}

int lb_power_watch(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  int r = lb_server_bring(cluster, server, LB_SHIM_DISK);
  if (r < 0) return r;
  strcpy(stpcpy(server->journal, server->dir), ".journal"); /* beside its folder, which may be full one day */
  return begin_anew(cluster, server);
}

static int map_journal(struct look *l) {
  int fd = open(l->server->journal, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, LB_JOURNAL_BYTES, PROT_READ, MAP_SHARED, fd, 0);
  if (fd >= 0) close(fd);
  if (mapped == MAP_FAILED) return fail(l, -errno, "its journal cannot be read");
  l->journal = mapped;
  if (atomic_load(&l->journal->users) == 0) return fail(l, -ENODATA, "nobody has seen what it writes");
  return atomic_load(&l->journal->full) ? fail(l, -EIO, "it has written more than its journal holds") : 0;
}

/* -EAGAIN: one of them is not there yet, and never will be if its writer is dead. */
static int list_entries(struct look *l) {
  uint64_t used = atomic_load(&l->journal->used);
  l->entry = calloc(used / sizeof **l->entry + 1, sizeof *l->entry);
  if (!l->entry) return fail(l, -ENOMEM, "no memory");
  for (uint64_t at = 0; at < used;) {
    struct lb_journal_entry *entry = (struct lb_journal_entry *)(l->journal->entries + at);
    uint64_t bytes = __atomic_load_n(&entry->bytes, __ATOMIC_ACQUIRE);
    if (bytes < sizeof *entry || bytes > used - at) return -EAGAIN;
    l->entry[l->entry_count++] = entry;
    at += bytes;
  }
  return 0;
}

/* .... its files */

static struct look *listing; /* nftw() knows no argument */

static int list_file(const char *path, const struct stat *s, int type, struct FTW *ftw) {
  struct statx x;
  (void)s, (void)ftw;
  if (type != FTW_F || statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &x) < 0 ||
      !S_ISREG(x.stx_mode))
    return 0;
  struct file *more = realloc(listing->file, (listing->file_count + 1) * sizeof *more);
  char *name = strdup(path);
  if (more) listing->file = more;
  if (!more || !name) return free(name), -1;
  listing->file[listing->file_count++] = (struct file){
      .device = (uint64_t)x.stx_dev_major << 32 | x.stx_dev_minor,
      .inode = x.stx_ino,
      .born = x.stx_mask & STATX_BTIME ? (uint64_t)x.stx_btime.tv_sec * 1000000000 + x.stx_btime.tv_nsec : 0,
      .path = name,
      .fd = -1};
  return 0;
}

static int compare(const void *a, const void *b) {
  const struct file *x = a, *y = b;
  if (x->inode != y->inode) return x->inode < y->inode ? -1 : 1;
  if (x->device != y->device) return x->device < y->device ? -1 : 1;
  return x->born < y->born ? -1 : x->born > y->born;
}

static int list_files(struct look *l) {
  listing = l;
  if (nftw(l->server->dir, list_file, 16, FTW_PHYS) != 0) return fail(l, -EIO, "its files cannot be listed");
  if (l->file_count > 0) qsort(l->file, l->file_count, sizeof *l->file, compare);
  return 0;
}

/* NULL: it is there no more, so there is nothing to take out of it. */
static struct file *file_of(const struct look *l, const struct lb_journal_entry *entry) {
  struct file wanted = {.device = entry->device, .inode = entry->inode, .born = entry->born};
  return l->file_count > 0 ? bsearch(&wanted, l->file, l->file_count, sizeof wanted, compare) : NULL;
}

static int open_file(struct look *l, struct file *file) {
  if (file->fd < 0) file->fd = open(file->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  return file->fd < 0 ? fail(l, -errno, "one of its files cannot be opened") : 0;
}

/* .... what is taken out */

static bool is_synced(const struct lb_journal_entry *entry, const struct file *file) {
  uint64_t moment = atomic_load(&entry->moment);
  return moment > 0 && moment < file->synced_from;
}

static void find_syncs(struct look *l) {
  for (size_t i = 0; i < l->entry_count; i++) {
    struct file *file = l->entry[i]->kind == LB_JOURNAL_SYNC ? file_of(l, l->entry[i]) : NULL;
    if (file && atomic_load(&l->entry[i]->moment) > file->synced_from)
      file->synced_from = atomic_load(&l->entry[i]->moment);
  }
}

static int look_at(struct look *l) {
  if (!l->server->journal[0]) return fail(l, -ENODATA, "it keeps no journal");
  int r = map_journal(l);
  if (r == 0) r = list_entries(l);
  if (r == 0) r = list_files(l);
  if (r == 0) find_syncs(l);
  return r;
}

/* One that never returned may have written all that it was to. */
static void add_up(struct look *l, struct lb_power_loss *ret) {
  for (size_t i = 0; i < l->entry_count; i++) {
    struct lb_journal_entry *entry = l->entry[i];
    struct file *file = entry->kind == LB_JOURNAL_WRITE ? file_of(l, entry) : NULL;
    if (!file) continue;
    bool kept = is_synced(entry, file);
    if (kept && entry->written > 0) file->kept = entry;
    if (!kept && !file->gone) file->gone = entry;
    ret->written += entry->written;
    ret->lost += kept ? 0 : entry->written;
  }
}

static int put_back(struct look *l, struct file *file, const struct lb_journal_entry *entry) {
  struct stat s;
  int r = open_file(l, file);
  if (r < 0) return r;
  bool good = fstat(file->fd, &s) == 0;
  if (good && entry->at + entry->size > entry->old_size && (uint64_t)s.st_size > entry->old_size)
    good = ftruncate(file->fd, (off_t)entry->old_size) == 0;
  if (good && entry->before > 0)
    good = pwrite(file->fd, entry + 1, entry->before, (off_t)entry->at) == (ssize_t)entry->before;
  return good ? 0 : fail(l, -EIO, "one of its files cannot be set back");
}

static int take_out(struct look *l) {
  int r = 0;
  for (size_t i = l->entry_count; i-- > 0 && r == 0;) {
    struct file *file = l->entry[i]->kind == LB_JOURNAL_WRITE ? file_of(l, l->entry[i]) : NULL;
    if (file && !is_synced(l->entry[i], file)) r = put_back(l, file, l->entry[i]);
  }
  return r;
}

/* ---- is what was not synced gone? ---- */

/* The first that was not synced reads as before it: all that followed is gone with it. */
static bool is_gone(const struct file *file) {
  const struct lb_journal_entry *entry = file->gone;
  struct stat s;
  if (fstat(file->fd, &s) < 0 || (entry->at + entry->size > entry->old_size && (uint64_t)s.st_size > entry->old_size))
    return false;
  void *now = malloc(entry->before + 1);
  bool same = now && pread(file->fd, now, entry->before, (off_t)entry->at) == (ssize_t)entry->before &&
              memcmp(now, entry + 1, entry->before) == 0;
  free(now);
  return same;
}

static bool is_there(const struct file *file) {
  const struct lb_journal_entry *entry = file->kept;
  void *now = malloc(entry->written);
  bool same = now && pread(file->fd, now, entry->written, (off_t)entry->at) == (ssize_t)entry->written &&
              lb_journal_sum(LB_JOURNAL_SUM_BEGIN, now, entry->written) == entry->sum;
  free(now);
  return same;
}

static int check(struct look *l) {
  for (size_t i = 0; i < l->file_count; i++) {
    struct file *file = &l->file[i];
    if ((file->kept || file->gone) && open_file(l, file) < 0) return -EIO;
    if (file->gone && !is_gone(file)) return fail(l, -EIO, "what it had not synced is still there");
    if (file->kept && !is_there(file)) return fail(l, -EIO, "what it had synced is not there");
  }
  return 0;
}

static void forget(struct look *l) {
  for (size_t i = 0; i < l->file_count; i++) {
    if (l->file[i].fd >= 0) close(l->file[i].fd);
    free(l->file[i].path);
  }
  free(l->file);
  free(l->entry);
  if (l->journal) munmap(l->journal, LB_JOURNAL_BYTES);
}

int lb_power_cut(struct lb_cluster *cluster, size_t index, struct lb_power_loss *ret) {
  struct look look = {.cluster = cluster, .server = &cluster->server[index]}, *l = &look;
  *ret = (struct lb_power_loss){0};
  int r = look_at(l);
  if (r == -EAGAIN) r = fail(l, -EIO, "it was killed while it wrote its journal");
  if (r == 0) {
    add_up(l, ret);
    r = take_out(l);
  }
  if (r == 0) r = check(l);
  forget(l);
  return r < 0 ? r : begin_anew(cluster, l->server);
}

/* Its processes go on writing meanwhile. What they have begun and not ended counts as not synced; one that ended and
 * wrote nothing has nothing to lose. */
static bool may_be_lost(const struct look *l, const struct lb_journal_entry *entry) {
  const struct file *file = entry->kind == LB_JOURNAL_WRITE ? file_of(l, entry) : NULL;
  return file && !is_synced(entry, file) && (atomic_load(&entry->moment) == 0 || entry->written > 0);
}

int lb_power_is_synced(struct lb_cluster *cluster, size_t index) {
  struct look look = {.cluster = cluster, .server = &cluster->server[index]}, *l = &look;
  int r = look_at(l);
  bool lost = r == -EAGAIN;
  for (size_t i = 0; r == 0 && i < l->entry_count && !lost; i++) lost = may_be_lost(l, l->entry[i]);
  forget(l);
  return r < 0 && r != -EAGAIN ? r : !lost;
}

/* ---- a full disk ------------------------------------------------------------------------------
 *
 * What has room already, keeps it: who writes where something stood before is not refused, as on any disk. */

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

/* ---- a disk that stalls ---- */

int lb_stall_watch(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  server->stall = lb_stall_make();
  return server->stall ? 0 : cannot(cluster, server, errno, "no disk that may stall");
}

/* ---- copies, by cp(1), compared by diff(1) -----------------------------------------------------
 *
 * Only what a server keeps is copied: its configuration, and the pages that its preload libraries share with us, stay
 * as they are. */

enum { COPY_MS = 15000, PATH_BYTES = 400 };

static const char *const *files_of(const struct lb_cluster *cluster) {
  static const char *const none[] = {NULL};
  return cluster->topology->family->files ? cluster->topology->family->files : none;
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

int lb_copy_take(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  char copy[PATH_BYTES];
  name_copy(server, copy);
  lb_remove_tree(copy);
  int r = lb_make_dirs(copy);
  if (r < 0) return lb_error(&cluster->err, r, "%s: no folder for a copy: %s", server->name, strerror(-r));
  r = copy_all(cluster, server, server->dir, copy);
  return r == 0 ? lb_error(&cluster->err, -ENOENT, "%s has no files to be copied", server->name) : r < 0 ? r : 0;
}

static void remove_file(const struct lb_server *server, const char *name) {
  char path[2 * PATH_BYTES];
  snprintf(path, sizeof path, "%s/%s", server->dir, name);
  if (unlink(path) < 0) lb_remove_tree(path);
}

int lb_copy_put_back(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  char copy[PATH_BYTES];
  name_copy(server, copy);
  if (access(copy, F_OK) < 0) return lb_error(&cluster->err, -ENOENT, "%s was never backed up", server->name);
  for (const char *const *name = files_of(cluster); *name; name++) remove_file(server, *name);
  int r = copy_all(cluster, server, copy, server->dir);
  return r < 0 ? r : 0;
}

void lb_copy_forget_saved(struct lb_cluster *cluster, size_t index) {
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

int lb_files_wipe(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  if (count_files(cluster, server) == 0)
    return lb_error(&cluster->err, -ENOENT, "%s has no files to be removed", server->name);
  for (const char *const *name = files_of(cluster); *name; name++) remove_file(server, *name);
  if (count_files(cluster, server) > 0) return lb_error(&cluster->err, -EIO, "%s still has files", server->name);
  server->wiped = true;
  return 0;
}
