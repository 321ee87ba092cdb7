/* SPDX-License-Identifier: MIT
 *
 * The table of keys, and how a key is found in it. A row says everything that is known of a key, so the parser, the
 * help and docs/scenarios.md cannot disagree.
 *
 * A value is written straight into the field that the row of its key names by its offset. So a type means both a
 * notation and the C type of the field; a row with the wrong type would overwrite its neighbour. A value that does not
 * fit leaves the scenario as it was.
 */
#include "reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/need.h"
#include "base/text.h"

#define FIELD(member) offsetof(struct lb_scenario, member)
#define KEYS_MAX 32

static const char *const drivers[] = {[LB_BY_PROCESS] = "process", [LB_BY_COROUTINE] = "coroutine", NULL};
static const char *const arrivals[] = {
    [LB_ARRIVE_CLOSED] = "closed", [LB_ARRIVE_CONSTANT] = "constant", [LB_ARRIVE_POISSON] = "poisson", NULL};
static const char *const lengths[] = {[LB_LENGTH_CONSTANT] = "constant", [LB_LENGTH_EXPONENTIAL] = "exponential", NULL};

const struct lb_scenario_key lb_scenario_keys[] = {
    {"scenario", "title", LB_KEY_TEXT, LB_KEY_MANDATORY | LB_KEY_OWN, "", NULL, 0, 0,
     "a few words, for lists and charts", FIELD(title)},
    {"scenario", "question", LB_KEY_TEXT, LB_KEY_MANDATORY | LB_KEY_LINES | LB_KEY_OWN, "", NULL, 0, 0,
     "what the scenario settles", FIELD(question)},
    {"scenario", "refuted", LB_KEY_TEXT, LB_KEY_MANDATORY | LB_KEY_LINES, "", NULL, 0, 0,
     "what outcome would refute the expectation", FIELD(refuted)},
    {"scenario", "like", LB_KEY_TEXT, LB_KEY_OWN, "", NULL, 0, 0,
     "a scenario without `like`, or the path of its file: what is not given here is taken from there, lists as a whole, but not `title`, `question` and exceptions",
     FIELD(like)},
    {"scenario", "attack", LB_KEY_TEXT, 0, "", NULL, 0, 0,
     "what is done to the lock: a section of theory/rules.ini, whose rules say what comes out", FIELD(attack)},
    {"scenario", "rests", LB_KEY_TEXT, LB_KEY_OWN, "", NULL, 0, 0,
     "what a lock rests on that is broken here, for `judge`", FIELD(rests)},
    {"scenario", "systems", LB_KEY_TEXT, LB_KEY_LINES, "", NULL, 0, 0,
     "the systems that it is asked of where nobody names one, with `*` for any text; not given: all in a suite, else the group `standard`",
     FIELD(systems)},
    {"scenario", "guards", LB_KEY_TEXT, 0, "", NULL, 0, 0,
     "the guards that it is asked under; not given: all in a suite, else `none`", FIELD(guards)},
    {"scenario", "upstream", LB_KEY_TEXT, LB_KEY_LINES, "", NULL, 0, 0,
     "of a published bug or experiment: its address, by whom and when, and what was found there", FIELD(upstream)},
    {"scenario", "trials", LB_KEY_WHOLE, LB_KEY_SET, "", "3", 1, 10000,
     "trials of each system, guard and number of clients, if the command does not say", FIELD(trials)},
    {"scenario", "min_handoffs", LB_KEY_WHOLE, 0, "", "1", 0, 1000000,
     "a trial in which the lock changed hands less often is undecided; not asked of a single client; 0 with `keys = own`",
     FIELD(min_handoffs)},
    {"scenario", "control", LB_KEY_YES_NO, 0, "", "no", 0, 0,
     "`yes`: no fault is played and no lease ends while its holder works; its trials are what the others are compared with",
     FIELD(control)},
    {"scenario", "unreal", LB_KEY_YES_NO, 0, "", "no", 0, 0,
     "`yes`: no real clock does this; it shows which clock a lock rests on", FIELD(unreal)},
    {"scenario", "alike", LB_KEY_TEXT, LB_KEY_LINES, "", NULL, 0, 0,
     "why no two locks are expected to come out differently without a guard; refused if two are", FIELD(alike)},
    {"workload", "clients", LB_KEY_WHOLE_LIST, LB_KEY_MANDATORY | LB_KEY_SET, "", NULL, 1, LB_CROWD_MAX,
     "clients, more than 128 only with `driver = coroutine`; `1, 4, 16` makes one trial of each; a timeline has one number",
     FIELD(client_counts)},
    {"workload", "keys", LB_KEY_WHOLE_OR_OWN, LB_KEY_SET | LB_KEY_LOAD, "", "1", 1, 1000000,
     "locks, chosen at random each time; 1 is one hot lock; `own` gives each client a lock that nobody else asks for",
     FIELD(keys)},
    {"workload", "skew", LB_KEY_REAL, LB_KEY_SET | LB_KEY_LOAD, "", "0", 0, 10,
     "how unevenly locks are chosen: lock K has the weight 1/K^skew (zipf; 0.99 is that of YCSB); 0: all alike",
     FIELD(skew)},
    {"workload", "hold_ms", LB_KEY_REAL, LB_KEY_SET | LB_KEY_LOAD, "ms", "0", 0, 3600000,
     "time between the read and the write of the resource", FIELD(hold_ms)},
    {"workload", "think_ms", LB_KEY_REAL, LB_KEY_SET | LB_KEY_LOAD, "ms", "0", 0, 3600000,
     "time between two critical sections of a client", FIELD(think_ms)},
    {"workload", "hold", LB_KEY_WORD, LB_KEY_SET | LB_KEY_LOAD, "", "constant", 0, 0,
     "`exponential`: `hold_ms` is the mean of random times", FIELD(hold), lengths},
    {"workload", "think", LB_KEY_WORD, LB_KEY_SET | LB_KEY_LOAD, "", "constant", 0, 0,
     "`exponential`: `think_ms` is the mean of random times", FIELD(think), lengths},
    {"workload", "ttl_ms", LB_KEY_MS, LB_KEY_SET, "ms", "10000", 10, 3600000,
     "length of the lease; of the session, for protocols that have sessions", FIELD(ttl_ms)},
    {"workload", "wait_ms", LB_KEY_MS, LB_KEY_SET | LB_KEY_LOAD, "ms", "5000", 1, 3600000,
     "how long a client waits for a lock before it gives up and thinks again", FIELD(wait_ms)},
    {"workload", "duration_s", LB_KEY_REAL, LB_KEY_SET | LB_KEY_LOAD, "s", "5", 0.1, 86400,
     "length of the measured window", FIELD(duration_s)},
    {"workload", "warmup_s", LB_KEY_REAL, LB_KEY_SET | LB_KEY_LOAD, "s", "1", 0, 3600,
     "load before the measured window, at least", FIELD(warmup_s)},
    {"workload", "settle_s", LB_KEY_REAL, LB_KEY_SET | LB_KEY_LOAD, "s", "0", 0, 3600,
     "after `warmup_s` the load goes on until compilers rest and its rate has settled, each at most so long; 0: it need not settle",
     FIELD(settle_s)},
    {"workload", "round_trip_ms", LB_KEY_REAL, LB_KEY_SET | LB_KEY_LOAD | LB_KEY_APART, "ms", NULL, 0, 100,
     "servers and clients of a load are hosts with links of their own; a packet and its answer are late by so much together. "
     "Not given: all share the loopback of one machine",
     FIELD(round_trip_ms)},
    {"workload", "delay_ms", LB_KEY_MS, LB_KEY_SET | LB_KEY_DELAY, "ms", NULL, 1, 3600000,
     "what steps of a timeline mean by `delay` and `delay+T`; must be given if one does, and is refused if none does",
     FIELD(delay_ms)},
    {"workload", "request_ms", LB_KEY_MS, LB_KEY_SET, "ms", "0", 0, 3600000,
     "how long a client waits for the answer to one request of an acquire, as a client library does; then it asks for the outcome. "
     "0: as long as the acquire may take. A lock with the trait `queues` waits for its turn",
     FIELD(request_ms)},
    {"workload", "renew", LB_KEY_YES_NO, LB_KEY_SET, "", "no", 0, 0,
     "`yes`: a holder renews its lease every third of `ttl_ms`, or when half of it is left. A lock with the trait `renewed` is renewed anyway",
     FIELD(renew)},
    {"workload", "permits", LB_KEY_WHOLE, 0, "", "1", 1, LB_CLIENTS_MAX,
     "so many may hold at once, as with a semaphore; 1 is a lock. With more, what they do to the resource is not judged",
     FIELD(permits)},
    {"workload", "driver", LB_KEY_WORD, LB_KEY_SET | LB_KEY_LOAD, "", "process", 0, 0,
     "what runs the clients: `process` is one for each, `coroutine` runs many in one process for each core, where no fault stops or kills a client",
     FIELD(driver), drivers},
    {"workload", "readers", LB_KEY_WHOLE, LB_KEY_SET | LB_KEY_LOAD, "", "0", 0, LB_CLIENTS_MAX,
     "so many of the clients, the first ones, ask as readers: they hold together, read twice and write nothing",
     FIELD(readers)},
    {"workload", "arrivals", LB_KEY_WORD, LB_KEY_SET | LB_KEY_LOAD, "", "closed", 0, 0,
     "`closed`: a client asks when it has finished and thought. `constant`, `poisson`: it asks by a schedule of `rate_per_s`, evenly or at random, and waits count from there",
     FIELD(arrivals), arrivals},
    {"workload", "rate_per_s", LB_KEY_REAL, LB_KEY_SET | LB_KEY_LOAD, "1/s", "0", 0, 1000000,
     "acquires of all clients together, where `arrivals` is not `closed`", FIELD(rate_per_s)},
    {"workload", "patience_ms", LB_KEY_MS, LB_KEY_SET, "ms", NULL, 10, 3600000,
     "longest wait of one client while others are granted the lock; with a longer one a trial is stuck or delayed. A reader is passed over by writers only. Not given: `progress_ms` in a campaign, else no bound",
     FIELD(patience_ms)},
    {"workload", "option", LB_KEY_OPTION, LB_KEY_REPEATED, "", NULL, 0, 0,
     "an option of a protocol, PROTOCOL.OPTION=VALUE as `-s` takes it; may stand several times, and `-s` wins over it",
     FIELD(options)},
    {"servers", "storage", LB_KEY_STORAGE, 0, "", "disk", 0, 0,
     "`disk` syncs as a careful operator would, `memory` does not; with a timeline or a campaign the default is `memory`. A topology may insist on `disk`, or write nothing at all",
     FIELD(memory_storage)},
    {"servers", "next", LB_KEY_NAME, LB_KEY_SET | LB_KEY_NEXT, "", NULL, 0, 0,
     "the origin of the version that `restart A as next` starts; must be given if a step says so, and is refused if none does",
     FIELD(next)},
    {"timeline", "step", LB_KEY_STEP, LB_KEY_MANDATORY | LB_KEY_REPEATED, "", NULL, 0, 0,
     "a step, or several with commas between, done one after the other; `N times:` before them repeats them",
     FIELD(steps)},
    {"campaign", "fault", LB_KEY_STEP, LB_KEY_MANDATORY | LB_KEY_REPEATED, "", NULL, 0, 0,
     "one fault that may be drawn: a `cut`, `kill`, `pause` or `clock` step; each is undone again", FIELD(faults)},
    {"campaign", "every_ms", LB_KEY_MS, LB_KEY_SET | LB_KEY_CAMPAIGN, "ms", "1000", 10, 3600000,
     "mean pause between the end of one fault and the begin of the next", FIELD(every_ms)},
    {"campaign", "lasts_ms", LB_KEY_MS, LB_KEY_SET | LB_KEY_CAMPAIGN, "ms", "1000", 10, 3600000,
     "mean length of a fault", FIELD(lasts_ms)},
    {"campaign", "progress_ms", LB_KEY_MS, LB_KEY_SET | LB_KEY_CAMPAIGN, "ms", NULL, 10, 3600000,
     "longest time without a grant while somebody asks; a trial with a longer one is stuck or delayed. Not given: the longest fault, `ttl_ms` and `wait_ms` together",
     FIELD(progress_ms)},
    {"campaign", "delayed_restart", LB_KEY_YES_NO, LB_KEY_SET | LB_KEY_CAMPAIGN, "", "no", 0, 0,
     "`yes`: a killed server stays away for longer than a lease (`ttl_ms` and a tenth), as Redlock asks for",
     FIELD(delayed_restart)},
    {"proof", "violated", LB_KEY_FACT, 0, "", NULL, 0, 0,
     "a violation only counts in a trial that observed this fact; without it the trial is undecided",
     FIELD(proof_violated)},
    {"proof", "premise", LB_KEY_PREMISE, LB_KEY_REPEATED, "", NULL, 0, 0,
     "what has to be so for the question to have been put; a trial that did not observe it, or observed the opposite, is undecided, "
     "whatever else came out",
     FIELD(premises)},
    {"proof", "safe", LB_KEY_PREMISE, LB_KEY_REPEATED, "", NULL, 0, 0,
     "a trial in which no two clients held at once is safe only if one of the steps that look observed this fact; else it is undecided",
     FIELD(premises)},
    {"proof", "test", LB_KEY_PREMISE, LB_KEY_REPEATED, "", NULL, 0, 0,
     "what a safe trial of a timeline has to show at one step, in place of a client that asked beside a holder",
     FIELD(premises)},
    {"proof", "past_lease", LB_KEY_YES_NO, 0, "", "no", 0, 0,
     "`yes`: leases run out on purpose, so an overlap that begins after the earlier holder's lease was over counts",
     FIELD(past_lease)},
    {LB_EXPECT, "SYSTEM", LB_KEY_VERDICT, LB_KEY_MANDATORY | LB_KEY_REPEATED | LB_KEY_OWN, "", NULL, 0, 0,
     "what should come out for PROTOCOL@TOPOLOGY, or for a list of them; `*` stands for any text in a name",
     FIELD(expect)},
};
const size_t lb_scenario_key_count = sizeof lb_scenario_keys / sizeof *lb_scenario_keys;

