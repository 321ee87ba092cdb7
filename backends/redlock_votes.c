/* SPDX-License-Identifier: MIT
 *
 * The commands of Redlock and how their replies are read. Errors are no votes: who answers with one has not refused the lock.
 */
#include "redlock_votes.h"

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

struct redis_round redlock_set(const struct lb_lock *lock, const char *ttl, const struct lb_grant *grant, bool repeated) {
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

struct redis_round redlock_delete(const struct lb_lock *lock, const struct lb_grant *grant) {
  struct redis_command delete = {&redis_delete_if_mine, {lock->key, grant->token}};
  return (struct redis_round){
      .command = delete, .resent = delete, .owed_max = OWED_DELETE_MAX, .read = read_script, .read_resent = read_delete_again};
}

struct redis_round redlock_expire(const struct lb_lock *lock, const char *ttl, const struct lb_grant *grant) {
  return (struct redis_round){
      .command = {&redis_expire_if_mine, {lock->key, grant->token, ttl}}, .owed_max = OWED_MAX, .read = read_script};
}

struct redis_round redlock_get(const struct lb_lock *lock, const struct lb_grant *grant) {
  return (struct redis_round){.command = {.argv = {"GET", lock->key}}, .owed_max = OWED_MAX, .read = read_get, .context = grant};
}
