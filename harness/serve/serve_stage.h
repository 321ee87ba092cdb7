/* SPDX-License-Identifier: MIT
 *
 * serve_stage.h - the stage that is kept, and what is done on it. Private to the room.
 */
#ifndef LB_SERVE_STAGE_H
#define LB_SERVE_STAGE_H

#include "base/error.h"
#include "client/driver.h"
#include "serve.h"
#include "trial/stage.h"

enum { LB_SERVE_PATH = 108 }; /* what an address of a local socket has room for */

struct lb_serve {
  const struct lb_serve_plan *plan;
  struct lb_stage stage;
  struct lb_scenario scenario; /* none that is played: what it needs is what any step may need */
  struct lb_step needs[2];
  struct lb_trial_plan trial;
  struct lb_step **step; /* [step_count], what was asked: a cut knows its step for as long as it holds */
  size_t step_count;
  char **environ; /* of the user, before anything was taken out of it */
  char socket_path[LB_SERVE_PATH], operator_path[LB_SERVE_PATH + 20];
  char tool[4096]; /* this program; "" = it is not known */
  int socket;
  bool foreground; /* our process group has the terminal */
};

#endif
