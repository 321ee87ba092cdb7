/* SPDX-License-Identifier: MIT
 *
 * The scripts, the grants that a session remembers, and the hooks. What an unanswered request means: redis_session.h.
 */
#include "redis_hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- scripts: KEYS[1], ARGV owner, ttl in ms, depth (of the absolute ones) ------------------------------------------ */

enum { GRANTED = -3 }; /* no time to live is that: -1 and -2 are Redis's own words */

#define NOT_OURS "redis.call(\"EXISTS\",KEYS[1])==1 and redis.call(\"HEXISTS\",KEYS[1],ARGV[1])==0"
#define LEASE "redis.call(\"PEXPIRE\",KEYS[1],ARGV[2]) "
#define FREE "redis.call(\"DEL\",KEYS[1]) redis.call(\"PUBLISH\",KEYS[1],\"\") return 1"

static const struct redis_script take_counted = {
    .sha1 = "3f96058988c4fc91098df2d5b90dff113e42f1ad",
    .text = "if " NOT_OURS " then return redis.call(\"PTTL\",KEYS[1]) end "
            "redis.call(\"HINCRBY\",KEYS[1],ARGV[1],1) " LEASE "return -3",
};
static const struct redis_script take_absolute = {
    .sha1 = "f6690876225e677eb62470c968a31f2cb9ad047f",
    .text = "if " NOT_OURS " then return redis.call(\"PTTL\",KEYS[1]) end "
            "redis.call(\"HSET\",KEYS[1],ARGV[1],ARGV[3]) " LEASE "return -3",
};
/* Both: nil not ours, 0 held as often as is left, 1 free. */
static const struct redis_script release_counted = {
    .sha1 = "9e97563e685ca88dd02331fb4cdd10aa870fd1f2",
    .text = "if redis.call(\"HEXISTS\",KEYS[1],ARGV[1])==0 then return nil end "
            "if redis.call(\"HINCRBY\",KEYS[1],ARGV[1],-1)>0 then " LEASE "return 0 end " FREE,
};
/* Takes no lock that has expired, as the same request with which one takes would. */
static const struct redis_script release_absolute = {
    .sha1 = "753ee9df16b8475054ce9f70dad73247e86a5438",
    .text = "if redis.call(\"HEXISTS\",KEYS[1],ARGV[1])==0 then return nil end "
            "if tonumber(ARGV[3])>0 then redis.call(\"HSET\",KEYS[1],ARGV[1],ARGV[3]) " LEASE "return 0 end " FREE,
};
/* 1 extended, 0 not ours. */
static const struct redis_script extend_if_ours = {
    .sha1 = "a15d6b4dcc8cd6641a8b7877c126196e9fc009bf",
    .text = "if redis.call(\"HEXISTS\",KEYS[1],ARGV[1])==1 then return redis.call(\"PEXPIRE\",KEYS[1],ARGV[2]) end return 0",
};

/* ---- the grants of a session: the token of each is "OWNER-NUMBER" --------------------------------------------------- */

struct redis_hash_mine {
  struct redis_hash_mine *next;
  lb_ns end; /* of its lease; while it is not known to be granted: then it would be over at the latest */
  char token[LB_TOKEN_MAX];
  char key[];
};

struct owner { /* as the server knows it */
  char name[REDIS_TOKEN_LEN + 1];
};

static struct owner owner_of(const char *token) {
  struct owner owner;
  snprintf(owner.name, sizeof owner.name, "%.*s", REDIS_TOKEN_LEN, token);
  return owner;
}

static struct redis_hash_mine **find(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  struct redis_hash_mine **at = &s->mine;
  while (*at && (strcmp((*at)->key, lock->key) || strcmp((*at)->token, grant->token))) at = &(*at)->next;
  return at;
}

static void drop(struct redis_hash_mine **at) {
  struct redis_hash_mine *gone = *at;
  *at = gone->next;
  free(gone);
}

static void forget(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  struct redis_hash_mine **at = find(s, lock, grant);
  if (*at) drop(at);
}

/* A grant of the present owner that is not remembered has been released, or was lost. Of an earlier owner only the server knows. */
static bool is_over(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  return !*find(s, lock, grant) && !strncmp(grant->token, s->owner, REDIS_TOKEN_LEN);
}

/* How often this owner holds the key, as far as the session knows. */
static int depth_of(const struct lb_session *s, const char *key, const char *owner) {
  int depth = 0;
  for (const struct redis_hash_mine *m = s->mine; m; m = m->next)
    depth += !strcmp(m->key, key) && !strncmp(m->token, owner, REDIS_TOKEN_LEN);
  return depth;
}

/* The lease of one is the lease of all that the owner has of the key. */
static void note_end(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  for (struct redis_hash_mine *m = s->mine; m; m = m->next)
    if (!strcmp(m->key, lock->key) && !strncmp(m->token, grant->token, REDIS_TOKEN_LEN)) m->end = grant->valid_until;
}

static void draw_owner(struct lb_session *s) {
  struct lb_grant random;
  redis_new_token(s->key.redis.env, &random);
  memcpy(s->owner, random.token, sizeof s->owner);
}

/* Whoever let a lease of this key run out is somebody else from now on: what it still has of the key must not count as part of what it
 * is granted next. */
static void leave_what_ran_out(struct lb_session *s, const char *key) {
  lb_ns now = lb_now(s->key.redis.env);
  bool ran_out = false;
  for (const struct redis_hash_mine *m = s->mine; m; m = m->next) ran_out |= !strcmp(m->key, key) && m->end <= now;
  if (!ran_out) return;
  for (struct redis_hash_mine **at = &s->mine; *at;)
    if (strcmp((*at)->key, key) == 0) drop(at);
    else at = &(*at)->next;
  draw_owner(s);
}

