/* SPDX-License-Identifier: MIT
 *
 * line_queue.h - the packets that a line keeps, in the order in which they are due; those that are
 * due at once, in the order in which they came. For the process of a line only.
 */
#ifndef LB_LINE_QUEUE_H
#define LB_LINE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct lb_kept { /* a packet with its headers */
  uint64_t due;   /* ns of lb_clock_ns(), UINT64_MAX = when the line ends */
  uint64_t order; /* of its coming */
  size_t way, size;
  unsigned char bytes[];
};

struct lb_line_queue { /* all zero = empty */
  struct lb_kept **heap;
  size_t count, room;
  uint64_t orders;
};

/* It owns the packet, which is from malloc, from now on. 0, or -ENOMEM: then it does not. */
int lb_line_queue_add(struct lb_line_queue *queue, struct lb_kept *kept);
/* The one that is due first; NULL = empty. It stays in the queue. */
struct lb_kept *lb_line_queue_first(const struct lb_line_queue *queue);
/* Takes it out; it is the caller's to free. NULL = empty. */
struct lb_kept *lb_line_queue_take(struct lb_line_queue *queue);

#endif
