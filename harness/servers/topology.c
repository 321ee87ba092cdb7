/* SPDX-License-Identifier: MIT
 *
 * The one table of topologies, and what can be said of a row without starting it.
 */
#include "topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/need.h"
#include "binary.h"

static const struct lb_topology topologies[] = {
    {.name = "none",
     .summary = "no servers, only the memory all clients share",
     .family = &lb_family_none,
     .start_ms = 10},
    {.name = "client-cluster",
     .summary = "no servers: the clients are the members of a cluster, which keeps the locks in memory",
     .family = &lb_family_members,
     .members = true,
     .start_ms = 10},
    {.name = "redis",
     .summary = "one Redis that keeps nothing on disk",
     .family = &lb_family_redis,
     .data_count = 1,
     .facts = "evicts=yes",
     .start_ms = 30},
    {.name = "redis-aof",
     .summary = "one Redis that syncs every change to disk before it acknowledges it",
     .family = &lb_family_redis,
     .data_count = 1,
     .keeps = LB_KEEPS_ON_DISK,
     .settings = "appendonly yes\nappendfsync always\n",
     .stands_for = "redis",
     .start_ms = 50},
    {.name = "redis-aof-everysec",
     .summary =
         "one Redis that writes changes to a file and syncs it once a second; while a sync is slow, it acknowledges before it writes",
     .family = &lb_family_redis,
     .data_count = 1,
     .keeps = LB_KEEPS_ON_DISK,
     .settings = "appendonly yes\nappendfsync everysec\n",
     .stands_for = "redis",
     .facts = "power=most",
     .start_ms = 50},
    {.name = "redis-x3",
     .summary = "three Redis masters that do not know each other and keep nothing on disk",
     .family = &lb_family_redis,
     .data_count = 3,
     .facts = "votes=strangers evicts=yes",
     .start_ms = 70},
    {.name = "redis-x5",
     .summary = "five Redis masters that do not know each other and keep nothing on disk",
     .family = &lb_family_redis,
     .data_count = 5,
     .facts = "votes=strangers evicts=yes",
     .start_ms = 130},
    {.name = "redis-x5-aof",
     .summary =
         "five Redis masters that do not know each other and sync every change to disk before they acknowledge it",
     .family = &lb_family_redis,
     .data_count = 5,
     .keeps = LB_KEEPS_ON_DISK,
     .settings = "appendonly yes\nappendfsync always\n",
     .stands_for = "redis-x5",
     .start_ms = 150},
    {.name = "sentinel",
     .summary = "a Redis primary, two replicas and three Sentinels; on disk only what a full sync left",
     .family = &lb_family_sentinel,
     .data_count = 3,
     .detector_ms = 300,
     .other_count = 3,
     .facts = "copies=later takeover=replicas evicts=yes",
     .start_ms = 150},
    {.name = "sentinel-minreplicas",
     .summary = "the same, and a primary that hears of no replica refuses to write, after one to three seconds",
     .family = &lb_family_sentinel,
     .data_count = 3,
     .detector_ms = 300,
     .other_count = 3,
     .settings = "min-replicas-to-write 1\nmin-replicas-max-lag 1\n",
     .stands_for = "sentinel",
     .facts = "alone=stops",
     .start_ms = 150},
    {.name = "sentinel-priority",
     .summary = "as sentinel, and of the two replicas node 3 is promoted first, by its replica-priority",
     .family = &lb_family_sentinel,
     .data_count = 3,
     .detector_ms = 300,
     .other_count = 3,
     .favourite = 3,
     .stands_for = "sentinel",
     .start_ms = 150},
    {.name = "cluster",
     .summary =
         "a Redis Cluster of three masters that share the keys out, with a replica each; on disk only what a full sync left",
     .family = &lb_family_cluster,
     .data_count = 6,
     .detector_ms = 1000,
     .shards = 3,
     .facts = "copies=later takeover=replicas alone=stops evicts=yes",
     .start_ms = 280},
    {.name = "zk",
     .summary = "one ZooKeeper",
     .family = &lb_family_zookeeper,
     .data_count = 1,
     .keeps = LB_KEEPS_AS_ASKED,
     .start_ms = 460},
    {.name = "zk-x3",
     .summary = "an ensemble of three ZooKeepers",
     .family = &lb_family_zookeeper,
     .data_count = 3,
     .detector_ms = 1600,
     .keeps = LB_KEEPS_AS_ASKED,
     .facts = "reads=follower",
     .start_ms = 1400},
    {.name = "zk-x3-stock",
     .summary =
         "the same with the ticks of ZooKeeper's sample configuration, ten times as long: a server that is late is waited for up to ten seconds",
     .family = &lb_family_zookeeper,
     .data_count = 3,
     .detector_ms = 10000,
     .keeps = LB_KEEPS_AS_ASKED,
     .settings = "tickTime=2000\ninitLimit=10\nsyncLimit=5\nminSessionTimeout=4000\n",
     .stands_for = "zk-x3",
     .start_ms = 1700},
    {.name = "zk-nosync",
     .summary = "one ZooKeeper that acknowledges what is not on its disk yet",
     .family = &lb_family_zookeeper,
     .data_count = 1,
     .keeps = LB_KEEPS_AS_ASKED,
     .settings = "forceSync=no\n",
     .stands_for = "zk",
     .facts = "power=most",
     .start_ms = 460},
    {.name = "zk-x3-nosync",
     .summary = "an ensemble of three ZooKeepers that acknowledge what is not on their disks yet",
     .family = &lb_family_zookeeper,
     .data_count = 3,
     .detector_ms = 1600,
     .keeps = LB_KEEPS_AS_ASKED,
     .settings = "forceSync=no\n",
     .stands_for = "zk-x3",
     .facts = "power=most",
     .start_ms = 1400},
    {.name = "pg",
     .summary = "one PostgreSQL",
     .family = &lb_family_postgres,
     .data_count = 1,
     .keeps = LB_KEEPS_AS_ASKED,
     .start_ms = 250},
    {.name = "pg-nosync",
     .summary =
         "one PostgreSQL with synchronous_commit = off, which acknowledges a commit before it stands in the log (wal_writer_delay 10 s)",
     .family = &lb_family_postgres,
     .data_count = 1,
     .keeps = LB_KEEPS_AS_ASKED,
     .settings = "synchronous_commit = off\nwal_writer_delay = 10s\n",
     .stands_for = "pg",
     .facts = "killed=most power=most",
     .start_ms = 250},
    {.name = "pg-async",
     .summary = "a PostgreSQL primary and a standby that it does not wait for",
     .family = &lb_family_postgres,
     .data_count = 2,
     .keeps = LB_KEEPS_AS_ASKED,
     .facts = "copies=later takeover=operator",
     .start_ms = 340},
    {.name = "pg-sync",
     .summary =
         "a PostgreSQL primary that waits for its standby before it acknowledges a commit; the standby, once promoted, waits for nobody",
     .family = &lb_family_postgres,
     .data_count = 2,
     .keeps = LB_KEEPS_AS_ASKED,
     .synchronous = true,
     .facts = "takeover=operator",
     .start_ms = 430},
    {.name = "pg-patroni",
     .summary = "a PostgreSQL primary and a standby that it does not wait for, each with a Patroni, and an etcd",
     .family = &lb_family_patroni,
     .data_count = 2,
     .detector_ms = 5000,
     .other_count = 1,
     .keeps = LB_KEEPS_AS_ASKED,
     .stands_for = "pg-async",
     .facts = "takeover=replicas leads=key",
     .start_ms = 3400},
    {.name = "pg-patroni-sync",
     .summary =
         "the same with synchronous_mode: the primary waits for its standby until Patroni strikes that off, and no other one is promoted",
     .family = &lb_family_patroni,
     .data_count = 2,
     .detector_ms = 5000,
     .other_count = 1,
     .keeps = LB_KEEPS_AS_ASKED,
     .synchronous = true,
     .stands_for = "pg-sync",
     .facts = "takeover=replicas leads=key",
     .start_ms = 3400},
    {.name = "pg-pooled",
     .summary =
         "one PostgreSQL behind a PgBouncer in transaction mode: a client has a server process for as long as a transaction",
     .family = &lb_family_pooled,
     .data_count = 1,
     .other_count = 1,
     .keeps = LB_KEEPS_AS_ASKED,
     .other_settings = "pool_mode = transaction\ndefault_pool_size = 20\n",
     .stands_for = "pg",
     .facts = "pooled=transaction",
     .start_ms = 300},
    {.name = "pg-pooled-session",
     .summary =
         "one PostgreSQL behind a PgBouncer in session mode: a client has a server process for as long as it is connected",
     .family = &lb_family_pooled,
     .data_count = 1,
     .other_count = 1,
     .keeps = LB_KEEPS_AS_ASKED,
     .other_settings = "pool_mode = session\ndefault_pool_size = 150\n",
     .stands_for = "pg",

     .start_ms = 300},
    {.name = "pg-pooled-tight",
     .summary = "as pg-pooled, with three server processes for all clients",
     .family = &lb_family_pooled,
     .data_count = 1,
     .other_count = 1,
     .keeps = LB_KEEPS_AS_ASKED,
     .other_settings = "pool_mode = transaction\ndefault_pool_size = 3\n",
     .stands_for = "pg",
     .facts = "pooled=transaction pool=tight",
     .start_ms = 300},
    {.name = "pg-pooled-session-tight",
     .summary = "as pg-pooled-session, with three server processes for all clients",
     .family = &lb_family_pooled,
     .data_count = 1,
     .other_count = 1,
     .keeps = LB_KEEPS_AS_ASKED,
     .other_settings = "pool_mode = session\ndefault_pool_size = 3\n",
     .stands_for = "pg",
     .facts = "pooled=session pool=tight",
     .start_ms = 300},
    {.name = "maria",
     .summary = "one MariaDB",
     .family = &lb_family_mariadb,
     .data_count = 1,
     .keeps = LB_KEEPS_AS_ASKED,
     .start_ms = 300},
    {.name = "maria-async",
     .summary = "a MariaDB primary and a replica that it does not wait for",
     .family = &lb_family_mariadb,
     .data_count = 2,
     .keeps = LB_KEEPS_AS_ASKED,
     .facts = "copies=later takeover=operator sequence=drawn",
     .start_ms = 600},
    {.name = "maria-semisync",
     .summary =
         "a MariaDB primary that waits for its replica before it acknowledges a commit; the replica, once promoted, waits for nobody",
     .family = &lb_family_mariadb,
     .data_count = 2,
     .keeps = LB_KEEPS_AS_ASKED,
     .synchronous = true,
     .settings = "rpl_semi_sync_master_timeout = 3600000\n",
     .facts = "takeover=operator sequence=drawn",
     .start_ms = 600},
    {.name = "maria-semisync-stock",
     .summary = "the same with MariaDB's own timeout: after 10 s without its replica the primary goes on alone",
     .family = &lb_family_mariadb,
     .data_count = 2,
     .keeps = LB_KEEPS_AS_ASKED,
     .synchronous = true,
     .stands_for = "maria-semisync",
     .start_ms = 600},
    {.name = "memcached", .summary = "one memcached", .family = &lb_family_memcached, .data_count = 1, .start_ms = 30},
    {.name = "etcd",
     .summary = "one etcd",
     .family = &lb_family_etcd,
     .data_count = 1,
     .keeps = LB_KEEPS_AS_ASKED,
     .start_ms = 140},
    {.name = "etcd-x3",
     .summary = "a cluster of three etcds",
     .family = &lb_family_etcd,
     .data_count = 3,
     .detector_ms = 500,
     .keeps = LB_KEEPS_AS_ASKED,
     .start_ms = 380},
    {.name = "nats",
     .summary = "one NATS server with JetStream, which acknowledges what is not on its disk yet",
     .family = &lb_family_nats,
     .data_count = 1,
     .keeps = LB_KEEPS_AS_ASKED,
     .facts = "power=most",
     .start_ms = 100},
    {.name = "nats-x3",
     .summary = "a cluster of three NATS servers with JetStream, which acknowledge what is not on their disks yet",
     .family = &lb_family_nats,
     .data_count = 3,
     .detector_ms = 9000,
     .keeps = LB_KEEPS_AS_ASKED,
     .facts = "power=most elects=late",
     .start_ms = 400},
};
enum { TOPOLOGY_COUNT = sizeof topologies / sizeof *topologies, ADDED_MAX = 16 };

