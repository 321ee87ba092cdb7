/* SPDX-License-Identifier: MIT
 *
 * A scenario from its file to its end: load, settings of the command line, questions others ask it.
 *
 * Loading has four parts, each with a file of its own where it is long. The text becomes keys
 * (scenario_read.c, by the table of scenario_keys.c). Defaults that hang on other keys are
 * completed here. What no single key can know is checked (scenario_check.c). A setting of the
 * command line or of a suite changes one key of a scenario that was loaded, and is checked in the
 * same way.
 */
#include "scenario.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "scenario_parts.h"

#define SUFFIX ".ini"
#define NAME_BYTES_MAX 80 /* of a variant: beside it a file name has a system, a guard and numbers */

/* ---- text to scenario ------------------------------------------------------------------------ */

/* "scenarios/failover/failover.ini" -> "failover"; "05-failover.ini", too. */
char *lb_scenario_name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *base = slash ? slash + 1 : path;
  size_t digits = strspn(base, "0123456789");
  if (digits > 0 && base[digits] == '-') base += digits + 1;
  size_t len = strlen(base);
  if (len > strlen(SUFFIX) && strcmp(base + len - strlen(SUFFIX), SUFFIX) == 0) len -= strlen(SUFFIX);
  return strndup(base, len);
}

/* The name becomes a part of file names that are taken apart at their dots again. */
static int set_name(const char *path, struct lb_scenario *scenario, char *err, size_t err_size) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  scenario->name = lb_scenario_name_of(path);
  scenario->path = strdup(path);
  scenario->base = lb_scenario_name_of(path);
  if (!scenario->name || !scenario->path || !scenario->base) return -ENOMEM;
  if (scenario->name[0] != '\0' && scenario->name[strspn(scenario->name, letters)] == '\0') return 0;
  return lb_refuse(err, err_size,
                   "%s: the name '%s' cannot name results: expected letters, digits, '-' and '_' before " SUFFIX, path,
                   scenario->name);
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
static int complete_delay(struct lb_scenario *scenario, int line, char *err, size_t err_size) {
  const struct lb_step *step = names_delay(scenario);
  if (step && !scenario->delay_ms)
    return lb_refuse(err, err_size, "%s:%d: step = %s: how long is the delay? expected delay_ms in [workload]", scenario->path, step->line,
                     step->text);
  if (!step && scenario->delay_ms)
    return lb_refuse(err, err_size, "%s:%d: delay_ms: no step names the delay: expected one, like slow A to B delay", scenario->path, line);
  set_delay(scenario);
  return 0;
}

/* Its kind, and values that hang on it: a timeline ends with its last step, and where faults are
 * played nothing is kept on disk unless the file says so. */
static int complete(struct lb_scenario *scenario, const int *key_lines, char *err, size_t err_size) {
  if (scenario->step_count > 0 && scenario->fault_count > 0)
    return lb_refuse(err, err_size, "%s:%d: a timeline has no campaign: expected one of [timeline] and [campaign]",
                     scenario->path, line_of("fault", key_lines));
  scenario->kind = scenario->step_count > 0 ? LB_KIND_TIMELINE : scenario->fault_count > 0 ? LB_KIND_CAMPAIGN : LB_KIND_LOAD;
  if (scenario->kind != LB_KIND_LOAD && !given("storage", key_lines)) scenario->memory_storage = true;
  if (scenario->keys == 0 && !given("min_handoffs", key_lines)) scenario->min_handoffs = 0;
  scenario->apart = given("round_trip_ms", key_lines);
  if (scenario->apart && scenario->kind == LB_KIND_CAMPAIGN)
    return lb_refuse(err, err_size, "%s:%d: a campaign has no round_trip_ms: expected it only of a load", scenario->path, line_of("round_trip_ms", key_lines));
  int r = complete_delay(scenario, line_of("delay_ms", key_lines), err, err_size);
  if (r < 0 || scenario->kind != LB_KIND_TIMELINE) return r;
  for (size_t i = 0; i < lb_scenario_key_count; i++) {
    if (!(lb_scenario_keys[i].flags & LB_KEY_LOAD) || !key_lines[i]) continue;
    return lb_refuse(err, err_size, "%s:%d: a timeline has no %s: expected it only without [timeline]", scenario->path,
                     key_lines[i], lb_scenario_keys[i].name);
  }
  scenario->duration_s = scenario->warmup_s = scenario->settle_s = 0;
  return 0;
}

