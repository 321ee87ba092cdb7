/* SPDX-License-Identifier: MIT
 *
 * serve_line.h - the lines of the prompt and of `lockbench fault`.
 */
#ifndef LB_SERVE_LINE_H
#define LB_SERVE_LINE_H

#include "serve_stage.h"

/* Does a line that was typed, and tells `out` what was done and proved. An exit code as of lb_serve_ask(), with err
 * where it is not LB_EXIT_OK. */
int lb_serve_line(struct lb_serve *serve, const char *line, FILE *out, struct lb_error *err);
/* For `lockbench fault`: listens in a folder that only this user can enter. 0, or -errno with err. Answers one who
 * asks. */
int lb_serve_listen(struct lb_serve *serve, struct lb_error *err);
void lb_serve_answer(struct lb_serve *serve);

/* Asks the `serve` at the socket `path` to do a line: a step, or a word of the prompt. What was done and proved goes to
 * `out`. Returns an exit code. LB_EXIT_OK; or with a line in err LB_EXIT_USAGE = not understood, LB_EXIT_UNDECIDED =
 * not proved, LB_EXIT_FAILURE = no `serve` is there. */
int lb_serve_ask(const char *path, const char *line, FILE *out, struct lb_error *err);

#endif
