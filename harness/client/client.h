/* SPDX-License-Identifier: MIT
 *
 * client.h - one client as the controller sees it: its commands and replies. Its driver (driver.h) runs its program,
 * which is the same under every driver (program.h).
 *
 * Only the controller's thread calls these. A command is plain data: a driver may send it through a socket.
 */
#ifndef LB_CLIENT_H
#define LB_CLIENT_H

#include "backends/backend.h"
#include "memory.h"
#include "scenario/scenario.h"
#include "network/net.h"
#include "preload/skew.h"

/* A client answers each command once, in the order given, so a slow one may be left unanswered for a while. */
enum lb_client_verb {
  LB_DO_OPEN,   /* open a session */
  LB_DO_REOPEN, /* end it and open another one, with endpoint `argument` - 1 alone, 0 = all; -EBUSY: it holds the lock */
  LB_DO_SETUP,  /* the protocol's setup hook */
  LB_DO_TEARDOWN,
  LB_DO_WORK,    /* critical sections, one after the other, until memory.phase is LB_PHASE_STOP */
  LB_DO_ACQUIRE, /* this and the next ones: of key `key` */
  LB_DO_SECTION, /* acquire until the deadline, read, write, release */
  LB_DO_REPEAT,  /* acquire within `wait_ns`, read, hold, write, release, rest; until memory.phase is LB_PHASE_STOP */
  LB_DO_RELEASE,
  LB_DO_HOLDERS_WORK,   /* the protocol's work hook, of what it holds of key `key` */
  LB_DO_HAND_OVER,      /* what it holds of key `key` is another client's to release */
  LB_DO_RELEASE_OF,     /* what client number `argument` has handed over */
  LB_DO_RELEASE_ANYWAY, /* its latest release once more */
  LB_DO_READ,
  LB_DO_READ_EARLY, /* although it does not hold */
  LB_DO_WRITE,
  LB_DO_WRITE_LATE,   /* it leaves the client and does not arrive yet */
  LB_DO_INSPECT,      /* key 0 on endpoint `argument` */
  LB_DO_BREAK,        /* the same: its record is removed, whosever it is */
  LB_DO_END_RENEWALS, /* the watchdog, for good; LB_BUSY: nothing of it was renewed */
  LB_DO_STOP,         /* the protocol's stop hook */
  LB_DO_ARM,          /* the next time it passes the point `text` it does what `argument` says: enum lb_at_point */
  LB_DO_SERVER, /* which server do you talk to? reply.result = index of its endpoint, -ENOENT = none, or several */
  LB_DO_CLOCK,  /* what time is it? reply.value = its wall clock (argument 0) or its monotonic clock (1), in ms */
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
  bool shared;    /* acquire: as a reader */
  int64_t ttl_ms; /* acquire: of its lease; 0 = that of the plan */
  lb_ns wait_ns, hold_ns, rest_ns;
  char text[32];
};

struct lb_reply {
  int result; /* of the verb: enum lb_result or -errno; inspect, break: 1 or 0 */
  int64_t value;
  char err[256];
};

struct lb_work { /* what a workload does; fixed at start */
  uint32_t keys; /* 0 = each client uses its own_key */
  double skew;   /* of the choice of a key */
  lb_ns hold_ns, think_ns, wait_ns;
  bool hold_random, think_random; /* exponential, with these means */
  uint32_t readers;               /* clients below this number read only */
  /* Open loop: a client asks once in `gap_ns`, however long it took before; on average, if arrivals are random. 0 =
   * closed loop: it asks when it has finished and thought. */
  lb_ns gap_ns;
  bool random;
};

