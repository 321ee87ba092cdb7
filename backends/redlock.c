/* SPDX-License-Identifier: MIT
 *
 * redlock - a lock is a majority of N independent Redis servers that all keep the same random token.
 *
 * Promises    One holder per key as long as no server of the holder's majority forgets or misdates the key before the
 *             lease ends, and holders stop at valid_until. Two majorities share a server, maybe only one, so one that
 *             forgets can be enough. Up to (N-1)/2 servers may be down or slow, without slowing the others.
 * Assumes     Bounded message delay and pauses (a look at valid_until before every access does not cover a pause after
 *             the look), clocks of clients and servers that run at nearly the same rate and do not jump, and the delayed
 *             restart: a server that crashed and may have lost keys stays away longer than the longest ttl, or it syncs
 *             every change to disk.
 * Breaks it   Restarting a server too early: it votes for a second holder. A wall clock set forward. One server is
 *             enough for either if the lock stands on a bare majority; with the lock on all N it takes a majority. A
 *             wall clock set back, on so many servers that no majority is left without them: they keep the key of a
 *             dead holder for that much longer, and nobody is granted. A holder that works on past its lease: the
 *             algorithm has no fencing number to stop it at the resource. Its tokens are unique and in no order; a
 *             resource that compares them (check-and-set, as the answer of 2016 proposes) can keep an update from
 *             being lost, not tell who came later.
 * Source      redis.io, "Distributed Locks with Redis" (the Redlock algorithm); M. Kleppmann, "How to do distributed
 *             locking" (2016), and S. Sanfilippo's answer, "Is Redlock safe?".
 *
 * Acquire: SET NX PX to all servers at once; granted when a majority said OK and the lease, counted from before the first
 * request, is not over. Otherwise compare-and-delete goes to all, also to those that refused or were not heard.
 *
 * We return as soon as the outcome is decided and leave the rest unread. A grant that arrives after that does no harm: the
 * delete for it goes down the same connection, so the server executes it after the SET, whatever was late. Until then the key
 * only makes that one server refuse others. For the same reason a failed attempt is never unknown: an unheard server counts as
 * a no, the client will not believe in the attempt again, and the next one has a fresh token, so no late yes can be counted for
 * it. What stays on a server that cannot be reached, or arrives there over a connection we had to give up, ends with its ttl.
 *
 * Release: a majority that has deleted the key makes it free; the others delete it as soon as they hear of it. What a dead
 * server keeps cannot be known; it lasts no longer than the ttl, and it cannot make a majority.
 *
 * Waiting before the next try is the caller's, and has to be random: clients that split the votes would split them again. With
 * the option `tries` an attempt is what a library's lock() is, several tries and the pauses between them.
 *
 * Options     What implementations do differently stands in redlock_options.c. With check_validity=no a majority is believed
 *             however late it came; with clock=wall validity is what the client's wall clock says; with keep_failed=yes
 *             the keys of a failed try stay where they are, so a client can refuse itself until they end; with release=granted
 *             keys are not deleted where no yes was heard, and a lost reply leaves one for a ttl.
 */
#include <errno.h>

#include "redlock_options.h"
#include "redlock_votes.h"

struct lb_session {
  struct lb_env *env;
  const struct lb_target *target;
  const char *prefix;
  struct redlock_options options;
  struct redis_fanout fanout;
  int64_t extensions; /* of the latest grant */
};

static bool cannot_be_majority(struct lb_session *s, const struct redis_round *r) { return r->no > s->fanout.count - s->fanout.quorum; }

static int too_few(struct lb_session *s, size_t count, const char *did) {
  return lb_fail(s->env, -EHOSTUNREACH, "only %zu of %zu servers %s, %zu are needed%s", count, s->fanout.count, did,
                 s->fanout.quorum, redis_fanout_trouble(&s->fanout));
}

/* Ends an attempt that failed, at all servers. */
static void undo(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  struct redis_round round = redlock_delete(lock, grant);
  round.only_yes = s->options.where_granted && grant->valid_until;
  redis_round_tell(&s->fanout, &round);
}

