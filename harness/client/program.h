/* SPDX-License-Identifier: MIT
 *
 * program.h - what a client does: it executes one command after the other with the sessions and
 * locks of its protocol, and knows nothing of scenarios. The same code under every driver; a driver
 * brings the commands and carries the answers away:
 *
 *   lb_program_begin(&program, plan, client, &ground);
 *   while (the next command comes before lb_holder_due(&program.holder), or else lb_holder_renew(&program.holder))
 *     lb_program_do(&program, command, &reply), and the reply goes back
 *   lb_program_end(&program)
 *
 * One program belongs to one thread at a time.
 */
#ifndef LB_PROGRAM_H
#define LB_PROGRAM_H

#include "client.h"
#include "env.h"
#include "holder.h"

struct lb_program;

/* How a program waits and falls. (How its protocol waits is up to program.env, which a driver may change after
 * lb_program_begin().) */
struct lb_ground {
  /* Sleeps until this true time. 0: does not, but gives others a turn where clients take turns. */
  void (*sleep_until)(struct lb_program *program, lb_ns when);
  /* At an armed point: stands still until it is told to go on; or dies, and does not return. */
  void (*halt)(struct lb_program *program, bool dies);
  /* Before the program begins, where its client has a process of its own that is to lead a process group. NULL = it
   * does not. */
  void (*prepare)(const struct lb_client *client, const struct lb_client_plan *plan);
};

struct lb_program {
  const struct lb_client_plan *plan;
  const struct lb_client *client;
  const struct lb_ground *ground;
  struct lb_process_env env;
  struct lb_config config;
  struct lb_target bound; /* what the session is told of where it is to ask one server alone */
  struct lb_holder holder;
  struct lb_rng rng;       /* choice of keys */
  struct lb_rng arrivals;  /* of an open loop */
  struct lb_command armed; /* the point where it stops or kills itself */
};

/* Fills it in; asks for nothing. Must not be moved afterwards. */
void lb_program_begin(struct lb_program *program, const struct lb_client_plan *plan, const struct lb_client *client,
                      const struct lb_ground *ground);
void lb_program_do(struct lb_program *program, struct lb_command command, struct lb_reply *ret);
/* Frees its session's memory, and does not close the session: a client that was stopped for good closes nothing
 * either. */
void lb_program_end(struct lb_program *program);

#endif