struct lb_client_plan { /* what all clients of a trial have in common; must outlive them */
  const struct lb_protocol *protocol;
  const struct lb_target *target;
  const union lb_value *options;
  struct lb_memory *memory;
  int64_t ttl_ms;
  int64_t request_ms; /* of struct lb_holder */
  uint64_t seed;
  const char *key_prefix;
  struct lb_work work;
  enum lb_guard guard;
  int permits; /* of struct lb_holder */
  /* The watchdog: while it holds it renews every third of the ttl, also between two commands. A protocol with
   * LB_TRAIT_RENEWED has one anyway. */
  bool renew;
  /* No client waits for another one, so only their rate counts: a reply does not interrupt the server that has sent it
   * (lb_process_give_way()), which then reads many requests at a time. A hand-off would be later for it. */
  bool gives_way;
  bool names_server;          /* every outcome of an acquire is recorded with the server that was asked */
  struct lb_workers *workers; /* what the driver runs several clients in, if it does (driver->gather) */
  int output;                 /* file that its standard output and error go to; 0 = they stay as they are */
};

struct lb_client { /* who it is, set before its first life; and its body, which is its driver's */
  const struct lb_driver *driver;
  char name[32];
  uint32_t number;  /* from 0: what its events and its state in the memory are found by */
  size_t log;       /* of the memory, written by the thread that runs it; clients of one thread may share a log */
  uint32_t own_key; /* the key it uses where each client has its own */
  struct lb_host *host;
  struct lb_skew *skew; /* the clocks of its host; NULL = true ones */
  char skew_file[4100]; /* that page as a file, for the programs that it starts; empty = there is none */
  struct lb_body *body; /* NULL = no life yet, or lb_client_end() */
  bool silent;          /* the history says that it reaches no server (trial/fault.c) */
};

/* NONE -> RUNS <-> STOPPED -> KILLED or DIED -> NONE. A client that killed itself at a point counts as DIED until
 * LB_CLIENT_KILL buries it, which says that the death was meant. */
enum lb_life {
  LB_LIFE_NONE,    /* never started, or lb_client_end() */
  LB_LIFE_RUNS,    /* or is about to */
  LB_LIFE_STOPPED, /* all of it stands still */
  LB_LIFE_KILLED,  /* by lb_client_signal() */
  LB_LIFE_DIED,    /* otherwise: driver->tell_end() says how */
};

enum lb_client_signal { LB_CLIENT_STOP, LB_CLIENT_CONTINUE, LB_CLIENT_KILL };

/* Starts a client that does not run: its log continues, its random numbers are new, its earlier state is gone. 0 or
 * -errno. */
int lb_client_start(struct lb_client *client, const struct lb_client_plan *plan);
/* Sends a command without waiting. 0 or -errno (-EPIPE: it has died). */
int lb_client_send(struct lb_client *client, struct lb_command command);
/* Waits for the answer to the oldest command. 0; LB_TIMEOUT; -ECONNRESET: it has died. */
int lb_client_await(struct lb_client *client, lb_ns deadline, struct lb_reply *ret);
/* 1: an answer is there; 0: none yet; -ECONNRESET: none will come. */
int lb_client_peek(const struct lb_client *client);
/* Both: 0 and *ret, or as above. The wait ends `grace_ms` after the command's own deadline. */
int lb_client_call(struct lb_client *client, struct lb_command command, int64_t grace_ms, struct lb_reply *ret);
enum lb_life lb_client_look(struct lb_client *client);
bool lb_client_lives(struct lb_client *client); /* it runs or stands still */
/* Signals all of it, library threads included, and proves the effect. 0; -ESRCH: it does not live; -ETIMEDOUT: no
 * effect within a second. LB_CLIENT_KILL also buries a client that killed itself at a point: 0; -ECHILD: it died of
 * something else. Unread replies remain. */
int lb_client_signal(struct lb_client *client, enum lb_client_signal signal);
/* SIGKILL to what lives. Safe on a client that never started. */
void lb_client_end(struct lb_client *client);

/* Why a client did not answer: `result` is what lb_client_await() returned, LB_TIMEOUT or -ECONNRESET (or -EPIPE of
 * lb_client_send()). "no answer in time, inside try_acquire, 3012 ms past its deadline", "died of SIGSEGV inside
 * release". A dead client is reaped. */
void lb_client_fate(struct lb_client *client, const struct lb_client_state *state, int result, char *buf, size_t size);

/* The one for the clients of this protocol; `coroutines`: many of them are to share a process. */
const struct lb_driver *lb_client_driver_of(const struct lb_protocol *protocol, bool coroutines);

#endif
