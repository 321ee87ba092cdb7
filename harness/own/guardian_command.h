/* SPDX-License-Identifier: MIT
 *
 * guardian_command.h - the commands of the operator's file. Private to the guardian.
 */
#ifndef LB_GUARDIAN_COMMAND_H
#define LB_GUARDIAN_COMMAND_H

#include "guardian_journal.h"

/* Runs the one of this verb to its end; what it starts may go on. 0, or -errno with err: it failed, did not start, or did
 * not end in time. */
int lb_guardian_command(enum lb_mandate_verb verb, const struct lb_guardian_fault *f, struct lb_error *err);

#endif
