/* SPDX-License-Identifier: MIT
 *
 * own_file.h - files that are their owner's alone: sections and keys, with values that are taken as they are.
 */
#ifndef LB_OWN_FILE_H
#define LB_OWN_FILE_H

#include <stddef.h>

#include "base/error.h"

struct lb_own_file {
  const char *option, *expected; /* "--auth"; what a line may be, for a complaint */
  /* Each 0, or -EINVAL with err, which the caller puts FILE:LINE before. */
  int (*section)(void *to, const char *name, int line, struct lb_error *err);
  int (*key)(void *to, const char *key, const char *value, struct lb_error *err);
  void *to;
};

/* 0, or -EINVAL with one line in err: no such file; one that others may read; FILE:LINE: what was found, what was
 * expected. */
int lb_own_file_read(const struct lb_own_file *file, const char *path, struct lb_error *err);
/* The place of a word in a list, or -EINVAL with err, and with the word that was perhaps meant. */
int lb_own_file_find(const char *what, const char *word, const char *const *words, size_t count, struct lb_error *err);

#endif
