/* SPDX-License-Identifier: MIT
 *
 * check.h - judges a history: mutual exclusion, damage at the resource, fencing, liveness. Reads
 * histories only.
 *
 * A hold is the closed interval from `granted` to its end; equal times never overlap. It ends with as
 * many `release` of the same client and key as it had `granted` (reentrancy), or at once with `lost`
 * of the same client and key, `crash` of the same client, or the end of the file. In detail:
 * - The end of the file comes after every event: who was granted a key that another client still
 *   holds when the history ends, be it by the very last event, held it twice. Lengths are counted
 *   to the time of the last event.
 * - A client that is granted again what it still holds goes on with the same hold, one deeper. What
 *   counts is what the client was told: a request that was sent twice, because its answer was lost,
 *   is one `granted`, whatever the service counts. So is a release that was sent twice.
 * - A history ends here where it was asked for again (`closing`): what is granted then beside a holder that
 *   stands still is no answer to the scenario.
 * - A hold is exclusive, unless all its grants were shared: then it is a reader's. A shared hold that is
 *   granted exclusively goes on, exclusive from that grant. No release makes it shared again: who keeps
 *   the reader's half of a hold is written as `release` and a shared `granted` of the same time.
 * - Too many hold a key if more than its permits do (1, unless a `permits` says otherwise) and not all
 *   of them share. A `permits` counts for the whole history, wherever it stands; of several the last one,
 *   and one of the key itself before one of any key.
 * - With more than one permit the holders use the resource together: no access of the key is dirty or
 *   stale, no update lost, no number a regression, no window blind. What counts is how many hold.
 * - Readers may read together: a read of a shared hold is dirty beside an exclusive one alone. A write
 *   needs the key alone, whoever writes.
 * - An early read came before its client asked for the lock. It is no access under the lock, so never
 *   dirty, and it overtakes nobody. Its value counts as one that was read.
 * - `renewed` neither begins nor ends a hold, whoever it is of: a lease is what the service
 *   promised, a hold what a client does.
 * - For overlaps, dirty accesses and stale writes only times count, so events of equal time never
 *   make a violation, whatever their order. Values, fences, hand-offs and the times of liveness
 *   follow the sorted order: the resource served them one by one.
 * - A refused access did no damage: it is neither dirty nor an accepted write, and its value is not
 *   one that was read. Its fence was seen by the resource all the same.
 *
 * The lease of a hold ends with the `until` of its latest `granted` or `renewed`; without one it
 * never ends. An overlap is *within a lease* if at some moment of it those whose leases ran were too
 * many: the service has promised the lock twice, and the lock failed. In any other the earlier lease was
 * over and its holder did not stop: that is *late*. Every violation is of one class or the other:
 * - an episode is within a lease if an overlap in it is;
 * - a dirty access, a stale write and what a write takes away are late if their client holds, and
 *   its hold has met others in late overlaps only;
 * - what else there is (an access without a hold, or where no holds met) has no lease to be excused
 *   by, and a token regression is never excused: no lease allows that.
 * Late ones count only where leases run out on purpose (`past_lease`).
 *
 * A sweep over the sorted events: linear, so O(n log n) with the sort.
 */
#ifndef LB_CHECK_H
#define LB_CHECK_H

#include "counter.h"
#include "history.h"

/* A maximal span in which too many clients hold the same key. */
struct lb_episode {
  uint32_t key;
  uint32_t depth;          /* most holders at once */
  uint64_t begin_t, end_t; /* ns */
  bool within_lease;
  /* Indexes into the sorted history; end_event == count when it lasts to the end. */
  size_t begin_event, end_event;
  uint32_t *clients; /* distinct clients that held during it, in order of appearance */
  size_t client_count;
};

