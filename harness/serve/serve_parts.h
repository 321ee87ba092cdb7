/* SPDX-License-Identifier: MIT
 *
 * serve_parts.h - what the files of serve/ share; nobody else includes it.
 */
#ifndef LB_SERVE_PARTS_H
#define LB_SERVE_PARTS_H

#include "client/driver.h"
#include "serve.h"
#include "trial/stage.h"

enum { LB_SERVE_PATH = 108 }; /* what an address of a local socket has room for */

struct lb_serve {
  const struct lb_serve_plan *plan;
  struct lb_stage stage;
  struct lb_scenario scenario;   /* none that is played: what it needs is what any step may need */
  struct lb_step needs[2];
  struct lb_trial_plan trial;
  struct lb_step **step;         /* [step_count], what was asked: a cut knows its step for as long as it holds */
  size_t step_count;
  char **environ;                /* of the user, before anything was taken out of it */
  char socket_path[LB_SERVE_PATH];
  int socket;
  bool foreground;               /* our process group has the terminal */
};

/* ---- serve_stage.c: the site of a trial, with clients that only have a host ---- */

/* 0, or -errno with err. lb_serve_close() is called after both. */
int lb_serve_open(struct lb_serve *serve, char *err, size_t err_size);
void lb_serve_close(struct lb_serve *serve);

/* ---- serve_may.c: which steps mean something here ---- */

/* Whether steps of this verb can be done here: NULL, or why not, for people. */
const char *lb_serve_why_not(const struct lb_serve *serve, enum lb_verb verb);
/* Whether this one can. 0, or -EINVAL with err. */
int lb_serve_may(struct lb_serve *serve, const struct lb_step *step, char *err, size_t err_size);

/* ---- serve_line.c: a line that was typed ---- */

/* Does it, and tells `out` what was done and proved. An exit code as of lb_serve_ask(), with err where it is not LB_EXIT_OK. */
int lb_serve_line(struct lb_serve *serve, const char *line, FILE *out, char *err, size_t err_size);

/* ---- serve_env.c: where the servers are ---- */

/* "NAME=value" of each variable, to `tell`. */
void lb_serve_env(const struct lb_serve *serve, void (*tell)(void *to, const char *name, const char *value), void *to);

/* ---- serve_command.c: a command as a client ---- */

extern const struct lb_driver lb_driver_command;
/* Starts the command on the host of client 1. 0, or -errno with err (-ENOENT: no such program). */
int lb_serve_command_start(struct lb_serve *serve, char *err, size_t err_size);
/* A descriptor that can be read once it has ended. */
int lb_serve_command_fd(const struct lb_serve *serve);
/* Of one that has ended: its exit status, or 128 + signal. */
int lb_serve_command_status(struct lb_serve *serve);

/* ---- serve_socket.c: `lockbench fault` ---- */

/* Listens in a folder that only this user can enter. 0, or -errno with err. */
int lb_serve_listen(struct lb_serve *serve, char *err, size_t err_size);
/* Answers one who asks. */
void lb_serve_answer(struct lb_serve *serve);

#endif
