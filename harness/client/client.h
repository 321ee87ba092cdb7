/* SPDX-License-Identifier: MIT
 *
 * client.h - one client, one process, on its own host: it takes commands from the controller over a socket, one at a
 * time, and answers each. A stopped or killed client is an honest one: all of it stops, library threads included.
 *
 * All calls belong to the controller's thread.
 */
#ifndef LB_CLIENT_H
#define LB_CLIENT_H

#include <sys/types.h>

#include "backends/backend.h"
#include "memory.h"
#include "scenario/guard.h"
#include "servers/host.h"
#include "servers/skew.h"

/* In order; a client answers each command once, in the order given, so that a slow one may be left unanswered for a
 * while. */
enum lb_client_verb {
  LB_DO_OPEN,    /* open a session */
  LB_DO_SETUP,   /* the protocol's setup hook */
  LB_DO_WORK,    /* critical sections, one after the other, until memory.phase is LB_PHASE_STOP */
  LB_DO_ACQUIRE, /* key 0 */
  LB_DO_RELEASE,
  LB_DO_READ,
  LB_DO_WRITE,
  LB_DO_INSPECT, /* key 0 on endpoint `argument` */
  LB_DO_ARM,   /* the next time it passes the point `text` it stops itself (argument 0) or kills itself (argument 1) */
  LB_DO_CLOCK, /* what time is it? reply.value = its wall clock (argument 0) or its monotonic clock (1), in ms */
};

struct lb_command {
  enum lb_client_verb verb;
  lb_ns deadline; /* true time, whatever the client's clock says */
  size_t argument;
  char text[32];
};

struct lb_reply {
  int result; /* of the verb: enum lb_result or -errno; inspect: 1 or 0 */
  int64_t value;
  char err[256];
};

struct lb_work { /* what a workload does; fixed at start */
  uint32_t keys; /* 0 = client i uses key i */
  lb_ns hold_ns, think_ns, wait_ns;
};

struct lb_client_plan { /* everything a client process is born with; must outlive it */
  const struct lb_protocol *protocol;
  const struct lb_target *target;
  const union lb_value *options;
  struct lb_memory *memory;
  int64_t ttl_ms;
  uint64_t seed;
  const char *key_prefix;
  struct lb_work work;
  enum lb_guard guard;
  bool renew;            /* the watchdog: while it holds it renews every third of the ttl, also between two commands */
  int output;            /* file that its standard output and error go to; 0 = they stay as they are */
  struct lb_skew **skew; /* skew[i] = the clocks of client i, NULL = true ones; NULL = all true */
};

struct lb_client {
  char name[32];
  size_t index; /* its log in the memory */
  pid_t pid;    /* 0 = ended */
  bool ended;   /* by itself: `status` says how, as of waitpid(2) */
  int status;
  int socket;
};

/* Forks the client on `host`. A client that was killed may be started again: its log goes on, its random numbers are
 * new ones. 0 or -errno. */
int lb_client_start(struct lb_client *client, const struct lb_client_plan *plan, size_t index, const char *name,
                    const struct lb_host *host);
/* Sends a command without waiting. 0 or -errno (-EPIPE: the process has ended). */
int lb_client_send(struct lb_client *client, struct lb_command command);
/* Waits for the answer to the oldest command. 0; LB_TIMEOUT; -ECONNRESET: the process has ended. */
int lb_client_await(struct lb_client *client, lb_ns deadline, struct lb_reply *ret);
/* True if lb_client_await() would not wait: an answer is there, or the process has ended. */
bool lb_client_peek(const struct lb_client *client);
/* Both: 0 and *ret, or as above. The wait ends `grace_ms` after the command's own deadline. */
int lb_client_call(struct lb_client *client, struct lb_command command, int64_t grace_ms, struct lb_reply *ret);
/* False once the process has ended by itself (it is reaped then, see `ended`); true for one that a step has killed and reaped. */
bool lb_client_alive(struct lb_client *client);
/* SIGKILL, reaped. Safe on one that never started or has ended. */
void lb_client_kill(struct lb_client *client);

#endif
