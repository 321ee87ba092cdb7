/* SPDX-License-Identifier: MIT
 *
 * Operations in EDN, as Jepsen and Knossos store them: maps one after another, or one vector of maps. A strict reader:
 * what is no EDN, or no operation of a lock, is refused with its line. Tags are skipped, and members that say nothing
 * of a lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "history_ops.h"

enum { DEPTH_MAX = 64, NAME_BYTES = 200 };

enum kind { K_NONE, K_WORD, K_KEYWORD, K_INTEGER, K_NUMBER, K_STRING, K_CHARACTER, K_MAP, K_VECTOR, K_SET };
static const char *const kind_names[] = {"nothing",  "a symbol",    "a keyword", "an integer", "a number",
                                         "a string", "a character", "a map",     "a vector",   "a set"};

struct form { /* text: of a keyword without its colon, of a string without its quotes, of brackets what is inside */
  enum kind kind;
  const char *text;
  size_t length, line, members;
  int64_t number;
};

struct reader {
  const char *at, *end;
  struct lb_line line;
  unsigned depth;
};

/* ---- EDN --------------------------------------------------------------------------------------------------------- */

static int read_form(struct reader *r, struct form *ret);

static bool is_blank(char c) {
  return c == ' ' || c == ',' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}
static bool ends_token(char c) { return is_blank(c) || strchr("()[]{}\";", c); }

static void skip_blank(struct reader *r) {
  for (; r->at < r->end && (is_blank(*r->at) || *r->at == ';'); r->at++) {
    if (*r->at == ';') {
      const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
      r->at = newline ? newline : r->end - 1;
    }
    if (*r->at == '\n') r->line.number++;
  }
}

static int refuse_byte(const struct reader *r) {
  unsigned char c = (unsigned char)*r->at;
  if (c > ' ' && c < 127) return lb_history_refuse_line(&r->line, "found '%c', expected EDN", c);
  return lb_history_refuse_line(&r->line, "found the byte 0x%02x, expected EDN in UTF-8", c);
}

/* The next character of a token or string, as it may stand there. */
static int step(struct reader *r, bool in_string) {
  size_t length = lb_text_utf8_length(r->at, (size_t)(r->end - r->at));
  unsigned char c = (unsigned char)*r->at;
  if (length == 0 || c == 0 || (!in_string && (c < ' ' || c == 127))) return refuse_byte(r);
  if (c == '\n') r->line.number++;
  r->at += length;
  return 0;
}

static int read_token(struct reader *r, struct form *ret) {
  ret->text = r->at;
  int result = 0;
  if (r->end - r->at > 1 && *r->at == '\\') r->at++, result = step(r, false); /* of \( too */
  while (result == 0 && r->at < r->end && !ends_token(*r->at)) result = step(r, false);
  ret->length = (size_t)(r->at - ret->text);
  return result;
}

static int read_string(struct reader *r, struct form *ret) {
  ret->kind = K_STRING;
  ret->text = ++r->at;
  while (r->at < r->end && *r->at != '"') {
    bool escape = *r->at == '\\';
    if (escape && r->at + 1 < r->end && !strchr("tbnrf\\\"u01234567", *++r->at))
      return lb_history_refuse_line(&r->line, "found an unknown escape in a string, expected one like \\n or \\u00e9");
    int result = step(r, true);
    if (result < 0) return result;
  }
  ret->length = (size_t)(r->at - ret->text);
  if (r->at++ < r->end) return 1;
  r->line.number = ret->line;
  return lb_history_refuse_line(&r->line, "found the end of the file in the string that begins here, expected '\"'");
}

/* An integer has its value; of other numbers the form alone counts. */
static int read_number(struct reader *r, struct form *ret) {
  char text[64], *end;
  snprintf(text, sizeof text, "%.*s", ret->length > 63 ? 63 : (int)ret->length, ret->text);
  bool sign = *text == '-' || *text == '+';
  size_t digits = strspn(text + sign, "0123456789"), rest = ret->length - sign - digits;
  if (digits > 1 && text[sign] == '0')
    return lb_history_refuse_line(&r->line, "found the number %.40s, expected no zero at its begin", text);
  ret->kind = rest == 0 || (rest == 1 && text[ret->length - 1] == 'N') ? K_INTEGER : K_NUMBER;
  errno = 0;
  ret->number = strtoll(text, &end, 10);
  if (ret->kind == K_INTEGER)
    return errno == 0 && ret->length < 63
               ? 1
               : lb_history_refuse_line(&r->line, "found %.40s, expected at most 2^63 - 1", text);
  if (*end == '/' && end[1] >= '0' && end[1] <= '9') strtoll(end + 1, &end, 10);
  else strtod(text, &end);
  if (*end == 'M') end++;
  if (*end == '\0' && ret->length < 63) return 1;
  return lb_history_refuse_line(&r->line, "found %.40s, expected a number", text);
}

