/* SPDX-License-Identifier: MIT
 *
 * run_info.h - what a reader has to know of a run beside its plan and what came of it: where, when,
 * on which versions. What has to be asked is asked before the run.
 */
#ifndef LB_RUN_INFO_H
#define LB_RUN_INFO_H

#include "base/machine.h"
#include "plan.h"

struct lb_version { /* of the servers of a topology */
  const char *topology;
  char text[700];
};

struct lb_run_info {
  /* Borrowed, as argv is. The caller fills in what lb_run_info_ask() does not set. */
  const char *id;
  const char *const *argv;
  int argc;
  char started_utc[32];
  double seconds; /* of all sittings */
  int sittings;   /* 1 = it was never stopped and resumed */
  int jobs;
  struct lb_machine before;
  /* Set by the caller when all trials are over. */
  double load_after;
  /* "root", "user", or "none: why". */
  char namespaces[300];
  /* Of topologies that say theirs, in the order of the plan. Owned. */
  struct lb_version *versions;
  size_t version_count;
  /* First line of the summary (exit.h). */
  char verdict[1200];
  int exit_code;
};

/* Asks the machine, the servers' programs and the clock; the run's files go to `run_dir`. Sets
 * started_utc, before, namespaces and versions. 0 (release with lb_run_info_clear()) or -ENOMEM. */
int lb_run_info_ask(struct lb_run_info *info, const struct lb_plan *plan, const char *run_dir);
void lb_run_info_clear(struct lb_run_info *info);

#endif
