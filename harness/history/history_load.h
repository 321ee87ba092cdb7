/* SPDX-License-Identifier: MIT
 *
 * history_load.h - reads histories. The first bytes say which form they have.
 */
#ifndef LB_HISTORY_LOAD_H
#define LB_HISTORY_LOAD_H

#include "history.h"

struct lb_history_bytes { /* a whole file; `name` stands for it in messages */
  const char *name, *data;
  size_t size;
};
/* Reads operations of another tool, in EDN or CSV, with a program outside of this room. */
struct lb_history_foreign {
  int (*read)(void *of, const struct lb_history_bytes *from, struct lb_history *ret, struct lb_error *err);
  void *of;
};

/* Reads a file of any form. 0; -EINVAL with one line in err ("FILE:LINE: found ..., expected
 * ...", in a binary file "FILE: byte OFFSET: ...") for malformed content, an empty file included;
 * other -errno. On error *ret is left empty. The result is sorted. What a lb_event must and may
 * carry is the same in both forms (see the table in history_form.c). foreign: NULL = EDN and CSV are no histories. */
int lb_history_load(const char *path, const struct lb_history_foreign *foreign, struct lb_history *ret,
                    struct lb_error *err);
/* The same from an open file, to its end; it stays open. `name` stands for it in messages. */
int lb_history_read(int fd, const char *name, const struct lb_history_foreign *foreign, struct lb_history *ret,
                    struct lb_error *err);
/* The same from memory; `name` stands for the file in messages. For tests and fuzzing. */
int lb_history_parse(const char *name, const void *data, size_t size, struct lb_history *ret, struct lb_error *err);

#endif
