/* SPDX-License-Identifier: MIT */
#include "counts.h"

#include <stdio.h>
#include <string.h>

void lb_counts_add(struct lb_counts *counts, const char *what, uint64_t n) {
  size_t i = 0;
  while (i < counts->size && strcmp(counts->count[i].what, what) != 0) i++;
  if (i == LB_COUNTS_MAX) return;
  if (i == counts->size) {
    snprintf(counts->count[i].what, sizeof counts->count[i].what, "%s", what);
    counts->count[i].n = 0;
    counts->size++;
  }
  counts->count[i].n += n;
}

uint64_t lb_counts_of(const struct lb_counts *counts, const char *what) {
  for (size_t i = 0; i < counts->size; i++)
    if (strcmp(counts->count[i].what, what) == 0) return counts->count[i].n;
  return 0;
}
