/* SPDX-License-Identifier: MIT
 *
 * Histories as JSON lines, so that other tools can write what this one judges. A reader that guesses would judge something
 * that never happened; so whatever is not exactly an event is refused, with its line and with what was expected instead.
 */
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "history_form.h"
#include "base/suggest.h"

enum { LINE_MAX_BYTES = 1 << 20, QUOTE_MAX = 40 };

struct line { /* what is being read, and where complaints go */
  const char *name;
  size_t number;
  char *err;
  size_t err_size;
};

static int refuse(const struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(const struct line *line, const char *format, ...) {
  int used = snprintf(line->err, line->err_size, "%s:%zu: ", line->name, line->number);
  va_list args;
  va_start(args, format);
  if (used >= 0 && (size_t)used < line->err_size)
    vsnprintf(line->err + used, line->err_size - (size_t)used, format, args);
  va_end(args);
  for (char *c = line->err; line->err_size && *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) *c = '?'; /* one line, and no terminal codes out of a hostile file */
  return -EINVAL;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static const char *type_name(const json_t *value) {
  static const char *const names[] = {
      [JSON_OBJECT] = "an object",
      [JSON_ARRAY] = "an array",
      [JSON_STRING] = "a string",
      [JSON_INTEGER] = "an integer",
      [JSON_REAL] = "a number with a fraction or an exponent",
      [JSON_TRUE] = "true",
      [JSON_FALSE] = "false",
      [JSON_NULL] = "null",
  };
  return names[json_typeof(value)];
}

static int refuse_value(const struct line *line, const char *member, const json_t *value, const char *expected) {
  return refuse(line, "found %s in \"%s\", expected %s", type_name(value), member, expected);
}

static int read_number(const struct line *line, const char *member, const json_t *value, uint64_t *ret) {
  if (!json_is_integer(value)) return refuse_value(line, member, value, "an integer");
  json_int_t number = json_integer_value(value);
  if (number < 0)
    return refuse(line, "found %lld in \"%s\", expected an integer of at least 0", (long long)number, member);
  *ret = (uint64_t)number;
  return 0;
}

static int read_name(const struct line *line, const char *member, const json_t *value, struct lb_names *names,
                     uint32_t *ret) {
  if (!json_is_string(value)) return refuse_value(line, member, value, "a string");
  if (json_string_length(value) == 0 && strcmp(member, "what") != 0)
    return refuse(line, "found an empty string in \"%s\", expected a name", member);
  *ret = lb_names_add(names, json_string_value(value));
  return 0;
}

/* "found "grnted" in "e" (did you mean "granted"?), expected one of: acquire granted ..." */
static int refuse_word(const struct line *line, const char *what, const char *word, const char *const *words,
                       size_t count) {
  char list[256];
  size_t used = 0;
  for (size_t i = 0; i < count && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, " %s", words[i]);
  const char *near = lb_suggest(word, words, count);
  return refuse(line, "found %s \"%.*s\"%s%s%s, expected one of:%s", what, QUOTE_MAX, word,
                near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "", list);
}

static int read_kind(const struct line *line, const json_t *value, uint16_t *ret) {
  const char *words[LB_KIND_COUNT - 1];
  if (!json_is_string(value)) return refuse_value(line, "e", value, "the name of an event");
  for (unsigned kind = 1; kind < LB_KIND_COUNT; kind++) {
    words[kind - 1] = lb_event_kind_name(kind);
    if (strcmp(words[kind - 1], json_string_value(value)) != 0) continue;
    *ret = (uint16_t)kind;
    return 0;
  }
  return refuse_word(line, "unknown event", json_string_value(value), words, LB_KIND_COUNT - 1);
}

static int read_flagged(const struct line *line, const char *member, const json_t *value, uint16_t flag,
                        struct lb_event *event, uint64_t *ret) {
  event->flags |= flag;
  return read_number(line, member, value, ret);
}

static int read_ok(const struct line *line, const json_t *value, struct lb_event *event) {
  if (!json_is_boolean(value)) return refuse_value(line, "ok", value, "true or false");
  if (json_is_false(value)) event->flags |= LB_EVF_REFUSED;
  return 0;
}

static int read_member(const struct line *line, unsigned member, const json_t *value, struct lb_history *history,
                       struct lb_event *event) {
  switch (member) {
    case LB_M_T: return read_number(line, "t", value, &event->t);
    case LB_M_S: return read_number(line, "s", value, &event->s);
    case LB_M_C: return read_name(line, "c", value, &history->clients, &event->client);
    case LB_M_K: return read_name(line, "k", value, &history->keys, &event->key);
    case LB_M_E: return read_kind(line, value, &event->kind);
    case LB_M_FENCE: return read_flagged(line, "fence", value, LB_EVF_FENCE, event, &event->fence);
    case LB_M_UNTIL: return read_flagged(line, "until", value, LB_EVF_UNTIL, event, &event->until);
    case LB_M_VALUE: return read_flagged(line, "value", value, LB_EVF_VALUE, event, &event->value);
    case LB_M_OK: return read_ok(line, value, event);
    default: return read_name(line, "what", value, &history->whats, &event->what);
  }
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static int read_event(const struct line *line, const json_t *object, struct lb_history *history) {
  struct lb_event event = {.client = LB_NO_NAME, .key = LB_NO_NAME, .what = LB_NO_NAME};
  unsigned members = 0;
  const char *word;
  json_t *value;
  json_object_foreach((json_t *)object, word, value) {
    unsigned i = 0;
    while (i < LB_MEMBER_COUNT && strcmp(lb_member_names[i], word) != 0) i++;
    if (i == LB_MEMBER_COUNT) return refuse_word(line, "unknown member", word, lb_member_names, LB_MEMBER_COUNT);
    int r = read_member(line, 1u << i, value, history, &event);
    if (r < 0) return r;
    members |= 1u << i;
  }
  if (!(members & LB_M_E)) return refuse(line, "found no \"e\", expected the name of an event");
  char text[256];
  if (lb_event_check_members(event.kind, members, text, sizeof text) < 0) return refuse(line, "%s", text);
  lb_history_add(history, &event);
  return 0;
}

static int refuse_broken(const struct line *line, const json_error_t *error) {
  switch (json_error_code(error)) {
    case json_error_invalid_utf8:
      return refuse(line, "found a byte at column %d that is not UTF-8, expected UTF-8", error->column);
    case json_error_numeric_overflow:
      return refuse(line, "found a number at column %d above 2^63 - 1, expected an integer from 0 to that",
                    error->column);
    case json_error_null_character: return refuse(line, "found \\u0000 in a string, expected text without it");
    case json_error_duplicate_key: return refuse(line, "found a member twice (%s), expected each once", error->text);
    default:
      return refuse(line, "found broken JSON at column %d (%s), expected one JSON object", error->column, error->text);
  }
}

static int parse_line(const struct line *line, const char *text, size_t size, struct lb_history *history) {
  if (size == 0) return refuse(line, "found an empty line, expected an event");
  if (size > LINE_MAX_BYTES)
    return refuse(line, "found a line of %zu bytes, expected one event in at most 1 MiB", size);
  const char *zero = memchr(text, 0, size);
  if (zero) return refuse(line, "found a zero byte at column %zu, expected text", (size_t)(zero - text) + 1);
  json_error_t error;
  json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
  if (!value) return refuse_broken(line, &error);
  int r = json_is_object(value) ? read_event(line, value, history)
                                : refuse(line, "found %s, expected one JSON object", type_name(value));
  json_decref(value);
  return r;
}

int lb_history_parse_json(const char *name, const char *data, size_t size, struct lb_history *ret, char *err,
                          size_t err_size) {
  struct line line = {.name = name, .err = err, .err_size = err_size};
  int r = 0;
  while (r == 0 && size > 0) {
    const char *newline = memchr(data, '\n', size);
    size_t length = newline ? (size_t)(newline - data) : size, step = newline ? length + 1 : length;
    line.number++;
    r = parse_line(&line, data, length, ret);
    data += step, size -= step;
  }
  return r;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put_number(json_t *object, const char *member, uint64_t number) {
  json_object_set_new_nocheck(object, member, json_integer((json_int_t)number));
}

static void put_name(json_t *object, const char *member, const struct lb_names *names, uint32_t index) {
  if (index != LB_NO_NAME) json_object_set_new_nocheck(object, member, json_string_nocheck(names->name[index]));
}

static json_t *event_to_json(const struct lb_history *history, const struct lb_event *event) {
  json_t *object = json_object();
  put_number(object, "t", event->t);
  if (event->s) put_number(object, "s", event->s);
  put_name(object, "c", &history->clients, event->client);
  put_name(object, "k", &history->keys, event->key);
  json_object_set_new_nocheck(object, "e", json_string_nocheck(lb_event_kind_name(event->kind)));
  if (event->flags & LB_EVF_FENCE) put_number(object, "fence", event->fence);
  if (event->flags & LB_EVF_UNTIL && event->until <= INT64_MAX) put_number(object, "until", event->until);
  if (event->flags & LB_EVF_VALUE) put_number(object, "value", event->value);
  if (event->flags & LB_EVF_REFUSED) json_object_set_new_nocheck(object, "ok", json_false());
  put_name(object, "what", &history->whats, event->what);
  return object;
}

int lb_event_format_json(const struct lb_history *history, const struct lb_event *event, char *buf, size_t size) {
  json_t *object = event_to_json(history, event);
  char *text = json_dumps(object, JSON_COMPACT);
  json_decref(object);
  int used = snprintf(buf, size, "%s", text ? text : "");
  free(text);
  return used;
}

int lb_history_write_json(const struct lb_history *history, FILE *out) {
  char text[256];
  for (size_t i = 0; i < history->count; i++)
    if (lb_event_check(history, &history->events[i], text, sizeof text) < 0) return -EINVAL;
  for (size_t i = 0; i < history->count; i++) {
    json_t *object = event_to_json(history, &history->events[i]);
    json_dumpf(object, out, JSON_COMPACT);
    json_decref(object);
    putc('\n', out);
  }
  errno = 0;
  if (fflush(out) != 0 || ferror(out)) return errno ? -errno : -EIO;
  return 0;
}
