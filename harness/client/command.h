/* SPDX-License-Identifier: MIT
 *
 * command.h - what a controller tells a client, one thing at a time, and what the client answers.
 * Plain data: a driver may send it through a socket or write it down as a line.
 */
#ifndef LB_COMMAND_H
#define LB_COMMAND_H

#include "backends/backend.h"

/* In order; a client answers each command once, in the order given, so that a slow one may be left
 * unanswered for a while. */
enum lb_client_verb {
  LB_DO_OPEN,    /* open a session */
  LB_DO_REOPEN,  /* end it and open another one; -EBUSY: it holds the lock */
  LB_DO_SETUP,   /* the protocol's setup hook */
  LB_DO_TEARDOWN,
  LB_DO_WORK,    /* critical sections, one after the other, until memory.phase is LB_PHASE_STOP */
  LB_DO_ACQUIRE, /* this and the next ones: of key `key` */
  LB_DO_SECTION, /* acquire until the deadline, read, write, release */
  LB_DO_RELEASE,
  LB_DO_READ,
  LB_DO_READ_EARLY, /* although it does not hold */
  LB_DO_WRITE,
  LB_DO_WRITE_LATE, /* it leaves the client and does not arrive yet */
  LB_DO_INSPECT, /* key 0 on endpoint `argument` */
  LB_DO_BREAK,   /* the same: its record is removed, whosever it is */
  LB_DO_ARM,   /* the next time it passes the point `text` it does what `argument` says: enum lb_at_point */
  LB_DO_SERVER, /* which server do you talk to? reply.result = index of its endpoint, -ENOENT = none, or several */
  LB_DO_CLOCK, /* what time is it? reply.value = its wall clock (argument 0) or its monotonic clock (1), in ms */
};

enum lb_at_point {
  LB_AT_POINT_STOP, /* stops itself */
  LB_AT_POINT_DIE,  /* kills itself */
  LB_AT_POINT_GATE, /* stops itself, unless its state says that the gate is open */
  LB_AT_POINT_HANG, /* goes no further until its state says so, but for what renews its lease */
};

struct lb_command {
  enum lb_client_verb verb;
  lb_ns deadline; /* true time, whatever the client's clock says */
  size_t argument;
  uint32_t key;
  bool shared; /* acquire: as a reader */
  char text[32];
};

struct lb_reply {
  int result; /* of the verb: enum lb_result or -errno; inspect, break: 1 or 0 */
  int64_t value;
  char err[256];
};

#endif
