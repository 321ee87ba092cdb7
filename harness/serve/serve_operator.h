/* SPDX-License-Identifier: MIT
 *
 * serve_operator.h - a file for --operator, whose commands are steps of `lockbench fault`.
 */
#ifndef LB_SERVE_OPERATOR_H
#define LB_SERVE_OPERATOR_H

#include "serve_stage.h"

/* Writes it beside the socket, which is there; its name goes to serve->operator_path. 0, or -errno with err. */
int lb_serve_operator(struct lb_serve *serve, struct lb_error *err);

#endif
