/* SPDX-License-Identifier: MIT
 *
 * NATS with JetStream: one server, or a cluster of them. The lock's bucket is a stream, whose leader decides.
 *
 * Servers are asked what they know by themselves through their system account, which a server without a leader answers,
 * too. Before there is a stream, the leader of the cluster's own log stands for that of the stream. The user's own are
 * asked for the stream of the lock, with the login of clients.
 *
 * A follower stands for election when it has heard nothing for 4 to 9 seconds, and no option makes that shorter. Their
 * clocks cannot be set: a Go program asks the kernel for the time without the C library. A message's age counts from a
 * stamp of the wall clock, which is stored with it.
 *
 * 2.9 has no option for when it syncs (sync_interval came with 2.10). What need not be synced lies in memory.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/nats/nats.h"
#include "base/files.h"
#include "binary.h"
#include "cluster.h"

#define NEED_NATS "nats-server or /usr/sbin/nats-server"
#define STREAMS "$JS.API.STREAM."
#define DATA "data"         /* its folder */
#define OPERATOR "operator" /* of the system account: name and password */

enum { NAME_SIZE = 80, JOIN_S = 4, UNAVAILABLE = 503 };

/* ---- starting ------------------------------------------------------------------------------------------------ */

/* A server that finds itself among the routes leaves that one out. */
static int write_routes(struct lb_cluster *cluster, const struct lb_server *server) {
  int r = lb_server_write(cluster, server, true, "nats.conf",
                          "cluster { name: lockbench, listen: \"%s:%u\", no_advertise: true, routes: [\n",
                          server->host->address, (unsigned)server->extra_port[0]);
  for (size_t i = 0; r == 0 && i < cluster->data_count; i++)
    r = lb_server_write(cluster, server, true, "nats.conf", "  \"nats://%s:%u\"\n", cluster->server[i].host->address,
                        (unsigned)cluster->server[i].extra_port[0]);
  return r < 0 ? r : lb_server_write(cluster, server, true, "nats.conf", "] }\n");
}

static int launch(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  int r = lb_server_write(cluster, server, false, "nats.conf",
                          "listen: \"%s:%u\"\nserver_name: \"%s\"\njetstream { store_dir: \"" DATA "\" }\n"
                          "accounts { $SYS { users: [ { user: " OPERATOR ", password: " OPERATOR " } ] } }\n",
                          server->host->address, (unsigned)server->port, server->name);
  if (r == 0 && cluster->data_count > 1) r = write_routes(cluster, server);
  return r < 0
             ? r
             : lb_server_start(cluster, server, (const char *const[]){NEED_NATS, "-c", "nats.conf", NULL}, NULL, false);
}

/* ---- asking -------------------------------------------------------------------------------------------------- */

/* A connection of its own each time, as one that was kept could be from before a cut. `subject` may have "%s" for the
 * server's own id. What is not about a stream the operator asks. 0 (then *ret is the caller's), or -errno. */
static int call(struct lb_cluster *cluster, size_t index, const char *subject, const char *body, lb_ns deadline,
                json_t **ret) {
  const struct lb_server *server = &cluster->server[index];
  struct lb_endpoint at = {.service = server->service, .host = server->host->address, .port = server->port};
  struct nats_conn conn = {.fd = -1};
  struct nats_reply reply;
  char whole[200];
  if (strncmp(subject, STREAMS, strlen(STREAMS)) != 0) at.user = at.password = OPERATOR;
  int r = nats_open(&conn, cluster->env, &at, deadline);
  if (r == 0) {
    const char *id = strstr(subject, "%s");
    snprintf(whole, sizeof whole, "%.*s%s%s", id ? (int)(id - subject) : (int)strlen(subject), subject,
             id ? conn.server_id : "", id ? id + 2 : "");
    r = nats_call(&conn, &(struct nats_request){whole, NULL, body}, deadline, &reply);
  }
  nats_close(&conn);
  if (r) return r < 0 ? r : -ETIMEDOUT;
  *ret = reply.said;
  return reply.said ? 0 : lb_fail(cluster->env, -EAGAIN, "%s has no JetStream now", server->name);
}

