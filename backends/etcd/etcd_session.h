/* SPDX-License-Identifier: MIT
 *
 * etcd_session.h - one client of an etcd cluster: which member it asks, its leases, and its keys in the queue of a lock.
 * And what the locks of etcd share as hooks: ETCD_HOOKS. A protocol puts struct etcd_session first into its struct
 * lb_session, and writes the rest.
 *
 * An attempt is a lease, and a key that hangs on it: <lock>/<lease in hexadecimal digits>. It is kept in the grant:
 *   token        "LEASE": whether the key was made, is not known; "LEASE@REVISION": it was, by that transaction, which
 *                no two keys share
 *   valid_until  the end of the lease, as far as the client knows it; 0 = an earlier release may have worked
 *   fence        that revision, as soon as the lock is held
 *
 * Details that matter
 *  - Every request is asked of one member after the other until there is an answer. So it may be executed more than
 *    once, and each is such that this does no harm: a key is made only if it is not there, and deleted only if it is
 *    the one that this attempt has made.
 *  - What was sent to a member that is silent may still come to effect, also after another member has said what is
 *    there now. So an attempt that may have left a key is ended by revoking its lease: without the lease no key can
 *    hang on it any more, whatever arrives later.
 *  - Members count leases in whole seconds, so one lasts up to a second longer than what was asked for; and a new
 *    leader counts all of them from the begin. (Checkpoints change that only for leases of more than five minutes.)
 *    Both are longer than what a client believes, which counts from before the request that was answered.
 *  - A lease whose key was deleted serves the next attempt: that saves a commit. The next key has a revision of its
 *    own.
 *
 * Source: etcd's clientv3/concurrency (key.go, mutex.go, session.go), release 3.4.
 */
#ifndef LB_ETCD_SESSION_H
#define LB_ETCD_SESSION_H

#include "backends/doubt.h"
#include "etcd.h"

#define ETCD_KEY_MAX 120

/* Beside enum lb_result: the lease of the attempt is over, and the attempt forgotten. Begin anew. */
#define ETCD_AGAIN 100

struct etcd_session { /* one thread; private but for env, ahead and confirmed */
  struct lb_env *env;
  const struct lb_target *target;
  const char *prefix, *client;
  struct etcd_link *link, *ear; /* for questions; for what is answered later. To the same member; NULL = not made yet */
  size_t member;                /* index of the endpoint */
  bool answered;                /* by that one */
  uint64_t losses;              /* of links that are closed */
  struct lb_confirmed confirmed;
  struct etcd_lease {
    uint64_t id; /* 0 = none */
    int64_t ttl_ms;
    lb_ns until;
  } spare;
  char ahead[ETCD_KEY_MAX]; /* after LB_BUSY: the key before the own one */
  uint64_t revision;        /* in which it was seen */
};

/* Logs in, where there is a password: that takes the server long, and no request has so much time. 0 or -errno. */
int etcd_session_open(struct etcd_session *session, const struct lb_config *config, lb_ns deadline);
void etcd_session_close(struct etcd_session *session);

/* ---- leases -------------------------------------------------------------------------------------------------- */

/* Begins an attempt: takes a lease. LB_OK, LB_TIMEOUT, -errno. */
int etcd_session_begin(struct etcd_session *session, const struct lb_lock *lock, struct lb_grant *grant,
                       lb_ns deadline);
/* Keeps the lease up if less than two thirds of it are left. LB_OK; ETCD_AGAIN: it is over; LB_UNKNOWN: no answer. */
int etcd_session_keep(struct etcd_session *session, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
/* Ends the lease, and with it whatever hangs on it. LB_OK; LB_LOST: it was over; LB_UNKNOWN, -errno. */
int etcd_session_revoke(struct etcd_session *session, const struct lb_grant *grant, lb_ns deadline);
void etcd_session_forget(struct lb_grant *grant);

/* ---- the queue ----------------------------------------------------------------------------------------------- */

/* Makes the key of the attempt at the end of the queue, unless it is there. LB_OK: it stands there; ETCD_AGAIN,
 * LB_UNKNOWN, -errno. */
int etcd_session_join(struct etcd_session *session, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
/* Looks for the key of an attempt, and notes its revision. LB_OK; ETCD_AGAIN: it is not there; LB_UNKNOWN, -errno. */
int etcd_session_find(struct etcd_session *session, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
/* Its place. LB_OK: it is there, and the first; LB_BUSY: another one is `ahead`; ETCD_AGAIN: it is not there;
 * LB_UNKNOWN, -errno. */
int etcd_session_look(struct etcd_session *session, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
/* Deletes it. LB_OK; LB_LOST: it was held and had gone; LB_UNKNOWN, -errno. */
int etcd_session_leave(struct etcd_session *session, const struct lb_lock *lock, struct lb_grant *grant,
                       lb_ns deadline);
/* Whether it is there, by this revision if one is noted; for the hook holds. LB_OK, LB_LOST, LB_UNKNOWN, -errno. */
int etcd_session_confirm(struct etcd_session *session, const struct lb_lock *lock, const struct lb_grant *grant,
                         lb_ns deadline);
/* Until `ahead` is deleted, or for a third of the ttl: then the lease has to be kept up. LB_OK, LB_TIMEOUT, -errno. */
int etcd_session_await_turn(struct etcd_session *session, const struct lb_lock *lock, lb_ns deadline);
/* The name of the attempt's key. */
void etcd_session_key(const struct lb_lock *lock, const struct lb_grant *grant, char key[ETCD_KEY_MAX]);
/* The revision in the token, 0 = none. */
uint64_t etcd_session_revision(const struct lb_grant *grant);
uint64_t etcd_session_lease(const struct lb_grant *grant);

/* ---- the rest -------------------------------------------------------------------------------------------------- */

/* A request that may be executed twice, asked of one member after the other. *unsure (may be NULL) = it was executed
 * perhaps, before the try that answered. LB_OK with *ret; LB_TIMEOUT: nothing has left; LB_UNKNOWN; -errno. `body` is
 * only borrowed. */
int etcd_session_ask(struct etcd_session *session, const char *path, json_t *body, lb_ns deadline, json_t **ret,
                     bool *unsure);
/* The second connection, to the same member. 0 or -errno. */
int etcd_session_lend_ear(struct etcd_session *session, lb_ns deadline);

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

extern const char *const etcd_session_topologies[];
/* Whether a member has a key of the lock, as far as it knows by itself; the member that has answered last; the lease of
 * an attempt or hold. */
extern const struct lb_proofs etcd_session_proofs;

#define ETCD_HOOKS                                                                                                     \
  .topologies = etcd_session_topologies, .session_size = sizeof(struct lb_session), .open = etcd_session_hook_open,    \
  .close = etcd_session_hook_close, .extend = etcd_session_hook_extend, .break_lock = etcd_session_hook_break,         \
  .teardown = etcd_session_hook_teardown, .doubt = etcd_session_hook_doubt, .proofs = &etcd_session_proofs

int etcd_session_hook_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline);
void etcd_session_hook_close(struct lb_session *s);
/* Keeps up the lease of a hold whose key is there. */
int etcd_session_hook_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
/* Deletes the key of the lock that was made first, by that member. */
int etcd_session_hook_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);
int etcd_session_hook_teardown(struct lb_session *s, lb_ns deadline);
/* Goes by lost connections, see doubt.h. */
int etcd_session_hook_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant);

#endif
