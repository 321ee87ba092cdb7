/* SPDX-License-Identifier: MIT
 *
 * guard_tested.h - whether a trial without damage says anything of its guard.
 */
#ifndef LB_GUARD_TESTED_H
#define LB_GUARD_TESTED_H

#include <stdbool.h>
#include <stddef.h>

#include "stage.h"

/* False, with a reason in `why`, if the guard of this trial was not tested; the table at the head of
 * judge.c says when. True without a guard. `held_twice`: two clients held the lock at once, in a
 * timeline. */
bool lb_guard_was_tested(const struct lb_stage *stage, bool held_twice, char *why, size_t size);

#endif
