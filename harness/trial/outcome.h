/* SPDX-License-Identifier: MIT
 *
 * outcome.h - what came of one trial: its verdict and its counters. All that the process of a trial
 * hands to the tool at its end; whatever else it knows stays in its files (keep.h).
 */
#ifndef LB_OUTCOME_H
#define LB_OUTCOME_H

#include "history/counter.h"
#include "scenario/scenario.h"

enum { LB_FAULT_KINDS_MAX = 16 };

struct lb_outcome { /* plain data: travels through a pipe */
  enum lb_verdict verdict;
  char why[400]; /* of undecided, stuck and delayed */
  LB_COUNTERS_MEMBER;
  /* Of a campaign: how many of `faults` were of each kind, by the place of the kind in the scenario.
   * Kinds beyond the room are counted in `faults` only. */
  uint32_t faults_of[LB_FAULT_KINDS_MAX];
  bool history_kept;
  bool fresh; /* its servers were started for it, and had served nobody else */
  bool premises_observed; /* all that the scenario states */
  bool uncontested;       /* of an undecided one: because nobody asked, or was answered, while another one held */
};

#endif
