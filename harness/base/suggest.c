/* SPDX-License-Identifier: MIT
 *
 * Optimal string alignment: insertions, deletions, replacements and swaps of neighbours cost one
 * each. A swap counts once because "acquier" for "acquire" is one slip of the fingers, not two.
 */
#include "suggest.h"

#include <stdint.h>
#include <string.h>

#define WORD_MAX 64 /* nobody mistypes a longer word of ours; bounds the work on hostile input */

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

const char *lb_suggest(const char *word, const char *const *words, size_t count) {
  const char *nearest = NULL;
  size_t len = strlen(word), nearest_distance = SIZE_MAX;
  size_t limit = len / 3 > 2 ? len / 3 : 2;
  if (len == 0 || len > WORD_MAX) return NULL;
  for (size_t i = 0; i < count; i++) {
    size_t known_len = strlen(words[i]);
    if (known_len > WORD_MAX) continue;
    size_t d = distance(word, len, words[i], known_len);
    /* d == len: nothing in common; "x" is not a misspelt "pg". */
    if (d > limit || d >= len || d >= nearest_distance) continue;
    nearest = words[i];
    nearest_distance = d;
  }
  return nearest;
}