/* Puts the place in front of a refusal of lb_scenario_check(). One that concerns no step is about
 * the key it begins with: "violated = ...". */
static int check_file(const struct lb_scenario *scenario, const int *key_lines, char *err, size_t err_size) {
  char why[LB_SCENARIO_ERR], key[32];
  int line = 0;
  int r = lb_scenario_check(scenario, &line, why, sizeof why);
  if (r == 0) return 0;
  snprintf(key, sizeof key, "%.*s", (int)strcspn(why, " :"), why);
  if (line == 0) line = line_of(key, key_lines);
  return lb_refuse(err, err_size, "%s:%d: %s", scenario->path, line, why);
}

/* The text is copied, with a NUL behind it, so that a caller (a fuzzer, too) may bring any bytes. A
 * refusal leaves nothing behind: *ret is cleared. */
int lb_scenario_parse(const char *path, const char *data, size_t size, struct lb_scenario *ret, char *err,
                      size_t err_size) {
  int *key_lines = calloc(lb_scenario_key_count, sizeof *key_lines);
  char *text = malloc(size + 1);
  int r = key_lines && text ? 0 : -ENOMEM;
  *ret = (struct lb_scenario){0};
  if (err_size > 0) err[0] = '\0';
  if (r == 0) {
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    r = set_name(path, ret, err, err_size);
  }
  if (r == 0) r = lb_scenario_read(path, text, size, ret, key_lines, err, err_size);
  if (r == 0) r = complete(ret, key_lines, err, err_size);
  if (r == 0) r = check_file(ret, key_lines, err, err_size);
  if (r == -ENOMEM) snprintf(err, err_size, "%s: out of memory", path);
  if (r < 0) lb_scenario_clear(ret);
  free(text);
  free(key_lines);
  return r;
}

int lb_scenario_load(const char *path, struct lb_scenario *ret, char *err, size_t err_size) {
  char *data;
  size_t size;
  *ret = (struct lb_scenario){0};
  int r = lb_lines_load(path, &data, &size, err, err_size);
  if (r < 0) return r;
  r = lb_scenario_parse(path, data, size, ret, err, err_size);
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
  int64_t longest = scenario->lasts_ms * 3 / 2, away = scenario->delayed_restart ? scenario->ttl_ms + scenario->ttl_ms / 10 : 0;
  return (longest > away ? longest : away) + scenario->ttl_ms + scenario->wait_ms;
}

/* ---- settings of the command line ------------------------------------------------------------ */

/* The change is made on a copy and checked as a whole, so a refused setting leaves the scenario as
 * it was. */
int lb_scenario_change(struct lb_scenario *scenario, const char *key, const char *value, char *err, size_t err_size) {
  char why[LB_SCENARIO_ERR];
  struct lb_scenario changed = *scenario; /* settable keys own no memory */
  int line = 0;
  const struct lb_scenario_key *k = lb_scenario_key_find_set(key, err, err_size);
  if (!k) return -EINVAL;
  if ((k->flags & LB_KEY_LOAD) && scenario->kind == LB_KIND_TIMELINE)
    return lb_refuse(err, err_size, "%s = %s: %s has a timeline, and a timeline has no %s", key, value, scenario->name, key), -ENOTSUP;
  if ((k->flags & LB_KEY_CAMPAIGN) && scenario->kind != LB_KIND_CAMPAIGN)
    return lb_refuse(err, err_size, "%s = %s: %s has no campaign", key, value, scenario->name), -ENOTSUP;
  if ((k->flags & LB_KEY_APART) && scenario->kind == LB_KIND_CAMPAIGN)
    return lb_refuse(err, err_size, "%s = %s: %s has a campaign, and a campaign has no %s", key, value, scenario->name, key), -ENOTSUP;
  if ((k->flags & LB_KEY_DELAY) && !names_delay(scenario))
    return lb_refuse(err, err_size, "%s = %s: no step of %s names the delay", key, value, scenario->name), -ENOTSUP;
  int r = lb_scenario_key_set(k, &changed, key, value, 0, err, err_size);
  if (r < 0) return r;
  changed.apart |= (k->flags & LB_KEY_APART) != 0;
  if ((changed.keys == 0) != (scenario->keys == 0))
    changed.min_handoffs = changed.keys != 0; /* clients meet, or they do not */
  if (lb_scenario_check(&changed, &line, why, sizeof why) < 0)
    return lb_refuse(err, err_size, "%s = %s: %s: %s", key, value, scenario->name, why);
  *scenario = changed;
  set_delay(scenario);
  return 0;
}

