/* SPDX-License-Identifier: MIT
 *
 * redis.h - what the Redis protocols and the harness's Redis topologies share; private to them.
 *   redis.c     connections with our own deadlines, on hiredis 0.14 (whose timeouts are per read, not per call)
 *   redis_link.c     which server to connect to: the only one, the master the Sentinels name, or the one that has the
 *                    key's slot
 *   redis_command.c  commands about a key, what errors mean, removal of what a run has left
 * On top of it: redis_session.h (one server at a time), redis_key.h (a lock that is one key), redlock.h (several
 * servers).
 *
 * hiredis writes with write(2), so the process that uses this ignores SIGPIPE.
 *
 * A connection answers in order. A reply that did not come in time is still owed: the connection counts it and throws
 * it away when it comes, so it can never be taken for the answer to a later command.
 */
#ifndef LB_REDIS_H
#define LB_REDIS_H

#include <hiredis/hiredis.h>

#include "backends/backend.h"

struct redis_conn; /* one connection, one thread */

/* ---- one call, one answer ----------------------------------------------------------------------------- */

/* Connects, and logs in where the endpoint has a password. 0; -errno with env->err (-ETIMEDOUT when the deadline
 * passed,
 * -ECONNREFUSED ...; -EACCES: it does not take the user or the password; -EPROTONOSUPPORT: TLS is asked for). */
int redis_open(struct lb_env *env, const struct lb_endpoint *at, lb_ns deadline, struct redis_conn **ret);
/* NULL is fine. */
void redis_close(struct redis_conn *conn);
/* One command, one reply, freed by the caller with freeReplyObject. 0 (also for error replies: look at type);
 * LB_UNKNOWN: something was sent and no reply came (env->err says why). After a timeout the connection may be used
 * on, and what is sent next is executed after this command; after a loss every further call fails. -errno: nothing
 * was sent. */
int redis_call(struct redis_conn *conn, lb_ns deadline, redisReply **ret, int argc, const char *const argv[],
               const size_t *lengths);
/* The same with a hiredis format string. */
int redis_callf(struct redis_conn *conn, lb_ns deadline, redisReply **ret, const char *format, ...);

/* ---- the same in steps that never wait, for several connections in one poll loop ----------------------- */

/* Starts to connect. 0 or -errno (also when refused at once). It waits for one thing only, until the deadline: the
 * address of a host that is given by name. A login goes with the first command; a refused one is a lost connection
 * (-EACCES). */
int redis_start(struct lb_env *env, const struct lb_endpoint *at, lb_ns deadline, struct redis_conn **ret);
/* Puts a command into the output buffer, also while connecting; one more reply is owed. 0 or -errno. */
int redis_queue(struct redis_conn *conn, int argc, const char *const argv[], const size_t *lengths);
/* Finishes the connect and writes what can be written now. 0 (perhaps not all yet), or -errno: the connection is
 * lost. */
int redis_push(struct redis_conn *conn);
/* The next reply that has arrived, in order, or *ret = NULL when there is none yet. 0, or -errno: the connection is
 * lost. Only a call with read_socket reads; call it so once after poll said POLLIN, then without until *ret is NULL. */
int redis_next(struct redis_conn *conn, bool read_socket, redisReply **ret);
/* From now on it is for messages that nobody asked for: redis_next() gives out whatever comes. */
void redis_listen(struct redis_conn *conn);
/* What to poll for. */
int redis_fd(const struct redis_conn *conn);
short redis_events(const struct redis_conn *conn);
/* The env it was opened with. */
struct lb_env *redis_env(const struct redis_conn *conn);
/* True once the handshake has ended well. */
bool redis_connected(const struct redis_conn *conn);
/* Replies still to come. */
size_t redis_owed(const struct redis_conn *conn);
/* Throws away late replies that are here already and notices a connection closed meanwhile. 0 or -errno: lost. */
int redis_drain(struct redis_conn *conn);
/* 0 while it works, else the -errno it was lost with. */
int redis_lost(const struct redis_conn *conn);
/* True when the server ended it: what it has not executed by then, it never will. False after a network error or while
 * it works. */
bool redis_ended_by_server(const struct redis_conn *conn);

#define REDIS_NODES_MAX 15 /* servers of one lock */

/* ---- which server to connect to ------------------------------------------------------------------------ */

#define REDIS_SENTINELS_MAX 16
#define REDIS_SLOTS 16384   /* of a cluster */
#define REDIS_RANGES_MAX 64 /* of a cluster with more of them, those beyond are learnt one by one */

struct redis_range { /* slots of a cluster that have one owner */
  unsigned first, last;
  const struct lb_endpoint *owner;
};

struct redis_link {
  struct lb_env *env;
  const struct lb_target *target;
  const struct lb_endpoint *only; /* the first Redis server; with Sentinel the login that its master takes, too */
  const struct lb_endpoint *sentinel[REDIS_SENTINELS_MAX]; /* the one that answered last stands first */
  size_t sentinel_count;
  const struct lb_endpoint
      *reached; /* where the latest connection leads to; NULL = a server that the target does not list */
  /* Of a cluster. */
  struct redis_range
      range[REDIS_RANGES_MAX]; /* who has which slots, as far as somebody said; of several that fit the first counts */
  size_t range_count;
  size_t asked; /* servers asked for that so far: the next one is endpoints[asked % count] */
  bool stale;   /* that is asked again before it is used */
  const struct lb_endpoint
      *ask; /* the next request alone is to go there, behind ASKING; NULL = where its key belongs */
};

