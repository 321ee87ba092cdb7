/* SPDX-License-Identifier: MIT
 *
 * peer.h - two lock libraries in turns on one hot lock of one ensemble: ours, and one that others use. Of bench-peer.
 *
 * A side is up to 16 clients with a session each. They write down by themselves what they did, in memory that they
 * share with the benchmark and that looks the same for both, in times of CLOCK_MONOTONIC. So all figures of both come
 * out of the same code.
 *
 * Client i talks to server i mod 3, on either side: who leads, and who is far from whoever leads, is no part of the
 * comparison.
 */
#ifndef LB_PEER_H
#define LB_PEER_H

#include <stdatomic.h>
#include <sys/types.h>

#include "backends/backend.h"

enum { PEER_CLIENTS = 16, PEER_RECORDS = 1 << 17, PEER_PATIENCE_S = 60, PEER_PACE_MS = 200 };

struct peer_record {                /* one cycle: what was granted is released at once */
  lb_ns granted, release, released; /* the answer was read; just before the release left; its answer was read */
};

struct peer_client {
  _Alignas(64) _Atomic uint64_t count;
  _Alignas(64) struct peer_record record[PEER_RECORDS];
};

struct peer_log {
  _Alignas(64) _Atomic uint32_t stop; /* the clients end what they are doing */
  struct peer_client client[PEER_CLIENTS];
};

struct peer_side {
  const char *name; /* "Curator", or of ours */
  struct peer_log *log;
  int log_fd;
  size_t at_work;
  pid_t process[PEER_CLIENTS]; /* 0 = there are no more */
  int command[PEER_CLIENTS];   /* ours: a pipe to each client. Curator: [0] leads to all of them */
  int answer;                  /* pipe from them: "." = a client is ready for work */
};

/* What both sides need to know. */
struct peer_place {
  const struct lb_target *target;
  int64_t ttl_ms;
  const char *prefix;
};

/* Clients with open sessions, who wait to be told to work. They end the benchmark if they fail, and die with it.
 * recipe: the option of that name, with a lock of its own. */
void peer_ours_open(struct peer_side *side, const struct peer_place *place, bool recipe);
/* Some that want nothing of the others: each has a lock of its own, and PEER_PACE_MS between two cycles. With the
 * option `recipe`, so that their release is a deletion and nothing else. */
void peer_bystanders_open(struct peer_side *side, const struct peer_place *place, size_t clients);
/* `command`: the program and its first arguments, NULL at the end. */
void peer_curator_open(struct peer_side *side, const struct peer_place *place, char *const command[]);
/* Clients first..first+count-1 contend for the lock until peer_rest(), which returns when all have ended. */
void peer_ours_work(struct peer_side *side, size_t first, size_t count);
void peer_curator_work(struct peer_side *side, size_t first, size_t count);
void peer_rest(struct peer_side *side);

/* An empty log, shared with every process that is started later. */
void peer_log_make(struct peer_side *side);
/* Waits for `count` answers. */
void peer_await(struct peer_side *side, size_t count);
/* What a process has used of all cores since it began, in ms; to 10 ms. */
double peer_cpu_ms(pid_t process);
/* How many cycles there were since the work began. */
uint64_t peer_cycles(const struct peer_log *log);

struct peer_figures {
  double grants_per_s, handoffs_per_s;
  double handoff_ms,
      release_ms; /* medians: the next holder's grant after the release; the release, which is a deletion, a commit */
  uint64_t handoffs;
};
/* The releases in a window. The median in ms, 0 if there were none; *ret_count: how many. */
double peer_release_ms(const struct peer_log *log, lb_ns begin, lb_ns end, size_t *ret_count);

/* Of what was granted in a window. Ends the benchmark if two held the lock at once. */
struct peer_figures peer_figures(const struct peer_log *log, lb_ns begin, lb_ns end);

#endif
