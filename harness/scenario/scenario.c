/* SPDX-License-Identifier: MIT
 *
 * A scenario from its file to its end: load, settings of the command line, questions others ask it, and what it expects
 * of whom.
 *
 * Loading has four parts, each with a file of its own where it is long. The text becomes keys (scenario_read.c, by the
 * table of scenario_keys.c). Defaults that hang on other keys are completed here. What no single key can know is
 * checked (scenario_check.c). A setting of the command line or of a suite changes one key of a scenario that was
 * loaded, and is checked in the same way.
 */
#include "reader.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"

/* ---- text to scenario ------------------------------------------------------------------------ */

/* The name becomes a part of file names that are taken apart at their dots again. */
static int set_name(const char *path, struct lb_scenario *scenario, struct lb_error *err) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  scenario->name = lb_scenario_name_of(path);
  scenario->path = strdup(path);
  scenario->base = lb_scenario_name_of(path);
  if (!scenario->name || !scenario->path || !scenario->base) return -ENOMEM;
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
  int *key_lines = calloc(lb_scenario_key_count, sizeof *key_lines);
  char *text = malloc(size + 1);
  int r = key_lines && text ? 0 : -ENOMEM;
  *ret = (struct lb_scenario){0};
  if (sizeof err->text > 0) err->text[0] = '\0';
  if (r == 0) {
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    r = set_name(path, ret, err);
  }
  if (r == 0) r = lb_scenario_read(path, text, size, ret, key_lines, err);
  if (r == 0) r = complete(ret, key_lines, err);
  if (r == 0) r = check_file(ret, key_lines, err);
  if (r == -ENOMEM) lb_error(err, r, "%s: out of memory", path);
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

/* ---- settings of the command line ------------------------------------------------------------ */

/* The change is made on a copy and checked as a whole, so a refused setting leaves the scenario as it was. */
int lb_scenario_change(struct lb_scenario *scenario, const char *key, const char *value, struct lb_error *err) {
  struct lb_scenario changed = *scenario; /* settable keys own no memory */
  int line = 0;
  const struct lb_scenario_key *k = lb_scenario_key_find_set(key, err);
  if (!k) return -EINVAL;
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
  int r = lb_scenario_key_set(k, &changed, key, value, 0, err);
  if (r < 0) return r;
  changed.apart |= (k->flags & LB_KEY_APART) != 0;
  if ((changed.keys == 0) != (scenario->keys == 0))
    changed.min_handoffs = changed.keys != 0; /* clients meet, or they do not */
  if (lb_scenario_check(&changed, &line, err) < 0)
    return lb_error_prefix(err, "%s = %s: %s: ", key, value, scenario->name);
  *scenario = changed;
  set_delay(scenario);
  return 0;
}

int lb_scenario_set(struct lb_scenario *scenario, const char *key, const char *value, struct lb_error *err) {
  int r = lb_scenario_change(scenario, key, value, err);
  if (r < 0) lb_error_prefix(err, "-s: ");
  return r;
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

#define WORDS "safe, violated, stuck, delayed, mixed, n/a or race"

/* ---- the guards of a section ----------------------------------------------------------------- */

static int refuse_guard(const char *section, const char *word, struct lb_error *err) {
  const char *known[LB_GUARD_COUNT];
  char list[128] = "";
  for (size_t i = 0, at = 0; i < LB_GUARD_COUNT && at < sizeof list; i++) {
    known[i] = lb_guard_name((enum lb_guard)i);
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%s",
                           i == 0                    ? ""
                           : i + 1 == LB_GUARD_COUNT ? " or "
                                                     : ", ",
                           known[i]);
  }
  const char *near = lb_suggest(word, known, LB_GUARD_COUNT);
  if (near) return lb_refuse(err, "[%s]: no guard '%s', did you mean '%s'? expected %s", section, word, near, list);
  return lb_refuse(err, "[%s]: no guard '%s': expected %s", section, word, list);
}

