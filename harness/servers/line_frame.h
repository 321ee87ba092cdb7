/* SPDX-License-Identifier: MIT
 *
 * line_frame.h - what a line reads in a packet: whose it is, and how much it carries. For the process
 * of a line only.
 */
#ifndef LB_LINE_FRAME_H
#define LB_LINE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lb_frame {
  bool is_tcp, is_udp; /* neither: the rest is 0 */
  uint16_t from_port, to_port;
  const unsigned char *data; /* what it carries, in the frame's own bytes */
  size_t data_bytes;
  bool opens;   /* tcp: a connection begins (SYN) */
  uint32_t seq; /* tcp: number of the first byte that it carries */
};

/* Reads an IPv4 packet with its headers as a tap gives it (line_parts.h). False: it is none, or cut
 * short. A fragment but the first is neither tcp nor udp. */
bool lb_frame_read(const unsigned char *bytes, size_t size, struct lb_frame *ret);

#endif
