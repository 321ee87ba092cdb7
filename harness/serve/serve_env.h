/* SPDX-License-Identifier: MIT
 *
 * serve_env.h - where the servers are, as environment variables.
 */
#ifndef LB_SERVE_ENV_H
#define LB_SERVE_ENV_H

#include "serve_stage.h"

/* "NAME=value" of each variable that says where the servers are, to `tell`. */
void lb_serve_env(const struct lb_serve *serve, void (*tell)(void *to, const char *name, const char *value), void *to);

#endif
