/* SPDX-License-Identifier: MIT
 *
 * redis_util.h - Redis connections with our own deadlines, on hiredis 0.14 (whose timeouts are per read, not per call).
 * Private to the Redis protocols and the harness's Redis topologies.
 */
#ifndef LB_REDIS_UTIL_H
#define LB_REDIS_UTIL_H

#include <hiredis/hiredis.h>

#include "backend.h"

struct redis_conn; /* one connection, one thread */

/* Connects (non-blocking, numeric address). 0; -errno with env->err (-ETIMEDOUT when the deadline passed, -ECONNREFUSED ...). */
int redis_open(struct lb_env *env, const char *host, uint16_t port, lb_ns deadline, struct redis_conn **ret);
/* NULL is fine. */
void redis_close(struct redis_conn *conn);
/* One command, one reply, freed by the caller with freeReplyObject. 0 (also for error replies: look at type);
 * LB_UNKNOWN: something was sent and no reply came (timeout, connection lost) - the connection is then dead, close it; -errno: nothing was sent. */
int redis_call(struct redis_conn *conn, lb_ns deadline, redisReply **ret, int argc, const char *const argv[], const size_t *lengths);
/* The same with a hiredis format string. */
int redis_callf(struct redis_conn *conn, lb_ns deadline, redisReply **ret, const char *format, ...);

#endif
