/* SPDX-License-Identifier: MIT
 *
 * The session of a lock that is one key, and its hooks: of a key whose value is the grant's token, and of one that is
 * only there or not.
 */
#include "redis_key.h"

#include "redis_record.h"

#include <errno.h>
#include <stdlib.h>

/* ---- the session -------------------------------------------------------------------------------------- */

const char *const redis_key_topologies[] = {"redis", "sentinel", "cluster", NULL};

int redis_key_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline;
  redis_key(s)->options = config->options;
  return redis_session_open(&redis_key(s)->redis, config);
}

void redis_key_close(struct lb_session *s) {
  redis_ear_close(&redis_key(s)->ear);
  redis_session_close(&redis_key(s)->redis);
}

int redis_key_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  struct redis_session *redis = &redis_key(s)->redis;
  return redis_record_inspect(redis->env, redis->link.target, endpoint, lock->key, deadline);
}

int redis_key_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  struct redis_session *redis = &redis_key(s)->redis;
  return redis_record_break(redis->env, redis->link.target, endpoint, lock->key, deadline);
}

int redis_key_teardown(struct lb_session *s, lb_ns deadline) {
  return redis_session_teardown(&redis_key(s)->redis, deadline);
}

int redis_key_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock;
  return redis_session_doubt(&redis_key(s)->redis, grant);
}

int redis_key_server(struct lb_session *s) { return redis_session_server(&redis_key(s)->redis); }

const struct lb_proofs redis_key_proofs = {.inspect = redis_key_inspect, .server = redis_key_server};

/* ---- begin and end of a try --------------------------------------------------------------------------- */

bool redis_key_begin(struct lb_session *s, struct lb_grant *grant) {
  if (grant->token_len) return true;
  redis_new_token(redis_key(s)->redis.env, grant);
  return false;
}

int redis_key_tried(struct lb_session *s, struct lb_grant *grant, bool repeated, int rc) {
  if (rc == -ETIMEDOUT) rc = LB_TIMEOUT;
  /* What this try was refused says nothing about the earlier one. */
  if (repeated && (rc < 0 || rc == LB_TIMEOUT)) rc = LB_UNKNOWN;
  if (rc == LB_BUSY) rc = redis_session_absent(&redis_key(s)->redis, grant, LB_BUSY);
  if (rc == LB_OK) redis_session_confirm(&redis_key(s)->redis, grant);
  if (rc != LB_OK && rc != LB_UNKNOWN) *grant = LB_GRANT_INIT;
  return rc;
}

int redis_key_set_end(struct lb_session *s, const struct lb_lock *lock, lb_ns deadline) {
  char seconds[REDIS_DECIMAL_MAX];
  struct redis_request expire = {
      .command = {.argv = {"EXPIRE", lock->key, redis_decimal((lock->ttl_ms + 999) / 1000, seconds)}}};
  int rc = redis_session_once(&redis_key(s)->redis, &expire, deadline);
  freeReplyObject(expire.reply);
  return rc;
}

/* ---- a key whose value is the token of the grant ------------------------------------------------------ */

static int read_set(const struct redis_request *set, struct lb_grant *grant) {
  const redisReply *reply = set->reply;
  bool numbered = reply->type == REDIS_REPLY_INTEGER;
  bool done = numbered ? reply->integer > 0 : reply->type == (set->repeated ? REDIS_REPLY_NIL : REDIS_REPLY_STATUS);
  bool earlier = numbered ? reply->integer < 0 : set->repeated && redis_is_token(reply, grant);
  if (!done && !earlier) return LB_BUSY;
  if (numbered) grant->fence = (uint64_t)llabs(reply->integer);
  /* Set by an earlier try: its lease runs since then, or as far as it was extended. */
  if (done) grant->valid_until = lb_lease_end(set->sent_at, set->ttl_ms);
  else if (!grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, set->ttl_ms);
  return LB_OK;
}

int redis_key_try_by(struct lb_session *s, const struct redis_script *script, const struct lb_lock *lock,
                     struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  bool repeated = redis_key_begin(s, grant);
  struct redis_request set = {
      .command = {.argv = {"SET", lock->key, grant->token, "NX", "PX", redis_decimal(lock->ttl_ms, ttl),
                           repeated ? "GET" : NULL}},
      .grant = grant,
      .repeated = repeated,
      .ttl_ms = lock->ttl_ms,
      .before = "before-set",
      .after = "after-set",
  };
  if (script) set.command = (struct redis_command){script, {lock->key, grant->token, ttl}};
  int rc = redis_session_once(&redis_key(s)->redis, &set, deadline);
  if (!rc) rc = read_set(&set, grant);
  freeReplyObject(set.reply);
  return redis_key_tried(s, grant, repeated, rc);
}

