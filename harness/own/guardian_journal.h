/* SPDX-License-Identifier: MIT
 *
 * guardian_journal.h - what a guardian knows: its rules, and the faults that last. They are written down before they
 * begin, in a file that outlives it. Private to the guardian.
 */
#ifndef LB_GUARDIAN_JOURNAL_H
#define LB_GUARDIAN_JOURNAL_H

#include "own_operator.h"

enum { LB_GUARDIAN_FAULTS_MAX = 2 * LB_MANDATE_MOST };

struct lb_guardian_fault {
  enum lb_mandate_verb verb;
  size_t ward, other;
  size_t touches; /* the ward that counts for at-once: one end of a link */
  int64_t offset_ms;
  int64_t skew_ms; /* of a clock: how far it was ahead of the true time before it was set at all */
  lb_ns since;
  unsigned number;    /* in the journal */
  bool seen;          /* its effect was */
  bool shows_late;    /* a cut that is proved before the next order, or at the end of the trial */
  bool ordered_back;  /* a command that undoes it was given, and the proof is still to come */
  bool obeyed;        /* ... and one has ended with 0 */
  char identity[128]; /* of the server before it; "" = it told none */
};

extern struct lb_guardian {
  const struct lb_own_operator *rules;
  struct lb_env *env;
  struct lb_guardian_fault fault[LB_GUARDIAN_FAULTS_MAX];
  size_t count;
  unsigned last;       /* number of a fault */
  int journal;         /* locked as long as a guardian lives */
  char why[300];       /* the last command that undoes has failed; "" = none */
  bool failed;         /* something could not be undone */
  bool early;          /* something was undone although no order said so */
  bool well;           /* the servers were, and no order has come since */
  char false_kill[64]; /* the server that was seen to be killed, and is the one of before; "" = none */
} lb_guardian;

/* The name that the file of the operator has for it. */
const char *lb_guardian_name(size_t ward);

/* Takes the lock of this file and reads what an earlier guardian has left. 0, or -errno with err; -EBUSY: another one has
 * the lock. */
int lb_guardian_journal_open(struct lb_error *err);
/* Writes down a fault that is about to be done. NULL with err if that cannot be. */
struct lb_guardian_fault *lb_guardian_journal_add(const struct lb_guardian_fault *like, struct lb_error *err);
/* Fault i has been undone, or never was one. */
void lb_guardian_journal_strike(size_t i);

#endif
