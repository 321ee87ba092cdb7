/* SPDX-License-Identifier: MIT
 *
 * A semaphore that is a sorted set in Redis: each holder is a member, and its score is the end of its lease.
 *
 *   take     members whose end has passed are removed. Fewer than the permits are left: add the own one
 *   release  remove the own member
 *   extend   the own member is there: its lease begins anew
 *
 * One script does each of these, by the clock of the client or of the server. The whole set has an expiry as well, so
 * that nothing stays of a lock that is not used any more.
 *
 * redis-permits - a semaphore of leases in one Redis server, by the server's clock.
 *
 * Promises    At most as many holders as permits, as long as one and the same Redis server decides, its clock does not
 *             jump, and holders stop at valid_until. With one permit it is a lock. A dead holder's permit is free when
 *             its lease is over. A release or an extension never touches another client's permit.
 * Assumes     The server keeps what it has confirmed, its clock and the client's run at nearly the same rate, and all
 *             clients name the same number of permits.
 * Breaks it   All that breaks a lease in one Redis key: a holder that works on past its lease, a failover or a restart
 *             that forgets the set, a cut-off old master, a jump of the server's clock.
 * Source      The scripts of the npm package redis-semaphore 5.8.0, with TIME of the server for the time of the client.
 *             There a score is the begin of a lease, so all clients have to use one ttl. There a client that sends its
 *             take again is refused by its own permit; here it is granted.
 *
 * redis-permits-client - redis-permits by the clock of each client, as the npm package redis-semaphore ships it.
 *
 * Promises    What redis-permits promises, while the wall clocks of all clients agree.
 * Assumes     That they do, to within what a lease is longer than the work. The server's clock matters little.
 * Breaks it   A client whose clock is ahead by more than a lease removes all holders when it asks, and is let in
 *             beside them. One whose clock is behind by as much is removed by the next one that asks. And what breaks
 *             redis-permits.
 * Source      redis-semaphore 5.8.0: lib/semaphore/acquire/index.js (Date.now()), acquire/lua.js, refresh/lua.js.
 *
 * redis-permits-forever - redis-permits without leases: a permit is out until its holder gives it back.
 *
 * Promises    At most as many holders as permits, as long as one and the same Redis server decides. No pause and no
 *             clock takes a permit from its holder.
 * Assumes     The server keeps what it has confirmed, and each holder gives its permit back.
 * Breaks it   A holder that dies: its permit never comes back, and after as many deaths as there are permits no client
 *             gets one. A failover or a restart that forgets the set, and a cut-off old master.
 * Source      The simplest semaphore: a set of holders. One that is a number, or a list of tokens, loses permits alike.
 */
#include <errno.h>

#include "redis_key.h"

/* KEYS[1], ARGV token, ttl in ms, permits, the time in ms; without a time the server's counts. */
#define NOW                                                                                                            \
  "local now=tonumber(ARGV[4]) if not now then local t=redis.call(\"TIME\") now=t[1]*1000+math.floor(t[2]/1000) end "
#define DROP_OLD "redis.call(\"ZREMRANGEBYSCORE\",KEYS[1],\"-inf\",now) "
#define MINE "redis.call(\"ZSCORE\",KEYS[1],ARGV[1])"
#define ADD                                                                                                            \
  "redis.call(\"ZADD\",KEYS[1],now+ARGV[2],ARGV[1]) if redis.call(\"PTTL\",KEYS[1])<tonumber(ARGV[2]) then "           \
  "redis.call(\"PEXPIRE\",KEYS[1],ARGV[2]) end return 1"

/* All: 1 yes, 0 no. A member is granted again. */
static const struct redis_script take = {
    .sha1 = "ceaab08564713b2dbd4a6525eb7760b6c726a826",
    .text = NOW DROP_OLD "if not " MINE " and redis.call(\"ZCARD\",KEYS[1])>=tonumber(ARGV[3]) then return 0 end " ADD,
};
static const struct redis_script renew = {
    .sha1 = "a389f0ecc222d98609387991bfabdf35cafc7cdf",
    .text = NOW DROP_OLD "if not " MINE " then return 0 end " ADD,
};
static const struct redis_script leave = {
    .sha1 = "e82933fa9a89a8e5309b31398844623d515559e3",
    .text = NOW DROP_OLD "return redis.call(\"ZREM\",KEYS[1],ARGV[1])",
};
static const struct redis_script look = {
    .sha1 = "4f0ee296796c6d2f8c64b34811fd23b8f1dcda32",
    .text = NOW DROP_OLD "if " MINE " then return 1 end return 0",
};

struct lb_session {
  struct redis_key key;
  bool by_client; /* its wall clock counts */
  bool for_ever;  /* no permit ends by itself */
};

