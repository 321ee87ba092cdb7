/* SPDX-License-Identifier: MIT
 *
 * The process of a delay line: it takes packets, says what becomes of each (line_fate.c), keeps them for their time and
 * sends them on.
 *
 * A packet's time begins when the sender's link had it, by the kernel's stamp, so it is never early and what it waits
 * for this process is in its time. What is left beyond it is the line's own, and is counted. To keep that small the
 * process asks to be woken without slack and before others, and reads and sends many packets in one call.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "line.h"

/* ---- the packets that are kept, in the order in which they are due ----------------------------------
 *
 * A heap: with jitter a packet may be due before others that came earlier. Each has the number of its coming, so
 * packets of one time leave as they came. */

struct kept {     /* a packet with its headers */
  uint64_t due;   /* ns of lb_clock_ns(), UINT64_MAX = when the line ends */
  uint64_t order; /* of its coming */
  size_t way, size;
  unsigned char bytes[];
};

struct queue { /* all zero = empty */
  struct kept **heap;
  size_t count, room;
  uint64_t orders;
};

static bool before(const struct kept *a, const struct kept *b) {
  return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static int make_room(struct queue *q) {
  if (q->count < q->room) return 0;
  size_t room = q->room ? 2 * q->room : 256;
  struct kept **heap = realloc(q->heap, room * sizeof *heap);
  if (!heap) return -ENOMEM;
  q->heap = heap;
  q->room = room;
  return 0;
}

static int queue_add(struct queue *q, struct kept *kept) {
  if (make_room(q) < 0) return -ENOMEM;
  kept->order = q->orders++;
  size_t at = q->count++;
  for (; at > 0 && before(kept, q->heap[(at - 1) / 2]); at = (at - 1) / 2) q->heap[at] = q->heap[(at - 1) / 2];
  q->heap[at] = kept;
  return 0;
}

static struct kept *queue_first(const struct queue *q) { return q->count > 0 ? q->heap[0] : NULL; }

/* The last one sinks from the top to its place. */
static struct kept *queue_take(struct queue *q) {
  if (q->count == 0) return NULL;
  struct kept *first = q->heap[0], *last = q->heap[--q->count];
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

enum { TOGETHER = 32, CONTROL_BYTES = 64, EVENTS = 64, COUNT_LOST_MS = 10 };
#define NS_PER_S UINT64_C(1000000000)

struct run {
  const struct lb_line_job *job;
  struct lb_line *line;
  struct queue queue;
  struct lb_line_fate *fate;
  bool passing; /* nothing is kept any more */
  uint64_t counted_at;
  int epoll;
};

/* ---- packets --------------------------------------------------------------------------------- */

/* A packet that cannot be had in memory is lost, as one that the kernel had no room for. */
static void keep(struct run *run, size_t way, const unsigned char *bytes, size_t size, uint64_t due) {
  static const unsigned char mac[ETH_ALEN] = LB_LINE_MAC_BYTES;
  struct kept *k = malloc(sizeof *k + size);
  if (k) {
    *k = (struct kept){.due = due, .way = way, .size = size};
    memcpy(k->bytes, bytes, size);
    memcpy(k->bytes + LB_LINE_HEADER + ETH_ALEN, mac, ETH_ALEN); /* the sender's address */
  }
  if (k && queue_add(&run->queue, k) == 0) return;
  free(k);
  atomic_fetch_add(&run->line->seen[way].lost, 1);
}

/* The kernel stamps by the wall clock. One that was set meanwhile makes nothing early: the packet's
 * time begins now. */
static uint64_t stamp_of(struct msghdr *header, uint64_t wall, uint64_t now) {
  struct timespec ts = {0};
  for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c))
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) memcpy(&ts, CMSG_DATA(c), sizeof ts);
  uint64_t stamp = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
  return stamp < wall && wall - stamp < NS_PER_S ? now - (wall - stamp) : now;
}

static int take_some(struct run *run, size_t way) {
  static unsigned char bytes[TOGETHER][LB_LINE_FRAME_MAX];
  static _Alignas(struct cmsghdr) unsigned char control[TOGETHER][CONTROL_BYTES];
  struct iovec iov[TOGETHER];
  struct mmsghdr message[TOGETHER];
  for (size_t i = 0; i < TOGETHER; i++) {
    iov[i] = (struct iovec){bytes[i], LB_LINE_FRAME_MAX};
    message[i] = (struct mmsghdr){
        .msg_hdr = {.msg_iov = &iov[i], .msg_iovlen = 1, .msg_control = control[i], .msg_controllen = CONTROL_BYTES}};
  }
  int count = recvmmsg(run->job->tap[way], message, TOGETHER, MSG_DONTWAIT, NULL);
  uint64_t wall = lb_clock_wall_ns(), now = lb_clock_ns(), due; /* in this order: a stamp is late rather than early */
  for (int i = 0; i < count; i++)
    if (lb_line_fate(run->fate, way, bytes[i], message[i].msg_len, stamp_of(&message[i].msg_hdr, wall, now), &due))
      keep(run, way, bytes[i], message[i].msg_len, due);
  return count;
}

static void take_all(struct run *run, size_t way) {
  while (take_some(run, way) == TOGETHER) {
  }
}

