/* SPDX-License-Identifier: MIT
 *
 * theory.h - what should come out of a cell, derived: rules (scenarios/theory/rules.ini, where their form is described)
 * say what an attack does to a lock with these facts. A fact is a word NAME=VALUE about the lock, its servers or the
 * scenario; the vocabulary is one table. One that nobody states has its default, which is what a sound lock or a plain
 * server would say: so a lock is predicted to be as good as it declares, and a deviation is news.
 */
#ifndef LB_THEORY_H
#define LB_THEORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "backends/backend.h"
#include "scenario/scenario.h"
#include "servers/topology.h"

/* ---- facts ---------------------------------------------------------------------------------------------------- */

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
#define LB_FACTS_MAX 64

/* Of one cell: the values of lb_term_at(i), a bit each in the order of its `values`. Only `shows` has several at once,
 * or none. */
struct lb_facts {
  unsigned value[LB_FACTS_MAX];
};

/* Every fact has its default. */
void lb_facts_default(struct lb_facts *ret);
/* Puts the words "NAME=VALUE NAME=VALUE" of `of` in; NULL = none. 0, or -EINVAL with one line: a word that is none, a
 * name or a value that nobody knows (with the nearest), a fact that is stated elsewhere. */
int lb_facts_take(struct lb_facts *facts, const char *words, enum lb_term_of of, struct lb_error *err);
/* NAME=VALUE, which have to be in the vocabulary. */
void lb_facts_set(struct lb_facts *facts, const char *name, const char *value);
/* Whether the fact has the value. */
bool lb_facts_is(const struct lb_facts *facts, const char *name, const char *value);
/* The index of a fact and the bits of "VALUE|VALUE": 0, or -EINVAL with one line. */
int lb_facts_parse(const char *name, const char *values, size_t *ret_fact, unsigned *ret_bits, struct lb_error *err);
/* The value of a fact as text of its own: "lease". */
const char *lb_facts_get(const struct lb_facts *facts, const char *name, char *buf, size_t size);

/* Facts of a lock that has no table of ours: of peers.ini, or of the greeting of an adapter. They are copied, and come
 * after those of the lock of ours that it is like. 0, or -EINVAL with one line; -ENOMEM. */
int lb_facts_state(const struct lb_protocol *protocol, const char *words, struct lb_error *err);
/* All that is known of a cell before it runs, but for the guard. `options` as in lb_config; `scenario`
 * NULL = none. */
void lb_facts_of(const struct lb_protocol *protocol, const union lb_value *options, const struct lb_topology *topology,
                 const struct lb_scenario *scenario, struct lb_facts *ret);
/* Makes them those of a sound lock of the same kind: every fact that only a flaw changes has its default. */
void lb_facts_without_flaws(struct lb_facts *facts);
/* What the steps of a timeline do before and at its faults (steps.c); lb_facts_of() puts it in. */
void lb_facts_of_steps(const struct lb_scenario *scenario, const struct lb_topology *topology, struct lb_facts *ret);
struct lb_assumed {
  const char *fact, *value;
};
/* The same if one fact of the lock or its servers had this value, which has to be in the vocabulary. */
void lb_facts_if(const struct lb_protocol *protocol, const union lb_value *options, const struct lb_topology *topology,
                 const struct lb_scenario *scenario, const struct lb_assumed *assumed, struct lb_facts *ret);

/* versions.c: facts of locks that changed with a version of their servers. Reads the file, once for the process. 0;
 * -EINVAL with one line "FILE:LINE: ..."; other -errno with err. */
int lb_versions_load(const char *path, struct lb_error *err);
/* The same from memory, as lb_theory_parse() does. */
int lb_versions_parse(const char *path, const char *data, size_t size, struct lb_error *err);
/* Puts in what holds for the lock on servers of the version that is here, or that LOCKBENCH_VERSIONS names. */
void lb_versions_add(const char *lock, const struct lb_topology *topology, struct lb_facts *facts);

/* ---- a lock that its user brings: it enters the registry here ------------------------------------------------- */

/* Loads a plugin; the words of its `.facts` are checked. NULL with one line. */
const struct lb_protocol *lb_bring_plugin(const char *path, struct lb_error *err);
/* Calls an adapter, adds what it says, and takes its word facts=NAME=VALUE,NAME=VALUE. NULL with one line; *ret_asked
 * is then what lb_foreign_ask() returned, where 0 says that its first line was read and is wrong, or -EINVAL: the facts
 * are wrong. */
const struct lb_protocol *lb_bring_adapter(const char *command, int *ret_asked, struct lb_error *err);

/* ---- rules ---------------------------------------------------------------------------------------------------- */

struct lb_rule {
  const char *attack;      /* its section: "holder-stopped"; "guards" for what a guard makes of a violation */
  int line;                /* in the file */
  const char *text;        /* the rule as it was written, without its key */
  enum lb_verdict verdict; /* LB_ANY: timing decides */
  const char *reason;
  unsigned shows;      /* the evidence: bits of the fact `shows` */
  bool of_guard;       /* it asks for a guard */
  size_t first, count; /* its conditions */
};

struct lb_prediction {
  enum lb_verdict verdict;    /* LB_NA: the question means nothing there */
  const char *reason;         /* static */
  const struct lb_rule *rule; /* that said so */
};

/* Reads the rules, once for the process, before anybody predicts. 0; -EINVAL with one line "FILE:LINE: found ...,
 * expected ..."; other -errno with err. Of a file that is refused nothing is kept. */
int lb_theory_load(const char *path, struct lb_error *err);
/* The same from memory, data[size] is NUL; `path` stands for the file in messages. For tests and fuzzing. Earlier rules
 * are gone. */
int lb_theory_parse(const char *path, const char *data, size_t size, struct lb_error *err);
/* All rules in the order of the file; NULL behind the last. */
const struct lb_rule *lb_rule_at(size_t index);
/* Whether there is a section of rules of this name; *ret_near is the nearest one if there is not, or NULL. */
bool lb_attack_exists(const char *name, const char **ret_near);
/* The line `what` of an attack, NULL = there is no such attack. Static. */
const char *lb_attack_what(const char *name);
/* Whether it holds only where the fact has one of these values, "VALUE|VALUE". */
bool lb_rule_asks(const struct lb_rule *rule, const char *fact, const char *values);
/* As if this rule were not there; NULL = all are. For `which`, and the test that each is needed. */
void lb_theory_without(const struct lb_rule *rule);

/* What is expected of a cell: the line of the scenario's file that fits the system, else what the rules say.
 * LB_VERDICT_NONE = neither says anything. */
enum lb_verdict lb_theory_expects(const struct lb_scenario *scenario, const struct lb_protocol *protocol,
                                  const union lb_value *options, const struct lb_topology *topology,
                                  enum lb_guard guard);
/* False: the attack has no rules, or none of them holds. */
bool lb_theory_predict(const char *attack, const struct lb_facts *facts, enum lb_guard guard,
                       struct lb_prediction *ret);

#endif
