/* SPDX-License-Identifier: MIT
 *
 * redlock - a lock is a majority of N independent Redis servers that all keep the same random token.
 *
 * Promises    One holder per key as long as no server of the holder's majority forgets or misdates the key before the
 *             lease ends, and holders stop at valid_until. Two majorities share a server, maybe only one, so one that
 *             forgets can be enough. Up to (N-1)/2 servers may be down or slow, without slowing the others.
 * Assumes     Bounded message delay and pauses (a look at valid_until before every access does not cover a pause after
 *             the look), clocks of clients and servers that run at nearly the same rate and do not jump, and the delayed restart: a server that crashed
 *             and may have lost keys stays away longer than the longest ttl, or it syncs every change to disk.
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
 * Acquire: SET NX PX to all servers at once; granted when a majority said OK and the lease, counted from before the
 * first request, is not over. Otherwise compare-and-delete goes to all, also to those that refused or were not heard.
 *
 * We return as soon as the outcome is decided and leave the rest unread. A grant that arrives after that does no harm:
 * the delete for it goes down the same connection, so the server executes it after the SET, whatever was late. Until
 * then the key only makes that one server refuse others. For the same reason a failed attempt is never unknown: an
 * unheard server counts as a no, the client will not believe in the attempt again, and the next one has a fresh token,
 * so no late yes can be counted for it. What stays on a server that cannot be reached, or arrives there over a
 * connection we had to give up, ends with its ttl.
 *
 * Release: a majority that has deleted the key makes it free; the others delete it as soon as they hear of it. What a
 * dead server keeps cannot be known; it lasts no longer than the ttl, and it cannot make a majority.
 *
 * Waiting before the next try is the caller's, and has to be random: clients that split the votes would split them
 * again.
 */
#include <errno.h>

#include "doubt.h"
#include "redis_util.h"

#define OWED_SET_MAX 32     /* a server this far behind cannot answer in time: spare it further requests, */
#define OWED_DELETE_MAX 256 /* but not the deletes of what it was asked for */

struct lb_session {
  struct lb_env *env;
  const struct lb_target *target;
  const char *prefix;
  struct redis_fanout fanout;
  struct lb_confirmed confirmed; /* whose losses are counted for each connection in fanout */
  lb_ns node_timeout;
};

enum { OPT_NODE_TIMEOUT };

/* ---- votes -------------------------------------------------------------------------------------------- */

static enum redis_vote read_set(const redisReply *reply, const void *context) {
  (void)context;
  if (reply->type == REDIS_REPLY_STATUS) return REDIS_YES;
  return reply->type == REDIS_REPLY_NIL ? REDIS_NO : REDIS_SILENT;
}

/* SET with GET: the value before. */
static enum redis_vote read_set_again(const redisReply *reply, const void *context) {
  if (reply->type == REDIS_REPLY_NIL || redis_is_token(reply, context)) return REDIS_YES;
  return reply->type == REDIS_REPLY_STRING ? REDIS_NO : REDIS_SILENT;
}

static enum redis_vote read_get(const redisReply *reply, const void *context) {
  if (redis_is_token(reply, context)) return REDIS_YES;
  return reply->type == REDIS_REPLY_ERROR ? REDIS_SILENT : REDIS_NO;
}

static enum redis_vote read_script(const redisReply *reply, const void *context) {
  (void)context;
  if (reply->type != REDIS_REPLY_INTEGER) return REDIS_SILENT;
  return redis_is_one(reply) ? REDIS_YES : REDIS_NO;
}

/* Until when this round's answers are waited for. */
static lb_ns round_end(struct lb_session *s, lb_ns deadline) {
  lb_ns end = lb_now(s->env) + s->node_timeout;
  return end < deadline ? end : deadline;
}

static bool cannot_be_majority(struct lb_session *s, const struct redis_round *round) {
  return round->no > s->fanout.count - s->fanout.quorum;
}

/* `extra` may be NULL. */
static struct redis_round script_round(const struct redis_script *script, const char *key, const struct lb_grant *grant,
                                       const char *extra) {
  return (struct redis_round){
      .command = {script, {key, grant->token, extra}},
      .owed_max = script == &redis_delete_if_mine ? OWED_DELETE_MAX : OWED_SET_MAX,
      .read = read_script,
  };
}

/* Ends an attempt that failed. The answers are left for later rounds to skip. */
static void undo(struct lb_session *s, const char *key, const struct lb_grant *grant) {
  struct redis_round round = script_round(&redis_delete_if_mine, key, grant, NULL);
  redis_fanout_send(&s->fanout, &round);
}

