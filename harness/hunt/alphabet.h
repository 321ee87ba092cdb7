/* SPDX-License-Identifier: MIT
 *
 * alphabet.h - the faults that a hunt knows: what is done, to whom, at which slot of the program and
 * until when. One table says all of it; which rows mean something for a system follows from what the
 * system is (struct lb_hunt_system), never from its name.
 */
#ifndef LB_HUNT_ALPHABET_H
#define LB_HUNT_ALPHABET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"
#include "scenario/scenario.h"
#include "servers/topology.h"

enum lb_hunt_kind {
  LB_HUNT_RESTART,
  LB_HUNT_KILL,
  LB_HUNT_PAUSE,
  LB_HUNT_ISOLATE, /* a server from all other servers */
  LB_HUNT_PART,    /* a primary from its replicas only: who watches it still sees it */
  LB_HUNT_CUT,     /* a client from some of the servers */
  LB_HUNT_CUT_OFF, /* a client from all servers */
  LB_HUNT_AHEAD,   /* a wall clock jumps an hour ahead */
  LB_HUNT_BACK,    /* or back */
  LB_HUNT_FAST,    /* clocks run twice as fast */
  LB_HUNT_SLOW,    /* or half as fast */
  LB_HUNT_CUT_ONE, /* a client from one of the servers that LB_HUNT_CUT is about */
  LB_HUNT_KIND_COUNT
};
enum lb_hunt_target {
  LB_HUNT_P,   /* the primary; of servers that do not know each other the first */
  LB_HUNT_F,   /* those outside the smallest majority that has P: see `others` in lb_hunt_system */
  LB_HUNT_ALL, /* all servers */
  LB_HUNT_C1,
  LB_HUNT_C2,
  LB_HUNT_ONE,  /* one server of F, where that is several that do not know each other */
  LB_HUNT_MOST, /* the smallest majority that has P, where that is not all */
  LB_HUNT_TARGET_COUNT
};
/* When it is done, in the order of the program. */
enum lb_hunt_slot {
  LB_HUNT_BEFORE,  /* B: before client 1 asks */
  LB_HUNT_ASKING,  /* A: while client 1 stands at a point inside its acquire */
  LB_HUNT_HOLDING, /* H: client 1 holds and has read, client 2 has begun its section */
  LB_HUNT_CHECKED, /* X: client 1 has passed its check and not written yet */
  LB_HUNT_DONE,    /* R: client 1 has written and not released yet */
  LB_HUNT_WOKEN,   /* W: client 1 has released, and client 2 that waited has not seen it yet */
  LB_HUNT_SLOT_COUNT
};
enum lb_hunt_undo {
  LB_HUNT_STAYS, /* nothing takes it back (clocks, dead clients), or it has an end of its own (a restart; a stopped client
                  * goes on when another one has written) */
  LB_HUNT_MID,   /* before another server takes over */
  LB_HUNT_AFTER, /* "back": when another one has taken over, client 1 still holding */
  LB_HUNT_GONE,  /* when the program is over */
  LB_HUNT_UNDO_COUNT
};
/* What leases do. A timeline with a clock that runs at another rate is of the regime `drift`, and only it. */
enum lb_hunt_regime {
  LB_HUNT_LONG,  /* ttl 10 s, not renewed: no lease ends by itself */
  LB_HUNT_SHORT, /* ttl 1 s, renewed: a lease ends through a fault only */
  LB_HUNT_DRIFT, /* ttl 2 s, not renewed, and client 1 works for 0.8 of it */
  LB_HUNT_REGIME_COUNT
};

struct lb_hunt_fault {
  enum lb_hunt_kind kind : 8;
  enum lb_hunt_target target : 8;
  enum lb_hunt_slot slot : 8;
  enum lb_hunt_undo undo : 8;
};

