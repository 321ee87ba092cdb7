/* SPDX-License-Identifier: MIT
 *
 * floor-redis - what the two commands of a lock in Redis cost alone: no lock, but the floor under redis-token's speed.
 *
 * Promises    Nothing: each client has a key of its own, whatever it is asked for, so no client is ever refused.
 * Breaks it   Any second client. It is measured only where no two clients meet (scenario spread).
 * Source      A loop over hiredis: SET key token NX PX ttl, then EVALSHA of compare-and-delete.
 *
 * It does what redis-token does on a good day and nothing else: one connection, the same token in each round, no look
 * at deadlines that have passed, no doubt and no second server. A reply that is not the usual one ends the attempt.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "redis_record.h"
#include "redis_script.h"

struct lb_session {
  struct lb_env *env;
  const struct lb_config *config;
  redisContext *redis;
  char key[96], ttl[REDIS_DECIMAL_MAX];
  struct lb_grant grant; /* its token, drawn once */
};

/* Blocks, as it is done once. */
static int floor_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  const struct lb_endpoint *at = config->target->endpoints;
  (void)deadline;
  *s = (struct lb_session){.env = config->env, .config = config};
  if (at->tls || at->password)
    return lb_fail(s->env, -EPROTONOSUPPORT, "redis %s: a floor knows neither passwords nor TLS", at->host);
  s->redis = redisConnect(at->host, at->port);
  if (!s->redis) return lb_fail(s->env, -ENOMEM, "redis %s: out of memory", at->host);
  if (s->redis->err) return lb_fail(s->env, -ECONNREFUSED, "connect to redis %s: %s", at->host, s->redis->errstr);
  redisReply *loaded = redisCommand(s->redis, "SCRIPT LOAD %s", redis_script_delete_if_mine.text);
  freeReplyObject(loaded);
  s->redis->flags &= ~REDIS_BLOCK;
  redis_new_token(s->env, &s->grant);
  redis_decimal(config->ttl_ms, s->ttl);
  snprintf(s->key, sizeof s->key, "%s-%s", config->prefix, config->client);
  return loaded ? 0 : lb_fail(s->env, -EIO, "redis %s: no answer to SCRIPT LOAD", at->host);
}

static void floor_close(struct lb_session *s) {
  if (s->redis) redisFree(s->redis);
}

/* The reply's type and its number, or 0. LB_UNKNOWN: none came. */
static int call(struct lb_session *s, int count, const char **words, lb_ns deadline, int *ret_type) {
  int done = 0;
  void *reply = NULL;
  redisAppendCommandArgv(s->redis, count, words, NULL);
  while (!done && !s->redis->err) redisBufferWrite(s->redis, &done);
  while (!reply && !s->redis->err) {
    if (lb_wait_fd(s->env, s->redis->fd, POLLIN, deadline) <= 0) break;
    if (redisBufferRead(s->redis) == REDIS_OK) redisGetReplyFromReader(s->redis, &reply);
  }
  if (!reply) return lb_fail(s->env, -EIO, "redis: sent, no answer %s", s->redis->errstr), LB_UNKNOWN;
  *ret_type = ((redisReply *)reply)->type;
  if (*ret_type == REDIS_REPLY_ERROR) lb_fail(s->env, -EPROTO, "redis refused: %s", ((redisReply *)reply)->str);
  freeReplyObject(reply);
  return *ret_type == REDIS_REPLY_ERROR ? -EPROTO : 0;
}

static int floor_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  const char *words[] = {"SET", s->key, s->grant.token, "NX", "PX", s->ttl};
  int type;
  grant->asked_at = lb_now(s->env);
  int rc = call(s, 6, words, deadline, &type);
  if (rc) return rc;
  if (type != REDIS_REPLY_STATUS) return lb_fail(s->env, -EEXIST, "redis: %s is there already", s->key);
  grant->token[0] = 'f';
  grant->token_len = 1;
  grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  return LB_OK;
}

static int floor_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  const char *words[] = {"EVALSHA", redis_script_delete_if_mine.sha1, "1", s->key, s->grant.token};
  int type;
  (void)lock, (void)grant;
  return call(s, 5, words, deadline, &type);
}

static int floor_teardown(struct lb_session *s, lb_ns deadline) {
  return redis_record_clean_each(s->env, s->config->target, s->config->prefix, deadline);
}

const struct lb_protocol lb_floor_redis = {
    .abi = LB_ABI,
    .name = "floor-redis",
    .summary = "no lock: SET NX PX and compare-and-delete of a key that nobody else wants",
    .topologies = (const char *const[]){"redis", NULL},
    .traits = LB_TRAIT_NO_EXPIRY | LB_TRAIT_UNSAFE | LB_TRAIT_FLOOR,
    .unsafe_why = "never refuses",
    .session_size = sizeof(struct lb_session),
    .open = floor_open,
    .close = floor_close,
    .try_acquire = floor_try_acquire,
    .release = floor_release,
    .teardown = floor_teardown,
};
