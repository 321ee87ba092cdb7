/* SPDX-License-Identifier: MIT
 *
 * foreign_ask.h - a session of a foreign lock, and the questions that it asks its adapter. Private to foreign.c, foreign_session.c and foreign_ask.c.
 *
 * All that return an int: -EPROTO once the adapter has said or done what no adapter may; the text stands in env->err, and every later call says the same.
 */
#ifndef LB_FOREIGN_ASK_H
#define LB_FOREIGN_ASK_H

#include "foreign_hooks.h"

enum foreign_question { FOREIGN_NOTHING, FOREIGN_ACQUIRE, FOREIGN_RELEASE, FOREIGN_OTHER };

struct lb_session {
  const struct lb_config *config;
  struct lb_env *env;
  const struct foreign *foreign;
  struct foreign_child child;
  uint64_t number;        /* of the latest question */
  enum foreign_question unanswered; /* ... if its answer is still to come */
  char verb[16];            /* ... its word */
  int told;               /* LB_OK, LB_UNKNOWN (doubt), LB_LOST: since the latest acquire began */
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
/* Everything that has come: what was said unasked is noted. 1: *ret is a line that is something else; 0: there is none. Does not wait. */
int foreign_hear(struct lb_session *session, char **ret);
/* The same, and waits for one. 0: the deadline passed, and, while the session opens, what the machine has taken from its program. */
int foreign_await_line(struct lb_session *session, lb_ns deadline, char **ret);
/* Asks "VERB ..." without waiting. 0 or -E2BIG. */
int foreign_put(struct lb_session *session, enum foreign_question question, const char *what);
/* Asks and waits. 1: answered. 0: not by the deadline. */
int foreign_ask(struct lb_session *session, enum foreign_question question, const char *what, lb_ns deadline, struct foreign_answer *ret);
/* Waits for what is still to be answered. 1: nothing is, or its answer has come (*ret_was: it was this question, *ret has it). 0: still nothing. */
int foreign_settle(struct lb_session *session, enum foreign_question question, lb_ns deadline, struct foreign_answer *ret, bool *ret_was);
/* Whether the answer begins with this word. */
bool foreign_is(const struct foreign_answer *answer, const char *word);
/* Puts what stands behind the first word into env->err, and returns `result`. */
int foreign_fail_with(struct lb_session *session, int result, const struct foreign_answer *answer);
/* An answer that the line protocol does not know. -EPROTO. */
int foreign_unknown_answer(struct lb_session *session, const char *verb, const struct foreign_answer *answer, const char *expected);
/* No answer in time: LB_UNKNOWN, with a text. */
int foreign_silent(struct lb_session *session);
/* "VERB key=..." */
void foreign_begin_request(char *line, size_t size, const char *verb, const struct lb_lock *lock);

/* The hooks open and close (foreign_session.c). */
int foreign_session_open(struct lb_session *session, const struct lb_config *config, lb_ns deadline);
void foreign_session_close(struct lb_session *session);

#endif
