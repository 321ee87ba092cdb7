/* test: alone */
/* SPDX-License-Identifier: MIT
 *
 * Servers whose clocks can be set: each says what we made it believe, acts on it, and believes the truth again
 * afterwards.
 *
 * Usage: live-clock [--sandboxed] [TOPOLOGY...]    (TAP; see live-topology.c)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/env.h"
#include "base/files.h"
#include "preload/skew.h"
#include "servers/cluster.h"

#define LOOPBACK "127.0.0.1"
#define START_S 30
#define TOLERANCE_MS 1000
#define JUMP_MS 31000

static struct lb_process_env env;
static struct lb_host here = {.name = "here", .address = LOOPBACK, .netns = -1};
static struct lb_cluster cluster;
static char folder[64];
static int points, failures;

__attribute__((format(printf, 2, 3))) static bool check(bool good, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  printf("%sok %d - %s: %s\n", good ? "" : "not ", ++points, cluster.topology->name, text);
  fflush(stdout);
  failures += !good;
  return good;
}

static lb_ns in_ms(unsigned ms) { return lb_clock_ns() + ms * LB_NS_PER_MS; }

/* ---- a place to run ---------------------------------------------------------------------------------------------- */

/* Held until all are drawn, so that no two are the same. */
static int take_port(uint16_t *ret) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  for (;;) { /* below the range the kernel gives to connections */
    *ret = (uint16_t)(12000 + lb_rng_below(&env.rng, 20000));
    at.sin_port = htons(*ret);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) == 0) return fd;
  }
}

/* The folder's name has a blank and a colon in it, which would end a name in LD_PRELOAD. */
static bool place(const struct lb_topology *topology, const char *cache) {
  int port[LB_SERVERS_MAX * 3], ports = 0;
  const char *blank = strcmp(topology->family->service, "redis") == 0 ? "with a: blank" : "plain";
  snprintf(folder, sizeof folder, "/tmp/live-clock-XXXXXX");
  lb_cluster_init(&cluster, topology, &env.base);
  cluster.cache_dir = cache;
  cluster.ttl_ms = 2000;
  cluster.key = "probe";
  cluster.durable = lb_topology_on_disk(topology, true);
  if (!mkdtemp(folder) || chmod(folder, 0755) < 0) return false;
  for (size_t i = 0; i < cluster.server_count; i++) {
    struct lb_server *s = &cluster.server[i];
    s->host = &here;
    port[ports++] = take_port(&s->port);
    port[ports++] = take_port(&s->extra_port[0]);
    port[ports++] = take_port(&s->extra_port[1]);
    snprintf(s->dir, sizeof s->dir, "%s/%s %s", folder, s->name, blank);
    snprintf(s->log, sizeof s->log, "%s/%s.log", folder, s->name);
    if (mkdir(s->dir, 0755) < 0) return false;
  }
  while (ports > 0) close(port[--ports]);
  return true;
}

/* ---- what a server says ------------------------------------------------------------------------------------------ */

static bool says(size_t server, int64_t offset_ms, const char *when) {
  int64_t told = 0, before = lb_clock_wall_ms();
  int r = lb_cluster_wall_ms(&cluster, server, in_ms(2000), &told);
  if (r < 0) return check(false, "%s %s: %s", cluster.server[server].name, when, env.base.err);
  int64_t off = told - (before + lb_clock_wall_ms()) / 2 - offset_ms;
  return check(llabs(off) <= TOLERANCE_MS, "%s is %+lld s off %s: %+lld ms", cluster.server[server].name,
               (long long)offset_ms / 1000, when, (long long)off);
}

static long long redis_says(const struct lb_server *s, const char *command) {
  redisContext *c = redisConnectWithTimeout(LOOPBACK, s->port, (struct timeval){1, 0});
  redisReply *reply = c && !c->err ? redisCommand(c, command) : NULL;
  long long n = reply && reply->type == REDIS_REPLY_INTEGER  ? reply->integer
                : reply && reply->type == REDIS_REPLY_STATUS ? 1
                                                             : -99;
  if (reply) freeReplyObject(reply);
  if (c) redisFree(c);
  return n;
}

