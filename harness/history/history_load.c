/* SPDX-License-Identifier: MIT
 *
 * Reading a history from a file or a pipe. Its first bytes say which form it has: the two forms of lockbench are
 * history_json.c and history_binary.c. The caller brings a reader for the operations of other tools.
 */
#include "history_load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "history_form.h"
#include "history_lease.h"

/* What comes from a pipe may never end. JSON is read line by line as it comes, the other forms whole. */
enum { HEAD_BYTES = 1 << 21, WHOLE_MAX = 1 << 28, STREAM_MAX = 1 << 30 };

enum form { FORM_JSON, FORM_BINARY, FORM_FOREIGN };

struct source { /* `taken`: the data is a map, which is the history's from when that becomes true; NULL = it is none */
  const char *name;
  const struct lb_history_foreign *foreign;
  bool *taken;
};

/* The length of a byte-order mark, which spreadsheets write before a text. */
static size_t mark_of(const char *data, size_t size) {
  return size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Blanks of EDN, and its comments. *ret_comment: there was one. */
static const char *skip_blank(const char *at, const char *end, bool *ret_comment) {
  for (; at < end && (*at == ';' || memchr(" ,\n\t\r\f\v", *at, 7)); at++) {
    if (*at != ';') continue;
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    at = newline ? newline : end - 1;
    *ret_comment = true;
  }
  return at;
}

/* A comment, a tag, or brackets with a keyword or a tag in them: JSON has none of these at its begin. */
static bool is_edn(const char *data, size_t size) {
  const char *end = data + size;
  bool comment = false, bracket = false, later;
  const char *at = skip_blank(data, end, &comment);
  while (at < end && memchr("([{", *at, 3)) at = skip_blank(at + 1, end, &later), bracket = true;
  return comment || (at < end && (*at == '#' || (bracket && *at == ':')));
}

/* Only this form begins with names between commas. */
static bool is_csv(const char *data, size_t size) {
  const char *end = memchr(data, '\n', size);
  size_t length = end ? (size_t)(end - data) : size;
  bool name = length > 0 && ((*data >= 'a' && *data <= 'z') || (*data >= 'A' && *data <= 'Z'));
  return name && memchr(data, ',', length);
}

static enum form form_of(const struct source *from, const char *data, size_t size) {
  if (size >= 6 && memcmp(data, "LBHIST", 6) == 0) return FORM_BINARY;
  return from->foreign && (is_edn(data, size) || is_csv(data, size)) ? FORM_FOREIGN : FORM_JSON;
}

static int finish(const char *name, int r, struct lb_history *ret, struct lb_error *err) {
  if (r == 0 && ret->count == 0) r = lb_refuse(err, "%s:1: found no events, expected at least one", name);
  if (r == 0) lb_history_sort(ret), lb_history_lease_write_out(ret);
  return r;
}

static int parse(const struct source *from, const struct lb_part *whole, struct lb_history *ret, struct lb_error *err) {
  const char *name = from->name;
  size_t mark = mark_of(whole->data, whole->size), size = whole->size - mark;
  const char *data = (const char *)whole->data + mark;
  size_t head = size < HEAD_BYTES ? size : HEAD_BYTES;
  int r = -EINVAL;
  switch (form_of(from, data, head)) {
    case FORM_BINARY: r = lb_history_parse_binary(name, data, size, from->taken, ret, err); break;
    case FORM_FOREIGN: {
      struct lb_history_bytes bytes = {name, data, size};
      r = from->foreign->read(from->foreign->of, &bytes, ret, err);
      break;
    }
    case FORM_JSON: r = lb_history_parse_json(name, data, size, ret, err); break;
  }
  return finish(name, r, ret, err);
}

int lb_history_parse(const char *name, const void *data, size_t size, struct lb_history *ret, struct lb_error *err) {
  *ret = (struct lb_history){0};
  int r = parse(&(struct source){.name = name}, &(struct lb_part){data, size, true}, ret, err);
  if (r < 0) lb_history_clear(ret);
  return r;
}

static int cannot_be_read(const char *name, int r, struct lb_error *err) {
  return lb_error(err, r, "%s: cannot be read: %s", name, strerror(-r));
}

/* A large file is read where it is. */
static int parse_mapped(const struct source *of, char *map, size_t size, struct lb_history *ret, struct lb_error *err) {
  bool taken = false;
  struct source from = *of;
  from.taken = &taken;
  int r = parse(&from, &(struct lb_part){map, size, true}, ret, err);
  if (r < 0) lb_history_clear(ret);
  if (!taken) munmap(map, size);
  return r;
}

static int refuse_size(const char *name, size_t most, struct lb_error *err) {
  return lb_refuse(err, "%s: found more than %zu MiB in a pipe, expected at most that: write it to a file", name,
                   most >> 20);
}

/* *data begins with the first bytes, and is read into again and again. */
static int read_stream(int fd, const char *name, char **data, struct lb_history *ret, struct lb_error *err) {
  struct lb_line line = {.name = name, .err = err};
  size_t size = HEAD_BYTES, used, total = 0;
  for (bool last = false; !last; total += used) {
    last = size < HEAD_BYTES;
    int r = lb_history_parse_json_part(&line, &(struct lb_part){*data, size, last}, ret, &used);
    if (r < 0) return r;
    if (total > STREAM_MAX) return refuse_size(name, STREAM_MAX, err);
    memmove(*data, *data + used, size -= used);
    if (!last && (r = lb_files_read_more(fd, HEAD_BYTES, data, &size)) < 0) return cannot_be_read(name, r, err);
  }
  return finish(name, 0, ret, err);
}

/* Reads a file that is too small to be mapped, or cannot be. */
static int read_unmapped(int fd, const struct source *from, struct lb_history *ret, struct lb_error *err) {
  const char *name = from->name;
  char *data = NULL;
  size_t size = 0;
  int r = lb_files_read_more(fd, HEAD_BYTES, &data, &size);
  bool more = r == 0 && size == HEAD_BYTES;
  size_t mark = r == 0 ? mark_of(data, size) : 0;
  if (mark) memmove(data, data + mark, size -= mark), data[size] = '\0';
  if (mark && more) r = lb_files_read_more(fd, HEAD_BYTES, &data, &size), more = r == 0 && size == HEAD_BYTES;
  bool stream = more && form_of(from, data, size) == FORM_JSON;
  if (more && !stream) r = lb_files_read_more(fd, WHOLE_MAX + 1, &data, &size);
  if (r < 0) cannot_be_read(name, r, err);
  else if (size > WHOLE_MAX) r = refuse_size(name, WHOLE_MAX, err);
  else if (stream) r = read_stream(fd, name, &data, ret, err);
  else r = parse(from, &(struct lb_part){data, size, true}, ret, err);
  if (r < 0) lb_history_clear(ret);
  free(data);
  return r;
}

int lb_history_read(int fd, const char *name, const struct lb_history_foreign *foreign, struct lb_history *ret,
                    struct lb_error *err) {
  struct source from = {.name = name, .foreign = foreign};
  *ret = (struct lb_history){0};
  struct stat file;
  bool large = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && lseek(fd, 0, SEEK_CUR) == 0 &&
               file.st_size > (off_t)(LB_HISTORY_IN_MEMORY * sizeof *ret->events);
  size_t size = large ? (size_t)file.st_size : 0;
  char *map = large ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  return map != MAP_FAILED ? parse_mapped(&from, map, size, ret, err) : read_unmapped(fd, &from, ret, err);
}

int lb_history_load(const char *path, const struct lb_history_foreign *foreign, struct lb_history *ret,
                    struct lb_error *err) {
  *ret = (struct lb_history){0};
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannot_be_read(path, -errno, err);
  int r = lb_history_read(fd, path, foreign, ret, err);
  close(fd);
  return r;
}
