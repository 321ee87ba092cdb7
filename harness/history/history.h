/* SPDX-License-Identifier: MIT
 *
 * history.h - what happened in one trial: events of clients, and facts about it, in memory and as
 * files.
 *
 * A fact (a fault, its proof, an observation, a phase) is an event with fields; what it means is
 * read off its kind and its fields alone. The English of a fact is made when it is shown (say.h).
 *
 * Two file forms, told apart by their first bytes: the run's own binary form ("LBHIST2\n") and JSON
 * lines, so that any other tool's history can be judged too. Both are of format 2. Times are ns of one machine's
 * CLOCK_MONOTONIC; `s` is a global sequence number drawn from shared memory, which breaks ties and orders what one
 * clock tick cannot.
 */
#ifndef LB_HISTORY_H
#define LB_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/error.h"

enum lb_event_kind {
  LB_EV_ACQUIRE = 1, /* a request for the lock is about to be sent */
  LB_EV_GRANTED,     /* the grant was read: a hold begins */
  LB_EV_BUSY,        /* given up, definitely not held: the service said that someone else holds it */
  LB_EV_TIMEOUT,     /* given up, definitely not held: no server said so, if any answered at all */
  LB_EV_UNKNOWN,     /* given up, may be held: neither a failure nor a success */
  LB_EV_RELEASE,     /* the release is about to be sent: a hold ends */
  LB_EV_RELEASED,    /* the release was confirmed */
  LB_EV_LOST,        /* the client learned that it lost the lock: a hold ends */
  LB_EV_READ,        /* an access of the resource */
  LB_EV_WRITE,
  LB_EV_CRASH, /* the client died: a hold ends */
  LB_EV_FAULT, /* fact: a fault begins */
  LB_EV_NOTE,  /* fact: free text, which decides nothing */
  /* The numbers stand in binary files: new kinds come at the end. */
  LB_EV_RENEWED, /* the lease of a hold was made longer: it neither begins nor ends one */
  /* All that follow are facts; the fields they have are in the table of history_form.c. */
  LB_EV_PHASE,      /* the measured window begins or ends */
  LB_EV_PROVED,     /* the effect of a fault was seen */
  LB_EV_OVER,       /* a campaign takes a fault back now */
  LB_EV_NOT_DONE,   /* a fault of a campaign was left out */
  LB_EV_NOT_PROVED, /* a fault was done, and its effect was not seen */
  LB_EV_REPLY,      /* what a client answered to a step */
  LB_EV_MET,        /* the condition that a step awaited is true */
  LB_EV_OBSERVED,   /* the record of the key is present or absent, at a host or all in all on the hosts of a role */
  LB_EV_ROLE,       /* a role is bound to a host */
  LB_EV_FAILOVER,   /* after a failover this host decides */
  LB_EV_CLOCK,      /* a host was asked for its time */
  LB_EV_ERROR,      /* the latest failure a client was told; without a client: the observer */
  LB_EV_SHORTENED,  /* only the begin of the history was kept */
  LB_EV_CHECK,      /* of a client, no fact: what its guard found before an access; it neither begins nor ends a hold */
  LB_EV_SERVER, /* the server that a client talks to: which it had asked for the lock (with a key), or as a step observed it */
  LB_EV_HOLDS,   /* whether a client held when a step looked: it believed that it does, and its lease was not over */
  LB_EV_TOUCHED, /* the hosts that a fault is done to; without a host: none */
  LB_EV_UNUSED,  /* a fault of links met no packet but those of its own proof */
  LB_EV_VOTED,   /* the servers whose yes made the grant of this client */
  LB_EV_NOT_MET, /* the condition that a step awaited did not come true within its bound */
  LB_EV_TRIP,    /* how long a packet of a proof was on its way at least, from one host to another */
  LB_EV_SEEN, /* of a client, no fact: how old the state was that its grant was read in; it neither begins nor ends a hold */
  LB_EV_NOT_RENEWED, /* of a client, no fact: a renewal failed, and `check` says how; it neither begins nor ends a hold */
  LB_EV_LEFT,        /* whether a server was seen to have left the others: it says that it serves no client */
  LB_EV_MESSAGE,     /* the one message that a fault was armed for, with its connection, was met */
  LB_EV_CARRIED,     /* how many packets of others a delay line was given, and how many of them it sent on */
  LB_EV_UNSYNCED, /* of the bytes that a server had written, so many were synced when it lost its power: the others are gone */
  LB_EV_PERMITS, /* so many clients may hold the key at once, in the whole history; without a key: any key */
  LB_EV_RENEW,   /* of a client, no fact: a renewal is about to be sent; it neither begins nor ends a hold */
  LB_EV_EXPIRED, /* of a client, no fact: its hold ended with its lease, whatever the client knew */
  LB_EV_LEASES,  /* every hold of the history ends with its lease; `ms`: the length of those of which none is said */
  LB_EV_WORK_FAILED, /* of a client, no fact: its work under the lock failed or was not over in time */
  LB_EV_SILENT, /* of a client, no fact: it reaches no server: a hold that its library renews unseen is sure to run until `until`; without that it reaches them again */
};

