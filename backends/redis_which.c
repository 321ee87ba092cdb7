/* SPDX-License-Identifier: MIT
 *
 * Which server it is that we talk to: whether it is a master, by its own word, and which one of the target.
 */
#include "redis_util.h"

#include <errno.h>
#include <string.h>

int redis_check_master(struct redis_conn *conn, lb_ns deadline) {
  struct lb_env *env = redis_env(conn);
  redisReply *reply = NULL;
  int rc = redis_callf(conn, deadline, &reply, "ROLE");
  if (rc == LB_UNKNOWN) return -ETIMEDOUT;
  if (rc) return rc;
  rc = redis_refusal(env, reply);
  if (!rc && (reply->type != REDIS_REPLY_ARRAY || !reply->elements || reply->element[0]->type != REDIS_REPLY_STRING ||
              strcmp(reply->element[0]->str, "master")))
    rc = lb_fail(env, -EROFS, "the server says that it is no master");
  freeReplyObject(reply);
  return rc;
}

const struct lb_endpoint *redis_listed(const struct lb_target *target, const char *host, uint16_t port) {
  for (size_t i = 0; i < target->count; i++) {
    const struct lb_endpoint *at = &target->endpoints[i];
    if (!strcmp(at->service, "redis") && !strcmp(at->host, host) && at->port == port) return at;
  }
  return NULL;
}
