/* SPDX-License-Identifier: MIT
 *
 * settings.h - `-s key=value`: a key of a scenario's workload, or `PROTOCOL.OPTION`.
 */
#ifndef LB_SETTINGS_H
#define LB_SETTINGS_H

#include "base/error.h"
#include "backends/backend.h"
#include "scenario/scenario.h"

/* Checks all protocol options among the settings. 0, or -EINVAL with one line. */
int lb_settings_check(const char *const *settings, size_t count, struct lb_error *err);
/* True if a setting is of a protocol's option: its name is copied to `ret`. */
bool lb_settings_protocol(const char *setting, char *ret, size_t size);
/* True if it has several values, `hold_ms=0.5,0.6`, of a key or an option that may be varied: not of
 * a list, and not of a text, which may have commas of its own. */
bool lb_settings_is_list(const char *setting);
/* Applies those that are keys of a scenario to each scenario that has the key (a timeline has no
 * duration, a workload beside it does). 0, or -EINVAL with one line for a key that none of them has,
 * or a value that one of them refuses. */
int lb_settings_apply(struct lb_scenario *scenarios, size_t scenario_count, const char *const *settings, size_t count,
                      struct lb_error *err);
/* The option values of a protocol: defaults, then the (checked) settings. Owned by the caller, but
 * for texts, which point into the settings; NULL when out of memory. No setting is a list. */
union lb_value *lb_settings_options(const struct lb_protocol *protocol, const char *const *settings, size_t count);
/* Sets those options of the protocol that a variant names ("PROTOCOL.OPTION=VALUE ...", checked
 * before; NULL = none). */
void lb_settings_vary(const struct lb_protocol *protocol, const char *varied, union lb_value *values);

#endif
