/* SPDX-License-Identifier: MIT
 *
 * line.h - delay lines of a trial's network: packets from one host to another arrive later, in their order, also on
 * existing connections. Or some are lost, or one connection receives nothing more from one message on. Only this
 * direction of these two hosts is touched.
 *
 * A line delays packets as a long wire does, so TCP's acknowledgements are late as well: see
 * lb_net_be_patient() for what hosts need to put up with that. Packets pass a line before a cut: one that
 * arrives where a cut has been made meanwhile is dropped.
 *
 * All calls belong to the controller's thread. The process of a line dies with the trial.
 */
#ifndef LB_LINE_H
#define LB_LINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/hist.h"
#include "cut.h"
#include "net.h"

#define LB_LINE_HOLD UINT64_MAX /* a delay that ends when the line does */
#define LB_LINE_PROBES_MAX 10000

/* The packets that a line keeps or drops: all, or those of one connection from one message on (line_run.c). Other
 * packets then pass at once. */
enum lb_line_pick { LB_LINE_PICKS_NONE, LB_LINE_PICKS_DROPPED, LB_LINE_PICKS_HELD };

struct lb_line_plan { /* what a line does to the packets on its ways */
  uint64_t delay_ns;  /* LB_LINE_HOLD: until it ends; 0 where it picks */
  uint64_t
      jitter_ns; /* each packet's delay is uniform in delay_ns - jitter_ns .. delay_ns + jitter_ns; packets of one connection keep their order */
  double loss;   /* so many of all packets are lost, from 0 to 1; drawn for each */
  uint64_t seed; /* of what is drawn */
  enum lb_line_pick pick;
  unsigned after; /* so many messages of the connection pass before the one that is picked */
};

struct lb_line_seen {                /* on one way, by the line's process; times in ns of lb_clock_ns(), 0 = not yet */
  atomic_uint_least64_t probe_taken; /* the line has the first packet of the probe */
  atomic_uint_least64_t probe_came;  /* the other host has it */
  atomic_uint_least64_t probes_came, probes_dropped; /* of all packets of the probe; dropped as the plan says */
  atomic_uint_least64_t trip_min, trip_max;          /* of those that came: how long they took; 0, 0 = none did */
  atomic_uint_least64_t others;                      /* packets of others that were taken */
  atomic_uint_least64_t dropped;                     /* of these, dropped as the plan says */
  atomic_uint_least64_t lost;                        /* packets that this machine was too slow to take */
  atomic_bool is_silent;                             /* set by lb_line_silence() */
};

struct lb_line_picked { /* the message, once there was one */
  atomic_bool fired;    /* the rest is known */
  size_t way;
  uint64_t at; /* when it was taken */
  uint16_t from_port, to_port;
  uint64_t bytes;    /* of the message: what TCP carried in this packet */
  unsigned before;   /* messages of this connection that had passed */
  uint32_t seq;      /* of its first byte */
  atomic_uint again; /* how often it was sent again: who got it would have acknowledged it */
};

struct lb_line_shared { /* written by the line's process */
  struct lb_line_picked picked;
  /* What the line itself added to the delay of each packet, in ns. To be read after lb_line_pass(). */
  struct lb_hist own;
  struct lb_line_seen seen[]; /* [way_count] */
};

struct lb_line {     /* one that holds */
  const void *owner; /* whatever the caller finds it by */
  int number;        /* from 1 in this net; never used again */
  struct lb_line_plan plan;
  struct lb_way *way; /* each stands in no other line */
  size_t way_count;
  bool is_told, is_proved; /* the caller's: a new line has false */
  uint64_t probed_at;      /* when lb_line_probe() was called, 0 = not yet */
  unsigned probes;         /* how many packets it has on each way */
  unsigned trips_back;     /* how many were asked for */
  struct lb_line_shared *shared;
  struct lb_line_seen *seen; /* [way_count], in `shared` */
  int *near, *far;           /* [way_count] sockets of the probe, on the two hosts of each way */
  pid_t process;
  int talk; /* to the process: one byte = send on all at once; its end = end */
  struct lb_line *older;
};

/* From now on what goes these ways is treated as the plan says: late packets are never early. 0, and *ret until it
 * ends; or -errno with err. Then nothing is late, or, if a host would not take back what it had done,
 * the line stands in net->lines. -EBUSY: one of the ways has a line already. */
struct lb_line *lb_line_make(struct lb_net *net, const void *owner, const struct lb_way *ways, size_t count,
                             const struct lb_line_plan *plan, struct lb_error *err);
/* The line on this way; NULL = none. */
struct lb_line *lb_line_on(const struct lb_net *net, const struct lb_host *from, const struct lb_host *to);
/* Where lines are on these ways, from now on (or no longer) what is due is dropped. It acts at once: the rules of a cut
 * take tens of milliseconds, and on a busy machine more than a line may be late. */
void lb_line_silence(const struct lb_net *net, const struct lb_way *ways, size_t count, bool is_silent);
/* Sends all that is kept on at once, and from now on whatever comes. 0, or -errno with err. */
int lb_line_pass(struct lb_line *line, struct lb_error *err);
/* Undoes the line and frees it; what it keeps is passed on, nothing is lost. 0, or -errno with err:
 * then it still stands in net->lines. */
int lb_line_end(struct lb_net *net, struct lb_line *line, struct lb_error *err);
/* Ends the processes and frees what is known of lines, without touching a rule: their hosts are
 * gone. */
void lb_line_forget_all(struct lb_net *net);

/* ---- the probe: packets of our own on each way -------------------------------- */

/* Sends so many on every way, at most LB_LINE_PROBES_MAX; once per line. 0, or -errno. */
int lb_line_probe(struct lb_line *line, unsigned packets);
/* Whether the first of way i has come, and the time that it took at least; until then *ret_ns is how long
 * it has been on its way by now. */
bool lb_line_trip(const struct lb_line *line, size_t i, uint64_t *ret_ns);
/* Sends one the other way and waits for it: its time, or UINT64_MAX if it has not come by
 * timeout_ms. */
uint64_t lb_line_trip_back(struct lb_line *line, size_t i, int timeout_ms);

/* ---- private to line*.c --------------------------------------------------------------------------- */

/* What comes from a line has this address in its Ethernet header: so the rules at the receiver know
 * it from what came straight. (Locally administered; no link of a trial has it.) */
#define LB_LINE_MAC "02:6c:62:64:6c:79"
#define LB_LINE_MAC_BYTES                                                                                              \
  { 0x02, 0x6c, 0x62, 0x64, 0x6c, 0x79 }

/* How the line's process reads and sends frames: behind the kernel's own header (virtio_net_hdr), so
 * that large segments and unfinished checksums pass as they are. */
enum { LB_LINE_HEADER = 10, LB_LINE_FRAME_MAX = LB_LINE_HEADER + 14 + 65536 };

struct lb_line_job { /* what the process of a line works with */
  struct lb_line *line;
  const int *tap;       /* [way_count] what the sender of a way sends to its receiver, as copies */
  const int *interface; /* [way_count] number of the link to the receiver */
  int out;              /* a socket that sends frames */
  int talk;             /* the process's end */
};

/* Takes, keeps and sends on until `talk` ends. */
_Noreturn void lb_line_run(const struct lb_line_job *job);

#endif
