/* SPDX-License-Identifier: MIT
 *
 * job.h - one trial of a plan, as the engine plays it (run/engine.h).
 */
#ifndef LB_JOB_H
#define LB_JOB_H

#include <stdbool.h>

#include "trial/trial.h"

struct lb_job {
  size_t cell; /* of its plan */
  struct lb_trial_plan plan;
};

/* Whether it measures speed: anything beside it would be measured as well, so it runs alone. */
static inline bool lb_job_measures(const struct lb_job *job) { return job->plan.scenario->kind == LB_KIND_LOAD; }

#endif
