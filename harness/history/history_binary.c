/* SPDX-License-Identifier: MIT
 *
 * The run's own form of a history: written and read in a few large pieces, small enough to keep for every trial.
 *
 *   "LBHIST1\n"                      8 bytes; the digit is the version
 *   clients, keys, whats, events     4 counts of 8 bytes
 *   size of the names                8 bytes
 *   names                            each ends in a zero byte: clients, then keys, then whats
 *   events                           as struct lb_event, to the end of the file
 *
 * All numbers are little-endian. A reader meets files that were cut off, damaged or made by someone else, so nothing is
 * allocated before its size is known to fit into the file.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "history_form.h"

struct header {
  char magic[8];
  uint64_t clients, keys, whats, events, names_size;
};
static const char magic[8] = {'L', 'B', 'H', 'I', 'S', 'T', '1', '\n'};

_Static_assert(sizeof(struct lb_event) == 56, "events are written as they are in memory");
_Static_assert(sizeof(struct header) == 48, "the header is written as it is in memory");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "binary histories are little-endian");

struct reader {
  const char *name, *data;
  size_t size, at;
  char *err;
  size_t err_size;
};

static int refuse(const struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(const struct reader *reader, const char *format, ...) {
  int used = snprintf(reader->err, reader->err_size, "%s: byte %zu: ", reader->name, reader->at);
  va_list args;
  va_start(args, format);
  if (used >= 0 && (size_t)used < reader->err_size)
    vsnprintf(reader->err + used, reader->err_size - (size_t)used, format, args);
  va_end(args);
  return -EINVAL;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int read_header(struct reader *r, struct header *ret) {
  if (r->size >= sizeof magic && r->data[6] != '1' && r->data[7] == '\n') {
    r->at = 6;
    return refuse(r, "found a binary history of version %c, expected version 1: it was written by another release",
                  r->data[6] > ' ' && r->data[6] < 127 ? r->data[6] : '?');
  }
  if (r->size < sizeof *ret) {
    r->at = r->size;
    return refuse(r, "found the end of the file, expected a header of %zu bytes", sizeof *ret);
  }
  memcpy(ret, r->data, sizeof *ret);
  r->at = 6;
  if (memcmp(ret->magic, magic, sizeof magic) != 0)
    return refuse(r, "found an unknown header, expected \"LBHIST1\" and a newline");
  r->at = 40;
  size_t left = r->size - sizeof *ret;
  if (ret->names_size > left)
    return refuse(r, "found %llu bytes of names, expected at most the %zu that follow",
                  (unsigned long long)ret->names_size, left);
  r->at = 32;
  left -= ret->names_size;
  if (left % sizeof(struct lb_event) != 0 || ret->events != left / sizeof(struct lb_event))
    return refuse(r, "found a count of %llu events, expected it to fill the %zu bytes after the names (%zu each)",
                  (unsigned long long)ret->events, left, sizeof(struct lb_event));
  r->at = sizeof *ret;
  return 0;
}

static int check_name(const struct reader *r, const char *text, size_t length, bool may_be_empty) {
  if (length == 0 && !may_be_empty) return refuse(r, "found an empty name, expected a client or key");
  for (size_t i = 0, n; i < length; i += n)
    if ((n = lb_utf8_length(text + i, length - i)) == 0)
      return refuse(r, "found a name that is not UTF-8, expected UTF-8");
  return 0;
}

/* Names that end at `end`; moves r->at behind them. */
static int read_names(struct reader *r, size_t end, uint64_t count, bool may_be_empty, struct lb_names *ret) {
  for (uint64_t i = 0; i < count; i++) {
    const char *text = r->data + r->at, *zero = memchr(text, 0, end - r->at);
    if (!zero) return refuse(r, "found the end of the names, expected %llu more", (unsigned long long)(count - i));
    int rc = check_name(r, text, (size_t)(zero - text), may_be_empty);
    if (rc < 0) return rc;
    if (lb_names_add(ret, text) != i) return refuse(r, "found a name twice, expected distinct names");
    r->at += (size_t)(zero - text) + 1;
  }
  return 0;
}

static int read_events(struct reader *r, size_t count, struct lb_history *ret) {
  size_t bytes = count * sizeof(struct lb_event);
  if (count == 0) return 0;
  ret->events = malloc(bytes);
  if (!ret->events) {
    refuse(r, "not enough memory for %zu events", count);
    return -ENOMEM;
  }
  memcpy(ret->events, r->data + r->at, bytes);
  ret->count = ret->capacity = count;
  for (size_t i = 0; i < count; i++, r->at += sizeof(struct lb_event)) {
    char text[256];
    if (lb_event_check(ret, &ret->events[i], text, sizeof text) < 0) return refuse(r, "event %zu: %s", i + 1, text);
  }
  return 0;
}

int lb_history_parse_binary(const char *name, const char *data, size_t size, struct lb_history *ret, char *err,
                            size_t err_size) {
  struct reader reader = {.name = name, .data = data, .size = size, .err = err, .err_size = err_size};
  struct header header;
  int r = read_header(&reader, &header);
  if (r < 0) return r;
  size_t end = sizeof header + header.names_size;
  r = read_names(&reader, end, header.clients, false, &ret->clients);
  if (r == 0) r = read_names(&reader, end, header.keys, false, &ret->keys);
  if (r == 0) r = read_names(&reader, end, header.whats, true, &ret->whats);
  if (r == 0 && reader.at != end)
    r = refuse(&reader, "found %zu bytes after the names, expected the events", end - reader.at);
  return r == 0 ? read_events(&reader, header.events, ret) : r;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static size_t names_size(const struct lb_names *names) {
  size_t size = 0;
  for (size_t i = 0; i < names->count; i++) size += strlen(names->name[i]) + 1;
  return size;
}

static void write_names(const struct lb_names *names, FILE *out) {
  for (size_t i = 0; i < names->count; i++) fwrite(names->name[i], strlen(names->name[i]) + 1, 1, out);
}

int lb_history_write(const struct lb_history *history, FILE *out) {
  char text[256];
  for (size_t i = 0; i < history->count; i++)
    if (lb_event_check(history, &history->events[i], text, sizeof text) < 0) return -EINVAL;
  struct header header = {
      .clients = history->clients.count,
      .keys = history->keys.count,
      .whats = history->whats.count,
      .events = history->count,
      .names_size = names_size(&history->clients) + names_size(&history->keys) + names_size(&history->whats),
  };
  memcpy(header.magic, magic, sizeof magic);
  fwrite(&header, sizeof header, 1, out);
  write_names(&history->clients, out);
  write_names(&history->keys, out);
  write_names(&history->whats, out);
  if (history->count) fwrite(history->events, sizeof *history->events, history->count, out);
  errno = 0;
  if (fflush(out) != 0 || ferror(out)) return errno ? -errno : -EIO;
  return 0;
}