static const struct {
  const char *name, *help;
} guards[LB_GUARD_COUNT] = {
    [LB_GUARD_NONE] = {"none", "the client trusts its grant until somebody tells it that it lost the lock"},
    [LB_GUARD_DEADLINE] = {"deadline",
                           "before each access the client looks at its own clock: not after the end of its lease"},
    [LB_GUARD_SIGNAL] =
        {"signal",
         "before each access the client looks whether its session or connection was reported lost or in doubt"},
    [LB_GUARD_RECHECK] = {"recheck", "before each access the client asks the server whether it still holds"},
    [LB_GUARD_CLAIM] =
        {"claim",
         "the first access writes the holder's unique token into the resource, which refuses later ones once another token stands there"},
    [LB_GUARD_FENCE] = {"fence", "the resource refuses a fencing token smaller than the largest it has seen"},
};

const char *lb_guard_name(enum lb_guard guard) { return guards[guard].name; }

const char *lb_guard_help(enum lb_guard guard) { return guards[guard].help; }

int lb_guard_find(const char *name) {
  for (int i = 0; i < LB_GUARD_COUNT; i++)
    if (strcmp(guards[i].name, name) == 0) return i;
  return -1;
}

static const char *const verdicts[] = {"safe",      "violated", "stuck", "delayed", "mixed",
                                       "undecided", "skipped",  "n/a",   "none",    "race"};

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
      [LB_KEY_WORD] = "word",
      [LB_KEY_NAME] = "name or path",
      [LB_KEY_OPTION] = "PROTOCOL.OPTION=VALUE",
      [LB_KEY_STEP] = "step",
      [LB_KEY_FACT] = "fact",
      [LB_KEY_PREMISE] = "fact",
      [LB_KEY_VERDICT] = "verdict, or `verdict: reason`",
  };
  return names[type];
}

