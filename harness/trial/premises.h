/* SPDX-License-Identifier: MIT
 *
 * premises.h - whether the question of a scenario was put in this trial: each of its premises was
 * observed, by the steps that look at it; and what only a safe trial has to show.
 */
#ifndef LB_PREMISES_H
#define LB_PREMISES_H

#include <stdbool.h>

#include "history/history.h"
#include "scenario/scenario.h"

/* True if all premises were observed. Else `why` names the first that was not, or whose opposite
 * was: "the premise \"client 1 holds\" was not observed". Reads typed facts only. */
bool lb_premises_observed(const struct lb_scenario *scenario, const struct lb_history *history, char *why, size_t why_size);

/* The same of what [proof] safe asks for, where one step that observed it is enough: "a safe trial
 * would have to show \"client 1 asked and was not granted\", and no step observed it". */
bool lb_premises_of_safe(const struct lb_scenario *scenario, const struct lb_history *history, char *why, size_t why_size);

#endif
