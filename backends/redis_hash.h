/* SPDX-License-Identifier: MIT
 *
 * redis_hash.h - a lock that is a hash in Redis: its one field is the owner, and the value says how often the owner holds. What
 * redis-reentrant and redis-watchdog share, which is all but how the lease is kept up.
 *
 * The owner is a session, not a grant: a session that holds may be granted the lock again. Others get it after as many releases. The
 * server counts, and knows nothing of single grants; the session remembers those that it has, and so tells an old one from the ones that count.
 *
 *   take     no key, or our field in it: the field plus one, the lease begins anew. Else the answer is how long the key has to live.
 *   release  our field minus one. More than 0: the lease begins anew. 0: the key is deleted, and whoever waits is told.
 *   extend   our field is there: the lease begins anew.
 *
 * Two ways to count. As shipped the server adds (HINCRBY). So a request that is sent twice counts twice, and a client has to do something about
 * one that brought no answer. With the option `absolute` the client says which depth it wants (HSET): sent twice it counts once.
 *
 * Whoever goes on with an attempt whose take brought no answer sends the same again.
 *
 * Waking. A release publishes, whether anybody listens or not. With the option `wake` waiters do, and otherwise sleep for as long as the key
 * had to live when they were refused (redis_ear.h).
 */
#ifndef LB_REDIS_HASH_H
#define LB_REDIS_HASH_H

#include "redis_key.h"

/* The options that both have, as their first. */
enum { REDIS_HASH_OPT_ABSOLUTE, REDIS_HASH_OPT_WAKE, REDIS_HASH_OPT_LOOK, REDIS_HASH_OPT_COUNT };
#define REDIS_HASH_ABSOLUTE_OPTION                                                                                     \
  { "absolute", LB_OPT_BOOL, 0, 0, 1, "the client sends its depth (HSET), and a request that is sent twice counts once" }
#define REDIS_HASH_WAKE_OPTION                                                                                         \
  { "wake", LB_OPT_BOOL, 0, 0, 1, "waiters hear of a release, or sleep for as long as the key has to live, instead of polling" }

#define REDIS_HASH_LOOK_OPTION                                                                                         \
  { "look", LB_OPT_BOOL, 1, 0, 1, "who has just subscribed looks at the key once; no: a release before that is missed" }

struct redis_hash_mine; /* a grant that the session has, or may have */

/* The body of struct lb_session for these protocols. */
struct lb_session {
  struct redis_key key;
  int64_t left_ms;                 /* of the key's life, when the latest try was refused */
  char owner[REDIS_TOKEN_LEN + 1]; /* whose grants the next one belongs to */
  unsigned attempts;               /* so far: no two have the same token */
  struct redis_hash_mine *mine;
};

/* The hooks of struct lb_protocol, as they are. */
/* Of every protocol with these hooks. */
#define REDIS_HASH_FLAWS                                                                                               \
  (const struct lb_flaw[]) {                                                                                           \
    {"an attempt that was repeated is one hold", "the server adds 1 for each request that it gets", "absolute=no"}, {0} \
  }

#define REDIS_HASH_HOOKS                                                                                               \
  .topologies = redis_key_topologies, .session_size = sizeof(struct lb_session), .open = redis_hash_open,              \
  .close = redis_hash_close, .try_acquire = redis_hash_try, .release = redis_hash_release,                             \
  .extend = redis_hash_extend, .wait = redis_hash_wait, .resolve = redis_hash_try, .holds = redis_hash_holds,          \
  .inspect = redis_key_inspect, .break_lock = redis_key_break, .teardown = redis_key_teardown, .doubt = redis_key_doubt, .server = redis_key_server

/* Its points. after-take: the reply has been read, or given up, and not been looked at. */
#define REDIS_HASH_POINTS ((const char *const[]){"before-take", "after-take", "before-release", NULL})

int redis_hash_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline);
void redis_hash_close(struct lb_session *s);
int redis_hash_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int redis_hash_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int redis_hash_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int redis_hash_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int redis_hash_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline);

#endif
