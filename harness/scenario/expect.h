/* SPDX-License-Identifier: MIT
 *
 * expect.h - what a scenario expects of whom.
 */
#ifndef LB_EXPECT_H
#define LB_EXPECT_H

#include "scenario.h"

/* The expectation for a system under a guard: of the lines that fit it, the most exact; NULL = nothing is expected. */
const struct lb_expect *lb_scenario_expect(const struct lb_scenario *scenario, const char *system, enum lb_guard guard);
/* For a system that stands for another one (`like`): a line that fits it and not the other one, else what is expected
 * of the other one. */
const struct lb_expect *lb_scenario_expect_like(const struct lb_scenario *scenario, const char *system,
                                                const char *like, enum lb_guard guard);
/* True if it names one system; else `*` is in its name. */
bool lb_expect_is_exact(const struct lb_expect *expect);

/* How long the name of a system is under which a file expects something: PROTOCOL@TOPOLOGY of PROTOCOL@TOPOLOGY:ORIGIN.
 * What a file says holds wherever the servers are from. */
size_t lb_expect_name_length(const char *system);

/* ---- for the readers of scenarios and suites ---- */

/* The guards of a section "expect" or "expect GUARD ...", one bit each, "expect" alone is
 * that of `none`. 0, -ENOENT for another section, -EINVAL with err for what is no guard. */
int lb_expect_guards(const char *section, unsigned *ret, struct lb_error *err);
/* A line under these guards: "SYSTEM, SYSTEM" and "verdict: reason". 0, or -EINVAL with
 * err; what was added before that stays. */
int lb_expect_add(struct lb_scenario *scenario, unsigned guards, const char *names, const char *value,
                  struct lb_error *err);

#endif
