/* SPDX-License-Identifier: MIT
 *
 * ZooKeeper: one server, or an ensemble.
 *
 * Servers are asked with the four-letter word `srvr` on a plain connection: it needs no session, so asking changes
 * nothing, and a server that has lost its quorum says so instead of answering.
 *
 * A tick of 200 ms makes the ensemble notice a cut-off member within SYNC_TICKS of them instead of after ten seconds.
 * It is not shorter than that because a follower that was not scheduled for so long on a busy machine would be taken
 * for dead.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "family_util.h"

#define TICK_MS 200
#define INIT_TICKS 50
#define SYNC_TICKS 8
#define LOG_TAIL 32768
#define JARS "/usr/share/java/"
#define NEED_JAVA "java or $JAVA_HOME/bin/java or /usr/lib/jvm/*/bin/java"

/* Java first, then the class path. */
static const char *const needs[] = {
    NEED_JAVA,
    JARS "zookeeper.jar",
    JARS "zookeeper-jute.jar",
    JARS "slf4j-api.jar",
    JARS "slf4j-simple.jar",
    JARS "netty-all.jar",
    JARS "snappy-java.jar",
    JARS "metrics-core.jar",
    NULL,
};

/* ---- asking --------------------------------------------------------------------------------------------------- */

static int no_answer(struct lb_cluster *cluster, const struct lb_server *server, int r) {
  return lb_fail(cluster->env, r, "%s: no answer: %s", server->name, strerror(-r));
}

static int connect_to(struct lb_env *env, const struct lb_server *server, int fd, lb_ns deadline) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(server->port)};
  int error = 0;
  socklen_t size = sizeof error;
  if (inet_pton(AF_INET, server->host->address, &to.sin_addr) != 1) return -EINVAL;
  if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return 0;
  if (errno != EINPROGRESS) return -errno;
  int ready = lb_wait_fd(env, fd, POLLOUT, deadline);
  if (ready <= 0) return ready < 0 ? ready : -ETIMEDOUT;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0) return -errno;
  return -error;
}

/* Everything up to the end of file, which is where a four-letter answer ends. */
static int read_all(struct lb_env *env, int fd, char *buf, size_t size, lb_ns deadline) {
  size_t len = 0;
  while (len + 1 < size) {
    int ready = lb_wait_fd(env, fd, POLLIN, deadline);
    if (ready <= 0) return ready < 0 ? ready : -ETIMEDOUT;
    ssize_t n = recv(fd, buf + len, size - 1 - len, 0);
    if (n < 0 && errno == EAGAIN) continue;
    if (n < 0) return -errno;
    if (n == 0) break;
    len += (size_t)n;
  }
  buf[len] = '\0';
  return 0;
}

static uint16_t local_port(int fd) {
  struct sockaddr_in at = {0};
  socklen_t size = sizeof at;
  return getsockname(fd, (struct sockaddr *)&at, &size) == 0 ? ntohs(at.sin_port) : 0;
}

/* The answer to a word; ret_port (may be NULL) = where it was asked from. */
static int four_letters(struct lb_cluster *cluster, size_t index, const char *word, char *buf, size_t size,
                        lb_ns deadline, uint16_t *ret_port) {
  const struct lb_server *server = &cluster->server[index];
  deadline = lb_ask_until(cluster->env, deadline);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int r = fd < 0 ? -errno : connect_to(cluster->env, server, fd, deadline);
  if (r == 0 && ret_port) *ret_port = local_port(fd);
  if (r == 0 && send(fd, word, strlen(word), MSG_NOSIGNAL) < 0) r = -errno;
  if (r == 0) r = read_all(cluster->env, fd, buf, size, deadline);
  if (fd >= 0) close(fd);
  return r < 0 ? no_answer(cluster, server, r) : 0;
}

/* What it is now ("leader", "follower", "standalone") and its epoch, which each election raises: the upper half of the
 * zxid. */
static int ask_mode(struct lb_cluster *cluster, size_t index, lb_ns deadline, char mode[16], unsigned *ret_epoch) {
  char said[1024];
  int r = four_letters(cluster, index, "srvr", said, sizeof said, deadline, NULL);
  if (r < 0) return r;
  const char *m = strstr(said, "Mode: "), *z = strstr(said, "Zxid: 0x");
  if (!m || !z || sscanf(m, "Mode: %15s", mode) != 1)
    return lb_fail(cluster->env, -EAGAIN, "%s: %.*s", cluster->server[index].name, (int)strcspn(said, "\n"), said);
  *ret_epoch = (unsigned)(strtoull(z + 6, NULL, 16) >> 32);
  return 0;
}

