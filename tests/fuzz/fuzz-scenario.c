/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a scenario file: refused in one line with nothing left behind, or read into a scenario that keeps its
 * promises. clang -fsanitize=fuzzer looks for new inputs (CONTRIBUTING.md); with fuzz_main.c the corpus is a test.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/expect.h"
#include "scenario/scenario.h"
#include "scenario/scenario_load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(int kept, const char *what) {
  if (kept) return;
  fprintf(stderr, "broken promise: %s\n", what);
  abort();
}

static void check_refusal(const struct lb_scenario *s, const char *err) {
  static const struct lb_scenario empty;
  promise(strncmp(err, "fuzz.ini:", 9) == 0, "a refusal names its place");
  promise(strchr(err, '\n') == NULL, "a refusal is one line");
  promise(memcmp(s, &empty, sizeof empty) == 0, "a refused scenario is empty");
}

static void check_role(const struct lb_scenario *s, struct lb_role role, int least) {
  if (role.kind == LB_ROLE_NODE) promise(role.number >= least, "a node has a number, or any may stand there");
  if (role.kind != LB_ROLE_CLIENT) return;
  promise(role.number >= least, "a client has a number, or any may stand there");
  for (size_t i = 0; i < s->client_count_count; i++)
    promise(role.number <= s->client_counts[i], "the client exists, however many there are");
}

/* least: the smallest number of a role; 0 where it may be drawn. */
static void check_step(const struct lb_scenario *s, const struct lb_step *step, int least) {
  struct lb_step again = {.line = step->line};
  struct lb_error err;
  promise(lb_step_parse(step->text, &again, &err) == 0, "the text of a step is a step");
  promise(again.verb == step->verb && again.within_ms == step->within_ms, "it is the same step");
  promise(again.a.kind == step->a.kind && again.b.kind == step->b.kind, "it has the same roles");
  promise(again.offset_ms == step->offset_ms && again.monotonic == step->monotonic, "its clock jumps as far");
  promise(strcmp(again.point, step->point) == 0, "it has the same point");
  promise(step->verb != LB_STEP_CLOCK_RATE || (step->rate >= 0.5 && step->rate <= 2), "its rate is in range");
  promise(step->verb != LB_STEP_CLOCK_JUMP || step->offset_ms != 0, "its jump goes somewhere");
  check_role(s, step->a, least);
  check_role(s, step->b, least);
  promise(step->line > 0, "it has a line");
  free(again.text);
}

static void check_scenario(const struct lb_scenario *s) {
  promise(s->title && s->question && s->refuted && s->name && s->path, "mandatory texts are there");
  promise(s->client_count_count >= 1 && s->client_count_count <= LB_CLIENT_COUNTS_MAX, "there are clients");
  for (size_t i = 0; i < s->client_count_count; i++)
    promise(s->client_counts[i] >= 1 && s->client_counts[i] <= LB_CLIENTS_MAX, "their number is in range");
  promise(s->expect_count >= 1 || s->attack, "something is expected");
  promise((s->step_count > 0) == (s->duration_s == 0), "it is a load or a timeline");
  promise((s->kind == LB_KIND_TIMELINE) == (s->step_count > 0), "a timeline has steps, nothing else has");
  promise((s->kind == LB_KIND_CAMPAIGN) == (s->fault_count > 0), "a campaign has faults, nothing else has");
  promise(s->ttl_ms >= 10 && s->wait_ms >= 1 && s->trials >= 1, "numbers are in range");
  promise(s->every_ms >= 10 && s->lasts_ms >= 10, "the numbers of a campaign are in range");
  for (size_t i = 0; i < s->step_count; i++) check_step(s, &s->steps[i], 1);
  for (size_t i = 0; i < s->fault_count; i++) check_step(s, &s->faults[i], 0);
  for (size_t i = 0; i < s->expect_count; i++) {
    const struct lb_expect *e = &s->expect[i], *found = lb_scenario_expect(s, e->system, e->guard);
    promise(found && found->guard == e->guard, "something is expected of what is named");
    promise(!lb_expect_is_exact(e) || found == e, "an expectation is found by its system and guard");
    promise(e->verdict <= LB_MIXED || e->verdict == LB_NA || e->verdict == LB_ANY, "it can come out");
  }
}

/* The first line as `KEY=VALUE` of the command line. */
static void try_set(struct lb_scenario *s, const uint8_t *data, size_t size) {
  struct lb_error err;
  char line[256];
  size_t len = 0;
  while (len < size && len < sizeof line - 1 && data[len] != '\n') len++;
  memcpy(line, data, len);
  line[len] = '\0';
  char *value = strchr(line, '=');
  if (!value) return;
  *value++ = '\0';
  if (lb_scenario_set(s, line, value, &err) == 0) check_scenario(s);
  else promise(err.text[0] && !strchr(err.text, '\n'), "a refused setting says why in one line");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char load[] = "[scenario]\ntitle=t\nquestion=q\nrefuted=r\n[workload]\nclients=3\n"
                             "[campaign]\nfault=pause client 2\n[expect]\n*=safe\n";
  struct lb_scenario s;
  struct lb_error err;
  if (lb_scenario_parse("fuzz.ini", (const char *)data, size, &s, &err) == 0) check_scenario(&s);
  else check_refusal(&s, err.text);
  lb_scenario_clear(&s);
  promise(lb_scenario_parse("fuzz.ini", load, sizeof load - 1, &s, &err) == 0, "a good file stays good");
  try_set(&s, data, size);
  lb_scenario_clear(&s);
  return 0;
}
