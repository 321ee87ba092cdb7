/* SPDX-License-Identifier: MIT
 *
 * redis-wait - SET NX PX, then WAIT: a grant counts when the replicas have it, and is taken back when too few say so in
 * time.
 *
 * Promises    What redis-token promises; and with all replicas, which is the default, whichever of them takes over has
 *             the key of every grant, as long as it keeps its memory. A primary that reaches too few grants nothing.
 * Assumes     What redis-token assumes; and that who takes over is one of those that confirmed. Replicas confirm that
 *             they have received it, not that it is on any disk: see redis-waitaof.
 * Breaks it   Fewer than all: the one that confirmed may be unreachable, or have the worse replica-priority, so that
 *             one is promoted that did not. (At equal priority Sentinel takes the one that has received most.) A
 *             restart that forgets the key. What is taken back after a failed WAIT may be on some replica already: if
 *             that is promoted before the DEL reaches it, no client gets the lock until the lease ends. WAIT is no
 *             consensus (redis.io says so): what a cut-off primary answers to GET is not asked of anybody else, so a
 *             guard that asks it hears that all is well. And all that breaks a lease in one Redis key and is no
 *             failover.
 * Price       A grant takes one more round trip and the slowest replica's answer. With all replicas, the lock is not to
 *             be had while one of them is away.
 *
 * Details that matter
 *  - WAIT is about the writes of its own connection. Over another one it would say at once that all replicas have all
 *    of nothing.
 *  - So a client that finds its own key after a lost answer has to write it again before it can wait for it.
 *  - An extension waits, too. If too few confirm it, a replica may let the key end when the lease before would have
 *    ended: it is not known to be extended.
 *
 * Source      redis.io, WAIT, and "Distributed Locks with Redis"; Redisson waits after each of its lock's scripts, for
 *             as many replicas as it sees, and takes the lock back only if none confirmed.
 *
 * redis-waitaof - the same with WAITAOF: a grant counts when the server that decides has synced it to its disk.
 *
 * Promises    What redis-token promises; and a grant outlives a loss of power, also where Redis syncs once a second.
 *             With replicas they have it on their disks, too.
 * Assumes     What redis-token assumes, but that what is not synced is kept. Servers keep an append-only file, else they
 *             refuse; Redis or Valkey from 7.2 on.
 * Breaks it   What breaks redis-token, but for the loss of power. With appendfsync everysec that breaks it too on Redis
 *             7.4.0 to 7.4.2 and on Valkey 8.0 to 9.1.2: WAITAOF does not wait for the disk (redis 13793).
 * Price       WAITAOF makes no server sync earlier. With appendfsync everysec a grant or an extension takes up to a
 *             second. A request that has less time fails: the key is taken back, or not known to be extended.
 * Source      redis.io, WAITAOF.
 */
#include <errno.h>
#include <string.h>

#include "redis_key.h"

struct lb_session {
  struct redis_key key;
  bool synced; /* it waits for disks, that of the server that decides among them */
};

enum { OPT_REPLICAS, OPT_WAIT };
static const struct lb_option options[] = {
    [OPT_REPLICAS] = {"replicas", LB_OPT_INT, 0, 0, 15, "so many have to confirm a grant; 0 = all that there are"},
    [OPT_WAIT] = {"wait_ms", LB_OPT_INT, 1000, 1, 60000,
                  "how long they are waited for, and half of what is left for the try at most"},
    {0},
};
static const struct lb_option synced_options[] = {
    [OPT_REPLICAS] = {"replicas", LB_OPT_INT, 0, 0, 15, "so many have to have synced it, too; 0 = all that there are"},
    [OPT_WAIT] = {"wait_ms", LB_OPT_INT, 2000, 1, 60000,
                  "how long disks are waited for, and half of what is left for the try at most"},
    {0},
};

static int wait_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  s->synced = config->protocol->data != NULL;
  return redis_key_open(s, config, deadline);
}

/* WAIT says a number; WAITAOF the servers that have synced it: 1 for that of the connection, and so many replicas. */
static bool is_synced(const redisReply *reply) {
  return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 && redis_is_one(reply->element[0]);
}

static int64_t replicas_of(const redisReply *reply) {
  const redisReply *said = is_synced(reply) ? reply->element[1] : reply;
  return said->type == REDIS_REPLY_INTEGER ? said->integer : 0;
}

/* 0: as many as are wanted have all that the connection has written. -ENOLINK: too few; -ETIME: its disk has not.
 * LB_UNKNOWN, -errno. */