static int answers(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  char mode[16];
  unsigned epoch;
  return ask_mode(cluster, index, deadline, mode, &epoch);
}

/* ---- its time --------------------------------------------------------------------------------------------------- */

/* "2024-05-01 12:34:56.789+0200 ..." as ms since 1970; -1 = it does not begin so. */
static int64_t read_stamp(const char *line) {
  struct tm tm = {0};
  int ms, zone;
  char sign;
  const char *rest = strptime(line, "%Y-%m-%d %H:%M:%S", &tm);
  if (!rest || sscanf(rest, ".%3d%c%4d", &ms, &sign, &zone) != 3) return -1;
  int64_t east_s = (zone / 100 * 60 + zone % 100) * 60 * (sign == '-' ? -1 : 1);
  return ((int64_t)timegm(&tm) - east_s) * 1000 + ms;
}

/* The time on the last line of the log with this text and this end; -1 = there is none near the end of the log. */
static int64_t logged_at(const struct lb_server *server, const char *text, const char *end) {
  char line[400];
  int64_t when = -1;
  FILE *in = fopen(server->log, "re");
  if (!in) return -1;
  if (fseek(in, -LOG_TAIL, SEEK_END) < 0) rewind(in);
  while (fgets(line, sizeof line, in))
    if (strstr(line, text) && strstr(line, end)) when = read_stamp(line);
  fclose(in);
  return when;
}

/* No command tells a server's time: a node's times are the leader's. But the server logs every word it is asked, with its own time and
 * the port of who asks, before it answers; and it answers this word also when it has lost its quorum. */
static int wall_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  const struct lb_server *server = &cluster->server[index];
  char said[100], asked[16];
  uint16_t port = 0;
  int r = four_letters(cluster, index, "ruok", said, sizeof said, deadline, &port);
  if (r < 0) return r;
  snprintf(asked, sizeof asked, ":%u\n", (unsigned)port);
  *ret_ms = logged_at(server, "ruok command from", asked);
  return *ret_ms < 0 ? lb_fail(cluster->env, -EPROTO, "%s: its log does not say when it was asked", server->name) : 0;
}

/* It counts its uptime on its monotonic clock (ServerStats.getUptime), from when it last began to serve. */
static int mono_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  char said[32768];
  long long uptime_ms;
  int r = four_letters(cluster, index, "mntr", said, sizeof said, deadline, NULL);
  if (r < 0) return r;
  const char *line = strstr(said, "zk_uptime");
  if (!line || sscanf(line, "zk_uptime %lld", &uptime_ms) != 1)
    return lb_fail(cluster->env, -EAGAIN, "%s: %.*s", cluster->server[index].name, (int)strcspn(said, "\n"), said);
  *ret_ms = uptime_ms;
  return 0;
}

/* ---- starting ------------------------------------------------------------------------------------------------- */

static int configure(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  int64_t max_session_ms = cluster->ttl_ms > 60000 ? cluster->ttl_ms : 60000;
  int r = lb_server_write(cluster, server, false, "zoo.cfg",
                          "tickTime=%d\ninitLimit=%d\nsyncLimit=%d\n"
                          "dataDir=%s\nclientPort=%u\nclientPortAddress=%s\n"
                          "minSessionTimeout=%d\nmaxSessionTimeout=%lld\n"
                          "maxClientCnxns=0\nadmin.enableServer=false\n4lw.commands.whitelist=*\n",
                          TICK_MS, INIT_TICKS, SYNC_TICKS, server->dir, (unsigned)server->port, server->host->address,
                          2 * TICK_MS, (long long)max_session_ms);
  for (size_t i = 0; i < cluster->server_count && cluster->server_count > 1 && r == 0; i++) {
    const struct lb_server *s = &cluster->server[i];
    r = lb_server_write(cluster, server, true, "zoo.cfg", "server.%zu=%s:%u:%u\n", i + 1, s->host->address,
                        (unsigned)s->extra_port[0], (unsigned)s->extra_port[1]);
  }
  if (r == 0) r = lb_server_write(cluster, server, true, "zoo.cfg", "%s", cluster->topology->settings ? cluster->topology->settings : "");
  return r < 0 ? r : lb_server_write(cluster, server, false, "myid", "%zu\n", index + 1);
}

static void class_path(char *buf, size_t size) {
  size_t len = 0;
  buf[0] = '\0';
  for (size_t i = 1; needs[i] && len < size; i++)
    len += (size_t)snprintf(buf + len, size - len, "%s%s", i > 1 ? ":" : "", needs[i]);
}