int lb_scenario_set(struct lb_scenario *scenario, const char *key, const char *value, char *err, size_t err_size) {
  char why[LB_SCENARIO_ERR];
  int r = lb_scenario_change(scenario, key, value, why, sizeof why);
  if (r < 0) snprintf(err, err_size, "-s: %s", why);
  return r;
}

/* ---- variants -------------------------------------------------------------------------------- */

bool lb_scenario_varies(const char *name) {
  char unused[LB_SCENARIO_ERR];
  const struct lb_scenario_key *key = lb_scenario_key_find_set(name, unused, sizeof unused);
  return key && key->type != LB_KEY_WHOLE_LIST && strcmp(key->name, "trials") != 0;
}

/* In the name an option stands without its protocol, which every system of such a run has. */
int lb_scenario_vary(struct lb_scenario *scenario, const char *key, const char *value, char *err, size_t err_size) {
  const char *dot = strchr(key, '.');
  char *name = NULL, *varied = NULL;
  bool named = asprintf(&name, "%s~%s=%s", scenario->name, dot ? dot + 1 : key, value) >= 0;
  bool told = asprintf(&varied, "%s%s%s=%s", scenario->varied ? scenario->varied : "", scenario->varied ? " " : "", key, value) >= 0;
  int r = !named || !told ? -ENOMEM : 0;
  if (r == 0 && strlen(name) > NAME_BYTES_MAX)
    r = lb_refuse(err, err_size, "-s: the variant '%s' has a name of more than %d bytes", name, NAME_BYTES_MAX);
  if (r < 0) {
    if (named) free(name);
    if (told) free(varied);
    return r;
  }
  free(scenario->name);
  free(scenario->varied);
  scenario->name = name;
  scenario->varied = varied;
  return 0;
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

static int is_scenario_file(const struct dirent *entry) {
  size_t len = strlen(entry->d_name);
  return entry->d_name[0] != '.' && len > strlen(SUFFIX) && strcmp(entry->d_name + len - strlen(SUFFIX), SUFFIX) == 0;
}

/* By bytes, so that a run has the same order everywhere: alphasort() would follow the user's
 * locale. */
static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

/* Themes, in the order in which people read them. A folder without them is one theme. */
static const char *const themes[] = {".", "speed", "failover", "partition", "pause", "clock", "crash", "protocol", "storm", "museum", "peers"};

struct listing {
  char **names, **paths;
  size_t count;
};

static int add_file(struct listing *l, const char *folder, const char *theme, const char *file) {
  char **names = realloc(l->names, (l->count + 1) * sizeof *names);
  if (names) l->names = names;
  char **paths = realloc(l->paths, (l->count + 1) * sizeof *paths);
  if (paths) l->paths = paths;
  char *path = NULL;
  bool top = strcmp(theme, ".") == 0;
  if (!names || !paths || asprintf(&path, "%s/%s%s%s", folder, top ? "" : theme, top ? "" : "/", file) < 0) return -ENOMEM;
  l->paths[l->count] = path;
  l->names[l->count] = lb_scenario_name_of(path);
  if (!l->names[l->count]) return free(path), -ENOMEM;
  l->count++;
  return 0;
}

static int add_theme(struct listing *l, const char *folder, const char *theme) {
  char place[4096];
  struct dirent **entries = NULL;
  snprintf(place, sizeof place, "%s/%s", folder, theme);
  int count = scandir(place, &entries, is_scenario_file, by_name), r = count < 0 ? -errno : 0;
  for (int i = 0; i < count; i++) {
    if (r == 0) r = add_file(l, folder, theme, entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  return r;
}

/* All or nothing: on an error every name that was made is freed again. */
int lb_scenario_list(const char *folder, char ***ret_names, char ***ret_paths, size_t *ret_count) {
  struct listing l = {calloc(1, sizeof *l.names), calloc(1, sizeof *l.paths), 0};
  int r = l.names && l.paths ? 0 : -ENOMEM;
  for (size_t i = 0; r == 0 && i < sizeof themes / sizeof *themes; i++) {
    r = add_theme(&l, folder, themes[i]);
    if (r == -ENOENT && i > 0) r = 0;
  }
  if (r == 0) return *ret_names = l.names, *ret_paths = l.paths, *ret_count = l.count, 0;
  for (size_t i = 0; i < l.count; i++) free(l.names[i]), free(l.paths[i]);
  free(l.names);
  free(l.paths);
  return r;
}
