/* test: beside */
/* SPDX-License-Identifier: MIT
 *
 * Every topology on real servers on loopback: it is ready when it says so, its primary can be killed and is replaced, a
 * server that runs, is stopped or was killed comes back with what it keeps on disk, and nothing is left. What is
 * claimed is checked through connections of the test's own.
 *
 * Topologies mostly wait, so a few workers take the next one each.
 *
 * Usage: live-topology [--sandboxed] [TOPOLOGY...]    (TAP; --sandboxed: already inside namespaces of its own, see
 * proc.h)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <libpq-fe.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADED
#include <zookeeper/zookeeper.h>

#include "backends/mariadb/maria.h"
#include "backends/memcached/mc.h"
#include "backends/nats/nats.h"
#include "backends/redis/redis_link.h"
#include "base/clock.h"
#include "client/env.h"
#include "base/files.h"
#include "servers/cluster.h"

#define LOOPBACK "127.0.0.1"
#define PROBE "probe"          /* a key */
#define KEPT "{" PROBE "}kept" /* another one, in a cluster on the same server */
#define START_S 30
#define FAILOVER_S 30 /* NATS stands for election after 4 to 9 s, and again if two stood at once */
enum { WORKERS = 3, PORTS = 6000 /* of each */ };

struct trial {
  struct lb_process_env env;
  struct lb_host host;
  struct lb_cluster cluster;
  char dir[64];
  bool failed;
};

static struct shared {
  atomic_size_t next; /* topology */
  atomic_int points, failures;
} * shared;
static int worker;

__attribute__((format(printf, 3, 4))) static bool check(struct trial *t, bool good, const char *format, ...) {
  char text[300];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  printf("%sok - %s: %s\n", good ? "" : "not ", t->cluster.topology->name, text);
  fflush(stdout); /* a line at once, as others write, too */
  t->failed |= !good;
  shared->points += 1;
  shared->failures += !good;
  return good;
}

static lb_ns in_s(unsigned s) { return lb_clock_ns() + s * LB_NS_PER_S; }
static double ms_since(lb_ns begin) { return (double)(lb_clock_ns() - begin) / 1e6; }

/* ---- a place to run ----------------------------------------------------------------------------------------- */

static bool is_free(uint16_t port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool free_now = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
  if (fd >= 0) close(fd);
  return free_now;
}

/* Below the range the kernel gives to connections, or one of our own could take it before the server does. */
static uint16_t free_port(struct trial *t) {
  static uint16_t taken[LB_SERVERS_MAX * 3];
  static size_t count;
  for (;;) {
    uint16_t port = (uint16_t)(12000 + PORTS * worker + (int)lb_rng_below(&t->env.rng, PORTS));
    bool again = !is_free(port);
    for (size_t i = 0; i < count && i < LB_SERVERS_MAX * 3; i++) again |= taken[i] == port;
    if (again) continue;
    taken[count++ % (LB_SERVERS_MAX * 3)] = port;
    return port;
  }
}

static bool place(struct trial *t, const struct lb_topology *topology, const char *cache) {
  *t = (struct trial){.host = {.name = "here", .address = LOOPBACK, .netns = -1}, .dir = "/tmp/live-topology-XXXXXX"};
  lb_env_init(&t->env, lb_clock_ns() ^ (uint64_t)getpid() << 32);
  lb_cluster_init(&t->cluster, topology, &t->env.base);
  t->cluster.cache_dir = cache;
  t->cluster.ttl_ms = 2000;
  t->cluster.key = PROBE;
  t->cluster.durable = lb_topology_on_disk(topology, true);
  if (!mkdtemp(t->dir) || chmod(t->dir, 0755) < 0) return false;
  for (size_t i = 0; i < t->cluster.server_count; i++) {
    struct lb_server *s = &t->cluster.server[i];
    s->host = &t->host;
    s->port = free_port(t);
    s->extra_port[0] = free_port(t);
    s->extra_port[1] = free_port(t);
    snprintf(s->dir, sizeof s->dir, "%s/%s", t->dir, s->name);
    snprintf(s->log, sizeof s->log, "%s/%s.log", t->dir, s->name);
    if (mkdir(s->dir, 0755) < 0) return false;
  }
  return true;
}

/* ---- asking without the code under test --------------------------------------------------------------------- */

/* A Redis reply as text, elements separated by a space; "" = none. */
static const char *redis_says(const struct lb_server *s, const char *command) {
  static char said[8192];
  redisContext *c = redisConnectWithTimeout(LOOPBACK, s->port, (struct timeval){1, 0});
  redisReply *reply = NULL;
  said[0] = '\0';
  if (c && !c->err && redisSetTimeout(c, (struct timeval){1, 0}) == REDIS_OK) reply = redisCommand(c, command);
  if (reply && reply->type == REDIS_REPLY_INTEGER) snprintf(said, sizeof said, "%lld", reply->integer);
  else if (reply && reply->str) snprintf(said, sizeof said, "%s", reply->str);
  for (size_t i = 0, n = 0; reply && reply->type == REDIS_REPLY_ARRAY && i < reply->elements && n < sizeof said; i++)
    n += (size_t)snprintf(said + n, sizeof said - n, "%s%s", i ? " " : "",
                          reply->element[i]->str ? reply->element[i]->str : "");
  if (reply) freeReplyObject(reply);
  if (c) redisFree(c);
  return said;
}

