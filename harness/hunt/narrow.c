/* SPDX-License-Identifier: MIT
 *
 * A window is found from inside: its lower end between the shortest length and the one that is known to break, its upper end between that and the longest.
 */
#include "narrow.h"

#include <stdio.h>

enum lb_hunt_length lb_hunt_length_of(const struct lb_hunt_timeline *t) {
  for (size_t i = 0; i < t->fault_count; i++)
    if (t->fault[i].undo == LB_HUNT_MID) return LB_HUNT_OF_MID;
  return LB_HUNT_OF_WRITE;
}

/* In tenths: of two lengths of which one breaks and the other does not, the last one that breaks. 0 or negative. */
static int bisect(lb_hunt_probe *probe, void *of, int64_t breaks, int64_t holds, int64_t *ret) {
  while (breaks - holds > 1 || holds - breaks > 1) {
    int64_t middle = (breaks + holds) / 2;
    int r = probe(of, middle * LB_HUNT_TENTH_MS);
    if (r < 0) return r;
    if (r > 0) breaks = middle;
    else holds = middle;
  }
  *ret = breaks;
  return 0;
}

/* Whether the farthest length breaks, too; else where the end is. 0 or negative. */
static int find_end(lb_hunt_probe *probe, void *of, int64_t start, int64_t farthest, int64_t *ret_ms, bool *ret_open) {
  int64_t end = start;
  int r = start == farthest ? 1 : probe(of, farthest * LB_HUNT_TENTH_MS);
  if (r < 0) return r;
  *ret_open = r > 0;
  if (r == 0 && (r = bisect(probe, of, start, farthest, &end)) < 0) return r;
  *ret_ms = (*ret_open ? farthest : end) * LB_HUNT_TENTH_MS;
  return 0;
}

int lb_hunt_narrow(lb_hunt_probe *probe, void *of, int64_t start_ms, int64_t most_ms, struct lb_hunt_range *ret) {
  int64_t start = (start_ms + LB_HUNT_TENTH_MS / 2) / LB_HUNT_TENTH_MS, most = most_ms / LB_HUNT_TENTH_MS;
  if (start < 1) start = 1;
  if (most < start) most = start;
  ret->known = false;
  int r = probe(of, start * LB_HUNT_TENTH_MS);
  if (r <= 0) return r;
  r = find_end(probe, of, start, 1, &ret->from_ms, &ret->from_open);
  if (r == 0) r = find_end(probe, of, start, most, &ret->to_ms, &ret->to_open);
  ret->known = r == 0;
  return r;
}

bool lb_hunt_range_tells(const struct lb_hunt_range *r) {
  return r->known && (r->length == LB_HUNT_OF_MID || !r->from_open || !r->to_open);
}

void lb_hunt_range_say(const struct lb_hunt_range *r, char *buf, size_t size) {
  static const char *const what[] = {[LB_HUNT_OF_MID] = "breaks if what is undone before a takeover lasts", [LB_HUNT_OF_WRITE] = "breaks if a contender is given"};
  const char *more = r->length == LB_HUNT_OF_WRITE ? " to write" : "";
  double from = (double)r->from_ms / 1000, to = (double)r->to_ms / 1000;
  if (r->from_open && r->to_open) snprintf(buf, size, "%s anything from %.1f to %.1f s%s, which is all that was tried", what[r->length], from, to, more);
  else if (r->from_open) snprintf(buf, size, "%s at most %.1f s%s", what[r->length], to, more);
  else if (r->to_open) snprintf(buf, size, "%s at least %.1f s%s (tried up to %.1f s)", what[r->length], from, more, to);
  else snprintf(buf, size, "%s from %.1f to %.1f s%s", what[r->length], from, to, more);
}
