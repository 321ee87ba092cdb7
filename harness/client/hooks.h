/* SPDX-License-Identifier: MIT
 *
 * hooks.h - how a client calls the hooks of its protocol. Shared memory names the running hook, so the controller knows
 * where a client hangs or dies. Each answer is held against the contract of backend.h, and the text of each failure is
 * kept.
 */
#ifndef LB_HOOKS_H
#define LB_HOOKS_H

#include "base/error.h"
#include "backends/backend.h"
#include "holder.h"

enum lb_hook {
  LB_HOOK_NONE,
  LB_HOOK_OPEN,
  LB_HOOK_SETUP,
  LB_HOOK_TRY_ACQUIRE,
  LB_HOOK_RELEASE,
  LB_HOOK_EXTEND,
  LB_HOOK_WAIT,
  LB_HOOK_RESOLVE,
  LB_HOOK_HOLDS,
  LB_HOOK_INSPECT,
  LB_HOOK_TEARDOWN,
  LB_HOOK_DOUBT,
  LB_HOOK_CLOSE,
  LB_HOOK_SERVER,
  LB_HOOK_VOTERS,
  LB_HOOK_SEEN,
  LB_HOOK_SESSION_ID,
  LB_HOOK_BREAK_LOCK,
  LB_HOOK_COUNT
};

/* ---- the contract: what backend.h says about one call of a hook, as pure functions ----
 *
 * 0 = fine; -EINVAL: something is wrong, and `complaint` has one line that says what. */

/* "try_acquire", as in struct lb_protocol; "no hook" for LB_HOOK_NONE and for what is none. */
const char *lb_hook_name(enum lb_hook hook);
/* "try_acquire answered 42, which is no result of it". */
int lb_contract_result(enum lb_hook hook, int result, struct lb_error *complaint);
/* The answer of `server`: "server answered 7, which is neither -ENOENT nor one of 3 endpoints". */
int lb_contract_server(int result, size_t endpoint_count, struct lb_error *complaint);
/* The answer of `voters` after a grant: at least one endpoint, and none that does not exist. */
int lb_contract_voters(uint64_t voters, size_t endpoint_count, struct lb_error *complaint);
/* The answer of `seen`: a number that a history can hold. */
int lb_contract_seen(uint64_t seen, struct lb_error *complaint);
/* The grant that came with LB_OK from try_acquire or resolve, for a lease of ttl_ms. `bounded`: it has to end with that
 * lease (LB_TRAIT_LEASED, unless a wrong wall clock counts it). `before` and `now` are lb_now() around the call. An
 * asked_at before `before` is of an earlier try; the lease may then have begun as late as now. */
int lb_contract_grant(bool bounded, const struct lb_grant *grant, lb_ns before, lb_ns now, int64_t ttl_ms,
                      struct lb_error *complaint);
/* env->err after a negative result: it ends within err_size bytes, is not empty, and is one line of printable UTF-8. */
int lb_contract_text(const char *err, size_t err_size, struct lb_error *complaint);
/* Makes one printable line of `text` (size > 0), with a '?' for every other byte. */
void lb_contract_clean_text(char *text, size_t size);

/* ---- the calls ----
 *
 * All return what the hook returned, or -EPROTO after a breach of the contract: then holder->breached is set and the
 * text stands in the client's state (memory.h), in env->err and in holder->error. Deadlines are on the clock of env. */

/* Once at the begin of a client's process. A child that a hook forks and that returns from the hook is then found,
 * named and ended. */
void lb_hooks_own_process(void);

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
