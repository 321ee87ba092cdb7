/* SPDX-License-Identifier: MIT
 *
 * The commands of a lock that is a key with a random token: the scripts that look at the token before they touch the
 * key.
 *
 * Every script writes the lock's key at most once and last, so an error it raises is definite: nothing was done, but a
 * number drawn and lost.
 */
#include "redis_util.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct redis_script redis_delete_if_mine = {
    .sha1 = "8f464d4a626461dd45dd7ecb315f41a7354a3819",
    .text = "if redis.call(\"GET\",KEYS[1])==ARGV[1] then return redis.call(\"DEL\",KEYS[1]) end return 0",
};

/* Nobody hears of it before the script is done, and its changes are on disk where they are to be. */
const struct redis_script redis_delete_and_tell = {
    .sha1 = "9c79ba8a68ecf0cd691e90b59fde8a9290d64f5f",
    .text = "if redis.call(\"GET\",KEYS[1])==ARGV[1] then redis.call(\"PUBLISH\",KEYS[1],\"\") "
            "return redis.call(\"DEL\",KEYS[1]) end return 0",
};

/* Never SETs: a lease that has ended stays ended, or the loss would be hidden from its former holder. */
const struct redis_script redis_expire_if_mine = {
    .sha1 = "deab3ff9574c9bf1b1405de9baa0cd3dba67a48a",
    .text = "if redis.call(\"GET\",KEYS[1])==ARGV[1] then return redis.call(\"PEXPIRE\",KEYS[1],ARGV[2]) end return 0",
};

/* The number is drawn before the key is set: an INCR that fails (a counter that is no number, no memory) then leaves no
 * lock behind. Scripts run one at a time, so numbers follow the order of grants. An attempt that has the key already,
 * because its reply was lost, gets another number: it is larger than all earlier holders', and smaller than all later
 * ones', since nobody can be granted before the key is gone. The counter ends a day after the latest number, or it would stay for ever
 * where no teardown came by; a hold may not last longer than that. */
const struct redis_script redis_set_numbered = {
    .sha1 = "4a2fca087128d34593791597fe5acc9cd86b3aca",
    .text = "local v=redis.call(\"GET\",KEYS[1]) if v and v~=ARGV[1] then return 0 end local "
            "n=redis.call(\"INCR\",KEYS[2]) redis.call(\"EXPIRE\",KEYS[2],86400) if v then return -n end "
            "redis.call(\"SET\",KEYS[1],ARGV[1],\"PX\",ARGV[2]) return n",
    .counts = true,
};

const struct redis_script redis_number_if_mine = {
    .sha1 = "307fa5f0db6051d3a885892579614db2c17a0d28",
    .text = "if redis.call(\"GET\",KEYS[1])==ARGV[1] then redis.call(\"EXPIRE\",KEYS[2],86400) "
            "return redis.call(\"INCR\",KEYS[2]) end return 0",
    .counts = true,
};

void redis_new_token(struct lb_env *env, struct lb_grant *grant) {
  static const char digits[] = "0123456789abcdef";
  unsigned char bytes[REDIS_TOKEN_LEN / 2];
  lb_random(env, bytes, sizeof bytes);
  for (size_t i = 0; i < sizeof bytes; i++) {
    grant->token[2 * i] = digits[bytes[i] >> 4];
    grant->token[2 * i + 1] = digits[bytes[i] & 15];
  }
  grant->token[REDIS_TOKEN_LEN] = '\0';
  grant->token_len = REDIS_TOKEN_LEN;
}

static bool is_unknown_script(const redisReply *reply) {
  return reply->type == REDIS_REPLY_ERROR && !strncmp(reply->str, "NOSCRIPT", strlen("NOSCRIPT"));
}

/* '.' and braces are no characters of a key, so a counter is never taken for a lock. */
static int name_counter(struct lb_env *env, const char *key, char ret[REDIS_COUNTER_MAX]) {
  int length = snprintf(ret, REDIS_COUNTER_MAX, "{%s}.fence", key);
  return length < REDIS_COUNTER_MAX ? 0 : lb_fail(env, -ENAMETOOLONG, "a key too long to have a counter");
}

int redis_spell(struct lb_env *env, const struct redis_command *command, bool whole, struct redis_words *ret) {
  const struct redis_script *script = command->script;
  const char *const *next = command->argv;
  ret->count = 0;
  if (script) {
    if (script->counts && name_counter(env, *next, ret->counter)) return -ENAMETOOLONG;
    ret->word[ret->count++] = whole ? "EVAL" : "EVALSHA";
    ret->word[ret->count++] = whole ? script->text : script->sha1;
    ret->word[ret->count++] = script->counts ? "2" : "1";
    ret->word[ret->count++] = *next++;
    if (script->counts) ret->word[ret->count++] = ret->counter;
  }
  while (*next) ret->word[ret->count++] = *next++;
  return 0;
}

static int run_spelt(struct redis_conn *conn, lb_ns deadline, redisReply **ret, const struct redis_command *command,
                     bool whole) {
  struct redis_words words;
  *ret = NULL;
  int rc = redis_spell(redis_env(conn), command, whole, &words);
  return rc ? rc : redis_call(conn, deadline, ret, words.count, words.word, NULL);
}

int redis_run(struct redis_conn *conn, lb_ns deadline, redisReply **ret, const struct redis_command *command) {
  /* Behind replies that are late already, ours may come too late to be answered with the text of an unknown script. */
  int rc = run_spelt(conn, deadline, ret, command, redis_owed(conn) > 0);
  if (rc || !command->script || !is_unknown_script(*ret)) return rc;
  /* The cache of scripts does not survive a restart or a failover. EVAL fills it again. */
  freeReplyObject(*ret);
  return run_spelt(conn, deadline, ret, command, true);
}

const char *redis_decimal(int64_t number, char buf[REDIS_DECIMAL_MAX]) {
  snprintf(buf, REDIS_DECIMAL_MAX, "%" PRId64, number);
  return buf;
}

bool redis_is_one(const redisReply *reply) { return reply->type == REDIS_REPLY_INTEGER && reply->integer == 1; }

bool redis_is_token(const redisReply *reply, const struct lb_grant *grant) {
  return reply->type == REDIS_REPLY_STRING && reply->len == grant->token_len &&
         !memcmp(reply->str, grant->token, grant->token_len);
}