static int read_scalar(struct reader *r, struct form *ret) {
  int result = read_token(r, ret);
  if (result < 0) return result;
  const char *text = ret->text;
  bool sign = ret->length > 1 && (*text == '-' || *text == '+');
  if (text[sign] >= '0' && text[sign] <= '9') return read_number(r, ret);
  ret->kind = *text == ':' ? K_KEYWORD : *text == '\\' ? K_CHARACTER : K_WORD;
  if (*text == ':') ret->text++, ret->length--;
  if (ret->length > (ret->kind == K_CHARACTER) && *ret->text != ':' && !strchr("'`@^~", *text)) return 1;
  r->at = text;
  return refuse_byte(r);
}

static int read_close(struct reader *r, char close, size_t begin) {
  if (r->at < r->end && *r->at != close)
    return lb_history_refuse_line(&r->line, "found '%c', expected '%c' for the bracket of line %zu", *r->at, close,
                                  begin);
  if (r->at++ < r->end) return 0;
  r->line.number = begin;
  return lb_history_refuse_line(&r->line, "found the end of the file in the brackets that begin here, expected '%c'",
                                close);
}

/* What is between brackets, to the one that closes them. */
static int read_inside(struct reader *r, struct form *ret, enum kind kind, char close) {
  struct form inner;
  int result;
  size_t begin = r->line.number;
  if (++r->depth > DEPTH_MAX)
    return lb_history_refuse_line(&r->line, "found more than %d brackets in each other, expected fewer", DEPTH_MAX);
  ret->text = ++r->at;
  ret->members = 0;
  while ((result = read_form(r, &inner)) > 0) ret->members++;
  if (result < 0) return result;
  r->depth--;
  ret->kind = kind;
  ret->length = (size_t)(r->at - ret->text);
  result = read_close(r, close, begin);
  if (result < 0) return result;
  if (kind == K_MAP && ret->members % 2)
    return lb_history_refuse_line(&r->line, "found %zu forms in a map, expected a value for each key", ret->members);
  return 1;
}

/* Reads the form behind a tag, or one that is left out (#_). */
static int read_under(struct reader *r, struct form *ret) {
  if (++r->depth > DEPTH_MAX)
    return lb_history_refuse_line(&r->line, "found more than %d tags in each other, expected fewer", DEPTH_MAX);
  int result = read_form(r, ret);
  r->depth--;
  return result ? result : lb_history_refuse_line(&r->line, "found nothing after a '#', expected a form");
}

/* A set, a number without a value, or a tag before a form. */
static int read_dispatch(struct reader *r, struct form *ret) {
  char next = r->at + 1 < r->end ? r->at[1] : ' ';
  if (next == '{') return r->at++, read_inside(r, ret, K_SET, '}');
  if (next != '#' && !(next >= 'a' && next <= 'z') && !(next >= 'A' && next <= 'Z')) return refuse_byte(r);
  r->at += next == '#' ? 2 : 1;
  int result = read_token(r, ret);
  ret->kind = K_NUMBER;
  return result < 0 ? result : next == '#' ? 1 : read_under(r, ret);
}

/* 1 = read a form; 0 = what follows closes brackets, or the end; -EINVAL. */
static int read_form(struct reader *r, struct form *ret) {
  struct form left_out;
  skip_blank(r);
  while (r->end - r->at > 1 && r->at[0] == '#' && r->at[1] == '_') {
    r->at += 2;
    if (read_under(r, &left_out) < 0) return -EINVAL;
    skip_blank(r);
  }
  *ret = (struct form){.line = r->line.number};
  if (r->at >= r->end) return 0;
  switch (*r->at) {
    case ')':
    case ']':
    case '}': return 0;
    case '(': return read_inside(r, ret, K_VECTOR, ')');
    case '[': return read_inside(r, ret, K_VECTOR, ']');
    case '{': return read_inside(r, ret, K_MAP, '}');
    case '"': return read_string(r, ret);
    case '#': return read_dispatch(r, ret);
    default: return read_scalar(r, ret);
  }
}

/* The forms inside of one that has been read, and so can be read again. */
static struct reader inside(const struct reader *r, const struct form *form) {
  struct reader in = {.at = form->text, .end = form->text + form->length, .line = r->line};
  in.line.number = form->line;
  return in;
}

