/* SPDX-License-Identifier: MIT
 *
 * What operations are called elsewhere: a table that lasts as long as the process, as it comes from its command line.
 */
#include "history_names.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "history_ops.h"

enum { NAMES_MAX = 16 };
static struct {
  const char *text;
  size_t length;
  int f;
} names[NAMES_MAX];
static size_t name_count;

int lb_history_names_set(const char *as, struct lb_error *err) {
  char word[40];
  for (const char *at = as; *at; name_count++) {
    size_t length = strcspn(at, ","), name = strcspn(at, "=,");
    snprintf(word, sizeof word, "%.*s", name < length ? (int)(length - name - 1) : 0, at + name + 1);
    int f = 0;
    while (f < LB_OP_F_COUNT && strcmp(lb_op_fs[f], word) != 0) f++;
    const char *near = lb_text_suggest(word, lb_op_fs, LB_OP_F_COUNT);
    if (name == 0 || f == LB_OP_F_COUNT || name_count == NAMES_MAX)
      return lb_refuse(err, "found '%.*s', expected NAME=acquire, NAME=release, NAME=refresh or NAME=extend%s%s%s",
                       (int)length, at, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    names[name_count].text = at, names[name_count].length = name, names[name_count].f = f;
    at += length + (at[length] == ',');
  }
  return 0;
}

int lb_history_names_find(const char *text) {
  for (size_t i = 0; i < name_count; i++)
    if (strlen(text) == names[i].length && memcmp(text, names[i].text, names[i].length) == 0) return names[i].f;
  return -1;
}
