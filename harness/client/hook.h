/* SPDX-License-Identifier: MIT
 *
 * hook.h - how a client calls the hooks of its protocol. Shared memory names the running hook, so the controller knows
 * where a client hangs or dies. Each answer is held against the contract of backend.h, and the text of each failure is
 * kept.
 */
#ifndef LB_HOOK_H
#define LB_HOOK_H

#include "backends/backend.h"
#include "contract.h"
#include "holder.h"

/* ---- the calls ----
 *
 * All return what the hook returned, or -EPROTO after a breach of the contract: then holder->breached is set and the
 * text stands in the client's state (memory.h), in env->err and in holder->error. Deadlines are on the clock of env. */

/* Once at the begin of a client's process. A child that a hook forks and that returns from the hook is then found,
 * named and ended. */
void lb_hook_own_process(void);

int lb_hook_open(struct lb_holder *holder, const struct lb_config *config, lb_ns deadline);
/* The session's memory stays the caller's. The controller compares `deadline` with the time when the client hangs. */
void lb_hook_close(struct lb_holder *holder, lb_ns deadline);
/* From setup to doubt, but for inspect and break_lock. setup and teardown need no lock and no grant, and are LB_OK
 * without such a hook; the protocol has to have the others. With LB_OK from try_acquire and resolve the grant is
 * complete; after a breach it is LB_GRANT_INIT. doubt may not wait. */
int lb_hook_call(struct lb_holder *holder, enum lb_hook hook, const struct lb_lock *lock, struct lb_grant *grant,
                 lb_ns deadline);
/* inspect and break_lock, which the protocol has to have. */
int lb_hook_at_server(struct lb_holder *holder, enum lb_hook hook, const struct lb_lock *lock, size_t endpoint,
                      lb_ns deadline);
/* Index of the endpoint, or -ENOENT, also without such a hook. It leaves env->err alone. */
int lb_hook_server(struct lb_holder *holder);
/* voters, seen, session_id (of the present attempt or hold); 0 = no such hook, or a breach of the contract. */
uint64_t lb_hook_number(struct lb_holder *holder, enum lb_hook hook);

/* What the service said of a hold, as the answer of the hook `holds`, or of an `extend` that failed. */
enum lb_check_result lb_hook_answer(int result);

#endif
