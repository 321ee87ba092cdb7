/* SPDX-License-Identifier: MIT
 *
 * shard.h - one of N processes that play a plan together, each on its own machine. All of them make the same plan from
 * the same seed; a shard plays its part of the jobs. `lockbench merge` makes one run of their folders.
 */
#ifndef LB_SHARD_H
#define LB_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "estimate.h"
#include "tally.h"

struct lb_shard {
  int index, of; /* 1..of; of == 0: the run is not shared out */
};

enum { LB_SHARDS_MOST = 9999 };

/* "2/16". 0, or -EINVAL with one line in err. */
int lb_shard_parse(const char *text, struct lb_shard *ret, struct lb_error *err);
/* What the engine that started this process says in the environment: a Slurm array or step, Open MPI, PMI. For a single
 * process: not shared out. *ret_job is a number that all processes of the job have in common, 0 = the engine tells
 * none. */
void lb_shard_of_engine(struct lb_shard *ret, uint64_t *ret_job);

/* Leaves to the tally, of which nothing is done, what the shard plays (lb_job_result.elsewhere, lb_tally.wanted). The
 * longest go first, each to the shard with the least to do. What may not be taken apart goes to one shard: jobs of a
 * pool, and all jobs of a scenario that measure speed, which are compared with each other. Every shard finds the same.
 * `shard.of` is not 0. */
void lb_shard_take(struct lb_tally *tally, struct lb_shard shard, const struct lb_times *times);

#endif
