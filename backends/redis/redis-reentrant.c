/* SPDX-License-Identifier: MIT
 *
 * A lock that is a hash in Redis: its one field is the owner, and the value says how often the owner holds.
 *
 *   take     no key, or our field in it: the field plus one, the lease begins anew. Else the answer is how long the key
 *            has to live.
 *   release  our field minus one. More than 0: the lease begins anew. 0: the key is deleted, and the waiters are told.
 *   extend   our field is there: the lease begins anew.
 *
 * The owner is a session, not a grant. The server knows nothing of single grants; the session remembers those that it
 * has. With the option `absolute` the client says which depth it wants (HSET) in place of HINCRBY. A client that goes
 * on with an attempt without an answer sends the same again.
 *
 * redis-reentrant - a hash of owner and count: a holder may take the lock again, and gives it back as often.
 *
 * Promises    One owner per key as long as one and the same Redis server decides, its clock does not jump, and holders
 *             stop at valid_until. An owner that holds is granted the lock again at once; others get it after as many
 *             releases. A release or an extension never touches somebody else's lock.
 * Assumes     The server keeps what it has confirmed, and its clock and the client's run at nearly the same rate. All
 *             requests of the owner get an answer: as shipped the server counts, and it counts requests.
 * Breaks it   A lost reply. A client that got no answer to a take, and sends it again, has counted twice (HINCRBY): its
 *             one release leaves the lock held, until the lease ends. If it comes back before that, it is let in, and
 *             the lease begins anew: others wait for as long as it goes on. Lost the other way, a release that is sent
 *             again takes off two, which frees an outer hold. Then all that breaks a lease in one Redis key: a holder
 *             that works on past its lease, a failover or a restart that forgets the key, a cut-off old master, a jump
 *             of the server's clock. And a nested take with a shorter ttl: it shortens the lease that the outer one
 *             counts on.
 *
 * Twice       With a single server Redisson reports a take without an answer as failed, and the lock stays held until
 *             its lease ends: the same wait for others. In replicated mode it sends it again (Redisson issue 7367, the
 *             hold count is then 2). With `absolute` the client sends the depth that it wants: repeated it changes
 *             nothing. It is the client that counts then, so an owner may not be shared by two that do not count
 *             together.
 * Owner       A session, as Redisson has an id of a client and a thread. The owner has to be a handle of its own: an id
 *             of an operating system's thread means nothing where another thread finishes what one began. A session
 *             that let a lease run out is another owner from then on; Redisson's stays the same (uuid:threadId), so
 *             what it still has of the key counts as part of what it takes next.
 * Wake        With `wake` this is the lock that Redisson ships, but for its watchdog: redis-watchdog.
 * Source      Redisson's RedissonLock (tryLockInnerAsync, unlockInnerAsync); the absolute depth is this project's.
 *
 * redis-watchdog - redis-reentrant under a watchdog: the lease is short, and renewed every third of it for as long as
 * the holder's process lives.
 *
 * Promises    What redis-reentrant promises; and work may take longer than the lease, as long as the holder's process
 *             runs and reaches the server. A holder that dies is replaced when its last lease is over.
 * Assumes     What redis-reentrant assumes; and that a client that has the lock works. The watchdog knows that the
 *             process lives, and nothing of what its program does.
 * Breaks it   A program that hangs: a deadlock, an endless loop, a call that never returns. Its watchdog goes on, and
 *             others wait for ever. The option `renewed_for_ms` is the cure: after that time the watchdog renews no
 *             more, so the lock is free a lease later; what the program writes after that is again the question of
 *             every lease. A process that stands still (a stop, a long collection of garbage) takes its watchdog along,
 *             and loses the lock as any lease is lost. So does one that is cut off: a renewal without an answer does
 *             not tell that the lock is lost. And all that breaks redis-reentrant, the lost reply first.
 *
 * Renewal     The table says that this lock is renewed (LB_TRAIT_RENEWED), and who runs it does so, between its other
 *             calls: a session belongs to one thread, so a renewal never overtakes the release, and none follows it.
 *             Implementations with a thread or a timer had to learn that: of Redisson's bugs with a watchdog most are
 *             renewals that outlive the release (its issues 2714, 7272) or end too soon (2515, 5698).
 * Redisson    This, with wake=yes, is the algorithm of Redisson's RLock as it is used without a lease time: the hash,
 *             the scripts, the publish on release, a lease of 30 s that is renewed every 10 s. Redisson itself is not
 *             run here. It renews a hundred locks in one request, and it keeps the answer to a release for when that is
 *             sent again. A take without an answer it reports as failed with a single server; in replicated mode it
 *             sends it again (its issue 7367, the hold count is then 2).
 * Source      Redisson: RedissonLock, RenewalTask; redis.io, "Distributed Locks with Redis", which asks for an end of
 *             extensions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis_key.h"

struct lb_session {
  struct redis_key key;
  int64_t left_ms;                 /* of the key's life, when the latest try was refused */
  char owner[REDIS_TOKEN_LEN + 1]; /* whose grants the next one belongs to */
  unsigned attempts;               /* so far: no two have the same token */
  struct mine *mine;
};

