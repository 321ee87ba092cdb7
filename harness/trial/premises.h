/* SPDX-License-Identifier: MIT
 *
 * premises.h - whether the question of a scenario was put in this trial: each of its premises was
 * observed, by the steps that look at it.
 */
#ifndef LB_PREMISES_H
#define LB_PREMISES_H

#include <stdbool.h>

#include "history/history.h"
#include "scenario/scenario.h"

/* True if all premises were observed. Else `why` names the first that was not, or whose opposite
 * was: "the premise \"client 1 holds\" was not observed". Reads typed facts only. */
bool lb_premises_observed(const struct lb_scenario *scenario, const struct lb_history *history, char *why, size_t why_size);

#endif
