/* SPDX-License-Identifier: MIT
 *
 * serve.h - keeps the servers of a trial for a command beside them, a person at a prompt, or `lockbench fault` from
 * another terminal. Faults are the steps of a scenario, done and proved as in a trial.
 */
#ifndef LB_SERVE_H
#define LB_SERVE_H

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "run/rundir.h"
#include "servers/topology.h"

/* The environment variable that tells `lockbench fault` whom to ask: the path of a socket. */
#define LB_SERVE_VARIABLE "LOCKBENCH_SERVE"

struct lb_serve_plan {
  const struct lb_topology *topology; /* with servers */
  const struct lb_rundir *dir;        /* for their files and the socket; goes with the tool */
  const char *const *command; /* NULL-terminated, runs on the host of client 1; NULL = a prompt on standard input */
  int hosts;                  /* of clients, from 1 */
  int64_t ttl_ms;             /* what session timeouts have to be possible for */
  uint64_t seed;
  bool on_disk;  /* else in memory, where the topology does not insist */
  bool measured; /* the servers have the settings of a user, as in loads */
  bool clocks;   /* theirs can be set */
  FILE *out;     /* what is asked at the prompt is told here */
  FILE *notes;   /* one-line notes and refusals */
};

/* Serves until the command or the prompt ends, and leaves nothing behind. *ret_status is the exit status of the command
 * (128 + signal if it was killed). At a prompt it is 0; if standard input is no terminal, it is that of the first line
 * that failed (as of lb_serve_ask()). 0, or -errno with a line in err: nothing was served. */
int lb_serve_run(const struct lb_serve_plan *plan, int *ret_status, struct lb_error *err);

#endif
