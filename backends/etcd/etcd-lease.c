/* SPDX-License-Identifier: MIT
 *
 * etcd-lease - a queue of keys, each on a lease of its client, in the order of etcd's revisions.
 *
 * An attempt takes a lease and makes the key <lock>/<lease> on it, if it is not there. Whose key was made first holds
 * the lock. Everybody else watches the key that was made just before its own, so a release wakes one client. A key goes
 * with its lease, and the lease is kept up every third of the ttl for as long as its owner's process waits or holds.
 *
 * Promises    One holder per key while holders stop at valid_until; in order of arrival; and work may take longer than
 *             the lease, as long as its process runs and reaches a majority. A fencing token, the revision that made
 *             the key, which grows over the whole cluster, and survives failover and restart. A release or an extension
 *             never touches somebody else's key.
 * Assumes     The leader's clock and the client's run at nearly the same rate; members keep what they have confirmed;
 *             and a leader that was deposed while it stood still does not meddle with leases when it wakes up.
 * Breaks it   A holder that works on past its lease (a pause, a cut, without a check): keep-alives without an answer do
 *             not tell a client that the lock is lost. A resource that compares the number refuses it. A program that
 *             hangs while its process lives keeps the lock for ever, for what keeps the lease up knows nothing of it.
 *             No progress without a majority of the members. In etcd the last assumption is not kept: such a leader may
 *             answer a keep-alive that counts for nothing, or revoke leases that others have kept up meanwhile (etcd
 *             issues 15247 and 12528). 3.4.23 does so every time if 16 other leases have ended before
 *             (scenarios/museum/etcd-15247.ini). 3.4.31 and 3.5.13 mended it for a leader whose disk stalled; one that
 *             was stopped still did so in 8 or 9 trials of 10 on 3.5.16 to 3.7.3.
 *
 * The own key counts An empty place ahead does not make a client the first: its lease may have ended while it waited,
 *             and its key be gone. So own key and the one ahead are read in one transaction, which shows one state; and
 *             a grant is believed until the end of the lease, counted from before the latest answered request that
 *             began it or kept it up. Before that end a leader deletes no key.
 * Waiting     The lease is kept up, and the place looked at, every third of the ttl at the latest; so a lost event
 *             costs no more than that.
 * Holding     A session of etcd's client keeps its lease up from its begin to its end, and tells when it is over. So
 *             this lock is renewed (LB_TRAIT_RENEWED) by its caller, and a client that is told that its lease or its
 *             key is gone holds no more.
 * Unknown     What becomes of a request without an answer: etcd_session.h.
 * Source      etcd's clientv3/concurrency, Mutex. It waits for the key before its own as well; that of 3.4 does not
 *             look for its own one after the wait, that of 3.5 on does. Its Session has one lease for all locks of a
 *             client, so that two of them share a key, and Unlock deletes by name; here each attempt has a lease for
 *             itself, and deletes what it has made.
 */
#include "etcd_session.h"

struct lb_session {
  struct etcd_session etcd;
};

/* ---- acquire ------------------------------------------------------------------------------------------ */

/* One step of the attempt, from where it stands. */
static int advance(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct etcd_session *etcd = &s->etcd;
  int result;
  if (!grant->asked_at) grant->asked_at = lb_now(etcd->env);
  if (!grant->token_len && (result = etcd_session_begin(etcd, lock, grant, deadline)) != LB_OK) return result;
  if ((result = etcd_session_keep(etcd, lock, grant, deadline)) != LB_OK) return result;
  if (!etcd_session_revision(grant)) {
    lb_point(etcd->env, "before-create");
    result = etcd_session_join(etcd, lock, grant, deadline);
    lb_point(etcd->env, "after-create");
    if (result != LB_OK) return result;
  }
  return etcd_session_look(etcd, lock, grant, deadline);
}

static int etcd_lease_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                                  lb_ns deadline) {
  int result;
  do result = advance(s, lock, grant, deadline);
  while (result == ETCD_AGAIN || (result == LB_OK && lb_now(s->etcd.env) >= grant->valid_until));
  if (result == LB_OK) {
    grant->fence = etcd_session_revision(grant);
    lb_confirm(&s->etcd.confirmed, grant, s->etcd.losses + etcd_losses(s->etcd.link, false));
  }
  return grant->token_len && (result < 0 || result == LB_TIMEOUT) ? LB_UNKNOWN : result;
}

static int etcd_lease_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)grant;
  return etcd_session_await_turn(&s->etcd, lock, deadline);
}

/* ---- a grant we have, or may have ----------------------------------------------------------------------- */

static int etcd_lease_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                              lb_ns deadline) {
  lb_point(s->etcd.env, "before-release");
  return etcd_session_leave(&s->etcd, lock, grant, deadline);
}

static int etcd_lease_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant,
                            lb_ns deadline) {
  return grant->fence ? etcd_session_confirm(&s->etcd, lock, grant, deadline) : LB_LOST;
}

/* One that stands in the queue but is not the first is taken out: the answer must be final. */
static int etcd_lease_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                              lb_ns deadline) {
  if (!grant->token_len) return LB_BUSY;
  int result = etcd_lease_try_acquire(s, lock, grant, deadline);
  if (result != LB_BUSY) return result;
  result = etcd_session_leave(&s->etcd, lock, grant, deadline);
  return result == LB_OK ? LB_BUSY : result;
}

const struct lb_protocol lb_etcd_lease = {
    .abi = LB_ABI,
    .name = "etcd-lease",
    .summary = "etcd's queue of keys on leases, each client watching the key before its own",
    .facts = "number=log",
    .traits = LB_TRAIT_SESSION | LB_TRAIT_FENCED | LB_TRAIT_FIFO | LB_TRAIT_WAKES | LB_TRAIT_QUEUES | LB_TRAIT_RENEWED |
              LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    /* after-create: the reply has been read, or given up; the place is not known yet. */
    .points = (const char *const[]){"before-create", "after-create", "before-release", NULL},
    .midway = "after-create",
    ETCD_HOOKS,
    .try_acquire = etcd_lease_try_acquire,
    .release = etcd_lease_release,
    .wait = etcd_lease_wait,
    .resolve = etcd_lease_resolve,
    .holds = etcd_lease_holds,
};
