/* SPDX-License-Identifier: MIT
 *
 * scenario.h - a scenario file as a struct: the question, a workload or a timeline of steps, the expected verdicts. The
 * form is documented in docs/scenarios.md. Reading never guesses: the first thing that does not fit is one line
 * "FILE:LINE: what was found, what was expected", with the nearest known word where there is one.
 */
#ifndef LB_SCENARIO_H
#define LB_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "premise.h"

enum { LB_NAME_MAX = 200, LB_SYSTEM_MAX = 160 }; /* the second:  bytes of a system's name, "PROTOCOL@TOPOLOGY:ORIGIN" */

/* What a client does before it touches the resource, chosen per cell. A guard protects the resource, not the lock:
 * whatever it does, two clients may still believe that they hold. Under any guard but `none` a trial is therefore
 * judged by the damage at the resource (lost updates, writes of an overtaken holder). */
enum lb_guard {
  LB_GUARD_NONE,     /* touches the resource until it is told that it lost the lock */
  LB_GUARD_DEADLINE, /* looks at its own monotonic clock: not after valid_until */
  LB_GUARD_SIGNAL,   /* asks no server: not once its client library said that the session is lost or in doubt */
  LB_GUARD_RECHECK,  /* asks the server whether it still holds: not unless the server says so */
  LB_GUARD_CLAIM, /* writes its unique token into the resource first, and the resource refuses once another one stands there */
  LB_GUARD_FENCE, /* shows its fencing token, and the resource refuses one smaller than the largest it has seen */
};
#define LB_GUARD_COUNT 6
/* All of them, as a sentence names them. */
#define LB_GUARD_NAMES "none, deadline, signal, recheck, claim or fence"

/* "none", "deadline" ... */
const char *lb_guard_name(enum lb_guard guard);
/* One line for help and charts. */
const char *lb_guard_help(enum lb_guard guard);
/* The guard of that name, or -1. */
int lb_guard_find(const char *name);

/* How a trial (safe, violated, stuck, delayed or undecided) or a cell is judged. `delayed`: no client got the lock
 * until something ended by itself, a lease mostly; `stuck`: nor after that. A cell is `mixed` if its trials were
 * decided differently where they should not be. `undecided` is no evidence either way. `skipped` was not tried, because
 * something is missing on this machine; `n/a` because the question means nothing there. `none` is not judged yet;
 * `race` (LB_ANY) is a word of expectations. Charts and results know them by name, lb_verdict_name(). */
enum lb_verdict {
  LB_SAFE,
  LB_VIOLATED,
  LB_STUCK,
  LB_DELAYED,
  LB_MIXED,
  LB_UNDECIDED,
  LB_SKIPPED,
  LB_NA,
  LB_VERDICT_NONE,
  LB_ANY
};
/* "safe", "violated", "stuck", "delayed", "mixed", "undecided", "skipped", "n/a", "none", "race" (of an
 * expectation only: timing decides, so whatever is decided fits). */
const char *lb_verdict_name(enum lb_verdict verdict);

/* What a scenario plays. Only a load measures speed: it has no fault in it, and its trials run alone. */
enum lb_scenario_kind {
  LB_KIND_LOAD,     /* a closed loop for a while */
  LB_KIND_TIMELINE, /* steps, one after the other */
  LB_KIND_CAMPAIGN, /* faults drawn at random, under load */
};

/* What should come out for a system under a guard, as the scenario's author states it before the
 * run. A verdict that differs fails the run, in either direction. */
struct lb_expect {
  enum lb_guard guard; /* [expect] = none; [expect fence] = fence */
  char *system;        /* "PROTOCOL@TOPOLOGY", `*` in it for any text; "*" for all */
  enum lb_verdict verdict;
  char *reason; /* may be empty */
};

#define LB_CLIENT_COUNTS_MAX 16
#define LB_CROWD_MAX 1024 /* largest `clients` */

