/* SPDX-License-Identifier: MIT
 *
 * pg_attempt.h - what the token of a grant says of an attempt at PostgreSQL: who it is, and which server process was sent a statement
 * of it. "owner", or with a server process "owner@STATE PID BORN".
 */
#ifndef LB_PG_ATTEMPT_H
#define LB_PG_ATTEMPT_H

#include "pg_util.h"

/* What a server process has to do with an attempt. */
enum pg_attempt_state {
  PG_NO_PROCESS = 0,
  PG_TAKING = 't',  /* it was sent a statement that takes, and has not answered */
  PG_FREEING = 'f', /* one that frees */
  PG_HELD_BY = 'h', /* it holds the lock, for as long as it lives */
};

struct pg_attempt {
  char owner[64]; /* no other attempt of the run has it */
  enum pg_attempt_state state;
  struct pg_origin origin; /* with a state */
};

/* A new one, with an owner of its own. `client` as in lb_config. */
struct pg_attempt pg_attempt_new(struct lb_env *env, const char *client);
/* Out of the token of a grant, and into it. */
struct pg_attempt pg_attempt_get(const struct lb_grant *grant);
void pg_attempt_put(const struct pg_attempt *attempt, struct lb_grant *grant);

#endif
