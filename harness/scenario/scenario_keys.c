/* SPDX-License-Identifier: MIT
 *
 * The table of keys, and one parser per type of value. A row says everything that is known of a
 * key, so the parser, the help and scenarios/README.md cannot disagree.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_parts.h"
#include "base/suggest.h"

#define FIELD(member) offsetof(struct lb_scenario, member)
#define KEYS_MAX 32
#define EXPECT_KEY(section)                                                                                            \
  {section, "SYSTEM", LB_KEY_VERDICT, LB_KEY_MANDATORY | LB_KEY_REPEATED, "", NULL, 0, 0,                              \
   "what should come out for PROTOCOL@TOPOLOGY, or for `*`: every system without a line of its own", FIELD(expect)}

const struct lb_scenario_key lb_scenario_keys[] = {
    {"scenario", "title", LB_KEY_TEXT, LB_KEY_MANDATORY, "", NULL, 0, 0, "a few words, for lists and charts",
     FIELD(title)},
    {"scenario", "question", LB_KEY_TEXT, LB_KEY_MANDATORY | LB_KEY_LINES, "", NULL, 0, 0, "what the scenario settles",
     FIELD(question)},
    {"scenario", "refuted", LB_KEY_TEXT, LB_KEY_MANDATORY | LB_KEY_LINES, "", NULL, 0, 0,
     "what outcome would refute the expectation", FIELD(refuted)},
    {"scenario", "trials", LB_KEY_WHOLE, LB_KEY_SET, "", "1", 1, 10000,
     "trials of each system, guard and number of clients, if the command does not say", FIELD(trials)},
    {"scenario", "min_handoffs", LB_KEY_WHOLE, 0, "", "1", 0, 1000000,
     "a trial in which the lock changed hands less often is undecided; not asked of a single client; 0 with `keys = own`",
     FIELD(min_handoffs)},
    {"scenario", "control", LB_KEY_YES_NO, 0, "", "no", 0, 0,
     "`yes`: no fault is played and no lease ends while its holder works; its trials are what the others are compared with",
     FIELD(control)},
    {"workload", "clients", LB_KEY_WHOLE_LIST, LB_KEY_MANDATORY | LB_KEY_SET, "", NULL, 1, LB_CLIENTS_MAX,
     "client processes; `1, 4, 16` makes one trial of each; a timeline has one number", FIELD(client_counts)},
    {"workload", "keys", LB_KEY_WHOLE_OR_OWN, LB_KEY_SET | LB_KEY_LOAD, "", "1", 1, 1000000,
     "locks, chosen at random each time; 1 is one hot lock; `own` gives each client a lock that nobody else asks for",
     FIELD(keys)},
    {"workload", "hold_ms", LB_KEY_REAL, LB_KEY_SET | LB_KEY_LOAD, "ms", "0", 0, 3600000,
     "time between the read and the write of the resource", FIELD(hold_ms)},
    {"workload", "think_ms", LB_KEY_REAL, LB_KEY_SET | LB_KEY_LOAD, "ms", "0", 0, 3600000,
     "time between two critical sections of a client", FIELD(think_ms)},
    {"workload", "ttl_ms", LB_KEY_MS, LB_KEY_SET, "ms", "10000", 10, 3600000,
     "length of the lease; of the session, for protocols that have sessions", FIELD(ttl_ms)},
    {"workload", "wait_ms", LB_KEY_MS, LB_KEY_SET | LB_KEY_LOAD, "ms", "5000", 1, 3600000,
     "how long a client waits for a lock before it gives up and thinks again", FIELD(wait_ms)},
    {"workload", "duration_s", LB_KEY_REAL, LB_KEY_SET | LB_KEY_LOAD, "s", "5", 0.1, 86400,
     "length of the measured window", FIELD(duration_s)},
    {"workload", "warmup_s", LB_KEY_REAL, LB_KEY_SET | LB_KEY_LOAD, "s", "1", 0, 3600,
     "load before the measured window", FIELD(warmup_s)},
    {"workload", "renew", LB_KEY_YES_NO, LB_KEY_SET, "", "no", 0, 0,
     "`yes`: a client renews its lease every third of `ttl_ms` while it holds, as a watchdog does", FIELD(renew)},
    {"servers", "storage", LB_KEY_STORAGE, 0, "", "disk", 0, 0,
     "`disk` syncs as a careful operator would, `memory` does not; with a timeline or a campaign the default is `memory`. A topology may insist on `disk`, or write nothing at all",
     FIELD(memory_storage)},
    {"timeline", "step", LB_KEY_STEP, LB_KEY_MANDATORY | LB_KEY_REPEATED, "", NULL, 0, 0,
     "one step; they are done one after the other, in file order", FIELD(steps)},
    {"campaign", "fault", LB_KEY_STEP, LB_KEY_MANDATORY | LB_KEY_REPEATED, "", NULL, 0, 0,
     "one fault that may be drawn: a `cut`, `kill`, `pause` or `clock` step; each is undone again", FIELD(faults)},
    {"campaign", "every_ms", LB_KEY_MS, LB_KEY_SET | LB_KEY_CAMPAIGN, "ms", "1000", 10, 3600000,
     "mean pause between the end of one fault and the begin of the next", FIELD(every_ms)},
    {"campaign", "lasts_ms", LB_KEY_MS, LB_KEY_SET | LB_KEY_CAMPAIGN, "ms", "1000", 10, 3600000,
     "mean length of a fault", FIELD(lasts_ms)},
    {"proof", "violated", LB_KEY_FACT, 0, "", NULL, 0, 0,
     "a violation only counts in a trial that observed this fact; without it the trial is undecided",
     FIELD(proof_violated)},
    {"proof", "past_lease", LB_KEY_YES_NO, 0, "", "no", 0, 0,
     "`yes`: leases run out on purpose, so an overlap that begins after the earlier holder's lease was over counts",
     FIELD(past_lease)},
    EXPECT_KEY("expect"),
    EXPECT_KEY(LB_EXPECT_GUARD "deadline"),
    EXPECT_KEY(LB_EXPECT_GUARD "recheck"),
    EXPECT_KEY(LB_EXPECT_GUARD "fence"),
};
const size_t lb_scenario_key_count = sizeof lb_scenario_keys / sizeof *lb_scenario_keys;

static const char *const verdicts[] = {"safe", "violated", "stuck", "undecided", "skipped", "none", "any"};

const char *lb_verdict_name(enum lb_verdict verdict) { return verdicts[verdict]; }

const char *lb_scenario_type_name(enum lb_scenario_type type) {
  static const char *const names[] = {
      [LB_KEY_TEXT] = "text",
      [LB_KEY_WHOLE] = "whole number",
      [LB_KEY_WHOLE_LIST] = "whole numbers",
      [LB_KEY_WHOLE_OR_OWN] = "whole number or `own`",
      [LB_KEY_MS] = "whole number",
      [LB_KEY_REAL] = "number",
      [LB_KEY_YES_NO] = "`yes` or `no`",
      [LB_KEY_STORAGE] = "`memory` or `disk`",
      [LB_KEY_STEP] = "step",
      [LB_KEY_FACT] = "fact",
      [LB_KEY_VERDICT] = "verdict, or `verdict: reason`",
  };
  return names[type];
}

/* ---- finding a key --------------------------------------------------------------------------- */

