/* SPDX-License-Identifier: MIT
 *
 * redis_key.h - what the Redis locks share whose record is one key on the server that decides, on top of
 * redis_session.h. Three layers; a protocol takes what it needs and writes the rest itself:
 *
 *  - The session, with the hooks that do not care what stands in the key: REDIS_KEY_HOOKS. A protocol with a state of
 *    its own puts struct redis_key first into its struct lb_session and says its size; one without leaves session_size
 *    = sizeof(struct redis_key). Options are read where they are needed: redis_key(s)->options[OPT_FENCE].b.
 *  - Begin and end of a try: redis_key_begin(), redis_key_tried(). They keep the rules of what a try may answer,
 *    whatever was sent.
 *  - A key whose value is the token of the grant (SET key token NX PX ttl), so its owner is known to the server: whole
 *    hooks, REDIS_KEY_TOKEN_HOOKS, or one by one.
 */
#ifndef LB_REDIS_KEY_H
#define LB_REDIS_KEY_H

#include "redis_ear.h"

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

/* EXPIRE, for locks that set the key without an end: also if it is another client's key; the answer is not looked at.
 * It counts whole seconds: the ttl, rounded up. 0; LB_UNKNOWN, -errno: the key has no end perhaps. */
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
/* The same by another script, which is given the key, the token and the ttl in ms, and answers 1 if it did. */
int redis_key_extend_by(struct lb_session *s, const struct redis_script *script, const struct lb_lock *lock,
                        struct lb_grant *grant, lb_ns deadline);
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

/* Yes: the lock is the grant's, from now on or as before. `lasts_ms`: of what it makes, 0 = for ever. Points:
 * before-take, after-take (the reply has been read, or given up, and not been looked at). */
int redis_key_take_with(struct lb_session *s, struct redis_command command, int64_t lasts_ms, struct lb_grant *grant,
                        lb_ns deadline);
/* Yes: it was the grant's until now. Points: before-release, before-del. */
int redis_key_leave_with(struct lb_session *s, struct redis_command command, struct lb_grant *grant, lb_ns deadline);
/* Yes: it is the grant's. For the hooks resolve and holds. */
int redis_key_resolve_with(struct lb_session *s, struct redis_command command, int64_t ttl_ms, struct lb_grant *grant,
                           lb_ns deadline);
int redis_key_holds_with(struct lb_session *s, struct redis_command command, const struct lb_grant *grant,
                         lb_ns deadline);

#endif
