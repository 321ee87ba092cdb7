/* SPDX-License-Identifier: MIT
 *
 * explain.h - a history as a story: the about ten to twenty events that made a violation, with what
 * is wrong said beside them. For readers who know neither the format nor the rules; `lockbench
 * check` has all counts and all episodes.
 */
#ifndef LB_EXPLAIN_H
#define LB_EXPLAIN_H

#include "check/check.h"

/* What a history does not say of itself; all zero = not known. */
struct lb_explain_about {
  bool claims;     /* the guard was `claim`: what the resource refuses, it refuses for a token, not for a fence */
  bool stuck;      /* the trial was, or delayed: then it is told since when */
  bool delayed;    /* ... and then somebody was granted */
  uint64_t ttl_ns; /* of the scenario, if it is a timeline; else 0 */
};

/* Writes the story of a sorted history and, after an empty line, what happened in a sentence or
 * two; of one that was stuck or delayed also since when. `check` is its judgement. Times count from the first event.
 * Errors of the stream are the caller's to look for. */
void lb_explain(const struct lb_history *history, const struct lb_check *check, const struct lb_explain_about *about,
                FILE *out);

/* Which double hold that story is about: its number in `check`, or -1. */
int lb_explain_episode(const struct lb_history *history, const struct lb_check *check);

#endif
