/* SPDX-License-Identifier: MIT
 *
 * redlock - a lock is a majority of N independent Redis servers that all keep the same random token.
 *
 * Promises    One holder per key as long as no server of the holder's majority forgets or misdates the key before the
 *             lease ends, and holders stop at valid_until. Two majorities share a server, maybe only one, so one that
 *             forgets can be enough. Up to (N-1)/2 servers may be down or slow, without slowing the others.
 * Assumes     Bounded message delay and pauses (a look at valid_until before every access does not cover a pause after
 *             the look), clocks of clients and servers that run at nearly the same rate and do not jump, and the
 *             delayed restart: a server that crashed and may have lost keys stays away longer than the longest ttl, or
 *             it syncs every change to disk.
 * Breaks it   Restarting a server too early: it votes for a second holder. A wall clock set forward. One server is
 *             enough for either if the lock stands on a bare majority; with the lock on all N it takes a majority. A
 *             wall clock set back, on so many servers that no majority is left without them: they keep the key of a
 *             dead holder for that much longer, and no client is granted. A holder that works on past its lease: the
 *             algorithm has no fencing token to stop it at the resource. Its tokens are unique and in no order; a
 *             resource that compares them (check-and-set, as the answer of 2016 proposes) can keep an update from being
 *             lost, not tell who came later.
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
 * again. With the option `tries` an attempt is what a library's lock() is, several tries and the pauses between them.
 *
 * Options     What implementations do differently stands at its options. With check_validity=no a majority is believed
 *             however late it came; with clock=wall validity is what the client's wall clock says; with keep_failed=yes
 *             the keys of a failed try stay where they are, so a client can refuse itself until they end; with
 *             release=granted keys are not deleted where no yes was heard, and a lost reply leaves one for a ttl. With
 *             extension=any an extension counts that one server took: the lease goes on for its client, and ends at the
 *             majority.
 */
#include "redlock.h"

#include "redis_fanout.h"
#include "redis_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- options ----
 *
 * What the implementations do that people run:
 *
 *   antirez' redlock-rb     fanout=sequential clock=wall tries=3 retry_ms=200
 *   redlock-rb              fanout=sequential node_timeout_ms=100 tries=4; it waits 200 ms and up to 50 more
 *   node-redlock 5          clock=wall check_validity=no tries=11 keep_failed=yes; it waits 200 ms, 100 more or less
 *   RedLock.net             fanout=all tries=3 retry_ms=400
 *   redsync                 fanout=all drift_ms=0 tries=32; it waits 50 to 250 ms, and for a server 5 % of the lease
 *   redis-plus-plus         fanout=sequential; RedMutex tries until it has it, 0 to 5 ms apart. RedLockMutexVessel:
 *                           tries=3 retry_ms=200, its lease counts from before the first
 *
 * Not among them, because no options make it: the RedLock of Redisson asks one server after the other, subtracts the
 * time that each took from how long it may wait, and unlocks all when that is used up. So it looks at how long it
 * waited, not at what is left of the leases. With a lease time it sets the end of each key anew at the last, and does
 * not look whether the key was still there. */

static const char *const ways[] = {"quorum", "all", "sequential", NULL};
static const char *const clocks[] = {"monotonic", "wall", NULL};
static const char *const releases[] = {"all", "granted", NULL};
static const char *const retries[] = {"random", "fixed", NULL};
static const char *const extensions[] = {"majority", "any", NULL};

