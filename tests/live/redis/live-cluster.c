/* test: alone */
/* SPDX-License-Identifier: MIT
 *
 * A session with a real Redis Cluster: it finds the master of each key, follows a slot that is moved and a replica that
 * is elected, and says so when nobody decides. What test-redis-slots says with answers that the test made up is said
 * here with those that Redis gives.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/redis/redis_record.h"
#include "backends/redis/redis_session.h"
#include "base/clock.h"
#include "base/files.h"
#include "client/env.h"
#include "redis_server.h"
#include "servers/cluster.h"

#define START_S 30
#define KEY "run-probe" /* node 1 is its master at first */
#define A "run-{moved}a"
#define B "run-{moved}b"

static struct lb_process_env env;
static struct lb_host here = {.name = "here", .address = "127.0.0.1", .netns = -1};
static struct lb_cluster cluster;
static struct lb_target target;
static struct redis_session session;
static char folder[] = "/tmp/live-cluster-XXXXXX";
static int points, failures;

__attribute__((format(printf, 2, 3))) static bool check(bool good, const char *format, ...) {
  va_list args;
  printf("%sok %d - ", good ? "" : "not ", ++points);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  putchar('\n');
  fflush(stdout);
  failures += !good;
  return good;
}

static lb_ns in_ms(int64_t ms) { return lb_clock_ns() + (lb_ns)ms * LB_NS_PER_MS; }

/* ---- orders to single servers ----------------------------------------------------------------------------- */

/* What a server answers to an order, as text; "" = nothing. */
static const char *says(int server, const char *format, ...) __attribute__((format(printf, 2, 3)));
static const char *says(int server, const char *format, ...) {
  static char said[4][200];
  static unsigned next;
  char *ret = said[next++ % 4];
  redisContext *c = redisConnectWithTimeout("127.0.0.1", cluster.server[server].port, (struct timeval){1, 0});
  va_list args;
  va_start(args, format);
  redisReply *reply = c && !c->err ? redisvCommand(c, format, args) : NULL;
  va_end(args);
  if (reply && reply->type == REDIS_REPLY_INTEGER) snprintf(ret, sizeof *said, "%lld", reply->integer);
  else snprintf(ret, sizeof *said, "%s", reply && reply->str ? reply->str : "");
  if (reply) freeReplyObject(reply);
  if (c) redisFree(c);
  return ret;
}

static bool is(const char *said, const char *expected) { return strcmp(said, expected) == 0; }

static int has(int server, const char *key) {
  return redis_record_inspect(&env.base, &target, (size_t)server, key, in_ms(1000));
}

/* ---- requests --------------------------------------------------------------------------------------------- */

/* The integer that was answered, or what went wrong: below -1000 an error. */
static long long ask(const struct redis_command *command, bool once) {
  struct redis_request request = {.command = *command};
  int rc =
      once ? redis_session_once(&session, &request, in_ms(1000)) : redis_session_ask(&session, &request, in_ms(1000));
  long long n = rc ? -2000 + rc : request.reply->type == REDIS_REPLY_INTEGER ? request.reply->integer : -1;
  freeReplyObject(request.reply);
  return n;
}

static long long setnx(const char *key) { return ask(&(struct redis_command){.argv = {"SETNX", key, "token"}}, true); }
static long long exists(const char *key) { return ask(&(struct redis_command){.argv = {"EXISTS", key}}, false); }

/* ---- what is claimed -------------------------------------------------------------------------------------- */

static void each_key_has_its_master(void) {
  unsigned used = 0;
  bool set = true, there = true;
  for (int i = 0; i < 30; i++) {
    char key[32];
    snprintf(key, sizeof key, "run-%d", i);
    set &= setnx(key) == 1 && setnx(key) == 0;
    int server = redis_session_server(&session);
    there &= server >= 0 && server < 3 && has(server, key) == 1;
    if (server >= 0) used |= 1u << server;
  }
  check(set, "thirty keys can be set, once each");
  check(there, "each is on the server that answered");
  check(used == 7, "all three masters have some of them");
  check(session.losses == 0, "and no connection was given up for that");
  setnx(KEY);
  check(redis_session_server(&session) == 0, "the key of the trial is on the first server");
}

static void a_key_is_counted_where_it_is(void) {
  struct redis_command numbered = {&redis_script_set_numbered, {"run-numbered", "token", "60000"}};
  check(ask(&numbered, true) == 1, "a key and its counter are set by one script");
  int server = redis_session_server(&session);
  check(server >= 0 && has(server, "{run-numbered}.fence") == 1, "the counter is on the same server");
}

