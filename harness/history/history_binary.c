/* SPDX-License-Identifier: MIT
 *
 * The run's own form of a history: written and read in a few large pieces, small enough to keep for
 * every trial.
 *
 *   "LBHIST2\n"                      8 bytes; the digit is the format
 *   clients, keys, texts, events     4 counts of 8 bytes
 *   size of the names                8 bytes
 *   facts                            a count of 8 bytes
 *   names                            each ends in a zero byte: clients, then keys, then texts
 *   facts                            as struct lb_fact
 *   events                           as struct lb_event, to the end of the file
 *
 * All numbers are little-endian. A reader meets files that were cut off, damaged or made by
 * someone else, so nothing is allocated before its size is known to fit into the file.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "history_form.h"

/* As in the file. */
struct header {
  char magic[8];
  uint64_t clients, keys, texts, events, names_size;
  uint64_t facts;
};
enum { FORMAT_AT = 6 };

_Static_assert(sizeof(struct lb_event) == 56, "events are written as they are in memory");
_Static_assert(sizeof(struct lb_fact) == 64, "facts are written as they are in memory");
_Static_assert(sizeof(struct header) == 56, "the header is written as it is in memory");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "binary histories are little-endian");

struct reader {
  const char *name, *data;
  size_t size, at;
  bool *taken; /* the data is a map, which the history may take over; NULL = it is none */
  struct lb_error *err;
};