enum { OPT_ABSOLUTE, OPT_WAKE, OPT_LOOK };
#define OPTIONS                                                                                                        \
  [OPT_ABSOLUTE] = {"absolute", LB_OPT_BOOL,                                                                           \
                    0,          0,                                                                                     \
                    1,          "the client sends its depth (HSET), and a request that is sent twice counts once"},    \
  [OPT_WAKE] = {"wake", LB_OPT_BOOL,                                                                                   \
                0,      0,                                                                                             \
                1,      "waiters hear of a release, or sleep for as long as the key has to live, instead of polling"}, \
  [OPT_LOOK] = {"look", LB_OPT_BOOL,                                                                                   \
                1,      0,                                                                                             \
                1,      "who has just subscribed looks at the key once; no: a release before that is missed"}

/* ---- scripts: KEYS[1], ARGV owner, ttl in ms, depth (of the absolute ones) --------------------------------------- */

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
    .text =
        "if redis.call(\"HEXISTS\",KEYS[1],ARGV[1])==1 then return redis.call(\"PEXPIRE\",KEYS[1],ARGV[2]) end return 0",
};

/* ---- the grants of a session: the token of each is "OWNER-NUMBER" ------------------------------------------------ */

struct mine {
  struct mine *next;
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

static struct mine **find(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  struct mine **at = &s->mine;
  while (*at && (strcmp((*at)->key, lock->key) || strcmp((*at)->token, grant->token))) at = &(*at)->next;
  return at;
}

static void drop(struct mine **at) {
  struct mine *gone = *at;
  *at = gone->next;
  free(gone);
}

static void forget(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  struct mine **at = find(s, lock, grant);
  if (*at) drop(at);
}

/* A grant of the present owner that is not remembered has been released, or was lost. Of an earlier owner only the
 * server knows. */
static bool is_over(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  return !*find(s, lock, grant) && !strncmp(grant->token, s->owner, REDIS_TOKEN_LEN);
}

/* How often this owner holds the key, as far as the session knows. */
static int depth_of(const struct lb_session *s, const char *key, const char *owner) {
  int depth = 0;
  for (const struct mine *m = s->mine; m; m = m->next)
    depth += !strcmp(m->key, key) && !strncmp(m->token, owner, REDIS_TOKEN_LEN);
  return depth;
}

/* The lease of one is the lease of all that the owner has of the key. */
static void note_end(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  for (struct mine *m = s->mine; m; m = m->next)
    if (!strcmp(m->key, lock->key) && !strncmp(m->token, grant->token, REDIS_TOKEN_LEN)) m->end = grant->valid_until;
}

static void draw_owner(struct lb_session *s) {
  struct lb_grant random;
  redis_new_token(s->key.redis.env, &random);
  memcpy(s->owner, random.token, sizeof s->owner);
}

/* A session that let a lease of this key run out is another owner from now on: what it still has of the key must not
 * count as part of what it is granted next. */
static void leave_what_ran_out(struct lb_session *s, const char *key) {
  lb_ns now = lb_now(s->key.redis.env);
  bool ran_out = false;
  for (const struct mine *m = s->mine; m; m = m->next) ran_out |= !strcmp(m->key, key) && m->end <= now;
  if (!ran_out) return;
  for (struct mine **at = &s->mine; *at;)
    if (strcmp((*at)->key, key) == 0) drop(at);
    else at = &(*at)->next;
  draw_owner(s);
}

/* Before anything is sent: what brings no answer may be granted, too. */
static int remember(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant) {
  leave_what_ran_out(s, lock->key);
  struct mine *mine = malloc(sizeof *mine + strlen(lock->key) + 1);
  if (!mine) return lb_fail(s->key.redis.env, -ENOMEM, "no memory to remember a grant");
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%s-%u", s->owner, s->attempts++);
  *mine = (struct mine){.next = s->mine, .end = lb_now(s->key.redis.env) + (lb_ns)lock->ttl_ms * LB_NS_PER_MS};
  strcpy(mine->token, grant->token);
  strcpy(mine->key, lock->key);
  s->mine = mine;
  return 0;
}

static bool is_absolute(struct lb_session *s) { return s->key.options[OPT_ABSOLUTE].b; }

/* ---- acquire ----------------------------------------------------------------------------------------------------- */

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
static int hash_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  bool again = grant->token_len != 0;
  int rc = again ? 0 : remember(s, lock, grant);
  if (!rc) rc = take(s, lock, grant, again, deadline);
  struct lb_grant attempt = *grant;
  rc = redis_key_tried(s, grant, again, rc);
  if (rc != LB_OK && rc != LB_UNKNOWN) forget(s, lock, &attempt);
  return rc;
}

