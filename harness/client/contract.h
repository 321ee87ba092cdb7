/* SPDX-License-Identifier: MIT
 *
 * contract.h - what backend.h says about one call of a hook, as pure functions.
 *
 * 0 = fine; -EINVAL: something is wrong, and `complaint` has one line that says what.
 */
#ifndef LB_CONTRACT_H
#define LB_CONTRACT_H

#include "base/error.h"
#include "backends/backend.h"

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
  LB_HOOK_STOP,
  LB_HOOK_WORK,
  LB_HOOK_COUNT
};

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

#endif
