/* SPDX-License-Identifier: MIT
 *
 * A lock on several keys of one Redis server, taken one after the other: it holds while all of them hold its token.
 *
 *   take     SET NX PX for each key. One is refused: those that it has are deleted, and it begins anew later
 *   release  each key is deleted if the token in it is ours
 *   extend   each key gets the lease anew if the token in it is ours
 *
 * The lease counts from the request for the first key, so it ends before any key does.
 *
 * Order     Clients that take the keys in one order cannot block each other. With order=given a client with an even
 *           number at the end of its name takes them backwards, as a program does that names the keys as they come.
 * Unknown   A request without an answer leaves the attempt in doubt (redis_session.h). A client that finds only some of
 *           the keys its own deletes those.
 *
 * redis-multi - several keys of one Redis server, and who is refused one lets go of the others.
 *
 * Promises    One holder of all keys, as long as one and the same Redis server decides, its clock does not jump, and
 *             holders stop at valid_until. A release or an extension never touches another client's key.
 * Assumes     The server keeps what it has confirmed, and its clock and the client's run at nearly the same rate.
 * Breaks it   All that breaks a lease in one Redis key, on any of the keys. A client that dies between two keys leaves
 *             the first ones for a lease, though it never held. With order=given two clients can refuse each other time
 *             and again.
 * Source      "Try, or release all and try again": as programs take two locks. std::lock of C++ does so with mutexes.
 *
 * redis-multi-waiting - redis-multi as Redisson's MultiLock: who is refused a key waits for it, and keeps the others.
 *
 * Promises    What redis-multi promises.
 * Assumes     What redis-multi assumes, and that all clients take the keys in one order.
 * Breaks it   What breaks redis-multi. With order=given two clients that each have one key wait for each other until
 *             the wait of one is over. A client that dies while it waits leaves its keys for twice as long as it would
 *             have waited.
 *
 * Redisson    A key gets twice the wait as its lease, and all get the asked lease when all are there. Redisson does not
 *             look whose key that renews, nor whether it was there; here it is compared, and the attempt is over where
 *             one is not ours. Redisson hears of a release; here a key that is refused is asked for every 10 ms.
 * Source      Redisson: RedissonMultiLock.tryLock(waitTime, leaseTime).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "redis_key.h"
#include "redis_record.h"

enum { OPT_KEYS, OPT_ORDER };
enum { SORTED, GIVEN };
#define KEYS_MAX 8
static const struct lb_option options[] = {
    [OPT_KEYS] = {"keys", LB_OPT_INT, 2, 1, KEYS_MAX, "how many keys are one lock"},
    [OPT_ORDER] = {"order", LB_OPT_CHOICE, SORTED, 0, 0,
                   "in which order they are taken: the same, or each client's own",
                   .words = (const char *const[]){"sorted", "given", NULL}},
    {0},
};

struct lb_session {
  struct redis_key key;
  bool backwards; /* this client names the keys from the last to the first */
  bool keeps;     /* what it has, while it waits for another key */
};

#define GRACE_MS 200 /* for what is given back when the time is over */
#define POLL_MS 10   /* between two requests for a key that is waited for */
#define NAME_MAX (LB_TOKEN_MAX + REDIS_DECIMAL_MAX)

struct name {
  char text[NAME_MAX];
};

static int key_count(const struct lb_session *s) { return (int)s->key.options[OPT_KEYS].i; }

/* The name of the key that this client takes as number `at`, from 0. */
static const char *key_at(const struct lb_session *s, const struct lb_lock *lock, int at, struct name *name) {
  snprintf(name->text, sizeof name->text, "%s:%d", lock->key, s->backwards ? key_count(s) - at : at + 1);
  return name->text;
}

/* ---- requests --------------------------------------------------------------------------------------------------- */

struct attempt {
  const struct lb_lock *lock;
  struct lb_grant *grant;
  bool again;       /* an earlier try got no answer */
  bool waits;       /* for a key that is refused */
  int64_t lease_ms; /* of a key until all are there */
  int taken;        /* keys that are ours for certain */
};

/* LB_OK: the key is the grant's, from now on or as before; LB_BUSY, LB_UNKNOWN, -errno. */
static int take_one(struct lb_session *s, const struct attempt *a, lb_ns deadline) {
  struct name name;
  char lease[REDIS_DECIMAL_MAX];
  struct redis_request set = {
      .command = {.argv = {"SET", key_at(s, a->lock, a->taken, &name), a->grant->token, "NX", "PX",
                           redis_decimal(a->lease_ms, lease), a->again ? "GET" : NULL}},
      .grant = a->grant,
      .repeated = a->again || a->taken > 0,
      .ttl_ms = a->lease_ms,
      .before = "before-take",
      .after = "after-take",
  };
  int rc = redis_session_once(&s->key.redis, &set, deadline);
  if (!rc && set.reply->type != (a->again ? REDIS_REPLY_NIL : REDIS_REPLY_STATUS) &&
      !(a->again && redis_is_token(set.reply, a->grant)))
    rc = LB_BUSY;
  freeReplyObject(set.reply);
  return rc;
}

