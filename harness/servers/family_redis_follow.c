/* SPDX-License-Identifier: MIT
 *
 * Whether a Redis follows another one and has all that this one has: both are asked, the one that is followed first.
 */
#include "family_redis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What INFO replication of one server says. 0 or -errno with env->err. */
struct replication {
  bool follows;     /* as a replica, with a link that is up */
  size_t online;    /* replicas that it sends to */
  long long offset; /* how far it is: as a primary, or as a replica */
};

static int look(struct lb_cluster *cluster, size_t index, lb_ns deadline, struct replication *ret) {
  redisReply *reply = LB_REDIS_ASK(cluster, index, deadline, "INFO", "replication");
  if (!reply) return -EIO;
  bool replica = reply->str && strstr(reply->str, "role:slave");
  const char *offset = reply->str ? strstr(reply->str, replica ? "\nslave_repl_offset:" : "\nmaster_repl_offset:") : NULL;
  if (offset)
    *ret = (struct replication){.follows = replica && strstr(reply->str, "master_link_status:up"),
                                .online = lb_redis_replicas_online(reply),
                                .offset = atoll(strchr(offset, ':') + 1)};
  freeReplyObject(reply);
  return offset ? 0 : lb_fail(cluster->env, -EPROTO, "%s does not say how far it is", cluster->server[index].name);
}

int lb_redis_caught_up(struct lb_cluster *cluster, size_t index, size_t leader, lb_ns deadline) {
  struct replication followed, own;
  int r = look(cluster, leader, deadline, &followed);
  if (r == 0) r = look(cluster, index, deadline, &own);
  if (r < 0) return r;
  if (followed.online == 0) return lb_fail(cluster->env, -EAGAIN, "%s sends to nobody", cluster->server[leader].name);
  if (!own.follows) return lb_fail(cluster->env, -EAGAIN, "%s follows nobody", cluster->server[index].name);
  if (own.offset < followed.offset)
    return lb_fail(cluster->env, -EAGAIN, "%s is %lld bytes behind %s", cluster->server[index].name, followed.offset - own.offset, cluster->server[leader].name);
  return 0;
}
