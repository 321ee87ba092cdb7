/* SPDX-License-Identifier: MIT
 *
 * From the text of a scenario file to its keys. libinih splits lines; what it would swallow is refused before it sees it:
 * it cuts long lines in two, takes any byte, merges repeated sections, ignores what follows a ']', and takes an indented
 * key for more text of the key above. So every line passes through next_line(), which also knows the line's number.
 */
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_parts.h"
#include "base/suggest.h"

#define SECTION_BYTES 32 /* longer than any section of ours */
#define BLANKS " \t"

/* In the order of a file. */
static const struct {
  const char *name;
  bool mandatory;
} sections[] = {
    {"scenario", true},
    {"workload", true},
    {"servers", false},
    {"timeline", false},
    {"campaign", false},
    {"proof", false},
    {"expect", false}, /* one of these has to be there */
    {LB_EXPECT_GUARD "deadline", false},
    {LB_EXPECT_GUARD "recheck", false},
    {LB_EXPECT_GUARD "fence", false},
};
#define SECTION_COUNT (sizeof sections / sizeof *sections)

struct reading {
  const char *path;
  const char *data; /* what is left; a NUL stands after it */
  size_t size;
  struct lb_scenario *scenario;
  int *key_lines;
  int section_lines[SECTION_COUNT];    /* 0 = not seen */
  int line;                            /* the one the library works on */
  bool indented;                       /* that line begins with a blank */
  const struct lb_scenario_key *above; /* the key an indented line goes on with; NULL right after a section */
  int result;                          /* the first refusal; nothing is read after it */
  char *err;
  size_t err_size;
};

static int refuse_at(struct reading *r, int result, const char *why) {
  if (r->result == 0) {
    r->result = result;
    snprintf(r->err, r->err_size, "%s:%d: %s", r->path, r->line, why);
  }
  return result;
}

/* ---- text --------------------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character at text, 0 if it is none that a text file holds. */
static size_t character_bytes(const unsigned char *text, size_t size) {
  static const struct {
    unsigned char first, mask;
    unsigned least; /* a smaller one was written too long */
  } forms[] = {{0x00, 0x80, 0}, {0xc0, 0xe0, 0x80}, {0xe0, 0xf0, 0x800}, {0xf0, 0xf8, 0x10000}};
  for (size_t more = 0; more < 4 && more < size; more++) {
    if ((text[0] & forms[more].mask) != forms[more].first) continue;
    unsigned code = text[0] & (unsigned char)~forms[more].mask;
    for (size_t i = 1; i <= more; i++) {
      if ((text[i] & 0xc0) != 0x80) return 0;
      code = code << 6 | (text[i] & 0x3f);
    }
    bool control = (code < 0x20 && code != '\t') || (code >= 0x7f && code < 0xa0);
    bool surrogate = code >= 0xd800 && code < 0xe000;
    return control || surrogate || code < forms[more].least || code > 0x10ffff ? 0 : more + 1;
  }
  return 0;
}

static int check_text(struct reading *r, const char *line, size_t len) {
  char why[LB_SCENARIO_ERR];
  for (size_t at = 0; at < len;) {
    size_t bytes = character_bytes((const unsigned char *)line + at, len - at);
    if (bytes == 0) {
      lb_refuse(why, sizeof why, "byte %zu is 0x%02x: not a text file; expected UTF-8 without control characters",
                at + 1, (unsigned)(unsigned char)line[at]);
      return refuse_at(r, -EINVAL, why);
    }
    at += bytes;
  }
  return 0;
}

/* ---- sections ----------------------------------------------------------------------------------------- */

static int refuse_section(struct reading *r, const char *name) {
  char why[LB_SCENARIO_ERR];
  const char *known[SECTION_COUNT];
  for (size_t i = 0; i < SECTION_COUNT; i++) known[i] = sections[i].name;
  bool none = strcmp(name, LB_EXPECT_GUARD "none") == 0; /* of no guard, as lb_guard_name() has it */
  const char *near = none ? "expect" : lb_suggest(name, known, SECTION_COUNT);
  lb_refuse(why, sizeof why,
            "unknown section [%s]%s%s%s expected [scenario], [workload], [servers], [timeline], [campaign], [proof], "
            "[expect] or [expect GUARD]",
            name, near ? ", did you mean [" : "", near ? near : "", near ? "]?" : ":");
  return refuse_at(r, -EINVAL, why);
}