static const struct lb_topology *added[ADDED_MAX];
static size_t added_count;

void lb_topology_add(const struct lb_topology *topology) {
  if (added_count < ADDED_MAX) added[added_count++] = topology;
}

const struct lb_topology *lb_topology_at(size_t index) {
  if (index < TOPOLOGY_COUNT) return &topologies[index];
  return index < TOPOLOGY_COUNT + added_count ? added[index - TOPOLOGY_COUNT] : NULL;
}

static const struct lb_topology **moved;
static size_t moved_count;

const struct lb_topology *lb_topology_from(const struct lb_topology *base, const struct lb_origin *origin) {
  char *name = lb_need_printed("%s:%s", base->name, origin->name);
  const struct lb_topology *known = lb_topology_find(name);
  if (known) return free(name), known;
  struct lb_topology *t = lb_need(malloc(sizeof *t));
  *t = *base;
  t->name = name;
  t->base = base->name;
  t->origin = origin;
  if (!t->stands_for) t->stands_for = base->name;
  LB_APPEND(moved, moved_count) = t;
  return t;
}

const struct lb_topology *lb_topology_find(const char *name) {
  const struct lb_topology *t;
  for (size_t i = 0; i < moved_count; i++)
    if (strcmp(moved[i]->name, name) == 0) return moved[i];
  for (size_t i = 0; (t = lb_topology_at(i)); i++)
    if (strcmp(t->name, name) == 0) return t;
  return NULL;
}

