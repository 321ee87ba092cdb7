/* SPDX-License-Identifier: MIT
 *
 * One Redis server: configured, started, asked, filled.
 *
 * What a server keeps is a property of the topology, not of the medium: a Redis that writes nothing forgets its locks
 * in a restart, whatever disk it stands on. One that keeps something keeps it in its append-only file, and the
 * topology's settings say so, and when it syncs that. Snapshots are off, as they would disturb measurements; the full
 * sync of a replica makes one.
 *
 * A key ends by the wall clock (7.0.15, measured: the monotonic clock an hour ahead or back moves no end of a key).
 * Timers run by the monotonic clock: one that is set back stops the removal of ended keys that no client asks for.
 */
#include "redis.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/redis/redis.h"
#include "binary.h"

int lb_redis_configure(struct lb_cluster *cluster, const struct lb_server *server, const char *more) {
  const char *address = server->host->address;
  /* 127.0.0.1 is for a person who enters the namespace; the '-', which Redis 6.0 does not know, lets the server start
   * where it does not exist. */
  bool alone = cluster->topology->origin || strcmp(address, "127.0.0.1") == 0;
  return lb_server_write(cluster, server, false, "redis.conf",
                         "bind %s%s\n"
                         "port %u\n"
                         "dir .\n" /* its working folder: a path with blanks would have to be quoted */
                         "protected-mode no\n"
                         "daemonize no\n"
                         "loglevel notice\n"
                         "%s",
                         address, alone ? "" : " -127.0.0.1", (unsigned)server->port, more);
}

int lb_redis_configure_data(struct lb_cluster *cluster, const struct lb_server *server, const char *more) {
  const struct lb_topology *topology = cluster->topology;
  int r = lb_redis_configure(cluster, server, "");
  if (r == 0) r = lb_setting_write(cluster, server, topology->family->settings, "redis.conf");
  return r < 0 ? r
               : lb_server_write(cluster, server, true, "redis.conf", "%s%s", more,
                                 topology->settings ? topology->settings : "");
}