static bool is_word(const struct form *form, const char *word) {
  return strlen(word) == form->length && memcmp(word, form->text, form->length) == 0;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

enum {
  M_TYPE = 1,
  M_F = 2,
  M_PROCESS = 4,
  M_TIME = 8,
  M_INDEX = 16,
  M_KEY = 32,
  M_VALUE = 64,
  M_FENCE = 128,
  M_CLIENT = 256
};
static const char *const members[] = {"type", "f", "process", "time", "index", "key", "value", "fence", "client"};

struct found { /* the members of an operation; kind K_NONE = not there */
  struct form type, f, process, time, index, key, value, fence, client;
};

static void copy_name(const struct form *form, char *buf, size_t size) {
  size_t length = form->length < size ? form->length : size - 1;
  memcpy(buf, form->text, length);
  buf[length] = '\0';
}

/* What the members of a map are that say something of a lock. */
static int read_members(const struct reader *r, const struct form *map, struct found *ret) {
  struct reader in = inside(r, map);
  struct form *const to[] = {&ret->type, &ret->f,     &ret->process, &ret->time,  &ret->index,
                             &ret->key,  &ret->value, &ret->fence,   &ret->client};
  struct form key, value;
  while (read_form(&in, &key) > 0 && read_form(&in, &value) > 0)
    for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
      if (key.kind != K_KEYWORD || !is_word(&key, members[i])) continue;
      if (to[i]->kind != K_NONE)
        return lb_history_refuse_line(&in.line, "found :%s twice, expected each key once", members[i]);
      *to[i] = value;
    }
  return 0;
}

static int read_word(const struct lb_line *line, const char *member, const struct form *form, char word[NAME_BYTES]) {
  if (form->kind == K_NONE) return lb_history_refuse_line(line, "found no :%s, expected one in an operation", member);
  if (form->kind != K_KEYWORD)
    return lb_history_refuse_line(line, "found %s in :%s, expected a keyword", kind_names[form->kind], member);
  copy_name(form, word, NAME_BYTES);
  return 0;
}

/* nil is as good as nothing. */
static bool is_nil(const struct form *form) {
  return form->kind == K_NONE || (form->kind == K_WORD && is_word(form, "nil"));
}

static int read_integer(const struct lb_line *line, const char *member, const struct form *form, int64_t least,
                        int64_t *ret) {
  if (is_nil(form)) return 0;
  if (form->kind != K_INTEGER || form->number < least)
    return lb_history_refuse_line(line, "found %s in :%s, expected an integer%s",
                                  form->kind == K_INTEGER ? "a negative number" : kind_names[form->kind], member,
                                  least == 0 ? " from 0" : "");
  *ret = form->number;
  return 0;
}

static int read_name(const struct lb_line *line, const char *member, const struct form *form, struct lb_names *names,
                     uint32_t *ret) {
  char name[NAME_BYTES];
  if (is_nil(form)) return 0;
  if (form->kind >= K_MAP || form->length == 0)
    return lb_history_refuse_line(line, "found %s in %s, expected a name",
                                  form->length ? kind_names[form->kind] : "nothing", member);
  copy_name(form, name, sizeof name);
  if (strlen(name) < form->length)
    return lb_history_refuse_line(line, "found %zu bytes in %s, expected a name of fewer than %d", form->length, member,
                                  NAME_BYTES);
  *ret = lb_names_add(names, name);
  return 0;
}

/* [KEY VALUE] as of Jepsen's independent tests, and of an invoke KEY alone; then, in either case, a map may have the
 * fence and the client. */
static int read_value(const struct reader *r, struct found *found) {
  if (found->value.kind == K_VECTOR && found->value.members == 2) {
    struct reader in = inside(r, &found->value);
    struct form key;
    if (read_form(&in, &key) <= 0 || read_form(&in, &found->value) <= 0) return -EINVAL;
    if (found->key.kind == K_NONE) found->key = key;
  }
  if (found->value.kind != K_MAP) return 0;
  struct found inner = {0};
  int result = read_members(r, &found->value, &inner);
  if (found->fence.kind == K_NONE) found->fence = inner.fence;
  if (found->client.kind == K_NONE) found->client = inner.client;
  return result;
}

static int read_client_op(struct lb_ops *ops, const struct reader *r, struct found *found, struct lb_op *op) {
  const struct lb_line *line = &r->line;
  char name[40], word[NAME_BYTES];
  int choice = read_word(line, "f", &found->f, word);
  if (choice == 0) choice = lb_op_f_of(line, "unknown :f", word);
  if (choice < 0) return choice;
  op->f = (enum lb_op_f)choice;
  int64_t process = 0;
  int result = read_integer(line, "process", &found->process, 0, &process);
  snprintf(name, sizeof name, "%lld", (long long)process);
  op->process = lb_ops_process(ops, name);
  if (result == 0) result = read_value(r, found);
  if (result == 0) result = read_integer(line, "fence", &found->fence, INT64_MIN, &op->fence);
  if (result == 0) result = read_name(line, "a key", &found->key, &ops->to->keys, &op->key);
  if (result == 0 && op->type == LB_OP_INVOKE && found->value.kind == K_STRING)
    result = read_name(line, ":value", &found->value, &ops->to->keys, &op->named);
  if (result == 0) result = read_name(line, ":client", &found->client, &ops->to->clients, &op->owner);
  return result;
}