/* ---- finding a key --------------------------------------------------------------------------- */

/* Names the nearest key and all that would be right, out of the table. Returns NULL, for callers
 * that look for a key. */
static const struct lb_scenario_key *refuse_key(const char *what, const char *name, const char *const *known,
                                                size_t count, struct lb_error *err) {
  char list[256] = "";
  const char *near = lb_text_suggest(name, known, count);
  size_t at = 0;
  for (size_t i = 0; i < count && at < sizeof list; i++)
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", known[i]);
  if (at >= sizeof list) snprintf(list, sizeof list, "one of `lockbench list keys`");
  if (near) lb_refuse(err, "%s '%s', did you mean '%s'? expected %s", what, name, near, list);
  else lb_refuse(err, "%s '%s': expected %s", what, name, list);
  return NULL;
}

/* `section` NULL = any, as for -s. A verdict's key fits every name: its name is a system. */
static const struct lb_scenario_key *find_among(const char *section, unsigned flags, const char *what, const char *name,
                                                struct lb_error *err) {
  const char *known[KEYS_MAX];
  size_t count = 0;
  for (size_t i = 0; i < lb_scenario_key_count; i++) {
    const struct lb_scenario_key *key = &lb_scenario_keys[i];
    if ((section && strcmp(key->section, section) != 0) || (key->flags & flags) != flags) continue;
    if (key->type == LB_KEY_VERDICT || strcmp(key->name, name) == 0) return key;
    known[count++] = key->name;
  }
  return refuse_key(what, name, known, count, err);
}

