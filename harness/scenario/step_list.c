/* SPDX-License-Identifier: MIT
 *
 * `step = N times: STEP, STEP`: several steps in one line. They are steps like any other from here on, each with its own number,
 * so nobody else knows how they were written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "scenario_parts.h"

enum { TIMES_MAX = 1000, STEPS_MAX = 1000 }; /* a file of 64 kB holds more than anybody plays */

int lb_scenario_add_step(const char *name, const char *text, int line, struct lb_step **list, size_t *count, char *err,
                         size_t err_size) {
  char why[LB_SCENARIO_ERR];
  struct lb_step step = {0};
  if (*count == STEPS_MAX)
    return lb_refuse(err, err_size, "%s = %s: expected at most %d of them", name, text, STEPS_MAX);
  int r = lb_step_parse(text, &step, why, sizeof why);
  if (r == -EINVAL) return lb_refuse(err, err_size, "%s = %s: %s", name, text, why);
  if (r < 0) return r;
  struct lb_step *steps = realloc(*list, (*count + 1) * sizeof *steps);
  if (!steps) return free(step.text), -ENOMEM;
  step.line = line;
  step.number = (uint32_t)*count + 1;
  *list = steps;
  steps[(*count)++] = step;
  return 0;
}

/* "84 times: " before the steps: how often, and where they begin. No step begins with a digit. */
static int parse_times(const char *value, int *times, const char **steps, char *err, size_t err_size) {
  int end = 0;
  *times = 1;
  *steps = value;
  if (!strchr("0123456789", *value)) return 0;
  if (sscanf(value, "%4d times :%n", times, &end) == 1 && end > 0 && *times >= 1 && *times <= TIMES_MAX)
    return *steps = value + end, 0;
  return lb_refuse(err, err_size, "step = %s: expected N times: STEP, STEP with N from 1 to %d", value, TIMES_MAX);
}

int lb_scenario_add_steps(const char *value, int line, struct lb_scenario *scenario, char *err, size_t err_size) {
  const char *steps;
  int times, r = parse_times(value, &times, &steps, err, err_size);
  for (int i = 0; i < times && r == 0; i++) {
    for (const char *at = steps; r == 0; at++) {
      at += strspn(at, LB_BLANKS);
      size_t length = strcspn(at, ","), used = length;
      while (used > 0 && strchr(LB_BLANKS, at[used - 1])) used--;
      char *text = strndup(at, used);
      if (!text) r = -ENOMEM;
      else if (used == 0)
        r = lb_refuse(err, err_size, "step = %s: expected a step before and behind each comma", value);
      else r = lb_scenario_add_step("step", text, line, &scenario->steps, &scenario->step_count, err, err_size);
      free(text);
      at += length;
      if (!*at) break;
    }
  }
  return r;
}
