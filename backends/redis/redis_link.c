/* SPDX-License-Identifier: MIT
 *
 * Finds the server that decides. In a cluster the name of a key says who that is (below). With Sentinel, after the
 * clients' guide of Redis: ask the Sentinels in turn with a short timeout, believe the first that knows the master,
 * connect there, and believe the connection only when the server itself says ROLE master. A Sentinel may name a dead or
 * just demoted master until the failover is through, so the search goes round until the caller's deadline.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis_link.h"

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
  if (target->shards && target->count > REDIS_NODES_MAX)
    return lb_fail(env, -EINVAL, "a cluster of more than %d redis servers", REDIS_NODES_MAX);
  if (target->sentinel_master ? link->sentinel_count > 0 : link->only != NULL) return 0;
  return lb_fail(env, -EINVAL, "topology %s has no %s server", target->topology,
                 target->sentinel_master ? "sentinel" : "redis");
}

static lb_ns step_of(unsigned round) {
  return (STEP_MS * LB_NS_PER_MS) << (round < STEP_DOUBLINGS ? round : STEP_DOUBLINGS);
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

int redis_link_check_master(struct redis_conn *conn, lb_ns deadline) {
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

static const struct lb_endpoint *listed(const struct lb_target *target, const char *host, uint16_t port) {
  for (size_t i = 0; i < target->count; i++) {
    const struct lb_endpoint *at = &target->endpoints[i];
    if (!strcmp(at->service, "redis") && !strcmp(at->host, host) && at->port == port) return at;
  }
  return NULL;
}

static int connect_master(struct redis_link *link, lb_ns deadline, lb_ns step, struct redis_conn **ret) {
  struct address address;
  struct redis_conn *conn = NULL;
  int rc = find_master(link, deadline, step, &address);
  if (rc) return rc;
  lb_ns limit = sooner(link->env, deadline, step);
  struct lb_endpoint master = {.service = "redis", .host = address.host, .port = address.port};
  if (link->only) master.user = link->only->user, master.password = link->only->password, master.tls = link->only->tls;
  rc = redis_open(link->env, &master, limit, &conn);
  if (!rc) rc = redis_link_check_master(conn, limit);
  if (rc) {
    redis_close(conn);
    return rc;
  }
  link->reached = listed(link->target, address.host, address.port);
  *ret = conn;
  return 0;
}

/* ---- Redis Cluster -----------------------------------------------------------------------------------
 *
 * The name of a key says who decides. Each key falls into one of 16384 slots, each slot belongs to one master, and
 * every server tells whom it takes for the owner of each slot (CLUSTER SLOTS). It may be wrong, for it hears of a
 * failover from others. So what a server answers to the request itself counts for more:
 *
 *   MOVED        names the owner of the slot, from now on
 *   ASK          names the server that the slot is being moved to, for this one request, with ASKING in front of it:
 *                keys that have not been moved yet are still asked for at the old one
 *   CLUSTERDOWN  no server decides now, as far as that server knows. A master cut off from the others says so for as
 *                long as it is, so the others are asked before the next request
 *
 * All three are definite: the request was not executed.
 *
 * Source: redis.io, "Redis cluster specification". */

/* ---- slots -------------------------------------------------------------------------------------------- */

/* CRC16 of XMODEM, as the specification says. */
static unsigned checksum(const char *text, size_t length) {
  unsigned sum = 0;
  for (size_t i = 0; i < length; i++) {
    sum ^= (unsigned)(unsigned char)text[i] << 8;
    for (int bit = 0; bit < 8; bit++) sum = (sum << 1 ^ (sum & 0x8000 ? 0x1021u : 0)) & 0xffff;
  }
  return sum;
}

unsigned redis_link_slot(const char *key) {
  const char *open = strchr(key, '{'), *close = open ? strchr(open, '}') : NULL;
  bool tagged = close && close > open + 1;
  return checksum(tagged ? open + 1 : key, tagged ? (size_t)(close - open) - 1 : strlen(key)) % REDIS_SLOTS;
}

static const struct lb_endpoint *owner_of(const struct redis_link *link, unsigned slot) {
  for (size_t i = 0; i < link->range_count; i++)
    if (slot >= link->range[i].first && slot <= link->range[i].last) return link->range[i].owner;
  return NULL;
}

/* In front of the ranges that it is an exception to; the last of them may fall off the end. */
static void note_owner(struct redis_link *link, unsigned slot, const struct lb_endpoint *owner) {
  size_t kept = link->range_count < REDIS_RANGES_MAX ? link->range_count : REDIS_RANGES_MAX - 1;
  memmove(&link->range[1], &link->range[0], kept * sizeof *link->range);
  link->range[0] = (struct redis_range){slot, slot, owner};
  link->range_count = kept + 1;
}

/* ---- who has which ------------------------------------------------------------------------------------ */

/* One element is [first, last, [host, port, ...], replicas ...]. A server that was never told its own address leaves
 * the host out: it is then the one that was asked. */
static bool read_range(const struct redis_link *link, const struct lb_endpoint *asked, const redisReply *row,
                       struct redis_range *ret) {
  const redisReply *at = row->type == REDIS_REPLY_ARRAY && row->elements > 2 ? row->element[2] : NULL;
  if (!at || at->type != REDIS_REPLY_ARRAY || at->elements < 2 || row->element[0]->type != REDIS_REPLY_INTEGER ||
      row->element[1]->type != REDIS_REPLY_INTEGER || at->element[1]->type != REDIS_REPLY_INTEGER)
    return false;
  const char *host = at->element[0]->str && at->element[0]->str[0] ? at->element[0]->str : asked->host;
  *ret = (struct redis_range){(unsigned)row->element[0]->integer, (unsigned)row->element[1]->integer,
                              listed(link->target, host, (uint16_t)at->element[1]->integer)};
  if (!ret->owner)
    lb_fail(link->env, -ENOENT, "a slot belongs to %s, which is no server of topology %s", host,
            link->target->topology);
  return ret->owner;
}