/* How the servers of a system stand to each other. */
enum lb_hunt_servers {
  LB_HUNT_NO_SERVERS,
  LB_HUNT_SINGLE,
  LB_HUNT_INDEPENDENT, /* several that do not know each other */
  LB_HUNT_REPLICATED,  /* one decides, and another one can take over */
  LB_HUNT_ENSEMBLE,    /* they decide with a majority */
};
/* All that the hunt knows of a system. The texts are static or the protocol's. */
struct lb_hunt_system {
  char name[LB_SYSTEM_MAX]; /* "PROTOCOL@TOPOLOGY" */
  enum lb_hunt_servers servers;
  size_t count;         /* of the servers that hold locks */
  bool watched;         /* others watch them (Sentinels): a primary can lose its replicas and be seen all the same */
  bool own;             /* the user's own servers: nothing is done to them or to the network */
  bool network;         /* hosts with links of their own: without, nothing is cut */
  const char *others;   /* the role of F in a step: "minority", "replicas"; NULL = there is none */
  const char *inside;   /* the point of slot A; NULL = there is none */
  bool decided_inside;  /* at that point the reply has been read, and no request follows */
  bool gated;           /* points of every client can be used: slots A and X. Not of a foreign lock */
  bool queues;          /* waiters have a place in a queue and are told: slot W */
  bool sets_servers;    /* the clocks of its servers can be set */
  bool sets_clients;    /* the clocks of its clients can be set */
  bool session;         /* a lock lives as long as a session */
  bool client_wall;     /* its correctness depends on the wall clock of clients */
  int64_t detector_ms;  /* how long a server is silent until a failover; 0 = the others do not watch */
  int64_t start_ms;     /* processor time until its servers are there, about */
  unsigned rests;       /* on what a grant rests: bits of rests.h */
  int64_t least_ttl_ms; /* the shortest lease that the servers grant; 0 = any */
};
/* Fills it in from the tables of both (system.c). Nothing is started; whether this machine has namespaces is looked
 * up. */
void lb_hunt_system_of(const struct lb_protocol *protocol, const struct lb_topology *topology,
                       struct lb_hunt_system *ret);

/* "kill-P@H-gone". 32 bytes are enough. */
void lb_hunt_fault_format(struct lb_hunt_fault fault, char *buf, size_t size);
/* The words that ids are made of. */
struct lb_hunt_kind_row {
  const char *name; /* "cutoff" */
  const char *said; /* behind who it is done to */
  /* No machine does it: clocks at twice or half the rate show what a lock rests on, not what will happen to it. */
  bool unreal;
};
extern const struct lb_hunt_kind_row lb_hunt_kinds[LB_HUNT_KIND_COUNT];
extern const char *const lb_hunt_regimes[LB_HUNT_REGIME_COUNT]; /* "long", "short", "drift" */
bool lb_hunt_fault_equal(struct lb_hunt_fault a, struct lb_hunt_fault b);
/* True if it is done to a client. */
bool lb_hunt_fault_is_of_client(struct lb_hunt_fault fault);
/* True if `less` is the same thing, done to fewer hosts of those to which `more` does it. */
bool lb_hunt_fault_is_fewer(struct lb_hunt_fault less, struct lb_hunt_fault more);
/* The faults that are so, of the servers of the system. How many. */
#define LB_HUNT_FEWER_MAX 4
size_t lb_hunt_fault_fewer(const struct lb_hunt_system *system, struct lb_hunt_fault fault,
                           struct lb_hunt_fault ret[LB_HUNT_FEWER_MAX]);
/* True if clocks run at another rate from then on. */
bool lb_hunt_fault_drifts(struct lb_hunt_fault fault);
/* "the primary is killed at H, and comes back after the takeover": a part of a sentence. 160 bytes are enough. */
void lb_hunt_fault_say(struct lb_hunt_fault fault, char *buf, size_t size);

#define LB_HUNT_LETTERS_MAX 128
/* The alphabet of a system in a regime, in a fixed order: every fault that means something there. Kinds in `without`
 * (1 << kind) are left out. How many. */
size_t lb_hunt_alphabet(const struct lb_hunt_system *system, enum lb_hunt_regime regime, unsigned without,
                        struct lb_hunt_fault ret[LB_HUNT_LETTERS_MAX]);

#endif