#define FOR_EVER_MS INT64_C(1000000000000) /* 31 years */

struct words { /* of a command, while it is sent */
  char ttl[REDIS_DECIMAL_MAX], permits[REDIS_DECIMAL_MAX], now[REDIS_DECIMAL_MAX];
};

static struct redis_command about(struct lb_session *s, const struct redis_script *script, const struct lb_lock *lock,
                                  const struct lb_grant *grant, struct words *w) {
  redis_decimal(s->for_ever ? FOR_EVER_MS : lock->ttl_ms, w->ttl);
  redis_decimal(lock->permits > 1 ? lock->permits : 1, w->permits);
  redis_decimal(lb_wall_ms(s->key.redis.env), w->now);
  return (struct redis_command){script, {lock->key, grant->token, w->ttl, w->permits, s->by_client ? w->now : NULL}};
}

/* ---- hooks ------------------------------------------------------------------------------------------------------ */

static int permits_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  s->by_client = config->protocol->traits & LB_TRAIT_CLIENT_CLOCK;
  s->for_ever = config->protocol->traits & LB_TRAIT_NO_EXPIRY;
  return redis_key_open(s, config, deadline);
}

static int ended(const struct lb_session *s, struct lb_grant *grant, int rc) {
  if (rc == LB_OK && s->for_ever) grant->valid_until = LB_NEVER;
  return rc;
}

/* The end in the record counts from before the client read its clock, and a connection may have been made since. */
static void count_from(const struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns read_at) {
  lb_ns end = lb_lease_end(read_at, lock->ttl_ms);
  if (s->by_client && grant->valid_until > end) grant->valid_until = end;
}

static int permits_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct words w;
  lb_ns now = lb_now(s->key.redis.env);
  int64_t lasts_ms = s->for_ever ? 0 : lock->ttl_ms;
  bool first = !grant->token_len;
  int rc = redis_key_take_with(s, about(s, &take, lock, grant, &w), lasts_ms, grant, deadline);
  if (s->by_client && first && grant->asked_at > now) grant->asked_at = now;
  count_from(s, lock, grant, now);
  return ended(s, grant, rc);
}

static int permits_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct words w;
  return redis_key_leave_with(s, about(s, &leave, lock, grant, &w), grant, deadline);
}

static int permits_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct words w;
  lb_ns now = lb_now(s->key.redis.env);
  int rc = redis_session_extend(&s->key.redis, about(s, &renew, lock, grant, &w), lock->ttl_ms, grant, deadline);
  if (rc == LB_OK) count_from(s, lock, grant, now);
  return rc;
}

static int permits_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct words w;
  int rc = redis_key_resolve_with(s, about(s, &look, lock, grant, &w), lock->ttl_ms, grant, deadline);
  return ended(s, grant, rc);
}

static int permits_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant,
                         lb_ns deadline) {
  struct words w;
  return redis_key_holds_with(s, about(s, &look, lock, grant, &w), grant, deadline);
}

/* after-take: the reply has been read, or given up, and not been looked at. poll_ms: the library's retryInterval. */
#define HOOKS                                                                                                          \
  .points = (const char *const[]){"before-take", "after-take", "before-release", "before-del", NULL},                  \
  .session_size = sizeof(struct lb_session), .poll_ms = 10, .topologies = redis_key_topologies, .open = permits_open,  \
  .close = redis_key_close, .try_acquire = permits_try, .release = permits_release, .resolve = permits_resolve,        \
  .holds = permits_holds, .break_lock = redis_key_break, .teardown = redis_key_teardown, .doubt = redis_key_doubt,     \
  .proofs = &redis_key_proofs

#define TRAITS LB_TRAIT_PERMITS | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR
#define LEASED TRAITS | LB_TRAIT_LEASED | LB_TRAIT_NEEDS_RATE

const struct lb_protocol lb_redis_permits = {
    .abi = LB_ABI,
    .name = "redis-permits",
    .summary = "one Redis server: a semaphore, a sorted set of holders by the ends of their leases",
    .traits = LEASED | LB_TRAIT_SERVER_CLOCK,
    .extend = permits_extend,
    HOOKS,
};

const struct lb_protocol lb_redis_permits_client = {
    .abi = LB_ABI,
    .name = "redis-permits-client",
    .summary = "redis-permits that reads the clock of its client",
    .traits = LEASED | LB_TRAIT_CLIENT_CLOCK,
    .extend = permits_extend,
    HOOKS,
};

const struct lb_protocol lb_redis_permits_forever = {
    .abi = LB_ABI,
    .name = "redis-permits-forever",
    .summary = "redis-permits without leases: a dead holder keeps its permit",
    .traits = TRAITS | LB_TRAIT_NO_EXPIRY,
    HOOKS,
};