/* Where a key is refused it waits as long as it may, with the keys that it has. */
static int take_all(struct lb_session *s, struct attempt *a, lb_ns deadline) {
  struct lb_env *env = s->key.redis.env;
  while (a->taken < key_count(s)) {
    int rc = take_one(s, a, deadline);
    lb_ns next = lb_now(env) + POLL_MS * LB_NS_PER_MS;
    bool again = rc == LB_BUSY && a->waits && next < deadline;
    if (rc == LB_OK) a->taken++;
    else if (again) lb_sleep_until(env, next);
    else return rc;
    if (rc == LB_OK && a->taken == 1 && key_count(s) > 1) lb_point(env, "between-keys");
  }
  return LB_OK;
}

/* Asks for each key by a script that answers 1 if the token in it is ours. LB_OK: all were; LB_LOST: not all;
 * LB_UNKNOWN; -errno: none was. *ret_unsure: one was executed perhaps before the try that answered. */
static int for_each(struct lb_session *s, const struct redis_script *script, const struct lb_lock *lock,
                    const struct lb_grant *grant, bool *ret_unsure, lb_ns deadline) {
  struct name name;
  char ttl[REDIS_DECIMAL_MAX];
  int worst = LB_OK, yes = 0, failed = 0;
  *ret_unsure = false;
  for (int i = 0; i < key_count(s); i++) {
    struct redis_request ask = {
        .command = {script, {key_at(s, lock, i, &name), grant->token, redis_decimal(lock->ttl_ms, ttl)}}};
    int rc = redis_session_ask(&s->key.redis, &ask, deadline);
    bool is_yes = !rc && redis_is_one(ask.reply);
    freeReplyObject(ask.reply);
    *ret_unsure |= ask.unsure;
    yes += is_yes;
    if (rc < 0) failed = rc;
    else if (rc == LB_UNKNOWN) worst = LB_UNKNOWN;
    else if (!is_yes && worst == LB_OK) worst = LB_LOST;
  }
  if (!failed) return worst;
  return yes || worst != LB_OK ? LB_UNKNOWN : failed;
}

/* Nothing of the attempt remains: LB_OK. Else LB_UNKNOWN, and it is not known as held any more. */
static int give_back(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_ns grace = lb_now(s->key.redis.env) + GRACE_MS * LB_NS_PER_MS;
  char why[sizeof s->key.redis.env->err];
  bool unsure;
  memcpy(why, s->key.redis.env->err, sizeof why);
  int rc = for_each(s, &redis_script_delete_if_mine, lock, grant, &unsure, grace > deadline ? grace : deadline);
  memcpy(s->key.redis.env->err, why, sizeof why);
  if (rc == LB_OK || rc == LB_LOST) return LB_OK;
  grant->valid_until = 0;
  return LB_UNKNOWN;
}

/* All keys get the whole lease. LB_OK, LB_LOST, LB_UNKNOWN, -errno. */
static int renew(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  bool unsure;
  return for_each(s, &redis_script_expire_if_mine, lock, grant, &unsure, deadline);
}

/* ---- hooks ------------------------------------------------------------------------------------------------------ */

static int multi_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  size_t length = strlen(config->client);
  bool even = length > 0 && (config->client[length - 1] - '0') % 2 == 0;
  s->backwards = even && config->options[OPT_ORDER].i == GIVEN;
  s->keeps = config->protocol->traits & LB_TRAIT_WAITS_INSIDE;
  return redis_key_open(s, config, deadline);
}

/* The keys of who may have waited have another lease than it asked for. */
static int complete(struct lb_session *s, const struct attempt *a, lb_ns deadline) {
  lb_ns asked_at = a->waits && !a->again ? lb_now(s->key.redis.env) : a->grant->asked_at;
  int rc = a->waits || a->again ? renew(s, a->lock, a->grant, deadline) : LB_OK;
  if (rc != LB_OK) return rc == LB_LOST ? LB_BUSY : rc;
  a->grant->asked_at = asked_at;
  a->grant->valid_until = lb_lease_end(asked_at, a->lock->ttl_ms);
  return LB_OK;
}

static int multi_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_ns now = lb_now(s->key.redis.env);
  struct attempt a = {lock, grant, .again = redis_key_begin(s, grant), .lease_ms = lock->ttl_ms};
  a.waits = s->keeps && lock->patient && deadline > now;
  if (a.waits) a.lease_ms = 2 * (int64_t)((deadline - now) / LB_NS_PER_MS) + 1;
  int rc = take_all(s, &a, deadline);
  if (rc == LB_OK) rc = complete(s, &a, deadline);
  if (rc == LB_UNKNOWN) return grant->valid_until = 0, rc;
  bool left = rc != LB_OK && (a.taken > 0 || a.again);
  if (left && give_back(s, lock, grant, deadline) != LB_OK) return LB_UNKNOWN;
  return redis_key_tried(s, grant, a.again, rc);
}

