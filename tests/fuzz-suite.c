/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a suite file: refused in one line with nothing left behind, or read into a suite whose scenarios take what it changes.
 * Built with -DLB_FUZZER -fsanitize=fuzzer it looks for new inputs; otherwise it judges the files given as arguments.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/scenario.h"
#include "scenario/suite.h"

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
static void check_part(const char *path, char *settings) {
  struct lb_scenario scenario;
  char err[1024];
  promise(lb_scenario_load(path, &scenario, err, sizeof err) == 0, "a scenario of a suite can be loaded");
  for (char *word; settings && *settings && (word = strsep(&settings, " "));) {
    char *value = strchr(word, '=');
    promise(value != NULL, "a setting has a value");
    *value++ = '\0';
    promise(lb_scenario_set(&scenario, word, value, err, sizeof err) == 0, "its scenario takes it");
  }
  lb_scenario_clear(&scenario);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *source = getenv("LB_SOURCE_DIR");
  char folder[1000], err[1200], *text = malloc(size + 1);
  struct lb_suite s;
  promise(text != NULL, "there is memory");
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  snprintf(folder, sizeof folder, "%s/scenarios", source ? source : ".");
  if (lb_suite_parse("fuzz.ini", text, size, folder, &s, err, sizeof err) == 0) {
    promise(s.name && s.path && s.title && s.question, "mandatory texts are there");
    promise(s.count > 0, "there is a scenario");
    for (size_t i = 0; i < s.count; i++) check_part(s.scenarios[i], s.settings[i]);
  } else {
    check_refusal(&s, err);
  }
  lb_suite_clear(&s);
  free(text);
  return 0;
}

#ifndef LB_FUZZER
static int judge_file(const char *path) {
  static uint8_t data[1 << 20];
  FILE *in = fopen(path, "re");
  if (!in) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return 1;
  }
  size_t size = fread(data, 1, sizeof data, in);
  fclose(in);
  return LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: fuzz-suite FILE...\n");
    return 2;
  }
  for (int i = 1; i < argc; i++)
    if (judge_file(argv[i]) != 0) return 1;
  printf("%d files\n", argc - 1);
  return 0;
}
#endif
