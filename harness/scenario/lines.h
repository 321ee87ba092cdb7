/* SPDX-License-Identifier: MIT
 *
 * lines.h - a small text file for libinih, line by line: what the library would swallow is refused
 * before it sees it. It cuts long lines in two, takes any byte and ignores what follows a ']'.
 * Shared by the readers of scenarios and suites; private to them.
 */
#ifndef LB_LINES_H
#define LB_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define LB_BLANKS " \t"
#define LB_LINES_BYTES_MAX (64 * 1024) /* of a file: a hundred times what a scenario needs */

struct lb_lines {
  const char *path;  /* of the file, for messages */
  const char *data;  /* what is left; a NUL stands after it */
  size_t size;
  int line;          /* number of the latest one */
  bool indented;     /* it begins with a blank */
  int result;        /* of the first refusal; nothing is read after it */
  char *err;
  size_t err_size;
};

/* The whole file, malloc'd, with a NUL behind it. 0, or -errno with one line in err that begins
 * with the path. */
int lb_lines_load(const char *path, char **ret_data, size_t *ret_size, char *err, size_t err_size);
/* Begins to read. All of it is borrowed; data[size] is NUL. */
void lb_lines_begin(struct lb_lines *ret, const char *path, const char *data, size_t size, char *err, size_t err_size);
/* The next line without its newline, which the library does not miss; NULL at the end and after a
 * refusal. */
char *lb_lines_next(struct lb_lines *lines, char *buf, int size);
/* "FILE:LINE: WHY" into err, unless something was refused before. Returns `result`. */
int lb_lines_refuse(struct lb_lines *lines, int result, const char *why);
/* The same for what may stand once and did so in line `first`: "WHAT stands in line FIRST already".
 * Returns -EINVAL. */
int lb_lines_refuse_twice(struct lb_lines *lines, int first, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The name in "[name] ; comment", cut to size. 0, or -EINVAL after a refusal. */
int lb_lines_section(struct lb_lines *lines, const char *text, char *name, size_t size);
/* What came of it: 0 or the result of the first refusal. `data` is that of lb_lines_begin(),
 * `parsed` what the library returned: the line that it could not read, which is one more refusal. */
int lb_lines_end(struct lb_lines *lines, const char *data, int parsed);

#endif
