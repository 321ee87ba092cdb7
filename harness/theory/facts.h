/* SPDX-License-Identifier: MIT
 *
 * facts.h - facts, words NAME=VALUE about a lock, its servers or a scenario, and their vocabulary.
 */
#ifndef LB_FACTS_H
#define LB_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Where a fact is stated. */
enum lb_term_of {
  LB_TERM_OF_LOCK,     /* in the table of a protocol, in peers.ini, in the greeting of an adapter */
  LB_TERM_OF_SERVERS,  /* in a row of topology.c */
  LB_TERM_OF_SCENARIO, /* follows from what a scenario sets, such as an option */
  LB_TERM_OF_GUARD,    /* the guard, and what could tell the holder */
};

struct lb_term { /* a row of the vocabulary */
  const char *name;
  enum lb_term_of of;
  const char *values; /* "lease|session|never": the first one is the default */
  const char *help;   /* one line: what it means */
};

/* In the order of `lockbench list facts`; NULL behind the last. */
const struct lb_term *lb_term_at(size_t index);
#define LB_FACTS_MAX 80

/* The facts of one cell: the values of lb_term_at(i), a bit each in the order of its `values`. Only `shows` has several
 * at once, or none. */
struct lb_facts {
  unsigned value[LB_FACTS_MAX];
};

/* Every fact has its default. */
void lb_facts_default(struct lb_facts *ret);
/* Puts the words "NAME=VALUE NAME=VALUE" of `of` in; NULL = none. 0, or -EINVAL with one line: a word of another form,
 * an unknown name or value (with the nearest), or a fact that is stated elsewhere. */
int lb_facts_take(struct lb_facts *facts, const char *words, enum lb_term_of of, struct lb_error *err);
/* NAME=VALUE, which have to be in the vocabulary. */
void lb_facts_set(struct lb_facts *facts, const char *name, const char *value);
/* Whether the fact has the value. */
bool lb_facts_is(const struct lb_facts *facts, const char *name, const char *value);
/* The index of a fact and the bits of "VALUE|VALUE": 0, or -EINVAL with one line. */
int lb_facts_parse(const char *name, const char *values, size_t *ret_fact, unsigned *ret_bits, struct lb_error *err);
/* The value of a fact as text of its own: "lease". */
const char *lb_facts_get(const struct lb_facts *facts, const char *name, char *buf, size_t size);
/* Makes them those of a sound lock of the same kind: every fact that only a flaw changes has its default. */
void lb_facts_without_flaws(struct lb_facts *facts);

#endif