const struct lb_scenario_key *lb_scenario_key_find(const char *section, const char *name, struct lb_error *err) {
  char what[64];
  snprintf(what, sizeof what, "[%s] has no key", section);
  return find_among(section, 0, what, name, err);
}

const struct lb_scenario_key *lb_scenario_key_find_set(const char *name, struct lb_error *err) {
  return find_among(NULL, LB_KEY_SET, "cannot set", name, err);
}

/* ---- several steps in one line, `N times: STEP, STEP`: steps like any other from here on --- */

enum { TIMES_MAX = 1000, STEPS_MAX = 1000 }; /* a file of 64 kB holds more than any real scenario */

/* One more step or fault, `name` is its key. 0 or -EINVAL with err. */
static int add_step(const char *name, const char *text, int line, struct lb_step **list, size_t *count,
                    struct lb_error *err) {
  struct lb_step step = {0};
  if (*count == STEPS_MAX) return lb_refuse(err, "%s = %s: expected at most %d of them", name, text, STEPS_MAX);
  if (lb_step_parse(text, &step, err) < 0) return lb_error_prefix(err, "%s = %s: ", name, text);
  step.line = line;
  step.number = (uint32_t)*count + 1;
  LB_APPEND(*list, *count) = step;
  return 0;
}

/* "84 times: " before the steps: how often, and where they begin. No step begins with a digit. */
static int parse_times(const char *value, int *times, const char **steps, struct lb_error *err) {
  int end = 0;
  *times = 1;
  *steps = value;
  if (!strchr("0123456789", *value)) return 0;
  if (sscanf(value, "%4d times :%n", times, &end) == 1 && end > 0 && *times >= 1 && *times <= TIMES_MAX)
    return *steps = value + end, 0;
  return lb_refuse(err, "step = %s: expected N times: STEP, STEP with N from 1 to %d", value, TIMES_MAX);
}

