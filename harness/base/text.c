/* SPDX-License-Identifier: MIT
 *
 * Texts: put together piece by piece, refused, printed, spelt wrong, in tables.
 */
#include "text.h"
#include "need.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lb_text_add(struct lb_text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text->at + text->length, text->size - text->length, format, args);
  va_end(args);
  size_t room = text->size - text->length - 1;
  if (n > 0) text->length += (size_t)n < room ? (size_t)n : room;
}

size_t lb_text_split_words(char *text, char **words, size_t max) {
  size_t count = 0;
  char *rest = NULL;
  for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
    if (count == max) return max + 1;
    words[count++] = word;
  }
  return count;
}

const char *lb_text_part(const char **rest, char separator, size_t *ret_length) {
  const char *at = *rest + strspn(*rest, " \t"), *end = strchr(*rest, separator);
  size_t length = end ? (size_t)(end - at) : strlen(at);
  *rest = end ? end + 1 : NULL;
  while (length > 0 && strchr(" \t", at[length - 1])) length--;
  *ret_length = length;
  return at;
}

size_t lb_text_fit(const char *text, size_t room) {
  size_t fits = strlen(text), blanks = strspn(text, " ");
  if (fits <= room) return fits;
  for (fits = room; fits > 0 && text[fits] != ' ';) fits--;
  if (fits > blanks) return fits;
  for (size_t bar = room; bar > blanks; bar--)
    if (text[bar - 1] == '|') return bar;
  return blanks + strcspn(text + blanks, " ");
}

/* ---- A name of a file or an argument may hold what clears the screen, or looks like a line of ours. */

/* Well-formed sequences only (Unicode 15, table 3-7): no overlong forms, no surrogates, nothing
 * above U+10FFFF. Strict, because JSON readers are: a name that we let through and another tool
 * refuses would make a file that only we can read. */
size_t lb_text_utf8_length(const char *text, size_t size) {
  const unsigned char *b = (const unsigned char *)text;
  if (size == 0) return 0;
  if (b[0] < 0x80) return 1;
  size_t length = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
  if (b[0] < 0xc2 || b[0] > 0xf4 || length > size) return 0;
  unsigned char low = 0x80, high = 0xbf; /* of the second byte */
  if (b[0] == 0xe0) low = 0xa0;
  if (b[0] == 0xed) high = 0x9f;
  if (b[0] == 0xf0) low = 0x90;
  if (b[0] == 0xf4) high = 0x8f;
  if (b[1] < low || b[1] > high) return 0;
  for (size_t i = 2; i < length; i++)
    if ((b[i] & 0xc0) != 0x80) return 0;
  return length;
}

size_t lb_text_shown_length(const char *text, size_t size) {
  const unsigned char *b = (const unsigned char *)text;
  size_t length = lb_text_utf8_length(text, size);
  if (length == 1 && (b[0] < 0x20 || b[0] == 0x7f)) return 0;
  return length == 2 && b[0] == 0xc2 && b[1] < 0xa0 ? 0 : length;
}

void lb_text_printable(const char *text, char *buf, size_t size) {
  size_t at = 0;
  while (*text && size > 0) {
    char escape[8];
    size_t bytes = lb_text_shown_length(text, strnlen(text, 4)), length = bytes;
    const char *piece = text;
    if (bytes == 0) {
      piece = escape, bytes = 1;
      if (*text == '\n' || *text == '\t')
        length = (size_t)snprintf(escape, sizeof escape, "\\%c", *text == '\n' ? 'n' : 't');
      else length = (size_t)snprintf(escape, sizeof escape, "\\x%02x", (unsigned)(unsigned char)*text);
    }
    if (at + length >= size) break;
    memcpy(buf + at, piece, length);
    at += length;
    text += bytes;
  }
  if (size > 0) buf[at] = '\0';
}

/* ---- Optimal string alignment: insertions, deletions, replacements and swaps of neighbours cost one
 * each. A swap counts once because "acquier" for "acquire" is one slip of the fingers, not two. */

#define WORD_MAX 100 /* the longest that is ours, a statement of `conform`; bounds the work on hostile input */

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

/* Three rows of the table are enough: a swap looks two rows back, nothing looks further. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len) {
  size_t rows[3][WORD_MAX + 1];
  size_t *before = rows[0], *last = rows[1], *row = rows[2];
  for (size_t j = 0; j <= b_len; j++) last[j] = j;
  for (size_t i = 1; i <= a_len; i++) {
    row[0] = i;
    for (size_t j = 1; j <= b_len; j++) {
      size_t cost = a[i - 1] != b[j - 1];
      row[j] = min_size(min_size(last[j] + 1, row[j - 1] + 1), last[j - 1] + cost);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = min_size(row[j], before[j - 2] + 1);
    }
    size_t *free_row = before;
    before = last;
    last = row;
    row = free_row;
  }
  return last[b_len];
}

const char *lb_text_suggest(const char *word, const char *const *words, size_t count) {
  const char *nearest = NULL;
  size_t len = strlen(word), nearest_distance = SIZE_MAX;
  size_t limit = len / 3 > 2 ? len / 3 : 2;
  if (len == 0 || len > WORD_MAX) return NULL;
  for (size_t i = 0; i < count; i++) {
    size_t known_len = strlen(words[i]);
    if (known_len > WORD_MAX) continue;
    size_t d = distance(word, len, words[i], known_len);
    if (len > 2 && strncmp(words[i], word, len) == 0 && words[i][len] == '_') d = 1; /* "ttl" wants a unit */
    /* d == len: nothing in common; "x" is not a misspelt "pg". */
    if (d > limit || d >= len || d >= nearest_distance) continue;
    nearest = words[i];
    nearest_distance = d;
  }
  return nearest;
}

/* ---- tables */

void lb_grid_begin(struct lb_grid *grid, const char *align) { *grid = (struct lb_grid){.align = align}; }

void lb_grid_add(struct lb_grid *grid, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (vasprintf(&LB_APPEND(grid->text, grid->count), format, args) < 0) lb_need(NULL);
  va_end(args);
}

/* Blanks are owed until a text comes, so that no line ends with them. */
static void print_row(const struct lb_grid *grid, char *const *row, const size_t *width, FILE *out) {
  size_t owed = 0;
  for (size_t c = 0; grid->align[c]; c++) {
    size_t length = strlen(row[c]), pad = width[c] - length;
    if (length == 0) {
      owed += width[c] + 1;
      continue;
    }
    fprintf(out, "%*s%s", (int)(owed + (grid->align[c] == 'r' ? pad : 0)), "", row[c]);
    owed = (grid->align[c] == 'r' ? 0 : pad) + 1;
  }
  putc('\n', out);
}

void lb_grid_end(struct lb_grid *grid, FILE *out) {
  size_t columns = strlen(grid->align), rows = grid->count / columns, width[LB_GRID_COLUMNS_MAX] = {0};
  for (size_t i = 0; i < rows * columns; i++)
    if (strlen(grid->text[i]) > width[i % columns]) width[i % columns] = strlen(grid->text[i]);
  for (size_t r = 0; r < rows; r++) print_row(grid, grid->text + r * columns, width, out);
  for (size_t i = 0; i < grid->count; i++) free(grid->text[i]);
  free(grid->text);
  *grid = (struct lb_grid){0};
}
