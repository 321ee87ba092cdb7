/* SPDX-License-Identifier: MIT
 *
 * The process of a delay line. Every packet is kept for the same time, so they are due in the order
 * in which they came: one queue for all ways of the line.
 *
 * A packet's time begins when it is read here, so it is never early. Frames are read and sent with
 * the kernel's own header in front of them (virtio_net_hdr): large segments and unfinished
 * checksums pass as they are.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "line_parts.h"

enum {
  HEADER = sizeof(struct virtio_net_hdr),
  FRAME_MAX = HEADER + ETH_HLEN + 65536,
  PROTOCOL_AT = HEADER + ETH_HLEN + 9, /* of the IP header */
};
#define NS_PER_S UINT64_C(1000000000)

struct kept { /* a packet with its headers */
  struct kept *next;
  uint64_t due;
  size_t way, size;
  unsigned char bytes[];
};

struct run {
  const struct lb_line_job *job;
  const struct lb_line *line;
  struct kept *first, **end;
  bool passing; /* nothing is kept any more */
};

/* ---- packets --------------------------------------------------------------------------------- */

/* A packet that cannot be had in memory is lost, as one that the kernel had no room for. */
static void keep(struct run *run, size_t way, const unsigned char *bytes, size_t size) {
  static const unsigned char mac[ETH_ALEN] = LB_LINE_MAC_BYTES;
  struct lb_line_seen *seen = &run->line->seen[way];
  struct kept *k = size > PROTOCOL_AT ? malloc(sizeof *k + size) : NULL;
  if (!k) {
    atomic_fetch_add(&seen->lost, 1);
    return;
  }
  uint64_t now = lb_clock_ns();
  *k = (struct kept){.due = run->line->delay_ns == LB_LINE_HOLD ? UINT64_MAX : now + run->line->delay_ns, .way = way, .size = size};
  memcpy(k->bytes, bytes, size);
  memcpy(k->bytes + HEADER + ETH_ALEN, mac, ETH_ALEN); /* the sender's address */
  if (bytes[PROTOCOL_AT] != IPPROTO_UDP) atomic_fetch_add(&seen->others, 1); /* only the probe is no TCP */
  else if (atomic_load(&seen->probe_taken) == 0) atomic_store(&seen->probe_taken, now);
  *run->end = k;
  run->end = &k->next;
}

static void take_all(struct run *run, size_t way) {
  static unsigned char bytes[FRAME_MAX];
  ssize_t size;
  while ((size = recv(run->job->tap[way], bytes, sizeof bytes, MSG_DONTWAIT)) > 0) keep(run, way, bytes, (size_t)size);
}

static void count_lost(struct run *run, size_t way) {
  struct tpacket_stats stats;
  socklen_t size = sizeof stats;
  if (getsockopt(run->job->tap[way], SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0) /* since the last time */
    atomic_fetch_add(&run->line->seen[way].lost, stats.tp_drops);
}

static void send_due(struct run *run) {
  uint64_t now = lb_clock_ns();
  while (run->first && (run->passing || run->first->due <= now)) {
    struct kept *k = run->first;
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_ifindex = run->job->interface[k->way]};
    if (sendto(run->job->out, k->bytes, k->size, 0, (struct sockaddr *)&to, sizeof to) < 0)
      atomic_fetch_add(&run->line->seen[k->way].lost, 1);
    run->first = k->next;
    if (!run->first) run->end = &run->first;
    free(k);
  }
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* The probe's packet at its other end. It is seen here and not by the controller, which would only
 * know when it looked. */
static void look_for_probe(struct run *run, size_t way) {
  char byte;
  uint64_t unset = 0;
  if (recv(run->line->far[way], &byte, 1, MSG_DONTWAIT) == 1)
    atomic_compare_exchange_strong(&run->line->seen[way].probe_came, &unset, lb_clock_ns());
}

/* A byte: all that is there by now is sent before it is answered. Its end: the same, and then there
 * is nothing left to do. */
static void listen_to(struct run *run) {
  char byte;
  ssize_t n = recv(run->job->talk, &byte, 1, 0);
  if (n < 0) return;
  run->passing = true;
  for (size_t i = 0; i < run->line->way_count; i++) take_all(run, i), count_lost(run, i);
  send_due(run);
  if (n == 0) _exit(0);
  if (send(run->job->talk, &byte, 1, MSG_NOSIGNAL) != 1) _exit(1);
}

static void wait_for_more(struct run *run, struct pollfd *fd, size_t count) {
  struct timespec left = {0};
  uint64_t now = lb_clock_ns();
  bool due = run->first && run->first->due != UINT64_MAX;
  if (due && run->first->due > now) {
    left.tv_sec = (time_t)((run->first->due - now) / NS_PER_S);
    left.tv_nsec = (long)((run->first->due - now) % NS_PER_S);
  }
  if (ppoll(fd, count, due ? &left : NULL, NULL) < 0) /* interrupted: nothing is known of the others */
    for (size_t i = 0; i < count; i++) fd[i].revents = 0;
}

void lb_line_run(const struct lb_line_job *job) {
  struct run run = {.job = job, .line = job->line, .end = &run.first};
  size_t ways = job->line->way_count;
  struct pollfd *fd = calloc(1 + 2 * ways, sizeof *fd);
  if (!fd) _exit(1);
  fd[0] = (struct pollfd){.fd = job->talk, .events = POLLIN};
  for (size_t i = 0; i < ways; i++) {
    fd[1 + 2 * i] = (struct pollfd){.fd = job->tap[i], .events = POLLIN};
    fd[2 + 2 * i] = (struct pollfd){.fd = job->line->far[i], .events = POLLIN};
  }
  for (;;) {
    wait_for_more(&run, fd, 1 + 2 * ways);
    for (size_t i = 0; i < ways; i++) {
      if (fd[1 + 2 * i].revents) take_all(&run, i), count_lost(&run, i);
      if (fd[2 + 2 * i].revents) look_for_probe(&run, i);
    }
    send_due(&run);
    if (fd[0].revents) listen_to(&run);
  }
}