enum lb_client_driver { LB_BY_PROCESS, LB_BY_COROUTINE }; /* what runs the clients (client/driver.h) */

/* Closed: a client asks when it has finished and thought. Else it asks by a schedule, whether or not it has. */
enum lb_arrivals { LB_ARRIVE_CLOSED, LB_ARRIVE_CONSTANT, LB_ARRIVE_POISSON };

/* A length of time: always the same, or drawn anew each time. */
enum lb_length { LB_LENGTH_CONSTANT, LB_LENGTH_EXPONENTIAL };

/* A scenario as it will be played. It owns all its texts and lists; it is given back with lb_scenario_clear(). Defaults
 * are filled in, so no reader needs to know whether a key was given. */
struct lb_scenario {
  /* File name without "NN-" and ".ini": "failover". A variant has what tells it from the others:
   * "contention~hold_ms=0.5". */
  char *name;
  char *base;   /* the name without that */
  char *varied; /* "hold_ms=0.5 think_ms=1": what it is a variant by; NULL = it is none */
  char *path;
  char *title;    /* [scenario] title */
  char *question; /* [scenario] question: what it settles */
  char *refuted;  /* [scenario] refuted: what outcome would refute the expectation */
  char *
      like; /* [scenario] like: the scenario that the rest was taken from (scenario_read.c); NULL = all of it is its own */
  char *attack;   /* [scenario] attack: which rules say what comes out (theory/theory.h); NULL = only [expect] does */
  char *systems;  /* [scenario] systems: "a@x, b@*", the default of -b; NULL = all */
  char *guards;   /* [scenario] guards: "none, fence", those that a suite asks it under; NULL = all */
  char *upstream; /* [scenario] upstream: who published it, where and when; NULL = not given */
  /* By its sections: [timeline], [campaign], or neither. Set when the file has been read; nothing else decides it. */
  enum lb_scenario_kind kind;

  /* [workload] clients = 16, or 1, 4, 16: one trial for each number. A timeline has one entry, because its steps name
   * clients. */
  int client_counts[LB_CLIENT_COUNTS_MAX];
  size_t client_count_count;
  /* keys = 1 (one hot key) or N (chosen at random each time); 0 = `own`: client i uses key i, so none ever waits. */
  int keys;
  double skew;       /* of their choice: key K has the weight 1/K^skew */
  double hold_ms;    /* time between the read and the write of the resource */
  double think_ms;   /* time between two critical sections */
  int hold, think;   /* enum lb_length: of these two, which are means where it is random */
  int64_t ttl_ms;    /* lease; session timeout for session protocols */
  int64_t wait_ms;   /* bound on one blocking acquire of the workload */
  double duration_s; /* measured; 0 with a timeline */
  double warmup_s;   /* load before the measured window, at least */
  double settle_s;   /* and then until the rate has settled, at most so long; 0 = it need not settle */
  /* Hosts with links of their own, and the round trip between any two of them that talk: each way is late
   * by half of it (trial/fault_line.c). Without `apart` they share the loopback. */
  bool apart;
  double round_trip_ms;
  int64_t delay_ms;   /* what steps mean by `delay`; 0 = none of them does */
  int64_t request_ms; /* bound on the wait for an answer in an acquire (struct lb_holder); 0 = that of the acquire */
  /* renew = yes: a client renews its lease every third of the ttl while it holds (the watchdog). */
  bool renew;
  int permits;         /* so many may hold at once: a semaphore; 1 = a lock */
  int driver;          /* enum lb_client_driver */
  int readers;         /* so many of the clients of a load, the first ones, ask as readers and write nothing */
  int arrivals;        /* enum lb_arrivals */
  double rate_per_s;   /* of all clients together; 0 = closed loop */
  int64_t patience_ms; /* see lb_scenario_patience_ms(); 0 = not given */
  /* option = PROTOCOL.OPTION=VALUE (several): as `-s` sets it, which wins over it. plan/plan_scenarios.c, which knows the
   * protocols, checks whether there is such an option. */
  char **options;
  size_t option_count;