/* Before anything is sent: what brings no answer may be granted, too. */
static int remember(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant) {
  leave_what_ran_out(s, lock->key);
  struct redis_hash_mine *mine = malloc(sizeof *mine + strlen(lock->key) + 1);
  if (!mine) return lb_fail(s->key.redis.env, -ENOMEM, "no memory to remember a grant");
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%s-%u", s->owner, s->attempts++);
  *mine = (struct redis_hash_mine){.next = s->mine, .end = lb_now(s->key.redis.env) + (lb_ns)lock->ttl_ms * LB_NS_PER_MS};
  strcpy(mine->token, grant->token);
  strcpy(mine->key, lock->key);
  s->mine = mine;
  return 0;
}

static bool is_absolute(struct lb_session *s) { return s->key.options[REDIS_HASH_OPT_ABSOLUTE].b; }

/* ---- acquire ------------------------------------------------------------------------------------------------------------ */

static int take(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, bool again, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX], depth[REDIS_DECIMAL_MAX];
  struct owner owner = owner_of(grant->token);
  redis_decimal(lock->ttl_ms, ttl);
  redis_decimal(depth_of(s, lock->key, owner.name), depth);
  struct redis_request request = {
      .command = {is_absolute(s) ? &take_absolute : &take_counted, {lock->key, owner.name, ttl, depth}},
      .grant = grant,
      .repeated = again,
      .ttl_ms = lock->ttl_ms,
      .before = "before-take",
      .after = "after-take",
  };
  int rc = redis_session_once(&s->key.redis, &request, deadline);
  if (rc) return rc;
  s->left_ms = request.reply->type == REDIS_REPLY_INTEGER ? request.reply->integer : 0;
  freeReplyObject(request.reply);
  if (s->left_ms != GRANTED) return LB_BUSY;
  if (!grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  note_end(s, lock, grant);
  return LB_OK;
}

/* An attempt that is repeated is sent again as it was: counted, it counts once more. */
int redis_hash_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  bool again = grant->token_len != 0;
  int rc = again ? 0 : remember(s, lock, grant);
  if (!rc) rc = take(s, lock, grant, again, deadline);
  struct lb_grant attempt = *grant;
  rc = redis_key_tried(s, grant, again, rc);
  if (rc != LB_OK && rc != LB_UNKNOWN) forget(s, lock, &attempt);
  return rc;
}

int redis_hash_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)grant;
  return redis_ear_wait(&s->key.ear, &s->key.redis, lock->key, s->left_ms < 0 ? REDIS_EAR_MS : s->left_ms, s->key.options[REDIS_HASH_OPT_LOOK].b, deadline);
}

/* ---- a grant we have, or may have ----------------------------------------------------------------------------------------- */

/* What is left of the count says nothing to whoever did not count itself: it is not looked at. */
int redis_hash_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX], depth[REDIS_DECIMAL_MAX];
  struct owner owner = owner_of(grant->token);
  if (is_over(s, lock, grant)) return LB_LOST;
  redis_decimal(lock->ttl_ms, ttl);
  redis_decimal(depth_of(s, lock->key, owner.name) - (*find(s, lock, grant) != NULL), depth);
  struct redis_request release = {
      .command = {is_absolute(s) ? &release_absolute : &release_counted, {lock->key, owner.name, ttl, depth}}, .grant = grant, .undoes = true};
  lb_point(s->key.redis.env, "before-release");
  int rc = redis_session_ask(&s->key.redis, &release, deadline);
  /* valid_until == 0 says: never known as held, or an earlier release may have done it. "Not ours" is then no loss. */
  if (release.unsure) grant->valid_until = 0;
  if (!rc && release.reply->type == REDIS_REPLY_NIL)
    rc = redis_session_absent(&s->key.redis, grant, grant->valid_until ? LB_LOST : LB_OK);
  freeReplyObject(release.reply);
  if (rc == LB_OK || rc == LB_LOST) forget(s, lock, grant);
  return rc;
}

int redis_hash_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  struct owner owner = owner_of(grant->token);
  if (is_over(s, lock, grant)) return LB_LOST;
  struct redis_command extend = {&extend_if_ours, {lock->key, owner.name, redis_decimal(lock->ttl_ms, ttl)}};
  int rc = redis_session_extend(&s->key.redis, extend, lock->ttl_ms, grant, deadline);
  if (rc == LB_LOST) forget(s, lock, grant);
  note_end(s, lock, grant);
  return rc;
}

int redis_hash_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct owner owner = owner_of(grant->token);
  if (is_over(s, lock, grant)) return LB_LOST;
  struct redis_request exists = {.command = {.argv = {"HEXISTS", lock->key, owner.name}}};
  int rc = redis_session_ask(&s->key.redis, &exists, deadline);
  if (!rc && !redis_is_one(exists.reply)) rc = LB_LOST;
  freeReplyObject(exists.reply);
  if (rc == LB_LOST) forget(s, lock, grant);
  return rc == LB_OK ? redis_session_confirm(&s->key.redis, grant) : rc;
}

/* ---- session -------------------------------------------------------------------------------------------------------------- */

int redis_hash_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  int rc = redis_key_open(s, config, deadline);
  draw_owner(s);
  return rc;
}

void redis_hash_close(struct lb_session *s) {
  while (s->mine) drop(&s->mine);
  redis_key_close(s);
}