size_t lb_topology_names(const char **words, size_t max) {
  size_t count = 0;
  for (const struct lb_topology *t; count < max && (t = lb_topology_at(count)); count++) words[count] = t->name;
  return count;
}

/* A protocol need not know of a topology that stands for another: a row more in this table is
 * enough to run it there. */
bool lb_topology_serves(const struct lb_topology *topology, const char *const *names) {
  for (; *names; names++)
    if (strcmp(*names, topology->base ? topology->base : topology->name) == 0 ||
        (topology->stands_for && strcmp(*names, topology->stands_for) == 0))
      return true;
  return false;
}

/* What a prefix lacks is this machine's, as the Java under a ZooKeeper: but something has to be its own. */
static const char *look_for_needs(const struct lb_family *family, const struct lb_origin *origin) {
  bool any = !origin || origin->is_root;
  for (const char *const *need = family->needs; need && *need; need++) {
    char *path = lb_binary_find(origin, *need);
    if (!path) return *need;
    any = any || strncmp(path, origin->folder, strlen(origin->folder)) == 0;
    free(path);
  }
  return any || !family->needs ? NULL : family->needs[0];
}

/* A plan asks this of every cell, of which a suite has thousands: each family is looked for once, as long as PATH stays
 * the same. */
const char *lb_topology_missing(const struct lb_topology *topology) {
  enum { FAMILIES_MAX = 16 };
  static struct {
    const struct lb_family *family;
    const char *missing;
  } known[FAMILIES_MAX];
  static size_t known_count;
  static char known_path[4096];
  const char *path = getenv("PATH");
  if (topology->origin) return look_for_needs(topology->family, topology->origin);
  if (!path) path = "";
  if (strcmp(path, known_path) != 0) known_count = 0;
  for (size_t i = 0; i < known_count; i++)
    if (known[i].family == topology->family) return known[i].missing;
  const char *missing = look_for_needs(topology->family, NULL);
  if (known_count == FAMILIES_MAX || strlen(path) >= sizeof known_path) return missing;
  strcpy(known_path, path);
  known[known_count].family = topology->family;
  known[known_count++].missing = missing;
  return missing;
}