/* 0, or -EINVAL when the target has no such server, or too many for a cluster. Needs no release; points into target. */
int redis_link_init(struct redis_link *link, struct lb_env *env, const struct lb_target *target);
/* Connects to the server that decides for the key (which matters in a cluster only; NULL = for any). Without Sentinel
 * one try; in a cluster one with each server's word for who that is. With Sentinel asks until a server the Sentinels
 * name says itself that it is the master, or the deadline passes: -ETIMEDOUT. 0 or -errno. */
int redis_link_open(struct redis_link *link, const char *key, lb_ns deadline, struct redis_conn **ret);
/* Whether another server may decide later: with Sentinel, and in a cluster. */
static inline bool redis_link_moves(const struct redis_link *link) {
  return link->target->sentinel_master || link->target->shards;
}
/* Asks the server itself. 0; -EROFS: it is no master; -errno. */
int redis_check_master(struct redis_conn *conn, lb_ns deadline);

/* Of a cluster. */

/* The slot of a key: of what stands in its first braces, if anything does. */
unsigned redis_slot(const char *key);
/* Where a request about the key is to be sent now. Asks the servers in turn, if that is not known or stale. NULL with
 * the reason in env->err: nobody says. */
const struct lb_endpoint *redis_link_owner(struct redis_link *link, const char *key, lb_ns deadline);
/* Heeds what an error reply says of who decides. True: it names another server, which is to be asked at once. */
bool redis_link_heed(struct redis_link *link, const redisReply *reply);

/* ---- a key with a random token -------------------------------------------------------------------------- */

#define REDIS_TOKEN_LEN 40 /* 20 random bytes in hex */
#define REDIS_DECIMAL_MAX 24
#define REDIS_COUNTER_MAX 256

struct redis_script {
  const char *sha1, *text;
  bool counts; /* KEYS[2] is the counter of the key's grants, which ends a day after the latest one */
};
extern const struct redis_script redis_delete_if_mine; /* KEYS[1], ARGV token: 1 deleted, 0 not mine */
/* The same, and the channel with the name of the key is told. */
extern const struct redis_script redis_delete_and_tell;
extern const struct redis_script redis_expire_if_mine; /* KEYS[1], ARGV token, ttl in ms: 1 set, 0 not mine */

/* KEYS[1], counter, ARGV token, ttl in ms: the number of the grant; below 0 if the key was ours before; 0 busy. */
extern const struct redis_script redis_set_numbered;
/* KEYS[1], counter, ARGV token: a number for the key that is ours, 0 not mine. */
extern const struct redis_script redis_number_if_mine;

#define REDIS_ARGV_MAX 8

/* What a protocol asks for: a command, or a script with what it is given. The strings are the caller's. */
struct redis_command {
  const struct redis_script *script; /* NULL: argv is the command */
  const char *argv[REDIS_ARGV_MAX];  /* NULL at the end; for a script KEYS[1], then its ARGV */
  bool keyless; /* argv[1] is no key (WAIT, EXEC): in a cluster it goes where the request before it went */
};

/* Its key, NULL = none. */
static inline const char *redis_key_of(const struct redis_command *command) {
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
int redis_spell(struct lb_env *env, const struct redis_command *command, bool whole, struct redis_words *ret);
/* Runs it: a script as EVALSHA, or as EVAL when the server does not know it. Results as redis_call. */
int redis_run(struct redis_conn *conn, lb_ns deadline, redisReply **ret, const struct redis_command *command);
/* Puts a fresh token into the grant. */
void redis_new_token(struct lb_env *env, struct lb_grant *grant);
/* The key's record at one server, over a connection of its own: for inspect(). 1, 0, -errno. */
int redis_inspect(struct lb_env *env, const struct lb_target *target, size_t endpoint, const char *key, lb_ns deadline);
/* DEL at that server, over a connection of its own: for break_lock(). 1, 0, -errno. */
int redis_break(struct lb_env *env, const struct lb_target *target, size_t endpoint, const char *key, lb_ns deadline);
/* The number as text, in buf, which is returned. For a ttl. */
const char *redis_decimal(int64_t number, char buf[REDIS_DECIMAL_MAX]);
/* True when a script said 1. */
bool redis_is_one(const redisReply *reply);
/* True when a string reply is the grant's token. */
bool redis_is_token(const redisReply *reply, const struct lb_grant *grant);
/* The -errno of an error reply, with its text in env->err (-EROFS: ask another server; -EAGAIN: ask again later); 0 for
 * every other reply. All of them are definite: the command was not executed. */
int redis_refusal(struct lb_env *env, const redisReply *reply);

/* ---- what a run has left: for teardown ------------------------------------------------------------------ */

/* Removes every key called <prefix>-... and its counter, page by page, on the server that decides (in a cluster on
 * every master); on each server with service "redis" that takes writes, of which one that fails does not spare the
 * others. A prefix with [...] in it is a pattern of many. 0; LB_UNKNOWN, -errno: some of it may remain. */
int redis_link_clean(struct redis_link *link, const char *prefix, lb_ns deadline);
int redis_clean_each(struct lb_env *env, const struct lb_target *target, const char *prefix, lb_ns deadline);

#endif