static const struct lb_scenario_key *refuse_key(const char *what, const char *name, const char *const *known,
                                                size_t count, char *err, size_t err_size) {
  char list[256] = "";
  const char *near = lb_suggest(name, known, count);
  for (size_t i = 0, at = 0; i < count && at < sizeof list; i++)
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", known[i]);
  if (near) lb_refuse(err, err_size, "%s '%s', did you mean '%s'? expected %s", what, name, near, list);
  else lb_refuse(err, err_size, "%s '%s': expected %s", what, name, list);
  return NULL;
}

static const struct lb_scenario_key *find_among(const char *section, unsigned flags, const char *what, const char *name,
                                                char *err, size_t err_size) {
  const char *known[KEYS_MAX];
  size_t count = 0;
  for (size_t i = 0; i < lb_scenario_key_count; i++) {
    const struct lb_scenario_key *key = &lb_scenario_keys[i];
    if ((section && strcmp(key->section, section) != 0) || (key->flags & flags) != flags) continue;
    if (key->type == LB_KEY_VERDICT || strcmp(key->name, name) == 0) return key;
    known[count++] = key->name;
  }
  return refuse_key(what, name, known, count, err, err_size);
}

const struct lb_scenario_key *lb_scenario_key_find(const char *section, const char *name, char *err, size_t err_size) {
  char what[64];
  snprintf(what, sizeof what, "[%s] has no key", section);
  return find_among(section, 0, what, name, err, err_size);
}

