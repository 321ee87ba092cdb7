/* SPDX-License-Identifier: MIT
 *
 * The process of a delay line: it takes packets, says what becomes of each, keeps them for their time and
 * sends them on.
 *
 * A packet's time begins when the sender's link had it, by the kernel's stamp. So it is never early, and its wait for
 * this process is in its time. What is left beyond it is the line's own, and is counted. To keep that small the process
 * asks to be woken without slack and before others, and reads and sends many packets in one call.
 */
#include "line.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/need.h"
#include "base/rng.h"

/* What becomes of each packet on a delay line, by its plan: when it is due, or that it is dropped; and what the line
 * has seen, for the controller. */

/* ---- what is in a packet: whose it is, and how much it carries ---------------------------------------
 *
 * Its headers are read byte by byte: nothing is believed of their lengths that is not there. */

struct frame {
  bool is_tcp, is_udp; /* neither: the rest is 0 */
  uint16_t from_port, to_port;
  const unsigned char *data; /* what it carries, in the frame's own bytes */
  size_t data_bytes;
  bool opens;   /* tcp: a connection begins (SYN) */
  uint32_t seq; /* tcp: number of the first byte that it carries */
};

enum { ETHERNET = 14, IP_MIN = 20, UDP_BYTES = 8, TCP_MIN = 20, SYN = 2 };

static unsigned two(const unsigned char *at) { return (unsigned)at[0] << 8 | at[1]; }

static bool read_tcp(const unsigned char *at, size_t size, struct frame *f) {
  size_t header = size >= TCP_MIN ? (size_t)(at[12] >> 4) * 4 : 0;
  if (header < TCP_MIN || header > size) return false;
  f->is_tcp = true;
  f->opens = at[13] & SYN;
  f->seq = (uint32_t)two(at + 4) << 16 | two(at + 6);
  f->data = at + header;
  f->data_bytes = size - header;
  return true;
}

static bool read_udp(const unsigned char *at, size_t size, struct frame *f) {
  if (size < UDP_BYTES) return false;
  f->is_udp = true;
  f->data = at + UDP_BYTES;
  f->data_bytes = size - UDP_BYTES;
  return true;
}

/* What stands behind the length that IP names is padding of a short frame. */
static bool read_frame(const unsigned char *bytes, size_t size, struct frame *f) {
  *f = (struct frame){0};
  if (size < LB_LINE_HEADER + ETHERNET + IP_MIN) return false;
  const unsigned char *ip = bytes + LB_LINE_HEADER + ETHERNET;
  size_t left = size - LB_LINE_HEADER - ETHERNET, header = (size_t)(ip[0] & 15) * 4, total = two(ip + 2);
  if (ip[0] >> 4 != 4 || header < IP_MIN || total < header || total > left) return false;
  if (two(ip + 6) & 0x1fff) return true;
  const unsigned char *at = ip + header;
  bool good = ip[9] == IPPROTO_TCP   ? read_tcp(at, total - header, f)
              : ip[9] == IPPROTO_UDP ? read_udp(at, total - header, f)
                                     : true;
  if (good && (f->is_tcp || f->is_udp)) f->from_port = (uint16_t)two(at), f->to_port = (uint16_t)two(at + 2);
  return good;
}

/* ---- one message on the wire, by its place in its connection ------------------------------------------
 *
 * The first that carries data after so many others of the same connection have passed. It is found once. From then on
 * the connection is known, and all that it sends this way belongs to it: what is sent again, and whatever follows, for
 * TCP would hand nothing of that to its reader before the message has come. Connections are counted from the first
 * packet that is seen of them, each by itself. Where there are more than the table has places for, the others pass and
 * are not counted.
 *
 * A message is what TCP carries in one packet as the sender's host hands it to its link, up to 64 kB; a packet with no
 * bytes that are new to the line (an acknowledgement, one that is sent again) is none. */

enum { CONNECTIONS = 1024 };

struct connection {
  size_t way; /* + 1; 0 = this place is free */
  uint16_t from_port, to_port;
  bool heard;    /* `next` is known */
  uint32_t next; /* number of the first byte that has not been seen */
  unsigned messages;
};

struct picker { /* all zero = nothing was seen */
  struct connection connection[CONNECTIONS];
  const struct connection *picked; /* NULL = not yet */
};

static bool is_of(const struct connection *c, size_t way, const struct frame *f) {
  return c->way == way + 1 && c->from_port == f->from_port && c->to_port == f->to_port;
}

