/* SPDX-License-Identifier: MIT
 *
 * A value is taken as it is, so that any password or command fits. What a line holds is repeated by no complaint but the
 * caller's: it may be a password.
 */
#include "own_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/text.h"

int lb_own_file_find(const char *what, const char *word, const char *const *words, size_t count, struct lb_error *err) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(words[i], word) == 0) return (int)i;
  const char *near = lb_text_suggest(word, words, count);
  return near ? lb_refuse(err, "unknown %s '%s', did you mean '%s'?", what, word, near)
              : lb_refuse(err, "unknown %s '%s', expected %s, %s, ...", what, word, words[0], words[1]);
}

static char *trim(char *text) {
  while (isspace((unsigned char)*text)) text++;
  for (size_t n = strlen(text); n > 0 && isspace((unsigned char)text[n - 1]); n--) text[n - 1] = '\0';
  return text;
}

/* "[redis]", "key = value", "# ...", nothing. */
static int read_line(const struct lb_own_file *file, char *line, int number, struct lb_error *err) {
  char *text = trim(line), *equals = strchr(text, '=');
  size_t length = strlen(text);
  if (!*text || *text == '#' || *text == ';') return 0;
  if (*text == '[') {
    if (text[length - 1] != ']') return lb_refuse(err, "a section without its ]");
    text[length - 1] = '\0';
    return file->section(file->to, text + 1, number, err);
  }
  if (!equals) return lb_refuse(err, "expected %s", file->expected);
  *equals = '\0';
  return file->key(file->to, trim(text), trim(equals + 1), err);
}

int lb_own_file_read(const struct lb_own_file *file, const char *path, struct lb_error *err) {
  char line[1024];
  struct stat st;
  int number = 0, r = 0;
  FILE *in = lb_files_open(path);
  if (!in || fstat(fileno(in), &st) < 0) r = lb_refuse(err, "%s %s: %s", file->option, path, strerror(errno));
  else if (S_ISREG(st.st_mode) && st.st_mode & 077)
    r = lb_refuse(err, "%s %s: others may read or write it (mode %03o), expected a file of yours alone: chmod 600 %s",
                  file->option, path, (unsigned)st.st_mode & 0777, path);
  while (r == 0 && fgets(line, sizeof line, in)) {
    number++;
    if (!strchr(line, '\n') && !feof(in)) r = lb_refuse(err, "expected at most %zu bytes", sizeof line - 2);
    else r = read_line(file, line, number, err);
    if (r < 0) lb_error_prefix(err, "%s:%d: ", path, number);
  }
  explicit_bzero(line, sizeof line);
  if (in) fclose(in);
  return r;
}