int lb_expect_guards(const char *section, unsigned *ret, struct lb_error *err) {
  char copy[80];
  unsigned guards = 0;
  snprintf(copy, sizeof copy, "%s", section);
  char *rest = copy, *word = strsep(&rest, LB_BLANKS);
  if (strcmp(word, LB_EXPECT) != 0) return -ENOENT;
  while ((word = strsep(&rest, LB_BLANKS))) {
    if (*word == '\0') continue;
    int guard = lb_guard_find(word);
    if (guard < 0) return refuse_guard(section, word, err);
    if (guards & 1u << guard) return lb_refuse(err, "[%s]: %s stands there twice", section, word);
    guards |= 1u << guard;
  }
  *ret = guards ? guards : 1u << LB_GUARD_NONE;
  return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Form only: this room knows no protocols, and one may be a plugin that is not loaded now. */
static bool is_name(const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-*",
                    kinds[] = "abcdefghijklmnopqrstuvwxyz0123456789-*:";
  size_t protocol = strspn(name, kinds);
  if (strcmp(name, "*") == 0) return true;
  if (protocol == 0 || name[protocol] != '@') return false;
  size_t topology = strspn(name + protocol + 1, letters);
  return topology > 0 && name[protocol + 1 + topology] == '\0';
}

bool lb_expect_is_exact(const struct lb_expect *expect) { return !strchr(expect->system, '*'); }

/* True if its name is or matches that of the system. The guard is not looked at. */
static bool expect_fits(const struct lb_expect *expect, const char *system) {
  return fnmatch(expect->system, system, 0) == 0;
}

/* How much a line says of the systems that it fits: its letters without the `*`, and more than any
 * pattern can have for the system itself. */
static size_t exactness(const struct lb_expect *expect) {
  size_t letters = 0;
  if (lb_expect_is_exact(expect)) return SIZE_MAX;
  for (const char *at = expect->system; *at; at++) letters += *at != '*';
  return letters;
}

/* Of those that do not fit `but` as well (NULL = nobody). Of two lines that are as exact, the first one counts. */
static const struct lb_expect *find_best(const struct lb_scenario *scenario, const char *system, const char *but,
                                         enum lb_guard guard) {
  const struct lb_expect *best = NULL;
  for (size_t i = 0; i < scenario->expect_count; i++) {
    const struct lb_expect *expect = &scenario->expect[i];
    if (expect->guard != guard || !expect_fits(expect, system) || (but && expect_fits(expect, but))) continue;
    if (!best || exactness(expect) > exactness(best)) best = expect;
  }
  return best;
}

const struct lb_expect *lb_scenario_expect(const struct lb_scenario *scenario, const char *system,
                                           enum lb_guard guard) {
  return find_best(scenario, system, NULL, guard);
}

const struct lb_expect *lb_scenario_expect_like(const struct lb_scenario *scenario, const char *system,
                                                const char *like, enum lb_guard guard) {
  const struct lb_expect *own = find_best(scenario, system, like, guard);
  return own ? own : lb_scenario_expect(scenario, like, guard);
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

/* ---- a line ---------------------------------------------------------------------------------- */

/* Only what a cell can be expected to end in: nobody plans for undecided or skipped. */
static int parse_verdict(const char *system, const char *word, enum lb_verdict *ret, struct lb_error *err) {
  static const enum lb_verdict wanted[] = {LB_SAFE, LB_VIOLATED, LB_STUCK, LB_DELAYED, LB_MIXED, LB_NA, LB_ANY};
  const char *known[sizeof wanted / sizeof *wanted];
  const size_t count = sizeof wanted / sizeof *wanted;
  for (size_t i = 0; i < count; i++) {
    known[i] = lb_verdict_name(wanted[i]);
    if (strcmp(known[i], word) != 0) continue;
    *ret = wanted[i];
    return 0;
  }
  const char *near = lb_suggest(word, known, count);
  if (near) return lb_refuse(err, "%s = %s: did you mean '%s'? expected " WORDS, system, word, near);
  return lb_refuse(err, "%s = %s: expected " WORDS ", and a reason: %s = safe: REASON", system, word, system);
}

static int append(struct lb_scenario *scenario, enum lb_guard guard, const char *system, enum lb_verdict verdict,
                  const char *reason) {
  struct lb_expect *expect = realloc(scenario->expect, (scenario->expect_count + 1) * sizeof *expect);
  if (!expect) return -ENOMEM;
  scenario->expect = expect;
  expect[scenario->expect_count] = (struct lb_expect){guard, strdup(system), verdict, strdup(reason)};
  if (expect[scenario->expect_count].system && expect[scenario->expect_count].reason) {
    scenario->expect_count++;
    return 0;
  }
  free(expect[scenario->expect_count].system);
  free(expect[scenario->expect_count].reason);
  return -ENOMEM;
}

/* One name of the key, under each guard of the section. */
static int add_name(struct lb_scenario *scenario, unsigned guards, const char *system, enum lb_verdict verdict,
                    const char *reason, struct lb_error *err) {
  if (!is_name(system))
    return lb_refuse(err, "'%s' is not a system: expected PROTOCOL@TOPOLOGY, in which * stands for any text, or *",
                     system);
  for (size_t i = 0; i < scenario->expect_count; i++)
    if (guards & 1u << scenario->expect[i].guard && strcmp(scenario->expect[i].system, system) == 0)
      return lb_refuse(err, "%s is expected twice", system);
  for (int g = 0, r; g < LB_GUARD_COUNT; g++)
    if (guards & 1u << g && (r = append(scenario, (enum lb_guard)g, system, verdict, reason)) < 0) return r;
  return 0;
}

/* A file may write `:` for `=`, so "peer:kazoo@zk = safe: ..." comes here as "peer" and "kazoo@zk = safe: ...". The
 * last name decides: one that is the kind of a foreign lock alone goes on in the value. */
static const char *go_on(const char *names, const char *value, char *list, size_t size) {
  static const char *const kinds[] = {"peer", "exec"};
  const char *comma = strrchr(names, ','), *last = comma ? comma + 1 : names, *equals = strchr(value, '=');
  last += strspn(last, LB_BLANKS);
  snprintf(list, size, "%s", names);
  for (size_t i = 0; equals && i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(last, kinds[i]) != 0) continue;
    snprintf(list, size, "%s:%.*s", names, (int)(equals - value), value);
    value = equals + 1;
    return value + strspn(value, LB_BLANKS);
  }
  return value;
}

/* "safe: a majority has to agree": the verdict, and behind the first colon the reason, which tables
 * and reports show. */
int lb_expect_add(struct lb_scenario *scenario, unsigned guards, const char *names, const char *value,
                  struct lb_error *err) {
  char word[256], list[1024];
  enum lb_verdict verdict = LB_SAFE;
  value = go_on(names, value, list, sizeof list);
  size_t len = strcspn(value, ":");
  const char *reason = value[len] ? value + len + 1 : value + len;
  reason += strspn(reason, LB_BLANKS);
  while (len > 0 && strchr(LB_BLANKS, value[len - 1])) len--;
  snprintf(word, sizeof word, "%.*s", (int)len, value);
  int r = *value ? parse_verdict(names, word, &verdict, err)
                 : lb_refuse(err, "%s is empty: expected %s", names, lb_scenario_type_name(LB_KEY_VERDICT));
  for (char *rest = list, *name; r == 0 && (name = strsep(&rest, ","));) {
    name += strspn(name, LB_BLANKS);
    for (size_t end = strlen(name); end > 0 && strchr(LB_BLANKS, name[end - 1]); end--) name[end - 1] = '\0';
    r = add_name(scenario, guards, name, verdict, reason, err);
  }
  if (r == -ENOMEM) lb_error(err, r, "out of memory");
  return r;
}
