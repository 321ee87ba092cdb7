/* SPDX-License-Identifier: MIT
 *
 * PostgreSQL under Patroni: each server has its agent on its own host, and the agents agree in an etcd who leads.
 *
 * A server here is all processes of a host: tini, as the init of a container, the agent below it, and the PostgreSQL
 * that the agent starts. So a kill or a pause hits both, as the end or the sleep of a machine does. PostgreSQL leaves
 * the agent's tree when it starts, and tini is who adopts it.
 *
 * The agents get the same freshly initialised folder, as an operator who puts running servers under Patroni: the first
 * to start becomes the leader, and only then the others start. They find a failover's settings in Patroni's copy of
 * what it has in etcd. The first leader writes that file.
 *
 * etcd is spoken to as `etcd3`: the gateway of version 3. Debian's etcd serves the older API only where it is told to.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/etcd/etcd.h"
#include "postgres.h"
#include "binary.h"
#include "cache.h"

#define NEED_PATRONI "patroni"
#define NEED_TINI "tini"
#define NEED_ETCD "etcd"

/* ---- settings -------------------------------------------------------------------------------- */

/* Whole pages are written also where nothing is synced: pg_rewind, which makes a standby of an old primary, asks for it.
 * The times keep Patroni's rule, ttl >= loop_wait + 2 * retry_timeout: so a leader that does not reach etcd has stepped
 * down before its key is over. From 4.0 on it raises ttl to 20 and retry_timeout to 3: ask_ttl(). */
static const struct lb_setting settings[] = {
    LB_POSTGRES_SETTINGS,
    {.name = "ttl: ", .stock = "30", .faults = "5", .measured = "5", .place = LB_SETTING_ELSEWHERE},
    {.name = "loop_wait: ", .stock = "10", .faults = "1", .measured = "1", .place = LB_SETTING_ELSEWHERE},
    {.name = "retry_timeout: ", .stock = "10", .faults = "2", .measured = "2", .place = LB_SETTING_ELSEWHERE},
    {.name = "use_pg_rewind: ", .stock = "false", .faults = "true", .measured = "true", .place = LB_SETTING_ELSEWHERE},
    {0},
};

static const char *value_of(const struct lb_cluster *cluster, const char *name) {
  const struct lb_setting *row = settings;
  while (strcmp(row->name, name) != 0) row++;
  return lb_setting_value(row, cluster->measured, cluster->durable);
}

/* ---- configuration --------------------------------------------------------------------------- */

/* What holds for all agents. max_connections is among what Patroni alone may set. */
static int configure_all(struct lb_cluster *cluster, const struct lb_server *server) {
  return lb_server_write(cluster, server, false, "data/patroni.dynamic.json",
                         "{\"ttl\": %s, \"loop_wait\": %s, \"retry_timeout\": %s, \"synchronous_mode\": %s,"
                         " \"postgresql\": {\"use_pg_rewind\": %s, \"parameters\": {\"max_connections\": %s}}}\n",
                         value_of(cluster, "ttl: "), value_of(cluster, "loop_wait: "),
                         value_of(cluster, "retry_timeout: "), cluster->topology->synchronous ? "true" : "false",
                         value_of(cluster, "use_pg_rewind: "), value_of(cluster, "max_connections = "));
}

/* `etcd` is the first of the others. Patroni renames postgresql.conf, and includes it before what it sets itself. */
static int configure(struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index], *etcd = &cluster->server[cluster->data_count];
  char bin[PATH_MAX];
  const char *host = server->host->address;
  if (lb_postgres_folder(cluster->topology->origin, bin, sizeof bin) < 0)
    return lb_error(&cluster->err, -ENOENT, "%s: postgres is not installed", server->name);
  int r = lb_setting_write(cluster, server, settings, "data/postgresql.conf");
  if (r == 0 && cluster->topology->settings)
    r = lb_server_write(cluster, server, true, "data/postgresql.conf", "%s", cluster->topology->settings);
  if (r == 0) r = configure_all(cluster, server);
  if (r < 0) return r;
  return lb_server_write(
      cluster, server, false, "patroni.yml",
      "scope: lockbench\nname: %s\n"
      "restapi: {listen: '%s:%u', connect_address: '%s:%u'}\n"
      "etcd3: {host: '%s:%u'}\nwatchdog: {mode: 'off'}\n"
      "postgresql:\n  listen: '%s:%u'\n  connect_address: '%s:%u'\n  data_dir: data\n  bin_dir: %s\n  pgpass: pgpass\n"
      "  authentication: {superuser: {username: lockbench}, replication: {username: lockbench}, rewind: {username: lockbench}}\n"
      "  parameters: {unix_socket_directories: '', log_line_prefix: '%%m [%%p] '}\n"
      "  pg_hba: [host all all all trust, host replication all all trust]\n",
      server->name, host, (unsigned)server->extra_port[0], host, (unsigned)server->extra_port[0], etcd->host->address,
      (unsigned)etcd->port, host, (unsigned)server->port, host, (unsigned)server->port, bin);
}

