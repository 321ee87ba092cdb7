/* SPDX-License-Identifier: MIT
 *
 * The table of keys, and how a key is found in it. A row says everything that is known of a key, so
 * the parser, the help and scenarios/README.md cannot disagree.
 */
#include <stdio.h>
#include <string.h>

#include "scenario_parts.h"
#include "base/suggest.h"

#define FIELD(member) offsetof(struct lb_scenario, member)
#define KEYS_MAX 32

const struct lb_scenario_key lb_scenario_keys[] = {
    {"scenario", "title", LB_KEY_TEXT, LB_KEY_MANDATORY | LB_KEY_OWN, "", NULL, 0, 0, "a few words, for lists and charts",
     FIELD(title)},
    {"scenario", "question", LB_KEY_TEXT, LB_KEY_MANDATORY | LB_KEY_LINES | LB_KEY_OWN, "", NULL, 0, 0, "what the scenario settles",
     FIELD(question)},
    {"scenario", "refuted", LB_KEY_TEXT, LB_KEY_MANDATORY | LB_KEY_LINES, "", NULL, 0, 0,
     "what outcome would refute the expectation", FIELD(refuted)},
    {"scenario", "like", LB_KEY_TEXT, LB_KEY_OWN, "", NULL, 0, 0,
     "a scenario without `like`, or the path of its file: what is not given here is taken from there, lists as a whole, but not `title`, `question` and exceptions", FIELD(like)},
    {"scenario", "attack", LB_KEY_TEXT, 0, "", NULL, 0, 0, "what is done to the lock: a section of theory/rules.ini, whose rules say what comes out", FIELD(attack)},
    {"scenario", "systems", LB_KEY_TEXT, LB_KEY_LINES, "", NULL, 0, 0,
     "the systems that it is asked of where nobody names one, with `*` for any text; not given: all", FIELD(systems)},
    {"scenario", "guards", LB_KEY_TEXT, 0, "", NULL, 0, 0, "the guards that a suite asks it under; not given: all", FIELD(guards)},
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
    {"scenario", "unreal", LB_KEY_YES_NO, 0, "", "no", 0, 0, "`yes`: no real clock does this; it shows which clock a lock rests on", FIELD(unreal)},
    {"scenario", "alike", LB_KEY_TEXT, LB_KEY_LINES, "", NULL, 0, 0,
     "why no two locks are expected to come out differently without a guard; refused if two are", FIELD(alike)},
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
     "load before the measured window, at least", FIELD(warmup_s)},
    {"workload", "settle_s", LB_KEY_REAL, LB_KEY_SET | LB_KEY_LOAD, "s", "0", 0, 3600,
     "after `warmup_s` the load goes on until its rate has settled, at most so long; 0: it need not settle",
     FIELD(settle_s)},
    {"workload", "round_trip_ms", LB_KEY_REAL, LB_KEY_SET | LB_KEY_LOAD | LB_KEY_APART, "ms", NULL, 0, 100,
     "the servers and clients of a load are hosts with links of their own, and a packet between two of them and its answer are late by so much together, half on "
     "each way; 0: by nothing but the links; not given: all share the loopback of one machine", FIELD(round_trip_ms)},
    {"workload", "delay_ms", LB_KEY_MS, LB_KEY_SET | LB_KEY_DELAY, "ms", NULL, 1, 3600000,
     "what steps of a timeline mean by `delay` and `delay+T`; must be given if one does, and is refused if none does", FIELD(delay_ms)},
    {"workload", "request_ms", LB_KEY_MS, LB_KEY_SET, "ms", "0", 0, 3600000,
     "how long a client waits for the answer to a try of an acquire before it gives the request up and asks what became of it, as the time limit of a client "
     "library; 0: as long as the acquire may take. A lock with the trait `queues` waits for its turn, however long that takes",
     FIELD(request_ms)},
    {"workload", "renew", LB_KEY_YES_NO, LB_KEY_SET, "", "no", 0, 0,
     "`yes`: a client renews its lease every third of `ttl_ms` while it holds, as a watchdog does; when half of what it may count on is left, if that is sooner. A lock with the trait `renewed` is renewed anyway", FIELD(renew)},
    {"workload", "permits", LB_KEY_WHOLE, 0, "", "1", 1, LB_CLIENTS_MAX, "so many may hold at once, as with a semaphore; 1 is a lock. With more, what they do to the resource is not judged", FIELD(permits)},
    {"workload", "option", LB_KEY_OPTION, LB_KEY_REPEATED, "", NULL, 0, 0,
     "an option of a protocol, PROTOCOL.OPTION=VALUE as `-s` takes it; may stand several times, and `-s` wins over it", FIELD(options)},
    {"servers", "storage", LB_KEY_STORAGE, 0, "", "disk", 0, 0,
     "`disk` syncs as a careful operator would, `memory` does not; with a timeline or a campaign the default is `memory`. A topology may insist on `disk`, or write nothing at all",
     FIELD(memory_storage)},
    {"timeline", "step", LB_KEY_STEP, LB_KEY_MANDATORY | LB_KEY_REPEATED, "", NULL, 0, 0,
     "a step, or several with commas between, done one after the other; `N times:` before them repeats them", FIELD(steps)},
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
     "`yes`: a killed server stays away for longer than a lease (`ttl_ms` and a tenth), as Redlock asks for", FIELD(delayed_restart)},
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
    {"proof", "past_lease", LB_KEY_YES_NO, 0, "", "no", 0, 0,
     "`yes`: leases run out on purpose, so an overlap that begins after the earlier holder's lease was over counts",
     FIELD(past_lease)},
    {LB_EXPECT, "SYSTEM", LB_KEY_VERDICT, LB_KEY_MANDATORY | LB_KEY_REPEATED | LB_KEY_OWN, "", NULL, 0, 0,
     "what should come out for PROTOCOL@TOPOLOGY, or for a list of them; `*` stands for any text in a name",
     FIELD(expect)},
};
const size_t lb_scenario_key_count = sizeof lb_scenario_keys / sizeof *lb_scenario_keys;

static const char *const verdicts[] = {"safe", "violated", "stuck", "delayed", "mixed", "undecided", "skipped", "n/a", "none", "race"};

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
                                                size_t count, char *err, size_t err_size) {
  char list[256] = "";
  const char *near = lb_suggest(name, known, count);
  for (size_t i = 0, at = 0; i < count && at < sizeof list; i++)
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", known[i]);
  if (near) lb_refuse(err, err_size, "%s '%s', did you mean '%s'? expected %s", what, name, near, list);
  else lb_refuse(err, err_size, "%s '%s': expected %s", what, name, list);
  return NULL;
}

/* `section` NULL = any, as for -s. A verdict's key fits every name: its name is a system. */
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
