/* SPDX-License-Identifier: MIT
 *
 * conform.h - the statements of the contract (backend.h), held against one protocol on real servers.
 *
 * Every statement runs in a process of its own with a time limit, and opens its own sessions: a protocol that hangs,
 * dies or exits takes one statement with it, not the suite. Servers are started once per system, in a sandbox that ends
 * with the tool.
 *
 * A statement that holds says that this call of it went well, not that the protocol is right: what happens under faults
 * and load is for scenarios.
 *
 * Where a protocol declares a flaw (struct lb_flaw), the statement has to fail, by its own verdict: neither an error
 * nor an answer that the contract does not know is the flaw that was declared.
 */
#ifndef LB_CONFORM_H
#define LB_CONFORM_H

#include "base/error.h"
#include "run/rundir.h"
#include "servers/topology.h"

struct lb_conform_result { /* of one statement; plain data, printable: it travels through a pipe */
  char statement[100];     /* "a held lock is refused to another session" */
  bool holds;
  char note[100]; /* how much of it was asked, where that is not always the same; else "" */
  /* Why the protocol says that it fails this statement, cut off where it is too long; "" = it does not say so. */
  char declared[200];
  /* One line where it does not hold: "expected BUSY from try_acquire, got OK (second session)";
   * also where it fails as declared; else "". */
  char why[700];
  /* Then also: the last lines of what the protocol wrote to stdout and stderr, or the first of a
   * sanitizer's report; each ends with '\n'. */
  char output[1400];
};

struct lb_conform_plan {
  const struct lb_protocol *protocol;
  const struct lb_topology *topology; /* one that this machine has the programs for */
  const union lb_value *options;
  const struct lb_rundir *dir; /* for the servers' files; one folder serves several calls, one after the other */
  int64_t limit_ms;            /* of one statement; 0 = 30 s */
  const char *const *only;     /* these statements alone, NULL at the end; NULL = all */
  bool adapter; /* what is said of an adapter and its lines (lb_conform_statement_at()), not of the contract */
};

/* Runs all statements that apply, in order, and tells each result to `said`, in the caller's
 * process. After three that did not end in time the rest is not tried, and does not hold. 0; -errno
 * with one line in err: no process, no network, or the servers did not start. */
int lb_conform_run(const struct lb_conform_plan *plan, void (*said)(void *data, const struct lb_conform_result *result),
                   void *data, struct lb_error *err);

/* One promise of the contract, as a sentence that is true of a protocol which keeps it. */
struct lb_conform;
struct lb_conform_statement {
  const char *text;
  unsigned needs;
  void (*run)(struct lb_conform *c); /* returns if it holds, else ends in lb_conform_fail() */
  bool sets_up;                      /* calls the protocol's setup(), and all behind it need what that made */
};
/* Those of the contract, or of an adapter's lines (peers/README.md), in the order they run; NULL behind the last. */
const struct lb_conform_statement *lb_conform_statement_at(bool of_adapter, size_t index);

#endif
