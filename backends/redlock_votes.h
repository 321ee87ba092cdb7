/* SPDX-License-Identifier: MIT
 *
 * redlock_votes.h - what Redlock asks its servers, and what counts as a yes. Each is a round for redis_fanout.h.
 */
#ifndef LB_REDLOCK_VOTES_H
#define LB_REDLOCK_VOTES_H

#include "redis_fanout.h"

/* The key with the grant's token, if there is none. `repeated`: it may have been asked for with this token before, and the own key is then
 * a yes. The strings and the grant are the caller's, as long as the round lasts. */
struct redis_round redlock_set(const struct lb_lock *lock, const char *ttl, const struct lb_grant *grant, bool repeated);
/* Deletes the key, sets its ttl anew, if it has the token. */
struct redis_round redlock_delete(const struct lb_lock *lock, const struct lb_grant *grant);
struct redis_round redlock_expire(const struct lb_lock *lock, const char *ttl, const struct lb_grant *grant);
/* Whether the key has the token. */
struct redis_round redlock_get(const struct lb_lock *lock, const struct lb_grant *grant);

#endif