  /* [campaign] faults drawn at random, one after the other, while the workload runs; none = no campaign */
  struct lb_step *faults; /* fault = STEP: cut, kill, pause or clock, with `any` allowed; each is undone */
  size_t fault_count;
  int64_t every_ms; /* mean pause between the end of one fault and the begin of the next */
  int64_t lasts_ms; /* mean length of a fault */
  /* progress_ms: a client that asks must be granted within this time; 0 = not given, see lb_scenario_progress_ms(). */
  int64_t progress_ms;
  bool delayed_restart; /* a killed server stays away for longer than a lease */

  /* [timeline] step = ... (several); empty = a pure workload */
  struct lb_step *steps;
  size_t step_count;

  /* [proof] violated = FACT: a trial with a violation only counts if this fact was observed; NULL = none asked. Spelled
   * "key absent on ROLE" with ROLE as lb_role_format() writes it: text for people, the fact itself stands below. */
  char *proof_violated;
  struct lb_role proof_role; /* on whom the key has to be observed ... */
  bool proof_present;        /* ... as present, or absent */
  /* [proof] premise = FACT (several, in file order): each has to be observed, or the question was
   * not put and the trial is undecided, whatever came out. [proof] safe = FACT: the same of a trial
   * that would be safe, if the lock itself kept exclusion: a guard has other things to show. */
  struct lb_premise *premises;
  size_t premise_count;
  /* [proof] past_lease = yes: the scenario lets leases run out on purpose, so an overlap that begins
   * after the earlier holder's lease was over counts. */
  bool past_lease;
  /* [servers] storage = memory | disk; default: memory with a timeline or a campaign, disk without.
   * A topology may win over it (servers/topology.h). */
  bool memory_storage;
  char next[LB_NAME_MAX]; /* the origin of `restart A as next`; "" = not given */
  int trials;             /* [scenario] trials: default number of trials per cell */
  /* [scenario] control = yes: nothing in it can cost a correct lock its exclusion, so other scenarios
   * are compared with it. Refused beside a fault and beside past_lease. */
  bool control;
  bool unreal; /* [scenario] unreal = yes: no machine does that; it shows what a lock rests on */
  /* [scenario] alike: why it separates no two locks; NULL = it does, or says nothing (tests/unit/theory/test-theory.c). */
  char *alike;
  char *rests; /* what a lock rests on that is broken here; NULL = nothing is said of it */
  /* [scenario] min_handoffs: fewer = undecided, because the lock was hardly put to the test.
   * Default 1; 0 where clients never meet (keys = own). */
  int min_handoffs;

  /* [expect] system = verdict: reason (several, in file order): where the cell is not as the rules of its attack say */
  struct lb_expect *expect;
  size_t expect_count;
};

void lb_scenario_clear(struct lb_scenario *scenario);
/* One of its own, to be given back by itself. */
void lb_scenario_copy(const struct lb_scenario *scenario, struct lb_scenario *ret);
/* True if a run may give this key several values, `-s KEY=VALUE,VALUE`: a variant of the scenario for
 * each. Not of keys that are lists themselves. */
bool lb_scenario_varies(const char *key);
/* True if the value of this key is an origin of servers (servers/origin.h). */
bool lb_scenario_names_origin(const char *key);
/* The first step that starts a server as its next version; NULL = none. */
const struct lb_step *lb_scenario_upgrade(const struct lb_scenario *scenario);
/* Whether it is asked of this system by default: `systems` has it, or is not given. The same of a guard in a suite. */
bool lb_scenario_asks(const struct lb_scenario *scenario, const char *system);
bool lb_scenario_asks_under(const struct lb_scenario *scenario, enum lb_guard guard);
/* True if this client, from 1, has no session until a step of the timeline opens it. */
bool lb_scenario_opens_late(const struct lb_scenario *scenario, int client);
/* True if some step or fault needs it: hosts with links of their own (LB_NEED_NETWORK), clocks that
 * can be set (LB_NEED_CLOCKS) ... */
