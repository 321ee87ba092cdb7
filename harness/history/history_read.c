/* SPDX-License-Identifier: MIT
 *
 * From a file of either form and either format to a history: the first bytes say which reader takes
 * it (history_binary.c, history_json.c), then it is sorted, and the sentences of format 1 become
 * facts (history_1.c). Everything behind this sees one form.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "history.h"
#include "history_form.h"

/* Format 1 is translated after sorting: a sentence may speak of a fault that comes before it. */
int lb_history_parse(const char *name, const void *data, size_t size, struct lb_history *ret, char *err,
                     size_t err_size) {
  *ret = (struct lb_history){0};
  bool binary = size >= 6 && memcmp(data, "LBHIST", 6) == 0;
  int format = 2;
  int r = (binary ? lb_history_parse_binary : lb_history_parse_json)(name, data, size, ret, &format, err, err_size);
  if (r == 0 && ret->count == 0) {
    snprintf(err, err_size, "%s:1: found no events, expected at least one", name);
    r = -EINVAL;
  }
  if (r < 0) {
    lb_history_clear(ret);
    return r;
  }
  lb_history_sort(ret);
  if (format == 1) lb_history_translate_1(ret);
  return 0;
}

/* Reads to the end, whatever kind of file it is. */
static int read_all(int fd, char **ret_data, size_t *ret_size) {
  size_t size = 0, capacity = 0;
  char *data = NULL;
  for (;;) {
    if (size == capacity) {
      char *more = realloc(data, capacity = capacity ? capacity * 2 : 1 << 16);
      if (!more) break;
      data = more;
    }
    ssize_t n = read(fd, data + size, capacity - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    size += (size_t)n;
    if (n == 0) {
      *ret_data = data;
      *ret_size = size;
      return 0;
    }
  }
  int r = -errno;
  free(data);
  return r;
}

static int cannot_be_read(const char *name, int r, char *err, size_t err_size) {
  snprintf(err, err_size, "%s: cannot be read: %s", name, strerror(-r));
  return r;
}

int lb_history_read(int fd, const char *name, struct lb_history *ret, char *err, size_t err_size) {
  *ret = (struct lb_history){0};
  char *data = NULL;
  size_t size = 0;
  int r = read_all(fd, &data, &size);
  if (r < 0) return cannot_be_read(name, r, err, err_size);
  r = lb_history_parse(name, data, size, ret, err, err_size);
  free(data);
  return r;
}

int lb_history_load(const char *path, struct lb_history *ret, char *err, size_t err_size) {
  *ret = (struct lb_history){0};
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannot_be_read(path, -errno, err, err_size);
  int r = lb_history_read(fd, path, ret, err, err_size);
  close(fd);
  return r;
}
