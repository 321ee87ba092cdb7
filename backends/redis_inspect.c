/* SPDX-License-Identifier: MIT
 *
 * The hooks inspect and break_lock: what one server knows of a key by itself, and to remove that by hand.
 */
#include "redis_util.h"

#include <errno.h>
#include <string.h>

static int exists(struct redis_conn *conn, const char *key, lb_ns deadline) {
  redisReply *reply = NULL;
  int rc = redis_callf(conn, deadline, &reply, "EXISTS %s", key);
  if (!rc) rc = redis_refusal(redis_env(conn), reply);
  if (!rc) rc = reply->integer > 0;
  freeReplyObject(reply);
  return rc;
}

/* A server of a cluster answers EXISTS only for what it decides, and only while the whole is up: there it is looked through. */
int redis_inspect(struct lb_env *env, const struct lb_target *target, size_t endpoint, const char *key,
                  lb_ns deadline) {
  if (endpoint >= target->count || strcmp(target->endpoints[endpoint].service, "redis"))
    return lb_fail(env, -EINVAL, "endpoint %zu is not a redis server", endpoint);
  struct redis_conn *conn = NULL;
  int rc = redis_open(env, &target->endpoints[endpoint], deadline, &conn);
  if (!rc) rc = target->shards ? redis_has_key(conn, key, deadline) : exists(conn, key, deadline);
  redis_close(conn);
  return rc == LB_UNKNOWN ? -ETIMEDOUT : rc;
}

/* A replica refuses, and so does a server of a cluster that does not decide for the key. */
static int delete_key(struct redis_conn *conn, const char *key, lb_ns deadline) {
  redisReply *reply = NULL;
  int rc = redis_callf(conn, deadline, &reply, "DEL %s", key);
  if (!rc) rc = redis_refusal(redis_env(conn), reply);
  if (!rc) rc = reply->integer > 0;
  freeReplyObject(reply);
  return rc;
}

int redis_break(struct lb_env *env, const struct lb_target *target, size_t endpoint, const char *key, lb_ns deadline) {
  if (endpoint >= target->count || strcmp(target->endpoints[endpoint].service, "redis"))
    return lb_fail(env, -EINVAL, "endpoint %zu is not a redis server", endpoint);
  struct redis_conn *conn = NULL;
  int rc = redis_open(env, &target->endpoints[endpoint], deadline, &conn);
  if (!rc) rc = delete_key(conn, key, deadline);
  redis_close(conn);
  return rc == LB_UNKNOWN ? lb_fail(env, -ETIMEDOUT, "no answer to DEL in time") : rc;
}
