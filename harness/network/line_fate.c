/* SPDX-License-Identifier: MIT
 *
 * What becomes of each packet on a delay line, by its plan: when it is due, or that it is dropped; and what the line
 * has seen, for the controller.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/rng.h"
#include "line.h"

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

struct lb_line_fate *lb_line_fate_new(struct lb_line *line) {
  struct lb_line_fate *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  f->line = line;
  f->rng = lb_rng_fork(line->plan.seed, PURPOSE, (uint64_t)line->number);
  f->taken = calloc(line->way_count, sizeof *f->taken);
  f->came = calloc(line->way_count, sizeof *f->came);
  return f->taken && f->came ? f : NULL;
}

void lb_line_fate_pass(struct lb_line_fate *f) { f->passing = true; }

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

/* One that came straight was not taken yet, or at the same time: it is as if it had taken 1 ns. Of one that comes twice
 * the first counts. */
void lb_line_fate_arrived(struct lb_line_fate *f, size_t way) {
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

bool lb_line_fate(struct lb_line_fate *f, size_t way, const unsigned char *bytes, size_t size, uint64_t stamp,
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