const struct lb_option redlock_options[] = {
    [REDLOCK_NODE_TIMEOUT] = {"node_timeout_ms", LB_OPT_INT, 50, 1, 10000, "how long one round waits for a server"},
    [REDLOCK_FANOUT] =
        {"fanout", LB_OPT_CHOICE, 0, 0, 0,
         "all at once until a quorum decides, all at once until the last has answered, or one after the other",
         .words = ways},
    [REDLOCK_DRIFT] = {"drift", LB_OPT_REAL, 0.01, 0, 1, "part of the ttl that is left to clocks of different speeds"},
    [REDLOCK_DRIFT_MS] = {"drift_ms", LB_OPT_INT, 2, 0, 10000, "and so much besides"},
    [REDLOCK_MIN_VALIDITY] = {"min_validity_ms", LB_OPT_INT, 0, 0, 3600000, "a grant that is good for less is none"},
    [REDLOCK_CHECK_VALIDITY] = {"check_validity", LB_OPT_BOOL, 1, 0, 1, "a majority that came too late is no grant"},
    [REDLOCK_CLOCK] = {"clock", LB_OPT_CHOICE, 0, 0, 0, "the client's clock by which a lease is measured",
                       .words = clocks},
    [REDLOCK_TRIES] = {"tries", LB_OPT_INT, 1, 1, 1000, "of one attempt; with 1 the caller paces the tries"},
    [REDLOCK_RETRY] = {"retry", LB_OPT_CHOICE, 0, 0, 0,
                       "the pause between two of these tries: up to retry_ms, or just that", .words = retries},
    [REDLOCK_RETRY_MS] = {"retry_ms", LB_OPT_INT, 200, 0, 60000, "see retry"},
    [REDLOCK_EXTENSIONS_MAX] = {"extensions_max", LB_OPT_INT, 0, 0, 1000000,
                                "how often the session's latest grant may be extended; 0: as often as it likes"},
    [REDLOCK_KEEP_FAILED] =
        {"keep_failed", LB_OPT_BOOL, 0, 0, 1,
         "the keys of a try that failed stay, and refuse the next of these tries, until the last one has failed"},
    [REDLOCK_RELEASE] = {"release", LB_OPT_CHOICE, 0, 0, 0,
                         "where keys are deleted: at all servers, or where it was seen to be granted",
                         .words = releases},
    [REDLOCK_EXTENSION] = {"extension", LB_OPT_CHOICE, 0, 0, 0,
                           "who has to take an extension before it counts: a majority, or any server",
                           .words = extensions},
    {0},
};

struct redlock_options {
  lb_ns node_timeout;
  enum redis_fanout_way way;
  double drift;
  lb_ns drift_ns, min_validity;
  bool check_validity, by_wall, fixed_retry, keep_failed, where_granted, any_extends;
  int64_t tries, extensions_max; /* extensions_max: 0 = as many as it likes */
  lb_ns retry;
};

static lb_ns ms(int64_t n) { return (lb_ns)n * LB_NS_PER_MS; }

static void read_options(struct redlock_options *ret, const union lb_value *values) {
  static const enum redis_fanout_way way[] = {REDIS_QUORUM, REDIS_ALL, REDIS_ONE_BY_ONE};
  *ret = (struct redlock_options){
      .node_timeout = ms(values[REDLOCK_NODE_TIMEOUT].i),
      .way = way[values[REDLOCK_FANOUT].i],
      .drift = values[REDLOCK_DRIFT].f,
      .drift_ns = ms(values[REDLOCK_DRIFT_MS].i),
      .min_validity = ms(values[REDLOCK_MIN_VALIDITY].i),
      .check_validity = values[REDLOCK_CHECK_VALIDITY].b,
      .by_wall = values[REDLOCK_CLOCK].i == 1,
      .fixed_retry = values[REDLOCK_RETRY].i == 1,
      .tries = values[REDLOCK_TRIES].i,
      .where_granted = values[REDLOCK_RELEASE].i == 1,
      .any_extends = values[REDLOCK_EXTENSION].i == 1,
      .keep_failed = values[REDLOCK_KEEP_FAILED].b,
      .extensions_max = values[REDLOCK_EXTENSIONS_MAX].i,
      .retry = ms(values[REDLOCK_RETRY_MS].i),
  };
}

/* ---- validity ----------------------------------------------------------------------------------------- */

/* When a lease was asked for, on both clocks. */
struct redlock_since {
  lb_ns mono;
  int64_t wall_ms;
};

