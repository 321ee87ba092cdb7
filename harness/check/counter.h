/* SPDX-License-Identifier: MIT
 *
 * counter.h - the numbers that describe one trial. A row of LB_COUNTERS is all there is to say of
 * one: the field, what it is called, its unit, how trials add up, where it applies and where it is
 * shown. trials.csv, the cells' JSON, `check`, the terminal, the report and the test of
 * docs/columns.md go by these rows. A new counter is a row here, and the place that counts it.
 */
#ifndef LB_COUNTER_H
#define LB_COUNTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum lb_counter_group { /* neighbours in every table; which group comes first is the table's affair */
                        LB_COUNT_EXCLUSION, /* what the lock let happen */
                        LB_COUNT_GUARD,     /* what a guard found, and what it stopped */
                        LB_COUNT_PROGRESS,  /* who got the lock */
                        LB_COUNT_GIVEN_UP,  /* how acquires ended without it */
                        LB_COUNT_LIVENESS,  /* for how long the lock could not be had, or a client believed wrongly */
                        LB_COUNT_SPEED,     /* of the measured window */
                        LB_COUNT_TRIAL,     /* of the harness itself */
                        LB_COUNT_FAULTS,    /* of a campaign */
};
enum lb_counter_source {
  LB_FROM_CHECK, /* lb_check_history(): any history has it */
  LB_FROM_STATS, /* lb_stats_counters(): of a measured window; none in a timeline */
  LB_FROM_TRIAL, /* the controller */
};
enum lb_counter_add { /* over the trials of a cell, or of a line of figures */
                      LB_ADD_NONE,
                      LB_ADD_SUM,
                      LB_ADD_MAX,
                      LB_ADD_MEDIAN, /* of the trials that have it */
};
enum lb_counter_condition { /* what it takes for a counter to mean something; else it is shown as nothing */
                            LB_IF_SEEN = 1 << 0,     /* of this trial: the field is not -1; it is signed or real */
                            LB_IF_MEASURED = 1 << 1, /* a load or a campaign in which something was granted */
                            LB_IF_CAMPAIGN = 1 << 2,
};
enum lb_counter_place {
  LB_IN_TRIALS = 1 << 0, /* a column of trials.csv */
  LB_IN_CELLS = 1 << 1,  /* a member of a cell (run.json, --json), and a column of the report */
  LB_IN_CHECK = 1 << 2,  /* a member of `check --json` */
  LB_IN_TEXT = 1 << 3,   /* a line of `check` */
};
enum { LB_IN_ALL = LB_IN_TRIALS | LB_IN_CELLS | LB_IN_CHECK | LB_IN_TEXT };

/* X(type, field, rest of struct lb_counter). Times are kept in ns and shown in `unit`. Order: that
 * of trials.csv; a group stands together. Whatever a row leaves out is 0: group LB_COUNT_EXCLUSION,
 * source LB_FROM_CHECK, LB_ADD_NONE. */
