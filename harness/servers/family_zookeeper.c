/* SPDX-License-Identifier: MIT
 *
 * ZooKeeper: one server, or an ensemble.
 *
 * Where faults are played, a tick of 200 ms makes the ensemble notice a cut-off member within
 * syncLimit of them instead of after ten seconds. It is not shorter than that because a follower that
 * was not scheduled for so long on a busy machine would be taken for dead. A server lives for a few timelines there, so
 * the JVM compiles only what is called very often. Where speed is measured,
 * it has the ticks of zoo_sample.cfg, and the JVM its full compiler and the heap of zkServer.sh.
 */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "jvm.h"
#include "binary.h"
#include "cluster.h"
#include "zk_word.h"

#define LOG_TAIL 32768
/* Debian's jar of this name, else the folder of jars of ZooKeeper's own archive or image. */
#define JAR(name)                                                                                                      \
  "/usr/share/java/" name " or /lib/zookeeper-[0-9]*.jar or /apache-zookeeper-*/lib/zookeeper-[0-9]*.jar"
#define NEED_JAVA "java or $JAVA_HOME/bin/java or /usr/lib/jvm/*/bin/java"

static const char *const needs[] = {NEED_JAVA, JAR("zookeeper.jar"), NULL};

/* What it loads, as far as it is there: 3.4 has no jute.jar, and needs log4j. */
static const char *const jars[] = {
    JAR("zookeeper.jar"),    JAR("zookeeper-jute.jar") " or /usr/share/java/log4j-1.2.jar",
    JAR("slf4j-api.jar"),    JAR("slf4j-simple.jar"),
    JAR("netty-all.jar"),    JAR("snappy-java.jar"),
    JAR("metrics-core.jar"), NULL,
};

/* ---- settings -------------------------------------------------------------------------------- */

/* ZooKeeper bounds session timeouts to 2..20 ticks. The upper bound is moved away, or it would change the ttl of a
 * scenario without a word. The lower one stays, because what a client can know of its session rests on it
 * (backends/zookeeper/zk_alive.h): see least_ttl_ms(). cnxTimeout and maxNotificationInterval are for members that are
 * cut off: connecting to them must not hold up an election. After the cut is healed they must not wait for up to a
 * minute before they ask again. initLimit: a leader to which a follower acknowledged an older proposal before the new
 * epoch has no follower and serves no client until that is over. UsePerfData: its file would outlive a killed server,
 * in /tmp. */
static const struct lb_setting settings[] = {
    {.name = "tickTime=", .stock = "2000", .faults = "200", .measured = "2000"},
    {.name = "initLimit=", .stock = "10", .faults = "20", .measured = "10"},
    {.name = "syncLimit=", .stock = "5", .faults = "8", .measured = "5"},
    {.name = "minSessionTimeout=", .stock = "2 ticks", .faults = "400"},
    {.name = "maxSessionTimeout=", .stock = "20 ticks", .faults = "3600000", .measured = "3600000"},
    {.name = "maxClientCnxns=", .stock = "60", .faults = "0", .measured = "0"},
    {.name = "admin.enableServer=", .stock = "true", .faults = "false", .measured = "false"},
    {.name = "4lw.commands.whitelist=", .stock = "srvr", .faults = "*", .measured = "*"},
    {.name = "-Xmx", .stock = "1000m", .faults = "256m", .measured = "1000m", .place = LB_SETTING_PROGRAM},
    {.name = "-XX:+UseSerialGC", .faults = "", .place = LB_SETTING_PROGRAM},
    {.name = "-XX:TieredStopAtLevel=", .stock = "4", .faults = "1", .place = LB_SETTING_PROGRAM},
    {.name = "-XX:CompileThresholdScaling=", .stock = "1.0", .faults = "10", .place = LB_SETTING_PROGRAM},
    {.name = "-XX:-UsePerfData", .faults = "", .measured = "", .place = LB_SETTING_PROGRAM},
    {.name = "-Djava.net.preferIPv4Stack=",
     .stock = "false",
     .faults = "true",
     .measured = "true",
     .place = LB_SETTING_PROGRAM},
    {.name = "-Dzookeeper.forceSync=", .stock = "yes", .unsynced = "no", .place = LB_SETTING_PROGRAM},
    {.name = "-Dzookeeper.cnxTimeout=",
     .stock = "5000",
     .faults = "1000",
     .measured = "1000",
     .place = LB_SETTING_PROGRAM},
    {.name = "-Dzookeeper.fastleader.maxNotificationInterval=",
     .stock = "60000",
     .faults = "1000",
     .measured = "1000",
     .place = LB_SETTING_PROGRAM},
    {0},
};
enum { OPTIONS_MAX = sizeof settings / sizeof *settings };

