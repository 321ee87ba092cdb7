/* SPDX-License-Identifier: MIT
 *
 * stage.h - a running trial as its controller sees it: hosts, servers, clients, shared memory, and the facts so far.
 * trial.c sets it up and clears it away, timeline.c and workload.c play on it, judge.c reads it.
 */
#ifndef LB_STAGE_H
#define LB_STAGE_H

#include "base/clock.h"
#include "client/client.h"
#include "client/env.h"
#include "history/history.h"
#include "servers/cluster.h"
#include "network/net.h"
#include "trial.h"

struct lb_live;
struct lb_kept;

static inline lb_ns lb_in_ms(int64_t ms) { return lb_clock_ns() + (lb_ns)ms * LB_NS_PER_MS; }
static inline void lb_sleep_ms(int64_t ms) { lb_clock_sleep_until(lb_in_ms(ms)); }

struct lb_pending {           /* a command a client has not answered yet, or a point it has not passed yet */
  const struct lb_step *step; /* NULL = none */
  lb_ns until;
  const struct lb_step *armed; /* its next point: stop, crash or gate; NULL = none */
  const struct lb_step *gate;  /* that has not been passed; NULL = none */
  lb_ns gate_since;            /* when it was found there, if it was */
};

struct lb_site {
  bool is_open;
  struct lb_site_needs has;
  int rules_gone;     /* of the faults of links made so far, how many are known to have left nothing */
  char scratch[4000]; /* the folder of its servers */
  lb_ns heated_ns;    /* for how long its servers were heated; 0 = not at all */
  bool warm;          /* ... until they had stopped compiling */
  char logs[4000];    /* the folder of their logs, where no trial of the series has it; "" = its only trial does */
  bool keep_logs;     /* somebody will want to read them */
  bool doubted;       /* its last trial stayed undecided */
  int relay;          /* to servers that are not ours (standin.h); 0 = none */
};

struct lb_gauge { /* of the measured window, when it is over (gauge.c) */
  double cpu_s;   /* that the clients' processes used; -1 = unknown */
  double cores;   /* that they could use */
  double steal;   /* share of the machine's time that others got from the hypervisor; -1 = unknown */
  int64_t kb;     /* of memory that the clients' processes had at the end; -1 = unknown */
  unsigned long long steal_ticks, all_ticks;
};

struct lb_stage {
  const struct lb_trial_plan *plan;
  const char *run_dir;  /* where its files go */
  struct lb_live *live; /* NULL = no caller watches it */
  struct lb_process_env env;
  /* The site: these outlive a trial that is not the last of its series. */
  struct lb_site site;
  struct lb_net net;
  struct lb_cluster cluster;
  struct lb_target target;
  struct lb_memory *memory;
  struct lb_client_plan client_plan;
  size_t client_count;
  bool heats; /* its load is for heated servers (workload.h) */
  /* [client_count], by number, from lb_crew_gather() to lb_crew_dismiss(). */
  struct lb_client *client;
  struct lb_pending *pending;
  char key_prefix[32];
  struct lb_kept *kept;           /* a fault that is proved when a gate is open (fault.c); NULL = none */
  struct lb_client observer;      /* sets up, and looks at single servers; takes no lock */
  bool is_set_up;                 /* the observer has a session, and has set up with it */
  struct lb_history history;      /* facts from the begin; events when all is over (judge.c) */
  int primary;                    /* data server that `primary` is bound to, -1 = not named yet */
  int heir[LB_PRIMARIES_MAX - 1]; /* ... primary 2, primary 3 and so on */
  int heirs;                      /* so many of them are bound */
  pid_t heartbeat;
  /* Facts of a load: how long it ran before the measured window, and whether its rate should have settled and had not.
   * Then the servers' commits and requests in the window (-1 = unknown). */
  lb_ns warmup_ns;
  bool unsettled;
  int64_t commits_before, commits, requests_before, requests;
  bool counted_back; /* one of these was smaller at the end */
  struct lb_gauge gauge;
  enum lb_verdict verdict; /* LB_VERDICT_NONE while nothing speaks against a verdict from the history */
  char why[400];
};

/* ---- facts for the history, each stamped with the time of the call ---- */

/* A step that is a fault begins. What belongs to the same step (its proof, its end) is tied to it by step->number. */
void lb_stage_fault(struct lb_stage *stage, const struct lb_step *step);
/* LB_EV_PROVED: the effect was seen. LB_EV_OVER: a campaign undoes the fault. LB_EV_UNUSED: a fault of links met only
 * packets of its own proof. LB_EV_MET, LB_EV_NOT_MET: the awaited condition. */
