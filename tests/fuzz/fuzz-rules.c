/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a file of rules: refused in one line with nothing left behind, or read into rules by which every attack
 * can be asked. clang -fsanitize=fuzzer looks for new inputs (CONTRIBUTING.md); with fuzz_main.c the corpus is a test.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "theory/facts.h"
#include "theory/theory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(int kept, const char *what) {
  if (kept) return;
  fprintf(stderr, "broken promise: %s\n", what);
  abort();
}

static void check_refusal(const char *err) {
  promise(strncmp(err, "fuzz.ini:", 9) == 0, "a refusal names its place");
  promise(strchr(err, '\n') == NULL, "a refusal is one line");
  promise(lb_rule_at(0) == NULL, "of a refused file nothing is kept");
}

/* Under every guard: what is predicted is a rule of the attack, or of the guards. */
static void check_rule(const struct lb_rule *rule) {
  struct lb_facts facts;
  struct lb_prediction p;
  const char *near;
  bool of_guards = strcmp(rule->attack, "guards") == 0;
  promise(rule->line > 0 && *rule->attack && *rule->text && *rule->reason, "a rule has all its parts");
  promise(!rule->shows || rule->verdict == LB_VIOLATED, "there is evidence of a violation only");
  promise(lb_theory_has_attack(rule->attack, &near) != of_guards, "its section is an attack, but for the guards");
  lb_facts_default(&facts);
  for (int guard = 0; guard < LB_GUARD_COUNT; guard++)
    if (lb_theory_predict(rule->attack, &facts, (enum lb_guard)guard, &p))
      promise(p.rule && p.reason == p.rule->reason && p.verdict == p.rule->verdict, "a prediction is a rule's");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct lb_error err;
  char *text = malloc(size + 1);
  promise(text != NULL, "there is memory");
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  const struct lb_rule *rule;
  if (lb_theory_parse("fuzz.ini", text, size, &err) < 0) check_refusal(err.text);
  for (size_t i = 0; (rule = lb_rule_at(i)); i++) check_rule(rule);
  free(text);
  return 0;
}