int lb_redis_launch(struct lb_cluster *cluster, struct lb_server *server, const char *argv0) {
  char config[300];
  snprintf(config, sizeof config, "%s/redis.conf", server->dir);
  return lb_server_start(cluster, server, (const char *const[]){LB_NEED_REDIS, config, NULL}, argv0, false);
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* A connection of its own each time: one that was kept could be a leftover from before a cut or a
 * restart, and its error would say nothing of the server as it is now. */
redisReply *lb_redis_ask(struct lb_cluster *cluster, size_t index, lb_ns deadline, const char *const argv[]) {
  const struct lb_server *server = &cluster->server[index];
  struct redis_conn *conn = NULL;
  redisReply *reply = NULL;
  struct lb_target target;
  int argc = 0;
  while (argv[argc]) argc++;
  deadline = lb_cluster_ask_until(cluster, deadline);
  if (redis_open(cluster->env, lb_cluster_endpoint(cluster, index, &target), deadline, &conn) != 0) return NULL;
  if (redis_call(conn, deadline, &reply, argc, argv, NULL) != 0) reply = NULL;
  redis_close(conn);
  if (reply && reply->type == REDIS_REPLY_ERROR) {
    lb_fail(cluster->env, -EPROTO, "%s: %s: %s", server->name, argv[0], reply->str);
    freeReplyObject(reply);
    return NULL;
  }
  return reply;
}

int lb_redis_expect(struct lb_cluster *cluster, size_t index, lb_ns deadline, const char *const argv[],
                    bool (*good)(const struct lb_cluster *cluster, const redisReply *reply), const char *what) {
  redisReply *reply = lb_redis_ask(cluster, index, deadline, argv);
  if (!reply) return -EIO;
  int r =
      !good || good(cluster, reply) ? 0 : lb_fail(cluster->env, -EAGAIN, "%s: %s", cluster->server[index].name, what);
  freeReplyObject(reply);
  return r;
}

/* "slave0:ip=127.0.0.1,port=7002,state=online,offset=42,lag=0". */
size_t lb_redis_replicas_online(const redisReply *info) {
  size_t online = 0;
  for (const char *at = info->str; at && (at = strstr(at, "state=online")); at++) {
    const char *lag = strstr(at, "lag=");
    if (lag && strcspn(at, "\n") > (size_t)(lag - at) && atoi(lag + 4) <= 1) online++;
  }
  return online;
}

int lb_redis_ping(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  redisReply *reply = LB_REDIS_ASK(cluster, index, deadline, "PING");
  if (!reply) return -EIO;
  freeReplyObject(reply);
  return 0;
}

int lb_redis_identity(struct lb_cluster *cluster, size_t index, lb_ns deadline, char *ret, size_t size) {
  redisReply *reply = LB_REDIS_ASK(cluster, index, deadline, "INFO", "server");
  if (!reply) return -EIO;
  const char *at = reply->str ? strstr(reply->str, "run_id:") : NULL;
  if (at) snprintf(ret, size, "%.*s", (int)strcspn(at, "\r\n"), at);
  freeReplyObject(reply);
  return at ? 0 : lb_fail(cluster->env, -EPROTO, "%s does not tell its run_id", cluster->server[index].name);
}

/* "id=7 addr=10.0.0.9:40112 ... name=x ... flags=N ...": replicas and their master have flags of their own, Sentinels
 * have names. */
int lb_redis_others(struct lb_cluster *cluster, size_t index, lb_ns deadline, size_t *ret) {
  redisReply *reply = LB_REDIS_ASK(cluster, index, deadline, "CLIENT", "LIST");
  if (!reply) return -EIO;
  size_t clients = 0;
  for (char *rest = reply->str, *line; (line = strsep(&rest, "\n"));) {
    const char *flags = strstr(line, " flags=");
    bool of_server = flags && strcspn(flags + 7, "SM ") < strcspn(flags + 7, " ");
    clients += flags && !of_server && !strstr(line, " name=sentinel-");
  }
  freeReplyObject(reply);
  *ret = clients > 0 ? clients - 1 : 0;
  return clients > 0 ? 0 : lb_fail(cluster->env, -EPROTO, "unexpected answer to CLIENT LIST");
}

/* TIME answers two texts: seconds since 1970, and microseconds beside them. */
int lb_redis_wall_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  redisReply *reply = LB_REDIS_ASK(cluster, index, deadline, "TIME");
  if (!reply) return -EIO;
  bool good =
      reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 && reply->element[0]->str && reply->element[1]->str;
  if (good) *ret_ms = atoll(reply->element[0]->str) * 1000 + atoll(reply->element[1]->str) / 1000;
  freeReplyObject(reply);
  return good ? 0 : lb_fail(cluster->env, -EPROTO, "%s: unexpected answer to TIME", cluster->server[index].name);
}

/* "used_memory:1031240" in a line of INFO. */
static int ask_number(struct lb_cluster *cluster, size_t index, const char *section, const char *field, lb_ns deadline,
                      uint64_t *ret) {
  redisReply *reply = LB_REDIS_ASK(cluster, index, deadline, "INFO", section);
  if (!reply) return -EIO;
  const char *at = reply->str ? strstr(reply->str, field) : NULL;
  if (at) *ret = strtoull(at + strlen(field), NULL, 10);
  freeReplyObject(reply);
  return at ? 0 : lb_fail(cluster->env, -EPROTO, "%s: unexpected answer to INFO", cluster->server[index].name);
}

/* A key that is set or deleted is one change each. */
int lb_redis_commits(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret) {
  return ask_number(cluster, index, "persistence", "rdb_changes_since_last_save:", deadline, ret);
}

/* Its count of commands would be of those that scripts call, too. */
int lb_redis_requests(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret) {
  return ask_number(cluster, index, "stats", "total_reads_processed:", deadline, ret);
}

/* Valkey names a Redis too, whose clients it serves. */
int lb_redis_stated(struct lb_cluster *cluster, size_t index, lb_ns deadline, char ret[LB_STATED_MAX]) {
  redisReply *reply = LB_REDIS_ASK(cluster, index, deadline, "INFO", "server");
  if (!reply) return -EIO;
  const char *at = reply->str ? strstr(reply->str, "valkey_version:") : NULL;
  if (!at && reply->str) at = strstr(reply->str, "redis_version:");
  at = at ? strchr(at, ':') + 1 : "";
  snprintf(ret, LB_STATED_MAX, "%.*s", (int)strspn(at, "0123456789."), at);
  freeReplyObject(reply);
  return 0;
}

