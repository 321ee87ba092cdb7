/* SPDX-License-Identifier: MIT
 *
 * pg_wake.h - the option `wake` of the PostgreSQL protocols: who frees a key notifies, and waiters listen on the connection of their
 * own session.
 */
#ifndef LB_PG_WAKE_H
#define LB_PG_WAKE_H

#include "pg_util.h"

#define PG_WAKE_OPTION                                                                                                 \
  { "wake", LB_OPT_BOOL, 0, 0, 1, "a release notifies, and waiters listen instead of polling" }

/* What a session's connection listens to. Zeroed = nothing. */
struct pg_ear {
  char key[LB_TOKEN_MAX]; /* empty = nothing */
  uint64_t losses;        /* of the pg_primary: another number, another connection */
};

/* Tells all who listen to `key` that it may be free: after the release was answered, in a transaction of its own, whose answer nobody
 * waits for. */
void pg_wake_tell(struct pg_primary *primary, const char *key, lb_ns deadline);
/* The hook wait. Who has just begun to listen asks `held` ($1 the key, and what else it has in `params`), which yields a row if
 * somebody holds. `primary` has no transaction open. LB_OK, LB_TIMEOUT, -errno. */
int pg_wake_wait(struct pg_primary *primary, struct pg_ear *ear, const struct pg_stmt *held, const char *const params[],
                 lb_ns deadline);

#endif
