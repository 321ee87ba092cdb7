/* SPDX-License-Identifier: MIT
 *
 * adapter_talk.h - clients that are spoken to in lines, for the statements of the line protocol (peers/README.md): an
 * adapter's lines, as its author wrote them, not the hooks that foreign.c makes of them. Each statement runs like one
 * of the contract, with programs of its own.
 */
#ifndef LB_ADAPTER_TALK_H
#define LB_ADAPTER_TALK_H

#include "conform_calls.h"

/* HOLD_MS: a lease that does not end while a statement looks at something else. LATE_MS: how much later than wait_ms an
 * answer may be, as in a trial. CALL_MS: of a call that does not wait for others. GRACE_MS: how long after its lease a
 * lock may take to be free: some services count whole seconds, and libraries pause between tries. */
enum {
  ADAPTER_HOLD_MS = 8000,
  ADAPTER_LATE_MS = 1000,
  ADAPTER_CALL_MS = 5000,
  ADAPTER_GRACE_MS = 4000,
  ADAPTER_START_MS = 20000
};

/* What an adapter has of what statements need; RECORD: and servers that have it. */
enum {
  ADAPTER_LEASE = 1 << 0,
  ADAPTER_SESSION = 1 << 1,
  ADAPTER_ENDS = 1 << 2,
  ADAPTER_EXTEND = 1 << 3,
  ADAPTER_HOLDS = 1 << 4,
  ADAPTER_FENCE = 1 << 5,
  ADAPTER_VALIDITY = 1 << 6,
  ADAPTER_RECORD = 1 << 7,
  ADAPTER_SERVERS = 1 << 8,
};

struct adapter_reply {
  char line[200];   /* as it was written */
  char word[24];    /* "granted" */
  lb_ns sent, came; /* of the question, of the answer */
  lb_ns
      held_up; /* of the time between: for how long its program waited for a processor, which is no delay of its own */
};

/* ---- a client: i = 0, 1, ... ("the first client") ------------------------------------------------------------- */

/* Starts it and opens its session, unless that is done. Called by adapter_ask(). */
void adapter_open(struct lb_conform *c, int i);
/* Writes a question with a number of its own; takes its answer, for which there are `ms` from now on. Fails the
 * statement where there is none. A line that answers nothing is passed over, unless lines are what the statement is
 * about (adapter_be_strict()). */
void adapter_put(struct lb_conform *c, int i, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Both. */
void adapter_ask(struct lb_conform *c, int i, int64_t ms, struct adapter_reply *ret, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Fails unless the latest answer is one of these words: "busy timeout". `why` stands behind what was read: "while the
 * first client holds". */
void adapter_want(struct lb_conform *c, int i, const struct adapter_reply *reply, const char *words, const char *why);
bool adapter_says(const struct adapter_reply *reply, const char *words);
/* Looks on for so long. Fails if it writes a line: "expected WHAT, read ...". */
void adapter_expect_silence(struct lb_conform *c, int i, int64_t ms, const char *what);
/* kill -9 of the program and of all that it started. */
void adapter_kill(struct lb_conform *c, int i);

static inline long long ms_between(lb_ns from, lb_ns to) {
  return to > from ? (long long)((to - from) / LB_NS_PER_MS) : 0;
}

/* ---- what most statements do ------------------------------------------------------------------------------------- */

/* Each fails unless the answer is granted, or busy; ok. */
struct adapter_reply adapter_acquire(struct lb_conform *c, int i, const char *key, int64_t ttl_ms, int64_t wait_ms,
                                     const char *why);
/* "release key=KEY", "holds key=KEY": fails unless the answer is one of these words. */
void adapter_answers(struct lb_conform *c, int i, const char *what, const char *key, const char *words,
                     const char *why);
void adapter_refused(struct lb_conform *c, int i, const char *key, const char *why);
void adapter_release(struct lb_conform *c, int i, const char *key, const char *why);

#endif
