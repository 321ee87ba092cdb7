/* SPDX-License-Identifier: MIT
 *
 * What was written after the last sync of a file, as the journal says (disk_page.h), is undone from its end to its begin,
 * so that what stood there before all of it stands there again.
 */
#include "power.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/need.h"
#include "cluster.h"
#include "preload/disk_page.h"

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
  l->entry = lb_need(calloc(used / sizeof **l->entry + 1, sizeof *l->entry));
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
  LB_APPEND(listing->file, listing->file_count) = (struct file){
      .device = (uint64_t)x.stx_dev_major << 32 | x.stx_dev_minor,
      .inode = x.stx_ino,
      .born = x.stx_mask & STATX_BTIME ? (uint64_t)x.stx_btime.tv_sec * 1000000000 + x.stx_btime.tv_nsec : 0,
      .path = lb_need_text(path),
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
  void *now = lb_need(malloc(entry->before + 1));
  bool same = pread(file->fd, now, entry->before, (off_t)entry->at) == (ssize_t)entry->before &&
              memcmp(now, entry + 1, entry->before) == 0;
  free(now);
  return same;
}

static bool is_there(const struct file *file) {
  const struct lb_journal_entry *entry = file->kept;
  void *now = lb_need(malloc(entry->written + 1));
  bool same = pread(file->fd, now, entry->written, (off_t)entry->at) == (ssize_t)entry->written &&
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
