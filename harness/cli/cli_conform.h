/* SPDX-License-Identifier: MIT
 *
 * cli_conform.h - statements on some systems, printed for people or as TAP: what `conform` and `adapter-check` share.
 */
#ifndef LB_CLI_CONFORM_H
#define LB_CLI_CONFORM_H

#include "cli.h"
#include "conform/conform.h"
#include "run/system.h"

struct lb_conform_order {
  const struct lb_args *args; /* of the command: its name, --tap, -s */
  const struct lb_system *systems;
  int count;
  bool named;              /* they were asked for one by one: one whose servers are missing counts */
  bool adapter;            /* as in struct lb_conform_plan */
  const char *const *only; /* as there */
  /* Not NULL: is told each result, and nothing is printed. */
  void (*said)(void *data, const struct lb_conform_result *result);
  void *data;
};
/* An exit code. */
int lb_conform_systems(const struct lb_conform_order *order);

#endif