/* `asked_at`: on the monotonic clock, now or earlier. */
static struct redlock_since redlock_since(const struct redlock_options *o, struct lb_env *env, lb_ns asked_at) {
  struct redlock_since since = {.mono = asked_at};
  int64_t ago = (int64_t)lb_now(env) - (int64_t)asked_at;
  if (o->by_wall) since.wall_ms = lb_wall_ms(env) - ago / (int64_t)LB_NS_PER_MS;
  return since;
}

/* Until when the client believes in a lease that was asked for then, by the clock that it goes by, as it finds it now.
 * By the wall clock: what is left of the lease is what that clock has not counted since. Nothing left is an end right
 * after the begin, because a grant has to begin before it ends. */
static lb_ns lease_end(const struct redlock_options *o, struct lb_env *env, struct redlock_since since,
                       int64_t ttl_ms) {
  lb_ns ttl = ms(ttl_ms), drift = (lb_ns)((double)ttl * o->drift) + o->drift_ns, length = ttl > drift ? ttl - drift : 0;
  if (!o->by_wall) return since.mono + (length ? length : 1);
  int64_t passed_ms = lb_wall_ms(env) - since.wall_ms, left = (int64_t)length - passed_ms * (int64_t)LB_NS_PER_MS;
  int64_t end = (int64_t)lb_now(env) + left;
  return end > (int64_t)since.mono ? (lb_ns)end : since.mono + 1;
}

static bool is_valid(const struct redlock_options *o, struct lb_env *env, lb_ns end) {
  return !o->check_validity || lb_now(env) + o->min_validity < end;
}

/* ---- retry -------------------------------------------------------------------------------------------- */

/* Between two tries. False: the deadline does not leave the time for it. */
static bool rest(const struct redlock_options *o, struct lb_env *env, lb_ns deadline) {
  uint32_t draw;
  lb_random(env, &draw, sizeof draw);
  lb_ns when = lb_now(env) + (o->fixed_retry ? o->retry : (lb_ns)((double)o->retry * draw / UINT32_MAX));
  if (when >= deadline) return false;
  lb_sleep_until(env, when);
  return true;
}

/* ---- what is asked, and what counts as a yes. Errors are no votes: who answers with one has not refused the lock ---- */

#define OWED_MAX 32         /* a server this far behind cannot answer in time: spare it further requests, */
#define OWED_DELETE_MAX 256 /* but not the deletes of what it was asked for */

static enum redis_vote read_set(const redisReply *reply, const void *context) {
  (void)context;
  if (reply->type == REDIS_REPLY_STATUS) return REDIS_YES;
  return reply->type == REDIS_REPLY_NIL ? REDIS_NO : REDIS_SILENT;
}

/* SET with GET (Redis 7): the value before. */
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

/* What is missing may be what the first one deleted: nothing of it remains here, and that is all that is known. */
static enum redis_vote read_delete_again(const redisReply *reply, const void *context) {
  (void)context;
  return reply->type == REDIS_REPLY_INTEGER ? REDIS_YES : REDIS_SILENT;
}

/* `repeated`: it may have been asked for with this token before, and the own key is then a yes. */
static struct redis_round round_set(const struct lb_lock *lock, const char *ttl, const struct lb_grant *grant,
                                    bool repeated) {
  struct redis_command first = {.argv = {"SET", lock->key, grant->token, "NX", "PX", ttl}};
  struct redis_command again = {.argv = {"SET", lock->key, grant->token, "NX", "PX", ttl, "GET"}};
  return (struct redis_round){
      .command = repeated ? again : first,
      .resent = again,
      .owed_max = OWED_MAX,
      .read = repeated ? read_set_again : read_set,
      .read_resent = read_set_again,
      .context = grant,
  };
}

static struct redis_round round_delete(const struct lb_lock *lock, const struct lb_grant *grant) {
  struct redis_command delete = {&redis_script_delete_if_mine, {lock->key, grant->token}};
  return (struct redis_round){.command = delete,
                              .resent = delete,
                              .owed_max = OWED_DELETE_MAX,
                              .read = read_script,
                              .read_resent = read_delete_again};
}

