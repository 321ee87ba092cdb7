/* SPDX-License-Identifier: MIT
 *
 * serve_env.h - where the servers are, as environment variables.
 */
#ifndef LB_SERVE_ENV_H
#define LB_SERVE_ENV_H

#include "serve_stage.h"

/* Tells each variable that says where the servers are. */
void lb_serve_env(const struct lb_serve *serve, void (*tell)(void *to, const char *name, const char *value), void *to);
/* Prints them for a shell, a line each. */
void lb_serve_env_print(const struct lb_serve *serve, FILE *out);

#endif