static int launch(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  char *java = lb_need_path(NEED_JAVA), path[1000], config[300], tmp[300];
  if (!java) return lb_cluster_fail(cluster, -ENOENT, "%s: java is not installed", server->name);
  class_path(path, sizeof path);
  snprintf(config, sizeof config, "%s/zoo.cfg", server->dir);
  snprintf(tmp, sizeof tmp, "-Djava.io.tmpdir=%s", server->dir);
  const char *const argv[] = {
      java,
      "-Xmx256m",
      "-XX:+UseSerialGC",
      "-XX:TieredStopAtLevel=1",
      "-Xshare:auto",
      "-XX:-UsePerfData", /* its file would outlive a killed server, in /tmp */
      tmp,
      "-Djava.net.preferIPv4Stack=true",
      cluster->durable ? "-Dzookeeper.forceSync=yes" : "-Dzookeeper.forceSync=no",
      /* Both bounds are for members that are cut off: connecting to them must not hold up an election, and after the
       * cut is healed they must not wait for up to a minute before they ask again. */
      "-Dzookeeper.cnxTimeout=1000",
      "-Dzookeeper.fastleader.maxNotificationInterval=1000",
      "-Dorg.slf4j.simpleLogger.showDateTime=true",
      "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSSZ",
      "-cp",
      path,
      "org.apache.zookeeper.server.quorum.QuorumPeerMain",
      config,
      NULL,
  };
  int r = lb_server_start(cluster, server, argv, NULL, false);
  free(java);
  return r;
}

/* One leads and all others follow it, or the only one stands alone. */
static int ensemble_formed(struct lb_cluster *cluster, lb_ns deadline) {
  char mode[16];
  unsigned epoch;
  size_t decide = 0, follow = 0;
  for (size_t i = 0; i < cluster->server_count; i++) {
    int r = ask_mode(cluster, i, deadline, mode, &epoch);
    if (r < 0) return r;
    decide += strcmp(mode, "leader") == 0 || strcmp(mode, "standalone") == 0;
    follow += strcmp(mode, "follower") == 0;
  }
  if (decide == 1 && follow == cluster->server_count - 1) return 0;
  return lb_fail(cluster->env, -EAGAIN, "%zu leaders and %zu followers", decide, follow);
}

static int start(struct lb_cluster *cluster, lb_ns deadline) {
  int r = 0;
  for (size_t i = 0; i < cluster->server_count && r == 0; i++) r = configure(cluster, i);
  if (r == 0) r = lb_cluster_launch_all(cluster);
  return r < 0 ? r : lb_cluster_await(cluster, deadline, ensemble_formed, "one server leads and all others follow");
}

/* A leader that was cut off claims to lead until it has missed its followers for SYNC_TICKS: the later epoch is the
 * truth. */
static int primary(struct lb_cluster *cluster, lb_ns deadline) {
  char mode[16];
  unsigned epoch, best_epoch = 0;
  int best = -ENOENT;
  for (size_t i = 0; i < cluster->data_count; i++) {
    if (ask_mode(cluster, i, deadline, mode, &epoch) < 0) continue;
    if (strcmp(mode, "leader") != 0 && strcmp(mode, "standalone") != 0) continue;
    if (best >= 0 && epoch <= best_epoch) continue;
    best = (int)i;
    best_epoch = epoch;
  }
  return best;
}

/* From the class itself, because the jar's name need not tell; with it the machine it runs on, which its speed depends
 * on. */
static int version(char *buf, size_t size) {
  char *java = lb_need_path(NEED_JAVA), path[1000], said[2000], jvm[32] = "?", zk[32] = "?";
  if (!java) return -ENOENT;
  class_path(path, sizeof path);
  int r = lb_program_output((const char *const[]){java, "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-showversion",
                                                  "-cp", path, "org.apache.zookeeper.version.VersionInfoMain", NULL},
                            NULL, said, sizeof said);
  free(java);
  if (r < 0) return r;
  const char *v = strstr(said, " version \""), *z = strstr(said, "ZooKeeper, version ");
  if (v) sscanf(v, " version \"%31[^\"]", jvm);
  if (!z || sscanf(z, "ZooKeeper, version %31[^ ,\n]", zk) != 1) return -EPROTO;
  snprintf(buf, size, "zookeeper %s, java %s", zk, jvm);
  return 0;
}

const struct lb_family lb_family_zookeeper = {
    .name = "zookeeper",
    .needs = needs,
    .service = "zookeeper",
    .majority = true,
    .start = start,
    .launch = launch,
    .answers = answers,
    .primary = primary,
    .wall_ms = wall_ms,
    .mono_ms = mono_ms,
    .version = version,
};
