/* SPDX-License-Identifier: MIT
 *
 * rules.h - the rules as they were read. Private to the room.
 */
#ifndef LB_RULES_H
#define LB_RULES_H

#include "theory.h"

struct lb_condition {
  size_t fact;
  unsigned bits; /* one of these values */
  bool negated;
};

const struct lb_condition *lb_rule_condition(size_t index);
/* The index of the fact `shows`. */
size_t lb_rule_shows(void);

#endif