static int compiling(struct lb_cluster *cluster, size_t index, lb_ns *ret) {
  return lb_jvm_compiling(cluster->server[index].proc.pid, ret);
}

/* Two ticks. */
static int64_t least_ttl_ms(const struct lb_topology *topology, bool measured) {
  const char *tick = topology->settings ? strstr(topology->settings, settings[0].name) : NULL;
  tick = tick ? tick + strlen(settings[0].name) : lb_setting_value(&settings[0], measured, true);
  return 2 * strtoll(tick, NULL, 10);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int no_answer(struct lb_cluster *cluster, const struct lb_server *server, int r) {
  return lb_fail(cluster->env, r, "%s: no answer: %s", server->name, strerror(-r));
}

/* The answer to a word. The port it was asked from, or -errno. */
static int four_letters(struct lb_cluster *cluster, size_t index, const char *word, char *buf, size_t size,
                        lb_ns deadline) {
  struct lb_target target;
  struct lb_text said = {buf, size, 0};
  buf[0] = '\0';
  int r = lb_zk_word_ask(cluster->env, lb_cluster_endpoint(cluster, index, &target), word,
                         lb_cluster_ask_until(cluster, deadline), &said);
  return r;
}

/* "leader", "follower", "standalone", and the epoch, which each election raises: the upper half of the zxid. A server
 * without a quorum answers "This ZooKeeper instance is not currently serving requests": no mode, hence an error with
 * these words. */
static int ask_mode(struct lb_cluster *cluster, size_t index, lb_ns deadline, char mode[16], unsigned *ret_epoch) {
  char said[1024];
  int r = four_letters(cluster, index, "srvr", said, sizeof said, deadline);
  if (r < 0) return r;
  const char *m = strstr(said, "Mode: "), *z = strstr(said, "Zxid: 0x");
  if (!m || !z || sscanf(m, "Mode: %15s", mode) != 1)
    return lb_fail(cluster->env, -EAGAIN, "%s: %.*s", cluster->server[index].name, (int)strcspn(said, "\n"), said);
  *ret_epoch = (unsigned)(strtoull(z + 6, NULL, 16) >> 32);
  return 0;
}

/* It neither leads nor follows. */
static int left(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  char said[1024];
  int r = four_letters(cluster, index, "srvr", said, sizeof said, deadline);
  if (r < 0) return r;
  if (strstr(said, "not currently serving requests")) return 1;
  if (strstr(said, "Mode: ")) return 0;
  return lb_fail(cluster->env, -EPROTO, "%s: %.*s", cluster->server[index].name, (int)strcspn(said, "\n"), said);
}

static int stated(struct lb_cluster *cluster, size_t index, lb_ns deadline, char ret[LB_STATED_MAX]) {
  char said[1024];
  int r = four_letters(cluster, index, "srvr", said, sizeof said, deadline);
  if (r < 0 || sscanf(said, "Zookeeper version: %31[0-9.]", ret) == 1) return r < 0 ? r : 0;
  return lb_fail(cluster->env, -EAGAIN, "%s: %.*s", cluster->server[index].name, (int)strcspn(said, "\n"), said);
}

/* A number behind a word of the answer. */
static int ask_number(struct lb_cluster *cluster, size_t index, const char *word, lb_ns deadline, uint64_t *ret) {
  char said[1024];
  int r = four_letters(cluster, index, "srvr", said, sizeof said, deadline);
  if (r < 0) return r;
  const char *at = strstr(said, word);
  if (!at)
    return lb_fail(cluster->env, -EAGAIN, "%s: %.*s", cluster->server[index].name, (int)strcspn(said, "\n"), said);
  *ret = strtoull(at + strlen(word), NULL, 0);
  return 0;
}

/* Every transaction has a number, which is the lower half of a zxid; the upper one is the epoch of
 * the leader. */
static int commits(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret) {
  int r = ask_number(cluster, index, "Zxid: ", deadline, ret);
  *ret &= UINT32_MAX;
  return r;
}

/* Packets of clients, pings and words like the one that is asked by included. */
static int requests(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret) {
  return ask_number(cluster, index, "Received: ", deadline, ret);
}

/* Whether the leader's dump has the session, with this behind its number: in the first part all are listed, then those
 * that had nodes of their own, each with those that it has, then those of connections. */
static int dump_has(struct lb_cluster *cluster, size_t index, const char *part, const char *behind, uint64_t id,
                    lb_ns deadline) {
  char said[32768], number[40];
  int r = four_letters(cluster, index, "dump", said, sizeof said, deadline);
  if (r < 0) return r;
  if (!strstr(said, "SessionTracker dump"))
    return lb_fail(cluster->env, -EAGAIN, "%s: %.*s", cluster->server[index].name, (int)strcspn(said, "\n"), said);
  if (strlen(said) + 1 == sizeof said)
    return lb_fail(cluster->env, -EOVERFLOW, "%s: more sessions than can be read", cluster->server[index].name);
  snprintf(number, sizeof number, "0x%llx%s", (unsigned long long)id, behind);
  for (const char *at = strstr(said, part); at && (at = strstr(at, number)); at++)
    if (!isxdigit((unsigned char)at[strlen(number)])) return 1;
  return 0;
}

/* A session that has run out is counted down no more, but its nodes are there until its end has been committed. */
static int has_session(struct lb_cluster *cluster, size_t index, uint64_t id, lb_ns deadline) {
  return dump_has(cluster, index, "SessionTracker dump", "", id, deadline);
}

static int has_place(struct lb_cluster *cluster, size_t index, const char *client, uint64_t id, lb_ns deadline) {
  (void)client;
  return dump_has(cluster, index, "Sessions with Ephemerals", ":\n\t", id, deadline);
}

/* ---- its time -------------------------------------------------------------------------------- */

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

/* The time on the last line of the log with this text and this end; -1 = there is none near the end
 * of the log. */
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

/* No command tells a server's time: a node's times are the leader's. But the server logs every word it is asked, with
 * its own time and the port of the client that asks, before it answers; and it answers this word also when it has lost
 * its quorum. */
static int wall_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  const struct lb_server *server = &cluster->server[index];
  char said[100], asked[16];
  int port = four_letters(cluster, index, "ruok", said, sizeof said, deadline);
  if (port < 0) return port;
  snprintf(asked, sizeof asked, ":%d\n", port);
  *ret_ms = logged_at(server, "ruok command from", asked);
  return *ret_ms < 0 ? lb_fail(cluster->env, -EPROTO, "%s: its log does not say when it was asked", server->name) : 0;
}

