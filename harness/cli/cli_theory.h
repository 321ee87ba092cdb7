/* SPDX-License-Identifier: MIT
 *
 * cli_theory.h - the parts of `lockbench theory`. Each is a JSON value, from which the text for people is printed. New references, NULL when out of memory.
 */
#ifndef LB_CLI_THEORY_H
#define LB_CLI_THEORY_H

#include <jansson.h>

#include "run/system.h"
#include "theory/theory.h"

/* The vocabulary: [{fact, of, values, meaning}]. */
json_t *lb_theory_terms(void);
void lb_theory_print_terms(const json_t *terms);
/* What is known of a system before any scenario: {system, facts: {NAME: VALUE}}. */
json_t *lb_theory_system(const struct lb_system *system);
void lb_theory_print_system(const json_t *facts);
/* {NAME: VALUE} of the facts of locks and servers, and with `scenario` of those that follow from a scenario. */
json_t *lb_theory_facts(const struct lb_facts *facts, bool scenario);
/* [{attack, what, rules: [{line, text, verdict, reason}]}]; `attack` NULL = all. */
json_t *lb_theory_attacks(const char *attack);
void lb_theory_print_attacks(const json_t *attacks);

#endif