/* `text` begins with '['. */
static int begin_section(struct reading *r, const char *text) {
  char name[SECTION_BYTES], why[LB_SCENARIO_ERR];
  const char *end = strchr(text, ']');
  const char *after = end ? end + 1 + strspn(end + 1, BLANKS) : NULL;
  if (!end) return refuse_at(r, -EINVAL, "a section without its ']': expected for example [workload]");
  if (*after != '\0' && *after != ';' && *after != '#')
    return refuse_at(r, -EINVAL, "text after the ']' of a section: expected it on a line of its own");
  snprintf(name, sizeof name, "%.*s", (int)(end - text - 1), text + 1);
  for (size_t i = 0; i < SECTION_COUNT; i++) {
    if (strcmp(name, sections[i].name) != 0) continue;
    if (r->section_lines[i]) {
      lb_refuse(why, sizeof why, "section [%s] began in line %d already", name, r->section_lines[i]);
      return refuse_at(r, -EINVAL, why);
    }
    r->section_lines[i] = r->line;
    r->above = NULL;
    return 0;
  }
  return refuse_section(r, name);
}

/* ---- lines -------------------------------------------------------------------------------------------- */

static int check_line(struct reading *r, const char *line, size_t len, size_t room) {
  char why[LB_SCENARIO_ERR];
  if (len > room) {
    lb_refuse(why, sizeof why,
              "a line of %zu bytes: expected at most %zu; a longer text goes on in the next line, indented", len, room);
    return refuse_at(r, -EINVAL, why);
  }
  return check_text(r, line, len);
}

/* The library's fgets: one line into buf, or NULL at the end and after the first refusal. */
static char *next_line(char *buf, int size, void *reading) {
  struct reading *r = reading;
  if (r->size == 0 || r->result < 0) return NULL;
  const char *newline = memchr(r->data, '\n', r->size);
  size_t len = newline ? (size_t)(newline - r->data) : r->size;
  const char *line = r->data;
  r->data += len + (newline != NULL);
  r->size -= len + (newline != NULL);
  r->line++;
  if (len > 0 && line[len - 1] == '\r') len--;
  if (check_line(r, line, len, (size_t)size - 2) < 0) return NULL;
  snprintf(buf, (size_t)size, "%.*s\n", (int)len, line);
  r->indented = len > 0 && strchr(BLANKS, buf[0]) != NULL;
  buf[len] = '\0'; /* no newline for begin_section */
  const char *text = buf + strspn(buf, BLANKS);
  if (*text == '[' && !(r->indented && r->above) && begin_section(r, text) < 0) return NULL;
  buf[len] = '\n';
  return buf;
}

/* ---- keys --------------------------------------------------------------------------------------------- */

/* The library strips comments from a key's own line only. */
static size_t without_comment(const char *text) {
  size_t len = strlen(text);
  for (const char *at = strchr(text, ';'); at; at = strchr(at + 1, ';')) {
    if (at != text && !strchr(BLANKS, at[-1])) continue;
    len = (size_t)(at - text);
    break;
  }
  while (len > 0 && strchr(BLANKS, text[len - 1])) len--;
  return len;
}

/* "title = ..." indented by mistake would otherwise vanish in the text above it. */
static bool looks_like_key(const char *text) {
  size_t len = strcspn(text, "=: \t");
  size_t next = len + strspn(text + len, BLANKS);
  if (*text == '[') return true;
  if (text[next] != '=' && text[next] != ':') return false;
  for (size_t i = 0; i < lb_scenario_key_count; i++)
    if (strlen(lb_scenario_keys[i].name) == len && strncmp(lb_scenario_keys[i].name, text, len) == 0) return true;
  return false;
}

static int go_on(struct reading *r, const char *text) {
  char why[LB_SCENARIO_ERR];
  char **field = (char **)((char *)r->scenario + r->above->offset);
  char *joined = NULL;
  if (!(r->above->flags & LB_KEY_LINES) || looks_like_key(text)) {
    lb_refuse(why, sizeof why,
              "an indented line: it would go on with '%s'; expected keys and sections at the begin of a line",
              r->above->name);
    return refuse_at(r, -EINVAL, why);
  }
  if (asprintf(&joined, "%s %.*s", *field, (int)without_comment(text), text) < 0)
    return refuse_at(r, -ENOMEM, "out of memory");
  free(*field);
  *field = joined;
  return 0;
}

