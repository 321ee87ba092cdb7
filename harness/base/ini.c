/* SPDX-License-Identifier: MIT */
#include "ini.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "text.h"

#define WHAT_BYTES 256

/* One byte more than is allowed is asked for: a file of exactly the limit is told from a longer
 * one, and there is room for the NUL. */
int lb_ini_load(const char *path, char **ret_data, size_t *ret_size, struct lb_error *err) {
  int r = 0;
  char *data = lb_need(malloc(LB_INI_BYTES_MAX + 1));
  FILE *in = fopen(path, "re");
  size_t size = in ? fread(data, 1, LB_INI_BYTES_MAX + 1, in) : 0;
  if (!in || ferror(in)) {
    r = -errno;
    lb_refuse(err, "%s: %s", path, strerror(-r));
  } else if (size > LB_INI_BYTES_MAX) {
    r = lb_refuse(err, "%s: more than %d kB: expected a text file of a few lines", path, LB_INI_BYTES_MAX / 1024);
  } else {
    data[size] = '\0';
    *ret_data = data;
    *ret_size = size;
  }
  if (in) fclose(in);
  if (r < 0) free(data);
  return r;
}

void lb_ini_begin(struct lb_ini *ret, const char *path, const char *data, size_t size, struct lb_error *err) {
  static const char mark[] = "\xef\xbb\xbf"; /* some editors begin a file with it */
  size_t skip = size >= 3 && memcmp(data, mark, 3) == 0 ? 3 : 0;
  *ret = (struct lb_ini){.path = path, .err = err, .data = lb_need(malloc(size + 1))};
  if (size > 0) memcpy(ret->data, data, size);
  ret->next = ret->data + skip;
  ret->end = ret->data + size;
  *ret->end = '\0';
}

int lb_ini_end(struct lb_ini *ini) {
  free(ini->data);
  ini->data = ini->next = ini->end = ini->section = ini->key = ini->value = NULL;
  return ini->result;
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* The first refusal counts: what comes after it may only follow from it. */
int lb_ini_refuse(struct lb_ini *ini, int result, const char *format, ...) {
  va_list args;
  if (ini->result < 0) return result;
  ini->result = result;
  va_start(args, format);
  lb_error_va(ini->err, result, format, args);
  va_end(args);
  return lb_error_prefix(ini->err, "%s:%d: ", ini->path, ini->line);
}

int lb_ini_refuse_twice(struct lb_ini *ini, int first, const char *format, ...) {
  char what[WHAT_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return lb_ini_refuse(ini, -EINVAL, "%s stands in line %d already", what, first);
}

int lb_ini_refuse_indented(struct lb_ini *ini) {
  return lb_ini_refuse(ini, -EINVAL, "an indented line: expected keys and sections at the begin of a line");
}

/* ---- text ------------------------------------------------------------------------------------ */

/* The title of a scenario is printed: control characters in it would change the reader's terminal. */
static int check_text(struct lb_ini *ini, const char *line, size_t len) {
  for (size_t at = 0; at < len;) {
    size_t bytes = line[at] == '\t' ? 1 : lb_text_shown_length(line + at, len - at);
    if (bytes == 0)
      return lb_ini_refuse(ini, -EINVAL,
                           "byte %zu is 0x%02x: not a text file; expected UTF-8 without control characters", at + 1,
                           (unsigned)(unsigned char)line[at]);
    at += bytes;
  }
  return 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The next line, which ends with a NUL; NULL at the end and after a refusal. */
static char *cut_line(struct lb_ini *ini) {
  char *line = ini->next;
  if (ini->result < 0 || line >= ini->end) return NULL;
  char *newline = memchr(line, '\n', (size_t)(ini->end - line));
  size_t len = newline ? (size_t)(newline - line) : (size_t)(ini->end - line);
  ini->next = newline ? newline + 1 : ini->end;
  ini->line++;
  if (len > 0 && line[len - 1] == '\r') len--;
  line[len] = '\0';
  return check_text(ini, line, len) < 0 ? NULL : line;
}

/* Ends a text before the comment that follows it, and before its last blanks. */
static void cut_comment(char *text) {
  for (char *at = text; (at = strchr(at, ';')); at++) {
    if (at == text || !strchr(LB_BLANKS, at[-1])) continue;
    *at = '\0';
    break;
  }
  for (size_t len = strlen(text); len > 0 && strchr(LB_BLANKS, text[len - 1]);) text[--len] = '\0';
}

static bool begin_section(struct lb_ini *ini, char *text) {
  char *end = strchr(text, ']');
  const char *after = end ? end + 1 + strspn(end + 1, LB_BLANKS) : NULL;
  if (!end) return lb_ini_refuse(ini, -EINVAL, "a section without its ']': expected [NAME]"), false;
  if (*after != '\0' && *after != ';' && *after != '#')
    return lb_ini_refuse(ini, -EINVAL, "text after the ']' of a section: expected it on a line of its own"), false;
  *end = '\0';
  ini->kind = LB_INI_SECTION;
  ini->section = text + 1;
  ini->key = ini->value = NULL;
  return true;
}

static bool take_key(struct lb_ini *ini, char *line, char *text) {
  cut_comment(text);
  char *between = text + strcspn(text, "=:");
  if (!*between)
    return lb_ini_refuse(ini, -EINVAL, "'%s': expected KEY = VALUE, a [section] or a comment (# ...)", line), false;
  ini->kind = LB_INI_KEY;
  ini->key = text;
  ini->value = between + 1 + strspn(between + 1, LB_BLANKS);
  *between = '\0';
  cut_comment(ini->key);
  return true;
}

static bool go_on(struct lb_ini *ini, char *text) {
  cut_comment(text);
  ini->kind = LB_INI_MORE;
  ini->value = text;
  return true;
}

bool lb_ini_next(struct lb_ini *ini) {
  char *line;
  while ((line = cut_line(ini))) {
    char *text = line + strspn(line, LB_BLANKS);
    if (!*text || *text == '#' || *text == ';') continue;
    ini->indented = text != line;
    if (ini->indented && ini->key) return go_on(ini, text);
    return *text == '[' ? begin_section(ini, text) : take_key(ini, line, text);
  }
  return false;
}
