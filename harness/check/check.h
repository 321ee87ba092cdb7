/* SPDX-License-Identifier: MIT
 *
 * check.h - judges a history: mutual exclusion, damage at the resource, fencing, liveness. Reads histories only.
 *
 * A hold is the closed interval from `granted` to its end; equal times never overlap. It ends with as many `release` of
 * the same client and key as it had `granted` (reentrancy). It ends at once with `lost` or `expired` of the same client
 * and key, `crash` of the same client, or the end of the file. In detail:
 * - The end of the file comes after every event. A client that is granted a key by the last event, while another one
 *   holds it, held it twice. Lengths count to the last event.
 * - A client that is granted again what it holds continues the same hold, one deeper. What the client was told counts:
 *   a request that was retried after a lost reply is one `granted`, and a release likewise.
 * - A history ends where the lock was requested again (`closing`): a grant after that answers no scenario.
 * - A hold is exclusive, unless all its grants were shared: then it is a reader's. A shared hold that is granted
 *   exclusively is exclusive from that grant on. To keep the reader's half, write `release` and a shared `granted` of
 *   the same time.
 * - Too many hold a key if more than its permits do (1 without `permits`) and not all of them share. A `permits` counts
 *   for the whole history. Of several the last one counts, and one of the key itself before one of any key.
 * - With more than one permit the holders use the resource together: only the number of holders is judged.
 * - Readers may read together: a read of a shared hold is dirty beside an exclusive one only. A write needs the key
 *   alone.
 * - An early read came before its client asked for the lock. It is never dirty and overtakes no client. Its value counts
 *   as one that was read.
 * - `renewed` neither begins nor ends a hold: a lease is what the service promised, a hold what a client does.
 * - For overlaps, dirty accesses and stale writes only times count, so events of equal time never make a violation. A
 *   hold that ends in the instant in which it began meets no other. Values, fences, hand-offs and liveness follow the
 *   sorted order, in which the resource served them.
 * - A refused access is neither dirty nor an accepted write, and its value was not read. The resource saw its fence.
 *
 * The lease of a hold ends with the `until` of its latest `granted` or `renewed`; without one it never ends. An overlap
 * is *within a lease* if at some moment too many leases ran: the service promised the lock twice. In any other the
 * earlier lease was over and its holder did not stop: that is *late*.
 * - An episode is within a lease if an overlap in it is.
 * - A dirty access, a stale write or a lost update is late if its client holds, and its hold has met others only late.
 * - No lease excuses an access without a hold, or where no holds met. A token regression is never excused.
 * Late ones count only where leases run out on purpose (`past_lease`).
 *
 * A sweep over the sorted events: O(n log n) with the sort.
 */
#ifndef LB_CHECK_H
#define LB_CHECK_H

#include "counter.h"
#include "history/history.h"

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

/* Fills in the counters with LB_FROM_CHECK. In detail:
 * depth             number of holders: 0 no grant, 1 clean; more with readers or permits
 * dirty_accesses    while another client's hold has begun before and ends later, or while this client does not hold
 * lost_updates      sum over keys of accepted writes - (last accepted value - value before them); at least 0 per key.
 *                   Before them was what was read first, or one less than what the first access wrote
 * stale_writes      since its own latest grant of the key (or without one) another client was granted it and has
 *                   accessed the resource
 * token_regressions a token that is not larger than one granted before it was requested (the latest `acquire` of that
 *                   client and key; without one since its latest grant, the grant), or that is the largest so far and
 *                   another client's. A shared grant is compared with exclusive ones only. A deeper grant may repeat
 *                   its own token
 * unavailable_ns    to the next grant of anything, else to the end of the history; -1 = no fault
 * orphan_ns         to the next grant of that key by another client, also after `closing`, else to the end; of a reader
 *                   to the next exclusive one, to the end if that was asked for; -1 = none
 * blind_ns          from the other's grant (of readers: an exclusive one) until the client learned that it had lost the
 *                   lock (`lost`, also as the answer to its release); -1 = no client ever did
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
  bool excluded;  /* some hand-off was not from reader to reader; of several permits, a grant after they were all out */
  bool shortened; /* only the begin of the history was kept */
  bool freed_by_stranger; /* a release of a client that had never asked was confirmed while another client held */
  size_t stranger_event;  /* ... the first one's `released` */
  bool before_stranger;   /* some double hold within a lease began on a key that no such release had freed by then */
  bool unmeasured; /* operations of another tool renewed leases, or tried to, and it was not said how long these are */
  bool revived;    /* a client that had lost the lock had it renewed while another one held */
};

/* Judges a sorted history (lb_history_load sorts). *ret is released with lb_check_clear(). */
void lb_check_history(const struct lb_history *history, struct lb_check *ret);
void lb_check_clear(struct lb_check *check);
/* True when mutual exclusion was lost: double holds, or a dirty access, or a lost update, or a
 * token regression. `past_lease`: late ones count, too. */
bool lb_check_violated(const struct lb_check *check, bool past_lease);
/* True when the resource was damaged: a lost update or a stale write. What a guard is judged by. */
bool lb_check_damaged(const struct lb_check *check, bool past_lease);

/* True when updates were lost although the lock worked: nothing else is wrong, and each lost update followed an early
 * read. */
bool lb_check_read_early(const struct lb_check *check);

enum lb_ruled { LB_RULED_SAFE, LB_RULED_VIOLATED, LB_RULED_UNDECIDED };

struct lb_ruling {
  enum lb_ruled verdict;
  const char *why; /* of undecided; else NULL */
};

/* Why late violations do not count, as a clause. */
#define LB_CHECK_LATE "exclusion was lost, but only after the earlier holder's lease was over"

/* A file may not say on whose behalf a release was, and lockbench's own clients never renew what they lost. */
#define LB_CHECK_STRANGER                                                                                              \
  "a client that had never asked for the lock released it while another one held, and it was not said for whom"
#define LB_CHECK_UNMEASURED "leases were renewed, and nobody said how long they are: see --lease"
#define LB_CHECK_REVIVED "a client had lost the lock, and it was renewed while another one held"

/* The verdict on a history of which nothing else is known. Undecided if it has only late violations that `past_lease`
 * does not count, or if no hand-off put the lock to the test. */
struct lb_ruling lb_check_rule(const struct lb_check *check, bool past_lease);
/* "safe", "violated", "undecided". */
const char *lb_ruled_name(enum lb_ruled verdict);

#endif