#define LB_COUNTERS(X)                                                                                                                        \
  X(uint64_t, double_holds, .name = "double_holds", .group = LB_COUNT_EXCLUSION, .add = LB_ADD_SUM,                                           \
    .places = LB_IN_ALL, .label = "double holds", .help = "episodes in which two or more clients held the lock")                              \
  X(uint64_t, double_hold_ns, .name = "double_hold_ms", .group = LB_COUNT_EXCLUSION, .add = LB_ADD_SUM, .unit = "ms",                         \
    .decimals = 3, .places = LB_IN_TRIALS | LB_IN_CELLS | LB_IN_CHECK, .label = "double hold",                                                \
    .help = "their total length")                                                                                                             \
  X(uint64_t, within_lease, .name = "within_lease", .group = LB_COUNT_EXCLUSION, .add = LB_ADD_SUM,                                           \
    .places = LB_IN_ALL, .label = "within a lease",                                                                                           \
    .help = "double holds in which the leases of two holders ran at once: the lock failed, not a slow holder")                                \
  X(uint64_t, depth, .name = "depth", .group = LB_COUNT_EXCLUSION, .add = LB_ADD_MAX,                                                         \
    .places = LB_IN_TRIALS | LB_IN_CELLS | LB_IN_CHECK, .label = "depth",                                                                     \
    .help = "most holders of one key at once: 0 no grant, 1 clean")                                                                           \
  X(uint64_t, dirty_accesses, .name = "dirty_accesses", .group = LB_COUNT_EXCLUSION, .add = LB_ADD_SUM,                                       \
    .places = LB_IN_ALL, .label = "dirty accesses",                                                                                           \
    .help = "accesses while another client held the lock, or without holding it")                                                             \
  X(int64_t, lost_updates, .name = "lost_updates", .group = LB_COUNT_EXCLUSION, .add = LB_ADD_SUM,                                            \
    .places = LB_IN_ALL, .label = "lost updates", .help = "accepted writes that are not in the resource")                                     \
  X(uint64_t, stale_writes, .name = "stale_writes", .group = LB_COUNT_EXCLUSION, .add = LB_ADD_SUM,                                           \
    .places = LB_IN_ALL, .label = "stale writes",                                                                                             \
    .help = "accepted writes of an overtaken holder: another client was granted the lock since, and used it")                                 \
  X(uint64_t, fenced_off, .name = "fenced_off", .group = LB_COUNT_EXCLUSION, .add = LB_ADD_SUM, .places = LB_IN_ALL,                          \
    .label = "fenced off",                                                                                                                    \
    .help = "writes with a smaller fence than the resource had seen: refused under `fence`, otherwise only counted")                          \
  X(uint64_t, token_regressions, .name = "token_regressions", .group = LB_COUNT_EXCLUSION, .add = LB_ADD_SUM,                                 \
    .places = LB_IN_ALL, .label = "token regressions",                                                                                        \
    .help =                                                                                                                                   \
        "grants whose fence is not larger than one granted before they were asked for, or is the largest and another client's")               \
  X(uint64_t, checks, .name = "checks", .group = LB_COUNT_GUARD, .add = LB_ADD_SUM,                                                           \
    .places = LB_IN_TRIALS | LB_IN_CELLS | LB_IN_CHECK, .label = "checks",                                                                    \
    .help = "checks before an access by the guards deadline, signal and recheck")                                                             \
  X(uint64_t, stopped_lease_over, .name = "stopped_lease_over", .group = LB_COUNT_GUARD, .add = LB_ADD_SUM,                                   \
    .places = LB_IN_TRIALS | LB_IN_CELLS | LB_IN_CHECK, .label = "stopped: lease over",                                                       \
    .help = "of these: the client stopped, as its lease was over by its own clock")                                                           \
  X(uint64_t, stopped_in_doubt, .name = "stopped_in_doubt", .group = LB_COUNT_GUARD, .add = LB_ADD_SUM,                                       \
    .places = LB_IN_TRIALS | LB_IN_CELLS | LB_IN_CHECK, .label = "stopped: in doubt",                                                         \
    .help = "it stopped, as its client library or connection had reported a loss")                                                            \
  X(uint64_t, stopped_told_no, .name = "stopped_told_no", .group = LB_COUNT_GUARD, .add = LB_ADD_SUM,                                         \
    .places = LB_IN_TRIALS | LB_IN_CELLS | LB_IN_CHECK, .label = "stopped: told no",                                                          \
    .help = "it stopped, as a server said that it does not hold")                                                                             \
  X(uint64_t, stopped_no_majority, .name = "stopped_no_majority", .group = LB_COUNT_GUARD, .add = LB_ADD_SUM,                                 \
    .places = LB_IN_TRIALS | LB_IN_CELLS | LB_IN_CHECK, .label = "stopped: no majority",                                                      \
    .help = "it stopped, as a majority of the servers answered and no majority confirmed that it holds")                                      \
  X(uint64_t, stopped_no_answer, .name = "stopped_no_answer", .group = LB_COUNT_GUARD, .add = LB_ADD_SUM,                                     \
    .places = LB_IN_TRIALS | LB_IN_CELLS | LB_IN_CHECK, .label = "stopped: no answer",                                                        \
    .help = "it stopped, as nobody answered or the question failed (the checks `no-answer` and `error`)")                                     \
  X(uint64_t, refused, .name = "refused", .group = LB_COUNT_GUARD, .add = LB_ADD_SUM,                                                         \
    .places = LB_IN_TRIALS | LB_IN_CELLS | LB_IN_CHECK, .label = "refused by the resource",                                                   \
    .help = "accesses that the resource refused, under claim and fence")                                                                      \
  X(uint64_t, grants, .name = "grants", .group = LB_COUNT_PROGRESS, .add = LB_ADD_SUM, .places = LB_IN_ALL,                                   \
    .label = "grants", .help = "all of them, measured or not")                                                                                \
  X(uint64_t, handoffs, .name = "handoffs", .group = LB_COUNT_PROGRESS, .add = LB_ADD_SUM, .places = LB_IN_ALL,                               \
    .label = "hand-offs", .help = "grants of a key whose previous grant was another client's")                                                \
  X(uint64_t, useful_handoffs, .name = "useful_handoffs", .group = LB_COUNT_PROGRESS, .add = LB_ADD_SUM,                                      \
    .places = LB_IN_ALL, .label = "useful hand-offs",                                                                                         \
    .help = "hand-offs after which the new holder's write was accepted before another client was granted the key")                            \
  X(uint64_t, renewals, .name = "renewals", .group = LB_COUNT_PROGRESS, .add = LB_ADD_SUM, .places = LB_IN_ALL,                               \
    .label = "renewals", .help = "leases that a holder made longer: the answer said so")                                                      \
  X(uint64_t, busy, .name = "busy", .group = LB_COUNT_GIVEN_UP, .source = LB_FROM_STATS, .add = LB_ADD_SUM,                                   \
    .places = LB_IN_TRIALS,                                                                                                                   \
    .help = "acquires in the measured window that were given up because somebody else held the lock")                                         \
  X(uint64_t, timeouts, .name = "timeouts", .group = LB_COUNT_GIVEN_UP, .source = LB_FROM_STATS, .add = LB_ADD_SUM,                           \
    .places = LB_IN_TRIALS, .help = "those that were given up because nobody answered, or every try failed")                                  \
  X(uint64_t, unknowns, .name = "unknowns", .group = LB_COUNT_GIVEN_UP, .source = LB_FROM_STATS, .add = LB_ADD_SUM,                           \
    .places = LB_IN_TRIALS, .help = "those of which nobody knows whether they hold")                                                          \
  X(uint64_t, unknown_acquires, .name = "unknown_acquires", .group = LB_COUNT_GIVEN_UP, .add = LB_ADD_SUM,                                    \
    .places = LB_IN_TEXT, .label = "unknown acquires",                                                                                        \
    .help = "acquires of the whole history of which nobody knows whether they hold")                                                          \
  X(int64_t, unavailable_ns, .name = "unavailable_ms", .group = LB_COUNT_LIVENESS, .add = LB_ADD_MAX, .unit = "ms",                           \
    .decimals = 3, .only = LB_IF_SEEN, .places = LB_IN_ALL, .label = "unavailable", .none = "no fault",                                       \
    .help = "longest time from a fault to the next grant")                                                                                    \
  X(int64_t, orphan_ns, .name = "orphan_ms", .group = LB_COUNT_LIVENESS, .add = LB_ADD_MAX, .unit = "ms",                                     \
    .decimals = 3, .only = LB_IF_SEEN, .places = LB_IN_ALL, .label = "orphan time", .none = "no holder crashed",                              \
    .help = "longest time from the death of a holder to the next grant")                                                                      \
  X(int64_t, blind_ns, .name = "blind_ms", .group = LB_COUNT_LIVENESS, .add = LB_ADD_MAX, .unit = "ms", .decimals = 3,                        \
    .only = LB_IF_SEEN, .places = LB_IN_ALL, .label = "blind window", .none = "no client learned of a loss",                                  \
    .help = "longest time a client believed in a lock that another one had been granted")                                                     \
  X(int64_t, no_grant_ns, .name = "no_grant_ms", .group = LB_COUNT_LIVENESS, .source = LB_FROM_STATS,                                         \
    .add = LB_ADD_MAX, .unit = "ms", .decimals = 3, .only = LB_IF_SEEN, .places = LB_IN_TRIALS | LB_IN_CELLS,                                 \
    .label = "no grant", .none = "nobody waited",                                                                                             \
    .help = "longest time in the measured window for which a key was asked for and granted to nobody")                                        \
  X(int64_t, longest_wait_ns, .name = "longest_wait_ms", .group = LB_COUNT_LIVENESS, .source = LB_FROM_TRIAL,                                 \
    .add = LB_ADD_MAX, .unit = "ms", .decimals = 3, .only = LB_IF_SEEN, .places = LB_IN_TRIALS,                                               \
    .help = "longest time that one client asked, until a grant or its last refusal")                                                          \
  X(int64_t, servers_left, .name = "servers_left", .group = LB_COUNT_LIVENESS, .only = LB_IF_SEEN,                                            \
    .places = LB_IN_TRIALS, .help = "steps that saw a server leave the others")                                                               \
  X(uint64_t, work_failed, .name = "work_failed", .group = LB_COUNT_LIVENESS, .places = LB_IN_TRIALS,                                         \
    .help = "work of holders that failed, for whatever reason, or was not over in time")                                                      \
  X(double, measured_s, .name = "measured_s", .group = LB_COUNT_SPEED, .source = LB_FROM_STATS, .unit = "s",                                  \
    .decimals = 3, .only = LB_IF_MEASURED, .places = LB_IN_TRIALS, .help = "length of the measured window")                                   \
  X(double, grants_per_s, .name = "grants_per_s", .group = LB_COUNT_SPEED, .source = LB_FROM_STATS,                                           \
    .add = LB_ADD_MEDIAN, .unit = "1/s", .decimals = 3, .only = LB_IF_MEASURED, .places = LB_IN_TRIALS,                                       \
    .help = "in the measured window")                                                                                                         \
  X(double, handoffs_per_s, .name = "handoffs_per_s", .group = LB_COUNT_SPEED, .source = LB_FROM_STATS,                                       \
    .add = LB_ADD_MEDIAN, .unit = "1/s", .decimals = 3, .only = LB_IF_MEASURED, .places = LB_IN_TRIALS,                                       \
    .help = "those whose key had been granted to another client before")                                                                      \
  X(double, regranted, .name = "regranted", .group = LB_COUNT_SPEED, .source = LB_FROM_STATS, .add = LB_ADD_MEDIAN,                           \
    .decimals = 5, .only = LB_IF_MEASURED, .places = LB_IN_TRIALS,                                                                            \
    .help = "share of the grants in the window whose key had been granted to the same client before")                                         \
  X(double, jain, .name = "jain", .group = LB_COUNT_SPEED, .source = LB_FROM_STATS, .add = LB_ADD_MEDIAN,                                     \
    .decimals = 5, .only = LB_IF_MEASURED, .places = LB_IN_TRIALS,                                                                            \
    .help = "fairness of grants over clients, 1 = all alike")                                                                                 \
  X(uint64_t, client_min, .name = "client_min", .group = LB_COUNT_SPEED, .source = LB_FROM_STATS,                                             \
    .only = LB_IF_MEASURED, .places = LB_IN_TRIALS, .help = "grants of the client with the fewest")                                           \
  X(uint64_t, client_max, .name = "client_max", .group = LB_COUNT_SPEED, .source = LB_FROM_STATS,                                             \
    .only = LB_IF_MEASURED, .places = LB_IN_TRIALS, .help = "and with the most")                                                              \
  LB_COUNTER_QUANTILES(X, wait, 0, "acquire sent (in an open loop: due) to grant read, or to giving up")                                      \
  LB_COUNTER_QUANTILES(X, service, LB_IF_SEEN,                                                                                                \
                       "of an open loop: acquire sent to grant read, however late it was sent")                                               \
  LB_COUNTER_QUANTILES(X, hold, 0, "grant read to release sent")                                                                              \
  LB_COUNTER_QUANTILES(X, handoff, LB_IF_SEEN,                                                                                                \
                       "first release sent while a client waited, by who had it before, to its grant read")                                   \
  LB_COUNTER_QUANTILES(X, release, LB_IF_SEEN, "release sent to its confirmation read")                                                       \
  X(int64_t, commits, .name = "commits", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL,                                                    \
    .only = LB_IF_MEASURED | LB_IF_SEEN, .places = LB_IN_TRIALS,                                                                              \
    .help = "writes that the servers committed in the measured window, as they count them (Redis: changed keys)")                             \
  X(double, commits_per_handoff, .name = "commits_per_handoff", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL,                             \
    .add = LB_ADD_MEDIAN, .decimals = 4, .only = LB_IF_MEASURED | LB_IF_SEEN, .places = LB_IN_TRIALS,                                         \
    .help = "these, for each hand-off in the window")                                                                                         \
  X(int64_t, requests, .name = "requests", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL,                                                  \
    .only = LB_IF_MEASURED | LB_IF_SEEN, .places = LB_IN_TRIALS,                                                                              \
    .help =                                                                                                                                   \
        "requests that the servers received in the measured window, as they count them (Redis: reads of its sockets)")                        \
  X(double, requests_per_handoff, .name = "requests_per_handoff", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL,                           \
    .add = LB_ADD_MEDIAN, .decimals = 4, .only = LB_IF_MEASURED | LB_IF_SEEN, .places = LB_IN_TRIALS,                                         \
    .help = "these, for each hand-off in the window")                                                                                         \
  X(uint64_t, warmup_ns, .name = "warmup_ms", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL, .add = LB_ADD_MEDIAN,                         \
    .unit = "ms", .decimals = 3, .only = LB_IF_MEASURED, .places = LB_IN_TRIALS,                                                              \
    .help = "load before the measured window")                                                                                                \
  X(uint64_t, heated_ns, .name = "heated_ms", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL, .add = LB_ADD_MEDIAN,                         \
    .unit = "ms", .decimals = 3, .only = LB_IF_MEASURED, .places = LB_IN_TRIALS,                                                              \
    .help =                                                                                                                                   \
        "how long its servers had been heated for all trials that share them; 0 = they are as fast from the begin")                           \
  X(uint64_t, unsettled, .name = "unsettled", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL, .add = LB_ADD_SUM,                            \
    .only = LB_IF_MEASURED, .places = LB_IN_TRIALS,                                                                                           \
    .help =                                                                                                                                   \
        "1 = the rate of grants had not settled when the measured window began, though the scenario asks for that, or the servers still "     \
        "compiled")                                                                                                                           \
  X(int64_t, pipe_ns, .name = "pipe_us", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL, .add = LB_ADD_MEDIAN,                              \
    .unit = "us", .decimals = 3, .only = LB_IF_SEEN, .places = LB_IN_TRIALS,                                                                  \
    .help =                                                                                                                                   \
        "of a foreign lock: how long a call takes to its adapter and back that asks for nothing; so much of every time is not the library's") \
  X(uint64_t, speed_void, .name = "speed_void", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL, .add = LB_ADD_SUM,                          \
    .places = LB_IN_TRIALS | LB_IN_CELLS, .label = "no speed",                                                                                \
    .help = "1 = a self-check failed, so this trial has no figures of speed; `why` says which")                                               \
  X(uint64_t, saturated, .name = "saturated", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL, .add = LB_ADD_SUM,                            \
    .only = LB_IF_MEASURED, .places = LB_IN_TRIALS,                                                                                           \
    .help =                                                                                                                                   \
        "1 = of an open loop: fewer acquires were sent than `rate_per_s`, as clients were still busy when the next was due")                  \
  X(double, starts_per_s, .name = "starts_per_s", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL,                                           \
    .add = LB_ADD_MEDIAN, .unit = "1/s", .decimals = 3, .only = LB_IF_SEEN, .places = LB_IN_TRIALS,                                           \
    .help = "acquires sent in the measured window of a load")                                                                                 \
  X(double, clients_busy, .name = "clients_busy", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL,                                           \
    .add = LB_ADD_MEDIAN, .decimals = 4, .only = LB_IF_SEEN, .places = LB_IN_TRIALS,                                                          \
    .help =                                                                                                                                   \
        "clients inside a call or a critical section, on average: in a closed loop all that do not think, in an open loop by the events")     \
  X(double, clients_by_latency, .name = "clients_by_latency", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL,                               \
    .add = LB_ADD_MEDIAN, .decimals = 4, .only = LB_IF_SEEN, .places = LB_IN_TRIALS,                                                          \
    .help = "the same by Little's law: rate times mean of wait (open loop: service), hold and release")                                       \
  X(double, client_cpu, .name = "client_cpu", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL, .add = LB_ADD_MEDIAN,                         \
    .decimals = 4, .only = LB_IF_SEEN, .places = LB_IN_TRIALS,                                                                                \
    .help = "processor time of the clients' processes in the window, of that of all processors that they could use")                          \
  X(int64_t, client_kb, .name = "client_kb", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL, .add = LB_ADD_MEDIAN,                          \
    .unit = "kB", .only = LB_IF_SEEN, .places = LB_IN_TRIALS,                                                                                 \
    .help = "memory of all clients' processes together at the end of the window, without what they share with others")                        \
  X(double, steal, .name = "steal", .group = LB_COUNT_SPEED, .source = LB_FROM_TRIAL, .add = LB_ADD_MEDIAN,                                   \
    .decimals = 4, .only = LB_IF_SEEN, .places = LB_IN_TRIALS,                                                                                \
    .help = "share of the time that the machine wanted in the window and the hypervisor gave to others")                                      \
  X(uint64_t, start_ns, .name = "start_ms", .group = LB_COUNT_TRIAL, .source = LB_FROM_TRIAL, .unit = "ms",                                   \
    .decimals = 3, .places = LB_IN_TRIALS, .help = "until the servers were up and ready")                                                     \
  X(uint64_t, trial_ns, .name = "trial_ms", .group = LB_COUNT_TRIAL, .source = LB_FROM_TRIAL, .unit = "ms",                                   \
    .decimals = 3, .places = LB_IN_TRIALS, .help = "start of the trial to its verdict")                                                       \
  X(uint64_t, stall_ns, .name = "stall_ms", .cell = "max_stall_ms", .group = LB_COUNT_TRIAL, .source = LB_FROM_TRIAL,                         \
    .add = LB_ADD_MAX, .unit = "ms", .decimals = 3, .places = LB_IN_TRIALS | LB_IN_CELLS, .label = "longest stall",                           \
    .help = "longest stall of the harness's own heartbeat, or of a client that waited for a processor")                                       \
  X(uint64_t, again, .name = "again", .group = LB_COUNT_TRIAL, .source = LB_FROM_TRIAL, .places = LB_IN_TRIALS,                               \
    .help = "1 = played with --again for the second time: the first time it was undecided")                                                   \
  X(uint64_t, faults, .name = "faults", .group = LB_COUNT_FAULTS, .source = LB_FROM_TRIAL, .add = LB_ADD_SUM,                                 \
    .only = LB_IF_CAMPAIGN, .places = LB_IN_TRIALS | LB_IN_CELLS, .label = "faults",                                                          \
    .help = "faults of a campaign that were proved")                                                                                          \
  X(uint64_t, faults_unused, .name = "faults_unused", .group = LB_COUNT_FAULTS, .add = LB_ADD_SUM,                                            \
    .only = LB_IF_CAMPAIGN, .places = LB_IN_TRIALS | LB_IN_CELLS, .label = "cuts unused",                                                     \
    .help = "of these, cuts that dropped no packet but those of their own proof")                                                             \
  X(uint64_t, faults_tested, .name = "faults_tested", .group = LB_COUNT_FAULTS, .add = LB_ADD_SUM,                                            \
    .only = LB_IF_CAMPAIGN, .places = LB_IN_TRIALS | LB_IN_CELLS, .label = "faults tested",                                                   \
    .help =                                                                                                                                   \
        "of the other proved ones, those between which and the next one the lock was granted to somebody, or damage was done")                \
  X(uint64_t, faults_overlapped, .name = "faults_overlapped", .group = LB_COUNT_FAULTS, .add = LB_ADD_SUM,                                    \
    .only = LB_IF_CAMPAIGN, .places = LB_IN_TRIALS | LB_IN_CELLS, .label = "faults overlapped",                                               \
    .help =                                                                                                                                   \
        "tested faults between which and the next one a client was granted the lock although the holder before it still held")                \
  X(uint64_t, faults_within_lease, .name = "faults_within_lease", .group = LB_COUNT_FAULTS, .add = LB_ADD_SUM,                                \
    .only = LB_IF_CAMPAIGN, .places = LB_IN_TRIALS | LB_IN_CELLS, .label = "faults within lease",                                             \
    .help = "of these, those with a double hold in which the leases of two holders ran at that moment")                                       \
  X(uint64_t, faults_damaged, .name = "faults_damaged", .group = LB_COUNT_FAULTS, .add = LB_ADD_SUM,                                          \
    .only = LB_IF_CAMPAIGN, .places = LB_IN_TRIALS | LB_IN_CELLS, .label = "faults damaged",                                                  \
    .help =                                                                                                                                   \
        "tested faults between which and the next one a client was overtaken whose write was accepted, then or later")

