/* SPDX-License-Identifier: MIT
 *
 * explain_cut.h - how a history is cut down to its story, step by step. Private to explain_cut.c and
 * explain_stretch.c.
 */
#ifndef LB_EXPLAIN_CUT_H
#define LB_EXPLAIN_CUT_H

#include "explain_parts.h"

enum {
  LB_CUT_SHORT = 64, /* events: such a history is told whole, as far as it fits */
  LB_CUT_LANES = sizeof((struct lb_cut *)0)->lane / sizeof(uint32_t),
};

struct lb_cut_line {      /* a candidate */
  size_t event, distance; /* from what went wrong, in events */
  int rank;               /* 0 = has to be told */
};

struct lb_cutter { /* a story while its events are chosen */
  const struct lb_history *h;
  const struct lb_check *c;
  const struct lb_wrong_event *wrong;
  struct lb_cut *cut;
  size_t from, to;   /* the stretch, both inclusive */
  /* Events without which nothing can be understood: grants, what asked for them, renewals. */
  size_t needed[24];
  size_t needed_count;
  struct lb_cut_line *line;
  size_t lines;
};

/* Whether event `i` is of that kind, by this client, and about the key of the story; a crash that
 * names no key is about every key. */
bool lb_cutter_is_of(const struct lb_cutter *cutter, size_t i, uint32_t client, enum lb_event_kind kind);
/* Fills in cut->focus, cut->key and cut->episode. */
void lb_cutter_find_focus(struct lb_cutter *cutter);
/* Fills in from, to and needed, around the focus; the whole history if nothing went wrong. */
void lb_cutter_find_stretch(struct lb_cutter *cutter);

#endif