/* A key for 30 s is gone when the wall clock has moved by 31, and not before. */
static void a_key_ends_with_the_wall_clock(size_t server) {
  const struct lb_server *s = &cluster.server[server];
  bool set = redis_says(s, "SET probe 1") == 1 && redis_says(s, "PEXPIRE probe 30000") == 1;
  long long left = redis_says(s, "PTTL probe");
  check(set && left > 25000 && left <= 30000, "a key has 30 s to live: pttl=%lld", left);
  lb_skew_jump(s->skew, false, JUMP_MS * (int64_t)LB_NS_PER_MS);
  left = redis_says(s, "PTTL probe");
  check(left == -2, "after +31 s it is gone: pttl=%lld", left);
  lb_skew_reset(s->skew);
}

/* Who can be asked for its monotonic clock shows a jump of it, and no jump where there was none; the others say that
 * they cannot. */
static void a_monotonic_jump_shows(size_t server) {
  const struct lb_server *s = &cluster.server[server];
  int64_t first = 0, before = 0, after = 0;
  if (!cluster.topology->family->mono_ms) {
    int r = lb_cluster_mono_ms(&cluster, server, in_ms(2000), &first);
    check(r == -EOPNOTSUPP && strstr(env.base.err, "tells its monotonic clock"), "%s: %s", s->name, env.base.err);
    return;
  }
  int r = lb_cluster_mono_ms(&cluster, server, in_ms(2000), &first);
  if (r == 0) r = lb_cluster_mono_ms(&cluster, server, in_ms(2000), &before);
  lb_skew_jump(s->skew, true, JUMP_MS * (int64_t)LB_NS_PER_MS);
  if (r == 0) r = lb_cluster_mono_ms(&cluster, server, in_ms(2000), &after);
  lb_skew_reset(s->skew);
  check(r == 0 && llabs(before - first) <= TOLERANCE_MS && llabs(after - before - JUMP_MS) <= TOLERANCE_MS,
        "%s shows a jump of its monotonic clock: %+lld ms without, %+lld ms with it %s", s->name,
        (long long)(before - first), (long long)(after - before), r ? env.base.err : "");
}

/* A JVM computes the end of each wait from its monotonic clock. If that deadline went to the kernel as it is, a leader
 * that was set forward would not ping its followers for as long, and they would leave it. */
static void a_leader_goes_on(size_t server) {
  lb_ns deadline = in_ms(4000);
  bool leads = true;
  lb_skew_jump(cluster.server[server].skew, true, JUMP_MS * (int64_t)LB_NS_PER_MS);
  while (leads && lb_clock_ns() < deadline) {
    leads = lb_cluster_primary(&cluster, in_ms(1000)) == (int)server;
    lb_clock_sleep_until(in_ms(20));
  }
  check(leads, "its monotonic clock set forward, %s leads on for 4 s", cluster.server[server].name);
  lb_skew_reset(cluster.server[server].skew);
}

/* ---- one topology ------------------------------------------------------------------------------------------------ */

/* Every server but the one that jumps stays on true time: clocks are of one host each. */
static void others_stay(size_t jumped) {
  for (size_t i = 0; i < cluster.server_count; i++)
    if (i != jumped) says(i, 0, "while another has jumped");
}

/* Its clocks are not in the process: they outlive it. */
static void a_restart_keeps_the_clock(size_t server) {
  lb_skew_jump(cluster.server[server].skew, false, -JUMP_MS * (int64_t)LB_NS_PER_MS);
  if (cluster.data_count == 1) {
    int r = lb_cluster_restart_many(&cluster, (size_t[]){server}, 1, in_ms(START_S * 1000));
    check(r == 0, "%s comes back %s", cluster.server[server].name, r ? cluster.err.text : "");
  }
  says(server, -JUMP_MS, "set back");
  lb_skew_reset(cluster.server[server].skew);
}