struct view {                                                          /* what a server knows */
  char name[NAME_SIZE];                                                /* its own */
  char leader[NAME_SIZE], stream[NAME_SIZE], stream_leader[NAME_SIZE]; /* "" = none */
  uint64_t last;                                                       /* message of the stream */
};

static void copy(char *to, const json_t *object, const char *name) {
  const char *text = json_string_value(json_object_get(object, name));
  snprintf(to, NAME_SIZE, "%s", text ? text : "");
}

/* As clients do. */
static int open_server(struct lb_cluster *cluster, size_t index, lb_ns deadline, struct nats_conn *ret) {
  struct lb_target target;
  *ret = (struct nats_conn){.fd = -1};
  return nats_open(ret, cluster->env, lb_cluster_endpoint(cluster, index, &target), deadline);
}

/* The bucket is named after the key, "lockbench:0a1b2c3d-0", up to its dash. */
static void name_stream(const struct lb_cluster *cluster, char buf[NATS_NAME_MAX]) {
  const char *key = cluster->key ? cluster->key : "";
  char name[NATS_NAME_MAX];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(key, "-"), key);
  nats_stream(name, buf);
}

/* Any answer but UNAVAILABLE means that some server leads the others. Before there is a stream it is not told which. */
static int ask_own(struct lb_cluster *cluster, size_t index, lb_ns deadline, struct view *ret) {
  struct nats_conn conn;
  struct nats_reply reply = {0};
  char subject[200];
  deadline = lb_cluster_ask_until(cluster, deadline);
  name_stream(cluster, ret->stream);
  snprintf(subject, sizeof subject, STREAMS "INFO.%s", ret->stream);
  int r = open_server(cluster, index, deadline, &conn);
  if (r == 0) r = nats_call(&conn, &(struct nats_request){.subject = subject}, deadline, &reply);
  snprintf(ret->name, NAME_SIZE, "%s", conn.server_name);
  nats_close(&conn);
  uint64_t error = nats_number(json_object_get(reply.said, "error"), "code");
  if (error != UNAVAILABLE) snprintf(ret->leader, NAME_SIZE, "some");
  if (error == 0) copy(ret->stream_leader, json_object_get(reply.said, "cluster"), "leader");
  else ret->stream[0] = '\0';
  json_decref(reply.said);
  return r > 0 ? -ETIMEDOUT : r;
}

static int ask(struct lb_cluster *cluster, size_t index, lb_ns deadline, struct view *ret) {
  json_t *said = NULL, *account;
  size_t i;
  *ret = (struct view){{0}};
  if (cluster->topology->own) return ask_own(cluster, index, deadline, ret);
  snprintf(ret->name, NAME_SIZE, "%s", cluster->server[index].name);
  int r = call(cluster, index, "$SYS.REQ.SERVER.%s.JSZ", "{\"accounts\":true,\"streams\":true}",
               lb_cluster_ask_until(cluster, deadline), &said);
  if (r < 0) return r;
  const json_t *data = json_object_get(said, "data");
  copy(ret->leader, json_object_get(data, "meta_cluster"), "leader");
  json_array_foreach(json_object_get(data, "account_details"), i, account) {
    const json_t *stream = json_array_get(json_object_get(account, "stream_detail"), 0);
    if (!stream) continue;
    copy(ret->stream, stream, "name");
    copy(ret->stream_leader, json_object_get(stream, "cluster"), "leader");
    ret->last = nats_number(json_object_get(stream, "state"), "last_seq");
  }
  json_decref(said);
  return 0;
}

static const char *leader_of(const struct view *view) { return view->stream[0] ? view->stream_leader : view->leader; }

/* It tells every client first. */
static int stated(struct lb_cluster *cluster, size_t index, lb_ns deadline, char ret[LB_STATED_MAX]) {
  struct nats_conn conn;
  int r = open_server(cluster, index, deadline, &conn);
  snprintf(ret, LB_STATED_MAX, "%.*s", LB_STATED_MAX - 1, conn.version);
  nats_close(&conn);
  return r;
}

