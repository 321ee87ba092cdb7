/* SPDX-License-Identifier: MIT
 *
 * Folders made and removed whole, files closed with every error noticed.
 */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int lb_make_dirs(const char *path) {
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

void lb_remove_tree(const char *path) { nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT); }

int lb_close_written(FILE *out) {
  int r = 0;
  if (ferror(out)) r = errno ? -errno : -EIO;
  if (fflush(out) != 0 && r == 0) r = -errno;
  if (fclose(out) != 0 && r == 0) r = -errno;
  return r;
}

int lb_read_all(int fd, char **ret_data, size_t *ret_size) {
  size_t size = 0, room = 1 << 16;
  char *data = malloc(room);
  ssize_t n = 1;
  while (data && n != 0) {
    n = read(fd, data + size, room - 1 - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    size += (size_t)n;
    if (size < room - 1) continue;
    char *more = realloc(data, room *= 2);
    if (!more) break;
    data = more;
  }
  if (!data || n != 0) {
    int r = -errno;
    free(data);
    return r;
  }
  data[size] = '\0';
  *ret_data = data;
  *ret_size = size;
  return 0;
}

bool lb_read_exactly(int fd, void *to, size_t size) {
  for (size_t got = 0; got < size;) {
    ssize_t n = read(fd, (char *)to + got, size - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    got += (size_t)n;
  }
  return true;
}

int lb_append_file(FILE *out, const char *from) {
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

FILE *lb_open_file(const char *path) {
  struct stat st;
  FILE *file = fopen(path, "re");
  if (!file || fstat(fileno(file), &st) < 0 || !S_ISDIR(st.st_mode)) return file;
  fclose(file);
  errno = EISDIR;
  return NULL;
}