static void run(const struct lb_topology *topology, const char *cache) {
  int r = 0;
  if (!place(topology, cache)) {
    check(false, "a folder can be made: %s", strerror(errno));
    return;
  }
  for (size_t i = 0; i < cluster.server_count && r == 0; i++) r = lb_server_skew(&cluster, i);
  if (r == 0) r = lb_cluster_start(&cluster, in_ms(START_S * 1000));
  if (check(r == 0, "it starts with clocks of its own %s", r ? cluster.err.text : "")) {
    int p = lb_cluster_primary(&cluster, in_ms(2000));
    if (check(p >= 0, "there is a primary")) {
      size_t server = (size_t)p;
      for (size_t i = 0; i < cluster.server_count; i++) says(i, 0, "at first");
      lb_skew_jump(cluster.server[p].skew, false, JUMP_MS * (int64_t)LB_NS_PER_MS);
      says(server, JUMP_MS, "after a jump");
      others_stay(server);
      lb_skew_reset(cluster.server[p].skew);
      says(server, 0, "after a reset");
      if (strcmp(topology->family->service, "redis") == 0) a_key_ends_with_the_wall_clock(server);
      if (!lb_topology_majority(topology)) a_monotonic_jump_shows(server);
      if (strcmp(topology->family->service, "zookeeper") == 0 && lb_topology_majority(topology))
        a_leader_goes_on(server);
      a_restart_keeps_the_clock(server);
      says(server, 0, "in the end");
    }
  }
  int before = failures;
  lb_cluster_stop(&cluster);
  check(!cluster.server[0].skew, "stopped, it has no clocks");
  if (before) printf("# logs are kept in %s\n", folder);
  else lb_files_remove_tree(folder);
}

static void without_the_library(void) {
  cluster = (struct lb_cluster){.topology = lb_topology_find("redis"), .env = &env.base, .server_count = 1};
  setenv(LB_CLOCK_SHIM_VARIABLE, "/nowhere/" LB_CLOCK_SHIM, 1);
  check(lb_server_skew(&cluster, 0) == -ENOENT && strstr(cluster.err.text, LB_CLOCK_SHIM), "without the library: %s",
        cluster.err.text);
  unsetenv(LB_CLOCK_SHIM_VARIABLE);
}

static bool chosen(const char *name, int argc, char **argv, int first) {
  static const char *const usual[] = {"redis", "sentinel", "pg", "zk", "zk-x3", NULL};
  for (int i = first; i < argc; i++)
    if (strcmp(argv[i], name) == 0) return true;
  for (size_t i = 0; first >= argc && usual[i]; i++)
    if (strcmp(usual[i], name) == 0) return true;
  return false;
}

int main(int argc, char **argv) {
  char cache[] = "/tmp/live-clock-cache-XXXXXX";
  int first = 1;
  signal(SIGPIPE, SIG_IGN);
  if (argc > 1 && strcmp(argv[1], "--sandboxed") == 0) {
    lb_proc_sandboxed = true;
    first++;
  }
  if (!lb_shim_path(LB_SHIM_CLOCK)) return puts("1..0 # SKIP no " LB_CLOCK_SHIM), 0;
  if (!mkdtemp(cache) || chmod(cache, 0755) < 0) return perror(cache), 1;
  lb_env_init(&env, lb_clock_ns() ^ (uint64_t)getpid() << 32);
  const struct lb_topology *topology;
  for (size_t i = 0; (topology = lb_topology_at(i)); i++) {
    const char *name = topology->name, *missing = lb_topology_missing(topology);
    if (!chosen(name, argc, argv, first)) continue;
    if (missing) printf("ok %d - %s # SKIP %s is not installed\n", ++points, name, missing);
    else run(topology, cache);
  }
  without_the_library();
  lb_files_remove_tree(cache);
  printf("1..%d\n", points);
  return failures > 0;
}