int lb_redis_version(const struct lb_origin *origin, char *buf, size_t size) {
  char said[300];
  int r = lb_binary_output(origin, (const char *const[]){LB_NEED_REDIS, "--version", NULL}, "redis-server", said,
                           sizeof said);
  if (r < 0) return r;
  const char *v = strstr(said, "v=");
  if (!v) return -EPROTO;
  snprintf(buf, size, "%s %.*s", strncmp(said, "Valkey", 6) == 0 ? "valkey" : "redis", (int)strcspn(v + 2, " \n"),
           v + 2);
  return 0;
}

const struct lb_ending lb_redis_ending = {.signal = SIGTERM, .says = "bye bye"};

/* ---- whether one follows another and has all that this one has: the one that is followed is asked first --- */

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
  const char *offset =
      reply->str ? strstr(reply->str, replica ? "\nslave_repl_offset:" : "\nmaster_repl_offset:") : NULL;
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
    return lb_fail(cluster->env, -EAGAIN, "%s is %lld bytes behind %s", cluster->server[index].name,
                   followed.offset - own.offset, cluster->server[leader].name);
  return 0;
}

/* ---- what an operator orders: to close the connections of a client, and to save what it has ------ */

enum { CONNECTIONS_MAX = 16, POLL_MS = 5, LAST_MS = 1000 /* for the last answer behind the deadline */ };

struct connections {
  unsigned long long id[CONNECTIONS_MAX];
  size_t count;
};

/* "id=7 addr=10.0.0.3:41234 ..." in a line each. */
static int connections(struct lb_cluster *cluster, size_t index, const char *client, lb_ns deadline,
                       struct connections *ret) {
  redisReply *reply = LB_REDIS_ASK(cluster, index, deadline, "CLIENT", "LIST");
  char begin[80];
  if (!reply) return -EIO;
  snprintf(begin, sizeof begin, " addr=%s:", client);
  ret->count = 0;
  for (const char *line = reply->str; line && *line && ret->count < CONNECTIONS_MAX;
       line += strcspn(line, "\n"), line += *line == '\n') {
    const char *at = strstr(line, begin);
    if (at && at < line + strcspn(line, "\n") && sscanf(line, "id=%llu", &ret->id[ret->count]) == 1) ret->count++;
  }
  freeReplyObject(reply);
  return 0;
}

static bool has(const struct connections *connections, unsigned long long id) {
  for (size_t i = 0; i < connections->count; i++)
    if (connections->id[i] == id) return true;
  return false;
}

/* Those of `had` that are there still are told to go. How many. */
static size_t kill_again(struct lb_cluster *cluster, size_t index, const struct connections *had,
                         const struct connections *now, lb_ns deadline) {
  char number[24];
  size_t left = 0;
  for (size_t i = 0; i < had->count; i++) {
    if (!has(now, had->id[i])) continue;
    left++;
    snprintf(number, sizeof number, "%llu", had->id[i]);
    LB_REDIS_EXPECT(cluster, index, deadline, NULL, "not killed", "CLIENT", "KILL", "ID", number);
  }
  return left;
}

/* On a busy machine a question may come to nothing, so it is asked again. A connection that the client makes meanwhile
 * is another one. */
int lb_redis_end_session(struct lb_cluster *cluster, size_t index, const char *client, uint64_t id, lb_ns deadline,
                         struct lb_text *said) {
  struct connections had = {.count = 0}, now;
  const char *name = cluster->server[index].name;
  bool known = false;
  (void)id;
  for (; lb_now(cluster->env) < deadline; lb_sleep_until(cluster->env, lb_now(cluster->env) + POLL_MS * LB_NS_PER_MS)) {
    if (connections(cluster, index, client, deadline, &now) < 0) continue;
    if (!known) had = now, known = true;
    if (had.count == 0) return lb_fail(cluster->env, -ENOENT, "%s has no connection of that client", name);
    if (kill_again(cluster, index, &had, &now, deadline) == 0)
      return lb_text_add(said, "has closed %zu connection%s", had.count, had.count == 1 ? "" : "s"), 0;
  }
  return lb_fail(cluster->env, -ETIMEDOUT,
                 known ? "%s still has a connection of that client" : "%s does not list its connections", name);
}

