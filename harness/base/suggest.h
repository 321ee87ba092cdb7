/* SPDX-License-Identifier: MIT
 *
 * suggest.h - "did you mean ...?": the nearest known word, by edit distance (Levenshtein with
 * swaps).
 */
#ifndef LB_SUGGEST_H
#define LB_SUGGEST_H

#include <stddef.h>

/* The word of words[0..count) nearest to `word`, or NULL if none is near (distance above a third of
 * its length, at least 2). */
const char *lb_suggest(const char *word, const char *const *words, size_t count);

#endif
