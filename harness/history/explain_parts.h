/* SPDX-License-Identifier: MIT
 *
 * explain_parts.h - what the three files of the story share. Private to explain*.c.
 */
#ifndef LB_EXPLAIN_PARTS_H
#define LB_EXPLAIN_PARTS_H

#include "explain.h"

#define LB_NO_EVENT SIZE_MAX

/* What is wrong about an event, or was about to be: flags, for one event may be wrong in many ways. */
enum lb_wrong {
  /* Granted while another client holds that it may not hold together with: `other` is that client's grant. */
  LB_WRONG_DOUBLE = 1 << 0,
  /* Granted with a fence that is not larger than one before the question, or is another client's:
   * `second` is that grant. */
  LB_WRONG_FENCE = 1 << 1,
  /* An access while another client holds (`other` is its grant), or without a hold. */
  LB_WRONG_DIRTY = 1 << 2,
  /* An accepted write of an overtaken holder: `other` is the grant that overtook it and was used. */
  LB_WRONG_STALE = 1 << 3,
  /* An accepted write whose value does not grow: `second` is the write that is lost by it. */
  LB_WRONG_LOST = 1 << 4,
  /* A write with a fence smaller than one seen (`fence_seen`); it may have been refused. */
  LB_WRONG_FENCED_OFF = 1 << 5,
};
#define LB_WRONG_DAMAGE (LB_WRONG_STALE | LB_WRONG_LOST)

struct lb_wrong_event {
  unsigned flags;
  size_t other, second, fence_seen; /* events, LB_NO_EVENT = none */
};

/* Looks at every event: ret[0..count) with count = history->count. 0 or -ENOMEM. */
int lb_explain_marks(const struct lb_history *history, struct lb_wrong_event *ret);

enum { LB_LANES = 8 };
struct lb_cut {                     /* what is told of a history */
  uint32_t key;                     /* LB_NO_NAME = nothing was ever asked for */
  size_t focus;                     /* the event that shows best what went wrong; LB_NO_EVENT = nothing did */
  const struct lb_episode *episode; /* the double hold it belongs to; NULL = none */
  bool *shown;                      /* by event; from calloc */
  uint32_t lane[LB_LANES];          /* clients in order of appearance */
  size_t lanes;
};

/* Chooses. Release ret->shown with free(). 0 or -ENOMEM. */
int lb_explain_cut(const struct lb_history *history, const struct lb_check *check, const struct lb_wrong_event *wrong,
                   struct lb_cut *ret);
/* True for a fact that only repeats what an event of a client says, and for the proof of a fault,
 * which is told with it. */
bool lb_explain_repeats(const struct lb_history *history, const struct lb_event *event);
/* The fact that only the begin of the history was kept, LB_NO_EVENT = none says so. */
size_t lb_explain_shortened(const struct lb_history *history);
/* The fact that proves the fault at event `fault`, LB_NO_EVENT = none. */
size_t lb_explain_proof(const struct lb_history *history, size_t fault);
/* The event that says whom a fault touched, and the one that says who was asked in an acquire with this
 * outcome; LB_NO_EVENT = nothing says so. */
size_t lb_explain_touched(const struct lb_history *history, size_t fault);
size_t lb_explain_server(const struct lb_history *history, size_t outcome);
/* The event that says how old the state was that this grant was read in; LB_NO_EVENT = nothing says so. */
size_t lb_explain_seen(const struct lb_history *history, size_t grant);

struct lb_teller { /* a story while it is written */
  const struct lb_history *h;
  const struct lb_check *c;
  const struct lb_explain_about *about;
  const struct lb_wrong_event *wrong;
  struct lb_cut cut;
  uint64_t depth[LB_LANES]; /* by lane: grants less releases; 0 = holds nothing */
  bool alone[LB_LANES];     /* by lane: whether a grant of that hold was exclusive */
  int decimals, name_width, lane_width;
  FILE *out;
};

/* The name of the client of an event, "-" = it has none. Lives as long as the history. */
static inline const char *lb_explain_client(const struct lb_teller *teller, size_t event) {
  uint32_t client = teller->h->events[event].client;
  return client == LB_NO_NAME ? "-" : teller->h->clients.name[client];
}
/* What is wrong about an event, behind its line; nothing of one that is right. */
void lb_explain_wrong(const struct lb_teller *teller, size_t event);
/* A length of time: with as many digits as it needs to be told from 0. */
void lb_explain_length(uint64_t ns, FILE *out);

#endif
