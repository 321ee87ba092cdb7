/* SPDX-License-Identifier: MIT
 *
 * ZooKeeper: one server, or an ensemble.
 *
 * Where faults are played, a tick of 200 ms makes the ensemble notice a cut-off member within
 * syncLimit of them instead of after ten seconds. It is not shorter than that because a follower that
 * was not scheduled for so long on a busy machine would be taken for dead. Where speed is measured,
 * it has the ticks of zoo_sample.cfg, and the JVM its full compiler and the heap of zkServer.sh.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "family_util.h"
#include "jvm.h"
#include "setting.h"
#include "zookeeper_archive.h"
#include "zookeeper_ask.h"

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

/* ---- settings -------------------------------------------------------------------------------- */

/* ZooKeeper bounds session timeouts to 2..20 ticks. The upper bound is moved away, or it would change
 * the ttl of a scenario without a word. The lower one stays, because what a client can know of its
 * session rests on it (backends/zk_alive.h): see least_ttl_ms(). cnxTimeout and maxNotificationInterval are for members that
 * are cut off: connecting to them must not hold up an election, and after the cut is healed they must
 * not wait for up to a minute before they ask again. initLimit: a leader to which a follower acknowledged an older proposal before the new
 * epoch leads nobody, and serves nobody, until that is over. UsePerfData: its file would outlive a killed
 * server, in /tmp. */
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
    {.name = "-XX:-UsePerfData", .faults = "", .measured = "", .place = LB_SETTING_PROGRAM},
    {.name = "-Djava.net.preferIPv4Stack=", .stock = "false", .faults = "true", .measured = "true", .place = LB_SETTING_PROGRAM},
    {.name = "-Dzookeeper.forceSync=", .stock = "yes", .unsynced = "no", .place = LB_SETTING_PROGRAM},
    {.name = "-Dzookeeper.cnxTimeout=", .stock = "5000", .faults = "1000", .measured = "1000", .place = LB_SETTING_PROGRAM},
    {.name = "-Dzookeeper.fastleader.maxNotificationInterval=", .stock = "60000", .faults = "1000", .measured = "1000", .place = LB_SETTING_PROGRAM},
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

static int answers(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  char mode[16];
  unsigned epoch;
  return lb_zookeeper_mode(cluster, index, deadline, mode, &epoch);
}

/* ---- starting -------------------------------------------------------------------------------- */

static int configure(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  int r = lb_server_write(cluster, server, false, "zoo.cfg", "dataDir=%s\nclientPort=%u\nclientPortAddress=%s\n", server->dir,
                          (unsigned)server->port, server->host->address);
  if (r == 0) r = lb_setting_write(cluster, server, settings, "zoo.cfg");
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

/* `classes`: the option that says where the JVM finds its classes or leaves them. A JVM that does
 * not know it goes on without. */
static int launch_with(struct lb_cluster *cluster, size_t index, const char *classes) {
  struct lb_server *server = &cluster->server[index];
  char *java = lb_need_path(NEED_JAVA), path[1000], config[300], tmp[300], texts[OPTIONS_MAX][LB_SETTING_TEXT_MAX];
  if (!java) return lb_cluster_fail(cluster, -ENOENT, "%s: java is not installed", server->name);
  class_path(path, sizeof path);
  snprintf(config, sizeof config, "%s/zoo.cfg", server->dir);
  snprintf(tmp, sizeof tmp, "-Djava.io.tmpdir=%s", server->dir);
  const char *const fixed[] = {
      "-XX:+IgnoreUnrecognizedVMOptions",
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
  const char *argv[1 + OPTIONS_MAX + sizeof fixed / sizeof *fixed] = {java};
  size_t count = 1 + lb_setting_options(cluster, settings, texts, argv + 1, OPTIONS_MAX);
  memcpy(argv + count, fixed, sizeof fixed);
  int r = lb_server_start(cluster, server, argv, NULL, false);
  free(java);
  return r;
}

static int launch(struct lb_cluster *cluster, size_t index) {
  char classes[560];
  lb_zookeeper_archive_option(cluster, classes, sizeof classes);
  return launch_with(cluster, index, classes);
}

/* One leads and all others follow it, or the only one stands alone. Less would do to serve, but a
 * member that is still joining makes a later cut a different fault. */
static int ensemble_formed(struct lb_cluster *cluster, lb_ns deadline) {
  char mode[16];
  unsigned epoch;
  size_t decide = 0, follow = 0;
  for (size_t i = 0; i < cluster->server_count; i++) {
    int r = lb_zookeeper_mode(cluster, i, deadline, mode, &epoch);
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
  lb_zookeeper_archive(cluster, deadline, start_trainee);
  for (size_t i = 0; i < cluster->server_count && r == 0; i++) r = configure(cluster, i);
  if (r == 0) r = lb_cluster_launch_all(cluster);
  return r < 0 ? r : lb_cluster_await(cluster, deadline, ensemble_formed, "one server leads and all others follow");
}

/* It says at once that it serves nobody. */
static int runs(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  int r = lb_zookeeper_left(cluster, index, deadline);
  return r < 0 ? r : 0;
}

/* A leader that was cut off claims to lead until it has missed its followers for SYNC_TICKS: the
 * later epoch is the truth. */
static int primary(struct lb_cluster *cluster, lb_ns deadline) {
  char mode[16];
  unsigned epoch, best_epoch = 0;
  int best = -ENOENT;
  for (size_t i = 0; i < cluster->data_count; i++) {
    if (lb_zookeeper_mode(cluster, i, deadline, mode, &epoch) < 0) continue;
    if (strcmp(mode, "leader") != 0 && strcmp(mode, "standalone") != 0) continue;
    if (best >= 0 && epoch <= best_epoch) continue;
    best = (int)i;
    best_epoch = epoch;
  }
  return best;
}

/* From the class itself, because the jar's name need not tell; with it the machine it runs on,
 * which its speed depends on. */
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

static const struct lb_ending ending = {.signal = SIGTERM, .status = 143};

const struct lb_family lb_family_zookeeper = {
    .name = "zookeeper",
    .ends_by = LB_ENDS_BY_MONOTONIC,
    .needs = needs,
    .service = "zookeeper",
    .cause = "Caused by: ",
    .ending = &ending,
    .files = (const char *const[]){"version-2", NULL},
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
    .left = lb_zookeeper_left,
    .runs = runs,
    .has_session = lb_zookeeper_has_session,
    .need_room = lb_zookeeper_need_room,
    .no_room = "No space left on device",
    .wall_ms = lb_zookeeper_wall_ms,
    .mono_ms = lb_zookeeper_mono_ms,
    .commits = lb_zookeeper_commits,
    .requests = lb_zookeeper_requests,
    .compiling = compiling,
    .least_ttl_ms = least_ttl_ms,
    .version = version,
};
