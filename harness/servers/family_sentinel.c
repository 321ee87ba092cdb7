/* SPDX-License-Identifier: MIT
 *
 * Redis with Sentinel: a primary, its replicas, and Sentinels of which a majority is the quorum.
 *
 * The Sentinels are born knowing each other and the replicas (known-sentinel and known-replica lines, ids of their
 * own): left to themselves they announce each other every two seconds and the start would be spent waiting for that.
 * The periods are shortened for the same reason; what a failover does is unchanged, it only starts sooner. Not too
 * short, though: once the primary is down a Sentinel asks the replicas for INFO once a second, whatever info-period
 * says. It promotes only one whose INFO is younger than five ping-periods. With ping-period 100 that is a toss of a
 * coin ("failover-abort-no-good-slave"), and the next try comes after twice the failover-timeout.
 *
 * Ready means that a failover started now would succeed and lose nothing that was acknowledged
 * earlier. A replica that reports master_link_status:up is not there yet: without a file the primary
 * starts its command stream only after the replica's first ACK. So the primary has to list all as online, and
 * a marker written to it has to appear in all and to vanish again. That ACK, when it
 * comes before the primary has looked after its child process, is overlooked and the next one comes
 * a second later: hence repl-diskless-sync no.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis.h"

#define MASTER "lockbench"
#define MARKER "lockbench:ready"

/* ---- settings -------------------------------------------------------------------------------- */

static const struct lb_setting settings[] = {
    LB_REDIS_SETTINGS,
    {.name = "repl-diskless-sync ", .stock = "yes", .faults = "no", .measured = "no"},
    {.name = "repl-ping-replica-period ", .stock = "10", .faults = "1", .measured = "1"},
    {.name = "sentinel down-after-milliseconds ",
     .stock = "30000",
     .faults = "300",
     .measured = "300",
     .place = LB_SETTING_ELSEWHERE},
    {.name = "sentinel failover-timeout ",
     .stock = "180000",
     .faults = "3000",
     .measured = "3000",
     .place = LB_SETTING_ELSEWHERE},
    {0},
};

/* ---- configuration --------------------------------------------------------------------------- */

static int configure_data(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *first = &cluster->server[0];
  char role[128] = "";
  const char *priority =
      cluster->topology->favourite == index + 1 ? "replica-priority 1\n" : ""; /* of all others 100 */
  if (index > 0)
    snprintf(role, sizeof role, "replicaof %s %u\n%s", first->host->address, (unsigned)first->port, priority);
  return lb_redis_configure_data(cluster, &cluster->server[index], role);
}

/* 40 digits as Redis wants them; they only have to differ within the cluster. */
static void sentinel_id(size_t index, char *buf, size_t size) { snprintf(buf, size, "5e%038zx", index); }

/* The quorum, last number of `monitor`, is a majority of the Sentinels. parallel-syncs lets all
 * replicas follow the new primary at once; one after the other would only prolong a failover. */
static int configure_sentinel(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *first = &cluster->server[0];
  char id[41], more[2000];
  sentinel_id(index, id, sizeof id);
  size_t n = (size_t)snprintf(more, sizeof more,
                              "sentinel myid %s\n"
                              "sentinel monitor " MASTER " %s %u %zu\n"
                              "sentinel down-after-milliseconds " MASTER " 300\n"
                              "sentinel failover-timeout " MASTER " 3000\n"
                              "sentinel parallel-syncs " MASTER " %zu\n",
                              id, first->host->address, (unsigned)first->port,
                              (cluster->server_count - cluster->data_count) / 2 + 1, cluster->data_count - 1);
  for (size_t i = 1; i < cluster->server_count && n < sizeof more; i++) {
    const struct lb_server *other = &cluster->server[i];
    sentinel_id(i, id, sizeof id);
    if (i == index) continue;
    n += (size_t)snprintf(more + n, sizeof more - n, "sentinel known-%s " MASTER " %s %u %s\n",
                          other->data ? "replica" : "sentinel", other->host->address, (unsigned)other->port,
                          other->data ? "" : id);
  }
  return lb_redis_configure(cluster, &cluster->server[index], more);
}

/* ---- replies --------------------------------------------------------------------------------- */

/* Value of a field in a flat list of names and values; "" = no such field. */
static const char *field(const redisReply *list, const char *name) {
  for (size_t i = 0; list && list->type == REDIS_REPLY_ARRAY && i + 1 < list->elements; i += 2)
    if (list->element[i]->str && strcmp(list->element[i]->str, name) == 0)
      return list->element[i + 1]->str ? list->element[i + 1]->str : "";
  return "";
}

