/* SPDX-License-Identifier: MIT
 *
 * Redis Cluster: masters that share the keys out, each with replicas of its own. They watch each other over a bus of
 * their own; when most masters have missed one for cluster-node-timeout, they elect a replica of it. A master that
 * misses most of them for so long serves no client.
 *
 * The servers are put together by their own commands, as redis-cli would do it, only faster: each is introduced to
 * every other, which they would learn from each other in the end. Of N parts of the slots the data servers 1 to N have
 * one each at first, and server N + i follows server i. Server 1 begins with the part that the key of the trial is in.
 * So `primary` is server 1 at first, as elsewhere, for any key.
 *
 * Ready means, as with Sentinel, that a failover started now would succeed and lose nothing that was acknowledged
 * earlier: each server knows what every other one is and says that the cluster is up, and the masters list their
 * replicas as online. A marker written to each master has appeared in its replicas and vanished again. Replicas are
 * asked how many keys they have: a question for a key is redirected to the master. All of it takes two seconds at
 * least: a master that has just started refuses for so long (CLUSTER_WRITABLE_DELAY), also after a restart, and nothing
 * makes that faster.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/redis/redis_link.h"
#include "redis.h"

#define TIMEOUT "cluster-node-timeout"
#define TIMEOUT_FAULTS "1000"
enum { POLL_MS = 10 };

/* A cut takes a while to be proved, and a master that is cut off has to grant behind that: this is
 * why a second, and not less. */
static const struct lb_setting settings[] = {
    LB_REDIS_SETTINGS,
    {.name = "repl-diskless-sync ", .stock = "yes", .faults = "no", .measured = "no"},
    {.name = TIMEOUT " ", .stock = "15000", .faults = TIMEOUT_FAULTS, .measured = "15000"},
    {0},
};