/* As it stands in the file, on one line. */
static uint32_t what_nemesis_says(struct lb_ops *ops, const struct found *found) {
  char process[NAME_BYTES], f[NAME_BYTES], value[NAME_BYTES] = "", says[3 * NAME_BYTES + 4];
  copy_name(&found->process, process, sizeof process);
  copy_name(&found->f, f, sizeof f);
  if (!is_nil(&found->value)) copy_name(&found->value, value, sizeof value);
  snprintf(says, sizeof says, "%s %s%s%s", process, f, *value ? " " : "", value);
  for (char *c = says; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) *c = ' ';
  return lb_names_add(&ops->to->texts, says);
}

static int read_op(struct lb_ops *ops, struct reader *r, const struct form *map) {
  struct lb_line line = {r->line.name, map->line, r->line.err};
  struct reader at = *r;
  struct lb_op op = lb_no_op;
  struct found found = {0};
  at.line = line;
  if (map->kind != K_MAP) return lb_history_refuse_line(&line, "found %s, expected a map", kind_names[map->kind]);
  int result = read_members(&at, map, &found);
  if (result < 0) return result;
  char word[NAME_BYTES];
  int type = read_word(&line, "type", &found.type, word);
  if (type == 0) type = lb_op_word(&line, "unknown :type", word, lb_op_types, LB_OP_TYPE_COUNT);
  if (type < 0) return type;
  op.type = (enum lb_op_type)type;
  result = read_integer(&line, "time", &found.time, 0, &op.time);
  if (result == 0) result = read_integer(&line, "index", &found.index, 0, &op.index);
  if (result < 0) return result;
  if (is_nil(&found.process)) return lb_history_refuse_line(&line, "found no :process, expected one in an operation");
  op.mark = found.process.kind == K_KEYWORD;
  if (op.mark) op.says = what_nemesis_says(ops, &found);
  else result = read_client_op(ops, &at, &found, &op);
  return result < 0 ? result : lb_ops_add(ops, &line, &op);
}

/* To the end, or to what closes the vector. */
static int read_ops(struct lb_ops *ops, struct reader *r) {
  struct form form;
  int result;
  while ((result = read_form(r, &form)) > 0)
    if ((result = read_op(ops, r, &form)) < 0) return result;
  return result;
}

/* The vector itself is not read as one form: that would go through the file twice. */
static int read_file(struct lb_ops *ops, struct reader *r) {
  skip_blank(r);
  size_t begin = r->line.number;
  char open = r->at < r->end ? *r->at : ' ', close = open == '[' ? ']' : open == '(' ? ')' : '\0';
  if (close) r->at++;
  int result = read_ops(ops, r);
  if (result < 0) return result;
  if (!close && r->at < r->end) return refuse_byte(r);
  if (!close) return 0;
  result = read_close(r, close, begin);
  if (result < 0) return result;
  skip_blank(r);
  return r->at < r->end ? lb_history_refuse_line(&r->line, "found more after the vector, expected its end alone") : 0;
}

/* A comment, a tag, or brackets with a keyword or a tag in them: JSON has none of these at its begin. */
bool lb_history_is_edn(const char *data, size_t size) {
  struct lb_error err;
  struct reader r = {.at = data, .end = data + size, .line = {"", 1, &err}};
  const char *begin = data;
  skip_blank(&r);
  bool comment = memchr(begin, ';', (size_t)(r.at - begin)) != NULL;
  bool bracket = false;
  while (r.at < r.end && (*r.at == '(' || *r.at == '[' || *r.at == '{')) r.at++, bracket = true, skip_blank(&r);
  if (r.at >= r.end) return comment;
  return comment || *r.at == '#' || (bracket && *r.at == ':');
}

int lb_history_parse_edn(const char *name, const char *data, size_t size, struct lb_history *ret,
                         struct lb_error *err) {
  struct reader r = {.at = data, .end = data + size, .line = {.name = name, .number = 1, .err = err}};
  struct lb_ops ops;
  lb_ops_begin(&ops, ret);
  int result = read_file(&ops, &r);
  if (result == 0) result = lb_ops_finish(&ops, &r.line);
  lb_ops_clear(&ops);
  return result;
}