/* ---- acquire ------------------------------------------------------------------------------------------ */

/* Why a quorum was not reached, or reached too late. */
static int explain(struct lb_session *s, const struct redis_round *round, lb_ns deadline) {
  if (round->yes >= s->fanout.quorum) return lb_fail(s->env, -ETIME, "granted, but the lease was over by then, or nearly so");
  if (round->no) return LB_BUSY;
  if (lb_now(s->env) >= deadline) return LB_TIMEOUT;
  return too_few(s, round->yes, "answered in time");
}

/* `again`: an earlier try of this attempt has left its keys (keep_failed), and this one asks with their token as if there were none. */
static int ask_once(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, bool again, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  bool repeated = grant->token_len != 0 && !again;
  if (!repeated && !again) redis_new_token(s->env, grant), grant->asked_at = lb_now(s->env);
  struct redlock_since since = redlock_since(&s->options, s->env, grant->asked_at);
  struct redis_round round = redlock_set(lock, redis_decimal(lock->ttl_ms, ttl), grant, repeated);
  redis_round_send(&s->fanout, &round);
  lb_point(s->env, "after-send");
  redis_round_gather(&s->fanout, &round, true, deadline);
  lb_point(s->env, "after-quorum");
  /* Repeated: some servers may have kept it since the first try, or for as long as it was extended. */
  if (!grant->valid_until) grant->valid_until = redlock_lease_end(&s->options, s->env, since, lock->ttl_ms);
  if (!repeated) s->extensions = 0;
  if (round.yes >= s->fanout.quorum && redlock_is_valid(&s->options, s->env, grant->valid_until)) return redis_fanout_confirm(&s->fanout, grant);
  int rc = explain(s, &round, deadline);
  if (s->options.keep_failed) return grant->valid_until = 0, rc;
  undo(s, lock, grant);
  *grant = LB_GRANT_INIT;
  return rc;
}

static int redlock_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  if (lb_now(s->env) >= deadline) return grant->token_len ? LB_UNKNOWN : LB_TIMEOUT;
  int rc = ask_once(s, lock, grant, false, deadline), refused = rc;
  for (int64_t tries = 1; rc != LB_OK && tries < s->options.tries && redlock_rest(&s->options, s->env, deadline); tries++)
    if ((rc = ask_once(s, lock, grant, s->options.keep_failed, deadline)) == LB_BUSY) refused = LB_BUSY;
  if (rc != LB_OK && grant->token_len) undo(s, lock, grant), *grant = LB_GRANT_INIT;
  return rc == LB_TIMEOUT && refused == LB_BUSY ? LB_BUSY : rc; /* by an earlier try */
}

/* ---- a grant we have ---------------------------------------------------------------------------------- */

static int redlock_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct redis_round round = redlock_delete(lock, grant);
  round.only_yes = s->options.where_granted && grant->valid_until; /* not of a release that is repeated */
  lb_point(s->env, "before-release");
  redis_round_run(&s->fanout, &round, deadline);
  if (round.yes >= s->fanout.quorum) return LB_OK;
  /* valid_until == 0: an earlier release may have deleted it where it is missing now. */
  if (cannot_be_majority(s, &round)) return grant->valid_until ? LB_LOST : LB_OK;
  if (round.yes + round.no >= s->fanout.quorum) return LB_OK;
  grant->valid_until = 0;
  return too_few(s, round.yes + round.no, "answered the release"), LB_UNKNOWN;
}

/* A majority has to have the token still, and the new lease counts from before the request. When too few can have it,
 * the lock is lost and the rest is cleaned up; when too few are heard, the old end stays. */
