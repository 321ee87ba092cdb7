/* SPDX-License-Identifier: MIT
 *
 * memory.h - the memory that all processes of one trial share: the global sequence number, the events of each client,
 * the resources, the phase. It is mapped by the controller before it forks, so what a killed client wrote is still
 * there.
 */
#ifndef LB_MEMORY_H
#define LB_MEMORY_H

#include <stdatomic.h>

#include "backends/backend.h"
#include "history/history.h"
#include "resource.h"

#define LB_LOGS_MAX 129 /* 128 clients and the controller */
/* Events of all clients of a trial together: the oldest are never overwritten; a full log ends the measurement. */
#define LB_EVENTS_MAX (UINT32_C(1) << 22)
/* lb_target.shared, for protocols without a server: so much, and so much more for each key. A table of 24 bytes a key
 * stays half empty then. */
#define LB_SHARED_BASE (16 * 1024)
#define LB_SHARED_PER_KEY 48

enum lb_phase { LB_PHASE_RUN, LB_PHASE_STOP };

struct lb_log { /* events of one client; written by that client only, read by the controller after it has ended */
  _Atomic uint32_t count;
  uint32_t capacity;
  size_t first; /* index into memory.events */
};

/* What a client is doing, for the conditions of a timeline and for the roles `holder` and `waiters`; evidence is the
 * log alone. */
struct lb_client_state {
  _Atomic bool asks;       /* an acquire is under way */
  _Atomic bool holds;      /* it believes that it holds */
  _Atomic bool at_point;   /* it stops or kills itself now, because it was told to at this point */
  _Atomic uint32_t writes; /* accepted writes since it was granted */
  _Atomic uint32_t lives;  /* how many processes this client has been: a killed one may be started again */
  _Atomic int hook;        /* enum lb_hook: the one of its protocol that it is in; LB_HOOK_NONE = none */
  _Atomic lb_ns hook_deadline; /* the one that this hook was given, on the true clock */
  char error[256];  /* "try_acquire: cannot connect ...": its latest failure; empty = none. Written by the client, always ends */
  char breach[256]; /* the first breach of the contract by its protocol; empty = none */
};

struct lb_memory {
  _Atomic uint64_t sequence;
  _Atomic int phase;             /* enum lb_phase: clients of a workload stop at LB_PHASE_STOP */
  _Atomic bool log_warm;         /* some client's log is an eighth full: it has worked enough to be warm */
  _Atomic bool log_full;         /* some client's log is nearly full: the measurement has to end */
  _Atomic uint64_t grants;       /* of all clients so far, for the live line only */
  _Atomic uint64_t max_stall_ns; /* by the heartbeat */
  struct lb_log log[LB_LOGS_MAX];
  struct lb_client_state state[LB_LOGS_MAX];
  size_t mapped_size;
  size_t key_count;
  struct lb_resource *resource; /* [key_count]; this and `shared` are behind the events, at the same address in all processes */
  unsigned char *shared;        /* for lb_target.shared */
  size_t shared_size;
  struct lb_event events[LB_EVENTS_MAX];
};

/* Maps a zeroed memory with `keys` resources (at least 1) and shares the event space out among `clients` logs (and one for
 * the controller: the last one, index `clients`). NULL with errno. Untouched pages cost nothing. */
struct lb_memory *lb_memory_map(size_t clients, size_t keys);
void lb_memory_unmap(struct lb_memory *memory);

/* Appends to log `index`, stamping t (now) and s. log_full is set while an eighth of the log is still free, so that the
 * measurement ends and all holds are closed in the log; a log that is full to the end drops what comes. */
void lb_memory_record(struct lb_memory *memory, size_t index, struct lb_event event);

#endif
