/* SPDX-License-Identifier: MIT
 *
 * line.h - delay lines of a trial's network: what one host sends to another arrives later, in its
 * order, also on connections that exist. Only this direction is late, and nobody else's packets.
 *
 * A line delays packets as a long wire does, so TCP's acknowledgements are late as well: see
 * patience.h for what hosts need to put up with that. Packets pass a line before a cut: one that
 * arrives where a cut has been made meanwhile is dropped.
 *
 * All calls belong to the controller's thread. The process of a line dies with the trial.
 */
#ifndef LB_LINE_H
#define LB_LINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "net.h"
#include "rules.h"

#define LB_LINE_HOLD UINT64_MAX /* a delay that ends when the line does */

struct lb_line_seen { /* on one way, by the line's process; in ns of lb_clock_ns(), 0 = not yet */
  atomic_uint_least64_t probe_taken; /* the line has the probe's packet */
  atomic_uint_least64_t probe_came;  /* the other host has it */
  atomic_uint_least64_t others;      /* packets of others that were kept for their time */
  atomic_uint_least64_t lost;        /* packets that this machine was too slow to take */
};

struct lb_line { /* one that holds */
  const void *owner;    /* whatever the caller finds it by */
  int number;           /* from 1 in this net; never used again */
  uint64_t delay_ns;    /* LB_LINE_HOLD: until it ends */
  struct lb_way *way;   /* each stands in no other line */
  size_t way_count;
  bool is_proved;       /* the caller's: a new line has false */
  uint64_t probed_at;   /* when lb_line_probe() was called, 0 = not yet */
  unsigned trips_back;  /* how many were asked for */
  struct lb_line_seen *seen; /* [way_count] */
  int *near, *far;      /* [way_count] sockets of the probe, on the two hosts of each way */
  pid_t process;
  int talk;             /* to the process: one byte = send on all at once; its end = end */
  struct lb_line *older;
};

/* From now on what goes these ways arrives delay_ns later, never earlier. 0, and *ret until it
 * ends; or -errno with err. Then nothing is late, or, if nft would not take back what it had done,
 * the line stands in net->lines. -EBUSY: one of the ways has a line already. */
int lb_line_make(struct lb_net *net, const void *owner, const struct lb_way *ways, size_t count, uint64_t delay_ns, struct lb_line **ret,
                 char *err, size_t err_size);
/* The line on this way; NULL = none. */
struct lb_line *lb_line_on(const struct lb_net *net, const struct lb_host *from, const struct lb_host *to);
/* Sends all that is kept on at once, and from now on whatever comes. 0, or -errno with err. */
int lb_line_pass(struct lb_line *line, char *err, size_t err_size);
/* Undoes the line and frees it; what it keeps is passed on, nothing is lost. 0, or -errno with err:
 * then it still stands in net->lines. */
int lb_line_end(struct lb_net *net, struct lb_line *line, char *err, size_t err_size);
/* Ends the processes and frees what is known of lines, without touching a rule: their hosts are
 * gone. */
void lb_line_forget_all(struct lb_net *net);

/* ---- the probe (line_probe.c): a packet of our own on each way ------------------------------- */

/* Sockets for it on all hosts of the line. 0 or -errno. For lb_line_make(). */
int lb_line_probe_open(struct lb_line *line);
void lb_line_probe_close(struct lb_line *line);
/* Sends it on every way. 0, or -errno. */
int lb_line_probe(struct lb_line *line);
/* Whether that of way i has come, and the time that it took at least; until then *ret_ns is how long
 * it has been on its way by now. */
bool lb_line_trip(const struct lb_line *line, size_t i, uint64_t *ret_ns);
/* Sends one the other way and waits for it: its time, or UINT64_MAX if it has not come by
 * timeout_ms. */
uint64_t lb_line_trip_back(struct lb_line *line, size_t i, int timeout_ms);

#endif
