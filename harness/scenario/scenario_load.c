/* SPDX-License-Identifier: MIT
 *
 * Loading has four parts, each with a file of its own where it is long. The text becomes keys (scenario_read.c, by the
 * table of scenario_keys.c). Defaults that hang on other keys are completed here. What no single key can know is
 * checked (scenario_check.c). A setting of the command line or of a suite changes one key of a loaded scenario, and is
 * checked in the same way.
 */
#include "scenario_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/need.h"
#include "reader.h"

/* ---- text to scenario ------------------------------------------------------------------------ */

/* The name becomes a part of file names that are taken apart at their dots again. */
static int set_name(const char *path, struct lb_scenario *scenario, struct lb_error *err) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  scenario->name = lb_scenario_name_of(path);
  scenario->path = lb_need_text(path);
  scenario->base = lb_scenario_name_of(path);
  if (scenario->name[0] != '\0' && scenario->name[strspn(scenario->name, letters)] == '\0') return 0;
  return lb_refuse(err, "%s: the name '%s' cannot name results: expected letters, digits, '-' and '_' before .ini",
                   path, scenario->name);
}

/* The line a key stands in, for the place of a refusal; 0 = it is not in the file. */
static int line_of(const char *name, const int *key_lines) {
  for (size_t i = 0; i < lb_scenario_key_count; i++)
    if (strcmp(lb_scenario_keys[i].name, name) == 0) return key_lines[i];
  return 0;
}

static bool given(const char *name, const int *key_lines) { return line_of(name, key_lines) != 0; }

/* ---- the delay of a timeline ------------------------------------------------------------------- */

static const struct lb_step *names_delay(const struct lb_scenario *scenario) {
  for (size_t i = 0; i < scenario->step_count; i++)
    if (scenario->steps[i].delayed) return &scenario->steps[i];
  return NULL;
}

/* Steps that name it get their time; the words of a step stay as they were written. */
static void set_delay(struct lb_scenario *scenario) {
  for (size_t i = 0; i < scenario->step_count; i++)
    if (scenario->steps[i].delayed) scenario->steps[i].within_ms = scenario->delay_ms + scenario->steps[i].beyond_ms;
}

/* The key and the steps need each other. */
static int complete_delay(struct lb_scenario *scenario, int line, struct lb_error *err) {
  const struct lb_step *step = names_delay(scenario);
  if (step && !scenario->delay_ms)
    return lb_refuse(err, "%s:%d: step = %s: how long is the delay? expected delay_ms in [workload]", scenario->path,
                     step->line, step->text);
  if (!step && scenario->delay_ms)
    return lb_refuse(err, "%s:%d: delay_ms: no step names the delay: expected one, like slow A to B delay",
                     scenario->path, line);
  set_delay(scenario);
  return 0;
}

/* ---- the next version of its servers ----------------------------------------------------------- */

const struct lb_step *lb_scenario_upgrade(const struct lb_scenario *scenario) {
  for (size_t i = 0; i < scenario->step_count; i++)
    if (scenario->steps[i].verb == LB_STEP_UPGRADE) return &scenario->steps[i];
  return NULL;
}

static int check_next(const struct lb_scenario *scenario, int line, struct lb_error *err) {
  const struct lb_step *step = lb_scenario_upgrade(scenario);
  if (step && !scenario->next[0])
    return lb_refuse(err, "%s:%d: step = %s: which version is next? expected next in [servers]", scenario->path,
                     step->line, step->text);
  if (!step && scenario->next[0])
    return lb_refuse(err, "%s:%d: next: no step starts it: expected one, like restart node 1 as next", scenario->path,
                     line);
  return 0;
}

/* Its kind, and values that hang on it: a timeline ends with its last step, and where faults are
 * played nothing is kept on disk unless the file says so. */
static int complete(struct lb_scenario *scenario, const int *key_lines, struct lb_error *err) {
  if (scenario->step_count > 0 && scenario->fault_count > 0)
    return lb_refuse(err, "%s:%d: a timeline has no campaign: expected one of [timeline] and [campaign]",
                     scenario->path, line_of("fault", key_lines));
  scenario->kind = scenario->step_count > 0    ? LB_KIND_TIMELINE
                   : scenario->fault_count > 0 ? LB_KIND_CAMPAIGN
                                               : LB_KIND_LOAD;
  if (scenario->kind != LB_KIND_LOAD && !given("storage", key_lines)) scenario->memory_storage = true;
  if (scenario->keys == 0 && !given("min_handoffs", key_lines)) scenario->min_handoffs = 0;
  scenario->apart = given("round_trip_ms", key_lines);
  if (scenario->apart && scenario->kind == LB_KIND_CAMPAIGN)
    return lb_refuse(err, "%s:%d: a campaign has no round_trip_ms: expected it only of a load", scenario->path,
                     line_of("round_trip_ms", key_lines));
  int r = complete_delay(scenario, line_of("delay_ms", key_lines), err);
  if (r == 0) r = check_next(scenario, line_of("next", key_lines), err);
  if (r < 0 || scenario->kind != LB_KIND_TIMELINE) return r;
  for (size_t i = 0; i < lb_scenario_key_count; i++) {
    if (!(lb_scenario_keys[i].flags & LB_KEY_LOAD) || !key_lines[i]) continue;
    return lb_refuse(err, "%s:%d: a timeline has no %s: expected it only without [timeline]", scenario->path,
                     key_lines[i], lb_scenario_keys[i].name);
  }
  scenario->duration_s = scenario->warmup_s = scenario->settle_s = 0;
  return 0;
}