/* ---- starting -------------------------------------------------------------------------------- */

static int launch(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  if (!server->data) return lb_family_etcd.launch(cluster, index);
  char *patroni = lb_binary_find(cluster->topology->origin, NEED_PATRONI), config[300];
  if (!patroni) return lb_error(&cluster->err, -ENOENT, "%s: not installed: " NEED_PATRONI, server->name);
  snprintf(config, sizeof config, "%s/patroni.yml", server->dir);
  int r =
      lb_server_start(cluster, server, (const char *const[]){NEED_TINI, "-s", "--", patroni, config, NULL}, NULL, true);
  free(patroni);
  return r;
}

static int store_answers(struct lb_cluster *cluster, lb_ns deadline) {
  int r = 0;
  for (size_t i = cluster->data_count; i < cluster->server_count && r == 0; i++)
    r = lb_family_etcd.answers(cluster, i, deadline);
  return r;
}

/* What an agent says. 0, then *ret is the caller's; -errno. */
static int ask_agent(struct lb_cluster *cluster, size_t index, const char *path, lb_ns deadline, json_t **ret) {
  const struct lb_server *server = &cluster->server[index];
  struct lb_endpoint at = {.service = "patroni", .host = server->host->address, .port = server->extra_port[0]};
  struct etcd_link *link;
  *ret = NULL;
  deadline = lb_cluster_ask_until(cluster, deadline);
  int r = etcd_open(cluster->env, NULL, &at, deadline, &link);
  if (r == 0) r = etcd_call(link, path, NULL, deadline, ret);
  etcd_close(link);
  return r == LB_OK ? 0 : r < 0 ? r : -ETIMEDOUT;
}

/* How many members have that role, as the agent of the first server sees it in etcd. -errno. */
static int count_role(struct lb_cluster *cluster, const char *role, lb_ns deadline) {
  json_t *said, *member;
  size_t i;
  int r = ask_agent(cluster, 0, "/cluster", deadline, &said), count = 0;
  json_array_foreach(json_object_get(said, "members"), i, member) {
    const char *has = json_string_value(json_object_get(member, "role"));
    count += has && strcmp(has, role) == 0;
  }
  json_decref(said);
  return r < 0 ? r : count;
}

static int leads(struct lb_cluster *cluster, lb_ns deadline) {
  int r = count_role(cluster, "leader", deadline);
  if (r == 0) r = lb_fail(cluster->env, -EAGAIN, "nobody leads yet");
  return r < 0 ? r
         : lb_family_postgres.primary(cluster, deadline) == 0
             ? 0
             : lb_fail(cluster->env, -EAGAIN, "the leader is no primary yet");
}

/* A failover could succeed now: the standbys stream, and the agents have seen it. */
static int healthy(struct lb_cluster *cluster, lb_ns deadline) {
  const char *role = cluster->topology->synchronous ? "sync_standby" : "replica";
  int r = lb_family_postgres.healthy(cluster, deadline);
  if (r < 0) return r;
  r = count_role(cluster, role, deadline);
  if (r < 0) return r;
  return (size_t)r == cluster->data_count - 1
             ? 0
             : lb_fail(cluster->env, -EAGAIN, "not every standby is a %s for Patroni yet", role);
}

/* Its newer versions raise a short ttl to 20 s and say so nowhere but in the lease of the leader's key. */
static int ask_ttl(struct lb_cluster *cluster, lb_ns deadline) {
  const struct lb_server *etcd = &cluster->server[cluster->data_count];
  struct lb_endpoint at = {.service = "etcd", .host = etcd->host->address, .port = etcd->port};
  struct etcd_link *link;
  json_t *said = NULL, *leases = NULL;
  char number[24];
  int r = etcd_open(cluster->env, NULL, &at, deadline, &link);
  if (r == 0)
    r = etcd_call(link, "/v3/kv/range", json_pack("{s:o}", "key", etcd_text("/service/lockbench/leader")), deadline,
                  &said);
  uint64_t id = etcd_number(json_array_get(json_object_get(said, "kvs"), 0), "lease");
  snprintf(number, sizeof number, "%llu", (unsigned long long)id);
  if (r == 0 && id > 0)
    r = etcd_call(link, "/v3/lease/timetolive", json_pack("{s:s}", "ID", number), deadline, &leases);
  int64_t ttl_ms = (int64_t)etcd_number(leases, "grantedTTL") * 1000;
  cluster->late_ms = ttl_ms > cluster->topology->detector_ms ? ttl_ms - cluster->topology->detector_ms : 0;
  json_decref(said);
  json_decref(leases);
  etcd_close(link);
  return r == LB_OK ? 0 : r < 0 ? r : -ETIMEDOUT;
}