static int runs(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct view view;
  return ask(cluster, index, deadline, &view);
}

/* One that starts has no leader for as long as an election takes, and then refuses every request. */
static int answers(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct view view;
  int r = ask(cluster, index, deadline, &view);
  if (r < 0 || cluster->data_count == 1 || (view.leader[0] && leader_of(&view)[0])) return r;
  return lb_fail(cluster->env, -EAGAIN, "%s follows nobody", cluster->server[index].name);
}

/* All follow the same ones. Less would do to serve, but a member that is still joining makes a later cut a different
 * fault. */
static int all_follow(struct lb_cluster *cluster, lb_ns deadline) {
  struct view view, first;
  for (size_t i = 0; i < cluster->data_count; i++) {
    int r = ask(cluster, i, deadline, &view);
    if (r < 0) return r;
    if (i == 0) first = view;
    if (cluster->data_count > 1 && (!view.leader[0] || strcmp(view.leader, first.leader) != 0 || !leader_of(&view)[0] ||
                                    strcmp(leader_of(&view), leader_of(&first)) != 0))
      return lb_fail(cluster->env, -EAGAIN, "%s follows nobody, or another one", cluster->server[i].name);
  }
  return 0;
}

static int order(struct lb_cluster *cluster, const char *subject, const char *body, lb_ns deadline) {
  json_t *said = NULL;
  int r = call(cluster, 0, subject, body, deadline, &said);
  const json_t *error = json_object_get(said, "error");
  if (r == 0 && error)
    r = lb_fail(cluster->env, -EAGAIN, "%s: %s", subject, json_string_value(json_object_get(error, "description")));
  json_decref(said);
  return r;
}

/* Whether a stream finds a place on every server. cluster_size in JSZ does not tell: a leader that counts a member may
 * not have heard of its disk yet, and refuses ("no suitable peers for placement"). */
static int places(struct lb_cluster *cluster, lb_ns deadline) {
  char body[120];
  snprintf(body, sizeof body,
           "{\"name\":\"ready\",\"subjects\":[\"ready\"],\"storage\":\"memory\",\"num_replicas\":%zu}",
           cluster->data_count);
  int r = order(cluster, STREAMS "CREATE.ready", body, deadline);
  return r < 0 ? r : order(cluster, STREAMS "DELETE.ready", NULL, deadline);
}

static int none_has_a_stream(struct lb_cluster *cluster, lb_ns deadline) {
  struct view view;
  for (size_t i = 0; i < cluster->data_count; i++) {
    int r = ask(cluster, i, deadline, &view);
    if (r < 0) return r;
    if (view.stream[0]) return lb_fail(cluster->env, -EAGAIN, "%s has one", cluster->server[i].name);
  }
  return 0;
}

static void stop_and_forget(struct lb_cluster *cluster) {
  char path[sizeof cluster->server[0].dir + sizeof "/" DATA];
  for (size_t i = 0; i < cluster->data_count; i++) lb_proc_kill(&cluster->server[i].proc);
  for (size_t i = 0; i < cluster->data_count; i++) {
    snprintf(path, sizeof path, "%s/" DATA, cluster->server[i].dir);
    lb_files_remove_tree(path);
  }
}

/* Two servers of three that start at once may found the cluster by themselves, and the third is never let in (2.10.27:
 * about 1 start of 12). Then the lock's stream has no place for its third copy. That is a race of their start, not of a lock:
 * they start anew with empty folders. */
static int start(struct lb_cluster *cluster, lb_ns deadline) {
  for (;;) {
    int r = lb_cluster_launch_all(cluster);
    if (r == 0) r = lb_cluster_await(cluster, deadline, all_follow, "every server follows the same leader");
    if (r < 0 || cluster->data_count == 1) return r;
    lb_ns joined_at = lb_now(cluster->env) + JOIN_S * LB_NS_PER_S;
    if (joined_at > deadline) joined_at = deadline;
    r = lb_cluster_await(cluster, joined_at, places, "a stream finds a place on every server");
    if (r == 0) return lb_cluster_await(cluster, deadline, none_has_a_stream, "no server has a stream");
    if (r != -ETIMEDOUT || joined_at == deadline) return r;
    stop_and_forget(cluster);
  }
}

