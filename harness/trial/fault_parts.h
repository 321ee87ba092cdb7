/* SPDX-License-Identifier: MIT
 *
 * fault_parts.h - what the files of the faults share; nobody else includes it. A fault is a row
 * {act, prove, undo} in the table of its file, found by its verb.
 */
#ifndef LB_FAULT_PARTS_H
#define LB_FAULT_PARTS_H

#include "cast.h"
#include "servers/line.h"

struct lb_doing { /* one fault while it is done or undone */
  struct lb_stage *s;
  const struct lb_step *step;
  const struct lb_cast *a, *b; /* who, and the other side of a link */
  char *err;
  size_t err_size;
  /* What the clocks of `a` said before they were set: servers, then clients. */
  int64_t before_ms[LB_SERVERS_MAX + LB_CLIENTS_MAX];
};

/* Each returns 0, or -1 with err; `act` also 1 where it has found nobody to do it to. */
struct lb_fault {
  int (*act)(struct lb_doing *d);
  /* Sees the effect. NULL: act() returns 0 only when it has seen it, or there is none to see. */
  int (*prove)(struct lb_doing *d);
  /* For a campaign. NULL: nothing to take back. */
  int (*undo)(struct lb_doing *d);
  bool settles; /* its proof comes later: lb_fault_settle() */
  bool patient; /* ... may come later: it shows as well when a gate is open again (lb_fault_prove_kept()) */
};

/* One table for each kind of fault, by verb. A verb without `act` stands in another one, or is no
 * fault. */
extern const struct lb_fault lb_faults_of_links[LB_VERB_COUNT];     /* fault_cut.c */
extern const struct lb_fault lb_faults_of_lines[LB_VERB_COUNT];     /* fault_line.c */
extern const struct lb_fault lb_faults_of_messages[LB_VERB_COUNT];  /* fault_message.c */
extern const struct lb_fault lb_faults_of_processes[LB_VERB_COUNT]; /* fault_process.c */
extern const struct lb_fault lb_faults_of_orders[LB_VERB_COUNT];    /* fault_order.c */
extern const struct lb_fault lb_faults_by_hand[LB_VERB_COUNT];      /* fault_hand.c */
extern const struct lb_fault lb_faults_of_copies[LB_VERB_COUNT];    /* fault_copy.c */
extern const struct lb_fault lb_faults_of_memory[LB_VERB_COUNT];    /* fault_memory.c */
extern const struct lb_fault lb_faults_of_disks[LB_VERB_COUNT];     /* fault_disk.c */
extern const struct lb_fault lb_faults_of_power[LB_VERB_COUNT];     /* fault_power.c */
extern const struct lb_fault lb_faults_of_clocks[LB_VERB_COUNT];    /* fault_clock.c */
extern const struct lb_fault lb_faults_of_writes[LB_VERB_COUNT];    /* fault_late.c */

#define LB_NAMES_BYTES 5000 /* the names of all hosts of a trial */

/* fault_process.c: kills the servers of `a`, each of which has to live; starts who is dead of `a` again. 0, or -1 with err. */
int lb_doing_kill_servers(struct lb_doing *d);
int lb_doing_restart(struct lb_doing *d);
/* fault_order.c: how much a server has said in its log so far, and whether these words stand in what it has said since. */
long lb_doing_said(const struct lb_server *server);
bool lb_doing_has_said(const struct lb_server *server, long since, const char *words);
/* Says in err that there is nobody, and returns 1. */
int lb_doing_nobody(const struct lb_doing *d);
/* fault_line.c: a line on every link of the step, which has one; the seed of the plan is filled in. 0 and
 * *ret, or -1 with err. */
int lb_doing_make_line(struct lb_doing *d, struct lb_line_plan plan, struct lb_line **ret);
/* Undoes a line, which has to have done what it was for by then; of a hold the packet of its proof has to
 * come then. 0, or -1 with err. */
int lb_doing_end_line(struct lb_doing *d, struct lb_line *line);
/* Records of a line that ends whether nobody used it, what it carried, and what it added itself. */
void lb_line_note(struct lb_stage *stage, const struct lb_line *line);
/* fault_slow.c: how many packets the proof of this plan takes. */
unsigned lb_slow_probes(const struct lb_line_plan *plan);
/* 1 = all of them have come, as the plan says, and that is recorded; 0 = not yet; -1 with err. */
int lb_slow_look(const struct lb_doing *d, struct lb_line *line);
/* fault_message.c: 1 = there was such a message, which did not arrive, and that is recorded, once; 0 = not yet. */
int lb_message_look(const struct lb_doing *d, struct lb_line *line);
/* The same for one that is undone now: 0, or -1 with err, as there was none. */
int lb_message_settle(struct lb_doing *d, struct lb_line *line);
/* Puts a printf text into err and returns -1. */
int lb_doing_fail(const struct lb_doing *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