static struct redis_round round_expire(const struct lb_lock *lock, const char *ttl, const struct lb_grant *grant) {
  return (struct redis_round){.command = {&redis_script_expire_if_mine, {lock->key, grant->token, ttl}},
                              .owed_max = OWED_MAX,
                              .read = read_script};
}

static struct redis_round round_get(const struct lb_lock *lock, const struct lb_grant *grant) {
  return (struct redis_round){
      .command = {.argv = {"GET", lock->key}}, .owed_max = OWED_MAX, .read = read_get, .context = grant};
}

struct lb_session {
  struct lb_env *env;
  const struct lb_target *target;
  const char *prefix;
  struct redlock_options options;
  struct redis_fanout fanout;
  int64_t extensions; /* of the latest grant */
  uint64_t voters;    /* of the latest try */
};

static bool cannot_be_majority(struct lb_session *s, const struct redis_round *r) {
  return r->no > s->fanout.count - s->fanout.quorum;
}

static int too_few(struct lb_session *s, size_t count, const char *did) {
  return lb_fail(s->env, -EHOSTUNREACH, "only %zu of %zu servers %s, %zu are needed%s", count, s->fanout.count, did,
                 s->fanout.quorum, redis_fanout_trouble(&s->fanout));
}

/* Ends an attempt that failed, at all servers. */
static void undo(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  struct redis_round round = round_delete(lock, grant);
  round.only_yes = s->options.where_granted && grant->valid_until;
  redis_fanout_tell(&s->fanout, &round);
}

/* ---- acquire ------------------------------------------------------------------------------------------ */

/* Why a quorum was not reached, or reached too late. */
static int explain(struct lb_session *s, const struct redis_round *round, lb_ns deadline) {
  if (round->yes >= s->fanout.quorum)
    return lb_fail(s->env, -ETIME, "granted, but the lease was over by then, or nearly so");
  if (round->no) return LB_BUSY;
  if (lb_now(s->env) >= deadline) return LB_TIMEOUT;
  return too_few(s, round->yes, "answered in time");
}

/* `again`: an earlier try of this attempt has left its keys (keep_failed), and this one asks with their token as if
 * there were none. */
static int ask_once(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, bool again,
                    lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  bool repeated = grant->token_len != 0 && !again;
  if (!repeated && !again) redis_new_token(s->env, grant), grant->asked_at = lb_now(s->env);
  struct redlock_since since = redlock_since(&s->options, s->env, grant->asked_at);
  struct redis_round round = round_set(lock, redis_decimal(lock->ttl_ms, ttl), grant, repeated);
  redis_fanout_send(&s->fanout, &round);
  lb_point(s->env, "after-send");
  redis_fanout_gather(&s->fanout, &round, true, deadline);
  s->voters = redis_fanout_yes(&s->fanout);
  lb_point(s->env, "after-quorum");
  /* Repeated: some servers may have kept it since the first try, or for as long as it was extended. */
  if (!grant->valid_until) grant->valid_until = lease_end(&s->options, s->env, since, lock->ttl_ms);
  if (!repeated) s->extensions = 0;
  if (round.yes >= s->fanout.quorum && is_valid(&s->options, s->env, grant->valid_until))
    return redis_fanout_confirm(&s->fanout, grant);
  int rc = explain(s, &round, deadline);
  if (s->options.keep_failed) return grant->valid_until = 0, rc;
  undo(s, lock, grant);
  *grant = LB_GRANT_INIT;
  return rc;
}

static int redlock_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                               lb_ns deadline) {
  if (lb_now(s->env) >= deadline) return grant->token_len ? LB_UNKNOWN : LB_TIMEOUT;
  int rc = ask_once(s, lock, grant, false, deadline), refused = rc;
  for (int64_t tries = 1; rc != LB_OK && tries < s->options.tries && rest(&s->options, s->env, deadline); tries++)
    if ((rc = ask_once(s, lock, grant, s->options.keep_failed, deadline)) == LB_BUSY) refused = LB_BUSY;
  if (rc != LB_OK && grant->token_len) undo(s, lock, grant), *grant = LB_GRANT_INIT;
  return rc == LB_TIMEOUT && refused == LB_BUSY ? LB_BUSY : rc; /* by an earlier try */
}

