/* SPDX-License-Identifier: MIT
 *
 * A connection that is subscribed answers nothing but messages, so requests go over the session's own one.
 */
#include "redis_ear.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void redis_ear_close(struct redis_ear *ear) {
  redis_close(ear->conn);
  *ear = (struct redis_ear){0};
}

static bool is_word(const redisReply *reply, size_t at, const char *word) {
  return reply->type == REDIS_REPLY_ARRAY && reply->elements > at && reply->element[at]->type == REDIS_REPLY_STRING &&
         strcmp(reply->element[at]->str, word) == 0;
}

/* Throws away what has arrived. True if `kind` about this key was in it. 0, 1, or -errno: the connection is lost. */
static int take(struct redis_ear *ear, const char *kind, const char *key) {
  redisReply *reply;
  bool found = false;
  int rc = redis_next(ear->conn, true, &reply);
  while (!rc && reply) {
    found = found || (is_word(reply, 0, kind) && is_word(reply, 1, key));
    freeReplyObject(reply);
    rc = redis_next(ear->conn, false, &reply);
  }
  return rc ? rc : found;
}

/* 1: it has arrived; 0: the time is over; -errno. */
static int await(struct redis_ear *ear, struct lb_env *env, const char *kind, const char *key, lb_ns until) {
  for (;;) {
    int rc = redis_push(ear->conn);
    if (rc) return rc;
    rc = lb_wait_fd(env, redis_fd(ear->conn), redis_events(ear->conn), until);
    if (rc <= 0) return rc;
    if (rc & ~POLLOUT && (rc = take(ear, kind, key))) return rc;
  }
}

/* Subscribes to this key alone. 0 or -errno. */
static int subscribe(struct redis_ear *ear, struct redis_session *session, const char *key, lb_ns until) {
  struct lb_env *env = session->env;
  struct redis_link link = session->link; /* the search for the server is not to touch what the session has found */
  int rc = ear->conn ? 0 : redis_link_open(&link, key, until, &ear->conn);
  if (rc) return rc;
  redis_listen(ear->conn);
  if (ear->key[0]) rc = redis_queue(ear->conn, 2, (const char *[]){"UNSUBSCRIBE", ear->key}, NULL);
  ear->key[0] = '\0';
  if (!rc) rc = redis_queue(ear->conn, 2, (const char *[]){"SUBSCRIBE", key}, NULL);
  if (!rc) rc = await(ear, env, "subscribe", key, until);
  if (rc == 0) return lb_fail(env, -ETIMEDOUT, "redis did not answer SUBSCRIBE in time");
  if (rc > 0) snprintf(ear->key, sizeof ear->key, "%s", key);
  return rc > 0 ? 0 : rc;
}

/* What a command says of the key; NOTHING without an answer: the next try will ask again. */
enum { NOTHING = -3, GONE = -2 };
static int64_t look(struct redis_session *session, const char *command, const char *key, lb_ns until) {
  struct redis_request ask = {.command = {.argv = {command, key}}};
  int rc = redis_session_ask(session, &ask, until);
  int64_t answer = !rc && ask.reply->type == REDIS_REPLY_INTEGER ? ask.reply->integer : NOTHING;
  freeReplyObject(ask.reply);
  return answer;
}

static lb_ns in_ms(struct lb_env *env, int64_t ms, lb_ns deadline) {
  lb_ns until = lb_now(env) + (ms > 0 ? (lb_ns)ms : 0) * LB_NS_PER_MS;
  return until < deadline ? until : deadline;
}

int redis_ear_wait(struct redis_ear *ear, struct redis_session *session, const char *key, int64_t most_ms, bool looks,
                   lb_ns deadline) {
  struct lb_env *env = session->env;
  lb_ns soon = in_ms(env, REDIS_EAR_MS, deadline),
        until = most_ms == REDIS_EAR_LIFE ? soon : in_ms(env, most_ms, deadline);
  if (strlen(key) >= sizeof ear->key) return lb_fail(env, -ENAMETOOLONG, "a key too long to listen for");
  if (lb_now(env) >= deadline) return LB_TIMEOUT;
  bool listens = ear->conn && strcmp(ear->key, key) == 0;
  int rc = listens ? 0 : subscribe(ear, session, key, soon);
  if (rc == -ETIMEDOUT && !ear->conn && lb_now(env) >= deadline) return LB_TIMEOUT; /* none was left to ask in */
  if (rc == 0 && most_ms == REDIS_EAR_LIFE) {
    int64_t left_ms = look(session, "PTTL", key, soon);
    if (left_ms == GONE) return LB_OK;
    if (left_ms >= 0) until = in_ms(env, left_ms, deadline);
  } else if (rc == 0 && !listens && looks && look(session, "EXISTS", key, soon) == 0) {
    return LB_OK;
  }
  if (rc == 0) rc = await(ear, env, "message", key, until);
  if (rc < 0) redis_ear_close(ear);
  if (rc) return rc < 0 ? rc : LB_OK;
  return lb_now(env) >= deadline ? LB_TIMEOUT : LB_OK;
}
