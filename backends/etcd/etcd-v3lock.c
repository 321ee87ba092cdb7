/* SPDX-License-Identifier: MIT
 *
 * etcd-v3lock - the lock service of etcd itself: one call, which is answered when the lock is granted.
 *
 * A client takes a lease and calls /v3/lock/lock with it. The server makes the key <lock>/<lease> on that lease, waits
 * until no older key is left, and answers with the name of the key. To release is to delete that key.
 *
 * Promises    One holder per key, in order of arrival, while the lease of each client lives that is in the queue or
 *             holds. It is kept up every third of the ttl for as long as the client's process waits or holds
 *             (LB_TRAIT_RENEWED), as a session of etcd's client does.
 * Assumes     That the lease lives when the answer is read. No client looks: a client takes the lock that the service
 *             says it has, as who calls Lock() does. What it knows of the lease's end is what it has last kept up; that
 *             may be over by then.
 * Breaks it   The service of etcd 3.4 waits for the older keys, and does not look whether the own key is still there. A
 *             client whose lease ended in the queue, because it stood still or was cut off, is granted the lock all the
 *             same when the older keys are gone; and so is the next one (etcd issues 11456 and 9921). Its own clock
 *             helps, if it looks at that before it works (or with check_validity=yes); so does to ask whether the key
 *             is there. And what breaks every lease: a holder that works on past its own. A program that hangs while
 *             its process lives keeps the lock for ever.
 *
 * Numbers     None is used. The header of the answer has a revision, but with etcd 3.4 the two that are granted at once
 *             may have the same; from 3.5 on it grows from holder to holder.
 * Being busy  The service does not say whether somebody holds. That another key is older is read beside the call, which
 *             stays under way: to wait is to wait for its answer.
 * Unknown     When a call is cut short the server deletes its key by name, whenever it notices. A second call on the
 *             same lease makes a key of the same name. So an attempt whose call broke is over, its lease is revoked,
 *             and the next one has another.
 * Source      etcd 3.4, etcdserver/api/v3lock/lock.go and clientv3/concurrency/mutex.go. From 3.5 on it looks for the
 *             key after the wait.
 */
#include <errno.h>
#include <inttypes.h>

#include "etcd_session.h"

enum { LOOK_MS = 5 }; /* for an answer, before the queue is looked at */

struct lb_session {
  struct etcd_session etcd;
  uint64_t called; /* lease of the call that is under way */
};

/* ---- acquire ------------------------------------------------------------------------------------------ */

/* The token is the lease; a '+' behind it says that the lock was granted. */
static bool is_held(const struct lb_grant *grant) { return strchr(grant->token, '+') != NULL; }
static bool is_calling(const struct lb_session *s, const struct lb_grant *grant) {
  return etcd_is_asking(s->etcd.ear) && s->called == etcd_session_lease(grant);
}

static int call(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char lease[24];
  int result = etcd_session_begin(&s->etcd, lock, grant, deadline);
  if (result == LB_OK) result = etcd_session_lend_ear(&s->etcd, deadline);
  if (result != LB_OK) return etcd_session_forget(grant), result;
  lb_point(s->etcd.env, "before-lock");
  s->called = etcd_session_lease(grant);
  snprintf(lease, sizeof lease, "%" PRIu64, s->called);
  return etcd_send(s->etcd.ear, "/v3/lock/lock", json_pack("{s:o,s:s}", "name", etcd_text(lock->key), "lease", lease));
}

/* Until the end of the lease as it was last kept up, which may be over. See Assumes. */
static int granted(struct lb_session *s, struct lb_grant *grant) {
  memcpy(grant->token + grant->token_len++, "+", 2);
  lb_confirm(&s->etcd.confirmed, grant, s->etcd.losses + (s->etcd.link ? etcd_losses(s->etcd.link, false) : 0));
  return LB_OK;
}

/* Whether an older key is seen. LB_OK: not, or the own one is not made yet. */
static int look(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct lb_grant seen = *grant;
  int result = etcd_session_find(&s->etcd, lock, &seen, deadline);
  if (result == LB_OK) result = etcd_session_look(&s->etcd, lock, &seen, deadline);
  return result == ETCD_AGAIN ? LB_OK : result;
}