#define LB_COUNTER_QUANTILES(X, what, more, text)                                                                      \
  LB_COUNTER_QUANTILE(X, what, p50, more, text)                                                                        \
  LB_COUNTER_QUANTILE(X, what, p99, LB_IF_SEEN, text)                                                                  \
  LB_COUNTER_QUANTILE(X, what, p999, LB_IF_SEEN, text)
#define LB_COUNTER_QUANTILE(X, what, q, more, text)                                                                    \
  X(int64_t, what##_##q##_ns, .name = #what "_" #q "_us", .group = LB_COUNT_SPEED, .source = LB_FROM_STATS,            \
    .add = LB_ADD_MEDIAN, .unit = "us", .decimals = 3, .only = LB_IF_MEASURED | more, .places = LB_IN_TRIALS,          \
    .help = text)

#define LB_COUNTER_FIELD(type, field, ...) type field;
struct lb_counters {
  LB_COUNTERS(LB_COUNTER_FIELD)
};
/* As a member of a struct: x.counters is all of them, x.grants one. */
#define LB_COUNTERS_MEMBER                                                                                             \
  union {                                                                                                              \
    struct lb_counters counters;                                                                                       \
    struct {                                                                                                           \
      LB_COUNTERS(LB_COUNTER_FIELD)                                                                                    \
    };                                                                                                                 \
  }

