/* SPDX-License-Identifier: MIT
 *
 * A key that is there or not.
 */
#include "redis_blind.h"

#include <errno.h>

#define NO_KEY (-2) /* of PTTL */
#define NO_END (-1)

static struct redis_session *redis_of(struct lb_session *s) { return &redis_key(s)->redis; }

int redis_blind_try(struct lb_session *s, struct redis_request *set, const struct lb_lock *lock, struct lb_grant *grant,
                    lb_ns deadline) {
  if (redis_key_begin(s, grant)) return redis_blind_resolve(s, lock, grant, deadline);
  set->grant = grant;
  int rc = redis_session_once(redis_of(s), set, deadline);
  if (!rc && !redis_is_yes(set->reply)) rc = LB_BUSY;
  if (!rc) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  freeReplyObject(set->reply);
  return redis_key_tried(s, grant, false, rc);
}

/* 0 with what PTTL says; LB_UNKNOWN; -errno. */
static int look(struct lb_session *s, const struct lb_lock *lock, long long *left_ms, lb_ns deadline) {
  struct redis_request pttl = {.command = {.argv = {"PTTL", lock->key}}};
  int rc = redis_session_ask(redis_of(s), &pttl, deadline);
  if (!rc) *left_ms = pttl.reply->integer;
  freeReplyObject(pttl.reply);
  return rc;
}

bool redis_blind_was_deleted(struct lb_session *s, const struct lb_grant *grant) {
  const struct lb_confirmed *deleted = &((struct redis_blind *)s)->deleted;
  return lb_is_confirmed(deleted, grant) && deleted->losses == redis_of(s)->losses;
}

int redis_blind_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct redis_session *redis = redis_of(s);
  long long left_ms = 0;
  int rc = look(s, lock, &left_ms, deadline);
  if (rc) return rc;
  if (left_ms == NO_KEY) return redis_session_absent(redis, grant, LB_BUSY);
  if (redis_blind_was_deleted(s, grant)) return LB_BUSY;
  bool endless = left_ms == NO_END;
  if (grant->valid_until && !endless)
    return redis_session_confirm(redis, grant); /* it was only asked whether the end was set */
  if (!endless && lb_now(redis->env) >= grant->asked_at + (lb_ns)lock->ttl_ms * LB_NS_PER_MS) return LB_BUSY;
  lb_fail(redis->env, -ETIMEDOUT, "there is a key, and nothing in it says whose");
  return LB_UNKNOWN;
}

int redis_blind_delete(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct redis_session *redis = redis_of(s);
  struct redis_request del = {.command = {.argv = {"DEL", lock->key}}};
  int rc = redis_session_once(redis, &del, deadline);
  if (!rc && !redis_is_one(del.reply)) rc = LB_LOST;
  freeReplyObject(del.reply);
  if (rc != LB_UNKNOWN) return rc;
  /* From now on it is not known as held. Its lease, however often renewed, ends within a ttl. */
  grant->valid_until = 0;
  grant->asked_at = lb_now(redis->env);
  if (redis->conn) lb_confirm(&((struct redis_blind *)s)->deleted, grant, redis->losses);
  return LB_UNKNOWN;
}

int redis_blind_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_point(redis_of(s)->env, "before-release");
  if (grant->valid_until) return redis_blind_delete(s, lock, grant, deadline);
  int rc = redis_blind_resolve(s, lock, grant, deadline);
  return rc == LB_BUSY ? LB_OK : rc;
}

int redis_blind_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  struct redis_command expire = {.argv = {"PEXPIRE", lock->key, redis_decimal(lock->ttl_ms, ttl)}};
  return redis_session_extend(redis_of(s), expire, lock->ttl_ms, grant, deadline);
}

int redis_blind_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  long long left_ms = 0;
  int rc = look(s, lock, &left_ms, deadline);
  if (rc) return rc;
  return left_ms == NO_KEY ? LB_LOST : redis_session_confirm(redis_of(s), grant);
}
