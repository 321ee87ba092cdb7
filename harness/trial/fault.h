/* SPDX-License-Identifier: MIT
 *
 * fault.h - what a step does to hosts, and the proof that it did. A cut is proved by a connection that worked before
 * and does not any more, a delay by a late packet. A kill is proved by the exit status, a pause by the state of the
 * process, a clock by asking the server for its time. A fault records itself in the history before it acts, and the
 * proof after it.
 */
#ifndef LB_FAULT_H
#define LB_FAULT_H

#include "base/error.h"
#include "cast.h"
#include "network/line.h"

/* True for a verb that this does: a fault of hosts, or its cure. */
bool lb_fault_knows(enum lb_verb verb);
/* Does the step to the cast: a = its hosts, b = the other side of a link. 0 = done, and proved here or by
 * lb_fault_prove_kept(), lb_fault_settle() or lb_fault_all_met(). 1 = a cut of no host: nothing was done and nothing proved. -1 = not done; err says why. */
int lb_fault_do(struct lb_stage *stage, const struct lb_step *step, const struct lb_cast *a, const struct lb_cast *b,
                struct lb_error *err);
/* Proves the fault whose proof would have kept a client at its gate, once no client stands at one (with `now` in any
 * case). 0, also if there is none, or -1 with err. */
int lb_fault_prove_kept(struct lb_stage *stage, bool now, struct lb_error *err);
/* Takes it back: what was paused goes on, what was killed starts again (clients, too), links are whole, clocks true. 0,
 * or -1 with err. */
int lb_fault_undo(struct lb_stage *stage, const struct lb_step *step, const struct lb_cast *a, struct lb_error *err);
/* True if lb_fault_undo() has something to do for it. */
bool lb_fault_has_undo(enum lb_verb verb);
/* Records which clients reach no server any more, or do again, if the library of a foreign lock keeps up the lease. `since`:
 * monotonic, when that began. After each fault and its end, and after a client has stopped at a point. */
void lb_fault_note_silence(struct lb_stage *stage, lb_ns since);
/* Kills a client, or finds that it has killed itself, and records its crash. False: it died of something else. */
bool lb_fault_bury(struct lb_stage *stage, struct lb_client *client);
/* Whether its process is stopped. */
bool lb_fault_server_stands(const struct lb_server *server);

/* ---- what the files of the faults share: a fault is a row {act, prove, undo} in the table of its file ---- */

struct lb_doing { /* one fault while it is done or undone */
  struct lb_stage *s;
  const struct lb_step *step;
  const struct lb_cast *a, *b; /* who, and the other side of a link */
  struct lb_error *err;
  /* What the clocks of `a` said before they were set: servers, then clients. */
  int64_t before_ms[LB_SERVERS_MAX + LB_CLIENTS_MAX];
};

/* Each returns 0, or -1 with err; `act` also 1 if it found no host for it. */
struct lb_fault {
  int (*act)(struct lb_doing *d);
  /* Sees the effect. NULL: act() returns 0 only when it has seen it, or there is none to see. */
  int (*prove)(struct lb_doing *d);
  /* For a campaign. NULL: nothing to take back. */
  int (*undo)(struct lb_doing *d);
  bool settles; /* its proof comes later: lb_fault_settle() */
  bool patient; /* ... may come later: it shows as well when a gate is open again (lb_fault_prove_kept()) */
};

/* One table for each kind of fault, by verb. A verb without `act` stands in another one, or is no fault. */
extern const struct lb_fault lb_faults_of_cuts[LB_VERB_COUNT];        /* fault_cut.c */
extern const struct lb_fault lb_faults_of_connections[LB_VERB_COUNT]; /* fault_reset.c */
extern const struct lb_fault lb_faults_of_heals[LB_VERB_COUNT];       /* fault_heal.c */
extern const struct lb_fault lb_faults_of_lines[LB_VERB_COUNT];       /* fault_line.c */
extern const struct lb_fault lb_faults_of_processes[LB_VERB_COUNT];   /* fault_process.c */
extern const struct lb_fault lb_faults_of_machines[LB_VERB_COUNT];    /* fault_machine.c */
extern const struct lb_fault lb_faults_by_hand[LB_VERB_COUNT];        /* fault_operator.c */
extern const struct lb_fault lb_faults_of_writes[LB_VERB_COUNT];      /* timeline_client.c */
extern const struct lb_fault lb_faults_of_own[LB_VERB_COUNT];         /* fault_own.c: of servers that are not ours */

#define LB_NAMES_BYTES 5000 /* the names of all hosts of a trial */

/* Puts a printf text into err and returns -1. */
int lb_doing_fail(const struct lb_doing *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The place of server i of `a` in the cluster. */
static inline size_t lb_doing_index(const struct lb_doing *d, size_t i) {
  return (size_t)(d->a->server[i] - d->s->cluster.server);
}

/* fault_process.c: kills the servers of `a`, each of which has to live; starts who is dead of `a` again. 0, or -1 with
 * err. */
int lb_doing_kill_servers(struct lb_doing *d);
int lb_doing_restart(struct lb_doing *d);
/* fault_operator.c: how much a server has said in its log so far, and whether these words stand in what it has said
 * since. */
long lb_doing_said(const struct lb_server *server);
bool lb_doing_has_said(const struct lb_server *server, long since, const char *words);
#endif