const struct lb_scenario_key *lb_scenario_key_find_set(const char *name, char *err, size_t err_size) {
  return find_among(NULL, LB_KEY_SET, "cannot set", name, err, err_size);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Plain decimal notation only: strtod alone would take "inf", "0x10" and "1e9". */
static bool parse_decimal(const char *text, bool whole, double *ret) {
  const char *digits = text + (*text == '-');
  size_t before = strspn(digits, "0123456789"), after = 0;
  const char *end = digits + before;
  if (!whole && *end == '.') {
    after = strspn(end + 1, "0123456789");
    end += after + 1;
    if (after == 0) return false;
  }
  if (before == 0 || *end != '\0') return false;
  *ret = strtod(text, NULL);
  return true;
}

static int parse_within(const struct lb_scenario_key *key, const char *value, double *ret, char *err, size_t err_size) {
  const char *kind = key->type == LB_KEY_REAL ? "number" : "whole number";
  if (parse_decimal(value, key->type != LB_KEY_REAL, ret) && *ret >= key->min && *ret <= key->max) return 0;
  return lb_refuse(err, err_size, "%s = %s: expected a %s from %.15g to %.15g%s", key->name, value, kind, key->min,
                   key->max, key->type == LB_KEY_WHOLE_OR_OWN ? ", or own" : "");
}

static int set_number(const struct lb_scenario_key *key, void *field, const char *value, char *err, size_t err_size) {
  double number = 0;
  bool own = key->type == LB_KEY_WHOLE_OR_OWN && strcmp(value, "own") == 0;
  int r = own ? 0 : parse_within(key, value, &number, err, err_size);
  if (r < 0) return r;
  if (key->type == LB_KEY_REAL) *(double *)field = number;
  else if (key->type == LB_KEY_MS) *(int64_t *)field = (int64_t)number;
  else *(int *)field = (int)number;
  return 0;
}

static int add_count(const struct lb_scenario_key *key, const char *word, int *counts, size_t *count, char *err,
                     size_t err_size) {
  double number = 0;
  int r = parse_within(key, word, &number, err, err_size);
  if (r < 0) return r;
  if (*count == LB_CLIENT_COUNTS_MAX)
    return lb_refuse(err, err_size, "%s: expected at most %d numbers", key->name, LB_CLIENT_COUNTS_MAX);
  for (size_t i = 0; i < *count; i++)
    if (counts[i] == (int)number) return lb_refuse(err, err_size, "%s: %d stands there twice", key->name, counts[i]);
  counts[(*count)++] = (int)number;
  return 0;
}

static int set_counts(const struct lb_scenario_key *key, struct lb_scenario *scenario, const char *value, char *err,
                      size_t err_size) {
  int counts[LB_CLIENT_COUNTS_MAX] = {0};
  size_t count = 0;
  for (const char *at = value;; at++) {
    char word[32];
    size_t len = strcspn(at, ",");
    size_t blanks = strspn(at, " \t"), used = len;
    while (used > blanks && (at[used - 1] == ' ' || at[used - 1] == '\t')) used--;
    snprintf(word, sizeof word, "%.*s", used > blanks ? (int)(used - blanks) : 0, at + blanks);
    int r = add_count(key, word, counts, &count, err, err_size);
    if (r < 0) return r;
    at += len;
    if (*at == '\0') break;
  }
  memcpy(scenario->client_counts, counts, sizeof counts);
  scenario->client_count_count = count;
  return 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

static int set_text(char **field, const char *value) {
  char *copy = strdup(value);
  if (!copy) return -ENOMEM;
  free(*field);
  *field = copy;
  return 0;
}

static int set_storage(bool *field, const char *value, char *err, size_t err_size) {
  if (strcmp(value, "memory") != 0 && strcmp(value, "disk") != 0)
    return lb_refuse(err, err_size, "storage = %s: expected memory or disk", value);
  *field = value[0] == 'm';
  return 0;
}

static int set_yes_no(const struct lb_scenario_key *key, bool *field, const char *value, char *err, size_t err_size) {
  if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
    return lb_refuse(err, err_size, "%s = %s: expected yes or no", key->name, value);
  *field = value[0] == 'y';
  return 0;
}

/* A step of the timeline, or a fault of the campaign. */
static int add_step(const struct lb_scenario_key *key, struct lb_scenario *scenario, const char *value, int line,
                    char *err, size_t err_size) {
  char why[LB_SCENARIO_ERR];
  struct lb_step step = {0};
  bool fault = key->offset == FIELD(faults);
  struct lb_step **list = fault ? &scenario->faults : &scenario->steps;
  size_t *count = fault ? &scenario->fault_count : &scenario->step_count;
  int r = lb_step_parse(value, &step, why, sizeof why);
  if (r == -EINVAL) return lb_refuse(err, err_size, "%s = %s: %s", key->name, value, why);
  if (r < 0) return r;
  struct lb_step *steps = realloc(*list, (*count + 1) * sizeof *steps);
  if (!steps) {
    free(step.text);
    return -ENOMEM;
  }
  step.line = line;
  step.number = (uint32_t)*count + 1;
  *list = steps;
  steps[(*count)++] = step;
  return 0;
}

/* "key absent on current primary": the text, in one spelling, and what it asks for. */
static int set_fact(const struct lb_scenario_key *key, struct lb_scenario *scenario, char **field, const char *value, char *err, size_t err_size) {
  char copy[256], fact[80], role_name[32], why[LB_SCENARIO_ERR];
  char *words[8];
  struct lb_role role = {0};
  snprintf(copy, sizeof copy, "%s", value);
  size_t count = lb_split_words(copy, words, 8);
  bool form = count >= 4 && count <= 8 && strcmp(words[0], "key") == 0 && strcmp(words[2], "on") == 0 &&
              (strcmp(words[1], "absent") == 0 || strcmp(words[1], "present") == 0);
  int taken = form ? lb_role_parse(words + 3, count - 3, &role, why, sizeof why) : 0;
  if (taken < 0) return lb_refuse(err, err_size, "%s = %s: %s", key->name, value, why);
  if (!form || (size_t)taken != count - 3)
    return lb_refuse(err, err_size, "%s = %s: expected key absent on A or key present on A, as in observe key on A",
                     key->name, value);
  lb_role_format(role, role_name, sizeof role_name);
  snprintf(fact, sizeof fact, "key %s on %s", words[1], role_name);
  scenario->proof_role = role;
  scenario->proof_present = strcmp(words[1], "present") == 0;
  return set_text(field, fact);
}

/* ---- expectations ---------------------------------------------------------------------------- */

static bool is_system(const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
  size_t protocol = strspn(name, letters);
  if (strcmp(name, "*") == 0) return true;
  if (protocol == 0 || name[protocol] != '@') return false;
  size_t topology = strspn(name + protocol + 1, letters);
  return topology > 0 && name[protocol + 1 + topology] == '\0';
}

/* Only what a trial can be expected to end in: nobody plans for undecided or skipped. */
static int parse_verdict(const char *system, const char *word, enum lb_verdict *ret, char *err, size_t err_size) {
  static const enum lb_verdict wanted[] = {LB_SAFE, LB_VIOLATED, LB_STUCK, LB_SKIPPED, LB_ANY};
  const char *known[sizeof wanted / sizeof *wanted];
  const size_t count = sizeof wanted / sizeof *wanted;
  for (size_t i = 0; i < count; i++) {
    known[i] = lb_verdict_name(wanted[i]);
    if (strcmp(known[i], word) != 0) continue;
    *ret = wanted[i];
    return 0;
  }
  const char *near = lb_suggest(word, known, count);
  if (near)
    return lb_refuse(err, err_size, "%s = %s: did you mean '%s'? expected safe, violated, stuck, skipped or any", system, word,
                     near);
  return lb_refuse(err, err_size, "%s = %s: expected safe, violated, stuck, skipped or any, and a reason: %s = safe: REASON",
                   system, word, system);
}

/* "expect fence" -> fence. */
static enum lb_guard guard_of(const struct lb_scenario_key *key) {
  const size_t prefix = strlen(LB_EXPECT_GUARD);
  bool named = strncmp(key->section, LB_EXPECT_GUARD, prefix) == 0;
  int guard = named ? lb_guard_find(key->section + prefix) : LB_GUARD_NONE;
  return guard < 0 ? LB_GUARD_NONE : (enum lb_guard)guard;
}

static int append_expect(struct lb_scenario *scenario, enum lb_guard guard, const char *system,
                         enum lb_verdict verdict, const char *reason) {
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

static int add_expect(const struct lb_scenario_key *key, struct lb_scenario *scenario, const char *system,
                      const char *value, char *err, size_t err_size) {
  char word[256];
  enum lb_guard guard = guard_of(key);
  enum lb_verdict verdict = LB_SAFE;
  size_t len = strcspn(value, ":");
  const char *reason = value[len] ? value + len + 1 : value + len;
  if (!is_system(system))
    return lb_refuse(err, err_size, "'%s' is not a system: expected PROTOCOL@TOPOLOGY or *", system);
  for (size_t i = 0; i < scenario->expect_count; i++)
    if (scenario->expect[i].guard == guard && strcmp(scenario->expect[i].system, system) == 0)
      return lb_refuse(err, err_size, "%s is expected twice", system);
  while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t')) len--;
  snprintf(word, sizeof word, "%.*s", len < sizeof word ? (int)len : (int)sizeof word - 1, value);
  int r = parse_verdict(system, word, &verdict, err, err_size);
  return r < 0 ? r : append_expect(scenario, guard, system, verdict, reason + strspn(reason, " \t"));
}

int lb_scenario_key_set(const struct lb_scenario_key *key, struct lb_scenario *scenario, const char *name,
                        const char *value, int line, char *err, size_t err_size) {
  void *field = (char *)scenario + key->offset;
  int r = 0;
  if (*value == '\0')
    return lb_refuse(err, err_size, "%s is empty: expected %s", name, lb_scenario_type_name(key->type));
  switch (key->type) {
    case LB_KEY_TEXT: r = set_text(field, value); break;
    case LB_KEY_WHOLE:
    case LB_KEY_WHOLE_OR_OWN:
    case LB_KEY_MS:
    case LB_KEY_REAL: return set_number(key, field, value, err, err_size);
    case LB_KEY_WHOLE_LIST: return set_counts(key, scenario, value, err, err_size);
    case LB_KEY_YES_NO: return set_yes_no(key, field, value, err, err_size);
    case LB_KEY_STORAGE: return set_storage(field, value, err, err_size);
    case LB_KEY_STEP: r = add_step(key, scenario, value, line, err, err_size); break;
    case LB_KEY_FACT: r = set_fact(key, scenario, field, value, err, err_size); break;
    case LB_KEY_VERDICT: r = add_expect(key, scenario, name, value, err, err_size); break;
  }
  if (r == -ENOMEM) lb_refuse(err, err_size, "out of memory");
  return r;
}
