/* SPDX-License-Identifier: MIT
 *
 * Times in a story: moments count from its first event, lengths from nothing.
 */
#include "explain_parts.h"

#define MS 1e6

double lb_explain_since_start(const struct lb_teller *t, uint64_t ns) {
  return ((double)ns - (double)t->h->events[0].t) / MS;
}

void lb_explain_time(const struct lb_teller *t, uint64_t ns) {
  fprintf(t->out, "%+.*f ms", t->decimals, lb_explain_since_start(t, ns));
}

void lb_explain_length(uint64_t ns, FILE *out) {
  fprintf(out, "%.*f ms", ns >= 10000000 ? 1 : ns >= 10000 ? 3 : 6, (double)ns / MS);
}
