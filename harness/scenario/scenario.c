/* SPDX-License-Identifier: MIT
 *
 * A scenario that was loaded, to its end, and questions others ask it.
 */
#include "reader.h"

#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/need.h"

/* Every text that a scenario owns, but those in its lists. */
static const size_t texts[] = {
    offsetof(struct lb_scenario, name),     offsetof(struct lb_scenario, base),
    offsetof(struct lb_scenario, varied),   offsetof(struct lb_scenario, path),
    offsetof(struct lb_scenario, title),    offsetof(struct lb_scenario, question),
    offsetof(struct lb_scenario, refuted),  offsetof(struct lb_scenario, like),
    offsetof(struct lb_scenario, upstream), offsetof(struct lb_scenario, attack),
    offsetof(struct lb_scenario, systems),  offsetof(struct lb_scenario, guards),
    offsetof(struct lb_scenario, alike),    offsetof(struct lb_scenario, proof_violated),
    offsetof(struct lb_scenario, rests),
};
enum { TEXTS = sizeof texts / sizeof *texts };

static char **text_at(struct lb_scenario *scenario, size_t i) { return (char **)((char *)scenario + texts[i]); }

void lb_scenario_clear(struct lb_scenario *scenario) {
  for (size_t i = 0; i < TEXTS; i++) free(*text_at(scenario, i));
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

static char *copy_text(const char *text) { return text ? lb_need_text(text) : NULL; }

/* A list of the same elements, whose texts the caller copies. */
#define COPY_LIST(ret, list, count)                                                                                    \
  (ret)->list = (ret)->count ? memcpy(lb_need(malloc((ret)->count * sizeof *(ret)->list)), (ret)->list,                \
                                      (ret)->count * sizeof *(ret)->list)                                              \
                             : NULL

void lb_scenario_copy(const struct lb_scenario *scenario, struct lb_scenario *ret) {
  *ret = *scenario;
  for (size_t i = 0; i < TEXTS; i++) *text_at(ret, i) = copy_text(*text_at(ret, i));
  COPY_LIST(ret, premises, premise_count);
  COPY_LIST(ret, options, option_count);
  COPY_LIST(ret, steps, step_count);
  COPY_LIST(ret, faults, fault_count);
  COPY_LIST(ret, expect, expect_count);
  for (size_t i = 0; i < ret->premise_count; i++) ret->premises[i].text = copy_text(ret->premises[i].text);
  for (size_t i = 0; i < ret->option_count; i++) ret->options[i] = copy_text(ret->options[i]);
  for (size_t i = 0; i < ret->step_count; i++) ret->steps[i].text = copy_text(ret->steps[i].text);
  for (size_t i = 0; i < ret->fault_count; i++) ret->faults[i].text = copy_text(ret->faults[i].text);
  for (size_t i = 0; i < ret->expect_count; i++) {
    ret->expect[i].system = copy_text(ret->expect[i].system);
    ret->expect[i].reason = copy_text(ret->expect[i].reason);
  }
}

/* Half as long again as the mean is the longest fault that is drawn. */
int64_t lb_scenario_progress_ms(const struct lb_scenario *scenario) {
  if (scenario->progress_ms) return scenario->progress_ms;
  int64_t longest = scenario->lasts_ms * 3 / 2,
          away = scenario->delayed_restart ? scenario->ttl_ms + scenario->ttl_ms / 10 : 0;
  return (longest > away ? longest : away) + scenario->ttl_ms + scenario->wait_ms;
}

int64_t lb_scenario_patience_ms(const struct lb_scenario *scenario) {
  if (scenario->patience_ms || scenario->kind != LB_KIND_CAMPAIGN) return scenario->patience_ms;
  return lb_scenario_progress_ms(scenario);
}

/* ---- variants -------------------------------------------------------------------------------- */

bool lb_scenario_varies(const char *name) {
  const struct lb_scenario_key *key = lb_scenario_key_find_set(name, NULL);
  return key && key->type != LB_KEY_WHOLE_LIST && strcmp(key->name, "trials") != 0;
}

bool lb_scenario_names_origin(const char *name) {
  const struct lb_scenario_key *key = lb_scenario_key_find_set(name, NULL);
  return key && (key->flags & LB_KEY_NEXT);
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
  char name[LB_SYSTEM_MAX];
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
