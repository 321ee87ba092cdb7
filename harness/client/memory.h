/* SPDX-License-Identifier: MIT
 *
 * memory.h - what all processes of a trial share: the global sequence number, the logs of events, the state of each
 * client, the resources, the phase. The controller maps it before it forks, so the log of a killed client is kept.
 *
 * A log belongs to its writer: a process with one client, a worker with many, or the controller. An event names its
 * client by number.
 */
#ifndef LB_MEMORY_H
#define LB_MEMORY_H

#include <stdatomic.h>

#include "backends/backend.h"
#include "env.h"
#include "history/history.h"
#include "resource.h"

/* Events of all logs of a trial together: in memory, and if they may spill, in a file. */
#define LB_EVENTS_MAX (UINT32_C(1) << 22)
#define LB_EVENTS_MAX_SPILLED (UINT32_C(1) << 27)
/* lb_target.shared, for protocols without a server: a table of 24 bytes a key stays half empty. */
#define LB_SHARED_BASE (16 * 1024)
#define LB_SHARED_PER_KEY 48

/* RUN from the beginning, STOP when the clients are to leave their loop; never back. */
enum lb_phase { LB_PHASE_RUN, LB_PHASE_STOP };

struct lb_log {                        /* events of one writer; read by the controller after that has ended */
  _Alignas(64) _Atomic uint32_t count; /* a cache line of its own: its writer moves it with every event */
  uint32_t capacity;                   /* what has room in memory, unless the log may spill */
  uint32_t warm, enough;               /* from so many events on its clients are warm; the measurement has to end */
  size_t first;                        /* index into memory.events */
};

/* What a client is doing, for conditions and roles of a timeline. It is no evidence: only the log is. */
struct lb_client_state {
  _Atomic bool asks;             /* an acquire is under way */
  _Atomic bool waits;            /* ... and it was told that somebody else holds */
  _Atomic bool woken;            /* ... and since then that it may be free, and has heard of no answer yet */
  _Atomic bool granted, gave_up; /* its latest acquire has ended so */
  _Atomic lb_ns late_ns;         /* the most by which an acquire was given up after its deadline */
  _Atomic bool holds;            /* it believes that it holds ... */
  _Atomic lb_ns until;           /* ... until then, in true time; LB_NEVER = nothing was said of an end */
  _Atomic int server;            /* index + 1 of the endpoint that it was last known to talk to; 0 = none, or several */
  _Atomic uint64_t session;      /* its latest one, by a try that was granted or refused (hook session_id); 0 = none */
  _Atomic bool at_point;         /* it stops or kills itself, or hangs now, because it was told to at this point */
  /* The gate is open. The client looks after it has set at_point; the controller looks at at_point after it has opened.
   * */
  _Atomic bool gate_open;
  _Atomic bool hangs;      /* ... hangs, until the controller says that it does not */
  _Atomic uint32_t writes; /* accepted writes since it was granted, without those that came late */
  _Atomic uint32_t rounds; /* of LB_DO_REPEAT: how often it was granted the lock */
  _Atomic bool on_its_way; /* `letter` has left the client, or an earlier life of it, and has not arrived */
  struct lb_letter letter;
  struct lb_grant handed; /* what it handed over: LB_DO_HAND_OVER writes it before it answers */
  uint32_t handed_key;
  struct lb_wall_told wall;    /* its wall clock, see env.h */
  _Atomic int pid;             /* of its process, for the heartbeat; 0 = it has none yet */
  _Atomic uint32_t lives;      /* how many it has had, the present one included: a killed client may start again */
  _Atomic int hook;            /* enum lb_hook: the one of its protocol that it is in; LB_HOOK_NONE = none */
  _Atomic lb_ns hook_deadline; /* the one that this hook was given, on the true clock */
  _Atomic lb_ns round_trip;    /* of its protocol (hook round_trip), when its session was opened; 0 = there is none */
  /* "try_acquire: cannot connect ...": its latest failure; empty = none. Always ends. */
  char error[256];
  char breach[256]; /* the first breach of the contract by its protocol; empty = none */
};

struct lb_memory {
  /* Fixed when it is mapped. The arrays are behind this struct, at the same address in all processes. */
  size_t mapped_size, events_size;
  size_t client_count, log_count;
  size_t controller;       /* which log is the controller's: the last one */
  struct lb_log *log;      /* [log_count] */
  struct lb_event *events; /* [LB_EVENTS_MAX], or [LB_EVENTS_MAX_SPILLED] if logs may spill; a log has its share */
  /* [client_count + 1], by number; the last is of one that takes no lock (the observer). */
  struct lb_client_state *state;
  struct lb_resource *resource; /* one for each key */
  unsigned char *shared;        /* for lb_target.shared */
  size_t shared_size;
  /* Written by all all the time, so in a cache line of their own. */
  _Alignas(64) _Atomic uint64_t sequence;
  _Atomic uint64_t grants; /* of all clients so far; no evidence */
  /* Looked at all the time. */
  _Alignas(64) _Atomic int phase; /* enum lb_phase: clients of a workload stop at LB_PHASE_STOP */
  _Atomic bool log_warm;          /* some log is an eighth full in memory: its clients have worked enough to be warm */
  _Atomic bool log_full;          /* some log is nearly full: the measurement has to end */
  _Atomic uint64_t max_stall_ns;  /* by the heartbeat, of itself and of the clients */
  _Atomic uint64_t
      stalled_ns; /* ... the longest stall of each beat, added up. Stalls overlap: at most the time that has passed counts */
};

/* For so many clients and keys (at least 1). `writers` logs and the controller share the space for events. NULL with
 * errno. Untouched pages cost nothing. */
struct lb_memory *lb_memory_map(size_t clients, size_t writers, size_t keys);
void lb_memory_unmap(struct lb_memory *memory);
/* Before any process writes: what a log has no room for in memory goes to a file without a name in this folder, of
 * which at most a quarter of the free disk is used. Without it, or if it fails, a log is full when its memory is. 0 or
 * -errno. */
int lb_memory_spill(struct lb_memory *memory, const char *folder);
/* Copies what all logs have by now into an empty history, and sorts it. 0 or -ENOMEM. */
int lb_memory_collect(const struct lb_memory *memory, struct lb_history *ret);

/* Appends to log `number`, with the time and the next sequence number. Only the writer of the log may call it. log_full
 * is set while an eighth is still free, so that the measurement ends and all holds are closed in the log. A full log
 * drops events. */
void lb_memory_record(struct lb_memory *memory, size_t number, struct lb_event event);

#endif