static bool is_marker(const struct lb_cluster *cluster, const redisReply *reply) {
  (void)cluster;
  return reply->type == REDIS_REPLY_STRING && strcmp(reply->str, "1") == 0;
}

static bool is_nil(const struct lb_cluster *cluster, const redisReply *reply) {
  (void)cluster;
  return reply->type == REDIS_REPLY_NIL;
}

static bool lists_replicas_online(const struct lb_cluster *cluster, const redisReply *reply) {
  return lb_redis_replicas_online(reply) == cluster->data_count - 1;
}

/* "master" stands alone among the flags only while this Sentinel has a link to it and no doubt:
 * "s_down" or "disconnected" would stand beside it. */
static bool knows_all(const struct lb_cluster *cluster, const redisReply *reply) {
  return strcmp(field(reply, "flags"), "master") == 0 &&
         (size_t)atoi(field(reply, "num-slaves")) == cluster->data_count - 1 &&
         (size_t)atoi(field(reply, "num-other-sentinels")) == cluster->server_count - cluster->data_count - 1;
}

/* A Sentinel promotes only replicas whose INFO it has seen. */
static bool replicas_usable(const struct lb_cluster *cluster, const redisReply *reply) {
  size_t usable = 0;
  for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
    usable += strcmp(field(reply->element[i], "flags"), "slave") == 0 &&
              strcmp(field(reply->element[i], "master-link-status"), "ok") == 0;
  return usable == cluster->data_count - 1;
}

/* ---- ready ----------------------------------------------------------------------------------- */

static int replicas_online(struct lb_cluster *cluster, lb_ns deadline) {
  return LB_REDIS_EXPECT(cluster, 0, deadline, lists_replicas_online, "does not list all replicas as online", "INFO",
                         "replication");
}

static int marker_written(struct lb_cluster *cluster, lb_ns deadline) {
  return LB_REDIS_EXPECT(cluster, 0, deadline, NULL, "no marker", "SET", MARKER, "1");
}

static int marker_arrived(struct lb_cluster *cluster, lb_ns deadline) {
  int r = 0;
  for (size_t i = 1; i < cluster->data_count && r == 0; i++)
    r = LB_REDIS_EXPECT(cluster, i, deadline, is_marker, "the marker has not arrived", "GET", MARKER);
  return r;
}

static int marker_deleted(struct lb_cluster *cluster, lb_ns deadline) {
  return LB_REDIS_EXPECT(cluster, 0, deadline, NULL, "marker not deleted", "DEL", MARKER);
}

static int marker_gone(struct lb_cluster *cluster, lb_ns deadline) {
  int r = 0;
  for (size_t i = 0; i < cluster->data_count && r == 0; i++)
    r = LB_REDIS_EXPECT(cluster, i, deadline, is_nil, "the marker is still there", "GET", MARKER);
  return r;
}

/* CKQUORUM comes last: it fails when a Sentinel cannot see enough others, also where it knows
 * them. */
static int sentinels_agree(struct lb_cluster *cluster, lb_ns deadline) {
  int r = 0;
  for (size_t i = cluster->data_count; i < cluster->server_count && r == 0; i++) {
    r = LB_REDIS_EXPECT(cluster, i, deadline, knows_all, "does not know all others yet", "SENTINEL", "MASTER", MASTER);
    if (r == 0)
      r = LB_REDIS_EXPECT(cluster, i, deadline, replicas_usable, "has not seen all replicas yet", "SENTINEL",
                          "REPLICAS", MASTER);
    if (r == 0) r = LB_REDIS_EXPECT(cluster, i, deadline, NULL, "no quorum", "SENTINEL", "CKQUORUM", MASTER);
  }
  return r;
}

static int answers(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  if (cluster->server[index].data || cluster->topology->own) return lb_redis_ping(cluster, index, deadline);
  /* Its periods are not part of the configuration file, so a Sentinel has to be told after each
   * start. Redis before 7.0 refuses: it then works with its usual periods. */
  redisReply *reply = LB_REDIS_ASK(cluster, index, deadline, "SENTINEL", "DEBUG", "ping-period", "300", "info-period",
                                   "100", "ask-period", "100", "publish-period", "100");
  if (reply) freeReplyObject(reply);
  return lb_redis_ping(cluster, index, deadline);
}

