/* SPDX-License-Identifier: MIT
 *
 * foreign_session.h - the program of a foreign lock, a session with it, and the questions that it is asked. Private to
 * foreign*.c.
 */
#ifndef LB_FOREIGN_SESSION_H
#define LB_FOREIGN_SESSION_H

#include <sys/types.h>

#include "foreign_line.h"

/* One foreign lock: how it is called, and the table that the tool knows it by. */
struct foreign {
  struct lb_protocol protocol; /* its data is this struct */
  struct foreign_says says;
  char *command, *folder, *like, *summary;
  char name[64];
  int start_ms; /* of lb_foreign_plan */
  const char *topologies[FOREIGN_TOPOLOGIES_MAX + 1];
};

/* ---- its process ---------------------------------------------------------------------------- */

enum { FOREIGN_BUFFER = 64 * 1024, FOREIGN_UNASKED_MAX = 1000 };

struct foreign_child {
  pid_t pid;    /* 0 = none */
  lb_ns used;   /* processor time of it and of what it has waited for, known by foreign_end() */
  int in, out;  /* our ends of its stdin and stdout, -1 = none */
  char *buffer; /* what was read and is no whole line yet; FOREIGN_BUFFER bytes */
  size_t length, taken;
};

/* Starts it in a shell: 0 or -errno. It ends when we do. */
int foreign_start(struct foreign_child *child, const char *command, const char *folder);
/* Writes a line. 0, or -EPIPE: it has closed its stdin; -EAGAIN: it does not read. */
int foreign_write(struct foreign_child *child, const char *line);
/* The next line without its end, in child->buffer until the next call. 1: *ret is a line; 0: none yet; -ENODATA: stdout
 * has ended;
 * -EMSGSIZE: a line that does not end; -errno. Does not wait. */
int foreign_next_line(struct foreign_child *child, char **ret);
/* How long it has waited for a processor so far, which is the machine's time and not its own: the most of any thread of
 * it and of what it started, as far as the kernel has booked it. 0 where it does not count that. */
lb_ns foreign_held_up(const struct foreign_child *child);
/* A limit that began when foreign_held_up() was `before` has passed, `over` ns ago: for how much longer it is to be
 * waited for, as the machine holds it up. 0 = it is late by itself. May take 25 ms. */
lb_ns foreign_more(const struct foreign_child *child, lb_ns before, lb_ns over);
/* Ends it: closes its stdin, gives it `patience_ms` to end by itself (and what it is held up meanwhile), and kills it.
 * What became of it in `fate` ("exited with status 3"). Safe on one that never started. False: it was killed. */
bool foreign_end(struct foreign_child *child, int patience_ms, char *fate, size_t size);

/* As the hook server says, of the process `pid`. */
int foreign_server(const struct lb_target *target, pid_t pid);

/* ---- a session: all that return an int say -EPROTO once the adapter has said or done what no adapter may; the text
 * stands in env->err, and every later call says the same ---- */

enum foreign_question { FOREIGN_NOTHING, FOREIGN_ACQUIRE, FOREIGN_RELEASE, FOREIGN_OTHER };

struct lb_session {
  const struct lb_config *config;
  struct lb_env *env;
  const struct foreign *foreign;
  struct foreign_child child;
  uint64_t number;                  /* of the latest question */
  enum foreign_question unanswered; /* ... if its answer is still to come */
  char verb[16];                    /* ... its word */
  int told;                         /* LB_OK, LB_UNKNOWN (doubt), LB_LOST: since the latest acquire began */
  char told_text[120];
  size_t unasked;
  bool broken; /* it has said or done what no adapter may, in these words: */
  char why[200];
  bool opens;       /* as long as it does, what the machine takes from its program makes every deadline later */
  lb_ns round_trip; /* of a question that asks for nothing */
};

struct foreign_answer {
  struct foreign_words words; /* in `text` */
  char text[LB_FOREIGN_LINE_MAX];
};

static inline lb_ns foreign_earlier(lb_ns a, lb_ns b) { return a < b ? a : b; }

/* The adapter broke the rules of the line protocol, in these words. -EPROTO. */
int foreign_broken(struct lb_session *session, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Everything that has come: what was said unasked is noted. 1: *ret is a line that is something else; 0: there is none.
 * Does not wait. */
int foreign_hear(struct lb_session *session, char **ret);
/* Asks and waits. 1: answered. 0: not by the deadline. */
int foreign_ask(struct lb_session *session, enum foreign_question question, const char *what, lb_ns deadline,
                struct foreign_answer *ret);
/* Waits for what is still to be answered. 1: nothing is, or its answer has come (*ret_was: it was this question, *ret
 * has it). 0: still nothing. */
int foreign_settle(struct lb_session *session, enum foreign_question question, lb_ns deadline,
                   struct foreign_answer *ret, bool *ret_was);
/* Whether the answer begins with this word. */
bool foreign_is(const struct foreign_answer *answer, const char *word);
/* Puts what stands behind the first word into env->err, and returns `result`. */
int foreign_fail_with(struct lb_session *session, int result, const struct foreign_answer *answer);
/* An answer that the line protocol does not know. -EPROTO. */
int foreign_unknown_answer(struct lb_session *session, const char *verb, const struct foreign_answer *answer,
                           const char *expected);

/* The hooks open and close. */
int foreign_session_open(struct lb_session *session, const struct lb_config *config, lb_ns deadline);
void foreign_session_close(struct lb_session *session);

#endif