/* ---- a grant we have ---------------------------------------------------------------------------------- */

static int redlock_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct redis_round round = round_delete(lock, grant);
  round.only_yes = s->options.where_granted && grant->valid_until; /* not of a release that is repeated */
  lb_point(s->env, "before-release");
  redis_fanout_run(&s->fanout, &round, deadline);
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
  struct redis_round round = round_expire(lock, redis_decimal(lock->ttl_ms, ttl), grant);
  redis_fanout_run(&s->fanout, &round, deadline);
  bool quorum = round.yes >= (s->options.any_extends ? 1 : s->fanout.quorum);
  lb_ns end = lease_end(&s->options, s->env, since, lock->ttl_ms);
  if (quorum || end < grant->valid_until) grant->valid_until = end;
  if (quorum && is_valid(&s->options, s->env, end)) return s->extensions++, redis_fanout_confirm(&s->fanout, grant);
  if (!quorum && !cannot_be_majority(s, &round)) return too_few(s, round.yes, "extended the lease"), LB_UNKNOWN;
  undo(s, lock, grant);
  return LB_LOST;
}

static int redlock_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant,
                         lb_ns deadline) {
  struct redis_round round = round_get(lock, grant);
  redis_fanout_run(&s->fanout, &round, deadline);
  if (round.yes >= s->fanout.quorum) return redis_fanout_confirm(&s->fanout, grant);
  if (cannot_be_majority(s, &round)) return LB_LOST;
  return too_few(s, round.yes, "confirm it"), round.yes + round.no >= s->fanout.quorum ? LB_UNCONFIRMED : LB_UNKNOWN;
}

static int redlock_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock;
  return redis_fanout_doubt(&s->fanout, grant);
}

static uint64_t redlock_voters(struct lb_session *s) { return s->voters; }

static int redlock_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return redis_record_inspect(s->env, s->target, endpoint, lock->key, deadline);
}

static int redlock_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return redis_record_break(s->env, s->target, endpoint, lock->key, deadline);
}

/* ---- session ------------------------------------------------------------------------------------------ */

static int redlock_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline; /* connects are only started */
  s->env = config->env, s->target = config->target, s->prefix = config->prefix;
  read_options(&s->options, config->options);
  s->fanout.way = s->options.way, s->fanout.patience = s->options.node_timeout;
  return redis_fanout_init(&s->fanout, config->env, config->target);
}

static int redlock_teardown(struct lb_session *s, lb_ns deadline) {
  return redis_record_clean_each(s->env, s->target, s->prefix, deadline);
}

static void redlock_close(struct lb_session *s) { redis_fanout_deinit(&s->fanout); }

const struct lb_protocol lb_redlock = {
    .abi = LB_ABI,
    .name = "redlock",
    .summary = "a majority of N independent Redis servers, asked all at once or one after the other",
    .topologies = (const char *const[]){"redis-x5", "redis-x3", NULL},
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_RATE,
    .options = redlock_options,
    /* after-send: no reply has been read; with fanout=sequential the first server was asked. after-quorum: the outcome
     * is decided, a quorum or none. */
    .points = (const char *const[]){"after-send", "after-quorum", "before-release", NULL},
    .midway = "after-send",
    .session_size = sizeof(struct lb_session),
    .open = redlock_open,
    .close = redlock_close,
    .try_acquire = redlock_try_acquire,
    .release = redlock_release,
    .extend = redlock_extend,
    .holds = redlock_holds,
    .break_lock = redlock_break,
    .teardown = redlock_teardown,
    .doubt = redlock_doubt,
    .proofs = &(const struct lb_proofs){.inspect = redlock_inspect, .voters = redlock_voters},
};