/* A Sentinel has no TIME; its INFO tells the time of its latest turn, at most a tenth of a second
 * ago. */
static int wall_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  if (cluster->server[index].data) return lb_redis_wall_ms(cluster, index, deadline, ret_ms);
  redisReply *reply = LB_REDIS_ASK(cluster, index, deadline, "INFO", "server");
  if (!reply) return -EIO;
  const char *at = reply->str ? strstr(reply->str, "\nserver_time_usec:") : NULL;
  if (at) *ret_ms = atoll(strchr(at, ':') + 1) / 1000;
  freeReplyObject(reply);
  if (at) return 0;
  return lb_fail(cluster->env, -EOPNOTSUPP, "%s: this version of Sentinel does not tell its time",
                 cluster->server[index].name);
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static int launch(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  return lb_redis_launch(cluster, server, server->data ? "redis-server" : "redis-sentinel");
}

static int primary_answers(struct lb_cluster *cluster, lb_ns deadline) { return lb_redis_ping(cluster, 0, deadline); }

static int data_answers(struct lb_cluster *cluster, lb_ns deadline) {
  int r = 0;
  for (size_t i = 0; i < cluster->data_count && r == 0; i++) r = lb_redis_ping(cluster, i, deadline);
  return r;
}

struct wave {
  size_t first, end; /* servers that start before it is awaited */
  int (*ready)(struct lb_cluster *cluster, lb_ns deadline);
  const char *what;
};

/* The order saves time. A replica that finds no primary tries again a second later; a Sentinel that
 * sees a replica without its primary asks it again a second later. */
static int start(struct lb_cluster *cluster, lb_ns deadline) {
  const size_t data = cluster->data_count, all = cluster->server_count;
  const struct wave wave[] = {
      {0, 1, primary_answers, "the primary answers"},
      {1, data, data_answers, "the replicas answer"},
      {0, 0, replicas_online, "all replicas are online"},
      {0, 0, marker_written, "a marker can be written"},
      {0, 0, marker_arrived, "the marker is on all replicas"},
      {0, 0, marker_deleted, "the marker can be deleted"},
      {0, 0, marker_gone, "the marker is gone everywhere"},
      {data, all, lb_cluster_all_answer, "the Sentinels answer"},
      {0, 0, sentinels_agree, "the Sentinels know everyone"},
  };
  int r = 0;
  for (size_t i = 0; i < all && r == 0; i++)
    r = cluster->server[i].data ? configure_data(cluster, i) : configure_sentinel(cluster, i);
  for (size_t i = 0; i < sizeof wave / sizeof *wave && r == 0; i++) {
    for (size_t k = wave[i].first; k < wave[i].end && r == 0; k++) r = launch(cluster, k);
    if (r == 0) r = lb_cluster_await(cluster, deadline, wave[i].ready, wave[i].what);
  }
  return r;
}

/* Data server at an address that a Sentinel named; -ENOENT. */
static int server_at(const struct lb_target *target, size_t data_count, const redisReply *address) {
  if (address->type != REDIS_REPLY_ARRAY || address->elements != 2) return -ENOENT;
  for (size_t i = 0; i < data_count; i++)
    if (strcmp(target->endpoints[i].host, address->element[0]->str) == 0 &&
        target->endpoints[i].port == atoi(address->element[1]->str))
      return (int)i;
  return -ENOENT;
}

