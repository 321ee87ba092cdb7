/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a suite file: refused in one line with nothing left behind, or read into a suite whose scenarios take
 * what it changes. clang -fsanitize=fuzzer looks for new inputs (CONTRIBUTING.md); with fuzz_main.c the corpus is a
 * test.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/scenario.h"
#include "scenario/suite.h"
#include "scenario/scenario_load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(int kept, const char *what) {
  if (kept) return;
  fprintf(stderr, "broken promise: %s\n", what);
  abort();
}

static void check_refusal(const struct lb_suite *s, const char *err) {
  static const struct lb_suite empty;
  promise(strncmp(err, "fuzz.ini:", 9) == 0, "a refusal names its place");
  promise(strchr(err, '\n') == NULL, "a refusal is one line");
  promise(memcmp(s, &empty, sizeof empty) == 0, "a refused suite is empty");
}

/* As a plan does it. */
static void check_part(struct lb_scenario *scenario, char *varied) {
  struct lb_error err;
  promise(lb_scenario_settle(scenario, &err) == 0, "what a suite sets fits together");
  for (char *word; varied && *varied && (word = strsep(&varied, " "));) {
    char *value = strchr(word, '=');
    promise(value != NULL, "what is varied has values");
    *value++ = '\0';
    for (char *one; (one = strsep(&value, ","));) {
      struct lb_scenario tried = *scenario; /* settable keys own no memory */
      promise(lb_scenario_set(&tried, word, one, &err) == 0, "its scenario takes each");
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *source = getenv("LB_SOURCE_DIR");
  struct lb_error err;
  char folder[1000], *text = malloc(size + 1);
  struct lb_suite s;
  promise(text != NULL, "there is memory");
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  snprintf(folder, sizeof folder, "%s/scenarios", source ? source : ".");
  if (lb_suite_parse("fuzz.ini", text, size, folder, &s, &err) == 0) {
    promise(s.name && s.path && s.title && s.question, "mandatory texts are there");
    promise(s.count > 0, "there is a scenario");
    for (size_t i = 0; i < s.count; i++) check_part(&s.scenarios[i], s.varied[i]);
  } else {
    check_refusal(&s, err.text);
  }
  lb_suite_clear(&s);
  free(text);
  return 0;
}
