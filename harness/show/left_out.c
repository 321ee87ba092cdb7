/* SPDX-License-Identifier: MIT
 *
 * A history that is missing on purpose is not a mistake of whoever asks for it. The committed
 * reference run leaves out its large ones, and `explain` and `check` should say so instead of "no
 * such file".
 *
 * The form is one line per pattern, "PATTERN: reason". '#' begins a comment, empty lines say
 * nothing; a pattern ends at the first colon, so file names with a colon cannot be named.
 */
#include "left_out.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define FILE_NAME "left-out.txt"

/* Without the white space around it, which is cut off in place. */
static char *trimmed(char *text) {
  text += strspn(text, " \t");
  for (size_t n = strlen(text); n > 0 && strchr(" \t\r\n", text[n - 1]); n--) text[n - 1] = '\0';
  return text;
}

/* As lb_left_out(), of one line, which it takes apart in place. `place` and `number` are for the
 * message. */
static int look_at(char *line, const char *name, const char *place, int number, char *ret, size_t size) {
  char *pattern = trimmed(line), *colon = strchr(pattern, ':');
  if (*pattern == '\0' || *pattern == '#') return 0;
  if (!colon || colon == pattern || *trimmed(colon + 1) == '\0') {
    snprintf(ret, size, "%s:%d: found '%.60s', expected PATTERN: reason", place, number, pattern);
    return -EINVAL;
  }
  *colon = '\0';
  if (fnmatch(trimmed(pattern), name, 0) != 0) return 0;
  snprintf(ret, size, "%s", trimmed(colon + 1));
  return 1;
}

/* The list lies beside the history. That there is none, or not even the folder, is the usual case
 * and no error. */
int lb_left_out(const char *path, char *ret, size_t size) {
  char place[PATH_MAX], line[1000];
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  int length = snprintf(place, sizeof place, "%.*s" FILE_NAME, (int)(name - path), path), r = 0;
  FILE *file = length < (int)sizeof place ? fopen(place, "re") : NULL;
  if (!file) {
    r = length < (int)sizeof place ? -errno : -ENAMETOOLONG;
    snprintf(ret, size, "%.*s" FILE_NAME ": %s", (int)(name - path), path, strerror(-r));
    return r == -ENOENT || r == -ENOTDIR ? 0 : r;
  }
  for (int number = 1; r == 0 && fgets(line, sizeof line, file); number++)
    r = look_at(line, name, place, number, ret, size);
  fclose(file);
  return r;
}

void lb_fill_cells(json_t *run) {
  json_t *cells = json_object_get(run, "cells"), *cell;
  const json_t *usual = json_object_get(run, "usual");
  size_t i;
  if (!usual) return;
  json_array_foreach(cells, i, cell) {
    const char *verdict = json_string_value(json_object_get(cell, "verdict"));
    json_t *whole = json_copy(verdict ? json_object_get(usual, verdict) : NULL);
    if (whole && json_object_update(whole, cell) == 0) json_array_set(cells, i, whole);
    json_decref(whole);
  }
  json_object_del(run, "usual");
}
