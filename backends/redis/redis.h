/* SPDX-License-Identifier: MIT
 *
 * redis.h - connections to Redis servers with our own deadlines, on hiredis 0.14, whose timeouts are per read and not
 * per call. Private to the Redis protocols and the harness's Redis topologies.
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
/* From now on it is for messages that no command asked for: redis_next() gives out whatever comes. */
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

/* ---- what is sent, and what answers mean ---------------------------------------------------------------- */

#define REDIS_NODES_MAX 15 /* servers of one lock */
#define REDIS_TOKEN_LEN 40 /* 20 random bytes in hex */
#define REDIS_DECIMAL_MAX 24

/* Puts a fresh token into the grant. */
void redis_new_token(struct lb_env *env, struct lb_grant *grant);
/* The number as text, in buf, which is returned. For a ttl. */
const char *redis_decimal(int64_t number, char buf[REDIS_DECIMAL_MAX]);
/* True when a script said 1. */
bool redis_is_one(const redisReply *reply);
/* The same, or a command said OK. */
bool redis_is_yes(const redisReply *reply);
/* True when a string reply is the grant's token. */
bool redis_is_token(const redisReply *reply, const struct lb_grant *grant);
/* The -errno of an error reply, with its text in env->err (-EROFS: ask another server; -EAGAIN: ask again later); 0 for
 * every other reply. All of them are definite: the command was not executed. */
int redis_refusal(struct lb_env *env, const redisReply *reply);

#endif