static int wait_for_replicas(struct lb_session *s, lb_ns deadline) {
  struct redis_session *redis = &redis_key(s)->redis;
  const union lb_value *option = redis_key(s)->options;
  int64_t wanted = option[OPT_REPLICAS].i ? option[OPT_REPLICAS].i : (int64_t)redis->link.target->replicas;
  lb_ns now = lb_now(redis->env);
  int64_t half_ms = deadline > now ? (int64_t)((deadline - now) / 2 / LB_NS_PER_MS) : 0;
  int64_t most_ms = half_ms < option[OPT_WAIT].i ? half_ms : option[OPT_WAIT].i;
  char count[REDIS_DECIMAL_MAX], ms[REDIS_DECIMAL_MAX];
  redis_decimal(wanted, count);
  redis_decimal(most_ms > 0 ? most_ms : 1, ms); /* 0 would be for ever */
  struct redis_request wait = {.command = {.argv = {"WAIT", count, ms}, .keyless = true},
                               .stays = true,
                               .before = "before-wait",
                               .after = "after-wait"};
  if (s->synced) wait.command = (struct redis_command){.argv = {"WAITAOF", "1", count, ms}, .keyless = true};
  int rc = redis_session_once(redis, &wait, deadline);
  int64_t have = rc ? 0 : replicas_of(wait.reply);
  if (!rc && s->synced && !is_synced(wait.reply))
    rc = lb_fail(redis->env, -ETIME, "the server has not synced it in time");
  freeReplyObject(wait.reply);
  if (!rc && have < wanted)
    rc = lb_fail(redis->env, -ENOLINK, "%d of %d replicas have confirmed it in time", (int)have, (int)wanted);
  return rc;
}

/* The key is ours at the primary. What too few have is taken back, and refused when it is certain that it is gone. */
static int replicated(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct lb_env *env = redis_key(s)->redis.env;
  char why[sizeof env->err];
  int rc = wait_for_replicas(s, deadline);
  if (rc == LB_OK) return rc;
  memcpy(why, env->err, sizeof why);
  int gone = rc == LB_UNKNOWN ? rc : redis_key_release(s, lock, grant, deadline);
  memcpy(env->err, why, sizeof why);
  if (gone == LB_OK || gone == LB_LOST) return *grant = LB_GRANT_INIT, rc;
  grant->valid_until = 0; /* never known as held */
  return LB_UNKNOWN;
}

/* So that there is something to wait for. The end that the client counts on stays. LB_OK, LB_BUSY: it has ended;
 * LB_UNKNOWN. */
static int write_again(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct lb_grant copy = *grant;
  int rc = redis_key_extend(s, lock, &copy, deadline);
  if (rc == LB_LOST) return *grant = LB_GRANT_INIT, LB_BUSY;
  return rc < 0 ? LB_UNKNOWN : rc;
}

static int wait_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  bool repeated = grant->token_len != 0;
  int rc = redis_key_try(s, lock, grant, deadline);
  if (rc == LB_OK && repeated) rc = write_again(s, lock, grant, deadline);
  return rc == LB_OK ? replicated(s, lock, grant, deadline) : rc;
}

static int wait_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  int rc = redis_key_resolve(s, lock, grant, deadline);
  if (rc == LB_OK) rc = write_again(s, lock, grant, deadline);
  if (rc == LB_OK) rc = replicated(s, lock, grant, deadline);
  return rc < 0 && !grant->token_len ? LB_BUSY : rc; /* taken back */
}

static int wait_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_ns before = grant->valid_until;
  int rc = redis_key_extend(s, lock, grant, deadline);
  if (rc != LB_OK || wait_for_replicas(s, deadline) == LB_OK) return rc;
  if (before < grant->valid_until) grant->valid_until = before;
  return LB_UNKNOWN;
}

/* after-wait: the reply has been read, or given up, and not been looked at. before-del: nothing has been compared. */
static const char *const points[] = {"before-set",     "after-set",  "before-wait", "after-wait",
                                     "before-release", "before-del", NULL};

#define WAIT_HOOKS                                                                                                     \
  .abi = LB_ABI, .points = points, .midway = "before-wait", .session_size = sizeof(struct lb_session),                 \
  .open = wait_open, .close = redis_key_close, .try_acquire = wait_try, .release = redis_key_release,                  \
  .extend = wait_extend, .resolve = wait_resolve, .holds = redis_key_holds, .break_lock = redis_key_break,             \
  .teardown = redis_key_teardown, .doubt = redis_key_doubt, .proofs = &redis_key_proofs
enum {
  TRAITS =
      LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE
};

const struct lb_protocol lb_redis_wait = {
    .name = "redis-wait",
    .summary = "redis-token, and a grant counts when the replicas have confirmed it (WAIT)",
    .facts = "confirms=replicas",
    .options = options,
    .traits = TRAITS,
    .topologies = (const char *const[]){"sentinel", "cluster", NULL},
    WAIT_HOOKS,
};

const struct lb_protocol lb_redis_waitaof = {
    .name = "redis-waitaof",
    .summary = "redis-token, and a grant counts when the server has synced it to its disk (WAITAOF)",
    .facts = "syncs=client",
    .options = synced_options,
    .needs = "redis >= 7.2 or valkey >= 7.2",
    .traits = TRAITS,
    .topologies = (const char *const[]){"redis-aof-everysec", "redis-aof", NULL},
    WAIT_HOOKS,
    .data = "WAITAOF",
};
