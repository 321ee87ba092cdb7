/* SPDX-License-Identifier: MIT
 *
 * facts.h - what the theory knows of a cell: words NAME=VALUE about the lock, its servers and the scenario. The vocabulary is one table. A fact
 * that nobody states has its default, which is what a sound lock or a plain server would say: so a lock is predicted to be
 * as good as it declares, and a deviation is news.
 */
#ifndef LB_FACTS_H
#define LB_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "scenario/scenario.h"
#include "servers/topology.h"

#include "backends/backend.h"

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

/* In the order of `lockbench theory facts`; NULL behind the last. */
const struct lb_term *lb_term_at(size_t index);
#define LB_FACTS_MAX 48

/* Of one cell: the values of lb_term_at(i), a bit each in the order of its `values`. Only `shows` has several at once, or none. */
struct lb_facts {
  unsigned value[LB_FACTS_MAX];
};

/* Every fact has its default. */
void lb_facts_default(struct lb_facts *ret);
/* Puts the words "NAME=VALUE NAME=VALUE" of `of` in; NULL = none. 0, or -EINVAL with one line: a word that is none, a name or a value that nobody
 * knows (with the nearest), a fact that is stated elsewhere. */
int lb_facts_take(struct lb_facts *facts, const char *words, enum lb_term_of of, char *err, size_t err_size);
/* NAME=VALUE, which have to be in the vocabulary. */
void lb_facts_set(struct lb_facts *facts, const char *name, const char *value);
/* Whether the fact has the value. */
bool lb_facts_is(const struct lb_facts *facts, const char *name, const char *value);
/* The index of a fact and the bits of "VALUE|VALUE": 0, or -EINVAL with one line. */
int lb_facts_parse(const char *name, const char *values, size_t *ret_fact, unsigned *ret_bits, char *err, size_t err_size);
/* The value of a fact as text of its own: "lease". */
const char *lb_facts_get(const struct lb_facts *facts, const char *name, char *buf, size_t size);

/* Facts of a lock that has no table of ours: of peers.ini, or of the greeting of an adapter. They are copied, and come after those of the lock of ours that it
 * is like. 0, or -EINVAL with one line; -ENOMEM. */
int lb_facts_state(const struct lb_protocol *protocol, const char *words, char *err, size_t err_size);
/* All that is known of a cell before it runs, but for the guard (facts_of.c). `options` as in lb_config; `scenario` NULL = none. */
void lb_facts_of(const struct lb_protocol *protocol, const union lb_value *options, const struct lb_topology *topology, const struct lb_scenario *scenario,
                 struct lb_facts *ret);
/* The same if one fact of the lock or its servers had this value, which has to be in the vocabulary. */
void lb_facts_if(const struct lb_protocol *protocol, const union lb_value *options, const struct lb_topology *topology, const struct lb_scenario *scenario,
                 const char *fact, const char *value, struct lb_facts *ret);

#endif
