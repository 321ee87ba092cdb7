/* SPDX-License-Identifier: MIT
 *
 * Histories as JSON lines, so that other tools can write what this one judges. A reader that
 * guesses would judge something that never happened; so whatever is not exactly an event is
 * refused, with its line and with what was expected instead. The first line says the format.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "history_form.h"

enum { LINE_MAX_BYTES = 1 << 20 };

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

/* The type only, not the value: it may be long, or a whole object. */
static int refuse_value(const struct lb_line *line, const char *member, const json_t *value, const char *expected) {
  return lb_history_refuse_line(line, "found %s in \"%s\", expected %s", type_name(value), member, expected);
}

static int read_number(const struct lb_line *line, const char *member, const json_t *value, json_int_t least,
                       json_int_t most, json_int_t *ret) {
  if (!json_is_integer(value)) return refuse_value(line, member, value, "an integer");
  *ret = json_integer_value(value);
  if (*ret < least)
    return lb_history_refuse_line(line, "found %lld in \"%s\", expected an integer of at least %lld", (long long)*ret,
                                  member, (long long)least);
  if (*ret > most)
    return lb_history_refuse_line(line, "found %lld in \"%s\", expected an integer of at most %lld", (long long)*ret,
                                  member, (long long)most);
  return 0;
}

/* The table of names gives every name its index; so clients and keys get their order from the file. */
static int read_name(const struct lb_line *line, const struct lb_member *member, const json_t *value,
                     struct lb_names *names, uint32_t *ret) {
  if (!json_is_string(value)) return refuse_value(line, member->name, value, "a string");
  if (json_string_length(value) == 0 && member->type != LB_T_TEXT)
    return lb_history_refuse_line(line, "found an empty string in \"%s\", expected a name", member->name);
  *ret = lb_names_add(names, json_string_value(value));
  return 0;
}

static int read_kind(const struct lb_line *line, const json_t *value, uint16_t *ret) {
  const char *words[LB_KIND_COUNT - 1];
  unsigned kind;
  if (!json_is_string(value)) return refuse_value(line, "e", value, "the name of an event");
  for (kind = 1; kind < LB_KIND_COUNT; kind++) {
    words[kind - 1] = lb_event_kind_name(kind);
    if (strcmp(words[kind - 1], json_string_value(value)) == 0) break;
  }
  if (kind >= LB_KIND_COUNT)
    return lb_history_refuse_word(line, "unknown event", json_string_value(value), words, LB_KIND_COUNT - 1);
  *ret = (uint16_t)kind;
  return 0;
}

static int read_word(const struct lb_line *line, const struct lb_member *member, const json_t *value, uint8_t *ret) {
  size_t count = 0;
  if (!json_is_string(value)) return refuse_value(line, member->name, value, "a word");
  for (; member->words[count + 1]; count++) {
    if (strcmp(member->words[count + 1], json_string_value(value)) != 0) continue;
    *ret = (uint8_t)(count + 1);
    return 0;
  }
  char what[40];
  snprintf(what, sizeof what, "unknown word in \"%s\":", member->name);
  return lb_history_refuse_word(line, what, json_string_value(value), member->words + 1, count);
}

static int read_truth(const struct lb_line *line, const struct lb_member *member, const json_t *value, bool *ret) {
  *ret = json_is_true(value);
  return json_is_boolean(value) ? 0 : refuse_value(line, member->name, value, "true or false");
}

/* The row of the member says what may stand in it and where it goes. 0, or -EINVAL with the
 * complaint. */