/* Of the counters those with LB_FROM_CHECK are filled in. In detail:
 * depth             plain number of holders: 0 no grant, 1 clean; more with readers or permits
 * dirty_accesses    while another client's hold has begun before and ends later, or while this
 *                   client does not hold the key itself
 * lost_updates      sum over keys of accepted writes - (last accepted value - first value read);
 *                   never < 0 per key, and 0 for a key that was never read or never written
 * stale_writes      after its own latest grant of the key (or without one) another client was
 *                   granted it and has accessed the resource since, so the write comes from the
 *                   past, whoever believes what
 * token_regressions a number that is not larger than one that had been granted before it was asked
 *                   for (the latest `acquire` of that client and key; without one, the grant), or
 *                   that is the largest so far and another client's. A shared grant is held against
 *                   the numbers of exclusive ones alone. None for a client that is granted
 *                   again what it holds and told the number that it has
 * unavailable_ns    to the next grant of anything; -1 = no fault; a fault without a later grant
 *                   counts to the end of the history
 * orphan_ns         to the next grant of that key by another; -1 = none; to the end of the history
 *                   if never granted again
 * blind_ns          from the other's grant (of readers: an exclusive one) until it learned that it had lost the lock
 *                   (`lost`, also as the answer to its release); -1 = no client ever learned of a loss
 * servers_left      steps that saw a server leave the others; -1 = none looked */
struct lb_check {
  LB_COUNTERS_MEMBER;
  struct { /* of these, those that no ended lease excuses; of double holds it is `within_lease` */
    uint64_t dirty_accesses, stale_writes;
    int64_t lost_updates;
  } unexcused;
  int64_t
      early_lost_updates; /* of lost_updates: what writes took away whose clients' latest read of the key was an early one */
  struct lb_episode *episodes;
  size_t episode_count; /* == double_holds */
};

/* Judges a sorted history (lb_history_load sorts). 0, or -ENOMEM. *ret is released with
 * lb_check_clear(). */
int lb_check_history(const struct lb_history *history, struct lb_check *ret);
void lb_check_clear(struct lb_check *check);
/* True when mutual exclusion was lost: double holds, or a dirty access, or a lost update, or a
 * token regression. `past_lease`: late ones count, too. */
bool lb_check_violated(const struct lb_check *check, bool past_lease);
/* True when the resource was damaged: a lost update or a stale write. What a guard is judged by. */
bool lb_check_damaged(const struct lb_check *check, bool past_lease);

/* True when updates were lost though the lock did its work: nothing else is wrong, and every write that
 * took one away followed an early read. */
bool lb_check_read_early(const struct lb_check *check);

enum lb_ruled { LB_RULED_SAFE, LB_RULED_VIOLATED, LB_RULED_UNDECIDED };

struct lb_ruling {
  enum lb_ruled verdict;
  const char *why; /* of undecided; else NULL */
};

/* Why late violations do not count, as a clause. */
#define LB_CHECK_LATE "exclusion was lost, but only after the earlier holder's lease was over"

/* The verdict on a history of which nothing else is known. Undecided if it has late violations
 * only and `past_lease` does not let them count, or if no hand-off put the lock to the test. */
struct lb_ruling lb_check_rule(const struct lb_check *check, bool past_lease);
/* "safe", "violated", "undecided". */
const char *lb_ruled_name(enum lb_ruled verdict);

/* One line: the verdict, why, and what was found: "violated: ...", "undecided: ...", "safe: ...". */
void lb_check_print_verdict(const struct lb_check *check, bool past_lease, FILE *out);
/* Text for humans: first that line, then the counts, then each episode (at most max_episodes):
 * clients, interval, the events around it. */
void lb_check_print(const struct lb_history *history, const struct lb_check *check, bool past_lease,
                    size_t max_episodes, FILE *out);

/* As JSON: what `check --json` prints (its members are in results/SCHEMA.md). Released with json_decref(); NULL = no
 * memory. */
json_t *lb_check_json(const struct lb_history *history, const struct lb_check *check, bool past_lease);

#endif
