/* SPDX-License-Identifier: MIT
 *
 * cast.h - from a role in a step ("primary", "holder", "node 3") to the hosts it stands for now.
 */
#ifndef LB_CAST_H
#define LB_CAST_H

#include "base/error.h"
#include "stage.h"

struct lb_cast {
  struct lb_server *server[LB_SERVERS_MAX];
  size_t server_count;
  struct lb_client *client[LB_CLIENTS_MAX];
  size_t client_count;
};

/* Index of the server that decides now, asked from the servers, for up to five seconds; negative = none says so. */
int lb_cast_primary(struct lb_stage *stage);
/* Binds `primary` to the server that decides now, unless it is bound already. 0, or -1 with err. */
int lb_cast_bind_primary(struct lb_stage *stage, struct lb_error *err);
/* Index of the server that took over last of those that were named: `primary`, which has to be bound, or a later
 * one. */
int lb_cast_latest_primary(const struct lb_stage *stage);
/* Index of the server that this client of a timeline talks to now: it is asked if it is free to answer; else it is what
 * it said last, at its latest grant. -1 = to none, or to several. */
int lb_cast_server_of(struct lb_stage *stage, struct lb_client *client);
/* Finds the hosts that play `role`. `holder` and `waiters` wait up to a second for a client that holds or asks. 0, or
 * -1 with err: no host plays it. */
int lb_cast_find(struct lb_stage *stage, const struct lb_role *role, struct lb_cast *ret, struct lb_error *err);

#endif
