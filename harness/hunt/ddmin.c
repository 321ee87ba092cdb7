/* SPDX-License-Identifier: MIT
 *
 * Delta debugging of a list: parts are left out, large ones first. When no part of a size can go, parts become half as large; at size one the list is
 * minimal.
 */
#include "ddmin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t count_of(const bool keep[], size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) kept += keep[i];
  return kept;
}

/* `without` = keep without those from `from` to `to` of the kept ones. */
static void leave_out(const bool keep[], size_t count, size_t from, size_t to, bool without[]) {
  size_t at = 0;
  for (size_t i = 0; i < count; i++) {
    without[i] = keep[i] && (at < from || at >= to);
    at += keep[i];
  }
}

/* Leaves out each part of this size that can go, from the front: what came first is least likely to matter. */
static int pass(bool keep[], size_t count, size_t size, lb_ddmin_test test, void *of, bool without[]) {
  int left_out = 0;
  for (size_t from = 0, kept = count_of(keep, count); from < kept;) {
    size_t to = from + size < kept ? from + size : kept;
    if (to - from == kept) break; /* nothing would be left */
    leave_out(keep, count, from, to, without);
    int r = test(of, without);
    if (r < 0) return r;
    if (r > 0) memcpy(keep, without, count * sizeof *keep), kept -= to - from, left_out = 1;
    else from = to;
  }
  return left_out;
}

int lb_ddmin(bool keep[], size_t count, lb_ddmin_test test, void *of) {
  bool *without = calloc(count + 1, sizeof *without);
  if (!without) return -ENOMEM;
  int r = 0;
  for (size_t size = (count_of(keep, count) + 1) / 2; size > 0 && r >= 0;) {
    r = pass(keep, count, size, test, of, without);
    if (size == 1 && r <= 0) break; /* once more at size one, until nothing goes any more */
    size = size > 1 ? size / 2 : 1;
  }
  free(without);
  return r < 0 ? r : 0;
}

int lb_halve(long long *value, long long least, int (*test)(void *of, long long value), void *of) {
  if (*value <= 0) return 0;
  int r = test(of, 0);
  if (r > 0) *value = 0;
  while (r == 0 && *value / 2 >= least) {
    r = test(of, *value / 2);
    if (r <= 0) break;
    *value /= 2, r = 0;
  }
  return r < 0 ? r : 0;
}
