/* SPDX-License-Identifier: MIT
 *
 * campaign_words.h - what the table of campaigns is called and what it means, in the same words on the terminal, on the page and in
 * the paper (plots/campaign.py has them again for these two; tests/test-paper.sh compares). Private to campaign_text.c.
 */
#ifndef LB_CAMPAIGN_WORDS_H
#define LB_CAMPAIGN_WORDS_H

/* Of a rate per hour or per 1000 hand-offs, with LB_LEAST_TRIALS. The caption names these numbers. */
enum { LB_LEAST_EVENTS = 5, LB_LEAST_HANDOFFS = 100 };

/* X(what, per): a head of two lines */
#define LB_CAMPAIGN_COLUMN_LIST(X)                                                                                                 \
  X("scenario", "")                                                                                                                \
  X("system", "")                                                                                                                  \
  X("guard", "")                                                                                                                   \
  X("verdict", "")                                                                                                                 \
  X("faults", "")                                                                                                                  \
  X("measured,", "s")                                                                                                              \
  X("two held,", "% of faults")                                                                                                    \
  X("within a lease,", "% of faults")                                                                                              \
  X("damage,", "% of faults")                                                                                                      \
  X("violations", "per hour")                                                                                                      \
  X("violations per", "1000 hand-offs")

#define LB_CAMPAIGN_CAPTION                                                                                                        \
  "Faults are drawn at random from the seed, one after the other. What happens between a fault and the next one is charged to the first: "    \
  "by time, not by cause. Faults: those that were proved, in decided trials, and followed by a grant before the next one; a cut that "          \
  "nobody used is none. Measured: the load of all decided trials, by which a rate per hour divides; as a fault waits until the one before has been undone, "  \
  "it is longer where servers start slowly. "                                                                                                  \
  "Two held: a client was granted the lock while the holder before it still held it; within a lease: and the leases of both ran at "           \
  "that moment. Damage: a write of a holder that was overtaken then was accepted, then or later. Violations: accepted stale writes, one for "  \
  "each critical section that was overrun, and at least one for each violated trial; of a lock that stands still there is no rate. "           \
  "Hand-offs: those after which the new holder's write was accepted. Per fault, one server meets as many faults as five together; if "         \
  "each server has as many, multiply what is within a lease by their number. In brackets: 95 % intervals, which allow for trials that "        \
  "differ. A rate per hour or per 1000 needs 5 "                                                                                               \
  "violations in 2 trials, and 100 hand-offs where it is of these: fewer come in too few clusters to divide by. Without that the count "      \
  "stands alone: 2 (<30) is a count of 2 and a rate below 30, and 12 in 5 s, or 12 in 2 hand-offs, is no rate at all."

#endif
