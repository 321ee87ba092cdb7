/* SPDX-License-Identifier: MIT
 *
 * campaign_text.h - the table of campaigns as texts, for the terminal: what
 * stands in a cell, and the sentences below the table.
 */
#ifndef LB_CAMPAIGN_TEXT_H
#define LB_CAMPAIGN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/interval.h"

/* How long load was measured: "4.2", "65", "1800". In seconds, from hours. As for all cells, 40 bytes are enough, and
 * two digits are shown, so that a small number does not become 0. */
void lb_campaign_text_seconds(double hours, char *buf, size_t size);

/* A share in per cent: "25 [4.6,70]", or "0 (<53)" of 0. "-" = not known. */
void lb_campaign_text_share(const struct lb_rate *share, bool known, char *buf, size_t size);

enum lb_campaign_exposure { LB_PER_HOUR, LB_PER_1000 };
struct lb_campaign_rate {
  enum lb_campaign_exposure of;
  struct lb_rate rate; /* per hour, or per 1000 hand-offs */
  uint64_t events;
  double exposure; /* hours, or hand-offs */
  int trials;      /* decided ones */
};
/* "4.9 [0.31,11]"; too few events to divide by: "2 (<30)"; too few trials or hand-offs: "12 in 5 s",
 * "12 in 2". "-" = nothing was exposed. */
void lb_campaign_text_rate(const struct lb_campaign_rate *rate, char *buf, size_t size);

/* ---- sentences about all cells of a scenario, which are noted one by one ---- */

struct lb_campaign_notes {
  struct {
    const char *name; /* borrowed */
    uint64_t proved;
  } kind[32];
  size_t kinds;
  size_t above, unknown; /* cells with violations: the control is below it; there is none to compare with */
  size_t below_count;    /* the control's interval meets theirs ... */
  char below[1000];      /* ... "a@t, b@t (fence)" ... */
  size_t below_unnamed;  /* ... and so many that have no room there */
};
/* Kinds beyond the room are left out. */
void lb_campaign_notes_kind(struct lb_campaign_notes *notes, const char *name, uint64_t proved);
/* For a cell with violations; `above` as lb_tally_above_control() answers. */
void lb_campaign_notes_control(struct lb_campaign_notes *notes, const char *system, const char *guard, int above);
/* Which faults were proved, how often, and which never; "" = nothing is known of that. */
void lb_campaign_text_kinds(const struct lb_campaign_notes *notes, char *buf, size_t size);
/* Which cells the control does not separate from; "" = no cell has a violation. */
void lb_campaign_text_control(const struct lb_campaign_notes *notes, char *buf, size_t size);

/* ---- what the table is called and what it means, in the same words on the terminal, on the page and in the paper
 * (plots/campaign.py has them again for these two; tests/python/test-paper.sh compares) ---- */

/* The least for a rate per hour or per 1000 hand-offs, with LB_LEAST_TRIALS. The caption names these numbers. */
enum { LB_LEAST_EVENTS = 5, LB_LEAST_HANDOFFS = 100 };

/* X(what, per): a head of two lines */
#define LB_CAMPAIGN_COLUMN_LIST(X)                                                                                     \
  X("scenario", "")                                                                                                    \
  X("system", "")                                                                                                      \
  X("guard", "")                                                                                                       \
  X("verdict", "")                                                                                                     \
  X("faults", "")                                                                                                      \
  X("measured,", "s")                                                                                                  \
  X("two held,", "% of faults")                                                                                        \
  X("within a lease,", "% of faults")                                                                                  \
  X("damage,", "% of faults")                                                                                          \
  X("violations", "per hour")                                                                                          \
  X("violations per", "1000 hand-offs")

#define LB_CAMPAIGN_CAPTION                                                                                                                                  \
  "Faults are drawn at random from the seed, one after the other. What happens between a fault and the next one is charged to the first: "                   \
  "by time, not by cause. Faults: those that were proved, in decided trials, and followed by a grant before the next one; a cut that "                       \
  "nobody used is none. Measured: the load of all decided trials, by which a rate per hour divides; as a fault waits until the one before has been undone, " \
  "it is longer where servers start slowly. "                                                                                                                \
  "Two held: a client was granted the lock while the holder before it still held it; within a lease: and the leases of both ran at "                         \
  "that moment. Damage: a write of a holder that was overtaken then was accepted, then or later. Violations: accepted stale writes, one for "                \
  "each critical section that was overrun, and at least one for each violated trial; of a lock that stands still there is no rate. "                         \
  "Hand-offs: those after which the new holder's write was accepted. Per fault, one server meets as many faults as five together; if "                       \
  "each server has as many, multiply what is within a lease by their number. In brackets: 95 % intervals, which allow for trials that "                      \
  "differ; the bound of a 0 or of all takes faults as independent. A rate per hour or per 1000 needs 5 "                                                     \
  "violations in 2 trials, and 100 hand-offs where it is of these: fewer come in too few clusters to divide by. Without that the count "                     \
  "stands alone: 2 (<30) is a count of 2 and a rate below 30, and 12 in 5 s, or 12 in 2 hand-offs, is no rate at all."

#endif