/* A server with an append-only file also has a dump if it was a replica: the one that its primary sent. Before 7.0 the
 * append-only file is a single one. */
const char *const lb_redis_files[] = {"dump.rdb", "appendonlydir", "appendonly.aof", NULL};

int lb_redis_save(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return LB_REDIS_EXPECT(cluster, index, deadline, NULL, "not saved", "SAVE");
}

/* ---- its memory, filled -----------------------------------------------------------------------
 *
 * It may use a little more than it does, and is given keys of ours until it shows what it does then. The keys have an
 * end far away, so that they count among those with one, as locks do. */

enum {
  ROOM_BYTES = 1 << 20,
  FILLER_BYTES = 16 << 10,
  FILLERS_MAX = 4000,
  LOOK_EVERY = 25,
  EVICTED_ENOUGH = 400,
  AT_ONCE = 100
};
#define FILLER "lockbench:filler:%d"

static int set(struct lb_cluster *cluster, size_t index, lb_ns deadline, const char *what, const char *value) {
  return LB_REDIS_EXPECT(cluster, index, deadline, NULL, "no", "CONFIG", "SET", what, value);
}

static bool says_full(const struct lb_cluster *cluster) { return strstr(cluster->env->err, "OOM") != NULL; }

static int write_filler(struct lb_cluster *cluster, size_t index, lb_ns deadline, int number) {
  static char value[FILLER_BYTES + 1];
  char name[40];
  memset(value, 'x', FILLER_BYTES);
  snprintf(name, sizeof name, FILLER, number);
  return LB_REDIS_EXPECT(cluster, index, deadline, NULL, "not written", "SET", name, value, "PX", "3600000");
}

/* Which key goes next is drawn from a few that are looked at, so it goes on for a while. */
int lb_redis_fill_memory(struct lb_cluster *cluster, size_t index, const char *policy, lb_ns deadline, char *said,
                         size_t size) {
  uint64_t used = 0, before = 0, evicted = 0;
  char limit[24];
  int r = ask_number(cluster, index, "memory", "\nused_memory:", deadline, &used);
  if (r == 0) r = ask_number(cluster, index, "stats", "\nevicted_keys:", deadline, &before);
  snprintf(limit, sizeof limit, "%llu", (unsigned long long)used + ROOM_BYTES);
  if (r == 0) r = set(cluster, index, deadline, "maxmemory-policy", policy);
  if (r == 0) r = set(cluster, index, deadline, "maxmemory", limit);
  for (int i = 0; r == 0 && i < FILLERS_MAX && evicted < EVICTED_ENOUGH; i++) {
    r = write_filler(cluster, index, deadline, i);
    if (r < 0 && says_full(cluster)) return snprintf(said, size, "refuses to write: OOM"), 0;
    if (r == 0 && i % LOOK_EVERY == 0)
      r = ask_number(cluster, index, "stats", "\nevicted_keys:", deadline, &evicted), evicted -= before;
  }
  if (r < 0) return r;
  if (evicted == 0)
    return lb_fail(cluster->env, -EIO, "%s has given up no key and refused nothing", cluster->server[index].name);
  snprintf(said, size, "has given up %llu keys", (unsigned long long)evicted);
  return 0;
}

int lb_redis_free_memory(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  char name[AT_ONCE][40];
  const char *argv[AT_ONCE + 2] = {"DEL"};
  int r = set(cluster, index, deadline, "maxmemory", "0");
  if (r == 0) r = set(cluster, index, deadline, "maxmemory-policy", "noeviction");
  for (int i = 0; r == 0 && i < FILLERS_MAX; i += AT_ONCE) {
    for (int k = 0; k < AT_ONCE; k++) snprintf(name[k], sizeof name[k], FILLER, i + k), argv[k + 1] = name[k];
    r = lb_redis_expect(cluster, index, deadline, argv, NULL, "not deleted");
  }
  return r < 0 ? r
         : write_filler(cluster, index, deadline, 0) < 0
             ? -EIO
             : LB_REDIS_EXPECT(cluster, index, deadline, NULL, "not deleted", "DEL", "lockbench:filler:0");
}
