/* SPDX-License-Identifier: MIT
 *
 * talk.h - the program of a foreign lock, spoken to line by line: for conform, which looks at the lines themselves
 * (foreign_line.h) and at how the program ends. A caller that wants the lock uses the protocol's hooks.
 */
#ifndef LB_TALK_H
#define LB_TALK_H

#include <sys/types.h>

#include "backends/backend.h"

struct lb_talk;

/* Starts the program of a foreign protocol. lb_talk_end() ends it and frees this. NULL: no memory, no process. */
struct lb_talk *lb_talk_start(const struct lb_protocol *protocol);
/* Writes a line, to which it puts the end. 0; -EPIPE: stdin was closed; -EAGAIN: the program does not read it; -E2BIG:
 * it is too long. */
int lb_talk_say(struct lb_talk *talk, const char *line);
/* The next line without its end, valid until the next call. 1; 0: there was none by `deadline` of env, nor in the time
 * that the machine has taken from it since the call; -ENODATA: stdout has ended; -EMSGSIZE: a line that does not end;
 * -errno. */
int lb_talk_hear(struct lb_talk *talk, struct lb_env *env, lb_ns deadline, const char **ret);
/* How long it has waited for a processor so far, which is no delay of its own. */
lb_ns lb_talk_held_up(const struct lb_talk *talk);
/* Its process, as long as lb_talk_end() was not called. */
pid_t lb_talk_pid(const struct lb_talk *talk);
/* Nothing more will be said: its stdin ends. */
void lb_talk_hang_up(struct lb_talk *talk);
/* Gives it `patience_ms` to end by itself, then kills it. Frees *talk. What became of it in `fate` (NULL = never mind):
 * "exited with status 0". False: it was killed here, and `fate` is not about it. Safe with NULL. */
bool lb_talk_end(struct lb_talk *talk, int patience_ms, char *fate, size_t size);

/* What stands behind NAME= in an answer, percent signs decoded, in `buf`. False: nothing does. */
bool lb_talk_value(const char *line, const char *name, char *buf, size_t size);

#endif