static void count_lost(struct run *run) {
  for (size_t i = 0; i < run->line->way_count; i++) {
    struct tpacket_stats stats;
    socklen_t size = sizeof stats;
    if (getsockopt(run->job->tap[i], SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0) /* since the last time */
      atomic_fetch_add(&run->line->seen[i].lost, stats.tp_drops);
  }
}

/* The first packets that are due, TOGETHER at most, without those of a way that is silent. */
static size_t take_due(struct run *run, struct kept **kept) {
  size_t count = 0;
  uint64_t now = lb_clock_ns();
  for (struct kept *k; count < TOGETHER && (k = queue_first(&run->queue)) && (run->passing || k->due <= now);) {
    kept[count] = queue_take(&run->queue);
    if (atomic_load(&run->line->seen[kept[count]->way].is_silent)) free(kept[count]);
    else count++;
  }
  return count;
}

static size_t send_some(struct run *run) {
  struct kept *kept[TOGETHER];
  struct sockaddr_ll to[TOGETHER];
  struct iovec iov[TOGETHER];
  struct mmsghdr message[TOGETHER];
  size_t count = take_due(run, kept);
  for (size_t i = 0; i < count; i++) {
    to[i] = (struct sockaddr_ll){
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_ifindex = run->job->interface[kept[i]->way]};
    iov[i] = (struct iovec){kept[i]->bytes, kept[i]->size};
    message[i] = (struct mmsghdr){
        .msg_hdr = {.msg_name = &to[i], .msg_namelen = sizeof to[i], .msg_iov = &iov[i], .msg_iovlen = 1}};
  }
  for (size_t sent = 0; sent < count;) {
    int n = sendmmsg(run->job->out, message + sent, (unsigned)(count - sent), 0);
    if (n <= 0) atomic_fetch_add(&run->line->seen[kept[sent]->way].lost, 1), n = 1;
    sent += (size_t)n;
  }
  uint64_t now = count > 0 ? lb_clock_ns() : 0;
  for (size_t i = 0; i < count; i++) {
    if (!run->passing) lb_hist_add(&run->line->shared->own, now - kept[i]->due);
    free(kept[i]);
  }
  return count;
}

static void send_due(struct run *run) {
  while (send_some(run) == TOGETHER) {
  }
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* A byte: all that is there by now is sent before it is answered. Its end: the same, and then there
 * is nothing left to do. */
static void listen_to(struct run *run) {
  char byte;
  ssize_t n = recv(run->job->talk, &byte, 1, 0);
  if (n < 0) return;
  run->passing = true;
  lb_line_fate_pass(run->fate);
  for (size_t i = 0; i < run->line->way_count; i++) take_all(run, i);
  count_lost(run);
  send_due(run);
  if (n == 0) _exit(0);
  if (send(run->job->talk, &byte, 1, MSG_NOSIGNAL) != 1) _exit(1);
}

static int wait_for_more(struct run *run, struct epoll_event *event) {
  struct timespec left = {0};
  uint64_t now = lb_clock_ns();
  const struct kept *first = queue_first(&run->queue);
  bool due = first && first->due != UINT64_MAX;
  if (due && first->due > now) {
    left.tv_sec = (time_t)((first->due - now) / NS_PER_S);
    left.tv_nsec = (long)((first->due - now) % NS_PER_S);
  }
  return epoll_pwait2(run->epoll, event, EVENTS, due ? &left : NULL, NULL);
}

/* What an event is of: its number is 0 for the controller, odd for a tap, even for the receiver's
 * end of a probe. */
static void watch(struct run *run, int fd, size_t number) {
  struct epoll_event e = {.events = EPOLLIN, .data.u64 = number};
  if (epoll_ctl(run->epoll, EPOLL_CTL_ADD, fd, &e) < 0) _exit(1);
}

static void watch_all(struct run *run) {
  if ((run->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0) _exit(1);
  watch(run, run->job->talk, 0);
  for (size_t i = 0; i < run->line->way_count; i++)
    watch(run, run->job->tap[i], 2 * i + 1), watch(run, run->line->far[i], 2 * i + 2);
}

/* The kernel delays no packet because programs are busy; a line should not either. Without the right
 * to it, it is a program like others. */
static void be_quick(void) {
  struct sched_param first = {.sched_priority = 1};
  prctl(PR_SET_TIMERSLACK, 1UL);
  sched_setscheduler(0, SCHED_FIFO, &first);
}

void lb_line_run(const struct lb_line_job *job) {
  struct run run = {.job = job, .line = job->line, .fate = lb_line_fate_new(job->line)};
  struct epoll_event event[EVENTS];
  if (!run.fate) _exit(1);
  watch_all(&run);
  be_quick();
  for (;;) {
    int count = wait_for_more(&run, event);
    bool told = false;
    for (int i = 0; i < count; i++) {
      uint64_t number = event[i].data.u64;
      if (number == 0) told = true;
      else if (number % 2) take_all(&run, (number - 1) / 2);
      else lb_line_fate_arrived(run.fate, (number - 2) / 2);
    }
    send_due(&run);
    if (told) listen_to(&run);
    if (lb_clock_ns() - run.counted_at > COUNT_LOST_MS * UINT64_C(1000000))
      count_lost(&run), run.counted_at = lb_clock_ns();
  }
}
