/* SPDX-License-Identifier: MIT
 *
 * hooks.h - how a client calls the hooks of its protocol: which one it is in is told in shared
 * memory, so that the controller can name it when the client hangs or dies in there; what comes
 * back is held against the contract (contract.h); and the text of every failure is kept.
 *
 * All return what the hook returned, or -EPROTO after a breach of the contract: then
 * holder->breached is set and the text stands in the client's state (memory.h), in env->err and in
 * holder->error. Deadlines are on the clock of env. The client's thread.
 */
#ifndef LB_HOOKS_H
#define LB_HOOKS_H

#include "holder.h"

/* The process that calls from now on is this one; a child that a hook forks, and that returns from
 * the hook, is told from it, named and ended. Once at the begin of a client's process. */
void lb_hooks_own_process(void);

int lb_hook_open(struct lb_holder *holder, const struct lb_config *config, lb_ns deadline);
/* The session's memory stays the caller's. `deadline` is for whoever finds the client hanging. */
void lb_hook_close(struct lb_holder *holder, lb_ns deadline);
/* These two: LB_OK where the protocol has no such hook. */
int lb_hook_setup(struct lb_holder *holder, lb_ns deadline);
int lb_hook_teardown(struct lb_holder *holder, lb_ns deadline);
/* With LB_OK the grant is complete and can be lived with; after a breach it is LB_GRANT_INIT. */
int lb_hook_try_acquire(struct lb_holder *holder, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int lb_hook_release(struct lb_holder *holder, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
/* The protocol has to have the following ones. */
int lb_hook_resolve(struct lb_holder *holder, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int lb_hook_wait(struct lb_holder *holder, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int lb_hook_extend(struct lb_holder *holder, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int lb_hook_holds(struct lb_holder *holder, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline);
/* Takes no deadline: the hook may not wait, so it is late if it is not back at once. */
int lb_hook_doubt(struct lb_holder *holder, const struct lb_lock *lock, const struct lb_grant *grant);
/* Index of the endpoint, or -ENOENT: also where the protocol has no such hook. It leaves env->err alone. */
int lb_hook_server(struct lb_holder *holder);
/* 0 = the protocol has no such hook, or broke the contract. */
uint64_t lb_hook_voters(struct lb_holder *holder);
uint64_t lb_hook_seen(struct lb_holder *holder);
/* Of its present attempt or hold; 0 = it has no session, or the protocol does not tell. */
uint64_t lb_hook_session_id(struct lb_holder *holder);
int lb_hook_inspect(struct lb_holder *holder, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);
int lb_hook_break_lock(struct lb_holder *holder, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);

#endif
