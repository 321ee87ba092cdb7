/* SPDX-License-Identifier: MIT
 *
 * conform_process.h - the processes of one statement beside its own, and what its end says of it.
 */
#ifndef LB_CONFORM_PROCESS_H
#define LB_CONFORM_PROCESS_H

#include "conform_calls.h"

/* Runs act(c, number) in a process of its own, whose sessions are all its own, as client "NAME-NUMBER".
 * What fails there fails the statement. Before the first session of this process is open: threads of
 * a library do not survive a fork. */
void lb_conform_start(struct lb_conform *c, const char *name, int number,
                      void (*act)(struct lb_conform *c, int number));
/* Waits until all of them have ended. Fails after so long. */
void lb_conform_join(struct lb_conform *c, int64_t ms);
/* Asks for the death or the restart of the servers and waits until it is done. Else the statement ends without a
 * verdict. */
void lb_conform_bring(struct lb_conform *c, enum lb_conform_servers asked);
/* Kills all data servers but the first `kept`, at least one. */
void lb_conform_lose(struct lb_conform *c, size_t kept);

/* How the process of a statement ended. */
struct lb_conform_end {
  const struct lb_conform_shared *shared; /* what it left in memory */
  const char *output;                     /* path of what it printed */
  int64_t limit_ms;                       /* how long it was given */
  bool in_time;                           /* false = it was killed for taking longer */
  int status;                             /* of waitpid() */
  const struct lb_flaw *flaw;             /* declared in this statement; NULL = none */
};

/* Sets whether it holds, and if not, why and what it printed: a declared flaw holds if the statement
 * fails. result->why is empty before. */
void lb_conform_judge(const struct lb_conform_end *end, struct lb_conform_result *result);

#endif
