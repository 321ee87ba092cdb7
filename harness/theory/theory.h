/* SPDX-License-Identifier: MIT
 *
 * theory.h - derives the verdict of a cell. Rules say what an attack does to a lock with these facts
 * (scenarios/theory/rules.ini describes their form). A fact is a word NAME=VALUE about the lock, its servers or the
 * scenario; the vocabulary is one table. A fact that is not stated has its default: that of a sound lock or a plain
 * server. So a lock is predicted to be as good as it declares, and a deviation is news.
 */
#ifndef LB_THEORY_H
#define LB_THEORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "backends/backend.h"
#include "facts.h"
#include "scenario/scenario.h"
#include "servers/topology.h"

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

/* Reads the rules, once for the process, before any prediction. 0; -EINVAL with one line "FILE:LINE: found ...,
 * expected ..."; other -errno with err. A refused file leaves no rule behind. */
int lb_theory_load(const char *path, struct lb_error *err);
/* The same from memory, data[size] is NUL; `path` stands for the file in messages. For tests and fuzzing. Earlier rules
 * are gone. */
int lb_theory_parse(const char *path, const char *data, size_t size, struct lb_error *err);
/* All rules in the order of the file; NULL behind the last. */
const struct lb_rule *lb_rule_at(size_t index);
/* Whether there is a section of rules of this name; *ret_near is the nearest one if there is not, or NULL. */
bool lb_theory_has_attack(const char *name, const char **ret_near);
/* The line `what` of an attack, NULL = there is no such attack. Static. */
const char *lb_theory_attack_what(const char *name);
/* Whether it holds only where the fact has one of these values, "VALUE|VALUE". */
bool lb_rule_asks(const struct lb_rule *rule, const char *fact, const char *values);
/* As if this rule were not there; NULL = all are. For `which`, and the test that each is needed. */
void lb_theory_without(const struct lb_rule *rule);

/* False: the attack has no rules, or none of them holds. */
bool lb_theory_predict(const char *attack, const struct lb_facts *facts, enum lb_guard guard,
                       struct lb_prediction *ret);

#endif