static int redlock_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  if (s->options.extensions_max && s->extensions >= s->options.extensions_max)
    return lb_fail(s->env, -EPERM, "it was extended %lld times, which is the limit", (long long)s->extensions);
  struct redlock_since since = redlock_since(&s->options, s->env, lb_now(s->env));
  struct redis_round round = redlock_expire(lock, redis_decimal(lock->ttl_ms, ttl), grant);
  redis_round_run(&s->fanout, &round, deadline);
  bool quorum = round.yes >= s->fanout.quorum;
  lb_ns end = redlock_lease_end(&s->options, s->env, since, lock->ttl_ms);
  if (quorum || end < grant->valid_until) grant->valid_until = end;
  if (quorum && redlock_is_valid(&s->options, s->env, end)) return s->extensions++, redis_fanout_confirm(&s->fanout, grant);
  if (!quorum && !cannot_be_majority(s, &round)) return too_few(s, round.yes, "extended the lease"), LB_UNKNOWN;
  undo(s, lock, grant);
  return LB_LOST;
}

static int redlock_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct redis_round round = redlock_get(lock, grant);
  redis_round_run(&s->fanout, &round, deadline);
  if (round.yes >= s->fanout.quorum) return redis_fanout_confirm(&s->fanout, grant);
  if (cannot_be_majority(s, &round)) return LB_LOST;
  return too_few(s, round.yes, "confirm it"), round.yes + round.no >= s->fanout.quorum ? LB_UNCONFIRMED : LB_UNKNOWN;
}

static int redlock_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock;
  return redis_fanout_doubt(&s->fanout, grant);
}

static uint64_t redlock_voters(struct lb_session *s) { return redis_fanout_confirmed(&s->fanout); }

static int redlock_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return redis_inspect(s->env, s->target, endpoint, lock->key, deadline);
}

static int redlock_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return redis_break(s->env, s->target, endpoint, lock->key, deadline);
}

/* ---- session ------------------------------------------------------------------------------------------ */

static int redlock_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline; /* connects are only started */
  s->env = config->env, s->target = config->target, s->prefix = config->prefix;
  redlock_options_read(&s->options, config->options);
  s->fanout.way = s->options.way, s->fanout.patience = s->options.node_timeout;
  return redis_fanout_init(&s->fanout, config->env, config->target);
}

static int redlock_teardown(struct lb_session *s, lb_ns deadline) { return redis_clean_each(s->env, s->target, s->prefix, deadline); }

static void redlock_close(struct lb_session *s) { redis_fanout_deinit(&s->fanout); }

const struct lb_protocol lb_redlock = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
    .name = "redlock",
    .summary = "a majority of N independent Redis servers, asked all at once or one after the other",
    .promises = "One holder per key while no server of its majority forgets or misdates the key and holders stop at\n"
                "valid_until. Works with up to (N-1)/2 servers down, and does not wait for them. A failed attempt is\n"
                "never unknown: what it left is deleted down the same connection, or ends with its ttl.\n"
                "No fencing number: tokens are unique, and in no order.",
    .breaks = "A server restarted within one ttl of a crash that made it forget keys: run it with appendfsync always, or keep it\n"
              "away for longer than the longest ttl (delayed restart). A wall clock set forward. For both one server is enough if\n"
              "the lock stands on a bare majority. A wall clock set back on so many servers that no majority is left without them:\n"
              "they keep a dead holder's key. Working on past the lease: no fencing number stops such a holder at the resource.",
    .source = "redis.io: Distributed Locks with Redis; the Kleppmann and Sanfilippo exchange of 2016",
    .topologies = (const char *const[]){"redis-x5", "redis-x3", NULL},
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_RATE,
    .options = redlock_options,
    /* after-send: no reply has been read; with fanout=sequential the first server was asked. after-quorum: the outcome is decided, a quorum or none. */
    .points = (const char *const[]){"after-send", "after-quorum", "before-release", NULL},
    .midway = "after-send",
    .session_size = sizeof(struct lb_session),
    .open = redlock_open,
    .close = redlock_close,
    .try_acquire = redlock_try_acquire,
    .release = redlock_release,
    .extend = redlock_extend,
    .holds = redlock_holds,
    .inspect = redlock_inspect,
    .break_lock = redlock_break,
    .teardown = redlock_teardown,
    .doubt = redlock_doubt,
    .voters = redlock_voters,
};