/* The slot of A and B goes from one master to the next; A is there before. */
static void a_slot_is_moved(void) {
  char id[2][64];
  unsigned slot = redis_link_slot(A);
  check(setnx(A) == 1, "a key is set in a slot that is about to be moved");
  int from = redis_session_server(&session), to = (from + 1) % 3;
  if (from < 0) return;
  snprintf(id[0], sizeof id[0], "%s", says(from, "CLUSTER MYID"));
  snprintf(id[1], sizeof id[1], "%s", says(to, "CLUSTER MYID"));
  bool moving = is(says(to, "CLUSTER SETSLOT %u IMPORTING %s", slot, id[0]), "OK") &&
                is(says(from, "CLUSTER SETSLOT %u MIGRATING %s", slot, id[1]), "OK");
  check(moving, "slot %u is being moved", slot);
  check(exists(A) == 1 && redis_session_server(&session) == from,
        "what has not been moved is asked for at the old master");
  check(setnx(B) == 1 && redis_session_server(&session) == to, "what was not there is set at the new one");
  check(has(to, B) == 1 && has(from, B) == 0, "and is there alone");
  check(ask(&(struct redis_command){&redis_script_expire_if_mine, {B, "token", "60000"}}, false) == 1,
        "a script follows it");
  check(setnx(A) == 0 && redis_session_server(&session) == from, "that was for each one request");
  check(ask(&(struct redis_command){.argv = {"DEL", A}}, false) == 1, "the old key is deleted");
  bool moved = is(says(to, "CLUSTER SETSLOT %u NODE %s", slot, id[1]), "OK") &&
               is(says(from, "CLUSTER SETSLOT %u NODE %s", slot, id[1]), "OK");
  check(moved, "slot %u has been moved", slot);
  check(setnx(A) == 1 && redis_session_server(&session) == to, "a session that does not know yet is sent there");
  check(session.losses == 0, "and none of its connections was lost");
}

/* Two of three masters stand still: the third one misses most of them. */
static void without_a_majority_nobody_decides(void) {
  long long n;
  lb_ns deadline = in_ms(5000);
  for (int i = 1; i < 3; i++) lb_proc_signal(&cluster.server[i].proc, SIGSTOP);
  while ((n = setnx("run-{" KEY "}down")) >= 0 && lb_clock_ns() < deadline) {
    ask(&(struct redis_command){.argv = {"DEL", "run-{" KEY "}down"}}, false);
    lb_clock_sleep_until(in_ms(20));
  }
  check(n == -2000 - EAGAIN, "a master that misses the others refuses: %s", env.base.err);
  check(redis_session_server(&session) == 0, "and it can be told who refused");
  check(has(0, KEY) == 1, "it can be looked through all the same");
  for (int i = 1; i < 3; i++) lb_proc_signal(&cluster.server[i].proc, SIGCONT);
  deadline = in_ms(10000);
  while ((n = setnx("run-{" KEY "}up")) < 0 && lb_clock_ns() < deadline) lb_clock_sleep_until(in_ms(20));
  check(n == 1, "when they go on it serves again");
}

static void nothing_is_left_after_teardown(void) {
  check(redis_session_teardown(&session, in_ms(5000)) == 0, "teardown succeeds %s", env.base.err);
  bool empty = true;
  for (int i = 0; i < 3; i++) empty &= is(says(i, "DBSIZE"), "0");
  check(empty, "no master has a key any more");
}

static void an_elected_replica_is_found(void) {
  long long n;
  lb_ns begin = lb_clock_ns(), deadline = in_ms(15000);
  check(setnx(KEY) == 1 && redis_session_server(&session) == 0, "the key is set");
  lb_proc_kill(&cluster.server[0].proc);
  while ((n = setnx("run-{" KEY "}later")) < 0 && lb_clock_ns() < deadline) lb_clock_sleep_until(in_ms(5));
  check(n == 1, "after %.0f ms another server decides", (double)(lb_clock_ns() - begin) / 1e6);
  check(redis_session_server(&session) == 3, "the replica of the one that died");
  check(lb_cluster_primary(&cluster, in_ms(1000)) == 3, "which the servers say, too");
}

/* ---- a place to run --------------------------------------------------------------------------------------- */

static int start(void) {
  lb_cluster_init(&cluster, lb_topology_find("cluster"), &env.base);
  cluster.ttl_ms = 2000;
  cluster.key = KEY;
  if (!mkdtemp(folder) || chmod(folder, 0755) < 0) return -errno; /* for who drops to nobody */
  for (size_t i = 0; i < cluster.server_count; i++) {
    struct lb_server *s = &cluster.server[i];
    s->host = &here;
    s->port = redis_free_port();
    s->extra_port[0] = redis_free_port();
    snprintf(s->dir, sizeof s->dir, "%s/%s", folder, s->name);
    snprintf(s->log, sizeof s->log, "%s/%s.log", folder, s->name);
    if (mkdir(s->dir, 0755) < 0) return -errno;
  }
  return lb_cluster_start(&cluster, in_ms(START_S * 1000));
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  const char *missing = lb_topology_missing(lb_topology_find("cluster"));
  if (missing) return printf("1..0 # SKIP %s is not installed\n", missing), 0;
  lb_env_init(&env, lb_clock_ns() ^ (uint64_t)getpid() << 32);
  int r = start();
  if (check(r == 0, "a cluster starts %s", r ? cluster.err.text : "")) {
    lb_cluster_target(&cluster, &target);
    r = redis_session_open(&session, &(struct lb_config){.env = &env.base, .target = &target, .prefix = "run"});
    check(r == 0, "a session opens");
    each_key_has_its_master();
    a_key_is_counted_where_it_is();
    a_slot_is_moved();
    without_a_majority_nobody_decides();
    nothing_is_left_after_teardown();
    an_elected_replica_is_found();
    redis_session_close(&session);
  }
  lb_cluster_stop(&cluster);
  if (failures) printf("# logs are kept in %s\n", folder);
  else lb_files_remove_tree(folder);
  printf("1..%d\n", points);
  return failures > 0;
}
