/* SPDX-License-Identifier: MIT
 *
 * redis_link.h - which server to connect to: the only one, the master that the Sentinels name, or in a cluster the one
 * that has the slot of the key.
 */
#ifndef LB_REDIS_LINK_H
#define LB_REDIS_LINK_H

#include "redis.h"

#define REDIS_SENTINELS_MAX 16
#define REDIS_SLOTS 16384   /* of a cluster */
#define REDIS_RANGES_MAX 64 /* of a cluster with more of them, those beyond are learnt one by one */

struct redis_range { /* slots of a cluster that have one owner */
  unsigned first, last;
  const struct lb_endpoint *owner;
};

struct redis_link {
  struct lb_env *env;
  const struct lb_target *target;
  const struct lb_endpoint *only; /* the first Redis server; with Sentinel the login that its master takes, too */
  const struct lb_endpoint *sentinel[REDIS_SENTINELS_MAX]; /* the one that answered last stands first */
  size_t sentinel_count;
  const struct lb_endpoint
      *reached; /* where the latest connection leads to; NULL = a server that the target does not list */
  /* In a cluster. */
  struct redis_range
      range[REDIS_RANGES_MAX]; /* who has which slots, as far as somebody said; of several that fit the first counts */
  size_t range_count;
  size_t asked; /* servers asked for that so far: the next one is endpoints[asked % count] */
  bool stale;   /* that is asked again before it is used */
  const struct lb_endpoint
      *ask; /* the next request alone is to go there, behind ASKING; NULL = where its key belongs */
};

/* 0, or -EINVAL when the target has no such server, or too many for a cluster. Needs no release; points into target. */
int redis_link_init(struct redis_link *link, struct lb_env *env, const struct lb_target *target);
/* Connects to the server that decides for the key (which matters in a cluster only; NULL = for any). Without Sentinel
 * one try; in a cluster one with each server's word for who that is. With Sentinel asks until a server the Sentinels
 * name says itself that it is the master, or the deadline passes: -ETIMEDOUT. 0 or -errno. */
int redis_link_open(struct redis_link *link, const char *key, lb_ns deadline, struct redis_conn **ret);
/* Whether another server may decide later: with Sentinel, and in a cluster. */
static inline bool redis_link_moves(const struct redis_link *link) {
  return link->target->sentinel_master || link->target->shards;
}
/* Asks the server itself. 0; -EROFS: it is no master; -errno. */
int redis_link_check_master(struct redis_conn *conn, lb_ns deadline);

/* ---- in a cluster --------------------------------------------------------------------------------------- */

/* The slot of a key: of what stands in its first braces, if anything does. */
unsigned redis_link_slot(const char *key);
/* Where a request about the key is to be sent now. Asks the servers in turn, if that is not known or stale. NULL with
 * the reason in env->err: no server says. */
const struct lb_endpoint *redis_link_owner(struct redis_link *link, const char *key, lb_ns deadline);
/* Heeds what an error reply says of who decides. True: it names another server, which is to be asked at once. */
bool redis_link_heed(struct redis_link *link, const redisReply *reply);

#endif
