/* SPDX-License-Identifier: MIT
 *
 * The user's own NATS with JetStream. A run makes buckets, which are streams named after it, and removes them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/nats/nats.h"
#include "own.h"

#define STREAMS "$JS.API.STREAM."

static int call(struct nats_conn *conn, const char *subject, const char *body, lb_ns deadline, json_t **ret) {
  struct nats_reply reply;
  int r = nats_call(conn, &(struct nats_request){.subject = subject, .body = body}, deadline, &reply);
  if (r) return r < 0 ? r : -ETIMEDOUT;
  *ret = reply.said;
  const json_t *error = json_object_get(reply.said, "error");
  if (reply.status == 503 || json_is_integer(json_object_get(error, "err_code")))
    return lb_fail(conn->env, -EOPNOTSUPP, "the server has no JetStream: %.80s",
                   error ? json_string_value(json_object_get(error, "description")) : "none answers for it");
  return 0;
}

static int ask(struct lb_env *env, const struct lb_own *own, lb_ns deadline, struct lb_own_found *ret) {
  struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  int r = 0;
  lb_own_target(own, endpoint, &target);
  for (size_t i = 0; i < target.count && r == 0; i++) {
    struct nats_conn conn = {.fd = -1};
    json_t *said = NULL;
    r = nats_open(&conn, env, &endpoint[i], deadline);
    if (r == 0) r = call(&conn, "$JS.API.INFO", NULL, deadline, &said);
    if (r == 0) snprintf(ret->version, sizeof ret->version, "nats %s", conn.version);
    if (r == 0) r = lb_own_note(env, own, ret, endpoint[i].host, endpoint[i].port);
    json_decref(said);
    nats_close(&conn);
  }
  ret->data_count = ret->count;
  return r;
}

/* A list of streams has 256 at a time, or so. */
static int remove_some(struct nats_conn *conn, lb_ns deadline, size_t *ret_removed) {
  json_t *said = NULL, *gone = NULL;
  const json_t *name;
  char ours[NATS_NAME_MAX];
  size_t i;
  nats_stream(LB_OWN_PREFIX, ours);
  int r = call(conn, STREAMS "NAMES", "{\"subject\":\"$KV.>\"}", deadline, &said);
  json_array_foreach(json_object_get(said, "streams"), i, name) {
    char subject[200];
    const char *text = json_string_value(name);
    if (r || !text || strncmp(text, ours, strlen(ours)) != 0 || !lb_own_names_run(text + strlen(ours))) continue;
    snprintf(subject, sizeof subject, STREAMS "DELETE.%.100s", text);
    r = call(conn, subject, NULL, deadline, &gone);
    json_decref(gone);
    gone = NULL;
    (*ret_removed)++;
  }
  json_decref(said);
  return r;
}

static int clean(struct lb_env *env, const struct lb_own *own, lb_ns deadline) {
  struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  struct nats_conn conn = {.fd = -1};
  size_t removed;
  lb_own_target(own, endpoint, &target);
  int r = nats_open(&conn, env, &endpoint[0], deadline);
  do {
    removed = 0;
    if (r == 0) r = remove_some(&conn, deadline, &removed);
  } while (r == 0 && removed > 0);
  nats_close(&conn);
  return r;
}

const struct lb_own_kind lb_own_kind_nats = {
    "--nats", "own-nats", "HOST:PORT[,HOST:PORT...]", LB_LOGIN_NATS, 4222, "nats", "nats-x3", true, ask, clean};
