/* SPDX-License-Identifier: MIT
 *
 * Folders made and removed whole, files closed with every error noticed.
 */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

int lb_files_make_dirs(const char *path) {
  char part[4096];
  size_t length = strlen(path);
  if (length >= sizeof part) return -ENAMETOOLONG;
  for (size_t i = 1; i <= length; i++) {
    if (path[i] != '/' && path[i] != '\0') continue;
    memcpy(part, path, i);
    part[i] = '\0';
    if (mkdir(part, 0755) < 0 && errno != EEXIST) return -errno;
  }
  struct stat st;
  if (stat(path, &st) < 0) return -errno;
  return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk) {
  (void)st, (void)type, (void)walk;
  remove(path);
  return 0; /* go on: what cannot be removed is left */
}

void lb_files_remove_tree(const char *path) { nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT); }

/* ---- copies -------------------------------------------------------------------------------------------------------- */

/* Both stand at the begin of this part. */
static int copy_part(int in, int out, off_t bytes) {
  while (bytes > 0) {
    ssize_t n = sendfile(out, in, NULL, (size_t)bytes);
    if (n <= 0) return n < 0 ? -errno : -EIO;
    bytes -= n;
  }
  return 0;
}

/* What lies between holes. */
static int copy_data(int in, int out, off_t size) {
  off_t at, end = 0;
  int r = ftruncate(out, size) < 0 ? -errno : 0;
  while (r == 0 && end < size && (at = lseek(in, end, SEEK_DATA)) >= 0) {
    if ((end = lseek(in, at, SEEK_HOLE)) < 0 || lseek(in, at, SEEK_SET) < 0 || lseek(out, at, SEEK_SET) < 0)
      return -errno;
    r = copy_part(in, out, end - at);
  }
  return r;
}

static int copy_file(int from, int to, const char *name, const struct stat *st, bool sparse) {
  int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  int out = in < 0 ? -1 : openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st->st_mode & 07777);
  int r = out < 0 ? -errno : 0;
  if (r == 0) r = sparse ? copy_data(in, out, st->st_size) : copy_part(in, out, st->st_size);
  if (in >= 0) close(in);
  if (out >= 0) close(out);
  return r;
}

static int copy_folder(int from, const char *source, int to, const char *target, bool sparse);

static int copy_entry(int from, int to, const char *name, bool sparse) {
  struct stat st;
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return 0;
  if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0) return -errno;
  if (S_ISREG(st.st_mode)) return copy_file(from, to, name, &st, sparse);
  return S_ISDIR(st.st_mode) ? copy_folder(from, name, to, name, sparse) : -EINVAL;
}

/* Its mode comes last: it may not let us write. */
static int copy_folder(int from, const char *source, int to, const char *target, bool sparse) {
  struct stat st;
  int in = openat(from, source, O_RDONLY | O_DIRECTORY | O_CLOEXEC), out = -1;
  DIR *folder = in < 0 ? NULL : fdopendir(in);
  int r = folder && fstat(in, &st) == 0 && mkdirat(to, target, 0700) == 0 &&
                  (out = openat(to, target, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0
              ? 0
              : -errno;
  for (const struct dirent *e; r == 0 && (e = readdir(folder));) r = copy_entry(in, out, e->d_name, sparse);
  if (r == 0 && fchmod(out, st.st_mode & 07777) < 0) r = -errno;
  if (out >= 0) close(out);
  if (folder) closedir(folder);
  else if (in >= 0) close(in);
  return r;
}

int lb_files_copy_tree(const char *from, const char *to, bool sparse) {
  return copy_folder(AT_FDCWD, from, AT_FDCWD, to, sparse);
}

static int dig(const char *path, const struct stat *st, int type, struct FTW *walk) {
  enum { HOLE = 4096 };
  static const char zero[HOLE];
  char block[HOLE];
  (void)st, (void)walk;
  int fd = type == FTW_F ? open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1;
  for (off_t at = 0; fd >= 0 && pread(fd, block, HOLE, at) == HOLE; at += HOLE)
    if (memcmp(block, zero, HOLE) == 0 && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, HOLE) < 0)
      break;
  if (fd >= 0) close(fd);
  return 0;
}

void lb_files_dig_holes(const char *path) { nftw(path, dig, 32, FTW_PHYS | FTW_MOUNT); }

int lb_files_close_written(FILE *out) {
  int r = 0;
  if (ferror(out)) r = errno ? -errno : -EIO;
  if (fflush(out) != 0 && r == 0) r = -errno;
  if (fclose(out) != 0 && r == 0) r = -errno;
  return r;
}

int lb_files_read_more(int fd, size_t most, char **data, size_t *size) {
  size_t room = 0;
  for (ssize_t n = 1; n != 0;) {
    if (*size + 1 >= room) {
      size_t wanted = *size < 1 << 15 ? 1 << 16 : *size * 2;
      char *more = realloc(*data, room = wanted <= most ? wanted : most + 1);
      if (!more) return -ENOMEM;
      *data = more;
    }
    n = read(fd, *data + *size, room - 1 - *size);
    if (n < 0 && errno != EINTR) return -errno;
    if (n > 0) *size += (size_t)n;
    if (*size == most) break;
  }
  (*data)[*size] = '\0';
  return 0;
}

int lb_files_read_all(int fd, size_t most, char **ret_data, size_t *ret_size) {
  char *data = NULL;
  size_t size = 0;
  int r = lb_files_read_more(fd, most + 1, &data, &size);
  if (r == 0 && size > most) r = -EFBIG;
  if (r < 0) return free(data), r;
  *ret_data = data;
  *ret_size = size;
  return 0;
}

bool lb_files_read_exactly(int fd, void *to, size_t size) {
  for (size_t got = 0; got < size;) {
    ssize_t n = read(fd, (char *)to + got, size - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    got += (size_t)n;
  }
  return true;
}

int lb_files_append(FILE *out, const char *from) {
  char block[65536];
  size_t n;
  FILE *in = fopen(from, "re");
  if (!in) return errno == ENOENT ? 0 : -errno;
  int r = 0;
  while (r == 0 && (n = fread(block, 1, sizeof block, in)) > 0)
    if (fwrite(block, 1, n, out) != n) r = errno ? -errno : -EIO;
  if (r == 0 && ferror(in)) r = -EIO;
  fclose(in);
  return r;
}

FILE *lb_files_open(const char *path) {
  struct stat st;
  FILE *file = fopen(path, "re");
  if (!file || fstat(fileno(file), &st) < 0 || !S_ISDIR(st.st_mode)) return file;
  fclose(file);
  errno = EISDIR;
  return NULL;
}
