/* SPDX-License-Identifier: MIT
 *
 * The files of scenarios: their names, which there are, and one of them line by line with the number of each line.
 *
 * libinih reads a file by itself, but it cuts lines at its buffer and takes any byte. So it is given a reader instead
 * of a file: each line passes through here first, and the first thing that does not fit is refused with its place.
 * After a refusal the reader says end of file, and the library stops.
 */
#include "reader.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define WHY_BYTES 512

/* One byte more than is allowed is asked for: a file of exactly the limit is told from a longer
 * one, and there is room for the NUL. */
int lb_lines_load(const char *path, char **ret_data, size_t *ret_size, struct lb_error *err) {
  int r = 0;
  char *data = malloc(LB_LINES_BYTES_MAX + 1);
  FILE *in = fopen(path, "re");
  size_t size = in && data ? fread(data, 1, LB_LINES_BYTES_MAX + 1, in) : 0;
  if (!in || !data || ferror(in)) {
    r = -errno;
    lb_refuse(err, "%s: %s", path, strerror(-r));
  } else if (size > LB_LINES_BYTES_MAX) {
    r = lb_refuse(err, "%s: more than %d kB: expected a text file of a few lines", path, LB_LINES_BYTES_MAX / 1024);
  } else {
    data[size] = '\0';
    *ret_data = data;
    *ret_size = size;
  }
  if (in) fclose(in);
  if (r < 0) free(data);
  return r;
}

void lb_lines_begin(struct lb_lines *ret, const char *path, const char *data, size_t size, struct lb_error *err) {
  static const char mark[] = "\xef\xbb\xbf"; /* some editors begin a file with it */
  size_t skip = size >= 3 && memcmp(data, mark, 3) == 0 ? 3 : 0;
  *ret = (struct lb_lines){.path = path, .data = data + skip, .size = size - skip, .err = err};
}

/* The first refusal counts: what comes after it may only follow from it. */
int lb_lines_refuse(struct lb_lines *lines, int result, const char *format, ...) {
  va_list args;
  if (lines->result < 0) return result;
  lines->result = result;
  va_start(args, format);
  lb_error_va(lines->err, result, format, args);
  va_end(args);
  return lb_error_prefix(lines->err, "%s:%d: ", lines->path, lines->line);
}

int lb_lines_refuse_twice(struct lb_lines *lines, int first, const char *format, ...) {
  char what[WHY_BYTES / 2];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return lb_lines_refuse(lines, -EINVAL, "%s stands in line %d already", what, first);
}

/* ---- text ------------------------------------------------------------------------------------ */

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

/* Control characters would reach the terminal of whoever reads the title of a scenario. */
static int check_text(struct lb_lines *lines, const char *line, size_t len) {
  for (size_t at = 0; at < len;) {
    size_t bytes = character_bytes((const unsigned char *)line + at, len - at);
    if (bytes == 0)
      return lb_lines_refuse(lines, -EINVAL,
                             "byte %zu is 0x%02x: not a text file; expected UTF-8 without control characters", at + 1,
                             (unsigned)(unsigned char)line[at]);
    at += bytes;
  }
  return 0;
}

/* `room` is what the library can take in one piece; a longer line would come to the handler in two. */
static int check_line(struct lb_lines *lines, const char *line, size_t len, size_t room) {
  if (len <= room) return check_text(lines, line, len);
  return lb_lines_refuse(lines, -EINVAL,
                         "a line of %zu bytes: expected at most %zu; a longer text goes on in the next line, indented",
                         len, room);
}

/* ---- lines ----------------------------------------------------------------------------------- */

char *lb_lines_next(struct lb_lines *lines, char *buf, int size) {
  if (lines->size == 0 || lines->result < 0) return NULL;
  const char *newline = memchr(lines->data, '\n', lines->size);
  size_t len = newline ? (size_t)(newline - lines->data) : lines->size;
  const char *line = lines->data;
  lines->data += len + (newline != NULL);
  lines->size -= len + (newline != NULL);
  lines->line++;
  if (len > 0 && line[len - 1] == '\r') len--;
  if (check_line(lines, line, len, (size_t)size - 2) < 0) return NULL;
  snprintf(buf, (size_t)size, "%.*s", (int)len, line);
  lines->indented = len > 0 && strchr(LB_BLANKS, buf[0]) != NULL;
  return buf;
}

