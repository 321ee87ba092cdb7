/* SPDX-License-Identifier: MIT
 *
 * The headers of a packet, read byte by byte: nothing is believed of their lengths that is not there.
 */
#include "line_frame.h"

#include <netinet/in.h>

#include "line_parts.h"

enum { ETHERNET = 14, IP_MIN = 20, UDP_BYTES = 8, TCP_MIN = 20, SYN = 2 };

static unsigned two(const unsigned char *at) { return (unsigned)at[0] << 8 | at[1]; }

static bool read_tcp(const unsigned char *at, size_t size, struct lb_frame *f) {
  size_t header = size >= TCP_MIN ? (size_t)(at[12] >> 4) * 4 : 0;
  if (header < TCP_MIN || header > size) return false;
  f->is_tcp = true;
  f->opens = at[13] & SYN;
  f->seq = (uint32_t)two(at + 4) << 16 | two(at + 6);
  f->data = at + header;
  f->data_bytes = size - header;
  return true;
}

static bool read_udp(const unsigned char *at, size_t size, struct lb_frame *f) {
  if (size < UDP_BYTES) return false;
  f->is_udp = true;
  f->data = at + UDP_BYTES;
  f->data_bytes = size - UDP_BYTES;
  return true;
}

/* What stands behind the length that IP names is padding of a short frame. */
bool lb_frame_read(const unsigned char *bytes, size_t size, struct lb_frame *f) {
  *f = (struct lb_frame){0};
  if (size < LB_LINE_HEADER + ETHERNET + IP_MIN) return false;
  const unsigned char *ip = bytes + LB_LINE_HEADER + ETHERNET;
  size_t left = size - LB_LINE_HEADER - ETHERNET, header = (size_t)(ip[0] & 15) * 4, total = two(ip + 2);
  if (ip[0] >> 4 != 4 || header < IP_MIN || total < header || total > left) return false;
  if (two(ip + 6) & 0x1fff) return true;
  const unsigned char *at = ip + header;
  bool good = ip[9] == IPPROTO_TCP ? read_tcp(at, total - header, f) : ip[9] == IPPROTO_UDP ? read_udp(at, total - header, f) : true;
  if (good && (f->is_tcp || f->is_udp)) f->from_port = (uint16_t)two(at), f->to_port = (uint16_t)two(at + 2);
  return good;
}
