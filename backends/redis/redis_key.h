/* SPDX-License-Identifier: MIT
 *
 * redis_key.h - what the Redis locks share whose record is one key on the server that decides, on top of
 * redis_session.h. Three layers; a protocol takes what it needs and writes the rest itself:
 *
 *  - The session, with the hooks that do not care what stands in the key: REDIS_KEY_HOOKS. A protocol with a state of
 *  its own puts
 *    struct redis_key first into its struct lb_session and says its size; one without leaves session_size =
 *    sizeof(struct redis_key). Options are read where they are needed: redis_key(s)->options[OPT_FENCE].b.
 *  - Begin and end of a try: redis_key_begin(), redis_key_tried(). They keep the rules of what a try may answer,
 *  whatever was sent.
 *  - A key whose value is the token of the grant (SET key token NX PX ttl), so its owner is known to the server: whole
 *  hooks,
 *    REDIS_KEY_TOKEN_HOOKS, or one by one.
 *
 * A key that says nothing of its owner: at the end.
 */
#ifndef LB_REDIS_KEY_H
#define LB_REDIS_KEY_H

#include "redis_session.h"

/* ---- the session -------------------------------------------------------------------------------------- */

struct redis_key { /* one thread; zeroed before redis_key_open() */
  struct redis_session redis;
  struct redis_ear ear;          /* of use where redis_key_wait is the hook wait */
  const union lb_value *options; /* of the protocol */
};
static inline struct redis_key *redis_key(struct lb_session *s) { return (struct redis_key *)s; }

/* redis, sentinel, cluster. (What stands for one of them runs, too: harness/servers/topology.c.) */
extern const char *const redis_key_topologies[];
/* Whether a server has the key, whatever is in it, and which server is asked. */
extern const struct lb_proofs redis_key_proofs;

#define REDIS_KEY_HOOKS                                                                                                \
  .topologies = redis_key_topologies, .open = redis_key_open, .close = redis_key_close, .break_lock = redis_key_break, \
  .teardown = redis_key_teardown, .doubt = redis_key_doubt, .proofs = &redis_key_proofs

int redis_key_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline);
void redis_key_close(struct lb_session *s);
/* Whether the server has the key, whatever is in it. */
int redis_key_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);
/* DEL, whatever is in it. */
int redis_key_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);
int redis_key_teardown(struct lb_session *s, lb_ns deadline);
/* By redis_session_doubt(): each hook that hears the server confirm the grant calls redis_session_confirm(). */
int redis_key_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant);
int redis_key_server(struct lb_session *s);

/* ---- begin and end of a try --------------------------------------------------------------------------- */

/* True: an earlier try of this attempt got no answer. Else the grant gets a fresh random token, which names the attempt
 * to this session also where it never leaves it. */
bool redis_key_begin(struct lb_session *s, struct lb_grant *grant);
/* After the request of a try came to rc (LB_OK, LB_BUSY, LB_UNKNOWN, -errno): what the hook answers. A refusal says
 * nothing of an earlier try; who is not the owner may still become it, while a request is in doubt; a grant is
 * confirmed; and nothing stays in *grant of an attempt that is over. */
int redis_key_tried(struct lb_session *s, struct lb_grant *grant, bool repeated, int rc);

/* EXPIRE, for locks that set the key without an end: whosever key it is, and nobody looks at the answer. It counts
 * whole seconds: the ttl, rounded up. 0; LB_UNKNOWN, -errno: the key has no end perhaps. */
int redis_key_set_end(struct lb_session *s, const struct lb_lock *lock, lb_ns deadline);

/* ---- a key whose value is the token of the grant ------------------------------------------------------ */

/* Points: before-set, after-set (the reply has been read, or given up, and not been looked at), before-release,
 * before-del (just before the request leaves that deletes the key: here the same place). */
#define REDIS_KEY_TOKEN_HOOKS                                                                                          \
  .try_acquire = redis_key_try, .release = redis_key_release, .extend = redis_key_extend,                              \
  .resolve = redis_key_resolve, .holds = redis_key_holds

/* SET key token NX PX ttl; a repeated one adds GET (Redis 7), which tells the own token from somebody else's. */
int redis_key_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
/* The same with a script in place of SET, which is given the key, the token and the ttl in ms, and answers with the
 * number of the grant; below 0 if the key was ours before; 0 busy. NULL = SET. */
int redis_key_try_by(struct lb_session *s, const struct redis_script *set, const struct lb_lock *lock,
                     struct lb_grant *grant, lb_ns deadline);
/* Deletes the key if the token in it is ours, in one script. */
int redis_key_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
/* The same by another script, which is given the key and the token, and answers 1 if it did. */
int redis_key_release_by(struct lb_session *s, const struct redis_script *script, const struct lb_lock *lock,
                         struct lb_grant *grant, lb_ns deadline);
/* PEXPIRE if the token in it is ours, in one script. */
int redis_key_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
/* GET, compared here. */
int redis_key_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int redis_key_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline);
/* What holds and resolve stand on: LB_OK, the token in the key is ours; LB_LOST, it is not, or there is no key;
 * LB_UNKNOWN; -errno. */
int redis_key_look(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline);

/* ---- a record that only scripts touch -------------------------------------------------------------------
 *
 * `command` is a script with the key, the token of the grant and what else it takes. It answers 1 for yes, and may be
 * executed twice. */

/* Yes: the lock is the grant's, from now on or as before. Points: before-take, after-take (the reply has been read, or
 * given up, and not been looked at). */
int redis_key_take_with(struct lb_session *s, struct redis_command command, const struct lb_lock *lock,
                        struct lb_grant *grant, lb_ns deadline);
/* Yes: it was the grant's until now. Points: before-release, before-del. */
int redis_key_leave_with(struct lb_session *s, struct redis_command command, struct lb_grant *grant, lb_ns deadline);
/* Yes: it is the grant's. For the hooks resolve and holds. */
int redis_key_resolve_with(struct lb_session *s, struct redis_command command, int64_t ttl_ms, struct lb_grant *grant,
                           lb_ns deadline);
int redis_key_holds_with(struct lb_session *s, struct redis_command command, const struct lb_grant *grant,
                         lb_ns deadline);

/* ---- locks without an owner -----------------------------------------------------------------------------
 *
 * A lock that is one key with an expiry, and nothing in it says whose (LB_TRAIT_NO_OWNER): whoever asks learns that
 * somebody holds it, whoever deletes it deletes anybody's. What the locks of the time before compare-and-delete share,
 * They differ in how they set the key.
 *
 * The only thing that a session knows of its hold is what it remembers: a grant with a valid_until was granted. Its
 * token is a name of the attempt that never leaves the session.
 *
 * Unknown outcomes. Somebody's key cannot be told from the own one, so after a lost reply:
 *  - A try whose outcome is not known is not repeated: a second SETNX could not tell the first one's success from
 *  somebody
 *    else's. It is asked about. No key: it is not held. A key: unknown, until a lease asked for then would be over; and
 *    for ever if the key has no end, as that of a client that never came to set one.
 *  - It is not deleted either, as the key may be somebody else's.
 *  - A DEL whose outcome is not known is not repeated: the first may have been executed, and the second would take the
 *  next holder's
 *    lock. Asked over the same connection, behind it, anything answers that it was executed. Over another one: as
 *    above.
 * A renewal (PEXPIRE) is repeated: of somebody else's lease it makes a longer one, which is no more than the first one
 * does. */

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
