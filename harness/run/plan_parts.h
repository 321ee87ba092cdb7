/* SPDX-License-Identifier: MIT
 *
 * plan_parts.h - the steps of making a plan, in their order. Private to plan*.c.
 *
 * All of them add to a plan that is not whole yet. On an error the plan stays as it is, to be
 * released by lb_plan_make().
 */
#ifndef LB_PLAN_PARTS_H
#define LB_PLAN_PARTS_H

#include "plan.h"

/* Loads the scenarios, each as often as it has variants, and sets them. `request` is what was asked
 * for, `plain` the same without the settings that are lists. 0, -EINVAL with one line in err, or
 * -ENOMEM without (plan_scenarios.c). */
int lb_plan_add_scenarios(struct lb_plan *plan, const struct lb_plan_request *request, const struct lb_plan_request *plain, char *err,
                          size_t err_size);

/* Adds the cells of one scenario of the plan: the systems and guards that the request names, or
 * else those that the scenario states something for. No cell comes twice. 0, -EINVAL with one line
 * in err, or -ENOMEM without (plan_cells.c). */
int lb_plan_add_cells(struct lb_plan *plan, const struct lb_plan_request *request, const struct lb_scenario *scenario,
                      char *err, size_t err_size);

/* Whether a line is for servers of the user's own that this run has not: it then says nothing (plan_cells.c). */
bool lb_plan_is_elsewhere(const struct lb_expect *expect);

/* Adds the cells of all scenarios of the plan: each of them on every system under every guard that
 * the request wants. The same results (plan_product.c). */
int lb_plan_add_product(struct lb_plan *plan, const struct lb_plan_request *request, char *err, size_t err_size);

/* Adds one cell, unless it is there already. The same results (plan_cells.c). */
int lb_plan_add_cell(struct lb_plan *plan, const struct lb_plan_request *request, const struct lb_scenario *scenario,
                     const char *system, enum lb_guard guard, char *err, size_t err_size);

/* Adds the jobs of a cell, none if it is left out: `trials` for each number of clients, 0 = as many
 * as the scenario says; under a guard at most `guard_trials` of these, 0 = all. Called when all cells are there. The name of the system is not set.
 * 0 or -ENOMEM (plan_jobs.c). */
int lb_plan_add_jobs(struct lb_plan *plan, size_t cell_index, int trials, int guard_trials);

/* Sets the order in which the jobs are run, once all of them are there. 0 or -ENOMEM. */
int lb_plan_set_order(struct lb_plan *plan);

#endif
