/* SPDX-License-Identifier: MIT
 *
 * contract.h - what backend.h says about one call of a hook, as checks: was that a result this hook
 * has, is that grant one a client can live with, is there a text where there has to be one. Pure
 * functions: who calls a hook hands over what it gave and what it got.
 *
 * `complaint` takes one line without a newline, cut off at `size`; it is written only where
 * something is wrong.
 */
#ifndef LB_CONTRACT_H
#define LB_CONTRACT_H

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
  LB_HOOK_COUNT
};

/* "try_acquire", as in struct lb_protocol; "no hook" for LB_HOOK_NONE and for what is none. */
const char *lb_hook_name(enum lb_hook hook);
/* Whether backend.h knows this result of the hook (close has none: 0). 0 = fine; -1: "try_acquire
 * answered 42, which is no result of it". */
int lb_contract_result(enum lb_hook hook, int result, char *complaint, size_t size);
/* The answer of `server` in a target of so many endpoints: one of their indexes, or -ENOENT. 0 = fine; -1:
 * "server answered 7, which is neither -ENOENT nor one of 3 endpoints". */
int lb_contract_server(int result, size_t endpoint_count, char *complaint, size_t size);
/* The answer of `voters` after a grant: some of so many endpoints. 0 = fine; -1: "voters named nobody". */
int lb_contract_voters(uint64_t voters, size_t endpoint_count, char *complaint, size_t size);
/* The answer of `seen`: a number that a history can hold. 0 = fine; -1: "seen answered a number of more than 63 bits". */
int lb_contract_seen(uint64_t seen, char *complaint, size_t size);
/* The grant that came with LB_OK from try_acquire or resolve for a lease of ttl_ms; `bounded`: it has to
 * end with that lease (LB_TRAIT_LEASED, unless a wrong wall clock counts it). `before` and
 * `now` are lb_now() of the session's own env, just before and just after the call. A repeated try
 * may keep the asked_at of an earlier one: an asked_at before `before` is taken for that, and the
 * lease may then have begun as late as now. 0 = fine; -1: "granted with asked_at = 0". */
int lb_contract_grant(bool bounded, const struct lb_grant *grant, lb_ns before, lb_ns now, int64_t ttl_ms,
                      char *complaint, size_t size);
/* env->err after a negative result: it ends within err_size bytes, is not empty, and is one line of
 * printable UTF-8. 0 = fine; -1: "left no text in env->err". */
int lb_contract_text(const char *err, size_t err_size, char *complaint, size_t size);
/* Makes `text` (size > 0) printable, whatever a plugin left there: ends it within size, makes one
 * line of it, and puts a '?' for every byte of another control character and every byte that is no
 * UTF-8. */
void lb_contract_clean_text(char *text, size_t size);

#endif
