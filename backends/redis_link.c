/* SPDX-License-Identifier: MIT
 *
 * Finds the server that decides. In a cluster that is redis_slots.c's. With Sentinel, after the clients' guide of Redis: ask the Sentinels in turn with a
 * short timeout, believe the first that knows the master, connect there, and believe the connection only when the
 * server itself says ROLE master. A Sentinel may name a dead or just demoted master until the failover is through, so
 * the search goes round until the caller's deadline.
 */
#include "redis_util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One step of the search; doubled each round, so that a slow network is found usable in the end. */
#define STEP_MS 200
#define STEP_DOUBLINGS 4
#define ROUND_PAUSE_MS 20

int redis_link_init(struct redis_link *link, struct lb_env *env, const struct lb_target *target) {
  *link = (struct redis_link){.env = env, .target = target};
  for (size_t i = 0; i < target->count; i++) {
    const struct lb_endpoint *endpoint = &target->endpoints[i];
    if (!strcmp(endpoint->service, "redis") && !link->only) link->only = endpoint;
    if (!strcmp(endpoint->service, "sentinel") && link->sentinel_count < REDIS_SENTINELS_MAX)
      link->sentinel[link->sentinel_count++] = endpoint;
  }
  if (target->shards && target->count > REDIS_NODES_MAX) return lb_fail(env, -EINVAL, "a cluster of more than %d redis servers", REDIS_NODES_MAX);
  if (target->sentinel_master ? link->sentinel_count > 0 : link->only != NULL) return 0;
  return lb_fail(env, -EINVAL, "topology %s has no %s server", target->topology,
                 target->sentinel_master ? "sentinel" : "redis");
}

static lb_ns sooner(struct lb_env *env, lb_ns deadline, lb_ns step) {
  lb_ns limit = lb_now(env) + step;
  return limit < deadline ? limit : deadline;
}

/* ---- asking a Sentinel -------------------------------------------------------------------------------- */

struct address {
  char host[64];
  uint16_t port;
};

static int read_address(struct lb_env *env, const redisReply *reply, struct address *ret) {
  int rc = redis_refusal(env, reply);
  if (rc) return rc;
  if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || reply->element[0]->type != REDIS_REPLY_STRING ||
      reply->element[1]->type != REDIS_REPLY_STRING || reply->element[0]->len >= sizeof ret->host)
    return lb_fail(env, -ENOENT, "sentinel does not know the master");
  memcpy(ret->host, reply->element[0]->str, reply->element[0]->len + 1);
  ret->port = (uint16_t)strtoul(reply->element[1]->str, NULL, 10);
  return 0;
}

static int ask_sentinel(struct redis_link *link, const struct lb_endpoint *sentinel, lb_ns deadline,
                        struct address *ret) {
  struct redis_conn *conn = NULL;
  redisReply *reply = NULL;
  const char *question[] = {"SENTINEL", "get-master-addr-by-name", link->target->sentinel_master};
  int rc = redis_open(link->env, sentinel, deadline, &conn);
  if (!rc) rc = redis_call(conn, deadline, &reply, 3, question, NULL);
  if (rc == LB_UNKNOWN) rc = -ETIMEDOUT; /* a question may go unanswered without harm */
  if (!rc) rc = read_address(link->env, reply, ret);
  freeReplyObject(reply);
  redis_close(conn);
  return rc;
}

static void move_to_front(struct redis_link *link, size_t i) {
  const struct lb_endpoint *answered = link->sentinel[i];
  memmove(&link->sentinel[1], &link->sentinel[0], i * sizeof *link->sentinel);
  link->sentinel[0] = answered;
}

static int find_master(struct redis_link *link, lb_ns deadline, lb_ns step, struct address *ret) {
  int rc = -ENOENT;
  for (size_t i = 0; i < link->sentinel_count; i++) {
    rc = ask_sentinel(link, link->sentinel[i], sooner(link->env, deadline, step), ret);
    if (rc) continue;
    move_to_front(link, i);
    return 0;
  }
  return rc;
}

/* ---- asking the server -------------------------------------------------------------------------------- */

static int connect_master(struct redis_link *link, lb_ns deadline, lb_ns step, struct redis_conn **ret) {
  struct address address;
  struct redis_conn *conn = NULL;
  int rc = find_master(link, deadline, step, &address);
  if (rc) return rc;
  lb_ns limit = sooner(link->env, deadline, step);
  struct lb_endpoint master = {.service = "redis", .host = address.host, .port = address.port};
  if (link->only) master.user = link->only->user, master.password = link->only->password, master.tls = link->only->tls;
  rc = redis_open(link->env, &master, limit, &conn);
  if (!rc) rc = redis_check_master(conn, limit);
  if (rc) {
    redis_close(conn);
    return rc;
  }
  link->reached = redis_listed(link->target, address.host, address.port);
  *ret = conn;
  return 0;
}

int redis_link_open(struct redis_link *link, const char *key, lb_ns deadline, struct redis_conn **ret) {
  if (link->target->shards) return redis_slots_open(link, key, deadline, ret);
  link->reached = link->only;
  if (!link->target->sentinel_master) return redis_open(link->env, link->only, deadline, ret);
  for (unsigned round = 0;; round++) {
    lb_ns step = (STEP_MS * LB_NS_PER_MS) << (round < STEP_DOUBLINGS ? round : STEP_DOUBLINGS);
    if (!connect_master(link, deadline, step, ret)) return 0;
    if (lb_now(link->env) >= deadline) return -ETIMEDOUT; /* env->err says what failed last */
    lb_sleep_until(link->env, sooner(link->env, deadline, ROUND_PAUSE_MS * LB_NS_PER_MS));
  }
}