int redis_key_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return redis_key_try_by(s, NULL, lock, grant, deadline);
}

int redis_key_look(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct redis_request get = {.command = {.argv = {"GET", lock->key}}};
  int rc = redis_session_ask(&redis_key(s)->redis, &get, deadline);
  if (!rc && !redis_is_token(get.reply, grant)) rc = LB_LOST;
  freeReplyObject(get.reply);
  return rc;
}

int redis_key_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct redis_session *redis = &redis_key(s)->redis;
  int rc = redis_key_look(s, lock, grant, deadline);
  if (rc == LB_LOST) return redis_session_absent(redis, grant, LB_BUSY);
  if (rc != LB_OK) return rc;
  if (!grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  return redis_session_confirm(redis, grant);
}

int redis_key_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  int rc = redis_key_look(s, lock, grant, deadline);
  return rc == LB_OK ? redis_session_confirm(&redis_key(s)->redis, grant) : rc;
}

int redis_key_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return redis_key_release_by(s, &redis_script_delete_if_mine, lock, grant, deadline);
}

int redis_key_release_by(struct lb_session *s, const struct redis_script *script, const struct lb_lock *lock,
                         struct lb_grant *grant, lb_ns deadline) {
  return redis_key_leave_with(s, (struct redis_command){script, {lock->key, grant->token}}, grant, deadline);
}

int redis_key_extend_by(struct lb_session *s, const struct redis_script *script, const struct lb_lock *lock,
                        struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  struct redis_command expire = {script, {lock->key, grant->token, redis_decimal(lock->ttl_ms, ttl)}};
  return redis_session_extend(&redis_key(s)->redis, expire, lock->ttl_ms, grant, deadline);
}

int redis_key_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return redis_key_extend_by(s, &redis_script_expire_if_mine, lock, grant, deadline);
}

/* ---- a record that only scripts touch ----------------------------------------------------------------- */

int redis_key_take_with(struct lb_session *s, struct redis_command command, int64_t lasts_ms, struct lb_grant *grant,
                        lb_ns deadline) {
  bool repeated = redis_key_begin(s, grant);
  struct redis_request take = {.command = command,
                               .grant = grant,
                               .repeated = repeated,
                               .ttl_ms = lasts_ms,
                               .before = "before-take",
                               .after = "after-take"};
  int rc = redis_session_once(&redis_key(s)->redis, &take, deadline);
  if (!rc && !redis_is_one(take.reply)) rc = LB_BUSY;
  if (!rc && !grant->valid_until) grant->valid_until = lasts_ms ? lb_lease_end(grant->asked_at, lasts_ms) : LB_NEVER;
  freeReplyObject(take.reply);
  return redis_key_tried(s, grant, repeated, rc);
}

int redis_key_leave_with(struct lb_session *s, struct redis_command command, struct lb_grant *grant, lb_ns deadline) {
  struct redis_session *redis = &redis_key(s)->redis;
  struct redis_request delete = {.command = command, .grant = grant, .undoes = true};
  lb_point(redis->env, "before-release");
  lb_point(redis->env, "before-del"); /* where others have compared the token by now, this one has not */
  int rc = redis_session_ask(redis, &delete, deadline);
  /* valid_until == 0 says: never known as held, or an earlier release may have done it. "Not mine" is then no loss. */
  if (delete.unsure) grant->valid_until = 0;
  if (!rc && !redis_is_one(delete.reply)) rc = redis_session_absent(redis, grant, grant->valid_until ? LB_LOST : LB_OK);
  freeReplyObject(delete.reply);
  return rc;
}

/* LB_OK, LB_LOST, LB_UNKNOWN, -errno. */
static int ask_whose(struct lb_session *s, struct redis_command command, lb_ns deadline) {
  struct redis_request ask = {.command = command};
  int rc = redis_session_ask(&redis_key(s)->redis, &ask, deadline);
  if (!rc && !redis_is_one(ask.reply)) rc = LB_LOST;
  freeReplyObject(ask.reply);
  return rc;
}

int redis_key_resolve_with(struct lb_session *s, struct redis_command command, int64_t ttl_ms, struct lb_grant *grant,
                           lb_ns deadline) {
  int rc = ask_whose(s, command, deadline);
  if (rc == LB_LOST) return redis_session_absent(&redis_key(s)->redis, grant, LB_BUSY);
  if (rc != LB_OK) return rc;
  if (!grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, ttl_ms);
  return redis_session_confirm(&redis_key(s)->redis, grant);
}

int redis_key_holds_with(struct lb_session *s, struct redis_command command, const struct lb_grant *grant,
                         lb_ns deadline) {
  int rc = ask_whose(s, command, deadline);
  return rc == LB_OK ? redis_session_confirm(&redis_key(s)->redis, grant) : rc;
}
