/* SPDX-License-Identifier: MIT
 *
 * etcd: one member, or a cluster of them.
 *
 * Members are asked what they know by themselves ("/v3/maintenance/status"), which a member without a
 * leader answers, too. One that starts opens its port for clients only when a majority has taken it
 * in.
 *
 * Their clocks cannot be set: a Go program asks the kernel for the time without the C library, so no
 * preloaded library comes between. It counts a lease by its monotonic clock anyway.
 *
 * What need not be synced lies in memory, as with the other servers; --unsafe-no-fsync is not used.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/etcd/etcd.h"
#include "binary.h"
#include "cluster.h"

/* A leader looks once per election timeout, and steps down if it heard of no majority since the look before. A fifth of
 * that passes between heartbeats. So a member that a busy machine did not schedule for a while is not taken for dead. A
 * lease is 3/2 of the election timeout long at least, in whole seconds. A log in memory grows as it is written: etcd would
 * take room for 128 MB at each start. */
#define ELECTION "--election-timeout="
#define LOG "room of its log: "
#define SPARSE "as written"
static const struct lb_setting settings[] = {
    {.name = "--heartbeat-interval=", .stock = "100", .faults = "100", .measured = "100", .place = LB_SETTING_PROGRAM},
    {.name = ELECTION, .stock = "1000", .faults = "500", .measured = "1000", .place = LB_SETTING_PROGRAM},
    {.name = "--logger=", .stock = "capnslog", .faults = "zap", .measured = "zap", .place = LB_SETTING_PROGRAM},
    {.name = "--log-outputs=",
     .stock = "default",
     .faults = "stderr",
     .measured = "stderr",
     .place = LB_SETTING_PROGRAM},
    {.name = LOG,
     .stock = "ahead",
     .faults = "ahead",
     .measured = "ahead",
     .unsynced = SPARSE,
     .place = LB_SETTING_ELSEWHERE},
    {0},
};
enum { OPTIONS_MAX = sizeof settings / sizeof *settings, URL_MAX = 80, MEMBER_MAX = 120 };

static const char *setting(const char *name, bool measured, bool durable) {
  const struct lb_setting *row = settings;
  while (strcmp(row->name, name) != 0) row++;
  return lb_setting_value(row, measured, durable);
}

static int64_t least_ttl_ms(const struct lb_topology *topology, bool measured) {
  (void)topology;
  return (strtoll(setting(ELECTION, measured, true), NULL, 10) * 3 / 2 + 999) / 1000 * 1000;
}

/* ---- starting -------------------------------------------------------------------------------- */

static void url(char *buf, const struct lb_server *server, uint16_t port) {
  snprintf(buf, URL_MAX, "http://%s:%u", server->host->address, (unsigned)port);
}

/* "etcd-1=http://...,etcd-2=http://...". What says how a cluster begins is passed over by a member that has data. */
static void list_members(const struct lb_cluster *cluster, char *buf, size_t size) {
  char at[URL_MAX];
  size_t len = 0;
  buf[0] = '\0';
  for (size_t i = 0; i < cluster->server_count && len < size; i++) {
    const struct lb_server *server = &cluster->server[i];
    if (strcmp(server->service, "etcd") != 0) continue; /* it serves others here, as their store */
    url(at, server, server->extra_port[0]);
    len += (size_t)snprintf(buf + len, size - len, "%s%s=%s", len > 0 ? "," : "", server->name, at);
  }
}

/* Members talk by HTTP, and Go would send that to a proxy that the environment names. */
static const char *const no_proxy[] = {"NO_PROXY=*", "no_proxy=*", "HTTP_PROXY=", "http_proxy=", NULL};