int lb_topology_version(const struct lb_topology *topology, char *buf, size_t size) {
  if (topology->own) return snprintf(buf, size, "%s", topology->summary), 0;
  static int (*silent)(const struct lb_origin *origin, char *buf,
                       size_t size); /* the question that a program did not answer in time is not put again */
  if (!topology->family->version) return -ENOENT;
  int r = topology->family->version == silent ? -ETIMEDOUT : topology->family->version(topology->origin, buf, size);
  if (r == -ETIMEDOUT) silent = topology->family->version;
  return r;
}

bool lb_topology_majority(const struct lb_topology *topology) {
  return topology->family->majority && topology->data_count > 1;
}

bool lb_topology_on_disk(const struct lb_topology *topology, bool memory_storage) {
  return topology->keeps == LB_KEEPS_ON_DISK || !memory_storage;
}

const char *lb_topology_keeps_text(enum lb_keeps keeps) {
  switch (keeps) {
    case LB_KEEPS_NOTHING: return "nothing: a server that is restarted comes back empty";
    case LB_KEEPS_AS_ASKED: return "everything, in memory or synced to disk, as `storage` of the scenario says";
    case LB_KEEPS_ON_DISK: return "everything, on disk, whatever `storage` of the scenario says";
  }
  return "?";
}
