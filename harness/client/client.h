/* SPDX-License-Identifier: MIT
 *
 * client.h - one client as the controller sees it: who it is, and what it can be told. What runs
 * its program is its driver (driver.h): a process of its own, for instance. The program is the same
 * under every driver (program.h).
 *
 * All calls belong to the controller's thread.
 */
#ifndef LB_CLIENT_H
#define LB_CLIENT_H

#include "command.h"
#include "memory.h"
#include "scenario/guard.h"
#include "servers/net.h"
#include "servers/skew.h"

struct lb_work { /* what a workload does; fixed at start */
  uint32_t keys; /* 0 = each client uses its own_key */
  lb_ns hold_ns, think_ns, wait_ns;
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
  /* The watchdog: while it holds it renews every third of the ttl, also between two commands. A protocol with LB_TRAIT_RENEWED has one anyway. */
  bool renew;
  bool names_server; /* every outcome of an acquire is recorded with the server that was asked */
  struct lb_workers *workers; /* what the driver runs several clients in, if it does (driver->gather) */
  int output; /* file that its standard output and error go to; 0 = they stay as they are */
};

struct lb_client { /* who it is, set before its first life; and its body, which is its driver's */
  const struct lb_driver *driver;
  char name[32];
  uint32_t number;  /* from 0: what its events and its state in the memory are found by */
  size_t log;       /* of the memory, written by whoever runs it; clients that one thread runs may share it */
  uint32_t own_key; /* the key it uses where each client has its own */
  struct lb_host *host;
  struct lb_skew *skew; /* the clocks of its host; NULL = true ones */
  char skew_file[4100]; /* that page as a file, for the programs that it starts; empty = there is none */
  struct lb_body *body; /* NULL = no life yet, or lb_client_end() */
};

/* NONE -> RUNS <-> STOPPED -> KILLED or DIED -> NONE. A client that has killed itself at a point
 * counts as DIED until LB_CLIENT_KILL buries it: only then has somebody said that the death was
 * meant. */
enum lb_life {
  LB_LIFE_NONE,    /* never started, or lb_client_end() */
  LB_LIFE_RUNS,    /* or is about to */
  LB_LIFE_STOPPED, /* all of it stands still */
  LB_LIFE_KILLED,  /* by lb_client_signal() */
  LB_LIFE_DIED,    /* otherwise: driver->tell_end() says how */
};

enum lb_client_signal { LB_CLIENT_STOP, LB_CLIENT_CONTINUE, LB_CLIENT_KILL };

/* Begins a life: its log goes on, its random numbers are new ones, what its state said of an
 * earlier life is gone. The client must not have a life: lb_client_end() ends it. 0 or -errno. */
int lb_client_start(struct lb_client *client, const struct lb_client_plan *plan);
/* Sends a command without waiting. 0 or -errno (-EPIPE: it has died). */
int lb_client_send(struct lb_client *client, struct lb_command command);
/* Waits for the answer to the oldest command. 0; LB_TIMEOUT; -ECONNRESET: it has died. */
int lb_client_await(struct lb_client *client, lb_ns deadline, struct lb_reply *ret);
/* 1: an answer is there; 0: none yet; -ECONNRESET: none will come. */
int lb_client_peek(const struct lb_client *client);
/* Both: 0 and *ret, or as above. The wait ends `grace_ms` after the command's own deadline. */
int lb_client_call(struct lb_client *client, struct lb_command command, int64_t grace_ms, struct lb_reply *ret);
/* What it is now, without waiting. */
enum lb_life lb_client_look(struct lb_client *client);
/* It runs or stands still. */
bool lb_client_lives(struct lb_client *client);
/* Done to all of it, library threads included, and proved. 0; -ESRCH: it does not live; -ETIMEDOUT:
 * it did not follow within a second. LB_CLIENT_KILL also buries one that was killed by this signal
 * already, by itself at a point, for instance: 0; -ECHILD: it had died otherwise. Its unread
 * answers remain. */
int lb_client_signal(struct lb_client *client, enum lb_client_signal signal);
/* SIGKILL to what lives; nothing remains of it, and nobody writes in its name any more. Safe on one
 * that never started. */
void lb_client_end(struct lb_client *client);

#endif