static int refuse(const struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(const struct reader *reader, const char *format, ...) {
  va_list args;
  va_start(args, format);
  lb_error_va(reader->err, -EINVAL, format, args);
  va_end(args);
  return lb_error_prefix(reader->err, "%s: byte %zu: ", reader->name, reader->at);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The digit decides, before anything else is looked at: a file of a later release is called that,
 * and not broken. */
static int read_format(struct reader *r) {
  char digit = r->size > FORMAT_AT ? r->data[FORMAT_AT] : '2';
  if (r->size > FORMAT_AT + 1 && r->data[FORMAT_AT + 1] != '\n') {
    r->at = FORMAT_AT;
    return refuse(r, "found an unknown header, expected \"LBHIST2\" and a newline");
  }
  if (digit == '2') return 0;
  r->at = FORMAT_AT;
  return refuse(r, "found a binary history of format %c, expected format 2: it was written by another release",
                digit > ' ' && digit < 127 ? digit : '?');
}

/* Holds every count against the bytes that are there. Afterwards names, facts and events are known
 * to fill the file exactly. */
static int read_header(struct reader *r, struct header *ret) {
  int rc = read_format(r);
  if (rc < 0) return rc;
  *ret = (struct header){0};
  if (r->size < sizeof *ret) {
    r->at = r->size;
    return refuse(r, "found the end of the file, expected a header of %zu bytes", sizeof *ret);
  }
  memcpy(ret, r->data, sizeof *ret);
  size_t left = r->size - sizeof *ret;
  r->at = offsetof(struct header, names_size);
  if (ret->names_size > left)
    return refuse(r, "found %llu bytes of names, expected at most the %zu that follow",
                  (unsigned long long)ret->names_size, left);
  left -= ret->names_size;
  r->at = offsetof(struct header, facts);
  if (ret->facts > left / sizeof(struct lb_fact))
    return refuse(r, "found a count of %llu facts, expected them to fit into the %zu bytes after the names (%zu each)",
                  (unsigned long long)ret->facts, left, sizeof(struct lb_fact));
  left -= ret->facts * sizeof(struct lb_fact);
  r->at = offsetof(struct header, events);
  if (left % sizeof(struct lb_event) != 0 || ret->events != left / sizeof(struct lb_event))
    return refuse(
        r, "found a count of %llu events, expected it to fill the %zu bytes after the names and facts (%zu each)",
        (unsigned long long)ret->events, left, sizeof(struct lb_event));
  r->at = sizeof *ret;
  return 0;
}

static int check_name(const struct reader *r, const char *text, size_t length, bool may_be_empty) {
  if (length == 0 && !may_be_empty) return refuse(r, "found an empty name, expected a client or key");
  for (size_t i = 0, n; i < length; i += n)
    if ((n = lb_text_utf8_length(text + i, length - i)) == 0)
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

/* An array of `count` structs of `size` bytes, from malloc; NULL if there are none, or no memory,
 * which is refused. */
static void *read_array(struct reader *r, const char *what, size_t count, size_t size, int *ret_rc) {
  void *array = count ? malloc(count * size) : NULL;
  *ret_rc = 0;
  if (array) memcpy(array, r->data + r->at, count * size);
  else if (count) refuse(r, "not enough memory for %zu %s", count, what), *ret_rc = -ENOMEM;
  return array;
}

static int read_facts(struct reader *r, size_t count, struct lb_history *ret) {
  int rc;
  ret->facts = read_array(r, "facts", count, sizeof *ret->facts, &rc);
  if (rc < 0) return rc;
  ret->fact_count = ret->fact_capacity = count;
  r->at += count * sizeof *ret->facts;
  return 0;
}

/* Events that a map has at the right places are used where they are. */
static int take_events(struct reader *r, size_t count, struct lb_history *ret) {
  const char *first = r->data + r->at;
  if (r->taken && (uintptr_t)first % _Alignof(struct lb_event) == 0) {
    *r->taken = true;
    ret->map = (void *)(uintptr_t)r->data;
    ret->map_size = r->size;
    ret->events = (struct lb_event *)(void *)(uintptr_t)first;
    ret->capacity = count;
  } else {
    if (lb_history_reserve(ret, count) < 0) return refuse(r, "not enough memory for %zu events", count), -ENOMEM;
    memcpy(ret->events, first, count * sizeof *ret->events);
  }
  ret->count = count;
  return 0;
}

static int read_events(struct reader *r, size_t count, struct lb_history *ret) {
  int rc = take_events(r, count, ret);
  if (rc < 0) return rc;
  for (size_t i = 0; i < count; i++, r->at += sizeof(struct lb_event)) {
    struct lb_error why;
    if (lb_event_check(ret, &ret->events[i], &why) < 0) return refuse(r, "event %zu: %s", i + 1, why.text);
  }
  return 0;
}

int lb_history_parse_binary(const char *name, const char *data, size_t size, bool *taken, struct lb_history *ret,
                            struct lb_error *err) {
  struct reader reader = {.name = name, .data = data, .size = size, .taken = taken, .err = err};
  struct header header;
  int r = read_header(&reader, &header);
  if (r < 0) return r;
  size_t end = reader.at + header.names_size;
  r = read_names(&reader, end, header.clients, false, &ret->clients);
  if (r == 0) r = read_names(&reader, end, header.keys, false, &ret->keys);
  if (r == 0) r = read_names(&reader, end, header.texts, true, &ret->texts);
  if (r == 0 && reader.at != end)
    r = refuse(&reader, "found %zu bytes after the names, expected the facts", end - reader.at);
  if (r == 0) r = read_facts(&reader, header.facts, ret);
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

/* One more text, which no event refers to: behind it the events of a large history are aligned, so a reader uses them
 * in place. NULL: they are already, or the text is there for another reason. */
static const char *padding(const struct lb_history *history, size_t size) {
  static const char spaces[] = "               ";
  const char *text = spaces + size % 8; /* with its zero byte as long as is missing, and 8 more */
  if (history->count <= LB_HISTORY_IN_MEMORY || size % 8 == 0) return NULL;
  for (size_t i = 0; i < history->texts.count; i++)
    if (strcmp(history->texts.name[i], text) == 0) return NULL;
  return text;
}

/* All events are checked before the first byte is written: half a file would be worse than none. */
int lb_history_write(const struct lb_history *history, FILE *out) {
  for (size_t i = 0; i < history->count; i++)
    if (lb_event_check(history, &history->events[i], NULL) < 0) return -EINVAL;
  size_t size = names_size(&history->clients) + names_size(&history->keys) + names_size(&history->texts);
  const char *more = padding(history, size);
  struct header header = {
      .clients = history->clients.count,
      .keys = history->keys.count,
      .texts = history->texts.count + (more != NULL),
      .facts = history->fact_count,
      .events = history->count,
      .names_size = size + (more ? strlen(more) + 1 : 0),
  };
  memcpy(header.magic, "LBHIST2\n", sizeof header.magic);
  errno = 0; /* a large write goes past the buffer, so it may be the one that finds the disk full */
  fwrite(&header, sizeof header, 1, out);
  write_names(&history->clients, out);
  write_names(&history->keys, out);
  write_names(&history->texts, out);
  if (more) fwrite(more, strlen(more) + 1, 1, out);
  if (history->fact_count) fwrite(history->facts, sizeof *history->facts, history->fact_count, out);
  if (history->count) fwrite(history->events, sizeof *history->events, history->count, out);
  if (fflush(out) != 0 || ferror(out)) return errno ? -errno : -EIO;
  return 0;
}
