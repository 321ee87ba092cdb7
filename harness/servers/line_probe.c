/* SPDX-License-Identifier: MIT
 *
 * The proof of a delay line: datagrams of our own on each way, each with its number. They go through the sockets and the
 * rules of both hosts like everybody's packets; the process of the line stamps them when they come
 * out of the receiver's socket.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "host_socket.h"
#include "line.h"

enum { FAR_BYTES = 16 << 20 };

int lb_line_probe_open(struct lb_line *line) {
  int bytes = FAR_BYTES;
  for (size_t i = 0; i < line->way_count; i++) {
    if ((line->near[i] = lb_host_datagram(line->way[i].from)) < 0) return line->near[i];
    if ((line->far[i] = lb_host_datagram(line->way[i].to)) < 0) return line->far[i];
    setsockopt(line->far[i], SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes); /* they may come all at once */
  }
  return 0;
}

void lb_line_probe_close(struct lb_line *line) {
  for (size_t i = 0; i < line->way_count; i++) {
    if (line->near[i] >= 0) close(line->near[i]);
    if (line->far[i] >= 0) close(line->far[i]);
    line->near[i] = line->far[i] = -1;
  }
}

/* From one socket to the address of the other. */
static int send_to(int from, int to, const void *bytes, size_t count) {
  struct sockaddr_in sin;
  socklen_t size = sizeof sin;
  if (getsockname(to, (struct sockaddr *)&sin, &size) < 0) return -errno;
  return sendto(from, bytes, count, 0, (struct sockaddr *)&sin, size) == (ssize_t)count ? 0 : -errno;
}

int lb_line_probe(struct lb_line *line, unsigned packets) {
  int r = 0;
  line->probed_at = lb_clock_ns();
  line->probes = packets;
  for (uint32_t n = 0; n < packets && r == 0; n++)
    for (size_t i = 0; i < line->way_count && r == 0; i++) r = send_to(line->near[i], line->far[i], &n, sizeof n);
  return r;
}

/* From when the line had it, which is after it was sent: so a trip was at least as long as this says.
 * One that came by another way is as long as it seems. */
bool lb_line_trip(const struct lb_line *line, size_t i, uint64_t *ret_ns) {
  uint64_t came = atomic_load(&line->seen[i].probe_came), taken = atomic_load(&line->seen[i].probe_taken);
  uint64_t from = taken ? taken : line->probed_at, to = came ? came : lb_clock_ns();
  *ret_ns = to > from ? to - from : 0;
  return came != 0;
}

/* Each has a number: one that was sent earlier and comes now is not taken for this one. */
uint64_t lb_line_trip_back(struct lb_line *line, size_t i, int timeout_ms) {
  struct pollfd p = {.fd = line->near[i], .events = POLLIN};
  char number = (char)++line->trips_back, byte;
  uint64_t sent_at = lb_clock_ns();
  if (send_to(line->far[i], line->near[i], &number, 1) < 0) return UINT64_MAX;
  while (poll(&p, 1, timeout_ms) > 0)
    if (recv(line->near[i], &byte, 1, MSG_DONTWAIT) == 1 && byte == number) return lb_clock_ns() - sent_at;
  return UINT64_MAX;
}