static int configure(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  char more[200];
  snprintf(more, sizeof more,
           "cluster-enabled yes\n"
           "cluster-config-file nodes.conf\n"
           "cluster-port %u\n"
           "cluster-announce-ip %s\n",
           (unsigned)server->extra_port[0], server->host->address);
  return lb_redis_configure_data(cluster, server, more);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static unsigned begin_of(const struct lb_cluster *cluster, size_t part) {
  return (unsigned)(part * REDIS_SLOTS / cluster->topology->shards);
}

static size_t part_of_slot(const struct lb_cluster *cluster, unsigned slot) {
  size_t part = 0;
  while (slot >= begin_of(cluster, part + 1)) part++;
  return part;
}

static unsigned slot_of_key(const struct lb_cluster *cluster) {
  return cluster->key ? redis_link_slot(cluster->key) : 0;
}

/* The part that a master has at first. */
static size_t part_of_master(const struct lb_cluster *cluster, size_t index) {
  return (part_of_slot(cluster, slot_of_key(cluster)) + index) % cluster->topology->shards;
}

/* " 0-5460 7000 [93-<-ID]": ranges, single slots, and those that are being moved. */
static bool has_slot(const char *slots, unsigned slot) {
  unsigned first, last;
  for (const char *at = slots; (at = strchr(at, ' ')); at++) {
    int numbers = sscanf(at, " %u-%u", &first, &last);
    if (numbers > 0 && slot >= first && slot <= (numbers == 2 ? last : first)) return true;
  }
  return false;
}

/* ---- what a server says of itself ------------------------------------------------------------ */

struct self {
  char id[41], flags[64], master[41]; /* master: "-" = it follows no one */
  long long epoch;                    /* of two that claim a slot the larger one is right */
  char slots[2000];
};

/* The line that says "myself", of one line for each server that it knows. */
static const char *own_line(const char *nodes) {
  const char *at = nodes ? strstr(nodes, "myself") : NULL;
  while (at && at > nodes && at[-1] != '\n') at--;
  return at;
}

static int ask_self(struct lb_cluster *cluster, size_t index, lb_ns deadline, struct self *ret) {
  redisReply *reply = LB_REDIS_ASK(cluster, index, deadline, "CLUSTER", "NODES");
  int n = 0;
  if (!reply) return -EIO;
  const char *line = own_line(reply->str);
  bool good = line && sscanf(line, "%40s %*s %63s %40s %*s %*s %lld %*s%n", ret->id, ret->flags, ret->master,
                             &ret->epoch, &n) == 4;
  if (good) snprintf(ret->slots, sizeof ret->slots, "%.*s", (int)strcspn(line + n, "\n"), line + n);
  freeReplyObject(reply);
  return good ? 0
              : lb_fail(cluster->env, -EPROTO, "%s: unexpected answer to CLUSTER NODES", cluster->server[index].name);
}

static bool is_up(const struct lb_cluster *cluster, const redisReply *reply) {
  (void)cluster;
  return reply->str && strstr(reply->str, "cluster_state:ok");
}

static int says_up(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return LB_REDIS_EXPECT(cluster, index, deadline, is_up, "says that the cluster is down", "CLUSTER", "INFO");
}

/* ---- putting them together ------------------------------------------------------------------- */

/* Each order here is repeated until its effect is seen: one whose answer came too late may have been obeyed.
 *
 * Servers talk to each other twice in TIMEOUT. With a user's value it would take long until all know what one was told.
 */
static int hurries(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return LB_REDIS_EXPECT(cluster, index, deadline, NULL, "does not hurry", "CONFIG", "SET", TIMEOUT, TIMEOUT_FAULTS);
}

static int hurries_no_more(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  const struct lb_setting *row = settings;
  while (strcmp(row->name, TIMEOUT " ") != 0) row++;
  return LB_REDIS_EXPECT(cluster, index, deadline, NULL, "hurries", "CONFIG", "SET", TIMEOUT,
                         lb_setting_value(row, cluster->measured, cluster->durable));
}

/* Masters with equal epochs would settle that among themselves, but later. */
static int has_epoch(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct self self;
  char epoch[24];
  int r = ask_self(cluster, index, deadline, &self);
  if (r < 0 || self.epoch != 0) return r;
  snprintf(epoch, sizeof epoch, "%zu", index + 1);
  return LB_REDIS_EXPECT(cluster, index, deadline, NULL, "no epoch", "CLUSTER", "SET-CONFIG-EPOCH", epoch);
}

static int has_slots(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct self self;
  char first[16], last[16];
  if (index >= cluster->topology->shards) return 0;
  size_t part = part_of_master(cluster, index);
  unsigned begin = begin_of(cluster, part);
  int r = ask_self(cluster, index, deadline, &self);
  if (r < 0 || has_slot(self.slots, begin)) return r;
  snprintf(first, sizeof first, "%u", begin);
  snprintf(last, sizeof last, "%u", begin_of(cluster, part + 1) - 1);
  return LB_REDIS_EXPECT(cluster, index, deadline, NULL, "no slots", "CLUSTER", "ADDSLOTSRANGE", first, last);
}

/* One that it shakes hands with is in the list already. The other server answers the handshake. */
static int has_met(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  redisReply *nodes = LB_REDIS_ASK(cluster, index, deadline, "CLUSTER", "NODES");
  int r = nodes && nodes->str ? 0 : -EIO;
  for (size_t i = index + 1; i < cluster->server_count && r == 0; i++) {
    const struct lb_server *other = &cluster->server[i];
    char at[80], port[8], bus[8];
    snprintf(at, sizeof at, " %s:%u@", other->host->address, (unsigned)other->port);
    if (strstr(nodes->str, at)) continue;
    snprintf(port, sizeof port, "%u", (unsigned)other->port);
    snprintf(bus, sizeof bus, "%u", (unsigned)other->extra_port[0]);
    r = LB_REDIS_EXPECT(cluster, index, deadline, NULL, "has not met all", "CLUSTER", "MEET", other->host->address,
                        port, bus);
  }
  if (nodes) freeReplyObject(nodes);
  return r;
}

static size_t occurrences(const char *text, const char *word) {
  size_t count = 0;
  for (const char *at = text; at && (at = strstr(at, word)); at++) count++;
  return count;
}

static bool lists_all(const struct lb_cluster *cluster, const redisReply *reply) {
  return occurrences(reply->str, "\n") == cluster->server_count &&
         occurrences(reply->str, " connected") == cluster->server_count && !strstr(reply->str, "handshake") &&
         !strstr(reply->str, "fail");
}

static int knows_all(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return LB_REDIS_EXPECT(cluster, index, deadline, lists_all, "is not connected to all others yet", "CLUSTER", "NODES");
}

static size_t master_of(const struct lb_cluster *cluster, size_t index) { return index % cluster->topology->shards; }

static int has_master(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct self self, master;
  if (index < cluster->topology->shards) return 0;
  int r = ask_self(cluster, index, deadline, &self);
  if (r == 0) r = ask_self(cluster, master_of(cluster, index), deadline, &master);
  if (r < 0 || strcmp(self.master, master.id) == 0) return r;
  return LB_REDIS_EXPECT(cluster, index, deadline, NULL, "follows nobody", "CLUSTER", "REPLICATE", master.id);
}

/* ---- ready ----------------------------------------------------------------------------------- */

static bool lists_replicas(const struct lb_cluster *cluster, const redisReply *reply) {
  return lists_all(cluster, reply) &&
         occurrences(reply->str, "slave ") == cluster->data_count - cluster->topology->shards;
}

static int knows_replicas(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return LB_REDIS_EXPECT(cluster, index, deadline, lists_replicas, "does not know who follows whom yet", "CLUSTER",
                         "NODES");
}

static bool has_them_online(const struct lb_cluster *cluster, const redisReply *reply) {
  return lb_redis_replicas_online(reply) == cluster->data_count / cluster->topology->shards - 1;
}

static int replicas_online(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  if (index >= cluster->topology->shards) return 0;
  return LB_REDIS_EXPECT(cluster, index, deadline, has_them_online, "does not list its replicas as online", "INFO",
                         "replication");
}

/* The first name that falls into the part of this master. */
static void name_marker(const struct lb_cluster *cluster, size_t index, char *name, size_t size) {
  unsigned i = 0;
  do snprintf(name, size, "lockbench:ready-%u", i++);
  while (part_of_slot(cluster, redis_link_slot(name)) != part_of_master(cluster, index));
}

static int order_marker(struct lb_cluster *cluster, size_t index, lb_ns deadline, const char *order,
                        const char *value) {
  char name[40];
  if (index >= cluster->topology->shards) return 0;
  name_marker(cluster, index, name, sizeof name);
  return LB_REDIS_EXPECT(cluster, index, deadline, NULL, "no marker", order, name, value);
}

static int marker_written(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return order_marker(cluster, index, deadline, "SET", "1");
}

static int marker_deleted(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return order_marker(cluster, index, deadline, "DEL", NULL);
}

static bool has_one_key(const struct lb_cluster *cluster, const redisReply *reply) {
  (void)cluster;
  return reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
}

static bool has_no_key(const struct lb_cluster *cluster, const redisReply *reply) {
  (void)cluster;
  return reply->type == REDIS_REPLY_INTEGER && reply->integer == 0;
}

static bool has_keys(const struct lb_cluster *cluster, const redisReply *reply) {
  (void)cluster;
  return reply->type == REDIS_REPLY_INTEGER && reply->integer > 0;
}

static int marker_arrived(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return LB_REDIS_EXPECT(cluster, index, deadline, has_one_key, "the marker has not arrived", "DBSIZE");
}

static int marker_gone(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return LB_REDIS_EXPECT(cluster, index, deadline, has_no_key, "the marker is still there", "DBSIZE");
}

/* ---- start ----------------------------------------------------------------------------------- */

struct stage {
  int (*is_so)(struct lb_cluster *cluster, size_t index, lb_ns deadline); /* of each server */
  const char *what;
};
static const struct stage stages[] = {
    {lb_redis_ping, "every server answers"},
    {hurries, "every server hurries"},
    {has_epoch, "every server has an epoch"},
    {has_slots, "every slot has a master"},
    {has_met, "every server has met the others"},
    {knows_all, "every server is connected to the others"},
    {has_master, "every replica follows its master"},
    {knows_replicas, "every server knows who follows whom"},
    {replicas_online, "all replicas are online"},
    {says_up, "every server says that the cluster is up"},
    {marker_written, "a marker can be written"},
    {marker_arrived, "the marker is on all servers"},
    {marker_deleted, "the marker can be deleted"},
    {marker_gone, "the marker is gone everywhere"},
    {hurries_no_more, "every server has its own timeout"},
};

static int reach(struct lb_cluster *cluster, const struct stage *stage, lb_ns deadline) {
  for (size_t i = 0; i < cluster->server_count;) {
    int r = lb_server_check_alive(cluster, &cluster->server[i]);
    if (r < 0) return r;
    if (stage->is_so(cluster, i, deadline) == 0) i++;
    else if (lb_now(cluster->env) >= deadline)
      return lb_error(&cluster->err, -ETIMEDOUT, "%s: not in time: %s; last seen: %s", cluster->topology->name,
                      stage->what, cluster->env->err);
    else lb_sleep_until(cluster->env, lb_now(cluster->env) + POLL_MS * LB_NS_PER_MS);
  }
  return 0;
}

static int launch(struct lb_cluster *cluster, size_t index) {
  return lb_redis_launch(cluster, &cluster->server[index], "redis-server");
}

static int start(struct lb_cluster *cluster, lb_ns deadline) {
  int r = 0;
  for (size_t i = 0; i < cluster->server_count && r == 0; i++) r = configure(cluster, i);
  if (r == 0) r = lb_cluster_launch_all(cluster);
  for (size_t i = 0; i < sizeof stages / sizeof *stages && r == 0; i++) r = reach(cluster, &stages[i], deadline);
  return r;
}

/* ---- who decides ----------------------------------------------------------------------------- */

/* A master that was replaced and does not know yet claims the slot, too: the highest epoch is the truth. While that
 * master says that the cluster is down, no server decides. */
static int primary(struct lb_cluster *cluster, lb_ns deadline) {
  struct self self;
  long long best = -1;
  int claims = -ENOENT;
  for (size_t i = 0; i < cluster->data_count; i++) {
    if (ask_self(cluster, i, deadline, &self) < 0 || !strstr(self.flags, "master") || self.epoch <= best) continue;
    if (!has_slot(self.slots, slot_of_key(cluster))) continue;
    best = self.epoch;
    claims = (int)i;
  }
  if (claims < 0) return -ENOENT;
  return says_up(cluster, (size_t)claims, deadline) == 0 ? claims : -ENOENT;
}

/* 1, 0, -errno. A replica repeats what its master has counted, and is asked for nothing. */
static int is_master(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct self self;
  int r = ask_self(cluster, index, deadline, &self);
  return r < 0 ? r : strstr(self.flags, "master") != NULL;
}

static int commits(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret) {
  int r = is_master(cluster, index, deadline);
  *ret = 0;
  return r <= 0 ? r : lb_redis_commits(cluster, index, deadline, ret);
}

static int requests(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret) {
  int r = is_master(cluster, index, deadline);
  *ret = 0;
  return r <= 0 ? r : lb_redis_requests(cluster, index, deadline, ret);
}

/* The order goes to its replica, which asks it to stop and wait. */
static int depose(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct self old, self;
  int r = ask_self(cluster, index, deadline, &old);
  if (r < 0) return r;
  for (size_t i = 0; i < cluster->data_count; i++) {
    if (i == index || ask_self(cluster, i, deadline, &self) < 0 || strcmp(self.master, old.id) != 0) continue;
    return LB_REDIS_EXPECT(cluster, i, deadline, NULL, "does not fail over", "CLUSTER", "FAILOVER");
  }
  return lb_fail(cluster->env, -ENOENT, "nobody follows %s", cluster->server[index].name);
}

/* ---- moving a slot ------------------------------------------------------------------------------ */

/* Its keys, all at once; a lock has few. 0, or -errno. */
static int migrate(struct lb_cluster *cluster, size_t from, size_t to, const char *slot, lb_ns deadline) {
  enum { KEYS_MAX = 50, WORDS = 8 };
  char port[8];
  snprintf(port, sizeof port, "%u", (unsigned)cluster->server[to].port);
  redisReply *keys = LB_REDIS_ASK(cluster, from, deadline, "CLUSTER", "GETKEYSINSLOT", slot, "50");
  const char *argv[WORDS + KEYS_MAX] = {"MIGRATE", cluster->server[to].host->address, port, "", "0", "1000", "KEYS"};
  if (!keys) return -EIO;
  for (size_t i = 0; i < keys->elements && i < KEYS_MAX; i++) argv[WORDS - 1 + i] = keys->element[i]->str;
  int r = keys->elements == 0 ? 0 : lb_redis_expect(cluster, from, deadline, argv, NULL, "not moved");
  freeReplyObject(keys);
  return r;
}

/* The one that had the slot hears of the claim from the other one, and deletes its keys. */
static int strand(struct lb_cluster *cluster, size_t old, size_t index, const char *slot, lb_ns deadline) {
  struct self to;
  int r = LB_REDIS_EXPECT(cluster, old, deadline, has_keys, "has no key there", "CLUSTER", "COUNTKEYSINSLOT", slot);
  if (r == 0) r = ask_self(cluster, index, deadline, &to);
  if (r == 0) r = LB_REDIS_EXPECT(cluster, index, deadline, NULL, "refuses", "CLUSTER", "SETSLOT", slot, "NODE", to.id);
  while (r == 0 && (r = LB_REDIS_EXPECT(cluster, old, deadline, has_no_key, "still has keys there", "CLUSTER",
                                        "COUNTKEYSINSLOT", slot)) < 0) {
    if (lb_now(cluster->env) >= deadline) return r;
    lb_sleep_until(cluster->env, lb_now(cluster->env) + 10 * LB_NS_PER_MS);
    r = 0;
  }
  return r;
}

/* As redis-cli does it: both are told what is about to happen, the keys go, and then both are told whose it is now. */
static int give_slot(struct lb_cluster *cluster, size_t index, bool keys, lb_ns deadline) {
  struct self to, from;
  char slot[8];
  int old = primary(cluster, deadline);
  if (old < 0) return lb_fail(cluster->env, old, "nobody decides for the slot of the key");
  if ((size_t)old == index)
    return lb_fail(cluster->env, -EINVAL, "%s has the slot of the key already", cluster->server[index].name);
  int r = ask_self(cluster, index, deadline, &to);
  if (r == 0 && !strstr(to.flags, "master"))
    return lb_fail(cluster->env, -EINVAL, "%s is no master", cluster->server[index].name);
  if (r == 0) r = ask_self(cluster, (size_t)old, deadline, &from);
  snprintf(slot, sizeof slot, "%u", slot_of_key(cluster));
  if (r == 0)
    r = LB_REDIS_EXPECT(cluster, index, deadline, NULL, "refuses", "CLUSTER", "SETSLOT", slot, "IMPORTING", from.id);
  if (r == 0 && !keys) return strand(cluster, (size_t)old, index, slot, deadline);
  if (r == 0)
    r = LB_REDIS_EXPECT(cluster, (size_t)old, deadline, NULL, "refuses", "CLUSTER", "SETSLOT", slot, "MIGRATING",
                        to.id);
  if (r == 0) r = migrate(cluster, (size_t)old, index, slot, deadline);
  if (r == 0) r = LB_REDIS_EXPECT(cluster, index, deadline, NULL, "refuses", "CLUSTER", "SETSLOT", slot, "NODE", to.id);
  if (r == 0)
    r = LB_REDIS_EXPECT(cluster, (size_t)old, deadline, NULL, "refuses", "CLUSTER", "SETSLOT", slot, "NODE", to.id);
  return r;
}

static int move_slot(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return give_slot(cluster, index, true, deadline);
}

static int strand_key(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return give_slot(cluster, index, false, deadline);
}

const struct lb_family lb_family_cluster = {
    .name = "cluster",
    .ends_by = LB_ENDS_BY_WALL,
    .needs = (const char *const[]){LB_NEED_REDIS, NULL},
    .service = "redis",
    .orders =
        {
            .ending = &lb_redis_ending,
            .depose = depose,
            .end_session = lb_redis_end_session,
            .files = lb_redis_files,
            .save = lb_redis_save,
            .move_slot = move_slot,
            .strand_key = strand_key,
        },
    .settings = settings,
    .by_libc = true,
    .start = start,
    .launch = launch,
    .answers = lb_redis_ping,
    .primary = primary,
    .caught_up = lb_redis_caught_up,
    .identity = lb_redis_identity,
    .others = lb_redis_others,
    .wall_ms = lb_redis_wall_ms,
    .commits = commits,
    .requests = requests,
    .stated = lb_redis_stated,
    .version = lb_redis_version,
};