bool lb_scenario_needs(const struct lb_scenario *scenario, enum lb_step_need need);

/* For a campaign: the longest time for which clients may ask for the lock without a grant. As given, else what a
 * correct lock can need: the longest fault, the lease of a holder that it hit, and one attempt of a client. */
int64_t lb_scenario_progress_ms(const struct lb_scenario *scenario);
/* So long a client may ask while others are granted the lock; 0 = for ever. */
int64_t lb_scenario_patience_ms(const struct lb_scenario *scenario);

/* Names of all scenarios in a folder and in its folders of themes (speed, failover ...), theme by theme, there sorted
 * by file name: names[i] of `*ret_count`, paths in ret_paths; free each and the arrays. */
int lb_scenario_list(const char *folder, char ***ret_names, char ***ret_paths, size_t *ret_count);

/* ---- the form as data: parser, help and docs/scenarios.md share these tables --------------- */

/* How the value of a key is written, and behind each the field of struct lb_scenario that it goes to. */
enum lb_scenario_type {
  LB_KEY_TEXT,         /* char * */
  LB_KEY_WHOLE,        /* int */
  LB_KEY_WHOLE_LIST,   /* client_counts */
  LB_KEY_WHOLE_OR_OWN, /* int, 0 = `own` */
  LB_KEY_MS,           /* int64_t, whole */
  LB_KEY_REAL,         /* double */
  LB_KEY_YES_NO,       /* bool, `yes` or `no` */
  LB_KEY_STORAGE,      /* bool, `memory` or `disk` */
  LB_KEY_WORD,         /* int: the place of the value in `words` */
  LB_KEY_NAME,         /* char[LB_NAME_MAX]: it owns no memory, so `-s` can change it */
  LB_KEY_OPTION,       /* one more text of `options` */
  LB_KEY_STEP,         /* one more struct lb_step of the timeline or the campaign */
  LB_KEY_FACT,         /* char * */
  LB_KEY_PREMISE,      /* one more struct lb_premise */
  LB_KEY_VERDICT,      /* more of struct lb_expect; the key names systems */
};
/* What else the reader has to know of a key. */
enum lb_scenario_key_flag {
  LB_KEY_MANDATORY = 1 << 0,
  LB_KEY_LINES = 1 << 1,    /* indented lines go on with the value */
  LB_KEY_REPEATED = 1 << 2, /* may stand several times */
  LB_KEY_SET = 1 << 3,      /* `-s key=value` may change it */
  LB_KEY_LOAD = 1 << 4,     /* of a pure workload: refused beside a timeline */
  LB_KEY_CAMPAIGN = 1 << 5, /* read by a campaign only */
  LB_KEY_DELAY = 1 << 6,    /* read by steps that name it */
  LB_KEY_NEXT = 1 << 9,     /* the same of the next version */
  LB_KEY_APART = 1 << 7,    /* only of a load: its hosts have links of their own if it is given */
  LB_KEY_OWN = 1 << 8,      /* `like` does not bring it */
};
/* One key of the form. A key that is not in the table does not exist: the reader, `-s`, the help
 * and the page of the form all read these rows. */
struct lb_scenario_key {
  const char *section, *name;
  enum lb_scenario_type type;
  unsigned flags;           /* enum lb_scenario_key_flag */
  const char *unit;         /* "ms", "s", or "" */
  const char *def;          /* the default as one would write it; NULL = none */
  double min, max;          /* of numbers */
  const char *help;         /* one line */
  size_t offset;            /* of the field in struct lb_scenario */
  const char *const *words; /* LB_KEY_WORD: what it may be; ends with NULL */
};
extern const struct lb_scenario_key lb_scenario_keys[]; /* in the order of the sections of a file */
extern const size_t lb_scenario_key_count;
/* "whole number", "text", ... */
const char *lb_scenario_type_name(enum lb_scenario_type type);

#endif