enum {
  LB_EVF_FENCE = 1 << 0, /* fence is meaningful */
  LB_EVF_UNTIL = 1 << 1, /* until is meaningful */
  LB_EVF_VALUE = 1 << 2, /* value is meaningful */
  LB_EVF_REFUSED =
      1 << 3, /* "ok":false: the resource refused this access; of `unknown`: an earlier try of it was refused */
  LB_EVF_DUE = 1 << 4,    /* due is meaningful: when an acquire was to begin, or a check began */
  LB_EVF_CHECK = 1 << 5,  /* check is meaningful */
  LB_EVF_SHARED = 1 << 6, /* acquire, granted: a reader's, which others may share */
  LB_EVF_EARLY = 1 << 7,  /* read: before the client asked for the lock, so it is no access under it */
};

/* What a guard's check came to, or a renewal that failed. Only after `passed` does the client touch
 * the resource. The numbers stand in binary files: new ones come at the end. */
enum lb_check_result {
  LB_CHECK_PASSED = 1,
  LB_CHECK_LEASE_OVER,   /* by the client's own clock */
  LB_CHECK_IN_DOUBT,     /* the client library or the connection said so: it may still hold */
  LB_CHECK_SESSION_OVER, /* it said so */
  LB_CHECK_TOLD_NO,      /* a server answered that the client does not hold */
  LB_CHECK_NO_ANSWER,    /* no yes or no in time, or from fewer servers than a majority */
  LB_CHECK_ERROR,        /* the question failed: refused by the server, say */
  LB_CHECK_NO_MAJORITY,  /* a majority of the servers answered, and no majority confirms that the client holds */
};

/* What the words of facts may be. The numbers stand in binary files: new ones come at the end.
 *
 * Phases: the measured window begins, ends; a timeline in which the lock could not be had asks again, until then
 * (lb_evidence_closing()). */
enum lb_fact_phase { LB_PHASE_MEASURE = 1, LB_PHASE_END, LB_PHASE_CLOSING, LB_PHASE_CLOSED };
enum lb_clock_reading { LB_CLOCK_WALL = 1, LB_CLOCK_MONOTONIC, LB_CLOCK_RATE }; /* which clock was asked for what */
enum lb_answer {                                                                /* to a step of a client */
                 LB_ANSWER_DONE = 1,
                 LB_ANSWER_GRANTED,
                 LB_ANSWER_REFUSED,   /* acquire: somebody else holds it */
                 LB_ANSWER_NO_ANSWER, /* acquire: the service gave none in time */
                 LB_ANSWER_NOT_HOLDING,
                 LB_ANSWER_NOT_IN_TIME,
                 LB_ANSWER_LOST,
                 LB_ANSWER_UNKNOWN,
                 LB_ANSWER_FAILED, /* `why` says why */
};

#define LB_NO_NAME UINT32_MAX

/* 56 bytes, the same in memory and in a binary file (little-endian). t, s, value and fence are at
 * most 2^63 - 1, which is what JSON readers can hold; the JSON form leaves out an `until` above
 * that, for it means "for ever". */
struct lb_event {
  uint64_t t; /* ns */
  uint64_t s; /* global sequence number, 0 = none */
  union {
    uint64_t value; /* read, write: of the resource; seen: the number of the state */
    uint8_t check;  /* check, not-renewed: enum lb_check_result */
  };
  uint64_t fence; /* granted, read, write */
  union {
    uint64_t until; /* granted, renewed: the client may believe it holds until then; silent */
    uint64_t due;   /* acquire: when it was scheduled to begin, at most t; an open loop's clients can be late */
  };
  uint32_t client; /* index into history.clients; LB_NO_NAME for a fact that is not of a client */
  uint32_t key;    /* index into history.keys; LB_NO_NAME for most facts, and where a crash names none */
  uint32_t fact;   /* of a fact: index into history.facts; else LB_NO_NAME */
  uint16_t kind;   /* enum lb_event_kind */
  uint16_t flags;  /* LB_EVF_* */
};

/* The fields of a fact: 64 bytes, the same in memory and in a binary file. Those that its kind does
 * not have are as in lb_no_fact. */
struct lb_fact {
  /* Indexes into history.texts, LB_NO_NAME = none. */
  uint32_t what; /* a step as written; the text of a note */
  uint32_t why;  /* of what failed: text for people */
  uint32_t verb; /* fault: "cut" */
  uint32_t role; /* who a step names: "current primary"; fault, observed, role */
  uint32_t from; /* fault: the other side of a link; trip: who sent it */
  uint32_t host; /* "redis-1" */