/* NULL = no place is left. */
static struct connection *find(struct picker *p, size_t way, const struct frame *f) {
  size_t at = (way * 31 + f->from_port * 7u + f->to_port) % CONNECTIONS;
  for (size_t tries = 0; tries < CONNECTIONS; tries++, at = (at + 1) % CONNECTIONS) {
    struct connection *c = &p->connection[at];
    if (c->way == 0) *c = (struct connection){.way = way + 1, .from_port = f->from_port, .to_port = f->to_port};
    if (is_of(c, way, f)) return c;
  }
  return NULL;
}

/* True if it carries bytes that were not seen before. */
static bool is_new(struct connection *c, const struct frame *f) {
  uint32_t end = f->seq + (uint32_t)f->data_bytes;
  if (f->data_bytes == 0 || (c->heard && (int32_t)(end - c->next) <= 0)) return false;
  c->heard = true;
  c->next = end;
  return true;
}

/* Whether the message is in this packet of its connection, once more. */
static bool is_again(const struct lb_line_picked *m, const struct frame *f) {
  return f->data_bytes > 0 && m->seq - f->seq < f->data_bytes;
}

static bool follows(const struct picker *p, size_t way, const struct frame *f, struct lb_line_picked *picked) {
  if (!is_of(p->picked, way, f)) return false;
  if (is_again(picked, f)) atomic_fetch_add(&picked->again, 1);
  return true;
}

static bool pick(struct picker *p, unsigned after, size_t way, const struct frame *f, uint64_t now,
                 struct lb_line_picked *picked) {
  if (!f->is_tcp) return false;
  if (p->picked) return follows(p, way, f, picked);
  struct connection *c = find(p, way, f);
  if (c && f->opens) c->heard = false, c->messages = 0; /* another connection with these ports */
  if (!c || !is_new(c, f) || c->messages++ < after) return false;
  p->picked = c;
  picked->way = way;
  picked->at = now;
  picked->from_port = f->from_port;
  picked->to_port = f->to_port;
  picked->bytes = f->data_bytes;
  picked->before = after;
  picked->seq = f->seq;
  atomic_store(&picked->fired, true);
  return true;
}

/* ---- what becomes of each packet -------------------------------------------------------------------
 *
 * What is drawn is drawn for every packet in the order in which they come, from the seed alone.
 *
 * Two packets of one TCP connection never change their order: one that is drawn to be due earlier than the one before
 * it is due with it. So a connection that sends much at once is late by more than the middle of the range. Where two
 * connections fall on one place of the table, they wait for each other in the same way. */

enum { ORDERED = 4096, PURPOSE = 0x6c696e65 };

struct lb_line_fate {
  struct lb_line *line;
  struct lb_rng rng;
  struct picker picker;
  uint64_t latest[ORDERED];              /* when the last packet of a connection is due */
  uint64_t (*taken)[LB_LINE_PROBES_MAX]; /* [way] when each packet of the probe was taken; 0 = not yet */
  bool (*came)[LB_LINE_PROBES_MAX];      /* [way] */
  bool passing;                          /* nothing is kept any more */
};

/* What becomes of each packet on a line, by its plan, and what the line has seen, for the controller. It
 * lives as long as the process. */
static struct lb_line_fate *lb_line_fate_new(struct lb_line *line) {
  struct lb_line_fate *f = lb_need(calloc(1, sizeof *f));
  f->line = line;
  f->rng = lb_rng_fork(line->plan.seed, PURPOSE, (uint64_t)line->number);
  f->taken = lb_need(calloc(line->way_count, sizeof *f->taken));
  f->came = lb_need(calloc(line->way_count, sizeof *f->came));
  return f;
}

/* From now on all pass at once. */
static void lb_line_fate_pass(struct lb_line_fate *f) { f->passing = true; }

/* ---- the probe --------------------------------------------------------------------------------- */

/* Only the probe is no TCP. False: this one is not of the probe. */
static bool probe_number(const struct frame *frame, uint32_t *ret) {
  if (!frame->is_udp || frame->data_bytes != sizeof *ret) return false;
  memcpy(ret, frame->data, sizeof *ret);
  return *ret < LB_LINE_PROBES_MAX;
}

static void note_probe(struct lb_line_fate *f, size_t way, uint32_t number, uint64_t stamp, bool dropped) {
  struct lb_line_seen *seen = &f->line->seen[way];
  f->taken[way][number] = stamp;
  if (number == 0) atomic_store(&seen->probe_taken, stamp);
  if (dropped) atomic_fetch_add(&seen->probes_dropped, 1);
}

