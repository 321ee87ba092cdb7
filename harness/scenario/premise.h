/* SPDX-License-Identifier: MIT
 *
 * premise.h - what has to be true for the question of a scenario to have been put, as a fact that a step observes.
 */
#ifndef LB_PREMISE_H
#define LB_PREMISE_H

#include <stdbool.h>

#include "base/error.h"
#include "step.h"

enum lb_premise_kind {
  LB_PREMISE_KEY,    /* key present|absent on A, seen by `observe key on A` */
  LB_PREMISE_HOLDS,  /* client N holds | does not hold, seen by `observe client N` */
  LB_PREMISE_SERVER, /* server of client N is | is not A, seen by `observe server of client N` */
  /* client N asked and was granted | was not granted, and: was refused (somebody else holds it). Seen by the steps in
   * which it asks; of one that certainly does not hold only if it was connected then and can tell to which server.
   * Otherwise its request may have reached no server. */
  LB_PREMISE_GRANTED,
  LB_PREMISE_REFUSED,
  LB_PREMISE_UNSYNCED, /* A lost writes | A lost no writes, seen by `power off A` */
  LB_PREMISE_LEFT,     /* A left | A did not leave, seen by `observe A leaves` */
};

/* Which key of [proof] names the fact. */
enum lb_premise_use {
  LB_PREMISE_OF_ALL,  /* premise: every trial needs it */
  LB_PREMISE_OF_SAFE, /* safe: a trial without a double hold needs it to be safe, and at one step that looks */
  LB_PREMISE_OF_TEST, /* test: the same of every safe trial, in place of a client that asked while another one held */
};

struct lb_premise {
  enum lb_premise_kind kind;
  bool is;               /* present, holds, is, left; false = the opposite */
  int client;            /* N, where the fact names a client */
  struct lb_role server; /* A, one server, where the fact names one */
  enum lb_premise_use use;
  char *text; /* owned; in one spelling, for people */
  int line;
};

/* One fact from its text. 0, or -EINVAL with err = what was found and expected (no place).
 * Its line and use are left as they are. */
int lb_premise_parse(const char *text, struct lb_premise *ret, struct lb_error *err);
/* "premise", "safe", "test": the key. And the use of a key that has this name. */
const char *lb_premise_use_name(enum lb_premise_use use);
enum lb_premise_use lb_premise_use_of(const char *key);
/* True if both speak of the same thing, whatever they say of it, and for the same key of [proof]. */
bool lb_premise_same_subject(const struct lb_premise *a, const struct lb_premise *b);
/* True if the step looks at what the premise speaks of. */
bool lb_premise_observed_by(const struct lb_premise *premise, const struct lb_step *step);

#endif
