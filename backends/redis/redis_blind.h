/* SPDX-License-Identifier: MIT
 *
 * redis_blind.h - locks without an owner.
 *
 * A lock that is one key with an expiry, and nothing in it says whose (LB_TRAIT_NO_OWNER): a client that asks learns
 * that some client holds it, and a delete removes any client's. What the locks of the time before compare-and-delete
 * share, They differ in how they set the key.
 *
 * The only thing that a session knows of its hold is what it remembers: a grant with a valid_until was granted. Its
 * token is a name of the attempt that never leaves the session.
 *
 * Unknown outcomes. Somebody's key cannot be told from the own one, so after a lost reply:
 *  - A try whose outcome is not known is not repeated: a second SETNX could not tell the first one's success from
 *    somebody else's. It is asked about. No key: it is not held. A key: unknown, until a lease asked for then would be
 *    over; and for ever if the key has no end, as that of a client that never came to set one.
 *  - It is not deleted either, as the key may be somebody else's.
 *  - A DEL whose outcome is not known is not repeated: the first may have been executed, and the second would take the
 *    next holder's lock. Asked over the same connection, behind it, anything answers that it was executed. Over another
 *    one: as above.
 * A renewal (PEXPIRE) is repeated: of somebody else's lease it makes a longer one, which is no more than the first one
 * does.
 */
#ifndef LB_REDIS_BLIND_H
#define LB_REDIS_BLIND_H

#include "redis_key.h"

struct redis_blind { /* the session of a protocol without more of its own */
  struct redis_key key;
  struct lb_confirmed deleted; /* the latest grant whose DEL got no answer */
};

#define REDIS_BLIND_HOOKS                                                                                              \
  .session_size = sizeof(struct redis_blind), REDIS_KEY_HOOKS, .release = redis_blind_release,                         \
  .extend = redis_blind_extend, .resolve = redis_blind_resolve, .holds = redis_blind_holds

/* What is written into the key. */
#define REDIS_BLIND_VALUE "1"

/* One try with one request that sets the key, answered with 1 or OK if it did. `set` lacks nothing but its reply. */
int redis_blind_try(struct lb_session *s, struct redis_request *set, const struct lb_lock *lock, struct lb_grant *grant,
                    lb_ns deadline);
/* DEL. Point: before-release. */
int redis_blind_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
/* What it is made of: the DEL of a grant that is known to be held, sent once. LB_UNKNOWN: *grant is not known to be
 * held any more. */
int redis_blind_delete(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
/* Whether what the server has just answered stood behind that DEL. */
bool redis_blind_was_deleted(struct lb_session *s, const struct lb_grant *grant);
/* PEXPIRE of whatever is there. */
int redis_blind_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
/* PTTL, which tells whether there is a key, and whether it has an end. */
int redis_blind_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int redis_blind_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline);

#endif