/* The line's process alone writes these. */
static void note_trip(struct lb_line_seen *seen, uint64_t took) {
  uint64_t least = atomic_load(&seen->trip_min);
  if (least == 0 || took < least) atomic_store(&seen->trip_min, took);
  if (took > atomic_load(&seen->trip_max)) atomic_store(&seen->trip_max, took);
  atomic_fetch_add(&seen->probes_came, 1);
}

/* Takes the packets of the probe that have come out at the receiver of a way, and notes when. If a packet is seen here
 * before its way in was noted, its trip counts as 1 ns. If a packet comes twice, the first one counts. */
static void lb_line_fate_arrived(struct lb_line_fate *f, size_t way) {
  uint32_t number;
  struct lb_line_seen *seen = &f->line->seen[way];
  while (recv(f->line->far[way], &number, sizeof number, MSG_DONTWAIT) == sizeof number) {
    if (number >= LB_LINE_PROBES_MAX || f->came[way][number]) continue;
    uint64_t now = lb_clock_ns(), taken = f->taken[way][number];
    f->came[way][number] = true;
    if (number == 0) atomic_store(&seen->probe_came, now);
    note_trip(seen, taken && now > taken ? now - taken : 1);
  }
}

/* ---- the plan ---------------------------------------------------------------------------------- */

static bool is_lost(struct lb_line_fate *f) {
  double loss = f->line->plan.loss;
  return loss > 0 && (double)(lb_rng_next(&f->rng) >> 11) * 0x1p-53 < loss;
}

static uint64_t in_order(struct lb_line_fate *f, size_t way, const struct frame *frame, uint64_t due) {
  uint64_t *latest = &f->latest[(way * 1021 + frame->from_port * 31u + frame->to_port) % ORDERED];
  if (!frame->is_tcp) return due;
  if (due < *latest) due = *latest;
  return *latest = due;
}

static uint64_t due_of(struct lb_line_fate *f, size_t way, const struct frame *frame, uint64_t stamp) {
  const struct lb_line_plan *plan = &f->line->plan;
  if (plan->delay_ns == LB_LINE_HOLD) return UINT64_MAX;
  if (plan->jitter_ns == 0) return stamp + plan->delay_ns;
  return in_order(f, way, frame,
                  stamp + plan->delay_ns - plan->jitter_ns + lb_rng_below(&f->rng, 2 * plan->jitter_ns + 1));
}

/* A packet that the sender's link had at `stamp` (ns of lb_clock_ns()), and when it is due. False: it is dropped, or is
 * no packet. */
static bool lb_line_fate(struct lb_line_fate *f, size_t way, const unsigned char *bytes, size_t size, uint64_t stamp,
                         uint64_t *ret_due) {
  const struct lb_line_plan *plan = &f->line->plan;
  struct lb_line_seen *seen = &f->line->seen[way];
  struct frame frame;
  uint32_t number;
  bool good = read_frame(bytes, size, &frame), probe = good && probe_number(&frame, &number);
  bool picked =
      good && plan->pick && !f->passing && pick(&f->picker, plan->after, way, &frame, stamp, &f->line->shared->picked);
  bool drops = good && !f->passing && (picked ? plan->pick == LB_LINE_PICKS_DROPPED : is_lost(f));
  if (!good) return atomic_fetch_add(&seen->lost, 1), false;
  if (probe) note_probe(f, way, number, stamp, drops);
  else atomic_fetch_add(&seen->others, 1), atomic_fetch_add(&seen->dropped, drops);
  if (drops) return false;
  *ret_due = picked ? UINT64_MAX : due_of(f, way, &frame, stamp);
  return true;
}

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
  size_t count;
  uint64_t orders;
};

static bool before(const struct kept *a, const struct kept *b) {
  return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void queue_add(struct queue *q, struct kept *kept) {
  size_t at = q->count;
  LB_APPEND(q->heap, q->count) = kept;
  kept->order = q->orders++;
  for (; at > 0 && before(kept, q->heap[(at - 1) / 2]); at = (at - 1) / 2) q->heap[at] = q->heap[(at - 1) / 2];
  q->heap[at] = kept;
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

static void keep(struct run *run, size_t way, const unsigned char *bytes, size_t size, uint64_t due) {
  static const unsigned char mac[ETH_ALEN] = LB_LINE_MAC_BYTES;
  struct kept *k = lb_need(malloc(sizeof *k + size));
  *k = (struct kept){.due = due, .way = way, .size = size};
  memcpy(k->bytes, bytes, size);
  memcpy(k->bytes + LB_LINE_HEADER + ETH_ALEN, mac, ETH_ALEN); /* the sender's address */
  queue_add(&run->queue, k);
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