/* Processes of a stage, and what has to be true before the next. */
struct stage {
  size_t first, end;
  int (*ready)(struct lb_cluster *cluster, lb_ns deadline);
  const char *what;
};

static int start(struct lb_cluster *cluster, lb_ns deadline) {
  const size_t data = cluster->data_count;
  const struct stage stage[] = {
      {data, cluster->server_count, store_answers, "etcd answers"},
      {0, 1, leads, "the first server leads"},
      {1, data, healthy, "its standbys have caught up, and Patroni has seen it"},
  };
  char template[512];
  int r = lb_postgres_template(cluster, deadline, template, sizeof template);
  for (size_t i = 0; i < data && r == 0; i++) {
    r = lb_cache_copy(cluster, &cluster->server[i], template);
    if (r == 0) r = configure(cluster, i);
  }
  for (size_t i = 0; i < sizeof stage / sizeof *stage && r == 0; i++) {
    for (size_t k = stage[i].first; k < stage[i].end && r == 0; k++) r = launch(cluster, k);
    if (r == 0) r = lb_cluster_await(cluster, deadline, stage[i].ready, stage[i].what);
  }
  return r == 0 ? ask_ttl(cluster, deadline) : r;
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static int answers(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  const struct lb_family *family = cluster->server[index].data ? &lb_family_postgres : &lb_family_etcd;
  return family->answers(cluster, index, deadline);
}
static int primary(struct lb_cluster *cluster, lb_ns deadline) { return lb_family_postgres.primary(cluster, deadline); }
static int caught_up(struct lb_cluster *cluster, size_t index, size_t leader, lb_ns deadline) {
  return lb_family_postgres.caught_up(cluster, index, leader, deadline);
}
static int end_session(struct lb_cluster *cluster, size_t index, const char *client, uint64_t id, lb_ns deadline,
                       struct lb_text *said) {
  return lb_family_postgres.orders.end_session(cluster, index, client, id, deadline, said);
}
static int commits(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret) {
  return lb_family_postgres.commits(cluster, index, deadline, ret);
}
static int counts(struct lb_cluster *cluster, size_t index, lb_ns deadline, struct lb_counts *ret) {
  return lb_family_postgres.counts(cluster, index, deadline, ret);
}
static int identity(struct lb_cluster *cluster, size_t index, lb_ns deadline, char *ret, size_t size) {
  return lb_family_postgres.identity(cluster, index, deadline, ret, size);
}
static int wall_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  return lb_family_postgres.wall_ms(cluster, index, deadline, ret_ms);
}
static void clean(struct lb_cluster *cluster) { lb_family_postgres.clean(cluster); }

static int version(const struct lb_origin *origin, char *buf, size_t size) {
  char said[200], number[32], postgres[64];
  int r = lb_binary_output(origin, (const char *const[]){NEED_PATRONI, "--version", NULL}, NULL, said, sizeof said);
  if (r == 0) r = sscanf(said, "patroni %31s", number) == 1 ? 0 : -EPROTO;
  if (r == 0) r = lb_postgres_version(origin, postgres, sizeof postgres);
  if (r == 0) snprintf(buf, size, "%s, patroni %s", postgres, number);
  return r;
}

/* The agent shuts its server down, and gives the key of the leader back. */
static const struct lb_ending ending = {.signal = SIGTERM, .says = "database system is shut down"};

/* Without `by_libc`: the agent writes files, too, and what a disk loses would be looked for in those. */
const struct lb_family lb_family_patroni = {
    .name = "patroni",
    .needs = (const char *const[]){LB_NEED_POSTGRES, LB_NEED_INITDB, NEED_PATRONI, NEED_TINI, NEED_ETCD, NULL},
    .service = "postgres",
    .other_service = "etcd",
    .orders =
        {
            .ending = &ending,
            .end_session = end_session,
            .files = (const char *const[]){"data", NULL},
        },
    .settings = settings,
    .start = start,
    .launch = launch,
    .answers = answers,
    .healthy = healthy,
    .primary = primary,
    .caught_up = caught_up,
    .identity = identity,
    .wall_ms = wall_ms,
    .commits = commits,
    .counts = counts,
    .clean = clean,
    .version = version,
};