/* All that comes after something was sent, until the server closes the connection. */
static const char *says(const struct lb_server *s, const char *asked) {
  static char said[16384];
  struct sockaddr_in at = {
      .sin_family = AF_INET, .sin_port = htons(s->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct timeval second = {1, 0};
  size_t len = 0;
  ssize_t n;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
  if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0 && write(fd, asked, strlen(asked)) == (ssize_t)strlen(asked))
    while (len + 1 < sizeof said && (n = read(fd, said + len, sizeof said - 1 - len)) > 0) len += (size_t)n;
  said[len] = '\0';
  close(fd);
  return said;
}

static const char *zookeeper_says(const struct lb_server *s, const char *word) { return says(s, word); }

/* The answer of its gateway: headers and JSON. */
static const char *etcd_says(const struct lb_server *s, const char *path, const char *body) {
  char request[500];
  snprintf(request, sizeof request,
           "POST %s HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s", path, strlen(body),
           body);
  return says(s, request);
}

/* The number behind a name, as text; "" = it is left out, which means 0. */
static void etcd_number_of(const char *said, const char *name, char ret[24]) {
  char quoted[40];
  snprintf(quoted, sizeof quoted, "\"%s\":\"", name);
  const char *at = strstr(said, quoted);
  snprintf(ret, 24, "%.*s", at ? (int)strcspn(at + strlen(quoted), "\"") : 0, at ? at + strlen(quoted) : "");
}

static bool etcd_leads(const struct lb_server *s) {
  char member[24], leader[24];
  const char *said = etcd_says(s, "/v3/maintenance/status", "{}");
  etcd_number_of(said, "member_id", member);
  etcd_number_of(said, "leader", leader);
  return leader[0] && strcmp(member, leader) == 0;
}

/* First column of the first row; "" = none. */
static const char *postgres_says(const struct lb_server *s, const char *sql) {
  static char said[400], conninfo[200];
  snprintf(
      conninfo, sizeof conninfo,
      "host=" LOOPBACK
      " port=%u user=lockbench dbname=postgres connect_timeout=2 options='-c statement_timeout=3000 -c client_min_messages=warning'",
      (unsigned)s->port);
  PGconn *c = PQconnectdb(conninfo);
  PGresult *r = PQexec(c, sql);
  snprintf(said, sizeof said, "%s",
           PQntuples(r) > 0                        ? PQgetvalue(r, 0, 0)
           : PQresultStatus(r) == PGRES_COMMAND_OK ? "done"
                                                   : "");
  PQclear(r);
  PQfinish(c);
  return said;
}

static bool is(const char *said, const char *expected) { return strcmp(said, expected) == 0; }
static bool has(const char *said, const char *expected) { return strstr(said, expected) != NULL; }

/* ---- what "ready" has to mean ------------------------------------------------------------------------------- */

/* What the row of the topology says is what the server says. A setting is "NAME VALUE", in PostgreSQL "NAME =
 * VALUE". */
static void settings_are_in_force(struct trial *t, const struct lb_server *s) {
  char name[64], value[64], asked[120], expected[140];
  bool redis = is(s->service, "redis");
  const char *line = s->data ? t->cluster.topology->settings : NULL;
  for (const char *end; line && (end = strchr(line, '\n')); line = end + 1) {
    bool read = sscanf(line, redis ? "%63s %63[^\n]" : "%63s = %63[^\n]", name, value) == 2;
    snprintf(asked, sizeof asked, "%s %s", redis ? "CONFIG GET" : "SHOW", name);
    snprintf(expected, sizeof expected, "%s%s%s", redis ? name : "", redis ? " " : "", value);
    const char *said = redis ? redis_says(s, asked) : postgres_says(s, asked);
    check(t, read && is(said, expected), "%s says %s", s->name, said);
  }
}

static void redis_is_ready(struct trial *t) {
  bool all = true, empty = true;
  for (size_t i = 0; i < t->cluster.data_count; i++) {
    all &= is(redis_says(&t->cluster.server[i], "PING"), "PONG");
    empty &= is(redis_says(&t->cluster.server[i], "DBSIZE"), "0");
  }
  check(t, all, "all servers answer PING");
  check(t, empty, "no key is left of the start");
  check(t, is(redis_says(&t->cluster.server[0], "CONFIG GET save"), "save "), "nothing is saved");
  bool keeps = t->cluster.topology->keeps != LB_KEEPS_NOTHING;
  check(t, is(redis_says(&t->cluster.server[0], "CONFIG GET appendonly"), keeps ? "appendonly yes" : "appendonly no"),
        "%s is written to the append-only file", keeps ? "every change" : "nothing");
}

static void sentinel_is_ready(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  char address[40];
  bool linked = true, named = true, known = true;
  redis_is_ready(t);
  check(t, has(redis_says(&c->server[0], "INFO replication"), "connected_slaves:2"), "the primary has two replicas");
  for (size_t i = 1; i < 3; i++) {
    const char *info = redis_says(&c->server[i], "INFO replication");
    linked &= has(info, "role:slave") && has(info, "master_link_status:up");
  }
  check(t, linked, "both replicas are linked");
  snprintf(address, sizeof address, LOOPBACK " %u", (unsigned)c->server[0].port);
  for (size_t i = 3; i < 6; i++) {
    named &= is(redis_says(&c->server[i], "SENTINEL GET-MASTER-ADDR-BY-NAME lockbench"), address);
    known &= has(redis_says(&c->server[i], "SENTINEL CKQUORUM lockbench"), "OK 3 usable Sentinels");
  }
  check(t, named, "all Sentinels name the primary");
  check(t, known, "all Sentinels see three usable Sentinels");
  redis_says(&c->server[0], "SET " PROBE " 1");
  check(t, is(redis_says(&c->server[0], "WAIT 2 1000"), "2"), "a write reaches both replicas");
  redis_says(&c->server[0], "DEL " PROBE);
}

/* Slots, roles and timeout as every server itself says, and a failover's worth of copies. */
static void cluster_is_ready(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  bool up = true, linked = true, settled = true;
  char slot[16];
  redis_is_ready(t);
  check(t, lb_cluster_primary(c, in_s(1)) == 0, "the first server has the slot of the key");
  snprintf(slot, sizeof slot, "%u", redis_link_slot(KEPT));
  check(t, is(redis_says(&c->server[5], "CLUSTER KEYSLOT " PROBE), slot), "which is slot %s for it, too", slot);
  for (size_t i = 0; i < 6; i++) {
    const char *info = redis_says(&c->server[i], "CLUSTER INFO");
    up &= has(info, "cluster_state:ok") && has(info, "cluster_known_nodes:6") && has(info, "cluster_size:3");
    settled &= is(redis_says(&c->server[i], "CONFIG GET cluster-node-timeout"), "cluster-node-timeout 1000");
    info = redis_says(&c->server[i], "INFO replication");
    linked &= i < 3 ? has(info, "connected_slaves:1") : has(info, "role:slave") && has(info, "master_link_status:up");
  }
  check(t, up, "every server knows six, three of them with slots, and says that the cluster is up");
  check(t, linked, "the masters have a replica each");
  check(t, settled, "every server has the timeout of a trial of faults");
  redis_says(&c->server[0], "SET " PROBE " 1");
  lb_ns deadline = in_s(1);
  while (!is(redis_says(&c->server[3], "DBSIZE"), "1") && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS);
  check(t, is(redis_says(&c->server[3], "DBSIZE"), "1"), "a write reaches the replica of its master");
  check(t, is(redis_says(&c->server[4], "DBSIZE"), "0"), "and no other one");
  redis_says(&c->server[0], "DEL " PROBE);
}

/* A JVM that cannot make an archive leaves an empty one. A full one has to be mapped: the JVM drops one that does not
 * fit it, and says so nowhere else. */
static void its_classes_are_mapped(struct trial *t, const struct lb_server *s) {
  char path[300], line[600];
  struct stat st = {0};
  bool mapped = false;
  snprintf(path, sizeof path, "%s/zookeeper.jsa", t->cluster.cache_dir);
  check(t, stat(path, &st) == 0, "an archive of classes was made, or tried to");
  snprintf(line, sizeof line, "/proc/%d/maps", (int)s->proc.pid);
  FILE *maps = fopen(line, "re");
  while (maps && fgets(line, sizeof line, maps)) mapped |= has(line, "/zookeeper.jsa");
  if (maps) fclose(maps);
  check(t, mapped == (st.st_size > 0), "%s maps the archive of classes (%lld bytes)", s->name, (long long)st.st_size);
}

static void zookeeper_is_ready(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  int p = lb_cluster_primary(c, in_s(1));
  if (!check(t, p >= 0, "there is a primary")) return;
  const char *state = zookeeper_says(&c->server[p], "mntr");
  if (c->data_count == 1) check(t, has(state, "zk_server_state\tstandalone"), "it stands alone");
  else
    check(t, has(state, "zk_server_state\tleader") && has(state, "zk_synced_followers\t2"),
          "the primary leads two synced followers");
  const char *conf = zookeeper_says(&c->server[p], "conf");
  bool stock = is(c->topology->name, "zk-x3-stock"); /* its ticks are ten times as long */
  check(t,
        has(conf, stock ? "minSessionTimeout=4000\n" : "minSessionTimeout=400\n") &&
            has(conf, "maxSessionTimeout=3600000\n"),
        "session timeouts are within two ticks and an hour");
  its_classes_are_mapped(t, &c->server[p]);
}

static void postgres_is_ready(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  check(t, is(postgres_says(&c->server[0], "SELECT pg_is_in_recovery()"), "f"), "the first server is no standby");
  check(t, is(postgres_says(&c->server[0], "SHOW fsync"), "off"), "fsync is off when memory is asked for");
  check(t, is(postgres_says(&c->server[0], "CREATE TABLE probe (x int)"), "done"), "the primary commits");
  if (c->data_count == 1) return;
  bool sync = c->topology->synchronous;
  check(t, is(postgres_says(&c->server[1], "SELECT pg_is_in_recovery()"), "t"), "the second server is a standby");
  check(t, is(postgres_says(&c->server[0], "SELECT sync_state FROM pg_stat_replication"), sync ? "sync" : "async"),
        "replication is %s", sync ? "synchronous" : "asynchronous");
}

/* Whether this word stands on the command line of its process. */
static bool was_told(const struct lb_server *s, const char *word) {
  char path[40], line[8192];
  snprintf(path, sizeof path, "/proc/%d/cmdline", (int)s->proc.pid);
  FILE *in = fopen(path, "re");
  size_t n = in ? fread(line, 1, sizeof line - 1, in) : 0;
  if (in) fclose(in);
  line[n] = '\0';
  for (const char *at = line; at < line + n; at += strlen(at) + 1)
    if (strncmp(at, word, strlen(word)) == 0) return true;
  return false;
}

/* The shortest lease shows the election timeout: 3/2 of it, in whole seconds. */
static void etcd_is_ready(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  int p = lb_cluster_primary(c, in_s(1));
  size_t leaders = 0, members = 0;
  char leader[24], first[24];
  for (size_t i = 0; i < c->data_count; i++) {
    leaders += etcd_leads(&c->server[i]);
    etcd_number_of(etcd_says(&c->server[i], "/v3/maintenance/status", "{}"), "leader", i == 0 ? first : leader);
    members += i == 0 || is(first, leader);
  }
  check(t, p >= 0 && leaders == 1 && members == c->data_count, "one leads, and all know it");
  check(t, p >= 0 && etcd_leads(&c->server[p]), "the primary is the leader");
  check(
      t,
      has(etcd_says(&c->server[0], "/v3/kv/range", "{\"key\":\"AA==\",\"range_end\":\"AA==\"}"), "\"revision\":\"1\""),
      "nothing was written at the start");
  check(t, has(etcd_says(&c->server[0], "/v3/lease/grant", "{\"TTL\":1}"), "\"TTL\":\"1\""),
        "a lease may be as short as a second");
  check(t, has(etcd_says(&c->server[0], "/v3/lock/lock", "{\"lease\":1}"), "lease not found"),
        "it has a lock service, which asks for a lease");
}

/* Like postgres_says(): the first column of the first row, "done" without one, or "" with an error. */
static const char *maria_says(struct trial *t, const struct lb_server *s, const char *sql) {
  static const struct lb_target nobody;
  static struct sql_answer answer;
  struct sql_primary asker = {.server = &maria_server, .env = &t->env.base, .target = &nobody};
  struct lb_endpoint at = {.host = s->host->address, .port = s->port, .user = "root"};
  answer = (struct sql_answer){0};
  int r = maria_server.connect(&asker, &at, in_s(2));
  if (r == 0) r = maria_server.run(&asker, in_s(2), &(struct sql_stmt){sql, 0}, NULL, &answer);
  sql_primary_drop(&asker);
  return r || answer.outcome ? "" : answer.text[0] ? answer.text : "done";
}

/* A row: of definitions InnoDB counts no commit. */
static bool maria_keeps(struct trial *t, const struct lb_server *s) {
  return is(maria_says(t, s, "CREATE DATABASE IF NOT EXISTS kept"), "done") &&
         is(maria_says(t, s, "CREATE TABLE IF NOT EXISTS kept.kept (n INT PRIMARY KEY) ENGINE=InnoDB"), "done") &&
         is(maria_says(t, s, "REPLACE INTO kept.kept VALUES (1)"), "done");
}

static void maria_is_ready(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  check(t, is(maria_says(t, &c->server[0], "SELECT @@read_only"), "0"), "the first server is no replica");
  check(t, is(maria_says(t, &c->server[0], "SELECT @@innodb_flush_log_at_trx_commit"), "2"),
        "it does not sync when memory is asked for");
  check(t, is(maria_says(t, &c->server[0], "SELECT @@tmpdir"), "."), "its temporary tables are in a folder of its own");
  check(t, is(maria_says(t, &c->server[0], "CREATE DATABASE probe"), "done"), "the primary commits");
  if (c->data_count == 1) return;
  check(t, is(maria_says(t, &c->server[1], "SELECT @@read_only"), "1"), "the second server is a replica");
  check(t,
        is(maria_says(t, &c->server[0], "SELECT @@rpl_semi_sync_master_enabled"), c->topology->synchronous ? "1" : "0"),
        "replication is %s", c->topology->synchronous ? "semi-synchronous" : "asynchronous");
}

/* Its answer to one request, or "". */
static const char *memcached_says(struct trial *t, const struct lb_server *s, const char *request) {
  static struct mc_reply reply;
  struct mc_conn conn = {.fd = -1};
  struct lb_endpoint at = {.host = s->host->address, .port = s->port};
  reply.line[0] = '\0';
  if (mc_open(&conn, &t->env.base, &at, in_s(2)) == 0) mc_call(&conn, in_s(2), request, &reply);
  mc_close(&conn);
  return reply.line;
}

/* Its answer as text, or "". Without a subject: what it knows itself, asked through its system account. */
static const char *nats_says(struct trial *t, const struct lb_server *s, const char *subject, const char *body) {
  static char said[16384];
  char own[120];
  struct nats_conn conn = {.fd = -1};
  struct nats_reply reply = {0};
  struct lb_endpoint at = {.host = s->host->address, .port = s->port};
  if (!subject) at.user = at.password = "operator";
  if (nats_open(&conn, &t->env.base, &at, in_s(2)) == 0) {
    snprintf(own, sizeof own, "$SYS.REQ.SERVER.%s.JSZ", conn.server_id);
    nats_call(&conn, &(struct nats_request){subject ? subject : own, NULL, body}, in_s(10), &reply);
  }
  nats_close(&conn);
  size_t size = reply.said ? json_dumpb(reply.said, said, sizeof said - 1, JSON_COMPACT) : 0;
  said[size < sizeof said ? size : 0] = '\0';
  json_decref(reply.said);
  return said;
}

/* The stream, or while there is none the cluster's own log. */
static bool nats_leads(struct trial *t, const struct lb_server *s) {
  char leader[60];
  const char *said = nats_says(t, s, NULL, "{\"accounts\":true,\"streams\":true}");
  const char *stream = strstr(said, "\"stream_detail\"");
  snprintf(leader, sizeof leader, "\"leader\":\"%s\"", s->name);
  return has(stream ? stream : said, leader);
}

static bool nats_writes(struct trial *t, const struct lb_server *s) {
  char stream[120];
  snprintf(stream, sizeof stream,
           "{\"name\":\"kept\",\"subjects\":[\"kept\"],\"storage\":\"file\",\"num_replicas\":%zu}",
           t->cluster.data_count);
  if (has(nats_says(t, s, "kept", ""), "\"seq\"")) return true;
  /* There is none yet. It is made by the leader of the cluster's own log, whose election is not what is asked later. */
  return has(nats_says(t, s, "$JS.API.STREAM.CREATE.kept", stream), "\"config\"") &&
         has(nats_says(t, s, "kept", ""), "\"seq\"");
}

static void nats_is_ready(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  size_t leaders = 0;
  int p = lb_cluster_primary(c, in_s(1));
  for (size_t i = 0; i < c->data_count; i++) leaders += nats_leads(t, &c->server[i]);
  check(t, p >= 0 && (c->data_count == 1 || (leaders == 1 && nats_leads(t, &c->server[p]))), "the primary leads alone");
  check(t, has(nats_says(t, &c->server[0], "$JS.API.STREAM.NAMES", ""), "\"total\":0"), "it has no stream yet");
  check(t, nats_writes(t, &c->server[0]), "it takes one and a write"); /* whose leader counts from now on */
}

static void is_ready(struct trial *t) {
  const struct lb_topology *topology = t->cluster.topology;
  bool asks = is(topology->family->service, "redis") ||
              is(topology->family->service, "postgres"); /* others tell only some of their settings */
  for (size_t i = 0; asks && i < t->cluster.data_count; i++) settings_are_in_force(t, &t->cluster.server[i]);
  if (topology->family->sentinel_master) sentinel_is_ready(t);
  else if (topology->shards > 0) cluster_is_ready(t);
  else if (is(topology->family->service, "redis")) redis_is_ready(t);
  else if (is(topology->family->service, "zookeeper")) zookeeper_is_ready(t);
  else if (is(topology->family->service, "etcd")) etcd_is_ready(t);
  else if (is(topology->family->service, "mariadb")) maria_is_ready(t);
  else if (is(topology->family->service, "memcached"))
    check(t, is(memcached_says(t, &t->cluster.server[0], "mg " PROBE "\r\n"), "EN"), "it is empty");
  else if (is(topology->family->service, "nats")) nats_is_ready(t);
  else postgres_is_ready(t);
}

/* ---- faults ------------------------------------------------------------------------------------------------- */

static bool accepts_writes(struct trial *t, const struct lb_server *s) {
  if (is(s->service, "redis")) return is(redis_says(s, "SET " PROBE " 1"), "OK");
  if (is(s->service, "postgres")) return is(postgres_says(s, "CREATE TABLE probe2 (x int)"), "done");
  if (is(s->service, "etcd")) return has(etcd_says(s, "/v3/kv/put", "{\"key\":\"cHJvYmU=\"}"), "revision");
  if (is(s->service, "mariadb")) return is(maria_says(t, s, "SELECT @@read_only"), "0");
  if (is(s->service, "memcached")) return is(memcached_says(t, s, "ms " PROBE " 1\r\n1\r\n"), "HD");
  if (is(s->service, "nats")) return nats_writes(t, s);
  return t->cluster.data_count == 1 || has(zookeeper_says(s, "mntr"), "zk_server_state\tleader");
}

/* Stopped and continued, where nobody else takes over meanwhile. A PostgreSQL session that exists has to stop too. */
static void can_be_paused(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  char conninfo[100];
  struct timeval tv = {0, 300000};
  snprintf(conninfo, sizeof conninfo, "host=" LOOPBACK " port=%u user=lockbench dbname=postgres",
           (unsigned)c->server[0].port);
  PGconn *session = is(c->topology->family->service, "postgres") ? PQconnectdb(conninfo) : NULL;
  check(t, lb_proc_signal(&c->server[0].proc, SIGSTOP) == 0, "the server can be paused");
  check(t, lb_cluster_primary(c, in_s(1)) == -ENOENT, "paused, it is no primary");
  if (session) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(PQsocket(session), &set);
    bool sent = PQsendQuery(session, "SELECT 1") == 1;
    check(t, sent && select(PQsocket(session) + 1, &set, NULL, NULL, &tv) == 0,
          "paused, it does not serve the sessions it has");
  }
  lb_proc_signal(&c->server[0].proc, SIGCONT);
  lb_ns deadline = in_s(5);
  while (lb_cluster_primary(c, in_s(1)) != 0 && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
  check(t, lb_cluster_primary(c, in_s(1)) == 0, "continued, it is the primary again");
  PQfinish(session);
}

static bool claims_to_lead(struct trial *t, const struct lb_server *s);

/* Until the Sentinels would promote a replica again. */
static void await_replicas(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  lb_ns deadline = in_s(FAILOVER_S);
  while (!has(redis_says(&c->server[0], "INFO replication"), "connected_slaves:2") && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
  for (size_t i = 1; i < c->data_count; i++)
    while (!has(redis_says(&c->server[i], "INFO replication"), "master_link_status:up") && lb_clock_ns() < deadline)
      lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
}

/* ---- restarts ----------------------------------------------------------------------------------------------- */

/* A session on one ZooKeeper, connected within five seconds; NULL. */
static zhandle_t *zookeeper_session(const struct lb_server *s) {
  char address[40];
  lb_ns deadline = in_s(5);
  zoo_set_debug_level((ZooLogLevel)0);
  snprintf(address, sizeof address, LOOPBACK ":%u", (unsigned)s->port);
  zhandle_t *z = zookeeper_init(address, NULL, 5000, NULL, NULL, 0);
  while (z && zoo_state(z) != ZOO_CONNECTED_STATE && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
  if (z && zoo_state(z) == ZOO_CONNECTED_STATE) return z;
  if (z) zookeeper_close(z);
  return NULL;
}

/* Something to remember: written, or asked for. A PostgreSQL that does not wait for its log is told to, this once. */
static bool remember(struct trial *t, const struct lb_server *s, bool write) {
  const char *create = "SET synchronous_commit = on; CREATE TABLE IF NOT EXISTS kept (x int)";
  if (is(s->service, "redis")) return is(redis_says(s, write ? "SET " KEPT " 1" : "GET " KEPT), write ? "OK" : "1");
  if (is(s->service, "postgres"))
    return is(postgres_says(s, write ? create : "SELECT count(*) FROM kept"), write ? "done" : "0");
  if (is(s->service, "etcd"))
    return has(etcd_says(s, write ? "/v3/kv/put" : "/v3/kv/range", "{\"key\":\"a2VwdA==\"}"),
               write ? "revision" : "\"count\":\"1\"");
  if (is(s->service, "memcached"))
    return is(memcached_says(t, s, write ? "ms " KEPT " 1\r\n1\r\n" : "mg " KEPT "\r\n"), "HD");
  if (is(s->service, "mariadb"))
    return write ? maria_keeps(t, s) : is(maria_says(t, s, "SELECT n FROM kept.kept"), "1");
  if (is(s->service, "nats"))
    return write ? nats_writes(t, s) : has(nats_says(t, s, "$JS.API.STREAM.INFO.kept", ""), "\"config\"");
  zhandle_t *z = zookeeper_session(s);
  int r = !z      ? ZCONNECTIONLOSS
          : write ? zoo_create(z, "/kept", "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0)
                  : zoo_exists(z, "/kept", 0, NULL);
  if (z) zookeeper_close(z);
  return r == ZOK || (write && r == ZNODEEXISTS);
}

enum state { RUNNING, PAUSED, KILLED };
static const char *const state_name[] = {"running", "paused", "killed"};

/* On a busy machine the first question may come to nothing. */
static void tells_identity(struct lb_cluster *c, size_t index, char ret[100]) {
  lb_ns deadline = in_s(5);
  while (c->topology->family->identity && lb_clock_ns() < deadline &&
         c->topology->family->identity(c, index, deadline, ret, 100) != 0)
    lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
}

/* The same server, whatever state it was in, answers as another process, and knows what was to be kept. */
static void restarts_from(struct trial *t, size_t index, enum state state) {
  struct lb_cluster *c = &t->cluster;
  struct lb_server *s = &c->server[index];
  lb_ns deadline = in_s(FAILOVER_S);
  while (!remember(t, index > 0 && c->topology->family->orders.promote ? &c->server[0] : s, true) &&
         lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
  /* An asynchronous standby hears of it a little later. */
  while (!remember(t, s, false) && lb_clock_ns() < deadline) lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
  pid_t before = s->proc.pid;
  char first[100] = "", same[100] = "", next[100] = "";
  tells_identity(c, index, first), tells_identity(c, index, same);
  if (is(s->service, "mariadb")) lb_clock_sleep_until(in_s(1)); /* it tells the second of its start */
  if (state != RUNNING) lb_proc_signal(&s->proc, state == PAUSED ? SIGSTOP : SIGKILL);
  lb_ns begin = lb_clock_ns();
  int r = lb_cluster_restart_many(c, (size_t[]){index}, 1, in_s(START_S));
  check(t, r == 0 && s->proc.pid != before, "%s, %s, comes back: restart_ms=%.0f%s", s->name, state_name[state],
        ms_since(begin), r ? c->err.text : "");
  if (c->topology->family->identity) {
    tells_identity(c, index, next);
    check(t, first[0] && is(first, same) && next[0] && !is(first, next), "%s tells its starts apart: '%s', '%s', '%s'",
          s->name, first, same, next);
  }
  bool keeps = c->topology->keeps != LB_KEEPS_NOTHING, has_it;
  deadline = in_s(keeps ? FAILOVER_S : 0); /* it may have led what it was told: nobody answers before an election */
  while (!(has_it = remember(t, s, false)) && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
  check(t, has_it == keeps, "%s %s", s->name, keeps ? "has kept what it was told" : "has forgotten everything");
}

static void single_restarts(struct trial *t) {
  for (enum state state = RUNNING; state <= KILLED; state++) restarts_from(t, 0, state);
}

/* Sooner than the Sentinels notice: it is the primary still, empty, and its replicas throw away what they had. */
static void empty_primary_takes_its_replicas_along(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  bool had = remember(t, &c->server[0], true) && is(redis_says(&c->server[0], "WAIT 2 1000"), "2");
  lb_proc_kill(&c->server[0].proc);
  int r = lb_cluster_restart_many(c, (size_t[]){0}, 1, in_s(START_S));
  check(t, had && r == 0 && claims_to_lead(t, &c->server[0]), "a killed primary is back before it is replaced %s",
        r ? c->err.text : "");
  check(t, is(redis_says(&c->server[0], "DBSIZE"), "0"), "and empty");
  lb_ns deadline = in_s(10);
  while ((remember(t, &c->server[1], false) || remember(t, &c->server[2], false)) && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
  check(t, !remember(t, &c->server[1], false) && !remember(t, &c->server[2], false),
        "soon the replicas are empty, too");
  await_replicas(t);
}

/* The power fails and comes back: all at once, for none may answer before enough of the others do. */
static void all_restart(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  size_t all[LB_SERVERS_MAX];
  for (size_t i = 0; i < c->server_count; i++) all[i] = i;
  lb_ns begin = lb_clock_ns(), deadline = in_s(FAILOVER_S);
  int r = lb_cluster_restart_many(c, all, c->server_count, in_s(START_S));
  check(t, r == 0, "all servers come back at once: restart_all_ms=%.0f%s", ms_since(begin), r ? c->err.text : "");
  int p;
  while ((p = lb_cluster_primary(c, in_s(1))) < 0 && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
  check(t, p >= 0 && remember(t, &c->server[p], true), "and serve again");
}

static void single_comes_back(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  check(t, lb_proc_kill(&c->server[0].proc) == 0, "the only server can be killed");
  check(t, lb_cluster_primary(c, in_s(1)) == -ENOENT, "then there is no primary");
  check(t, lb_cluster_failover(c, 0, lb_clock_ns() + 300 * LB_NS_PER_MS) == LB_TIMEOUT,
        "and waiting for another ends in time");
  lb_ns begin = lb_clock_ns();
  int r = lb_cluster_restart_many(c, (size_t[]){0}, 1, in_s(START_S));
  check(t, r == 0, "it comes back: restart_ms=%.0f%s", ms_since(begin), r ? c->err.text : "");
  check(t, lb_cluster_primary(c, in_s(1)) == 0, "then it is the primary");
}

enum { RECEIVED = 8 }; /* transactions: more than a replica's workers begin at once */

/* Has the table to itself for two seconds: then its server ends it. Whoever applies waits meanwhile. */
static bool stands_in_the_way(struct trial *t, const struct lb_server *s) {
  static const struct lb_target nobody;
  static struct sql_primary blocker;
  struct sql_answer answer = {0};
  blocker =
      (struct sql_primary){.server = &maria_server, .env = &t->env.base, .target = &nobody, .idle_timeout_ms = 2000};
  struct lb_endpoint at = {.host = s->host->address, .port = s->port, .user = "root"};
  int r = maria_server.connect(&blocker, &at, in_s(2));
  if (r == 0) r = maria_server.run(&blocker, in_s(2), &(struct sql_stmt){"BEGIN", 0}, NULL, &answer);
  if (r == 0)
    r = maria_server.run(&blocker, in_s(2), &(struct sql_stmt){"SELECT n FROM kept.kept FOR UPDATE", 0}, NULL, &answer);
  return r == 0 && answer.outcome == 0 && is(answer.text, "1"); /* the connection stays open */
}

/* Acknowledged, since a semi-synchronous replica has received it, which has not applied it: the thread that applies is
 * stopped, and its workers, once it is started, have to wait. */
static void replica_lags(struct trial *t) {
  static const char *const receives_only[] = {"STOP SLAVE", "SET GLOBAL slave_parallel_threads = 2",
                                              "START SLAVE IO_THREAD"};
  struct lb_cluster *c = &t->cluster;
  char sql[60];
  lb_ns deadline = in_s(5);
  bool received = true, acknowledged = true;
  check(t, maria_keeps(t, &c->server[0]), "the primary has a table");
  while (!remember(t, &c->server[1], false) && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
  for (size_t i = 0; i < sizeof receives_only / sizeof *receives_only; i++)
    received &= is(maria_says(t, &c->server[1], receives_only[i]), "done");
  check(t, received, "the replica can stop to apply, and has workers");
  for (int n = 2; n <= RECEIVED; n++) {
    snprintf(sql, sizeof sql, "REPLACE INTO kept.kept VALUES (%d)", n);
    acknowledged &= is(maria_says(t, &c->server[0], sql), "done");
  }
  check(t, acknowledged, "the primary acknowledges");
  check(t, stands_in_the_way(t, &c->server[1]), "what the replica applies has to wait");
}

static void primary_is_replaced(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  int old = lb_cluster_primary(c, in_s(1));
  bool lags = is(c->topology->family->service, "mariadb") && c->topology->synchronous;
  if (!check(t, old >= 0, "there is a primary")) return;
  if (lags) replica_lags(t);
  check(t, lb_proc_kill(&c->server[old].proc) == 0, "the primary %s can be killed", c->server[old].name);
  lb_ns begin = lb_clock_ns();
  int r = lb_cluster_failover(c, old, in_s(FAILOVER_S));
  if (!check(t, r == 0, "another server takes over: failover_ms=%.0f%s%s", ms_since(begin), r < 0 ? " " : "",
             r < 0 ? c->err.text : ""))
    return;
  int now = lb_cluster_primary(c, in_s(1));
  if (!check(t, now >= 0 && now != old, "the primary is another one now")) return;
  /* One that insists on a replica refuses until the other one follows it. */
  lb_ns deadline = in_s(c->topology->settings ? FAILOVER_S : 0);
  bool accepts;
  while (!(accepts = accepts_writes(t, &c->server[now])) && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
  check(t, accepts, "%s accepts writes", c->server[now].name);
  if (lags) {
    const char *rows = maria_says(t, &c->server[now], "SELECT COUNT(*) FROM kept.kept");
    check(t, atoi(rows) == RECEIVED, "it has applied what it had received before: %s of %d", rows, RECEIVED);
  }
  r = lb_cluster_restart_many(c, (size_t[]){(size_t)old}, 1, in_s(START_S));
  check(t, r == 0, "the old primary comes back %s", r ? c->err.text : "");
  if (!c->topology->family->independent)
    check(t, lb_cluster_primary(c, in_s(1)) == now, "the new primary is still the one that counts");
}

static bool claims_to_lead(struct trial *t, const struct lb_server *s) {
  if (is(s->service, "nats")) return nats_leads(t, s);
  if (is(s->service, "etcd")) return etcd_leads(s);
  if (is(s->service, "postgres")) return !is(postgres_says(s, "SELECT pg_is_in_recovery()"), "t");
  return is(s->service, "redis") ? has(redis_says(s, "INFO replication"), "role:master")
                                 : has(zookeeper_says(s, "mntr"), "zk_server_state\tleader");
}

/* Patroni has made the old primary a standby again, which follows the new one on its timeline. */
static bool has_standby(const struct lb_server *primary) {
  return is(postgres_says(primary, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"), "1");
}

/* One that has not caught up is not elected, stands all the same, and so puts the election of the other one off. */
static bool has_current_replicas(struct trial *t, const struct lb_server *primary) {
  const char *stream = strstr(nats_says(t, primary, NULL, "{\"accounts\":true,\"streams\":true}"), "\"stream_detail\"");
  size_t current = 0;
  for (; stream && (stream = strstr(stream, "\"current\":true")); stream++) current++;
  return current + 1 == t->cluster.data_count;
}

/* A Sentinel that has just led a failover is busy with it for a while: a second one would be left to the other two, and
 * they may split their votes. In a cluster the old primary has to be back as a replica of the new one, and under
 * Patroni, too. */
static void await_settled(struct trial *t, const struct lb_server *primary) {
  struct lb_cluster *c = &t->cluster;
  lb_ns deadline = in_s(FAILOVER_S);
  while (c->topology->shards > 0 && lb_clock_ns() < deadline &&
         !(has(redis_says(primary, "INFO replication"), "state=online") &&
           !has(redis_says(primary, "CLUSTER NODES"), "fail")))
    lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
  bool agents = is(c->topology->family->name, "patroni");
  while (agents && !has_standby(primary) && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
  if (agents) check(t, has_standby(primary), "the old primary follows the new one");
  bool stream = is(primary->service, "nats");
  while (stream && !has_current_replicas(t, primary) && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
  if (stream) check(t, has_current_replicas(t, primary), "the old primary has caught up");
  for (size_t i = c->data_count; !agents && i < c->server_count;) {
    if (is(redis_says(&c->server[i], "SENTINEL CKQUORUM lockbench"),
           "OK 3 usable Sentinels. Quorum and failover authorization can be reached") &&
        has(redis_says(&c->server[i], "SENTINEL MASTER lockbench"), "flags master link"))
      i++;
    else if (lb_clock_ns() > deadline) break;
    else lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
  }
}

/* A primary that wakes up after it was replaced: the topology must not fall for it, and it must give up by itself. */
static void paused_primary_is_replaced(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  int old = lb_cluster_primary(c, in_s(1));
  if (!check(t, old >= 0, "there is a primary")) return;
  await_settled(t, &c->server[old]);
  check(t, lb_proc_signal(&c->server[old].proc, SIGSTOP) == 0, "the primary %s can be paused", c->server[old].name);
  lb_ns begin = lb_clock_ns();
  int r = lb_cluster_failover(c, old, in_s(FAILOVER_S));
  check(t, r == 0, "another server takes over: paused_failover_ms=%.0f%s%s", ms_since(begin), r < 0 ? " " : "",
        r < 0 ? c->err.text : "");
  int now = lb_cluster_primary(c, in_s(FAILOVER_S)), other = 0;
  check(t, now >= 0, "the new one is known%s%s", now < 0 ? ": " : "", now < 0 ? c->err.text : "");
  check(t, lb_proc_signal(&c->server[old].proc, SIGCONT) == 0, "the old primary can be continued");
  begin = lb_clock_ns();
  do other += lb_cluster_primary(c, in_s(1)) == old;
  while (claims_to_lead(t, &c->server[old]) && lb_clock_ns() < begin + 15 * LB_NS_PER_S);
  if (is(c->topology->family->name, "patroni") && claims_to_lead(t, &c->server[old])) {
    /* Its agent may write the leader's key over: paper/findings/patroni-agent-gone.md. */
    check(t, lb_cluster_primary(c, in_s(1)) == old, "the old primary has taken the key back");
    return;
  }
  check(t, !claims_to_lead(t, &c->server[old]), "the old primary gives up: step_down_ms=%.0f", ms_since(begin));
  check(t, other == 0, "it was not taken for the primary meanwhile");
}

/* A ZooKeeper server that is killed while it takes over the state of a new leader may never start
 * again ("the current epoch is older than the last zxid", ZOOKEEPER-1653): so every server serves
 * before one is killed. */
static void await_all_serve(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  lb_ns deadline = in_s(FAILOVER_S);
  for (size_t i = 0; i < c->data_count && !c->topology->family->independent; i++)
    while (!remember(t, &c->server[i], true) && lb_clock_ns() < deadline)
      lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
}

static void majority_is_needed(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  await_all_serve(t);
  for (size_t i = 0; i <= c->data_count / 2; i++) lb_proc_kill(&c->server[i].proc);
  lb_ns deadline = in_s(5); /* a leader notices within its sync limit */
  while (lb_cluster_primary(c, in_s(1)) != -ENOENT && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + 10 * LB_NS_PER_MS);
  check(t, lb_cluster_primary(c, in_s(1)) == -ENOENT, "without a majority nobody decides");
}

/* ---- the end ------------------------------------------------------------------------------------------------ */

/* The System V segment a PostgreSQL marks its folder with; -1 = none. */
static int segment_of(const struct lb_server *s) {
  char path[300], line[300];
  int key, id = -1;
  snprintf(path, sizeof path, "%s/data/postmaster.pid", s->dir);
  FILE *in = fopen(path, "r");
  while (in && fgets(line, sizeof line, in))
    if (sscanf(line, "%d %d", &key, &id) != 2) id = -1;
    else break;
  if (in) fclose(in);
  return id;
}

static void nothing_is_left(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  bool gone = true, closed = true, removed = true;
  int segment[LB_SERVERS_MAX];
  struct shmid_ds ds;
  for (size_t i = 0; i < c->server_count; i++) segment[i] = segment_of(&c->server[i]);
  lb_cluster_stop(c);
  for (size_t i = 0; i < c->server_count; i++) {
    gone &= !lb_proc_alive(&c->server[i].proc);
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(c->server[i].port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    closed &= connect(fd, (struct sockaddr *)&at, sizeof at) < 0 && errno == ECONNREFUSED;
    close(fd);
    removed &= segment[i] < 0 || shmctl(segment[i], IPC_STAT, &ds) < 0;
  }
  check(t, gone, "stopped, no server runs");
  check(t, closed, "stopped, no port is open");
  check(t, removed, "stopped, no shared memory is left");
}

/* ---- as a user has it --------------------------------------------------------------------------------------- */

static void settings_are_those_of_a_user(struct trial *t, const struct lb_server *s) {
  if (is(s->service, "zookeeper")) {
    const char *conf = zookeeper_says(s, "conf");
    check(t, has(conf, "tickTime=2000\n"), "measured, it has ticks of 2 s");
    check(t, was_told(s, "-Xmx1000m") && !was_told(s, "-XX:TieredStopAtLevel") && !was_told(s, "-XX:+UseSerialGC"),
          "and the whole of its JVM");
    check(t, !was_told(s, "-Dzookeeper.forceSync"), "and syncs");
  } else if (is(s->service, "postgres")) {
    check(t, is(postgres_says(s, "SHOW shared_buffers"), "128MB"), "measured, it has the buffers that it comes with");
    check(t, is(postgres_says(s, "SHOW fsync"), "on") && is(postgres_says(s, "SHOW full_page_writes"), "on"),
          "and syncs");
  } else if (is(s->service, "etcd")) {
    check(t, was_told(s, "--election-timeout=1000"), "measured, it elects after a second");
    check(t, has(etcd_says(s, "/v3/lease/grant", "{\"TTL\":1}"), "\"TTL\":\"2\""), "and no lease is shorter than two");
  } else if (t->cluster.topology->shards > 0) {
    check(t, is(redis_says(s, "CONFIG GET cluster-node-timeout"), "cluster-node-timeout 15000"),
          "measured, it misses another one after 15 s");
  }
}

/* A write moves the count of commits, and where a reader needs no session that is written down, a read does not. */
static void commits_are_counted(struct trial *t) {
  struct lb_cluster *c = &t->cluster;
  uint64_t before = 0, written = 0, read = 0;
  int p = lb_cluster_primary(c, in_s(1));
  bool asked = p >= 0 && lb_cluster_commits(c, in_s(1), &before) == 0 && remember(t, &c->server[p], true) &&
               lb_cluster_commits(c, in_s(1), &written) == 0 && remember(t, &c->server[p], false) &&
               lb_cluster_commits(c, in_s(1), &read) == 0;
  check(t, asked && written > before, "a write is a commit: %llu, then %llu %s", (unsigned long long)before,
        (unsigned long long)written, asked ? "" : t->env.base.err);
  if (is(c->topology->family->service, "redis"))
    check(t, written == before + 1 && read == written, "one, and a read is none");
}

static void measures(const struct lb_topology *topology, const char *cache) {
  static struct trial t;
  if (!place(&t, topology, cache)) {
    check(&t, false, "a folder can be made: %s", strerror(errno));
    return;
  }
  t.cluster.measured = t.cluster.durable = true;
  lb_ns begin = lb_clock_ns();
  int r = lb_cluster_start(&t.cluster, in_s(START_S));
  if (check(&t, r == 0, "as a user has it, it starts: start_ms=%.0f%s%s", ms_since(begin), r ? " " : "",
            r ? t.cluster.err.text : "")) {
    for (size_t i = 0; i < t.cluster.data_count; i++) settings_are_those_of_a_user(&t, &t.cluster.server[i]);
    if (topology->family->commits) commits_are_counted(&t);
  }
  lb_cluster_stop(&t.cluster);
  if (t.failed) printf("# logs are kept in %s\n", t.dir);
  else lb_files_remove_tree(t.dir);
}

static void run(const struct lb_topology *topology, const char *cache) {
  static struct trial t;
  char version[100] = "";
  if (!place(&t, topology, cache)) {
    check(&t, false, "a folder can be made: %s", strerror(errno));
    return;
  }
  check(&t, lb_topology_version(topology, version, sizeof version) == 0, "its version is known: %s", version);
  if (topology->data_count > 0) {
    lb_ns begin = lb_clock_ns();
    int r = lb_cluster_start(&t.cluster, in_s(START_S));
    if (check(&t, r == 0, "it starts: start_ms=%.0f%s%s", ms_since(begin), r ? " " : "", r ? t.cluster.err.text : "")) {
      is_ready(&t);
      const struct lb_family *family = topology->family;
      bool many = topology->data_count > 1, majority = lb_topology_majority(topology);
      if (many && family->orders.promote) restarts_from(&t, 0, RUNNING), restarts_from(&t, 1, PAUSED);
      if (topology->family->sentinel_master) empty_primary_takes_its_replicas_along(&t);
      if (!many) can_be_paused(&t), single_comes_back(&t), single_restarts(&t);
      else primary_is_replaced(&t);
      if (many && !family->independent && !family->orders.promote) paused_primary_is_replaced(&t);
      if (majority) majority_is_needed(&t);
      if (many && topology->other_count == 0 && !family->orders.promote) all_restart(&t);
      if (majority && !family->independent)
        for (enum state state = RUNNING; state <= KILLED; state++) restarts_from(&t, state, state);
    }
  }
  nothing_is_left(&t);
  if (t.failed) printf("# logs are kept in %s\n", t.dir);
  else lb_files_remove_tree(t.dir);
}

static bool chosen(const char *name, int argc, char **argv, int first) {
  for (int i = first; i < argc; i++)
    if (strcmp(argv[i], name) == 0) return true;
  return first >= argc;
}

/* Takes the next topology until there is none. */
static void work(const char *cache, int argc, char **argv, int first) {
  const struct lb_topology *topology;
  while ((topology = lb_topology_at(atomic_fetch_add(&shared->next, 1)))) {
    const char *name = topology->name, *missing = lb_topology_missing(topology);
    if (!chosen(name, argc, argv, first)) continue;
    if (first >= argc && is(name, "pg-patroni-sync")) continue; /* half a minute for one setting more than pg-patroni */
    if (missing) printf("ok - %s # SKIP %s is not installed\n", name, missing), fflush(stdout), shared->points += 1;
    else run(topology, cache);
    if (!missing && topology->data_count > 0 && !topology->stands_for) measures(topology, cache);
  }
}

int main(int argc, char **argv) {
  char cache[] = "/tmp/live-topology-cache-XXXXXX";
  int first = 1, status;
  signal(SIGPIPE, SIG_IGN);
  if (argc > 1 && strcmp(argv[1], "--sandboxed") == 0) {
    lb_proc_sandboxed = true;
    first++;
  }
  for (int i = first; i < argc; i++)
    if (!lb_topology_find(argv[i])) return fprintf(stderr, "no such topology: %s\n", argv[i]), 2;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || !mkdtemp(cache) || chmod(cache, 0755) < 0) return perror(cache), 1;
  for (worker = 0; worker < WORKERS; worker++) {
    pid_t pid = fork();
    if (pid < 0) return perror("fork"), 1;
    if (pid > 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    work(cache, argc, argv, first);
    exit(0);
  }
  while (wait(&status) > 0 || errno == EINTR) {
    if (status == 0) continue;
    printf("not ok - a worker ended with status %d\n", status);
    shared->points += 1;
    shared->failures += 1;
  }
  lb_files_remove_tree(cache);
  printf("1..%d\n", shared->points);
  return shared->failures > 0;
}
