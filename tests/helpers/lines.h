/* SPDX-License-Identifier: MIT
 *
 * lines.h - the lines of a test as a history: the first line is put before them.
 */
#ifndef LB_TEST_LINES_H
#define LB_TEST_LINES_H

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "history/history.h"
#include "history/history_load.h"

#define FORMAT "{\"format\":2}\n"

/* As lb_history_parse(); lines that begin with FORMAT are taken as they are. */
static inline int parse_lines(const char *name, const char *lines, struct lb_history *ret, struct lb_error *err) {
  char *text = NULL;
  if (asprintf(&text, "%s%s", strncmp(lines, FORMAT, strlen(FORMAT)) == 0 ? "" : FORMAT, lines) < 0) abort();
  int r = lb_history_parse(name, text, strlen(text), ret, err);
  free(text);
  return r;
}

#endif
