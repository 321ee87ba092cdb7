/* SPDX-License-Identifier: MIT
 *
 * premises.h - whether a trial showed what its verdict rests on.
 */
#ifndef LB_PREMISES_H
#define LB_PREMISES_H

#include "base/error.h"
#include "history/history.h"
#include "scenario/scenario.h"

/* True if all premises were observed. Else `why` names the first that was not, or whose opposite was: "the premise
 * \"client 1 holds\" was not observed". Reads typed facts only. */
bool lb_premises_observed(const struct lb_scenario *scenario, const struct lb_history *history, struct lb_error *why);

/* The same of what [proof] safe or test asks for, where one step that observed it is enough: "a safe trial would have to
 * show \"client 1 asked and was not granted\", and no step observed it". */
bool lb_premises_shown(const struct lb_scenario *scenario, const struct lb_history *history, enum lb_premise_use use,
                       struct lb_error *why);
bool lb_premises_have(const struct lb_scenario *scenario, enum lb_premise_use use);
/* False, with a reason, if by its steps a client asks while a clock is wrong or after a restart, and no such client was
 * answered. */
bool lb_premises_answered(const struct lb_scenario *scenario, const struct lb_history *history, struct lb_error *why);

#endif
