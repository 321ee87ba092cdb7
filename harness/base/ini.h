/* SPDX-License-Identifier: MIT
 *
 * ini.h - files of [sections] and keys, read line by line. A line may be as long as the file.
 *
 *   [NAME] ; comment           a section
 *   KEY = VALUE ; comment      or KEY: VALUE
 *     more                     indented: goes on with the key above
 *   # comment                  or ; comment
 *
 * Sections and keys may stand twice or be empty: what that means is for the caller to say. Whatever is refused names
 * its line, and nothing is read after it.
 */
#ifndef LB_INI_H
#define LB_INI_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"

#define LB_BLANKS " \t"
#define LB_INI_BYTES_MAX (256 * 1024) /* of a file: several times what the longest of ours has */

enum lb_ini_kind { LB_INI_SECTION, LB_INI_KEY, LB_INI_MORE };

struct lb_ini {
  const char *path;      /* of the file, for messages */
  int line;              /* number of the latest one */
  enum lb_ini_kind kind; /* what it is */
  bool indented;         /* it begins with a blank */
  char *section; /* it stands in; NULL = in none. Texts live until lb_ini_end() and are the caller's to change */
  char *key;     /* NULL right after a section */
  char *value;   /* of a key, or what more there is of it */
  int result;    /* of the first refusal */
  struct lb_error *err;
  char *data, *next, *end; /* a copy of the file, and what is left of it */
};

/* The whole file, malloc'd, with a NUL behind it. 0, or -errno with one line in err that begins with the path. */
int lb_ini_load(const char *path, char **ret_data, size_t *ret_size, struct lb_error *err);
/* Begins to read what is in memory. Path and err are borrowed. */
void lb_ini_begin(struct lb_ini *ret, const char *path, const char *data, size_t size, struct lb_error *err);
/* The next line that says something; false at the end and after a refusal. */
bool lb_ini_next(struct lb_ini *ini);
/* "FILE:LINE: " and a printf text into err, unless something was refused before. Returns `result`. */
int lb_ini_refuse(struct lb_ini *ini, int result, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same for what may stand once and did so in line `first`: "WHAT stands in line FIRST already". Returns -EINVAL. */
int lb_ini_refuse_twice(struct lb_ini *ini, int first, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same for a line that may not be indented. */
int lb_ini_refuse_indented(struct lb_ini *ini);
/* Forgets the texts. 0, or the result of the first refusal. */
int lb_ini_end(struct lb_ini *ini);

#endif