/* The member that leads by its own word and by that of a majority. A leader that was cut off says for another ten to
 * twenty seconds that it leads, as it looks for its quorum every ten. Members name no term. */
static int primary(struct lb_cluster *cluster, lb_ns deadline) {
  struct view view[LB_SERVERS_MAX];
  if (cluster->data_count == 1) return answers(cluster, 0, deadline) == 0 ? 0 : -ENOENT;
  for (size_t i = 0; i < cluster->data_count; i++)
    if (ask(cluster, i, deadline, &view[i]) < 0) view[i] = (struct view){{0}};
  for (size_t i = 0; i < cluster->data_count; i++) {
    const char *name = view[i].name;
    size_t votes = 0;
    for (size_t k = 0; k < cluster->data_count; k++) votes += strcmp(leader_of(&view[k]), name) == 0;
    if (name[0] && strcmp(leader_of(&view[i]), name) == 0 && 2 * votes > cluster->data_count) return (int)i;
  }
  return -ENOENT;
}

static int left(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct view view;
  int r = ask(cluster, index, deadline, &view);
  return r < 0 ? r : cluster->data_count > 1 && !leader_of(&view)[0];
}

static int identity(struct lb_cluster *cluster, size_t index, lb_ns deadline, char *ret, size_t size) {
  struct nats_conn conn;
  int r = open_server(cluster, index, lb_cluster_ask_until(cluster, deadline), &conn);
  nats_close(&conn);
  if (r == 0) snprintf(ret, size, "server_id:%s", conn.server_id);
  return r;
}

/* Every change of a key is a message of the stream. */
static int commits(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret) {
  struct view view;
  int r = ask(cluster, index, deadline, &view);
  *ret = r < 0 ? 0 : view.last;
  return r;
}

/* The stream's leader; who follows is for the servers to elect. It answers when it has handed over. */
static int depose(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct view view;
  char subject[200];
  json_t *said = NULL;
  int r = ask(cluster, index, deadline, &view);
  if (r < 0) return r;
  snprintf(subject, sizeof subject, view.stream[0] ? STREAMS "LEADER.STEPDOWN.%s" : "$JS.API.META.LEADER.STEPDOWN",
           view.stream);
  r = call(cluster, index, subject, NULL, deadline, &said);
  if (r == 0 && !json_is_true(json_object_get(said, "success")))
    r = lb_fail(cluster->env, -EAGAIN, "%s does not step down", cluster->server[index].name);
  json_decref(said);
  return r;
}

static int version(const struct lb_origin *origin, char *buf, size_t size) {
  char said[100], number[40];
  int r = lb_binary_output(origin, (const char *const[]){NEED_NATS, "--version", NULL}, NULL, said, sizeof said);
  if (r < 0) return r;
  if (sscanf(said, "nats-server: v%39s", number) != 1) return -EPROTO;
  return snprintf(buf, size, "nats-server %s", number), 0;
}

static const struct lb_ending ending = {.signal = SIGTERM, .status = 1, .says = "Server Exiting"};

const struct lb_family lb_family_nats = {
    .name = "nats",
    .ends_by = LB_ENDS_BY_WALL,
    .needs = (const char *const[]){NEED_NATS, NULL},
    .service = "nats",
    .majority = true,
    .orders =
        {
            .ending = &ending,
            .depose = depose,
            .files = (const char *const[]){DATA, NULL},
            .starts_empty = true,
        },
    .start = start,
    .launch = launch,
    .answers = answers,
    .healthy = all_follow,
    .primary = primary,
    .left = left,
    .identity = identity,
    .runs = runs,
    .stated = stated,
    .commits = commits,
    .version = version,
};
