/* SPDX-License-Identifier: MIT
 *
 * redis_ear.h - hearing of a release.
 *
 * A connection of its own that is subscribed to a channel with the name of the key. Who releases publishes there, in
 * the script that deletes the key. Redis keeps no message for a client that is not subscribed when it is published, and
 * does not tell of a key that expires (keyspace notifications are off, as is shipped). So a client that has just
 * subscribed looks at the key once, and waits for a message no longer than REDIS_EAR_MS, or than the key has to live,
 * as is shipped. All waiters hear each message, and all but one of them are refused: the price of this way of waking.
 *
 * Source: redis.io, "Pub/Sub"; Redisson's RedissonLock waits like this.
 */
#ifndef LB_REDIS_EAR_H
#define LB_REDIS_EAR_H

#include "redis_session.h"

#define REDIS_EAR_MS 200
#define REDIS_EAR_LIFE (-1) /* for as long as the key has to live, which is asked */

struct redis_ear {         /* one thread; zeroed before the first use */
  struct redis_conn *conn; /* NULL: none yet */
  char key[LB_TOKEN_MAX];  /* it is subscribed to; empty = to none */
};

/* Sleeps until a new try is worth it: the key was released or is free, or most_ms have passed (or REDIS_EAR_LIFE).
 * Without `looks` what was released before it was subscribed is missed. The session says which
 * server decides, and is asked for the key. LB_OK, LB_TIMEOUT: the deadline passed; -errno: it cannot be heard. */
int redis_ear_wait(struct redis_ear *ear, struct redis_session *session, const char *key, int64_t most_ms, bool looks,
                   lb_ns deadline);
/* Closes the connection. */
void redis_ear_close(struct redis_ear *ear);

#endif