static int hash_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)grant;
  return redis_ear_wait(&s->key.ear, &s->key.redis, lock->key, s->left_ms < 0 ? REDIS_EAR_MS : s->left_ms,
                        s->key.options[OPT_LOOK].b, deadline);
}

/* ---- a grant we have, or may have -------------------------------------------------------------------------------- */

/* What is left of the count says nothing to a client that did not count itself: it is not looked at. */
static int hash_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX], depth[REDIS_DECIMAL_MAX];
  struct owner owner = owner_of(grant->token);
  if (is_over(s, lock, grant)) return LB_LOST;
  redis_decimal(lock->ttl_ms, ttl);
  redis_decimal(depth_of(s, lock->key, owner.name) - (*find(s, lock, grant) != NULL), depth);
  struct redis_request release = {
      .command = {is_absolute(s) ? &release_absolute : &release_counted, {lock->key, owner.name, ttl, depth}},
      .grant = grant,
      .undoes = true};
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

static int hash_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  struct owner owner = owner_of(grant->token);
  if (is_over(s, lock, grant)) return LB_LOST;
  struct redis_command extend = {&extend_if_ours, {lock->key, owner.name, redis_decimal(lock->ttl_ms, ttl)}};
  int rc = redis_session_extend(&s->key.redis, extend, lock->ttl_ms, grant, deadline);
  if (rc == LB_LOST) forget(s, lock, grant);
  note_end(s, lock, grant);
  return rc;
}

static int hash_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct owner owner = owner_of(grant->token);
  if (is_over(s, lock, grant)) return LB_LOST;
  struct redis_request exists = {.command = {.argv = {"HEXISTS", lock->key, owner.name}}};
  int rc = redis_session_ask(&s->key.redis, &exists, deadline);
  if (!rc && !redis_is_one(exists.reply)) rc = LB_LOST;
  freeReplyObject(exists.reply);
  if (rc == LB_LOST) forget(s, lock, grant);
  return rc == LB_OK ? redis_session_confirm(&s->key.redis, grant) : rc;
}

/* ---- session ----------------------------------------------------------------------------------------------------- */

static int hash_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  int rc = redis_key_open(s, config, deadline);
  draw_owner(s);
  return rc;
}

static void hash_close(struct lb_session *s) {
  while (s->mine) drop(&s->mine);
  redis_key_close(s);
}

static const struct lb_flaw counts_twice[] = {
    {"an attempt that was repeated is one hold", "the server adds 1 for each request that it gets", "absolute=no"},
    {0}};

/* after-take: the reply has been read, or given up, and not been looked at. */
#define HOOKS                                                                                                          \
  .topologies = redis_key_topologies,                                                                                  \
  .points = (const char *const[]){"before-take", "after-take", "before-release", NULL}, .flaws = counts_twice,         \
  .session_size = sizeof(struct lb_session), .open = hash_open, .close = hash_close, .try_acquire = hash_try,          \
  .release = hash_release, .extend = hash_extend, .wait = hash_wait, .resolve = hash_try, .holds = hash_holds,         \
  .break_lock = redis_key_break, .teardown = redis_key_teardown, .doubt = redis_key_doubt, .proofs = &redis_key_proofs

static const struct lb_option reentrant_options[] = {OPTIONS, {0}};

const struct lb_protocol lb_redis_reentrant = {
    .abi = LB_ABI,
    .name = "redis-reentrant",
    .summary = "one Redis server: a hash of owner and count, which its owner may take again",
    .facts = "lost=counted",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_REENTRANT | LB_TRAIT_NEEDS_MEMORY |
              LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    .options = reentrant_options,
    HOOKS,
};

static const struct lb_option watchdog_options[] = {
    OPTIONS,
    {"renewed_for_ms", LB_OPT_INT, 0, 0, 86400000,
     "a hold is renewed for so long and then no more; 0 = as long as it lasts"},
    {0}};

const struct lb_protocol lb_redis_watchdog = {
    .abi = LB_ABI,
    .name = "redis-watchdog",
    .summary = "redis-reentrant, renewed every third of its lease until it is released",
    .facts = "lost=counted",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_REENTRANT | LB_TRAIT_RENEWED | LB_TRAIT_NEEDS_MEMORY |
              LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    .options = watchdog_options,
    HOOKS,
};
