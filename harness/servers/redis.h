/* SPDX-License-Identifier: MIT
 *
 * redis.h - one Redis server and how it is asked. Private to the three families that start one.
 */
#ifndef LB_SERVERS_REDIS_H
#define LB_SERVERS_REDIS_H

#include <hiredis/hiredis.h>

#include "cluster.h"

/* What a Redis needs, as an entry of lb_family.needs. The server and its dump checker are one
 * program that looks at its own name; some distributions install the checker alone. So it is
 * with Valkey, which serves where there is no Redis and knows itself by Redis' names, too. */
#define LB_NEED_REDIS "redis-server or redis-check-rdb or valkey-server or valkey-check-rdb"

/* Rows of struct lb_setting, of every Redis that holds data. */
#define LB_REDIS_SETTINGS                                                                                              \
  { .name = "save ", .stock = "3600 1 300 100 60 10000", .faults = "\"\"", .measured = "\"\"" }
/* Writes redis.conf; `more` is added at its end. 0 or -errno with cluster->err. */
int lb_redis_configure(struct lb_cluster *cluster, const struct lb_server *server, const char *more);
/* The same for a data server: what it keeps, `more`, and last the settings of its topology. */
int lb_redis_configure_data(struct lb_cluster *cluster, const struct lb_server *server, const char *more);
/* Starts the server as `argv0` ("redis-server" or "redis-sentinel") with its redis.conf. */
int lb_redis_launch(struct lb_cluster *cluster, struct lb_server *server, const char *argv0);
/* Asks one server one command (NULL-terminated) over a connection of its own. The reply, freed by
 * the caller; NULL when none came in time or it is an error reply, with the reason in env->err. */
redisReply *lb_redis_ask(struct lb_cluster *cluster, size_t index, lb_ns deadline, const char *const argv[]);
#define LB_REDIS_ASK(cluster, index, deadline, ...)                                                                    \
  lb_redis_ask(cluster, index, deadline, (const char *const[]){__VA_ARGS__, NULL})
/* 0 when the server answers the command with a reply for which `good` holds (NULL = any but an
 * error); else not, with the reason in env->err, which is `what` if the reply was not good. */
int lb_redis_expect(struct lb_cluster *cluster, size_t index, lb_ns deadline, const char *const argv[],
                    bool (*good)(const struct lb_cluster *cluster, const redisReply *reply), const char *what);
#define LB_REDIS_EXPECT(cluster, index, deadline, good, what, ...)                                                     \
  lb_redis_expect(cluster, index, deadline, (const char *const[]){__VA_ARGS__, NULL}, good, what)
/* How many replicas follow closely, as the answer of their primary to INFO replication says. */
size_t lb_redis_replicas_online(const redisReply *info);
/* PING: 0 = answered. */
int lb_redis_ping(struct lb_cluster *cluster, size_t index, lb_ns deadline);
/* lb_family.identity: run_id. */
int lb_redis_identity(struct lb_cluster *cluster, size_t index, lb_ns deadline, char *ret, size_t size);
/* lb_family.others: CLIENT LIST. */
int lb_redis_others(struct lb_cluster *cluster, size_t index, lb_ns deadline, size_t *ret);
/* lb_family.wall_ms: TIME. */
int lb_redis_wall_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms);
/* lb_family.requests: how often it read from a connection. So a script, or several commands in one piece, count
 * once. */
int lb_redis_requests(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret);
/* lb_family.commits: changes since the start, or since the latest full sync of a replica, which is a snapshot. */
int lb_redis_commits(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret);
/* lb_family.version. */
int lb_redis_stated(struct lb_cluster *cluster, size_t index, lb_ns deadline, char ret[LB_STATED_MAX]);
int lb_redis_version(const struct lb_origin *origin, char *buf, size_t size);
/* What SIGTERM does is what its command SHUTDOWN does. */
extern const struct lb_ending lb_redis_ending;
/* lb_operator.end_session, files and save. */
int lb_redis_end_session(struct lb_cluster *cluster, size_t index, const char *client, uint64_t id, lb_ns deadline,
                         struct lb_text *said);
extern const char *const lb_redis_files[];
int lb_redis_save(struct lb_cluster *cluster, size_t index, lb_ns deadline);
/* lb_operator.fill_memory and free_memory: maxmemory, and keys of our own. */
int lb_redis_fill_memory(struct lb_cluster *cluster, size_t index, const char *policy, lb_ns deadline, char *said,
                         size_t size);
int lb_redis_free_memory(struct lb_cluster *cluster, size_t index, lb_ns deadline);
#define LB_REDIS_NO_ROOM "Can't recover from AOF write error"
/* lb_family.caught_up, where a primary has replicas: by the offsets of their stream. */
int lb_redis_caught_up(struct lb_cluster *cluster, size_t index, size_t leader, lb_ns deadline);

#endif