static int read_ranges(struct redis_link *link, const struct lb_endpoint *asked, const redisReply *reply) {
  int rc = redis_refusal(link->env, reply);
  if (rc) return rc;
  link->range_count = 0;
  for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements && link->range_count < REDIS_RANGES_MAX;
       i++)
    link->range_count += read_range(link, asked, reply->element[i], &link->range[link->range_count]);
  return 0;
}

static int learn_from(struct redis_link *link, const struct lb_endpoint *at, lb_ns deadline) {
  struct redis_conn *conn = NULL;
  redisReply *reply = NULL;
  int rc = redis_open(link->env, at, deadline, &conn);
  if (!rc) rc = redis_callf(conn, deadline, &reply, "CLUSTER SLOTS");
  if (rc == LB_UNKNOWN) rc = -ETIMEDOUT; /* a question may go unanswered without harm */
  if (!rc) rc = read_ranges(link, at, reply);
  freeReplyObject(reply);
  redis_close(conn);
  return rc;
}

/* The next server in turn first: the one that was asked last may be the one that knows too little. */
static int find_owner(struct redis_link *link, unsigned slot, lb_ns deadline, unsigned round,
                      const struct lb_endpoint **ret) {
  int rc = 0;
  for (size_t i = 0; i < link->target->count; i++) {
    const struct lb_endpoint *at = &link->target->endpoints[link->asked++ % link->target->count];
    if (strcmp(at->service, "redis") != 0) continue;
    rc = learn_from(link, at, sooner(link->env, deadline, step_of(round)));
    link->stale = rc != 0;
    if (!rc && (*ret = owner_of(link, slot))) return 0;
    if (!rc) lb_fail(link->env, -ENOENT, "no server of the cluster names an owner of slot %u", slot);
    if (lb_now(link->env) >= deadline) return -ETIMEDOUT; /* env->err says what failed last */
  }
  return rc ? rc : -ENOENT;
}

/* 0 or -errno. */
static int look_up(struct redis_link *link, const char *key, lb_ns deadline, unsigned round,
                   const struct lb_endpoint **ret) {
  unsigned slot = redis_link_slot(key ? key : "");
  *ret = link->ask ? link->ask : link->stale ? NULL : owner_of(link, slot);
  return *ret ? 0 : find_owner(link, slot, deadline, round, ret);
}

const struct lb_endpoint *redis_link_owner(struct redis_link *link, const char *key, lb_ns deadline) {
  const struct lb_endpoint *owner;
  return look_up(link, key, deadline, 0, &owner) ? NULL : owner;
}

/* As many rounds as there are servers, because any of them may be the only one who knows. */
static int slots_open(struct redis_link *link, const char *key, lb_ns deadline, struct redis_conn **ret) {
  const struct lb_endpoint *owner;
  int rc = 0;
  for (unsigned round = 0; round < link->target->count; round++) {
    rc = look_up(link, key, deadline, round, &owner);
    if (rc) return rc;
    rc = redis_open(link->env, owner, sooner(link->env, deadline, step_of(round)), ret);
    if (!rc) return link->reached = owner, 0;
    link->ask = NULL;
    link->stale = true;
    if (lb_now(link->env) >= deadline) return -ETIMEDOUT;
  }
  return rc;
}

/* ---- what an answer says of it -------------------------------------------------------------------------- */

static bool begins(const redisReply *reply, const char *word) { return !strncmp(reply->str, word, strlen(word)); }

/* "MOVED 3999 127.0.0.1:6381"; an address of IPv6 has colons of its own. */
static const struct lb_endpoint *read_redirection(const struct redis_link *link, const char *text, unsigned *ret_slot) {
  char host[80];
  if (sscanf(text, "%*s %u %79s", ret_slot, host) != 2 || *ret_slot >= REDIS_SLOTS) return NULL;
  char *colon = strrchr(host, ':');
  if (!colon) return NULL;
  *colon = '\0';
  return listed(link->target, host, (uint16_t)strtoul(colon + 1, NULL, 10));
}

/* A server that is not listed is no server to go to, but the one that names it may not be the only one to ask. */
bool redis_link_heed(struct redis_link *link, const redisReply *reply) {
  unsigned slot;
  if (!link->target->shards || reply->type != REDIS_REPLY_ERROR) return false;
  bool moved = begins(reply, "MOVED "), ask = begins(reply, "ASK ");
  const struct lb_endpoint *to = moved || ask ? read_redirection(link, reply->str, &slot) : NULL;
  if (!to && (moved || ask || begins(reply, "CLUSTERDOWN ") || begins(reply, "READONLY "))) link->stale = true;
  if (to && ask) link->ask = to;
  if (to && moved) note_owner(link, slot, to);
  return to != NULL;
}

/* ---- whichever it is ---------------------------------------------------------------------------------- */

int redis_link_open(struct redis_link *link, const char *key, lb_ns deadline, struct redis_conn **ret) {
  if (link->target->shards) return slots_open(link, key, deadline, ret);
  link->reached = link->only;
  if (!link->target->sentinel_master) return redis_open(link->env, link->only, deadline, ret);
  for (unsigned round = 0;; round++) {
    if (!connect_master(link, deadline, step_of(round), ret)) return 0;
    if (lb_now(link->env) >= deadline) return -ETIMEDOUT; /* env->err says what failed last */
    lb_sleep_until(link->env, sooner(link->env, deadline, ROUND_PAUSE_MS * LB_NS_PER_MS));
  }
}