static int etcd_v3lock_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                                   lb_ns deadline) {
  struct lb_env *env = s->etcd.env;
  json_t *said;
  int result = is_held(grant) ? etcd_session_confirm(&s->etcd, lock, grant, deadline) : LB_BUSY;
  if (result != LB_BUSY && result != LB_LOST) return result;
  if (result == LB_LOST) etcd_session_forget(grant);
  if (!grant->asked_at) grant->asked_at = lb_now(env);
  if (!grant->token_len && (result = call(s, lock, grant, deadline)) != LB_OK) return result;
  for (result = LB_OK; result == LB_OK;) {
    if (!is_calling(s, grant)) return lb_fail(env, -ECONNRESET, "the call of the lock service broke"), LB_UNKNOWN;
    lb_ns soon = lb_now(env) + LOOK_MS * LB_NS_PER_MS;
    result = etcd_receive(s->etcd.ear, soon < deadline ? soon : deadline, &said);
    if (result != LB_BUSY) break;
    if (lb_now(env) >= deadline) return LB_UNKNOWN;
    result = look(s, lock, grant, deadline);
    if (result != LB_OK) return result == LB_BUSY ? LB_BUSY : LB_UNKNOWN;
  }
  lb_point(env, "after-lock");
  json_decref(said);
  if (result == LB_OK) return granted(s, grant);
  if (result == -ENOENT) etcd_session_forget(grant); /* no such lease, so nothing hangs on it */
  return grant->token_len ? LB_UNKNOWN : result;
}

/* For the answer; every third of the ttl the lease is kept up. */
static int etcd_v3lock_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_ns third = lb_now(s->etcd.env) + (lb_ns)lock->ttl_ms * LB_NS_PER_MS / 3;
  int result = is_calling(s, grant) ? etcd_await(s->etcd.ear, third < deadline ? third : deadline) : LB_OK;
  if (result != LB_BUSY) return result;
  if (lb_now(s->etcd.env) >= deadline) return LB_TIMEOUT;
  result = etcd_session_keep(&s->etcd, lock, grant, deadline);
  return result == LB_UNKNOWN ? LB_TIMEOUT : result < 0 ? result : LB_OK;
}

/* ---- a grant we have, or may have ----------------------------------------------------------------------- */

/* The service deletes a key, be it there or not. That the lease was over is said when it is revoked. */
static int etcd_v3lock_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                               lb_ns deadline) {
  char key[ETCD_KEY_MAX];
  json_t *said = NULL;
  lb_point(s->etcd.env, "before-release");
  if (is_calling(s, grant)) etcd_give_up(s->etcd.ear);
  if (!grant->token_len) return LB_OK;
  etcd_session_key(lock, grant, key);
  json_t *body = json_pack("{s:o}", "key", etcd_text(key));
  int result = is_held(grant) ? etcd_session_ask(&s->etcd, "/v3/lock/unlock", body, deadline, &said, NULL) : LB_OK;
  json_decref(body);
  json_decref(said);
  if (result == LB_OK) result = etcd_session_revoke(&s->etcd, grant, deadline);
  bool knows = is_held(grant) && grant->valid_until;
  if (result == LB_UNKNOWN || result == LB_TIMEOUT) grant->valid_until = 0;
  if (result == LB_TIMEOUT) return LB_UNKNOWN;
  return result == LB_LOST && !knows ? LB_OK : result;
}

static int etcd_v3lock_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant,
                             lb_ns deadline) {
  return is_held(grant) ? etcd_session_confirm(&s->etcd, lock, grant, deadline) : LB_LOST;
}

static int etcd_v3lock_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                               lb_ns deadline) {
  int result = etcd_v3lock_release(s, lock, grant, deadline);
  return result == LB_OK || result == LB_LOST ? LB_BUSY : result;
}

static const struct lb_option options[] = {
    {"check_validity", LB_OPT_BOOL, 0, 0, 1,
     "a grant whose lease was over by the client's clock when it was read is none"},
    {0}};

const struct lb_protocol lb_etcd_v3lock = {
    .abi = LB_ABI,
    .name = "etcd-v3lock",
    .summary = "the lock service of etcd itself, believed",
    .facts = "lost=other",
    .traits = LB_TRAIT_SESSION | LB_TRAIT_FIFO | LB_TRAIT_WAKES | LB_TRAIT_QUEUES | LB_TRAIT_RENEWED |
              LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    .options = options,
    /* after-lock: the answer has been read, or given up. */
    .points = (const char *const[]){"before-lock", "after-lock", "before-release", NULL},
    .midway = "before-lock",
    ETCD_HOOKS,
    .try_acquire = etcd_v3lock_try_acquire,
    .release = etcd_v3lock_release,
    .wait = etcd_v3lock_wait,
    .resolve = etcd_v3lock_resolve,
    .holds = etcd_v3lock_holds,
};