/* A quorum has just said yes to this grant. Returns LB_OK. */
static int confirm(struct lb_session *s, const struct lb_grant *grant) {
  lb_confirm(&s->confirmed, grant, 0);
  redis_fanout_confirm(&s->fanout);
  return LB_OK;
}

/* ---- acquire ------------------------------------------------------------------------------------------ */

static struct redis_round set_round(const char *key, const char *ttl, const struct lb_grant *grant, bool repeated) {
  return (struct redis_round){
      .command = {.argv = {"SET", key, grant->token, "NX", "PX", ttl, repeated ? "GET" : NULL}},
      .owed_max = OWED_SET_MAX,
      .read = repeated ? read_set_again : read_set,
      .context = grant,
  };
}

/* Why a quorum was not reached, or reached too late. */
static int explain(struct lb_session *s, const struct redis_round *round, lb_ns deadline) {
  if (round->yes >= s->fanout.quorum) return lb_fail(s->env, -ETIME, "granted, but the lease was over by then");
  if (round->no) return LB_BUSY;
  if (lb_now(s->env) >= deadline) return LB_TIMEOUT;
  return lb_fail(s->env, -EHOSTUNREACH, "only %zu of %zu servers answered in time, %zu are needed%s", round->yes,
                 s->fanout.count, s->fanout.quorum, redis_fanout_trouble(&s->fanout));
}

static int redlock_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  bool repeated = grant->token_len != 0;
  if (lb_now(s->env) >= deadline) return repeated ? LB_UNKNOWN : LB_TIMEOUT;
  redis_decimal(lock->ttl_ms, ttl);
  if (!repeated) {
    redis_new_token(s->env, grant);
    grant->asked_at = lb_now(s->env);
  }
  struct redis_round round = set_round(lock->key, ttl, grant, repeated);
  redis_fanout_send(&s->fanout, &round);
  lb_point(s->env, "after-send");
  redis_fanout_gather(&s->fanout, &round, true, round_end(s, deadline));
  lb_point(s->env, "after-quorum");
  /* Repeated: some servers may have kept it since the first try, or for as long as it was extended. */
  if (!grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  if (round.yes >= s->fanout.quorum && lb_now(s->env) < grant->valid_until) return confirm(s, grant);
  int rc = explain(s, &round, deadline);
  undo(s, lock->key, grant);
  *grant = LB_GRANT_INIT;
  return rc;
}

/* ---- a grant we have ---------------------------------------------------------------------------------- */

static int redlock_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct redis_round round = script_round(&redis_delete_if_mine, lock->key, grant, NULL);
  lb_point(s->env, "before-release");
  redis_fanout_send(&s->fanout, &round);
  redis_fanout_gather(&s->fanout, &round, false, round_end(s, deadline));
  if (round.yes >= s->fanout.quorum) return LB_OK;
  /* valid_until == 0: an earlier release may have deleted it where it is missing now. */
  if (cannot_be_majority(s, &round)) return grant->valid_until ? LB_LOST : LB_OK;
  if (round.yes + round.no >= s->fanout.quorum) return LB_OK;
  grant->valid_until = 0;
  lb_fail(s->env, -EHOSTUNREACH, "only %zu of %zu servers answered the release%s", round.yes + round.no, s->fanout.count,
          redis_fanout_trouble(&s->fanout));
  return LB_UNKNOWN;
}

/* A majority has to have the token still, and the new lease counts from before the request. When too few can have it,
 * the lock is lost and the rest is cleaned up; when too few are heard, the old end stays. */
static int redlock_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  redis_decimal(lock->ttl_ms, ttl);
  struct redis_round round = script_round(&redis_expire_if_mine, lock->key, grant, ttl);
  lb_ns end = lb_lease_end(lb_now(s->env), lock->ttl_ms);
  redis_fanout_send(&s->fanout, &round);
  redis_fanout_gather(&s->fanout, &round, false, round_end(s, deadline));
  bool quorum = round.yes >= s->fanout.quorum;
  if (quorum || end < grant->valid_until) grant->valid_until = end;
  if (quorum && lb_now(s->env) < end) return confirm(s, grant);
  if (!quorum && !cannot_be_majority(s, &round)) {
    lb_fail(s->env, -EHOSTUNREACH, "only %zu of %zu servers extended the lease%s", round.yes, s->fanout.count,
            redis_fanout_trouble(&s->fanout));
    return LB_UNKNOWN;
  }
  undo(s, lock->key, grant);
  return LB_LOST;
}