/* Its uptime (ServerStats.getUptime), which it counts on its monotonic clock from when it last began to serve. */
static int mono_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  char said[32768];
  long long uptime_ms;
  int r = four_letters(cluster, index, "mntr", said, sizeof said, deadline);
  if (r < 0) return r;
  const char *line = strstr(said, "zk_uptime");
  if (!line || sscanf(line, "zk_uptime %lld", &uptime_ms) != 1)
    return lb_fail(cluster->env, -EAGAIN, "%s: %.*s", cluster->server[index].name, (int)strcspn(said, "\n"), said);
  *ret_ms = uptime_ms;
  return 0;
}

/* ---- a full disk ----------------------------------------------------------------------------- */

/* A request for a session, which the server writes to its log before it answers. The session is not closed: it expires.
 * 0, or -errno. */
static int open_session(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  enum { LENGTH = 45, TIMEOUT_MS = 1000 };
  unsigned char request[4 + LENGTH] = {[3] = LENGTH,
                                       [18] = TIMEOUT_MS >> 8,
                                       [19] = TIMEOUT_MS & 255,
                                       [31] = 16}; /* version, zxid, timeout, id 0, an empty password */
  const struct lb_server *server = &cluster->server[index];
  struct lb_target target;
  char byte;
  int fd = lb_zk_word_connect(cluster->env, lb_cluster_endpoint(cluster, index, &target), deadline),
      r = fd < 0 ? fd : 0;
  if (r == 0 && send(fd, request, sizeof request, MSG_NOSIGNAL) < 0) r = -errno;
  if (r == 0 && (r = lb_wait_fd(cluster->env, fd, POLLIN, deadline)) >= 0)
    r = r == 0 ? -ETIMEDOUT : recv(fd, &byte, 1, 0) == 1 ? 0 : -ECONNRESET;
  if (fd >= 0) close(fd);
  return r < 0 ? no_answer(cluster, server, r) : 0;
}

