/* SPDX-License-Identifier: MIT
 *
 * A heap: with jitter a packet may be due before others that came earlier. Each has the number of
 * its coming, so packets of one time leave as they came.
 */
#include "line_queue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static bool before(const struct lb_kept *a, const struct lb_kept *b) { return a->due != b->due ? a->due < b->due : a->order < b->order; }

static int make_room(struct lb_line_queue *q) {
  if (q->count < q->room) return 0;
  size_t room = q->room ? 2 * q->room : 256;
  struct lb_kept **heap = realloc(q->heap, room * sizeof *heap);
  if (!heap) return -ENOMEM;
  q->heap = heap;
  q->room = room;
  return 0;
}

int lb_line_queue_add(struct lb_line_queue *q, struct lb_kept *kept) {
  if (make_room(q) < 0) return -ENOMEM;
  kept->order = q->orders++;
  size_t at = q->count++;
  for (; at > 0 && before(kept, q->heap[(at - 1) / 2]); at = (at - 1) / 2) q->heap[at] = q->heap[(at - 1) / 2];
  q->heap[at] = kept;
  return 0;
}

struct lb_kept *lb_line_queue_first(const struct lb_line_queue *q) { return q->count > 0 ? q->heap[0] : NULL; }

/* The last one sinks from the top to its place. */
struct lb_kept *lb_line_queue_take(struct lb_line_queue *q) {
  if (q->count == 0) return NULL;
  struct lb_kept *first = q->heap[0], *last = q->heap[--q->count];
  size_t at = 0;
  for (size_t child = 1; child < q->count; child = 2 * at + 1) {
    if (child + 1 < q->count && before(q->heap[child + 1], q->heap[child])) child++;
    if (!before(q->heap[child], last)) break;
    q->heap[at] = q->heap[child];
    at = child;
  }
  if (q->count > 0) q->heap[at] = last;
  return first;
}
