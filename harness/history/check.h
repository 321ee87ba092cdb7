/* SPDX-License-Identifier: MIT
 *
 * check.h - judges a history: mutual exclusion, damage at the resource, fencing, liveness. Reads
 * histories only.
 *
 * A hold is the closed interval from `granted` to the first of `release`, `lost` of the same client
 * and key, `crash` of the same client, or the end of the file; equal times never overlap. In
 * detail:
 * - The end of the file comes after every event: who was granted a key that another client still
 *   holds when the history ends, be it by the very last event, held it twice. Lengths are counted
 *   to the time of the last event.
 * - A client that is granted again what it still holds goes on with the same hold.
 * - `renewed` neither begins nor ends a hold, whoever it is of: a lease is what the service
 *   promised, a hold what a client does.
 * - For overlaps, dirty accesses and stale writes only times count, so events of equal time never
 *   make a violation, whatever their order. Values, fences, hand-offs and the times of liveness
 *   follow the sorted order: the resource served them one by one.
 * - A refused access did no damage: it is neither dirty nor an accepted write, and its value is not
 *   one that was read. Its fence was seen by the resource all the same.
 *
 * A sweep over the sorted events: linear, so O(n log n) with the sort.
 */
#ifndef LB_CHECK_H
#define LB_CHECK_H

#include "counter.h"
#include "history.h"

/* A maximal span in which two or more clients hold the same key. */
struct lb_episode {
  uint32_t key;
  uint32_t depth;            /* most holders at once */
  uint64_t begin_t, end_t;   /* ns */
  /* Indexes into the sorted history; end_event == count when it lasts to the end. */
  size_t begin_event, end_event;
  uint32_t *clients;         /* distinct clients that held during it, in order of appearance */
  size_t client_count;
};

/* Of the counters those with LB_FROM_CHECK are filled in. In detail:
 * depth             0 no grant, 1 clean
 * dirty_accesses    while another client's hold has begun before and ends later, or while this
 *                   client does not hold the key itself
 * lost_updates      sum over keys of accepted writes - (last accepted value - first value read);
 *                   never < 0 per key, and 0 for a key that was never read or never written
 * stale_writes      after its own latest grant of the key (or without one) another client was
 *                   granted it, so the write comes from the past, whoever believes what
 * unavailable_ns    to the next grant of anything; -1 = no fault; a fault without a later grant
 *                   counts to the end of the history
 * orphan_ns         to the next grant of that key by another; -1 = none; to the end of the history
 *                   if never granted again
 * blind_ns          from the other's grant until it learned that it had lost the lock (`lost`, also
 *                   as the answer to its release); -1 = no client ever learned of a loss */
struct lb_check {
  LB_COUNTERS_MEMBER;
  struct lb_episode *episodes;
  size_t episode_count;       /* == double_holds */
};

/* Judges a sorted history (lb_history_load sorts). 0, or -ENOMEM. *ret is released with
 * lb_check_clear(). */
int lb_check_history(const struct lb_history *history, struct lb_check *ret);
void lb_check_clear(struct lb_check *check);
/* True when mutual exclusion was lost: double holds, or a dirty access, or a lost update, or a
 * token regression. */
bool lb_check_violated(const struct lb_check *check);
/* True when the resource was damaged: a lost update or a stale write. What a guard is judged by. */
bool lb_check_damaged(const struct lb_check *check);

enum lb_ruled { LB_RULED_SAFE, LB_RULED_VIOLATED, LB_RULED_UNDECIDED };

struct lb_ruling {
  enum lb_ruled verdict;
  const char *why; /* of undecided; else NULL */
};

/* The verdict on a history of which nothing else is known. `excuse` is why a loss of exclusion does
 * not count (`why` is that pointer then), NULL = it does: it comes from what reads more than counts
 * (evidence.h). Undecided, too, if no hand-off put the lock to the test. */
struct lb_ruling lb_check_rule(const struct lb_check *check, const char *excuse);
/* "safe", "violated", "undecided". */
const char *lb_ruled_name(enum lb_ruled verdict);

/* One line: the verdict, why, and what was found: "violated: ...", "undecided: ...", "safe: ...".
 * `excuse` as above. */
void lb_check_print_verdict(const struct lb_check *check, const char *excuse, FILE *out);
/* Text for humans: first that line, then the counts, then each episode (at most max_episodes):
 * clients, interval, the events around it. */
void lb_check_print(const struct lb_history *history, const struct lb_check *check, const char *excuse,
                    size_t max_episodes, FILE *out);

#endif