/* The server that this Sentinel takes for the primary, and its configuration epoch. */
static int named_by(struct lb_cluster *cluster, size_t sentinel, lb_ns deadline, long long *ret_epoch) {
  struct lb_target target;
  lb_cluster_target(cluster, &target);
  const char *name = target.sentinel_master;
  redisReply *address = LB_REDIS_ASK(cluster, sentinel, deadline, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", name);
  redisReply *master = address ? LB_REDIS_ASK(cluster, sentinel, deadline, "SENTINEL", "MASTER", name) : NULL;
  int named = master ? server_at(&target, cluster->data_count, address) : -ENOENT;
  *ret_epoch = atoll(field(master, "config-epoch"));
  if (address) freeReplyObject(address);
  if (master) freeReplyObject(master);
  return named;
}

static bool is_master(const struct lb_cluster *cluster, const redisReply *reply) {
  (void)cluster;
  return reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 && strcmp(reply->element[0]->str, "master") == 0;
}

/* A Sentinel on the smaller side of a partition still names the old primary: the highest epoch is
 * the truth. The server itself has to agree, because it is named before it has been promoted, and
 * named on when it is dead. */
static int primary(struct lb_cluster *cluster, lb_ns deadline) {
  long long best = -1, epoch;
  int named = -ENOENT;
  for (size_t i = cluster->data_count; i < cluster->server_count; i++) {
    int candidate = named_by(cluster, i, deadline, &epoch);
    if (candidate < 0 || epoch <= best) continue;
    best = epoch;
    named = candidate;
  }
  if (named < 0) return -ENOENT;
  return LB_REDIS_EXPECT(cluster, (size_t)named, deadline, is_master, "is not a master", "ROLE") == 0 ? named : -ENOENT;
}

/* A Sentinel that has tried a failover waits for twice the failover-timeout before the next one. So a later trial would
 * not find fresh Sentinels. Each try has an epoch, which stands in the file of every Sentinel that voted. */
static bool has_voted(const struct lb_server *sentinel) {
  char path[300], line[300];
  unsigned long long epoch = 0;
  snprintf(path, sizeof path, "%s/redis.conf", sentinel->dir);
  FILE *in = fopen(path, "re");
  if (!in) return true;
  while (epoch == 0 && fgets(line, sizeof line, in))
    if (sscanf(line, "sentinel current-epoch %llu", &epoch) != 1) epoch = 0;
  fclose(in);
  return epoch != 0;
}

static int healthy(struct lb_cluster *cluster, lb_ns deadline) {
  for (size_t i = cluster->data_count; i < cluster->server_count; i++)
    if (has_voted(&cluster->server[i]))
      return lb_fail(cluster->env, -ESTALE, "%s has voted for a failover", cluster->server[i].name);
  int r = data_answers(cluster, deadline);
  if (r == 0) r = replicas_online(cluster, deadline);
  return r < 0 ? r : sentinels_agree(cluster, deadline);
}

/* The first Sentinel that takes the order is enough: it needs no majority. The order means the current primary, so it
 * names no server. The other Sentinels need their usual publish-period back: they turn a second server that says it is
 * primary into a replica. They do so after four periods without news of the failover, while the first Sentinel asks the
 * promoted one only once a second. */
static int depose(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  int r = -ENOENT;
  long long epoch;
  for (size_t i = cluster->data_count; i < cluster->server_count; i++)
    LB_REDIS_EXPECT(cluster, i, deadline, NULL, "keeps its period", "SENTINEL", "DEBUG", "publish-period", "2000");
  for (size_t i = cluster->data_count; i < cluster->server_count && r != 0; i++) {
    if (named_by(cluster, i, deadline, &epoch) != (int)index) continue;
    r = LB_REDIS_EXPECT(cluster, i, deadline, NULL, "does not fail over", "SENTINEL", "FAILOVER", MASTER);
  }
  if (r == -ENOENT)
    return lb_fail(cluster->env, r, "no Sentinel takes %s for the primary", cluster->server[index].name);
  /* On a busy machine a Sentinel has not heard of its replicas for seconds, or still ends the failover before this one. */
  bool soon = r < 0 && (strstr(cluster->env->err, "NOGOODSLAVE") || strstr(cluster->env->err, "INPROG"));
  return soon ? -ENOENT : r;
}

const struct lb_family lb_family_sentinel = {
    .name = "sentinel",
    .ends_by = LB_ENDS_BY_WALL,
    .needs = (const char *const[]){LB_NEED_REDIS, NULL},
    .service = "redis",
    .other_service = "sentinel",
    .sentinel_master = MASTER,
    .orders =
        {
            .ending = &lb_redis_ending,
            .depose = depose,
            .fill_memory = lb_redis_fill_memory,
            .free_memory = lb_redis_free_memory,
            .end_session = lb_redis_end_session,
            .files = lb_redis_files,
            .save = lb_redis_save,
        },
    .settings = settings,
    .by_libc = true,
    .start = start,
    .launch = launch,
    .answers = answers,
    .healthy = healthy,
    .primary = primary,
    .caught_up = lb_redis_caught_up,
    .identity = lb_redis_identity,
    .others = lb_redis_others,
    .wall_ms = wall_ms,
    .commits = lb_redis_commits,
    .requests = lb_redis_requests,
    .stated = lb_redis_stated,
    .version = lb_redis_version,
};