static int redlock_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct redis_round round = {
      .command = {.argv = {"GET", lock->key}}, .owed_max = OWED_SET_MAX, .read = read_get, .context = grant};
  redis_fanout_send(&s->fanout, &round);
  redis_fanout_gather(&s->fanout, &round, false, round_end(s, deadline));
  if (round.yes >= s->fanout.quorum) return confirm(s, grant);
  if (cannot_be_majority(s, &round)) return LB_LOST;
  bool answered = round.yes + round.no >= s->fanout.quorum;
  lb_fail(s->env, -EHOSTUNREACH, "of %zu servers %zu confirm it and %zu do not%s", s->fanout.count, round.yes, round.no,
          redis_fanout_trouble(&s->fanout));
  return answered ? LB_UNCONFIRMED : LB_UNKNOWN;
}

/* One broken connection of five says as little as one server that is down: in doubt is who has no quorum of connections
 * left, each to a server that said yes to this grant, that have worked without a break since. Only those count whose yes
 * was heard by the time that made a quorum. A round ends there, so of five servers that all said yes mostly three count,
 * and one broken connection to one of these is a doubt: too careful, never too bold. The next round that confirms the grant
 * asks all five again. */
static int redlock_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock;
  size_t intact = redis_fanout_intact(&s->fanout);
  if (intact >= s->fanout.quorum && lb_is_confirmed(&s->confirmed, grant)) return LB_OK;
  lb_fail(s->env, -ENOTCONN, "%zu of %zu connections, to servers that said yes, have worked without a break since, a quorum is %zu", intact,
          s->fanout.count, s->fanout.quorum);
  return LB_UNKNOWN;
}

static uint64_t redlock_voters(struct lb_session *s) { return redis_fanout_confirmed(&s->fanout); }

static int redlock_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return redis_inspect(s->env, s->target, endpoint, lock->key, deadline);
}

/* ---- session ------------------------------------------------------------------------------------------ */

static int redlock_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline; /* connects are only started */
  s->env = config->env;
  s->target = config->target;
  s->prefix = config->prefix;
  s->node_timeout = (lb_ns)config->options[OPT_NODE_TIMEOUT].i * LB_NS_PER_MS;
  return redis_fanout_init(&s->fanout, config->env, config->target);
}

static int redlock_teardown(struct lb_session *s, lb_ns deadline) {
  return redis_clean_each(s->env, s->target, s->prefix, deadline);
}

static void redlock_close(struct lb_session *s) { redis_fanout_deinit(&s->fanout); }

static const struct lb_option redlock_options[] = {
    [OPT_NODE_TIMEOUT] = {"node_timeout_ms", LB_OPT_INT, 50, 1, 10000, "how long one round waits for a server"},
    {0},
};

const struct lb_protocol lb_redlock = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
    .name = "redlock",
    .summary = "a majority of N independent Redis servers, asked all at once",
    .promises = "One holder per key while no server of its majority forgets or misdates the key and holders stop at\n"
                "valid_until. Works with up to (N-1)/2 servers down, and does not wait for them. A failed attempt is\n"
                "never unknown: what it left is deleted down the same connection, or ends with its ttl.\n"
                "No fencing number: tokens are unique, and in no order.",
    .breaks = "A server restarted within one ttl of a crash that made it forget keys: run it with appendfsync always,\n"
              "or keep it away for longer than the longest ttl (delayed restart). A wall clock set forward. For both one\n"
              "server is enough if the lock stands on a bare majority. A wall clock set back on so many servers that no\n"
              "majority is left without them: they keep a dead holder's key, and nobody is granted. Working on past the\n"
              "lease: there is no fencing number to stop such a holder at the resource.",
    .source = "redis.io: Distributed Locks with Redis; the Kleppmann and Sanfilippo exchange of 2016",
    .topologies = (const char *const[]){"redis-x5", "redis-x3", NULL},
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK,
    .options = redlock_options,
    /* after-send: no reply has been read. after-quorum: the outcome is decided, a quorum or none. */
    .points = (const char *const[]){"after-send", "after-quorum", "before-release", NULL},
    .session_size = sizeof(struct lb_session),
    .open = redlock_open,
    .close = redlock_close,
    .try_acquire = redlock_try_acquire,
    .release = redlock_release,
    .extend = redlock_extend,
    .holds = redlock_holds,
    .inspect = redlock_inspect,
    .teardown = redlock_teardown,
    .doubt = redlock_doubt,
    .voters = redlock_voters,
};
