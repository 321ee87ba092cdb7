/* SPDX-License-Identifier: MIT
 *
 * A scenario that was loaded, to its end, and questions others ask it.
 */
#include "reader.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lb_scenario_clear(struct lb_scenario *scenario) {
  free(scenario->name);
  free(scenario->base);
  free(scenario->varied);
  free(scenario->path);
  free(scenario->title);
  free(scenario->question);
  free(scenario->refuted);
  free(scenario->like);
  free(scenario->upstream);
  free(scenario->attack);
  free(scenario->systems);
  free(scenario->guards);
  free(scenario->alike);
  free(scenario->proof_violated);
  for (size_t i = 0; i < scenario->premise_count; i++) free(scenario->premises[i].text);
  free(scenario->premises);
  for (size_t i = 0; i < scenario->option_count; i++) free(scenario->options[i]);
  free(scenario->options);
  for (size_t i = 0; i < scenario->step_count; i++) free(scenario->steps[i].text);
  free(scenario->steps);
  for (size_t i = 0; i < scenario->fault_count; i++) free(scenario->faults[i].text);
  free(scenario->faults);
  for (size_t i = 0; i < scenario->expect_count; i++) {
    free(scenario->expect[i].system);
    free(scenario->expect[i].reason);
  }
  free(scenario->expect);
  *scenario = (struct lb_scenario){0};
}

/* Half as long again as the mean is the longest fault that is drawn. */
int64_t lb_scenario_progress_ms(const struct lb_scenario *scenario) {
  if (scenario->progress_ms) return scenario->progress_ms;
  int64_t longest = scenario->lasts_ms * 3 / 2,
          away = scenario->delayed_restart ? scenario->ttl_ms + scenario->ttl_ms / 10 : 0;
  return (longest > away ? longest : away) + scenario->ttl_ms + scenario->wait_ms;
}

/* ---- variants -------------------------------------------------------------------------------- */

bool lb_scenario_varies(const char *name) {
  const struct lb_scenario_key *key = lb_scenario_key_find_set(name, NULL);
  return key && key->type != LB_KEY_WHOLE_LIST && strcmp(key->name, "trials") != 0;
}

/* ---- questions ------------------------------------------------------------------------------- */

bool lb_scenario_opens_late(const struct lb_scenario *scenario, int client) {
  for (size_t i = 0; i < scenario->step_count; i++)
    if (lb_step_row(&scenario->steps[i])->opens && scenario->steps[i].a.number == client) return true;
  return false;
}

bool lb_scenario_needs(const struct lb_scenario *scenario, enum lb_step_need need) {
  if (need == LB_NEED_NETWORK && scenario->apart) return true;
  for (size_t i = 0; i < scenario->step_count; i++)
    if (lb_step_needs(&scenario->steps[i], need)) return true;
  for (size_t i = 0; i < scenario->fault_count; i++)
    if (lb_step_needs(&scenario->faults[i], need)) return true;
  return false;
}

/* A list with commas; NULL has everything. */
static bool has(const char *list, const char *word) {
  char name[96];
  for (const char *at = list; at && *(at += strspn(at, ", \t\n"));) {
    size_t length = strcspn(at, ", \t\n");
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    if (fnmatch(name, word, 0) == 0) return true;
    at += length;
  }
  return !list;
}

bool lb_scenario_asks(const struct lb_scenario *scenario, const char *system) { return has(scenario->systems, system); }

bool lb_scenario_asks_under(const struct lb_scenario *scenario, enum lb_guard guard) {
  return has(scenario->guards, lb_guard_name(guard));
}