  uint32_t step;  /* number of the step: ties a fault, its proof and its end together; 0 = none */
  uint8_t phase;  /* enum lb_fact_phase */
  uint8_t answer; /* enum lb_answer */
  uint8_t clock;  /* enum lb_clock_reading */
  /* observed: 1 = the key has a record there; holds: 1 = it does; server: 1 = that server plays the
   * role; left: 1 = it did */
  uint8_t present;
  /* clock: wall = off by, monotonic = jumped by, rate = gained; holds: what is left of the lease; trip:
   * how long */
  int64_t ms;
  uint64_t in_ms; /* clock, rate: in that time */
  uint64_t
      kept; /* shortened: so many events, unsynced: bytes ...; carried: packets; message: those of its connection before it */
  uint64_t total; /* ... of so many; message: its bytes; permits: how many, from 1 */
};
extern const struct lb_fact lb_no_fact;

struct lb_names { /* a table of distinct strings; index = order of first use */
  char **name;
  size_t count;
  uint32_t *slots; /* hash table of indexes, private to history.c */
  size_t slot_count;
};

struct lb_history {        /* all zero = empty */
  struct lb_event *events; /* from malloc, unless `map` is set */
  size_t count;
  size_t capacity; /* events there is room for; 0 = just those */
  void *map;       /* the file that the events lie in, for those that are too many for memory; NULL = none */
  size_t map_size;
  struct lb_names clients, keys, texts;
  struct lb_fact *facts; /* from malloc, one per event that is a fact */
  size_t fact_count;
  size_t fact_capacity; /* 0 = just those */
  bool lines;           /* `s` of an event is the line of the file where its operation stands */
};

/* Frees everything inside; the struct itself is the caller's and is zeroed. */
void lb_history_clear(struct lb_history *history);
/* Index of `name` in the table, added if new. Bytes that are not UTF-8 are kept as '?', so that
 * every name can be written in both forms. Like the next two, it ends the process when memory is
 * exhausted. */
uint32_t lb_names_add(struct lb_names *names, const char *name);
/* Appends one event (copied). */
void lb_history_add(struct lb_history *history, const struct lb_event *event);
/* Appends a fact (copied) and returns its index, for event.fact. */
uint32_t lb_history_facts_add(struct lb_history *history, const struct lb_fact *fact);
/* The fact of an event; lb_no_fact if it has none. */
const struct lb_fact *lb_event_fact(const struct lb_history *history, const struct lb_event *event);
/* True for an event that is a fact, whatever its client. */
bool lb_event_is_fact(const struct lb_event *event);
/* Sorts by (t, s); the order of equal pairs is kept. */
void lb_history_sort(struct lb_history *history);
/* More events than this are kept in a file instead of memory: one without a name, in $TMPDIR or /var/tmp. Reading them
 * in order then needs little memory, as the kernel writes their pages out when it lacks some. */
#define LB_HISTORY_IN_MEMORY (UINT32_C(1) << 22)
/* Makes room for so many events, in either place. 0 or -ENOMEM. */
int lb_history_reserve(struct lb_history *history, size_t capacity);
struct lb_events { /* some that stand one after the other, as in the log of a client */
  const struct lb_event *event;
  size_t count;
};
/* Fills the events of a history that has none: those of all parts, sorted, equal ones in the order of the parts. 0 or
 * -ENOMEM. */
int lb_history_merge(struct lb_history *history, const struct lb_events *part, size_t parts);
/* How many may hold this key at once: of several `permits`, the last one of the key itself, else the last one
 * of any key; 1 without one. */
uint64_t lb_history_permits(const struct lb_history *history, uint32_t key);
/* The word of a kind as in the JSON form: "granted"; NULL if there is no such kind. */
const char *lb_event_kind_name(unsigned kind);

/* Writes the binary form / JSON lines to an open stream and flushes it. 0 or -errno; -EINVAL,
 * before anything is written, for an event that no reader would accept. The first of the JSON lines
 * is {"format":2}. */
int lb_history_write(const struct lb_history *history, FILE *out);
int lb_history_write_json(const struct lb_history *history, FILE *out);
/* One event as one JSON line without the newline, into buf; returns what snprintf would. */
int lb_event_format_json(const struct lb_history *history, const struct lb_event *event, char *buf, size_t size);

/* Numbers the pairs (client, key) of a history in order of first use, so that what is known about each can stand in a
 * plain array: clients times keys may be far more than the pairs that occur. A hash table; all zero = empty. */
struct lb_pairs {
  uint32_t count;
  uint64_t *pair;  /* by number: client << 32 | key */
  uint32_t *slots; /* number plus one, 0 = empty */
  size_t slot_count;
};
/* The number of a pair, which is `count - 1` if it is new. */
uint32_t lb_pairs_number(struct lb_pairs *pairs, uint32_t client, uint32_t key);
void lb_pairs_clear(struct lb_pairs *pairs);

#endif