void lb_stage_step(struct lb_stage *stage, enum lb_event_kind kind, const struct lb_step *step);
/* The hosts that the fault is done to, separated by ", "; of a link both sides. "" = none. */
void lb_stage_touched(struct lb_stage *stage, const struct lb_step *step, const char *hosts, const char *from);
/* A packet of the fault's proof was on its way for so long, at least. */
void lb_stage_trip(struct lb_stage *stage, const struct lb_step *step, const struct lb_host *from,
                   const struct lb_host *to, lb_ns took);
/* The fault met its message: from and to ("redis-1:6379"), its bytes, and how many messages of its connection passed
 * before. */
void lb_stage_message(struct lb_stage *stage, const struct lb_step *step, const char *from, const char *to,
                      uint64_t bytes, uint64_t before);
/* A delay line got `taken` packets from one host to another and sent `sent_on` of them on. */
void lb_stage_carried(struct lb_stage *stage, const struct lb_step *step, const struct lb_host *from,
                      const struct lb_host *to, uint64_t sent_on, uint64_t taken);
/* LB_EV_NOT_DONE, LB_EV_NOT_PROVED: a fault of a campaign was left out, or was done and its effect was not seen; `why`
 * is text for people. */
void lb_stage_failed(struct lb_stage *stage, enum lb_event_kind kind, const struct lb_step *step, const char *why);
/* What a client answered to a step (acquire, release, read, write). */
void lb_stage_reply(struct lb_stage *stage, const struct lb_step *step, const struct lb_client *client,
                    const struct lb_reply *reply);
/* A step looked for the record of the key: at one server, and all in all on the servers of the step's role. */
void lb_stage_observed_at(struct lb_stage *stage, const struct lb_step *step, const struct lb_server *server,
                          bool present);
void lb_stage_observed(struct lb_stage *stage, const struct lb_step *step, bool present);
/* Whether a client holds, as a step saw it: it believes so, and its lease still runs. */
bool lb_stage_holds(struct lb_stage *stage, const struct lb_step *step, const struct lb_client *client);
/* A client reaches no server any more: what its library renews unseen is sure to run until then. LB_NEVER: it reaches one
 * again. */
void lb_stage_reaches_nobody(struct lb_stage *stage, const struct lb_client *client, lb_ns until);
/* The server that a client talks to, as a step saw it; NULL = none, or several. Unless the kind of `role` is
 * LB_ROLE_NONE: whether that server plays it. */
void lb_stage_server(struct lb_stage *stage, const struct lb_step *step, const struct lb_client *client,
                     const struct lb_server *server, struct lb_role role, bool plays);
/* Whether a step saw this server of its role A leave the others. */
void lb_stage_left(struct lb_stage *stage, const struct lb_step *step, const struct lb_server *server, bool left);
/* A step took the power of this server of its role A: of so many bytes written so many were kept. */
void lb_stage_unsynced(struct lb_stage *stage, const struct lb_step *step, const struct lb_server *server,
                       uint64_t kept, uint64_t total);
/* `primary`, or primary N, is bound to this server; after a failover this one decides. */
void lb_stage_primary(struct lb_stage *stage, int number, const struct lb_server *server);
void lb_stage_failover(struct lb_stage *stage, const struct lb_server *server);
/* What a server or client `name` said of the clock that a step has set. ms: wall = how far it is off, monotonic = how
 * far it has jumped, rate = what it has gained in in_ms (else 0). */
void lb_stage_clock(struct lb_stage *stage, const struct lb_step *step, const char *name, enum lb_clock_reading reading,
                    int64_t ms, int64_t in_ms);
/* So many may hold at once, if it is more than one. */
void lb_stage_permits(struct lb_stage *stage, int permits);
/* The measured window begins or ends. */
void lb_stage_phase(struct lb_stage *stage, enum lb_fact_phase phase);
/* Free text, which decides nothing. */
void lb_stage_note(struct lb_stage *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The history no longer decides this trial. Keeps the first reason, but undecided comes before stuck. Returns
 * -ECANCELED. */
int lb_stage_doubt(struct lb_stage *stage, enum lb_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What the memory says of a client of this stage, or of the observer. */
struct lb_client_state *lb_stage_state(const struct lb_stage *stage, const struct lb_client *client);
/* A client ended although no step killed it: undecided, "client-2 died by itself: died of SIGSEGV inside release". */
int lb_stage_died(struct lb_stage *stage, struct lb_client *client);
/* A client was awaited for `what` and did not answer, with this result of lb_client_await(): undecided, "WHAT: no
 * answer in time". */
int lb_stage_silent(struct lb_stage *stage, struct lb_client *client, const char *what, int result);

#endif
