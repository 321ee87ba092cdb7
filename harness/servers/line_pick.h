/* SPDX-License-Identifier: MIT
 *
 * line_pick.h - one message on the wire, by its place in its connection: the first that carries data
 * after so many others of the same connection have passed. It is found once. From then on the
 * connection is known, and all that it sends this way belongs to it: what is sent again, and
 * whatever follows, for TCP would hand nothing of that to its reader before the message has come. For
 * the process of a line only.
 *
 * A message is what TCP carries in one packet as the sender's host hands it to its link, up to 64 kB;
 * a packet with no bytes that are new to the line (an acknowledgement, one that is sent again) is none.
 */
#ifndef LB_LINE_PICK_H
#define LB_LINE_PICK_H

#include "line.h"
#include "line_frame.h"

enum { LB_PICK_CONNECTIONS = 1024 };

struct lb_pick_connection {
  size_t way; /* + 1; 0 = this place is free */
  uint16_t from_port, to_port;
  bool heard;    /* `next` is known */
  uint32_t next; /* number of the first byte that has not been seen */
  unsigned messages;
};

struct lb_line_picker { /* all zero = nothing was seen */
  struct lb_pick_connection connection[LB_PICK_CONNECTIONS];
  const struct lb_pick_connection *picked; /* NULL = not yet */
};

/* Whether this packet, taken at `now` on a way, is the message or comes after it in its connection.
 * `after`: so many pass before. The message itself is put into *picked. */
bool lb_line_pick(struct lb_line_picker *picker, unsigned after, size_t way, const struct lb_frame *frame, uint64_t now,
                  struct lb_line_picked *picked);

#endif
