/* SPDX-License-Identifier: MIT
 *
 * guardian.h - who acts on the user's own servers: a process in the namespaces of this machine, with a session of its
 * own. It writes down what it is about to do, does it by a command of the operator's file, and proves it by what the
 * servers show. It undoes all in reverse order when it is asked to, after the operator's undo-after, and when the tool has
 * died; each undo is proved, too. What could not be undone stays written down.
 */
#ifndef LB_GUARDIAN_H
#define LB_GUARDIAN_H

#include "own_operator.h"

/* Takes the lock of this file, before its servers are asked. `rules` outlives it. 0; -EBUSY: another run has the lock;
 * -EEXIST: an earlier one has left something; other -errno; each with one line in err. */
int lb_guardian_reserve(const struct lb_own_operator *rules, struct lb_error *err);
/* Then: whether others use these servers. 0; -EBUSY with err: they do; 1: servers do not tell, and err names them. */
int lb_guardian_others(struct lb_env *env, struct lb_error *err);
/* Then starts a guardian, which takes the lock over. `env` outlives it. 0, or -errno with err. */
int lb_guardian_start(struct lb_env *env, struct lb_error *err);
/* Gives the topologies their mandate, so that a plan knows what may be done. */
void lb_guardian_empower(const struct lb_own_operator *rules);
/* Between two trials: all is undone, and the servers are well. 0, also without a guardian, or -EIO with err, which names
 * the server that is not. */
int lb_guardian_rest(struct lb_error *err);
/* The same at the end, and the guardian is gone afterwards. What lb_guardian_rest() has said is not said again: the text
 * in err is empty then. */
int lb_guardian_end(struct lb_error *err);

/* After a guardian that was killed: takes the lock and gives the commands that undo what is written down. How many faults
 * these are, or -errno with err. */
int lb_guardian_clean(const struct lb_own_operator *rules, struct lb_error *err);
/* When the servers have been asked: the proof that each of these is undone. 0 or -EIO with err. */
int lb_guardian_clean_end(struct lb_env *env, struct lb_error *err);

#endif
