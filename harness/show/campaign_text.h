/* SPDX-License-Identifier: MIT
 *
 * campaign_text.h - the table of campaigns as texts, for the terminal (display_campaigns.c): what
 * stands in a cell, and the sentences below the table.
 */
#ifndef LB_CAMPAIGN_TEXT_H
#define LB_CAMPAIGN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/interval.h"

enum { LB_CAMPAIGN_COLUMNS = 11 };
struct lb_campaign_column {
  const char *what, *per; /* two lines of a head; `per` "" = one */
};
extern const struct lb_campaign_column lb_campaign_columns[LB_CAMPAIGN_COLUMNS];
extern const char lb_campaign_caption[];

/* The number of a cell; 40 bytes are enough. Two digits: what is small does not become 0. */

/* How long load was measured: "4.2", "65", "1800". In seconds, from hours. */
void lb_campaign_seconds_text(double hours, char *buf, size_t size);

/* A share in per cent: "25 [4.6,70]", or "0 (<53)" of 0. "-" = not known. */
void lb_campaign_share_text(const struct lb_rate *share, bool known, char *buf, size_t size);

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
void lb_campaign_rate_text(const struct lb_campaign_rate *rate, char *buf, size_t size);

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
void lb_campaign_note_kind(struct lb_campaign_notes *notes, const char *name, uint64_t proved);
/* Of a cell with violations; `above` as lb_cell_above_control() answers. */
void lb_campaign_note_control(struct lb_campaign_notes *notes, const char *system, const char *guard, int above);
/* Which faults were proved, how often, and which never; "" = nothing is known of that. */
void lb_campaign_kinds_text(const struct lb_campaign_notes *notes, char *buf, size_t size);
/* Which cells the control does not separate from; "" = no cell has a violation. */
void lb_campaign_control_text(const struct lb_campaign_notes *notes, char *buf, size_t size);

#endif