/* What is left of the last page of its log takes some hundred. One that is only slow is asked again. */
static int need_room(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  enum { SESSIONS = 2000 };
  int r = 0;
  for (int i = 0; i < SESSIONS && (r == 0 || (r == -ETIMEDOUT && lb_now(cluster->env) < deadline)); i++)
    r = open_session(cluster, index, lb_cluster_ask_until(cluster, deadline));
  return r;
}

static int answers(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  char mode[16];
  unsigned epoch;
  return ask_mode(cluster, index, deadline, mode, &epoch);
}

/* ---- starting -------------------------------------------------------------------------------- */

static int configure(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  int r = lb_server_write(cluster, server, false, "zoo.cfg", "dataDir=%s\nclientPort=%u\nclientPortAddress=%s\n",
                          server->dir, (unsigned)server->port, server->host->address);
  if (r == 0) r = lb_setting_write(cluster, server, settings, "zoo.cfg");
  for (size_t i = 0; i < cluster->server_count && cluster->server_count > 1 && r == 0; i++) {
    const struct lb_server *s = &cluster->server[i];
    r = lb_server_write(cluster, server, true, "zoo.cfg", "server.%zu=%s:%u:%u\n", i + 1, s->host->address,
                        (unsigned)s->extra_port[0], (unsigned)s->extra_port[1]);
  }
  if (r == 0)
    r = lb_server_write(cluster, server, true, "zoo.cfg", "%s",
                        cluster->topology->settings ? cluster->topology->settings : "");
  return r < 0 ? r : lb_server_write(cluster, server, false, "myid", "%zu\n", index + 1);
}

/* An archive of ZooKeeper has all its jars in one folder, and each need finds the same jar of it. */
static void class_path(const struct lb_origin *origin, char *buf, size_t size) {
  size_t len = 0;
  buf[0] = '\0';
  for (size_t i = 0; jars[i] && len < size; i++) {
    char *jar = lb_binary_find(origin, jars[i]);
    bool whole = jar && !strstr(jar, "/share/java/");
    if (whole) *strrchr(jar, '/') = '\0';
    if (jar) len += (size_t)snprintf(buf + len, size - len, "%s%s%s", len > 0 ? ":" : "", jar, whole ? "/*" : "");
    free(jar);
    if (whole) return;
  }
}

/* `classes`: the option that says where the JVM finds its classes or leaves them. A JVM that does
 * not know it goes on without. */
static int launch_with(struct lb_cluster *cluster, size_t index, const char *classes) {
  struct lb_server *server = &cluster->server[index];
  char path[1000], config[300], tmp[300], texts[OPTIONS_MAX][LB_SETTING_TEXT_MAX];
  class_path(server->origin, path, sizeof path);
  snprintf(config, sizeof config, "%s/zoo.cfg", server->dir);
  snprintf(tmp, sizeof tmp, "-Djava.io.tmpdir=%s", server->dir);
  const char *const fixed[] = {
      "-XX:+IgnoreUnrecognizedVMOptions",
      "-XX:+UnlockDiagnosticVMOptions",
      "-XX:ArchiveRelocationMode=0", /* classes lie where the archive says: a sixth of the CPU of a start less */
      classes,
      tmp,
      "-Dorg.slf4j.simpleLogger.showDateTime=true",
      "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSSZ",
      "-cp",
      path,
      "org.apache.zookeeper.server.quorum.QuorumPeerMain",
      config,
      NULL,
  };
  const char *argv[1 + OPTIONS_MAX + sizeof fixed / sizeof *fixed] = {NEED_JAVA};
  size_t count = 1 + lb_setting_options(cluster, settings, texts, argv + 1, OPTIONS_MAX);
  memcpy(argv + count, fixed, sizeof fixed);
  return lb_server_start(cluster, server, argv, NULL, false);
}