enum lb_counter_type { LB_COUNTER_WHOLE, LB_COUNTER_SIGNED, LB_COUNTER_REAL }; /* uint64_t, int64_t, double */

struct lb_counter {
  const char *name; /* of its column and members */
  const char *cell; /* in a cell, if it has another name there */
  enum lb_counter_group group;
  enum lb_counter_source source;
  enum lb_counter_add add;
  unsigned only;     /* enum lb_counter_condition */
  unsigned places;   /* enum lb_counter_place */
  const char *unit;  /* "ms", "us", "s", "1/s", "kB"; NULL = it is a number of things */
  int decimals;      /* 0 = whole */
  const char *label; /* for people; NULL where it has no line of its own */
  const char *none;  /* for people: why it does not apply */
  const char *help;  /* one sentence, as in results/SCHEMA.md */
  enum lb_counter_type type;
  size_t offset; /* in struct lb_counters */
};
extern const struct lb_counter lb_counter_rows[];
extern const size_t lb_counter_row_count;

/* The row of this name; a name that is none ends the program. */
const struct lb_counter *lb_counter_named(const char *name);
/* The next row of a group that is shown in this place, after `row` (NULL = the first); NULL = no
 * more. */
const struct lb_counter *lb_counter_next(const struct lb_counter *row, enum lb_counter_group group,
                                         enum lb_counter_place place);
