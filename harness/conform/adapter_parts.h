/* SPDX-License-Identifier: MIT
 *
 * adapter_parts.h - what the files of statements about an adapter share: clients that are spoken to in lines, and short words for what each has to answer. Private
 * to adapter*.c.
 */
#ifndef LB_ADAPTER_PARTS_H
#define LB_ADAPTER_PARTS_H

#include "adapter.h"
#include "base/clock.h"

/* HOLD_MS: a lease that does not end while a statement looks at something else. LATE_MS: how much later than wait_ms an answer may be, as in a trial. CALL_MS: of a call
 * that does not wait for others. GRACE_MS: how long after its lease a lock may take to be free: some services count whole seconds, and libraries pause between tries. */
enum { ADAPTER_HOLD_MS = 8000, ADAPTER_LATE_MS = 1000, ADAPTER_CALL_MS = 5000, ADAPTER_GRACE_MS = 4000, ADAPTER_START_MS = 20000 };

struct adapter_reply {
  char line[200];          /* as it was written */
  char word[24];           /* "granted" */
  lb_ns sent, came;        /* of the question, of the answer */
  lb_ns held_up;           /* of the time between: for how long its program waited for a processor, which is no delay of its own */
};

/* ---- a client: i = 0, 1, ... ("the first client") ------------------------------------------------------------- */

/* Starts it and opens its session, unless that is done. Called by adapter_ask(). */
void adapter_open(struct lb_conform *c, int i);
/* Starts it, and takes its first line. */
void adapter_start(struct lb_conform *c, int i);
/* Writes a question with a number of its own; takes its answer, for which there are `ms` from now on. Fails the statement where there is none. A line that answers
 * nothing is passed over, unless lines are what the statement is about (adapter_be_strict()). */
void adapter_put(struct lb_conform *c, int i, const char *format, ...) __attribute__((format(printf, 3, 4)));
void adapter_take(struct lb_conform *c, int i, int64_t ms, struct adapter_reply *ret);
/* Both. */
void adapter_ask(struct lb_conform *c, int i, int64_t ms, struct adapter_reply *ret, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Fails unless the latest answer is one of these words: "busy timeout". `why` stands behind what was read: "while the first client holds". */
void adapter_want(struct lb_conform *c, int i, const struct adapter_reply *reply, const char *words, const char *why);
bool adapter_says(const struct adapter_reply *reply, const char *words);
/* From now on each line has to be the answer to the latest question, or a `!` line. */
void adapter_be_strict(void);
/* Looks on for so long. Fails if it writes a line: "expected WHAT, read ...". */
void adapter_expect_silence(struct lb_conform *c, int i, int64_t ms, const char *what);
/* As lb_talk_end(). */
bool adapter_end(struct lb_conform *c, int i, bool quit, int patience_ms, char *fate, size_t size);
void adapter_hang_up(int i);
/* kill -9 of the program and of all that it started. */
void adapter_kill(struct lb_conform *c, int i);
/* What stands behind NAME= in the answer, as a number. False: it has no such word, or no number. */
bool adapter_number(const struct adapter_reply *reply, const char *name, long long *ret);

/* ---- what most statements do ------------------------------------------------------------------------------------- */

/* Each fails unless the answer is granted, or busy; ok. */
void adapter_acquire(struct lb_conform *c, int i, const char *key, int64_t ttl_ms, int64_t wait_ms, struct adapter_reply *ret, const char *why);
void adapter_refused(struct lb_conform *c, int i, const char *key, const char *why);
void adapter_release(struct lb_conform *c, int i, const char *key, const char *why);
/* Whether some server has the record of it now. */
bool adapter_has_record(struct lb_conform *c, const char *key);

/* ---- the statements ------------------------------------------------------------------------------------------------ */

void adapter_says_what_it_is(struct lb_conform *c);      /* adapter_lines.c */
void adapter_answers_each_once(struct lb_conform *c);
void adapter_quits(struct lb_conform *c);
void adapter_ends_with_stdin(struct lb_conform *c);
void adapter_ignores_what_it_does_not_know(struct lb_conform *c);
void adapter_grants_and_releases(struct lb_conform *c);  /* adapter_turns.c */
void adapter_refuses_at_once(struct lb_conform *c);
void adapter_waits_for_so_long(struct lb_conform *c);
void adapter_grants_after_the_release(struct lb_conform *c);
void adapter_who_gave_up(struct lb_conform *c);
void adapter_takes_turns(struct lb_conform *c);
void adapter_keys_are_apart(struct lb_conform *c);
void adapter_frees_nobody_elses(struct lb_conform *c);
void adapter_releases_twice(struct lb_conform *c);
void adapter_one_of_eight(struct lb_conform *c);
void adapter_grants_as_it_says(struct lb_conform *c);    /* adapter_hold.c */
void adapter_fences_grow(struct lb_conform *c);
void adapter_validity(struct lb_conform *c);
void adapter_record(struct lb_conform *c);
void adapter_confirms(struct lb_conform *c);
void adapter_extends(struct lb_conform *c);
void adapter_lease_ends(struct lb_conform *c);           /* adapter_ends.c */
void adapter_stale_release(struct lb_conform *c);
void adapter_stale_extend(struct lb_conform *c);
void adapter_extend_after_another(struct lb_conform *c);
void adapter_stale_holds(struct lb_conform *c);
void adapter_holds_after_another(struct lb_conform *c);
void adapter_session_lasts(struct lb_conform *c);
void adapter_killed_client(struct lb_conform *c);
void adapter_killed_waiter(struct lb_conform *c);
void adapter_server_is_gone(struct lb_conform *c);

#endif
