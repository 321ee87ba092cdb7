/* SPDX-License-Identifier: MIT
 *
 * gauge.h - what the processors did while a load was measured.
 */
#ifndef LB_GAUGE_H
#define LB_GAUGE_H

#include "judge.h"
#include "stage.h"

/* What the processors did in the measured window, into stage->gauge. */
void lb_gauge_begin(struct lb_stage *stage);
void lb_gauge_end(struct lb_stage *stage);
/* How much memory the clients then have; later, for that takes a while. */
void lb_gauge_memory(struct lb_stage *stage);
/* Whether the speed of this load is that of the lock (check/self_check.h). If it is not, the outcome has no speed, and
 * `why` says so unless it says something else. */
void lb_gauge_judge(const struct lb_stage *stage, const struct lb_stats *stats, struct lb_outcome *out);

#endif
