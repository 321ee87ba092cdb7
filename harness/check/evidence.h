/* SPDX-License-Identifier: MIT
 *
 * evidence.h - what a history has to show before its verdict counts. Reads histories only.
 */
#ifndef LB_EVIDENCE_H
#define LB_EVIDENCE_H

#include "history/history.h"

static inline uint64_t lb_later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* True if a step observed the key's record as present, or absent, on all hosts of this role. */
bool lb_evidence_observed(const struct lb_history *history, const char *role, bool present);
/* True if a client asked for a key while another one held it, or might have, and was answered: refused, or granted
 * later.
 *
 * Another client might hold after an `unknown` acquire without a `released`. A client that died so, or while it asked,
 * counts until its lease ends or another one is granted the key.
 *
 * Silence is an answer only if the request may have left, and a step had looked first: at the server that the client
 * talks to, with no fault of one of the two since; or, after the last fault, that another client holds. The request may
 * not have left if the client gave up and certainly does not hold, and was connected to no server or cannot tell to
 * which.
 *
 * *ret_asked: some client asked, answered or not. Else a clean history says nothing of exclusion. */
bool lb_evidence_contested(const struct lb_history *history, bool *ret_asked);

/* True if a client that asked during a fault was answered, as above: for some time between the fault of step `fault`
 * and the first event of step `end` or a later one. True without such a fault. */
bool lb_evidence_answered_while(const struct lb_history *history, uint32_t fault, uint32_t end);

/* True if in a history without a fault an acquire gave up though the holder's lease had been over for half a ttl: so it
 * was not the holder that kept it out. *ret_client gave up, *ret_holder still held. */
bool lb_evidence_kept_out_by_nobody(const struct lb_history *history, uint64_t ttl_ns, uint32_t *ret_client,
                                    uint32_t *ret_holder);

struct lb_in_vain {
  uint32_t client, key;
  uint64_t asked_ns;   /* so long did it ask ... */
  uint64_t free_ns;    /* ... and for so long of that, at the end, no client had a right to the lock */
  uint64_t free_since; /* ... which is from this moment on */
};
/* True if no client could get the lock at the end of a timeline, before it asked again (`closing`): the last acquire
 * gave up, and for at least half of its time no client had a right to the lock. `ttl_ns` of the scenario. */
bool lb_evidence_in_vain(const struct lb_history *history, uint64_t ttl_ns, struct lb_in_vain *ret);

enum lb_closing_end {
  LB_CLOSING_NONE,    /* the history does not show that a client asked again */
  LB_CLOSING_GRANTED, /* a client was granted: what stood in the way had ended by itself */
  LB_CLOSING_REFUSED, /* no client was, though all that could end by itself had ended */
  LB_CLOSING_UNKNOWN, /* no client was, and that may not have had the time to end */
};
struct lb_closing {
  enum lb_closing_end end;
  uint32_t client;    /* that was granted, or was refused last */
  uint64_t begin, at; /* asked again from then on; granted then, or refused until then */
  uint64_t last_end;  /* of every lease and session that there was at `begin`: a ttl later, or what a grant said */
};
/* The outcome of asking again, between the facts `closing` and `closed`. Refused: still without a grant half a ttl
 * after last_end, as servers may look late. A lease that is kept up has no end. */
void lb_evidence_closing(const struct lb_history *history, uint64_t ttl_ns, struct lb_closing *ret);
/* The index of the fact `closing`; the number of events = there is none. */
size_t lb_evidence_closing_begins(const struct lb_history *history);

enum lb_guard_evidence {
  LB_GUARD_WORKED,         /* a client that another one had overtaken was stopped, and with a reason */
  LB_GUARD_STOPPED_NOBODY, /* checks were answered, and no overtaken client was stopped: the guard kept nothing whole */
  LB_GUARD_NOT_ASKED,      /* no check at all: no client wanted to touch the resource */
  LB_GUARD_NOT_ANSWERED,   /* no check of any client was ever answered */
  LB_GUARD_STOPPED_UNANSWERED, /* overtaken clients stopped only because their checks got no answer */
};
/* What a history without damage shows of a guard with which clients check themselves (deadline, signal, recheck). A
 * client is overtaken when another one was granted the key after it. A stop without an answer counts if proved cuts had
 * parted the client from `needed` of these servers: fewer can still answer for the lock. *ret_client: the first whose
 * stop does not count, for LB_GUARD_STOPPED_UNANSWERED, else LB_NO_NAME. Ends the process when memory is exhausted. */
enum lb_guard_evidence lb_evidence_guard(const struct lb_history *history, const char *const *servers, size_t count,
                                         size_t needed, uint32_t *ret_client);
/* The same of guards with which the resource checks (claim, fence). True if it refused an overtaken client: since that
 * client's latest grant, or if it was never granted the key, another one's access was accepted; or at any time one with
 * a larger token. Other refusals say nothing of the guard. */
bool lb_evidence_refused(const struct lb_history *history);
/* How many accesses the resource refused to the client that was granted the key last, in a history without a fault:
 * its number was smaller than one that had been there before. 0 of what several may hold at once. Ends the process when
 * memory is exhausted. */
uint64_t lb_evidence_refused_holder(const struct lb_history *history);

#endif
