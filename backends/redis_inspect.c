/* SPDX-License-Identifier: MIT
 *
 * The hooks inspect and break_lock: what one server knows of a key by itself, and to remove that by hand.
 */
#include "redis_util.h"

#include <errno.h>
#include <string.h>

/* What EXISTS or DEL counts: 1, 0 or -errno. Of a DEL a replica refuses, and so does a server of a cluster that does not decide for the key. */
static int count(struct redis_conn *conn, const char *command, const char *key, lb_ns deadline) {
  redisReply *reply = NULL;
  int rc = redis_callf(conn, deadline, &reply, "%s %s", command, key);
  if (!rc) rc = redis_refusal(redis_env(conn), reply);
  if (!rc) rc = reply->integer > 0;
  freeReplyObject(reply);
  return rc;
}

static int open_at(struct lb_env *env, const struct lb_target *target, size_t endpoint, lb_ns deadline, struct redis_conn **ret) {
  if (endpoint >= target->count || strcmp(target->endpoints[endpoint].service, "redis"))
    return lb_fail(env, -EINVAL, "endpoint %zu is not a redis server", endpoint);
  return redis_open(env, &target->endpoints[endpoint], deadline, ret);
}

/* A server of a cluster answers EXISTS only for what it decides, and only while the whole is up: there it is looked through. */
int redis_inspect(struct lb_env *env, const struct lb_target *target, size_t endpoint, const char *key,
                  lb_ns deadline) {
  struct redis_conn *conn = NULL;
  int rc = open_at(env, target, endpoint, deadline, &conn);
  if (!rc) rc = target->shards ? redis_has_key(conn, key, deadline) : count(conn, "EXISTS", key, deadline);
  redis_close(conn);
  return rc == LB_UNKNOWN ? -ETIMEDOUT : rc;
}

int redis_break(struct lb_env *env, const struct lb_target *target, size_t endpoint, const char *key, lb_ns deadline) {
  struct redis_conn *conn = NULL;
  int rc = open_at(env, target, endpoint, deadline, &conn);
  if (!rc) rc = count(conn, "DEL", key, deadline);
  redis_close(conn);
  return rc == LB_UNKNOWN ? lb_fail(env, -ETIMEDOUT, "no answer to DEL in time") : rc;
}