static int add_steps(const char *value, int line, struct lb_scenario *scenario, struct lb_error *err) {
  const char *steps;
  int times, r = parse_times(value, &times, &steps, err);
  for (int i = 0; i < times && r == 0; i++) {
    for (const char *rest = steps; r == 0 && rest;) {
      size_t length;
      const char *at = lb_text_part(&rest, ',', &length);
      char *text = lb_need(strndup(at, length));
      if (length == 0) r = lb_refuse(err, "step = %s: expected a step before and behind each comma", value);
      else r = add_step("step", text, line, &scenario->steps, &scenario->step_count, err);
      free(text);
    }
  }
  return r;
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

/* The bounds are those of the row. They keep later arithmetic (ms to ns, clients times keys) far from overflow. */
static int parse_within(const struct lb_scenario_key *key, const char *value, double *ret, struct lb_error *err) {
  const char *kind = key->type == LB_KEY_REAL ? "number" : "whole number";
  if (parse_decimal(value, key->type != LB_KEY_REAL, ret) && *ret >= key->min && *ret <= key->max) return 0;
  return lb_refuse(err, "%s = %s: expected a %s from %.15g to %.15g%s", key->name, value, kind, key->min, key->max,
                   key->type == LB_KEY_WHOLE_OR_OWN ? ", or own" : "");
}

static int set_number(const struct lb_scenario_key *key, void *field, const char *value, struct lb_error *err) {
  double number = 0;
  bool own = key->type == LB_KEY_WHOLE_OR_OWN && strcmp(value, "own") == 0;
  int r = own ? 0 : parse_within(key, value, &number, err);
  if (r < 0) return r;
  if (key->type == LB_KEY_REAL) *(double *)field = number;
  else if (key->type == LB_KEY_MS) *(int64_t *)field = (int64_t)number;
  else *(int *)field = (int)number;
  return 0;
}

static int add_count(const struct lb_scenario_key *key, const char *word, int *counts, size_t *count,
                     struct lb_error *err) {
  double number = 0;
  int r = parse_within(key, word, &number, err);
  if (r < 0) return r;
  if (*count == LB_CLIENT_COUNTS_MAX)
    return lb_refuse(err, "%s: expected at most %d numbers", key->name, LB_CLIENT_COUNTS_MAX);
  for (size_t i = 0; i < *count; i++)
    if (counts[i] == (int)number) return lb_refuse(err, "%s: %d stands there twice", key->name, counts[i]);
  counts[(*count)++] = (int)number;
  return 0;
}

/* "1, 4, 16". An empty word, as behind a last comma, is no number and refused like any other. */
static int set_counts(const struct lb_scenario_key *key, struct lb_scenario *scenario, const char *value,
                      struct lb_error *err) {
  int counts[LB_CLIENT_COUNTS_MAX] = {0};
  size_t count = 0;
  for (const char *rest = value; rest;) {
    char word[32];
    size_t length;
    const char *at = lb_text_part(&rest, ',', &length);
    snprintf(word, sizeof word, "%.*s", (int)length, at);
    int r = add_count(key, word, counts, &count, err);
    if (r < 0) return r;
  }
  memcpy(scenario->client_counts, counts, sizeof counts);
  scenario->client_count_count = count;
  return 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

static int set_word(const struct lb_scenario_key *key, int *field, const char *value, struct lb_error *err) {
  size_t count = 0;
  for (; key->words[count]; count++)
    if (strcmp(key->words[count], value) == 0) return *field = (int)count, 0;
  char what[64];
  snprintf(what, sizeof what, "%s has no value", key->name);
  refuse_key(what, value, key->words, count, err);
  return -EINVAL;
}

/* Frees what stood there: a scenario is changed in place. */
static int set_text(char **field, const char *value) {
  free(*field);
  *field = lb_need_text(value);
  return 0;
}

static int set_name(const struct lb_scenario_key *key, char *field, const char *value, struct lb_error *err) {
  if (strlen(value) >= LB_NAME_MAX || strpbrk(value, " ,"))
    return lb_refuse(err, "%s = %s: expected one name or path of at most %d bytes", key->name, value, LB_NAME_MAX - 1);
  return strcpy(field, value), 0;
}

static int set_storage(bool *field, const char *value, struct lb_error *err) {
  if (strcmp(value, "memory") != 0 && strcmp(value, "disk") != 0)
    return lb_refuse(err, "storage = %s: expected memory or disk", value);
  *field = value[0] == 'm';
  return 0;
}

static int set_yes_no(const struct lb_scenario_key *key, bool *field, const char *value, struct lb_error *err) {
  if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
    return lb_refuse(err, "%s = %s: expected yes or no", key->name, value);
  *field = value[0] == 'y';
  return 0;
}

/* "key absent on current primary": the text, in one spelling, and what it asks for. The judge
 * compares the parsed fact; the text is for people. */
static int set_fact(const struct lb_scenario_key *key, struct lb_scenario *scenario, char **field, const char *value,
                    struct lb_error *err) {
  char copy[256], fact[80], role_name[32];
  char *words[8];
  struct lb_role role = {0};
  snprintf(copy, sizeof copy, "%s", value);
  size_t count = lb_text_split_words(copy, words, 8);
  bool form = count >= 4 && count <= 8 && strcmp(words[0], "key") == 0 && strcmp(words[2], "on") == 0 &&
              (strcmp(words[1], "absent") == 0 || strcmp(words[1], "present") == 0);
  int taken = form ? lb_role_parse(words + 3, count - 3, &role, err) : 0;
  if (taken < 0) return lb_error_prefix(err, "%s = %s: ", key->name, value);
  if (!form || (size_t)taken != count - 3)
    return lb_refuse(err, "%s = %s: expected key absent on A or key present on A, as in observe key on A", key->name,
                     value);
  lb_role_format(role, role_name, sizeof role_name);
  snprintf(fact, sizeof fact, "key %s on %s", words[1], role_name);
  scenario->proof_role = role;
  scenario->proof_present = strcmp(words[1], "present") == 0;
  return set_text(field, fact);
}

static int add_premise(const struct lb_scenario_key *key, struct lb_scenario *scenario, const char *value, int line,
                       struct lb_error *err) {
  struct lb_premise premise = {.use = lb_premise_use_of(key->name), .line = line};
  if (lb_premise_parse(value, &premise, err) < 0) return lb_error_prefix(err, "%s = %s: ", key->name, value);
  LB_APPEND(scenario->premises, scenario->premise_count) = premise;
  return 0;
}

/* "PROTOCOL.fence=yes": its form only. */
static int add_option(const struct lb_scenario_key *key, struct lb_scenario *scenario, const char *value,
                      struct lb_error *err) {
  const char *dot = strchr(value, '.'), *equals = strchr(value, '=');
  bool form =
      dot && equals && dot > value && equals > dot + 1 && equals[1] && strcspn(value, " \t") > (size_t)(equals - value);
  if (!form) return lb_refuse(err, "%s = %s: expected %s", key->name, value, lb_scenario_type_name(key->type));
  LB_APPEND(scenario->options, scenario->option_count) = lb_need_text(value);
  return 0;
}

/* A list gets one more entry with each call, that of steps one or several. What is expected has a parser of its own
 * (lb_expect_add()). */
int lb_scenario_key_set(const struct lb_scenario_key *key, struct lb_scenario *scenario, const char *name,
                        const char *value, int line, struct lb_error *err) {
  void *field = (char *)scenario + key->offset;
  if (*value == '\0') return lb_refuse(err, "%s is empty: expected %s", name, lb_scenario_type_name(key->type));
  switch (key->type) {
    case LB_KEY_TEXT: return set_text(field, value);
    case LB_KEY_WHOLE:
    case LB_KEY_WHOLE_OR_OWN:
    case LB_KEY_MS:
    case LB_KEY_REAL: return set_number(key, field, value, err);
    case LB_KEY_WHOLE_LIST: return set_counts(key, scenario, value, err);
    case LB_KEY_YES_NO: return set_yes_no(key, field, value, err);
    case LB_KEY_NAME: return set_name(key, field, value, err);
    case LB_KEY_STORAGE: return set_storage(field, value, err);
    case LB_KEY_WORD: return set_word(key, field, value, err);
    case LB_KEY_OPTION: return add_option(key, scenario, value, err);
    case LB_KEY_STEP:
      if (key->offset == offsetof(struct lb_scenario, steps)) return add_steps(value, line, scenario, err);
      return add_step(name, value, line, &scenario->faults, &scenario->fault_count, err);
    case LB_KEY_FACT: return set_fact(key, scenario, field, value, err);
    case LB_KEY_PREMISE: return add_premise(key, scenario, value, line, err);
    case LB_KEY_VERDICT: break;
  }
  return 0;
}