static int take_key(struct reading *r, const char *section, const char *name, const char *value) {
  char why[LB_SCENARIO_ERR];
  const struct lb_scenario_key *key = lb_scenario_key_find(section, name, why, sizeof why);
  if (!key) return refuse_at(r, -EINVAL, why);
  int *line = &r->key_lines[key - lb_scenario_keys];
  if (*line && !(key->flags & LB_KEY_REPEATED)) {
    lb_refuse(why, sizeof why, "%s stands in line %d already", name, *line);
    return refuse_at(r, -EINVAL, why);
  }
  *line = r->line;
  r->above = key;
  int result = lb_scenario_key_set(key, r->scenario, name, value, r->line, why, sizeof why);
  return result < 0 ? refuse_at(r, result, why) : 0;
}

/* The library's handler: nonzero = go on. */
static int take_entry(void *reading, const char *section, const char *name, const char *value) {
  struct reading *r = reading;
  if (r->result < 0) return 0;
  if (r->indented && r->above) return go_on(r, value) == 0;
  if (*section == '\0') return refuse_at(r, -EINVAL, "a key before any section: expected [scenario] first") == 0;
  return take_key(r, section, name, value) == 0;
}

/* ---- the whole file ----------------------------------------------------------------------------------- */

/* The library says which line it could not read, and reads on: a later refusal gives way to it. */
static int refuse_syntax(struct reading *r, const char *data, int line) {
  char why[LB_SCENARIO_ERR];
  for (int i = 1; i < line; i++) data = strchr(data, '\n') + 1;
  r->line = line;
  r->result = 0;
  lb_refuse(why, sizeof why, "'%.*s': expected KEY = VALUE, a [section] or a comment (# ...)",
            (int)strcspn(data, "\r\n"), data);
  return refuse_at(r, -EINVAL, why);
}

static int refuse_file(struct reading *r, const char *why) {
  snprintf(r->err, r->err_size, "%s: %s", r->path, why);
  return -EINVAL;
}

static bool has_section(const struct reading *r, const char *name) {
  for (size_t i = 0; i < SECTION_COUNT; i++)
    if (strcmp(sections[i].name, name) == 0) return r->section_lines[i] != 0;
  return false;
}

static bool expects_something(const struct reading *r) {
  for (size_t i = 0; i < lb_scenario_key_count; i++)
    if (lb_scenario_keys[i].type == LB_KEY_VERDICT && has_section(r, lb_scenario_keys[i].section)) return true;
  return false;
}

static int check_complete(struct reading *r) {
  char why[LB_SCENARIO_ERR];
  for (size_t i = 0; i < SECTION_COUNT; i++) {
    if (!sections[i].mandatory || r->section_lines[i]) continue;
    lb_refuse(why, sizeof why, "section [%s] is missing", sections[i].name);
    return refuse_file(r, why);
  }
  if (!expects_something(r)) return refuse_file(r, "section [expect] is missing");
  for (size_t i = 0; i < lb_scenario_key_count; i++) {
    const struct lb_scenario_key *key = &lb_scenario_keys[i];
    if (!(key->flags & LB_KEY_MANDATORY) || r->key_lines[i] || !has_section(r, key->section)) continue;
    lb_refuse(why, sizeof why, "[%s] %s is missing: expected %s = %s", key->section, key->name, key->name,
              lb_scenario_type_name(key->type));
    return refuse_file(r, why);
  }
  return 0;
}

static int set_defaults(struct reading *r) {
  char why[LB_SCENARIO_ERR];
  for (size_t i = 0; i < lb_scenario_key_count; i++) {
    const struct lb_scenario_key *key = &lb_scenario_keys[i];
    if (r->key_lines[i] || !key->def) continue;
    int result = lb_scenario_key_set(key, r->scenario, key->name, key->def, 0, why, sizeof why);
    if (result < 0) return refuse_at(r, result, why);
  }
  return 0;
}

int lb_scenario_read(const char *path, const char *data, size_t size, struct lb_scenario *scenario, int *key_lines,
                     char *err, size_t err_size) {
  struct reading r = {.path = path,
                      .data = data,
                      .size = size,
                      .scenario = scenario,
                      .key_lines = key_lines,
                      .err = err,
                      .err_size = err_size};
  static const char mark[] = "\xef\xbb\xbf"; /* some editors begin a file with it */
  if (size >= 3 && memcmp(data, mark, 3) == 0) {
    r.data += 3;
    r.size -= 3;
  }
  int line = ini_parse_stream(next_line, &r, take_entry, &r);
  if (line < 0) return refuse_at(&r, -ENOMEM, "out of memory");
  if (line > 0 && (r.result == 0 || line < r.line)) return refuse_syntax(&r, data, line);
  if (r.result < 0) return r.result;
  int result = check_complete(&r);
  return result < 0 ? result : set_defaults(&r);
}