/* Its name in this place. */
const char *lb_counter_name_in(const struct lb_counter *row, enum lb_counter_place place);
/* Whether it means something, where the conditions in `met` hold (LB_IF_SEEN is looked up). */
bool lb_counter_applies(const struct lb_counter *row, const struct lb_counters *counters, unsigned met);
/* In its unit. */
double lb_counter_value(const struct lb_counter *row, const struct lb_counters *counters);
/* The same of a row without decimals. */
int64_t lb_counter_whole(const struct lb_counter *row, const struct lb_counters *counters);
/* As trials.csv has it. */
void lb_counter_print(const struct lb_counter *row, const struct lb_counters *counters, FILE *out);

/* Nothing counted yet, nothing seen. */
struct lb_counters lb_counters_none(void);
/* Takes over the counters of one source. */
void lb_counters_take(struct lb_counters *counters, const struct lb_counters *from, enum lb_counter_source source);
/* Adds a trial to a sum of trials that began with lb_counters_none(): LB_ADD_SUM and LB_ADD_MAX,
 * nothing else. */
void lb_counters_add(struct lb_counters *sum, const struct lb_counters *trial);

/* Sets the counters of these groups that are shown in this place, null where one does not apply
 * (`met` as of lb_counter_applies(); counters NULL = none applies). */
void lb_counters_json(json_t *object, const struct lb_counters *counters, const enum lb_counter_group *groups,
                      size_t count, enum lb_counter_place place, unsigned met);

#endif