static int launch(struct lb_cluster *cluster, size_t index) {
  char classes[560] = "-Xshare:auto"; /* the archive is of another JVM, if this server starts as another version */
  if (cluster->server[index].origin == cluster->topology->origin)
    lb_jvm_archive_option(cluster, classes, sizeof classes);
  return launch_with(cluster, index, classes);
}

/* One leads and all others follow it, or the only one stands alone. Less would do to serve, but a
 * member that is still joining makes a later cut a different fault. */
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

/* An ensemble of one. It has to be told to be an ensemble, or it would load the classes of a server
 * that stands alone. */
static int start_trainee(struct lb_cluster *trainer, const char *classes, lb_ns deadline) {
  const struct lb_server *s = &trainer->server[0];
  int r = configure(trainer, 0);
  if (r == 0)
    r = lb_server_write(trainer, s, true, "zoo.cfg", "standaloneEnabled=false\nserver.1=%s:%u:%u\n", s->host->address,
                        (unsigned)s->extra_port[0], (unsigned)s->extra_port[1]);
  if (r == 0) r = launch_with(trainer, 0, classes);
  return r < 0 ? r : lb_cluster_await(trainer, deadline, ensemble_formed, "one server leads");
}

static int start(struct lb_cluster *cluster, lb_ns deadline) {
  int r = 0;
  lb_jvm_archive(cluster, deadline, start_trainee);
  for (size_t i = 0; i < cluster->server_count && r == 0; i++) r = configure(cluster, i);
  if (r == 0) r = lb_cluster_launch_all(cluster);
  return r < 0 ? r : lb_cluster_await(cluster, deadline, ensemble_formed, "one server leads and all others follow");
}

/* A server that has started says at once that it serves no client. */
static int runs(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  int r = left(cluster, index, deadline);
  return r < 0 ? r : 0;
}

/* A leader that was cut off claims to lead until it has missed its followers for syncLimit ticks:
 * the later epoch is the truth. */
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

/* From the class itself, because the jar's name need not tell; with it the machine it runs on,
 * which its speed depends on. */
static int version(const struct lb_origin *origin, char *buf, size_t size) {
  char path[1000], said[2000], jvm[32] = "?", zk[32] = "?";
  class_path(origin, path, sizeof path);
  int r =
      lb_binary_output(origin,
                       (const char *const[]){NEED_JAVA, "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-showversion",
                                             "-cp", path, "org.apache.zookeeper.version.VersionInfoMain", NULL},
                       NULL, said, sizeof said);
  if (r < 0) return r;
  const char *v = strstr(said, " version \""), *z = strstr(said, "ZooKeeper, version ");
  if (v) sscanf(v, " version \"%31[^\"]", jvm);
  if (!z || sscanf(z, "ZooKeeper, version %31[^ ,\n]", zk) != 1) return -EPROTO;
  snprintf(buf, size, "zookeeper %s, java %s", zk, jvm);
  return 0;
}

static const struct lb_ending ending = {.signal = SIGTERM, .status = 143};

const struct lb_family lb_family_zookeeper = {
    .name = "zookeeper",
    .ends_by = LB_ENDS_BY_MONOTONIC,
    .needs = needs,
    .service = "zookeeper",
    .cause = "Caused by: ",
    .orders =
        {
            .ending = &ending,
            .files = (const char *const[]){"version-2", NULL},
            .starts_empty = true,
            .need_room = need_room,
            .no_room = "No space left on device",
        },
    .settings = settings,
    .by_libc = true,
    .majority = true,
    .all_serve = true,
    .poll_ms = 50, /* each answer is a thread and two lines of a log: 0.5 to 2.5 ms of its processor */
    .start = start,
    .launch = launch,
    .answers = answers,
    .healthy = ensemble_formed,
    .primary = primary,
    .left = left,
    .runs = runs,
    .stated = stated,
    .has_session = has_session,
    .has_place = has_place,
    .wall_ms = wall_ms,
    .mono_ms = mono_ms,
    .commits = commits,
    .requests = requests,
    .compiling = compiling,
    .least_ttl_ms = least_ttl_ms,
    .version = version,
};
