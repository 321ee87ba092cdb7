/* SPDX-License-Identifier: MIT
 *
 * Commands about a key, spelt as Redis gets them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "redis_command.h"

static bool is_unknown_script(const redisReply *reply) {
  return reply->type == REDIS_REPLY_ERROR && !strncmp(reply->str, "NOSCRIPT", strlen("NOSCRIPT"));
}

/* '.' and braces are no characters of a key, so a counter is never taken for a lock. */
static int name_counter(struct lb_env *env, const char *key, char ret[REDIS_COUNTER_MAX]) {
  int length = snprintf(ret, REDIS_COUNTER_MAX, "{%s}.fence", key);
  return length < REDIS_COUNTER_MAX ? 0 : lb_fail(env, -ENAMETOOLONG, "a key too long to have a counter");
}

int redis_command_spell(struct lb_env *env, const struct redis_command *command, bool whole, struct redis_words *ret) {
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
  int rc = redis_command_spell(redis_env(conn), command, whole, &words);
  return rc ? rc : redis_call(conn, deadline, ret, words.count, words.word, NULL);
}

int redis_command_run(struct redis_conn *conn, lb_ns deadline, redisReply **ret, const struct redis_command *command) {
  /* Behind replies that are late already, ours may come too late to be answered with the text of an unknown script. */
  int rc = run_spelt(conn, deadline, ret, command, redis_owed(conn) > 0);
  if (rc || !command->script || !is_unknown_script(*ret)) return rc;
  /* The cache of scripts does not survive a restart or a failover. EVAL fills it again. */
  freeReplyObject(*ret);
  return run_spelt(conn, deadline, ret, command, true);
}