int lb_lines_section(struct lb_lines *lines, const char *text, char *name, size_t size) {
  const char *end = strchr(text, ']');
  const char *after = end ? end + 1 + strspn(end + 1, LB_BLANKS) : NULL;
  if (!end) return lb_lines_refuse(lines, -EINVAL, "a section without its ']': expected [NAME]");
  if (*after != '\0' && *after != ';' && *after != '#')
    return lb_lines_refuse(lines, -EINVAL, "text after the ']' of a section: expected it on a line of its own");
  snprintf(name, size, "%.*s", (int)(end - text - 1), text + 1);
  return 0;
}

/* The library says which line it could not read, and reads on: a refusal in a later line gives way
 * to it, because the earlier one is what the user has to mend first. */
static int refuse_syntax(struct lb_lines *lines, const char *data, int line) {
  for (int i = 1; i < line; i++) data = strchr(data, '\n') + 1;
  lines->line = line;
  lines->result = 0;
  return lb_lines_refuse(lines, -EINVAL, "'%.*s': expected KEY = VALUE, a [section] or a comment (# ...)",
                         (int)strcspn(data, "\r\n"), data);
}

int lb_lines_end(struct lb_lines *lines, const char *data, int parsed) {
  if (parsed < 0) return lb_lines_refuse(lines, -ENOMEM, "out of memory");
  if (parsed > 0 && (lines->result == 0 || parsed < lines->line)) return refuse_syntax(lines, data, parsed);
  return lines->result;
}

/* ---- names --------------------------------------------------------------------------------- */

#define SUFFIX ".ini"

/* "scenarios/failover/failover.ini" -> "failover"; "05-failover.ini", too. */
char *lb_scenario_name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *base = slash ? slash + 1 : path;
  size_t digits = strspn(base, "0123456789");
  if (digits > 0 && base[digits] == '-') base += digits + 1;
  size_t len = strlen(base);
  if (len > strlen(SUFFIX) && strcmp(base + len - strlen(SUFFIX), SUFFIX) == 0) len -= strlen(SUFFIX);
  return strndup(base, len);
}

static int is_scenario_file(const struct dirent *entry) {
  size_t len = strlen(entry->d_name);
  return entry->d_name[0] != '.' && len > strlen(SUFFIX) && strcmp(entry->d_name + len - strlen(SUFFIX), SUFFIX) == 0;
}

/* By bytes, so that a run has the same order everywhere: alphasort() would follow the user's locale. */
static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

/* Themes, in the order in which people read them. A folder without them is one theme. */
static const char *const themes[] = {".",     "speed",   "failover", "partition", "pause",  "clock",
                                     "crash", "sharing", "protocol", "storm",     "museum", "peers"};

struct listing {
  char **names, **paths;
  size_t count;
};

static int add_file(struct listing *l, const char *folder, const char *theme, const char *file) {
  char **names = realloc(l->names, (l->count + 1) * sizeof *names);
  if (names) l->names = names;
  char **paths = realloc(l->paths, (l->count + 1) * sizeof *paths);
  if (paths) l->paths = paths;
  char *path = NULL;
  bool top = strcmp(theme, ".") == 0;
  if (!names || !paths || asprintf(&path, "%s/%s%s%s", folder, top ? "" : theme, top ? "" : "/", file) < 0)
    return -ENOMEM;
  l->paths[l->count] = path;
  l->names[l->count] = lb_scenario_name_of(path);
  if (!l->names[l->count]) return free(path), -ENOMEM;
  l->count++;
  return 0;
}

static int add_theme(struct listing *l, const char *folder, const char *theme) {
  char place[4096];
  struct dirent **entries = NULL;
  snprintf(place, sizeof place, "%s/%s", folder, theme);
  int count = scandir(place, &entries, is_scenario_file, by_name), r = count < 0 ? -errno : 0;
  for (int i = 0; i < count; i++) {
    if (r == 0) r = add_file(l, folder, theme, entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  return r;
}

/* All or nothing: on an error every name that was made is freed again. */
int lb_scenario_list(const char *folder, char ***ret_names, char ***ret_paths, size_t *ret_count) {
  struct listing l = {calloc(1, sizeof *l.names), calloc(1, sizeof *l.paths), 0};
  int r = l.names && l.paths ? 0 : -ENOMEM;
  for (size_t i = 0; r == 0 && i < sizeof themes / sizeof *themes; i++) {
    r = add_theme(&l, folder, themes[i]);
    if (r == -ENOENT && i > 0) r = 0;
  }
  if (r == 0) return *ret_names = l.names, *ret_paths = l.paths, *ret_count = l.count, 0;
  for (size_t i = 0; i < l.count; i++) free(l.names[i]), free(l.paths[i]);
  free(l.names);
  free(l.paths);
  return r;
}