static int read_member(const struct lb_line *line, const struct lb_member *member, const json_t *value,
                       struct lb_history *history, struct lb_event *event, struct lb_fact *fact) {
  void *at = (member->of_fact ? (char *)fact : (char *)event) + member->offset;
  json_int_t number = 0;
  bool truth = true;
  int r = 0;
  event->flags |= member->flag;
  switch (member->type) {
    case LB_T_NUMBER:
    case LB_T_POSITIVE:
      r = read_number(line, member->name, value, member->type == LB_T_POSITIVE, INT64_MAX, &number);
      *(uint64_t *)at = (uint64_t)number;
      break;
    case LB_T_STEP:
      r = read_number(line, member->name, value, 1, UINT32_MAX, &number);
      *(uint32_t *)at = (uint32_t)number;
      break;
    case LB_T_SIGNED:
      r = read_number(line, member->name, value, INT64_MIN, INT64_MAX, &number);
      *(int64_t *)at = number;
      break;
    case LB_T_CLIENT: r = read_name(line, member, value, &history->clients, at); break;
    case LB_T_KEY: r = read_name(line, member, value, &history->keys, at); break;
    case LB_T_NAME:
    case LB_T_TEXT: r = read_name(line, member, value, &history->texts, at); break;
    case LB_T_KIND: r = read_kind(line, value, at); break;
    case LB_T_WORD: r = read_word(line, member, value, at); break;
    case LB_T_YES:
      r = read_truth(line, member, value, &truth);
      *(uint8_t *)at = truth;
      break;
    case LB_T_OK:
      r = read_truth(line, member, value, &truth);
      if (truth) event->flags &= (uint16_t)~member->flag;
      break;
    case LB_T_FLAG:
      r = read_truth(line, member, value, &truth);
      if (!truth) event->flags &= (uint16_t)~member->flag;
      break;
  }
  return r;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* What says how many may hold at once has a line of its own. */
static int refuse_member(const struct lb_line *line, const char *word) {
  const char *names[LB_MEMBER_COUNT];
  if (strcmp(word, "permits") == 0)
    return lb_history_refuse_line(
        line,
        "found unknown member \"permits\", expected an event of its own: {\"t\":0,\"e\":\"permits\",\"total\":2}");
  for (size_t i = 0; i < LB_MEMBER_COUNT; i++) names[i] = lb_members[i].name;
  return lb_history_refuse_word(line, "unknown member", word, names, LB_MEMBER_COUNT);
}

/* Other tools write "mode":"shared" for "shared":true. */
static int read_mode(const struct lb_line *line, const json_t *value, bool *ret_shared) {
  static const char *const modes[] = {"exclusive", "shared"};
  if (!json_is_string(value)) return refuse_value(line, "mode", value, "\"shared\" or \"exclusive\"");
  *ret_shared = strcmp(json_string_value(value), "shared") == 0;
  if (*ret_shared || strcmp(json_string_value(value), "exclusive") == 0) return 0;
  return lb_history_refuse_word(line, "unknown word in \"mode\":", json_string_value(value), modes,
                                sizeof modes / sizeof *modes);
}

/* Members may come in any order. Which of them an event of its kind must and may have is looked at
 * when all are there. */
static int read_event(const struct lb_line *line, const json_t *object, struct lb_history *history) {
  struct lb_event event = {.client = LB_NO_NAME, .key = LB_NO_NAME, .fact = LB_NO_NAME};
  struct lb_fact fact = lb_no_fact;
  unsigned members = 0;
  const char *word;
  json_t *value;
  json_object_foreach((json_t *)object, word, value) {
    unsigned i = 0;
    if (strcmp(word, "mode") == 0) {
      bool shared = false;
      int r = read_mode(line, value, &shared);
      if (r < 0) return r;
      if (shared) event.flags |= LB_EVF_SHARED, members |= LB_M_SHARED;
      continue;
    }
    while (i < LB_MEMBER_COUNT && strcmp(lb_members[i].name, word) != 0) i++;
    if (i == LB_MEMBER_COUNT) return refuse_member(line, word);
    int r = read_member(line, &lb_members[i], value, history, &event, &fact);
    if (r < 0) return r;
    if (lb_members[i].type != LB_T_FLAG || json_is_true(value)) members |= 1u << i;
  }
  if (!(members & LB_M_E)) return lb_history_refuse_line(line, "found no \"e\", expected the name of an event");
  struct lb_error why;
  if (lb_event_check_members(event.kind, members, &why) < 0 || lb_event_check_numbers(&event, &fact, &why) < 0)
    return lb_history_refuse_line(line, "%s", why.text);
  if (lb_event_is_fact(&event)) event.fact = lb_history_facts_add(history, &fact);
  lb_history_add(history, &event);
  return 0;
}

/* {"format":2}, and nothing else. */
static int read_format(const struct lb_line *line, const json_t *object) {
  json_int_t format = 0;
  if (!json_object_get(object, "format"))
    return lb_history_refuse_line(
        line,
        "found no \"format\", expected {\"format\":2} in the first line: files of format 1, which lack it, are no longer read");
  if (json_object_size(object) != 1)
    return lb_history_refuse_line(line, "found more than \"format\", expected {\"format\":2} alone in the first line");
  int r = read_number(line, "format", json_object_get(object, "format"), 1, INT64_MAX, &format);
  if (r < 0) return r;
  if (format != 2)
    return lb_history_refuse_line(line, "found format %lld, expected 2: it was written by another release",
                                  (long long)format);
  return 0;
}

/* The errors that a writer of histories meets have a sentence of their own, for the library's does
 * not say what was expected. */
static int refuse_broken(const struct lb_line *line, const json_error_t *error) {
  switch (json_error_code(error)) {
    case json_error_invalid_utf8:
      return lb_history_refuse_line(line, "found a byte at column %d that is not UTF-8, expected UTF-8", error->column);
    case json_error_numeric_overflow:
      return lb_history_refuse_line(
          line, "found a number at column %d above 2^63 - 1, expected an integer from 0 to that", error->column);
    case json_error_null_character:
      return lb_history_refuse_line(line, "found \\u0000 in a string, expected text without it");
    case json_error_duplicate_key:
      return lb_history_refuse_line(line, "found a member twice (%s), expected each once", error->text);
    default:
      return lb_history_refuse_line(line, "found broken JSON at column %d (%s), expected one JSON object",
                                    error->column, error->text);
  }
}

/* A zero byte gets a complaint of its own: hardly an editor shows it. */
static int parse_line(const struct lb_line *line, const char *text, size_t size, struct lb_history *history) {
  if (size == 0) return lb_history_refuse_line(line, "found an empty line, expected an event");
  if (size > LINE_MAX_BYTES)
    return lb_history_refuse_line(line, "found a line of more than 1 MiB, expected one event in at most that");
  const char *zero = memchr(text, 0, size);
  if (zero)
    return lb_history_refuse_line(line, "found a zero byte at column %zu, expected text", (size_t)(zero - text) + 1);
  json_error_t error;
  json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
  if (!value) return refuse_broken(line, &error);
  int r = !json_is_object(value) ? lb_history_refuse_line(line, "found %s, expected one JSON object", type_name(value))
          : line->number == 1    ? read_format(line, value)
                                 : read_event(line, value, history);
  json_decref(value);
  return r;
}

/* Line by line, to the first one that is refused. The last one may lack its newline. A line without an end is read no
 * further than the longest one may be. */
int lb_history_parse_json_part(struct lb_line *line, const struct lb_part *part, struct lb_history *to, size_t *used) {
  int r = 0;
  for (*used = 0; r == 0 && *used < part->size;) {
    const char *data = part->data + *used;
    size_t left = part->size - *used, seen = left > LINE_MAX_BYTES ? LINE_MAX_BYTES + 1 : left;
    const char *newline = memchr(data, '\n', seen);
    if (!newline && seen <= LINE_MAX_BYTES && !part->last) break;
    size_t length = newline ? (size_t)(newline - data) : seen;
    line->number++;
    r = parse_line(line, data, length, to);
    *used += length + (newline != NULL);
  }
  return r;
}

int lb_history_parse_json(const char *name, const char *data, size_t size, struct lb_history *ret,
                          struct lb_error *err) {
  struct lb_line line = {.name = name, .err = err};
  size_t used;
  return lb_history_parse_json_part(&line, &(struct lb_part){data, size, true}, ret, &used);
}

/* ---- writing: by the table in history_form.c, as it is read ------------------------------------------------------ */

static json_t *name_value(const struct lb_names *names, const void *at) {
  return json_string_nocheck(names->name[*(const uint32_t *)at]);
}

/* NULL = it is left out. */
static json_t *member_value(const struct lb_history *h, const struct lb_event *event, unsigned i) {
  const struct lb_member *member = &lb_members[i];
  const void *at = lb_member_at(member, event, lb_event_fact(h, event));
  switch (member->type) {
    case LB_T_NUMBER:
    case LB_T_POSITIVE: {
      uint64_t number = *(const uint64_t *)at;
      bool left_out = 1u << i == LB_M_S ? number == 0 : number > INT64_MAX;
      return left_out ? NULL : json_integer((json_int_t)number);
    }
    case LB_T_STEP: return json_integer(*(const uint32_t *)at);
    case LB_T_SIGNED: return json_integer(*(const int64_t *)at);
    case LB_T_CLIENT: return name_value(&h->clients, at);
    case LB_T_KEY: return name_value(&h->keys, at);
    case LB_T_NAME:
    case LB_T_TEXT: return name_value(&h->texts, at);
    case LB_T_KIND: return json_string_nocheck(lb_event_kind_name(event->kind));
    case LB_T_WORD: return json_string_nocheck(member->words[*(const uint8_t *)at]);
    case LB_T_YES: return json_boolean(*(const uint8_t *)at);
    case LB_T_OK: return json_false();
    case LB_T_FLAG: return json_true();
  }
  return NULL;
}

static json_t *event_to_json(const struct lb_history *history, const struct lb_event *event) {
  json_t *object = json_object();
  unsigned members = lb_event_members(history, event);
  for (unsigned i = 0; i < LB_MEMBER_COUNT; i++) {
    json_t *value = members & (1u << i) ? member_value(history, event, i) : NULL;
    if (value) json_object_set_new_nocheck(object, lb_members[i].name, value);
  }
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

/* All events are checked before the first line is written: half a file would be worse than none. */
int lb_history_write_json(const struct lb_history *history, FILE *out) {
  for (size_t i = 0; i < history->count; i++)
    if (lb_event_check(history, &history->events[i], NULL) < 0) return -EINVAL;
  errno = 0; /* a write that finds the disk full may come long before the last one */
  fputs("{\"format\":2}\n", out);
  for (size_t i = 0; i < history->count; i++) {
    json_t *object = event_to_json(history, &history->events[i]);
    json_dumpf(object, out, JSON_COMPACT);
    json_decref(object);
    putc('\n', out);
  }
  if (fflush(out) != 0 || ferror(out)) return errno ? -errno : -EIO;
  return 0;
}