static int multi_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  bool unsure;
  lb_point(s->key.redis.env, "before-release");
  lb_point(s->key.redis.env, "before-del"); /* of the first key: nothing has been compared */
  int rc = for_each(s, &redis_script_delete_if_mine, lock, grant, &unsure, deadline);
  /* valid_until == 0 says: never known as held, or an earlier release may have done it. "Not mine" is then no loss. */
  if (unsure || rc == LB_UNKNOWN) grant->valid_until = 0;
  if (rc != LB_LOST) return rc;
  return redis_session_absent(&s->key.redis, grant, grant->valid_until ? LB_LOST : LB_OK);
}

static int multi_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_ns end = lb_lease_end(lb_now(s->key.redis.env), lock->ttl_ms);
  int rc = renew(s, lock, grant, deadline);
  if (rc == LB_OK) redis_session_confirm(&s->key.redis, grant);
  if (rc == LB_LOST) give_back(s, lock, grant, deadline); /* the others would be in the way for a lease */
  return lb_lease_extended(grant, rc, end);
}

/* The lease begins anew at the server, as it may be the one of a client that waits. The client counts from before. */
static int multi_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  int rc = renew(s, lock, grant, deadline);
  if (rc == LB_LOST) rc = give_back(s, lock, grant, deadline) ? LB_UNKNOWN : LB_LOST;
  if (rc == LB_LOST) return redis_session_absent(&s->key.redis, grant, LB_BUSY);
  if (rc != LB_OK) return rc;
  if (!grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  return redis_session_confirm(&s->key.redis, grant);
}

static int multi_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct name name;
  for (int i = 0; i < key_count(s); i++) {
    struct lb_lock one = {.key = key_at(s, lock, i, &name), .ttl_ms = lock->ttl_ms};
    int rc = redis_key_look(s, &one, grant, deadline);
    if (rc != LB_OK) return rc;
  }
  return redis_session_confirm(&s->key.redis, grant);
}

/* ---- for proofs: a client holds where all keys have one token ----------------------------------------------------- */

/* 1: each has a token, and it is the same one; 0; LB_UNKNOWN; -errno. */
static int same_token(struct lb_session *s, const struct lb_lock *lock, struct redis_conn *conn, lb_ns deadline) {
  redisReply *first = NULL;
  struct name name;
  int rc = 1;
  for (int i = 0; i < key_count(s) && rc == 1; i++) {
    redisReply *reply = NULL;
    rc = redis_callf(conn, deadline, &reply, "GET %s", key_at(s, lock, i, &name));
    if (!rc) rc = redis_refusal(s->key.redis.env, reply);
    if (!rc) rc = reply->type == REDIS_REPLY_STRING && (!first || strcmp(first->str, reply->str) == 0);
    if (first) freeReplyObject(reply);
    else first = reply;
  }
  freeReplyObject(first);
  return rc;
}

static int multi_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  const struct redis_session *redis = &s->key.redis;
  struct redis_conn *conn = NULL;
  int rc = redis_open(redis->env, &redis->link.target->endpoints[endpoint], deadline, &conn);
  if (!rc) rc = same_token(s, lock, conn, deadline);
  redis_close(conn);
  return rc == LB_UNKNOWN ? -ETIMEDOUT : rc;
}

static int multi_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  const struct redis_session *redis = &s->key.redis;
  struct name name;
  int any = 0;
  for (int i = 0; i < key_count(s); i++) {
    int rc = redis_record_break(redis->env, redis->link.target, endpoint, key_at(s, lock, i, &name), deadline);
    if (rc < 0) return rc;
    any |= rc;
  }
  return any;
}

static const struct lb_proofs proofs = {.inspect = multi_inspect, .server = redis_key_server};

/* after-take: the reply for a key has been read, or given up, and not been looked at. */
#define HOOKS                                                                                                          \
  .options = options,                                                                                                  \
  .points = (const char *const[]){"before-take", "after-take", "between-keys", "before-release", "before-del", NULL},  \
  .midway = "between-keys", .session_size = sizeof(struct lb_session),                                                 \
  .topologies = (const char *const[]){"redis", NULL}, .open = multi_open, .close = redis_key_close,                    \
  .try_acquire = multi_try, .release = multi_release, .extend = multi_extend, .resolve = multi_resolve,                \
  .holds = multi_holds, .break_lock = multi_break, .teardown = redis_key_teardown, .doubt = redis_key_doubt,           \
  .proofs = &proofs

#define TRAITS                                                                                                         \
  LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE

const struct lb_protocol lb_redis_multi = {
    .abi = LB_ABI,
    .name = "redis-multi",
    .summary = "several keys of one Redis server; who is refused one lets go of the others",
    .traits = TRAITS,
    HOOKS,
};

const struct lb_protocol lb_redis_multi_waiting = {
    .abi = LB_ABI,
    .name = "redis-multi-waiting",
    .summary = "redis-multi as Redisson's MultiLock: who is refused a key waits for it, and keeps the others",
    .facts = "refused=keeps",
    .traits = TRAITS | LB_TRAIT_WAITS_INSIDE,
    HOOKS,
};
