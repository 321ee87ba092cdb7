/* SPDX-License-Identifier: MIT
 *
 * text.h - texts: put together piece by piece, made safe to print, in tables; and "did you mean ...?"
 */
#ifndef LB_TEXT_H
#define LB_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* A text in memory of the caller's. Begins as {memory, its size (at least 1), 0}; the memory then has to hold "". */
struct lb_text {
  char *at;
  size_t size, length;
};
/* Appends, as printf does; what does not fit is cut off. */
void lb_text_add(struct lb_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Length of the valid UTF-8 sequence that starts at text (of at most `size` bytes), 0 if there is none. */
size_t lb_text_utf8_length(const char *text, size_t size);
/* The same, but 0 for a control character: what may be printed. */
size_t lb_text_shown_length(const char *text, size_t size);

/* For text of others on one line of a terminal. Copies `text` into buf, with "\n", "\t" or "\x1b" for each control
 * character, and "\xff" for each byte that is no UTF-8. Cut off where buf ends, but never inside of a character or an
 * escape. */
void lb_text_printable(const char *text, char *buf, size_t size);

/* Cuts text into its words, in place; their number, or max + 1 if there are more. */
size_t lb_text_split_words(char *text, char **words, size_t max);

/* The next part of a list like "a, b", without the blanks around it, and its length; *rest moves behind it and is NULL
 * after the last one. Nothing, and what stands behind a last separator, is one empty part. */
const char *lb_text_part(const char **rest, char separator, size_t *ret_length);

/* So many bytes of a text go into a line of `room`: up to a blank. A longer word is broken behind a bar, "one|two", or has
 * a line of its own. */
size_t lb_text_fit(const char *text, size_t room);

/* A table of texts whose columns are as wide as their widest text. An unexpectedly long name makes its column wider in
 * every row. It never shifts the rest of its own row. */

#define LB_GRID_COLUMNS_MAX 16

struct lb_grid {
  const char *align; /* a letter for each column: 'l' or 'r' */
  char **text;       /* row by row, owned */
  size_t count;
};

/* `align` is borrowed; at most LB_GRID_COLUMNS_MAX letters. */
void lb_grid_begin(struct lb_grid *grid, const char *align);
/* The next field: columns from left to right, then the next row. ASCII: bytes are columns. Ends the
 * process if there is no memory. */
void lb_grid_add(struct lb_grid *grid, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes all whole rows, one blank between columns, none at the end of a line, and takes the texts away. */
void lb_grid_end(struct lb_grid *grid, FILE *out);

/* The word of words[0..count) nearest to `word`, or NULL if none is near (distance above a third of
 * its length, at least 2). */
const char *lb_text_suggest(const char *word, const char *const *words, size_t count);

#endif
