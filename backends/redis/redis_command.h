/* SPDX-License-Identifier: MIT
 *
 * redis_command.h - what a protocol asks for about a key, a command or a script, and how it is sent.
 */
#ifndef LB_REDIS_COMMAND_H
#define LB_REDIS_COMMAND_H

#include "redis.h"
#include "redis_script.h"

#define REDIS_COUNTER_MAX 256

#define REDIS_ARGV_MAX 8

/* What a protocol asks for: a command, or a script with what it is given. The strings are the caller's. */
struct redis_command {
  const struct redis_script *script; /* NULL: argv is the command */
  const char *argv[REDIS_ARGV_MAX];  /* NULL at the end; for a script KEYS[1], then its ARGV */
  bool keyless; /* argv[1] is no key (WAIT, EXEC): in a cluster it goes where the request before it went */
};

/* Its key, NULL = none. */
static inline const char *redis_command_key(const struct redis_command *command) {
  return command->keyless ? NULL : command->script ? command->argv[0] : command->argv[1];
}

/* The command as Redis gets it. */
struct redis_words {
  int count;
  const char *word[REDIS_ARGV_MAX + 4];
  char counter[REDIS_COUNTER_MAX];
};

/* The counter of a key is called "{KEY}.fence": in a cluster it then has the same slot. A script goes as EVALSHA, or
 * with its whole text as EVAL. 0, or -ENAMETOOLONG: a key too long to have a counter. */
int redis_command_spell(struct lb_env *env, const struct redis_command *command, bool whole, struct redis_words *ret);
/* Runs it: a script as EVALSHA, or as EVAL when the server does not know it. Results as redis_call. */
int redis_command_run(struct redis_conn *conn, lb_ns deadline, redisReply **ret, const struct redis_command *command);

#endif