/* Puts the place in front of a refusal of lb_scenario_check(). One that concerns no step is about
 * the key it begins with: "violated = ...". */
static int check_file(const struct lb_scenario *scenario, const int *key_lines, struct lb_error *err) {
  char key[32];
  int line = 0;
  int r = lb_scenario_check(scenario, &line, err);
  if (r == 0) return 0;
  snprintf(key, sizeof key, "%.*s", (int)strcspn(err->text, " :"), err->text);
  if (line == 0) line = line_of(key, key_lines);
  return lb_error_prefix(err, "%s:%d: ", scenario->path, line);
}

/* The text is copied, with a NUL behind it, so that a caller (a fuzzer, too) may bring any bytes. A
 * refusal leaves nothing behind: *ret is cleared. */
int lb_scenario_parse(const char *path, const char *data, size_t size, struct lb_scenario *ret, struct lb_error *err) {
  int *key_lines = lb_need(calloc(lb_scenario_key_count, sizeof *key_lines));
  char *text = lb_need(malloc(size + 1));
  *ret = (struct lb_scenario){0};
  if (sizeof err->text > 0) err->text[0] = '\0';
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  int r = set_name(path, ret, err);
  if (r == 0) r = lb_scenario_read(path, text, size, ret, key_lines, err);
  if (r == 0) r = complete(ret, key_lines, err);
  if (r == 0) r = check_file(ret, key_lines, err);
  if (r < 0) lb_scenario_clear(ret);
  free(text);
  free(key_lines);
  return r;
}

int lb_scenario_load(const char *path, struct lb_scenario *ret, struct lb_error *err) {
  char *data;
  size_t size;
  *ret = (struct lb_scenario){0};
  int r = lb_ini_load(path, &data, &size, err);
  if (r < 0) return r;
  r = lb_scenario_parse(path, data, size, ret, err);
  free(data);
  return r;
}

int lb_scenario_load_all(const char *const *paths, size_t count, struct lb_scenario **ret, struct lb_error *err) {
  int r = 0;
  *ret = lb_need(calloc(count + 1, sizeof **ret));
  for (size_t i = 0; r == 0 && i < count; i++) r = lb_scenario_load(paths[i], &(*ret)[i], err);
  if (r < 0) lb_scenario_clear_all(*ret, count);
  return r;
}

void lb_scenario_clear_all(struct lb_scenario *scenarios, size_t count) {
  for (size_t i = 0; i < count; i++) lb_scenario_clear(&scenarios[i]);
  free(scenarios);
}

/* ---- settings of the command line ------------------------------------------------------------ */

/* -ENOTSUP if what it plays has no such key. */
static int has_key(const struct lb_scenario *scenario, const struct lb_scenario_key *k, const char *key,
                   const char *value, struct lb_error *err) {
  if ((k->flags & LB_KEY_LOAD) && scenario->kind == LB_KIND_TIMELINE)
    return lb_error(err, -ENOTSUP, "%s = %s: %s has a timeline, and a timeline has no %s", key, value, scenario->name,
                    key);
  if ((k->flags & LB_KEY_CAMPAIGN) && scenario->kind != LB_KIND_CAMPAIGN)
    return lb_error(err, -ENOTSUP, "%s = %s: %s has no campaign", key, value, scenario->name);
  if ((k->flags & LB_KEY_APART) && scenario->kind == LB_KIND_CAMPAIGN)
    return lb_error(err, -ENOTSUP, "%s = %s: %s has a campaign, and a campaign has no %s", key, value, scenario->name,
                    key);
  if ((k->flags & LB_KEY_DELAY) && !names_delay(scenario))
    return lb_error(err, -ENOTSUP, "%s = %s: no step of %s names the delay", key, value, scenario->name);
  if ((k->flags & LB_KEY_NEXT) && !lb_scenario_upgrade(scenario))
    return lb_error(err, -ENOTSUP, "%s = %s: no step of %s starts the next version", key, value, scenario->name);
  return 0;
}

int lb_scenario_put(struct lb_scenario *scenario, const char *key, const char *value, struct lb_error *err) {
  bool met = scenario->keys != 0; /* clients meet, or they do not */
  const struct lb_scenario_key *k = lb_scenario_key_find_set(key, err);
  int r = k ? has_key(scenario, k, key, value, err) : -EINVAL;
  if (r == 0) r = lb_scenario_key_set(k, scenario, key, value, 0, err);
  if (r < 0) return r;
  scenario->apart |= (k->flags & LB_KEY_APART) != 0;
  if ((scenario->keys != 0) != met) scenario->min_handoffs = scenario->keys != 0;
  return 0;
}

int lb_scenario_settle(struct lb_scenario *scenario, struct lb_error *err) {
  int line = 0;
  if (lb_scenario_check(scenario, &line, err) < 0) return lb_error_prefix(err, "%s: ", scenario->name);
  set_delay(scenario);
  return 0;
}

/* The change is made on a copy, so a refused one leaves the scenario as it was. */
int lb_scenario_set(struct lb_scenario *scenario, const char *key, const char *value, struct lb_error *err) {
  struct lb_scenario changed = *scenario; /* settable keys own no memory */
  int r = lb_scenario_put(&changed, key, value, err);
  if (r < 0) return r;
  r = lb_scenario_settle(&changed, err);
  if (r < 0) return lb_error_prefix(err, "%s = %s: ", key, value);
  *scenario = changed;
  return 0;
}
