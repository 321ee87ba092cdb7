/* SPDX-License-Identifier: MIT
 *
 * explain_again.h - the command that makes a trial of a run once more.
 */
#ifndef LB_EXPLAIN_AGAIN_H
#define LB_EXPLAIN_AGAIN_H

#include "explain_run.h"

/* The command that makes trials like the chosen one, with the same seed, into ret. It can be pasted
 * into a shell, whatever the run's files say. */
void lb_told_again(const struct lb_told *told, char *ret, size_t size);

#endif