static int launch(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  char clients[URL_MAX], peers[URL_MAX], members[LB_SERVERS_MAX * MEMBER_MAX], texts[OPTIONS_MAX][LB_SETTING_TEXT_MAX];
  url(clients, server, server->port);
  url(peers, server, server->extra_port[0]);
  list_members(cluster, members, sizeof members);
  const char *const fixed[] = {
      "--name",
      server->name,
      "--data-dir",
      "data",
      "--listen-client-urls",
      clients,
      "--advertise-client-urls",
      clients,
      "--listen-peer-urls",
      peers,
      "--initial-advertise-peer-urls",
      peers,
      "--initial-cluster",
      members,
      server->wiped ? "--initial-cluster-state=existing" : NULL,
      NULL,
  };
  const char *argv[1 + OPTIONS_MAX + sizeof fixed / sizeof *fixed] = {"etcd"};
  size_t count = 1 + lb_setting_options(cluster, settings, texts, argv + 1, OPTIONS_MAX);
  memcpy(argv + count, fixed, sizeof fixed);
  server->env = no_proxy;
  /* A disk that is to be filled has its log reserved, as with a user. */
  server->sparse = !server->own_disk && strcmp(setting(LOG, cluster->measured, cluster->durable), SPARSE) == 0;
  return lb_server_start(cluster, server, argv, NULL, false);
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct status {
  uint64_t member, leader, term, index; /* leader: 0 = it knows of none */
};

/* A connection of its own each time, as with Redis: one that was kept could be from before a cut. 0 (then *ret is the
 * caller's), or -errno. */
static int call_at(struct lb_cluster *cluster, size_t index, const char *path, json_t *body, lb_ns deadline,
                   json_t **ret) {
  struct etcd_link *link;
  struct lb_target target;
  struct lb_endpoint to = *lb_cluster_endpoint(cluster, index, &target);
  deadline = lb_cluster_ask_until(cluster, deadline);
  if (!body) to.port = cluster->server[index].extra_port[0]; /* what peers are asked */
  int r = etcd_open(cluster->env, &target, &to, deadline, &link);
  if (r == 0) r = etcd_call(link, path, body, deadline, ret);
  else json_decref(body);
  etcd_close(link);
  return r == LB_OK ? 0 : r < 0 ? r : -ETIMEDOUT;
}

static int call(struct lb_cluster *cluster, size_t index, const char *path, lb_ns deadline, json_t **ret) {
  return call_at(cluster, index, path, json_object(), deadline, ret);
}

static int ask_status(struct lb_cluster *cluster, size_t index, lb_ns deadline, struct status *ret) {
  json_t *said = NULL;
  int r = call(cluster, index, "/v3/maintenance/status", deadline, &said);
  if (r < 0) return r;
  const json_t *header = json_object_get(said, "header");
  *ret = (struct status){
      .member = etcd_number(header, "member_id"),
      .leader = etcd_number(said, "leader"),
      .term = etcd_number(said, "raftTerm"),
      .index = etcd_number(said, "raftIndex"),
  };
  json_decref(said);
  return 0;
}

static int stated(struct lb_cluster *cluster, size_t index, lb_ns deadline, char ret[LB_STATED_MAX]) {
  json_t *said = NULL;
  int r = call(cluster, index, "/v3/maintenance/status", deadline, &said);
  const char *version = json_string_value(json_object_get(said, "version"));
  snprintf(ret, LB_STATED_MAX, "%s", version ? version : "");
  json_decref(said);
  return r;
}

static int answers(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct status status;
  return ask_status(cluster, index, deadline, &status);
}

/* When its process began, to a hundredth of a second. */
static int identity(struct lb_cluster *cluster, size_t index, lb_ns deadline, char *ret, size_t size) {
  struct etcd_link *link;
  struct lb_target target;
  const struct lb_endpoint *to = lb_cluster_endpoint(cluster, index, &target);
  deadline = lb_cluster_ask_until(cluster, deadline);
  int r = etcd_open(cluster->env, &target, to, deadline, &link);
  if (r == 0) r = etcd_metric(link, "process_start_time_seconds", deadline, ret, size);
  etcd_close(link);
  return r > 0 ? -ETIMEDOUT : r;
}

/* The leases that it has: one is there until its end has been committed. */
static int has_session(struct lb_cluster *cluster, size_t index, uint64_t id, lb_ns deadline) {
  json_t *said = NULL, *lease;
  size_t i;
  int r = call(cluster, index, "/v3/lease/leases", deadline, &said), found = 0;
  json_array_foreach(json_object_get(said, "leases"), i, lease) found |= etcd_number(lease, "ID") == id;
  json_decref(said);
  return r < 0 ? r : found;
}

/* A key on its lease. */
static int has_place(struct lb_cluster *cluster, size_t index, const char *client, uint64_t id, lb_ns deadline) {
  json_t *said = NULL;
  char number[24];
  (void)client;
  snprintf(number, sizeof number, "%llu", (unsigned long long)id);
  int r =
      call_at(cluster, index, "/v3/lease/timetolive", json_pack("{s:s,s:b}", "ID", number, "keys", 1), deadline, &said);
  bool any = json_array_size(json_object_get(said, "keys")) > 0;
  json_decref(said);
  return r < 0 ? r : any;
}

/* Revokes the lease even if its client renews it. On a busy machine a request may time out, so it is sent again. */
static int end_session(struct lb_cluster *cluster, size_t index, const char *client, uint64_t id, lb_ns deadline,
                       struct lb_text *said) {
  const struct lb_server *server = &cluster->server[index];
  enum { POLL_MS = 5 };
  char number[24];
  bool told = false;
  (void)client;
  snprintf(number, sizeof number, "%llu", (unsigned long long)id);
  for (; lb_now(cluster->env) < deadline; lb_sleep_until(cluster->env, lb_now(cluster->env) + POLL_MS * LB_NS_PER_MS)) {
    json_t *answer = NULL;
    int has = id ? has_session(cluster, index, id, deadline) : 0;
    if (has == 0 && !told) return lb_fail(cluster->env, -ENOENT, "%s has no lease of that client", server->name);
    if (has == 0) return lb_text_add(said, "has revoked its lease"), 0;
    if (has < 0) continue;
    call_at(cluster, index, "/v3/lease/revoke", json_pack("{s:s}", "ID", number), deadline, &answer);
    json_decref(answer);
    told = true;
  }
  return lb_fail(cluster->env, -ETIMEDOUT, "%s still has the lease of that client", server->name);
}

/* All follow the same one. Less would do to serve, but a member that is still joining makes a later cut
 * a different fault. */
static int all_follow(struct lb_cluster *cluster, lb_ns deadline) {
  struct status status, first = {0};
  for (size_t i = 0; i < cluster->server_count; i++) {
    int r = ask_status(cluster, i, deadline, &status);
    if (r < 0) return r;
    if (i == 0) first = status;
    if (status.leader == 0 || status.leader != first.leader)
      return lb_fail(cluster->env, -EAGAIN, "%s follows nobody, or another one", cluster->server[i].name);
  }
  return 0;
}

static int start(struct lb_cluster *cluster, lb_ns deadline) {
  int r = lb_cluster_launch_all(cluster);
  return r < 0 ? r : lb_cluster_await(cluster, deadline, all_follow, "every member follows the same leader");
}

/* A leader that was cut off claims to lead for up to two election timeouts, as it looks once in each: the later term is
 * the truth. */
static int primary(struct lb_cluster *cluster, lb_ns deadline) {
  struct status status;
  uint64_t best_term = 0;
  int best = -ENOENT;
  for (size_t i = 0; i < cluster->data_count; i++) {
    if (ask_status(cluster, i, deadline, &status) < 0 || status.leader == 0 || status.leader != status.member ||
        status.term <= best_term)
      continue;
    best = (int)i;
    best_term = status.term;
  }
  return best;
}

/* One that starts answers its peers at once, and clients when a majority has taken it in. */
static int runs(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  json_t *said = NULL;
  int r = call_at(cluster, index, "/version", NULL, deadline, &said);
  json_decref(said);
  return r;
}

static int left(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct status status;
  int r = ask_status(cluster, index, deadline, &status);
  return r < 0 ? r : status.leader == 0;
}

/* Entries of the log: every change of a key, and of a lease. */
static int commits(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret) {
  struct status status;
  int r = ask_status(cluster, index, deadline, &status);
  *ret = r < 0 ? 0 : status.index;
  return r;
}

/* To any of the others, asked of the leader. */
static int depose(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  const struct lb_server *server = &cluster->server[index];
  struct lb_endpoint at = {.service = server->service, .host = server->host->address, .port = server->port};
  struct status other = {0};
  struct etcd_link *link;
  json_t *said = NULL;
  char member[24];
  int r = ask_status(cluster, (index + 1) % cluster->data_count, deadline, &other);
  if (r < 0) return r;
  snprintf(member, sizeof member, "%llu", (unsigned long long)other.member);
  r = etcd_open(cluster->env, NULL, &at, deadline, &link);
  if (r == 0)
    r = etcd_call(link, "/v3/maintenance/transfer-leadership", json_pack("{s:s}", "targetID", member), deadline, &said);
  etcd_close(link);
  json_decref(said);
  return r == LB_OK ? 0 : r < 0 ? r : -ETIMEDOUT;
}

/* Whether a member is listed; -errno. */
static int lists(struct lb_cluster *cluster, size_t asked, uint64_t member, lb_ns deadline) {
  json_t *said = NULL, *listed;
  size_t i;
  int r = call(cluster, asked, "/v3/cluster/member/list", deadline, &said), found = 0;
  json_array_foreach(json_object_get(said, "members"), i, listed) found |= etcd_number(listed, "ID") == member;
  json_decref(said);
  return r < 0 ? r : found;
}

/* Asked of another one, again and again: one of three refuses until all members have been connected for five
 * seconds. */
static int remove_member(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  enum { AGAIN_MS = 200 };
  size_t asked = (index + 1) % cluster->data_count;
  struct status status = {0};
  char number[24];
  int r = ask_status(cluster, index, deadline, &status);
  if (r < 0) return r;
  snprintf(number, sizeof number, "%llu", (unsigned long long)status.member);
  for (;;) {
    json_t *said = NULL;
    r = call_at(cluster, asked, "/v3/cluster/member/remove", json_pack("{s:s}", "ID", number), deadline, &said);
    json_decref(said);
    if (lists(cluster, asked, status.member, deadline) == 0) return 0;
    if (lb_now(cluster->env) >= deadline)
      return r < 0 ? r
                   : lb_fail(cluster->env, -EAGAIN, "%s still lists %s", cluster->server[asked].name,
                             cluster->server[index].name);
    lb_sleep_until(cluster->env, lb_now(cluster->env) + AGAIN_MS * LB_NS_PER_MS);
  }
}

static int version(const struct lb_origin *origin, char *buf, size_t size) {
  char said[300], number[32];
  int r = lb_binary_output(origin, (const char *const[]){"etcd", "--version", NULL}, NULL, said, sizeof said);
  if (r < 0) return r;
  if (sscanf(said, "etcd Version: %31[^ \n]", number) != 1) return -EPROTO;
  snprintf(buf, size, "etcd %s", number);
  return 0;
}

static const struct lb_ending ending = {.signal = SIGTERM, .by_signal = true, .says = "closed etcd server"};

const struct lb_family lb_family_etcd = {
    .name = "etcd",
    .ends_by = LB_ENDS_BY_MONOTONIC,
    .needs = (const char *const[]){"etcd", NULL},
    .service = "etcd",
    .orders =
        {
            .ending = &ending,
            .depose = depose,
            .remove = remove_member,
            .end_session = end_session,
            .files = (const char *const[]){"data", NULL},
            .starts_empty = true,
        },
    .settings = settings,
    .majority = true,
    .start = start,
    .launch = launch,
    .answers = answers,
    .healthy = all_follow,
    .primary = primary,
    .has_session = has_session,
    .has_place = has_place,
    .left = left,
    .runs = runs,
    .identity = identity,
    .stated = stated,
    .commits = commits,
    .least_ttl_ms = least_ttl_ms,
    .version = version,
};
